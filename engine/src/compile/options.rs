//! Methods of Rust's `Option` and `Result`.

use super::code::BoolExpr;
use super::lower::Compiler;
use super::{NotCompilable, RuntimeValue, probe};
use crate::expr::ir::Expr;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

impl Compiler<'_> {
    /// Compiles a method of `Option` or `Result`; `None` for other methods and types.
    pub(super) fn of_option(
        &self,
        value: &RuntimeValue,
        name: &str,
        arguments: &[Expr<'_>],
        returns: &Ty,
    ) -> Result<Option<RuntimeValue>, NotCompilable> {
        if value.ty.language() != Language::Rust {
            return Ok(None);
        }
        let good = match library::contents(&value.ty) {
            Some(Contents::Optional(_)) => "Some",
            Some(Contents::Either(..)) => "Ok",
            _ => return Ok(None),
        };
        let truth = |variant: &str| {
            let truth = self.holds_variant(value, variant)?;
            Ok(Some(self.boolean(truth)))
        };
        let held = |variant: &str| self.payload(value, variant, false);
        let option = |variant: &str, held: RuntimeValue| -> Result<RuntimeValue, NotCompilable> {
            let is = self.holds_variant(value, variant)?;
            let some = RuntimeValue::some(returns.clone(), held);
            Ok(RuntimeValue::choice(
                is,
                some,
                RuntimeValue::none(returns.clone()),
            ))
        };
        let inner = || match library::contents(returns) {
            Some(Contents::Optional(inner)) => Ok(inner),
            _ => Err(NotCompilable::special_layout(returns)),
        };
        match (name, arguments) {
            ("is_some", []) => truth("Some"),
            ("is_none", []) => truth("None"),
            ("is_ok", []) => truth("Ok"),
            ("is_err", []) => truth("Err"),
            ("unwrap", []) | ("expect", [_]) => held(good).map(Some),
            ("unwrap_err", []) | ("expect_err", [_]) => held("Err").map(Some),
            ("unwrap_or", [other]) => {
                let is = self.holds_variant(value, good)?;
                let held = self.payload(value, good, true)?;
                Ok(Some(RuntimeValue::choice(is, held, self.lower(other)?)))
            }
            ("or", [other]) => {
                let is = self.holds_variant(value, good)?;
                let other = self.lower(other)?;
                Ok(Some(RuntimeValue::choice(is, value.clone(), other)))
            }
            ("as_ref", []) if good == "Some" => {
                let held = self.payload(value, good, true)?.referred(inner()?);
                option(good, held).map(Some)
            }
            ("as_ref", []) => {
                let Some(Contents::Either(ok, err)) = library::contents(returns) else {
                    return Err(NotCompilable::special_layout(returns));
                };
                let of = |variant: &str, ty: Ty| -> Result<RuntimeValue, NotCompilable> {
                    let held = self.payload(value, variant, true)?.referred(ty);
                    let fields = vec![("0".to_owned(), held)];
                    Ok(RuntimeValue::made(
                        returns.clone(),
                        Some(variant.into()),
                        fields,
                    ))
                };
                let is = self.holds_variant(value, "Ok")?;
                Ok(Some(RuntimeValue::choice(
                    is,
                    of("Ok", ok)?,
                    of("Err", err)?,
                )))
            }
            ("as_deref", []) => {
                let held = self.payload(value, good, true)?;
                let held = match held.ty.shape() {
                    Shape::Pointer(of, PointerKind::Owned) => held.pointee(&of)?,
                    _ => held,
                };
                option(good, held.referred(inner()?)).map(Some)
            }
            ("copied" | "cloned", []) => {
                option(good, self.payload(value, good, true)?.plain()?).map(Some)
            }
            ("ok", []) => option("Ok", self.payload(value, "Ok", true)?).map(Some),
            ("err", []) => option("Err", self.payload(value, "Err", true)?).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the field `0` of a variant; unless `is_active`, a use is a deopt where another variant is
    /// active.
    pub(super) fn payload(
        &self,
        value: &RuntimeValue,
        variant: &str,
        is_active: bool,
    ) -> Result<RuntimeValue, NotCompilable> {
        let contents = self.contents_of_variant(value, variant, is_active)?;
        contents.each(&|it| Ok(probe::member(it, "0")?.ok_or("a variant without contents")?))
    }

    /// Returns whether a value is a variant by its name, as `option == None`.
    pub(super) fn variant_test(
        &self,
        value: &RuntimeValue,
        name: &str,
    ) -> Result<BoolExpr, NotCompilable> {
        let value = value.plain()?;
        if name != "nullopt" {
            return self.holds_variant(&value, name);
        }
        let held = self.held(&value)?;
        let held = held.ok_or_else(|| NotCompilable::special_layout(&value.ty))?;
        Ok(held.is_there.not())
    }
}
