//! Names, asked of an image: functions, variables and types by name, and the lines that have code.

mod methods;
mod search;
mod thread_local;

use crate::functions::Function;
use crate::functions::variable::Variable;
use crate::ids::addr::FileAddr;
use crate::ids::source::{LineLocation, SourceFile, SourceLocation};
use crate::ids::symbol::Symbol;
use crate::module::{FunctionPlaces, MAX_NAMES, Module};
use crate::types::{Member, TypeId};
use std::sync::{Arc, PoisonError};

pub use methods::Method;

impl Module {
    /// Functions by name: qualified name, or a suffix of it by whole components (`method`,
    /// `Class::method`), with or without template or generic arguments, with or without parameter list.
    /// Only concrete ones; inlined copies are in `inlined_named`.
    pub fn functions_named(&self, name: &str) -> Vec<Arc<Function>> {
        search::functions_named(self, name)
    }

    /// Entry addresses of the inlined copies of functions of that name, each in a concrete function.
    pub fn inlined_named(&self, name: &str) -> Vec<FileAddr> {
        search::inlined_named(self, name)
    }

    /// Where the functions of a name are, if that is known: there is no debug info, or
    /// [`Module::find_function`] has looked.
    pub fn function_places(&self, name: &str) -> Option<Arc<FunctionPlaces>> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(name) {
            return Some(Arc::clone(known));
        }
        (!self.holder().has_section(".debug_info")).then(Arc::default)
    }

    /// Looks for the functions of a name: as in [`Module::functions_named`] and
    /// [`Module::inlined_named`], and what async functions of that name run. To be called from a
    /// thread that may take its time; [`Module::function_places`] has the answer from then on.
    pub fn find_function(&self, name: &str) -> Arc<FunctionPlaces> {
        if let Some(known) = self.function_places(name) {
            return known;
        }
        let places = Arc::new(FunctionPlaces {
            functions: search::functions_named(self, name),
            inlined: search::inlined_named(self, name),
            async_bodies: search::async_bodies(self, name),
            inlined_async_bodies: search::inlined_async_bodies(self, name),
        });
        let mut all = self.places.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_NAMES {
            all.clear();
        }
        all.insert(name.to_owned(), Arc::clone(&places));
        places
    }

    /// All function symbols whose demangled name is `name`, ends in `::name`, or whose raw name is `name`.
    pub fn function_symbols(&self, name: &str) -> Vec<Symbol> {
        search::function_symbols(self, name)
    }

    /// The first address behind the function's prologue, and its row: `prologue_end` where
    /// the line table has it, else the second line row, else the entry.
    pub fn body_start(&self, function: &Function) -> FileAddr {
        self.info()
            .map_or(function.entry, |info| search::body_start(info, function))
    }

    /// The places of exactly `line` in `file`: the first is_stmt address of every run of rows
    /// of that line, in every unit, function instance and inlined copy; in a function that has
    /// none, the first address of every run. Empty if it has no code.
    pub fn line_locations(&self, file: &SourceFile, line: u32) -> Vec<LineLocation> {
        self.info()
            .map(|info| search::line_locations(self, info, file, line))
            .unwrap_or_default()
    }

    /// Variables of static storage by name (bare or qualified), those of the unit that holds `near` first.
    pub fn statics_named(&self, name: &str, near: Option<FileAddr>) -> Vec<Variable> {
        search::statics_named(self, name, near)
    }

    /// Variables of static storage of the unit that holds `addr`.
    pub fn unit_statics(&self, addr: FileAddr) -> Vec<Variable> {
        search::unit_statics(self, addr)
    }

    /// Whether [`Module::unit_statics`] may have any; types and locations are not read.
    pub fn has_unit_statics(&self, addr: FileAddr) -> bool {
        search::has_unit_statics(self, addr)
    }

    /// A static data member's definition, if there is one.
    pub fn static_member(&self, member: &Member) -> Option<Variable> {
        search::static_member(self, member)
    }

    /// Types by name (`int`, `struct node`, `ns::Class`, `crate::Type`), definitions first, those of the unit that holds `near` first.
    pub fn types_named(&self, name: &str, near: Option<FileAddr>) -> Vec<TypeId> {
        search::types_named(self, name, near)
    }

    /// The definition of a type that is only declared here; `id` itself if it is complete or nothing better is known.
    pub fn complete_type(&self, id: TypeId) -> TypeId {
        search::complete_type(self, id)
    }

    /// The enumeration of which `name` is an enumerator that needs no path (not of a C++
    /// `enum class`), in the unit that holds `near`.
    pub fn enumeration_with(&self, name: &str, near: FileAddr) -> Option<TypeId> {
        search::enumeration_with(self, name, near)
    }

    /// The class that the function at an address is a member of.
    pub fn class_of_function(&self, addr: FileAddr) -> Option<TypeId> {
        search::class_of_function(self, addr)
    }

    /// Where a type was declared.
    pub fn declaration_of(&self, id: TypeId) -> Option<SourceLocation> {
        search::declaration_of(self, id)
    }
}
