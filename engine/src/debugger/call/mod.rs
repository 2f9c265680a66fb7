//! Calls of the program's functions on a stopped thread while all others stay stopped.
//! The session keeps running; [`Event::CallEnded`] reports the end, with
//! the thread's state restored. A call typed by the user stops at breakpoints (`suspended`).
//!
//! What fast breakpoints count and log during a call is taken back
//! (`debugger/fast_breakpoint/calls.rs`). Where other threads run meanwhile (conditions, non-stop
//! mode), sites that count are traps.

mod begin;
mod end;
mod suspended;

use crate::arch::ExtendedRegisters;
use crate::debugger::{Debugger, Vote};
use crate::expr::{Call, Guard, Purpose};
use crate::ids::error::Error;
use crate::ids::{Signal, ThreadId};
use crate::inferior::jump_patch::Counted;
use crate::inferior::site::Owner;
use crate::inferior::{Inferior, StopCause};
use crate::inspect::value::{Ty, Value};
use crate::os::{RegisterSet, SignalData, ThreadEvent};
use crate::stops::breakpoint::RequestedLocation;
use dwarf::{LoadAddr, Memory};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
pub use suspended::SuspendedCall;

/// Size of `errno`, an `int`.
const ERRNO_BYTES: usize = 4;

/// Default timeout of a call.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// What an evaluation has done so far. It is restarted after each call, and nothing in here is done
/// twice.
#[derive(Default)]
pub(crate) struct Replay {
    pub expression: (Option<crate::FrameKey>, String),
    pub done: HashMap<(usize, usize), Result<Value, Error>>,
    pub wanted: Option<Call>,
    /// The guards that are dropped at the end of the evaluation.
    pub guards: Vec<Guard>,
    /// Bytes of the stack below the red zone that hold results of calls.
    pub reserved: u64,
}

/// A call that a thread is prepared for or in.
pub(crate) struct PreparedCall {
    pub name: String,
    pub span: Range<usize>,
    returns: Ty,
    language: dwarf::Language,
    /// Address of the result in memory.
    result: Option<LoadAddr>,
    /// The return address, and the stack pointer after the return.
    pub back: (LoadAddr, u64),
    /// The thread's registers at the beginning of the call.
    begin: (RegisterSet, Option<ExtendedRegisters>),
    /// The registers to restore after it.
    pub saved: RegisterSet,
    pub extended: ExtendedRegisters,
    /// Address and value of an `errno` to restore.
    errno: Option<(LoadAddr, u64)>,
}

/// The effect of a stop of a thread in a call.
pub(crate) enum CallStop {
    /// The thread has ended, or the process has executed another program.
    Gone,
    /// The thread is stopped; the stop has nothing to do with the call.
    Settled,
    /// The call goes on, or a breakpoint stops in it.
    Going(Vote),
    /// The call has returned.
    Returned,
    /// The call ended without a return; the text says how.
    Failed(String),
}

/// The state of a thread that a call interrupts, apart from its registers.
pub(crate) struct Standing {
    passed: Option<LoadAddr>,
    is_hit_shown: bool,
    /// The signal to deliver on resume.
    signal: Signal,
    /// The data of the signal.
    signal_data: Option<SignalData>,
    hidden: usize,
    requested: RequestedLocation,
}

/// A call in progress that an evaluation waits for.
pub(crate) struct PendingCall {
    thread: ThreadId,
    call: PreparedCall,
    before: Standing,
    deadline: Instant,
    cancel: Option<Arc<AtomicBool>>,
    /// The reason for interrupting it.
    abort: Option<Error>,
    /// Whether breakpoints are hit in it.
    purpose: Purpose,
    /// The program's hit counters before the call, if no other thread runs.
    counted: Option<Counted>,
}

impl Debugger {
    /// Returns whether a call into the program is in progress.
    pub fn is_calling(&self) -> bool {
        self.calls.pending.is_some()
    }

    /// Sets the timeout of calls; a call is interrupted after it.
    pub fn set_call_limit(&mut self, limit: Duration) {
        self.calls.limit = limit;
    }

