//! Methods of containers, strings, options and numbers that are evaluated without a call, by
//! reading through the type's view.

use super::access::Key;
use super::arith;
use super::convert;
use super::evaluate::{DEREFERENCES, Evaluator};
use super::messages;
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Int, Number, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize::{self, Collection, CollectionKind, View};
use dwarf::{Language, LoadAddr};

/// Maximum number of elements that `contains` examines.
const SEARCHED: u64 = 1 << 16;

/// A method of elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Method {
    Len,
    IsEmpty,
    First,
    Last,
    At,
    Data,
    /// The text itself.
    Text,
    StartsWith,
    EndsWith,
    Contains,
    Count,
    Capacity,
}

/// Bits for the kinds of values that methods are offered for.
const TEXT: u8 = 1;
const ROW: u8 = 2;
const KEYS: u8 = 4;

/// Methods of elements: name, meaning, number of arguments, and the values that they are offered
/// for.
const METHODS: &[(&str, Method, usize, u8)] = &[
    ("len", Method::Len, 0, TEXT | ROW | KEYS),
    ("size", Method::Len, 0, TEXT | ROW | KEYS),
    ("length", Method::Len, 0, TEXT),
    ("empty", Method::IsEmpty, 0, TEXT | ROW | KEYS),
    ("is_empty", Method::IsEmpty, 0, TEXT | ROW | KEYS),
    ("as_str", Method::Text, 0, TEXT),
    ("to_string", Method::Text, 0, 0),
    ("as_bytes", Method::Text, 0, 0),
    ("str", Method::Text, 0, 0),
    ("c_str", Method::Data, 0, TEXT),
    ("data", Method::Data, 0, TEXT | ROW),
    ("as_ptr", Method::Data, 0, TEXT | ROW),
    ("at", Method::At, 1, TEXT | ROW | KEYS),
    ("get", Method::At, 1, TEXT | ROW | KEYS),
    ("front", Method::First, 0, TEXT | ROW),
    ("first", Method::First, 0, TEXT | ROW),
    ("back", Method::Last, 0, TEXT | ROW),
    ("last", Method::Last, 0, TEXT | ROW),
    ("starts_with", Method::StartsWith, 1, TEXT),
    ("ends_with", Method::EndsWith, 1, TEXT),
    ("contains", Method::Contains, 1, TEXT | ROW | KEYS),
    ("contains_key", Method::Contains, 1, KEYS),
    ("count", Method::Count, 1, KEYS),
    ("count", Method::Len, 0, 0),
    ("capacity", Method::Capacity, 0, TEXT | ROW),
];

/// Methods of Rust's `Option` and `Result`: name, the variant for which it is true, the other
/// variant.
const IS: [(&str, &str, &str); 4] = [
    ("is_some", "Some", "None"),
    ("is_none", "None", "Some"),
    ("is_ok", "Ok", "Err"),
    ("is_err", "Err", "Ok"),
];
const UNWRAP: [&str; 4] = ["unwrap", "expect", "unwrap_err", "unwrap_or"];
const OF_OPTIONAL: [&str; 3] = ["has_value", "value", "value_or"];

/// Elements of a value.
enum Elements<'a> {
    /// Contiguous in memory.
    Row(LoadAddr, Ty, u64),
    /// Found by a walk.
    All(&'a Collection),
}

impl Elements<'_> {
    fn is_empty(&self) -> bool {
        self.reach() == 0
    }

    /// Returns the number of elements that can be indexed.
    fn reach(&self) -> u64 {
        match self {
            Elements::Row(.., len) => *len,
            Elements::All(all) => all.reach(),
        }
    }

    fn len(&self) -> Result<u64, Error> {
        match self {
            Elements::Row(.., len) => Ok(*len),
            Elements::All(all) => all.known_len(),
        }
    }

    fn nth(&self, target: &dyn Target, index: u64) -> Result<Value, Error> {
        match self {
            Elements::Row(at, element, _) => {
                let addr = *at + index.wrapping_mul(element.size().unwrap_or(0));
                Ok(Value::new(
                    element.clone(),
                    ValueLocation::Memory(addr, None),
                ))
            }
            Elements::All(all) => {
                let (items, lost) = all.items(target, index..index + 1)?;
                match (items.into_iter().next(), lost) {
                    (Some(item), _) => Ok(item.value),
                    (None, Some(error)) => Err(error),
                    (None, None) => Err(Error::eval(messages::ELEMENT_NOT_FOUND)),
                }
            }
        }
    }

    fn is_map(&self) -> bool {
        matches!(self, Elements::All(all) if all.kind == CollectionKind::Map)
    }

    /// Returns the value of a key, or the first element equal to `wanted`.
    fn find(&self, target: &dyn Target, wanted: &Value) -> Result<Option<Value>, Error> {
        let wanted = Key::of(target, wanted);
        let elements = match self {
            Elements::All(all) if self.is_map() => {
                return all.find(target, |have| wanted.is(target, have));
            }
            Elements::All(all) => {
                let (items, _) = all.items(target, 0..all.len.min(SEARCHED))?;
                let mut items = items.into_iter().map(|it| it.value);
                return Ok(items.find(|have| wanted.is(target, have)));
            }
            Elements::Row(.., len) => 0..(*len).min(SEARCHED),
        };
        for index in elements {
            if index % 1024 == 0 && target.cancelled() {
                return Err(Error::Cancelled);
            }
            let have = self.nth(target, index)?;
            if wanted.is(target, &have) {
                return Ok(Some(have));
            }
        }
        match self.reach() {
            len @ SEARCHED.. if len > SEARCHED => Err(Error::eval(format!(
                "not found among the first {SEARCHED} of {len} elements"
            ))),
            _ => Ok(None),
        }
    }
}

