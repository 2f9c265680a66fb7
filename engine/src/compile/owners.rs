//! What smart pointers, optionals and other wrappers of the standard libraries hold, and the methods that
//! need only that.

use super::code::{BoolExpr, Int, Order, Width};
use super::containers::compare;
use super::followed::followed;
use super::lower::Compiler;
use super::numbers::address_in;
use super::{NotCompilable, RuntimeLocation, RuntimeValue, probe};
use crate::expr::ir::Expr;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty};
use crate::inspect::visualize::rust_std::cells;
use crate::inspect::visualize::standard::{before_arguments, owners, std_class};
use crate::inspect::visualize::{View, need, rust_std, view};
use dwarf::Language;

/// The contents of a smart pointer, optional or other wrapper.
#[derive(Debug)]
pub(super) struct Held {
    /// Whether there is a value.
    pub(super) is_there: BoolExpr,
    /// The value; it may be used only where there is one.
    pub(super) value: RuntimeValue,
    /// The pointer to it, of smart pointers.
    pub(super) pointer: Option<RuntimeValue>,
}

impl Held {
    /// Returns the value; its use is a deopt where there is none.
    pub(super) fn checked(self) -> RuntimeValue {
        let missing = RuntimeValue::missing(self.value.ty.clone());
        RuntimeValue::choice(self.is_there, self.value, missing)
    }
}

/// The value of a flag; deopt if it is neither 0 nor 1.
fn flag(number: &Int) -> BoolExpr {
    let is = |bits| compare(Order::Eq, number, &Int::Constant(bits));
    is(1).or(is(0).choice(BoolExpr::Constant(false), BoolExpr::Deopt))
}

