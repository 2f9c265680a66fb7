//! Methods of Rust with rules of their own: `x.get(a..b)` of rows, the part if the row has it; `as_ref` of texts.

use super::super::ir::{Expr, Kind, Overflow};
use super::super::tree::{self, Binary, Node, Order};
use super::rust_made::Access;
use super::{Checked, Checker, Stop, rust, rust_types, wrong};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::expr::messages;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty};

impl Checker<'_> {
    /// Checks a call of a method that what the code around it expects, or an end of a range, decides; `None` if it is
    /// of another one.
    pub(super) fn special_method<'t>(
        &self,
        of: &Expr<'t>,
        object: &'t Node,
        (name, arguments): (&str, &'t [Node]),
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let argument = match (name, arguments) {
            ("get", [argument]) => argument,
            ("as_ref", []) if is_text(&of.ty) => {
                return Some(Err(wrong(messages::SEVERAL_REFERENCES, &node.span)));
            }
            _ => return None,
        };
        let tree::Kind::Range(from, to, inclusive) = &inner(argument).kind else {
            return None;
        };
        let ends = (from.as_deref(), to.as_deref(), *inclusive);
        is_row(of, node).then(|| {
            let part = self.slice(object, ends, node)?;
            self.optional_part(part, argument, node)
        })
    }

    /// Returns `Some(part)` if its ends are within the row, else `None`.
    fn optional_part<'t>(&self, part: Expr<'t>, range: &'t Node, node: &'t Node) -> Checked<'t> {
        let Kind::Slice(row, ends, inclusive) = &part.kind else {
            return Err(Stop::Needs(node));
        };
        let len = self.answer(row, "len", &[], node)?;
        let len = len.ok_or(Stop::Needs(node))?;
        // What is decided is known by its position afterwards: each condition has one of its own.
        let compare = |a: &Expr<'t>, order: Order, b: &Expr<'t>, at: &Expr<'t>| {
            let kind = Kind::Compare(order, Box::new(a.clone()), Box::new(b.clone()));
            let span = at.span.clone();
            let test = Expr::new(kind, self.truth_type(), node);
            Box::new(Expr { span, ..test })
        };
        let zero = Expr::new(Kind::Constant(0), rust::named("usize"), node);
        let from = ends.from.as_ref().unwrap_or(&zero);
        let to = ends.to.as_ref().unwrap_or(&len);
        let (order, end) = match inclusive {
            false => (Order::Le, to.clone()),
            // The part of `3..=2` is empty.
            true => {
                let one = Expr::new(Kind::Constant(1), rust::named("usize"), node);
                let (to, one) = (Box::new(to.clone()), Box::new(one));
                let next = Kind::Arithmetic(Binary::Add, to, one, Overflow::Wraps);
                (Order::Lt, Expr::new(next, rust::named("usize"), node))
            }
        };
        let both = Kind::And(
            compare(to, order, &len, to),
            compare(from, Order::Le, &end, from),
        );
        let is_there = Expr::new(both, self.truth_type(), range);
        let reference = self.reference_to(part.clone(), Access::Shared, node);
        let some = self.std_variant("Some", &[], Some(reference), node)?;
        let ty = some.ty.clone();
        let none = self.std_variant("None", &[], None, node)?;
        let none = self.typed(none, &ty)?;
        let kind = Kind::Choice(Box::new(is_there), Box::new(some), Box::new(none));
        Ok(Expr::new(kind, ty, node))
    }
}

/// Returns whether a type is a `String` or `str`, or a reference to one.
fn is_text(ty: &Ty) -> bool {
    let name = ty.strip().name();
    let name = name.trim_start_matches("&mut ").trim_start_matches('&');
    matches!(name, "str" | "alloc::string::String")
}

/// Returns whether an object is a row of elements, or refers to one.
fn is_row<'t>(of: &Expr<'t>, node: &'t Node) -> bool {
    let mut of = of.clone();
    for _ in 0..DEREFERENCES {
        let is_row = matches!(library::contents(&of.ty), Some(Contents::Sequence(_)));
        if is_row || matches!(of.ty.shape(), Shape::Array(_)) {
            return true;
        }
        let to = rust_types::referent(&of.ty);
        let Some(next) = to.map(|to| of.clone().target(to)) else {
            return false;
        };
        of = Expr {
            span: node.span.clone(),
            ..next
        };
    }
    false
}
