//! A frame as the evaluator sees it: its variables, its registers, the process's memory.

mod callers;
mod coroutine;
mod eval;
mod exception;
mod lambda;
mod parameters;

use crate::arch::ExtendedRegisters;
use crate::debugger::stack::PhysicalFrame;
use crate::debugger::{Debugger, RegisterGroup};
use crate::ids::FrameKey;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::images::modules::{Loaded, Modules};
use crate::inspect::eval::EvalContext;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Named, RegisterPlace, Target, Ty, Value};
use crate::memory::{PageCache, ProcessMemory};
use crate::os::Backend;
use dwarf::{
    CallerFrame, FrameContext, Function, LoadAddr, LoadBias, Location, Memory, Module, ModuleMap,
    Scope, TypeId, Unwinder, Variable, VariableKind,
};
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A frame, or none: then only global names are known.
pub(crate) struct FrameScope<'a> {
    os: &'a dyn Backend,
    memory: ProcessMemory<'a>,
    pages: &'a PageCache,
    modules: &'a Modules,
    unwinder: &'a RefCell<Unwinder>,
    cancel: Option<&'a AtomicBool>,
    frame: Option<FramePosition<'a>>,
    results: &'a [Value],
    replay: &'a RefCell<crate::debugger::call::Replay>,
    subject: Option<&'a crate::stops::exception::Subject>,
    register_writes: Vec<(RegisterPlace, Vec<u8>)>,
    /// The frame's registers with the evaluation's writes.
    written: Option<dwarf::Registers>,
    /// The thread's other registers, read on first use.
    extended: OnceCell<Option<ExtendedRegisters>>,
}

/// A parameter of a frame's function with its present value.
pub(crate) struct Parameter {
    pub name: String,
    pub value: Result<Value, Error>,
    pub bytes: Result<Bytes, Error>,
    /// Its location at the function's first instruction, by debug info.
    pub at_entry: Option<Location>,
}

#[derive(Clone, Copy)]
struct FramePosition<'a> {
    key: FrameKey,
    physical: &'a PhysicalFrame,
    /// The number of the machine frame.
    index: usize,
    /// The level inside it: 0 is the innermost inlined call.
    inner: usize,
}

impl Debugger {
    /// Runs `use_it` in a frame. A thread that is stopped while others run (during the evaluation
    /// of a breakpoint) has only its innermost frame.
    pub(crate) fn in_frame<T>(
        &mut self,
        key: FrameKey,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.inferior.is_visible_stop(key.thread) {
            return self.in_hit_frame(key.thread, 0, use_it);
        }
        self.unwound(key.thread, key.level + 1)?;
        let Some(stack) = self.views.stacks.remove(&key.thread) else {
            return Err(Error::NoSuchThread(key.thread.0));
        };
        let (result, writes) = match stack.at(key.level) {
            Some((index, inner)) => match stack.physical.get(index) {
                Some(physical) => self.with_scope(Some((key, physical, index, inner)), use_it),
                None => (Err(Error::NoSuchFrame(key.level)), Vec::new()),
            },
            None => (Err(Error::NoSuchFrame(key.level)), Vec::new()),
        };
        if writes.is_empty() {
            self.views.stacks.insert(key.thread, stack);
        }
        for (place, bytes) in writes {
            self.write_register(place, &bytes)?;
        }
        result
    }

    /// Runs `use_it` in the innermost frame of a thread that hit a site, without `hidden` inlined
    /// calls: in the frame of the requested location.
    pub(crate) fn in_hit_frame<T>(
        &mut self,
        thread: ThreadId,
        hidden: usize,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (address, registers) = self.innermost(thread)?;
        let mut frame = self.physical_frame(address, registers, 0);
        frame.cfa = self.cfa_of(&frame).ok();
        let inner = hidden.min(frame.levels.saturating_sub(1));
        let key = FrameKey { thread, level: 0 };
        self.with_scope(Some((key, &frame, 0, inner)), use_it).0
    }

    /// Runs `use_it` in a machine frame of a thread; `place`: its number, and the number of inlined
    /// calls inside the wanted one.
    pub(crate) fn in_physical_frame<T>(
        &self,
        key: FrameKey,
        physical: &PhysicalFrame,
        (index, inner): (usize, usize),
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_scope(Some((key, physical, index, inner)), use_it)
            .0
    }

