//! Signals of a recorded program. One that arrives anywhere is held until the next system call, which a
//! replay can find again, and is sent to the thread before the call: a call that blocks is
//! interrupted by it. A thread that makes none for some time gets it at a place as for a change of threads. The kernel delivers it when the call ends, and what it writes is logged.

use super::super::super::linux_abi::signal;
use super::super::super::thread_state::SIGNAL_BYTES;
use super::super::ptrace;
use super::buffer::Rewound;
use super::faults;
use super::log::{Effect, Entry, Event, State, Written};
use super::recorder::Recorder;
use super::registers::Registers;
use super::threads::thread::Thread;
use super::tracee::{Stop, Tracee};
use crate::ids::{Signal, ThreadId};
use crate::os::ThreadEvent;
use std::io;

/// A signal that waits for the end of a system call.
pub struct Held {
    signal: i32,
    info: Option<[u8; SIGNAL_BYTES]>,
    is_sent: bool,
    /// Whether the debugger has seen it, and delivers it.
    is_seen: bool,
}

/// A signal of the log whose handler is entered next.
pub struct Due<'a> {
    pub signal: i32,
    pub is_of_instruction: bool,
    frame: &'a Written,
    state: &'a State,
}

impl Due<'_> {
    /// Returns the signal of an event; `None` if that is something else.
    pub fn of(event: &Event) -> Option<Due<'_>> {
        match &event.effect {
            Effect::Signal {
                signal,
                is_of_instruction,
                frame,
                state,
            } => Some(Due {
                signal: *signal,
                is_of_instruction: *is_of_instruction,
                frame,
                state,
            }),
            _ => None,
        }
    }

    /// Returns its details; `None`: the thread has just raised it, and the kernel knows them. They are on the
    /// stack of a handler that takes three arguments, of which the second is their address. Of others nothing
    /// but the signal is known.
    pub fn info(&self) -> Option<[u8; SIGNAL_BYTES]> {
        (!self.is_of_instruction).then(|| self.logged_info().unwrap_or_else(|| self.least_info()))
    }

    fn logged_info(&self) -> Option<[u8; SIGNAL_BYTES]> {
        let (start, bytes) = self.frame;
        let [_, addr, ..] = self.state.registers.arguments();
        let at = usize::try_from(addr.checked_sub(*start)?).ok()?;
        let raw = bytes.get(at..at.checked_add(SIGNAL_BYTES)?)?;
        let info = signal::decode_info(raw)?;
        raw.try_into().ok().filter(|_| info.signal.0 == self.signal)
    }

    fn least_info(&self) -> [u8; SIGNAL_BYTES] {
        const CODE: std::ops::Range<usize> = 8..12;
        let mut raw = [0; SIGNAL_BYTES];
        raw[..4].copy_from_slice(&self.signal.to_le_bytes());
        raw[CODE].copy_from_slice(&libc::SI_KERNEL.to_le_bytes());
        raw
    }
}

