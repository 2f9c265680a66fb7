//! The variables that a frame shows: arguments and locals, and the statics of its unit.

use super::{FrameScope, lambda};
use crate::ids::error::Error;
use crate::inspect::value::{Named, Target, Ty};
use dwarf::{TypeId, Variable, VariableKind};
use std::borrow::Cow;
use std::collections::HashMap;

/// Returns whether a variable that the compiler made is one that programs name: a method's object, and
/// in Objective-C its selector.
pub(super) fn is_given(name: &str) -> bool {
    matches!(name, "this" | "self" | "_cmd")
}

impl FrameScope<'_> {
    /// Returns arguments and locals, innermost scope last; the name of a shadowed one says where it
    /// was declared.
    pub fn locals(&self) -> Result<Vec<Named>, Error> {
        let Some(loaded) = self.loaded() else {
            return Ok(Vec::new());
        };
        let scopes = self.scopes();
        let coroutine = scopes.first().and_then(|it| self.coroutine_body(it));
        let is_its_parameter = |it: &Variable| {
            coroutine
                .as_ref()
                .is_some_and(|body| body.has_parameter(it))
        };
        let most = scopes.iter().map(|scope| scope.variables.len()).sum();
        let mut named: Vec<Named> = Vec::with_capacity(most);
        let mut variables: Vec<&Variable> = Vec::with_capacity(most);
        // The last variable of each name, which hides the others.
        let mut visible: HashMap<Cow<'_, str>, usize> = HashMap::with_capacity(most);
        // Many are of the same type, and a type caches its derived data.
        let mut types: HashMap<Option<TypeId>, Ty> = HashMap::new();
        for scope in scopes {
            for variable in &scope.variables {
                if self.cancelled() {
                    return Err(Error::Cancelled);
                }
                let (module, bias) = (&loaded.module, loaded.bias);
                let ty =
                    (types.entry(variable.ty)).or_insert_with(|| Ty::of(module, bias, variable.ty));
                let value = || self.value_as(ty.clone(), module, bias, variable);
                if let Some(closure) = self.closure_in(variable, value) {
                    for captured in self.captures_of(&closure) {
                        visible.insert(captured.name.clone().into(), named.len());
                        named.push(captured);
                    }
                    variables.resize(named.len(), variable);
                    continue;
                }
                let shown = match variable.artificial {
                    _ if variable.name.is_empty() => false,
                    true => {
                        is_given(&variable.name)
                            || lambda::stands_for_capture(variable, scope)
                            || is_its_parameter(variable)
                    }
                    false => true,
                };
                let known = || named.iter().any(|it| it.name == variable.name);
                // A variable without a value hides no other.
                let is_missing = self.has_no_value_yet(variable);
                if !shown || (variable.artificial || is_missing) && known() {
                    continue;
                }
                let hidden = visible.insert(variable.name.as_str().into(), named.len());
                if let Some(shadowed) = hidden.and_then(|at| named.get_mut(at)) {
                    shadowed.expression = None;
                    if let Some(place) = &shadowed.declaration {
                        shadowed.name = format!("{} (line {})", variable.name, place.line);
                    }
                }
                variables.push(variable);
                named.push(Named {
                    name: variable.name.clone(),
                    expression: Some(variable.name.clone()),
                    value: match is_missing {
                        true => Err(Error::NoValueYet),
                        false => value(),
                    },
                    is_parameter: variable.kind == VariableKind::Parameter
                        || is_its_parameter(variable),
                    declaration: variable.declaration.clone(),
                });
            }
        }
        self.restore_kept(&mut named);
        self.drop_captured(&mut named, &variables);
        if let Some(body) = coroutine {
            body.sort(&mut named);
        }
        Ok(named)
    }

    /// Returns whether a variable is of a pattern that was not matched yet.
    pub(super) fn has_no_value_yet(&self, variable: &Variable) -> bool {
        let (Some(loaded), Some(function), Some(pc)) = (self.loaded(), self.function(), self.pc())
        else {
            return false;
        };
        let addr = loaded.bias.file(pc);
        let uses = &self.modules.first_uses;
        uses.has_no_value_yet(loaded, function, variable, addr)
    }

    /// Returns the variables of static storage of this frame's unit, sorted by name.
    pub fn globals(&self) -> Result<Vec<Named>, Error> {
        let Some((loaded, pc)) = self.loaded().zip(self.pc()) else {
            return Ok(Vec::new());
        };
        let mut variables = loaded.module.unit_statics(loaded.bias.file(pc));
        variables.retain(|variable| !variable.name.is_empty() && !variable.artificial);
        let qualified = |variable: &Variable| match &*variable.namespace {
            "" => variable.name.clone(),
            namespace => format!("{namespace}::{}", variable.name),
        };
        variables.sort_by_cached_key(qualified);
        let mut named = Vec::with_capacity(variables.len());
        for variable in variables {
            if self.cancelled() {
                return Err(Error::Cancelled);
            }
            let name = qualified(&variable);
            named.push(Named {
                expression: Some(name.clone()),
                name,
                value: self.value_of(&loaded.module, loaded.bias, &variable),
                is_parameter: false,
                declaration: variable.declaration,
            });
        }
        Ok(named)
    }

    /// Returns whether [`FrameScope::globals`] has any.
    pub fn has_globals(&self) -> bool {
        let unit = self.loaded().zip(self.pc());
        unit.is_some_and(|(loaded, pc)| loaded.module.has_unit_statics(loaded.bias.file(pc)))
    }
}
