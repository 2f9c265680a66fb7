//! Calls that have stopped before they returned: a function that a user calls from the console
//! runs as the program does, so breakpoints in it are hit. The evaluation is over then. The frames
//! of the function stay on the thread's stack, and what the thread had in its registers before the
//! call stays with the thread. Behind those frames the stack goes on with it, as if it had been
//! unwound from there.
//!
//! The return trap stays as well. Where the function returns to it, or ends with an exception that
//! it does not catch, the registers are put back and the thread stops: it ran for the user, and not
//! by itself. A frame that was left by a long jump returns to no trap: that is seen by the stack, and
//! its call dropped.

use super::{Prepared, Replay, Standing, UNCAUGHT};
use crate::breakpoint::site::Owner;
use crate::debugger::Debugger;
use crate::event::StopReason;
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::inspect::value::Value;
use crate::os::Mapping;
use crate::stack::ThreadStack;
use dwarf::{FrameAddress, LoadAddr, Registers, SourceLocation};

/// No expression is quoted that is longer.
const MAX_QUOTED: usize = 60;

/// A call that has not returned, and that no evaluation waits for.
pub struct SuspendedCall {
    call: Prepared,
    before: Standing,
}

/// Where the stack of a thread goes on behind the frames that a suspended call has made.
pub(crate) struct ConsoleCallFrame {
    pub caller: (FrameAddress, Registers),
    /// Inlined calls that its innermost frame does not show.
    pub hidden: usize,
    /// The line that it shows, where that is not its code's.
    pub shown: Option<SourceLocation>,
}

impl Debugger {
    /// A thread that a call is under way on is about to be shown stopped: the call is suspended.
    /// Gives what the evaluation ends with that waited for it.
    pub(crate) fn suspend_call(&mut self, thread: ThreadId, reason: &StopReason) -> Option<Error> {
        let call = self.call.take_if(|call| call.thread == thread)?;
        let quoted = self
            .replay
            .get_mut()
            .expression
            .1
            .get(call.call.span.clone());
        let name = match quoted.filter(|it| it.len() <= MAX_QUOTED) {
            Some(quoted) => quoted.to_owned(),
            None => call.call.name.clone(),
        };
        let cause = match reason {
            StopReason::Breakpoint(_) | StopReason::BreakpointError(..) => " at a breakpoint",
            StopReason::Exception { .. } => " for an exception",
            _ => "",
        };
        let pc = self.registers_of(thread).map(|registers| registers.pc());
        let place = pc.and_then(|pc| self.place_of(pc));
        let place = place.map_or_else(String::new, |place| format!(" at {place}"));
        let why = Error::eval(format!(
            "`{name}` stopped{cause}{place}; the evaluation is abandoned, and the thread returns \
             to where it was when `{}` returns",
            call.call.name
        ));
        self.catch_call(call.call.back.0, Owner::Suspended);
        self.sites.remove_owner(Owner::Call, &*self.os);
        *self.replay.get_mut() = Replay::default();
        self.pages.clear();
        self.stacks.clear();
        if let Some(state) = self.thread_mut(thread) {
            state.suspended.push(SuspendedCall {
                call: call.call,
                before: call.before,
            });
        }
        Some(why)
    }

    /// The line of an address, its file by its base name.
    fn place_of(&self, addr: LoadAddr) -> Option<String> {
        let loaded = self.modules.at(addr)?;
        let at = loaded.module.place_at(loaded.bias.file(addr))?;
        let file = at.file.path.file_name()?.to_string_lossy().into_owned();
        Some(format!("{file}:{}", at.line))
    }

    /// What the stack goes on with where a frame returns to `back` with this stack pointer, if a
    /// suspended call made that frame.
    pub(crate) fn console_call_at(
        &self,
        thread: ThreadId,
        back: (LoadAddr, u64),
    ) -> Option<ConsoleCallFrame> {
        let state = self.process.as_ref()?.threads.get(&thread)?;
        let mut calls = state.suspended.iter().rev();
        let SuspendedCall { call, before } = calls.find(|it| it.call.back == back)?;
        let mut registers = call.saved.to_registers();
        registers.set_vectors(crate::os::vectors_in(&call.extended));
        let pc = call.saved.pc();
        Some(ConsoleCallFrame {
            caller: (FrameAddress::Pc(pc), registers),
            hidden: before.hidden,
            shown: before.asked.shown_at(pc, before.hidden),
        })
    }

    /// A thread has hit a trap at which suspended calls end. True: one has, and the stop was
    /// reported.
    pub(crate) fn on_suspended_site(&mut self, thread: ThreadId, addr: LoadAddr) -> bool {
        if self.end_returned_call(thread) {
            return true;
        }
        self.drop_left_calls(thread);
        let last = self
            .thread_mut(thread)
            .and_then(|state| state.suspended.pop_if(|it| it.call.back.0 != addr));
        let Some(last) = last else { return false };
        let outcome = Err(last.call.given_up(UNCAUGHT));
        self.end_suspended(thread, last, outcome);
        true
    }

