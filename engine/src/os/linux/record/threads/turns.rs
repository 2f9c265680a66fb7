//! The turns of the threads: the running one waits, is interrupted or has ended, and another one runs.

use super::super::log::{Effect, Entry};
use super::super::recorder::Recorder;
use super::super::registers::Registers;
use super::super::tracee::{Stop, Tracee};
use super::futex::Futexes;
use super::parking::Parked;
use super::scheduler::Scheduler;
use super::streak::Streak;
use super::thread::{Outcome, Reason, Thread, Waiting};
use crate::os::ThreadEvent;
use crate::os::linux::ptrace;
use nix::time::ClockId;
use nix::unistd::Pid;
use std::io;
use std::time::{Duration, Instant};

/// When a call is made again that the recorder has interrupted.
const REPEAT_AFTER: Duration = Duration::from_millis(5);

/// What is known of the turns.
pub struct Turns {
    pub scheduler: Scheduler,
    pub futexes: Futexes,
    /// Whether no thread can run.
    pub is_idle: bool,
    /// Whether the recorder has interrupted the running thread so that another one runs.
    pub is_interrupted: bool,
    /// Whether the running thread is to execute the instructions of its slice one by one.
    pub is_stepping: bool,
    /// Whether a thread may have sent a signal to another one.
    pub has_sent_signals: bool,
    /// Whether the process exits: the ends of its threads come in any order.
    pub is_exiting: bool,
    /// How often threads wait for words, one after the other.
    pub streak: Streak,
    /// The threads that are parked; `None`: none are.
    pub parked: Option<Parked>,
}

impl Turns {
    /// One thread runs.
    pub fn new(now: Instant) -> Turns {
        Turns {
            scheduler: Scheduler::new(now),
            futexes: Futexes::default(),
            is_idle: false,
            is_interrupted: false,
            is_stepping: false,
            has_sent_signals: false,
            is_exiting: false,
            streak: Streak::default(),
            parked: None,
        }
    }

    /// Returns whether the recorder has interrupted the running thread for another one, once.
    pub fn takes_interrupt(&mut self) -> bool {
        std::mem::take(&mut self.is_interrupted) && self.scheduler.has_ready()
    }
}

impl Recorder {
    /// Returns whether the program has several threads.
    pub fn has_threads(&self) -> bool {
        !self.others.is_empty()
    }

    /// Takes the threads of a program that runs already, all of which wait for the debugger. The first one runs first.
    pub(in super::super) fn take_threads(&mut self, threads: Vec<Thread>) {
        for (nth, thread) in threads.into_iter().enumerate() {
            let pid = thread.tracee.pid;
            self.turns.scheduler.hold(pid);
            if nth == 0 {
                self.log.running = pid;
                *self.running = thread;
            } else {
                self.turns.scheduler.add(pid);
                self.others.insert(pid, Box::new(thread));
            }
        }
    }

