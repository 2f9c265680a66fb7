//! A method's evaluation: what its function in a table sees.

use super::elements::Elements;
use super::method::Class;
use super::number::{Wanted, integer};
use super::text::Text;
use crate::ids::error::Error;
use crate::inspect::value::scalar::Int;
use crate::inspect::value::{Target, Ty, Value, ValueLocation};
use crate::inspect::visualize::{self, View};
use std::sync::Arc;

/// A call of a method of a library's class.
pub(super) struct Call<'a> {
    pub target: &'a dyn Target,
    pub class: &'a Class,
    pub object: &'a Value,
    pub arguments: &'a [Value],
    /// Type of the result.
    pub returns: &'a Ty,
    pub name: &'static str,
}

pub(super) fn no_argument() -> Error {
    Error::eval("an argument is missing")
}

/// The error of an index that is out of range.
pub(super) fn out_of_range(index: i128, len: u64) -> Error {
    Error::eval(format!("index {index} is out of range: length is {len}"))
}

/// The error of an element of an empty container.
pub(super) fn empty() -> Error {
    Error::eval("no element: the container is empty")
}

impl Call<'_> {
    /// Returns a number as a value of the result's type.
    pub fn number(&self, bits: u128) -> Value {
        let size = self.returns.size().unwrap_or(8).min(16) as usize;
        Value::of_bytes(self.returns.clone(), &bits.to_le_bytes()[..size])
    }

    /// Returns a truth value.
    pub fn truth(&self, truth: bool) -> Value {
        self.number(u128::from(truth))
    }

    /// Returns the object's type.
    pub fn object_type(&self) -> &Ty {
        &self.class.ty
    }

    /// Returns an argument.
    pub fn argument(&self, index: usize) -> Result<&Value, Error> {
        self.arguments.get(index).ok_or_else(no_argument)
    }

    /// Returns an argument that is an integer.
    pub fn integer(&self, index: usize) -> Result<Int, Error> {
        integer(self.target, self.argument(index)?)
    }

    /// Returns an argument that is a position, or the default.
    pub fn position(&self, index: usize, default: u64) -> Result<u64, Error> {
        if index >= self.arguments.len() {
            return Ok(default);
        }
        let int = self.integer(index)?;
        match int.is_negative() {
            // -1 is converted to `npos`.
            true if self.class.language != dwarf::Language::Rust => Ok(int.value() as u64),
            true => Err(Error::eval(format!("negative index {}", int.value()))),
            false => Ok(u64::try_from(int.bits).unwrap_or(u64::MAX)),
        }
    }

    /// Returns the first argument as an index below `len`.
    pub fn index_below(&self, len: u64) -> Result<u64, Error> {
        let index = self.integer(0)?.value();
        let found = u64::try_from(index).ok().filter(|index| *index < len);
        found.ok_or_else(|| out_of_range(index, len))
    }

    /// Returns the first argument as what is looked for.
    pub fn wanted(&self) -> Result<Wanted<'_>, Error> {
        Wanted::of(self.target, self.argument(0)?)
    }

    /// Returns the object's elements.
    pub fn elements(&self) -> Result<Elements, Error> {
        Elements::of(self.target, self.object)
    }

    /// Returns the object's text.
    pub fn text(&self) -> Result<Text, Error> {
        Text::of(self.target, self.object)?.ok_or_else(|| self.unreadable())
    }

    /// Returns an argument's text.
    pub fn text_of(&self, index: usize) -> Result<Text, Error> {
        let value = self.argument(index)?;
        Text::of(self.target, value)?
            .ok_or_else(|| Error::eval(format!("expected a string, found `{}`", value.ty.name())))
    }

    /// Returns what the object's view stands for: the target of a pointer, the value of an
    /// optional; `None` if there is none.
    pub fn held(&self) -> Result<Option<Value>, Error> {
        held(self.target, self.object)
    }

    /// Returns a member, under one of its names in several versions, at a path.
    pub fn member(&self, paths: &[&[&str]]) -> Result<Value, Error> {
        let mut found = paths
            .iter()
            .filter_map(|path| visualize::need(self.target, self.object, path).ok());
        found.next().ok_or_else(|| self.unreadable())
    }

    /// Returns a place as Rust's `&T`.
    pub fn reference(&self, place: &Value) -> Result<Value, Error> {
        match place.address() {
            Some(addr) => Ok(Value::reference_to(place.ty.clone(), addr)),
            // What the expression makes has no address.
            None if matches!(
                place.place,
                ValueLocation::Bytes(_) | ValueLocation::Pieces(..)
            ) =>
            {
                let ty = place.ty.clone().reference();
                let of = ValueLocation::Temporary(Arc::new(place.clone()));
                Ok(Value::new(ty, of))
            }
            None => Err(Error::eval("cannot take the address: not in memory")),
        }
    }

    /// Returns `Some(value)` or `None`.
    pub fn option(&self, value: Option<Value>) -> Result<Value, Error> {
        let name = if value.is_some() { "Some" } else { "None" };
        Value::variant(self.target, self.returns.clone(), name, value.as_ref())
    }

    /// The error of an object that has not the expected members.
    pub fn unreadable(&self) -> Error {
        Error::Unsupported(format!(
            "cannot read `{}`: its members are unknown",
            self.class.ty.name()
        ))
    }
}

/// Returns what a value's view stands for; `None` if there is none.
///
/// # Errors
/// The value is inconsistent, or has another view.
pub(super) fn held(target: &dyn Target, value: &Value) -> Result<Option<Value>, Error> {
    match visualize::view(target, value) {
        Some(View::Pointee(value) | View::Noted(value, _)) => Ok(Some(value)),
        Some(View::Plain(_)) => Ok(None),
        Some(View::Invalid(why)) => Err(Error::eval(why)),
        _ => Err(Error::Unsupported(format!(
            "cannot read `{}`: its members are unknown",
            value.ty.name()
        ))),
    }
}
