//! Traits of `<type_traits>` about the kind of a type: `std::is_same<T, U>::value`, `std::is_integral_v<T>`.
//! Debug info lacks traits that the program does not use.

use super::super::ir::{Expr, Kind};
use super::super::tree::Node;
use super::{Checker, c};
use crate::inspect::language::template::split_arguments;
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::{PointerKind, Shape, Ty};

impl Checker<'_> {
    /// Checks the value of a trait; `None`: it is none of these, or a type is unknown.
    pub(super) fn trait_of_std<'t>(&self, path: &str, node: &'t Node) -> Option<Expr<'t>> {
        let (name, arguments) = path.strip_prefix("std::")?.split_once('<')?;
        let (name, arguments) = match arguments.strip_suffix(">::value") {
            Some(arguments) => (name, arguments),
            None => (name.strip_suffix("_v")?, arguments.strip_suffix('>')?),
        };
        let mut types = Vec::new();
        for argument in split_arguments(arguments) {
            types.push(self.argument_of_trait(argument)?);
        }
        let holds = match (name, &*types) {
            ("is_same", [a, b]) => is_same(a, b),
            (_, [only]) => is(name, only)?,
            _ => return None,
        };
        let kind = Kind::Constant(u128::from(holds));
        Some(Expr::new(kind, self.truth_type().constant(), node))
    }

    /// Returns the type that an argument names: a name with or without `const`, and pointers.
    fn argument_of_trait(&self, argument: &str) -> Option<Ty> {
        let argument = argument.trim();
        if argument.contains("volatile") {
            return None;
        }
        if let Some(of) = argument.strip_suffix('*') {
            return Some(self.argument_of_trait(of)?.pointer());
        }
        let of = argument.strip_prefix("const ");
        match of.or_else(|| argument.strip_suffix(" const")) {
            Some(of) => Some(self.argument_of_trait(of)?.constant()),
            None => self.scope.find_type(argument),
        }
    }
}

/// Returns whether two types are one, with their qualifiers.
fn is_same(a: &Ty, b: &Ty) -> bool {
    let is_qualified_alike = a.is_const() == b.is_const() && a.is_volatile() == b.is_volatile();
    is_qualified_alike
        && match (a.shape(), b.shape()) {
            (Shape::Pointer(a, x), Shape::Pointer(b, y)) => x == y && is_same(&a, &b),
            _ => c::is_same(a, b),
        }
}

/// Returns whether a type has a trait (ISO C++ §21.3.5); `None`: no trait has that name.
fn is(name: &str, ty: &Ty) -> Option<bool> {
    let shape = ty.shape();
    let scalar = match &shape {
        Shape::Scalar(scalar) => Some(*scalar),
        _ => None,
    };
    let is_float = scalar.is_some_and(|it| matches!(it.kind, ScalarKind::Float(_)));
    let is_complex = scalar.is_some_and(|it| matches!(it.kind, ScalarKind::Complex(_)));
    let is_integral = scalar.is_some() && !is_float && !is_complex;
    Some(match name {
        "is_void" => matches!(shape, Shape::Void),
        "is_integral" => is_integral,
        "is_floating_point" => is_float,
        "is_arithmetic" => is_integral || is_float,
        "is_signed" => is_float || is_integral && scalar?.is_signed(),
        "is_unsigned" => is_integral && !scalar?.is_signed(),
        "is_pointer" => matches!(shape, Shape::Pointer(_, PointerKind::Raw)),
        "is_enum" => matches!(shape, Shape::Enumeration(_)),
        "is_const" => ty.is_const(),
        _ => return None,
    })
}
