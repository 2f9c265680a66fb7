//! Checked expressions. Each step has a type, and no rule of a language is left to apply: the
//! interpreter and the compiler do arithmetic on typed bits.

use super::ir_cpp::Cpp;
use super::iteration::Iteration;
use super::made::{Made, Match, Search};
use super::tree::{Binary, Cast, Node, Order};
use super::vectors::Each;
use crate::inspect::library::Method;
use crate::inspect::value::Ty;
use crate::inspect::value::path::Part;
use crate::inspect::value::types::ArrayTy;
use dwarf::{Language, LoadAddr};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A checked expression.
#[derive(Clone, Debug)]
pub struct Expr<'t> {
    /// What it is.
    pub kind: Kind<'t>,
    /// Its type.
    pub ty: Ty,
    /// Its position in the text, in bytes.
    pub span: Range<usize>,
    /// Whether its type is still open, as that of a Rust literal without a suffix; `ty` is then
    /// the type that it has if nothing else determines it.
    pub open: bool,
}

/// The kind of a checked expression.
#[derive(Clone, Debug)]
pub enum Kind<'t> {
    /// The bits of a scalar.
    Constant(u128),
    /// A node whose value is known; with the number of bits if it is a bit-field.
    Known(&'t Node, Option<u8>),
    /// A variable or function by its name, looked up for a node; likewise with its bits.
    Variable(Storage, &'t str, &'t Node, Option<u8>),
    /// An operand that may not be reached, and is checked when it is.
    Late(&'t Node),
    /// The target of a pointer or reference.
    Deref(Box<Expr<'t>>),
    /// A part of an object.
    Part(Box<Expr<'t>>, Part),
    /// The object that a smart pointer or wrapper of a standard library stands for.
    Pointee(Box<Expr<'t>>),
    /// An element of an array, by its index.
    Element(Box<Expr<'t>>, Box<Expr<'t>>, Arc<ArrayTy>),
    /// The address of a place.
    AddressOf(Box<Expr<'t>>),
    /// The address of an array's first element, or of a function.
    Decay(Box<Expr<'t>>),
    /// A scalar as another type: integers wrap around, floats are truncated or rounded.
    Convert(Box<Expr<'t>>),
    /// A float as an integer type: the nearest integer that the type has.
    Saturate(Box<Expr<'t>>),
    /// `-x`
    Negate(Box<Expr<'t>>, Overflow),
    /// `~x`; `!x` of a Rust integer.
    Complement(Box<Expr<'t>>),
    /// An operation on two scalars of one type.
    Arithmetic(Binary, Box<Expr<'t>>, Box<Expr<'t>>, Overflow),
    /// `<<` or `>>`.
    Shift(Binary, Box<Expr<'t>>, Box<Expr<'t>>, Overflow),
    /// An address plus or minus a number of elements of so many bytes.
    Offset(Binary, Box<Expr<'t>>, Box<Expr<'t>>, u64),
    /// The number of elements of so many bytes between two addresses.
    Distance(Box<Expr<'t>>, Box<Expr<'t>>, u64),
    /// An operator on each element of SIMD vectors; an operand that is none is a number for all elements.
    Elementwise(Each, Vec<Expr<'t>>),
    /// A comparison of two scalars of one type.
    Compare(Order, Box<Expr<'t>>, Box<Expr<'t>>),
    /// A condition's negation.
    Not(Box<Expr<'t>>),
    /// A conjunction of conditions.
    And(Box<Expr<'t>>, Box<Expr<'t>>),
    /// A disjunction of conditions.
    Or(Box<Expr<'t>>, Box<Expr<'t>>),
    /// `a ? b : c`
    Choice(Box<Expr<'t>>, Box<Expr<'t>>, Box<Expr<'t>>),
    /// `a, b`
    Sequence(Box<Expr<'t>>, Box<Expr<'t>>),
    /// A cast of an object, or of a pointer within a hierarchy of classes.
    Cast(Cast, Box<Expr<'t>>),
    /// A string literal.
    Text(Cow<'t, [u8]>),
    /// A part of a text or row of Rust, by its ends; `true`: with the last one.
    Slice(Box<Expr<'t>>, Box<Ends<'t>>, bool),
    /// The same bytes as another type: what a reference to an unsized type refers to, or the reference
    /// to that; a number as what wraps it.
    Retyped(Box<Expr<'t>>),
    /// A comparison of two strings.
    CompareTexts(Order, Box<Expr<'t>>, Box<Expr<'t>>),
    /// Whether a value is a variant of its type, by the variant's name.
    IsVariant(Box<Expr<'t>>, &'t str),
    /// An element of a container of a standard library, by its index or key.
    Item(Box<Expr<'t>>, Box<Expr<'t>>),
    /// The result of a library's method, which is read from its object, the first operand.
    Answer(Box<Method>, Vec<Expr<'t>>),
    /// The result of a function of the program.
    Call(Box<Call<'t>>),
    /// `a = b`, `a += b`, `++a`.
    Assign(Box<Assignment<'t>>),
    /// What only C and C++ have.
    Cpp(Box<Cpp<'t>>),
    /// An object that the expression makes.
    Made(Box<Made<'t>>),
    /// `match` and what is like it.
    Match(Box<Match<'t>>),
    /// A search by a closure.
    Search(Box<Search<'t>>),
    /// A chain of iterators.
    Iterate(Box<Iteration<'t>>),
    /// The value that a pattern has bound, by its key.
    Bound(usize),
}

/// The ends of a slice.
#[derive(Clone, Debug)]
pub struct Ends<'t> {
    /// The first element.
    pub from: Option<Expr<'t>>,
    /// The end.
    pub to: Option<Expr<'t>>,
}

/// A call of a function of the program.
#[derive(Clone, Debug)]
pub struct Call<'t> {
    /// The function's name for messages.
    pub name: String,
    /// The function.
    pub callee: Callee<'t>,
    /// The types of its parameters, as far as they are known; the object's first.
    pub types: Vec<Ty>,
    /// The arguments, the object first.
    pub arguments: Vec<Expr<'t>>,
    /// The language whose calling convention it uses.
    pub language: Language,
    /// The node of the call, which identifies it when the evaluation is repeated.
    pub node: &'t Node,
    /// Which of the calls of its node it is: operators and conversions are further ones.
    pub step: u32,
}

/// The function that is called.
#[derive(Clone, Debug)]
pub enum Callee<'t> {
    /// The function at an address.
    Code(LoadAddr),
    /// The constructor at an address, which makes the result.
    Constructor(LoadAddr),
    /// The function at this position of the virtual table of the object, the first argument.
    Slot(u64),
    /// The function that a pointer refers to, or that a name means.
    Pointer(Expr<'t>),
    /// The member function of the object, the first argument, that a pointer to a member designates.
    Member(Expr<'t>),
    /// The C library's function of that name, which leaves `errno` as it was.
    CLibrary(String),
}

/// An assignment. All values are evaluated before the first one is written.
#[derive(Clone, Debug)]
pub struct Assignment<'t> {
    /// Where the value goes.
    pub place: Expr<'t>,
    /// The node by which the value refers to the place, which is evaluated once: `a` in `a += 1`.
    pub operand: Option<&'t Node>,
    /// What is written.
    pub source: Source<'t>,
    /// Its value as an expression.
    pub outcome: Outcome,
}

/// What an assignment writes to a place.
#[derive(Clone, Debug)]
pub enum Source<'t> {
    /// A scalar of the place's type.
    Scalar(Expr<'t>, Fit),
    /// The address of the function that a node names.
    Function(&'t Node),
    /// The bytes of an object of the same type, which nothing owns.
    Copy(Expr<'t>),
    /// A text, to an array of characters or a string with room for it.
    Text(Expr<'t>),
    /// A value for the target of a reference or box.
    Target(Ty, Box<Source<'t>>),
    /// A value for what a wrapper holds, with its type: a cell, an atomic.
    Held(Ty, Box<Source<'t>>),
    /// Values of the members of an object.
    Members(Vec<(Part, Source<'t>)>),
    /// A variant of a Rust enum, with values of its fields.
    Variant(Part, Vec<(Part, Source<'t>)>),
    /// A value of a `std::optional`, or none.
    Optional(Option<Box<Source<'t>>>),
}

/// What becomes of a scalar that the type of the place cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// It is converted as the language does.
    Converts,
    /// It is an error: compilers warn of such constants.
    Exact,
}

/// The value of an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The place.
    Place,
    /// What was written.
    Value,
    /// The value before: `a++`.
    Before,
}

/// Where a variable is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storage {
    /// In the frame.
    Local,
    /// Outside it.
    Global,
}

/// What becomes of a result that is out of range for its integer type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// It wraps around.
    Wraps,
    /// It is an error.
    Fails,
}

impl<'t> Expr<'t> {
    /// Returns an expression at the position of a node.
    pub fn new(kind: Kind<'t>, ty: Ty, node: &Node) -> Expr<'t> {
        Expr {
            kind,
            ty,
            span: node.span.clone(),
            open: false,
        }
    }

    /// Returns what a library's method answers for its object, the first operand.
    pub fn answer(method: Method, operands: Vec<Expr<'t>>, node: &Node) -> Expr<'t> {
        let ty = method.returns.clone();
        Expr::new(Kind::Answer(Box::new(method), operands), ty, node)
    }

    /// Returns the target of a pointer or reference.
    pub fn target(self, to: Ty) -> Expr<'t> {
        let span = self.span.clone();
        Expr {
            kind: Kind::Deref(Box::new(self)),
            ty: to,
            span,
            open: false,
        }
    }

    /// Returns the part of an object that is reached over these parts.
    pub fn part(object: Expr<'t>, parts: Vec<(Part, Ty)>, node: &Node) -> Expr<'t> {
        let below = |object, (part, ty)| Expr::new(Kind::Part(Box::new(object), part), ty, node);
        parts.into_iter().fold(object, below)
    }

    /// Returns the same expression, whose type is still open if `open` holds.
    pub fn opened(self, open: bool) -> Expr<'t> {
        Expr { open, ..self }
    }

    /// Returns whether it may be a place in memory, as opposed to a computed value.
    pub fn is_place(&self) -> bool {
        if let Kind::Cpp(form) = &self.kind {
            return matches!(**form, Cpp::MemberAt(..));
        }
        matches!(
            self.kind,
            Kind::Known(..)
                | Kind::Variable(..)
                | Kind::Deref(_)
                | Kind::Part(..)
                | Kind::Pointee(_)
                | Kind::Element(..)
                | Kind::Item(..)
                | Kind::Answer(..)
                | Kind::Slice(..)
                | Kind::Retyped(_)
                | Kind::Bound(_)
        ) || matches!(&self.kind, Kind::Assign(it) if it.outcome == Outcome::Place)
    }

    /// Returns the same expression; a call is that one of the calls of its node.
    pub fn step(mut self, step: u32) -> Expr<'t> {
        if let Kind::Call(call) = &mut self.kind {
            call.step = step;
        }
        self
    }

    /// Returns the number of bits if it is a bit-field.
    pub fn bits(&self) -> Option<u8> {
        match &self.kind {
            Kind::Known(_, bits) | Kind::Variable(.., bits) => *bits,
            Kind::Part(_, part) => Some(part.member()?.bits?.size.min(255) as u8),
            _ => None,
        }
    }

    /// Returns whether the expression is checked only when it is reached.
    pub fn is_late(&self) -> bool {
        matches!(self.kind, Kind::Late(_))
    }

    /// Returns whether evaluating it certainly does not change the program.
    pub fn only_reads(&self) -> bool {
        match &self.kind {
            Kind::Constant(_) | Kind::Known(..) | Kind::Variable(..) | Kind::Text(_) => true,
            Kind::Deref(of)
            | Kind::Part(of, _)
            | Kind::Pointee(of)
            | Kind::AddressOf(of)
            | Kind::Decay(of)
            | Kind::Convert(of)
            | Kind::Negate(of, _)
            | Kind::Complement(of)
            | Kind::Not(of)
            | Kind::Retyped(of)
            | Kind::IsVariant(of, _) => of.only_reads(),
            Kind::Element(a, b, _)
            | Kind::Item(a, b)
            | Kind::Arithmetic(_, a, b, _)
            | Kind::Shift(_, a, b, _)
            | Kind::Offset(_, a, b, _)
            | Kind::Distance(a, b, _)
            | Kind::Compare(_, a, b)
            | Kind::CompareTexts(_, a, b)
            | Kind::And(a, b)
            | Kind::Or(a, b)
            | Kind::Sequence(a, b) => a.only_reads() && b.only_reads(),
            Kind::Answer(_, operands) | Kind::Elementwise(_, operands) => {
                operands.iter().all(Expr::only_reads)
            }
            _ => false,
        }
    }

    /// Returns whether the expression is a literal zero, which is also a null pointer.
    pub fn is_zero(&self) -> bool {
        // 0 is the position of a member.
        matches!(self.kind, Kind::Constant(0)) && self.ty.member_pointer().is_none()
    }
}
