//! Calls of the program's functions on a stopped thread, all others held: System V psABI for
//! x86-64, §3.2. The session goes on meanwhile; [`Event::CallEnded`] tells of the end, and then
//! the thread is as it was before.

use crate::arch::sysv;
use crate::breakpoint::site::Owner;
use crate::debugger::Debugger;
use crate::error::Error;
use crate::eval::Call;
use crate::event::{Event, Signal, ThreadId};
use crate::hand_over::HandedOver;
use crate::os::{RegisterSet, Resume, SignalData, WaitStatus};
use crate::process::Found;
use crate::value::place::Bytes;
use crate::value::{Place, Shape, Ty, Value};
use dwarf::LoadAddr;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a call may take where nobody says otherwise.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// What leaf functions keep below the stack pointer (psABI §3.2.2).
const RED_ZONE: u64 = 128;
/// What an evaluation has done so far that must not be done twice: it begins again when a call
/// has ended.
#[derive(Default)]
pub(crate) struct Replay {
    pub expression: (Option<crate::FrameKey>, String),
    pub done: HashMap<(usize, usize), Result<Value, Error>>,
    pub wanted: Option<Call>,
    /// Bytes of the stack below the red zone that hold what calls have returned there.
    pub reserved: u64,
}

/// A call under way.
pub(crate) struct Active {
    thread: ThreadId,
    name: String,
    span: Range<usize>,
    returns: Ty,
    language: dwarf::Language,
    /// What it returns is there.
    result: Option<LoadAddr>,
    /// Where it returns to, and the stack pointer then.
    back: (LoadAddr, u64),
    saved: RegisterSet,
    extended: Vec<u8>,
    passed: Option<LoadAddr>,
    signal: Signal,
    /// What came with it.
    signal_data: Option<SignalData>,
    deadline: Instant,
    cancel: Option<Arc<AtomicBool>>,
    /// Why it is being interrupted.
    abort: Option<Error>,
}

impl Debugger {
    /// Whether a call into the program is under way.
    pub fn is_calling(&self) -> bool {
        self.call.is_some()
    }

    /// How long a call may take; it is interrupted then.
    pub fn set_call_limit(&mut self, limit: Duration) {
        self.call_limit = limit;
    }

    pub(crate) fn call_deadline(&self) -> Option<Instant> {
        let call = self.call.as_ref()?;
        call.abort.is_none().then_some(call.deadline)
    }

    /// Begins a call; its end is told by [`Event::CallEnded`].
    pub(crate) fn begin_call(&mut self, thread: ThreadId, call: Call) -> Result<(), Error> {
        if self.is_post_mortem() {
            return Err(Error::PostMortem("its functions cannot be called"));
        }
        let refused = |why: &str| Err(Error::Unsupported(format!("cannot call: {why}")));
        if self.call.is_some() {
            return refused("another call is under way");
        }
        let Some(back) = self.modules.entry() else {
            return refused("the program has no entry point to return to");
        };
        self.write_registers(thread);
        let (Some(saved), Some(extended)) = (
            self.registers_of(thread),
            self.os.extended_registers(thread),
        ) else {
            return refused("the registers cannot be read");
        };
        let mut registers = saved.outside_system_call();
        let mut vectors = extended.clone();
        let reserved = self.replay.get_mut().reserved;
        let base = saved.sp().wrapping_sub(RED_ZONE) & !15;
        let mut top = base.wrapping_sub(reserved);
        let mut result = None;
        let mut copies: Vec<(u64, Vec<u8>)> = Vec::new();
        let mut keep = |bytes: Vec<u8>, len: u64| {
            top = top.wrapping_sub(len) & !15;
            copies.push((top, bytes));
            top
        };
        let mut handed = HandedOver::default();
        if call.through_memory {
            let len = call.returns.size().unwrap_or(0).min(crate::value::LARGEST);
            let at = keep(Vec::new(), len);
            result = Some(LoadAddr(at));
            // It must outlive the calls that come after this one.
            self.replay.get_mut().reserved = base.wrapping_sub(at);
            handed.word(at);
        }
        for argument in call.arguments {
            handed.add(argument, |bytes| {
                let len = bytes.len() as u64;
                keep(bytes, len)
            });
        }
        // Aligned before the return address is pushed.
        top = top.wrapping_sub(handed.stack.len() as u64) & !15;
        copies.push((top, std::mem::take(&mut handed.stack)));
        let after = top;
        top = top.wrapping_sub(8);
        copies.push((top, back.0.to_le_bytes().to_vec()));
        for (addr, bytes) in &copies {
            if !bytes.is_empty() && !self.os.write_memory(LoadAddr(*addr), bytes) {
                return refused("there is no room on the stack");
            }
        }
        registers.set_sp(top);
        registers.set_pc(call.entry);
        handed.write(&mut registers, &mut vectors);
        self.sites.add(back, Owner::Call, &*self.os);
        for addr in self.terminators() {
            self.sites.add(addr, Owner::Call, &*self.os);
        }
        self.pages.clear();
        self.stacks.clear();
        let (mut passed, mut signal) = (None, Signal(0));
        if let Some(state) = self.thread_mut(thread) {
            passed = state.passed.take();
            signal = std::mem::take(&mut state.signal);
            state.held = false;
        }
        self.call = Some(Active {
            thread,
            name: call.name,
            span: call.span,
            returns: call.returns,
            language: call.language,
            result,
            back: (back, after),
            saved,
            extended,
            passed,
            signal,
            signal_data: match signal.0 {
                0 => None,
                _ => self.os.signal_data(thread),
            },
            deadline: Instant::now() + self.call_limit,
            cancel: self.cancel.clone(),
            abort: None,
        });
        let ready = self.os.set_extended_registers(thread, &vectors)
            && self.set_registers_of(thread, registers);
        if !ready {
            self.end_call(Err(Error::Unsupported(
                "cannot call: the registers cannot be written".into(),
            )));
            return Ok(());
        }
        self.go_on(thread, Resume::Continue);
        Ok(())
    }

