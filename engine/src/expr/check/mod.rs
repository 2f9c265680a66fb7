//! The checker: applies the rules of the frame's language to a tree, once. Its result, a typed
//! expression ([`ir`](super::ir)), is interpreted without further rules.

mod assign;
pub(in crate::expr) mod c;
mod c_library;
mod call;
mod cast;
mod choice;
mod cpp_algorithms;
mod cpp_associated;
mod cpp_braces;
mod cpp_casts;
mod cpp_classes;
mod cpp_constants;
mod cpp_construct;
mod cpp_exceptions;
pub(crate) mod cpp_members;
pub(crate) mod cpp_objects;
mod cpp_overloads;
mod cpp_own;
mod cpp_traits;
mod cpp_types;
mod methods;
mod mistakes;
mod names;
mod objects;
mod operators;
mod places;
mod rust;
mod rust_calls;
mod rust_closures;
mod rust_infer;
mod rust_iterators;
mod rust_made;
mod rust_match;
mod rust_parts;
mod rust_paths;
mod rust_pointers;
mod rust_types;
mod source;
mod source_values;
mod vectors;

pub(crate) use mistakes::Use;
pub(crate) use rust_calls::{is_code_of, is_trait_object, of_closure};
pub(crate) use rust_types::{fields, is_open, is_reference, same as same_type};

use super::evaluate::DEREFERENCES;
use super::invoke::{InlinedFunction, ResolvedFunction};
use super::ir::{Expr, Kind, Storage};
use super::made::Bound;
use super::tree::{self, Node};
use super::{literal, messages, soft};
use crate::ids::error::Error;
use crate::images::consts::SourceValue;
use crate::inspect::value::scalar::{Int, Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{CTypes, Language, LoadAddr};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::Cell;
use std::cell::RefCell;
use std::ops::Range;

/// Maximum number of nodes that one check looks at.
const MAX_CHECKS: u32 = 1 << 14;

/// What is known of a node's value without its contents.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// Its type.
    pub(crate) ty: Ty,
    /// The number of bits if it is a bit-field.
    pub(crate) bits: Option<u8>,
}

/// Nodes whose values are known, by their addresses.
#[derive(Default)]
pub(crate) struct Known(FxHashMap<usize, Fact>, RefCell<Vec<Bound>>);

/// What is known of a node.
enum Fact {
    Leaf(Leaf),
    /// Its value has no type, since it cannot be read.
    Failed,
}

impl Known {
    /// Records the type of a node.
    pub(crate) fn insert(&mut self, node: &Node, leaf: Leaf) {
        self.0.insert(key(node), Fact::Leaf(leaf));
    }

    /// Returns the nodes of which something is known.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = usize> {
        self.0.keys().copied()
    }

    /// Forgets all other nodes.
    pub(crate) fn retain(&mut self, nodes: &FxHashSet<usize>) {
        self.0.retain(|key, _| nodes.contains(key));
    }

    /// Lets names of patterns be known. Returns what [`Self::unbind`] needs.
    pub(crate) fn bind(&self, names: &[Bound]) -> usize {
        let mut bound = self.1.borrow_mut();
        let before = bound.len();
        bound.extend_from_slice(names);
        before
    }

    /// Forgets the names that have been bound since then.
    pub(crate) fn unbind(&self, before: usize) {
        self.1.borrow_mut().truncate(before);
    }

    /// Returns what a pattern has bound to a name.
    pub(crate) fn bound(&self, name: &str) -> Option<Bound> {
        let bound = self.1.borrow();
        bound.iter().rev().find(|it| it.name == name).cloned()
    }

    /// Records that a node that may not be reached cannot be evaluated.
    pub(crate) fn insert_failed(&mut self, node: &Node) {
        self.0.insert(key(node), Fact::Failed);
    }
}

/// Returns the identity of a node while its tree lives.
pub(crate) fn key(node: &Node) -> usize {
    std::ptr::from_ref(node) as usize
}