    /// Ends the call that has returned to where a thread is. False: none has.
    pub(crate) fn end_returned_call(&mut self, thread: ThreadId) -> bool {
        if self
            .thread_mut(thread)
            .is_none_or(|it| it.suspended.is_empty())
        {
            return false;
        }
        let Some(registers) = self.registers_of(thread) else {
            return false;
        };
        let here = (registers.pc(), registers.sp());
        let returned = self.thread_mut(thread).and_then(|state| {
            let mut calls = state.suspended.iter();
            let index = calls.rposition(|it| it.call.back == here)?;
            // Those behind it have been left by a long jump.
            state.suspended.drain(index..).next()
        });
        let Some(returned) = returned else {
            return false;
        };
        self.pages.clear();
        let outcome = self.call_value(thread, &returned.call);
        self.end_suspended(thread, returned, outcome);
        true
    }

    /// Gives up the last call of a thread that has stopped before it returned, and puts the thread
    /// back to where it was; [`StopReason::CallEnded`] follows, and nothing has run.
    ///
    /// # Errors
    /// The thread is not stopped, or not in such a call; it waits in a system call that it cannot
    /// be taken out of.
    pub fn abandon_call(&mut self, thread: ThreadId) -> Result<(), Error> {
        self.can_run()?;
        self.stopped_thread(thread)?;
        self.drop_left_calls(thread);
        if let Some(why) = self.lasting_system_call(thread) {
            return Err(Error::Unsupported(format!("the call must go on: {why}")));
        }
        let Some(last) = self.take_suspended(thread) else {
            return Err(Error::Unsupported(
                "this thread is in no function called from the console".into(),
            ));
        };
        let outcome = Err(last.call.given_up("did not return"));
        self.end_suspended(thread, last, outcome);
        Ok(())
    }

    /// The last suspended call of a thread, which is about to leave it.
    fn take_suspended(&mut self, thread: ThreadId) -> Option<SuspendedCall> {
        let state = self.thread_mut(thread)?;
        let last = state.suspended.pop()?;
        if crate::process::stops(state.signal) {
            // It was for what the call did.
            state.signal = Signal(0);
        }
        Some(last)
    }

    /// Puts a thread back to where it was before a call, and stops there.
    fn end_suspended(
        &mut self,
        thread: ThreadId,
        ended: SuspendedCall,
        outcome: Result<Value, Error>,
    ) {
        let (hidden, asked) = (ended.before.hidden, ended.before.asked.clone());
        self.restore_registers(thread, &ended.call);
        self.restore_standing(thread, ended.before);
        self.release_return_trap();
        self.end_scopes_up_to(thread, LoadAddr(ended.call.back.1));
        let name = ended.call.name;
        self.report(thread, StopReason::CallEnded { name, outcome });
        // As it was shown then.
        if let Some(state) = self.thread_mut(thread) {
            state.hidden = hidden;
            state.asked = asked;
        }
    }

    /// Takes the return trap away when no call is suspended any more.
    pub(crate) fn release_return_trap(&mut self) {
        let mut threads = self.process.iter().flat_map(|it| it.threads.values());
        if threads.all(|state| state.suspended.is_empty()) {
            self.sites.remove_owner(Owner::Suspended, &*self.os);
        }
    }

    /// Puts all threads back to where they were before calls that have not returned: no trap of
    /// ours will be there to do it. All threads are stopped.
    pub(crate) fn end_suspended_calls(&mut self) {
        let process = self.process.iter();
        let threads = process.flat_map(|process| &process.threads);
        let suspended = threads.filter(|(_, state)| state.stopped && !state.suspended.is_empty());
        let threads: Vec<ThreadId> = suspended.map(|(thread, _)| *thread).collect();
        for thread in threads {
            self.drop_left_calls(thread);
            if let Some(why) = self.lasting_system_call(thread) {
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

    /// Forgets calls whose frames a stopped thread has left otherwise than by returning.
    fn drop_left_calls(&mut self, thread: ThreadId) {
        let suspended = |this: &mut Self| {
            let state = this.thread_mut(thread);
            state.map_or_else(Vec::new, |state| {
                state.suspended.iter().map(|it| it.call.back.1).collect()
            })
        };
        let calls: Vec<u64> = suspended(self);
        let Some(pid) = self.pid().filter(|_| !calls.is_empty()) else {
            return;
        };
        self.pages.clear();
        self.stacks.clear();
        let mappings = self.os.mappings(pid);
        let Ok(stack) = self.unwound(thread, usize::MAX) else {
            return;
        };
        let left: Vec<u64> = calls
            .into_iter()
            .filter(|end| has_left(stack, *end, &mappings))
            .collect();
        if let Some(state) = self.thread_mut(thread) {
            state.suspended.retain(|it| !left.contains(&it.call.back.1));
        }
        self.stacks.clear();
    }
}

/// Whether a stack goes past `end`, where the frames of a call began, without them. A signal's
/// handler may be on another stack.
fn has_left(stack: &ThreadStack, end: u64, mappings: &[Mapping]) -> bool {
    let is_in = |it: &Mapping, addr: u64| (it.start.0..it.end.0).contains(&addr);
    let mapping = mappings.iter().find(|it| is_in(it, end.saturating_sub(1)));
    let is_past = |cfa: LoadAddr| cfa.0 > end && mapping.is_some_and(|it| is_in(it, cfa.0 - 1));
    let is_there = (stack.physical.iter())
        .any(|frame| frame.is_console_call && frame.registers.sp() == Some(end));
    let mut frames = stack.physical.iter().filter_map(|frame| frame.cfa);
    !is_there && frames.any(is_past)
}
