//! A frame as the evaluator sees it: its variables, its registers, the process's memory.

mod c_library;
mod callers;
mod coroutine;
mod cpp_coroutine;
mod enter;
mod eval;
mod exception;
mod kept;
mod lambda;
mod locate;
mod nested;
mod parameters;
mod registers;
mod rust_captured;
mod variables;

pub(crate) use parameters::Parameter;

use crate::arch::ExtendedRegisters;
use crate::compile::functions::FunctionLookup;
use crate::debugger::call::Replay;
use crate::debugger::stack::PhysicalFrame;
use crate::expr::constants::enumerator;
use crate::ids::FrameKey;
use crate::ids::error::Error;
use crate::images::derived::Derived;
use crate::images::modules::{Loaded, Modules};
use crate::images::names::{CodePlace, Static};
use crate::images::tail_calls::TailCalls;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::{RegisterPlace, Target, Ty, Value, ValueLocation};
use crate::memory::ProcessMemory;
use crate::os::Backend;
use dwarf::{
    Function, LoadAddr, LoadBias, Macro, Memory, Module, ModuleMap, Scope, Unwinder, Variable,
};
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A frame, or none: then only global names are known.
pub(crate) struct FrameScope<'a> {
    os: &'a dyn Backend,
    memory: ProcessMemory<'a>,
    modules: &'a Modules,
    unwinder: &'a Derived<Unwinder>,
    tail_calls: &'a Derived<TailCalls>,
    cancel: Option<&'a AtomicBool>,
    frame: Option<FramePosition<'a>>,
    results: &'a [Value],
    replay: &'a mut Replay,
    subject: Option<&'a crate::stops::exception::Subject>,
    register_writes: Vec<(RegisterPlace, Vec<u8>)>,
    /// Whether the process may be changed: if it is recorded, that has to be prepared.
    is_prepared: bool,
    /// The frame's registers with the evaluation's writes.
    written: Option<dwarf::Registers>,
    /// The thread's other registers, read on first use.
    extended: OnceCell<Option<ExtendedRegisters>>,
}

#[derive(Clone, Copy)]
struct FramePosition<'a> {
    key: FrameKey,
    physical: &'a PhysicalFrame,
    /// The number of the machine frame.
    index: usize,
    /// The level inside it: 0 is the innermost inlined call.
    inner: usize,
    /// The machine frames that it has called, innermost first; none if they are not known.
    callees: &'a [PhysicalFrame],
}

