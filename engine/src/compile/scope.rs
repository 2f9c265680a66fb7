//! Name lookup for compiled conditions.

use super::{NotCompilable, RuntimeValue};
use crate::arch::Arch;
use crate::images::consts::SourceValue;
use crate::inspect::value::Ty;
use dwarf::{CTypes, Language, LoadAddr, LoadBias, Module, TypeId};
use std::sync::Arc;

/// The names at an address, resolved without a process by the rules of a frame
/// ([`crate::expr::EvalContext`]).
pub(crate) trait Scope {
    /// Returns the instruction set of the program.
    fn arch(&self) -> Arch;
    /// Returns what C's types are in the program.
    fn c_types(&self) -> CTypes {
        self.arch().machine().c_types()
    }
    /// Returns the function's language.
    fn language(&self) -> Language;
    /// Returns the offset in bytes from the thread pointer to the thread's number, if the program has
    /// it there.
    fn thread_number(&self) -> Option<i32> {
        None
    }
    /// Returns the address.
    fn pc(&self) -> LoadAddr;
    /// Returns a parameter or local by name, innermost scope first.
    ///
    /// # Errors
    /// It exists, but its location is unknown at compile time.
    fn local(&self, name: &str) -> Result<Option<RuntimeValue>, NotCompilable>;
    /// Returns how many dereferences of a path lead to the place that a closure of Rust has captured as the
    /// variable of this name.
    fn captured_behind(&self, _variable: &str, _path: &[&str]) -> usize {
        0
    }
    /// Returns a variable of static storage, or a function, by name.
    ///
    /// # Errors
    /// It exists, but its location is unknown at compile time.
    fn global(&self, name: &str) -> Result<Option<RuntimeValue>, NotCompilable>;
    /// Returns whether the classes, namespaces and blocks around the address declare a value or function
    /// of that name; only their unit is read.
    fn declares(&self, _name: &str) -> bool {
        false
    }
    /// Returns whether the program has functions of a name that are visible here.
    fn has_functions(&self, name: &str) -> bool;
    /// Returns whether the compiler recorded the macros of the unit.
    fn has_macros(&self) -> bool {
        false
    }

    /// Returns the constant of Rust that a name means in the source here; `None` if it shows none.
    ///
    /// # Errors
    /// There is one, but its value is not certain: why, and what to do.
    fn source_constant(&self, _name: &str) -> Result<Option<SourceValue>, String> {
        Ok(None)
    }

    /// Returns the places in the debug info that a path of Rust may mean, by the declarations and `use` of the source:
    /// a row for each scope, innermost first. The path means the place that exists in the first row that has one.
    ///
    /// # Errors
    /// The source does not say; why.
    fn source_paths(&self, _path: &str) -> Result<Vec<Vec<String>>, String> {
        Ok(Vec::new())
    }
    /// Returns the address of the data that a raw symbol means here.
    fn data_of_symbol(&self, _symbol: &str) -> Option<LoadAddr> {
        None
    }
    /// Returns a type by name.
    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)>;
    /// Returns the enumeration of a bare enumerator.
    fn enumeration_with(&self, _enumerator: &str) -> Option<Ty> {
        None
    }
}
