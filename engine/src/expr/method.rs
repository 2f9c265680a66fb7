//! Methods of the standard libraries' classes, which reading answers.

use super::evaluate::{DEREFERENCES, Evaluator, inner};
use super::tree::{Binary, Kind, Node};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Target, Ty, Value, members};
use crate::inspect::visualize::{self, View};
use dwarf::Language;

/// Arguments of a call: the values that a method which is answered by reading sees, and whether one
/// differs from what a function of the program would get.
struct Arguments {
    values: Vec<Value>,
    relaxed: bool,
}

impl Evaluator<'_> {
    /// Evaluates `object.name(arguments)` if a library's class has the method. Otherwise returns
    /// the arguments' values.
    ///
    /// # Errors
    /// The method is known, but has no result: an index out of range, `unwrap` of an empty option.
    pub(super) fn known_method(
        &mut self,
        object: &Value,
        name: &str,
        arguments: &[Node],
    ) -> Result<Result<Value, Vec<Value>>, Error> {
        if !self.has_method(object, name)? {
            return Ok(Err(self.values_of(arguments)?));
        }
        let arguments_read = self.arguments_to_read(name, arguments)?;
        let values = &arguments_read.values;
        if let Some(found) = self.evaluate_method(object, name, values)? {
            return Ok(Ok(found));
        }
        Ok(Err(match arguments_read.relaxed {
            true => match self.values_of(arguments) {
                // No function of the program takes `&2` either.
                Err(Error::Eval { .. }) => arguments_read.values,
                values => values?,
            },
            false => arguments_read.values,
        }))
    }

    /// Evaluates `Class::name(object, arguments)` likewise.
    ///
    /// # Errors
    /// Those of [`Self::known_method`].
    pub(super) fn known_function(
        &mut self,
        path: &str,
        arguments: &[Node],
    ) -> Result<Option<Value>, Error> {
        let may_be_known = match self.language {
            Language::Rust => path.contains("::"),
            Language::Cpp => path.starts_with("std::") && path.ends_with('>'),
            Language::C => false,
        };
        if !may_be_known || arguments.is_empty() {
            return Ok(None);
        }
        let is_pure = |node: &Node| {
            let node = match &inner(node).kind {
                Kind::AddressOf(of) => inner(of),
                _ => inner(node),
            };
            matches!(
                node.kind,
                Kind::Name(_)
                    | Kind::Member(..)
                    | Kind::Index(..)
                    | Kind::Literal(..)
                    | Kind::Number(..)
                    | Kind::Text(_)
            )
        };
        // A function of the program would evaluate the arguments once more.
        if !arguments.iter().all(is_pure) {
            return Ok(None);
        }
        let Ok(Arguments { values, .. }) = self.arguments_to_read("", arguments) else {
            return Ok(None);
        };
        let types: Vec<Ty> = values.iter().map(|it| it.ty.clone()).collect();
        let (Some(method), [object, rest @ ..]) = (library::function(path, &types), &values[..])
        else {
            return Ok(None);
        };
        let target = self.context.as_target();
        let mut object = object.clone();
        while let (Shape::Pointer(of, _), true) =
            (object.ty.shape(), library::names(&object.ty).is_empty())
        {
            object = object.pointee(target, of)?;
        }
        method.evaluate(target, &object, rest).map(Some)
    }

    /// Evaluates what Rust compares by the other side: `a == Some(b)`, `Err(e) != c`, and `&a == &b`,
    /// which compares what the references refer to.
    ///
    /// # Errors
    /// The values cannot be read, or compared.
    pub(super) fn rust_comparison(
        &mut self,
        operator: Binary,
        left: &Node,
        right: &Node,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        if self.language != Language::Rust || !operator.is_comparison() {
            return Ok(None);
        }
        for (known, variant) in [(left, right), (right, left)] {
            let equality = matches!(operator, Binary::Eq | Binary::Ne);
            if !equality || variant_call(variant).is_none() || variant_call(known).is_some() {
                continue;
            }
            // A bare variant (`None`) has no value.
            let Ok(value) = self.evaluate(known) else {
                continue;
            };
            if let Some(same) = self.is_variant(&value, variant)? {
                let holds = same == (operator == Binary::Eq);
                return Ok(Some(super::arith::boolean(holds, self.language)));
            }
        }
        match (referred(left), referred(right)) {
            (Some(a), Some(b)) => self.binary(operator, a, b, node).map(Some),
            (Some(referred), None) => self.with_reference(operator, referred, right, true, node),
            (None, Some(referred)) => self.with_reference(operator, referred, left, false, node),
            (None, None) => Ok(None),
        }
    }

    /// Compares `&referred` with another expression if that is a reference, too.
    fn with_reference(
        &mut self,
        operator: Binary,
        referred: &Node,
        other: &Node,
        is_left: bool,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let Ok(reference) = self.evaluate(other) else {
            return Ok(None);
        };
        if !reference.ty.name().starts_with('&') {
            return Ok(None);
        }
        let value = self.evaluate(referred)?;
        let reference = library::referent(self.context.as_target(), &reference)?;
        let (a, b) = ((&value, referred), (&reference, other));
        let (a, b) = if is_left { (a, b) } else { (b, a) };
        self.binary_of(operator, a, b, node).map(Some)
    }

    /// Returns whether a value is the variant that a node like `Some(3)` makes; `None` if the value
    /// is of another kind.
    fn is_variant(&mut self, value: &Value, node: &Node) -> Result<Option<bool>, Error> {
        let Some((name, argument)) = variant_call(node) else {
            return Ok(None);
        };
        let value = library::referent(self.context.as_target(), value)?;
        match (library::contents(&value.ty), name) {
            (Some(Contents::Optional(_)), "Some") | (Some(Contents::Either(..)), "Ok" | "Err") => {}
            _ => return Ok(None),
        }
        let Some((active, held)) = library::variant(self.context.as_target(), &value)? else {
            return Ok(None);
        };
        let Some(held) = held.filter(|_| active == name) else {
            return Ok(Some(false));
        };
        if let Some(same) = self.is_variant(&held, argument)? {
            return Ok(Some(same));
        }
        if let Kind::Name(name) = &inner(argument).kind
            && let Some((active, None)) = library::variant(self.context.as_target(), &held)?
            && active == *name
        {
            return Ok(Some(true));
        }
        let wanted = self.evaluate(referred(argument).unwrap_or(argument))?;
        let order = library::compare(self.context.as_target(), &held, &wanted)?;
        Ok(Some(order == Some(std::cmp::Ordering::Equal)))
    }

    /// Evaluates arguments for reading: `&2` is 2, and a memory order is nothing.
    fn arguments_to_read(&mut self, name: &str, arguments: &[Node]) -> Result<Arguments, Error> {
        let mut relaxed = false;
        let mut values = Vec::new();
        for argument in arguments {
            values.push(match &inner(argument).kind {
                Kind::Name(_) if name == "load" => {
                    relaxed = true;
                    Value::of_bytes(Ty::Void, &[])
                }
                Kind::AddressOf(of) if self.language == Language::Rust => {
                    relaxed = true;
                    self.evaluate(of)?
                }
                _ => self.handed_on(argument)?,
            });
        }
        Ok(Arguments { values, relaxed })
    }

    fn has_method(&self, object: &Value, name: &str) -> Result<bool, Error> {
        let target = self.context.as_target();
        let mut value = object.clone();
        for _ in 0..DEREFERENCES {
            if library::has(&value.ty, name) {
                return Ok(true);
            }
            match dereferenced(target, &value)? {
                Some(next) => value = next,
                None => break,
            }
        }
        Ok(false)
    }

    /// Evaluates a method of the object, or of what it points to.
    fn evaluate_method(
        &self,
        object: &Value,
        name: &str,
        arguments: &[Value],
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let types: Vec<Ty> = arguments.iter().map(|it| it.ty.clone()).collect();
        let mut value = object.clone();
        for _ in 0..DEREFERENCES {
            if let Some(method) = library::method(&value.ty, name, &types) {
                return method.evaluate(target, &value, arguments).map(Some);
            }
            match dereferenced(target, &value)? {
                Some(next) => value = next,
                None => break,
            }
        }
        Ok(None)
    }

    /// Evaluates `a == b` and the other comparisons of values of the libraries' classes.
    ///
    /// # Errors
    /// The values cannot be read, or compared.
    pub(super) fn known_comparison(
        &self,
        operator: Binary,
        a: &Value,
        b: &Value,
    ) -> Result<Option<Value>, Error> {
        if !operator.is_comparison() || self.language == Language::C {
            return Ok(None);
        }
        let target = self.context.as_target();
        let is_object = |value: &Value| match library::referent_type(&value.ty).shape() {
            Shape::Composite(_) | Shape::Synthetic(_) => true,
            Shape::Array(_) => self.language == Language::Rust,
            _ => false,
        };
        if !is_object(a) && !is_object(b) {
            return Ok(None);
        }
        let (a, b) = (library::referent(target, a)?, library::referent(target, b)?);
        let swapped = match operator {
            Binary::Lt => Binary::Gt,
            Binary::Le => Binary::Ge,
            Binary::Gt => Binary::Lt,
            Binary::Ge => Binary::Le,
            other => other,
        };
        for (operator, left, right) in [(operator, &a, &b), (swapped, &b, &a)] {
            let name = format!("operator{}", operator.symbol());
            let types = std::slice::from_ref(&right.ty);
            if let Some(method) = library::method(&left.ty, &name, types) {
                let right = std::slice::from_ref(right);
                return method.evaluate(target, left, right).map(Some);
            }
        }
        Ok(None)
    }
}

