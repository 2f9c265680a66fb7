//! The interpreter of what only C and C++ have.

use super::evaluate::{Evaluator, error};
use super::ir::Expr;
use super::ir_cpp::{Cpp, Init, Typed};
use super::{arith, mangle};
use crate::ids::error::Error;
use crate::inspect::abi::MemberPointer;
use crate::inspect::value::path::Part;
use crate::inspect::value::{Shape, Ty, Value, ValueLocation};
use dwarf::LoadAddr;

impl Evaluator<'_> {
    /// Evaluates an expression that only C and C++ have.
    ///
    /// # Errors
    /// Unreadable memory; an object without the type that it should have.
    pub(super) fn interpret_cpp(&mut self, form: &Cpp<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        match form {
            Cpp::Base(pointer, parts) => {
                let addr = self.bits(pointer)? as u64;
                let there = self.base_at(pointer, addr, parts)?;
                Ok(Value::of_bytes(of.ty.clone(), &there.to_le_bytes()))
            }
            Cpp::Derived(pointer, offset) => {
                let addr = match self.bits(pointer)? as u64 {
                    0 => 0,
                    addr => addr.wrapping_sub(*offset),
                };
                Ok(Value::of_bytes(of.ty.clone(), &addr.to_le_bytes()))
            }
            Cpp::MemberAt(object, pointer) => {
                let object = self.interpret(object)?;
                let MemberPointer::Data(Some(offset)) = self.member_pointer(pointer)? else {
                    return Err(error("the pointer to a member is null", &pointer.span));
                };
                let place = object.place.offset(offset);
                Ok(Value::new(of.ty.clone(), place))
            }
            Cpp::IsNullMember(pointer) => {
                let is_null = self.member_pointer(pointer)?.is_null();
                Ok(arith::boolean(is_null, self.language))
            }
            Cpp::IsSameMember(a, b) => {
                let (a, b) = (self.member_pointer(a)?, self.member_pointer(b)?);
                Ok(arith::boolean(a.is_same(b), self.language))
            }
            Cpp::MovedMember(pointer, by) => {
                let moved = self.member_pointer(pointer)?.moved(*by);
                let bytes = moved.bits(self.context.arch()).to_le_bytes();
                let size = of.ty.size().unwrap_or(0).min(16) as usize;
                Ok(Value::of_bytes(of.ty.clone(), &bytes[..size]))
            }
            Cpp::Object(parts) => self.object_of(parts, of),
            Cpp::Guarded(guard, value, why) => match self.bits(guard)? {
                0 => Err(error(*why, &of.span)),
                _ => self.interpret(value),
            },
            Cpp::TypeInfo(typed) => self.type_info(typed, of),
            Cpp::TypeName(typed) => self.type_name(typed, of),
            Cpp::IsSameType(a, b) => {
                let is_same = match (a, b) {
                    (Typed::Static(a), Typed::Static(b)) if a.same_as(b) => true,
                    _ => self.name_of_type(a, of)?.1 == self.name_of_type(b, of)?.1,
                };
                Ok(arith::boolean(is_same, self.language))
            }
        }
    }

    /// Returns the address of a base's part of the object at an address.
    fn base_at(&self, pointer: &Expr<'_>, addr: u64, parts: &[Part]) -> Result<u64, Error> {
        if addr == 0 {
            return Ok(0);
        }
        let Shape::Pointer(class, _) = pointer.ty.shape() else {
            return Ok(addr);
        };
        let mut object = Value::new(class, ValueLocation::Memory(LoadAddr(addr), None));
        for part in parts {
            object = part.of(self.context.as_target(), &object)?;
        }
        object.address().map(|it| it.0).ok_or(Error::OptimizedOut)
    }

    pub(super) fn member_pointer(&mut self, pointer: &Expr<'_>) -> Result<MemberPointer, Error> {
        let value = self.interpret(pointer)?;
        let bits = value.raw(self.context.as_target())?;
        let is_function = matches!(value.ty.shape(), Shape::MemberPointer(true));
        Ok(MemberPointer::of(self.context.arch(), is_function, bits))
    }

    fn object_of(&mut self, parts: &[Init<'_>], of: &Expr<'_>) -> Result<Value, Error> {
        let size = of.ty.size().unwrap_or(0) as usize;
        let mut bytes = vec![0; size];
        for part in parts {
            let value = self.interpret(&part.value)?;
            let value = value.referent(self.context.as_target())?;
            let Some(field) = part.bits else {
                let value = value.bytes(self.context.as_target())?;
                let start = part.offset as usize;
                let place = bytes.get_mut(start..start.saturating_add(value.len()));
                place.ok_or(Error::OptimizedOut)?.copy_from_slice(&value);
                continue;
            };
            let bits = value.raw(self.context.as_target())?;
            for bit in 0..field.size.min(128) {
                let at = part.offset.wrapping_mul(8).wrapping_add(field.offset + bit);
                let byte = bytes.get_mut((at / 8) as usize);
                *byte.ok_or(Error::OptimizedOut)? |= ((bits >> bit & 1) as u8) << (at % 8);
            }
        }
        Ok(Value::of_bytes(of.ty.clone(), &bytes))
    }

    fn type_info(&mut self, typed: &Typed<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        let (at, name) = self.name_of_type(typed, of)?;
        // The library alone may describe the class.
        let is_object = matches!(of.ty.shape(), Shape::Composite(_)) && of.ty.size().is_some();
        match at.filter(|_| is_object) {
            Some(at) => Ok(Value::new(of.ty.clone(), ValueLocation::Memory(at, None))),
            None => Ok(text(&name)),
        }
    }

    fn type_name(&mut self, typed: &Typed<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        let (at, name) = self.name_of_type(typed, of)?;
        let Some(at) = at else {
            return Ok(text(&name));
        };
        let memory = self.context.as_target().memory();
        let mut addr = memory.read_uint(at + 8, 8)?;
        // gcc marks names that are compared by address.
        if memory.read_uint(LoadAddr(addr), 1)? == u64::from(b'*') {
            addr = addr.wrapping_add(1);
        }
        Ok(Value::of_bytes(of.ty.clone(), &addr.to_le_bytes()))
    }

    /// Returns the address of the type information, if the program has it, and the mangled name of
    /// the type.
    fn name_of_type(
        &mut self,
        typed: &Typed<'_>,
        of: &Expr<'_>,
    ) -> Result<(Option<LoadAddr>, String), Error> {
        let object = match typed {
            Typed::Static(ty) => {
                let Some(name) = mangle::of_type(ty) else {
                    let message = format!(
                        "the debug info does not show the mangled name of `{}`",
                        ty.name()
                    );
                    return Err(error(message, &of.span));
                };
                return Ok((self.information(&name), name));
            }
            Typed::Dynamic(object) => self.interpret(object)?,
        };
        let target = self.context.as_target();
        let addr = object.address().ok_or(Error::OptimizedOut)?;
        if addr.0 == 0 {
            return Err(error("the pointer is null: `typeid` throws", &of.span));
        }
        let memory = target.memory();
        let table = LoadAddr(memory.read_uint(addr, 8)?);
        let at = LoadAddr(memory.read_uint(LoadAddr(table.0.wrapping_sub(8)), 8)?);
        let symbol = target.module_at(at).and_then(|(module, bias)| {
            let symbol = module.symbol_at(bias.file(at))?;
            (bias.load(symbol.addr) == at).then(|| symbol.name.to_owned())
        });
        match symbol.as_deref().and_then(|it| it.strip_prefix("_ZTI")) {
            Some(name) => Ok((Some(at), name.to_owned())),
            None => Err(error(
                "the object's dynamic type is unknown: it has no type information",
                &of.span,
            )),
        }
    }

    /// Returns the address of the type information of a type by its mangled name.
    fn information(&self, name: &str) -> Option<LoadAddr> {
        let symbol = format!("_ZTI{name}");
        let images = self.context.as_target().images();
        images.into_iter().find_map(|(module, bias)| {
            let found = module.symbols_named(&symbol).into_iter().next()?;
            Some(bias.load(found.addr))
        })
    }
}

fn text(name: &str) -> Value {
    Value::of_bytes(Ty::Text, name.as_bytes())
}
