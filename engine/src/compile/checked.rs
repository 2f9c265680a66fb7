//! Checked expressions as intermediate code. The types of all steps are known; no rule of a language
//! is left.

use super::code::{BoolExpr, Float, Int, Operation, Width};
use super::lower::{Compiler, within};
use super::numbers::{int_of, width};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::check;
use crate::expr::ir::{Expr, Kind, Overflow};
use crate::expr::messages;
use crate::expr::soft::{self, Undefined};
use crate::expr::tree::{Binary, Order};
use crate::inspect::value::location::Bytes;
use crate::inspect::value::path::Part;
use crate::inspect::value::scalar::{self, Scalar, ScalarKind};
use crate::inspect::value::types::ArrayTy;
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// A computed scalar.
#[derive(Clone, Debug)]
pub(super) enum Number {
    /// A constant: its bits.
    Constant(u128),
    /// An integer, canonical for the width.
    Int(Int, Width),
    /// A float of 32 or 64 bits.
    Float(Float),
}

fn too_wide() -> NotCompilable {
    "128-bit integers are not supported".into()
}

fn scalar_of(of: &Expr<'_>) -> Result<Scalar, NotCompilable> {
    check::scalar(&of.ty).ok_or_else(|| NotCompilable::new(messages::no_number(&of.ty)))
}

/// Returns whether a float has 32 bits.
fn is_single(scalar: Scalar) -> Result<bool, NotCompilable> {
    match scalar.kind {
        ScalarKind::Float(scalar::Float::Single) => Ok(true),
        ScalarKind::Float(scalar::Float::Double) => Ok(false),
        _ => Err("only floats of 32 and 64 bits are supported".into()),
    }
}

impl Number {
    /// Returns the number as an integer that is canonical for its type.
    pub(super) fn int(self, scalar: Scalar) -> Result<(Int, Width), NotCompilable> {
        let width = width(scalar)?;
        match self {
            Number::Constant(bits) => Ok((Int::Constant(width.canonical(bits as u64)), width)),
            Number::Int(int, width) => Ok((int, width)),
            Number::Float(_) => Err(messages::FLOAT_AS_INDEX.into()),
        }
    }

    /// Returns the number as a float.
    pub(super) fn float(self, scalar: Scalar) -> Result<Float, NotCompilable> {
        match (self, is_single(scalar)?) {
            (Number::Float(float), _) => Ok(float),
            (Number::Constant(bits), true) => {
                Ok(Float::Constant(f64::from(f32::from_bits(bits as u32))))
            }
            (Number::Constant(bits), false) => Ok(Float::Constant(f64::from_bits(bits as u64))),
            (Number::Int(..), _) => Err("a float in a general-purpose register".into()),
        }
    }

    /// Returns whether it counts as true.
    fn truth(self, scalar: Scalar) -> BoolExpr {
        match self {
            Number::Constant(bits) => BoolExpr::Constant(soft::is_true(scalar, bits)),
            Number::Int(int, _) => BoolExpr::of(int),
            Number::Float(float) => BoolExpr::CompareFloats(Order::Ne, float, Float::Constant(0.0)),
        }
    }
}

/// Returns whether an expression is lowered as a value, of which the number is read.
fn is_value(kind: &Kind<'_>) -> bool {
    matches!(
        kind,
        Kind::Known(..)
            | Kind::Variable(..)
            | Kind::Deref(_)
            | Kind::Part(..)
            | Kind::Pointee(_)
            | Kind::Element(..)
            | Kind::Choice(..)
            | Kind::Text(_)
            | Kind::Slice(..)
            | Kind::Retyped(_)
            | Kind::Cast(..)
            | Kind::Cpp(_)
            | Kind::Item(..)
            | Kind::Answer(..)
            | Kind::Made(_)
            | Kind::Match(_)
            | Kind::Search(_)
            | Kind::Iterate(_)
            | Kind::Bound(_)
            | Kind::Call(_)
    )
}

fn rounded(float: Float, scalar: Scalar) -> Result<Number, NotCompilable> {
    Ok(Number::Float(match is_single(scalar)? {
        true => Float::Single(Box::new(float)),
        false => float,
    }))
}

