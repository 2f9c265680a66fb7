//! Parts of C++'s arrays, tuples and variants.

use super::code::{BoolExpr, Int, Order, Width};
use super::containers::{Row, compare};
use super::lower::Compiler;
use super::numbers::{int_of, width};
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::check;
use crate::inspect::library::{self, Contents, Part};
use crate::inspect::value::Ty;
use crate::inspect::visualize::need;
use dwarf::Language;

/// The index of the alternative that a variant holds.
struct Alternative {
    index: Int,
    /// The index of a variant that holds none.
    none: u64,
}

/// Returns a member under one of its names in several libraries.
fn one_of(
    value: &RuntimeValue,
    paths: &[&'static [&'static str]],
) -> Result<RuntimeValue, NotCompilable> {
    let mut found = paths.iter().filter_map(|path| {
        let part = probe::part(value, |target, object| need(target, object, path).map(Some));
        part.ok().flatten()
    });
    let missing = || NotCompilable::special_layout(&value.ty);
    found.next().ok_or_else(missing)
}

impl Compiler<'_> {
    /// Returns the elements of a `std::array`.
    pub(super) fn std_array(&self, value: &RuntimeValue) -> Result<Option<Row>, NotCompilable> {
        self.row(&one_of(value, &[&["_M_elems"], &["__elems_"]])?)
    }

    /// Lowers what `std::get` and `std::holds_alternative` read; a use is a deopt where it is not there.
    #[inline(never)]
    pub(super) fn part_named(
        &self,
        value: &RuntimeValue,
        part: Part,
        returns: &Ty,
    ) -> Result<RuntimeValue, NotCompilable> {
        let special = || NotCompilable::special_layout(&value.ty);
        match part {
            Part::Tuple(at) => {
                let found = probe::part(value, |target, object| {
                    Ok(library::parts(target, object)?.into_iter().nth(at))
                })?;
                found.ok_or_else(special)
            }
            Part::Array(at) => {
                let row = self.row(value)?.ok_or_else(special)?;
                self.element(&row, Int::Constant(at))
            }
            Part::Holds(at) => Ok(self.boolean(self.alternative(value)?.is(at))),
            Part::Alternative(at) => {
                let is = self.alternative(value)?.is(at);
                let stored = one_of(value, &[&["_M_u"], &["__impl_", "__data"]])?;
                let stored = RuntimeValue::new(returns.clone(), stored.place);
                let missing = RuntimeValue::missing(returns.clone());
                Ok(RuntimeValue::choice(is, stored, missing))
            }
        }
    }

    /// Compiles a method of `std::variant`; `None` for other methods and types.
    #[inline(never)]
    pub(super) fn of_variant(
        &self,
        value: &RuntimeValue,
        name: &str,
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        let is_variant = matches!(library::contents(&value.ty), Some(Contents::Variant(_)));
        if !is_variant || value.ty.language() != Language::Cpp {
            return Ok(None);
        }
        let Alternative { index, none } = self.alternative(value)?;
        let is_none = compare(Order::Eq, &index, &Int::Constant(none));
        Ok(match name {
            "index" => {
                let index = Int::choice(is_none, Int::Constant(u64::MAX), index);
                let place = RuntimeLocation::Int(index, Width::WORD);
                Some(RuntimeValue::new(returns.clone(), place))
            }
            "valueless_by_exception" => Some(self.boolean(is_none)),
            _ => None,
        })
    }

    fn alternative(&self, value: &RuntimeValue) -> Result<Alternative, NotCompilable> {
        let index = one_of(
            value,
            &[
                &["_M_index"],
                &["__impl_", "__index"],
                &["__impl_", "__index_"],
                &["__impl", "__index"],
            ],
        )?;
        let scalar = check::scalar(&index.ty);
        let width = width(scalar.ok_or_else(|| NotCompilable::special_layout(&value.ty))?)?;
        Ok(Alternative {
            index: int_of(&index, width)?,
            none: width.canonical(u64::MAX),
        })
    }
}

impl Alternative {
    /// Returns whether it is this one.
    fn is(&self, at: u64) -> BoolExpr {
        compare(Order::Eq, &self.index, &Int::Constant(at))
    }
}
