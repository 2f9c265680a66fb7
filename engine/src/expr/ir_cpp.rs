//! Checked expressions that only C and C++ have.

use super::ir::Expr;
use crate::inspect::value::Ty;
use crate::inspect::value::path::Part;

/// An expression that only C and C++ have.
#[derive(Clone, Debug)]
pub enum Cpp<'t> {
    /// The address of a base's part of the object at an address; null stays null.
    Base(Expr<'t>, Vec<Part>),
    /// The address of the object that has its base at an address, so many bytes before; null stays
    /// null.
    Derived(Expr<'t>, u64),
    /// The data member of an object that a pointer to a member designates.
    MemberAt(Expr<'t>, Expr<'t>),
    /// Whether a pointer to a member is null.
    IsNullMember(Expr<'t>),
    /// Whether two pointers to members designate the same one.
    IsSameMember(Expr<'t>, Expr<'t>),
    /// A pointer to a member with so many bytes added to the position that it has.
    MovedMember(Expr<'t>, u64),
    /// An object made of its members' values; other bytes are zero.
    Object(Vec<Init<'t>>),
    /// A value, unless the first operand is null: then it is an error.
    Guarded(Expr<'t>, Expr<'t>, &'static str),
    /// What `typeid` returns.
    TypeInfo(Typed<'t>),
    /// The name that the type information of a type has.
    TypeName(Typed<'t>),
    /// Whether two types are the same.
    IsSameType(Typed<'t>, Typed<'t>),
}

/// A value within an object.
#[derive(Clone, Debug)]
pub struct Init<'t> {
    /// Where it is, in bytes from the object's start.
    pub offset: u64,
    /// Its bits from the object's start, if it is a bit-field.
    pub bits: Option<dwarf::Bitfield>,
    /// The value.
    pub value: Expr<'t>,
}

/// A type, as `typeid` determines it.
#[derive(Clone, Debug)]
pub enum Typed<'t> {
    /// A type.
    Static(Ty),
    /// The dynamic type of an object with virtual functions.
    Dynamic(Expr<'t>),
}