impl FrameScope<'_> {
    fn loaded(&self) -> Option<&Loaded> {
        self.modules.at(self.frame?.physical.address.lookup())
    }

    /// Returns the registers of the frame with the evaluation's writes.
    fn seen_registers<'a>(&'a self, place: FramePosition<'a>) -> &'a dwarf::Registers {
        self.written.as_ref().unwrap_or(&place.physical.registers)
    }

    fn function(&self) -> Option<&Arc<Function>> {
        Some(&self.frame.as_ref()?.physical.function.as_ref()?.0)
    }

    /// Returns the scopes of this frame at its address, outermost first.
    fn scopes(&self) -> Vec<&Scope> {
        let (Some(place), Some(loaded), Some(function)) =
            (self.frame, self.loaded(), self.function())
        else {
            return Vec::new();
        };
        let addr = loaded.bias.file(place.physical.address.lookup());
        let mut frames = function.frames_at(addr);
        if place.inner < frames.len() {
            frames.swap_remove(place.inner).scopes
        } else {
            Vec::new()
        }
    }

    fn pc(&self) -> Option<LoadAddr> {
        Some(self.frame?.physical.address.lookup())
    }

    /// Returns the place that the frame's names are looked up from.
    fn code_place(&self) -> Option<CodePlace<'_>> {
        let loaded = self.loaded()?;
        Some(CodePlace {
            loaded,
            addr: loaded.bias.file(self.pc()?),
            scopes: self.scopes(),
            memory: Some(&self.memory),
        })
    }

    /// Returns the lookup of functions for the frame.
    fn function_lookup(&self) -> FunctionLookup<'_> {
        FunctionLookup {
            modules: self.modules,
            place: self.code_place(),
            function: self.function().map(|it| &**it),
        }
    }

    /// Returns the definition of a macro at the frame's line, if the compiler recorded macros.
    fn macro_at_line(&self, name: &str) -> Option<Macro> {
        let place = self.code_place()?;
        let module = &place.loaded.module;
        // The line of a caller is that of the inlined call.
        let frames = self.function()?.frames_at(place.addr);
        let inner = self.frame?.inner.checked_sub(1);
        let call = inner.and_then(|inner| frames.get(inner)?.inlined?.call_site.as_ref());
        let line = call.map(|call| (&*call.file, call.line));
        module.macro_at(place.addr, line, name)
    }

    /// Returns a function that the frame sees as a value.
    fn function_value(&self, name: &str) -> Option<Value> {
        if let Some((loaded, functions)) = self.function_lookup().seen(name) {
            let entry = loaded.bias.load(functions.first()?.entry);
            return Some(Value::from_function(
                &loaded.module,
                loaded.bias,
                name,
                entry,
            ));
        }
        self.modules
            .images_from(self.code_place().as_ref())
            .find_map(|loaded| {
                let module = &loaded.module;
                // The frame does not see functions of this name that have debug info.
                if !module.functions_named(name).is_empty() {
                    return None;
                }
                let symbols = module.function_symbols(name);
                let is_path = name.trim_start_matches("::").contains("::");
                let mut symbols = symbols.iter().filter(|it| is_path || is_global(it.name));
                let entry = loaded.bias.load(symbols.next()?.addr);
                Some(Value::from_function(module, loaded.bias, name, entry))
            })
    }

    /// Returns the value of what a name means outside the frame's blocks.
    fn static_value(&self, found: Static<'_>) -> Result<Option<Value>, Error> {
        match found {
            Static::Variable(loaded, variable) => {
                let ty = Ty::of(&loaded.module, loaded.bias, variable.ty);
                let value = self.own_value(ty, &loaded.module, loaded.bias, &variable);
                value.map(Some)
            }
            Static::Elsewhere(loaded, variable, addr) => {
                let ty = Ty::of(&loaded.module, loaded.bias, variable.ty);
                Ok(Some(Value::new(ty, ValueLocation::Memory(addr, None))))
            }
            Static::ThreadLocal(loaded, variable, home, offset) => {
                let ty = Ty::of(&loaded.module, loaded.bias, variable.ty);
                let addr = self.thread_storage(home.bias)? + offset;
                Ok(Some(Value::new(ty, ValueLocation::Memory(addr, None))))
            }
            Static::Enumerator(loaded, enumeration, name) => {
                let ty = Ty::dwarf(&loaded.module, loaded.bias, enumeration);
                Ok(enumerator(&ty, &name))
            }
            Static::Functions(name) => Ok(self.function_value(&name)),
            Static::Ambiguous(message) => Err(Error::eval(message)),
        }
    }
}

/// Returns whether a function's symbol is that of a function outside namespaces and classes, which its
/// bare name means.
fn is_global(symbol: &str) -> bool {
    let readable = dwarf::demangle(symbol);
    let unnamed = readable.strip_prefix("(anonymous namespace)::");
    let name = unnamed.unwrap_or(&readable);
    !name
        .split(['(', '<'])
        .next()
        .unwrap_or_default()
        .contains("::")
}

impl Target for FrameScope<'_> {
    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn modules(&self) -> &dyn ModuleMap {
        self.modules
    }

    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        self.modules
            .at(addr)
            .map(|loaded| (loaded.module.clone(), loaded.bias))
    }

    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        self.modules
            .loaded
            .iter()
            .map(|loaded| (loaded.module.clone(), loaded.bias))
            .collect()
    }

    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        if self.os.core().is_some() {
            return Err(Error::PostMortem("memory is read-only"));
        }
        if self.os.shown_copy().is_some() {
            return Err(Error::InThePast("memory is read-only"));
        }
        if !self.is_prepared {
            return Err(Error::Unprepared);
        }
        match self.memory.write(addr, bytes) == bytes.len() {
            true => Ok(()),
            false => Err(Error::Unwritable {
                addr,
                len: bytes.len(),
            }),
        }
    }

    fn write_register(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        if self.os.core().is_some() {
            return Err(Error::PostMortem("registers are read-only"));
        }
        if self.os.shown_copy().is_some() {
            return Err(Error::InThePast("registers are read-only"));
        }
        if !self.is_prepared {
            return Err(Error::Unprepared);
        }
        let written = match place.level {
            0 => Some((place, bytes.to_vec())),
            _ => self.write_kept(place, bytes)?,
        };
        if let Some(frame) = self.frame {
            let seen = self.seen_registers(frame).clone();
            let seen = register_parts::with_written(seen, place.register, bytes);
            self.written = Some(seen);
        }
        self.register_writes.extend(written);
        Ok(())
    }

    fn static_variable(
        &self,
        ty: Ty,
        (module, bias): (&Arc<Module>, LoadBias),
        variable: &Variable,
    ) -> Option<Result<Value, Error>> {
        Some(self.value_as(ty, module, bias, variable))
    }

    fn cancelled(&self) -> bool {
        self.cancel
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}
