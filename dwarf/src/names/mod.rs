//! Lookup by name: functions, variables, types, and the lines that have code.

mod functions;
mod inlined;
mod lines;
mod macros;
mod methods;
mod prototypes;
pub(crate) mod statics;
mod thread_local;
mod types;
mod visible;

use crate::functions::Function;
use crate::functions::variable::Variable;
use crate::ids::DieRef;
use crate::ids::addr::FileAddr;
use crate::ids::source::{LineLocation, SourceFile, SourceLocation};
use crate::ids::symbol::Symbol;
use crate::module::{FunctionPlaces, MAX_NAMES, Module};
use crate::types::{Member, TypeId};
use std::sync::{Arc, PoisonError};

pub use macros::Macro;
pub use methods::{Method, Objects};
pub use statics::VisibleVariable;
pub use visible::{Declaration, VisiblePaths};

impl Module {
    /// Returns functions by name: the qualified name or a suffix of it by whole components
    /// (`method`, `Class::method`), with or without template or generic arguments and parameter
    /// list. Only concrete functions; `inlined_named` returns inlined copies.
    pub fn functions_named(&self, name: &str) -> Vec<Arc<Function>> {
        let find = || functions::functions_named(self, name);
        self.answers.functions.answer(self, name.to_owned(), find)
    }

    /// Returns the entry addresses of the inlined copies of the functions with that name.
    pub fn inlined_named(&self, name: &str) -> Vec<FileAddr> {
        let find = || functions::inlined_named(self, name);
        self.answers.inlined.answer(self, name.to_owned(), find)
    }

