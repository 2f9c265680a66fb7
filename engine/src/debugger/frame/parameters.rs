//! The parameters of a frame's function, including unnamed ones.

use super::FrameScope;
use crate::ids::error::Error;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Named, Ty, Value};
use dwarf::{Location, Variable, VariableKind};

/// A parameter of a frame's function with its present value.
pub(crate) struct Parameter {
    pub name: String,
    pub value: Result<Value, Error>,
    pub bytes: Result<Bytes, Error>,
    /// Its location at the function's first instruction, by debug info.
    pub at_entry: Option<Location>,
}

impl FrameScope<'_> {
    /// Returns the parameters of the frame's function in order, including compiler-generated ones.
    pub fn parameters(&self) -> Vec<Parameter> {
        let (Some(loaded), Some(function)) = (self.loaded(), self.function()) else {
            return Vec::new();
        };
        let all = function.scope.variables.iter();
        let all = all.filter(|variable| variable.kind == VariableKind::Parameter);
        let parameter = |variable: &Variable| {
            let value = self.value_of(&loaded.module, loaded.bias, variable);
            let bytes = match &value {
                Ok(value) => value.bytes(self),
                Err(error) => Err(error.clone()),
            };
            let entry = loaded.bias.load(function.entry);
            let at_entry = self.location_of(&loaded.module, loaded.bias, variable, Some(entry));
            Parameter {
                name: variable.name.clone(),
                value,
                bytes,
                at_entry: at_entry.ok().map(|(location, ..)| location),
            }
        };
        all.map(parameter).collect()
    }

    /// Returns the parameters in order; an unnamed one has an empty name.
    pub fn shown_parameters(&self) -> Result<Vec<Named>, Error> {
        let mut parameters = self.locals()?;
        parameters.retain(|local| local.is_parameter);
        let (Some(loaded), Some(scope)) = (self.loaded(), self.scopes().into_iter().next()) else {
            return Ok(parameters);
        };
        let is_unnamed = |it: &Variable| it.name.is_empty() && !it.artificial;
        let declared = scope.variables.iter();
        let declared = declared.filter(|it| it.kind == VariableKind::Parameter);
        let mut place = 0;
        for variable in declared {
            if is_unnamed(variable) {
                let (module, bias) = (&loaded.module, loaded.bias);
                let ty = Ty::of(module, bias, variable.ty);
                let unnamed = Named {
                    name: String::new(),
                    expression: None,
                    value: self.value_as(ty, module, bias, variable),
                    is_parameter: true,
                    declaration: None,
                };
                parameters.insert(place.min(parameters.len()), unnamed);
                place += 1;
            } else if let Some(at) = parameters
                .iter()
                .position(|it| is_called(it, &variable.name))
            {
                place = at + 1;
            }
        }
        Ok(parameters)
    }
}

/// Accepts the name of a shadowed variable, which also says where it is declared.
fn is_called(named: &Named, name: &str) -> bool {
    let rest = named.name.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" (line "))
}