    /// Where C++ ends a program whose exception nobody catches.
    fn terminators(&self) -> Vec<LoadAddr> {
        let images = self.modules.loaded.iter();
        images
            .filter_map(|it| Some(it.bias.load(it.module.exported("_ZSt9terminatev")?)))
            .collect()
    }

    /// Interrupts the call under way; what it has done stays done.
    pub fn abort_call(&mut self, why: Error) {
        let Some(call) = &mut self.call else { return };
        if call.abort.is_some() {
            return;
        }
        call.abort = Some(why);
        let thread = call.thread;
        if let Some(state) = self.thread_mut(thread) {
            state.interrupted = true;
        }
        self.os.interrupt(thread);
    }

    /// Interrupts a call that takes too long, or that nobody waits for any more.
    pub(crate) fn check_call(&mut self) {
        let Some(call) = &self.call else { return };
        let cancelled = call.cancel.as_ref();
        if cancelled.is_some_and(|it| it.load(Ordering::Relaxed)) {
            self.abort_call(Error::Cancelled);
        } else if Instant::now() >= call.deadline {
            let why = format!(
                "`{}` had not returned after {} s; it was interrupted, and the thread is where it was",
                call.name,
                self.call_limit.as_secs_f32()
            );
            self.abort_call(Error::eval(why));
        }
    }

    pub(crate) fn calls_on(&self, thread: ThreadId) -> bool {
        self.call.as_ref().is_some_and(|call| call.thread == thread)
    }

    /// The thread of the call stopped.
    pub(crate) fn on_call_stop(&mut self, thread: ThreadId, status: WaitStatus) {
        let settled = self.settle(thread, status);
        let alive = self
            .process
            .as_ref()
            .is_some_and(|it| it.threads.contains_key(&thread));
        if !alive || matches!(status, WaitStatus::Execed(_)) {
            self.forget_call("the program ended in it, or became another");
            return;
        }
        if settled {
            let aborted = self.call.as_mut().and_then(|call| call.abort.take());
            match aborted {
                Some(why) => self.end_call(Err(why)),
                None => self.go_on(thread, Resume::Continue),
            }
            return;
        }
        let signal = match self.found(thread, status) {
            Some(Found::Site(addr) | Found::Counted(addr, _)) => {
                return self.on_call_site(thread, addr);
            }
            Some(Found::Step | Found::Access) => return self.go_on(thread, Resume::Continue),
            Some(Found::Own) => return self.give_up_call("ran into a trap of its own"),
            Some(Found::Signal(signal)) => signal,
            None => return,
        };
        if crate::process::stops(signal) {
            let what = match signal.0 {
                libc::SIGSEGV => "died of SIGSEGV".to_owned(),
                libc::SIGABRT => {
                    "was aborted (SIGABRT): a failed assertion, a panic or an exception that nobody catches".to_owned()
                }
                libc::SIGFPE => "died of SIGFPE".to_owned(),
                libc::SIGBUS => "died of SIGBUS".to_owned(),
                libc::SIGILL => "died of SIGILL".to_owned(),
                number => format!("died of signal {number}"),
            };
            self.give_up_call(&what);
            return;
        }
        let passed = self.signal_rule(signal).pass;
        if let Some(state) = self.thread_mut(thread)
            && passed
        {
            state.signal = signal;
        }
        self.go_on(thread, Resume::Continue);
    }