    /// Returns the cached result of [`Module::find_function`], which is empty without debug info;
    /// `None` if the name has not been searched, or its result was evicted.
    pub fn function_places(&self, name: &str) -> Option<Arc<FunctionPlaces>> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(name) {
            return Some(Arc::clone(known));
        }
        (!self.has_debug_info()).then(Arc::default)
    }

    /// Finds the functions of a name: those of [`Module::functions_named`] and
    /// [`Module::inlined_named`], the bodies of async functions, and methods of Objective-C, also by
    /// their selector. This may take long: call it on
    /// a background thread. [`Module::function_places`] returns the cached result.
    pub fn find_function(&self, name: &str) -> Arc<FunctionPlaces> {
        if let Some(known) = self.function_places(name) {
            return known;
        }
        let mut named = functions::functions_named(self, name);
        functions::add_methods_of_objc(self, name, &mut named);
        functions::add_functions_of_swift(self, name, &mut named);
        let places = Arc::new(FunctionPlaces {
            functions: named,
            inlined: functions::inlined_named(self, name),
            async_bodies: functions::async_bodies(self, name),
            inlined_async_bodies: functions::inlined_async_bodies(self, name),
        });
        let mut all = self.places.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_NAMES {
            all.clear();
        }
        all.insert(name.to_owned(), Arc::clone(&places));
        places
    }

    /// Returns the function symbols whose demangled name is `name` or ends in `::name`, or whose
    /// raw name is `name`; those of Swift whose path ends in `.name`, with the labels if `name` has some; for
    /// `name@version` and `name@@version`, those exported with the version.
    pub fn function_symbols(&self, name: &str) -> Vec<Symbol> {
        let find = || functions::function_symbols(self, name);
        self.answers.symbols.answer(self, name.to_owned(), find)
    }

    /// Returns the first address after the function's prologue: the row with `prologue_end`, else
    /// the second line row, else the entry. In optimized code without `prologue_end`, the entry.
    pub fn body_start(&self, function: &Function) -> FileAddr {
        self.info()
            .map_or(function.entry, |info| functions::body_start(info, function))
    }

    /// Returns the locations of exactly `line` in `file`: the first is_stmt address of every run of
    /// rows of that line, in every unit, function instance and inlined copy. In a function without
    /// is_stmt rows of the line, the first address of every run. Empty if the line has no code.
    pub fn line_locations(&self, file: &SourceFile, line: u32) -> Vec<LineLocation> {
        self.info()
            .map(|info| lines::line_locations(self, info, file, line))
            .unwrap_or_default()
    }

    /// Returns the is_stmt addresses of exactly `line` in `file` that have no code of the line, since a
    /// row of another line follows at the same address: the line is marked there, and on another
    /// path of the function it may have code.
    pub fn marks_of_line(&self, file: &SourceFile, line: u32) -> Vec<LineLocation> {
        self.info()
            .map(|info| lines::marks_of_line(self, info, file, line))
            .unwrap_or_default()
    }

    /// Returns variables of static storage by name (bare or qualified), those of the unit that
    /// covers `near` first.
    pub fn statics_named(&self, name: &str, near: Option<FileAddr>) -> Vec<Variable> {
        statics::statics_named(self, name, near)
    }

    /// Returns variables of static storage by name (bare or qualified), those first that the name
    /// means at a place: of the nearest of `paths`, then of the unit that covers `near`, then those
    /// with external linkage.
    pub fn statics_visible(
        &self,
        name: &str,
        paths: &VisiblePaths,
        near: Option<FileAddr>,
    ) -> Vec<VisibleVariable> {
        let near = statics::unit_near(self, near);
        let question = (name.to_owned(), paths.texts().collect(), near);
        let find = || statics::statics_visible(self, name, paths, near);
        let found = self.answers.statics.answer(self, question, find);
        let found = found.into_iter();
        let seen = found.map(|(variable, is_visible)| VisibleVariable {
            variable,
            is_visible,
        });
        seen.collect()
    }

    /// Returns the variables of static storage of the unit that covers `addr`.
    pub fn unit_statics(&self, addr: FileAddr) -> Vec<Variable> {
        statics::unit_statics(self, addr)
    }

    /// Returns whether [`Module::unit_statics`] may be non-empty, without reading types and
    /// locations.
    pub fn has_unit_statics(&self, addr: FileAddr) -> bool {
        statics::has_unit_statics(self, addr)
    }

    /// Returns the definition of a static data member; its declaration, if another module defines it.
    pub fn static_member(&self, member: &Member) -> Option<Variable> {
        let find = || statics::static_member(self, member).into_iter().collect();
        let found = self.answers.members.answer(self, member.id, find);
        found.into_iter().next()
    }

    /// Returns types by name (`int`, `struct node`, `ns::Class`, `crate::Type`), definitions first,
    /// those of the unit that covers `near` first.
    pub fn types_named(&self, name: &str, near: Option<FileAddr>) -> Vec<TypeId> {
        let near = statics::unit_near(self, near);
        let find = || types::types_named(self, name, near);
        let question = (name.to_owned(), near);
        self.answers.types.answer(self, question, find)
    }

    /// Returns the definition of a type that is only declared here; `id` itself if it is complete
    /// or no definition is found.
    pub fn complete_type(&self, id: TypeId) -> TypeId {
        types::complete_type(self, id)
    }

    /// Returns the enumeration in the unit that covers `near` with an enumerator `name` that needs
    /// no qualification (not a C++ `enum class`).
    pub fn enumeration_with(&self, name: &str, near: FileAddr) -> Option<TypeId> {
        types::enumeration_with(self, name, near)
    }

    /// Returns the class that the function at an address is a member of.
    pub fn class_of_function(&self, addr: FileAddr) -> Option<TypeId> {
        methods::class_of_function(self, addr)
    }

    /// Returns the alignment in bytes that the source demands of a type or member (`alignas`).
    pub fn demanded_alignment(&self, id: DieRef) -> Option<u64> {
        types::demanded_alignment(self, id)
    }

    /// Returns the position of a type's declaration.
    pub fn declaration_of(&self, id: TypeId) -> Option<SourceLocation> {
        types::declaration_of(self, id)
    }
}
