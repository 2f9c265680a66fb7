//! The values of constants, as their source makes them.

use super::Constant;
use std::sync::Arc;

/// Maximum number of values that one is made of.
const MAX_VALUES: usize = 1 << 16;

/// The value of a constant of Rust.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceValue {
    /// A number, `bool` or `char`.
    Number(Constant),
    /// A number whose type is that of the field which it is for: its digits, and whether a minus precedes them.
    Digits(u128, bool),
    /// The same with a point: the bits of the `f64`, of which an `f32` takes the nearest.
    Decimal(u64),
    /// A `&str`.
    Text(Arc<str>),
    /// A `&[u8; N]`.
    Bytes(Arc<[u8]>),
    /// A tuple.
    Tuple(Arc<[SourceValue]>),
    /// An array.
    Row(Arc<[SourceValue]>),
    /// An array of so many equal values.
    Filled(Arc<SourceValue>, u64),
    /// A reference to a value.
    Reference(Arc<SourceValue>),
    /// A reference to the elements of an array: `&[T]`.
    Slice(Arc<SourceValue>),
    /// `a..b`, `a..=b`
    Range(Option<Arc<SourceValue>>, Option<Arc<SourceValue>>, bool),
    /// `Some(x)`, or `None`.
    Optional(Option<Arc<SourceValue>>),
    /// A struct or variant, by the places that its path may mean (see [`crate::expr::EvalContext::source_paths`]),
    /// with the names of its fields; those of a tuple struct are numbers.
    Object(Arc<Object>),
}

/// A struct or variant that a constant is.
#[derive(PartialEq, Eq, Debug)]
pub struct Object {
    /// The places where its type or variant may be, a row for each scope, innermost first: it is the one that exists
    /// in the first row that has one.
    pub places: Vec<Vec<String>>,
    /// The names and values of its fields.
    pub fields: Vec<(String, SourceValue)>,
}

impl SourceValue {
    /// Returns its number.
    pub(super) fn number(&self) -> Option<Constant> {
        match self {
            SourceValue::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns of how many values it is made.
    fn count(&self) -> usize {
        let parts = |all: &[SourceValue]| all.iter().map(Self::count).sum::<usize>();
        1 + match self {
            SourceValue::Number(_)
            | SourceValue::Digits(..)
            | SourceValue::Decimal(_)
            | SourceValue::Text(_)
            | SourceValue::Bytes(_)
            | SourceValue::Optional(None) => 0,
            SourceValue::Tuple(all) | SourceValue::Row(all) => parts(all),
            SourceValue::Filled(of, _)
            | SourceValue::Reference(of)
            | SourceValue::Slice(of)
            | SourceValue::Optional(Some(of)) => of.count(),
            SourceValue::Range(from, to, _) => from.iter().chain(to).map(|it| it.count()).sum(),
            SourceValue::Object(of) => of.fields.iter().map(|it| it.1.count()).sum(),
        }
    }

    /// Returns the values that are made so far.
    ///
    /// # Errors
    /// They are too many: constants may be made of others again and again.
    pub(super) fn all<T>(
        parts: impl IntoIterator<Item = Result<T, String>>,
        of: impl Fn(&T) -> &SourceValue,
    ) -> Result<Vec<T>, String> {
        let (mut all, mut count) = (Vec::new(), 0);
        for part in parts {
            let part = part?;
            count += of(&part).count();
            if count > MAX_VALUES {
                return Err("its value is too large".to_owned());
            }
            all.push(part);
        }
        Ok(all)
    }

    /// Returns an element of a tuple, an array, or what refers to one; `None` if it has none of that number.
    pub(super) fn element(&self, at: usize) -> Option<SourceValue> {
        match self {
            SourceValue::Tuple(all) | SourceValue::Row(all) => all.get(at).cloned(),
            SourceValue::Bytes(all) => all.get(at).map(|byte| {
                SourceValue::Number(Constant {
                    ty: "u8",
                    bits: u128::from(*byte),
                })
            }),
            SourceValue::Filled(of, count) => {
                (u64::try_from(at).ok()? < *count).then(|| SourceValue::clone(of))
            }
            SourceValue::Reference(of) | SourceValue::Slice(of) => of.element(at),
            _ => None,
        }
    }

    /// Returns what it refers to, if that has a size.
    pub(super) fn target(&self) -> Option<SourceValue> {
        match self {
            SourceValue::Reference(of) => Some(SourceValue::clone(of)),
            SourceValue::Bytes(bytes) => {
                let all = (0..bytes.len()).map_while(|at| self.element(at));
                Some(SourceValue::Row(all.collect()))
            }
            _ => None,
        }
    }

    /// Returns a field by its name.
    pub(super) fn field(&self, name: &str) -> Option<SourceValue> {
        match self {
            SourceValue::Tuple(_) => self.element(name.parse().ok()?),
            SourceValue::Object(of) => {
                let found = of.fields.iter().find(|it| it.0 == name)?;
                Some(found.1.clone())
            }
            SourceValue::Reference(of) => of.field(name),
            _ => None,
        }
    }

    /// Returns the length of a text or array.
    pub(super) fn len(&self) -> Option<u64> {
        Some(match self {
            SourceValue::Text(text) => text.len() as u64,
            SourceValue::Bytes(bytes) => bytes.len() as u64,
            SourceValue::Row(all) => all.len() as u64,
            SourceValue::Filled(_, count) => *count,
            SourceValue::Reference(of) | SourceValue::Slice(of) => of.len()?,
            _ => return None,
        })
    }
}
