//! Methods of Rust's numbers and characters, and functions of the C library on numbers.

use super::checked::Number;
use super::code::{BoolExpr, Float, Int, Operation, Order, Width};
use super::lower::Compiler;
use super::numbers::{float_at, int_of, width};
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::check;
use crate::expr::ir::Expr;
use crate::inspect::value::scalar::{self, Scalar, ScalarKind};
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// Maximum exponent of a power: the code multiplies so often.
const MAX_EXPONENT: u64 = 8;

const SIGNED_WORD: Width = Width {
    size: 8,
    signed: true,
};

/// An integer with its width.
#[derive(Clone)]
struct Number64 {
    int: Int,
    width: Width,
}

fn constant(number: i64) -> Int {
    Int::Constant(number as u64)
}

fn word(operation: Operation, a: Int, b: Int) -> Int {
    Int::binary(operation, a, b, Width::WORD, false)
}

impl Number64 {
    fn operation(&self, operation: Operation, other: Int, fails: bool) -> Int {
        Int::binary(operation, self.int.clone(), other, self.width, fails)
    }

    fn compare(&self, order: Order, other: &Int) -> BoolExpr {
        BoolExpr::compare(order, self.width.signed, self.int.clone(), other.clone())
    }

    fn is_negative(&self) -> BoolExpr {
        match self.width.signed {
            true => self.compare(Order::Lt, &constant(0)),
            false => BoolExpr::Constant(false),
        }
    }

    fn negated(&self, fails: bool) -> Int {
        Int::binary(
            Operation::Sub,
            constant(0),
            self.int.clone(),
            self.width,
            fails,
        )
    }

    fn bits(&self) -> u64 {
        u64::from(self.width.size) * 8
    }

    /// Returns the bits, above which there are zeros.
    fn unsigned(&self) -> Int {
        let to = Width {
            signed: false,
            ..self.width
        };
        self.int.clone().converted(self.width, to)
    }

    /// Returns the distance to another number, as an unsigned one.
    fn distance(&self, other: &Int) -> Int {
        let to = Width {
            signed: false,
            ..self.width
        };
        let less = |a: &Int, b: &Int| Int::binary(Operation::Sub, a.clone(), b.clone(), to, false);
        let is_less = self.compare(Order::Lt, other);
        Int::choice(is_less, less(other, &self.int), less(&self.int, other))
    }

    fn power(&self, exponent: &Int, fails: bool) -> Result<Int, NotCompilable> {
        match exponent {
            Int::Constant(0) => Ok(Int::Constant(1)),
            Int::Constant(exponent @ 1..=MAX_EXPONENT) => {
                let mut product = self.int.clone();
                for _ in 1..*exponent {
                    product = self.operation(Operation::Mul, product, fails);
                }
                Ok(product)
            }
            Int::Constant(_) => Err(NotCompilable::new(format!(
                "an exponent above {MAX_EXPONENT}"
            ))),
            _ => Err("an exponent that is not constant".into()),
        }
    }

    /// Returns the result of an operation, and whether it is in range.
    fn checked(&self, operation: Operation, other: &Int) -> Result<(BoolExpr, Int), NotCompilable> {
        let result = self.operation(operation, other.clone(), false);
        if self.width.size < 8 {
            // 64 bits are enough for the exact result.
            let (a, b) = (self.int.clone(), other.clone());
            let exact = Int::binary(operation, a, b, SIGNED_WORD, false);
            let is_in_range = BoolExpr::compare(Order::Eq, false, exact, result.clone());
            return Ok((is_in_range, result));
        }
        let xor = |a: &Int, b: &Int| word(Operation::Xor, a.clone(), b.clone());
        let both = |a: Int, b: Int| {
            let signs = word(Operation::And, a, b);
            BoolExpr::compare(Order::Ge, true, signs, constant(0))
        };
        let is_in_range = match (operation, self.width.signed) {
            (Operation::Add, true) => both(xor(&self.int, &result), xor(other, &result)),
            (Operation::Sub, true) => both(xor(&self.int, other), xor(&self.int, &result)),
            (Operation::Add, false) => {
                BoolExpr::compare(Order::Ge, false, result.clone(), self.int.clone())
            }
            (Operation::Sub, false) => self.compare(Order::Ge, other),
            _ => return Err("the product of 64-bit integers, whose range is checked".into()),
        };
        Ok((is_in_range, result))
    }
}

