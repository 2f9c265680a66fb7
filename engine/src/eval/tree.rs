//! The tree an expression is parsed into.

use super::types::TypeName;
use crate::value::Ty;
use std::ops::Range;

/// A part of an expression.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub kind: Kind,
    /// Where it stands in the text, in bytes.
    pub span: Range<usize>,
    /// Levels of nodes below, this one counted.
    pub depth: u16,
}

/// What a node does.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A number, character or truth value of a type every program has.
    Literal(Ty, u128),
    /// A number without a suffix: takes the type of what it meets. `true`: in decimal.
    Number(u128, bool),
    /// A string.
    Text(Vec<u8>),
    /// A name, maybe qualified.
    Name(String),
    /// A register.
    Register(String),
    /// `(x)`: kept, because it may turn out to be a type.
    Paren(Box<Node>),
    /// `-x`, `!x`, `~x`, `+x`
    Unary(Unary, Box<Node>),
    /// `*x`
    Deref(Box<Node>),
    /// `&x`
    AddressOf(Box<Node>),
    /// `a + b` and so on.
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
    /// `p@10`: so many from there on.
    Repeat(Box<Node>, Box<Node>),
    /// `a, b`
    Sequence(Box<Node>, Box<Node>),
    /// `f(a, b)`, `a.f(b)`
    Call(Box<Node>, Vec<Node>),
    /// `++a`, `a--`; `true`: the value is the one before.
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

/// What a cast does to pointers among the classes of a hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cast {
    /// They lead to the part of the object that is of the other class.
    Usual,
    /// They stay (`reinterpret_cast`).
    Bits,
    /// They lead to that part of what the object is in truth, or nowhere (`dynamic_cast`).
    Dynamic,
}

/// Operators of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unary {
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `!`: of truth, and in Rust of all bits.
    Not,
    /// `~`
    Complement,
}

/// Operators of two operands.
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
    /// Whether the result is a truth value.
    pub fn is_comparison(self) -> bool {
        use Binary::{Eq, Ge, Gt, Le, Lt, Ne};
        matches!(self, Eq | Ne | Lt | Le | Gt | Ge)
    }

    /// How it is written.
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
