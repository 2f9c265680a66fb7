//! Arithmetic: C's promotions and usual conversions; in Rust the operands' own width, the larger
//! one if they differ.

use super::tree::{Binary, Unary};
use crate::inspect::value::Value;
use crate::inspect::value::scalar::{Float, Int, Number, Scalar, ScalarKind};
use dwarf::Language;
use std::cmp::Ordering;

/// A typed number.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// Its type.
    pub scalar: Scalar,
    /// Its value.
    pub number: Number,
    /// Whether it is a Rust literal without a suffix, which takes the type of the other operand.
    pub flexible: bool,
    /// Whether it is a literal with a suffix (`128i8`).
    pub literal: bool,
}

impl Operand {
    fn int(self) -> Option<Int> {
        match self.number {
            Number::Int(int) => Some(int),
            Number::Float(_) => None,
        }
    }

    fn float(self) -> f64 {
        match self.number {
            Number::Int(int) => int.to_f64(),
            Number::Float(value) => value,
        }
    }

    /// Returns whether it counts as true.
    pub fn is_true(self) -> bool {
        match self.number {
            Number::Int(int) => int.bits != 0,
            Number::Float(value) => value != 0.0,
        }
    }
}

/// Returns an integer literal without a suffix, in its type.
pub fn literal(value: u128, decimal: bool, language: Language) -> Value {
    // ISO C §6.4.4.1: literals that are not decimal may be unsigned.
    let hex = !decimal && language != Language::Rust;
    let (size, signed) = match value {
        _ if value <= i32::MAX as u128 => (4, true),
        _ if value <= u128::from(u32::MAX) && hex => (4, false),
        _ if value <= i64::MAX as u128 => (8, true),
        _ if value <= u128::from(u64::MAX) && language != Language::Rust => (8, false),
        _ if value <= i128::MAX as u128 => (16, true),
        _ => (16, false),
    };
    integer(Int::new(value, size, signed), language)
}

/// Returns an integer as a value of the language's type of its width.
pub fn integer(int: Int, language: Language) -> Value {
    let name = match (language, int.size, int.signed) {
        (Language::Rust, 1, true) => "i8",
        (Language::Rust, 1, false) => "u8",
        (Language::Rust, 2, true) => "i16",
        (Language::Rust, 2, false) => "u16",
        (Language::Rust, 4, true) => "i32",
        (Language::Rust, 4, false) => "u32",
        (Language::Rust, 8, true) => "i64",
        (Language::Rust, 8, false) => "u64",
        (Language::Rust, _, true) => "i128",
        (Language::Rust, _, false) => "u128",
        (_, 1 | 2 | 4, true) => "int",
        (_, 1 | 2 | 4, false) => "unsigned int",
        (_, 8, true) => "long",
        (_, 8, false) => "unsigned long",
        (_, _, true) => "__int128",
        (_, _, false) => "unsigned __int128",
    };
    let kind = if int.signed {
        ScalarKind::Signed
    } else {
        ScalarKind::Unsigned
    };
    Value::builtin(Scalar::new(kind, int.size), name, int.bits)
}

/// Returns a boolean as a value: an `int` in C.
pub fn boolean(value: bool, language: Language) -> Value {
    let bits = u128::from(value);
    match language {
        Language::C => Value::builtin(Scalar::new(ScalarKind::Signed, 4), "int", bits),
        _ => Value::builtin(Scalar::new(ScalarKind::Bool, 1), "bool", bits),
    }
}

/// Returns a length or size as a value.
pub fn size(bytes: u64, language: Language) -> Value {
    let name = match language {
        Language::Rust => "usize",
        _ => "unsigned long",
    };
    Value::builtin(
        Scalar::new(ScalarKind::Unsigned, 8),
        name,
        u128::from(bytes),
    )
}

