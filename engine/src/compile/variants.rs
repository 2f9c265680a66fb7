//! Rust's enums: the active variant, and its contents.

use super::code::{Address, Base, Int, Order, Truth, Width};
use super::containers::compare;
use super::lower::Compiler;
use super::numbers::{int_of, of_enumeration, width};
use super::{Found, Place, Reason, probe};
use crate::inspect::eval::tree::Node;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, members};
use std::sync::Arc;

/// Maximum number of variants of an enum: each takes a comparison.
const MOST_VARIANTS: usize = 64;

impl Compiler<'_> {
    /// Returns whether a Rust enum has a variant; `None` if it defines none of that name.
    pub(super) fn is_variant(
        &self,
        value: &Found,
        ty: &Arc<DwarfTy>,
        name: &str,
    ) -> Result<Option<Truth>, Reason> {
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
            let first = part.variants.first();
            return Ok(Some(Truth::Constant(first.is_some_and(is_it))));
        };
        if part.variants.len() > MOST_VARIANTS {
            return Err("an enum of too many variants".into());
        }
        let tag = probe::part(value, |target, object| {
            members::member(target, object, ty, discriminant).map(Some)
        })?;
        let tag = tag.ok_or("an enum without a discriminant")?;
        let scalar = match tag.ty.shape() {
            Shape::Scalar(scalar) => scalar,
            _ => of_enumeration(&tag.ty).unwrap_or(Scalar::new(
                ScalarKind::Unsigned,
                tag.ty.size().unwrap_or(8).min(16) as u8,
            )),
        };
        let width = width(scalar)?;
        let tag = int_of(&tag, width)?;
        let (mut this, mut others) = (Truth::Constant(false), Truth::Constant(false));
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
            // Neither matches: the tag is invalid.
            None => this.choice(
                Truth::Constant(true),
                others.choice(Truth::Constant(false), Truth::Ask),
            ),
        }))
    }

    /// Returns a member of the only variant of a Rust enum that has one of that name; deopt if
    /// another variant is active.
    pub(super) fn member_of_variant(
        &self,
        value: &Found,
        ty: &Arc<DwarfTy>,
        name: &str,
    ) -> Result<Option<Found>, Reason> {
        let composite = ty.composite();
        let Some(part) = composite.and_then(|it| it.variants.as_ref()) else {
            return Ok(None);
        };
        let mut found: Option<(String, Found)> = None;
        for holder in part.variants.iter().filter_map(|it| it.members.first()) {
            let payload = probe::part(value, |target, object| {
                members::member(target, object, ty, holder).map(Some)
            })?;
            let Some(member) = payload.and_then(|it| probe::member(&it, name).ok().flatten())
            else {
                continue;
            };
            if found.is_some() {
                return Err(Reason(format!("more than one variant has `{name}`")));
            }
            found = Some((holder.name.clone(), member));
        }
        let Some((variant, member)) = found else {
            return Ok(None);
        };
        self.only_at(value, ty, &variant, member).map(Some)
    }

    /// Returns a part of a variant; deopt if another variant is active.
    fn only_at(
        &self,
        value: &Found,
        ty: &Arc<DwarfTy>,
        variant: &str,
        part: Found,
    ) -> Result<Found, Reason> {
        let is = self.is_variant(value, ty, variant)?;
        let is = is.ok_or("an enum without such a variant")?;
        let Place::Memory(address) = &part.place else {
            return match is {
                Truth::Constant(true) => Ok(part),
                _ => Err("an enum that is not in memory".into()),
            };
        };
        // The address depends on the check, so whatever is read there is read after it.
        let place = match is {
            Truth::Constant(true) => Place::Memory(address.clone()),
            is => {
                let at = Box::new(address.clone().number());
                Place::Memory(Address::of(
                    Base::Int(Int::Unless(Box::new(is.not()), at)),
                    0,
                ))
            }
        };
        Ok(Found {
            bits: part.bits,
            ..Found::new(part.ty, place)
        })
    }

    pub(super) fn of_option(
        &self,
        value: &Found,
        ty: &Arc<DwarfTy>,
        name: &str,
        arguments: &[Node],
    ) -> Result<Option<Found>, Reason> {
        let variant = match (name, arguments) {
            ("is_some", []) => "Some",
            ("is_none", []) => "None",
            ("is_ok", []) => "Ok",
            ("is_err", []) => "Err",
            ("unwrap", []) => {
                for variant in ["Some", "Ok"] {
                    if self.is_variant(value, ty, variant)?.is_some() {
                        return self.payload(value, ty, variant).map(Some);
                    }
                }
                return Ok(None);
            }
            ("unwrap_err", []) if self.is_variant(value, ty, "Err")?.is_some() => {
                return self.payload(value, ty, "Err").map(Some);
            }
            _ => return Ok(None),
        };
        let is = self.is_variant(value, ty, variant)?;
        Ok(is.map(|is| self.boolean(is)))
    }

    fn payload(&self, value: &Found, ty: &Arc<DwarfTy>, variant: &str) -> Result<Found, Reason> {
        let part = ty.composite().and_then(|it| it.variants.as_ref());
        let holders = part.map_or(&[][..], |it| &it.variants);
        let mut holders = holders.iter().filter_map(|it| it.members.first());
        let holder = holders.find(|it| it.name == variant);
        let holder = holder.ok_or("an enum without such a variant")?;
        let payload = probe::part(value, |target, object| {
            members::member(target, object, ty, holder).map(Some)
        })?;
        let payload = payload.ok_or("a variant without contents")?;
        let inner = probe::member(&payload, "0")?.ok_or("a variant without contents")?;
        self.only_at(value, ty, variant, inner)
    }
}

/// Returns whether a discriminant is in a range, whatever its signedness in the debug info.
fn in_range(tag: &Int, width: Width, low: i128, high: i128) -> Result<Truth, Reason> {
    let fits = |number: i128| {
        let bits = u32::from(width.size) * 8;
        (-(1i128 << (bits - 1))..1i128 << bits).contains(&number)
    };
    if !fits(low) || !fits(high) {
        return Err("a discriminant that its type does not hold".into());
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
        return Err("discriminants in a range of the other sign".into());
    }
    let bound = |order, number| Truth::compare(order, signed, tag.clone(), canonical(number));
    Ok(bound(Order::Ge, low).and(bound(Order::Le, high)))
}
