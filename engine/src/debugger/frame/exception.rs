//! The subject of a stop for expressions, and the names of pointers that caused a fault.

use super::FrameScope;
use crate::arch::PointerChain;
use crate::expr::EvalContext;
use crate::ids::error::Error;
use crate::inspect::language::{c, template};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::standard::callable::type_named;
use crate::stops::exception::{Payload, Subject};
use dwarf::{Language, LoadAddr};

impl FrameScope<'_> {
    /// Returns the exception: in C++ the object, in Rust the message or the payload, for a signal its
    /// number.
    pub fn exception(&self) -> Result<Value, Error> {
        let unknown = |name: &str| {
            Error::eval(format!(
                "cannot show the exception: no debug info for its type `{}`",
                template::readable(name)
            ))
        };
        match self.subject {
            None => Err(Error::eval(crate::expr::messages::NO_EXCEPTION)),
            Some(Subject::Cpp(thrown)) => {
                let name = &thrown.type_name;
                let ty = named(self, name).ok_or_else(|| unknown(name))?;
                Ok(Value::new(ty, ValueLocation::Memory(thrown.object, None)))
            }
            Some(Subject::Panic(panic)) => {
                let Some((at, name)) = panic.value else {
                    return self.payload(&panic.payload);
                };
                let found = self.type_named(name);
                let (module, bias, id) = found.ok_or_else(|| unknown(name))?;
                let ty = Ty::dwarf(&module, bias, id);
                Ok(Value::new(ty, ValueLocation::Memory(at, None)))
            }
            Some(Subject::Report(_)) => Err(Error::eval(
                "a sanitizer report has no value; read its text in the output",
            )),
            Some(Subject::Signal(signal)) => {
                let int = Scalar {
                    kind: ScalarKind::Signed,
                    size: 4,
                };
                Ok(Value::builtin(int, "int", signal.0 as u32 as u128))
            }
        }
    }

    /// Returns the value that a panic was raised with.
    fn payload(&self, payload: &Payload) -> Result<Value, Error> {
        let unknown = || Error::eval("the panic's payload has an unknown type");
        let loaded = self.modules.at(payload.vtable).ok_or_else(unknown)?;
        let vtable = loaded.bias.file(payload.vtable);
        let id = loaded.module.type_of_vtable(vtable).ok_or_else(unknown)?;
        let ty = Ty::dwarf(&loaded.module, loaded.bias, id);
        let object = Value::new(ty, ValueLocation::Memory(payload.data, None));
        if !payload.is_inside {
            return Ok(object);
        }
        let inner = members::find(self, &object, "inner")?.ok_or_else(unknown)?;
        let Shape::Composite(option) = inner.ty.shape() else {
            return Err(unknown());
        };
        match members::active_variant(self, &inner, &option)? {
            Some((variant, contents)) if variant == "Some" => {
                members::find(self, &contents, "__0")?.ok_or_else(unknown)
            }
            _ => Err(unknown()),
        }
    }

    /// Returns whether [`FrameScope::exception`] needs no name that is not indexed yet.
    pub fn knows_exception(&self) -> bool {
        let thrown = match self.subject {
            Some(Subject::Cpp(thrown)) => thrown,
            Some(Subject::Panic(panic)) if panic.value.is_none() => {
                let image = self.modules.at(panic.payload.vtable);
                return image.is_none_or(|it| it.module.finds_names_soon());
            }
            _ => return true,
        };
        c::builtin_name(thrown.type_name.trim_end_matches('*')).is_some()
            || self
                .modules
                .loaded
                .iter()
                .all(|loaded| loaded.module.has_names() || loaded.is_of_the_system())
    }

    /// Returns the expressions of the pointer that came by `way`, and of the data at `offset` bytes
    /// from its target.
    pub(crate) fn names_of(&self, way: &PointerChain, offset: i64) -> Option<(String, String)> {
        let root = LoadAddr(way.root);
        let local = self.locals().ok()?.into_iter().find_map(|local| {
            let value = local.value.ok()?;
            (value.address() == Some(root)).then_some((local.expression?, value))
        });
        let (mut name, mut value) = match local {
            Some(found) => found,
            None => {
                let loaded = self.modules.at(root)?;
                let symbol = loaded.module.symbol_at(loaded.bias.file(root))?;
                let name = dwarf::demangle(symbol.name).into_owned();
                let value = self.variable(&name).ok()??;
                (value.address() == Some(root)).then_some((name, value))?
            }
        };
        for offset in &way.offsets {
            (name, value) = self.behind(&name, &value, *offset)?;
        }
        let (target, _) = self.behind(&name, &value, offset)?;
        Some((name, target))
    }

    /// Returns the variable in a register, and the data at `offset` bytes from its target.
    pub fn names_in(&self, register: dwarf::Register, offset: i64) -> Option<(String, String)> {
        self.locals().ok()?.into_iter().rev().find_map(|local| {
            let value = local.value.ok()?;
            let is_there = match &value.place {
                ValueLocation::Register {
                    register: place, ..
                } => place.register == register,
                _ => false,
            };
            let name = local.expression.filter(|_| is_there)?;
            let (target, _) = self.behind(&name, &value, offset)?;
            Some((name, target))
        })
    }

    fn behind(&self, name: &str, pointer: &Value, offset: i64) -> Option<(String, Value)> {
        let Shape::Pointer(of, _) = pointer.ty.shape() else {
            return None;
        };
        let target = pointer.pointee(self, of.clone()).ok()?;
        let offset = u64::try_from(offset).ok()?;
        let is_rust = self.language() == Language::Rust;
        if let Some(member) = members::name_at(&of, offset) {
            let value = members::find(self, &target, &member).ok()??;
            let arrow = if is_rust { "." } else { "->" };
            let member = match of.shape() {
                Shape::Composite(ty) => members::shown_name(&ty, &member).to_owned(),
                _ => member,
            };
            return Some((format!("{name}{arrow}{member}"), value));
        }
        if offset == 0 {
            return Some((format!("*{name}"), target));
        }
        // An element: a pointer to a type that is no class is taken for an array.
        let size = of
            .size()
            .filter(|size| *size > 0 && offset.is_multiple_of(*size))?;
        let at = LoadAddr(target.address()?.0.wrapping_add(offset));
        let element = Value::new(of, ValueLocation::Memory(at, None));
        Some((format!("{name}[{}]", offset / size), element))
    }
}

/// Returns a type by its name in symbols, including pointers.
fn named(target: &dyn Target, name: &str) -> Option<Ty> {
    let trimmed = name.trim();
    if let Some(pointee) = trimmed.strip_suffix('*') {
        let pointee = pointee.trim().trim_end_matches("const");
        return Some(named(target, pointee)?.pointer());
    }
    type_named(target, trimmed)
}
