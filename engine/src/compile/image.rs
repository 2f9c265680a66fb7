//! Names at an address of a module, from its debug info.

use super::code::{Address, Base};
use super::functions::FunctionLookup;
use super::lower::function_at;
use super::place::Terms;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, Scope, probe};
use crate::arch::{Arch, TlsTemplate};
use crate::expr::constants::enumerator;
use crate::ids::error::Error;
use crate::images::binding;
use crate::images::consts::SourceValue;
use crate::images::modules::{Loaded, Modules};
use crate::images::names::{CodePlace, Static};
use crate::inspect::captured;
use crate::inspect::value::{Shape, Ty};
use dwarf::{
    CTypes, Function, Language, LoadAddr, LoadBias, Memory, Module, StaticLocation, SymbolKind,
    TypeId, Variable, VariableKind,
};
use std::borrow::Cow;
use std::sync::Arc;

/// The innermost frame of a thread at a given address.
pub(crate) struct CodeScope<'a> {
    modules: &'a Modules,
    /// The memory of the process, in which the loader has bound the code; `None`: it is not read.
    memory: Option<&'a dyn Memory>,
    pc: LoadAddr,
    function: Option<Arc<Function>>,
    /// Number of inlined calls inside the frame.
    depth: usize,
    /// Offset from the thread pointer to the thread's number.
    thread_number: Option<i32>,
}

