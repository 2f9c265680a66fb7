//! `f(a)` and `a.f(b)`: conversions that look like calls, and methods known without running.

use super::run::{At, Run, error, inner};
use super::tree::{Kind, Node};
use super::{convert, types};
use crate::error::Error;
use crate::value::{Shape, Value};

impl Run<'_> {
    /// The value of a call.
    pub(super) fn call(
        &mut self,
        function: &Node,
        arguments: &[Node],
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
                Err(self.no_method(&value, name, object, node))
            }
            Kind::Name(name) if arguments.len() == 1 && self.context.variable(name)?.is_none() => {
                let Some(ty) = types::named(self.context, name) else {
                    return Err(self.no_variable(inner(function)));
                };
                let value = self.evaluate(&arguments[0])?;
                convert::cast(self.context, &ty, &value).at(node)
            }
            _ => {
                let value = self.evaluate(function)?;
                let said = self.said(function);
                Err(match value.ty.shape() {
                    Shape::Function | Shape::Pointer(..) => error(
                        format!(
                            "`{said}` would have to run in the program, which is not done here"
                        ),
                        &node.span,
                    ),
                    _ => error(
                        format!("`{said}` ({}) is no function", value.ty.name()),
                        &function.span,
                    ),
                })
            }
        }
    }
}
