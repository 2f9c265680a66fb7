//! A thread of a recorded program, and what it waits for.

use super::super::call::Call;
use super::super::calls::Plan;
use super::super::faults;
use super::super::log::State;
use super::super::registers::Registers;
use super::super::signals::Held;
use super::super::tracee::Tracee;
use std::fs::File;
use std::rc::Rc;
use std::time::Instant;

/// A thread.
pub struct Thread {
    pub tracee: Tracee,
    /// The registers when it has last been resumed at the end of a call.
    pub boundary: Option<Registers>,
    /// The call that it is in, in the kernel.
    pub call: Option<Call>,
    /// Whether the call that it is about to make has other arguments than those of the program.
    pub is_call_changed: bool,
    pub held: Vec<Held>,
    /// Where an interrupted call will write if it is continued.
    pub interrupted: Plan,
    /// Whether the debugger has resumed it for one instruction.
    pub is_stepping: bool,
    /// Whether the debugger has interrupted it, and waits for its stop.
    pub is_interrupting: bool,
    /// Whether it was interrupted, and has not stopped for that.
    pub is_interrupted: bool,
    /// Whether it waits for the debugger.
    pub is_stopped: bool,
    /// Where it has last been resumed from a stop that the debugger has seen.
    pub resumed_at: u64,
    /// The registers where it was interrupted so that another one runs, until it runs again.
    pub place: Option<Registers>,
    /// The signal that it was stopped with for the debugger.
    pub signal: Option<i32>,
    /// The call that it waits in; `None`: it does not wait.
    pub waiting: Option<Waiting>,
    /// How the wait has ended, once it has.
    pub outcome: Option<Outcome>,
    /// The signals that it blocks by itself, while all are blocked until it makes its call again.
    pub mask: Option<u64>,
    /// Whether it blocks SIGSEGV by itself.
    pub blocks_faults: bool,
    /// The address of the word that the kernel clears when it exits; 0: none.
    pub cleared: u64,
    /// The address of the head of its list of robust mutexes; 0: none.
    pub robust: u64,
    /// Whether it will register restartable sequences (rseq(2)), and takes no for an error, since other threads have
    /// had them.
    pub expects_sequences: bool,
}

/// A wait.
pub struct Waiting {
    /// At the start of the call.
    pub registers: Registers,
    pub reason: Reason,
    /// When it ends, and the result of the call then.
    pub until: Option<(Instant, Outcome)>,
}

/// What a thread waits for.
pub enum Reason {
    /// A word of memory, or a time.
    Word,
    /// Files from which something can be read, or to which something can be written.
    Files(Vec<(File, i16)>),
    /// The end of a child.
    Child,
    /// The kernel, which makes the call.
    Kernel(Option<Rc<State>>),
    /// The time at which the call is made again.
    Again,
}

/// What is done about a call when its wait has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It has this result.
    Answer(i64),
    /// The kernel makes it.
    Make,
    /// The kernel makes it, without a wait: its time is over.
    MakeAtOnce,
    /// The kernel has made it.
    Made,
    /// The thread makes it again.
    Repeat,
}

impl Thread {
    /// A thread that is stopped for the debugger, if there is one.
    pub fn new(tracee: Tracee) -> Thread {
        Thread {
            blocks_faults: faults::is_blocked(&tracee),
            tracee,
            boundary: None,
            call: None,
            is_call_changed: false,
            held: Vec::new(),
            interrupted: Plan::default(),
            is_stepping: false,
            is_interrupting: false,
            is_interrupted: false,
            is_stopped: true,
            resumed_at: 0,
            place: None,
            signal: None,
            waiting: None,
            outcome: None,
            mask: None,
            cleared: 0,
            robust: 0,
            expects_sequences: false,
        }
    }

    /// Returns whether the kernel makes the call that it waits in.
    pub fn is_in_kernel(&self) -> bool {
        let reason = self.waiting.as_ref().map(|it| &it.reason);
        matches!(reason, Some(Reason::Kernel(_))) && self.outcome.is_none()
    }

    /// Returns whether it waits, and nothing has ended that.
    pub fn is_waiting(&self) -> bool {
        self.waiting.is_some() && self.outcome.is_none()
    }
}
