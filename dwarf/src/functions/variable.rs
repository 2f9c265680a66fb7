//! Variables and parameters.

use crate::file::R;
use crate::ids::DieRef;
use crate::ids::register::Register;
use crate::ids::source::SourceLocation;
use crate::types::TypeId;
use gimli::{Encoding, Expression, Operation};

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
    /// Where it lives, if that is plain.
    pub place: Option<PlainPlace>,
}

/// A place that one operation tells, as most of unoptimized code are: it needs no machine, nor the
/// entry once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlainPlace {
    /// So far from the function's frame base (`DW_OP_fbreg`).
    FrameOffset(i64),
    /// The canonical frame address (`DW_OP_call_frame_cfa`).
    FrameAddress,
    /// An address of the file (`DW_OP_addr`).
    Address(u64),
    /// A register (`DW_OP_reg`).
    Register(Register),
}

impl PlainPlace {
    /// That of an expression; `None`: it is not plain.
    pub(crate) fn of(expression: Expression<R>, encoding: Encoding) -> Option<PlainPlace> {
        let mut rest = expression.0;
        let operation = Operation::parse(&mut rest, encoding).ok()?;
        if !rest.is_empty() {
            return None;
        }
        Some(match operation {
            Operation::FrameOffset { offset } => PlainPlace::FrameOffset(offset),
            Operation::CallFrameCFA => PlainPlace::FrameAddress,
            Operation::Address { address } => PlainPlace::Address(address),
            Operation::Register { register } => PlainPlace::Register(Register(register.0)),
            _ => return None,
        })
    }
}
