//! Comparisons of Rust whose operands get their meaning from the other side, and the names of methods
//! that reading answers.

use super::evaluate::{DEREFERENCES, Evaluator, inner};
use super::tree::{Binary, Kind, Node};
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty, Value, members};

impl Evaluator<'_> {
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
    ) -> Result<Value, Error> {
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
                return Ok(super::arith::boolean(holds, self.language));
            }
        }
        let (a, b) = (
            referred(left).unwrap_or(left),
            referred(right).unwrap_or(right),
        );
        self.evaluate_checked(|checker| checker.usual_binary(operator, a, b, node))
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

/// Returns the names of the methods that reading answers for objects of a type.
pub fn names(ty: &Ty) -> Vec<&'static str> {
    let mut names = Vec::new();
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        names.extend(library::names(&ty));
        ty = match (ty.shape(), library::contents(&ty)) {
            (Shape::Pointer(of, _), _) => of,
            (_, Some(Contents::Pointee(of) | Contents::Wrapped(of))) => of,
            _ => break,
        };
    }
    names
}
