//! JSON into types, with errors that name the field.
//!
//! All messages are read by one deserializer, from a parsed [`Value`]: each further one would be
//! compiled for each type again, which is a tenth of the binary.

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde_json::{Map, Value};
use std::fmt::{self, Display, Formatter};

/// Parses a value.
///
/// # Errors
/// It is no `T`; the error names the field.
pub fn from_value<T: DeserializeOwned>(value: &Value) -> Result<T, FieldError> {
    T::deserialize(Reader(value))
}

/// Parses JSON.
///
/// # Errors
/// It is no JSON, or no `T`; the error names the field.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, FieldError> {
    let value: Value = serde_json::from_str(text).map_err(FieldError::custom)?;
    from_value(&value)
}

/// A step from a value to a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Segment {
    /// A member of an object.
    Key(String),
    /// An element of an array.
    Index(usize),
}

/// Why a value cannot be parsed, and where. Small, as it is part of each result.
#[derive(Debug)]
pub struct FieldError(Box<Failure>);

#[derive(Debug)]
struct Failure {
    /// The way to the field, innermost step first.
    reversed: Vec<Segment>,
    message: String,
}

impl FieldError {
    #[cold]
    #[inline(never)]
    fn in_member(mut self, key: &str) -> Self {
        self.0.reversed.push(Segment::Key(key.to_owned()));
        self
    }

    #[cold]
    #[inline(never)]
    fn in_element(mut self, index: usize) -> Self {
        self.0.reversed.push(Segment::Index(index));
        self
    }

    /// Returns the way to the field from outside.
    pub fn path(&self) -> Vec<Segment> {
        self.0.reversed.iter().rev().cloned().collect()
    }
}

impl Display for FieldError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.reversed.is_empty() {
            return f.write_str(&self.0.message);
        }
        let mut path = String::new();
        for segment in self.path() {
            match segment {
                Segment::Key(key) if path.is_empty() => path = key,
                Segment::Key(key) => path.push_str(&format!(".{key}")),
                Segment::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        write!(f, "`{path}`: {}", self.0.message)
    }
}

impl std::error::Error for FieldError {}

impl serde::de::Error for FieldError {
    fn custom<T: Display>(message: T) -> Self {
        Self(Box::new(Failure {
            reversed: Vec::new(),
            message: message.to_string(),
        }))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::custom(match unexpected {
            Unexpected::Unit => format!("invalid type: null, expected {expected}"),
            unexpected => format!("invalid type: {unexpected}, expected {expected}"),
        })
    }
}

