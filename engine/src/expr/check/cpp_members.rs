//! Pointers to members of C++: `&Class::member`, `object.*pointer`, comparisons, casts.

use super::super::ir::{Expr, Kind};
use super::super::ir_cpp::Cpp;
use super::super::tree::{self, Binary, Node};
use super::{Checked, Checker, c, wrong};
use crate::inspect::value::base_path::{self, BaseLookup};
use crate::inspect::value::path::{self, Lookup, Part};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{Language, MemberOffset};

impl Checker<'_> {
    /// Checks `object.*pointer`.
    pub(super) fn member_of<'t>(
        &self,
        object: &'t Node,
        pointer: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let pointer = self.referent(self.check(pointer)?);
        let object = self.referent(self.check(object)?);
        self.member_at(object, pointer, node)
    }

    /// Checks `object->*pointer`.
    pub(super) fn member_behind<'t>(
        &self,
        object: &'t Node,
        pointer: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        let pointer = self.referent(self.check(pointer)?);
        let object = self.referent(self.check(object)?);
        let Shape::Pointer(to, PointerKind::Raw) = object.ty.shape() else {
            let name = object.ty.name();
            return Err(wrong(
                format!("`->*` needs a pointer to an object, found `{name}`"),
                &object.span,
            ));
        };
        let object = Expr::new(Kind::Deref(Box::new(object)), to, node);
        self.member_at(object, pointer, node)
    }

    fn member_at<'t>(&self, object: Expr<'t>, pointer: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let Some((class, member)) = pointer.ty.member_pointer() else {
            let name = pointer.ty.name();
            return Err(wrong(
                format!("expected a pointer to a member, found `{name}`"),
                &pointer.span,
            ));
        };
        if let Shape::Function = member.shape() {
            return Err(wrong(
                "a member function can only be called: `(object.*pointer)(...)`",
                &node.span,
            ));
        }
        let object = self.part_of_class(object, &class, node)?;
        let kind = Kind::Cpp(Box::new(Cpp::MemberAt(object, pointer)));
        Ok(Expr::new(kind, member, node))
    }

    /// Returns an object as the part of it that is of a class.
    fn part_of_class<'t>(&self, object: Expr<'t>, class: &Ty, node: &'t Node) -> Checked<'t> {
        let (of, class) = (object.ty.clone(), class.clone());
        match base_path::find_type(&of, &class) {
            BaseLookup::Found(way) => Ok(way.into_iter().fold(object, |of, (part, ty)| {
                Expr::new(Kind::Part(Box::new(of), part), ty, node)
            })),
            BaseLookup::Ambiguous => Err(wrong(ambiguous(&of, &class), &node.span)),
            BaseLookup::Absent => {
                let (of, class) = (of.name(), class.name());
                let message = format!("`{of}` is neither `{class}` nor derived from it");
                Err(wrong(message, &node.span))
            }
        }
    }

    /// Checks `&Class::member` of a data member; `None`: it is the address of something else.
    pub(super) fn member_address<'t>(
        &self,
        operand: &'t Node,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let tree::Kind::Name(path) = &operand.kind else {
            return None;
        };
        if self.language != Language::Cpp {
            return None;
        }
        let (scope, name) = split_last(path)?;
        let class = self.scope.find_type(scope)?;
        let Lookup::Found(parts) = path::find(&class, name) else {
            return None;
        };
        let mut holder = class;
        let mut offset = 0u64;
        for (part, ty) in &parts {
            match part {
                Part::Base(..) => holder = ty.clone(),
                Part::Member(..) => {
                    let member = part.member()?;
                    let MemberOffset::Bytes(bytes) = member.offset else {
                        return None;
                    };
                    if member.bits.is_some() {
                        let message = "cannot take the address of a bit-field";
                        return Some(Err(wrong(message, &node.span)));
                    }
                    offset = offset.wrapping_add(bytes);
                }
                Part::Static(..) | Part::Variant(..) => return None,
            }
        }
        let (Some(Part::Member(..)), Some(ty)) =
            (parts.last().map(|it| &it.0), parts.last().map(|it| &it.1))
        else {
            return None;
        };
        let ty = ty.clone().member_of(holder);
        Some(Ok(Expr::new(Kind::Constant(u128::from(offset)), ty, node)))
    }

    /// Returns whether a name is that of a member of a class.
    pub(super) fn is_of_class(&self, name: &Node) -> bool {
        let tree::Kind::Name(path) = &name.kind else {
            return false;
        };
        let class = split_last(path).and_then(|(scope, _)| self.scope.find_type(scope));
        self.language == Language::Cpp
            && class.is_some_and(|class| matches!(class.shape(), Shape::Composite(_)))
    }

    /// Checks a comparison of which one operand is a pointer to a member.
    pub(super) fn members_compared<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let is_equality = matches!(operator, Binary::Eq | Binary::Ne);
        let (x, y) = (a.ty.member_pointer(), b.ty.member_pointer());
        let same = match (&x, &y) {
            (Some((class, member)), Some((other_class, other))) => {
                let is_one = class.same_as(other_class)
                    && (c::is_same(member, other) || a.ty.strip().name() == b.ty.strip().name());
                is_one.then_some(Cpp::IsSameMember(a.clone(), b.clone()))
            }
            (Some(_), None) if is_null(&b) => Some(Cpp::IsNullMember(a.clone())),
            (None, Some(_)) if is_null(&a) => Some(Cpp::IsNullMember(b.clone())),
            _ => None,
        };
        let Some(same) = same.filter(|_| is_equality) else {
            let symbol = operator.symbol();
            let (a, b) = (a.ty.name(), b.ty.name());
            let message = format!("`{symbol}` is not defined for `{a}` and `{b}`");
            return Err(wrong(message, &node.span));
        };
        let same = Expr::new(Kind::Cpp(Box::new(same)), self.truth_type(), node);
        Ok(match operator {
            Binary::Ne => Expr::new(Kind::Not(Box::new(same)), self.truth_type(), node),
            _ => same,
        })
    }

    /// Checks a pointer to a member as a condition; `None`: it is none.
    pub(super) fn member_condition<'t>(&self, of: &Expr<'t>) -> Option<Expr<'t>> {
        of.ty.member_pointer()?;
        let is_null = Expr {
            kind: Kind::Cpp(Box::new(Cpp::IsNullMember(of.clone()))),
            ty: self.truth_type(),
            span: of.span.clone(),
            open: false,
        };
        Some(Expr {
            kind: Kind::Not(Box::new(is_null)),
            ty: self.truth_type(),
            span: of.span.clone(),
            open: false,
        })
    }

    /// Checks a cast of a pointer to a member (ISO C++ [expr.static.cast]); `None`: it is none.
    pub(super) fn member_cast<'t>(
        &self,
        of: &Expr<'t>,
        ty: &Ty,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let (to, _) = ty.member_pointer()?;
        let Some((from, _)) = of.ty.member_pointer() else {
            let message = format!("cannot cast `{}` to `{}`", of.ty.name(), ty.name());
            return Some(Err(wrong(message, &of.span)));
        };
        let by = |derived: &Ty, base: &Ty| match base_path::find_type(derived, base) {
            BaseLookup::Found(way) => base_path::offset(&way),
            BaseLookup::Ambiguous | BaseLookup::Absent => None,
        };
        let moved = match (by(&to, &from), by(&from, &to)) {
            (Some(bytes), _) => bytes,
            (None, Some(bytes)) => bytes.wrapping_neg(),
            (None, None) => {
                let message = format!("cannot cast `{}` to `{}`", of.ty.name(), ty.name());
                return Some(Err(wrong(message, &of.span)));
            }
        };
        let kind = Kind::Cpp(Box::new(Cpp::MovedMember(of.clone(), moved)));
        Some(Ok(Expr::new(kind, ty.clone(), node)))
    }
}

/// Returns the message for a base that a class has several times.
pub(super) fn ambiguous(class: &Ty, base: &Ty) -> String {
    let (class, base) = (class.name(), base.name());
    format!("ambiguous: `{class}` has several bases `{base}`; name the one between them")
}

/// Returns whether an expression is a null pointer constant.
fn is_null(of: &Expr<'_>) -> bool {
    of.is_zero()
}

/// Splits `a::b<c::d>::e` into `a::b<c::d>` and `e`.
pub(crate) fn split_last(path: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    let bytes = path.as_bytes();
    for at in (0..bytes.len()).rev() {
        match bytes.get(at)? {
            b'>' | b')' => depth += 1,
            b'<' | b'(' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && at > 0 && bytes.get(at - 1) == Some(&b':') => {
                let (scope, name) = (path.get(..at - 1)?, path.get(at + 1..)?);
                return (!scope.is_empty()).then_some((scope, name));
            }
            _ => {}
        }
    }
    None
}
