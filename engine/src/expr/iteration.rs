//! Checked chains of Rust's iterators: the source of the items, the stages, and the end. The iterators have no code in
//! the program. The debugger evaluates their closures for each item.

use super::ir::Expr;
use super::made::{Bound, Test};
use crate::inspect::value::Ty;

/// The source of items, and their stages.
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
    /// The target of each item, which is a reference.
    Copied,
    /// All but the first ones.
    Skip(Expr<'t>),
    /// The first ones.
    Take(Expr<'t>),
    /// The first of so many items each.
    StepBy(Expr<'t>),
    /// The result of a closure for each item.
    Map(Lambda<'t>),
    /// The items for which a closure is true.
    Filter(Lambda<'t>),
    /// The contents of a closure's `Some` results.
    FilterMap(Lambda<'t>),
    /// The items before the first one for which a closure is false.
    TakeWhile(Lambda<'t>),
    /// The first item for which a closure is false, and those behind it.
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
    /// The expression of the result.
    pub body: Expr<'t>,
}

/// The end of a chain: how its result is computed.
#[derive(Clone, Debug)]
pub enum End<'t> {
    /// Whether a closure is true for an item.
    Any(Lambda<'t>),
    /// Whether a closure is true for all items.
    All(Lambda<'t>),
    /// The index of the first item for which a closure is true.
    Position(Lambda<'t>),
    /// The first item for which a closure is true.
    Find(Lambda<'t>),
    /// The contents of a closure's first `Some`.
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
    /// The result of a closure over a start value and all items.
    Fold(Expr<'t>, Lambda<'t>),
    /// The item of this index.
    Nth(Expr<'t>),
    /// The last one.
    Last,
    /// A `Vec` of all items.
    Row,
    /// A `String` of all items, which are texts or characters.
    Text,
}

/// An evaluation of a chain.
#[derive(Clone, Debug)]
pub struct Iteration<'t> {
    /// The items.
    pub stream: Stream<'t>,
    /// The end.
    pub end: End<'t>,
}