impl<'a> CodeScope<'a> {
    /// Returns the scope at an address, for the frame outside `depth` inlined calls. Without `memory`, the
    /// definition of a name that several images define is only that of the usual order.
    pub(crate) fn at(
        modules: &'a Modules,
        memory: Option<&'a dyn Memory>,
        pc: LoadAddr,
        depth: usize,
    ) -> CodeScope<'a> {
        let loaded = modules.at(pc);
        let function = loaded.and_then(|loaded| loaded.module.function_at(loaded.bias.file(pc)));
        CodeScope {
            modules,
            memory,
            pc,
            function,
            depth,
            thread_number: None,
        }
    }

    /// Returns the scope with a place for `$thread`: an offset in bytes from the thread pointer.
    pub(crate) fn with_thread_number(self, thread_number: Option<i32>) -> CodeScope<'a> {
        CodeScope {
            thread_number,
            ..self
        }
    }

    /// Returns the name of the function, or inlined function, whose scope this is.
    pub(crate) fn function_name(&self) -> Option<String> {
        let function = self.function.as_ref()?;
        let frames = function.frames_at(self.here()?.bias.file(self.pc));
        frames.get(self.depth).map(|frame| frame.name.to_owned())
    }

    /// Returns the names that [`Scope::local`] finds.
    pub(crate) fn locals(&self) -> Vec<String> {
        let (Some(loaded), Some(function)) = (self.here(), &self.function) else {
            return Vec::new();
        };
        let frames = function.frames_at(loaded.bias.file(self.pc));
        let scopes = frames
            .get(self.depth)
            .map_or(&[][..], |frame| &frame.scopes);
        let variables = scopes.iter().flat_map(|scope| &scope.variables);
        variables.map(|variable| variable.name.clone()).collect()
    }

    /// Returns the function's language, and the names of those of its parameters whose places are known
    /// here.
    pub(crate) fn parameters(&self) -> (Language, Vec<String>) {
        let (Some(loaded), Some(function)) = (self.here(), &self.function) else {
            return (Language::C, Vec::new());
        };
        let frames = function.frames_at(loaded.bias.file(self.pc));
        let outermost = frames
            .get(self.depth)
            .and_then(|frame| frame.scopes.first());
        let variables = outermost.map_or(&[][..], |scope| &scope.variables);
        let is_known = |variable: &&Variable| {
            variable.kind == VariableKind::Parameter
                && !variable.artificial
                && !variable.name.is_empty()
                && matches!(self.local(&variable.name), Ok(Some(_)))
        };
        let names = variables.iter().filter(is_known);
        let names = names.map(|variable| variable.name.clone()).collect();
        (self.language(), names)
    }

    /// Returns the lookup of functions here.
    pub(crate) fn function_lookup(&self) -> FunctionLookup<'_> {
        FunctionLookup {
            modules: self.modules,
            place: self.place(),
            function: self.function.as_deref(),
        }
    }

    /// Returns the names of the variables with static storage in the unit of the address.
    pub(crate) fn unit_statics(&self) -> Vec<String> {
        let statics = self
            .here()
            .map(|loaded| loaded.module.unit_statics(loaded.bias.file(self.pc)));
        let statics = statics.into_iter().flatten();
        statics.map(|variable| variable.name).collect()
    }

    /// Returns names of functions in the module of the address, at most `MOST`.
    pub(crate) fn functions(&self) -> Vec<String> {
        const MAX_FUNCTIONS: usize = 1 << 14;
        let symbols = self
            .here()
            .map(|loaded| loaded.module.functions_by_symbol());
        let symbols = symbols.into_iter().flatten().take(MAX_FUNCTIONS);
        let names = symbols.map(|symbol| {
            let name = dwarf::demangle(symbol.name);
            let name = name.split_once('(').map_or(&*name, |(name, _)| name);
            name.rsplit("::").next().unwrap_or_default().to_owned()
        });
        names.collect()
    }

    fn here(&self) -> Option<&'a Loaded> {
        self.modules.at(self.pc)
    }

    /// Returns the place that names are looked up from.
    pub(crate) fn place(&self) -> Option<CodePlace<'_>> {
        let loaded = self.here()?;
        let addr = loaded.bias.file(self.pc);
        let function = self.function.as_ref();
        let mut frames = function.map_or_else(Vec::new, |function| function.frames_at(addr));
        let scopes = match self.depth < frames.len() {
            true => frames.swap_remove(self.depth).scopes,
            false => Vec::new(),
        };
        Some(CodePlace {
            loaded,
            addr,
            scopes,
            memory: self.memory,
        })
    }

    /// Returns the classes around the function, innermost first.
    pub(crate) fn classes_around(&self) -> Vec<Ty> {
        let Some(place) = self.place() else {
            return Vec::new();
        };
        let (module, bias) = (&place.loaded.module, place.loaded.bias);
        let classes = place.classes_around().into_iter();
        classes.map(|id| Ty::dwarf(module, bias, id)).collect()
    }

    /// Returns whether the scopes at the address declare a name that is not a variable of a block,
    /// or a macro is defined there.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.place().is_some_and(|place| {
            let module = &place.loaded.module;
            place.declares(name) || module.macro_at(place.addr, None, name).is_some()
        })
    }

    fn static_value(&self, found: Static<'_>) -> Result<Option<RuntimeValue>, NotCompilable> {
        let value = match found {
            Static::Variable(loaded, variable) => self.own(loaded, &variable)?,
            Static::Elsewhere(loaded, variable, addr) => {
                let ty = Ty::of(&loaded.module, loaded.bias, variable.ty);
                let address = Address::of(Base::Zero, addr.0 as i64);
                RuntimeValue::new(ty, RuntimeLocation::Memory(address))
            }
            Static::ThreadLocal(loaded, variable, home, offset) => {
                let start = thread_local(self.modules.arch(), home);
                let start = start.ok_or("the thread-local storage of a library")?;
                let ty = Ty::of(&loaded.module, loaded.bias, variable.ty);
                let address = Address::of(Base::Thread, start.wrapping_add(offset as i64));
                RuntimeValue::new(ty, RuntimeLocation::Memory(address))
            }
            Static::Enumerator(loaded, enumeration, name) => {
                let ty = Ty::dwarf(&loaded.module, loaded.bias, enumeration);
                return enumerator(&ty, &name)
                    .map(RuntimeValue::constant)
                    .transpose();
            }
            Static::Functions(name) => return self.global(&name),
            Static::Ambiguous(message) => return Err(NotCompilable::new(message)),
        };
        Ok(Some(value))
    }

    /// Returns whether a variable points to the object of the lambda whose body this is: gcc's
    /// `__closure`, clang's `this`.
    fn is_closure(&self, loaded: &Loaded, variable: &Variable) -> bool {
        if !variable.artificial || !matches!(&*variable.name, "__closure" | "this") {
            return false;
        }
        let ty = variable
            .ty
            .map_or(Ty::Void, |id| Ty::dwarf(&loaded.module, loaded.bias, id));
        let Shape::Pointer(of, _) = ty.shape() else {
            return false;
        };
        match of.shape() {
            Shape::Composite(class) => class.composite().is_some_and(|it| it.closure),
            _ => false,
        }
    }

    fn found(&self, loaded: &Loaded, variable: &Variable) -> Result<RuntimeValue, NotCompilable> {
        if binding::may_be_shared(variable) {
            let found = self
                .modules
                .with_storage(loaded, variable.clone(), self.memory);
            let value = self.static_value(found)?;
            return value.ok_or_else(|| "its storage is unknown".into());
        }
        self.own(loaded, variable)
    }

    /// Returns a variable where its own image has it.
    fn own(&self, loaded: &Loaded, variable: &Variable) -> Result<RuntimeValue, NotCompilable> {
        let is_local = matches!(variable.kind, VariableKind::Parameter | VariableKind::Local);
        let function = self.function.as_deref().filter(|_| is_local);
        let pc = match is_local {
            true => loaded.bias.file(self.pc),
            false => dwarf::FileAddr(0),
        };
        let location = loaded.module.locate_static(variable, function, pc);
        let location = location.map_err(|error| NotCompilable::new(error.to_string()))?;
        if location == StaticLocation::OptimizedOut {
            return Err("optimized out at this location".into());
        }
        let arch = self.modules.arch();
        let terms = Terms {
            arch,
            bias: loaded.bias,
            thread_local: thread_local(arch, loaded),
        };
        let place = terms.place(location)?;
        let ty = Ty::of(&loaded.module, loaded.bias, variable.ty);
        if ty.has_dynamic_array() {
            return Err("an array whose size is computed when the program runs".into());
        }
        Ok(RuntimeValue::new(ty, place))
    }
}