    pub(crate) fn call_deadline(&self) -> Option<Instant> {
        let call = self
            .calls
            .pending
            .as_ref()
            .filter(|call| call.abort.is_none());
        let condition_call = self.condition_call_deadline();
        [condition_call, call.map(|call| call.deadline)]
            .into_iter()
            .flatten()
            .min()
    }

    /// Interrupts the call in progress; its side effects remain.
    pub fn abort_call(&mut self, why: Error) {
        let Some(call) = &mut self.calls.pending else {
            return;
        };
        if call.abort.is_some() {
            return;
        }
        call.abort = Some(why);
        let thread = call.thread;
        self.inferior.interrupt(thread);
    }

    /// Interrupts a call that has timed out or that no evaluation needs any more.
    pub(crate) fn check_call(&mut self) {
        self.interrupt_late_condition_calls(None);
        let Some(call) = &self.calls.pending else {
            return;
        };
        let cancelled = call.cancel.as_ref();
        if cancelled.is_some_and(|it| it.load(Ordering::Relaxed)) {
            self.abort_call(Error::Cancelled);
        } else if Instant::now() >= call.deadline {
            let why = format!(
                "`{}` timed out after {} s (`callTimeout`); thread state restored",
                call.call.name,
                self.calls.limit.as_secs_f32()
            );
            self.abort_call(Error::eval(why));
        }
    }

    /// Returns whether hits and messages counted in the program belong to a call, and are to be
    /// dropped.
    pub(crate) fn is_uncounted_call(&self) -> bool {
        self.calls
            .pending
            .as_ref()
            .is_some_and(|call| call.counted.is_some())
    }

    pub(crate) fn calls_on(&self, thread: ThreadId) -> bool {
        self.calls
            .pending
            .as_ref()
            .is_some_and(|call| call.thread == thread)
    }

    /// Handles a stop of the thread of the call.
    pub(crate) fn on_call_stop(&mut self, thread: ThreadId, status: ThreadEvent) -> Vote {
        let Some(back) = self.calls.pending.as_ref().map(|call| call.call.back) else {
            return Vote::Stay;
        };
        match self.call_progress(thread, status, back) {
            CallStop::Gone => self.drop_call(ENDED),
            CallStop::Settled if self.end_aborted_call(thread) => {}
            CallStop::Settled => return Vote::Run,
            CallStop::Going(vote) => return vote,
            CallStop::Returned => self.end_call(Ok(())),
            CallStop::Failed(what) => self.fail_call(&what),
        }
        Vote::Stay
    }

    /// Ends the call of a stopped thread if it is being interrupted. Returns false if it is not.
    pub(crate) fn end_aborted_call(&mut self, thread: ThreadId) -> bool {
        let call = self
            .calls
            .pending
            .as_mut()
            .filter(|call| call.thread == thread);
        let Some(why) = call.and_then(|call| call.abort.take()) else {
            return false;
        };
        self.end_call(Err(why));
        true
    }