/// The declarations that are visible where an expression is checked.
pub(crate) trait Scope {
    /// Returns the machine, whose psABI decides on formats of built-in types.
    fn c_types(&self) -> CTypes;
    /// Returns a type by its name: a built-in one, or one of the program.
    fn find_type(&self, name: &str) -> Option<Ty>;
    /// Looks up a variable, or a function, for a node.
    ///
    /// # Errors
    /// It exists but has no place.
    fn variable(&self, storage: Storage, name: &str, node: &Node) -> Result<Option<Leaf>, Error>;
    /// Returns the enumeration of a bare enumerator.
    fn enumeration_with(&self, enumerator: &str) -> Option<Ty>;
    /// Returns the error for a name that is not defined.
    fn unknown_name(&self, name: &Node) -> Error;
    /// Returns whether the expression may change the program.
    fn may_change(&self) -> bool;
    /// Returns whether the expression may call functions of the program.
    fn may_call(&self) -> bool;
    /// Returns the functions with a name that are visible; several if it is overloaded.
    ///
    /// # Errors
    /// Functions cannot be called here.
    fn functions(&self, name: &str) -> Result<Vec<ResolvedFunction>, Error>;
    /// Returns the functions with a name whose calls are inlined; those with code may be among them.
    fn inlined_functions(&self, _name: &str) -> Vec<InlinedFunction> {
        Vec::new()
    }
    /// Returns the address of the code that an image has under a raw symbol.
    fn code_of_symbol(&self, _symbol: &str) -> Option<LoadAddr> {
        None
    }
    /// Returns the address of the data that a raw symbol means here, which no debug info describes.
    fn data_of_symbol(&self, _symbol: &str) -> Option<LoadAddr> {
        None
    }
    /// Returns the classes around the function of C++, innermost first.
    fn classes_around(&self) -> Vec<Ty> {
        Vec::new()
    }
    /// Returns the constant of Rust that a name means in the source here; `None` if it shows none.
    ///
    /// # Errors
    /// There is one, but its value is not certain: why, and what to do.
    fn source_constant(&self, _name: &str) -> Result<Option<SourceValue>, String> {
        Ok(None)
    }
    /// Returns how many dereferences of a path lead to the place that a closure of Rust has captured as the
    /// variable of this name ([`captured::dereferences`](crate::inspect::captured::dereferences)).
    fn captured_behind(&self, _variable: &str, _path: &[&str]) -> usize {
        0
    }

    /// Returns the places in the debug info that a path of Rust may mean, by the declarations and `use` of the source:
    /// a row for each scope, innermost first. The path means the place that exists in the first row that has one.
    ///
    /// # Errors
    /// The source does not say; why.
    fn source_paths(&self, _path: &str) -> Result<Vec<Vec<String>>, String> {
        Ok(Vec::new())
    }
    /// Returns whether the scopes around declare a name by other means than a variable of a block; only
    /// their unit is read.
    fn declares(&self, _name: &str) -> bool {
        false
    }
    /// Returns whether the compiler recorded the macros of the unit.
    fn has_macros(&self) -> bool;
    /// Returns whether a variable of the frame or its unit has the name of a function.
    fn hides_functions(&self, name: &str) -> bool;
    /// Returns whether a name is that of an indirect function (`STT_GNU_IFUNC`).
    fn is_chosen_at_run_time(&self, name: &str) -> bool;
}

/// Why a check has ended without a result.
#[derive(Debug)]
pub(crate) enum Stop<'t> {
    /// The type of this node is known only from its value.
    Needs(&'t Node),
    /// The same, but the node may not be reached: it may fail.
    Wants(&'t Node),
    /// The expression is wrong.
    Wrong(Error),
}

/// A checked expression, or why there is none.
pub(crate) type Checked<'t> = Result<Expr<'t>, Stop<'t>>;

/// The check of one expression.
pub(crate) struct Checker<'a> {
    pub(crate) scope: &'a dyn Scope,
    /// The language whose rules apply.
    pub(crate) language: Language,
    /// The nodes whose values are known.
    pub(crate) known: &'a Known,
    /// The source of the expression.
    pub(crate) text: &'a str,
    /// The number of nodes that may still be checked.
    left: Cell<u32>,
}

fn wrong<'t>(message: impl Into<String>, span: &Range<usize>) -> Stop<'t> {
    Stop::Wrong(Error::Eval {
        message: message.into(),
        span: span.clone(),
    })
}

