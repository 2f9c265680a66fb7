//! Elements in a row and the text of standard containers, Rust's enums, and the methods that ask
//! for no more than these; by the member names that [`crate::visualize`] knows.

use super::code::{Address, Int, Operation, Order, Truth, Width};
use super::compile::{Compiler, within};
use super::numbers::{address_in, int_of, pointee};
use super::{Found, Place, Reason, probe};
use crate::eval::run::DEREFERENCES;
use crate::eval::tree::Node;
use crate::value::scalar::{Scalar, ScalarKind};
use crate::value::types::DwarfTy;
use crate::value::{Shape, Target, Ty, Value, members};
use crate::visualize::standard::{Library, std_class};
use crate::visualize::{need, rust_std};
use dwarf::Language;
use std::sync::Arc;

/// Variants of an enum that are told apart by comparing; each is one.
const MOST_VARIANTS: usize = 64;

/// Where elements are, and how many.
#[derive(Debug)]
pub(super) struct Row {
    /// The first one.
    pub(super) at: Int,
    /// Their type.
    pub(super) element: Ty,
    /// How many.
    pub(super) len: Int,
    /// They are text, of units of so many bytes.
    pub(super) text: Option<u64>,
    /// Where this holds, the object contradicts itself.
    pub(super) invalid: Truth,
}

fn compare(order: Order, a: &Int, b: &Int) -> Truth {
    Truth::compare(order, false, a.clone(), b.clone())
}

/// A number or address somewhere in a value.
fn word(
    value: &Found,
    ask: impl FnOnce(&dyn Target, &Value) -> Result<Value, crate::Error>,
) -> Result<(Int, Ty), Reason> {
    let found = probe::part(value, |target, object| ask(target, object).map(Some))?;
    let found = found.ok_or("a member is missing")?;
    Ok((address_in(&found)?, found.ty))
}

fn named(value: &Found, path: &'static [&'static str]) -> Result<(Int, Ty), Reason> {
    word(value, |target, object| need(target, object, path))
}

fn target_of(pointer: &Ty) -> Result<Ty, Reason> {
    match pointer.shape() {
        Shape::Pointer(of, _) => Ok(of),
        _ => Err("a pointer is expected in it".into()),
    }
}

