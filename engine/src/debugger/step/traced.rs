//! What a trace of one call needs of steps: activations that are compared without walking the
//! stack, and steps that end at the return of their frame.

use super::begin::AtReturn;
use crate::debugger::{Debugger, Granularity, ResumeScope, StepKind};
use crate::ids::error::Error;
use crate::ids::{BreakpointId, ThreadId};
use crate::inspect::value::Value;
use crate::inspect::value::types::Shape;
use dwarf::LoadAddr;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};

/// Maximum size in bytes of a value that is compared by its bytes.
const MAX_BYTES: u64 = 1 << 16;
/// Maximum number of nested arrays.
const MAX_ARRAY_DEPTH: usize = 4;

/// The innermost activation of a thread: a machine frame, and how many inlined calls it is inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Activation {
    /// The canonical frame address: stacks grow down, so that a callee's is lower.
    pub frame: LoadAddr,
    /// The number of levels that the frame shows: 1, and one more for each inlined call entered.
    pub levels: usize,
}

impl Debugger {
    /// Returns a stopped thread's innermost activation; `None` if its frame cannot be unwound.
    ///
    /// # Errors
    /// Not stopped, no such thread.
    pub fn activation(&mut self, thread: ThreadId) -> Result<Option<Activation>, Error> {
        self.stopped_thread(thread)?;
        let frame = self.unwound(thread, 1)?.physical.first();
        Ok(frame.and_then(|frame| {
            Some(Activation {
                frame: frame.cfa?,
                levels: frame.levels,
            })
        }))
    }

    /// Steps by lines, over or into calls, like [`Debugger::step`]; but a return of the frame always
    /// ends the step at the return address, where [`Debugger::returned`] has the value.
    ///
    /// # Errors
    /// Those of [`Debugger::step`].
    pub fn step_or_return(
        &mut self,
        thread: ThreadId,
        kind: StepKind,
        scope: ResumeScope,
    ) -> Result<(), Error> {
        self.step_until(thread, kind, Granularity::Line, scope, AtReturn::Ends)
    }

    /// Returns whether a stopped thread has just returned from a function, after a step out or
    /// [`Debugger::step_or_return`]; it has not if an exception or a long jump left the function.
    pub fn is_returned(&self, thread: ThreadId) -> bool {
        let state = self.threads.get(&thread);
        state.is_some_and(|state| state.returned.is_some())
    }

    /// Returns a number that differs, but for hash collisions, if the value's text would: for numbers
    /// and arrays of them, whose own bytes determine it. `None`: another type, or no bytes.
    pub fn fingerprint(&self, value: &Value) -> Option<u64> {
        let mut ty = value.ty.clone();
        for _ in 0..MAX_ARRAY_DEPTH {
            match ty.shape() {
                Shape::Scalar(_) | Shape::Enumeration(_) => {
                    value.ty.size().filter(|size| *size <= MAX_BYTES)?;
                    let bytes = self.in_process(|scope| value.bytes(scope)).ok()?;
                    let mut hasher = FxHasher::default();
                    bytes.hash(&mut hasher);
                    return Some(hasher.finish());
                }
                Shape::Array(array) => ty = array.element.clone(),
                _ => return None,
            }
        }
        None
    }

    /// Returns a number that differs, but for hash collisions, if the value's bytes do, or those of its
    /// target if it is a pointer or a reference. Equal numbers prove nothing about further targets.
    /// `None`: no bytes, or too many.
    pub fn bytes_print(&self, value: &Value) -> Option<u64> {
        let hash_of = |value: &Value, hasher: &mut FxHasher| {
            value.ty.size().filter(|size| *size <= MAX_BYTES)?;
            let bytes = self.in_process(|scope| value.bytes(scope)).ok()?;
            bytes.hash(hasher);
            Some(())
        };
        let mut hasher = FxHasher::default();
        hash_of(value, &mut hasher)?;
        if let Shape::Pointer(of, _) = value.ty.shape()
            && let Ok(target) = self.in_process(|scope| value.pointee(scope, of.clone()))
        {
            // A target that cannot be read has no bytes to differ.
            let _ = hash_of(&target, &mut hasher);
        }
        Some(hasher.finish())
    }

    /// Returns whether a stopped thread is at a location of a breakpoint.
    pub fn is_at_breakpoint(&self, thread: ThreadId, id: BreakpointId) -> bool {
        let pc = self.inferior.registers(thread).map(|it| it.pc());
        let bound = self.stops.breakpoints.bound_addresses(id);
        pc.is_some_and(|pc| bound.contains(&pc))
    }
}