fn operation(operator: Binary) -> Option<Operation> {
    Some(match operator {
        Binary::Add => Operation::Add,
        Binary::Sub => Operation::Sub,
        Binary::Mul => Operation::Mul,
        Binary::Div => Operation::Div,
        Binary::Rem => Operation::Rem,
        Binary::BitAnd => Operation::And,
        Binary::BitOr => Operation::Or,
        Binary::BitXor => Operation::Xor,
        Binary::Shl => Operation::Shl,
        Binary::Shr => Operation::Shr,
        _ => return None,
    })
}

// Expressions are as deep as the parser permits. What the recursion passes through has a small frame on the stack: the
// steps are functions of their own.
impl Compiler<'_> {
    /// Lowers an expression to a value.
    pub(super) fn lower(&self, of: &Expr<'_>) -> Result<RuntimeValue, NotCompilable> {
        let value = self.lowered(of).map_err(|why| self.located(why, of))?;
        // A step may use an operand more than once; the limit prevents exponential growth.
        match value.place.parts() > super::MAX_PARTS {
            true => Err(messages::TOO_LONG.into()),
            false => Ok(value),
        }
    }

    fn lowered(&self, of: &Expr<'_>) -> Result<RuntimeValue, NotCompilable> {
        match &of.kind {
            Kind::Known(node, _) => self.known_value(node),
            Kind::Variable(storage, name, node, _) => self.variable_of(*storage, name, node),
            Kind::Late(node) => self.value(node),
            Kind::Deref(inner) => self.lower(inner)?.each(&|pointer| match &pointer.place {
                RuntimeLocation::Referent(target) => Ok((**target).clone()),
                _ if !matches!(pointer.ty.shape(), Shape::Pointer(..) | Shape::Scalar(_)) => {
                    Err(NotCompilable::special_layout(&pointer.ty))
                }
                _ => pointer.pointee(&of.ty),
            }),
            Kind::Part(object, part) => self.part_of(&self.lower(object)?, part),
            Kind::Pointee(pointer) => self.pointee_of(&self.lower(pointer)?),
            Kind::Made(made) => self.made(made, of),
            Kind::Match(matching) => self.matched(matching, of),
            Kind::Search(search) => self.searched(search, &of.ty),
            Kind::Iterate(_) => Err("a chain of iterators".into()),
            Kind::Bound(key) => self.bound_value(*key),
            Kind::Element(array, index, ty) => self.element_of(array, index, ty),
            Kind::Choice(condition, yes, no) => self.choice(condition, yes, no, of),
            Kind::Sequence(..) => Err("`,` discards a value".into()),
            Kind::Assign(_) => Err("it changes the program".into()),
            Kind::Cpp(form) => self.cpp(form, of),
            // A string literal of Rust.
            Kind::AddressOf(text) | Kind::Retyped(text) if matches!(text.kind, Kind::Text(_)) => {
                self.lower(text)
            }
            Kind::AddressOf(inner) if self.language == Language::Rust => self
                .lower(inner)?
                .each(&|it| Ok(it.referred(of.ty.clone()))),
            Kind::Retyped(inner) => {
                let value = self.lower(inner)?;
                Ok(RuntimeValue {
                    ty: of.ty.clone(),
                    ..value
                })
            }
            Kind::Slice(object, ends, inclusive) => self.slice_of(object, ends, *inclusive, of),
            Kind::Text(_) if !matches!(of.ty, Ty::Text) => Err("a literal of bytes".into()),
            Kind::Text(bytes) => Ok(RuntimeValue::new(
                Ty::Text,
                RuntimeLocation::Bytes(Bytes::new(bytes)),
            )),
            Kind::Cast(cast, inner) => self.cast_of(*cast, inner, of),
            Kind::Item(container, by) => self.item(container, by),
            Kind::Answer(method, operands) => self.answer(method, operands),
            Kind::Call(call) => self.c_library_call(call, of),
            _ => {
                let number = self.number(of)?;
                self.stored(number, of)
            }
        }
    }

    /// Returns a number as a value.
    #[inline(never)]
    pub(super) fn stored(
        &self,
        number: Number,
        of: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let place = match number {
            Number::Constant(bits) => {
                let size = of.ty.size().unwrap_or(8).min(16) as usize;
                RuntimeLocation::Bytes(Bytes::new(&bits.to_le_bytes()[..size]))
            }
            Number::Int(Int::Constant(bits), _) => {
                let size = of.ty.size().unwrap_or(8).min(8) as usize;
                RuntimeLocation::Bytes(Bytes::new(&bits.to_le_bytes()[..size]))
            }
            Number::Int(int, width) => RuntimeLocation::Int(int, width),
            Number::Float(float) => RuntimeLocation::Float(float),
        };
        Ok(RuntimeValue::new(of.ty.clone(), place))
    }

    /// Says which part of the expression does not compile.
    #[cold]
    #[inline(never)]
    fn located(&self, why: NotCompilable, of: &Expr<'_>) -> NotCompilable {
        why.in_part(self.part(&of.span))
    }

    /// Lowers an expression to a condition.
    pub(super) fn truth_of(&self, of: &Expr<'_>) -> Result<BoolExpr, NotCompilable> {
        let truth = self.truth_lowered(of);
        truth.map_err(|why| self.located(why, of))
    }

    fn truth_lowered(&self, of: &Expr<'_>) -> Result<BoolExpr, NotCompilable> {
        match &of.kind {
            Kind::Late(node) => self.truth(node),
            Kind::Not(inner) => Ok(self.truth_of(inner)?.not()),
            Kind::And(a, b) => match self.truth_of(a)? {
                // The interpreter does not evaluate the right operand either.
                BoolExpr::Constant(false) => Ok(BoolExpr::Constant(false)),
                a => Ok(a.and(self.truth_of(b)?)),
            },
            Kind::Or(a, b) => match self.truth_of(a)? {
                BoolExpr::Constant(true) => Ok(BoolExpr::Constant(true)),
                a => Ok(a.or(self.truth_of(b)?)),
            },
            Kind::Choice(condition, yes, no) => match self.truth_of(condition)? {
                BoolExpr::Constant(true) => self.truth_of(yes),
                BoolExpr::Constant(false) => self.truth_of(no),
                condition => Ok(condition.choice(self.truth_of(yes)?, self.truth_of(no)?)),
            },
            Kind::Compare(order, a, b) => self.compare(*order, a, b),
            Kind::CompareTexts(order, a, b) => {
                self.compare_texts(*order, &self.lower(a)?, &self.lower(b)?)
            }
            Kind::Match(matching) => self.matched_truth(matching),
            Kind::IsVariant(value, name) => self.variant_test(&self.lower(value)?, name),
            _ => match self.sign_of_comparison(Order::Ne, of)? {
                Some(truth) => Ok(truth),
                None => Ok(self.number(of)?.truth(scalar_of(of)?)),
            },
        }
    }

    /// Lowers a scalar expression.
    pub(super) fn number(&self, of: &Expr<'_>) -> Result<Number, NotCompilable> {
        let number = match &of.kind {
            Kind::Constant(bits) => return Ok(Number::Constant(*bits)),
            Kind::Convert(inner) => self.converted_number(inner, of),
            kind if is_value(kind) => self.number_of_value(of),
            _ => self.number_lowered(of),
        };
        number.map_err(|why| self.located(why, of))
    }

    #[inline(never)]
    fn converted_number(&self, inner: &Expr<'_>, of: &Expr<'_>) -> Result<Number, NotCompilable> {
        let from = scalar_of(inner)?;
        self.converted(self.number(inner)?, from, scalar_of(of)?)
    }

    #[inline(never)]
    fn number_of_value(&self, of: &Expr<'_>) -> Result<Number, NotCompilable> {
        let value = self.lower(of)?;
        self.loaded(&value, scalar_of(of)?)
    }

    #[inline(never)]
    fn number_lowered(&self, of: &Expr<'_>) -> Result<Number, NotCompilable> {
        match &of.kind {
            Kind::Elementwise(..) => Err("an operator on vectors".into()),
            Kind::Late(_) | Kind::Sequence(..) => Err("its type depends on its value".into()),
            Kind::Assign(_) => Err("it changes the program".into()),
            Kind::AddressOf(_) if self.language == Language::Rust => self.number_of_value(of),
            Kind::Decay(inner) | Kind::AddressOf(inner) => match self.lower(inner)? {
                RuntimeValue {
                    place: RuntimeLocation::Memory(address),
                    bits: None,
                    ..
                } => Ok(Number::Int(address.number(), Width::WORD)),
                _ => Err("a value that is not in memory has no address".into()),
            },
            Kind::Saturate(inner) => match self.number(inner)? {
                Number::Constant(bits) => {
                    let bits = soft::saturated(scalar_of(inner)?, bits, scalar_of(of)?);
                    Ok(Number::Constant(bits))
                }
                _ => Err("a float that saturates".into()),
            },
            Kind::Negate(inner, overflow) => self.negated(inner, *overflow, of),
            Kind::Complement(inner) => match self.number(inner)? {
                Number::Constant(bits) => {
                    Ok(Number::Constant(soft::complement(scalar_of(of)?, bits)))
                }
                number => {
                    let (int, width) = number.int(scalar_of(of)?)?;
                    let all = Int::Constant(width.canonical(u64::MAX));
                    Ok(Number::Int(
                        Int::binary(Operation::Xor, int, all, width, false),
                        width,
                    ))
                }
            },
            Kind::Arithmetic(operator, a, b, overflow) => {
                self.arithmetic(*operator, a, b, *overflow, of)
            }
            Kind::Shift(operator, a, by, _) => self.shift(*operator, a, by, of),
            Kind::Offset(operator, address, by, size) => self.moved(*operator, address, by, *size),
            Kind::Distance(a, b, size) => self.distance(a, b, *size),
            Kind::Compare(..)
            | Kind::CompareTexts(..)
            | Kind::IsVariant(..)
            | Kind::Not(_)
            | Kind::And(..)
            | Kind::Or(..) => match self.truth_of(of)? {
                BoolExpr::Constant(known) => Ok(Number::Constant(u128::from(known))),
                truth => {
                    let width = width(scalar_of(of)?)?;
                    Ok(Number::Int(Int::BoolExpr(Box::new(truth)), width))
                }
            },
            _ => self.number_of_value(of),
        }
    }

    /// Returns the number in a value of a scalar type.
    #[inline(never)]
    fn loaded(&self, value: &RuntimeValue, scalar: Scalar) -> Result<Number, NotCompilable> {
        if let Some(known) = value.known() {
            let bits = known.raw(&super::probe::NoProcess);
            let bits = bits.map_err(|error| NotCompilable::new(error.to_string()))?;
            return Ok(Number::Constant(bits));
        }
        match scalar.kind {
            ScalarKind::Float(_) => {
                let unsupported =
                    |_| NotCompilable::new(format!("unsupported float type `{}`", value.ty.name()));
                let single = is_single(scalar).map_err(unsupported)?;
                Ok(Number::Float(self.float_at(value, single)?))
            }
            ScalarKind::Complex(_) => Err("a complex number".into()),
            _ => {
                let width = width(scalar)?;
                Ok(Number::Int(int_of(value, width)?, width))
            }
        }
    }

    /// Returns a part of an object.
    #[inline(never)]
    pub(super) fn part_of(
        &self,
        object: &RuntimeValue,
        part: &Part,
    ) -> Result<RuntimeValue, NotCompilable> {
        if let Part::Variant(class, _) = part {
            let (_, holder) = part.variant().ok_or("an enum without variants")?;
            return self.contents_of(object, class, holder);
        }
        let found = probe::part(object, |target, object| part.of(target, object).map(Some))?;
        found.ok_or_else(|| "an object without this part".into())
    }

    /// Returns an element of an array; deopt if a checked index is out of range.
    #[inline(never)]
    fn element_of(
        &self,
        array: &Expr<'_>,
        index: &Expr<'_>,
        ty: &ArrayTy,
    ) -> Result<RuntimeValue, NotCompilable> {
        let (value, by) = (self.lower(array)?, self.word(index)?);
        let is_checked =
            self.language == Language::Rust || !matches!(value.place, RuntimeLocation::Memory(_));
        let by = match is_checked {
            true => within(by, Int::Constant(ty.count.unwrap_or(u64::MAX)))?,
            false => by,
        };
        let place = match (value.place, by) {
            (place, Int::Constant(by)) => place.offset(by.wrapping_mul(ty.stride))?,
            (RuntimeLocation::Memory(address), by) => {
                RuntimeLocation::Memory(address.indexed(by, ty.stride))
            }
            _ => return Err("an array that is not in memory".into()),
        };
        Ok(RuntimeValue::new(ty.element.clone(), place))
    }

    #[inline(never)]
    fn converted(&self, number: Number, from: Scalar, to: Scalar) -> Result<Number, NotCompilable> {
        let is_float = |it: Scalar| matches!(it.kind, ScalarKind::Float(_));
        Ok(match (number, is_float(from), is_float(to)) {
            (Number::Constant(bits), ..) => Number::Constant(soft::converted(from, bits, to)),
            (number, ..) if to.kind == ScalarKind::Bool => {
                let truth = Int::BoolExpr(Box::new(number.truth(from)));
                Number::Int(truth, width(to)?)
            }
            (number, true, true) => match (is_single(from)?, is_single(to)?) {
                (false, true) => rounded(number.float(from)?, to)?,
                _ => Number::Float(number.float(from)?),
            },
            (number, true, false) => {
                let width = width(to)?;
                Number::Int(Int::Float(Box::new(number.float(from)?), width), width)
            }
            (number, false, true) => {
                let (int, width) = number.int(from)?;
                rounded(Float::Int(Box::new(int), width), to)?
            }
            (number, false, false) => {
                let (int, have) = number.int(from)?;
                let width = width(to)?;
                Number::Int(int.converted(have, width), width)
            }
        })
    }

    #[inline(never)]
    fn negated(
        &self,
        inner: &Expr<'_>,
        overflow: Overflow,
        of: &Expr<'_>,
    ) -> Result<Number, NotCompilable> {
        let (scalar, fails) = (scalar_of(of)?, overflow == Overflow::Fails);
        match self.number(inner)? {
            Number::Constant(bits) => match soft::negated(scalar, bits) {
                (_, false) if fails => Err("the negation overflows".into()),
                (bits, _) => Ok(Number::Constant(bits)),
            },
            Number::Float(float) => Ok(Number::Float(Float::Negated(Box::new(float)))),
            Number::Int(int, width) => {
                let zero = Int::Constant(0);
                let negative = Int::binary(Operation::Sub, zero, int, width, fails);
                Ok(Number::Int(negative, width))
            }
        }
    }

    #[inline(never)]
    fn arithmetic(
        &self,
        operator: Binary,
        a: &Expr<'_>,
        b: &Expr<'_>,
        overflow: Overflow,
        of: &Expr<'_>,
    ) -> Result<Number, NotCompilable> {
        let (scalar, fails) = (scalar_of(of)?, overflow == Overflow::Fails);
        let (a, b) = (self.number(a)?, self.number(b)?);
        if let (Number::Constant(a), Number::Constant(b)) = (&a, &b) {
            let traps = fails || matches!(operator, Binary::Div | Binary::Rem);
            return match soft::arithmetic(operator, scalar, *a, *b) {
                Err(Undefined::DivisionByZero) => Err("division by zero".into()),
                Err(Undefined::Float) => Err("the operator is not defined for floats".into()),
                Ok((_, false)) if traps => Err("the result overflows".into()),
                Ok((bits, _)) => Ok(Number::Constant(bits)),
            };
        }
        let operation = operation(operator).ok_or("an operator without code")?;
        if let ScalarKind::Float(_) = scalar.kind {
            if operator == Binary::Rem {
                return Err("the remainder of floats needs a call".into());
            }
            let (a, b) = (a.float(scalar)?, b.float(scalar)?);
            return rounded(Float::Binary(operation, Box::new(a), Box::new(b)), scalar);
        }
        let ((a, width), (b, _)) = (a.int(scalar)?, b.int(scalar)?);
        Ok(Number::Int(
            Int::binary(operation, a, b, width, fails),
            width,
        ))
    }

    #[inline(never)]
    fn shift(
        &self,
        operator: Binary,
        value: &Expr<'_>,
        by: &Expr<'_>,
        of: &Expr<'_>,
    ) -> Result<Number, NotCompilable> {
        let (scalar, count) = (scalar_of(of)?, scalar_of(by)?);
        let (value, by) = (self.number(value)?, self.number(by)?);
        if scalar.size == 16 || count.size == 16 {
            return Err(too_wide());
        }
        let bits = u128::from(scalar.size) * 8;
        if let Number::Constant(by) = by {
            let by = soft::int(count, by);
            if by.is_negative() {
                return Err(messages::NEGATIVE_SHIFT.into());
            }
            if by.bits >= bits {
                return Err("shift count is out of range".into());
            }
            if let Number::Constant(value) = value {
                let bits = soft::shifted(operator, scalar, value, by.bits);
                return Ok(Number::Constant(bits));
            }
        }
        let operation = operation(operator).ok_or("an operator without code")?;
        let ((value, width), (by, _)) = (value.int(scalar)?, by.int(count)?);
        Ok(Number::Int(
            Int::binary(operation, value, by, width, false),
            width,
        ))
    }

    pub(super) fn word(&self, of: &Expr<'_>) -> Result<Int, NotCompilable> {
        let scalar = scalar_of(of)?;
        Ok(self.number(of)?.int(scalar)?.0)
    }

    #[inline(never)]
    fn moved(
        &self,
        operator: Binary,
        address: &Expr<'_>,
        by: &Expr<'_>,
        size: u64,
    ) -> Result<Number, NotCompilable> {
        let (address, by) = (self.word(address)?, self.word(by)?);
        let by = match (by, size) {
            (Int::Constant(by), size) => Int::Constant(by.wrapping_mul(size)),
            (by, 1) => by,
            (by, size) => {
                let size = Int::Constant(size);
                Int::binary(Operation::Mul, by, size, Width::WORD, false)
            }
        };
        let (operation, by) = match (operator, by) {
            (Binary::Sub, Int::Constant(by)) => (Operation::Add, Int::Constant(by.wrapping_neg())),
            (Binary::Sub, by) => (Operation::Sub, by),
            (_, by) => (Operation::Add, by),
        };
        let moved = Int::binary(operation, address, by, Width::WORD, false);
        Ok(Number::Int(moved, Width::WORD))
    }

    #[inline(never)]
    fn distance(&self, a: &Expr<'_>, b: &Expr<'_>, size: u64) -> Result<Number, NotCompilable> {
        let signed = Width {
            size: 8,
            signed: true,
        };
        let (a, b) = (self.word(a)?, self.word(b)?);
        let distance = Int::binary(Operation::Sub, a, b, Width::WORD, false);
        let count = match size {
            1 => distance,
            size => {
                let size = Int::Constant(size);
                Int::binary(Operation::Div, distance, size, signed, false)
            }
        };
        Ok(Number::Int(count, signed))
    }

    #[inline(never)]
    fn compare(&self, order: Order, a: &Expr<'_>, b: &Expr<'_>) -> Result<BoolExpr, NotCompilable> {
        for (of, other, order) in [(a, b, order), (b, a, order.mirrored())] {
            if matches!(other.kind, Kind::Constant(0))
                && let Some(truth) = self.sign_of_comparison(order, of)?
            {
                return Ok(truth);
            }
        }
        let scalar = scalar_of(a)?;
        let (a, b) = (self.number(a)?, self.number(b)?);
        if let (Number::Constant(a), Number::Constant(b)) = (&a, &b) {
            let ordering = soft::compare(scalar, *a, *b);
            return Ok(BoolExpr::Constant(soft::holds(order, ordering)));
        }
        if let ScalarKind::Float(_) = scalar.kind {
            let (a, b) = (a.float(scalar)?, b.float(scalar)?);
            return Ok(BoolExpr::CompareFloats(order, a, b));
        }
        let ((a, width), (b, _)) = (a.int(scalar)?, b.int(scalar)?);
        Ok(BoolExpr::compare(order, width.signed, a, b))
    }

    #[inline(never)]
    fn choice(
        &self,
        condition: &Expr<'_>,
        yes: &Expr<'_>,
        no: &Expr<'_>,
        of: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let condition = match self.truth_of(condition)? {
            BoolExpr::Constant(true) => return self.lower(yes),
            BoolExpr::Constant(false) => return self.lower(no),
            condition => Box::new(condition),
        };
        let differ = || NotCompilable::from("the branches of `?:` have no common type");
        let scalar = check::scalar(&of.ty).ok_or_else(differ)?;
        let (yes, no) = (self.number(yes)?, self.number(no)?);
        let number = match scalar.kind {
            ScalarKind::Float(_) => {
                let (yes, no) = (yes.float(scalar)?, no.float(scalar)?);
                Number::Float(Float::Choice(condition, Box::new(yes), Box::new(no)))
            }
            _ => {
                let ((yes, width), (no, _)) = (yes.int(scalar)?, no.int(scalar)?);
                Number::Int(Int::Choice(condition, Box::new(yes), Box::new(no)), width)
            }
        };
        self.stored(number, of)
    }
}