impl Compiler<'_> {
    /// The elements of a standard container that keeps them in a row; `None`: it is none.
    pub(super) fn row(&self, value: &Found) -> Result<Option<Row>, Reason> {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Ok(None);
        };
        if ty.visualizer().is_none() {
            return Ok(None);
        }
        let name = &*ty.ty.name;
        let head = &name[..name.find('<').filter(|at| *at > 0).unwrap_or(name.len())];
        let other = || {
            Reason(format!(
                "a `{}` is looked into in a way of its own",
                value.ty.name()
            ))
        };
        let last = head.rsplit("::").next().unwrap_or(head);
        let row = match std_class(head) {
            Some((Library::Libstdcxx, "vector")) => self.vector(value)?,
            Some((Library::Libstdcxx, "basic_string" | "string")) => self.string(value)?,
            Some((Library::Libstdcxx, "basic_string_view")) => {
                let (at, pointer) = named(value, &["_M_str"])?;
                let (len, _) = named(value, &["_M_len"])?;
                text(at, target_of(&pointer)?, len, Truth::Constant(false))
            }
            _ if last == "Vec" && ty.language() == Language::Rust => self.vec(value)?,
            _ if last == "String" && ty.language() == Language::Rust => {
                let inner = probe::part(value, |target, object| {
                    rust_std::struct_in(target, object, "::Vec").map(Some)
                })?;
                let row = self.vec(&inner.ok_or("a member is missing")?)?;
                Row {
                    text: Some(1),
                    ..row
                }
            }
            _ if rust_std::is_slice(&ty) => self.slice(value, &ty)?,
            _ => return Err(other()),
        };
        Ok(Some(row))
    }

    fn vec(&self, value: &Found) -> Result<Row, Reason> {
        let (len, _) = named(value, &["len"])?;
        let (at, pointer) = word(value, |target, object| {
            rust_std::pointer_in(target, &need(target, object, &["buf"])?)
        })?;
        let element = probe::part(value, |_, object| {
            Ok(rust_std::argument(object, "T").map(|ty| Value::new(ty, object.place.clone())))
        });
        let element = match element?.map(|it| it.ty) {
            Some(element) => element,
            None => target_of(&pointer)?,
        };
        let capacity = word(value, |target, object| {
            let buffer = need(target, object, &["buf"])?;
            rust_std::innermost(target, rust_std::named_in(target, &buffer, "cap")?)
        });
        let size = element.size().unwrap_or(0);
        let beyond = match capacity {
            Ok((capacity, _)) if size > 0 => {
                compare(Order::Gt, &len, &capacity).or(self.too_many(&capacity, size))
            }
            _ => Truth::Constant(false),
        };
        Ok(Row {
            invalid: beyond.or(self.too_many(&len, size)).or(nowhere(&at, &len)),
            at,
            element,
            len,
            text: None,
        })
    }

    /// More elements than any allocation has.
    fn too_many(&self, len: &Int, size: u64) -> Truth {
        match size {
            0 => Truth::Constant(false),
            size => compare(Order::Gt, len, &Int::Constant(i64::MAX as u64 / size)),
        }
    }

    /// `&[T]`, `&str` and boxes of them.
    fn slice(&self, value: &Found, ty: &Arc<DwarfTy>) -> Result<Row, Reason> {
        let (at, pointer) = named(value, &["data_ptr"])?;
        let (len, _) = named(value, &["length"])?;
        let to = rust_std::pointee_name(&ty.ty.name);
        let element = target_of(&pointer)?;
        if to == "str" {
            let invalid = compare(Order::Gt, &len, &Int::Constant(i64::MAX as u64));
            return Ok(text(at, element, len, invalid));
        }
        if !to.starts_with('[') {
            return Err(Reason(format!(
                "a `{}` is looked into in a way of its own",
                value.ty.name()
            )));
        }
        let element = match element.shape() {
            Shape::Array(array) => array.element.clone(),
            _ => element,
        };
        let size = element.size().unwrap_or(0);
        Ok(Row {
            invalid: self.too_many(&len, size).or(nowhere(&at, &len)),
            at,
            element,
            len,
            text: None,
        })
    }

    /// `std::vector` of libstdc++.
    fn vector(&self, value: &Found) -> Result<Row, Reason> {
        let (start, pointer) = named(value, &["_M_impl", "_M_start"])?;
        let (finish, _) = named(value, &["_M_impl", "_M_finish"])?;
        let (end, _) = named(value, &["_M_impl", "_M_end_of_storage"])?;
        let element = target_of(&pointer)?;
        let size = element.size().filter(|size| *size > 0);
        let size = size.ok_or("elements without a size")?;
        let bytes = Int::binary(
            Operation::Sub,
            finish.clone(),
            start.clone(),
            Width::WORD,
            false,
        );
        let count = Int::Constant(size);
        let divide = |operation| {
            let count = count.clone();
            Int::binary(operation, bytes.clone(), count, Width::WORD, false)
        };
        let len = match (size, size.is_power_of_two()) {
            (1, _) => bytes.clone(),
            (size, true) => {
                let by = Int::Constant(u64::from(size.trailing_zeros()));
                Int::binary(Operation::Shr, bytes.clone(), by, Width::WORD, false)
            }
            _ => divide(Operation::Div),
        };
        let odd = match (size, size.is_power_of_two()) {
            (1, _) => Truth::Constant(false),
            (size, true) => {
                let mask = Int::Constant(size - 1);
                Truth::of(Int::binary(
                    Operation::And,
                    bytes.clone(),
                    mask,
                    Width::WORD,
                    false,
                ))
            }
            _ => Truth::of(divide(Operation::Rem)),
        };
        Ok(Row {
            invalid: compare(Order::Gt, &start, &finish)
                .or(compare(Order::Gt, &finish, &end))
                .or(compare(Order::Gt, &bytes, &Int::Constant(i64::MAX as u64)))
                .or(odd),
            at: start,
            element,
            len,
            text: None,
        })
    }

    /// `std::string` of libstdc++.
    fn string(&self, value: &Found) -> Result<Row, Reason> {
        let (at, pointer) = named(value, &["_M_dataplus", "_M_p"])?;
        let (len, _) = named(value, &["_M_string_length"])?;
        let (capacity, _) = named(value, &["_M_allocated_capacity"])?;
        let local = probe::part(value, |target, object| {
            need(target, object, &["_M_local_buf"]).map(Some)
        })?;
        let local = local.ok_or("a member is missing")?;
        let room = match local.ty.shape() {
            Shape::Array(array) => array.count.unwrap_or(1).saturating_sub(1),
            _ => 15,
        };
        let Place::Memory(address) = local.place else {
            return Err("a string that is not in memory".into());
        };
        // Short strings lie in the object.
        let is_local = compare(Order::Eq, &at, &address.number());
        let invalid = compare(Order::Gt, &len, &Int::Constant(room))
            .and(is_local.choice(Truth::Constant(true), compare(Order::Gt, &len, &capacity)));
        Ok(text(at, target_of(&pointer)?, len, invalid))
    }

    /// An element of a row; an index beyond its end asks.
    pub(super) fn element(&self, row: &Row, index: Int) -> Result<Found, Reason> {
        let (element, size) = match row.text {
            Some(unit) => {
                let (kind, name) = match (unit, self.language) {
                    (1, Language::Rust) => (ScalarKind::Unsigned, "u8"),
                    (1, _) => (ScalarKind::SignedChar, "char"),
                    (2, _) => (ScalarKind::Utf, "char16_t"),
                    _ => (ScalarKind::Utf, "char32_t"),
                };
                (Ty::Builtin(Scalar::new(kind, unit as u8), name), unit)
            }
            None => (row.element.clone(), row.element.size().unwrap_or(0)),
        };
        let index = match &index {
            Int::Constant(known) => {
                let beyond = compare(Order::Le, &row.len, &Int::Constant(*known));
                let at = Int::Unless(
                    Box::new(row.invalid.clone().or(beyond)),
                    Box::new(row.at.clone()),
                );
                let address = Address::pointed(at).plus(known.wrapping_mul(size));
                return Ok(Found::new(element, Place::Memory(address)));
            }
            _ => within(index, row.len.clone())?,
        };
        let at = match &row.invalid {
            Truth::Constant(false) => row.at.clone(),
            invalid => Int::Unless(Box::new(invalid.clone()), Box::new(row.at.clone())),
        };
        let address = Address::pointed(at).indexed(index, size);
        Ok(Found::new(element, Place::Memory(address)))
    }

    /// Whether a Rust enum is at a variant; `None`: it has none of the name.
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
            _ => super::numbers::of_enumeration(&tag.ty).unwrap_or(Scalar::new(
                ScalarKind::Unsigned,
                tag.ty.size().unwrap_or(8).min(16) as u8,
            )),
        };
        let width = super::numbers::width(scalar)?;
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
            // Neither is garbage.
            None => this.choice(
                Truth::Constant(true),
                others.choice(Truth::Constant(false), Truth::Ask),
            ),
        }))
    }

    /// A member of what a Rust enum holds at the only variant that has one of the name; at
    /// another variant it asks.
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

    /// A part of a variant's; at another variant it asks.
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
        // The address is what depends on it: whatever is read there is read after the question.
        let place = match is {
            Truth::Constant(true) => Place::Memory(address.clone()),
            is => {
                let at = Box::new(address.clone().number());
                Place::Memory(Address::of(
                    super::code::Base::Int(Int::Unless(Box::new(is.not()), at)),
                    0,
                ))
            }
        };
        Ok(Found {
            bits: part.bits,
            ..Found::new(part.ty, place)
        })
    }

    /// `object.name(arguments)`, of methods that need no call.
    pub(super) fn method(
        &self,
        object: &Found,
        name: &str,
        arguments: &[Node],
    ) -> Result<Found, Reason> {
        let calls = || Reason(format!("it calls `{name}`"));
        let mut value = object.clone();
        for _ in 0..DEREFERENCES {
            if let Shape::Composite(ty) = value.ty.shape() {
                if let Some(found) = self.of_option(&value, &ty, name, arguments)? {
                    return Ok(found);
                }
                if ty.visualizer().is_some() {
                    let row = self
                        .row(&value)
                        .map_err(|_| Reason(format!("`{name}()` walks the container")))?;
                    let row = row.ok_or_else(calls)?;
                    return self.of_row(&row, name, arguments)?.ok_or_else(calls);
                }
                return Err(calls());
            }
            match value.ty.shape() {
                Shape::Array(array) => {
                    let Place::Memory(address) = value.place else {
                        return Err(calls());
                    };
                    let row = Row {
                        at: address.number(),
                        element: array.element.clone(),
                        len: Int::Constant(array.count.unwrap_or(0)),
                        text: None,
                        invalid: Truth::Constant(false),
                    };
                    return self.of_row(&row, name, arguments)?.ok_or_else(calls);
                }
                Shape::Pointer(of, _) => value = pointee(&value, of)?,
                _ => return Err(calls()),
            }
        }
        Err(calls())
    }

    fn of_option(
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

    fn of_row(&self, row: &Row, name: &str, arguments: &[Node]) -> Result<Option<Found>, Reason> {
        let checked = |int: Int| match &row.invalid {
            Truth::Constant(false) => int,
            invalid => Int::Unless(Box::new(invalid.clone()), Box::new(int)),
        };
        let units = |bytes: Int| match row.text {
            Some(2) => Err("text of wide characters"),
            Some(4) => Err("text of wide characters"),
            _ => Ok(bytes),
        };
        Ok(Some(match (name, arguments) {
            ("len" | "size" | "count", []) => self.length(checked(units(row.len.clone())?)),
            ("length", []) => self.length(checked(units(row.len.clone())?)),
            ("is_empty" | "empty", []) => {
                let none = compare(Order::Eq, &row.len, &Int::Constant(0));
                let none = match &row.invalid {
                    Truth::Constant(false) => none,
                    invalid => invalid.clone().choice(Truth::Ask, none),
                };
                self.boolean(none)
            }
            ("first" | "front", []) => self.element(row, Int::Constant(0))?,
            ("get" | "at", [index]) => {
                let by = self.index_number(&self.value(index)?, index)?;
                self.element(row, by)?
            }
            _ => return Ok(None),
        }))
    }

    fn length(&self, len: Int) -> Found {
        let like = crate::eval::arith::size(0, self.language);
        Found::new(like.ty, Place::Int(len, Width::WORD))
    }
}

fn text(at: Int, element: Ty, len: Int, invalid: Truth) -> Row {
    let unit = element.size().filter(|size| matches!(size, 1 | 2 | 4));
    Row {
        at,
        text: Some(unit.unwrap_or(1)),
        element,
        len,
        invalid,
    }
}

/// Elements at address 0.
fn nowhere(at: &Int, len: &Int) -> Truth {
    let zero = Int::Constant(0);
    compare(Order::Eq, at, &zero).and(compare(Order::Ne, len, &zero))
}

/// Whether a discriminant is in a range, whatever sign the debug info gives it.
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
