//! The system calls of a recorded program: what is done about each when it begins, and logged when it
//! ends.

use super::calls::{self, Class, Plan, Row, Special, Waits};
use super::family::Birth;
use super::faults;
use super::log::{Effect, Entry, MOST_BYTES, State, Written, read_outputs};
use super::mapping::{self, Mapped};
use super::own;
use super::recorder::Recorder;
use super::registers::{RESTART_BY_KERNEL, RESTARTS, Registers};
use super::snapshots::Moment;
use crate::os::ThreadEvent;
use std::fs::File;
use std::io;
use std::rc::Rc;
use std::time::Instant;

/// What follows of a system call when it ends.
enum Kind {
    Log(Plan),
    /// Its outputs are not known: it has to fail, or the recording ends for this reason.
    LogIfFailed(String),
    Repeat,
    Map,
    MapFile(File),
    Processors,
    SignalReturn,
    Fork {
        plan: Plan,
        birth: Box<Birth>,
    },
    Thread(Plan),
    Execute,
}

/// A system call that the program is in.
pub struct Call {
    pub entry: Entry,
    pub before: Registers,
    kind: Kind,
    /// What it may wait for.
    pub waits: Waits,
    /// The state before it, if other threads may run while the kernel makes it.
    pub state: Option<Rc<State>>,
    /// Whether its arguments are not those of the program.
    is_changed: bool,
}

impl Call {
    /// Returns the changes that the process created by the call needs, if it creates one.
    pub fn birth(&self) -> Option<Birth> {
        match &self.kind {
            Kind::Fork { birth, .. } => Some(**birth),
            _ => None,
        }
    }
}

impl Recorder {
    pub(super) fn on_call(&mut self, registers: Registers) -> io::Result<()> {
        let number = registers.number();
        if !registers.is_long_mode() {
            self.end_recording("it executes 32-bit code".to_owned());
            return Ok(());
        }
        if self.log.bytes() > MOST_BYTES {
            self.end_recording("the log has reached 1 GiB".to_owned());
            return Ok(());
        }
        if self.deliver_before(registers) {
            return Ok(());
        }
        let row = calls::row(number).unwrap_or(&calls::UNLISTED);
        if self.running.is_interrupted && row.waits != Waits::Never {
            // The interrupt comes first: it would end the call, of which a part may be done then. It is
            // reported before the thread executes anything.
            self.repeat_call(registers);
            self.run();
            return Ok(());
        }
        if self.has_threads() && self.waits_in(row, registers)? {
            return Ok(());
        }
        self.make_call(row, registers)
    }

    /// Moves the running thread back to the start of its call.
    pub(super) fn repeat_call(&mut self, mut registers: Registers) {
        let effect = Effect::Interrupted {
            repeated_as: registers.number(),
            outputs: Box::default(),
        };
        self.log.push(Entry::of(&registers), effect);
        registers.repeat_call(registers.number());
        registers.write(self.running.tracee.thread());
        self.running.boundary = Some(registers);
    }

