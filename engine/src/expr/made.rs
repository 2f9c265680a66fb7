//! Checked expressions of Rust that make objects or take them apart.

use super::ir::Expr;
use crate::inspect::value::Ty;
use std::ops::Range;

/// An object that an expression makes.
#[derive(Clone, Debug)]
pub enum Made<'t> {
    /// The fields of a tuple, a struct, a range, or of the variant of an enum.
    Fields(Fields<'t>),
    /// The elements of an array.
    Row(Vec<Expr<'t>>),
    /// An array of so many copies.
    Filled(Expr<'t>, u64),
}

/// The fields of an object.
#[derive(Clone, Debug)]
pub struct Fields<'t> {
    /// The variant of an enum.
    pub variant: Option<String>,
    /// Names and values; those of tuples are numbers.
    pub fields: Vec<(String, Expr<'t>)>,
    /// The object that has the values of the other fields.
    pub base: Option<Expr<'t>>,
}

/// A `match`.
#[derive(Clone, Debug)]
pub struct Match<'t> {
    /// The value that is taken apart.
    pub of: Expr<'t>,
    /// The arms, of which the first that fits is taken.
    pub arms: Vec<MatchArm<'t>>,
}

/// An arm of a `match`.
#[derive(Clone, Debug)]
pub struct MatchArm<'t> {
    /// What the value must be.
    pub test: Test<'t>,
    /// The position of its pattern.
    pub span: Range<usize>,
    /// The names that the test binds.
    pub bound: Vec<Bound>,
    /// The further condition.
    pub guard: Option<Expr<'t>>,
    /// The result.
    pub body: Expr<'t>,
}

/// A search through the elements of a row, each of which a closure gets by reference.
#[derive(Clone, Debug)]
pub struct Search<'t> {
    /// The iterator.
    pub of: Expr<'t>,
    /// The type of the references to the elements.
    pub item: Ty,
    /// Binds the closure's parameter.
    pub test: Test<'t>,
    /// The names that the parameter binds.
    pub bound: Vec<Bound>,
    /// The closure's result.
    pub body: Expr<'t>,
    /// What is searched.
    pub searched: Searched,
}

/// What a search returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Searched {
    /// Whether the closure holds for an element.
    Any,
    /// Whether it holds for all.
    All,
    /// The index of the first for which it holds.
    Position,
    /// The reference to the first for which it holds.
    Find,
}

/// A name that a pattern binds.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The name.
    pub name: String,
    /// Its type.
    pub ty: Ty,
    /// The key of its value.
    pub key: usize,
}

/// The elements of a row between those that a pattern tests.
#[derive(Clone, Debug)]
pub enum Rest {
    /// There are none.
    None,
    /// There may be some.
    Any,
    /// They are bound under a key, as this type.
    Bound(usize, Ty),
}

/// A test of a value.
#[derive(Clone, Debug)]
pub enum Test<'t> {
    /// It holds for each value.
    Always,
    /// Binds the value under a key, as this type: a reference to it, or itself.
    Bind(usize, Ty, Box<Test<'t>>),
    /// The value is this scalar or text.
    Equal(Box<Expr<'t>>),
    /// The value is in a range; `true`: with its end.
    Within(Option<Box<Expr<'t>>>, Option<Box<Expr<'t>>>, bool),
    /// The test holds for the target of the reference.
    Referent(Box<Test<'t>>),
    /// The value is this variant, and the tests hold for its fields.
    Variant(String, Vec<(String, Test<'t>)>),
    /// The tests hold for the fields.
    Fields(Vec<(String, Test<'t>)>),
    /// The tests hold for the first and the last elements.
    Row(Vec<Test<'t>>, Vec<Test<'t>>, Rest),
    /// One of the tests holds.
    Any(Vec<Test<'t>>),
}
