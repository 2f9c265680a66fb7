//! Finds members that objects cannot have according to their types, so that a mistake in a
//! condition is reported when it is set. A member is assumed to exist if that depends on contents,
//! or on anything unknown without a process.

use super::probe::{member_type, surely_lacks_member};
use crate::expr::evaluate::inner;
use crate::expr::messages;
use crate::expr::tree::{Kind, Node};
use crate::expr::{Expression, with_suggestion};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

/// The declarations visible where an expression is to be evaluated.
pub(crate) trait Declared {
    /// Returns the type of a variable.
    fn variable(&self, name: &str) -> Option<Ty>;
    /// Returns whether there may be a function of that name, in any class.
    fn may_be_function(&self, name: &str) -> bool;
}

impl Expression {
    /// Returns an error message for the first member that its object cannot have.
    pub(crate) fn lacking(&self, declared: &dyn Declared) -> Option<String> {
        self.missing_below(self.root(), declared)
    }

    // The parser limits the depth of trees.
    fn missing_below(&self, node: &Node, declared: &dyn Declared) -> Option<String> {
        let mut below = Vec::new();
        let mut called = None;
        if let Kind::Call(callee, _) = &node.kind
            && let Kind::Member(object, name) = &inner(callee).kind
        {
            called = Some((&**object, name));
        }
        match (&node.kind, called) {
            (Kind::Call(_, arguments), Some((object, name))) => {
                below.push(object);
                below.extend(arguments);
                let of = self.type_of(object, declared);
                if let Some((ty, names)) = of.and_then(|ty| missing_in(&ty, name))
                    && !declared.may_be_function(name)
                {
                    return Some(self.missing_message(object, &ty, "method", name, &names));
                }
            }
            (Kind::Member(object, name), _) => {
                below.push(&**object);
                let of = self.type_of(object, declared);
                if let Some((ty, names)) = of.and_then(|ty| missing_in(&ty, name)) {
                    return Some(self.missing_message(object, &ty, "member", name, &names));
                }
            }
            (kind, _) => below.extend(kind.parts()),
        }
        below
            .into_iter()
            .find_map(|part| self.missing_below(part, declared))
    }

    fn missing_message(
        &self,
        object: &Node,
        ty: &Ty,
        kind: &str,
        name: &str,
        names: &[String],
    ) -> String {
        let object = self.text().get(object.span.clone()).unwrap_or_default();
        let message = messages::no_member(kind, name, object, ty);
        with_suggestion(message, name, names)
    }

    /// Returns the type of a node that consists of names, members and pointers.
    fn type_of(&self, node: &Node, declared: &dyn Declared) -> Option<Ty> {
        match &node.kind {
            Kind::Name(name) => declared.variable(name),
            Kind::Paren(of) => self.type_of(of, declared),
            Kind::Member(object, name) => member_type(&self.type_of(object, declared)?, name),
            Kind::Deref(of) => match self.type_of(of, declared)?.shape() {
                Shape::Pointer(of, _) => Some(of),
                _ => None,
            },
            // In Rust the index may be a range, and references are followed.
            Kind::Index(of, _) if self.language() != Language::Rust => {
                match self.type_of(of, declared)?.shape() {
                    Shape::Pointer(of, PointerKind::Raw) => Some(of),
                    Shape::Array(array) => Some(array.element.clone()),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Returns the type, and the names of its members, if it cannot have this member.
fn missing_in(ty: &Ty, name: &str) -> Option<(Ty, Vec<String>)> {
    let names = surely_lacks_member(ty, name)?;
    Some((ty.clone(), names))
}
