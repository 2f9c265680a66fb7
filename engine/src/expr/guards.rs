//! Guards: results of calls that hold a lock or a borrow until they are dropped, such as `MutexGuard`. The statement of
//! a program drops them at its end, and so does an evaluation: the program would wait for ever otherwise. Other results
//! are not dropped, as they are shown.

use super::argument::Argument;
use super::evaluate::{At, Evaluator, error};
use super::invoke::{Call, ResultPlace, special};
use super::ownership;
use super::tree::Node;
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{Shape, Ty, Value, members};
use dwarf::{Language, LoadAddr};
use std::ops::Range;

/// The names of C++'s guards, of its library and of others that follow it.
const OF_CPP: [&str; 6] = [
    "unique_lock",
    "lock_guard",
    "scoped_lock",
    "shared_lock",
    "MutexLock",
    "LockedPtr",
];

/// The number of the first call that drops a part of a guard, among the auxiliary calls of the call that made it.
const DROP: usize = 0xfff;
/// Maximum depth of the search for the guard in a value. In `Err(PoisonError { data: guard })` the guard is at depth 4.
const DEPTH: u32 = 6;

/// A guard that an evaluation has to drop.
#[derive(Clone)]
pub struct Guard {
    value: Value,
    /// The key of the call that made it.
    key: Range<usize>,
}

/// Returns the guard that a value of a type is, or that it may hold: `MutexGuard<T>` for `Result<MutexGuard<T>, …>`.
fn guard_in(ty: &Ty) -> Option<Ty> {
    let name = ty.name();
    let last = members::last_component(&name);
    let is_guard = match ty.language() {
        Language::Rust => last.ends_with("Guard") || matches!(last, "Ref" | "RefMut"),
        Language::Cpp => OF_CPP.contains(&last),
        Language::C => false,
    };
    if is_guard {
        return Some(ty.clone());
    }
    match library::contents(ty)? {
        Contents::Either(of, _) | Contents::Optional(of) => guard_in(&of),
        _ => None,
    }
}

impl Evaluator<'_> {
    /// Checks that a guard which a call would return can be dropped.
    ///
    /// # Errors
    /// The program has no code for that.
    pub(super) fn may_guard(&self, function: &str, returns: &Ty, node: &Node) -> Result<(), Error> {
        let Some(guard) = guard_in(returns) else {
            return Ok(());
        };
        let needs_drop = match guard.language() {
            Language::Rust => ownership::may_move(&guard).is_err(),
            _ => ownership::is_destroyed(&guard),
        };
        if !needs_drop || self.drop_of(&guard).is_some() {
            return Ok(());
        }
        let why = format!(
            "`{function}` returns a `{}`, and the program has no code of its own that drops one: what it locks would \
             stay locked; look at the data without the lock",
            guard.name()
        );
        Err(error(why, &node.span))
    }

    /// Records the result of a call if it is a guard. The record outlives a restart of the evaluation, which may skip the
    /// call.
    pub(super) fn keep_guard(&mut self, value: &Value, key: &Range<usize>) {
        if guard_in(&value.ty).is_some()
            && let Some(guards) = self.context.guards()
            && guards.iter().all(|it| it.key != *key)
        {
            let (value, key) = (value.clone(), key.clone());
            guards.push(Guard { value, key });
        }
    }

    /// Evaluates a whole expression, then drops the guards that it has made, the last first; also where the rest of
    /// the expression is wrong.
    ///
    /// # Errors
    /// Those of the evaluation; a call that drops has failed.
    pub(super) fn dropping_guards<T>(
        &mut self,
        node: &Node,
        evaluate: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let evaluated = evaluate(self);
        if matches!(evaluated, Err(Error::Calling)) {
            return evaluated;
        }
        let guards = self.context.guards().cloned().unwrap_or_default();
        for Guard { value, key } in guards.into_iter().rev() {
            for (nth, part) in self.parts_to_drop(&value, DEPTH).iter().enumerate() {
                self.drop_value(part, special(&key, DROP + nth), node)?;
            }
        }
        evaluated
    }

    /// Drops a value by the code that the program has for its type, if it has some.
    ///
    /// # Errors
    /// The call is to be made first, or has failed.
    pub(super) fn drop_value(
        &mut self,
        value: &Value,
        key: Range<usize>,
        node: &Node,
    ) -> Result<(), Error> {
        if let Some(done) = self.context.answered(&key) {
            return done.at(node).map(drop);
        }
        let Some((name, entry)) = self.drop_of(&value.ty) else {
            return Ok(());
        };
        let argument = match value.address() {
            Some(addr) => Argument::word(addr.0),
            None => Argument::copy(value.bytes(self.context.as_target())?.to_vec(), &value.ty),
        };
        Err(self.context.call(Call {
            name,
            span: key,
            entry,
            arguments: vec![argument],
            returns: Ty::Void,
            result: ResultPlace::Registers,
            language: value.ty.language(),
            errno: None,
        }))
    }

    /// Returns the parts of a value that the program has code to drop.
    fn parts_to_drop(&self, value: &Value, depth: u32) -> Vec<Value> {
        if self.drop_of(&value.ty).is_some() {
            return vec![value.clone()];
        }
        let Shape::Composite(class) = value.ty.shape() else {
            return Vec::new();
        };
        let (target, depth) = (self.context.as_target(), depth.saturating_sub(1));
        let parts = match members::active_variant(target, value, &class) {
            Ok(Some((_, payload))) => vec![payload],
            _ => {
                let all = class.composite().map_or(&[][..], |it| &it.members);
                let parts = all
                    .iter()
                    .map(|it| members::member(target, value, &class, it));
                parts.filter_map(Result::ok).collect()
            }
        };
        let parts = parts.iter().filter(|_| depth > 0);
        parts.flat_map(|it| self.parts_to_drop(it, depth)).collect()
    }

    /// Returns the function that drops a value of a type in its place.
    fn drop_of(&self, ty: &Ty) -> Option<(String, LoadAddr)> {
        let Shape::Composite(class) = ty.shape() else {
            return None;
        };
        if ty.language() == Language::Cpp {
            let destructor = self.destructor(&class)?;
            let entry = destructor.bias.load(destructor.function.entry);
            return Some((destructor.function.name.to_string(), entry));
        }
        let name = ownership::drop_glue(&class);
        let module = class.module();
        let function = module.functions_named(&name).into_iter().next()?;
        Some((name, class.bias.load(function.entry)))
    }
}