impl Evaluator<'_> {
    /// Evaluates `object.name(arguments)` if the method is known here.
    ///
    /// # Errors
    /// The method is known, but has no result: an index out of range, `unwrap` of an empty option.
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
                    self.of_text(&value, (at, len, unit), name, arguments)?
                }
                Some(View::Sequence { at, element, len }) => {
                    let row = Elements::Row(at, element, len);
                    self.of_elements(&value, &row, name, arguments)?
                }
                Some(View::Collection(all)) => {
                    self.of_elements(&value, &Elements::All(&all), name, arguments)?
                }
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
                    let ValueLocation::Memory(at, _) = value.place else {
                        return Ok(None);
                    };
                    let len = array.count.unwrap_or(0);
                    let row = Elements::Row(at, array.element.clone(), len);
                    return self.of_elements(&value, &row, name, arguments);
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

    /// Evaluates methods of Rust's `Option` and `Result`, and of C++'s `std::optional`.
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
        if OF_OPTIONAL.contains(&name) && ty.ty.name.contains("optional<") {
            // The names in libstdc++ and libc++.
            let part = |ours: &[&str], theirs: &str| {
                visualize::need(target, value, ours)
                    .or_else(|_| visualize::need(target, value, &[theirs]))
            };
            let engaged = part(&["_M_payload", "_M_engaged"], "__engaged_")?;
            let engaged = engaged.raw(target)? != 0;
            return match (name, engaged, arguments) {
                ("has_value", ..) => Ok(self.truth_value(engaged)),
                (_, true, _) => part(&["_M_payload", "_M_payload", "_M_value"], "__val_").map(Some),
                ("value_or", false, [other]) => Ok(Some(other.clone())),
                _ => Err(Error::eval("no value: the optional is empty")),
            };
        }
        let is = IS.iter().find(|it| it.0 == name);
        if is.is_none() && !UNWRAP.contains(&name) {
            return Ok(None);
        }
        let Some((variant, payload)) = members::active_variant(target, value, &ty)? else {
            return Ok(None);
        };
        if let Some((_, this, other)) = is {
            let is_one_of_them = variant == *this || variant == *other;
            return Ok(self
                .truth_value(variant == *this)
                .filter(|_| is_one_of_them));
        }
        match (name, variant.as_str(), arguments) {
            ("unwrap" | "expect" | "unwrap_or", "Some" | "Ok", _) | ("unwrap_err", "Err", _) => {
                members::find(target, &payload, "0")
            }
            ("unwrap_or", "None" | "Err", [other]) => Ok(Some(other.clone())),
            (_, "Some" | "None" | "Ok" | "Err", _) if name != "unwrap_or" => Err(Error::eval(
                format!("cannot unwrap: the value is `{variant}`"),
            )),
            _ => Ok(None),
        }
    }

    fn of_text(
        &self,
        value: &Value,
        (at, len, unit): (LoadAddr, u64, Unit),
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let method = method_named(name, arguments.len());
        match (method, arguments) {
            (Some(Method::Text), _) if unit == Unit::Byte => {
                let bytes = convert::string(target, value)?.unwrap_or_default();
                Ok(Some(Value::new(
                    Ty::Text,
                    ValueLocation::Bytes(Bytes::new(&bytes)),
                )))
            }
            (Some(Method::StartsWith | Method::EndsWith | Method::Contains), [part])
                if unit == Unit::Byte =>
            {
                let all = convert::string(target, value)?.unwrap_or_default();
                let part = match convert::string(target, part)? {
                    Some(part) => part,
                    None => self.encoded_character(part)?,
                };
                let holds = match method {
                    Some(Method::StartsWith) => all.starts_with(&part),
                    Some(Method::EndsWith) => all.ends_with(&part),
                    _ => part.is_empty() || all.windows(part.len()).any(|it| it == part),
                };
                Ok(self.truth_value(holds))
            }
            _ => {
                let element = unit.element(self.language);
                let row = Elements::Row(at, element, len / unit.size() as u64);
                self.of_elements(value, &row, name, arguments)
            }
        }
    }

    /// Encodes a character as UTF-8.
    fn encoded_character(&self, value: &Value) -> Result<Vec<u8>, Error> {
        let number = convert::operand(self.context.as_target(), value)?.number;
        let char = match number {
            Number::Int(int) => u32::try_from(int.bits).ok().and_then(char::from_u32),
            Number::Float(_) => None,
        };
        let char = char.ok_or_else(|| Error::eval("expected a string or character"))?;
        Ok(char.to_string().into_bytes())
    }

    fn place_in(&self, index: &Value, len: u64) -> Result<u64, Error> {
        let index = convert::index(convert::operand(self.context.as_target(), index)?)?;
        u64::try_from(index)
            .ok()
            .filter(|index| *index < len)
            .ok_or_else(|| Error::eval(messages::index_range(index, len)))
    }

    fn of_elements(
        &self,
        value: &Value,
        elements: &Elements<'_>,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let Some(method) = method_named(name, arguments.len()) else {
            return Ok(None);
        };
        Ok(match (method, arguments, elements) {
            (Method::Len, ..) => self.length(elements.len()?),
            (Method::IsEmpty, ..) => self.truth_value(elements.is_empty()),
            (Method::First | Method::Last, ..) if elements.is_empty() => {
                return Err(Error::eval("no element: the container is empty"));
            }
            (Method::First, ..) => Some(elements.nth(target, 0)?),
            (Method::Last, ..) => Some(elements.nth(target, elements.len()? - 1)?),
            (Method::At, [key], _) if elements.is_map() => match elements.find(target, key)? {
                Some(found) => Some(found),
                None => return Err(Error::eval(messages::KEY_NOT_FOUND)),
            },
            (Method::At, [index], _) => {
                let index = self.place_in(index, elements.reach())?;
                Some(elements.nth(target, index)?)
            }
            (Method::Contains, [wanted], _) => {
                self.truth_value(elements.find(target, wanted)?.is_some())
            }
            (Method::Count, [wanted], Elements::All(_)) => {
                self.length(u64::from(elements.find(target, wanted)?.is_some()))
            }
            (Method::Data, _, Elements::Row(at, element, _)) => {
                Some(Value::pointer_to(element.clone(), *at))
            }
            (Method::Capacity, _, Elements::Row(_, element, _)) => {
                self.capacity(value, element.size().unwrap_or(0))?
            }
            _ => None,
        })
    }

    /// Returns the capacity of `Vec`, `String`, `std::vector`, `std::string`.
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
            visualize::libstdcxx::text_of_string(target, value)
                .and_then(|text| visualize::word(target, &text))
                .ok(),
            visualize::need(target, value, &["_M_local_buf"]),
        ) {
            // A short string is stored in the object: 16 bytes with the terminator.
            let is_local = own.address().is_some_and(|own| own.0 == data);
            let capacity = match is_local {
                true => Some(16 / stride.max(1) - 1),
                false => word(&["_M_allocated_capacity"]),
            };
            return Ok(capacity.and_then(|capacity| self.length(capacity)));
        }
        Ok(None)
    }

    /// Evaluates methods of Rust's numbers.
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
                    return Err(Error::eval("`abs` overflows"));
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
                    None => return Err(Error::eval("`pow` overflows")),
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
                    Value::new(value.ty.clone(), ValueLocation::Bytes(bytes))
                })
            }
            _ => None,
        })
    }
}