/// Returns the number of bits that are 1.
fn count_ones(bits: &Int) -> Int {
    let masked = |a: Int, mask: u64| word(Operation::And, a, Int::Constant(mask));
    let shifted = |a: &Int, by: u64| word(Operation::Shr, a.clone(), Int::Constant(by));
    let odd = masked(shifted(bits, 1), 0x5555_5555_5555_5555);
    let pairs = word(Operation::Sub, bits.clone(), odd);
    let upper = masked(shifted(&pairs, 2), 0x3333_3333_3333_3333);
    let fours = word(Operation::Add, masked(pairs, 0x3333_3333_3333_3333), upper);
    let sums = word(Operation::Add, shifted(&fours, 4), fours);
    let bytes = masked(sums, 0x0f0f_0f0f_0f0f_0f0f);
    let all = word(Operation::Mul, bytes, Int::Constant(0x0101_0101_0101_0101));
    word(Operation::Shr, all, Int::Constant(56))
}

/// Returns the ranges of ASCII characters of a class; `None`: it is no such class.
fn ascii(name: &str) -> Option<&'static [(u8, u8)]> {
    Some(match name {
        "is_ascii" => &[(0, 127)],
        "is_ascii_digit" => &[(b'0', b'9')],
        "is_ascii_lowercase" => &[(b'a', b'z')],
        "is_ascii_uppercase" => &[(b'A', b'Z')],
        "is_ascii_alphabetic" => &[(b'a', b'z'), (b'A', b'Z')],
        "is_ascii_alphanumeric" => &[(b'0', b'9'), (b'a', b'z'), (b'A', b'Z')],
        "is_ascii_hexdigit" => &[(b'0', b'9'), (b'a', b'f'), (b'A', b'F')],
        "is_ascii_whitespace" => &[(b'\t', b'\n'), (b'\x0c', b'\r'), (b' ', b' ')],
        "is_ascii_punctuation" => &[(b'!', b'/'), (b':', b'@'), (b'[', b'`'), (b'{', b'~')],
        "is_ascii_graphic" => &[(b'!', b'~')],
        "is_ascii_control" => &[(0, 31), (127, 127)],
        _ => return None,
    })
}

/// Returns the magnitude of a float.
fn magnitude(float: &Float) -> Float {
    let is_less = BoolExpr::CompareFloats(Order::Lt, float.clone(), Float::Constant(0.0));
    let negated = Float::Negated(Box::new(float.clone()));
    let chosen = Float::Choice(
        Box::new(is_less),
        Box::new(negated),
        Box::new(float.clone()),
    );
    // The negative zero becomes the positive one.
    let zero = Box::new(Float::Constant(0.0));
    Float::Binary(Operation::Add, Box::new(chosen), zero)
}

