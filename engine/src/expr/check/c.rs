//! Types of C and C++ arithmetic: promotions and the usual conversions (ISO C §6.3.1, ISO C++
//! [conv.prom], [expr.arith.conv]).

use super::super::ir::{Expr, Kind};
use super::scalar;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use crate::inspect::value::{Shape, Ty};
use dwarf::{CTypes, Language};

/// An arithmetic type after promotion; higher ones rank higher.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Rank {
    Int,
    Long,
    LongLong,
    Int128,
    Half,
    Single,
    Double,
    Extended,
    Quad,
}

/// Returns a built-in type by one of the names that this module uses.
pub(super) fn named(name: &'static str) -> Ty {
    use ScalarKind::{Bool, Signed, Unsigned};
    let (kind, size) = match name {
        "bool" => (Bool, 1),
        "long" | "long long" => (Signed, 8),
        "unsigned long" | "unsigned long long" => (Unsigned, 8),
        "unsigned int" => (Unsigned, 4),
        "__int128" => (Signed, 16),
        "unsigned __int128" => (Unsigned, 16),
        _ => (Signed, 4),
    };
    Ty::Builtin(Scalar::new(kind, size), name)
}

/// Returns `char`.
pub(super) fn char(types: CTypes) -> Ty {
    Ty::Builtin(Scalar::char(types), "char")
}

/// Returns `int`.
pub(super) fn int() -> Ty {
    named("int")
}

/// Returns the type of an integer literal without a suffix (ISO C §6.4.4.2).
pub(super) fn of_literal(value: u128, decimal: bool) -> Ty {
    named(match value {
        _ if value <= i32::MAX as u128 => "int",
        _ if value <= u128::from(u32::MAX) && !decimal => "unsigned int",
        _ if value <= i64::MAX as u128 => "long",
        _ if value <= u128::from(u64::MAX) => "unsigned long",
        _ if value <= i128::MAX as u128 => "__int128",
        _ => "unsigned __int128",
    })
}

/// Returns whether a type is a number, a character, a boolean or an enumeration.
pub(super) fn is_arithmetic(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Scalar(scalar) => !matches!(scalar.kind, ScalarKind::Complex(_)),
        Shape::Enumeration(_) => true,
        _ => false,
    }
}

/// Returns whether a type is one of the floating-point types.
pub(super) fn is_float(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Scalar(scalar) if matches!(scalar.kind, ScalarKind::Float(_)))
}

/// Returns whether a type is an `enum class`.
pub(in crate::expr) fn is_scoped(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Enumeration(of) => of.enumeration().is_some_and(|it| it.scoped),
        _ => false,
    }
}

/// Returns the type of an operand after the integer promotions.
pub(super) fn promoted(of: &Expr<'_>, types: CTypes) -> Ty {
    if is_int_enumerator(of) {
        return int();
    }
    let scalar = scalar(&of.ty);
    match (of.bits(), scalar) {
        (Some(bits), Some(scalar)) if scalar.is_integral() => match (bits, scalar.is_signed()) {
            (..32, _) | (32, true) => int(),
            (32, false) => named("unsigned int"),
            _ => promoted_type(&of.ty, types),
        },
        _ => promoted_type(&of.ty, types),
    }
}

/// Returns whether an expression is an enumerator that is an `int`, whatever type its enumeration has
/// (ISO C §6.4.4.4).
pub(super) fn is_int_enumerator(of: &Expr<'_>) -> bool {
    match (&of.kind, of.ty.shape()) {
        (Kind::Constant(bits), Shape::Enumeration(ty)) if ty.language() == Language::C => {
            let value = scalar(&of.ty).map(|scalar| crate::expr::soft::int(scalar, *bits).value());
            value.is_some_and(|value| i32::try_from(value).is_ok())
        }
        _ => false,
    }
}

/// Returns a type after the integer promotions. The program's machine says what `wchar_t` becomes.
pub(in crate::expr) fn promoted_type(ty: &Ty, types: CTypes) -> Ty {
    let Some(scalar) = scalar(ty) else {
        return ty.clone();
    };
    match (scalar.kind, scalar.size) {
        (ScalarKind::Float(_), _) => ty.strip(),
        _ if is_int_in_cpp(ty) => int(),
        (ScalarKind::Utf, 4) if !ty.is_wide_character() || !types.wchar_is_signed => {
            named("unsigned int")
        }
        (_, ..4) | (ScalarKind::Utf | ScalarKind::Bool, _) => int(),
        _ => canonical(ty),
    }
}

/// Returns whether an enumeration is promoted to `int` because of its values (ISO C++ [conv.prom]):
/// not if its declaration gives it the type `unsigned`, but the debug info does not tell that.
fn is_int_in_cpp(ty: &Ty) -> bool {
    let Shape::Enumeration(of) = ty.shape() else {
        return false;
    };
    let values = of.enumeration().map_or(&[][..], |it| &it.enumerators);
    of.language() == Language::Cpp
        && ty.size() == Some(4)
        && !values.is_empty()
        && values.iter().all(|it| i32::try_from(it.value).is_ok())
}