    /// Returns the time by which slices are measured.
    pub(in super::super) fn slice_clock(&self) -> Instant {
        if !self.turns.scheduler.is_chaos() {
            return Instant::now();
        }
        let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(self.pid));
        let time = clock.and_then(ClockId::now).map(Duration::from);
        self.begun + time.unwrap_or_default()
    }

    /// The running thread waits at the start of a call, and another one runs.
    pub(in super::super) fn wait(&mut self, waiting: Waiting) -> io::Result<()> {
        self.log.push(Entry::of(&waiting.registers), Effect::Wait);
        if matches!(waiting.reason, Reason::Word) {
            self.turns.streak.waits();
        }
        self.running.waiting = Some(waiting);
        self.turn()
    }

    /// The running thread makes its call again later.
    pub(in super::super) fn repeat_later(&mut self, registers: Registers) -> io::Result<()> {
        // A signal that comes until then would not end the call. In sigsuspend(2), the kernel tells the mask of before.
        let thread = self.running.tracee.thread();
        self.running.mask = Some(ptrace::blocked_signals(thread)?);
        ptrace::set_blocked_signals(thread, u64::MAX)?;
        self.running.waiting = Some(Waiting {
            registers,
            reason: Reason::Again,
            until: Some((Instant::now() + REPEAT_AFTER, Outcome::Repeat)),
        });
        self.turn()
    }

    /// sched_yield(2).
    pub(in super::super) fn yield_turn(&mut self, mut registers: Registers) -> io::Result<()> {
        if !self.turns.scheduler.has_ready() || self.running.is_stepping {
            return self.answer(registers, 0, Vec::new());
        }
        let effect = super::super::call::call_of(0, Box::default());
        self.log.push(Entry::of(&registers), effect);
        registers.answer(0);
        registers.write(self.running.tracee.thread());
        self.running.boundary = Some(registers);
        self.turns.scheduler.add(self.running.tracee.pid);
        self.turn()
    }

    /// The running thread goes on behind an event, unless its slice is over.
    pub(in super::super) fn run_on(&mut self) -> io::Result<()> {
        let now = self.slice_clock();
        if self.has_threads() && self.turns.scheduler.ends_at_call(now) {
            self.turns.scheduler.add(self.running.tracee.pid);
            return self.turn();
        }
        self.run();
        Ok(())
    }

    /// Lets the next thread run. The running one is where the log says, or waits.
    pub(in super::super) fn turn(&mut self) -> io::Result<()> {
        let next = self.take_next();
        self.turns.is_idle = next.is_none();
        let Some(next) = next else {
            if std::mem::take(&mut self.running.is_interrupting) {
                // It has come to its wait before the interrupt.
                self.report(ThreadEvent::Interrupted);
            }
            // What waits for a time that is over already.
            return self.wake_due();
        };
        self.switch_to(next);
        self.begin_turn()
    }

    /// Takes the thread that runs next; `None`: none can run. What has ended the wait of several may be for one of them
    /// only, which has run since: a signal for the process, input, a child. The others wait on.
    fn take_next(&mut self) -> Option<i32> {
        let now = self.slice_clock();
        let process = self.pid;
        while let Some(next) = self.turns.scheduler.take(now) {
            let Some(thread) = self.thread_mut(next) else {
                return Some(next);
            };
            if thread.outcome != Some(Outcome::Make) || thread.is_wait_over(process) {
                self.turns.futexes.remove(next);
                return Some(next);
            }
            thread.outcome = None;
        }
        None
    }

    /// Lets the running thread run on, by what its wait has ended with.
    fn begin_turn(&mut self) -> io::Result<()> {
        let ended = (self.running.outcome.take()).zip(self.running.waiting.take());
        let Some((outcome, waiting)) = ended else {
            self.run();
            return Ok(());
        };
        match outcome {
            Outcome::Answer(result) => self.answer(waiting.registers, result, Vec::new()),
            Outcome::Make => self.make_waited(&waiting),
            Outcome::MakeAtOnce => self.make_at_once(waiting.registers),
            Outcome::Made => self.on_call_end(),
            Outcome::Repeat => {
                self.run();
                Ok(())
            }
        }
    }

    /// Makes another thread the running one.
    pub(super) fn switch_to(&mut self, next: i32) {
        // Threads that have ceased to wait are not in the table any more once they run.
        self.turns.futexes.change();
        if let Some(next) = self.others.remove(&next) {
            let mut before = std::mem::replace(&mut self.running, next);
            let pid = before.tracee.pid;
            if std::mem::take(&mut before.is_interrupting) {
                // The kernel stops it for something else.
                self.report_of(pid, ThreadEvent::Interrupted);
            }
            self.others.insert(pid, before);
        }
        self.running.place = None;
        self.log.running = self.running.tracee.pid;
    }

    /// The running thread has ended: another one takes its place.
    pub(super) fn replace_ended(&mut self) -> io::Result<()> {
        let ended = self.running.tracee.pid;
        let next = self.take_next();
        let waits = self.others.keys().next().copied();
        let Some(other) = next.or(waits) else {
            return Err(io::Error::other("the last thread has ended"));
        };
        self.switch_to(other);
        self.others.remove(&ended);
        self.turns.is_idle = next.is_none();
        match next {
            Some(_) => self.begin_turn(),
            None => self.wake_due(),
        }
    }

    /// Ends the waits that are over, and lets a thread run if none does.
    pub(in super::super) fn wake_due(&mut self) -> io::Result<()> {
        let now = Instant::now();
        let looks_for_signals =
            self.turns.is_idle || std::mem::take(&mut self.turns.has_sent_signals);
        let pid = self.pid;
        let mut woken = Vec::new();
        let all = self.others.values_mut().chain([&mut self.running]);
        let parked = self.turns.parked.as_ref();
        let is_stopped = |pid: i32| parked.is_none_or(|parked| !parked.has(pid));
        let all = all.filter(|thread| is_stopped(thread.tracee.pid));
        for thread in all.filter(|thread| thread.is_waiting()) {
            let signal = looks_for_signals && thread.has_signal_in_call();
            if let Some(outcome) = ended(thread, now, signal, pid) {
                thread.outcome = Some(outcome);
                woken.push((thread.tracee.pid, outcome));
            }
        }
        for (thread, outcome) in woken {
            // One that makes the call may still be woken before.
            if outcome != Outcome::Make {
                self.turns.futexes.remove(thread);
            }
            self.turns.scheduler.add(thread);
        }
        let may_turn = self.turns.is_idle && self.seen.is_empty();
        match may_turn && self.turns.scheduler.has_ready() {
            true => self.turn(),
            false => Ok(()),
        }
    }

    /// Ends the waits of threads for a word.
    pub(super) fn wake(&mut self, woken: Vec<i32>) {
        for pid in woken {
            if let Some(thread) = self.others.get_mut(&pid) {
                thread.outcome = Some(Outcome::Answer(0));
                self.turns.scheduler.add(pid);
            }
        }
    }

    /// A thread that does not run has stopped: the kernel has made its call, or it has ended.
    pub(in super::super) fn on_other_stop(&mut self, pid: i32, stop: Stop) -> io::Result<()> {
        if stop.is_end() {
            self.turns.is_exiting = true;
            if let Some(event) = stop.seen() {
                self.report_of(pid, event);
            }
            self.others.remove(&pid);
            self.turns.futexes.remove(pid);
            self.turns.scheduler.remove(pid);
            return Ok(());
        }
        let Some(thread) = self.others.get_mut(&pid) else {
            return Ok(());
        };
        if stop != Stop::CallEnd {
            thread.tracee.resume_to_call_end();
            return Ok(());
        }
        thread.outcome = Some(Outcome::Made);
        thread.is_interrupted = false;
        if std::mem::take(&mut thread.is_interrupting) {
            self.report_of(pid, ThreadEvent::Interrupted);
        }
        self.turns.scheduler.add(pid);
        match self.turns.is_idle && self.seen.is_empty() {
            true => self.turn(),
            false => Ok(()),
        }
    }

    /// The kernel makes the call of the running thread, which takes long: another thread runs meanwhile.
    pub(in super::super) fn leave_in_kernel(&mut self) -> io::Result<()> {
        let Some(call) = &self.running.call else {
            return Ok(());
        };
        self.log.push(call.entry, Effect::Wait);
        self.running.waiting = Some(Waiting {
            registers: call.before,
            reason: Reason::Kernel(call.state.clone()),
            until: None,
        });
        self.turn()
    }
}

