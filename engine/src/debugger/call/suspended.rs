//! Calls that have stopped before they returned: a function that a user calls from the console runs
//! like the program, so breakpoints in it are hit. The evaluation ends then. The frames of the
//! function stay on the thread's stack, and the registers from before the call are saved with the
//! thread. Above those frames, the stack is unwound from the saved registers.
//!
//! The return trap stays, too. When the function returns to it, or ends with an uncaught exception,
//! the registers are restored and the thread stops: it ran on behalf of the user. A frame left by a
//! long jump returns to no trap: the stack reveals it, and its call is dropped.
//!
//! # What must hold
//!
//! - A `ThreadStack` has a frame of kind `ConsoleCall` where a frame returns to the entry point
//!   with the stack pointer of a suspended call, and continues with the saved registers. The frames
//!   behind it can be inspected; they can neither be restarted nor have registers written.
//! - No thread executes the entry point. The trap there has an owner (`Owner::Suspended`) while any
//!   call is suspended. A thread that arrives without running into the trap (single step, another
//!   stop there) is caught by `end_returned_call` before it is resumed. Forked children keep the
//!   trap: a child that returns there ends with SIGTRAP instead of running the program again.
//! - When the function returns, or at `std::terminate`, the registers are restored and the stop is
//!   reported (`StopReason::CallEnded`). The program does not continue from there by itself.
//! - A detach first restores all such threads, to the state before the oldest call. A call whose
//!   frames were left by `longjmp` is detected by unwinding, and dropped before that.

use super::{PreparedCall, Replay, Standing, UNCAUGHT};
use crate::debugger::stack::ThreadStack;
use crate::debugger::{Debugger, Shown, Vote};
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::inferior::site::Owner;
use crate::inferior::thread::{RunState, Thread};
use crate::inspect::value::Value;
use crate::os::Mapping;
use crate::stops::event::StopReason;
use dwarf::{FrameAddress, LoadAddr, Registers, SourceLocation};

/// Maximum length of a quoted expression.
const MAX_QUOTED: usize = 60;

/// A call that has not returned and that no evaluation waits for.
pub struct SuspendedCall {
    call: PreparedCall,
    before: Standing,
}

/// The caller of the frames that a suspended call has made.
pub(crate) struct ConsoleCallFrame {
    pub caller: (FrameAddress, Registers),
    /// Number of inlined calls that its innermost frame does not show.
    pub hidden: usize,
    /// The line to show, if the line table has another one.
    pub shown: Option<SourceLocation>,
}

impl Debugger {
    /// Suspends the call in progress on a thread whose stop is about to be reported. Returns the
    /// error of the evaluation that waited for it.
    pub(crate) fn suspend_call(&mut self, thread: ThreadId, reason: &StopReason) -> Option<Error> {
        let call = self.calls.pending.take_if(|call| call.thread == thread)?;
        let quoted = self.calls.replay.expression.1.get(call.call.span.clone());
        let name = match quoted.filter(|it| it.len() <= MAX_QUOTED) {
            Some(quoted) => quoted.to_owned(),
            None => call.call.name.clone(),
        };
        let cause = match reason {
            StopReason::Breakpoint(_) | StopReason::BreakpointError(..) => " at a breakpoint",
            StopReason::Exception { .. } => " for an exception",
            _ => "",
        };
        let pc = self
            .inferior
            .registers(thread)
            .map(|registers| registers.pc());
        let place = pc.and_then(|pc| self.place_of(pc));
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        let why = Error::eval(format!(
            "`{name}` stopped{cause}{place}, so the expression has no value; the thread is back \
             in its former state when `{}` has returned",
            call.call.name
        ));
        self.plant_return_trap(call.call.back.0, Owner::Suspended);
        self.inferior.remove_sites_of(Owner::Call);
        self.calls.replay = Replay::default();
        if let Some(state) = self.thread_state(thread) {
            state.suspended.push(SuspendedCall {
                call: call.call,
                before: call.before,
            });
        }
        Some(why)
    }

