//! Mistakes in an expression that its declarations show without a process, so that they are reported
//! when a condition or message is set.

use super::super::tree::{self, Node};
use super::{Checker, Known, Scope, Stop};
use crate::expr::Expression;
use crate::expr::evaluate::inner;
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::scalar::ScalarKind;

/// The use of an expression's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    /// To be shown.
    Value,
    /// To decide: true or false.
    Truth,
    /// To be compared with other numbers.
    Number,
    /// To be added to other numbers.
    Summand,
}

impl Expression {
    /// Returns whether the check finds nothing to object to and knows all names.
    pub(crate) fn is_known(&self, scope: &dyn Scope, of: Use) -> bool {
        let known = Known::default();
        let checker = Checker::new(scope, self.language(), &known, self.text());
        checker.usable(self.root(), of).is_ok()
    }

    /// Returns the first mistake. Names that are unknown are none: a library that is loaded later
    /// may define them.
    pub(crate) fn mistake(&self, scope: &dyn Scope, of: Use) -> Option<Error> {
        let known = Known::default();
        let checker = Checker::new(scope, self.language(), &known, self.text());
        let mistake =
            checker
                .mistake_in(self.root())
                .or_else(|| match checker.usable(self.root(), of) {
                    Err(Stop::Wrong(error @ Error::Eval { .. })) => Some(error),
                    _ => None,
                });
        // Of too long an expression nothing is known.
        mistake.filter(|_| checker.left.get() > 0)
    }
}

impl Checker<'_> {
    /// Checks an expression, and that its type suits what its value is used for.
    fn usable<'t>(&self, node: &'t Node, of: Use) -> Result<(), Stop<'t>> {
        let checked = match of {
            Use::Truth => return self.condition(node).map(drop),
            Use::Value | Use::Number | Use::Summand => self.check(node)?,
        };
        if of == Use::Value || checked.is_late() {
            return Ok(());
        }
        let name = checked.ty.name();
        let why = match library::number_kind(&checked.ty) {
            None => format!("a `{name}` is not a number"),
            Some(ScalarKind::Address) if of == Use::Summand => {
                format!("a `{name}` is an address, and addresses are not added")
            }
            Some(_) => return Ok(()),
        };
        Err(Stop::Wrong(Error::eval(why)))
    }

    // The parser limits the depth of trees.
    fn mistake_in(&self, node: &Node) -> Option<Error> {
        match self.check(node) {
            Ok(_) => None,
            Err(Stop::Wrong(error @ Error::Eval { .. })) => Some(error),
            Err(Stop::Wrong(_)) => None,
            // The type of a part is unknown; the other parts are known.
            Err(Stop::Needs(_) | Stop::Wants(_)) => {
                let parts = match &node.kind {
                    tree::Kind::Call(callee, arguments) => match &inner(callee).kind {
                        tree::Kind::Member(object, _) => {
                            let object = std::iter::once(&**object);
                            object.chain(arguments).collect()
                        }
                        _ => arguments.iter().collect(),
                    },
                    kind => kind.parts(),
                };
                parts.into_iter().find_map(|part| self.mistake_in(part))
            }
        }
    }
}
