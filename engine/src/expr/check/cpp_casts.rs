//! What the named casts of C++ may convert (ISO C++ [expr.static.cast], [expr.const.cast],
//! [expr.reinterpret.cast], [expr.dynamic.cast]).

use super::super::ir::Expr;
use super::super::tree::{Cast, Node};
use super::super::types::{Layer, TypeName};
use super::cpp_types::has_virtual_functions;
use super::{Checker, Stop, c, cpp_objects, scalar, wrong};
use crate::expr::exact;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

impl Checker<'_> {
    /// Checks that a cast may convert a value to a type, which has a name.
    pub(super) fn may_be_cast<'t>(
        &self,
        cast: Cast,
        of: &Expr<'t>,
        ty: &Ty,
        name: &TypeName,
        node: &'t Node,
    ) -> Result<(), Stop<'t>> {
        let target = Target {
            layer: name.layers.last(),
            is_const: name.is_const,
        };
        self.may_be_converted(cast, of, ty, target, node)
    }

    /// Checks that `T(x)` may convert a value.
    pub(super) fn may_be_made<'t>(
        &self,
        of: &Expr<'t>,
        ty: &Ty,
        node: &'t Node,
    ) -> Result<(), Stop<'t>> {
        let target = Target {
            layer: None,
            is_const: false,
        };
        self.may_be_converted(Cast::Usual, of, ty, target, node)
    }

    fn may_be_converted<'t>(
        &self,
        cast: Cast,
        of: &Expr<'t>,
        ty: &Ty,
        target: Target<'_>,
        node: &'t Node,
    ) -> Result<(), Stop<'t>> {
        if self.language != Language::Cpp {
            return Ok(());
        }
        let of = self.referent(of.clone());
        let may_be = match target.layer {
            Some(Layer::Reference) => refers(cast, &of, ty, target.is_const),
            Some(Layer::RvalueReference) => refers(cast, &of, ty, true),
            _ if is_nullptr(ty) => of.is_zero() && cast != Cast::Const,
            _ => {
                let of = self.decayed(of.clone());
                converts(cast, &of.ty, ty, of.is_zero())
            }
        };
        if may_be {
            return Ok(());
        }
        let keyword = match cast {
            Cast::Usual => "a cast",
            Cast::Static => "`static_cast`",
            Cast::Const => "`const_cast`",
            Cast::Bits => "`reinterpret_cast`",
            Cast::Dynamic => "`dynamic_cast`",
        };
        let message = format!(
            "{keyword} does not convert `{}` to `{}`",
            of.ty.name(),
            ty.name()
        );
        Err(wrong(message, &node.span))
    }
}

/// The outermost part of a cast's type.
#[derive(Clone, Copy)]
struct Target<'a> {
    layer: Option<&'a Layer>,
    is_const: bool,
}

/// Returns whether a cast may refer to an object as one of another type.
fn refers(cast: Cast, of: &Expr<'_>, to: &Ty, is_bound: bool) -> bool {
    let from = &of.ty;
    let drops_const = exact::is_const_object(of) && !is_bound;
    if drops_const && matches!(cast, Cast::Static | Cast::Bits | Cast::Dynamic) {
        return false;
    }
    let Shape::Pointer(to, PointerKind::Reference) = to.shape() else {
        return true;
    };
    let is_class = |ty: &Ty| matches!(ty.shape(), Shape::Composite(_));
    match cast {
        Cast::Usual | Cast::Bits => true,
        Cast::Const => exact::same(from, &to),
        Cast::Dynamic => is_class(from) && is_class(&to),
        Cast::Static => {
            exact::same(from, &to)
                || are_related(from, &to)
                || is_bound && converts(cast, from, &to, false)
        }
    }
}

