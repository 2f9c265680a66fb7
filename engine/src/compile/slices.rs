//! Parts of texts and rows of Rust, and what ranges contain.

use super::code::{Address, BoolExpr, Int, Operation, Order, Width};
use super::containers::{Row, compare};
use super::lower::Compiler;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::ir::{Ends, Expr};
use crate::inspect::library;
use std::sync::Arc;

impl Compiler<'_> {
    /// Lowers a part of a text or row; its use is a deopt where the ends are out of range.
    #[inline(never)]
    pub(super) fn slice_of(
        &self,
        object: &Expr<'_>,
        ends: &Ends<'_>,
        inclusive: bool,
        of: &Expr<'_>,
    ) -> Result<RuntimeValue, NotCompilable> {
        let from = ends.from.as_ref().map(|it| self.word(it)).transpose()?;
        let to = ends.to.as_ref().map(|it| self.word(it)).transpose()?;
        let value = self.lower(object)?.plain()?;
        value.each(&|value| {
            let row = self.row(value)?;
            let row = row.ok_or_else(|| NotCompilable::special_layout(&value.ty))?;
            let to = to.clone().map(|to| match inclusive {
                true => Int::binary(Operation::Add, to, Int::Constant(1), Width::WORD, true),
                false => to,
            });
            let part = part_of(row, from.as_ref(), to.as_ref());
            let place = RuntimeLocation::Row(Arc::new(part));
            Ok(RuntimeValue::new(of.ty.clone(), place))
        })
    }

    /// Compiles whether a range contains a value; `None` for other methods and types.
    #[inline(never)]
    pub(super) fn of_range(
        &self,
        range: &RuntimeValue,
        (name, arguments): (&str, &[Expr<'_>]),
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let ("contains", [wanted], Some(kind)) = (name, arguments, library::range_kind(&range.ty))
        else {
            return Ok(None);
        };
        let wanted = self.lower(wanted)?;
        let mut truth = BoolExpr::Constant(true);
        let to = if kind.ends_with("Inclusive") {
            Order::Le
        } else {
            Order::Lt
        };
        for (name, order) in [("start", Order::Ge), ("end", to), ("last", to)] {
            // A range without this end.
            if let Ok(Some(bound)) = probe::member(range, name) {
                truth = truth.and(self.ordered(order, &wanted, &bound)?);
            }
        }
        Ok(Some(self.boolean(truth)))
    }
}

fn part_of(row: Row, from: Option<&Int>, to: Option<&Int>) -> Row {
    let first = from.cloned().unwrap_or(Int::Constant(0));
    let last = to.unwrap_or(&row.len).clone();
    let mut wrong = row.invalid.clone();
    if from.is_some() {
        wrong = wrong.or(compare(Order::Gt, &first, &last));
    }
    if to.is_some() {
        wrong = wrong.or(compare(Order::Gt, &last, &row.len));
    }
    if row.is_text() {
        for end in [from, to].into_iter().flatten() {
            wrong = wrong.or(splits_character(&row, end));
        }
    }
    let word = |operation, a, b| Int::binary(operation, a, b, Width::WORD, false);
    let size = row.element.size().unwrap_or(0);
    let (at, len) = match from {
        None | Some(Int::Constant(0)) => (row.at, last),
        Some(_) => {
            let bytes = match &first {
                Int::Constant(first) => Int::Constant(first.wrapping_mul(size)),
                first => word(Operation::Mul, first.clone(), Int::Constant(size)),
            };
            (
                word(Operation::Add, row.at, bytes),
                word(Operation::Sub, last, first),
            )
        }
    };
    Row {
        at,
        len,
        invalid: wrong,
        ..row
    }
}

/// Returns whether a position in a text, which is not beyond its end, is inside a character.
fn splits_character(row: &Row, at: &Int) -> BoolExpr {
    if let Int::Constant(0) = at {
        return BoolExpr::Constant(false);
    }
    let byte = Width {
        size: 1,
        signed: false,
    };
    let there = Address::pointed(row.at.clone()).indexed(at.clone(), 1);
    let unit = Int::Load(Box::new(there), byte);
    let kind = Int::binary(
        Operation::And,
        unit,
        Int::Constant(0xc0),
        Width::WORD,
        false,
    );
    let is_inner = compare(Order::Eq, &kind, &Int::Constant(0x80));
    compare(Order::Lt, at, &row.len).and(is_inner)
}
