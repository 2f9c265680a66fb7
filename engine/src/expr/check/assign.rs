//! Assignments: `a = b`, `a += b`, `++a`. The left side is a place, and the right side is converted
//! to its type as the language does implicitly.

use super::super::ir::{Assignment, Expr, Fit, Kind, Outcome, Source};
use super::super::tree::{Binary, Node};
use super::operators::converted;
use super::{Checked, Checker, Stop, c, rust, scalar, wrong};
use crate::expr::evaluate::DEREFERENCES;
use crate::expr::{messages, ownership};
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

impl Checker<'_> {
    /// Checks `left = right`, or `left operator= right`.
    pub(super) fn assignment<'t>(
        &self,
        operator: Option<Binary>,
        left: &'t Node,
        right: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        self.may_change(node)?;
        // The right side is evaluated first (ISO C++ [expr.assign], and Rust's `=`).
        if left.has_effects()
            && let Err(stop @ (Stop::Needs(_) | Stop::Wants(_))) = self.check(right)
        {
            return Err(stop);
        }
        let place = self.assigned_place(left)?;
        let (place, operand, source) = match operator {
            None => match self.source_for(place.clone(), right, node) {
                // An `operator=` of the class.
                Err(Stop::Needs(of)) if std::ptr::eq(of, node) => {
                    let right = self.check(right)?;
                    return self.by_class("operator=", vec![place, right], node);
                }
                source => {
                    let (place, source) = source?;
                    (place, None, source)
                }
            },
            Some(operator) => {
                let place = self.scalar_place(place);
                let right = self.check(right)?;
                if scalar(&place.ty).is_none() {
                    let name = format!("operator{}=", operator.symbol());
                    return self.by_class(&name, vec![place, right], node);
                }
                let value = self.updated(operator, &place, left, right, node)?;
                (place, Some(left), Source::Scalar(value, Fit::Converts))
            }
        };
        let outcome = match self.language {
            Language::Cpp => Outcome::Place,
            _ => Outcome::Value,
        };
        Ok(assigned(place, operand, source, outcome, node))
    }

    /// Checks an assignment to an object whose class has an operator for it, which is called.
    fn by_class<'t>(&self, name: &str, operands: Vec<Expr<'t>>, node: &'t Node) -> Checked<'t> {
        let (Some(place), value) = (operands.first(), operands.get(1)) else {
            return Err(Stop::Needs(node));
        };
        let symbol = name.strip_prefix("operator").unwrap_or(name);
        let refused = match (ownership::may_copy(&place.ty), value) {
            _ if symbol != "=" => format!("`{symbol}` is not defined for `{}`", place.ty.name()),
            (Err(refused), _) => refused,
            (Ok(()), Some(value)) => messages::no_conversion(&value.ty, &place.ty),
            (Ok(()), None) => format!("`{}` has no `{name}`", place.ty.name()),
        };
        if self.language == Language::Cpp && !self.scope.may_call() {
            let message = format!("{refused}; assign on the console to call it");
            return Err(wrong(message, &node.span));
        }
        match self.operator_call(name, &operands, node)? {
            Some(call) => Ok(self.referent(call)),
            None => Err(wrong(refused, &node.span)),
        }
    }

    /// Checks `++a` and `a--`; `before`: the result is the old value.
    pub(super) fn step<'t>(
        &self,
        operator: Binary,
        operand: &'t Node,
        before: bool,
        node: &'t Node,
    ) -> Checked<'t> {
        self.may_change(node)?;
        let place = self.scalar_place(self.assigned_place(operand)?);
        if scalar(&place.ty).is_none() {
            let name = format!("operator{}", operator.symbol().repeat(2));
            // The operator behind the operand has a parameter that is not used.
            let unused = Expr::new(Kind::Constant(0), c::int(), node);
            let operands = [Some(place), before.then_some(unused)];
            return self.by_class(&name, operands.into_iter().flatten().collect(), node);
        }
        let is_bool = matches!(place.ty.shape(), Shape::Scalar(it) if it.kind == ScalarKind::Bool);
        if is_bool && self.language == Language::Cpp {
            let message = "`++` and `--` are not defined for `bool`; assign to it";
            return Err(wrong(message, &node.span));
        }
        let one = Expr::new(Kind::Constant(1), c::int(), node);
        let value = self.updated(operator, &place, operand, one, node)?;
        let outcome = match (before, self.language) {
            (true, _) => Outcome::Before,
            (false, Language::Cpp) => Outcome::Place,
            (false, _) => Outcome::Value,
        };
        let source = Source::Scalar(value, Fit::Converts);
        Ok(assigned(place, Some(operand), source, outcome, node))
    }

    fn may_change<'t>(&self, node: &Node) -> Result<(), Stop<'t>> {
        match self.scope.may_change() {
            true => Ok(()),
            false => Err(wrong(
                "assignments are allowed only on the console and in watches",
                &node.span,
            )),
        }
    }

    /// Checks the left side of an assignment.
    fn assigned_place<'t>(&self, left: &'t Node) -> Checked<'t> {
        let place = self.referent(self.check(left)?);
        match self.is_lvalue(&place) {
            true => Ok(place),
            false => Err(wrong(
                "cannot assign to a computed value: not a variable or another place",
                &left.span,
            )),
        }
    }

    /// Returns whether an expression may be a place: in C++ `c ? a : b` is one if both are places of
    /// one type (ISO C++ [expr.cond]).
    pub(super) fn is_lvalue(&self, of: &Expr<'_>) -> bool {
        match &of.kind {
            Kind::Choice(_, yes, no) if self.language == Language::Cpp => {
                of.ty.same_as(&yes.ty) && self.is_lvalue(yes) && self.is_lvalue(no)
            }
            Kind::Sequence(_, last) if self.language == Language::Cpp => self.is_lvalue(last),
            Kind::Choice(_, yes, no) => yes.is_late() || no.is_late(),
            _ => of.is_place(),
        }
    }

    /// Follows references, boxes and atomics to a scalar.
    fn scalar_place<'t>(&self, mut place: Expr<'t>) -> Expr<'t> {
        for _ in 0..DEREFERENCES {
            place = match place.ty.shape() {
                Shape::Pointer(to, PointerKind::Reference | PointerKind::Owned) => place.target(to),
                Shape::Composite(_) => match held_scalar(&place.ty) {
                    Some(held) => {
                        let span = place.span.clone();
                        Expr {
                            kind: Kind::Pointee(Box::new(place)),
                            ty: held,
                            span,
                            open: false,
                        }
                    }
                    None => return place,
                },
                _ => return place,
            };
        }
        place
    }

    /// Returns the new value of a place that an operator changes, with the place's type.
    fn updated<'t>(
        &self,
        operator: Binary,
        place: &Expr<'t>,
        left: &'t Node,
        right: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let operand = Expr::new(Kind::Known(left, place.bits()), place.ty.clone(), left);
        let value = self.operation(operator, operand, right, node)?;
        self.implicitly(value, &place.ty, node)
    }

    /// Converts a value to another type as the language does implicitly in assignments.
    pub(super) fn implicitly<'t>(&self, value: Expr<'t>, to: &Ty, node: &'t Node) -> Checked<'t> {
        match self.language {
            Language::Rust => self.rust_implicitly(value, to),
            _ => self.c_implicitly(value, to, node),
        }
    }

    fn rust_implicitly<'t>(&self, value: Expr<'t>, to: &Ty) -> Checked<'t> {
        let is_enumeration = matches!(to.shape(), Shape::Enumeration(_));
        let value = match is_enumeration {
            true => value.opened(false),
            false => self.typed(value, to)?,
        };
        let target = |ty: &Ty| match ty.shape() {
            Shape::Pointer(of, _) => Some(of),
            _ => None,
        };
        let fits = match (target(to), target(&value.ty)) {
            (Some(a), Some(b)) => {
                a.same_as(&b) || [a, b].iter().any(|it| matches!(it.shape(), Shape::Void))
            }
            // An address that the user has typed.
            (Some(_), None) => is_constant(&value) && is_integer(&value.ty),
            (None, Some(_)) => false,
            (None, None) if is_enumeration => value.ty.same_as(to),
            (None, None) => rust::is_same(&value.ty, to),
        };
        if fits {
            return Ok(match rust::is_same(&value.ty, to) {
                true => value,
                false => converted(value, to),
            });
        }
        let (from, name) = (value.ty.name(), to.name());
        let remedy = match (scalar(&value.ty), scalar(to)) {
            _ if target(&value.ty).is_some() && target(to).is_none() => {
                "; dereference it with `*`".to_owned()
            }
            (Some(_), Some(_)) if is_enumeration => "; assign one of its variants".to_owned(),
            (Some(_), Some(b)) if !matches!(b.kind, ScalarKind::Bool | ScalarKind::Utf) => {
                format!("; cast it with `as {name}`")
            }
            _ => String::new(),
        };
        let message = format!("mismatched types: expected `{name}`, found `{from}`{remedy}");
        Err(wrong(message, &value.span))
    }

    fn c_implicitly<'t>(&self, value: Expr<'t>, to: &Ty, node: &'t Node) -> Checked<'t> {
        let value = self.decayed(self.scalar_place(value));
        let refused = |value: &Expr<'_>, remedy: &str| {
            let message = messages::no_conversion(&value.ty, to);
            Err(wrong(format!("{message}{remedy}"), &value.span))
        };
        if matches!(value.ty, Ty::Text) {
            return match to.shape() {
                Shape::Pointer(..) => Err(wrong(messages::TEXT_AS_POINTER, &value.span)),
                _ => refused(&value, ""),
            };
        }
        let (Some(from), Some(into)) = (scalar(&value.ty), scalar(to)) else {
            // A conversion of a class.
            return Err(Stop::Needs(node));
        };
        let is_cpp = self.language == Language::Cpp;
        let is_complex = |it: Scalar| matches!(it.kind, ScalarKind::Complex(_));
        if is_complex(from) || is_complex(into) {
            return Err(Stop::Needs(node));
        }
        let cast = format!("; cast it: `({})`", to.name());
        let target = |ty: &Ty| match ty.shape() {
            Shape::Pointer(of, _) => Some(of),
            _ => None,
        };
        match (target(&value.ty), target(to)) {
            (Some(from), Some(into)) => return self.c_pointer(value, (&from, &into), to, &cast),
            // An address that the user has typed, and `nullptr`.
            (None, Some(_)) => {
                let is_address = !c::is_float(&value.ty)
                    && (!is_cpp || is_constant(&value) && is_integer(&value.ty));
                return match is_address {
                    true => Ok(converted(value, to)),
                    false if c::is_float(&value.ty) => {
                        Err(wrong(messages::FLOAT_AS_ADDRESS, &value.span))
                    }
                    false => refused(&value, &cast),
                };
            }
            (Some(_), None) => {
                let is_address = into.kind == ScalarKind::Bool || !is_cpp && into.is_integral();
                return match is_address {
                    true => Ok(converted(value, to)),
                    false if c::is_float(to) => Err(wrong(messages::FLOAT_AS_ADDRESS, &value.span)),
                    false => refused(&value, &cast),
                };
            }
            (None, None) => {}
        }
        let is_enumeration = |ty: &Ty| matches!(ty.shape(), Shape::Enumeration(_));
        if is_cpp && (is_enumeration(to) || c::is_scoped(&value.ty)) {
            let same = is_enumeration(to) && value.ty.same_as(to);
            let is_number = is_enumeration(to) && is_constant(&value) && is_integer(&value.ty);
            if !same && !is_number {
                return refused(&value, &cast);
            }
        }
        Ok(converted(value, to))
    }

    /// Converts a pointer to a pointer of another type.
    fn c_pointer<'t>(
        &self,
        value: Expr<'t>,
        (from, into): (&Ty, &Ty),
        to: &Ty,
        cast: &str,
    ) -> Checked<'t> {
        let is_void = |ty: &Ty| matches!(ty.shape(), Shape::Void);
        if let Some(base) = self.base_pointer(&value, to) {
            return base;
        }
        let fits = c::is_same(from, into)
            || is_void(into)
            // Compilers of C warn.
            || self.language == Language::C
            || value.is_zero()
            || [from, into].iter().all(|it| matches!(it.shape(), Shape::Function))
            || matches!(from.shape(), Shape::Array(_) | Shape::Broken(_));
        if fits {
            return Ok(converted(value, to));
        }
        let message = messages::no_conversion(&value.ty, to);
        Err(wrong(format!("{message}{cast}"), &value.span))
    }
}

