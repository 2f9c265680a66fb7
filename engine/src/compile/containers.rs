//! Contiguous elements and text of standard containers, and the methods that need only these, by
//! the member names of [`crate::inspect::visualize`].

use super::code::{Address, BoolExpr, Int, Operation, Order, Width};
use super::lower::{Compiler, within};
use super::numbers::{address_in, int_of, width};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::check;
use crate::expr::evaluate::DEREFERENCES;
use crate::expr::ir::Expr;
use crate::inspect::library::{self, Method};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value};
use crate::inspect::visualize::libstdcxx::text_of_string;
use crate::inspect::visualize::standard::{Library, std_class};
use crate::inspect::visualize::{need, rust_std};
use dwarf::Language;
use std::sync::Arc;

/// The elements of a contiguous container.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Address of the first one.
    pub(super) at: Int,
    /// Their type.
    pub(super) element: Ty,
    /// Their number.
    pub(super) len: Int,
    /// Size of a unit in bytes if they are text.
    pub(super) text: Option<u64>,
    /// Whether the container is inconsistent.
    pub(super) invalid: BoolExpr,
}

pub(super) fn compare(order: Order, a: &Int, b: &Int) -> BoolExpr {
    BoolExpr::compare(order, false, a.clone(), b.clone())
}

impl Row {
    /// Returns whether the elements are the units of a text.
    pub(super) fn is_text(&self) -> bool {
        self.text.is_some()
    }
}

/// Returns a number or address within a value.
fn word(
    value: &RuntimeValue,
    read: impl Fn(&dyn Target, &Value) -> Result<Value, crate::Error>,
) -> Result<(Int, Ty), NotCompilable> {
    let found = probe::part(value, |target, object| read(target, object).map(Some))?;
    let found = found.ok_or("a member is missing")?;
    Ok((address_in(&found)?, found.ty))
}

fn named(value: &RuntimeValue, path: &'static [&'static str]) -> Result<(Int, Ty), NotCompilable> {
    word(value, |target, object| need(target, object, path))
}

fn target_of(pointer: &Ty) -> Result<Ty, NotCompilable> {
    match pointer.shape() {
        Shape::Pointer(of, _) => Ok(of),
        _ => Err("expected a pointer in it".into()),
    }
}

