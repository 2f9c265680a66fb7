//! Constants of C++'s library that the standard fixes and debug info lacks where nothing uses them:
//! `std::numeric_limits<T>` of the arithmetic types, `std::string::npos`.

use super::super::ir::{Expr, Kind};
use super::super::tree::Node;
use super::{Checker, c, scalar};
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind, mask};
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// What the limits of a number's type depend on.
enum Limits {
    /// Of an integer: the bits of a value without its sign, and whether it has one.
    Integer(u32, bool),
    /// Of a floating-point type (IEEE 754): the stored bits of the mantissa, and the decimal digits.
    Binary(u32, u32),
}

impl Checker<'_> {
    /// Checks `std::string::npos`, `std::numeric_limits<T>::digits`; `None`: it is none of these.
    pub(super) fn constant_of_std<'t>(&self, path: &str, node: &'t Node) -> Option<Expr<'t>> {
        if self.language != Language::Cpp {
            return None;
        }
        if let Some(holds) = self.trait_of_std(path, node) {
            return Some(holds);
        }
        let (class, name) = path.rsplit_once("::")?;
        if name == "npos" {
            let kind = Kind::Constant(u128::from(u64::MAX));
            let ty = c::named("unsigned long").constant();
            return is_string(class).then(|| Expr::new(kind, ty, node));
        }
        let of = self.limited(class)?;
        let limits = Limits::of(scalar(&of)?)?;
        let truth = |value| Some((u128::from(value), self.truth_type()));
        let int = |value: u32| Some((u128::from(value), c::int()));
        let (bits, ty) = match (name, &limits) {
            ("is_specialized" | "is_bounded", _) => truth(true),
            ("is_signed", Limits::Integer(_, signed)) => truth(*signed),
            ("is_signed" | "has_infinity" | "has_quiet_NaN", Limits::Binary(..)) => truth(true),
            ("has_infinity" | "has_quiet_NaN", Limits::Integer(..)) => truth(false),
            ("is_integer" | "is_exact", _) => truth(matches!(limits, Limits::Integer(..))),
            ("radix", _) => int(2),
            ("digits", Limits::Integer(bits, _)) => int(*bits),
            ("digits", Limits::Binary(mantissa, _)) => int(mantissa + 1),
            // ⌊bits · log₁₀ 2⌋
            ("digits10", Limits::Integer(bits, _)) => int(bits * 30103 / 100_000),
            ("digits10", Limits::Binary(_, digits)) => int(*digits),
            _ => None,
        }?;
        Some(Expr::new(Kind::Constant(bits), ty.constant(), node))
    }

    /// Checks `std::numeric_limits<T>::max()`; `None`: it is no such call.
    pub(super) fn limit_of_std<'t>(&self, path: &str, node: &'t Node) -> Option<Expr<'t>> {
        if self.language != Language::Cpp {
            return None;
        }
        let (class, name) = path.rsplit_once("::")?;
        let ty = self.limited(class)?;
        let of = scalar(&ty)?;
        let bits = Limits::of(of)?.value(name, of)?;
        Some(Expr::new(Kind::Constant(bits), ty, node))
    }

    /// Returns the type whose limits a class has.
    fn limited(&self, class: &str) -> Option<Ty> {
        let of = class.strip_prefix("std::numeric_limits<")?;
        let ty = self.scope.find_type(of.strip_suffix('>')?.trim())?;
        matches!(ty.shape(), Shape::Scalar(_)).then_some(ty)
    }
}

impl Limits {
    /// Returns the limits of a type; `None`: its format has other ones.
    fn of(scalar: Scalar) -> Option<Limits> {
        let bits = u32::from(scalar.size) * 8;
        Some(match scalar.kind {
            ScalarKind::Bool => Limits::Integer(1, false),
            ScalarKind::Float(Float::Single) => Limits::Binary(23, 6),
            ScalarKind::Float(Float::Double) => Limits::Binary(52, 15),
            ScalarKind::Float(_) | ScalarKind::Complex(_) | ScalarKind::Address => return None,
            _ if scalar.is_signed() => Limits::Integer(bits - 1, true),
            _ => Limits::Integer(bits, false),
        })
    }

    /// Returns the bits of what a function of the limits returns.
    fn value(&self, function: &str, scalar: Scalar) -> Option<u128> {
        let all = mask(scalar.size);
        Some(match *self {
            Limits::Integer(bits, signed) => match function {
                "max" => mask_of(bits),
                "min" | "lowest" if signed => all ^ mask_of(bits),
                "min" | "lowest" | "epsilon" | "infinity" | "quiet_NaN" | "denorm_min" => 0,
                _ => return None,
            },
            Limits::Binary(mantissa, _) => {
                let exponent_bits = u32::from(scalar.size) * 8 - 1 - mantissa;
                let bias = (1u128 << (exponent_bits - 1)) - 1;
                let infinity = mask_of(exponent_bits) << mantissa;
                match function {
                    "max" => infinity - 1,
                    "lowest" => (infinity - 1) | (all ^ (all >> 1)),
                    "min" => 1 << mantissa,
                    "epsilon" => (bias - u128::from(mantissa)) << mantissa,
                    "infinity" => infinity,
                    "quiet_NaN" => infinity | 1 << (mantissa - 1),
                    "denorm_min" => 1,
                    _ => return None,
                }
            }
        })
    }
}

/// Returns whether a name is that of a string or a view of one.
fn is_string(class: &str) -> bool {
    let Some(name) = class.strip_prefix("std::") else {
        return false;
    };
    let name = name.split('<').next().unwrap_or(name);
    let name = name.strip_suffix("_view").unwrap_or(name);
    let is_alias = ["", "w", "u8", "u16", "u32"]
        .iter()
        .any(|it| name.strip_prefix(it) == Some("string"));
    is_alias || name == "basic_string"
}

/// Returns so many low bits.
fn mask_of(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits).unwrap_or(0)
}
