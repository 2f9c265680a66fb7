//! Binary operators: numbers, addresses, strings, and names that the other operand's type defines.

use super::convert;
use super::evaluate::{At, Evaluator, inner};
use super::tree::{Binary, Kind, Node, Unary};
use super::{arith, types};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::{Int, Number};
use crate::inspect::value::{PointerKind, Shape, Ty, Value, members};
use dwarf::LoadAddr;

impl Evaluator<'_> {
    pub(super) fn binary(
        &mut self,
        operator: Binary,
        left: &Node,
        right: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(value) = self.rust_comparison(operator, left, right, node)? {
            return Ok(value);
        }
        let a = self.evaluate_or_unknown(left)?;
        let b = self.evaluate_or_unknown(right)?;
        match (&a, &b) {
            (Some(known), None) => {
                if let Some(value) = self.variant_test(operator, known, right)? {
                    return Ok(value);
                }
            }
            (None, Some(known)) => {
                if let Some(value) = self.variant_test(operator, known, left)? {
                    return Ok(value);
                }
                if let Some(value) = self.cast_after_all(operator, left, known)? {
                    return Ok(value);
                }
            }
            _ => {}
        }
        let a = a.ok_or_else(|| self.no_variable(inner(left)))?;
        let b = b.ok_or_else(|| self.no_variable(inner(right)))?;
        self.binary_of(operator, (&a, left), (&b, right), node)
    }

    pub(super) fn binary_of(
        &mut self,
        operator: Binary,
        (a, left): (&Value, &Node),
        (b, right): (&Value, &Node),
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(value) = self.known_comparison(operator, a, b).at(node)? {
            return Ok(value);
        }
        if operator.is_comparison()
            && let Some(value) = self.compare_strings(operator, a, b).at(node)?
        {
            return Ok(value);
        }
        if let Some(value) = self.pointers(operator, a, b).at(node)? {
            return Ok(value);
        }
        if let Some(value) = self.invoke_operator(operator, a, b, node)? {
            return Ok(value);
        }
        let (a, b) = (self.operand_of(a, left)?, self.operand_of(b, right)?);
        arith::binary(operator, a, b, self.language).at(node)
    }

    /// Evaluates a node; `None` for an undefined bare name, which may be an enumerator of the other
    /// operand's type.
    fn evaluate_or_unknown(&mut self, node: &Node) -> Result<Option<Value>, Error> {
        let is_name = matches!(inner(node).kind, Kind::Name(_));
        match self.evaluate(node) {
            Err(Error::UnknownName { .. }) if is_name => Ok(None),
            value => value.map(Some),
        }
    }

    /// Evaluates `option == None`: whether a Rust enum has a variant.
    fn variant_test(
        &self,
        operator: Binary,
        value: &Value,
        name: &Node,
    ) -> Result<Option<Value>, Error> {
        let (Kind::Name(name), Binary::Eq | Binary::Ne) = (&inner(name).kind, operator) else {
            return Ok(None);
        };
        let target = self.context.as_target();
        if members::last_component(name) == "nullopt"
            && let Some(Contents::Optional(_)) =
                library::contents(&library::referent_type(&value.ty))
            && let Some(has_value) = library::truth(target, value)
        {
            let is = !has_value?;
            return Ok(Some(arith::boolean(
                is == (operator == Binary::Eq),
                self.language,
            )));
        }
        let mut value = value.clone();
        while let Shape::Pointer(of, PointerKind::Owned) = value.ty.shape() {
            value = value.pointee(target, of)?;
        }
        let name = members::last_component(name);
        let known = match value.ty.shape() {
            Shape::Composite(ty) => {
                let variants = ty.composite().and_then(|it| it.variants.as_ref());
                variants.is_some_and(|part| {
                    let mut members = part.variants.iter().filter_map(|it| it.members.first());
                    members.any(|member| member.name == name)
                })
            }
            Shape::Synthetic(ty) => ty.has_variant(name),
            _ => false,
        };
        if !known {
            return Ok(None);
        }
        let active = library::variant(target, &value)?;
        let is = active.is_some_and(|(active, _)| active == name);
        Ok(Some(arith::boolean(
            is == (operator == Binary::Eq),
            self.language,
        )))
    }

    /// Evaluates `(T) - x` once `T` has turned out to be a type.
    fn cast_after_all(
        &mut self,
        operator: Binary,
        left: &Node,
        operand: &Value,
    ) -> Result<Option<Value>, Error> {
        let (Kind::Paren(_), Kind::Name(name)) = (&left.kind, &inner(left).kind) else {
            return Ok(None);
        };
        let Some(ty) = types::named(self.context, name) else {
            return Ok(None);
        };
        let target = self.context.as_target();
        let value = match operator {
            Binary::Sub | Binary::Add => {
                let unary = if operator == Binary::Sub {
                    Unary::Minus
                } else {
                    Unary::Plus
                };
                let number = convert::operand(target, operand)?;
                arith::unary(unary, number, self.language).map_err(Error::eval)?
            }
            Binary::Mul => match operand.ty.shape() {
                Shape::Pointer(of, _) => operand.pointee(target, of)?,
                _ => return Ok(None),
            },
            Binary::BitAnd => match operand.address() {
                Some(addr) => Value::pointer_to(operand.ty.clone(), addr),
                None => return Ok(None),
            },
            _ => return Ok(None),
        };
        convert::cast(self.context, &ty, &value).map(Some)
    }

    fn compare_strings(
        &self,
        operator: Binary,
        a: &Value,
        b: &Value,
    ) -> Result<Option<Value>, Error> {
        let is_literal = |value: &Value| matches!(value.ty, Ty::Text);
        // Two `char *` are compared as addresses, as in C.
        let may_be_text = |value: &Value| {
            matches!(
                value.ty.shape(),
                Shape::Composite(_)
                    | Shape::Pointer(_, PointerKind::Owned | PointerKind::Reference)
            )
        };
        let any_literal = is_literal(a) || is_literal(b);
        if !(any_literal || may_be_text(a) && may_be_text(b)) {
            return Ok(None);
        }
        let target = self.context.as_target();
        match (convert::string(target, a)?, convert::string(target, b)?) {
            (Some(a), Some(b)) => Ok(Some(arith::boolean(
                arith::holds(operator, Some(a.cmp(&b))),
                self.language,
            ))),
            _ if any_literal => {
                let other = if is_literal(a) { b } else { a };
                Err(Error::eval(format!(
                    "cannot compare `{}` with a string",
                    other.ty.name()
                )))
            }
            _ => Ok(None),
        }
    }

    /// Evaluates arithmetic and comparison of addresses; `None` if no operand is an address.
    fn pointers(&self, operator: Binary, a: &Value, b: &Value) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let pointer = |value: &Value| -> Result<Option<(u64, Ty)>, Error> {
            let value = value.referent(target)?;
            match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Raw) => Ok(Some((value.raw(target)? as u64, of))),
                Shape::Array(array) => match value.address() {
                    Some(addr) => Ok(Some((addr.0, array.element.clone()))),
                    None => Ok(None),
                },
                Shape::Function => match value.address() {
                    Some(addr) => Ok(Some((addr.0, value.ty.clone()))),
                    None => Ok(None),
                },
                _ => Ok(None),
            }
        };
        let (left, right) = (pointer(a)?, pointer(b)?);
        if left.is_none() && right.is_none() {
            return Ok(None);
        }
        let address = |side: &Option<(u64, Ty)>, value: &Value| -> Result<u64, Error> {
            match (side, value.ty.shape()) {
                (Some((addr, _)), _) => Ok(*addr),
                // A Rust reference beside a raw pointer is taken as an address.
                (None, Shape::Pointer(..)) => Ok(value.raw(target)? as u64),
                (None, _) => match convert::operand(target, value)?.number {
                    Number::Int(int) => Ok(int.value() as u64),
                    Number::Float(_) => Err(Error::eval(super::messages::FLOAT_AS_ADDRESS)),
                },
            }
        };
        if operator.is_comparison() {
            let ordering = address(&left, a)?.cmp(&address(&right, b)?);
            let value = arith::holds(operator, Some(ordering));
            return Ok(Some(arith::boolean(value, self.language)));
        }
        let size = |of: &Ty| of.size().unwrap_or(1).max(1);
        match (operator, &left, &right) {
            (Binary::Sub, Some((x, of)), Some((y, _))) => {
                let distance = x.wrapping_sub(*y) as i64 / size(of) as i64;
                let int = Int::new(distance as u128, 8, true);
                Ok(Some(arith::integer(int, self.language)))
            }
            (Binary::Add | Binary::Sub, Some((addr, of)), None) => {
                let by = convert::index(convert::operand(target, b)?)?;
                let by = if operator == Binary::Sub {
                    by.wrapping_neg()
                } else {
                    by
                };
                let offset = (by as u64).wrapping_mul(size(of));
                Ok(Some(Value::pointer_to(
                    of.clone(),
                    LoadAddr(*addr) + offset,
                )))
            }
            (Binary::Add, None, Some((addr, of))) => {
                let by = convert::index(convert::operand(target, a)?)?;
                let offset = (by as u64).wrapping_mul(size(of));
                Ok(Some(Value::pointer_to(
                    of.clone(),
                    LoadAddr(*addr) + offset,
                )))
            }
            // Bit operations treat an address as an integer.
            (Binary::BitAnd | Binary::BitOr | Binary::BitXor | Binary::Shl | Binary::Shr, ..)
            | (Binary::Rem, Some(_), None) => Ok(None),
            _ => Err(Error::eval(format!(
                "`{}` is not defined for pointers",
                operator.symbol()
            ))),
        }
    }
}
