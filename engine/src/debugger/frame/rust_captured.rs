//! Variables that closures and coroutines of Rust capture: by a reference with a length or a vtable, or behind
//! references and boxes.

use super::FrameScope;
use crate::ids::error::Error;
use crate::inspect::captured;
use crate::inspect::value::{Ty, Value};
use dwarf::{FrameContext, LoadBias, Module, Variable};
use std::sync::Arc;

impl FrameScope<'_> {
    /// Returns the reference by which the closure whose body this frame runs has captured a variable;
    /// `None` if it is another variable.
    ///
    /// # Errors
    /// The reference cannot be located.
    pub(super) fn captured_reference(
        &self,
        module: &Arc<Module>,
        bias: LoadBias,
        variable: &Variable,
    ) -> Result<Option<Value>, Error> {
        let Some(reference) = module.captured_reference(variable) else {
            return Ok(None);
        };
        let locate = |context: &FrameContext<'_>| module.locate_captured(variable, context);
        let (location, registers, key) = self.in_context(module, bias, variable.kind, None, locate);
        let ty = Ty::dwarf(module, bias, reference);
        Ok(Some(Value::from_location(ty, location?, &registers, key)))
    }

    /// Returns how many dereferences of a path lead to the place that the closure whose body this frame
    /// runs has captured as the variable of this name.
    pub(super) fn captured_behind(&self, variable: &str, path: &[&str]) -> usize {
        let scopes = self.scopes();
        // The closure's own scope has what is captured; blocks in it may hide that.
        let mut named = scopes.iter().rev().filter_map(|scope| {
            let mut variables = scope.variables.iter();
            variables.find(|it| it.is_called(variable))
        });
        match (named.next(), self.loaded()) {
            (Some(found), Some(loaded)) => {
                captured::dereferences(&loaded.module, loaded.bias, found, path)
            }
            _ => 0,
        }
    }
}
