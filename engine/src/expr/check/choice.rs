//! `a ? b : c`, and the common type of its branches.

use super::super::ir::{Expr, Kind};
use super::super::tree::Node;
use super::operators::converted;
use super::{Checked, Checker, Stop, c, cpp_objects, postponed, scalar, wrong};
use crate::expr::exact;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

impl Checker<'_> {
    /// Checks `condition ? yes : no`.
    pub(super) fn choice<'t>(
        &self,
        condition: &'t Node,
        yes: &'t Node,
        no: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let is_changed = condition.has_effects();
        let condition = self.condition(condition)?;
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
            // A bit-field is promoted as such in C only.
            let promoted = |of: &Expr<'_>| match self.language {
                Language::C => c::promoted(of),
                _ => c::promoted_type(&of.ty),
            };
            let ty = c::common(&promoted(&yes), &promoted(&no));
            return Ok((converted(yes, &ty), converted(no, &ty), ty));
        }
        let (yes, no) = match same {
            true => (yes, no),
            false => {
                let (yes, no) = (self.operand(yes), self.operand(no));
                (self.decayed(yes), self.decayed(no))
            }
        };
        let pointer = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(_, PointerKind::Raw));
        let is_void = |ty: &Ty| match ty.shape() {
            Shape::Pointer(of, _) => matches!(of.shape(), Shape::Void),
            _ => false,
        };
        let is_function = |ty: &Ty| match ty.shape() {
            Shape::Pointer(of, _) => {
                self.language == Language::Cpp && matches!(of.shape(), Shape::Function)
            }
            _ => false,
        };
        // `(void *)0`
        let is_null = |of: &Expr<'_>| match &of.kind {
            Kind::Convert(inner) => inner.is_zero(),
            _ => of.is_zero(),
        };
        let number = |of: &Expr<'_>| c::is_arithmetic(&of.ty) && !c::is_float(&of.ty);
        // C++ converts objects to each other, or to a common number.
        let is_object =
            |ty: &Ty| matches!(ty.shape(), Shape::Composite(_)) && self.language == Language::C;
        // Compilers of C accept a number as an address.
        let mixed = self.language == Language::C;
        let ty = match (pointer(&yes.ty), pointer(&no.ty)) {
            // The more qualified one.
            (true, true) if c::is_same(&yes.ty, &no.ty) && exact::points_to_const(&no.ty) => {
                no.ty.clone()
            }
            _ if c::is_same(&yes.ty, &no.ty) => yes.ty.clone(),
            (true, false) if no.is_zero() => yes.ty.clone(),
            (false, true) if yes.is_zero() => no.ty.clone(),
            // A null pointer constant has the other type (ISO C §6.5.16).
            (true, true) if mixed && is_void(&yes.ty) && is_null(&yes) => no.ty.clone(),
            (true, true) if mixed && is_void(&no.ty) && is_null(&no) => yes.ty.clone(),
            (true, true) if is_void(&yes.ty) && !is_function(&no.ty) => yes.ty.clone(),
            (true, true) if is_void(&no.ty) && !is_function(&yes.ty) => no.ty.clone(),
            (true, true) if let Some(common) = self.common_class(&yes, &no)? => return Ok(common),
            (true, false) if mixed && number(&no) => yes.ty.clone(),
            (false, true) if mixed && number(&yes) => no.ty.clone(),
            (one, other)
                if one != other
                    || is_object(&yes.ty)
                    || is_object(&no.ty)
                    || self.language == Language::Cpp && are_unrelated(&yes.ty, &no.ty) =>
            {
                let (a, b) = (yes.ty.name(), no.ty.name());
                let message = format!("the branches have different types: `{a}` and `{b}`");
                return Err(wrong(message, &(yes.span.start..no.span.end)));
            }
            // Compilers of C warn.
            (true, true) if mixed => Ty::Void.pointer(),
            // Each branch keeps its type: classes, strings.
            _ => return Ok((yes, no, Ty::Void)),
        };
        let (yes, no) = match pointer(&ty) {
            true => (converted(yes, &ty), converted(no, &ty)),
            false => (yes, no),
        };
        Ok((yes, no, ty))
    }
}

/// Returns whether C++ converts neither of two types to the other.
fn are_unrelated(a: &Ty, b: &Ty) -> bool {
    let is_plain = |ty: &Ty| scalar(ty).is_some() || ty.member_pointer().is_some();
    let class = |ty: &Ty| matches!(ty.shape(), Shape::Composite(_));
    let has_elements = |ty: &Ty| {
        let contents = library::contents(ty);
        contents.is_none_or(|it| {
            matches!(
                it,
                Contents::Text(..) | Contents::Sequence(_) | Contents::Map(..) | Contents::Set(_)
            )
        })
    };
    match (is_plain(a) && is_plain(b), class(a), class(b)) {
        (true, ..) => true,
        (_, true, true) => {
            has_elements(a)
                && has_elements(b)
                && !a.same_as(b)
                && !(exact::derives(a, b) || exact::derives(b, a))
                && !(cpp_objects::may_convert(a, b) || cpp_objects::may_convert(b, a))
        }
        (_, true, false) => {
            is_plain(b)
                && has_elements(a)
                && !(cpp_objects::may_convert(a, b) || cpp_objects::may_convert(b, a))
        }
        (_, false, true) => are_unrelated(b, a),
        _ => false,
    }
}