/// A value to be parsed.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a Value);

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = FieldError;

    // Otherwise each field of a type would have a copy.
    #[inline(never)]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, number) => visitor.visit_f64(number.unwrap_or_default()),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(elements) => {
                let mut elements = Elements { elements, next: 0 };
                let read = visitor.visit_seq(&mut elements)?;
                match elements.next == elements.elements.len() {
                    true => Ok(read),
                    false => Err(FieldError::custom("too many elements")),
                }
            }
            Value::Object(members) => visitor.visit_map(Members {
                members: members.iter(),
                value: None,
            }),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, FieldError> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        let single = |members: &'de Map<String, Value>| match members.len() {
            1 => members.iter().next(),
            _ => None,
        };
        match self.0 {
            Value::String(name) => visitor.visit_enum(Variant {
                name,
                content: None,
            }),
            Value::Object(members) => match single(members) {
                Some((name, content)) => visitor.visit_enum(Variant {
                    name,
                    content: Some(content),
                }),
                None => Err(FieldError::invalid_type(Unexpected::Map, &"one variant")),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// The elements of an array.
struct Elements<'a> {
    elements: &'a [Value],
    next: usize,
}

impl<'de> SeqAccess<'de> for &mut Elements<'de> {
    type Error = FieldError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, FieldError> {
        let index = self.next;
        let Some(element) = self.elements.get(index) else {
            return Ok(None);
        };
        self.next += 1;
        let read = seed.deserialize(Reader(element));
        read.map(Some).map_err(|error| error.in_element(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.elements.len() - self.next)
    }
}

/// The members of an object.
struct Members<'a> {
    members: serde_json::map::Iter<'a>,
    /// The member whose name has been read.
    value: Option<(&'a str, &'a Value)>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = FieldError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, FieldError> {
        let Some((key, value)) = self.members.next() else {
            return Ok(None);
        };
        self.value = Some((key, value));
        let key: serde::de::value::BorrowedStrDeserializer<'de, FieldError> =
            serde::de::value::BorrowedStrDeserializer::new(key);
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, FieldError> {
        let Some((key, value)) = self.value.take() else {
            return Err(FieldError::custom("a value without a name"));
        };
        let read = seed.deserialize(Reader(value));
        read.map_err(|error| error.in_member(key))
    }
}

/// A variant of an enum.
struct Variant<'a> {
    name: &'a str,
    content: Option<&'a Value>,
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = FieldError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(
        self,
        seed: V,
    ) -> Result<(V::Value, Self), FieldError> {
        let name: serde::de::value::StrDeserializer<'de, FieldError> =
            self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl<'de> Variant<'de> {
    fn content(&self) -> Result<Reader<'de>, FieldError> {
        let content = self.content.map(Reader);
        content.ok_or_else(|| FieldError::custom(format!("`{}` without a value", self.name)))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = FieldError;

    fn unit_variant(self) -> Result<(), FieldError> {
        match self.content {
            None | Some(Value::Null) => Ok(()),
            Some(_) => Err(FieldError::custom(format!("`{}` has no value", self.name))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(
        self,
        seed: T,
    ) -> Result<T::Value, FieldError> {
        seed.deserialize(self.content()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, FieldError> {
        self.content()?.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, FieldError> {
        self.content()?.deserialize_any(visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;
    use std::collections::BTreeMap;

    #[derive(Deserialize, PartialEq, Debug)]
    #[serde(rename_all = "camelCase")]
    enum Shape {
        Point,
        Circle(f64),
        Box { width: u32, height: Option<i8> },
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct All {
        text: String,
        shapes: Vec<Shape>,
        pair: (bool, i64),
        by_name: BTreeMap<String, Value>,
        #[serde(default)]
        absent: Option<u8>,
    }

    fn sample() -> Value {
        json!({
            "text": "t",
            "shapes": ["point", {"circle": 2}, {"box": {"width": 3, "height": null}}],
            "pair": [true, -5],
            "by_name": {"a": [1.5]},
            "unknown": {},
        })
    }

    #[test]
    fn values_are_read_as_serde_json_reads_them() {
        let read: All = from_value(&sample()).expect("valid");
        let expected: All = serde_json::from_value(sample()).expect("valid");
        assert_eq!(read, expected);
        assert_eq!(read.shapes[1], Shape::Circle(2.0));
    }

    #[test]
    fn errors_name_the_way_to_the_field() {
        for (pointer, value, error) in [
            (
                "/text",
                json!(null),
                "`text`: invalid type: null, expected a string",
            ),
            (
                "/shapes/2/box/width",
                json!(-1),
                "`shapes[2].width`: invalid value",
            ),
            (
                "/shapes/0",
                json!("line"),
                "`shapes[0]`: unknown variant `line`",
            ),
            ("/pair", json!([true, 1, 2]), "`pair`: too many elements"),
            (
                "/shapes/1",
                json!("circle"),
                "`shapes[1]`: `circle` without a value",
            ),
        ] {
            let mut sample = sample();
            *sample.pointer_mut(pointer).expect("a field") = value;
            let message = from_value::<All>(&sample).expect_err(pointer).to_string();
            assert!(message.starts_with(error), "{message}");
        }
        let missing = from_value::<All>(&json!({"text": ""})).expect_err("no `shapes`");
        assert_eq!(missing.to_string(), "missing field `shapes`");
        let broken = from_json::<All>("{").expect_err("no JSON").to_string();
        assert!(broken.contains("EOF"), "{broken}");
    }
}
