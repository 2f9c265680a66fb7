//! The syntax tree of an expression.

use super::types::TypeName;
use crate::inspect::value::Ty;
use std::ops::Range;

/// A node of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its kind and operands.
    pub kind: Kind,
    /// Its position in the text, in bytes.
    pub span: Range<usize>,
    /// Height of the subtree, including this node.
    pub depth: u16,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A number, character or boolean of a built-in type.
    Literal(Ty, u128),
    /// A number without a suffix, which takes the type of the other operand. `true`: decimal.
    Number(u128, bool),
    /// A string.
    Text(Vec<u8>),
    /// A name, possibly qualified.
    Name(String),
    /// A register.
    Register(String),
    /// `(x)`: kept, as it may turn out to be a type.
    Paren(Box<Node>),
    /// `-x`, `!x`, `~x`, `+x`
    Unary(Unary, Box<Node>),
    /// `*x`
    Deref(Box<Node>),
    /// `&x`
    AddressOf(Box<Node>),
    /// `a + b` and other binary operators.
    Binary(Binary, Box<Node>, Box<Node>),
    /// `a && b`
    And(Box<Node>, Box<Node>),
    /// `a || b`
    Or(Box<Node>, Box<Node>),
    /// `a ? b : c`
    Choice(Box<Node>, Box<Node>, Box<Node>),
    /// `a.b`, `a->b`, `a.0`
    Member(Box<Node>, String),
    /// `a[b]`
    Index(Box<Node>, Box<Node>),
    /// `1..4`, `..=3`, `2..`; only as an index.
    Range(Option<Box<Node>>, Option<Box<Node>>, bool),
    /// `p@10`: this many elements from there on.
    Repeat(Box<Node>, Box<Node>),
    /// `a, b`
    Sequence(Box<Node>, Box<Node>),
    /// `f(a, b)`, `a.f(b)`
    Call(Box<Node>, Vec<Node>),
    /// `++a`, `a--`; `true`: the result is the old value.
    Step(Binary, Box<Node>, bool),
    /// `(T)x`, `x as T`, `static_cast<T>(x)`
    Cast(Cast, TypeName, Box<Node>),
    /// `sizeof(T)`
    SizeOfType(TypeName),
    /// `sizeof x`
    SizeOf(Box<Node>),
    /// `a = b`, `a += b`
    Assign(Option<Binary>, Box<Node>, Box<Node>),
}

/// The effect of a cast on pointers within a class hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cast {
    /// Converts to the part of the object that has the target class.
    Usual,
    /// Keeps the address (`reinterpret_cast`).
    Bits,
    /// Converts to that part of the dynamic object, or null (`dynamic_cast`).
    Dynamic,
}

/// Unary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `!`: logical, and in Rust also bitwise.
    Not,
    /// `~`
    Complement,
}

/// Binary operators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
}

impl Binary {
    /// Returns whether the result is a boolean.
    pub fn is_comparison(self) -> bool {
        use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// Returns the operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Binary::Add => "+",
            Binary::Sub => "-",
            Binary::Mul => "*",
            Binary::Div => "/",
            Binary::Rem => "%",
            Binary::BitAnd => "&",
            Binary::BitOr => "|",
            Binary::BitXor => "^",
            Binary::Shl => "<<",
            Binary::Shr => ">>",
            Binary::Eq => "==",
            Binary::Ne => "!=",
            Binary::Lt => "<",
            Binary::Le => "<=",
            Binary::Gt => ">",
            Binary::Ge => ">=",
        }
    }
}
