//! Places: members, targets of pointers, elements of arrays.

use super::super::ir::{Expr, Kind};
use super::super::tree::{self, Binary, Node};
use super::operators::converted;
use super::{Checked, Checker, Stop, c, scalar, wrong};
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::inspect::library::{self, Contents};
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::Language;

impl Checker<'_> {
    /// Checks `object.name`, `object->name`: both follow pointers, wrappers and smart pointers.
    pub(super) fn member<'t>(
        &self,
        object: &'t Node,
        name: &'t str,
        node: &'t Node,
    ) -> Checked<'t> {
        if let tree::Kind::Register(_) = inner(object).kind {
            return Err(Stop::Needs(node));
        }
        if let Some(found) = self.member_of_base(object, name, node) {
            return found;
        }
        let mut of = self.check(object)?;
        for _ in 0..DEREFERENCES {
            of = match of.ty.shape() {
                Shape::Pointer(to, _) => target(of, to),
                Shape::Composite(_) => match path::find(&of.ty, name) {
                    Lookup::Found(parts) => return Ok(Expr::part(of, parts, node)),
                    Lookup::Ambiguous(one, other, _) => {
                        let message = members::ambiguous(name, &one, &other);
                        return Err(wrong(message, &node.span));
                    }
                    // A member of the active variant, or of the dynamic class.
                    Lookup::Depends | Lookup::Absent => match pointee(of, node) {
                        Some(target) => target,
                        None => return Err(Stop::Needs(node)),
                    },
                },
                _ => return Err(Stop::Needs(node)),
            };
        }
        Err(Stop::Needs(node))
    }

    /// Checks `*x`.
    pub(super) fn deref<'t>(&self, operand: &'t Node, node: &'t Node) -> Checked<'t> {
        let of = self.check(operand)?;
        self.deref_of(of, node)
    }

    pub(super) fn deref_of<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let of = self.referent(of);
        match of.ty.shape() {
            Shape::Pointer(to, _) if !matches!(to.shape(), Shape::Void) => {
                Ok(Expr::new(Kind::Deref(Box::new(of)), to, node))
            }
            Shape::Array(array) if self.language != Language::Rust => {
                let first = Expr::new(Kind::Constant(0), c::named("long"), node);
                let kind = Kind::Element(Box::new(of), Box::new(first), array.clone());
                Ok(Expr::new(kind, array.element.clone(), node))
            }
            Shape::Function => Ok(of),
            Shape::Composite(_) => match library::contents(&of.ty) {
                Some(Contents::Pointee(to)) => Ok(Expr::new(Kind::Pointee(Box::new(of)), to, node)),
                _ => Err(Stop::Needs(node)),
            },
            _ => Err(Stop::Needs(node)),
        }
    }

    /// Checks `&x`.
    pub(super) fn address_of<'t>(&self, operand: &'t Node, node: &'t Node) -> Checked<'t> {
        // `&v[1..4]` is the same as `v[1..4]`.
        if let tree::Kind::Index(_, index) = &inner(operand).kind
            && let tree::Kind::Range(..) = index.kind
        {
            return Err(Stop::Needs(node));
        }
        if let Some(member) = self.member_address(operand, node) {
            return member;
        }
        let of = self.check(operand)?;
        if matches!(of.ty.shape(), Shape::Function) && self.is_of_class(operand) {
            return Err(Stop::Needs(node));
        }
        self.address_of_place(of, node)
    }

    pub(super) fn address_of_place<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let of = self.referent(of);
        if !of.is_place() {
            return Err(Stop::Needs(node));
        }
        if of.bits().is_some() {
            return Err(wrong("cannot take the address of a bit-field", &node.span));
        }
        let ty = of.ty.clone().pointer();
        Ok(Expr::new(Kind::AddressOf(Box::new(of)), ty, node))
    }

    /// Checks `object[index]` of arrays and pointers.
    pub(super) fn index<'t>(
        &self,
        object: &'t Node,
        index: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        // `map[&1]`: the key need not be in memory.
        let is_key = matches!(inner(index).kind, tree::Kind::AddressOf(_));
        if matches!(index.kind, tree::Kind::Range(..)) || is_key && self.language == Language::Rust
        {
            return Err(Stop::Needs(node));
        }
        let (mut of, mut by) = (self.check(object)?, self.operand(self.check(index)?));
        let is_raw = |of: &Expr<'_>| matches!(of.ty.shape(), Shape::Pointer(_, PointerKind::Raw));
        // `1[p]` is `p[1]` (ISO C §6.5.3.2).
        if self.language != Language::Rust && is_raw(&by) && scalar(&of.ty).is_some() {
            std::mem::swap(&mut of, &mut by);
        }
        for _ in 0..DEREFERENCES {
            of = match of.ty.shape() {
                Shape::Pointer(to, PointerKind::Reference | PointerKind::Owned) => target(of, to),
                Shape::Array(array) => {
                    let by = self.position(by, node)?;
                    let element = array.element.clone();
                    let kind = Kind::Element(Box::new(of), Box::new(by), array);
                    return Ok(Expr::new(kind, element, node));
                }
                Shape::Pointer(to, PointerKind::Raw) => {
                    let Some(size) = to.size() else {
                        return Err(Stop::Needs(node));
                    };
                    let by = self.position(by, node)?;
                    let ty = to.clone().pointer();
                    let kind = Kind::Offset(Binary::Add, Box::new(of), Box::new(by), size);
                    return Ok(target(Expr::new(kind, ty, node), to));
                }
                _ => return Err(Stop::Needs(node)),
            };
        }
        Err(Stop::Needs(node))
    }

    /// Returns an index as a signed number of 64 bits.
    fn position<'t>(&self, by: Expr<'t>, node: &'t Node) -> Checked<'t> {
        let is_number = c::is_arithmetic(&by.ty) && !c::is_float(&by.ty);
        match (is_number, scalar(&by.ty)) {
            (true, Some(_)) => Ok(converted(by, &c::named("long"))),
            (false, Some(_)) if c::is_float(&by.ty) => {
                Err(wrong(super::messages::FLOAT_AS_INDEX, &by.span))
            }
            _ => Err(Stop::Needs(node)),
        }
    }

    /// Returns an expression itself, or the target if it is a C++ reference.
    pub(super) fn referent<'t>(&self, of: Expr<'t>) -> Expr<'t> {
        match of.ty.shape() {
            Shape::Pointer(to, PointerKind::Reference) => target(of, to),
            _ => of,
        }
    }
}

/// Returns the target of a pointer or reference.
pub(super) fn target<'t>(of: Expr<'t>, to: Ty) -> Expr<'t> {
    let span = of.span.clone();
    Expr {
        kind: Kind::Deref(Box::new(of)),
        ty: to,
        span,
        open: false,
    }
}

/// Returns the object of a smart pointer or wrapper.
fn pointee<'t>(of: Expr<'t>, node: &'t Node) -> Option<Expr<'t>> {
    match library::contents(&of.ty)? {
        Contents::Pointee(to) | Contents::Wrapped(to) => {
            Some(Expr::new(Kind::Pointee(Box::new(of)), to, node))
        }
        _ => None,
    }
}