    /// Classifies a stop of a thread that is in a call which returns to `back`.
    pub(crate) fn call_progress(
        &mut self,
        thread: ThreadId,
        status: ThreadEvent,
        back: (LoadAddr, u64),
    ) -> CallStop {
        let settled = self.is_bookkeeping(thread, status);
        if self.inferior.thread_mut(thread).is_none() || matches!(status, ThreadEvent::Execed(_)) {
            return CallStop::Gone;
        }
        if settled {
            return CallStop::Settled;
        }
        let signal = match self.inferior.classify_stop(thread, status) {
            Some(StopCause::Counted(addr, id)) if self.hits_breakpoints(thread) => {
                return CallStop::Going(self.on_counted_hit(thread, addr, id));
            }
            Some(StopCause::Site(addr) | StopCause::Counted(addr, _)) => {
                return self.at_site_in_call(thread, addr, back);
            }
            Some(StopCause::Step | StopCause::Access) => {
                let accessed = self
                    .inferior
                    .thread_mut(thread)
                    .map(|it| std::mem::take(&mut it.debug.hits));
                // Accesses to watched data are ignored; a debug register for code is a breakpoint.
                if self
                    .inferior
                    .debug_registers
                    .is_code(accessed.unwrap_or_default())
                    && let Some(registers) = self.inferior.registers(thread)
                {
                    return self.at_site_in_call(thread, registers.pc(), back);
                }
                return CallStop::Going(Vote::Run);
            }
            Some(StopCause::ProgramTrap) => {
                return CallStop::Failed("executed a trap instruction".into());
            }
            Some(StopCause::Signal(signal)) => signal,
            Some(StopCause::Nothing) => return CallStop::Going(Vote::Run),
            None => return CallStop::Going(Vote::Stay),
        };
        if crate::inferior::is_fatal_signal(signal) {
            return CallStop::Failed(match signal {
                Signal::SEGV => "died of SIGSEGV".to_owned(),
                Signal::ABRT => {
                    "was aborted (SIGABRT): a failed assertion, a panic or an uncaught exception"
                        .to_owned()
                }
                Signal::FPE => "died of SIGFPE".to_owned(),
                Signal::BUS => "died of SIGBUS".to_owned(),
                Signal::ILL => "died of SIGILL".to_owned(),
                other => format!("died of signal {}", other.0),
            });
        }
        let passed = self.signal_rule(signal).pass;
        if let Some(state) = self.inferior.thread_mut(thread)
            && passed
        {
            state.signal = signal;
        }
        CallStop::Going(Vote::Run)
    }

    fn at_site_in_call(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        (back, sp): (LoadAddr, u64),
    ) -> CallStop {
        let here = self
            .inferior
            .registers(thread)
            .map(|registers| registers.sp());
        if addr == back && here == Some(sp) {
            return CallStop::Returned;
        }
        let owners = self.owners_at(addr);
        let ends = |owner: &Owner| matches!(owner, Owner::Call | Owner::ConditionCall);
        if owners.iter().any(ends) && addr != back {
            return CallStop::Failed(UNCAUGHT.into());
        }
        if self.hits_breakpoints(thread) && owners.iter().any(|it| matches!(it, Owner::User(_))) {
            return CallStop::Going(self.on_site(thread, addr));
        }
        // Not counted or logged: the call is the debugger's.
        self.mark_site_passed(thread, addr, &owners);
        CallStop::Going(Vote::Run)
    }

    /// Returns whether breakpoints are hit in the call of a thread, as when the program runs.
    fn hits_breakpoints(&self, thread: ThreadId) -> bool {
        let mut call = self
            .calls
            .pending
            .iter()
            .filter(|call| call.thread == thread);
        let is_typed = call.any(|it| it.purpose == Purpose::Command && it.abort.is_none());
        is_typed && !self.in_condition_call(thread)
    }
}

impl PreparedCall {
    /// Restores the `errno` that the call must not change.
    pub(crate) fn restore_errno(&self, inferior: &mut Inferior) {
        let Some((addr, before)) = self.errno else {
            return;
        };
        if inferior.memory().read_uint(addr, ERRNO_BYTES) != Ok(before) {
            inferior.write_memory(addr, &before.to_le_bytes()[..ERRNO_BYTES]);
        }
    }

    /// Returns the error for a call that did `what` instead of returning.
    pub(crate) fn given_up(&self, what: &str) -> Error {
        Error::eval(format!(
            "`{}` {what}; call aborted, thread state restored",
            self.name
        ))
    }
}

/// Why a call was dropped whose thread is gone.
pub(crate) const ENDED: &str = "the program ended or executed another program during the call";

/// What a call did whose exception would leave it.
const UNCAUGHT: &str = "threw an exception that it does not catch";

/// Returns the error of a call that cannot begin because writing the thread's registers failed.
pub(crate) fn unwritable() -> Error {
    Error::Unsupported("cannot call: writing the registers failed".into())
}

pub(crate) fn refused<T>(why: &str) -> Result<T, Error> {
    Err(Error::Unsupported(format!("cannot call: {why}")))
}
