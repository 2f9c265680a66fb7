//! Variables of Rust's coroutines (`async fn`, `async` blocks) that optimized code keeps only in
//! the coroutine's state.

use super::FrameScope;
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Named, Shape, Target, Value, ValueLocation, members};
use dwarf::{LoadAddr, Variable, VariableKind};
use std::sync::Arc;

/// Maximum number of wrappers around the state of a coroutine (`Pin<&mut …>`).
const WRAPPERS: usize = 4;

impl FrameScope<'_> {
    /// Replaces variables without a location by the values that the coroutine saved at its last
    /// suspension.
    pub(super) fn restore_kept(&self, locals: &mut [Named]) {
        let lost = |local: &Named| is_lost(&local.value);
        if !locals.iter().any(lost) {
            return;
        }
        let kept = self.kept_by_coroutine();
        for local in locals.iter_mut().filter(|local| lost(local)) {
            if let Some((_, value)) = kept.iter().find(|(name, _)| *name == local.name) {
                local.value = Ok(value.clone());
            }
        }
    }

    /// Removes duplicate parameters of an `async fn`, which are described twice: as captured by its
    /// state, and as moved into the body. The second one remains, with the first one's value if it
    /// has no location of its own.
    pub(super) fn drop_captured(&self, locals: &mut Vec<Named>, variables: &[&Variable]) {
        /// rustc's name for the argument of `poll` in the body of an `async fn`.
        const CONTEXT: &str = "_task_context";
        if !variables.iter().any(|variable| variable.name == CONTEXT) {
            return;
        }
        for (index, captured) in variables.iter().enumerate().rev() {
            let same = |other: &&Variable| other.name == captured.name;
            let Some(moved) = variables[index + 1..].iter().position(&same) else {
                continue;
            };
            let moved = index + 1 + moved;
            let is_first = !variables[..index].iter().any(same);
            if !is_first || variables[moved].declaration != captured.declaration {
                continue;
            }
            let readable = |value: &Value| value.bytes(self).is_ok();
            if is_lost(&locals[moved].value) && locals[index].value.as_ref().is_ok_and(readable) {
                locals[moved].value = locals[index].value.clone();
            }
            locals.remove(index);
        }
    }

    /// Like [`FrameScope::restore_kept`] for one variable; in a lambda, the captured one.
    pub(super) fn kept_instead(
        &self,
        name: &str,
        value: Result<Value, Error>,
    ) -> Result<Value, Error> {
        if !is_lost(&value) {
            return value;
        }
        let mut kept = self.kept_by_coroutine().into_iter();
        let kept = kept.find(|(known, _)| known == name).map(|(_, kept)| kept);
        match kept.map_or_else(|| self.captured(name), |kept| Ok(Some(kept)))? {
            Some(kept) => Ok(kept),
            None => value,
        }
    }

    /// Returns the variables saved in the state of the coroutine whose function this frame runs, by
    /// name.
    fn kept_by_coroutine(&self) -> Vec<(String, Value)> {
        self.passed_state()
            .and_then(|state| kept_in(self, state))
            .unwrap_or_default()
    }

    /// Returns the coroutine's state, which rustc passes as an unnamed parameter.
    fn passed_state(&self) -> Option<Value> {
        let loaded = self.loaded()?;
        let scopes = self.scopes();
        let mut variables = scopes.iter().flat_map(|scope| &scope.variables);
        let state =
            variables.find(|it| it.name.is_empty() && it.kind == VariableKind::Parameter)?;
        self.value_of(&loaded.module, loaded.bias, state).ok()
    }

    /// Returns the address of the state of the coroutine whose function this frame runs, and
    /// address and size of its discriminant.
    pub(crate) fn coroutine(&self) -> Option<(LoadAddr, (LoadAddr, usize))> {
        let mut state = self.passed_state()?;
        let ty = unwrapped(self, &mut state)?;
        let discriminant = ty.composite()?.variants.as_ref()?.discriminant.as_ref()?;
        let number = members::member(self, &state, &ty, discriminant).ok()?;
        let size = usize::try_from(number.ty.size()?).ok()?;
        let at = |value: &Value| match value.place {
            ValueLocation::Memory(addr, _) => Some(addr),
            _ => None,
        };
        Some((at(&state)?, (at(&number)?, size)))
    }
}

fn is_lost(value: &Result<Value, Error>) -> bool {
    matches!(
        value,
        Err(Error::OptimizedOut)
            | Ok(Value {
                place: ValueLocation::OptimizedOut,
                ..
            })
    )
}

fn kept_in(target: &dyn Target, mut state: Value) -> Option<Vec<(String, Value)>> {
    let ty = unwrapped(target, &mut state)?;
    let (_, payload) = members::active_variant(target, &state, &ty).ok()??;
    let Shape::Composite(inner) = payload.ty.shape() else {
        return None;
    };
    let kept = inner.composite()?.members.iter().filter_map(|part| {
        let value = members::member(target, &payload, &inner, part).ok()?;
        Some((members::shown_name(&inner, &part.name).to_owned(), value))
    });
    Some(kept.collect())
}

/// Follows the wrappers from the function's argument to the coroutine itself. Returns its type.
fn unwrapped(target: &dyn Target, state: &mut Value) -> Option<Arc<DwarfTy>> {
    for _ in 0..WRAPPERS {
        match state.ty.shape() {
            Shape::Pointer(of, _) => *state = state.pointee(target, of).ok()?,
            Shape::Composite(ty) if is_coroutine(&ty) => return Some(ty),
            Shape::Composite(ty) => {
                let [only] = &*ty.composite()?.members else {
                    return None;
                };
                *state = members::member(target, state, &ty, only).ok()?;
            }
            _ => return None,
        }
    }
    None
}

/// Returns whether the type is an enum whose variants are numbered.
fn is_coroutine(ty: &DwarfTy) -> bool {
    let variants = ty.composite().and_then(|it| it.variants.as_ref());
    let first = variants
        .and_then(|part| part.variants.first())
        .and_then(|variant| variant.members.first());
    first.is_some_and(|member| member.name.bytes().all(|byte| byte.is_ascii_digit()))
}