impl<'a> Checker<'a> {
    /// Begins a check.
    pub(crate) fn new(
        scope: &'a dyn Scope,
        language: Language,
        known: &'a Known,
        text: &'a str,
    ) -> Checker<'a> {
        Checker {
            scope,
            language,
            known,
            text,
            left: Cell::new(MAX_CHECKS),
        }
    }

    /// Counts the check of a node: a rule may check an operand twice, so that the number of checks
    /// may grow with each level of nesting.
    fn count<'t>(&self, node: &Node) -> Result<(), Stop<'t>> {
        let left = self.left.get().checked_sub(1);
        let left = left.ok_or_else(|| wrong(messages::TOO_LONG, &node.span))?;
        self.left.set(left);
        Ok(())
    }

    /// Checks a node.
    ///
    /// # Errors
    /// The expression is wrong; a value is needed to know more.
    // The recursion passes through here, so the stack frame is kept small, also in a debug build.
    pub(crate) fn check<'t>(&self, node: &'t Node) -> Checked<'t> {
        match self.known.0.get(&key(node)) {
            Some(Fact::Leaf(leaf)) => {
                return Ok(Expr::new(
                    Kind::Known(node, leaf.bits),
                    leaf.ty.clone(),
                    node,
                ));
            }
            Some(Fact::Failed) => return Err(Stop::Needs(node)),
            None => self.count(node)?,
        }
        if self.language == Language::Rust
            && let Some(found) = self.rust_form(node)
        {
            return found;
        }
        match &node.kind {
            tree::Kind::Paren(inner) => self.check(inner),
            tree::Kind::Literal(..)
            | tree::Kind::Character(..)
            | tree::Kind::LongDouble(_)
            | tree::Kind::Number(..)
            | tree::Kind::Float(..) => self.literal(node),
            tree::Kind::Name(name) => self.name(name, node),
            tree::Kind::Unary(operator, inner) => self.unary(*operator, inner, node),
            tree::Kind::Binary(operator, left, right) => self.binary(*operator, left, right, node),
            tree::Kind::And(left, right) => self.both(Kind::And, left, right, node),
            tree::Kind::Or(left, right) => self.both(Kind::Or, left, right, node),
            tree::Kind::Choice(condition, yes, no) => self.choice(condition, yes, no, node),
            tree::Kind::Sequence(first, second) => self.sequence(first, second, node),
            tree::Kind::Cast(cast, name, inner) => self.cast(*cast, name, inner, node),
            tree::Kind::SizeOf(inner) => self.size_of(inner, node),
            tree::Kind::SizeOfType(name) => {
                self.size_of_type(&self.type_or_named(name, node)?, node)
            }
            tree::Kind::Cpp(form, operands) => self.cpp(form, operands, node),
            tree::Kind::Member(object, name) => self.member(object, name, node),
            tree::Kind::Deref(inner) => self.deref(inner, node),
            tree::Kind::AddressOf(inner) => self.address_of(inner, node),
            tree::Kind::Index(object, index) => self.index(object, index, node),
            tree::Kind::Assign(operator, left, right) => {
                self.assignment_as_part(*operator, left, right, node)
            }
            tree::Kind::Step(operator, operand, before) => {
                self.step(*operator, operand, *before, node)
            }
            tree::Kind::Text(bytes) => Ok(self.text(bytes, node)),
            tree::Kind::Call(function, arguments) => self.call(function, arguments, None, node),
            tree::Kind::Unparsed(message) => Err(wrong(message.clone(), &node.span)),
            _ => Err(Stop::Needs(node)),
        }
    }

    /// Checks a node that may not be reached when the expression is evaluated.
    fn late<'t>(&self, node: &'t Node) -> Checked<'t> {
        match self.check(node) {
            Err(Stop::Needs(_) | Stop::Wants(_)) => Ok(postponed(node)),
            checked => checked,
        }
    }

    /// Checks a branch, whose type matters even if it is not taken.
    fn branch<'t>(&self, node: &'t Node) -> Checked<'t> {
        match self.check(node) {
            Err(Stop::Needs(part) | Stop::Wants(part)) => {
                let has_failed = matches!(self.known.0.get(&key(part)), Some(Fact::Failed));
                match has_failed || node.has_effects() {
                    true => Ok(postponed(node)),
                    false => Err(Stop::Wants(part)),
                }
            }
            checked => checked,
        }
    }

    /// Checks an assignment within an expression: in Rust it has no value.
    fn assignment_as_part<'t>(
        &self,
        operator: Option<tree::Binary>,
        left: &'t Node,
        right: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let assigned = self.assignment(operator, left, right, node)?;
        Ok(match self.language {
            Language::Rust => {
                let kind = Kind::Retyped(Box::new(assigned));
                Expr::new(kind, Ty::tuple(Vec::new()), node)
            }
            _ => assigned,
        })
    }

    /// Checks a whole expression: an assignment is its new value.
    pub(crate) fn whole<'t>(&self, node: &'t Node) -> Checked<'t> {
        match &super::evaluate::inner(node).kind {
            tree::Kind::Assign(operator, left, right) if !self.known.0.contains_key(&key(node)) => {
                self.assignment(*operator, left, right, node)
            }
            _ => self.check(node),
        }
    }

    fn source_text(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or("it")
    }

    fn source_of(&self, of: &Expr<'_>) -> &str {
        self.text.get(of.span.clone()).unwrap_or("it")
    }

    fn literal<'t>(&self, node: &'t Node) -> Checked<'t> {
        let rust = self.language == Language::Rust;
        let types = self.scope.c_types();
        Ok(match &node.kind {
            // The type of C's `'a'` is `int` (ISO C §6.4.4.5).
            tree::Kind::Character(value, prefix) => {
                let ty = literal::of_character(*value, prefix, self.language, types);
                let mut bits = u128::from(*value);
                if self.language == Language::C && &*ty.name() == "char" {
                    let value = Int::new(bits, 1, types.char_is_signed).value();
                    bits = value as u128 & u128::from(u32::MAX);
                    Expr::new(Kind::Constant(bits), c::int(), node)
                } else {
                    Expr::new(Kind::Constant(bits), ty, node)
                }
            }
            tree::Kind::LongDouble(text) => {
                let scalar = Scalar::long_double(types);
                let bits = match scalar.kind {
                    ScalarKind::Float(format) => soft::parsed(format, text).unwrap_or(0),
                    _ => 0,
                };
                let ty = Ty::Builtin(scalar, "long double");
                Expr::new(Kind::Constant(bits), ty, node)
            }
            tree::Kind::Literal(ty, bits) => Expr::new(Kind::Constant(*bits), ty.clone(), node),
            tree::Kind::Number(value, _) if rust => {
                Expr::new(Kind::Constant(*value), rust::integer(*value), node).opened(true)
            }
            tree::Kind::Number(value, decimal) => {
                let ty = c::of_literal(*value, *decimal);
                Expr::new(Kind::Constant(*value), ty, node)
            }
            tree::Kind::Float(value) => {
                let bits = u128::from(value.to_bits());
                Expr::new(Kind::Constant(bits), rust::float(), node).opened(rust)
            }
            _ => return Err(Stop::Needs(node)),
        })
    }

    /// Checks a string literal. That of Rust is a reference.
    fn text<'t>(&self, bytes: &'t [u8], node: &'t Node) -> Expr<'t> {
        let text = Expr::new(Kind::Text(bytes.into()), Ty::Text, node);
        match self.language {
            Language::Rust if self.source_text(node).starts_with('b') => {
                let row = rust::named("u8").array(bytes.len() as u64);
                let of = Expr::new(Kind::Text(bytes.into()), row.clone(), node);
                Expr::new(Kind::AddressOf(Box::new(of)), row.reference(), node)
            }
            Language::Rust => Expr::new(Kind::AddressOf(Box::new(text)), Ty::str(), node),
            _ => text,
        }
    }

    fn both<'t>(
        &self,
        make: impl FnOnce(Box<Expr<'t>>, Box<Expr<'t>>) -> Kind<'t>,
        left: &'t Node,
        right: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let is_changed = left.has_effects();
        let (a, b) = (self.branch(left)?, self.branch(right));
        if let Ok(b) = &b
            && let Some(call) = self.logical_operator(&a, b, node)?
        {
            return Ok(call);
        }
        let left = self.condition_of(a, left)?;
        let right = match b.and_then(|b| self.condition_of(b, right)) {
            Err(Stop::Needs(_) | Stop::Wants(_)) if is_changed => postponed(right),
            right => right?,
        };
        let kind = make(Box::new(left), Box::new(right));
        Ok(Expr::new(kind, self.truth_type(), node))
    }

    fn sequence<'t>(&self, first: &'t Node, second: &'t Node, node: &'t Node) -> Checked<'t> {
        let (first, second) = (self.late(first)?, self.late(second)?);
        // In C++ it remains an array.
        let second = match self.language {
            Language::C => self.decayed(second),
            _ => second,
        };
        let ty = second.ty.clone();
        let kind = Kind::Sequence(Box::new(first), Box::new(second));
        Ok(Expr::new(kind, ty, node))
    }

    /// Checks a node as a condition.
    pub(crate) fn condition<'t>(&self, node: &'t Node) -> Checked<'t> {
        self.condition_of(self.branch(node)?, node)
    }

    /// Checks a checked node as a condition.
    fn condition_of<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        if of.is_late() {
            return Ok(of);
        }
        let of = match self.language {
            Language::Rust => self.operand(of),
            _ => self.decayed(self.operand(of)),
        };
        // The address of a literal is not null.
        if self.language != Language::Rust && matches!(of.ty, Ty::Text) {
            return Ok(Expr::new(Kind::Constant(1), self.truth_type(), node));
        }
        if let Some(condition) = self.member_condition(&of) {
            return Ok(condition);
        }
        // The address of an array, a function or a literal.
        let of = match (of.ty.shape(), self.language) {
            (_, Language::Rust) => of,
            (Shape::Text, _) => return Ok(Expr::new(Kind::Constant(1), self.truth_type(), node)),
            _ => self.decayed(of),
        };
        let is_bool = |scalar: Scalar| scalar.kind == ScalarKind::Bool;
        match scalar(&of.ty) {
            Some(_) if self.language == Language::Cpp && c::is_scoped(&of.ty) => Err(wrong(
                format!(
                    "cannot use a `{}` as a condition; cast it to a number",
                    of.ty.name()
                ),
                &of.span,
            )),
            Some(scalar) if self.language != Language::Rust || is_bool(scalar) => Ok(of),
            Some(_) => Err(wrong(
                format!(
                    "expected `bool`, found `{}`; compare it, for example with `!= 0`",
                    of.ty.name()
                ),
                &of.span,
            )),
            None => self.truth_of_object(of, node),
        }
    }

    /// Returns the type of a condition.
    fn truth_type(&self) -> Ty {
        match self.language {
            Language::C => c::int(),
            _ => c::named("bool"),
        }
    }

    /// Follows references, and in Rust also boxes, to a scalar.
    fn operand<'t>(&self, mut of: Expr<'t>) -> Expr<'t> {
        for _ in 0..DEREFERENCES {
            let Shape::Pointer(to, PointerKind::Reference | PointerKind::Owned) = of.ty.shape()
            else {
                break;
            };
            let span = of.span.clone();
            of = Expr {
                kind: Kind::Deref(Box::new(of)),
                ty: to,
                span,
                open: false,
            };
        }
        of
    }
}

/// Returns a node that is checked when it is reached, after what runs before it has changed the
/// program: the values in it must not be read before.
fn postponed(node: &Node) -> Expr<'_> {
    Expr::new(Kind::Late(node), Ty::Void, node)
}

/// Returns the encoding of a scalar type: of numbers, enumerations, addresses.
pub(crate) fn scalar(ty: &Ty) -> Option<Scalar> {
    match ty.shape() {
        Shape::Scalar(scalar) => Some(scalar),
        Shape::Enumeration(of) => {
            let kind = match of.enumeration().is_some_and(|it| it.signed) {
                true => ScalarKind::Signed,
                false => ScalarKind::Unsigned,
            };
            Some(Scalar::new(kind, ty.size().unwrap_or(4).clamp(1, 16) as u8))
        }
        Shape::Pointer(_, PointerKind::Raw) => Some(Scalar::new(ScalarKind::Address, 8)),
        _ => None,
    }
}
