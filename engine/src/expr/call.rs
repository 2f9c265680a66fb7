//! `f(a)` and `a.f(b)`: functional casts, calls, and methods evaluated without a call.

use super::evaluate::{At, Evaluator, inner};
use super::tree::{Kind, Node};
use super::{arith, convert, types};
use crate::ids::error::Error;
use crate::inspect::value::{Shape, Ty, Value};
use crate::inspect::visualize::{self, View};
use dwarf::Language;

impl Evaluator<'_> {
    /// Evaluates a call; `returns` is the type of a cast around it.
    pub(super) fn call(
        &mut self,
        function: &Node,
        arguments: &[Node],
        returns: Option<&Ty>,
        node: &Node,
    ) -> Result<Value, Error> {
        if let Kind::Register(name) = &inner(function).kind
            && let Some(any) = asks_for_caller(name)
        {
            return self.is_called_from(any, arguments, node);
        }
        if let Kind::Name(path) = &inner(function).kind
            && let Some(found) = self.known_function(path, arguments).at(node)?
        {
            return Ok(found);
        }
        match &inner(function).kind {
            Kind::Member(object, name) => {
                let value = self.evaluate(object)?;
                let value = match self.is_arrow(object) {
                    true => self.behind_arrow(value, inner(function))?,
                    false => value,
                };
                let values = match self.known_method(&value, name, arguments).at(node)? {
                    Ok(found) => return Ok(found),
                    Err(values) => values,
                };
                if let Some(found) = self.invoke_method(&value, name, &values, node)? {
                    return Ok(found);
                }
                // A member that is a pointer to a function.
                match self.find_member(&value, name).at(node)? {
                    Some(function) => self.invoke_value(&function, &values, returns, node),
                    None => Err(self.no_method(&value, name, object, node)),
                }
            }
            Kind::Name(name)
                if arguments.len() == 1
                    && self.context.functions(name).is_empty()
                    && self.is_type_or_nothing(name)? =>
            {
                let Some(ty) = types::named(self.context, name) else {
                    return Err(self.no_variable(inner(function)));
                };
                let value = self.evaluate(&arguments[0])?;
                convert::cast(self.context, &ty, &value).at(node)
            }
            Kind::Cpp(form, _) if form.is_member_access() => {
                self.call_member(inner(function), arguments, node)
            }
            callee => {
                let values = self.values_of(arguments)?;
                if let Kind::Name(name) = callee
                    && !self.hides_functions(name)?
                {
                    if let Some(chosen) = self.implementation(name, function)? {
                        return self.invoke_value(&chosen, &values, returns, node);
                    }
                    let names = std::slice::from_ref(name);
                    if let Some(found) = self.invoke_named(names, &values, node)? {
                        return Ok(found);
                    }
                }
                let value = self.evaluate(function)?;
                self.invoke_value(&value, &values, returns, node)
            }
        }
    }

    /// Returns whether the source has `->` after an object. The tree has one node for `->` and `.`,
    /// which access the same members; only member functions of a smart pointer differ from those of
    /// its object.
    fn is_arrow(&self, object: &Node) -> bool {
        let behind = self.text().get(object.span.end..).unwrap_or_default();
        let behind = behind.trim_start_matches(|it: char| it == ')' || it.is_whitespace());
        behind.starts_with("->")
    }

    /// Returns the target of `->` on an object of a C++ class: that of its view, or the result of
    /// its `operator->`.
    fn behind_arrow(&mut self, value: Value, node: &Node) -> Result<Value, Error> {
        let value = value.referent(self.context.as_target())?;
        if self.language != Language::Cpp || !matches!(value.ty.shape(), Shape::Composite(_)) {
            return Ok(value);
        }
        match visualize::view(self.context.as_target(), &value) {
            Some(View::Pointee(next) | View::Noted(next, _)) => Ok(next),
            _ => Ok(self
                .invoke_method(&value, "operator->", &[], node)?
                .unwrap_or(value)),
        }
    }

    /// Evaluates the arguments of a call.
    pub(super) fn values_of(&mut self, arguments: &[Node]) -> Result<Vec<Value>, Error> {
        arguments.iter().map(|it| self.handed_on(it)).collect()
    }

    /// Returns whether a variable of the frame or its unit has the name of a function.
    fn hides_functions(&self, name: &str) -> Result<bool, Error> {
        if !self.context.names().iter().any(|it| it == name) {
            return Ok(false);
        }
        let variable = self.context.variable(name)?;
        Ok(variable.is_some_and(|it| !matches!(it.ty.shape(), Shape::Function)))
    }

    /// Returns whether the name is that of a type or unknown, so that nothing can be called by it.
    /// A number or an array with the name of a type does not count.
    fn is_type_or_nothing(&self, name: &str) -> Result<bool, Error> {
        let Some(variable) = self.context.variable(name)? else {
            return Ok(true);
        };
        let is_number_or_row = matches!(
            variable.ty.shape(),
            Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Array(_)
        );
        Ok(is_number_or_row && types::named(self.context, name).is_some())
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