/// Returns the variant of `Option` or `Result` that a node makes, and what of.
fn variant_call(node: &Node) -> Option<(&str, &Node)> {
    let Kind::Call(function, arguments) = &inner(node).kind else {
        return None;
    };
    match (&inner(function).kind, &arguments[..]) {
        (Kind::Name(name), [argument]) => {
            let name = members::last_component(name);
            matches!(name, "Some" | "Ok" | "Err").then_some((name, argument))
        }
        _ => None,
    }
}

/// Returns whether an operand gets its meaning from the operand that it is compared with.
pub(super) fn is_of_other_side(node: &Node) -> bool {
    variant_call(node).is_some() || referred(node).is_some()
}

/// Returns `x` of `&x`.
fn referred(node: &Node) -> Option<&Node> {
    match &inner(node).kind {
        Kind::AddressOf(of) => Some(of),
        _ => None,
    }
}

/// Returns what an object points to: a reference, a pointer, a class that is shown as its target.
fn dereferenced(target: &dyn Target, value: &Value) -> Result<Option<Value>, Error> {
    match value.ty.shape() {
        Shape::Pointer(of, _) => value.pointee(target, of).map(Some),
        // `opt.size()` of an optional string: C++ has `->` for that.
        _ if matches!(
            library::contents(&value.ty),
            Some(Contents::Optional(_) | Contents::Either(..))
        ) =>
        {
            Ok(None)
        }
        _ => match visualize::view(target, value) {
            Some(View::Pointee(next) | View::Noted(next, _)) => Ok(Some(next)),
            Some(View::Invalid(why)) => Err(Error::eval(why)),
            _ => Ok(None),
        },
    }
}

/// Returns the names of the methods that a value has.
pub fn names(target: &dyn Target, value: &Value) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut value = value.clone();
    for _ in 0..DEREFERENCES {
        names.extend(library::names(&value.ty));
        match dereferenced(target, &value) {
            Ok(Some(next)) => value = next,
            _ => break,
        }
    }
    names
}
