//! Captured variables of the lambda whose body a frame runs: the members of an object that gcc
//! passes as `__closure`, clang as `this`.

use super::FrameScope;
use crate::ids::error::Error;
use crate::inspect::value::{Named, Shape, Ty, Value, members};
use dwarf::{Scope, Variable, VariableKind};

/// Returns whether a variable is gcc's stand-in for a captured one that the lambda's body uses.
pub(super) fn stands_for_capture(variable: &Variable, scope: &Scope) -> bool {
    let is_closure = |it: &Variable| it.artificial && it.name == "__closure";
    variable.kind != VariableKind::Parameter
        && !variable.name.starts_with("__")
        && scope.variables.iter().any(is_closure)
}

impl FrameScope<'_> {
    /// Returns a variable of the frame's scopes by name, innermost first, or a captured one.
    ///
    /// # Errors
    /// It exists but has no place or cannot be read.
    pub(super) fn local(&self, name: &str) -> Result<Option<Value>, Error> {
        let mut has_missing = false;
        if let Some(loaded) = self.loaded() {
            for scope in self.scopes().into_iter().rev() {
                let mut named = scope.variables.iter().filter(|it| it.is_called(name)).rev();
                let local = named.find(|variable| {
                    let is_missing = self.has_no_value_yet(variable);
                    has_missing |= is_missing;
                    !is_missing
                });
                if let Some(variable) = local {
                    let value = || self.value_of(&loaded.module, loaded.bias, variable);
                    if self.closure_in(variable, value).is_some() {
                        break;
                    }
                    return self.kept_instead(name, value()).map(Some);
                }
                if let Some(declared) = loaded.module.value_in_block(name, scope)
                    && let Some(found) = self.modules.meant(loaded, declared, Some(&self.memory))
                {
                    return self.static_value(found);
                }
            }
        }
        if let Some(found) = self.of_enclosing(name)? {
            return Ok(Some(found));
        }
        match self.captured(name)? {
            None if has_missing => Err(Error::NoValueYet),
            found => Ok(found),
        }
    }

    /// Returns the object of a lambda, if a variable points to one.
    pub(super) fn closure_in(
        &self,
        variable: &Variable,
        value: impl FnOnce() -> Result<Value, Error>,
    ) -> Option<Value> {
        if !variable.artificial || !matches!(&*variable.name, "__closure" | "this") {
            return None;
        }
        let pointer = value().ok()?;
        let Shape::Pointer(of, _) = pointer.ty.shape() else {
            return None;
        };
        let Shape::Composite(class) = of.shape() else {
            return None;
        };
        let closure = class.composite()?.closure;
        closure.then(|| pointer.pointee(self, of).ok())?
    }

    /// Returns the object of the lambda whose body this frame runs.
    fn closure(&self) -> Option<Value> {
        let loaded = self.loaded()?;
        let scopes = self.scopes();
        let mut variables = scopes.iter().flat_map(|scope| &scope.variables);
        variables.find_map(|variable| {
            self.closure_in(variable, || {
                self.value_of(&loaded.module, loaded.bias, variable)
            })
        })
    }

    /// Returns a captured variable by name.
    ///
    /// # Errors
    /// It exists but cannot be read.
    pub(super) fn captured(&self, name: &str) -> Result<Option<Value>, Error> {
        let Some(closure) = self.closure() else {
            return Ok(None);
        };
        let found = members::find(self, &closure, name)?;
        let copy = found.as_ref().filter(|_| name == "this");
        // `[*this]` captures a copy of the object, which `this` points to.
        match copy.map(|copy| (copy.ty.shape(), copy.address())) {
            Some((Shape::Composite(class), Some(addr))) => {
                let class = Ty::Dwarf(class);
                let class = match closure.ty.is_const() {
                    true => class.constant(),
                    false => class,
                };
                Ok(Some(Value::pointer_to(class, addr)))
            }
            _ => Ok(found),
        }
    }

    /// Returns all captured variables.
    pub(super) fn captures(&self) -> Vec<Named> {
        let closure = self.closure();
        closure.map_or_else(Vec::new, |closure| self.captures_of(&closure))
    }

    /// Returns the members of a lambda's object as variables.
    pub(super) fn captures_of(&self, closure: &Value) -> Vec<Named> {
        let names = members::names(self, closure).into_iter();
        names
            .map(|name| Named {
                value: members::find(self, closure, &name)
                    .and_then(|found| found.ok_or(Error::OptimizedOut)),
                expression: Some(name.clone()),
                name,
                is_parameter: false,
                declaration: None,
            })
            .collect()
    }
}
