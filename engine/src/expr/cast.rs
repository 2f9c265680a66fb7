//! Casts of objects, and to references.

use super::evaluate::{At, Evaluator, error};
use super::tree::{Cast, Node};
use super::types::TypeName;
use super::{convert, hierarchy};
use crate::ids::error::Error;
use crate::inspect::dynamic_class;
use crate::inspect::value::{PointerKind, Shape, Ty, Value, ValueLocation};
use dwarf::LoadAddr;
use std::sync::Arc;

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
            let target = self.context.as_target();
            if cast == Cast::Dynamic && there.raw(target)? == 0 {
                let message = format!("the object is no `{}`: the cast throws", of.name());
                return Err(error(message, &node.span));
            }
            return there.pointee(self.context.as_target(), of).at(node);
        }
        self.cast_to(cast, &ty, &value).at(node)
    }

    pub(super) fn cast_to(&self, cast: Cast, ty: &Ty, value: &Value) -> Result<Value, Error> {
        let target = self.context.as_target();
        // The address of a string literal, which the program need not have.
        if let (Shape::Pointer(to, PointerKind::Raw), Ty::Text) = (ty.shape(), &value.ty)
            && to.size() == Some(1)
        {
            let place = ValueLocation::Temporary(Arc::new(value.clone()));
            return Ok(Value::new(ty.clone(), place));
        }
        let (Shape::Pointer(to, _), Shape::Pointer(from, _)) = (ty.shape(), value.ty.shape())
        else {
            return convert::cast(self.context, ty, value);
        };
        let classes = [&to, &from].map(|it| matches!(it.shape(), Shape::Composite(_)));
        let is_null = value.raw(target)? == 0;
        if cast == Cast::Dynamic && !is_null && matches!(to.shape(), Shape::Void) {
            let object = value.pointee(target, from)?;
            let unknown = || Error::eval("the object has no virtual table");
            let start = dynamic_class::start(target, &object).ok_or_else(unknown)?;
            return Ok(Value::pointer_to(to, start));
        }
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
}
