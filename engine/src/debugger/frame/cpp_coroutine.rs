//! The variables of the body of a C++ coroutine as gcc describes them: all are in the coroutine's frame, to
//! which its own parameter `frame_ptr` points, the parameters of the source as if the compiler had made them.

use super::FrameScope;
use crate::inspect::value::{Named, Shape, Ty};
use dwarf::{Scope, Variable, VariableKind};
use std::collections::HashSet;

/// The parameter of the body.
const FRAME: &str = "frame_ptr";
/// With what the names begin that gcc gives to its own variables.
const OWN: &str = "_Coro_";

/// The body of a coroutine: the names of the parameters in the source.
pub(super) struct Body {
    parameters: HashSet<String>,
}

impl FrameScope<'_> {
    /// Returns the body of a coroutine whose outermost scope this is, if it is one by gcc.
    pub(super) fn coroutine_body(&self, scope: &Scope) -> Option<Body> {
        let loaded = self.loaded()?;
        let is_frame = |it: &&Variable| it.kind == VariableKind::Parameter && it.name == FRAME;
        let frame = scope.variables.iter().find(is_frame)?;
        let pointer = Ty::of(&loaded.module, loaded.bias, frame.ty);
        let Shape::Pointer(of, _) = pointer.shape() else {
            return None;
        };
        let Shape::Composite(class) = of.shape() else {
            return None;
        };
        let members = &class.composite()?.members;
        if !members.iter().any(|it| it.name.starts_with(OWN)) {
            return None;
        }
        // Those of locals end with the numbers of their scopes.
        let parameters = members.iter().map(|it| it.name.clone());
        Some(Body {
            parameters: parameters.filter(|it| !it.starts_with(OWN)).collect(),
        })
    }
}

impl Body {
    /// Returns whether a variable is a parameter in the source.
    pub(super) fn has_parameter(&self, variable: &Variable) -> bool {
        variable.kind == VariableKind::Local && self.parameters.contains(&variable.name)
    }

    /// Puts the parameters first and the compiler's own variables last.
    pub(super) fn sort(&self, locals: &mut [Named]) {
        locals.sort_by_key(|it| match it.name.as_str() {
            name if name == FRAME || name.starts_with(OWN) => 2,
            _ if it.is_parameter => 0,
            _ => 1,
        });
    }
}
