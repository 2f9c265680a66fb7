//! Variables and parameters.

use crate::module::DieRef;
use crate::source::SourceLocation;
use crate::types::TypeId;

/// Parameter, local, or variable with static storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableKind {
    /// `DW_TAG_formal_parameter`.
    Parameter,
    /// `DW_TAG_variable` in a function.
    Local,
    /// A variable of static storage: global, static member, static local.
    Static,
}

/// A variable as declared; where it lives is asked of `Module::locate`.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The entry that has the location (a concrete one).
    pub id: DieRef,
    /// Its name; for statics outside functions qualified by `namespace`.
    pub name: String,
    /// Enclosing namespaces or classes (`ns::Class`), empty where there are none.
    pub namespace: String,
    /// Its type; `None` where the entry has none.
    pub ty: Option<TypeId>,
    /// Parameter, local or static.
    pub kind: VariableKind,
    /// Where it was declared.
    pub declaration: Option<SourceLocation>,
    /// Made by the compiler (`this` of a lambda, …): `DW_AT_artificial`.
    pub artificial: bool,
}
