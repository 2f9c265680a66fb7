//! Iterators of C++'s containers that are one pointer, and the ends of the containers.

use super::code::{BoolExpr, Int, Operation, Order, Width};
use super::containers::{Row, compare};
use super::followed::followed;
use super::lower::Compiler;
use super::owners::Held;
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::expr::ir::Expr;
use crate::inspect::library::{self, Contents, Method};
use crate::inspect::value::{Shape, Ty};
use crate::inspect::visualize::{View, view};
use dwarf::Language;

impl Compiler<'_> {
    /// Returns the element that an iterator refers to.
    #[inline(never)]
    pub(super) fn iterated(&self, value: &RuntimeValue, of: Ty) -> Result<Held, NotCompilable> {
        if !library::are_iterators(&value.ty, &value.ty) {
            return Err(NotCompilable::special_layout(&value.ty));
        }
        let found = followed(value, |target, object| match view(target, object) {
            Some(View::Pointee(element)) => Ok(Some(element)),
            _ => Ok(None),
        })?;
        let found = found.ok_or_else(|| NotCompilable::special_layout(&value.ty))?;
        let is_there = found.pointers.iter().map(|pointer| {
            let null = Int::Constant(0);
            compare(Order::Ne, pointer, &null)
        });
        Ok(Held {
            is_there: is_there.fold(BoolExpr::Constant(true), BoolExpr::and),
            value: RuntimeValue {
                ty: of.clone(),
                ..found.value
            },
            pointer: Some(RuntimeValue::new(
                of.pointer(),
                RuntimeLocation::Int(value.place.raw(0, Width::WORD)?, Width::WORD),
            )),
        })
    }

    /// Compiles arithmetic of an iterator over contiguous elements; `None` for other methods and types.
    #[inline(never)]
    pub(super) fn of_iterator(
        &self,
        value: &RuntimeValue,
        (name, arguments): (&str, &[Expr<'_>]),
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let element = match library::contents(&value.ty) {
            Some(Contents::Pointee(of)) if library::is_contiguous_iterator(&value.ty) => of,
            _ => return Ok(None),
        };
        let size = element.size().filter(|size| *size > 0);
        let size = size.ok_or("elements without a size")?;
        let at = value.place.raw(0, Width::WORD)?;
        let operation = match name {
            "operator+" | "operator[]" => Operation::Add,
            "operator-" => Operation::Sub,
            _ => return Ok(None),
        };
        let [by] = arguments else {
            return Ok(None);
        };
        let signed = Width {
            size: 8,
            signed: true,
        };
        let word = |operation, a, b| Int::binary(operation, a, b, Width::WORD, false);
        let other = self.lower(by)?.plain()?;
        if library::is_contiguous_iterator(&other.ty) {
            let bytes = word(Operation::Sub, at, other.place.raw(0, Width::WORD)?);
            let size = Int::Constant(size);
            let count = Int::binary(Operation::Div, bytes, size, signed, false);
            let place = RuntimeLocation::Int(count, signed);
            return Ok(Some(RuntimeValue::new(returns.clone(), place)));
        }
        let by = word(Operation::Mul, self.word(by)?, Int::Constant(size));
        let moved = word(operation, at, by);
        Ok(Some(match name {
            "operator[]" => RuntimeValue::new(returns.clone(), super::pointed(moved)),
            _ => RuntimeValue::new(returns.clone(), RuntimeLocation::Int(moved, Width::WORD)),
        }))
    }

    /// Compiles an end of a container of C++; `None` for other methods and types.
    #[inline(never)]
    pub(super) fn end_of(
        &self,
        value: &RuntimeValue,
        method: &Method,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let name = method.name();
        use Contents::{List, Map, Sequence, Set, Text};
        let contents = library::contents(&value.ty);
        let is_container = matches!(
            contents,
            Some(List(_) | Map(..) | Sequence(_) | Set(_) | Text(..))
        );
        if !matches!(name, "begin" | "end" | "cbegin" | "cend")
            || value.ty.language() != Language::Cpp
            || !is_container
        {
            return Ok(None);
        }
        if let Ok(Some(row)) = self.row(value) {
            return Ok(Some(self.end_of_row(&row, name, &method.returns)));
        }
        let end = followed(value, |target, object| {
            method.evaluate(target, object, &[]).map(Some)
        });
        let Some(end) = end? else {
            return Ok(None);
        };
        Ok(Some(RuntimeValue {
            ty: method.returns.clone(),
            ..end.value
        }))
    }

    fn end_of_row(&self, row: &Row, name: &str, returns: &Ty) -> RuntimeValue {
        let at = match name {
            "begin" | "cbegin" => row.at.clone(),
            _ => {
                let size = Int::Constant(row.element.size().unwrap_or(0));
                let len = row.len.clone();
                let bytes = Int::binary(Operation::Mul, len, size, Width::WORD, false);
                Int::binary(Operation::Add, row.at.clone(), bytes, Width::WORD, false)
            }
        };
        let place = RuntimeLocation::Int(row.checked(at), Width::WORD);
        RuntimeValue::new(returns.clone(), place)
    }

    /// Returns the addresses in two iterators of one container; `None`: they are none.
    #[inline(never)]
    pub(super) fn iterators(
        &self,
        a: &RuntimeValue,
        b: &RuntimeValue,
    ) -> Result<Option<(Int, Int)>, NotCompilable> {
        let is_object = |it: &RuntimeValue| matches!(it.ty.shape(), Shape::Composite(_));
        if !is_object(a) || !is_object(b) || !library::are_iterators(&a.ty, &b.ty) {
            return Ok(None);
        }
        let word = |it: &RuntimeValue| it.place.raw(0, Width::WORD);
        Ok(Some((word(a)?, word(b)?)))
    }
}