/// Returns the method with that name and number of arguments.
fn method_named(name: &str, arguments: usize) -> Option<Method> {
    let known = METHODS.iter().find(|it| it.0 == name && it.2 == arguments);
    known.map(|it| it.1)
}

/// Returns the names of the methods for one of [`TEXT`], [`ROW`] and [`KEYS`].
fn offered(of: u8) -> Vec<&'static str> {
    let all = METHODS.iter().filter(|it| it.3 & of != 0);
    all.map(|it| it.0).collect()
}

/// Returns the names of the methods that a value has.
pub fn names(target: &dyn crate::inspect::value::Target, value: &Value) -> Vec<&'static str> {
    let mut value = value.clone();
    for _ in 0..DEREFERENCES {
        if let Shape::Composite(ty) = value.ty.shape() {
            if let Ok(Some((variant, _))) = members::active_variant(target, &value, &ty)
                && matches!(variant.as_str(), "Some" | "None" | "Ok" | "Err")
            {
                return IS.iter().map(|it| it.0).chain(UNWRAP).collect();
            }
            if ty.ty.name.contains("optional<") {
                return OF_OPTIONAL.to_vec();
            }
        }
        match visualize::view(target, &value) {
            Some(View::Text { .. }) => return offered(TEXT),
            Some(View::Sequence { .. }) => return offered(ROW),
            Some(View::Collection(all)) if all.kind == CollectionKind::List => {
                return offered(ROW);
            }
            Some(View::Collection(_)) => return offered(KEYS),
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
                return offered(ROW);
            }
            _ => return Vec::new(),
        }
    }
    Vec::new()
}
