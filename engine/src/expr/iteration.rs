//! Checked chains of iterators of Rust: where the items come from, the stages that they pass, and what is made of
//! them. The iterators have no code in the program; their closures are evaluated for each item.

use super::ir::Expr;
use super::made::{Bound, Test};
use crate::inspect::value::Ty;

/// Items, and the stages that they pass.
#[derive(Clone, Debug)]
pub struct Stream<'t> {
    /// The first items.
    pub source: Source<'t>,
    /// The stages in the order of the source.
    pub stages: Vec<Stage<'t>>,
    /// The type of the last stage's items.
    pub item: Ty,
}

/// The first items of a chain.
#[derive(Clone, Debug)]
pub struct Source<'t> {
    /// The container, the text or the range.
    pub of: Expr<'t>,
    /// Its parts that are the items.
    pub parts: Parts<'t>,
    /// The type of the items.
    pub item: Ty,
}

/// The parts of a value that a chain iterates over.
#[derive(Clone, Debug)]
pub enum Parts<'t> {
    /// The elements, by reference if the items are references.
    Elements,
    /// References to the keys of a map.
    Keys,
    /// References to the values of a map.
    Values,
    /// Pairs of references to keys and values of a map.
    Pairs,
    /// The characters of a text.
    Chars,
    /// The bytes of a text.
    Bytes,
    /// The integers of a range; `true`: with its end.
    Range(bool),
    /// The rows of so many neighboring elements.
    Windows(Expr<'t>),
    /// The rows of so many elements, one behind the other; the last may be shorter.
    Chunks(Expr<'t>),
}

/// A stage of a chain.
#[derive(Clone, Debug)]
pub enum Stage<'t> {
    /// All items, the last one first.
    Rev,
    /// Each item with its index, as this type.
    Enumerate(Ty),
    /// What the item, a reference, refers to.
    Copied,
    /// All but the first ones.
    Skip(Expr<'t>),
    /// The first ones.
    Take(Expr<'t>),
    /// The first of so many items each.
    StepBy(Expr<'t>),
    /// What a closure makes of the item.
    Map(Lambda<'t>),
    /// Those for which a closure holds.
    Filter(Lambda<'t>),
    /// What the closure's `Some` holds.
    FilterMap(Lambda<'t>),
    /// The items before the first one for which a closure does not hold.
    TakeWhile(Lambda<'t>),
    /// That item and those behind it.
    SkipWhile(Lambda<'t>),
    /// Pairs with another chain's items, as this type.
    Zip(Box<Stream<'t>>, Ty),
    /// Another chain's items behind them.
    Chain(Box<Stream<'t>>),
}

/// A closure that the expression writes.
#[derive(Clone, Debug)]
pub struct Lambda<'t> {
    /// Bind the parameters.
    pub tests: Vec<Test<'t>>,
    /// The names that the parameters bind.
    pub bound: Vec<Bound>,
    /// The result.
    pub body: Expr<'t>,
}

/// What is made of a chain's items.
#[derive(Clone, Debug)]
pub enum End<'t> {
    /// Whether a closure holds for an item.
    Any(Lambda<'t>),
    /// Whether it holds for all.
    All(Lambda<'t>),
    /// The index of the first for which it holds.
    Position(Lambda<'t>),
    /// The first for which it holds.
    Find(Lambda<'t>),
    /// The first that the closure makes `Some` of.
    FindMap(Lambda<'t>),
    /// Their number.
    Count,
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The least one.
    Min,
    /// The greatest one.
    Max,
    /// The one with the least key.
    MinByKey(Lambda<'t>),
    /// The one with the greatest key.
    MaxByKey(Lambda<'t>),
    /// What a closure makes of the first value and each item.
    Fold(Expr<'t>, Lambda<'t>),
    /// The item of this index.
    Nth(Expr<'t>),
    /// The last one.
    Last,
    /// A row of all.
    Row,
    /// A text of all.
    Text,
}

/// An evaluation of a chain.
#[derive(Clone, Debug)]
pub struct Iteration<'t> {
    /// The items.
    pub stream: Stream<'t>,
    /// What is made of them.
    pub end: End<'t>,
}
