//! The interpreter of objects that an expression makes: their bytes as the program lays them out.

use super::evaluate::{Evaluator, error};
use super::interpret_match::borrowed;
use super::ir::Expr;
use super::made::{Fields, Made};
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{
    MAX_VALUE_BYTES, RegisterPlace, Shape, Synthetic, Ty, Value, ValueLocation, members, synthetic,
};
use dwarf::LoadAddr;
use std::sync::Arc;

/// Parts of a value: offset, number of bytes, and place of each.
type Placed = Vec<(u64, u64, ValueLocation)>;

impl Evaluator<'_> {
    /// Evaluates an object that the expression makes.
    pub(super) fn made(&mut self, made: &Made<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        if super::check::is_open(&of.ty) {
            let name = of.ty.name();
            let why = format!(
                "the type `{name}` is not known; compare the value, pass it to a function, or write \
                 the type (`None::<i32>`)"
            );
            // A bare variant may get its meaning from what it is compared with.
            let is_bare = matches!(made, Made::Fields(made) if made.fields.is_empty());
            return Err(match is_bare {
                true => Error::UnknownName {
                    message: why,
                    span: of.span.clone(),
                },
                false => error(why, &of.span),
            });
        }
        match made {
            Made::Fields(made) => self.object(made, of),
            Made::Row(elements) => {
                let mut values = Vec::new();
                for element in elements {
                    values.push(self.interpret(element)?);
                }
                self.row_of(&of.ty, &values, of)
            }
            Made::Filled(element, count) => {
                let value = self.interpret(element)?;
                let size = of.ty.size().unwrap_or(u64::MAX);
                if size > MAX_VALUE_BYTES {
                    return Err(error("the array is too long", &of.span));
                }
                let values = vec![value; usize::try_from(*count).unwrap_or(0)];
                self.row_of(&of.ty, &values, of)
            }
        }
    }

    fn row_of(&self, ty: &Ty, values: &[Value], of: &Expr<'_>) -> Result<Value, Error> {
        let Shape::Array(array) = ty.shape() else {
            return Err(error("not an array", &of.span));
        };
        let mut parts = Placed::new();
        for (value, index) in values.iter().zip(0u64..) {
            let value = self.conform(value, &array.element)?;
            let place = value.kept(self.context.as_target())?;
            parts.push((index.saturating_mul(array.stride), array.stride, place));
        }
        let size = ty.size().unwrap_or(0);
        Ok(Value::new(ty.clone(), ValueLocation::composed(size, parts)))
    }

    fn object(&mut self, made: &Fields<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        let mut fields = Vec::new();
        for (name, value) in &made.fields {
            fields.push((name.clone(), self.interpret(value)?));
        }
        if let Some(base) = &made.base {
            let base = self.interpret(base)?;
            let all = super::check::fields(&of.ty).unwrap_or_default();
            for (name, _) in all {
                if !fields.iter().any(|it| it.0 == name) {
                    let value = self.field(&base, &name)?;
                    fields.push((name, value));
                }
            }
        }
        let made = self.composed(&of.ty, made.variant.as_deref(), fields);
        made.map_err(|why| match why {
            Error::Eval { message, .. } => error(message, &of.span),
            other => other,
        })
    }

    /// Returns an object of a type with these fields.
    pub(super) fn composed(
        &self,
        ty: &Ty,
        variant: Option<&str>,
        fields: Vec<(String, Value)>,
    ) -> Result<Value, Error> {
        match ty.shape() {
            Shape::Synthetic(synthetic) => self.of_synthetic(ty, &synthetic, variant, fields),
            Shape::Composite(class) => self.of_struct(ty, &class, variant, fields),
            Shape::Enumeration(_) => {
                let number = variant.and_then(|it| members::enumerator_named(ty, it));
                let number = number.ok_or_else(|| Error::eval("no such variant"))?;
                let size = ty.size().unwrap_or(1).min(16) as usize;
                Ok(Value::of_bytes(ty.clone(), &number.to_le_bytes()[..size]))
            }
            Shape::Unit | Shape::Void => Ok(Value::of_bytes(ty.clone(), &[])),
            _ => Err(Error::eval(format!("cannot make a `{}`", ty.name()))),
        }
    }

    fn of_synthetic(
        &self,
        ty: &Ty,
        synthetic: &Synthetic,
        variant: Option<&str>,
        fields: Vec<(String, Value)>,
    ) -> Result<Value, Error> {
        let target = self.context.as_target();
        let known = synthetic.held();
        match (synthetic, variant) {
            (Synthetic::Enum(of), Some(name)) => {
                let held = of.variants.iter().find(|it| it.0 == name);
                let held = held.and_then(|it| it.1.clone());
                let value = match (fields.into_iter().next(), held) {
                    (Some((_, value)), Some(held)) => Some(self.conform(&value, &held)?),
                    _ => None,
                };
                Value::variant(target, ty.clone(), name, value.as_ref())
            }
            _ => {
                let mut parts = Placed::new();
                let mut offset = 0u64;
                for ((_, value), part) in fields.iter().zip(&known) {
                    let value = self.conform(value, part)?;
                    let size = part.size().unwrap_or(0);
                    parts.push((offset, size, value.kept(target)?));
                    offset = offset.saturating_add(size);
                }
                Ok(Value::new(
                    ty.clone(),
                    ValueLocation::composed(offset, parts),
                ))
            }
        }
    }

    fn of_struct(
        &self,
        ty: &Ty,
        class: &Arc<DwarfTy>,
        variant: Option<&str>,
        fields: Vec<(String, Value)>,
    ) -> Result<Value, Error> {
        let target = self.context.as_target();
        let size = ty.size().unwrap_or(0);
        if size > MAX_VALUE_BYTES {
            return Err(Error::eval(format!("a `{}` is too large", ty.name())));
        }
        // At address 0, the address of a part is its offset.
        let frame = Value::new(ty.clone(), ValueLocation::Memory(LoadAddr(0), None));
        let mut parts = Placed::new();
        let mut holder = frame.clone();
        if let Some(name) = variant {
            let gone = || Error::eval(format!("no variant `{name}` of `{}`", ty.name()));
            let all = class.composite().and_then(|it| it.variants.as_ref());
            let all = all.ok_or_else(gone)?;
            let of_name = |it: &&dwarf::Variant| {
                let holder = it.members.first();
                holder.is_some_and(|it| it.name == name)
            };
            let chosen = all.variants.iter().find(of_name).ok_or_else(gone)?;
            let member = chosen.members.first().ok_or_else(gone)?;
            holder = members::member(target, &frame, class, member)?;
            match (&all.discriminant, &chosen.values[..]) {
                (Some(tag), [(low, high)]) if low == high => {
                    let tag = members::member(target, &frame, class, tag)?;
                    let len = tag.ty.size().unwrap_or(0).min(16);
                    let bytes = Bytes::new(&low.to_le_bytes()[..len as usize]);
                    let at = tag.address().map_or(0, |it| it.0);
                    parts.push((at, len, ValueLocation::Bytes(bytes)));
                }
                // A field's value identifies the variant, or there is only one.
                (_, []) | (None, _) => {}
                _ => return Err(Error::eval(format!("several tag values mean `{name}`"))),
            }
        }
        for (name, value) in fields {
            let field = self.field(&holder, &name)?;
            let value = self.conform(&value, &field.ty)?;
            let len = field.ty.size().unwrap_or(0);
            let at = field.address().map_or(0, |it| it.0);
            parts.push((at, len, value.kept(target)?));
        }
        Ok(Value::new(ty.clone(), ValueLocation::composed(size, parts)))
    }

    /// Returns a value in the layout of a type of the same name: results of reading and objects that
    /// expressions make have one of their own.
    ///
    /// # Errors
    /// It cannot be read, or the types differ.
    pub(super) fn conform(&self, value: &Value, ty: &Ty) -> Result<Value, Error> {
        let target = self.context.as_target();
        let own = match (value.ty.strip(), ty.strip()) {
            (Ty::Text, _) => {
                let place = ValueLocation::Temporary(Arc::new(value.clone()));
                return Ok(Value::new(ty.clone(), place));
            }
            (Ty::Synthetic(own), Ty::Dwarf(_)) => own,
            _ => return Ok(value.clone()),
        };
        let fields = match &*own {
            Synthetic::Enum(_) => {
                let Some((name, held)) = synthetic::active_variant(target, value)? else {
                    return Ok(value.clone());
                };
                let fields = held.map(|it| ("0".to_owned(), it)).into_iter().collect();
                return self.composed(ty, Some(name), fields);
            }
            Synthetic::Tuple(_) | Synthetic::Range(..) => {
                let names = super::check::fields(&value.ty).unwrap_or_default();
                let parts = synthetic::parts(value).unwrap_or_default();
                names.into_iter().map(|it| it.0).zip(parts).collect()
            }
            // Addresses and lengths are laid out the same way.
            Synthetic::Reference(_)
            | Synthetic::MutableReference(_)
            | Synthetic::Slice(_)
            | Synthetic::Str => {
                return Ok(Value::new(ty.clone(), value.place.clone()));
            }
            _ => return Ok(value.clone()),
        };
        self.composed(ty, None, fields)
    }

    /// Evaluates a reference to what an expression is: to its place, or to the temporary.
    pub(super) fn reference(&mut self, to: &Expr<'_>, of: &Expr<'_>) -> Result<Value, Error> {
        let value = self.interpret(to)?;
        if value.bits.is_some() {
            return Err(error("cannot take the address of a bit-field", &of.span));
        }
        if let Ty::Synthetic(own) = &value.ty
            && let Synthetic::Tailed(..) = **own
        {
            let why = "cannot refer to a part of a struct without a size of its own; use the \
                       reference to the whole struct";
            return Err(error(why, &of.span));
        }
        match &value.place {
            ValueLocation::OptimizedOut => Err(Error::OptimizedOut),
            ValueLocation::Failed(why) => Err((**why).clone()),
            ValueLocation::Register {
                register: RegisterPlace { .. },
                ..
            } if of.ty.name().starts_with("&mut ") => {
                let source = self.text().get(to.span.clone()).unwrap_or("it");
                let why = format!("cannot take the address of `{source}`: stored in a register");
                Err(error(why, &of.span))
            }
            _ => Ok(borrowed(&of.ty, &value)),
        }
    }
}