/// Returns the offset of the program's own thread-local variables from the thread pointer. The loader
/// decides on those of libraries.
fn thread_local(arch: Arch, loaded: &Loaded) -> Option<i64> {
    let storage = loaded
        .module
        .thread_storage()
        .filter(|_| loaded.is_program)?;
    let template = TlsTemplate {
        start: storage.addr.0,
        size: storage.size,
        align: storage.align.max(1),
    };
    let is_valid = template.align.is_power_of_two();
    is_valid.then(|| arch.tls_of_program(0, template) as i64)
}

impl Scope for CodeScope<'_> {
    fn declares(&self, name: &str) -> bool {
        self.place().is_some_and(|place| place.declares(name))
    }

    fn has_functions(&self, name: &str) -> bool {
        // One that is chosen at run time is known by its symbol only.
        let is_chosen = |loaded: &Loaded| {
            let symbols = loaded.module.function_symbols(name);
            let mut kinds = symbols.iter().map(|it| it.kind);
            kinds.any(|it| it == SymbolKind::IndirectFunction)
        };
        !self.modules.loaded.iter().any(is_chosen)
            && !self.function_lookup().callable(name).is_empty()
    }

    fn has_macros(&self) -> bool {
        let has = |loaded: &Loaded| loaded.module.has_macros(loaded.bias.file(self.pc));
        self.here().is_some_and(has)
    }

    fn source_constant(&self, name: &str) -> Result<Option<SourceValue>, String> {
        let (Some(loaded), Some(function)) = (self.here(), &self.function) else {
            return Ok(None);
        };
        let place = (loaded.bias.file(self.pc), self.depth);
        self.modules.consts.find(loaded, function, place, name)
    }

    fn source_paths(&self, path: &str) -> Result<Vec<Vec<String>>, String> {
        let (Some(loaded), Some(function)) = (self.here(), &self.function) else {
            return Ok(Vec::new());
        };
        let place = (loaded.bias.file(self.pc), self.depth);
        self.modules.consts.places(loaded, function, place, path)
    }

    fn data_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        self.modules.data_named(symbol, self.place().as_ref())
    }

    fn arch(&self) -> Arch {
        self.modules.arch()
    }

    fn c_types(&self) -> CTypes {
        self.modules.c_types()
    }

    fn thread_number(&self) -> Option<i32> {
        self.thread_number
    }

    fn language(&self) -> Language {
        match &self.function {
            Some(function) => function.language,
            None => self
                .modules
                .program()
                .and_then(|program| program.module.language_at(program.module.entry()))
                .unwrap_or_default(),
        }
    }

    fn pc(&self) -> LoadAddr {
        self.pc
    }

    fn local(&self, name: &str) -> Result<Option<RuntimeValue>, NotCompilable> {
        let (Some(loaded), Some(function)) = (self.here(), &self.function) else {
            return Ok(None);
        };
        let frames = function.frames_at(loaded.bias.file(self.pc));
        let scopes = frames
            .get(self.depth)
            .map_or(&[][..], |frame| &frame.scopes);
        let inside = scopes.iter().rev();
        let inside = inside.flat_map(|scope| scope.variables.iter().rev());
        let named: Vec<&Variable> = inside.filter(|it| it.is_called(name)).collect();
        let addr = loaded.bias.file(self.pc);
        let uses = &self.modules.first_uses;
        let is_missing = |it: &Variable| uses.has_no_value_yet(loaded, function, it, addr);
        let variable = named.iter().copied().find(|it| !is_missing(it));
        if variable.is_none() && !named.is_empty() {
            return Err(NotCompilable::new(Error::NoValueYet.to_string()));
        }
        if let Some(variable) = variable
            && !self.is_closure(loaded, variable)
        {
            if loaded.module.captured_reference(variable).is_some() {
                let why = "a reference that a closure has captured, which has a length or a vtable";
                return Err(why.into());
            }
            return self.found(loaded, variable).map(Some);
        }
        let declared = scopes.iter().rev();
        let mut declared = declared.filter_map(|scope| loaded.module.value_in_block(name, scope));
        if variable.is_none()
            && let Some(declared) = declared.next()
            && let Some(found) = self.modules.meant(loaded, declared, self.memory)
        {
            return self.static_value(found);
        }
        if variable.is_none() && loaded.module.encloses(function, name) {
            return Err("a variable of the function around the nested one".into());
        }
        let mut all = scopes.iter().flat_map(|scope| &scope.variables);
        let Some(closure) = all.find(|variable| self.is_closure(loaded, variable)) else {
            return Ok(None);
        };
        // A captured variable of a lambda.
        let closure = self.found(loaded, closure)?;
        let Shape::Pointer(of, _) = closure.ty.shape() else {
            return Ok(None);
        };
        probe::member(&closure.pointee(&of)?, name)
    }

    fn captured_behind(&self, variable: &str, path: &[&str]) -> usize {
        let (Some(loaded), Some(function)) = (self.here(), &self.function) else {
            return 0;
        };
        let frames = function.frames_at(loaded.bias.file(self.pc));
        let scopes = frames.get(self.depth).map_or(&[][..], |it| &it.scopes);
        // The closure's own scope has what is captured; blocks in it may hide that.
        let mut named = scopes.iter().rev().flat_map(|scope| &scope.variables);
        let named = named.find(|it| it.is_called(variable));
        named.map_or(0, |it| {
            captured::dereferences(&loaded.module, loaded.bias, it, path)
        })
    }

    fn global(&self, name: &str) -> Result<Option<RuntimeValue>, NotCompilable> {
        let place = self.place();
        let mut name = Cow::Borrowed(name);
        match self.modules.static_named(&name, place.as_ref()) {
            Some(Static::Functions(qualified)) => name = Cow::Owned(qualified),
            Some(found) => return self.static_value(found),
            None => {}
        }
        let sees = |function: &Function| name.contains("::") || function.name == *name;
        let seen = self.modules.functions_seen(&name, place.as_ref(), sees);
        if let Some((loaded, functions)) = seen {
            // If several have the name, only a call determines the overload.
            let [function] = functions.as_slice() else {
                return Err("ambiguous: several functions match".into());
            };
            return Ok(Some(function_at(&name, loaded.bias.load(function.entry))));
        }
        for loaded in self.modules.images_from(place.as_ref()) {
            let module = &loaded.module;
            if !module.functions_named(&name).is_empty() {
                return Err("ambiguous: several functions match".into());
            }
            if let Some(symbol) = module.function_symbols(&name).first() {
                return Ok(Some(function_at(&name, loaded.bias.load(symbol.addr))));
            }
        }
        Ok(None)
    }

    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        let (loaded, id) = self.modules.type_named(name, self.place().as_ref())?;
        Some((loaded.module.clone(), loaded.bias, id))
    }

    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        let loaded = self.here()?;
        let near = loaded.bias.file(self.pc);
        let id = loaded.module.enumeration_with(enumerator, near)?;
        Some(Ty::dwarf(&loaded.module, loaded.bias, id))
    }
}
