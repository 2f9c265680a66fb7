//! Casts and `sizeof`.

use super::evaluate::{At, Evaluator, inner};
use super::tree::{Cast, Kind, Node};
use super::types::TypeName;
use super::{arith, convert, hierarchy, messages, types};
use crate::ids::error::Error;
use crate::inspect::value::{PointerKind, Shape, Ty, Value};
use dwarf::LoadAddr;

impl Evaluator<'_> {
    pub(super) fn cast(
        &mut self,
        cast: Cast,
        name: &TypeName,
        inner: &Node,
        node: &Node,
    ) -> Result<Value, Error> {
        let ty = name.resolve(self.context)?;
        let value = self.evaluate(inner)?;
        if name.is_reference()
            && let Shape::Pointer(of, _) = ty.shape()
        {
            let addr = self.address_of_value(value, inner).at(node)?;
            let there = self.cast_to(cast, &of.clone().pointer(), &addr).at(node)?;
            return there.pointee(self.context.as_target(), of).at(node);
        }
        self.cast_to(cast, &ty, &value).at(node)
    }

    pub(super) fn cast_to(&self, cast: Cast, ty: &Ty, value: &Value) -> Result<Value, Error> {
        let target = self.context.as_target();
        let (Shape::Pointer(to, _), Shape::Pointer(from, _)) = (ty.shape(), value.ty.shape())
        else {
            return convert::cast(self.context, ty, value);
        };
        let classes = [&to, &from].map(|it| matches!(it.shape(), Shape::Composite(_)));
        let is_null = value.raw(target)? == 0;
        if cast == Cast::Bits || is_null || classes != [true, true] || to.same_as(&from) {
            return convert::cast(self.context, ty, value);
        }
        let object = value.pointee(target, from)?;
        let part = match cast {
            Cast::Dynamic => hierarchy::in_whole(target, &object, &to)?,
            _ => hierarchy::related(target, &object, &to)?,
        };
        match (part.and_then(|part| part.address()), cast) {
            (Some(addr), _) => Ok(Value::pointer_to(to, addr)),
            (None, Cast::Dynamic) => Ok(Value::pointer_to(to, LoadAddr(0))),
            (None, _) => convert::cast(self.context, ty, value),
        }
    }

    pub(super) fn size_of(&self, ty: &Ty) -> Result<Value, Error> {
        match ty.size() {
            Some(size) => Ok(arith::size(size, self.language)),
            None => Err(Error::eval(messages::unknown_size(ty))),
        }
    }

    pub(super) fn size_of_node(&mut self, operand: &Node, node: &Node) -> Result<Value, Error> {
        if let Some((element, count)) = self.array_of_type(operand)? {
            let size = element.size().and_then(|size| size.checked_mul(count));
            let size = size.ok_or_else(|| Error::eval(messages::unknown_size(&element)));
            return size.map(|size| arith::size(size, self.language)).at(node);
        }
        let value = self.evaluate(operand)?;
        self.size_of_value(value).at(node)
    }

    /// Returns the element type and the number of elements of an operand that is a type, such as
    /// `Point` or `Point[3]`; `None` if it is a value.
    fn array_of_type(&self, operand: &Node) -> Result<Option<(Ty, u64)>, Error> {
        let (mut operand, mut count) = (inner(operand), 1_u64);
        while let Kind::Index(base, index) = &operand.kind {
            let (Kind::Number(number, _) | Kind::Literal(_, number)) = &inner(index).kind else {
                return Ok(None);
            };
            let number = u64::try_from(*number).unwrap_or(u64::MAX);
            count = count.saturating_mul(number);
            operand = inner(base);
        }
        let Kind::Name(name) = &operand.kind else {
            return Ok(None);
        };
        if self.context.variable(name)?.is_some() {
            return Ok(None);
        }
        Ok(types::named(self.context, name).map(|ty| (ty, count)))
    }

    fn size_of_value(&self, value: Value) -> Result<Value, Error> {
        if value.bits.is_some() {
            return Err(Error::eval(messages::SIZE_OF_BITS));
        }
        if let Shape::Text = value.ty.shape() {
            let len = value.place.literal()?.len() as u64;
            return Ok(arith::size(len + 1, self.language));
        }
        let ty = match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference) => of,
            _ => value.ty,
        };
        self.size_of(&ty)
    }
}