fn assigned<'t>(
    place: Expr<'t>,
    operand: Option<&'t Node>,
    source: Source<'t>,
    outcome: Outcome,
    node: &Node,
) -> Expr<'t> {
    let ty = place.ty.clone();
    let assignment = Assignment {
        place,
        operand,
        source,
        outcome,
    };
    Expr::new(Kind::Assign(Box::new(assignment)), ty, node)
}

/// Returns the type of the number in an atomic, whose operators change it.
fn held_scalar(ty: &Ty) -> Option<Ty> {
    let is_atomic = library::is_atomic(ty);
    match library::contents(ty).filter(|_| is_atomic) {
        Some(Contents::Wrapped(held)) if scalar(&held).is_some() => Some(held),
        _ => None,
    }
}

/// Returns whether an expression has no operand that is read.
pub(super) fn is_constant(of: &Expr<'_>) -> bool {
    match &of.kind {
        Kind::Constant(_) => true,
        Kind::Convert(of) | Kind::Saturate(of) | Kind::Negate(of, _) | Kind::Complement(of) => {
            is_constant(of)
        }
        Kind::Arithmetic(_, a, b, _) | Kind::Shift(_, a, b, _) => is_constant(a) && is_constant(b),
        _ => false,
    }
}

fn is_integer(ty: &Ty) -> bool {
    matches!(
        ty.shape(),
        Shape::Scalar(Scalar {
            kind: ScalarKind::Signed | ScalarKind::Unsigned,
            ..
        })
    )
}
