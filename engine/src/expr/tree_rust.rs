//! The syntax tree of expressions that only Rust has.

use super::tree::Node;
use std::ops::Range;

/// An expression that only Rust has.
#[derive(Clone, Debug)]
pub enum Form {
    /// `(a, b)`, `()`
    Tuple(Vec<Node>),
    /// `[a, b]`
    Array(Vec<Node>),
    /// `[a; 4]`
    Filled(Node, Node),
    /// `P { x: 1, ..p }`: the path, the fields, the object that the other fields are copied from.
    Struct(String, Vec<(String, Node)>, Option<Node>),
    /// `&mut x`
    BorrowMut(Node),
    /// `&raw const x`
    RawConst(Node),
    /// `&raw mut x`
    RawMut(Node),
    /// `vec![a, b]`: the array.
    Vec(Node),
    /// `format!("…")` without arguments: the text.
    OwnedText(Node),
    /// `|a, b| e`
    Closure(Vec<Pattern>, Node),
    /// `match`, `if let`, `matches!`, and variables of a block
    Match(Node, Vec<Arm>),
}

/// An arm of a `match`.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Its pattern.
    pub pattern: Pattern,
    /// The condition after `if`.
    pub guard: Option<Node>,
    /// Its value.
    pub body: Node,
}

/// A pattern and its position in the text, in bytes.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// Its kind.
    pub kind: PatternKind,
    /// Its position.
    pub span: Range<usize>,
}

/// The kind of a pattern.
#[derive(Clone, Debug)]
pub enum PatternKind {
    /// `_`
    Any,
    /// `..` in a tuple, a slice or a tuple struct.
    Rest,
    /// A literal.
    Value(Node),
    /// `1..=3`, `1..`, `..=3`
    Range(Option<Node>, Option<Node>, bool),
    /// `x`, `x @ pattern`; a name may also be that of a variant.
    Bind(String, Option<Box<Pattern>>),
    /// `&pattern`
    Refer(Box<Pattern>),
    /// `(a, b)`
    Tuple(Vec<Pattern>),
    /// `[a, b]`
    Slice(Vec<Pattern>),
    /// `E::A`, a constant.
    Path(Node),
    /// `E::B(a, b)`
    Parts(String, Vec<Pattern>),
    /// `E::C { x, y: b, .. }`; `true`: with `..`.
    Fields(String, Vec<(String, Pattern)>, bool),
    /// `a | b`
    Either(Vec<Pattern>),
}

impl Form {
    /// Returns the operands.
    pub fn parts(&self) -> Vec<&Node> {
        match self {
            Form::Tuple(all) | Form::Array(all) => all.iter().collect(),
            Form::Filled(of, count) => vec![of, count],
            Form::Struct(_, fields, base) => fields.iter().map(|it| &it.1).chain(base).collect(),
            Form::Vec(of) | Form::OwnedText(of) | Form::Closure(_, of) => vec![of],
            Form::BorrowMut(of) | Form::RawConst(of) | Form::RawMut(of) => vec![of],
            Form::Match(of, arms) => {
                let in_arms = arms.iter().flat_map(|arm| {
                    let mut nodes = vec![&arm.body];
                    nodes.extend(&arm.guard);
                    arm.pattern
                        .visit(&mut |pattern| nodes.extend(pattern.nodes()));
                    nodes
                });
                std::iter::once(of).chain(in_arms).collect()
            }
        }
    }
}

impl Pattern {
    /// Visits the pattern and those in it.
    pub fn visit<'p>(&'p self, visit: &mut dyn FnMut(&'p Pattern)) {
        visit(self);
        match &self.kind {
            PatternKind::Any
            | PatternKind::Rest
            | PatternKind::Value(_)
            | PatternKind::Range(..)
            | PatternKind::Path(_)
            | PatternKind::Bind(_, None) => {}
            PatternKind::Bind(_, Some(of)) | PatternKind::Refer(of) => of.visit(visit),
            PatternKind::Tuple(all)
            | PatternKind::Slice(all)
            | PatternKind::Parts(_, all)
            | PatternKind::Either(all) => all.iter().for_each(|it| it.visit(visit)),
            PatternKind::Fields(_, all, _) => all.iter().for_each(|it| it.1.visit(visit)),
        }
    }

    /// Returns the expressions in the pattern itself.
    fn nodes(&self) -> Vec<&Node> {
        match &self.kind {
            PatternKind::Value(node) | PatternKind::Path(node) => vec![node],
            PatternKind::Range(from, to, _) => from.iter().chain(to).collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the names that the pattern may bind.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.visit(&mut |pattern| {
            if let PatternKind::Bind(name, _) = &pattern.kind {
                names.push(name.as_str());
            }
        });
        names
    }
}
