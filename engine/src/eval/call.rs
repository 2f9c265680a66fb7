//! `f(a)` and `a.f(b)`: conversions that look like calls, and methods known without running.

use super::run::{At, Run, inner};
use super::tree::{Kind, Node};
use super::{convert, types};
use crate::error::Error;
use crate::value::{Ty, Value};

impl Run<'_> {
    /// The value of a call; `returns` is what a cast says of it.
    pub(super) fn call(
        &mut self,
        function: &Node,
        arguments: &[Node],
        returns: Option<&Ty>,
        node: &Node,
    ) -> Result<Value, Error> {
        match &inner(function).kind {
            Kind::Member(object, name) => {
                let value = self.evaluate(object)?;
                let given: Vec<Value> = arguments
                    .iter()
                    .map(|it| self.evaluate(it))
                    .collect::<Result<_, _>>()?;
                if let Some(found) = self.known_method(&value, name, &given).at(node)? {
                    return Ok(found);
                }
                if let Some(found) = self.invoke_method(&value, name, &given, node)? {
                    return Ok(found);
                }
                // A member that points to a function.
                match self.find_member(&value, name).at(node)? {
                    Some(function) => self.invoke_value(&function, &given, returns, node),
                    None => Err(self.no_method(&value, name, object, node)),
                }
            }
            Kind::Name(name)
                if arguments.len() == 1
                    && self.context.functions(name).is_empty()
                    && self.context.variable(name)?.is_none() =>
            {
                let Some(ty) = types::named(self.context, name) else {
                    return Err(self.no_variable(inner(function)));
                };
                let value = self.evaluate(&arguments[0])?;
                convert::cast(self.context, &ty, &value).at(node)
            }
            callee => {
                let given: Vec<Value> = arguments
                    .iter()
                    .map(|it| self.evaluate(it))
                    .collect::<Result<_, _>>()?;
                if let Kind::Name(name) = callee {
                    if let Some(chosen) = self.implementation(name, function)? {
                        return self.invoke_value(&chosen, &given, returns, node);
                    }
                    let names = std::slice::from_ref(name);
                    if let Some(found) = self.invoke_named(names, &given, node)? {
                        return Ok(found);
                    }
                }
                let value = self.evaluate(function)?;
                self.invoke_value(&value, &given, returns, node)
            }
        }
    }
}