/// Returns the built-in integer type that an integer of 4 bytes or more is.
fn canonical(ty: &Ty) -> Ty {
    let signed = scalar(ty).is_some_and(|scalar| scalar.is_signed());
    let name = match (rank(ty), signed) {
        (Rank::Long, true) => "long",
        (Rank::Long, false) => "unsigned long",
        (Rank::LongLong, true) => "long long",
        (Rank::LongLong, false) => "unsigned long long",
        (Rank::Int128, true) => "__int128",
        (Rank::Int128, false) => "unsigned __int128",
        (_, true) => "int",
        (_, false) => "unsigned int",
    };
    named(name)
}

/// Returns the rank of a promoted type.
fn rank(ty: &Ty) -> Rank {
    let Some(scalar) = scalar(ty) else {
        return Rank::Int;
    };
    match (scalar.kind, scalar.size) {
        (ScalarKind::Float(Float::Half | Float::Brain), _) => Rank::Half,
        (ScalarKind::Float(Float::Single), _) => Rank::Single,
        (ScalarKind::Float(Float::Double), _) => Rank::Double,
        (ScalarKind::Float(Float::Extended), _) => Rank::Extended,
        (ScalarKind::Float(Float::Quad), _) => Rank::Quad,
        (_, 16) => Rank::Int128,
        // Only the name tells the two types of 8 bytes apart.
        (_, 8) => match underlying(ty).name().matches("long").count() {
            2 => Rank::LongLong,
            _ => Rank::Long,
        },
        _ => Rank::Int,
    }
}

/// Returns the integer type of an enumeration, and other types as they are, without typedefs.
fn underlying(ty: &Ty) -> Ty {
    match ty.shape() {
        Shape::Enumeration(of) => match of.enumeration().and_then(|it| it.underlying) {
            Some(id) => of.related(id).strip(),
            None => ty.strip(),
        },
        _ => ty.strip(),
    }
}

/// Returns whether two types are one: of the debug info, built in, or made by an expression.
pub(in crate::expr) fn is_same(a: &Ty, b: &Ty) -> bool {
    // `long` and `long long` are encoded alike.
    let is_built_in = |ty: &Ty| matches!(ty.strip(), Ty::Builtin(..));
    if a.same_as(b) && !(is_built_in(a) && is_built_in(b)) {
        return true;
    }
    match (a.shape(), b.shape()) {
        (Shape::Pointer(a, x), Shape::Pointer(b, y)) => x == y && is_same(&a, &b),
        (Shape::Scalar(x), Shape::Scalar(y)) if x == y => match x.kind {
            // `signed char` is not `char`; `wchar_t` is not `char32_t`.
            ScalarKind::SignedChar
            | ScalarKind::UnsignedChar
            | ScalarKind::PlainChar
            | ScalarKind::Utf => a.strip().name() == b.strip().name(),
            _ => rank(a) == rank(b),
        },
        (Shape::Array(a), Shape::Array(b)) => a.count == b.count && is_same(&a.element, &b.element),
        (Shape::Void, Shape::Void) => true,
        _ => false,
    }
}

/// Returns the type to which two promoted types are converted.
pub(super) fn common(a: &Ty, b: &Ty) -> Ty {
    let (x, y) = (rank(a), rank(b));
    if x >= Rank::Half || y >= Rank::Half {
        return match x >= y {
            true => a.strip(),
            false => b.strip(),
        };
    }
    let signed = |ty: &Ty| scalar(ty).is_some_and(|scalar| scalar.is_signed());
    let size = |ty: &Ty| scalar(ty).map_or(4, |scalar| scalar.size);
    let (a, b) = (canonical(a), canonical(b));
    match (signed(&a), signed(&b)) {
        (true, true) | (false, false) => match x >= y {
            true => a,
            false => b,
        },
        (true, false) => mixed(a, x, b, y, size),
        (false, true) => mixed(b, y, a, x, size),
    }
}

fn mixed(signed: Ty, s: Rank, unsigned: Ty, u: Rank, size: impl Fn(&Ty) -> u8) -> Ty {
    if u >= s {
        return unsigned;
    }
    if size(&signed) > size(&unsigned) {
        return signed;
    }
    named(match s {
        Rank::Long => "unsigned long",
        Rank::LongLong => "unsigned long long",
        Rank::Int128 => "unsigned __int128",
        _ => "unsigned int",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::Machine;

    #[test]
    fn wide_characters_are_promoted_as_the_program_has_them() {
        let wide = Ty::Builtin(Scalar::new(ScalarKind::Utf, 4), "wchar_t");
        let promoted = |machine: Machine| {
            let promoted = promoted_type(&wide, machine.c_types());
            promoted.name().to_string()
        };
        assert_eq!(promoted(Machine::X86_64), "int");
        assert_eq!(promoted(Machine::Aarch64), "unsigned int");
    }
}
