//! Operators on numbers and addresses.

use super::super::ir::{Expr, Kind, Overflow};
use super::super::parse_cpp::Form;
use super::super::tree::{self, Binary, Node, Order, Unary};
use super::cpp_classes::Operands;
use super::rust_made::is_made;
use super::{Checked, Checker, Stop, c, rust, rust_types, scalar, wrong};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::Language;

impl Checker<'_> {
    pub(crate) fn unary<'t>(
        &self,
        operator: Unary,
        operand: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        if operator == Unary::Not && self.language != Language::Rust {
            let of = self.branch(operand)?;
            let object = self.operand(of.clone());
            if self.language == Language::Cpp
                && matches!(object.ty.shape(), Shape::Composite(_))
                && library::contents(&object.ty).is_none()
                && let Some(call) = self.operator_call("operator!", &[object], node)?
            {
                return Ok(call);
            }
            let condition = self.condition_of(of, operand)?;
            return Ok(Expr::new(
                Kind::Not(Box::new(condition)),
                self.truth_type(),
                node,
            ));
        }
        let of = self.check(operand)?;
        match self.language {
            // `-128i8` is parsed as minus and 128.
            Language::Rust if matches!(inner(operand).kind, tree::Kind::Literal(..)) => {
                self.rust_unary(operator, of, Overflow::Wraps, node)
            }
            _ => self.unary_of(operator, of, node),
        }
    }

    /// Checks a unary operator of a checked operand.
    pub(super) fn unary_of<'t>(
        &self,
        operator: Unary,
        of: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        if self.language == Language::Rust {
            let overflow = match of.open {
                true => Overflow::Wraps,
                false => Overflow::Fails,
            };
            return self.rust_unary(operator, of, overflow, node);
        }
        let of = self.decayed(self.operand(of));
        if let Some(done) = self.vector_unary(operator, &of, node) {
            return done;
        }
        let refused = |ty: &Ty| {
            let symbol = operator.symbol();
            wrong(
                format!("`{symbol}` is not defined for `{}`", ty.name()),
                &node.span,
            )
        };
        if !c::is_arithmetic(&of.ty) {
            return match (scalar(&of.ty), operator) {
                (Some(_), Unary::Plus) if self.language == Language::Cpp => Ok(of),
                (Some(_), _) => Err(refused(&of.ty)),
                (None, _) => self.unary_of_object(operator, of, node),
            };
        }
        if operator == Unary::Complement && c::is_float(&of.ty) || c::is_scoped(&of.ty) {
            let name = format!("operator{}", operator.symbol());
            let call = match c::is_scoped(&of.ty) {
                true => self.operator_call(&name, std::slice::from_ref(&of), node)?,
                false => None,
            };
            return call.ok_or_else(|| refused(&of.ty));
        }
        let ty = c::promoted(&of, self.scope.c_types());
        let of = Box::new(converted(of, &ty));
        let kind = match operator {
            Unary::Minus => Kind::Negate(of, Overflow::Wraps),
            Unary::Complement => Kind::Complement(of),
            Unary::Plus | Unary::Not => return Ok(*of),
        };
        Ok(Expr::new(kind, ty, node))
    }

    fn rust_unary<'t>(
        &self,
        operator: Unary,
        of: Expr<'t>,
        overflow: Overflow,
        node: &'t Node,
    ) -> Checked<'t> {
        let of = borrowed(of);
        let known = scalar(&of.ty).filter(|_| !is_enumeration(&of));
        let Some(scalar) = known else {
            return self.unary_of_object(operator, of, node);
        };
        let (ty, open) = (of.ty.clone(), of.open);
        let kind = match (operator, scalar.kind) {
            (Unary::Not, ScalarKind::Bool) => Kind::Not(Box::new(of)),
            (Unary::Not, ScalarKind::Signed | ScalarKind::Unsigned) => {
                Kind::Complement(Box::new(of))
            }
            (Unary::Minus, ScalarKind::Signed | ScalarKind::Float(_)) => {
                Kind::Negate(Box::new(of), overflow)
            }
            (Unary::Complement, _) => {
                return Err(wrong("`~` is no operator of Rust; use `!`", &node.span));
            }
            _ => {
                let message = format!(
                    "cannot apply unary `{}` to `{}`",
                    operator.symbol(),
                    ty.name()
                );
                return Err(wrong(message, &node.span));
            }
        };
        Ok(Expr::new(kind, ty, node).opened(open))
    }

    /// Checks a binary operator.
    pub(crate) fn binary<'t>(
        &self,
        operator: Binary,
        left: &'t Node,
        right: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        if three_way(operator, left, right).is_some() {
            return self.three_way_compared(operator, left, right, node);
        }
        let a = self.check(left);
        if let Err(Stop::Needs(_) | Stop::Wants(_)) = a {
            return a;
        }
        let b = self.check(right);
        self.binary_of(operator, (a, left), (b, right), node)
    }

    /// Checks a binary operator of operands that were checked.
    // Separate from `binary` to keep the recursive function's stack frame small.
    fn binary_of<'t>(
        &self,
        operator: Binary,
        (a, left): (Checked<'t>, &'t Node),
        (b, right): (Checked<'t>, &'t Node),
        node: &'t Node,
    ) -> Checked<'t> {
        let is_name = |node: &Node| matches!(inner(node).kind, tree::Kind::Name(_));
        match (a, b) {
            // A name may be that of the other operand's enumerator or variant, or of a type.
            (Err(Stop::Wrong(Error::UnknownName { .. })), Ok(b)) if is_name(left) => {
                if let Some(a) = self.enumerator(&b.ty, left) {
                    return self.operation(operator, a, b, node);
                }
                if let Some(ty) = self.type_in_parentheses(left) {
                    return self.cast_of_operator(operator, ty, right, node);
                }
                let test = self.variant_test(operator, b, left, node);
                test.ok_or_else(|| self.unknown(left))
            }
            (Ok(a), Err(Stop::Wrong(Error::UnknownName { .. }))) if is_name(right) => {
                if let Some(b) = self.enumerator(&a.ty, right) {
                    return self.operation(operator, a, b, node);
                }
                let test = self.variant_test(operator, a, right, node);
                test.ok_or_else(|| self.unknown(right))
            }
            (
                Err(Stop::Wrong(Error::UnknownName { .. })),
                Err(stop @ (Stop::Needs(_) | Stop::Wants(_))),
            ) => Err(stop),
            (a, b) => {
                let as_other = |ty: &Ty, node: &'t Node, stop| match self.method_as(ty, node) {
                    Ok(Some(method)) => Ok(method),
                    _ => self.function_as(ty, node)?.ok_or(stop),
                };
                let (a, b) = match (a, b) {
                    (Ok(a), Err(stop)) => (Ok(a.clone()), as_other(&a.ty, right, stop)),
                    (Err(stop), Ok(b)) => (as_other(&b.ty, left, stop), Ok(b)),
                    both => both,
                };
                let (a, b) = (a?, b?);
                if self.language == Language::Rust && operator.is_comparison() {
                    // A reference becomes a pointer.
                    let a = as_pointer(a, &b.ty);
                    let b = as_pointer(b, &a.ty);
                    // The other side decides what `Some(3)` and `&2` are.
                    if is_made(&a) || is_made(&b) {
                        return self.compared(operator, (a, left), (b, right), node);
                    }
                    rust_types::comparable(&a.ty, &b.ty).map_err(|why| wrong(why, &node.span))?;
                    return self.operation(operator, a, b, node);
                }
                self.operation(operator, a, b, node)
            }
        }
    }

    /// Checks `(a <=> b) < 0`, which is `a < b` (ISO C++ [expr.spaceship]).
    fn three_way_compared<'t>(
        &self,
        operator: Binary,
        left: &'t Node,
        right: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        match three_way(operator, left, right) {
            Some((a, b)) => self.binary(operator, a, b, node),
            None => Err(Stop::Needs(node)),
        }
    }

    /// Checks a name as one of an enumeration's enumerators.
    pub(super) fn enumerator<'t>(&self, ty: &Ty, name: &'t Node) -> Option<Expr<'t>> {
        let mut ty = ty.clone();
        for _ in 0..DEREFERENCES {
            let Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) = ty.shape() else {
                break;
            };
            ty = of;
        }
        let value = match &inner(name).kind {
            tree::Kind::Name(name) => members::enumerator_named(&ty, name),
            _ => None,
        };
        Some(Expr::new(Kind::Constant(value? as u128), ty, name))
    }

    /// Checks an operation on two checked operands.
    pub(crate) fn operation<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let (a, b) = match self.language {
            Language::Rust if !operator.is_comparison() => (borrowed(a), borrowed(b)),
            _ => (self.operand(a), self.operand(b)),
        };
        if let Some(compared) = self.texts(operator, &a, &b, node) {
            return Ok(compared);
        }
        let (a, b) = match self.language {
            Language::Rust => (a, b),
            _ => match self.vector_operation(operator, &a, &b, node)? {
                Some(done) => return Ok(done),
                None => (self.decayed(a), self.decayed(b)),
            },
        };
        let (a, b) = match self.cpp_operation(operator, a, b, node)? {
            Operands::Done(done) => return Ok(done),
            Operands::Other(a, b) => (a, b),
        };
        let (Some(x), Some(y)) = (scalar(&a.ty), scalar(&b.ty)) else {
            return self.object_operation(operator, a, b, node);
        };
        if let Some(call) = self.enumeration_operator(operator, &a, &b, node)? {
            return Ok(call);
        }
        let is_complex = |it: Scalar| matches!(it.kind, ScalarKind::Complex(_));
        if is_complex(x) || is_complex(y) {
            return Err(wrong(
                "arithmetic of complex numbers is not supported",
                &node.span,
            ));
        }
        let is_pointer = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(..));
        if is_pointer(&a.ty) || is_pointer(&b.ty) {
            return self.addresses(operator, a, b, node);
        }
        match self.language {
            Language::Rust => self.rust_operation(operator, a, b, node),
            _ => self.c_operation(operator, a, b, node),
        }
    }

    fn c_operation<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let refused = |what: &str| {
            let symbol = operator.symbol();
            Err(wrong(
                format!("`{symbol}` is not defined for {what}"),
                &node.span,
            ))
        };
        let has_float = c::is_float(&a.ty) || c::is_float(&b.ty);
        let of_integers = matches!(
            operator,
            Binary::Rem
                | Binary::BitAnd
                | Binary::BitOr
                | Binary::BitXor
                | Binary::Shl
                | Binary::Shr
        );
        if has_float && of_integers {
            return refused("floats");
        }
        let is_enumeration = |of: &Expr<'_>| matches!(of.ty.shape(), Shape::Enumeration(_));
        if self.language == Language::Cpp
            && operator.is_comparison()
            && is_enumeration(&a)
            && is_enumeration(&b)
            && (c::is_scoped(&a.ty) || c::is_scoped(&b.ty))
            && !a.ty.same_as(&b.ty)
        {
            let (a, b) = (a.ty.name(), b.ty.name());
            return refused(&format!("`{a}` and `{b}`; cast them to numbers"));
        }
        // Comparisons of an `enum class` with numbers are a convenience.
        if !operator.is_comparison()
            && let Some(scoped) = [&a, &b].into_iter().find(|it| c::is_scoped(&it.ty))
        {
            let name = scoped.ty.name();
            return refused(&format!(
                "the scoped enumeration `{name}`; cast it to a number"
            ));
        }
        let types = self.scope.c_types();
        let (left, right) = (c::promoted(&a, types), c::promoted(&b, types));
        if let Binary::Shl | Binary::Shr = operator {
            let (a, b) = (converted(a, &left), converted(b, &right));
            let kind = Kind::Shift(operator, Box::new(a), Box::new(b), Overflow::Wraps);
            return Ok(Expr::new(kind, left, node));
        }
        let common = c::common(&left, &right);
        let (a, b) = (converted(a, &common), converted(b, &common));
        Ok(match operator.order() {
            Some(order) => self.comparison(order, a, b, node),
            None => {
                let kind = Kind::Arithmetic(operator, Box::new(a), Box::new(b), Overflow::Wraps);
                Expr::new(kind, common, node)
            }
        })
    }

    fn rust_operation<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let refused = |ty: &Ty| {
            let symbol = operator.symbol();
            wrong(
                format!("`{symbol}` is not defined for `{}`", ty.name()),
                &node.span,
            )
        };
        if !operator.is_comparison()
            && let Some(side) = [&a, &b].into_iter().find(|it| is_enumeration(it))
        {
            return Err(refused(&side.ty));
        }
        let kind_of = |of: &Expr<'_>| scalar(&of.ty).map(|it| it.kind);
        let is_integer =
            |of: &Expr<'_>| matches!(kind_of(of), Some(ScalarKind::Signed | ScalarKind::Unsigned));
        if let Binary::Shl | Binary::Shr = operator {
            for side in [&a, &b] {
                if !is_integer(side) {
                    return Err(refused(&side.ty));
                }
            }
            let (ty, open) = (a.ty.clone(), a.open);
            let kind = Kind::Shift(operator, Box::new(a), Box::new(b), Overflow::Fails);
            return Ok(Expr::new(kind, ty, node).opened(open));
        }
        if let Some(order) = operator.order() {
            let (a, b, _) = self.same_type(a, b)?;
            return Ok(self.comparison(order, a, b, node));
        }
        let (a, b, ty) = self.same_type(a, b)?;
        let open = a.open && b.open;
        let is_logical = matches!(operator, Binary::BitAnd | Binary::BitOr | Binary::BitXor);
        match kind_of(&a) {
            Some(ScalarKind::Signed | ScalarKind::Unsigned) => {}
            Some(ScalarKind::Bool) if is_logical => {}
            Some(ScalarKind::Float(_)) if !is_logical => {}
            _ => return Err(refused(&ty)),
        }
        let kind = Kind::Arithmetic(operator, Box::new(a), Box::new(b), Overflow::Fails);
        Ok(Expr::new(kind, ty, node).opened(open))
    }

    fn comparison<'t>(&self, order: Order, a: Expr<'t>, b: Expr<'t>, node: &Node) -> Expr<'t> {
        let kind = Kind::Compare(order, Box::new(a), Box::new(b));
        Expr::new(kind, self.truth_type(), node)
    }

    /// Checks an operation of which one operand is an address.
    fn addresses<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let target = |of: &Expr<'_>| match of.ty.shape() {
            Shape::Pointer(to, _) => Some(to),
            _ => None,
        };
        let is_float = |of: &Expr<'_>| c::is_float(&of.ty);
        if is_float(&a) || is_float(&b) {
            return Err(wrong(super::messages::FLOAT_AS_ADDRESS, &node.span));
        }
        let refused = || {
            let symbol = operator.symbol();
            let ty = match self.language {
                Language::Rust => "as usize",
                _ => "(uintptr_t)",
            };
            let message = format!("`{symbol}` is not defined for pointers; cast it with `{ty}`");
            wrong(message, &node.span)
        };
        let word = c::named("unsigned long");
        let size = |of: &Ty| match (of.size(), of.shape()) {
            (Some(size), _) => Ok(size.max(1)),
            (None, Shape::Composite(_) | Shape::Array(_)) => {
                let name = of.name();
                let message = format!("the size of `{name}` is unknown; cast the pointer");
                Err(wrong(message, &node.span))
            }
            // As gcc has it for `void` and functions.
            (None, _) => Ok(1),
        };
        let is_enumeration = |of: &Expr<'_>| matches!(of.ty.shape(), Shape::Enumeration(_));
        let compares_enumeration = is_enumeration(&a) || is_enumeration(&b);
        if self.language == Language::Cpp && operator.is_comparison() && compares_enumeration {
            return Err(refused());
        }
        if let Some(order) = operator.order() {
            let (a, b) = (converted(a, &word), converted(b, &word));
            return Ok(self.comparison(order, a, b, node));
        }
        let signed = |checker: &Self| match checker.language {
            Language::Rust => rust::named("i64"),
            _ => c::named("long"),
        };
        match (operator, target(&a), target(&b)) {
            (Binary::Sub, Some(of), Some(to)) => {
                self.may_be_subtracted((&a, &of), (&b, &to), node)?;
                let kind = Kind::Distance(Box::new(a), Box::new(b), size(&of)?);
                Ok(Expr::new(kind, signed(self), node))
            }
            (Binary::Add | Binary::Sub, Some(of), None) => {
                let by = converted(b, &c::named("long"));
                let ty = of.clone().pointer();
                let kind = Kind::Offset(operator, Box::new(a), Box::new(by), size(&of)?);
                Ok(Expr::new(kind, ty, node))
            }
            (Binary::Add, None, Some(of)) => {
                let by = converted(a, &c::named("long"));
                let ty = of.clone().pointer();
                let kind = Kind::Offset(operator, Box::new(b), Box::new(by), size(&of)?);
                Ok(Expr::new(kind, ty, node))
            }
            _ => Err(refused()),
        }
    }

    /// Checks that two pointers are of one type, as their distance requires (ISO C §6.5.7).
    fn may_be_subtracted<'t>(
        &self,
        (a, of): (&Expr<'_>, &Ty),
        (b, to): (&Expr<'_>, &Ty),
        node: &Node,
    ) -> Result<(), Stop<'t>> {
        let is_function = |ty: &Ty| matches!(ty.shape(), Shape::Function);
        let message = match self.language {
            Language::Rust => return Ok(()),
            Language::Cpp if is_function(of) || is_function(to) => {
                "`-` is not defined for pointers to functions; cast them with `(uintptr_t)`".into()
            }
            Language::Cpp if matches!(of.shape(), Shape::Void) => {
                "`-` is not defined for `void *`; cast both to `char *`".into()
            }
            _ if is_function(of) && is_function(to) || of.same_as(to) || c::is_same(of, to) => {
                return Ok(());
            }
            _ => format!(
                "`-` needs pointers of one type, found `{}` and `{}`; cast one of them",
                a.ty.name(),
                b.ty.name()
            ),
        };
        Err(wrong(message, &node.span))
    }

    /// Returns an array or a function as the address that it decays to.
    pub(super) fn decayed<'t>(&self, of: Expr<'t>) -> Expr<'t> {
        let ty = match of.ty.shape() {
            Shape::Array(_) if of.ty.is_vector() => return of,
            Shape::Array(array) => array.element.clone().pointer(),
            Shape::Function => of.ty.clone().pointer(),
            _ => return of,
        };
        let span = of.span.clone();
        Expr {
            kind: Kind::Decay(Box::new(of)),
            ty,
            span,
            open: false,
        }
    }
}

