//! Pointers to members of C++: `&Class::member`, `object.*pointer`, comparisons, casts.

use super::super::ir::{Call, Callee, Expr, Kind};
use super::super::ir_cpp::Cpp;
use super::super::parse_cpp::Form;
use super::super::tree::{self, Binary, Node};
use super::{Checked, Checker, Stop, c, wrong};
use crate::arch::Arch;
use crate::expr::evaluate::inner;
use crate::expr::exact;
use crate::expr::overload::Candidate;
use crate::inspect::abi::MemberPointer;
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
        let object = self.object_of_arrow(self.check(object)?)?;
        self.member_at(object, pointer, node)
    }

    /// Returns the object on the left of `->*`.
    fn object_of_arrow<'t>(&self, object: Expr<'t>) -> Checked<'t> {
        let object = self.referent(object);
        match object.ty.shape() {
            Shape::Pointer(to, PointerKind::Raw) => Ok(object.target(to)),
            _ => {
                let name = object.ty.name();
                let message = format!("`->*` needs a pointer to an object, found `{name}`");
                Err(wrong(message, &object.span))
            }
        }
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

    /// Checks `&Class::function` as a pointer to a member of this type, which chooses the function of
    /// an overloaded name (ISO C++ [over.over]); `None`: it is something else.
    pub(super) fn method_as<'t>(
        &self,
        ty: &Ty,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        match &inner(node).kind {
            tree::Kind::AddressOf(of) if ty.member_pointer().is_some() => {
                self.method_address(of, Some(ty), node)
            }
            _ => Ok(None),
        }
    }

    /// Checks `&Class::function`; `None`: it is the address of something else. A type chooses among
    /// several functions.
    pub(super) fn method_address<'t>(
        &self,
        operand: &'t Node,
        wanted: Option<&Ty>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let tree::Kind::Name(path) = &operand.kind else {
            return Ok(None);
        };
        let (Some((scope, name)), Language::Cpp) = (split_last(path), self.language) else {
            return Ok(None);
        };
        let Some(class) = self.scope.find_type(scope) else {
            return Ok(None);
        };
        let Shape::Composite(of) = class.shape() else {
            return Ok(None);
        };
        let (own, _) = self.functions_of(&of, name)?;
        let is_meant = |it: &Candidate| wanted.is_none_or(|wanted| has_type(it, wanted));
        let own = own.into_iter().filter(Candidate::takes_object);
        let mut own = own.filter(is_meant);
        let Some(known) = own.next() else {
            return Ok(None);
        };
        let entry = |it: &Candidate| it.code.as_ref().map(|it| it.bias.load(it.function.entry).0);
        if own.any(|other| entry(&other) != entry(&known)) {
            let message = format!(
                "`{path}` is overloaded; cast its address to the type of the one that is meant"
            );
            return Err(wrong(message, &node.span));
        }
        let member = match known.slot {
            Some(slot) => Some(MemberPointer::Virtual(slot.wrapping_mul(8), 0)),
            None => entry(&known).map(|entry| MemberPointer::Function(entry, 0)),
        };
        let arch = Arch::of(of.module().machine()).unwrap_or_default();
        let rest = known.types.iter().skip(1).cloned().collect();
        let is_const = known.takes_const_object();
        let ty = known.returns.function(rest, false, is_const);
        Ok(member.map(|it| Expr::new(Kind::Constant(it.bits(arch)), ty.member_of(class), node)))
    }

    /// Checks `(object.*pointer)(arguments)` and `(object->*pointer)(arguments)`.
    pub(super) fn call_by_member<'t>(
        &self,
        form: &Form,
        operands: &'t [Node],
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Checked<'t> {
        let [object, pointer] = operands else {
            return Err(wrong("expected an object and a pointer", &node.span));
        };
        let (object, pointer) = (self.check(object)?, self.referent(self.check(pointer)?));
        let object = match form {
            Form::MemberBehind => self.object_of_arrow(object)?,
            _ => self.referent(object),
        };
        let arguments = self.arguments(arguments)?;
        let member = pointer.ty.member_pointer();
        let Some((class, function)) = member.and_then(|(class, it)| Some((class, it.signature()?)))
        else {
            // A data member may be a pointer to a function.
            let callee = self.member_at(object, pointer, node)?;
            return self.call_of(callee, arguments, None, node);
        };
        let object = self.part_of_class(object, &class, node)?;
        let this = class.clone().pointer();
        // The debug info has the object as the first parameter; a type in an expression has not.
        let is_spelled = pointer
            .ty
            .member_pointer()
            .is_some_and(|(_, member)| matches!(member.strip(), Ty::Synthetic(_)));
        let of_source = function.parameters.iter().skip(usize::from(!is_spelled));
        let types: Vec<Ty> = of_source.cloned().collect();
        self.accepted(&types, function.is_variadic, &arguments, node)?;
        let mut all = vec![Expr::new(
            Kind::AddressOf(Box::new(object)),
            this.clone(),
            node,
        )];
        all.extend(arguments);
        let types: Vec<Ty> = std::iter::once(this).chain(types).collect();
        let call = Call {
            name: self.source_text(node).to_owned(),
            callee: Callee::Member(pointer),
            arguments: self.with_conversions(all, &types, node)?,
            types,
            language: Language::Cpp,
            node,
            step: 0,
        };
        Ok(Expr::new(
            Kind::Call(Box::new(call)),
            function.returns,
            node,
        ))
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

/// Returns whether a member function has the type that a pointer to a member points to.
fn has_type(known: &Candidate, pointer: &Ty) -> bool {
    let Some((_, member)) = pointer.member_pointer() else {
        return false;
    };
    let Some(function) = member.signature() else {
        return false;
    };
    // The debug info has the object as the first parameter; a type in an expression has not.
    let is_spelled = matches!(member.strip(), Ty::Synthetic(_));
    let (object, is_const) = match is_spelled {
        true => (0, function.is_const),
        false => {
            let this = function.parameters.first();
            (1, this.is_some_and(exact::points_to_const))
        }
    };
    let wanted = function.parameters.iter().skip(object);
    let own = known.types.iter().skip(1);
    known.takes_const_object() == is_const
        && wanted.len() == own.len()
        && wanted.zip(own).all(|(a, b)| exact::same(a, b))
}

/// Returns the message for a base that a class has several times.
pub(in crate::expr) fn ambiguous(class: &Ty, base: &Ty) -> String {
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
