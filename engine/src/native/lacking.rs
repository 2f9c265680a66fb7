//! Members that objects surely have not, as far as types tell: so that a mistake in a condition is
//! told when it is set. What depends on contents, or on anything that is not known without the
//! program, is taken to be there.

use super::probe::{member_type, surely_lacks_member};
use crate::eval::run::inner;
use crate::eval::tree::{Kind, Node};
use crate::eval::{Expression, said_with};
use crate::value::{PointerKind, Shape, Ty};
use dwarf::Language;

/// What is known where an expression is to be evaluated.
pub(crate) trait Declared {
    /// The type of a variable.
    fn variable(&self, name: &str) -> Option<Ty>;
    /// Whether there may be a function of that name, of whatever class.
    fn may_be_function(&self, name: &str) -> bool;
}

impl Expression {
    /// What is wrong with the first member in it that its object surely has not.
    pub(crate) fn lacking(&self, declared: &dyn Declared) -> Option<String> {
        self.lacking_in(self.root(), declared)
    }

    // Trees are no deeper than the parser lets them be.
    fn lacking_in(&self, node: &Node, declared: &dyn Declared) -> Option<String> {
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
                if let Some((ty, names)) = of.and_then(|ty| lacks(&ty, name))
                    && !declared.may_be_function(name)
                {
                    return Some(self.said_of(object, &ty, "method", name, &names));
                }
            }
            (Kind::Member(object, name), _) => {
                below.push(&**object);
                let of = self.type_of(object, declared);
                if let Some((ty, names)) = of.and_then(|ty| lacks(&ty, name)) {
                    return Some(self.said_of(object, &ty, "member", name, &names));
                }
            }
            (kind, _) => below.extend(parts(kind)),
        }
        below
            .into_iter()
            .find_map(|part| self.lacking_in(part, declared))
    }

    fn said_of(&self, object: &Node, ty: &Ty, what: &str, name: &str, names: &[String]) -> String {
        let object = self.text().get(object.span.clone()).unwrap_or_default();
        let message = format!("`{object}` ({}) has no {what} `{name}`", ty.name());
        said_with(message, name, names)
    }

    /// The type of a part, where names, members and pointers lead to it.
    fn type_of(&self, node: &Node, declared: &dyn Declared) -> Option<Ty> {
        match &node.kind {
            Kind::Name(name) => declared.variable(name),
            Kind::Paren(of) => self.type_of(of, declared),
            Kind::Member(object, name) => member_type(&self.type_of(object, declared)?, name),
            Kind::Deref(of) => match self.type_of(of, declared)?.shape() {
                Shape::Pointer(of, _) => Some(of),
                _ => None,
            },
            // Rust's may have a range between the brackets, and goes through references.
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

/// The type, and the names that it has, if it surely has no member of that one.
fn lacks(ty: &Ty, name: &str) -> Option<(Ty, Vec<String>)> {
    let names = surely_lacks_member(ty, name)?;
    Some((ty.clone(), names))
}

fn parts(kind: &Kind) -> Vec<&Node> {
    match kind {
        Kind::Literal(..)
        | Kind::Number(..)
        | Kind::Text(_)
        | Kind::Name(_)
        | Kind::Register(_)
        | Kind::SizeOfType(_) => Vec::new(),
        Kind::Paren(of)
        | Kind::Unary(_, of)
        | Kind::Deref(of)
        | Kind::AddressOf(of)
        | Kind::Member(of, _)
        | Kind::Step(_, of, _)
        | Kind::Cast(_, _, of)
        | Kind::SizeOf(of) => vec![of],
        Kind::Binary(_, left, right)
        | Kind::And(left, right)
        | Kind::Or(left, right)
        | Kind::Index(left, right)
        | Kind::Repeat(left, right)
        | Kind::Sequence(left, right)
        | Kind::Assign(_, left, right) => vec![left, right],
        Kind::Choice(condition, yes, no) => vec![condition, yes, no],
        Kind::Range(from, to, _) => [from, to].into_iter().flatten().map(|end| &**end).collect(),
        Kind::Call(callee, arguments) => {
            let mut all = vec![&**callee];
            all.extend(arguments);
            all
        }
    }
}