/// Returns the operands of a `<=>` whose result is compared with a literal 0, in the order in which
/// that compares them.
fn three_way<'t>(
    operator: Binary,
    left: &'t Node,
    right: &'t Node,
) -> Option<(&'t Node, &'t Node)> {
    let is_zero = |node: &Node| matches!(inner(node).kind, tree::Kind::Number(0, _));
    let compared = |node: &'t Node| match &inner(node).kind {
        tree::Kind::Cpp(Form::ThreeWay, operands) => match &operands[..] {
            [a, b] => Some((a, b)),
            _ => None,
        },
        _ => None,
    };
    operator.order()?;
    match (compared(left), compared(right)) {
        (Some(operands), None) if is_zero(right) => Some(operands),
        (None, Some((a, b))) if is_zero(left) => Some((b, a)),
        _ => None,
    }
}

/// Returns a reference of Rust as the pointer that it is compared with.
fn as_pointer<'t>(of: Expr<'t>, other: &Ty) -> Expr<'t> {
    let is_raw = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(_, PointerKind::Raw));
    match rust_types::referent(&of.ty) {
        Some(to) if is_raw(other) => {
            let span = of.span.clone();
            Expr {
                kind: Kind::Retyped(Box::new(of)),
                ty: to.const_pointer(),
                span,
                open: false,
            }
        }
        _ => of,
    }
}

fn is_enumeration(of: &Expr<'_>) -> bool {
    matches!(of.ty.shape(), Shape::Enumeration(_))
}

/// Returns the number behind a reference of Rust: the operators of numbers are defined for one
/// reference, too.
fn borrowed(of: Expr<'_>) -> Expr<'_> {
    match rust_types::referent(&of.ty) {
        Some(to) if matches!(to.shape(), Shape::Scalar(_)) => of.target(to),
        _ => of,
    }
}

/// Converts a scalar to another type, unless it has that type.
pub(super) fn converted<'t>(of: Expr<'t>, ty: &Ty) -> Expr<'t> {
    let is_same = scalar(&of.ty) == scalar(ty)
        && match (&of.ty, ty) {
            (Ty::Builtin(_, a), Ty::Builtin(_, b)) => a == b,
            (a, b) => a.name() == b.name(),
        };
    let has_bits = of.bits().is_some();
    if is_same && !has_bits {
        return of;
    }
    let span = of.span.clone();
    Expr {
        kind: Kind::Convert(Box::new(of)),
        ty: ty.clone(),
        span,
        open: false,
    }
}