/// Returns how the wait of a thread has ended, if it has.
fn ended(thread: &Thread, now: Instant, has_signal: bool, pid: i32) -> Option<Outcome> {
    let waiting = thread.waiting.as_ref()?;
    if let Some((until, outcome)) = waiting.until
        && now >= until
    {
        return Some(outcome);
    }
    let is_over = match &waiting.reason {
        Reason::Kernel(_) => return None,
        Reason::Again => return has_signal.then_some(Outcome::Repeat),
        Reason::Word => false,
        Reason::Files(files) => super::files::is_any_ready(files),
        Reason::Child => super::files::has_ended_child(pid, &waiting.registers),
    };
    (is_over || has_signal).then_some(Outcome::Make)
}

impl Thread {
    /// Returns whether a signal waits for it that ends the call which it waits in.
    fn has_signal_in_call(&self) -> bool {
        let waiting = self.waiting.as_ref();
        let mask = waiting.and_then(|it| mask_of_call(&self.tracee, &it.registers));
        self.tracee.has_pending_signal(mask)
    }

    /// Returns whether the kernel would end the call that it waits in.
    fn is_wait_over(&self, process: i32) -> bool {
        let now = Instant::now();
        ended(self, now, false, process).is_some() || self.has_signal_in_call()
    }

    /// Lets it run on after the end of the recording. It makes the call itself that it waits in.
    pub fn release(mut self, process: i32) {
        for held in &mut self.held {
            held.send(process, self.tracee.pid);
        }
        self.restore_mask();
        if matches!(&self.waiting, Some(waiting) if matches!(waiting.reason, Reason::Kernel(_))) {
            return;
        }
        if let (Some(Outcome::Answer(result)), Some(waiting)) = (self.outcome, &self.waiting) {
            let mut registers = waiting.registers;
            registers.answer(result);
            registers.write(self.tracee.thread());
        }
        let _ = ptrace::resume(
            self.tracee.thread(),
            self.is_stepping,
            crate::ids::Signal(0),
        );
    }

    /// Gives it back the signals that it blocks by itself.
    pub(in super::super) fn restore_mask(&mut self) {
        if let Some(mask) = self.mask.take() {
            // It may be gone.
            let _ = ptrace::set_blocked_signals(self.tracee.thread(), mask);
        }
    }

    /// Returns its stack pointer, if it is stopped.
    pub fn sp(&self) -> Option<u64> {
        match &self.waiting {
            Some(waiting) => Some(waiting.registers.sp()),
            None => Some(self.tracee.registers().ok()?.sp()),
        }
    }
}

/// Returns the signals that a call blocks while it waits; `None`: those that its thread blocks.
fn mask_of_call(tracee: &Tracee, call: &Registers) -> Option<u64> {
    let arguments = call.arguments();
    let set = match call.number() {
        libc::SYS_ppoll => arguments[3],
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => arguments[4],
        libc::SYS_pselect6 => tracee.word(arguments[5])?,
        _ => 0,
    };
    tracee.word(set)
}
