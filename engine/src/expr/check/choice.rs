//! `a ? b : c`, and the common type of its branches.

use super::super::ir::{Expr, Kind};
use super::super::tree::{Cast, Node};
use super::operators::converted;
use super::{Checked, Checker, Stop, c, cpp_objects, postponed, scalar, wrong};
use crate::expr::exact;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{CTypes, Language};

impl Checker<'_> {
    /// Checks `condition ? yes : no`.
    pub(super) fn choice<'t>(
        &self,
        condition: &'t Node,
        yes: &'t Node,
        no: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let acts = condition.has_effects();
        let condition = self.condition_of(self.check(condition)?, condition)?;
        let is_changed = acts && !condition.only_reads();
        let branch = |node: &'t Node| match self.branch(node) {
            Err(Stop::Needs(_) | Stop::Wants(_)) if is_changed => Ok(postponed(node)),
            branch => branch,
        };
        let (yes, no) = (branch(yes)?, branch(no)?);
        let (yes, no, ty) = match (yes.is_late(), no.is_late()) {
            (false, false) => match self.language {
                Language::Rust => self.same_type(yes, no)?,
                _ => {
                    let (yes, no) = self.converted_branches(yes, no, node)?;
                    self.common_choice(yes, no)?
                }
            },
            // The type is that of the chosen one.
            _ => return Err(Stop::Needs(node)),
        };
        let kind = Kind::Choice(Box::new(condition), Box::new(yes), Box::new(no));
        Ok(Expr::new(kind, ty, node))
    }

    /// Gives the branches of C's `?:` their common type (ISO C §6.5.15, ISO C++ [expr.cond]).
    fn common_choice<'t>(
        &self,
        yes: Expr<'t>,
        no: Expr<'t>,
    ) -> Result<(Expr<'t>, Expr<'t>, Ty), Stop<'t>> {
        let same = c::is_same(&yes.ty, &no.ty);
        let (yes, no) = match same || self.language != Language::Cpp {
            true => (yes, no),
            false => (self.operand(yes), self.operand(no)),
        };
        if c::is_arithmetic(&yes.ty) && c::is_arithmetic(&no.ty) {
            if same && (self.language == Language::Cpp || c::is_scoped(&yes.ty)) {
                let ty = yes.ty.clone();
                return Ok((yes, no, ty));
            }
            if c::is_scoped(&yes.ty) || c::is_scoped(&no.ty) {
                return Err(have_different_types(&yes, &no));
            }
            // A bit-field is promoted as such in C only.
            let types = self.scope.c_types();
            let promoted = |of: &Expr<'_>| match self.language {
                Language::C => c::promoted(of, types),
                _ => c::promoted_type(&of.ty, types),
            };
            let ty = c::common(&promoted(&yes), &promoted(&no));
            return Ok((converted(yes, &ty), converted(no, &ty), ty));
        }
        if !same && let Some(common) = literals(&yes, &no, self.scope.c_types()) {
            return Ok(common);
        }
        // In C++ places of one type remain such.
        let (yes, no) = match same && self.language == Language::Cpp {
            true => (yes, no),
            false => {
                let (yes, no) = (self.operand(yes), self.operand(no));
                (self.decayed(yes), self.decayed(no))
            }
        };
        if let Some(common) = self.common_class(&yes, &no)? {
            return Ok(common);
        }
        let common = common_address(&yes, &no).or_else(|| match self.language {
            Language::C => common_in_c(&yes, &no),
            _ => common_in_cpp(&yes, &no),
        });
        let Some(ty) = common else {
            return Err(have_different_types(&yes, &no));
        };
        let (yes, no) = match is_pointer(&ty) {
            true => (converted(yes, &ty), converted(no, &ty)),
            false => (yes, no),
        };
        Ok((yes, no, ty))
    }
}

/// Gives branches of which one is a string literal their common type, unless the other one is
/// something else than a literal, an address of characters or a null pointer constant.
fn literals<'t>(yes: &Expr<'t>, no: &Expr<'t>, types: CTypes) -> Option<(Expr<'t>, Expr<'t>, Ty)> {
    let is_literal = |of: &Expr<'_>| matches!(of.ty, Ty::Text);
    let narrow = |of: &Expr<'_>| match of.ty.shape() {
        Shape::Pointer(to, PointerKind::Raw) => library::is_narrow(&to).then(|| of.ty.clone()),
        Shape::Array(array) => {
            library::is_narrow(&array.element).then(|| array.element.clone().pointer())
        }
        _ => None,
    };
    let other = match (is_literal(yes), is_literal(no)) {
        // They keep being shown, and compared, as texts.
        (true, true) => return Some((yes.clone(), no.clone(), Ty::Text)),
        (true, false) => no,
        (false, true) => yes,
        (false, false) => return None,
    };
    let ty = match narrow(other) {
        Some(ty) => ty,
        None if other.is_zero() => c::char(types).constant().pointer(),
        None => return None,
    };
    let as_pointer = |of: &Expr<'t>| {
        let inner = Box::new(of.clone());
        let kind = match of.ty.shape() {
            Shape::Text => Kind::Cast(Cast::Usual, inner),
            Shape::Array(_) => Kind::Decay(inner),
            _ => Kind::Convert(inner),
        };
        Expr {
            kind,
            ty: ty.clone(),
            ..of.clone()
        }
    };
    Some((as_pointer(yes), as_pointer(no), ty.clone()))
}

