//! SIMD vectors of C and C++ (`vector_size`, `__m128`): operators apply to each element, and a number stands for a
//! vector of it.

use super::evaluate::{Evaluator, error};
use super::ir::Expr;
use super::soft::{self, Undefined};
use super::tree::{Binary, Unary};
use super::{check, messages};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Scalar, bits_of, mask};
use crate::inspect::value::{Shape, Ty, Value};

/// Vectors of more elements are no operands.
const MOST: u64 = 1024;

/// An operator on elements.
#[derive(Clone, Copy, Debug)]
pub enum Each {
    /// One operand.
    Unary(Unary),
    /// Two operands.
    Binary(Binary),
}

/// The elements of a vector type.
pub(super) struct Elements {
    pub ty: Ty,
    pub scalar: Scalar,
    pub count: u64,
}

/// Returns the elements of a vector type; `None`: it is none, or has no operators.
pub(super) fn elements(ty: &Ty) -> Option<Elements> {
    let Shape::Array(array) = ty.shape() else {
        return None;
    };
    let scalar = check::scalar(&array.element)?;
    let count = array.count.filter(|count| (1..=MOST).contains(count))?;
    let is_packed = array.stride == u64::from(scalar.size) && scalar.size <= 16;
    (is_packed && ty.is_vector()).then(|| Elements {
        ty: array.element.clone(),
        scalar,
        count,
    })
}

/// The values of an operand.
enum Column {
    Vector(Bytes),
    Number(u128),
}

impl Column {
    /// Returns the element of an index, of so many bytes.
    fn at(&self, index: usize, size: usize) -> u128 {
        match self {
            Column::Vector(bytes) => {
                let from = index.saturating_mul(size);
                let bytes = bytes.get(from..from.saturating_add(size));
                bits_of(bytes.unwrap_or_default())
            }
            Column::Number(bits) => *bits,
        }
    }
}

impl Each {
    /// Applies the operator to elements.
    fn apply(self, scalar: Scalar, a: u128, b: u128) -> Result<u128, Undefined> {
        let truth = |holds: bool| if holds { mask(scalar.size) } else { 0 };
        Ok(match self {
            Each::Unary(Unary::Minus) => soft::negated(scalar, a).0,
            Each::Unary(Unary::Complement) => soft::complement(scalar, a),
            Each::Unary(Unary::Not) => truth(!soft::is_true(scalar, a)),
            Each::Unary(_) => a,
            Each::Binary(operator @ (Binary::Shl | Binary::Shr)) => {
                soft::shifted(operator, scalar, a, soft::int(scalar, b).bits)
            }
            Each::Binary(operator) => match operator.order() {
                Some(order) => truth(soft::holds(order, soft::compare(scalar, a, b))),
                None => soft::arithmetic(operator, scalar, a, b)?.0,
            },
        })
    }
}

impl Evaluator<'_> {
    /// Evaluates an operator for each element of its operands, of which one at least is a vector.
    pub(super) fn elementwise(
        &mut self,
        each: Each,
        operands: &[Expr<'_>],
        of: &Expr<'_>,
    ) -> Result<Value, Error> {
        let vector = operands.iter().find_map(|it| elements(&it.ty));
        let vector = vector.ok_or_else(|| error(messages::no_number(&of.ty), &of.span))?;
        let mut columns = Vec::new();
        for operand in operands {
            columns.push(match operand.ty.is_vector() {
                true => {
                    let value = self.interpret(operand)?;
                    Column::Vector(value.bytes(self.context.as_target())?)
                }
                false => Column::Number(self.bits(operand)?),
            });
        }
        let size = usize::from(vector.scalar.size);
        let mut bytes = Vec::with_capacity(size * vector.count as usize);
        for index in 0..vector.count as usize {
            let at = |nth: usize| columns.get(nth).map_or(0, |it| it.at(index, size));
            let bits = each.apply(vector.scalar, at(0), at(1));
            let bits = bits.map_err(|why| match why {
                Undefined::DivisionByZero => error("division by zero", &of.span),
                Undefined::Float => error("not defined for floats", &of.span),
            })?;
            bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        Ok(Value::of_bytes(of.ty.clone(), &bytes))
    }
}