/// Returns a float as a value; `single`: 32 bits.
pub fn float_value(value: f64, single: bool, language: Language) -> Value {
    let (format, size, name) = match (single, language) {
        (true, Language::Rust) => (Float::Single, 4, "f32"),
        (true, _) => (Float::Single, 4, "float"),
        (false, Language::Rust) => (Float::Double, 8, "f64"),
        (false, _) => (Float::Double, 8, "double"),
    };
    let bits = format.encode(value).unwrap_or(0);
    Value::builtin(Scalar::new(ScalarKind::Float(format), size), name, bits)
}

fn is_single(operand: Operand) -> bool {
    match operand.scalar.kind {
        ScalarKind::Float(format) => {
            matches!(format, Float::Single | Float::Half | Float::Brain)
        }
        _ => true,
    }
}

/// Applies C's integer promotion (ISO C §6.3.1.1).
fn promoted(int: Int, language: Language) -> Int {
    if language == Language::Rust || int.size >= 4 {
        return int;
    }
    Int::new(int.value() as u128, 4, true)
}

/// Converts two integers to their common type.
fn common(a: Int, b: Int, left: Operand, right: Operand, language: Language) -> (Int, Int) {
    let (size, signed) = if language != Language::Rust {
        match a.size.cmp(&b.size) {
            Ordering::Greater => (a.size, a.signed),
            Ordering::Less => (b.size, b.signed),
            Ordering::Equal => (a.size, a.signed && b.signed),
        }
    } else if left.flexible && !right.flexible && fits(a, b.size, b.signed) {
        (b.size, b.signed)
    } else if right.flexible && !left.flexible && fits(b, a.size, a.signed) {
        (a.size, a.signed)
    } else if a.signed == b.signed {
        (a.size.max(b.size), a.signed)
    } else {
        let (signed, unsigned) = if a.signed { (a, b) } else { (b, a) };
        if signed.size > unsigned.size {
            (signed.size, true)
        } else {
            (unsigned.size.saturating_mul(2).min(16), true)
        }
    };
    let convert = |int: Int| Int::new(int.value() as u128, size, signed);
    (convert(a), convert(b))
}

/// Checks that two operands have the same type, as Rust requires; a literal takes the other
/// operand's.
fn check_types(a: Int, b: Int, left: Operand, right: Operand) -> Result<(), String> {
    let name = |int| integer(int, Language::Rust).ty.name();
    let unfit = |literal: Int, other: Int| match fits(literal, other.size, other.signed) {
        true => Ok(()),
        false => Err(format!(
            "{} is out of range for `{}`",
            literal.value(),
            name(other)
        )),
    };
    match (left.flexible, right.flexible) {
        (true, true) => Ok(()),
        (true, false) => unfit(a, b),
        (false, true) => unfit(b, a),
        (false, false) if (a.size, a.signed) == (b.size, b.signed) => Ok(()),
        (false, false) => {
            // Suggest to cast the smaller operand, which loses nothing.
            let (side, to) = match a.size < b.size {
                true => ("left", b),
                false => ("right", a),
            };
            Err(format!(
                "mismatched types `{}` and `{}`; cast the {side} operand with `as {}`",
                name(a),
                name(b),
                name(to)
            ))
        }
    }
}