impl Compiler<'_> {
    /// Compiles a method of a number or character of Rust; `None` for other methods and types.
    #[inline(never)]
    pub(super) fn of_scalar(
        &self,
        value: &RuntimeValue,
        (name, arguments): (&str, &[Expr<'_>]),
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let is_rust = self.language == Language::Rust;
        let Some(scalar) = check::scalar(&value.ty).filter(|_| is_rust) else {
            return Ok(None);
        };
        if !matches!(value.ty.shape(), Shape::Scalar(_)) {
            return Ok(None);
        }
        match scalar.kind {
            ScalarKind::Float(_) => self.of_float(value, scalar, name, arguments),
            ScalarKind::Signed
            | ScalarKind::Unsigned
            | ScalarKind::UnsignedChar
            | ScalarKind::SignedChar
            | ScalarKind::Utf => self.of_integer(value, scalar, (name, arguments), returns),
            _ => Ok(None),
        }
    }

    fn of_float(
        &self,
        value: &RuntimeValue,
        scalar: Scalar,
        name: &str,
        arguments: &[Expr<'_>],
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let (single, most) = match scalar.kind {
            ScalarKind::Float(scalar::Float::Single) => (true, f64::from(f32::MAX)),
            ScalarKind::Float(scalar::Float::Double) => (false, f64::MAX),
            _ => return Ok(None),
        };
        let float = match value.known() {
            Some(known) => {
                let bits = known.raw(&super::probe::NoProcess);
                let bits = bits.map_err(|error| NotCompilable::new(error.to_string()))?;
                Number::Constant(bits).float(scalar)?
            }
            None => float_at(value, single)?,
        };
        let within = |order: Order| {
            let most = Float::Constant(most);
            Some(self.boolean(BoolExpr::CompareFloats(order, magnitude(&float), most)))
        };
        Ok(match (name, arguments) {
            ("abs", []) => {
                let place = RuntimeLocation::Float(magnitude(&float));
                Some(RuntimeValue::new(value.ty.clone(), place))
            }
            ("is_nan", []) => {
                let differs = BoolExpr::CompareFloats(Order::Ne, float.clone(), float);
                Some(self.boolean(differs))
            }
            ("is_finite", []) => within(Order::Le),
            ("is_infinite", []) => within(Order::Gt),
            _ => None,
        })
    }

    fn of_integer(
        &self,
        value: &RuntimeValue,
        scalar: Scalar,
        (name, arguments): (&str, &[Expr<'_>]),
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let width = width(scalar)?;
        let int = match value.known() {
            Some(known) => {
                let bits = known.raw(&super::probe::NoProcess);
                let bits = bits.map_err(|error| NotCompilable::new(error.to_string()))?;
                Int::Constant(width.canonical(bits as u64))
            }
            None => int_of(value, width)?,
        };
        let it = Number64 { int, width };
        if let (Some(ranges), []) = (ascii(name), arguments) {
            let within = ranges.iter().map(|(from, to)| {
                let bound = |order, at: &u8| it.compare(order, &Int::Constant(u64::from(*at)));
                bound(Order::Ge, from).and(bound(Order::Le, to))
            });
            let truth = within.fold(BoolExpr::Constant(false), BoolExpr::or);
            return Ok(Some(self.boolean(truth)));
        }
        if scalar.kind == ScalarKind::Utf {
            return Ok(None);
        }
        if let Some(truth) = it.truth(name).filter(|_| arguments.is_empty()) {
            return Ok(Some(self.boolean(truth)));
        }
        if let ("checked_add" | "checked_sub" | "checked_mul", [other]) = (name, arguments) {
            let operation = match name {
                "checked_add" => Operation::Add,
                "checked_sub" => Operation::Sub,
                _ => Operation::Mul,
            };
            let (is_in_range, result) = it.checked(operation, &self.int_like(other, width)?)?;
            let place = RuntimeLocation::Int(result, width);
            let some = RuntimeValue::new(value.ty.clone(), place);
            return Ok(Some(RuntimeValue::choice(
                is_in_range,
                RuntimeValue::some(returns.clone(), some),
                RuntimeValue::none(returns.clone()),
            )));
        }
        let mut others = Vec::new();
        for argument in arguments {
            others.push(match name {
                // An exponent has a type of its own.
                "pow" | "wrapping_pow" => self.word(argument)?,
                _ => self.int_like(argument, width)?,
            });
        }
        let Some(result) = it.number(name, &others)? else {
            return Ok(None);
        };
        let like = check::scalar(returns).ok_or_else(|| NotCompilable::method("it"))?;
        let place = RuntimeLocation::Int(result, super::numbers::width(like)?);
        Ok(Some(RuntimeValue::new(returns.clone(), place)))
    }

    /// Lowers an argument that has the object's type, or is a count.
    fn int_like(&self, of: &Expr<'_>, width: Width) -> Result<Int, NotCompilable> {
        let value = self.lower(of)?.plain()?;
        let scalar =
            check::scalar(&value.ty).ok_or_else(|| NotCompilable::not_a_value(&value.ty))?;
        let have = super::numbers::width(scalar)?;
        let int = match value.known() {
            Some(known) => {
                let bits = known.raw(&super::probe::NoProcess);
                let bits = bits.map_err(|error| NotCompilable::new(error.to_string()))?;
                Int::Constant(have.canonical(bits as u64))
            }
            None => int_of(&value, have)?,
        };
        Ok(int.converted(have, width))
    }

    /// Lowers what `abs` or `fabs` of the C library makes of a number.
    pub(super) fn magnitude_of(&self, of: &Expr<'_>) -> Result<Number, NotCompilable> {
        let scalar = check::scalar(&of.ty).ok_or_else(|| NotCompilable::not_a_value(&of.ty))?;
        let number = self.number(of)?;
        if let ScalarKind::Float(_) = scalar.kind {
            return Ok(Number::Float(magnitude(&number.float(scalar)?)));
        }
        let (int, width) = number.int(scalar)?;
        let it = Number64 { int, width };
        // C does not define the magnitude of the least number.
        let negated = it.negated(true);
        let int = Int::choice(it.is_negative(), negated, it.int);
        Ok(Number::Int(int, width))
    }
}

impl Number64 {
    /// Returns what a method without arguments says of the number; `None`: it is another method.
    fn truth(&self, name: &str) -> Option<BoolExpr> {
        let zero = constant(0);
        Some(match name {
            "is_positive" => self.compare(Order::Gt, &zero),
            "is_negative" => self.is_negative(),
            "is_power_of_two" => {
                let below = self.operation(Operation::Sub, constant(1), false);
                let common = self.operation(Operation::And, below, false);
                let is_one = BoolExpr::compare(Order::Eq, false, common, constant(0));
                self.compare(Order::Ne, &zero).and(is_one)
            }
            _ => return None,
        })
    }

    /// Returns the number that a method makes of this one and its arguments; `None`: it is another method. The
    /// result is canonical for the type that the method returns.
    fn number(&self, name: &str, others: &[Int]) -> Result<Option<Int>, NotCompilable> {
        let chosen =
            |condition, yes: &Int, no: &Int| Int::choice(condition, yes.clone(), no.clone());
        let fails = !name.starts_with("wrapping_");
        Ok(Some(match (name, others) {
            ("clone", []) => self.int.clone(),
            ("abs" | "wrapping_abs", []) => {
                Int::choice(self.is_negative(), self.negated(fails), self.int.clone())
            }
            ("unsigned_abs", []) => self.distance(&constant(0)),
            ("abs_diff", [other]) => self.distance(other),
            ("wrapping_neg", []) => self.negated(false),
            ("signum", []) => {
                let is_positive = self.compare(Order::Gt, &constant(0));
                let other = chosen(is_positive, &constant(1), &constant(0));
                Int::choice(self.is_negative(), constant(-1), other)
            }
            ("min", [other]) => {
                let is_less = self.compare(Order::Gt, other);
                chosen(is_less, other, &self.int)
            }
            ("max", [other]) => {
                let is_less = self.compare(Order::Gt, other);
                chosen(is_less, &self.int, other)
            }
            ("clamp", [low, high]) => {
                let signed = self.width.signed;
                let wrong = BoolExpr::compare(Order::Gt, signed, low.clone(), high.clone());
                let above = chosen(self.compare(Order::Gt, high), high, &self.int);
                Int::choice(self.compare(Order::Lt, low), low.clone(), above).unless(wrong)
            }
            ("wrapping_add", [other]) => self.operation(Operation::Add, other.clone(), false),
            ("wrapping_sub", [other]) => self.operation(Operation::Sub, other.clone(), false),
            ("wrapping_mul", [other]) => self.operation(Operation::Mul, other.clone(), false),
            ("saturating_sub", [other]) if !self.width.signed => {
                let less = self.operation(Operation::Sub, other.clone(), false);
                Int::choice(self.compare(Order::Lt, other), constant(0), less)
            }
            ("saturating_add", [other]) if !self.width.signed => {
                let sum = self.operation(Operation::Add, other.clone(), false);
                let most = Int::Constant(self.width.canonical(u64::MAX));
                let overflows = BoolExpr::compare(Order::Lt, false, sum.clone(), self.int.clone());
                Int::choice(overflows, most, sum)
            }
            ("pow" | "wrapping_pow", [exponent]) => self.power(exponent, fails)?,
            ("count_ones", []) => count_ones(&self.unsigned()),
            ("count_zeros", []) => word(
                Operation::Sub,
                Int::Constant(self.bits()),
                count_ones(&self.unsigned()),
            ),
            ("trailing_zeros", []) => {
                let bits = self.unsigned();
                let all = Int::Constant(u64::MAX >> (64 - self.bits()));
                let below = word(Operation::Sub, bits.clone(), constant(1));
                let others = word(Operation::Xor, bits, all.clone());
                count_ones(&word(
                    Operation::And,
                    word(Operation::And, others, below),
                    all,
                ))
            }
            _ => return Ok(None),
        }))
    }
}