    /// Returns file (base name) and line of an address.
    fn place_of(&self, addr: LoadAddr) -> Option<String> {
        let loaded = self.images.modules.at(addr)?;
        let at = loaded.module.place_at(loaded.bias.file(addr))?;
        let file = at.file.path.file_name()?.to_string_lossy().into_owned();
        Some(format!("{file}:{}", at.line))
    }

    /// Returns the caller of a frame that returns to `back` with this stack pointer, if a suspended
    /// call made that frame.
    pub(crate) fn console_call_at(
        &self,
        thread: ThreadId,
        back: (LoadAddr, u64),
    ) -> Option<ConsoleCallFrame> {
        let state = self.threads.get(&thread)?;
        let mut calls = state.suspended.iter().rev();
        let SuspendedCall { call, before } = calls.find(|it| it.call.back == back)?;
        let mut registers = call.saved.to_registers();
        registers.set_vectors(call.saved.arch().vectors(&call.extended));
        let pc = call.saved.pc();
        Some(ConsoleCallFrame {
            caller: (FrameAddress::Pc(pc), registers),
            hidden: before.hidden,
            shown: before.requested.shown_at(pc, before.hidden),
        })
    }

    /// Handles a hit of the trap at which suspended calls end. If one has ended, its stop is to be
    /// reported.
    pub(crate) fn on_suspended_site(&mut self, thread: ThreadId, addr: LoadAddr) -> Option<Vote> {
        if let Some(vote) = self.end_returned_call(thread) {
            return Some(vote);
        }
        self.drop_left_calls(thread);
        let last = self
            .thread_state(thread)
            .and_then(|state| state.suspended.pop_if(|it| it.call.back.0 != addr));
        let last = last?;
        let outcome = Err(last.call.given_up(UNCAUGHT));
        Some(self.end_suspended(thread, last, outcome))
    }

    /// Ends the call that has returned to a stopped thread's pc; `None` if there is none.
    pub(crate) fn end_returned_call(&mut self, thread: ThreadId) -> Option<Vote> {
        if self.threads.get(&thread)?.suspended.is_empty() {
            return None;
        }
        let is_stopped = |it: &Thread| it.run == RunState::Stopped;
        self.inferior.thread(thread).filter(|it| is_stopped(it))?;
        let registers = self.inferior.registers(thread)?;
        let here = (registers.pc(), registers.sp());
        let returned = self.thread_state(thread).and_then(|state| {
            let mut calls = state.suspended.iter();
            let index = calls.rposition(|it| it.call.back == here)?;
            // Later calls have been left by a long jump.
            state.suspended.drain(index..).next()
        });
        let returned = returned?;
        let outcome = self.call_value(thread, &returned.call);
        Some(self.end_suspended(thread, returned, outcome))
    }

    /// Aborts the last suspended call of a thread and restores the thread's state;
    /// [`StopReason::CallEnded`] follows, and no code has run.
    ///
    /// # Errors
    /// The thread is not stopped, or not in such a call, or blocked in a system call that cannot be
    /// interrupted.
    pub fn abandon_call(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.can_run()?;
        self.stopped_thread(thread)?;
        self.drop_left_calls(thread);
        if let Some(why) = self.inferior.syscall_refusal(thread) {
            return Err(Error::Unsupported(format!(
                "cannot abandon the call: {why}"
            )));
        }
        let Some(last) = self.take_suspended(thread) else {
            return Err(Error::Unsupported(
                "no call from the console in this thread".into(),
            ));
        };
        let outcome = Err(last.call.given_up("did not return"));
        let vote = self.end_suspended(thread, last, outcome);
        self.carry_out(thread, vote);
        Ok(())
    }

    /// Removes and returns the last suspended call of a thread.
    fn take_suspended(&mut self, thread: ThreadId) -> Option<SuspendedCall> {
        let last = self.thread_state(thread)?.suspended.pop()?;
        let state = self.inferior.thread_mut(thread)?;
        if crate::inferior::is_fatal_signal(state.signal) {
            // The pending signal was caused by the call.
            state.signal = Signal(0);
        }
        Some(last)
    }