    /// Handles a system call that does not have to wait.
    pub(super) fn make_call(&mut self, row: &Row, registers: Registers) -> io::Result<()> {
        let entry = Entry::of(&registers);
        let arguments = registers.arguments();
        self.turns.streak.ends();
        self.note_of_thread(&registers);
        let kind = match row.class {
            Class::Answer(result) => return self.answer(registers, result, Vec::new()),
            Class::Own(call, outputs) => {
                match own::answer(call, &arguments, self.pid, self.running.tracee.pid) {
                    Some((result, written)) if self.write_all(&written) => {
                        return self.answer(registers, result, written);
                    }
                    _ => Kind::Log(self.plan(outputs, &arguments)),
                }
            }
            Class::Refuse(reason) => Kind::LogIfFailed(match row.name {
                "" => format!("it makes system call {}, which is not listed", entry.number),
                name => format!("it calls {name}: {reason}"),
            }),
            Class::Log(outputs) => Kind::Log(self.plan(outputs, &arguments)),
            Class::LogBy(outputs) => match outputs(&arguments) {
                Some(outputs) => Kind::Log(self.plan(outputs, &arguments)),
                None => Kind::LogIfFailed(format!(
                    "it calls {}({:#x}, {:#x}), whose outputs are not listed",
                    row.name, arguments[0], arguments[1]
                )),
            },
            Class::Repeat => Kind::Repeat,
            Class::Special(Special::Map) => match mapping::of(&arguments) {
                Ok(Mapped::Anonymous) => Kind::Map,
                Ok(mapped @ (Mapped::File(descriptor) | Mapped::SharedFile(descriptor))) => {
                    match mapping::file(&self.process, descriptor) {
                        Some(file)
                            if mapped == Mapped::SharedFile(descriptor)
                                && file
                                    .metadata()
                                    .is_ok_and(|it| mapping::may_write(self.pid, &it)) =>
                        {
                            let reason = "it maps a file that it may write to by other calls";
                            self.end_recording(reason.to_owned());
                            return Ok(());
                        }
                        Some(file) => Kind::MapFile(file),
                        // The call will fail, too.
                        None => Kind::Log(Plan::default()),
                    }
                }
                Err(reason) => {
                    self.end_recording(reason.to_owned());
                    return Ok(());
                }
            },
            Class::Special(Special::Advise) => match mapping::advice(arguments[2]) {
                mapping::Advice::Answer(result) => {
                    return self.answer(registers, result, Vec::new());
                }
                mapping::Advice::Log => Kind::Log(Plan::default()),
                mapping::Advice::Repeat => Kind::Repeat,
            },
            Class::Special(Special::Fork) => match self.fork(&registers) {
                Some(kind) => kind,
                None => return Ok(()),
            },
            Class::Special(Special::SetProcessors) => match self.is_own(arguments[0]) {
                true => return self.answer(registers, 0, Vec::new()),
                false => Kind::Log(Plan::default()),
            },
            Class::Special(Special::Processors) => Kind::Processors,
            Class::Special(Special::Execute) if self.has_threads() => {
                self.end_recording("it executes a program while it has threads".to_owned());
                return Ok(());
            }
            Class::Special(Special::Execute) => Kind::Execute,
            Class::Special(Special::SignalReturn) => Kind::SignalReturn,
            Class::Special(Special::Restart) => Kind::Log(self.running.interrupted.clone()),
            Class::Special(Special::Futex) => Kind::Log(self.plan(
                &[calls::Output::Buffer(0, calls::Length::Bytes(4))],
                &arguments,
            )),
            Class::Special(Special::Yield) => return self.yield_turn(registers),
            Class::Special(Special::Sequences) => return self.sequences(registers),
            Class::Special(Special::Exit)
                if registers.number() == libc::SYS_exit && self.has_threads() =>
            {
                return self.exit_thread(registers);
            }
            Class::Special(Special::Exit) if std::mem::take(&mut self.stops_before_exit) => {
                return self.stop_before_exit(registers);
            }
            Class::Special(Special::Exit) => {
                self.log.push(entry, Effect::Exit);
                self.hash_end();
                self.turns.is_exiting = true;
                self.run();
                return Ok(());
            }
        };
        let may_leave = matches!(row.waits, Waits::Kernel | Waits::Output(_));
        let state = (may_leave && self.has_threads()).then(|| Rc::new(self.state(registers)));
        self.running.call = Some(Call {
            entry,
            before: registers,
            kind,
            waits: row.waits,
            state,
            is_changed: std::mem::take(&mut self.running.is_call_changed),
        });
        self.running.tracee.resume_to_call_end();
        Ok(())
    }

    /// Returns whether an argument stands for the program's thread.
    fn is_own(&self, pid: u64) -> bool {
        let pid = pid as i32;
        pid == 0 || pid == self.running.tracee.pid || self.others.contains_key(&pid)
    }

    pub(super) fn plan(&self, outputs: &[calls::Output], arguments: &[u64; 6]) -> Plan {
        let read = |addr: u64, bytes: &mut [u8]| self.running.tracee.read_into(addr, bytes);
        Plan::of(outputs, arguments, &read)
    }

    /// Returns what a call of the running thread has written, by its plan: addresses and lengths.
    fn written(&self, plan: &Plan, result: i64) -> Result<Vec<(u64, usize)>, calls::TooMuch> {
        let read = |addr: u64, bytes: &mut [u8]| self.running.tracee.read_into(addr, bytes);
        plan.written(result, &read)
    }

    /// Writes what a call would write. Returns false if the program has given a wrong address.
    pub(super) fn write_all(&self, written: &[Written]) -> bool {
        let mut all = written.iter();
        all.all(|(addr, bytes)| self.running.tracee.write(*addr, bytes).is_ok())
    }

