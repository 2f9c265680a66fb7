//! A frame as a context of expressions.

use super::FrameScope;
use super::variables::is_given;
use crate::arch::Arch;
use crate::expr::{Call, EvalContext, Guard, InlinedFunction, ResolvedFunction};
use crate::ids::error::Error;
use crate::images::consts::SourceValue;
use crate::inspect::registers::extended;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::{Target, Ty, Value};
use dwarf::{CTypes, Language, LoadAddr, LoadBias, Module, TypeId};
use std::ops::Range;
use std::sync::Arc;

impl EvalContext for FrameScope<'_> {
    fn language(&self) -> Language {
        match self.function() {
            Some(function) => function.language,
            None => self
                .modules
                .program()
                .and_then(|program| program.module.language_at(program.module.entry()))
                .unwrap_or_default(),
        }
    }

    fn local(&self, name: &str) -> Result<Option<Value>, Error> {
        FrameScope::local(self, name)
    }

    fn captured_behind(&self, variable: &str, path: &[&str]) -> usize {
        FrameScope::captured_behind(self, variable, path)
    }

    fn global(&self, name: &str) -> Result<Option<Value>, Error> {
        match self.modules.static_named(name, self.code_place().as_ref()) {
            Some(found) => self.static_value(found),
            None => match self.function_value(name) {
                Some(function) => Ok(Some(function)),
                None => self.c_library_variable(name),
            },
        }
    }

    fn source_constant(&self, name: &str) -> Result<Option<SourceValue>, String> {
        let (Some(frame), Some(loaded), Some(function)) =
            (self.frame, self.loaded(), self.function())
        else {
            return Ok(None);
        };
        let addr = loaded.bias.file(frame.physical.address.lookup());
        let place = (addr, frame.inner);
        self.modules.consts.find(loaded, function, place, name)
    }

    fn source_paths(&self, path: &str) -> Result<Vec<Vec<String>>, String> {
        let (Some(frame), Some(loaded), Some(function)) =
            (self.frame, self.loaded(), self.function())
        else {
            return Ok(Vec::new());
        };
        let addr = loaded.bias.file(frame.physical.address.lookup());
        let place = (addr, frame.inner);
        self.modules.consts.places(loaded, function, place, path)
    }

    fn static_of_the_system(&self, name: &str) -> Option<(String, String)> {
        self.modules.static_of_the_system(name)
    }

    fn data_of_symbol(&self, symbol: &str) -> Option<LoadAddr> {
        self.modules.data_named(symbol, self.code_place().as_ref())
    }

    fn arch(&self) -> Arch {
        self.modules.arch()
    }

    fn c_types(&self) -> CTypes {
        self.modules.c_types()
    }

    fn register(&self, name: &str) -> Option<Value> {
        let place = self.frame?;
        if let Some(value) = self.of_thread(name) {
            return Some(value);
        }
        let registers = self.seen_registers(place);
        let at = |register| super::registers::at(place, register);
        // `sp` is the stack pointer, and not the lower 16 bits of it.
        if name != "sp"
            && let Some(part) = register_parts::value(registers, name, self.language(), at)
        {
            return Some(part);
        }
        let arch = self.modules.arch();
        if let Some(register) = arch.extended_register_named(name) {
            let area = self.extended(place)?;
            return extended::value(arch, register, &area, self.language(), at);
        }
        let alias = match name {
            "pc" => Some(registers.machine().pc()),
            "sp" => Some(registers.machine().sp()),
            "fp" => Some(registers.machine().frame_pointer()),
            name => arch.register_alias(name),
        };
        let (register, name) = registers
            .machine()
            .register_names()
            .iter()
            .find(|(register, known)| *known == name || alias == Some(*register))?;
        let value = registers.get(*register)?;
        Some(self.register_value(place, *register, name, value))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .scopes()
            .into_iter()
            .rev()
            .flat_map(|scope| &scope.variables)
            .filter(|variable| !variable.artificial || is_given(&variable.name))
            .filter(|variable| !variable.name.is_empty())
            .map(|variable| variable.name.clone())
            .collect();
        names.extend(self.captures().into_iter().map(|capture| capture.name));
        names.extend(self.names_of_enclosing());
        if let Some((loaded, pc)) = self.loaded().zip(self.pc()) {
            let statics = loaded.module.unit_statics(loaded.bias.file(pc));
            names.extend(statics.into_iter().map(|variable| variable.name));
        }
        names.retain(|name| !name.is_empty());
        names
    }

    fn registers(&self) -> Vec<String> {
        let Some(place) = self.frame else {
            return Vec::new();
        };
        let machine = place.physical.registers.machine();
        let names = machine.register_names().iter();
        names.map(|(_, name)| (*name).to_owned()).collect()
    }

    fn functions(&self, name: &str) -> Vec<ResolvedFunction> {
        self.function_lookup().callable(name)
    }

    fn classes_around(&self) -> Vec<Ty> {
        let Some(place) = self.code_place() else {
            return Vec::new();
        };
        let (module, bias) = (&place.loaded.module, place.loaded.bias);
        let classes = place.classes_around().into_iter();
        classes.map(|id| Ty::dwarf(module, bias, id)).collect()
    }

    fn declares(&self, name: &str) -> bool {
        self.code_place().is_some_and(|place| place.declares(name))
    }

    fn inlined_functions(&self, name: &str) -> Vec<InlinedFunction> {
        self.function_lookup().inlined(name)
    }

    fn answered(&self, span: &Range<usize>) -> Option<Result<Value, Error>> {
        self.replay.done.get(&(span.start, span.end)).cloned()
    }

    fn keep_done(&mut self, span: &Range<usize>, value: &Value) {
        let span = (span.start, span.end);
        self.replay.done.insert(span, Ok(value.clone()));
    }

    fn guards(&mut self) -> Option<&mut Vec<Guard>> {
        Some(&mut self.replay.guards)
    }

    fn answers_calls(&self) -> bool {
        self.frame.is_some()
    }

    fn call(&mut self, call: Call) -> Error {
        if self.frame.is_none() {
            return Error::Unsupported("no thread to call on".into());
        }
        self.replay.wanted = Some(call);
        Error::Calling
    }

    fn is_called_from(&self, name: &str, number: Option<usize>) -> bool {
        FrameScope::is_called_from(self, name, number)
    }

    fn exception(&self) -> Result<Value, Error> {
        FrameScope::exception(self)
    }

    fn previous(&self, number: Option<usize>) -> Option<Value> {
        match number {
            Some(number) => self.results.get(number.checked_sub(1)?).cloned(),
            None => self.results.last().cloned(),
        }
    }

    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        let place = self.code_place();
        let (loaded, id) = self.modules.type_named(name, place.as_ref())?;
        Some((loaded.module.clone(), loaded.bias, id))
    }

    fn enumeration_with(&self, enumerator: &str) -> Option<Ty> {
        let loaded = self.loaded()?;
        let near = loaded.bias.file(self.pc()?);
        let id = loaded.module.enumeration_with(enumerator, near)?;
        Some(Ty::dwarf(&loaded.module, loaded.bias, id))
    }

    fn macro_place(&self) -> Option<LoadAddr> {
        let place = self.code_place()?;
        let has_macros = place.loaded.module.has_macros(place.addr);
        has_macros.then(|| self.pc()).flatten()
    }

    fn macro_named(&self, name: &str) -> Option<dwarf::Macro> {
        self.macro_at_line(name)
    }

    fn as_target(&self) -> &dyn Target {
        self
    }
}