    fn on_call_site(&mut self, thread: ThreadId, addr: LoadAddr) {
        let Some(call) = &self.call else { return };
        let (back, sp) = call.back;
        let here = self.registers_of(thread).map(|registers| registers.sp());
        if addr == back && here == Some(sp) {
            self.end_call(Ok(()));
            return;
        }
        let owners = self.owners_at(addr);
        if owners.contains(&Owner::Call) && addr != back {
            return self.give_up_call("threw an exception that it does not catch");
        }
        if owners.iter().any(|it| matches!(it, Owner::User(_))) {
            return self.give_up_call("reached a breakpoint");
        }
        self.pass_site(thread, addr, &owners);
        self.go_on(thread, Resume::Continue);
    }

    /// Ends the call, which did `what` instead of returning.
    fn give_up_call(&mut self, what: &str) {
        let Some(call) = &self.call else { return };
        let name = &call.name;
        self.end_call(Err(Error::eval(format!(
            "`{name}` {what}; the call was given up, and the thread is where it was"
        ))));
    }

    /// Puts the thread back where it was, and keeps what came of the call.
    fn end_call(&mut self, outcome: Result<(), Error>) {
        let Some(call) = self.call.take() else { return };
        let thread = call.thread;
        let value = outcome.and_then(|()| self.call_value(&call));
        let restored = self.os.set_extended_registers(thread, &call.extended)
            && self.set_registers_of(thread, call.saved);
        if !restored {
            tracing::error!(%thread, "the registers cannot be restored after a call");
        }
        let alone = self.non_stop;
        if let Some(data) = &call.signal_data {
            self.os.set_signal_data(thread, data);
        }
        if let Some(state) = self.thread_mut(thread) {
            state.held = alone;
            state.passed = call.passed;
            // A signal that came meanwhile is kept, unless one waited before.
            if call.signal.0 != 0 {
                state.signal = call.signal;
            }
        }
        self.answer(&call.span, value);
        let outlives = self.process.as_ref().is_some_and(|it| !it.launched);
        if outlives && self.is_shown(thread) {
            self.park_all();
        }
    }

    fn call_value(&mut self, call: &Active) -> Result<Value, Error> {
        if matches!(call.returns.shape(), Shape::Void | Shape::Unit) {
            return Ok(Value::new(
                call.returns.clone(),
                Place::Bytes(Bytes::new(&[])),
            ));
        }
        if let Some(addr) = call.result {
            return Ok(Value::new(call.returns.clone(), Place::Memory(addr, None)));
        }
        let set = self.os.registers(call.thread).ok_or(Error::OptimizedOut)?;
        let mut registers = set.to_registers();
        registers.set_vectors(self.os.vector_registers(call.thread).map(Into::into));
        let st0 = || self.os.st0(call.thread);
        sysv::returned(&call.returns, call.language, &registers, &st0).ok_or_else(|| {
            Error::eval(format!(
                "`{}` has returned; how a `{}` is returned is not known here",
                call.name,
                call.returns.name()
            ))
        })
    }

    /// The call's thread is gone: there is nothing to put back.
    pub(crate) fn forget_call(&mut self, why: &str) {
        if let Some(call) = self.call.take() {
            let why = Error::eval(format!("`{}` did not return: {why}", call.name));
            self.answer(&call.span, Err(why));
        }
    }

    fn answer(&mut self, span: &Range<usize>, value: Result<Value, Error>) {
        self.sites.remove_owner(Owner::Call, &*self.os);
        self.pages.clear();
        self.stacks.clear();
        let replay = self.replay.get_mut();
        match value {
            // Nobody asks again for what was cancelled.
            Err(Error::Cancelled) => *replay = Replay::default(),
            value => drop(replay.done.insert((span.start, span.end), value)),
        }
        self.events.push_back(Event::CallEnded);
    }
}
