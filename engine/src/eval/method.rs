//! Methods of containers, strings, options and numbers that are known without running anything:
//! what they answer is read through the type's view.

use super::arith;
use super::convert;
use super::run::{DEREFERENCES, Key, Run};
use crate::error::Error;
use crate::value::place::Bytes;
use crate::value::scalar::{Int, Number, Scalar, ScalarKind};
use crate::value::{Place, PointerKind, Shape, Ty, Value, members};
use crate::visualize::{self, Collection, CollectionKind, View};
use dwarf::{Language, LoadAddr};

/// Elements that `contains` looks at most.
const SEARCHED: u64 = 1 << 16;

/// Methods by what they are asked of, for completions.
pub const OF_TEXT: &[&str] = &[
    "len",
    "size",
    "length",
    "empty",
    "is_empty",
    "as_str",
    "c_str",
    "data",
    "as_ptr",
    "at",
    "get",
    "front",
    "back",
    "first",
    "last",
    "starts_with",
    "ends_with",
    "contains",
    "capacity",
];
/// Of elements in a row.
pub const OF_SEQUENCE: &[&str] = &[
    "len", "size", "empty", "is_empty", "at", "get", "front", "back", "first", "last", "data",
    "as_ptr", "contains", "capacity",
];
/// Of maps and sets.
pub const OF_KEYS: &[&str] = &[
    "len",
    "size",
    "empty",
    "is_empty",
    "at",
    "get",
    "contains",
    "contains_key",
    "count",
];
/// Of what may be there or not.
pub const OF_OPTION: &[&str] = &["is_some", "is_none", "is_ok", "is_err", "unwrap", "expect"];

