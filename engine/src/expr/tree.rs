//! The syntax tree of an expression.

use super::parse_cpp::Form;
use super::tree_rust;
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
    /// A character literal with this code and prefix, whose type depends on the machine.
    Character(u32, String),
    /// A literal `long double`, whose format depends on the machine.
    LongDouble(String),
    /// A number without a suffix, which takes the type of the other operand. `true`: decimal.
    Number(u128, bool),
    /// A Rust float without a suffix, likewise.
    Float(f64),
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
    /// `1..4`, `..=3`, `2..`; in C and C++ only as an index.
    Range(Option<Box<Node>>, Option<Box<Node>>, bool),
    /// `p@10`: this many elements from there on.
    Repeat(Box<Node>, Box<Node>),
    /// `a, b`
    Sequence(Box<Node>, Box<Node>),
    /// `f(a, b)`, `a.f(b)`
    Call(Box<Node>, Vec<Node>),
    /// The arguments of what may be a macro, if they are no expressions; the parser's message.
    Unparsed(String),
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
    /// A form of C and C++ alone, with its operands.
    Cpp(Form, Vec<Node>),
    /// An expression that only Rust has.
    Rust(Box<tree_rust::Form>),
}

impl Node {
    /// Returns whether evaluating it may change or run the program.
    pub fn has_effects(&self) -> bool {
        let acts = matches!(
            self.kind,
            Kind::Call(..) | Kind::Assign(..) | Kind::Step(..)
        );
        // The parser limits the depth of trees.
        acts || self.kind.parts().into_iter().any(Node::has_effects)
    }
}

impl Kind {
    /// Returns the operands.
    pub fn parts(&self) -> Vec<&Node> {
        match self {
            Kind::Literal(..)
            | Kind::Character(..)
            | Kind::LongDouble(_)
            | Kind::Number(..)
            | Kind::Float(_)
            | Kind::Text(_)
            | Kind::Name(_)
            | Kind::Register(_)
            | Kind::Unparsed(_)
            | Kind::SizeOfType(_) => Vec::new(),
            Kind::Paren(of)
            | Kind::Unary(_, of)
            | Kind::Deref(of)
            | Kind::AddressOf(of)
            | Kind::Member(of, _)
            | Kind::Step(_, of, _)
            | Kind::Cast(_, _, of)
            | Kind::SizeOf(of) => vec![of],
            Kind::Binary(_, left, right)
            | Kind::And(left, right)
            | Kind::Or(left, right)
            | Kind::Index(left, right)
            | Kind::Repeat(left, right)
            | Kind::Sequence(left, right)
            | Kind::Assign(_, left, right) => vec![left, right],
            Kind::Choice(condition, yes, no) => vec![condition, yes, no],
            Kind::Cpp(_, operands) => operands.iter().collect(),
            Kind::Range(from, to, _) => {
                [from, to].into_iter().flatten().map(|end| &**end).collect()
            }
            Kind::Rust(form) => form.parts(),
            Kind::Call(callee, arguments) => {
                let mut all = vec![&**callee];
                all.extend(arguments);
                all
            }
        }
    }
}

/// The effect of a cast on pointers within a class hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cast {
    /// Converts to the part of the object that has the target class.
    Usual,
    /// The same as far as `static_cast` allows it.
    Static,
    /// Changes qualifiers alone (`const_cast`).
    Const,
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

impl Unary {
    /// Returns the operator's symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Unary::Minus => "-",
            Unary::Plus => "+",
            Unary::Not => "!",
            Unary::Complement => "~",
        }
    }
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

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
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

impl Order {
    /// Returns its symbol.
    pub fn symbol(self) -> &'static str {
        match self {
            Order::Eq => "==",
            Order::Ne => "!=",
            Order::Lt => "<",
            Order::Le => "<=",
            Order::Gt => ">",
            Order::Ge => ">=",
        }
    }

    /// Returns the same comparison with the operands swapped.
    pub fn mirrored(self) -> Order {
        match self {
            Order::Lt => Order::Gt,
            Order::Le => Order::Ge,
            Order::Gt => Order::Lt,
            Order::Ge => Order::Le,
            same => same,
        }
    }

    /// Returns the opposite comparison.
    pub fn negated(self) -> Order {
        match self {
            Order::Eq => Order::Ne,
            Order::Ne => Order::Eq,
            Order::Lt => Order::Ge,
            Order::Le => Order::Gt,
            Order::Gt => Order::Le,
            Order::Ge => Order::Lt,
        }
    }

    /// Returns whether it holds for an ordering.
    pub fn of(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Order::Eq => ordering.is_eq(),
            Order::Ne => ordering.is_ne(),
            Order::Lt => ordering.is_lt(),
            Order::Le => ordering.is_le(),
            Order::Gt => ordering.is_gt(),
            Order::Ge => ordering.is_ge(),
        }
    }
}

impl Binary {
    /// Returns whether the result is a boolean.
    pub fn is_comparison(self) -> bool {
        self.order().is_some()
    }

    /// Returns the comparison that it is.
    pub fn order(self) -> Option<Order> {
        match self {
            Binary::Eq => Some(Order::Eq),
            Binary::Ne => Some(Order::Ne),
            Binary::Lt => Some(Order::Lt),
            Binary::Le => Some(Order::Le),
            Binary::Gt => Some(Order::Gt),
            Binary::Ge => Some(Order::Ge),
            _ => None,
        }
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
