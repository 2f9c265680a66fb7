//! Mistakes in an expression that its declarations show without a process, so that they are reported
//! when a condition or message is set.

use super::super::tree::{self, Node};
use super::{Checker, Known, Scope, Stop};
use crate::expr::Expression;
use crate::expr::evaluate::inner;
use crate::ids::error::Error;

impl Expression {
    /// Returns whether the check finds nothing to object to and knows all names. `as_condition`: its value
    /// is to be true or false.
    pub(crate) fn is_known(&self, scope: &dyn Scope, as_condition: bool) -> bool {
        let known = Known::default();
        let checker = Checker::new(scope, self.language(), &known, self.text());
        match as_condition {
            true => checker.condition(self.root()).is_ok(),
            false => checker.check(self.root()).is_ok(),
        }
    }

    /// Returns the first mistake. Names that are unknown are none: a library that is loaded later
    /// may define them. `as_condition`: its value is to be true or false.
    pub(crate) fn mistake(&self, scope: &dyn Scope, as_condition: bool) -> Option<Error> {
        let known = Known::default();
        let checker = Checker::new(scope, self.language(), &known, self.text());
        let mistake = checker.mistake_in(self.root()).or_else(|| {
            match as_condition.then(|| checker.condition(self.root()))? {
                Err(Stop::Wrong(error @ Error::Eval { .. })) => Some(error),
                _ => None,
            }
        });
        // Of too long an expression nothing is known.
        mistake.filter(|_| checker.left.get() > 0)
    }
}

impl Checker<'_> {
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