impl Compiler<'_> {
    /// Returns the elements of an array or of a contiguous standard container; `None` for other types.
    pub(super) fn row(&self, value: &RuntimeValue) -> Result<Option<Row>, NotCompilable> {
        if let RuntimeLocation::Referent(of) = &value.place {
            return self.row(of);
        }
        if let RuntimeLocation::Row(row) = &value.place {
            return Ok(Some((**row).clone()));
        }
        let ty = match (value.ty.shape(), &value.place) {
            (Shape::Composite(ty), _) => ty,
            (Shape::Array(array), RuntimeLocation::Memory(address)) => {
                let count = array.count.ok_or("an array of unknown length")?;
                if array.element.size() != Some(array.stride) {
                    return Err("an array with gaps".into());
                }
                return Ok(Some(Row {
                    at: address.clone().number(),
                    element: array.element.clone(),
                    len: Int::Constant(count),
                    text: None,
                    invalid: BoolExpr::Constant(false),
                }));
            }
            _ => return Ok(None),
        };
        if ty.visualizer().is_none() {
            return Ok(None);
        }
        let name = &*ty.ty.name;
        let head = &name[..name.find('<').filter(|at| *at > 0).unwrap_or(name.len())];
        let other = || NotCompilable::special_layout(&value.ty);
        let last = head.rsplit("::").next().unwrap_or(head);
        let row = match std_class(head) {
            Some((Library::Libstdcxx, "vector")) => self.vector(value)?,
            Some((Library::Libstdcxx, "basic_string" | "string")) => self.string(value)?,
            Some((_, "array")) => return self.std_array(value),
            Some((Library::Libstdcxx, "basic_string_view")) => {
                let (at, pointer) = named(value, &["_M_str"])?;
                let (len, _) = named(value, &["_M_len"])?;
                text(at, target_of(&pointer)?, len, BoolExpr::Constant(false))
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

    fn vec(&self, value: &RuntimeValue) -> Result<Row, NotCompilable> {
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
            _ => BoolExpr::Constant(false),
        };
        Ok(Row {
            invalid: beyond.or(self.too_many(&len, size)).or(nowhere(&at, &len)),
            at,
            element,
            len,
            text: None,
        })
    }

    /// Returns whether there are more elements than fit into an allocation.
    fn too_many(&self, len: &Int, size: u64) -> BoolExpr {
        match size {
            0 => BoolExpr::Constant(false),
            size => compare(Order::Gt, len, &Int::Constant(i64::MAX as u64 / size)),
        }
    }

    /// Returns the row of `&[T]`, `&str` and boxes of them.
    fn slice(&self, value: &RuntimeValue, ty: &Arc<DwarfTy>) -> Result<Row, NotCompilable> {
        let (at, pointer) = named(value, &["data_ptr"])?;
        let (len, _) = named(value, &["length"])?;
        let to = rust_std::pointee_name(&ty.ty.name);
        let element = target_of(&pointer)?;
        if to == "str" {
            let invalid = compare(Order::Gt, &len, &Int::Constant(i64::MAX as u64));
            return Ok(text(at, element, len, invalid));
        }
        if !to.starts_with('[') {
            return Err(NotCompilable::special_layout(&value.ty));
        }
        let element = rust_std::element_of_slice(to, &element);
        let size = element.size().unwrap_or(0);
        Ok(Row {
            invalid: self.too_many(&len, size).or(nowhere(&at, &len)),
            at,
            element,
            len,
            text: None,
        })
    }

    /// Returns the row of libstdc++'s `std::vector`.
    fn vector(&self, value: &RuntimeValue) -> Result<Row, NotCompilable> {
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
            (1, _) => BoolExpr::Constant(false),
            (size, true) => {
                let mask = Int::Constant(size - 1);
                BoolExpr::of(Int::binary(
                    Operation::And,
                    bytes.clone(),
                    mask,
                    Width::WORD,
                    false,
                ))
            }
            _ => BoolExpr::of(divide(Operation::Rem)),
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

    /// Returns the row of libstdc++'s `std::string`.
    fn string(&self, value: &RuntimeValue) -> Result<Row, NotCompilable> {
        let (at, pointer) = word(value, text_of_string)?;
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
        let RuntimeLocation::Memory(address) = local.place else {
            return Err("a string that is not in memory".into());
        };
        // Short strings are stored in the object.
        let is_local = compare(Order::Eq, &at, &address.number());
        let invalid = compare(Order::Gt, &len, &Int::Constant(room)).and(is_local.choice(
            BoolExpr::Constant(true),
            compare(Order::Gt, &len, &capacity),
        ));
        Ok(text(at, target_of(&pointer)?, len, invalid))
    }

    /// Returns an element of a row; deopt if the index is out of range.
    pub(super) fn element(&self, row: &Row, index: Int) -> Result<RuntimeValue, NotCompilable> {
        let element = row.element.clone();
        let size = element.size().unwrap_or(0);
        let index = match &index {
            Int::Constant(known) => {
                let beyond = compare(Order::Le, &row.len, &Int::Constant(*known));
                let at = Int::Unless(
                    Box::new(row.invalid.clone().or(beyond)),
                    Box::new(row.at.clone()),
                );
                let address = Address::pointed(at).plus(known.wrapping_mul(size));
                return Ok(RuntimeValue::new(element, RuntimeLocation::Memory(address)));
            }
            _ => within(index, row.len.clone())?,
        };
        let at = match &row.invalid {
            BoolExpr::Constant(false) => row.at.clone(),
            invalid => Int::Unless(Box::new(invalid.clone()), Box::new(row.at.clone())),
        };
        let address = Address::pointed(at).indexed(index, size);
        Ok(RuntimeValue::new(element, RuntimeLocation::Memory(address)))
    }

    /// Lowers an element of a container.
    pub(super) fn item(
        &self,
        container: &Expr<'_>,
        by: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let value = self.lower(container)?;
        match self.row(&value)? {
            Some(row) => self.element(&row, self.word(by)?),
            None => Err(NotCompilable::new(format!(
                "indexing a `{}` is not supported",
                value.ty.name()
            ))),
        }
    }

    /// Lowers a library's method of an object, the first operand.
    pub(super) fn answer(
        &self,
        method: &Method,
        operands: &[Expr<'_>],
    ) -> Result<RuntimeValue, NotCompilable> {
        let name = method.name();
        let Some((object, arguments)) = operands.split_first() else {
            return Err(NotCompilable::method(name));
        };
        let object = self.lower(object)?;
        if let (Some(comparison), [other]) = (method.comparison(), arguments) {
            return self.comparison(comparison, &object, &self.lower(other)?);
        }
        let value = object.each(&|object| match method.part() {
            Some(part) => self.part_named(&object.plain()?, part, &method.returns),
            None => self.method(object, method, arguments),
        })?;
        self.typed(value, &method.returns)
    }

    /// Gives a result the declared type: an argument (`value_or(3)`) may have another width.
    fn typed(&self, value: RuntimeValue, returns: &Ty) -> Result<RuntimeValue, NotCompilable> {
        let (from, to) = (check::scalar(&value.ty), check::scalar(returns));
        let (Some(from), Some(to)) = (from, to) else {
            return Ok(value);
        };
        if from == to || !from.is_integral() || !to.is_integral() {
            return Ok(value);
        }
        let (have, want) = (width(from)?, width(to)?);
        let int = int_of(&value, have)?.converted(have, want);
        let place = RuntimeLocation::Int(int, want);
        Ok(RuntimeValue::new(returns.clone(), place))
    }

    fn method(
        &self,
        object: &RuntimeValue,
        method: &Method,
        arguments: &[Expr<'_>],
    ) -> Result<RuntimeValue, NotCompilable> {
        let (name, returns) = (method.name(), &method.returns);
        let only_read = || NotCompilable::method(name);
        let mut value = object.clone();
        for _ in 0..DEREFERENCES {
            if let Some(end) = self.end_of(&value, method)? {
                return Ok(end);
            }
            if let Some(found) = self.of_iterator(&value, (name, arguments), returns)? {
                return Ok(found);
            }
            if let Some(found) = self.of_variant(&value, name, returns)? {
                return Ok(found);
            }
            if let Some(found) = self.of_scalar(&value, (name, arguments), returns)? {
                return Ok(found);
            }
            if let Some(found) = self.of_range(&value, (name, arguments))? {
                return Ok(found);
            }
            if let Some(found) = self.of_option(&value, name, arguments, returns)? {
                return Ok(found);
            }
            if let ("strong_count", []) = (name, arguments) {
                return self.owners_of(&value, returns);
            }
            if let Some(held) = self.held(&value)? {
                match self.of_held(held, name, arguments, returns)? {
                    Some(found) => return Ok(found),
                    None => break,
                }
            }
            if let Some(row) = self.row(&value)? {
                let found = self.of_row(&row, &value, (name, arguments), returns)?;
                return found.ok_or_else(only_read);
            }
            match (&value.place, value.ty.shape()) {
                (RuntimeLocation::Referent(of), _) => value = (**of).clone(),
                (_, Shape::Pointer(of, _)) => value = value.pointee(&of)?,
                _ => break,
            }
        }
        match (name, arguments) {
            // A string that is like a literal.
            ("to_string" | "to_owned" | "as_str" | "as_ref", []) if is_literal(&value) => {
                Ok(RuntimeValue::new(Ty::Text, value.place))
            }
            ("clone" | "to_owned", []) => Ok(value),
            _ => Err(only_read()),
        }
    }
}

/// Returns whether a value is a text that the expression has.
fn is_literal(value: &RuntimeValue) -> bool {
    matches!(value.place, RuntimeLocation::Bytes(_))
        && !matches!(value.ty.shape(), Shape::Composite(_))
        && library::is_text(&value.ty)
}

fn text(at: Int, element: Ty, len: Int, invalid: BoolExpr) -> Row {
    let unit = element.size().filter(|size| matches!(size, 1 | 2 | 4));
    Row {
        at,
        text: Some(unit.unwrap_or(1)),
        element,
        len,
        invalid,
    }
}

/// Returns whether elements would be at address 0.
fn nowhere(at: &Int, len: &Int) -> BoolExpr {
    let zero = Int::Constant(0);
    compare(Order::Eq, at, &zero).and(compare(Order::Ne, len, &zero))
}