impl Compiler<'_> {
    /// Returns what an object of a wrapper's class holds; `None` for other types.
    pub(super) fn held(&self, value: &RuntimeValue) -> Result<Option<Held>, NotCompilable> {
        let Shape::Composite(ty) = value.ty.shape() else {
            return Ok(None);
        };
        let Some(contents) = library::contents(&value.ty) else {
            return Ok(None);
        };
        if ty.language() == Language::Rust {
            let name = before_arguments(&ty.ty.name).rsplit("::").next();
            return match contents {
                Contents::Pointee(_) if name == Some("Cow") => self.cow(value).map(Some),
                Contents::Wrapped(_) if name == Some("RefCell") => self.ref_cell(value).map(Some),
                Contents::Pointee(of) => self.counted(value, &of).map(Some),
                Contents::Wrapped(_) => self.wrapped(value).map(Some),
                _ => Ok(None),
            };
        }
        let class = std_class(before_arguments(&ty.ty.name)).map_or("", |it| it.1);
        match (class, contents) {
            ("optional", Contents::Optional(of)) => self.optional(value, of).map(Some),
            (
                "unique_ptr" | "shared_ptr" | "__shared_ptr" | "reference_wrapper",
                Contents::Pointee(of) | Contents::Wrapped(of) | Contents::Unbounded(of),
            ) => self.owned(value, &of).map(Some),
            (_, Contents::Wrapped(_)) => self.wrapped(value).map(Some),
            (_, Contents::Pointee(of)) => self.iterated(value, of).map(Some),
            _ => Ok(None),
        }
    }

    fn optional(&self, value: &RuntimeValue, of: Ty) -> Result<Held, NotCompilable> {
        let one_of = |paths: [&'static [&'static str]; 2]| {
            let mut found = paths.into_iter().filter_map(|path| {
                let part =
                    probe::part(value, |target, object| need(target, object, path).map(Some));
                part.ok().flatten()
            });
            let missing = || NotCompilable::special_layout(&value.ty);
            found.next().ok_or_else(missing)
        };
        let engaged = one_of([&["_M_payload", "_M_engaged"], &["__engaged_"]])?;
        let held = one_of([&["_M_payload", "_M_payload", "_M_value"], &["__val_"]])?;
        let engaged = super::numbers::int_of(
            &engaged,
            Width {
                size: 1,
                signed: false,
            },
        )?;
        Ok(Held {
            is_there: flag(&engaged),
            value: RuntimeValue { ty: of, ..held },
            pointer: None,
        })
    }

    /// Returns the target of a smart pointer of C++.
    fn owned(&self, value: &RuntimeValue, of: &Ty) -> Result<Held, NotCompilable> {
        let pointer = probe::part(value, |target, object| {
            owners::pointer(target, object).map(Some)
        })?;
        let pointer = pointer.ok_or("a member is missing")?;
        if !matches!(pointer.ty.shape(), Shape::Pointer(..)) {
            return Err(NotCompilable::special_layout(&value.ty));
        }
        let address = address_in(&pointer)?;
        Ok(Held {
            is_there: compare(Order::Ne, &address, &Int::Constant(0)),
            value: pointer.pointee(of)?,
            pointer: Some(pointer),
        })
    }

    /// Returns whether a value is a `Cow`.
    pub(super) fn is_cow(&self, value: &RuntimeValue) -> bool {
        match value.ty.shape() {
            Shape::Composite(ty) => {
                let name = before_arguments(&ty.ty.name);
                ty.language() == Language::Rust && name == "alloc::borrow::Cow"
            }
            _ => false,
        }
    }

    /// Returns the value of a `Cow`.
    fn cow(&self, value: &RuntimeValue) -> Result<Held, NotCompilable> {
        let is_borrowed = self.holds_variant(value, "Borrowed")?;
        let borrowed = self.payload(value, "Borrowed", true)?.plain()?;
        let owned = self.payload(value, "Owned", true)?;
        Ok(Held {
            is_there: BoolExpr::Constant(true),
            value: RuntimeValue::choice(is_borrowed, borrowed, owned),
            pointer: None,
        })
    }

    /// Returns the value of a `RefCell`; deopt while it is mutably borrowed.
    fn ref_cell(&self, value: &RuntimeValue) -> Result<Held, NotCompilable> {
        let special = || NotCompilable::special_layout(&value.ty);
        let part = |name: &'static str| {
            probe::part(value, |target, object| {
                rust_std::innermost(target, rust_std::named_in(target, object, name)?).map(Some)
            })
        };
        let borrows = part("borrow")?.ok_or_else(special)?;
        let signed = Width {
            size: 8,
            signed: true,
        };
        let borrows = super::numbers::int_of(&borrows, signed)?;
        let is_free = BoolExpr::compare(Order::Ge, true, borrows, Int::Constant(0));
        let held = probe::part(value, |target, object| {
            cells::initialized(target, &need(target, object, &["value"])?).map(Some)
        })?;
        Ok(Held {
            is_there: is_free.choice(BoolExpr::Constant(true), BoolExpr::Deopt),
            value: held.ok_or_else(special)?,
            pointer: None,
        })
    }

    /// Returns the number of owners of an `Rc` or `Arc`.
    pub(super) fn owners_of(
        &self,
        value: &RuntimeValue,
        returns: &Ty,
    ) -> Result<RuntimeValue, NotCompilable> {
        let special = || NotCompilable::special_layout(&value.ty);
        let strong = followed(value, |target, object| {
            let pointer = rust_std::pointer_in(target, object)?;
            let Shape::Pointer(inner, _) = pointer.ty.shape() else {
                return Ok(None);
            };
            let inner = pointer.pointee(target, inner)?;
            rust_std::innermost(target, need(target, &inner, &["strong"])?).map(Some)
        })?;
        let count = address_in(&strong.ok_or_else(special)?.value)?;
        let place = RuntimeLocation::Int(count, Width::WORD);
        Ok(RuntimeValue::new(returns.clone(), place))
    }

    /// Returns the value of an `Rc` or `Arc`.
    fn counted(&self, value: &RuntimeValue, of: &Ty) -> Result<Held, NotCompilable> {
        let special = || NotCompilable::special_layout(&value.ty);
        let pointer = probe::part(value, |target, object| {
            rust_std::pointer_in(target, object).map(Some)
        })?;
        let pointer = pointer.ok_or_else(special)?;
        let Shape::Pointer(inner, _) = pointer.ty.shape() else {
            return Err(special());
        };
        if !rust_std::is_counted(&inner.name()) {
            return Err(special());
        }
        let inner = pointer.pointee(&inner)?;
        let strong = probe::part(&inner, |target, object| {
            rust_std::innermost(target, need(target, object, &["strong"])?).map(Some)
        })?;
        let strong = address_in(&strong.ok_or_else(special)?)?;
        let most = Int::Constant(i64::MAX as u64);
        let is_valid =
            compare(Order::Ne, &strong, &Int::Constant(0)).and(compare(Order::Le, &strong, &most));
        let value = match probe::member(&inner, "value")? {
            Some(value) => value,
            None => probe::member(&inner, "data")?.ok_or_else(special)?,
        };
        Ok(Held {
            is_there: is_valid.choice(BoolExpr::Constant(true), BoolExpr::Deopt),
            value: RuntimeValue {
                ty: of.clone(),
                ..value
            },
            pointer: None,
        })
    }

    /// Returns the value of a wrapper whose layout does not depend on its contents.
    fn wrapped(&self, value: &RuntimeValue) -> Result<Held, NotCompilable> {
        let held = probe::part(value, |target, object| match view(target, object) {
            Some(View::Pointee(held)) => Ok(Some(held)),
            _ => Ok(None),
        })?;
        Ok(Held {
            is_there: BoolExpr::Constant(true),
            value: held.ok_or_else(|| NotCompilable::special_layout(&value.ty))?,
            pointer: None,
        })
    }

    /// Compiles a method of a C++ wrapper; `None` for other methods.
    pub(super) fn of_held(
        &self,
        held: Held,
        name: &str,
        arguments: &[Expr<'_>],
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        Ok(Some(match (name, arguments) {
            ("borrow", []) => held.checked().referred(returns.clone()),
            ("has_value" | "operator bool", []) => self.boolean(held.is_there),
            ("value" | "operator*" | "get" | "load", []) if held.pointer.is_none() => {
                held.checked()
            }
            ("operator*", []) => held.checked(),
            ("get", []) => match held.pointer {
                Some(pointer) => RuntimeValue {
                    ty: returns.clone(),
                    ..pointer
                },
                None => return Ok(None),
            },
            ("operator->", []) => held.checked().referred(returns.clone()),
            ("value_or", [other]) => {
                let other = self.lower(other)?;
                RuntimeValue::choice(held.is_there, held.value, other)
            }
            _ => return Ok(None),
        }))
    }

    /// Returns the object that a smart pointer or wrapper stands for.
    pub(super) fn pointee_of(&self, value: &RuntimeValue) -> Result<RuntimeValue, NotCompilable> {
        value.each(&|value| {
            if let RuntimeLocation::Referent(target) = &value.place {
                return Ok((**target).clone());
            }
            match self.held(value)? {
                Some(held) => Ok(held.checked()),
                None => Err(NotCompilable::special_layout(&value.ty)),
            }
        })
    }
}