    /// Answers a system call instead of the kernel.
    pub(super) fn answer(
        &mut self,
        mut registers: Registers,
        result: i64,
        written: Vec<Written>,
    ) -> io::Result<()> {
        let entry = Entry::of(&registers);
        self.log.push(entry, call_of(result, written.into()));
        registers.answer(result);
        registers.write(self.running.tracee.thread());
        self.running.boundary = Some(registers);
        self.go_on_behind_call(true)
    }

    /// Lets the debugger see that the program is about to exit: it will make the call again.
    fn stop_before_exit(&mut self, registers: Registers) -> io::Result<()> {
        let code = registers.arguments()[0] as u8;
        self.repeat_call(registers);
        self.running.tracee.leave_call()?;
        self.report(ThreadEvent::Exiting(i32::from(code)));
        Ok(())
    }

    /// Returns how the creation of a process is recorded; `None`: the recording has ended. The new
    /// process never shares the memory of the recorded one, which would change without a log.
    fn fork(&mut self, before: &Registers) -> Option<Kind> {
        const UNTRACED: u64 = 0x0080_0000;
        let mut changed = *before;
        let mut plan = Plan::default();
        let mut borrows = false;
        match before.number() {
            libc::SYS_fork => {}
            libc::SYS_vfork => {
                borrows = true;
                changed.set_number(libc::SYS_clone);
                changed.set_argument(0, (libc::CLONE_VFORK | libc::SIGCHLD) as u64);
                for nth in 1..6 {
                    changed.set_argument(nth, 0);
                }
            }
            _ => {
                let flags = before.arguments()[0];
                let has = |flag: i32| flags & flag as u32 as u64 != 0;
                if has(libc::CLONE_THREAD) {
                    if has(libc::CLONE_CHILD_SETTID) || has(libc::CLONE_PIDFD) {
                        let reason = "it starts a thread in a way that is not recorded";
                        self.end_recording(reason.to_owned());
                        return None;
                    }
                    changed.set_argument(0, flags & !UNTRACED);
                    if changed != *before {
                        changed.write(self.running.tracee.thread());
                        self.running.is_call_changed = true;
                    }
                    return Some(Kind::Thread(self.plan(
                        if has(libc::CLONE_PARENT_SETTID) {
                            &[calls::Output::Buffer(2, calls::Length::Bytes(4))]
                        } else {
                            &[]
                        },
                        &before.arguments(),
                    )));
                }
                if has(libc::CLONE_VM) && !has(libc::CLONE_VFORK) {
                    let reason = "it starts a process that shares its memory";
                    self.end_recording(reason.to_owned());
                    return None;
                }
                if has(libc::CLONE_PARENT_SETTID) || has(libc::CLONE_PIDFD) {
                    let output = [calls::Output::Buffer(2, calls::Length::Bytes(4))];
                    plan = self.plan(&output, &before.arguments());
                }
                borrows = has(libc::CLONE_VM);
                let shared = (libc::CLONE_VM | libc::CLONE_SIGHAND) as u64;
                changed.set_argument(0, flags & !(shared | UNTRACED));
            }
        }
        let is_changed = changed != *before;
        if is_changed {
            changed.write(self.running.tracee.thread());
        }
        let birth = Box::new(Birth {
            call: is_changed.then_some(*before),
            borrows,
            shares_buffer: true,
        });
        Some(Kind::Fork { plan, birth })
    }

