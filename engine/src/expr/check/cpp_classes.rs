//! Classes of C++: members of named bases, conversions of pointers within a hierarchy.

use super::super::ir::{Expr, Kind};
use super::super::ir_cpp::{Cpp, Typed};
use super::super::tree::{Binary, Cast, Node};
use super::cpp_members::{ambiguous, split_last};
use super::{Checked, Checker, Stop, wrong};
use crate::expr::evaluate::DEREFERENCES;
use crate::inspect::value::base_path::{self, BaseLookup, Way};
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::Language;

/// Returns the class that a pointer points to.
fn class_behind(ty: &Ty) -> Option<Ty> {
    match ty.shape() {
        Shape::Pointer(to, PointerKind::Raw) => match to.shape() {
            Shape::Composite(_) => Some(to),
            _ => None,
        },
        _ => None,
    }
}

/// Operands of a binary operator.
pub(super) enum Operands<'t> {
    /// The operation is checked.
    Done(Expr<'t>),
    /// The usual rules apply to these.
    Other(Expr<'t>, Expr<'t>),
}

impl Checker<'_> {
    /// Checks an operation that C++ alone has: of pointers to members, of what `typeid` returns, of
    /// pointers to classes of one hierarchy.
    pub(super) fn cpp_operation<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Result<Operands<'t>, Stop<'t>> {
        if self.language != Language::Cpp {
            return Ok(Operands::Other(a, b));
        }
        if let (Some(x), Some(y)) = (typed(&a), typed(&b)) {
            let (x, y) = (x.clone(), y.clone());
            return self.same_types(operator, x, y, node).map(Operands::Done);
        }
        if a.ty.member_pointer().is_some() || b.ty.member_pointer().is_some() {
            return self
                .members_compared(operator, a, b, node)
                .map(Operands::Done);
        }
        if !operator.is_comparison() {
            return Ok(Operands::Other(a, b));
        }
        Ok(match self.common_class(&a, &b)? {
            Some((a, b, _)) => Operands::Other(a, b),
            None => Operands::Other(a, b),
        })
    }

    /// Checks `object.Base::name`; `None`: the name is not qualified.
    pub(super) fn member_of_base<'t>(
        &self,
        object: &'t Node,
        name: &'t str,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let (scope, last) = split_last(name).filter(|_| self.language == Language::Cpp)?;
        Some(self.member_in_base(object, scope, last, node))
    }

    fn member_in_base<'t>(
        &self,
        object: &'t Node,
        scope: &str,
        last: &str,
        node: &'t Node,
    ) -> Checked<'t> {
        let mut of = self.check(object)?;
        for _ in 0..DEREFERENCES {
            let Shape::Pointer(to, _) = of.ty.shape() else {
                break;
            };
            of = Expr::new(Kind::Deref(Box::new(of)), to, object);
        }
        let class = of.ty.clone();
        let way = match self.base_named(&class, scope) {
            BaseLookup::Found(way) => way,
            BaseLookup::Ambiguous => {
                let message = format!("ambiguous: `{}` has several bases `{scope}`", class.name());
                return Err(wrong(message, &node.span));
            }
            BaseLookup::Absent => {
                let message = format!("`{}` has no base `{scope}`", class.name());
                return Err(wrong(message, &node.span));
            }
        };
        let base = Expr::part(of, way, node);
        match path::find(&base.ty, last) {
            Lookup::Found(parts) => Ok(Expr::part(base, parts, node)),
            Lookup::Ambiguous(one, other, _) => {
                Err(wrong(members::ambiguous(last, &one, &other), &node.span))
            }
            // A member function.
            Lookup::Depends | Lookup::Absent => Err(Stop::Needs(node)),
        }
    }

    /// Returns the base that a name designates within a class.
    pub(super) fn base_named(&self, class: &Ty, name: &str) -> BaseLookup {
        let is_named = |ty: &Ty| match ty.shape() {
            Shape::Composite(class) => dwarf::name_matches(&class.ty.name, name),
            _ => false,
        };
        let found = match base_path::find(class, &is_named) {
            BaseLookup::Absent => match self.scope.find_type(name) {
                Some(base) => base_path::find_type(class, &base),
                None => BaseLookup::Absent,
            },
            found => found,
        };
        match (found, split_last(name)) {
            (BaseLookup::Absent, Some((outer, last))) => self.base_within(class, outer, last),
            (found, _) => found,
        }
    }

    /// Returns the base that `Outer::last` designates: a class has the names of its bases as members.
    fn base_within(&self, class: &Ty, outer: &str, last: &str) -> BaseLookup {
        let way = match self.base_named(class, outer) {
            BaseLookup::Found(way) => way,
            found => return found,
        };
        let holder = way.last().map_or(class, |(_, ty)| ty).clone();
        match self.base_named(&holder, last) {
            BaseLookup::Found(rest) => BaseLookup::Found([way, rest].concat()),
            found => found,
        }
    }

    /// Converts two pointers to different classes to a common one; `None`: they are no such pointers.
    pub(super) fn common_class<'t>(
        &self,
        a: &Expr<'t>,
        b: &Expr<'t>,
    ) -> Result<Option<(Expr<'t>, Expr<'t>, Ty)>, Stop<'t>> {
        let (Some(x), Some(y)) = (class_behind(&a.ty), class_behind(&b.ty)) else {
            return Ok(None);
        };
        if self.language != Language::Cpp || x.same_as(&y) {
            return Ok(None);
        }
        let span = a.span.start..b.span.end;
        match (base_path::find_type(&x, &y), base_path::find_type(&y, &x)) {
            (BaseLookup::Found(way), _) => Ok(Some((
                based(a.clone(), way, &b.ty),
                b.clone(),
                b.ty.clone(),
            ))),
            (_, BaseLookup::Found(way)) => Ok(Some((
                a.clone(),
                based(b.clone(), way, &a.ty),
                a.ty.clone(),
            ))),
            (BaseLookup::Ambiguous, _) => Err(wrong(ambiguous(&x, &y), &span)),
            (_, BaseLookup::Ambiguous) => Err(wrong(ambiguous(&y, &x), &span)),
            (BaseLookup::Absent, BaseLookup::Absent) => {
                let (a, b) = (a.ty.name(), b.ty.name());
                let message =
                    format!("`{a}` and `{b}` are pointers to unrelated classes; cast one");
                Err(wrong(message, &span))
            }
        }
    }

    /// Converts a pointer to a class implicitly to a pointer to a base; `None`: the classes are
    /// unrelated or the same, or they are no such pointers.
    pub(super) fn base_pointer<'t>(&self, of: &Expr<'t>, to: &Ty) -> Option<Checked<'t>> {
        let (class, base) = (class_behind(&of.ty)?, class_behind(to)?);
        if self.language != Language::Cpp || class.same_as(&base) {
            return None;
        }
        match base_path::find_type(&class, &base) {
            BaseLookup::Found(way) => Some(Ok(based(of.clone(), way, to))),
            BaseLookup::Ambiguous => Some(Err(wrong(ambiguous(&class, &base), &of.span))),
            BaseLookup::Absent => None,
        }
    }

    /// Checks a cast between pointers to classes; `None`: they are unrelated, or no such pointers.
    pub(super) fn class_cast<'t>(
        &self,
        cast: Cast,
        of: &Expr<'t>,
        ty: &Ty,
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let (from, to) = (class_behind(&of.ty)?, class_behind(ty)?);
        if self.language != Language::Cpp || cast != Cast::Usual || from.same_as(&to) {
            return None;
        }
        let cast = match base_path::find_type(&from, &to) {
            BaseLookup::Found(way) => Ok(based(of.clone(), way, ty)),
            BaseLookup::Ambiguous => Err(wrong(ambiguous(&from, &to), &node.span)),
            BaseLookup::Absent => match base_path::find_type(&to, &from) {
                BaseLookup::Found(way) => match base_path::offset(&way) {
                    Some(offset) => {
                        let kind = Kind::Cpp(Box::new(Cpp::Derived(of.clone(), offset)));
                        Ok(Expr::new(kind, ty.clone(), node))
                    }
                    // The compiler knows no way from a virtual base; the object shows it.
                    None => return None,
                },
                BaseLookup::Ambiguous => Err(wrong(ambiguous(&to, &from), &node.span)),
                BaseLookup::Absent => return None,
            },
        };
        Some(cast.map(|cast| Expr {
            span: node.span.clone(),
            ..cast
        }))
    }
}

/// Returns the type that an expression is the information of.
fn typed<'a, 't>(of: &'a Expr<'t>) -> Option<&'a Typed<'t>> {
    match &of.kind {
        Kind::Cpp(form) => match &**form {
            Cpp::TypeInfo(typed) => Some(typed),
            _ => None,
        },
        _ => None,
    }
}

/// Returns a pointer to a class as one to the base at the end of a way.
fn based<'t>(of: Expr<'t>, way: Way, ty: &Ty) -> Expr<'t> {
    let span = of.span.clone();
    let parts = way.into_iter().map(|(part, _)| part).collect();
    Expr {
        kind: Kind::Cpp(Box::new(Cpp::Base(of, parts))),
        ty: ty.clone(),
        span,
        open: false,
    }
}
