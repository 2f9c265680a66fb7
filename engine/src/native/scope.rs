//! What names mean where a condition is asked.

use super::{Found, Reason};
use crate::value::Ty;
use dwarf::{Language, LoadAddr, LoadBias, Module, TypeId};
use std::sync::Arc;

/// What is known before the program is there, at one address of it. Names are found by the same
/// rules as in a frame ([`crate::eval::EvalContext`]).
pub(crate) trait Scope {
    /// The function's language.
    fn language(&self) -> Language;
    /// The address.
    fn pc(&self) -> LoadAddr;
    /// A parameter or local by name, innermost scope first.
    ///
    /// # Errors
    /// It is there, but where cannot be told yet.
    fn local(&self, name: &str) -> Result<Option<Found>, Reason>;
    /// A variable of static storage by name, or a function.
    ///
    /// # Errors
    /// It is there, but where cannot be told yet.
    fn global(&self, name: &str) -> Result<Option<Found>, Reason>;
    /// A type by name.
    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)>;
    /// The enumeration that a bare name is an enumerator of.
    fn enumeration_with(&self, _enumerator: &str) -> Option<Ty> {
        None
    }
}