/// Signals by which the processor's faults are reported.
const OF_INSTRUCTIONS: [i32; 6] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
];
/// The first real-time signal: those before are not counted while they wait.
const FIRST_REAL_TIME: i32 = 32;
/// Calls after which a signal that came before them would not do the same: it would have another
/// action, or no program.
const BEFORE: [libc::c_long; 7] = [
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_sigaltstack,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
const NT_X86_XSTATE: i32 = 0x202;
/// More than any set of extended registers takes.
const EXTENDED_BYTES: usize = 1 << 14;
/// What the kernel writes on the stack at most, and what is logged if the handler has another stack.
const FRAME_BYTES: u64 = 1 << 14;

impl Held {
    /// Returns whether it was sent to the thread.
    pub fn is_sent(&self) -> bool {
        self.is_sent
    }

    /// Sends it to the thread of a process, once. Returns whether it was not sent before.
    pub fn send(&mut self, process: i32, thread: i32) -> bool {
        if self.is_sent {
            return false;
        }
        self.is_sent = true;
        // SAFETY: integers only.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, self.signal) };
        true
    }
}

impl Thread {
    /// Holds a signal.
    pub(super) fn hold(&mut self, signal: i32, info: Option<[u8; SIGNAL_BYTES]>) {
        let is_waiting = self.held.iter().any(|held| held.signal == signal);
        if signal >= FIRST_REAL_TIME || !is_waiting {
            self.held.push(Held {
                signal,
                info,
                is_sent: false,
                is_seen: false,
            });
        }
    }
}

impl Recorder {
    /// Sends the thread the signals that are held. Returns whether there are any.
    pub(super) fn send_held(&mut self) -> bool {
        let (process, thread) = (self.pid, self.running.tracee.pid);
        let mut is_sent = false;
        for held in &mut self.running.held {
            is_sent |= held.send(process, thread);
        }
        is_sent
    }

    /// Returns whether the running thread has signals that it waits for a call to get.
    pub(super) fn holds_signals(&self) -> bool {
        self.running.held.iter().any(|held| !held.is_sent)
    }

    /// At the start of a system call: sends the signals that are held. Returns true if they are
    /// delivered before the call, which the program makes again afterwards.
    pub(super) fn deliver_before(&mut self, registers: Registers) -> bool {
        if !self.send_held() || !BEFORE.contains(&registers.number()) {
            return false;
        }
        self.repeat_call(registers);
        self.run();
        true
    }

    /// Returns the registers of the running thread with the extended ones.
    pub(super) fn state(&self, registers: Registers) -> State {
        state_of(&self.running.tracee, registers)
    }

    /// Reports a signal that can be delivered here, and holds others.
    pub(super) fn on_signal(&mut self, signal: i32) -> io::Result<()> {
        let mut registers = self.running.tracee.registers()?;
        if signal == libc::SIGTRAP && self.goes_on_through_buffer(registers)? {
            return Ok(());
        }
        self.interrupt_behind_buffer()?;
        if signal == libc::SIGSEGV && self.complete_time_stamp(registers)? {
            self.go_on_behind_instruction();
            return Ok(());
        }
        let info = ptrace::signal_info(self.running.tracee.thread());
        let is_of_instruction = is_of_instruction(signal, info.as_ref());
        let rewound = (self.buffer).rewind(&self.running.tracee, &mut registers, Some(signal))?;
        if rewound == Rewound::RaisesAgain {
            // Made with a stop, the call raises it where it can be delivered, or where the program ignores it.
            self.buffer.stop_next();
            self.run();
            return Ok(());
        }
        // What the program does not catch, changes nothing, stops the process or ends it.
        if is_of_instruction || self.is_at_call(&registers) || !self.running.tracee.catches(signal)
        {
            if !is_of_instruction && self.was_seen(signal) {
                return self.deliver(signal);
            }
            self.report(ThreadEvent::Signal(Signal(signal)));
            return Ok(());
        }
        self.hold(signal, info);
        self.run();
        Ok(())
    }

    pub(super) fn is_at_call(&self, registers: &Registers) -> bool {
        // A thread that has made calls since may be where it was, with the same registers.
        self.running
            .boundary
            .is_some_and(|it| it.is_same_place(registers))
            && !self.buffer.has_records()
    }

    fn hold(&mut self, signal: i32, info: Option<[u8; SIGNAL_BYTES]>) {
        self.running.hold(signal, info);
        self.buffer.stop_next();
    }

    /// Keeps the signal of a stop that the debugger has seen, of a thread that does not run now. What an instruction
    /// has raised, it raises again.
    pub(super) fn hold_for(&mut self, pid: i32, signal: i32) {
        let Some(thread) = self.thread_mut(pid) else {
            return;
        };
        let info = ptrace::signal_info(thread.tracee.thread());
        if !is_of_instruction(signal, info.as_ref()) {
            thread.held.push(Held {
                signal,
                info,
                is_sent: false,
                is_seen: true,
            });
        }
    }

    /// Returns whether a signal that was held is the debugger's to see no more.
    fn was_seen(&self, signal: i32) -> bool {
        let mut held = self.running.held.iter();
        held.any(|held| held.signal == signal && held.is_sent && held.is_seen)
    }

    /// Does not deliver the signal that the program was stopped with.
    pub(super) fn suppress(&mut self, signal: i32) {
        if let Some(index) = self
            .running
            .held
            .iter()
            .position(|held| held.signal == signal)
        {
            self.running.held.remove(index);
        }
    }

    /// Lets the program run on with a signal.
    pub(super) fn deliver(&mut self, signal: i32) -> io::Result<()> {
        if !self.running.tracee.catches(signal) {
            self.running.held.retain(|held| held.signal != signal);
            self.keep_interrupt();
            self.running.tracee.go(self.running.is_stepping, signal);
            return Ok(());
        }
        let registers = self.running.tracee.registers()?;
        let info = ptrace::signal_info(self.running.tracee.thread());
        let is_of_instruction = is_of_instruction(signal, info.as_ref());
        if is_of_instruction || self.is_at_call(&registers) {
            return self.enter_handler(signal, registers, is_of_instruction);
        }
        // The debugger has kept it for a place that no replay finds.
        self.hold(signal, info);
        self.run();
        Ok(())
    }

    /// Lets the kernel deliver a signal, and logs what that has changed.
    fn enter_handler(
        &mut self,
        signal: i32,
        before: Registers,
        is_of_instruction: bool,
    ) -> io::Result<()> {
        self.buffer.drain(&mut self.log)?;
        let held = (!is_of_instruction)
            .then(|| {
                self.running
                    .held
                    .iter()
                    .position(|held| held.signal == signal)
            })
            .flatten()
            .map(|index| self.running.held.remove(index));
        if let Some(info) = held.and_then(|held| held.info) {
            ptrace::set_signal_info(self.running.tracee.thread(), &info);
        }
        self.running.tracee.step(signal);
        match self.running.tracee.wait() {
            Stop::Signal(libc::SIGTRAP) => {}
            // There was no room for the frame.
            Stop::Signal(other) => {
                self.report(ThreadEvent::Signal(Signal(other)));
                return Ok(());
            }
            stop if stop.is_end() => {
                self.has_ended(stop);
                if let Some(event) = stop.seen() {
                    self.report(event);
                }
                return Ok(());
            }
            stop => {
                return Err(io::Error::other(format!(
                    "signal {signal} led to {stop:?} instead of its handler"
                )));
            }
        }
        self.running.blocks_faults = faults::is_blocked(&self.running.tracee);
        let after = self.running.tracee.registers()?;
        let used = before.sp().wrapping_sub(after.sp());
        let len = used.min(FRAME_BYTES) as usize;
        let frame = self.running.tracee.read(after.sp(), len).into_boxed_slice();
        let effect = Effect::Signal {
            signal,
            is_of_instruction,
            frame: (after.sp(), frame),
            state: Box::new(self.state(after)),
        };
        self.log.push(Entry::of(&before), effect);
        self.running.boundary = Some(after);
        self.go_on_behind_instruction();
        Ok(())
    }

    /// Completes an instruction that reads the time-stamp counter. Returns false if it is another one.
    fn complete_time_stamp(&mut self, registers: Registers) -> io::Result<bool> {
        let found = self.running.tracee.time_stamp_instruction(registers.pc());
        let Some((len, writes_rcx)) = found else {
            return Ok(false);
        };
        self.buffer.drain(&mut self.log)?;
        let value = crate::os::ticks();
        self.log
            .push(Entry::of(&registers), Effect::TimeStamp(value));
        let tracee = &self.running.tracee;
        tracee.complete_time_stamp(registers, value, len, writes_rcx);
        (self.fault_action).give_back(&self.running.tracee, self.running.blocks_faults)?;
        Ok(true)
    }
}

/// Returns registers of a stopped thread with the extended ones.
pub fn state_of(tracee: &Tracee, registers: Registers) -> State {
    let mut extended = vec![0; EXTENDED_BYTES];
    let len = ptrace::read_register_bytes(tracee.thread(), NT_X86_XSTATE, &mut extended);
    extended.truncate(len.unwrap_or(0));
    State {
        registers,
        extended,
    }
}

/// Returns whether the last instruction of a thread has raised its signal.
pub fn is_of_instruction(signal: i32, info: Option<&[u8; SIGNAL_BYTES]>) -> bool {
    let info = info.and_then(|raw| signal::decode_info(raw));
    info.is_some_and(|info| info.code > 0) && OF_INSTRUCTIONS.contains(&signal)
}

/// Writes a state to a stopped thread. It may stand at the start of a system call: the kernel must not make
/// one, with the arguments that the registers then seem to have. A call that was interrupted is made again.
pub fn restore(thread: ThreadId, state: &State) {
    state.registers.at_event().write(thread);
    ptrace::write_register_bytes(thread, NT_X86_XSTATE, &state.extended);
}
