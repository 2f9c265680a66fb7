//! Values that can be watched, and the frames whose return ends their lifetime.

use crate::debugger::Debugger;
use crate::ids::FrameKey;
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Ty, Value, ValueLocation};
use crate::stops::breakpoint::watch::{WatchScope, Watchable};
use dwarf::LoadAddr;
use std::cmp::Ordering;

/// Maximum number of frames searched for the one that contains the data.
pub(crate) const MAX_FRAMES: usize = 1 << 12;

impl Debugger {
    /// Returns the watchable data of a value that was evaluated in a frame. `bytes`: the number of
    /// bytes to watch, instead of the value's size.
    ///
    /// # Errors
    /// The value is not in memory, or its size is unknown or 0.
    pub fn watchable(
        &mut self,
        frame: Option<FrameKey>,
        name: &str,
        value: &Value,
        bytes: Option<u64>,
    ) -> Result<Watchable, Error> {
        let refused = |why: &str| Err(Error::Unsupported(format!("`{name}` {why}")));
        // A C++ reference itself never changes.
        let value = &self.in_process(|scope| value.referent(scope))?;
        let addr = match &value.place {
            ValueLocation::Memory(addr, _) => *addr,
            ValueLocation::Register { .. } => {
                return refused("is in a register here, not in memory");
            }
            ValueLocation::Bytes(_) => return refused("is a computed value, not in memory"),
            ValueLocation::Pieces(..) => return refused("is split between several locations here"),
            ValueLocation::OptimizedOut => return refused("is optimized out here"),
            ValueLocation::ImplicitPointer => return refused("points to something optimized out"),
            ValueLocation::Temporary(_) => return refused("refers to a temporary"),
            ValueLocation::Failed(error) => return Err((**error).clone()),
        };
        let own = match value.bits {
            Some(bits) => Some(bits.bytes() as u64),
            None => value.ty.size(),
        };
        let Some(bytes) = bytes.or(own) else {
            return refused("has an unknown size");
        };
        if bytes == 0 {
            return refused("has size 0");
        }
        let language = match frame {
            Some(frame) => {
                self.in_frame(frame, |scope| Ok(crate::expr::EvalContext::language(scope)))?
            }
            None => self.in_process(|scope| Ok(crate::expr::EvalContext::language(scope)))?,
        };
        let mut value = match Some(bytes) == own {
            true => value.clone(),
            false => raw(addr, bytes),
        };
        value.place = ValueLocation::Memory(addr, None);
        Ok(Watchable {
            name: name.to_owned(),
            addr,
            bytes,
            scope: frame.and_then(|frame| self.scope_of(frame, addr)),
            own: frame.and_then(|frame| self.own_frame(frame)),
            value,
            language,
        })
    }

    /// Returns `bytes` bytes at an address as untyped watchable data.
    ///
    /// # Errors
    /// `bytes` is 0.
    pub fn watchable_at(&mut self, addr: LoadAddr, bytes: u64) -> Result<Watchable, Error> {
        let value = raw(addr, bytes);
        self.watchable(None, &addr.to_string(), &value, Some(bytes))
    }

    /// Returns the machine frame that contains an address, on the stack of the frame's thread.
    /// `None`: the address is not on that stack, or the stack cannot be unwound so far.
    fn scope_of(&mut self, frame: FrameKey, addr: LoadAddr) -> Option<WatchScope> {
        let sp = self.inferior.registers(frame.thread)?.sp();
        let red_zone = self.images.modules.convention().red_zone;
        if addr.0 < sp.wrapping_sub(red_zone) {
            return None;
        }
        let mut levels = frame.level + 1;
        loop {
            let stack = self.unwound(frame.thread, levels + 1).ok()?;
            // A tail call has already removed its caller's frame from the stack.
            let mut frames = stack.physical.iter().filter(|it| !it.is_tail_call);
            let inner = frames.position(|it| it.cfa.is_some_and(|cfa| addr < cfa));
            if let Some(inner) = inner {
                let mut frames = stack.physical.iter().filter(|it| !it.is_tail_call);
                let holder = frames.nth(inner)?;
                let (cfa, saved_at) = (holder.cfa?.0, holder.saved_at);
                if let Some(back) = frames.next().map(|outer| outer.address.addr()) {
                    let scope = WatchScope {
                        thread: frame.thread,
                        cfa,
                        back,
                        saved: match saved_at {
                            Some(at) => Some((at, self.memory_word(at)?)),
                            None => None,
                        },
                    };
                    return self.is_alive(&scope).then_some(scope);
                }
            }
            if stack.complete || levels > MAX_FRAMES {
                return None;
            }
            levels *= 2;
        }
    }

    /// Returns whether a frame is not on the stack of its stopped thread, although its memory may look
    /// so: on the way to a handler, frames at its address begin before any is written over it.
    pub(crate) fn is_off_stack(&mut self, scope: &WatchScope) -> bool {
        /// Number of frames to search: code that changes a local is mostly near it.
        const FRAMES: usize = 32;
        let is_stopped = self.inferior.registers(scope.thread).is_some();
        let Some(Ok(stack)) = is_stopped.then(|| self.unwound(scope.thread, FRAMES)) else {
            return false;
        };
        let mut frames = stack
            .physical
            .iter()
            .filter(|it| !it.is_tail_call)
            .peekable();
        while let Some(frame) = frames.next() {
            let Some(cfa) = frame.cfa else { return false };
            let returns_to = frames.peek().map(|caller| caller.address.addr());
            match cfa.0.cmp(&scope.cfa) {
                Ordering::Less => {}
                Ordering::Equal if returns_to == Some(scope.back) => return false,
                Ordering::Equal if returns_to.is_none() => return false,
                Ordering::Equal => {}
                Ordering::Greater => return true,
            }
        }
        false
    }

    /// Returns whether a frame still exists: its return address is in place, and the stack pointer
    /// of its thread, if that is stopped, is below its CFA.
    pub(crate) fn is_alive(&self, scope: &WatchScope) -> bool {
        let is_there = (scope.saved).is_none_or(|(at, word)| self.memory_word(at) == Some(word));
        let state = self
            .inferior
            .process
            .as_ref()
            .and_then(|it| it.threads.get(&scope.thread));
        let Some(state) = state else { return false };
        let sp = state
            .is_stopped()
            .then(|| self.inferior.os().registers(scope.thread))
            .flatten()
            .map(|registers| registers.sp());
        is_there && sp.is_none_or(|sp| sp < scope.cfa)
    }
}

/// Returns untyped bytes as a value: an unsigned integer of that size, or an array of bytes.
fn raw(addr: LoadAddr, bytes: u64) -> Value {
    let unsigned = |size, name| Ty::Builtin(Scalar::new(ScalarKind::Unsigned, size), name);
    let ty = match bytes {
        1 => unsigned(1, "u8"),
        2 => unsigned(2, "u16"),
        4 => unsigned(4, "u32"),
        8 => unsigned(8, "u64"),
        _ => unsigned(1, "u8").array(bytes),
    };
    Value::new(ty, ValueLocation::Memory(addr, None))
}