/// Checks that a result is in the range of its type, as Rust does.
fn check_overflow(operator: Binary, a: Int, b: Int) -> Result<(), String> {
    let (low, high) = match (a.signed, u32::from(a.size) * 8) {
        (true, 128) => (i128::MIN, i128::MAX as u128),
        (true, width) => (-(1i128 << (width - 1)), (1u128 << (width - 1)) - 1),
        (false, 128) => (0, u128::MAX),
        (false, width) => (0, (1u128 << width) - 1),
    };
    let good = if a.signed {
        let (x, y) = (a.value(), b.value());
        let exact = match operator {
            Binary::Add => x.checked_add(y),
            Binary::Sub => x.checked_sub(y),
            Binary::Mul => x.checked_mul(y),
            Binary::Div if y != 0 => x.checked_div(y),
            Binary::Rem if y != 0 => return check_overflow(Binary::Div, a, b),
            _ => return Ok(()),
        };
        exact.is_some_and(|exact| exact >= low && (exact < 0 || exact as u128 <= high))
    } else {
        let exact = match operator {
            Binary::Add => a.bits.checked_add(b.bits),
            Binary::Sub => a.bits.checked_sub(b.bits),
            Binary::Mul => a.bits.checked_mul(b.bits),
            _ => return Ok(()),
        };
        exact.is_some_and(|exact| exact <= high)
    };
    if good {
        return Ok(());
    }
    let name = integer(a, Language::Rust).ty.name();
    Err(format!(
        "`{}` overflows `{name}`; cast an operand to a wider type",
        operator.symbol()
    ))
}

/// Returns whether an integer's value fits a width and sign.
pub fn fits(int: Int, size: u8, signed: bool) -> bool {
    let same = Int::new(int.value() as u128, size, signed);
    same.value() == int.value() && same.is_negative() == int.is_negative()
        // Above i128::MAX values wrap: only unsigned 128-bit integers hold them.
        && (int.signed || int.bits <= i128::MAX as u128 || (size == 16 && !signed))
}

/// Evaluates `left operator right`.
///
/// # Errors
/// As text: division by zero, an invalid shift, bit operations on a float.
pub fn binary(
    operator: Binary,
    left: Operand,
    right: Operand,
    language: Language,
) -> Result<Value, String> {
    let (Some(a), Some(b)) = (left.int(), right.int()) else {
        return float_binary(operator, left, right, language);
    };
    if matches!(operator, Binary::Shl | Binary::Shr) {
        return shift(operator, left, right, language);
    }
    let (a, b) = (promoted(a, language), promoted(b, language));
    if language == Language::Rust && !(operator.is_comparison() && left.flexible != right.flexible)
    {
        check_types(a, b, left, right)?;
    }
    let (a, b) = common(a, b, left, right, language);
    if operator.is_comparison() {
        let ordering = if language == Language::Rust {
            compare(a, b)
        } else if a.signed {
            a.value().cmp(&b.value())
        } else {
            a.bits.cmp(&b.bits)
        };
        return Ok(boolean(holds(operator, Some(ordering)), language));
    }
    let both_bool = left.scalar.kind == ScalarKind::Bool && right.scalar.kind == ScalarKind::Bool;
    if both_bool
        && language != Language::C
        && let Binary::BitAnd | Binary::BitOr | Binary::BitXor = operator
    {
        let bits = match operator {
            Binary::BitAnd => a.bits & b.bits,
            Binary::BitOr => a.bits | b.bits,
            _ => a.bits ^ b.bits,
        };
        return Ok(boolean(bits != 0, language));
    }
    if language == Language::Rust {
        check_overflow(operator, a, b)?;
    }
    let bits = match operator {
        Binary::Add => a.bits.wrapping_add(b.bits),
        Binary::Sub => a.bits.wrapping_sub(b.bits),
        Binary::Mul => a.bits.wrapping_mul(b.bits),
        Binary::BitAnd => a.bits & b.bits,
        Binary::BitOr => a.bits | b.bits,
        Binary::BitXor => a.bits ^ b.bits,
        Binary::Div | Binary::Rem if b.bits == 0 => return Err("division by zero".into()),
        Binary::Div if a.signed => a.value().wrapping_div(b.value()) as u128,
        Binary::Div => a.bits / b.bits,
        Binary::Rem if a.signed => a.value().wrapping_rem(b.value()) as u128,
        _ => a.bits % b.bits,
    };
    Ok(integer(Int::new(bits, a.size, a.signed), language))
}

fn compare(a: Int, b: Int) -> Ordering {
    match (a.is_negative(), b.is_negative()) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (true, true) => a.value().cmp(&b.value()),
        (false, false) => a.bits.cmp(&b.bits),
    }
}

