//! Binary operators, by the rules of [`crate::expr`].

use super::code::{Address, BoolExpr, Float, Int, Operation, Order, Width};
use super::lower::{Compiler, order};
use super::numbers::{Number, Operand, address_in, pointee, referent};
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::evaluate::inner;
use crate::expr::names::enumerator;
use crate::expr::tree::{Binary, Kind, Node};
use crate::expr::{arith, messages};
use crate::inspect::value::scalar::{self, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

/// Maximum length in bytes of a text to compare in compiled code.
const MAX_COMPARED_BYTES: usize = 64;

/// Applies C's integer promotion.
pub(super) fn promoted(width: Width, language: Language) -> Width {
    match language {
        Language::Rust => width,
        _ if width.size >= 4 => width,
        _ => Width {
            size: 4,
            signed: true,
        },
    }
}

/// Returns whether arithmetic with it is in 32 bits if the other operand allows it.
pub(super) fn is_single(operand: &Operand) -> bool {
    !matches!(
        operand.scalar.kind,
        ScalarKind::Float(format) if format != scalar::Float::Single
    )
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

impl Compiler<'_> {
    pub(super) fn binary(
        &self,
        operator: Binary,
        left: &Node,
        right: &Node,
    ) -> Result<RuntimeValue, NotCompilable> {
        let mut a = self.value_or_unknown(left)?;
        let mut b = self.value_or_unknown(right)?;
        match (&a, &b) {
            (Some(known), None) => {
                if let Some(value) = self.variant_test(operator, known, right)? {
                    return Ok(value);
                }
                b = named_by(known, right)?;
            }
            (None, Some(known)) => {
                if let Some(value) = self.variant_test(operator, known, left)? {
                    return Ok(value);
                }
                a = named_by(known, left)?;
            }
            _ => {}
        }
        let unknown = |node: &Node| NotCompilable::unknown_name(self.source_text(node));
        let a = a.ok_or_else(|| unknown(left))?;
        let b = b.ok_or_else(|| unknown(right))?;
        if let Some(order) = order(operator)
            && let Some(truth) = self.compare_texts(order, &a, &b)?
        {
            return Ok(self.boolean(truth));
        }
        if let Some(value) = self.pointers(operator, &a, &b)? {
            return Ok(value);
        }
        let (a, b) = (self.operand_of(&a, left)?, self.operand_of(&b, right)?);
        self.numbers(operator, a, b)
    }

    fn value_or_unknown(&self, node: &Node) -> Result<Option<RuntimeValue>, NotCompilable> {
        match &inner(node).kind {
            Kind::Name(name) => self.name(name),
            _ => self.value(node).map(Some),
        }
    }

    /// Compiles `option == None`.
    fn variant_test(
        &self,
        operator: Binary,
        value: &RuntimeValue,
        name: &Node,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let (Kind::Name(name), Binary::Eq | Binary::Ne) = (&inner(name).kind, operator) else {
            return Ok(None);
        };
        let mut value = value.clone();
        while let Shape::Pointer(of, PointerKind::Owned) = value.ty.shape() {
            value = pointee(&value, of)?;
        }
        let Shape::Composite(ty) = value.ty.shape() else {
            return Ok(None);
        };
        let name = crate::inspect::value::members::last_component(name);
        let Some(truth) = self.is_variant(&value, &ty, name)? else {
            return Ok(None);
        };
        Ok(Some(self.boolean(match operator {
            Binary::Eq => truth,
            _ => truth.not(),
        })))
    }

    fn numbers(
        &self,
        operator: Binary,
        a: Operand,
        b: Operand,
    ) -> Result<RuntimeValue, NotCompilable> {
        if let (Some(a), Some(b)) = (&a.known, &b.known) {
            let value = arith::binary(operator, *a, *b, self.language).map_err(NotCompilable)?;
            return RuntimeValue::constant(value);
        }
        let (Number::Int(x, x_width), Number::Int(y, y_width)) = (&a.number, &b.number) else {
            return self.floats(operator, a, b);
        };
        if let Binary::Shl | Binary::Shr = operator {
            return self.shift(
                operator,
                (x.clone(), *x_width, &a),
                (y.clone(), *y_width, &b),
            );
        }
        let wide = |it: &Operand| it.scalar.size == 16;
        if wide(&a) || wide(&b) {
            return self.with_wide(operator, a, b);
        }
        let (x_width, y_width) = (
            promoted(*x_width, self.language),
            promoted(*y_width, self.language),
        );
        let Some(width) = self.common((x_width, &a), (y_width, &b), operator)? else {
            return self.with_wide(operator, a, b);
        };
        let (x, y) = (
            x.clone().converted(x_width, width),
            y.clone().converted(y_width, width),
        );
        if let Some(order) = order(operator) {
            return Ok(self.boolean(BoolExpr::compare(order, width.signed, x, y)));
        }
        let both_bool = [&a, &b].iter().all(|it| it.scalar.kind == ScalarKind::Bool);
        let operation = operation(operator).ok_or("an operator without code")?;
        let rust = self.language == Language::Rust;
        if both_bool
            && self.language != Language::C
            && let Binary::BitAnd | Binary::BitOr | Binary::BitXor = operator
        {
            return Ok(self.boolean(BoolExpr::of(Int::binary(operation, x, y, width, false))));
        }
        Ok(self.integer(Int::binary(operation, x, y, width, rust), width))
    }

    /// Returns the common width of both operands; `None` if it exceeds 64 bits.
    fn common(
        &self,
        (a, left): (Width, &Operand),
        (b, right): (Width, &Operand),
        operator: Binary,
    ) -> Result<Option<Width>, NotCompilable> {
        if self.language != Language::Rust {
            return Ok(Some(match a.size.cmp(&b.size) {
                std::cmp::Ordering::Greater => a,
                std::cmp::Ordering::Less => b,
                std::cmp::Ordering::Equal => Width {
                    size: a.size,
                    signed: a.signed && b.signed,
                },
            }));
        }
        let flexible = |it: &Operand| it.known.filter(|known| known.flexible);
        let fits = |known: arith::Operand, to: Width| match known.number {
            scalar::Number::Int(int) => arith::fits(int, to.size, to.signed),
            scalar::Number::Float(_) => false,
        };
        match (flexible(left), flexible(right)) {
            (Some(known), None) if fits(known, b) => Ok(Some(b)),
            (None, Some(known)) if fits(known, a) => Ok(Some(a)),
            (Some(_), None) | (None, Some(_)) if operator.is_comparison() => Ok(None),
            (Some(_), None) | (None, Some(_)) => {
                Err("the number is out of range for the type".into())
            }
            _ if a == b => Ok(Some(a)),
            _ => Err("mismatched types".into()),
        }
    }

    /// Compiles a comparison with a number that the other operand's type cannot hold: the result is
    /// constant once the other operand is readable.
    fn with_wide(
        &self,
        operator: Binary,
        a: Operand,
        b: Operand,
    ) -> Result<RuntimeValue, NotCompilable> {
        let too_wide = || NotCompilable::from("128-bit integers are not supported");
        let mut order = order(operator).ok_or_else(too_wide)?;
        let (known, other) = match (a.known, b.known) {
            (Some(known), None) => {
                order = order.mirrored();
                (known, b)
            }
            (None, Some(known)) => (known, a),
            _ => return Err(too_wide()),
        };
        let (scalar::Number::Int(number), Number::Int(int, width)) = (known.number, other.number)
        else {
            return Err(too_wide());
        };
        // Unsigned 128-bit numbers may wrap in a comparison.
        let wraps = number.size == 16 && !number.signed;
        let is_wide = other.scalar.size == 16 || wraps;
        if is_wide || arith::fits(number, width.size, width.signed) {
            return Err(too_wide());
        }
        // The number is beyond one end of the other operand's range.
        let ordering = match number.is_negative() {
            true => std::cmp::Ordering::Greater,
            false => std::cmp::Ordering::Less,
        };
        let holds = order.of(ordering);
        // Read the operand anyway, as the interpreter does.
        let any = BoolExpr::compare(Order::Eq, false, int.clone(), int);
        Ok(self.boolean(match holds {
            true => any,
            false => any.not(),
        }))
    }

    fn shift(
        &self,
        operator: Binary,
        (value, width, left): (Int, Width, &Operand),
        (by, by_width, right): (Int, Width, &Operand),
    ) -> Result<RuntimeValue, NotCompilable> {
        if left.scalar.size == 16 || right.scalar.size == 16 {
            return Err("128-bit integers are not supported".into());
        }
        let width = promoted(width, self.language);
        let operation = match operator {
            Binary::Shl => Operation::Shl,
            _ => Operation::Shr,
        };
        let bits = u64::from(width.size) * 8;
        if let Int::Constant(by) = by {
            if by_width.signed && (by as i64) < 0 {
                return Err(messages::NEGATIVE_SHIFT.into());
            }
            if by >= bits {
                return Err("shift count is out of range".into());
            }
        }
        Ok(self.integer(Int::binary(operation, value, by, width, false), width))
    }

    fn floats(
        &self,
        operator: Binary,
        a: Operand,
        b: Operand,
    ) -> Result<RuntimeValue, NotCompilable> {
        if [&a, &b].iter().any(|it| it.scalar.size == 16) {
            return Err("128-bit integers are not supported".into());
        }
        let single = is_single(&a) && is_single(&b);
        let (a, b) = (a.float(), b.float());
        if let Some(order) = order(operator) {
            return Ok(self.boolean(BoolExpr::CompareFloats(order, a, b)));
        }
        let operation = match operator {
            Binary::Add => Operation::Add,
            Binary::Sub => Operation::Sub,
            Binary::Mul => Operation::Mul,
            Binary::Div => Operation::Div,
            Binary::Rem => return Err("the remainder of floats needs a call".into()),
            _ => return Err("the operator is not defined for floats".into()),
        };
        let float = Float::Binary(operation, Box::new(a), Box::new(b));
        Ok(self.float(float, single))
    }

    /// Compiles arithmetic and comparison of addresses; `None` if no operand is an address.
    fn pointers(
        &self,
        operator: Binary,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let (left, right) = (pointer(a)?, pointer(b)?);
        if left.is_none() && right.is_none() {
            return Ok(None);
        }
        if let Some(order) = order(operator) {
            let address =
                |side: Option<(Int, Ty)>, value: &RuntimeValue| match (side, value.ty.shape()) {
                    (Some((address, _)), _) => Ok(address),
                    (None, Shape::Pointer(..)) => address_in(value),
                    (None, _) => {
                        let operand = self.operand(value)?;
                        match operand.number {
                            _ if operand.scalar.size > 8 => Err(messages::ADDRESS_RANGE.into()),
                            Number::Int(int, _) => Ok(int),
                            Number::Float(_) => {
                                Err(NotCompilable::from(messages::FLOAT_AS_ADDRESS))
                            }
                        }
                    }
                };
            let (left, right) = (address(left, a)?, address(right, b)?);
            return Ok(Some(
                self.boolean(BoolExpr::compare(order, false, left, right)),
            ));
        }
        let size = |of: &Ty| of.size().unwrap_or(1).max(1);
        let moved = |address: Int, of: Ty, by: &RuntimeValue, back: bool| {
            let operand = self.operand(by)?;
            let width = Width::WORD;
            let by = match operand.number {
                _ if operand.scalar.size > 8 => return Err("the index has 128 bits".into()),
                Number::Int(Int::Constant(by), _) => Int::Constant(by),
                Number::Int(..) => self.index_of(operand)?,
                Number::Float(_) => {
                    return Err(NotCompilable::from(messages::FLOAT_AS_INDEX));
                }
            };
            let address = match by {
                Int::Constant(by) => {
                    let by = by.wrapping_mul(size(&of));
                    let by = if back { by.wrapping_neg() } else { by };
                    Int::binary(Operation::Add, address, Int::Constant(by), width, false)
                }
                by => {
                    let operation = if back { Operation::Sub } else { Operation::Add };
                    let stride = Int::Constant(size(&of));
                    let by = match size(&of) {
                        1 => by,
                        _ => Int::binary(Operation::Mul, by, stride, width, false),
                    };
                    Int::binary(operation, address, by, width, false)
                }
            };
            Ok(Some(RuntimeValue::new(
                of.pointer(),
                RuntimeLocation::Int(address, width),
            )))
        };
        match (operator, left, right) {
            (Binary::Sub, Some((x, of)), Some((y, _))) => {
                let distance = Int::binary(Operation::Sub, x, y, Width::WORD, false);
                let signed = Width {
                    size: 8,
                    signed: true,
                };
                let count = match size(&of) {
                    1 => distance,
                    size => {
                        let size = Int::Constant(size);
                        Int::binary(Operation::Div, distance, size, signed, false)
                    }
                };
                Ok(Some(self.integer(count, signed)))
            }
            (Binary::Add, Some((address, of)), None) => moved(address, of, b, false),
            (Binary::Sub, Some((address, of)), None) => moved(address, of, b, true),
            (Binary::Add, None, Some((address, of))) => moved(address, of, a, false),
            (Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr, ..)
            | (Binary::Rem, Some(_), None) => Ok(None),
            _ => Err(NotCompilable(format!(
                "`{}` is not defined for pointers",
                operator.symbol()
            ))),
        }
    }

    /// Like [`Compiler::index_number`], for an operand that is already read.
    fn index_of(&self, operand: Operand) -> Result<Int, NotCompilable> {
        match operand.number {
            Number::Int(int, Width::WORD) => {
                let negative = BoolExpr::compare(Order::Lt, true, int.clone(), Int::Constant(0));
                Ok(Int::Unless(Box::new(negative), Box::new(int)))
            }
            Number::Int(int, _) => Ok(int),
            Number::Float(_) => Err(messages::FLOAT_AS_INDEX.into()),
        }
    }

    /// Compares text with a literal; `None` if they are not compared as text.
    fn compare_texts(
        &self,
        order: Order,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<Option<BoolExpr>, NotCompilable> {
        let literal = |it: &RuntimeValue| match (&it.ty, &it.place) {
            (Ty::Text, RuntimeLocation::Bytes(bytes)) => Some(bytes.to_vec()),
            _ => None,
        };
        let (text, other) = match (literal(a), literal(b)) {
            (Some(a), Some(b)) => return Ok(Some(BoolExpr::Constant(order.of(a.cmp(&b))))),
            (Some(text), None) => (text, b),
            (None, Some(text)) => (text, a),
            (None, None) => {
                let may = |it: &RuntimeValue| {
                    matches!(
                        it.ty.shape(),
                        Shape::Composite(_)
                            | Shape::Pointer(_, PointerKind::Owned | PointerKind::Reference)
                    ) && may_be_text(&it.ty)
                };
                return match may(a) && may(b) {
                    true => Err("comparing two strings of the program is not supported".into()),
                    false => Ok(None),
                };
            }
        };
        if !matches!(order, Order::Eq | Order::Ne) {
            return Err("ordering of strings is not supported".into());
        }
        if text.len() > MAX_COMPARED_BYTES {
            return Err(NotCompilable(format!(
                "the string is longer than {MAX_COMPARED_BYTES} bytes"
            )));
        }
        let same = self.is_text(other, &text)?;
        Ok(Some(match order {
            Order::Eq => same,
            _ => same.not(),
        }))
    }

    /// Returns whether a value is this text.
    pub(super) fn is_text(
        &self,
        value: &RuntimeValue,
        text: &[u8],
    ) -> Result<BoolExpr, NotCompilable> {
        let with_end = || {
            let mut bytes = text.to_vec();
            bytes.push(0);
            bytes.into_boxed_slice()
        };
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Raw) if is_char(&of) => {
                if text.contains(&0) {
                    return Err("the string contains a NUL".into());
                }
                let address = Address::pointed(address_in(value)?);
                Ok(BoolExpr::Bytes(Box::new(address), with_end()))
            }
            Shape::Array(array) if is_char(&array.element) => {
                let RuntimeLocation::Memory(address) = &value.place else {
                    return Err("an array that is not in memory".into());
                };
                let count = array.count.ok_or("an array of unknown length")?;
                if text.contains(&0) {
                    return Err("the string contains a NUL".into());
                }
                let bytes = match (text.len() as u64).cmp(&count) {
                    std::cmp::Ordering::Less => with_end(),
                    std::cmp::Ordering::Equal => text.into(),
                    std::cmp::Ordering::Greater => return Ok(BoolExpr::Constant(false)),
                };
                Ok(BoolExpr::Bytes(Box::new(address.clone()), bytes))
            }
            Shape::Pointer(of, PointerKind::Owned | PointerKind::Reference) => {
                self.is_text(&pointee(value, of)?, text)
            }
            _ => match self.row(value)? {
                Some(row) if row.text == Some(1) => {
                    let len = Int::Constant(text.len() as u64);
                    let same_len = BoolExpr::compare(Order::Eq, false, row.len.clone(), len);
                    let same = match text {
                        [] => same_len,
                        _ => {
                            let address = Box::new(Address::pointed(row.at.clone()));
                            same_len.and(BoolExpr::Bytes(address, text.into()))
                        }
                    };
                    Ok(row.invalid.choice(BoolExpr::Deopt, same))
                }
                _ => Err(NotCompilable(format!(
                    "comparing a `{}` with a string is not supported",
                    value.ty.name()
                ))),
            },
        }
    }
}

