//! Functions about callers: `$caller_is("f")`.

use super::evaluate::{At, Evaluator, error, inner};
use super::tree::{Kind, Node};
use super::{arith, convert};
use crate::ids::error::Error;
use crate::inspect::value::Value;

impl Evaluator<'_> {
    /// Evaluates a call whose callee is a name after `$`.
    pub(super) fn call(
        &mut self,
        function: &Node,
        arguments: &[Node],
        node: &Node,
    ) -> Result<Value, Error> {
        if let Some(found) = self.call_through(function, arguments, node)? {
            return Ok(found);
        }
        match &inner(function).kind {
            Kind::Register(name) => match asks_for_caller(name) {
                Some(any) => self.is_called_from(any, arguments, node),
                None => {
                    let value = self.evaluate(function)?;
                    let message = format!("cannot call a `{}`", value.ty.name());
                    Err(error(message, &node.span))
                }
            },
            _ => Err(error("its type is unknown", &node.span)),
        }
    }

    /// Evaluates `$caller_is("f")`, `$caller_is("f", 2)`, `$any_caller_is("f")`.
    fn is_called_from(
        &mut self,
        any: bool,
        arguments: &[Node],
        node: &Node,
    ) -> Result<Value, Error> {
        let (name, number) = match (arguments, any) {
            ([name], true) => (name, None),
            ([name], false) => (name, Some(1)),
            ([name, number], false) => {
                let number = self.evaluate(number)?.raw(self.context.as_target())?;
                (name, Some(usize::try_from(number).unwrap_or(usize::MAX)))
            }
            _ => {
                let usage = match any {
                    true => "usage: `$any_caller_is(\"function\")`",
                    false => {
                        "usage: `$caller_is(\"function\")` or `$caller_is(\"function\", frames)`"
                    }
                };
                return Err(Error::eval(usage)).at(node);
            }
        };
        let text = self.evaluate(name)?;
        let Some(text) = convert::string(self.context.as_target(), &text).at(name)? else {
            return Err(Error::eval("expected a function name in quotes")).at(name);
        };
        let holds = self
            .context
            .is_called_from(&String::from_utf8_lossy(&text), number);
        Ok(arith::boolean(holds, self.language))
    }
}

/// Parses the name of a function about callers, with gdb's leading underscore or without:
/// `Some(true)` for any caller, `Some(false)` for one.
fn asks_for_caller(name: &str) -> Option<bool> {
    match name.strip_prefix('_').unwrap_or(name) {
        "caller_is" => Some(false),
        "any_caller_is" => Some(true),
        _ => None,
    }
}
