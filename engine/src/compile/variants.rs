//! Enums of Rust: the check for the active variant, and its contents.

use super::code::{Address, Base, BoolExpr, Int, Order, Width};
use super::containers::compare;
use super::lower::Compiler;
use super::numbers::{int_of, width};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::check;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, inhabited, members};
use std::sync::Arc;

/// Maximum number of variants of an enum: each takes a comparison.
const MAX_VARIANTS: usize = 64;

impl Compiler<'_> {
    /// Returns the condition that a variant of a value is active.
    ///
    /// # Errors
    /// The value is no enum with a variant of that name.
    pub(super) fn holds_variant(
        &self,
        value: &RuntimeValue,
        name: &str,
    ) -> Result<BoolExpr, NotCompilable> {
        value.decided(&|value| match (&value.place, value.ty.shape()) {
            (RuntimeLocation::Made(made), _) => {
                Ok(BoolExpr::Constant(made.variant.as_deref() == Some(name)))
            }
            (_, Shape::Composite(ty)) => {
                let test = self.is_variant(value, &ty, name)?;
                test.ok_or_else(|| NotCompilable::special_layout(&value.ty))
            }
            (_, Shape::Enumeration(_)) => {
                let number = members::enumerator_named(&value.ty, name);
                let number = number.ok_or_else(|| NotCompilable::special_layout(&value.ty))?;
                let scalar = check::scalar(&value.ty);
                let width = width(scalar.ok_or_else(|| NotCompilable::special_layout(&value.ty))?)?;
                let number = Int::Constant(width.canonical(number as u64));
                Ok(compare(Order::Eq, &int_of(value, width)?, &number))
            }
            _ => Err(NotCompilable::special_layout(&value.ty)),
        })
    }

    /// Returns what holds the fields of a variant; unless `is_active`, a use is a deopt where another
    /// variant is active.
    ///
    /// # Errors
    /// The value is no enum with a variant of that name.
    pub(super) fn contents_of_variant(
        &self,
        value: &RuntimeValue,
        name: &str,
        is_active: bool,
    ) -> Result<RuntimeValue, NotCompilable> {
        value.each(&|value| match (&value.place, value.ty.shape()) {
            (RuntimeLocation::Made(made), _) => Ok(match made.variant.as_deref() == Some(name) {
                true => value.clone(),
                false => RuntimeValue::missing(value.ty.clone()),
            }),
            (_, Shape::Composite(ty)) => {
                let part = ty.composite().and_then(|it| it.variants.as_ref());
                let all = part.map_or(&[][..], |it| &it.variants);
                let mut holders = all.iter().filter_map(|it| it.members.first());
                let holder = holders.find(|it| it.name == name);
                let holder = holder.ok_or("an enum without such a variant")?;
                let contents = self.within_variant(value, &ty, holder)?;
                match is_active {
                    true => Ok(contents),
                    false => self.only_at(value, &ty, name, contents),
                }
            }
            // A variant without fields.
            (_, Shape::Enumeration(_)) => Ok(value.clone()),
            _ => Err(NotCompilable::special_layout(&value.ty)),
        })
    }

    fn within_variant(
        &self,
        value: &RuntimeValue,
        ty: &Arc<DwarfTy>,
        holder: &dwarf::Member,
    ) -> Result<RuntimeValue, NotCompilable> {
        let contents = probe::part(value, |target, object| {
            members::member(target, object, ty, holder).map(Some)
        })?;
        contents.ok_or_else(|| "a variant without contents".into())
    }

    /// Returns the condition that a variant of a Rust enum is active; `None` if the enum defines no
    /// variant of that name.
    pub(super) fn is_variant(
        &self,
        value: &RuntimeValue,
        ty: &Arc<DwarfTy>,
        name: &str,
    ) -> Result<Option<BoolExpr>, NotCompilable> {
        let Some(part) = ty.composite().and_then(|it| it.variants.as_ref()) else {
            return Ok(None);
        };
        let is_it = |variant: &dwarf::Variant| {
            let holder = variant.members.first();
            holder.is_some_and(|holder| holder.name == name)
        };
        if !part.variants.iter().any(is_it) {
            return Ok(None);
        }
        let Some(discriminant) = &part.discriminant else {
            let only = inhabited::only_variant(ty, part);
            return Ok(Some(BoolExpr::Constant(only.is_some_and(is_it))));
        };
        if part.variants.len() > MAX_VARIANTS {
            return Err("an enum with too many variants".into());
        }
        let tag = probe::part(value, |target, object| {
            members::member(target, object, ty, discriminant).map(Some)
        })?;
        let tag = tag.ok_or("an enum without a discriminant")?;
        let size = tag.ty.size().unwrap_or(8).min(16) as u8;
        let scalar = check::scalar(&tag.ty).unwrap_or(Scalar::new(ScalarKind::Unsigned, size));
        let width = width(scalar)?;
        let tag = int_of(&tag, width)?;
        let (mut this, mut others) = (BoolExpr::Constant(false), BoolExpr::Constant(false));
        let mut default = None;
        for variant in &part.variants {
            if variant.values.is_empty() {
                default = default.or(Some(is_it(variant)));
                continue;
            }
            for (low, high) in &variant.values {
                let matches = in_range(&tag, width, *low, *high)?;
                match is_it(variant) {
                    true => this = this.or(matches),
                    false => others = others.or(matches),
                }
            }
        }
        Ok(Some(match default {
            Some(true) => others.not(),
            Some(false) => this,
            // A discriminant that matches no variant is invalid.
            None => this.choice(
                BoolExpr::Constant(true),
                others.choice(BoolExpr::Constant(false), BoolExpr::Deopt),
            ),
        }))
    }

    /// Returns a member of the only variant of a Rust enum that has a member of that name. The code
    /// is a deopt if another variant is active.
    pub(super) fn member_of_variant(
        &self,
        value: &RuntimeValue,
        ty: &Arc<DwarfTy>,
        name: &str,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let composite = ty.composite();
        let Some(part) = composite.and_then(|it| it.variants.as_ref()) else {
            return Ok(None);
        };
        let mut found: Option<(String, RuntimeValue)> = None;
        for holder in part.variants.iter().filter_map(|it| it.members.first()) {
            let payload = probe::part(value, |target, object| {
                members::member(target, object, ty, holder).map(Some)
            })?;
            let Some(member) = payload.and_then(|it| probe::member(&it, name).ok().flatten())
            else {
                continue;
            };
            if found.is_some() {
                return Err(NotCompilable::new(format!(
                    "several variants have `{name}`"
                )));
            }
            found = Some((holder.name.clone(), member));
        }
        let Some((variant, member)) = found else {
            return Ok(None);
        };
        self.only_at(value, ty, &variant, member).map(Some)
    }

    /// Adds a check to a part of a variant: deopt if another variant is active.
    fn only_at(
        &self,
        value: &RuntimeValue,
        ty: &Arc<DwarfTy>,
        variant: &str,
        part: RuntimeValue,
    ) -> Result<RuntimeValue, NotCompilable> {
        let is = self.is_variant(value, ty, variant)?;
        let is = is.ok_or("an enum without such a variant")?;
        let RuntimeLocation::Memory(address) = &part.place else {
            return match is {
                BoolExpr::Constant(true) => Ok(part),
                _ => Err("an enum that is not in memory".into()),
            };
        };
        // The check is part of the address, so that it precedes every read.
        let place = match is {
            BoolExpr::Constant(true) => RuntimeLocation::Memory(address.clone()),
            is => {
                let at = Box::new(address.clone().number());
                RuntimeLocation::Memory(Address::of(
                    Base::Int(Int::Unless(Box::new(is.not()), at)),
                    0,
                ))
            }
        };
        Ok(RuntimeValue {
            bits: part.bits,
            ..RuntimeValue::new(part.ty, place)
        })
    }

    /// Returns the contents of a variant, which `holder` holds; deopt if another one is active.
    pub(super) fn contents_of(
        &self,
        value: &RuntimeValue,
        ty: &Arc<DwarfTy>,
        holder: &dwarf::Member,
    ) -> Result<RuntimeValue, NotCompilable> {
        let contents = self.within_variant(value, ty, holder)?;
        self.only_at(value, ty, &holder.name, contents)
    }
}

/// Returns the condition that a discriminant is in a range. The bounds in debug info may be signed
/// or unsigned, whatever the type of the discriminant.
fn in_range(tag: &Int, width: Width, low: i128, high: i128) -> Result<BoolExpr, NotCompilable> {
    let fits = |number: i128| {
        let bits = u32::from(width.size) * 8;
        (-(1i128 << (bits - 1))..1i128 << bits).contains(&number)
    };
    if !fits(low) || !fits(high) {
        return Err("a discriminant out of range for its type".into());
    }
    let canonical = |number: i128| Int::Constant(width.canonical(number as u64));
    if low == high {
        return Ok(compare(Order::Eq, tag, &canonical(low)));
    }
    let signed = width.signed;
    let as_typed = |number: i128| match signed {
        true => number < 1i128 << (u32::from(width.size) * 8 - 1),
        false => number >= 0,
    };
    if !as_typed(low) || !as_typed(high) {
        return Err("discriminants in a range of mixed signs".into());
    }
    let bound = |order, number| BoolExpr::compare(order, signed, tag.clone(), canonical(number));
    Ok(bound(Order::Ge, low).and(bound(Order::Le, high)))
}