    /// Runs `use_it` without a frame.
    pub(crate) fn in_process<T>(
        &mut self,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_scope(None, use_it).0
    }

    #[allow(clippy::type_complexity)]
    fn with_scope<T>(
        &self,
        frame: Option<(FrameKey, &PhysicalFrame, usize, usize)>,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> (Result<T, Error>, Vec<(RegisterPlace, Vec<u8>)>) {
        let mut scope = FrameScope {
            os: self.inferior.os(),
            memory: self.inferior.memory(),
            pages: &self.inferior.pages,
            modules: &self.images.modules,
            unwinder: &self.views.unwinder,
            cancel: self.views.cancel.as_deref(),
            frame: frame.map(|(key, physical, index, inner)| FramePosition {
                key,
                physical,
                index,
                inner,
            }),
            results: &self.views.results,
            replay: &self.calls.replay,
            subject: frame.and_then(|(key, ..)| self.stops.exceptions.subject_of(key.thread)),
            register_writes: Vec::new(),
            written: None,
            extended: OnceCell::new(),
        };
        let result = use_it(&mut scope);
        (result, scope.register_writes)
    }

    fn write_register(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        if self
            .images
            .modules
            .arch()
            .is_extended_register(place.register)
        {
            return self.write_extended(place, bytes);
        }
        let mut set = self
            .inferior
            .registers(place.thread)
            .ok_or(Error::NoSuchThread(place.thread.0))?;
        let old = set.get(place.register).unwrap_or(0);
        let value = register_parts::written(old, bytes);
        if bytes.len() > 8 || !set.set(place.register, value) {
            return Err(Error::Unsupported("cannot write this register".into()));
        }
        if !self.inferior.set_registers_of(place.thread, set) {
            return Err(Error::NoSuchThread(place.thread.0));
        }
        Ok(())
    }

    /// Writes the first bytes of an extended register.
    fn write_extended(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        let gone = Error::NoSuchThread(place.thread.0);
        let mut area = self
            .inferior
            .os()
            .extended_registers(place.thread)
            .ok_or(gone)?;
        let arch = self.images.modules.arch();
        let there = arch.write_extended_register(place.register, &mut area, bytes);
        match there && self.inferior.set_extended_registers(place.thread, &area) {
            true => Ok(()),
            false => Err(Error::Unsupported(
                "the processor rejects this value for the register".into(),
            )),
        }
    }
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

    /// Returns the parameters of the frame's function in order, including compiler-generated ones.
    pub fn parameters(&self) -> Vec<Parameter> {
        let (Some(loaded), Some(function)) = (self.loaded(), self.function()) else {
            return Vec::new();
        };
        let all = function.scope.variables.iter();
        let all = all.filter(|variable| variable.kind == VariableKind::Parameter);
        let parameter = |variable: &Variable| {
            let value = self.value_of(&loaded.module, loaded.bias, variable);
            let bytes = match &value {
                Ok(value) => value.bytes(self),
                Err(error) => Err(error.clone()),
            };
            let entry = loaded.bias.load(function.entry);
            let at_entry = self.location_of(&loaded.module, loaded.bias, variable, Some(entry));
            Parameter {
                name: variable.name.clone(),
                value,
                bytes,
                at_entry: at_entry.ok().map(|(location, ..)| location),
            }
        };
        all.map(parameter).collect()
    }

    /// Returns the value of a variable of `module` in this frame.
    fn value_of(
        &self,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
    ) -> Result<Value, Error> {
        self.value_as(Ty::of(module, bias, variable.ty), module, bias, variable)
    }

    /// Like [`Self::value_of`], with the type given.
    fn value_as(
        &self,
        ty: Ty,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
    ) -> Result<Value, Error> {
        let (location, registers, key) = self.location_of(module, bias, variable, None)?;
        Ok(Value::from_location(ty, location, &registers, key))
    }

    /// Returns the location of a variable of `module` in this frame, at its pc or at another
    /// address in it; with the registers and the machine frame that the location refers to.
    fn location_of(
        &self,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
        at: Option<LoadAddr>,
    ) -> Result<(Location, Cow<'_, dwarf::Registers>, FrameKey), Error> {
        let (registers, cfa, pc, key, function) = match (self.frame, variable.kind) {
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
        let no_storage = std::cell::OnceCell::new();
        let tls = |offset| match self.thread_storage(bias) {
            Ok(block) => Some(block + offset),
            Err(error) => {
                let _ = no_storage.set(error);
                None
            }
        };
        let located = module.locate(
            variable,
            &FrameContext {
                memory: &self.memory,
                registers: &registers,
                cfa,
                pc,
                bias,
                function,
                tls: &tls,
                caller: &caller,
            },
        );
        let location = match (located, no_storage.into_inner()) {
            (Err(_), Some(error)) => return Err(error),
            (located, _) => located?,
        };
        Ok((location, registers, key))
    }

    /// Returns the address of this thread's copy of an image's thread-local variables.
    fn thread_storage(&self, bias: LoadBias) -> Result<LoadAddr, Error> {
        let place = self.frame.ok_or_else(|| {
            Error::Unsupported("thread-local variable; select a stack frame".into())
        })?;
        let mut images = self.modules.loaded.iter();
        let image = images.find(|loaded| loaded.bias == bias);
        let image = image.ok_or_else(|| Error::Unsupported("the module was unloaded".into()))?;
        let registers = &place.physical.registers;
        crate::images::tls::block(self.modules, &self.memory, registers, image)
    }

    /// Returns the frame's caller at level 0, that one's caller at level 1, and so on.
    fn caller(&self, level: u32) -> Option<CallerFrame> {
        let frame = self.frame?.physical;
        // The unwinder is free here: it never evaluates variables.
        let mut unwinder = self.unwinder.try_borrow_mut().ok()?;
        let mut unwind = |address, registers: &dwarf::Registers| {
            unwinder
                .unwind(self.modules, &self.memory, address, registers)
                .ok()
        };
        let (mut address, mut registers) = unwind(frame.address, &frame.registers)?.caller?;
        for _ in 0..level {
            (address, registers) = unwind(address, &registers)?.caller?;
        }
        let cfa = unwind(address, &registers).map(|unwound| unwound.cfa);
        Some(CallerFrame {
            return_address: address.addr(),
            registers,
            cfa,
        })
    }

    /// Returns arguments and locals, innermost scope last; the name of a shadowed one says where it
    /// was declared.
    pub fn locals(&self) -> Result<Vec<Named>, Error> {
        let Some(loaded) = self.loaded() else {
            return Ok(Vec::new());
        };
        let scopes = self.scopes();
        let most = scopes.iter().map(|scope| scope.variables.len()).sum();
        let mut named: Vec<Named> = Vec::with_capacity(most);
        let mut variables: Vec<&Variable> = Vec::with_capacity(most);
        // The last variable of each name, which hides the others.
        let mut visible: HashMap<Cow<'_, str>, usize> = HashMap::with_capacity(most);
        // Many are of the same type, and a type caches its derived data.
        let mut types: HashMap<Option<TypeId>, Ty> = HashMap::new();
        for scope in scopes {
            for variable in &scope.variables {
                if self.cancelled() {
                    return Err(Error::Cancelled);
                }
                let (module, bias) = (&loaded.module, loaded.bias);
                let ty =
                    (types.entry(variable.ty)).or_insert_with(|| Ty::of(module, bias, variable.ty));
                let value = || self.value_as(ty.clone(), module, bias, variable);
                if let Some(closure) = self.closure_in(variable, value) {
                    for captured in self.captures_of(&closure) {
                        visible.insert(captured.name.clone().into(), named.len());
                        named.push(captured);
                    }
                    variables.resize(named.len(), variable);
                    continue;
                }
                let shown = match variable.artificial {
                    _ if variable.name.is_empty() => false,
                    true => variable.name == "this" || lambda::stands_for_capture(variable, scope),
                    false => true,
                };
                let known = || named.iter().any(|it| it.name == variable.name);
                if !shown || variable.artificial && known() {
                    continue;
                }
                let hidden = visible.insert(variable.name.as_str().into(), named.len());
                if let Some(shadowed) = hidden.and_then(|at| named.get_mut(at)) {
                    shadowed.expression = None;
                    if let Some(place) = &shadowed.declaration {
                        shadowed.name = format!("{} (line {})", variable.name, place.line);
                    }
                }
                variables.push(variable);
                named.push(Named {
                    name: variable.name.clone(),
                    expression: Some(variable.name.clone()),
                    value: value(),
                    is_parameter: variable.kind == VariableKind::Parameter,
                    declaration: variable.declaration.clone(),
                });
            }
        }
        self.restore_kept(&mut named);
        self.drop_captured(&mut named, &variables);
        Ok(named)
    }

    /// Returns the variables of static storage of this frame's unit, sorted by name.
    pub fn globals(&self) -> Result<Vec<Named>, Error> {
        let Some((loaded, pc)) = self.loaded().zip(self.pc()) else {
            return Ok(Vec::new());
        };
        let mut variables = loaded.module.unit_statics(loaded.bias.file(pc));
        variables.retain(|variable| !variable.name.is_empty() && !variable.artificial);
        let qualified = |variable: &Variable| match &*variable.namespace {
            "" => variable.name.clone(),
            namespace => format!("{namespace}::{}", variable.name),
        };
        variables.sort_by_cached_key(qualified);
        let mut named = Vec::with_capacity(variables.len());
        for variable in variables {
            if self.cancelled() {
                return Err(Error::Cancelled);
            }
            let name = qualified(&variable);
            named.push(Named {
                expression: Some(name.clone()),
                name,
                value: self.value_of(&loaded.module, loaded.bias, &variable),
                is_parameter: false,
                declaration: variable.declaration,
            });
        }
        Ok(named)
    }

    /// Returns whether [`FrameScope::globals`] has any.
    pub fn has_globals(&self) -> bool {
        let unit = self.loaded().zip(self.pc());
        unit.is_some_and(|(loaded, pc)| loaded.module.has_unit_statics(loaded.bias.file(pc)))
    }

    fn pc(&self) -> Option<LoadAddr> {
        Some(self.frame?.physical.address.lookup())
    }

    /// Returns a group of registers, as far as they are known; the upper halves of the vector
    /// registers are the thread's.
    pub fn register_group(&self, group: RegisterGroup) -> Vec<Named> {
        let Some(place) = self.frame else {
            return Vec::new();
        };
        let registers = self.seen_registers(place);
        let machine = registers.machine();
        let arch = self.modules.arch();
        let names: Vec<String> = match group {
            RegisterGroup::General | RegisterGroup::Segment => {
                let wanted = group == RegisterGroup::Segment;
                let names = machine.register_names().iter().map(|(_, name)| *name);
                let names = names.filter(|name| arch.is_segment_register(name) == wanted);
                names.map(str::to_owned).collect()
            }
            RegisterGroup::Flags => {
                let whole = arch.flags().map_or("", |flags| flags.name);
                let flags = register_parts::flags(registers, |register| at(place, register));
                let flag = |name: &str| name.split(' ').next().unwrap_or(name).to_owned();
                let named = flags.into_iter().map(|(name, value)| Named {
                    name: name.to_owned(),
                    expression: Some(format!("${whole}.{}", flag(name))),
                    value: Ok(value),
                    is_parameter: false,
                    declaration: None,
                });
                return named.collect();
            }
            RegisterGroup::Vector => arch.vector_registers(self.extended(place).as_deref()),
            RegisterGroup::Float => arch.float_registers(),
        };
        self.registers_named(names)
    }

    /// Returns the parts of a register of a frame: smaller ones, or the lanes of a vector.
    pub fn register_parts(&self, register: &str) -> Vec<Named> {
        let arch = self.modules.arch();
        let parts = arch.parts_of_register(register);
        if !parts.is_empty() {
            return self.registers_named(parts);
        }
        let Some(whole) = self.register(register) else {
            return Vec::new();
        };
        if !arch.is_vector_register(register) {
            return Vec::new();
        }
        let views = register_parts::views().filter_map(|view| {
            let value = register_parts::member(arch, &whole, view, self.language())?;
            Some(Named {
                name: view.to_owned(),
                expression: Some(format!("${register}.{view}")),
                value: Ok(value),
                is_parameter: false,
                declaration: None,
            })
        });
        views.collect()
    }

    /// Returns the extended registers of the thread with the evaluation's writes; known for the innermost
    /// frame only.
    fn extended(&self, place: FramePosition<'_>) -> Option<Cow<'_, [u8]>> {
        let read = || self.os.extended_registers(place.key.thread);
        let area = self.extended.get_or_init(read).as_deref();
        let mut area = Cow::Borrowed(area.filter(|_| place.index == 0)?);
        for (written, bytes) in &self.register_writes {
            let arch = self.modules.arch();
            if arch.is_extended_register(written.register) {
                arch.write_extended_register(written.register, area.to_mut(), bytes);
            }
        }
        Some(area)
    }

    /// Returns the known ones of these registers.
    fn registers_named(&self, names: Vec<String>) -> Vec<Named> {
        let known = names.into_iter().filter_map(|name| {
            Some(Named {
                value: Ok(self.register(&name)?),
                expression: Some(format!("${name}")),
                name,
                is_parameter: false,
                declaration: None,
            })
        });
        known.collect()
    }

    fn register_value(
        &self,
        place: FramePosition<'_>,
        register: dwarf::Register,
        name: &str,
        value: u64,
    ) -> Value {
        let place = RegisterPlace {
            thread: place.key.thread,
            level: place.index,
            register,
        };
        Value::from_register(place, name, value)
    }

    /// Returns whether `name` alone identifies a function: a whole path always does; a bare name
    /// does not if the function is in a module, class or namespace that this frame's function is
    /// not in.
    fn sees(&self, name: &str, function: &Function) -> bool {
        if name.contains("::") || function.linkage_name.as_deref() == Some(name) {
            return true;
        }
        let path = match function.name.find('<') {
            Some(0) => return false,
            Some(at) => &function.name[..at],
            None => &function.name,
        };
        let Some(scope) = path.strip_suffix(name) else {
            return false;
        };
        let here = self.function().map_or("", |function| &*function.name);
        // The methods of a trait: `<crate::Type as crate::Trait>::method`.
        here.trim_start_matches('<').starts_with(scope)
    }

    /// Returns how near a function is declared: the number of enclosing names that it shares with
    /// the frame's function, then whether both are in one file.
    fn nearness(&self, loaded: &Loaded, function: &Function) -> usize {
        let Some(here) = self.function() else {
            return 0;
        };
        let shared = function.name.split("::").zip(here.name.split("::"));
        let shared = shared.take_while(|(a, b)| a == b).count();
        let is_here = self.loaded().is_some_and(|it| it.id == loaded.id);
        let file = |it: &Function| it.declaration.as_ref().map(|at| at.file.path.clone());
        2 * shared + usize::from(is_here && file(here) == file(function))
    }

    /// Returns the frame's image first, then all others.
    fn images_from_here(&self) -> impl Iterator<Item = &Loaded> {
        let here = self.loaded().map(|loaded| loaded.id);
        let first = self.loaded();
        first.into_iter().chain(
            self.modules
                .loaded
                .iter()
                .filter(move |loaded| Some(loaded.id) != here),
        )
    }
}

/// Returns a register of the machine frame of a place.
fn at(place: FramePosition<'_>, register: dwarf::Register) -> RegisterPlace {
    RegisterPlace {
        thread: place.key.thread,
        level: place.index,
        register,
    }
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
        self.pages.clear();
        match self.memory.patches.write(addr, bytes, self.os) == bytes.len() {
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
        if place.level != 0 {
            return Err(Error::Unsupported(
                crate::inspect::eval::messages::CALLER_REGISTER.into(),
            ));
        }
        if let Some(frame) = self.frame {
            let seen = self.seen_registers(frame).clone();
            let seen = register_parts::with_written(seen, place.register, bytes);
            self.written = Some(seen);
        }
        self.register_writes.push((place, bytes.to_vec()));
        Ok(())
    }

    fn cancelled(&self) -> bool {
        self.cancel
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }
}