/// Returns whether a cast may convert a value, an array or function as its address.
fn converts(cast: Cast, from: &Ty, to: &Ty, is_zero: bool) -> bool {
    let target = |ty: &Ty| match ty.shape() {
        Shape::Pointer(of, PointerKind::Raw) => Some(of),
        _ => None,
    };
    let is_function = |ty: &Ty| matches!(ty.shape(), Shape::Function);
    let is_void = |ty: &Ty| matches!(ty.shape(), Shape::Void);
    let is_class = |ty: &Ty| matches!(ty.shape(), Shape::Composite(_));
    let is_integer = |ty: &Ty| c::is_arithmetic(ty) && !c::is_float(ty);
    let is_member = |ty: &Ty| ty.member_pointer().is_some();
    let is_enumeration = |ty: &Ty| matches!(ty.shape(), Shape::Enumeration(_));
    match (cast, target(from), target(to)) {
        (_, _, None) if is_void(to) => matches!(cast, Cast::Usual | Cast::Static),
        (Cast::Static | Cast::Bits | Cast::Dynamic, Some(_), Some(target))
            if exact::points_to_const(from)
                && !exact::points_to_const(to)
                && !is_function(&target) =>
        {
            false
        }
        _ if is_member(from) && c::is_arithmetic(to) => {
            cast != Cast::Bits && cast != Cast::Const && scalar(to) == scalar(&c::named("bool"))
        }
        (Cast::Usual | Cast::Static, None, Some(_)) if is_class(from) => {
            cpp_objects::may_convert(from, to)
        }
        (Cast::Usual, Some(_), None) => !is_enumeration(to),
        (Cast::Usual, None, None) if is_class(from) && is_enumeration(to) => {
            cpp_objects::may_convert(from, to)
        }
        (Cast::Usual, ..) => true,
        // The names of members need not be spelled alike.
        _ if is_member(from) && is_member(to) => cast != Cast::Dynamic,
        _ if is_member(from) || is_member(to) => cast == Cast::Static && is_zero,
        (Cast::Const, Some(from), Some(to)) => exact::same(&from, &to),
        (Cast::Const, ..) => false,
        (Cast::Dynamic, Some(from), Some(to)) => {
            let is_upward = exact::same(&from, &to) || exact::derives(&from, &to);
            is_class(&from)
                && (is_class(&to) || is_void(&to))
                && (is_upward || may_be_polymorphic(&from))
        }
        (Cast::Dynamic, ..) => false,
        (Cast::Static, Some(from), Some(to)) => match is_zero && is_void(&from) {
            true => true,
            false => {
                exact::same(&from, &to)
                    || are_related(&from, &to)
                    || (is_void(&from) || is_void(&to)) && !(is_function(&from) || is_function(&to))
            }
        },
        (Cast::Static, Some(_), None) => scalar(to) == scalar(&c::named("bool")) || is_class(to),
        (Cast::Static, None, Some(_)) => {
            let is_bool = scalar(from) == scalar(&c::named("bool"));
            is_zero && is_integer(from) && !is_bool
                || !c::is_arithmetic(from) && scalar(from).is_none()
        }
        (Cast::Static, None, None) => true,
        // `nullptr`
        (Cast::Bits, Some(from), Some(_)) => !(is_zero && is_void(&from)),
        (Cast::Bits, Some(_), None) => is_integer(to) && !is_enumeration(to),
        (Cast::Bits, None, Some(_)) => is_integer(from) || matches!(from.shape(), Shape::Text),
        (Cast::Bits, None, None) => {
            exact::same(from, to) && c::is_same(from, to) && is_integer(from)
                || matches!(from.shape(), Shape::Text) && is_integer(to)
        }
    }
}

/// Returns whether two classes are of one hierarchy.
fn are_related(a: &Ty, b: &Ty) -> bool {
    exact::same(a, b)
        || exact::derives(a, b)
        || exact::derives(b, a)
        || matches!(a.shape(), Shape::Composite(_)) && cpp_objects::may_convert(a, b)
}

/// Returns whether objects of a class may know their dynamic class.
fn may_be_polymorphic(ty: &Ty) -> bool {
    let Shape::Composite(class) = ty.shape() else {
        return false;
    };
    let is_declared = class.composite().is_none_or(|it| it.declaration);
    is_declared || has_virtual_functions(&class, 0)
}

/// Returns whether a type is that of `nullptr`.
pub(super) fn is_nullptr(ty: &Ty) -> bool {
    ty.strip().name().contains("nullptr")
}