    pub(super) fn on_call_end(&mut self) -> io::Result<()> {
        let mut after = self.running.tracee.registers()?;
        let Some(call) = self.running.call.take() else {
            self.run();
            return Ok(());
        };
        if call.is_changed {
            after.take_arguments(&call.before);
            after.write(self.running.tracee.thread());
        }
        let is_by_recorder = self.turns.takes_interrupt();
        let is_ours = self.running.is_interrupting && after.result() == -i64::from(libc::EINTR)
            || is_by_recorder && is_ended_early(after.result());
        if is_ours && !self.running.tracee.has_pending_signal(None) {
            // The debugger has interrupted a call that the kernel never makes again, or the recorder one
            // that waits while other threads can run.
            after = call.before;
            after.repeat_call(call.entry.number);
            after.write(self.running.tracee.thread());
            let effect = Effect::Interrupted {
                repeated_as: call.entry.number,
                outputs: Box::default(),
            };
            self.log.push(call.entry, effect);
            self.running.boundary = Some(after);
            return match is_by_recorder {
                true => self.repeat_later(after),
                false => self.go_on_behind_call(false),
            };
        }
        let result = after.result();
        let number = call.entry.number;
        (self.fault_action).note_call(&self.running.tracee, number, &call.entry.arguments, result);
        if [libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn].contains(&number) {
            self.running.blocks_faults = faults::is_blocked(&self.running.tracee);
        }
        let is_interrupted = RESTARTS.contains(&result);
        let effect = match call.kind {
            Kind::Log(plan) => {
                let Ok(written) = self.written(&plan, result) else {
                    self.end_recording(format!(
                        "{} writes too much",
                        calls::name(call.entry.number)
                    ));
                    return Ok(());
                };
                let outputs = read_outputs(&self.running.tracee, written);
                match is_interrupted {
                    true => {
                        self.running.interrupted = plan;
                        interrupted(result, call.entry.number, outputs)
                    }
                    false => Effect::Call {
                        result,
                        outputs,
                        bases: (after.bases() != call.before.bases()).then(|| after.bases()),
                    },
                }
            }
            Kind::LogIfFailed(_) if is_interrupted => {
                interrupted(result, call.entry.number, Box::default())
            }
            Kind::LogIfFailed(reason) if result >= 0 => {
                self.end_recording(reason);
                return Ok(());
            }
            Kind::LogIfFailed(_) | Kind::Execute => call_of(result, Box::default()),
            Kind::Thread(_) if is_interrupted => {
                interrupted(result, call.entry.number, Box::default())
            }
            Kind::Thread(_) if result < 0 => call_of(result, Box::default()),
            Kind::Thread(plan) => {
                let written = self.written(&plan, result).unwrap_or_default();
                Effect::Thread {
                    thread: result as i32,
                    outputs: read_outputs(&self.running.tracee, written),
                }
            }
            Kind::Processors => {
                let [thread, _, addr, ..] = call.entry.arguments;
                let len = usize::try_from(result).unwrap_or(0);
                let bits = self.family.processors().bits();
                if let Some(bits) = bits.get(..len).filter(|_| self.is_own(thread)) {
                    self.running.tracee.write(addr, bits)?;
                }
                call_of(
                    result,
                    read_outputs(&self.running.tracee, vec![(addr, len)]),
                )
            }
            Kind::Repeat => Effect::Repeat { result },
            Kind::Map if result < 0 && result > -4096 => call_of(result, Box::default()),
            Kind::MapFile(_) if result < 0 && result > -4096 => call_of(result, Box::default()),
            Kind::Map => Effect::Map { result },
            Kind::MapFile(file) => Effect::MapFile {
                result,
                file: self.log.keep(file)?,
            },
            Kind::SignalReturn => Effect::SignalReturn(Box::new(self.state(after))),
            Kind::Fork { plan, birth } => {
                if birth.call.is_some() {
                    after.take_arguments(&call.before);
                    after.write(self.running.tracee.thread());
                }
                match is_interrupted {
                    // A signal has come before the process was created.
                    true => interrupted(result, call.entry.number, Box::default()),
                    false => {
                        let written = self.written(&plan, result).unwrap_or_default();
                        let mut outputs = std::mem::take(&mut self.given_back);
                        outputs.extend(read_outputs(&self.running.tracee, written));
                        call_of(result, outputs.into_boxed_slice())
                    }
                }
            }
        };
        self.log.push(call.entry, effect);
        self.running.boundary = Some(after);
        // A copy would lose the mask of a call with which a signal is delivered now.
        if !is_ended_early(result) {
            let now = Instant::now();
            self.hash_last(now);
            if self.snapshots.is_due(now - self.begun) {
                self.take_snapshot(Moment::Event)?;
            }
        }
        self.go_on_behind_call(false)
    }
}

/// Returns whether a result is that of a call that was interrupted.
fn is_ended_early(result: i64) -> bool {
    result == -i64::from(libc::EINTR) || RESTARTS.contains(&result)
}

/// Returns the effect of a call that only has a result and outputs.
pub(super) fn call_of(result: i64, outputs: Box<[Written]>) -> Effect {
    Effect::Call {
        result,
        outputs,
        bases: None,
    }
}

fn interrupted(result: i64, number: i64, outputs: Box<[Written]>) -> Effect {
    let repeated_as = match result {
        RESTART_BY_KERNEL => libc::SYS_restart_syscall,
        _ => number,
    };
    Effect::Interrupted {
        repeated_as,
        outputs,
    }
}
