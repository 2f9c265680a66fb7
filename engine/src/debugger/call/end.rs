//! The end of a call: its result, and the state that it interrupted.

use super::{PreparedCall, Replay, Standing};
use crate::debugger::Debugger;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inferior::site::Owner;
use crate::inferior::thread::RunState;
use crate::inspect::abi;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::{Shape, Value, ValueLocation};
use crate::stops::event::Event;
use std::ops::Range;

impl Debugger {
    /// Ends the call, which did `what` instead of returning.
    pub(super) fn fail_call(&mut self, what: &str) {
        let Some(call) = &self.calls.pending else {
            return;
        };
        let why = call.call.given_up(what);
        self.end_call(Err(why));
    }

    /// Restores the thread's state and keeps the result of the call.
    pub(super) fn end_call(&mut self, outcome: Result<(), Error>) {
        let Some(call) = self.calls.pending.take() else {
            return;
        };
        let thread = call.thread;
        let value = outcome.and_then(|()| self.call_value(thread, &call.call));
        self.restore_registers(thread, &call.call);
        match &call.counted {
            Some(counted) => self.inferior.uncount(counted),
            None => self.drain_all_messages(),
        }
        let alone = self.inferior.non_stop;
        self.restore_standing(thread, call.before);
        if let Some(state) = self.inferior.thread_mut(thread).filter(|_| alone) {
            state.run = RunState::StoppedForClient;
        }
        self.answer(&call.call.span, value);
        let outlives = self
            .inferior
            .process
            .as_ref()
            .is_some_and(|it| !it.launched);
        if outlives && self.inferior.is_visible_stop(thread) {
            self.inferior.make_all_safe_to_kill();
        }
    }

    /// Restores the registers that a thread had before a call, and its `errno` if the call must not change it.
    pub(super) fn restore_registers(&mut self, thread: ThreadId, call: &PreparedCall) {
        let restored = self.inferior.set_extended_registers(thread, &call.extended)
            && self.inferior.set_registers_of(thread, call.saved);
        if !restored {
            tracing::error!(%thread, "the registers cannot be restored after a call");
        }
        call.restore_errno(&mut self.inferior);
    }

    /// Restores the interrupted state of a thread.
    pub(super) fn restore_standing(&mut self, thread: ThreadId, before: Standing) {
        if let Some(data) = &before.signal_data {
            self.inferior.restore_signal_data(thread, data);
        }
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.debug.hits = 0;
            state.passed_site = before.passed;
            state.is_hit_shown = before.is_hit_shown;
            // A signal that arrived during the call is kept, unless one was pending before.
            if before.signal.0 != 0 {
                state.signal = before.signal;
            }
        }
        if let Some(state) = self.thread_state(thread) {
            state.hidden_inlined = before.hidden;
            state.requested = before.requested;
        }
    }

    /// Returns the result of a call.
    pub(crate) fn call_value(
        &mut self,
        thread: ThreadId,
        call: &PreparedCall,
    ) -> Result<Value, Error> {
        if matches!(call.returns.shape(), Shape::Void | Shape::Unit) {
            return Ok(Value::new(
                call.returns.clone(),
                ValueLocation::Bytes(Bytes::new(&[])),
            ));
        }
        if let Some(addr) = call.result {
            return Ok(Value::new(
                call.returns.clone(),
                ValueLocation::Memory(addr, None),
            ));
        }
        let set = self.inferior.registers(thread).ok_or(Error::OptimizedOut)?;
        let mut registers = set.to_registers();
        let extended = self.inferior.os().extended_registers(thread);
        let area = extended.as_deref().unwrap_or_default();
        registers.set_vectors(set.arch().vectors(area));
        let st0 = || set.arch().float_stack_top(area);
        abi::returned(&call.returns, call.language, &registers, &st0, None).ok_or_else(|| {
            Error::eval(format!(
                "`{}` has returned, but reading a returned `{}` is not supported",
                call.name,
                call.returns.name()
            ))
        })
    }

    /// Drops the call, whose thread is gone: there is no state to restore.
    pub(crate) fn drop_call(&mut self, why: &str) {
        if let Some(call) = self.calls.pending.take() {
            let why = Error::eval(format!("`{}` did not return: {why}", call.call.name));
            self.answer(&call.call.span, Err(why));
        }
    }

    pub(super) fn answer(&mut self, span: &Range<usize>, value: Result<Value, Error>) {
        self.inferior.remove_sites_of(Owner::Call);
        let replay = &mut self.calls.replay;
        match value {
            // A cancelled evaluation is not restarted.
            Err(Error::Cancelled) => *replay = Replay::default(),
            value => drop(replay.done.insert((span.start, span.end), value)),
        }
        self.emit(Event::CallEnded);
    }
}