impl Run<'_> {
    /// `object.name(arguments)`, if that is a method known here.
    ///
    /// # Errors
    /// It is one, and there is no answer: an index out of range, `unwrap` of nothing.
    pub(super) fn known_method(
        &self,
        object: &Value,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut value = object.clone();
        for _ in 0..DEREFERENCES {
            if let Some(found) = self.of_option(&value, name, arguments)? {
                return Ok(Some(found));
            }
            let found = match visualize::view(target, &value) {
                Some(View::Text { at, len, unit }) => {
                    self.of_text(&value, (at, len, unit as u64), name, arguments)?
                }
                Some(View::Sequence { at, element, len }) => {
                    self.of_sequence(&value, (at, element, len), name, arguments)?
                }
                Some(View::Collection(it)) => self.of_collection(&it, name, arguments)?,
                Some(View::Pointee(next) | View::Noted(next, _)) => {
                    if let ("get" | "as_ptr" | "as_ref", [], Some(addr)) =
                        (name, arguments, next.address())
                    {
                        return Ok(Some(Value::pointer_to(next.ty, addr)));
                    }
                    value = next;
                    continue;
                }
                Some(View::Invalid(why)) => return Err(Error::eval(why)),
                Some(View::Fields { .. } | View::Plain(_)) | None => None,
            };
            if found.is_some() {
                return Ok(found);
            }
            match value.ty.shape() {
                Shape::Array(array) => {
                    let Place::Memory(at, _) = value.place else {
                        return Ok(None);
                    };
                    let len = array.count.unwrap_or(0);
                    let row = (at, array.element.clone(), len);
                    return self.of_sequence(&value, row, name, arguments);
                }
                Shape::Scalar(_) if self.language == Language::Rust => {
                    return self.of_number(&value, name, arguments);
                }
                Shape::Pointer(of, _) => value = value.pointee(target, of)?,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    fn length(&self, len: u64) -> Option<Value> {
        Some(arith::size(len, self.language))
    }

    fn truth_value(&self, truth: bool) -> Option<Value> {
        Some(arith::boolean(truth, self.language))
    }

    /// Rust's `Option` and `Result`, C++'s `std::optional`.
    fn of_option(
        &self,
        value: &Value,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let Shape::Composite(ty) = value.ty.shape() else {
            return Ok(None);
        };
        if let ("has_value" | "value" | "value_or", true) = (name, ty.ty.name.contains("optional<"))
        {
            let engaged = visualize::need(target, value, &["_M_payload", "_M_engaged"])?;
            let engaged = engaged.raw(target)? != 0;
            return match (name, engaged, arguments) {
                ("has_value", ..) => Ok(self.truth_value(engaged)),
                (_, true, _) => {
                    let path = ["_M_payload", "_M_payload", "_M_value"];
                    visualize::need(target, value, &path).map(Some)
                }
                ("value_or", false, [other]) => Ok(Some(other.clone())),
                _ => Err(Error::eval("there is no value in it")),
            };
        }
        if !OF_OPTION.contains(&name) && !matches!(name, "unwrap_err" | "unwrap_or") {
            return Ok(None);
        }
        let Some((variant, payload)) = members::active_variant(target, value, &ty)? else {
            return Ok(None);
        };
        let is = |wanted| Ok(self.truth_value(variant == wanted));
        match (name, variant.as_str(), arguments) {
            ("is_some", "Some" | "None", _) => is("Some"),
            ("is_none", "Some" | "None", _) => is("None"),
            ("is_ok", "Ok" | "Err", _) => is("Ok"),
            ("is_err", "Ok" | "Err", _) => is("Err"),
            ("unwrap" | "expect" | "unwrap_or", "Some" | "Ok", _) | ("unwrap_err", "Err", _) => {
                members::find(target, &payload, "0")
            }
            ("unwrap_or", "None" | "Err", [other]) => Ok(Some(other.clone())),
            ("unwrap" | "expect" | "unwrap_err", "None" | "Err" | "Ok", _) => {
                Err(Error::eval(format!("it is `{variant}`")))
            }
            _ => Ok(None),
        }
    }

    fn of_text(
        &self,
        value: &Value,
        (at, len, unit): (LoadAddr, u64, u64),
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let (kind, name_of) = match (unit, self.language) {
            (1, Language::Rust) => (ScalarKind::Unsigned, "u8"),
            (1, _) => (ScalarKind::SignedChar, "char"),
            (2, _) => (ScalarKind::Utf, "char16_t"),
            _ => (ScalarKind::Utf, "char32_t"),
        };
        let element = Ty::Builtin(Scalar::new(kind, unit as u8), name_of);
        match (name, arguments) {
            ("as_str" | "to_string" | "as_bytes" | "str", []) if unit == 1 => {
                let bytes = convert::string(target, value)?.unwrap_or_default();
                Ok(Some(Value::new(Ty::Text, Place::Bytes(Bytes::new(&bytes)))))
            }
            ("c_str" | "data" | "as_ptr", []) => Ok(Some(Value::pointer_to(element, at))),
            ("starts_with" | "ends_with" | "contains", [part]) if unit == 1 => {
                let all = convert::string(target, value)?.unwrap_or_default();
                let part = match convert::string(target, part)? {
                    Some(part) => part,
                    None => self.encoded_character(part)?,
                };
                let holds = match name {
                    "starts_with" => all.starts_with(&part),
                    "ends_with" => all.ends_with(&part),
                    _ => part.is_empty() || all.windows(part.len()).any(|it| it == part),
                };
                Ok(self.truth_value(holds))
            }
            _ => self.of_sequence(value, (at, element, len / unit.max(1)), name, arguments),
        }
    }

    /// A character as its bytes in UTF-8.
    fn encoded_character(&self, value: &Value) -> Result<Vec<u8>, Error> {
        let number = convert::operand(self.context.as_target(), value)?.number;
        let char = match number {
            Number::Int(int) => u32::try_from(int.bits).ok().and_then(char::from_u32),
            Number::Float(_) => None,
        };
        let char = char.ok_or_else(|| Error::eval("a string or character is expected"))?;
        Ok(char.to_string().into_bytes())
    }

    fn place_in(&self, index: &Value, len: u64) -> Result<u64, Error> {
        let index = convert::index(convert::operand(self.context.as_target(), index)?)?;
        u64::try_from(index)
            .ok()
            .filter(|index| *index < len)
            .ok_or_else(|| Error::eval(format!("there are {len} elements, none is [{index}]")))
    }

    fn of_sequence(
        &self,
        value: &Value,
        (at, element, len): (LoadAddr, Ty, u64),
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let stride = element.size().unwrap_or(0);
        let nth = |index: u64| {
            let addr = at + index.wrapping_mul(stride);
            Value::new(element.clone(), Place::Memory(addr, None))
        };
        Ok(match (name, arguments) {
            ("len" | "size" | "length" | "count", []) => self.length(len),
            ("empty" | "is_empty", []) => self.truth_value(len == 0),
            ("front" | "first" | "back" | "last", []) if len == 0 => {
                return Err(Error::eval("it is empty"));
            }
            ("front" | "first", []) => Some(nth(0)),
            ("back" | "last", []) => Some(nth(len - 1)),
            ("at" | "get", [index]) => Some(nth(self.place_in(index, len)?)),
            ("data" | "as_ptr", []) => Some(Value::pointer_to(element, at)),
            ("contains", [wanted]) => {
                let wanted = Key::of(target, wanted);
                for index in 0..len.min(SEARCHED) {
                    if index % 1024 == 0 && target.cancelled() {
                        return Err(Error::Cancelled);
                    }
                    if wanted.is(target, &nth(index)) {
                        return Ok(self.truth_value(true));
                    }
                }
                if len > SEARCHED {
                    return Err(Error::eval(format!(
                        "it is not among the first {SEARCHED} of {len} elements"
                    )));
                }
                self.truth_value(false)
            }
            ("capacity", []) => self.capacity(value, stride)?,
            _ => None,
        })
    }

    /// Of `Vec`, `String`, `std::vector`, `std::string`.
    fn capacity(&self, value: &Value, stride: u64) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let word = |path: &[&str]| {
            let value = visualize::need(target, value, path).ok()?;
            visualize::word(target, &value).ok()
        };
        let rust = [
            &["buf", "inner", "cap"][..],
            &["vec", "buf", "inner", "cap"],
            &["buf", "cap"],
            &["vec", "buf", "cap"],
        ];
        if let Some(capacity) = rust.iter().find_map(|path| word(path)) {
            return Ok(self.length(capacity));
        }
        let ends = (
            word(&["_M_impl", "_M_start"]),
            word(&["_M_impl", "_M_end_of_storage"]),
        );
        if let (Some(start), Some(end)) = ends {
            return Ok(self.length(end.wrapping_sub(start) / stride.max(1)));
        }
        if let (Some(data), Ok(own)) = (
            word(&["_M_dataplus", "_M_p"]),
            visualize::need(target, value, &["_M_local_buf"]),
        ) {
            // A short one is in the object itself: 16 bytes with the terminator.
            let is_local = own.address().is_some_and(|own| own.0 == data);
            let capacity = match is_local {
                true => Some(16 / stride.max(1) - 1),
                false => word(&["_M_allocated_capacity"]),
            };
            return Ok(capacity.and_then(|capacity| self.length(capacity)));
        }
        Ok(None)
    }

    fn of_collection(
        &self,
        all: &Collection,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let nth = |index: u64| -> Result<Value, Error> {
            let (items, lost) = all.items(target, index..index + 1)?;
            match (items.into_iter().next(), lost) {
                (Some(item), _) => Ok(item.value),
                (None, Some(error)) => Err(error),
                (None, None) => Err(Error::eval("the element is not there")),
            }
        };
        let counted = |found: bool| match name {
            "count" => self.length(u64::from(found)),
            _ => self.truth_value(found),
        };
        Ok(match (name, arguments) {
            ("len" | "size" | "length", []) => self.length(all.known_len()?),
            ("empty" | "is_empty", []) => self.truth_value(all.len == 0),
            ("front" | "first" | "back" | "last", []) if all.len == 0 => {
                return Err(Error::eval("it is empty"));
            }
            ("front" | "first", []) => Some(nth(0)?),
            ("back" | "last", []) => Some(nth(all.known_len()? - 1)?),
            ("contains_key" | "contains" | "count", [wanted])
                if all.kind == CollectionKind::Map =>
            {
                let wanted = Key::of(target, wanted);
                let fits = |have: &Value| wanted.is(target, have);
                counted(all.find(target, fits)?.is_some())
            }
            ("at" | "get", [wanted]) if all.kind == CollectionKind::Map => {
                let wanted = Key::of(target, wanted);
                let fits = |have: &Value| wanted.is(target, have);
                match all.find(target, fits)? {
                    Some(found) => Some(found),
                    None => return Err(Error::eval("there is no such key")),
                }
            }
            ("contains" | "count", [wanted]) => {
                let (items, _) = all.items(target, 0..all.len.min(SEARCHED))?;
                let wanted = Key::of(target, wanted);
                counted(items.iter().any(|it| wanted.is(target, &it.value)))
            }
            ("at" | "get", [index]) => Some(nth(self.place_in(index, all.reach())?)?),
            _ => None,
        })
    }

    /// Rust's numbers.
    fn of_number(
        &self,
        value: &Value,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let operand = convert::operand(target, value)?;
        let other = match arguments {
            [] => None,
            [other] => Some(convert::operand(target, other)?.number),
            _ => return Ok(None),
        };
        let int_value = |int: Int| Some(arith::integer(int, Language::Rust));
        Ok(match (name, operand.number, other) {
            ("abs", Number::Int(int), None) if int.signed => {
                let bits = int.value().unsigned_abs();
                if bits >> (u32::from(int.size) * 8 - 1) != 0 {
                    return Err(Error::eval("`abs` overflows here"));
                }
                int_value(Int::new(bits, int.size, true))
            }
            ("min" | "max", Number::Int(a), Some(Number::Int(b))) => {
                let b = Int::new(b.value() as u128, a.size, a.signed);
                let a_first = match a.signed {
                    true => a.value() <= b.value(),
                    false => a.bits <= b.bits,
                };
                int_value(if a_first == (name == "min") { a } else { b })
            }
            ("pow", Number::Int(base), Some(Number::Int(exponent))) => {
                let exact = u32::try_from(exponent.bits)
                    .ok()
                    .and_then(|exponent| base.value().checked_pow(exponent))
                    .map(|exact| Int::new(exact as u128, base.size, base.signed))
                    .filter(|it| {
                        Some(it.value()) == base.value().checked_pow(exponent.bits as u32)
                    });
                match exact {
                    Some(exact) => int_value(exact),
                    None => return Err(Error::eval("`pow` overflows here")),
                }
            }
            ("count_ones", Number::Int(int), None) => {
                int_value(Int::new(u128::from(int.bits.count_ones()), 4, false))
            }
            ("is_power_of_two", Number::Int(int), None) => {
                self.truth_value(int.bits.is_power_of_two())
            }
            (_, Number::Float(float), other) => {
                let result = match (name, other) {
                    ("abs", None) => float.abs(),
                    ("sqrt", None) => float.sqrt(),
                    ("floor", None) => float.floor(),
                    ("ceil", None) => float.ceil(),
                    ("round", None) => float.round(),
                    ("min", Some(Number::Float(other))) => float.min(other),
                    ("max", Some(Number::Float(other))) => float.max(other),
                    ("is_nan", None) => return Ok(self.truth_value(float.is_nan())),
                    _ => return Ok(None),
                };
                let number = match operand.scalar.kind {
                    ScalarKind::Float(format) => format.encode(result),
                    _ => None,
                };
                number.map(|bits| {
                    let size = usize::from(operand.scalar.size).min(16);
                    let bytes = Bytes::new(&bits.to_le_bytes()[..size]);
                    Value::new(value.ty.clone(), Place::Bytes(bytes))
                })
            }
            _ => None,
        })
    }
}

/// Methods that a value answers to, by name.
pub fn names(target: &dyn crate::value::Target, value: &Value) -> Vec<&'static str> {
    let mut value = value.clone();
    for _ in 0..DEREFERENCES {
        if let Shape::Composite(ty) = value.ty.shape() {
            if let Ok(Some((variant, _))) = members::active_variant(target, &value, &ty)
                && matches!(variant.as_str(), "Some" | "None" | "Ok" | "Err")
            {
                return OF_OPTION.to_vec();
            }
            if ty.ty.name.contains("optional<") {
                return vec!["has_value", "value", "value_or"];
            }
        }
        match visualize::view(target, &value) {
            Some(View::Text { .. }) => return OF_TEXT.to_vec(),
            Some(View::Sequence { .. }) => return OF_SEQUENCE.to_vec(),
            Some(View::Collection(all)) if all.kind == CollectionKind::List => {
                return OF_SEQUENCE.to_vec();
            }
            Some(View::Collection(_)) => return OF_KEYS.to_vec(),
            Some(View::Pointee(next) | View::Noted(next, _)) => {
                value = next;
                continue;
            }
            _ => {}
        }
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                match value.pointee(target, of) {
                    Ok(next) => value = next,
                    Err(_) => return Vec::new(),
                }
            }
            Shape::Array(_) if value.ty.language() == Language::Rust => {
                return OF_SEQUENCE.to_vec();
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}