/// Returns whether a comparison holds for an ordering; `None`: an operand is NaN.
pub fn holds(operator: Binary, ordering: Option<Ordering>) -> bool {
    match operator {
        Binary::Eq => ordering == Some(Ordering::Equal),
        Binary::Ne => ordering != Some(Ordering::Equal),
        Binary::Lt => ordering == Some(Ordering::Less),
        Binary::Le => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Binary::Gt => ordering == Some(Ordering::Greater),
        Binary::Ge => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        _ => false,
    }
}

fn shift(
    operator: Binary,
    left: Operand,
    right: Operand,
    language: Language,
) -> Result<Value, String> {
    let (Some(value), Some(by)) = (left.int(), right.int()) else {
        return Err("cannot shift a float".into());
    };
    let value = promoted(value, language);
    if by.is_negative() {
        return Err(super::messages::NEGATIVE_SHIFT.into());
    }
    let width = u128::from(value.size) * 8;
    // C leaves shifts by the width or more undefined; here all bits are shifted out.
    if language == Language::Rust && by.bits >= width {
        return Err(format!(
            "shift count {} is out of range: width is {width}",
            by.bits
        ));
    }
    let by = by.bits.min(width);
    let bits = match operator {
        Binary::Shl => value.bits.checked_shl(by as u32).unwrap_or(0),
        _ if value.signed => (value.value() >> by.min(127)) as u128,
        _ => value.bits.checked_shr(by as u32).unwrap_or(0),
    };
    Ok(integer(Int::new(bits, value.size, value.signed), language))
}

fn float_binary(
    operator: Binary,
    left: Operand,
    right: Operand,
    language: Language,
) -> Result<Value, String> {
    let (a, b) = (left.float(), right.float());
    if operator.is_comparison() {
        return Ok(boolean(holds(operator, a.partial_cmp(&b)), language));
    }
    let value = match operator {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Rem => a % b,
        _ => {
            return Err(format!("`{}` is not defined for floats", operator.symbol()));
        }
    };
    Ok(float_value(
        value,
        is_single(left) && is_single(right),
        language,
    ))
}

/// Evaluates `operator operand`.
///
/// # Errors
/// As text: `~` of a float.
pub fn unary(operator: Unary, operand: Operand, language: Language) -> Result<Value, String> {
    let is_bool = operand.scalar.kind == ScalarKind::Bool;
    match (operator, operand.number) {
        (Unary::Not, Number::Int(int)) if language == Language::Rust && !is_bool => {
            Ok(integer(Int::new(!int.bits, int.size, int.signed), language))
        }
        (Unary::Not, _) => Ok(boolean(!operand.is_true(), language)),
        (Unary::Plus, Number::Int(int)) => Ok(integer(promoted(int, language), language)),
        (Unary::Minus, Number::Int(int)) => {
            let int = promoted(int, language);
            let is_least = int.signed && int.bits == 1 << (u32::from(int.size) * 8 - 1);
            // `-128i8` is parsed as minus and 128, which wraps around twice.
            if language == Language::Rust
                && (!int.signed && int.bits != 0 || is_least)
                && !operand.flexible
                && !operand.literal
            {
                let name = integer(int, language).ty.name();
                return Err(format!("`-` overflows `{name}`"));
            }
            let bits = int.bits.wrapping_neg();
            Ok(integer(Int::new(bits, int.size, int.signed), language))
        }
        (Unary::Complement, Number::Int(int)) => {
            let int = promoted(int, language);
            Ok(integer(Int::new(!int.bits, int.size, int.signed), language))
        }
        (Unary::Complement, Number::Float(_)) => Err("`~` is not defined for floats".into()),
        (Unary::Plus, Number::Float(value)) => Ok(float_value(value, is_single(operand), language)),
        (Unary::Minus, Number::Float(value)) => {
            Ok(float_value(-value, is_single(operand), language))
        }
    }
}
