//! Member functions of C++ that a class inherits: those of a named base, and virtual ones that the
//! vtable of a base's part enters through thunks, which move the object's address (Itanium C++ ABI,
//! §2.5.2).

use super::evaluate::{At, Evaluator, error};
use super::exact;
use super::hierarchy;
use super::invoke::ResolvedFunction;
use super::tree::Node;
use crate::ids::error::Error;
use crate::inspect::value::base_path::{self, BaseLookup};
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize;
use dwarf::{Language, LoadAddr};

/// Maximum number of vtable slots to examine.
const SLOTS: u64 = 256;

impl Evaluator<'_> {
    /// Calls `object.Base::name(…)`: the function of that class or of its bases, whatever the
    /// object's dynamic class is.
    pub(super) fn invoke_of_base(
        &mut self,
        object: &Value,
        scope: &str,
        name: &str,
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let is_named = |ty: &Ty| match ty.shape() {
            Shape::Composite(class) => dwarf::name_matches(&class.ty.name, scope),
            _ => false,
        };
        let way = match base_path::find(&object.ty, &is_named) {
            BaseLookup::Found(way) => way,
            BaseLookup::Ambiguous => {
                let message = format!(
                    "ambiguous: `{}` has several bases `{scope}`",
                    object.ty.name()
                );
                return Err(error(message, &node.span));
            }
            BaseLookup::Absent => {
                let message = format!("`{}` has no base `{scope}`", object.ty.name());
                return Err(error(message, &node.span));
            }
        };
        let base = hierarchy::along(self.context.as_target(), object, &way).at(node)?;
        let Some(holder) = self.declaring_part(&base, name)? else {
            return Ok(None);
        };
        let (Shape::Composite(class), Some(addr)) = (holder.ty.shape(), holder.address()) else {
            return Ok(None);
        };
        let (own, _) = self.methods_of(&class, name);
        let mut all = vec![Value::pointer_to(holder.ty.clone(), addr)];
        all.extend_from_slice(arguments);
        self.invoke_best(&own, Some(&class), name, &all, node)
    }

    /// Returns the part of an object whose class has a function of this name: the object itself, or
    /// its base.
    fn declaring_part(&self, object: &Value, name: &str) -> Result<Option<Value>, Error> {
        let declares = |ty: &Ty| match ty.shape() {
            Shape::Composite(class) => !self.methods_of(&class, name).0.is_empty(),
            _ => false,
        };
        match base_path::find(&object.ty, &declares) {
            BaseLookup::Found(way) => {
                let part = hierarchy::along(self.context.as_target(), object, &way)?;
                Ok(Some(part))
            }
            BaseLookup::Ambiguous => Err(Error::eval(format!(
                "ambiguous: several bases of `{}` have `{name}`",
                object.ty.name()
            ))),
            BaseLookup::Absent => Ok(None),
        }
    }

    /// Returns the functions of a name that an object's own vtable enters through thunks, each with
    /// the pointer to the part of the whole object that it takes.
    pub(super) fn behind_thunks(
        &self,
        object: &Value,
        name: &str,
    ) -> Option<Vec<(ResolvedFunction, Value)>> {
        let Shape::Composite(class) = object.ty.shape() else {
            return None;
        };
        if self.language != Language::Cpp || !class.composite()?.polymorphic {
            return None;
        }
        let target = self.context.as_target();
        let word = |addr| target.memory().read_uint(addr, 8).ok();
        let table = LoadAddr(word(object.address()?)?);
        let whole = visualize::in_truth(target, object.clone());
        let mut found = Vec::new();
        for slot in 0..SLOTS {
            let Some(entry) = word(table + slot * 8).map(LoadAddr) else {
                break;
            };
            let Some((module, bias)) = target.module_at(entry) else {
                break;
            };
            let Some(symbol) = module.symbol_at(bias.file(entry)) else {
                continue;
            };
            let (Some(code), true) = (thunked(symbol.name), bias.load(symbol.addr) == entry) else {
                continue;
            };
            let linkage = format!("_Z{code}");
            let readable = dwarf::demangle(&linkage);
            let path = readable.split('(').next().unwrap_or_default();
            if !dwarf::name_matches(path, name) {
                continue;
            }
            let known = self.context.functions(path).into_iter();
            for known in known {
                if known.function.linkage_name.as_deref() != Some(linkage.as_str()) {
                    continue;
                }
                let Some(owner) = known.module.class_of(&known.function) else {
                    continue;
                };
                let owner = Ty::dwarf(&known.module, known.bias, owner);
                let part = hierarchy::base_of(target, &whole, &owner).ok()??;
                let this = Value::pointer_to(owner, part.address()?);
                found.push((known, this));
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// Calls the virtual function of a name that an object's own vtable enters through a thunk;
    /// `None`: there is none.
    pub(super) fn invoke_thunked(
        &mut self,
        object: &Value,
        name: &str,
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let Some(found) = self.behind_thunks(object, name) else {
            return Ok(None);
        };
        let known: Vec<ResolvedFunction> = found.iter().map(|it| it.0.clone()).collect();
        let mut all = vec![Value::pointer_to(object.ty.clone(), LoadAddr(0))];
        all.extend_from_slice(arguments);
        let Some(best) = self.best_virtual(&known, name, &all).at(node)? else {
            return Ok(None);
        };
        let this = found
            .iter()
            .find(|(known, _)| known.function.entry == best.function.entry)
            .map(|(_, this)| this.clone());
        let (Some(this), true) = (this, exact::takes_object(best)) else {
            return Ok(None);
        };
        all[0] = this;
        self.invoke(best, &all, node).map(Some)
    }
}

/// Returns the encoding of the function that a thunk's symbol names: `_ZTv0_n24_N1A1fEv`,
/// `_ZThn16_N1A1fEv`.
fn thunked(symbol: &str) -> Option<&str> {
    let (rest, offsets) = match symbol.strip_prefix("_ZTv") {
        Some(rest) => (rest, 2),
        None => (symbol.strip_prefix("_ZTh")?, 1),
    };
    let mut rest = rest;
    for _ in 0..offsets {
        let (offset, after) = rest.split_once('_')?;
        let digits = offset.strip_prefix('n').unwrap_or(offset);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        rest = after;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::thunked;

    #[test]
    fn symbols_of_thunks() {
        assert_eq!(
            thunked("_ZTv0_n24_NK6VRight3vidEv"),
            Some("NK6VRight3vidEv")
        );
        assert_eq!(
            thunked("_ZThn16_N7Derived4who2Ev"),
            Some("N7Derived4who2Ev")
        );
        assert_eq!(thunked("_ZN7Derived4who2Ev"), None);
        assert_eq!(thunked("_ZTV7Derived"), None);
    }
}