fn is_char(ty: &Ty) -> bool {
    matches!(
        ty.shape(),
        Shape::Scalar(scalar::Scalar {
            kind: ScalarKind::SignedChar | ScalarKind::UnsignedChar,
            ..
        })
    )
}

fn may_be_text(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Pointer(of, PointerKind::Raw) => is_char(&of),
        Shape::Array(array) => is_char(&array.element),
        Shape::Pointer(of, _) => may_be_text(&of),
        Shape::Composite(of) => of.visualizer().is_some(),
        _ => false,
    }
}

/// Returns the address of an operand in pointer arithmetic, and the type of its target.
fn pointer(value: &RuntimeValue) -> Result<Option<(Int, Ty)>, NotCompilable> {
    let value = referent(value.clone())?;
    let address = |value: &RuntimeValue| match &value.place {
        RuntimeLocation::Memory(address) if value.bits.is_none() => Some(address.clone().number()),
        _ => None,
    };
    Ok(match value.ty.shape() {
        Shape::Pointer(of, PointerKind::Raw) => Some((address_in(&value)?, of)),
        Shape::Array(array) => address(&value).map(|it| (it, array.element.clone())),
        Shape::Function => address(&value).map(|it| (it, value.ty.clone())),
        _ => None,
    })
}

/// Returns an enumerator of the other operand's type.
fn named_by(known: &RuntimeValue, node: &Node) -> Result<Option<RuntimeValue>, NotCompilable> {
    let Kind::Name(name) = &inner(node).kind else {
        return Ok(None);
    };
    let ty = match known.ty.shape() {
        Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => of,
        _ => known.ty.clone(),
    };
    enumerator(&ty, name)
        .map(RuntimeValue::constant)
        .transpose()
}
