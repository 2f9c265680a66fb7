//! Variables and parameters.

use crate::entries::units::{Entries, Unit};
use crate::file::R;
use crate::ids::DieRef;
use crate::ids::register::Register;
use crate::ids::source::SourceLocation;
use crate::types::TypeId;
use gimli::{Expression, Operation};
use std::borrow::Cow;

/// The kind of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableKind {
    /// `DW_TAG_formal_parameter`.
    Parameter,
    /// `DW_TAG_variable` in a function.
    Local,
    /// A variable with static storage: global, static member, static local.
    Static,
}

/// A variable as its entry declares it. [`crate::Module::locate`] returns its location in a frame.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The entry that has the location (a concrete one).
    pub id: DieRef,
    /// Its name. The name of a static outside functions is qualified by `namespace`.
    pub name: String,
    /// Enclosing namespaces or classes (`ns::Class`); empty if there are none.
    pub namespace: String,
    /// Its type; `None` if the entry has none.
    pub ty: Option<TypeId>,
    /// The kind of variable.
    pub kind: VariableKind,
    /// Position of its declaration.
    pub declaration: Option<SourceLocation>,
    /// Whether the compiler generated it (`DW_AT_artificial`: `this` of a lambda, …).
    pub artificial: bool,
    /// Whether its name has external linkage (`DW_AT_external`).
    pub is_external: bool,
    /// Whether this has neither location nor value although the variable is external: a declaration,
    /// or the name of a symbol. The storage is another unit's or module's.
    pub is_only_declared: bool,
    /// The mangled name, of variables with static storage and external linkage that have one.
    pub mangled_name: Option<Cow<'static, str>>,
    /// Its location, if it is a single operation that is the same in the whole function.
    pub place: Option<SimpleLocation>,
}

impl Variable {
    /// Returns the name of its symbol.
    pub fn symbol(&self) -> &str {
        self.mangled_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns whether the source calls it by this name: Rust's `r#type` is also `type`.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.name.strip_prefix("r#") == Some(name)
    }

    /// Returns its name with the scopes around it.
    pub fn qualified_name(&self) -> String {
        match &*self.namespace {
            "" => self.name.clone(),
            namespace => format!("{namespace}::{}", self.name),
        }
    }
}

/// A location of a single operation, as most are in unoptimized code: evaluating it needs neither
/// the DWARF expression machine nor the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SimpleLocation {
    /// Offset in bytes from the function's frame base (`DW_OP_fbreg`).
    FrameOffset(i64),
    /// The canonical frame address (`DW_OP_call_frame_cfa`).
    FrameAddress,
    /// An address of the image (`DW_OP_addr`, `DW_OP_addrx`).
    Address(u64),
    /// A register (`DW_OP_reg`).
    Register(Register),
}

impl SimpleLocation {
    /// Decodes an expression of a unit; `None` if it is not a single operation of these.
    pub(crate) fn of(
        entries: &Entries,
        unit: &Unit,
        expression: Expression<R>,
    ) -> Option<SimpleLocation> {
        let mut rest = expression.0;
        let operation = Operation::parse(&mut rest, unit.raw.encoding()).ok()?;
        if !rest.is_empty() {
            return None;
        }
        Some(match operation {
            Operation::FrameOffset { offset } => SimpleLocation::FrameOffset(offset),
            Operation::CallFrameCFA => SimpleLocation::FrameAddress,
            Operation::Address { address } => {
                SimpleLocation::Address(entries.placed_operand(unit, address).ok()?)
            }
            Operation::AddressIndex { index } => {
                let address = entries.dwarf_of(unit).address(&unit.raw, index).ok()?;
                SimpleLocation::Address(entries.placed_operand(unit, address).ok()?)
            }
            Operation::Register { register } => SimpleLocation::Register(Register(register.0)),
            _ => return None,
        })
    }
}
