//! The locations and values of a frame's variables.

use super::FrameScope;
use crate::debugger::stack::PhysicalFrame;
use crate::ids::FrameKey;
use crate::ids::error::Error;
use crate::images::binding;
use crate::images::modules::Loaded;
use crate::images::names::Static;
use crate::images::{spills, tail_calls};
use crate::inspect::value::{Ty, Value, ValueLocation};
use dwarf::{
    CallerFrame, FrameAddress, FrameContext, LoadAddr, LoadBias, Location, Memory, Module,
    Registers, Spill, Unwinder, Unwound, Variable, VariableKind,
};
use std::borrow::Cow;
use std::sync::Arc;

impl FrameScope<'_> {
    /// Returns the value of a variable of `module` in this frame, where the code of that image has it:
    /// one with static storage may be another image's.
    pub(super) fn value_of(
        &self,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
    ) -> Result<Value, Error> {
        self.value_as(Ty::of(module, bias, variable.ty), module, bias, variable)
    }

    /// Like [`Self::value_of`], with the type given.
    pub(super) fn value_as(
        &self,
        ty: Ty,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
    ) -> Result<Value, Error> {
        let is_it = |it: &&Loaded| it.bias == bias && Arc::ptr_eq(&it.module, module);
        if binding::may_be_shared(variable)
            && let Some(loaded) = self.modules.loaded.iter().find(is_it)
        {
            let memory = Some(&self.memory as &dyn Memory);
            match self.modules.with_storage(loaded, variable.clone(), memory) {
                Static::Elsewhere(_, _, addr) => {
                    return Ok(Value::new(ty, ValueLocation::Memory(addr, None)));
                }
                Static::ThreadLocal(_, _, home, offset) => {
                    let addr = self.thread_storage(home.bias)? + offset;
                    return Ok(Value::new(ty, ValueLocation::Memory(addr, None)));
                }
                // `extern` in a function's block, for example.
                Static::Variable(home, defined)
                    if defined.id != variable.id || home.id != loaded.id =>
                {
                    let ty = Ty::of(&home.module, home.bias, defined.ty);
                    return self.own_value(ty, &home.module, home.bias, &defined);
                }
                _ => {}
            }
        }
        self.own_value(ty, module, bias, variable)
    }

    /// Returns the value of a variable where its own image has it.
    pub(super) fn own_value(
        &self,
        ty: Ty,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
    ) -> Result<Value, Error> {
        if let Some(reference) = self.captured_reference(module, bias, variable)? {
            return Ok(reference);
        }
        let (location, registers, key) = self.location_of(module, bias, variable, None)?;
        let ty = match ty.has_dynamic_array() {
            true => ty.with_bounds(&|array| {
                let counts =
                    |context: &FrameContext<'_>| array.module().array_counts(array.ty.id, context);
                self.in_context(module, bias, variable.kind, None, counts).0
            }),
            false => ty,
        };
        Ok(Value::from_location(ty, location, &registers, key))
    }

    /// Returns the location of a variable of `module` in this frame, at its pc or at another
    /// address in it; with the registers and the machine frame that the location refers to.
    pub(super) fn location_of(
        &self,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
        at: Option<LoadAddr>,
    ) -> Result<(Location, Cow<'_, dwarf::Registers>, FrameKey), Error> {
        let no_storage = std::cell::OnceCell::new();
        let locate = |context: &FrameContext<'_>| module.locate(variable, context);
        let (located, registers, key) =
            self.in_context(module, bias, variable.kind, at, |context| {
                let tls = |offset| match self.thread_local(bias, offset) {
                    Ok(address) => Some(address),
                    Err(error) => {
                        let _ = no_storage.set(error);
                        None
                    }
                };
                locate(&FrameContext {
                    tls: &tls,
                    ..*context
                })
            });
        let location = match (located, no_storage.into_inner()) {
            (Err(_), Some(error)) => return Err(error),
            (located, _) => located?,
        };
        Ok((location, registers, key))
    }

    /// Runs `use_it` in the context of a kind of variables of `module`: this frame, at its pc or at
    /// another address in it, or none. Returns the context's registers and machine frame, too.
    pub(super) fn in_context<T>(
        &self,
        module: &Arc<Module>,
        bias: LoadBias,
        kind: VariableKind,
        at: Option<LoadAddr>,
        use_it: impl FnOnce(&FrameContext<'_>) -> T,
    ) -> (T, Cow<'_, dwarf::Registers>, FrameKey) {
        let (registers, cfa, pc, key, function) = match (self.frame, kind) {
            (Some(place), VariableKind::Parameter | VariableKind::Local) => (
                Cow::Borrowed(self.seen_registers(place)),
                place.physical.cfa,
                bias.file(at.unwrap_or(place.physical.address.lookup())),
                FrameKey {
                    thread: place.key.thread,
                    level: place.index,
                },
                self.function().map(|function| &**function),
            ),
            _ => (
                Cow::Owned(dwarf::Registers::new(module.machine())),
                None,
                dwarf::FileAddr(0),
                FrameKey {
                    thread: crate::ThreadId(0),
                    level: 0,
                },
                None,
            ),
        };
        let caller = |level| self.caller(level);
        let is_spilled = |spill: &Spill| {
            function.is_some_and(|function| spills::is_spilled(module, function, spill, pc))
        };
        let result = use_it(&FrameContext {
            memory: &self.memory,
            registers: &registers,
            cfa,
            pc,
            bias,
            function,
            tls: &|offset| self.thread_local(bias, offset).ok(),
            caller: &caller,
            is_spilled: &is_spilled,
        });
        (result, registers, key)
    }

    /// Returns the address of this thread's copy of a thread-local variable of an image, by the number
    /// that its location has.
    fn thread_local(&self, bias: LoadBias, number: u64) -> Result<LoadAddr, Error> {
        let mut images = self.modules.loaded.iter();
        let image = images.find(|loaded| loaded.bias == bias);
        match image.zip(self.frame) {
            Some((image, place)) if image.module.is_of_apple() => {
                let descriptor = bias.load(dwarf::FileAddr(number));
                let registers = &place.physical.registers;
                let arch = self.modules.arch();
                crate::images::tls::described(arch, &self.memory, registers, descriptor)
            }
            _ => Ok(self.thread_storage(bias)? + number),
        }
    }

    /// Returns the address of this thread's copy of an image's thread-local variables.
    pub(super) fn thread_storage(&self, bias: LoadBias) -> Result<LoadAddr, Error> {
        let place = self.frame.ok_or_else(|| {
            Error::Unsupported("thread-local variable; select a stack frame".into())
        })?;
        let mut images = self.modules.loaded.iter();
        let image = images.find(|loaded| loaded.bias == bias);
        let image = image.ok_or_else(|| Error::Unsupported("the module was unloaded".into()))?;
        let registers = &place.physical.registers;
        crate::images::tls::block(self.modules, &self.memory, registers, image)
    }

    /// Returns the caller of a machine frame, and its canonical frame address.
    pub(super) fn unwound(&self, address: FrameAddress, registers: &Registers) -> Option<Unwound> {
        let unwind = |it: &mut Unwinder| it.unwind(self.modules, &self.memory, address, registers);
        self.unwinder.with(self.modules, unwind).ok()
    }

    /// Returns the frame's caller at level 0, that one's caller at level 1, and so on. Functions that left by a
    /// tail call between the frame and the first caller on the stack are callers, too.
    pub(super) fn caller(&self, level: u32) -> Option<CallerFrame> {
        let frame = self.frame?.physical;
        let mut callers = match frame.called_from.is_empty() {
            true => self.callers_of(frame)?,
            false => frame.called_from.clone(),
        };
        let level = level as usize;
        while callers.len() <= level {
            let (address, registers) = callers.last()?;
            callers.push(self.unwound(*address, registers)?.caller?);
        }
        let (address, registers) = callers.swap_remove(level);
        let cfa = self.unwound(address, &registers).map(|unwound| unwound.cfa);
        Some(CallerFrame {
            return_address: address.addr(),
            jump: match address {
                FrameAddress::Pc(at) => Some(at),
                FrameAddress::ReturnAddress(_) => None,
            },
            registers,
            cfa,
        })
    }

    /// Returns the callers of a frame on the stack up to the first that is there, too.
    fn callers_of(&self, frame: &PhysicalFrame) -> Option<Vec<(FrameAddress, Registers)>> {
        let (address, registers) = self.unwound(frame.address, &frame.registers)?.caller?;
        let gone = frame.function.as_ref().map(|(function, bias)| {
            tail_calls::between(self.modules, self.tail_calls, (function, *bias), address)
        });
        let unknown = || Registers::new(registers.machine());
        let gone = gone.unwrap_or_default().into_iter();
        let mut callers: Vec<_> = gone.map(|it| (it, unknown())).collect();
        callers.push((address, registers));
        Some(callers)
    }
}