fn have_different_types<'t>(yes: &Expr<'_>, no: &Expr<'_>) -> Stop<'t> {
    let (a, b) = (yes.ty.name(), no.ty.name());
    let message = format!("the branches have different types: `{a}` and `{b}`");
    wrong(message, &(yes.span.start..no.span.end))
}

fn is_pointer(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Pointer(_, PointerKind::Raw))
}

/// Returns whether a type is that of an address of such a target.
fn points_to(ty: &Ty, is_target: impl Fn(&Shape) -> bool) -> bool {
    match ty.shape() {
        Shape::Pointer(of, _) => is_target(&of.shape()),
        _ => false,
    }
}

fn is_object(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Composite(_))
}

/// Returns the common type of two branches of one type, or of an address and a null pointer constant.
fn common_address(yes: &Expr<'_>, no: &Expr<'_>) -> Option<Ty> {
    match (is_pointer(&yes.ty), is_pointer(&no.ty)) {
        // The more qualified one.
        (true, true) if c::is_same(&yes.ty, &no.ty) && exact::points_to_const(&no.ty) => {
            Some(no.ty.clone())
        }
        _ if c::is_same(&yes.ty, &no.ty) => Some(yes.ty.clone()),
        (true, false) if no.is_zero() => Some(yes.ty.clone()),
        (false, true) if yes.is_zero() => Some(no.ty.clone()),
        _ => None,
    }
}

/// Returns the common type of other branches in C, whose compilers warn of what ISO C forbids;
/// `void` if each keeps its own.
fn common_in_c(yes: &Expr<'_>, no: &Expr<'_>) -> Option<Ty> {
    let is_void = |ty: &Ty| points_to(ty, |it| matches!(it, Shape::Void));
    // `(void *)0`
    let is_null = |of: &Expr<'_>| match &of.kind {
        Kind::Convert(inner) => inner.is_zero(),
        _ => of.is_zero(),
    };
    let number = |of: &Expr<'_>| c::is_arithmetic(&of.ty) && !c::is_float(&of.ty);
    match (is_pointer(&yes.ty), is_pointer(&no.ty)) {
        // A null pointer constant has the other type (ISO C §6.5.16).
        (true, true) if is_void(&yes.ty) && is_null(yes) => Some(no.ty.clone()),
        (true, true) if is_void(&no.ty) && is_null(no) => Some(yes.ty.clone()),
        (true, true) => Some(Ty::Void.pointer()),
        (true, false) if number(no) => Some(yes.ty.clone()),
        (false, true) if number(yes) => Some(no.ty.clone()),
        (false, false) if c::is_float(&yes.ty) || c::is_float(&no.ty) => None,
        (false, false) if !is_object(&yes.ty) && !is_object(&no.ty) => Some(Ty::Void),
        _ => None,
    }
}

/// The same in C++.
fn common_in_cpp(yes: &Expr<'_>, no: &Expr<'_>) -> Option<Ty> {
    let is_void = |ty: &Ty| points_to(ty, |it| matches!(it, Shape::Void));
    let is_function = |ty: &Ty| points_to(ty, |it| matches!(it, Shape::Function));
    match (is_pointer(&yes.ty), is_pointer(&no.ty)) {
        (true, true) if is_void(&yes.ty) && !is_function(&no.ty) => Some(yes.ty.clone()),
        (true, true) if is_void(&no.ty) && !is_function(&yes.ty) => Some(no.ty.clone()),
        (true, true) => None,
        _ => (!are_unrelated(&yes.ty, &no.ty)).then_some(Ty::Void),
    }
}

/// Returns whether C++ converts neither of two types to the other.
fn are_unrelated(a: &Ty, b: &Ty) -> bool {
    let is_plain = |ty: &Ty| {
        scalar(ty).is_some() || ty.member_pointer().is_some() || matches!(ty.shape(), Shape::Text)
    };
    let convert = || {
        cpp_objects::may_convert(a, b)
            || cpp_objects::may_convert(b, a)
            || may_hold(a, b)
            || may_hold(b, a)
    };
    match (is_plain(a), is_plain(b)) {
        (true, true) => true,
        (false, true) if is_object(a) => !convert(),
        (true, false) if is_object(b) => !convert(),
        (false, false) if is_object(a) && is_object(b) => {
            let is_same = a.same_as(b) || exact::derives(a, b) || exact::derives(b, a);
            !is_same && !convert()
        }
        _ => false,
    }
}

/// Returns whether an object of the library may be made of a value of another type.
fn may_hold(ty: &Ty, other: &Ty) -> bool {
    match library::contents(ty) {
        Some(Contents::Optional(held)) => {
            let are_numbers = c::is_arithmetic(&held) && c::is_arithmetic(other);
            are_numbers || held.same_as(other) || !are_unrelated(&held, other)
        }
        // A smart pointer of another one, or of `nullptr`.
        Some(Contents::Pointee(_) | Contents::Unbounded(_)) => {
            let behind = library::contents(other);
            is_pointer(other) || matches!(behind, Some(Contents::Pointee(_)))
        }
        Some(Contents::Text(..)) => match other.shape() {
            Shape::Text => true,
            Shape::Pointer(of, PointerKind::Raw) => library::is_narrow(&of),
            _ => false,
        },
        Some(Contents::Tuple(_)) => matches!(library::contents(other), Some(Contents::Tuple(_))),
        Some(Contents::Wrapped(_) | Contents::Variant(_) | Contents::Either(..)) => true,
        _ => false,
    }
}