    /// Restores a thread's state from before a call, whose end is to be reported.
    fn end_suspended(
        &mut self,
        thread: ThreadId,
        ended: SuspendedCall,
        outcome: Result<Value, Error>,
    ) -> Vote {
        let (hidden, requested) = (ended.before.hidden, ended.before.requested.clone());
        self.restore_registers(thread, &ended.call);
        self.restore_standing(thread, ended.before);
        self.release_return_trap();
        self.end_scopes_up_to(thread, LoadAddr(ended.call.back.1));
        let name = ended.call.name;
        // As at the stop before the call.
        let shown = Shown {
            hidden: Some(hidden),
            requested: Some(requested),
            returned: None,
        };
        Vote::Stop(StopReason::CallEnded { name, outcome }, shown)
    }

    /// Removes the return trap when no call is suspended any more.
    pub(crate) fn release_return_trap(&mut self) {
        let mut threads = self.threads.values();
        if threads.all(|state| state.suspended.is_empty()) {
            self.inferior.remove_sites_of(Owner::Suspended);
        }
    }

    /// Restores the state of all threads from before their suspended calls: the return trap is
    /// about to be removed. All threads are stopped.
    pub(crate) fn end_suspended_calls(&mut self) {
        let is_stopped = |thread: &ThreadId| {
            let state = self.inferior.thread(*thread);
            state.is_some_and(|state| state.is_stopped())
        };
        let threads = self.threads.iter();
        let suspended =
            threads.filter(|(thread, it)| !it.suspended.is_empty() && is_stopped(thread));
        let threads: Vec<ThreadId> = suspended.map(|(thread, _)| *thread).collect();
        for thread in threads {
            self.drop_left_calls(thread);
            if let Some(why) = self.inferior.syscall_refusal(thread) {
                tracing::error!(%thread, why, "a call from the console cannot be ended");
                continue;
            }
            while let Some(last) = self.take_suspended(thread) {
                self.restore_registers(thread, &last.call);
                self.restore_standing(thread, last.before);
            }
        }
        self.release_return_trap();
    }

    /// Drops calls whose frames a stopped thread has left without a return.
    fn drop_left_calls(&mut self, thread: ThreadId) {
        let suspended = |this: &mut Self| {
            let state = this.threads.get(&thread);
            state.map_or_else(Vec::new, |state| {
                state.suspended.iter().map(|it| it.call.back.1).collect()
            })
        };
        let calls: Vec<u64> = suspended(self);
        let Some(pid) = self.pid().filter(|_| !calls.is_empty()) else {
            return;
        };
        let mappings = self.inferior.os().mappings(pid);
        let Ok(stack) = self.unwound(thread, usize::MAX) else {
            return;
        };
        let left: Vec<u64> = calls
            .into_iter()
            .filter(|end| has_left(stack, *end, &mappings))
            .collect();
        if let Some(state) = self.thread_state(thread) {
            state.suspended.retain(|it| !left.contains(&it.call.back.1));
        }
        // It shows the calls that were made at suspended ones.
        self.views.stacks.remove(&thread);
    }
}

/// Returns whether a stack extends past `end`, where the frames of a call began, without them. A
/// signal handler may run on another stack.
fn has_left(stack: &ThreadStack, end: u64, mappings: &[Mapping]) -> bool {
    let is_in = |it: &Mapping, addr: u64| (it.start.0..it.end.0).contains(&addr);
    let mapping = mappings.iter().find(|it| is_in(it, end.saturating_sub(1)));
    let is_past = |cfa: LoadAddr| cfa.0 > end && mapping.is_some_and(|it| is_in(it, cfa.0 - 1));
    let is_there = (stack.physical.iter())
        .any(|frame| frame.is_console_call && frame.registers.sp() == Some(end));
    let mut frames = stack.physical.iter().filter_map(|frame| frame.cfa);
    !is_there && frames.any(is_past)
}
