//! The stops of a replay, by what the next event is.

use super::super::buffer::{self, Arrival};
use super::super::calls::{self, Class, Special};
use super::super::family::complete_time_stamp;
use super::super::log::{Effect, Entry, Log};
use super::super::threads::search;
use super::super::tracee::Stop;
use super::effects::Applied;
use super::{Replay, Replayed};
use crate::ids::Signal;
use crate::os::ThreadEvent;
use crate::os::linux::ptrace;
use crate::os::recording::{Difference, Divergence};

/// The signals that instructions raise, without those of breakpoints.
const FAULTS: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

impl Replay {
    pub(super) fn handle(&mut self, log: &Log, stop: Stop) -> Result<Replayed, Divergence> {
        if self.is_trial {
            return Ok(self.on_trial_stop(stop));
        }
        let event = log.events.get(self.next);
        if let Some(search) = self.search.take()
            && let Some(Effect::Preempt(place)) = event.map(|event| &event.effect)
        {
            let tracee = &self.running.tracee;
            let arrival = match stop {
                Stop::Signal(libc::SIGTRAP) => search.on_trap(tracee, place),
                stop if stop.is_end() => Ok(search::Arrival::Stopped(stop, None)),
                stop => search
                    .leave(tracee)
                    .map(|()| search::Arrival::Stopped(stop, Some(search))),
            };
            if matches!(arrival, Ok(search::Arrival::There)) {
                self.search_memory = None;
            }
            match arrival.map_err(|error| self.refused(log, &error))? {
                search::Arrival::There if self.may_end_here() => return Ok(Replayed::Reached),
                search::Arrival::There => {
                    self.is_preempted(log)?;
                    return self.go_on(log, false);
                }
                search::Arrival::Search(search) => {
                    self.keep_search(search);
                    self.run(false);
                    return Ok(Replayed::GoesOn);
                }
                search::Arrival::Stopped(stop, search) => {
                    self.suspended = search.map(|search| (self.next, search));
                    return self.handle(log, stop);
                }
            }
        }
        match (stop, event.map(|event| &event.effect)) {
            (Stop::Call, _) => self.on_call(log),
            (Stop::Signal(libc::SIGSEGV), Some(Effect::TimeStamp(value))) => {
                let registers = self.compare_here(log)?;
                let tracee = &self.running.tracee;
                if let Some((len, rcx)) = tracee.time_stamp_instruction(registers.pc()) {
                    tracee.complete_time_stamp(registers, *value, len, rcx);
                }
                self.next += 1;
                self.go_on(log, false)
            }
            (Stop::Signal(number), Some(Effect::Signal { signal, .. }))
                if *signal == number && (number != libc::SIGTRAP || self.is_at_event(log)) =>
            {
                self.compare_here(log)?;
                if self.shows_signal(number) {
                    return Ok(self.see(ThreadEvent::Signal(Signal(number))));
                }
                self.apply_signal(log)?;
                self.go_on(log, false)
            }
            (Stop::Exited(_) | Stop::Killed(_), _) => {
                let text = "the process has ended".to_owned();
                Err(self.diverged(log, Difference::Stop(text)))
            }
            (Stop::Signal(libc::SIGTRAP), _)
                if (self.running.is_stepping || self.is_leaving) && self.is_in_buffer(log) =>
            {
                buffer::step_on(&self.running.tracee);
                Ok(Replayed::GoesOn)
            }
            (Stop::Signal(libc::SIGTRAP), _) if std::mem::take(&mut self.is_leaving) => {
                Ok(self.see(ThreadEvent::Interrupted))
            }
            (Stop::Interrupted, _) if self.is_in_buffer(log) => {
                self.is_leaving = true;
                buffer::step_on(&self.running.tracee);
                Ok(Replayed::GoesOn)
            }
            (Stop::Interrupted, _) if self.interrupting != Some(self.running.id) => {
                // The search for a place has ended with the stop.
                let Some(outcome) = self.settle(log)? else {
                    self.go();
                    return Ok(Replayed::GoesOn);
                };
                Ok(outcome)
            }
            // Its instruction would raise it again and again.
            (Stop::Signal(number), Some(_)) if FAULTS.contains(&number) => {
                let pc = self.running.tracee.registers().map(|it| it.pc());
                let place = pc.map_or_else(|_| String::new(), |pc| format!(" at {pc:#x}"));
                let text = format!("signal {number}{place}, which was not recorded");
                Err(self.diverged(log, Difference::Stop(text)))
            }
            // The same behind all events, if the program has not stopped by it.
            (Stop::Signal(number), None) if FAULTS.contains(&number) => Ok(Replayed::End),
            (Stop::Signal(_) | Stop::Interrupted | Stop::Group(_), _) => Ok(match stop.seen() {
                Some(event) => self.see(event),
                None => Replayed::GoesOn,
            }),
            _ => {
                self.run(self.running.is_stepping);
                Ok(Replayed::GoesOn)
            }
        }
    }

    /// Handles a stop of a process that does not follow the log: only calls that concern its memory are
    /// made.
    pub(super) fn on_trial_stop(&mut self, stop: Stop) -> Replayed {
        let killed = ThreadEvent::Signal(Signal(libc::SIGKILL));
        match stop {
            Stop::Call => {
                let Ok(mut registers) = self.running.tracee.registers() else {
                    return self.see(killed);
                };
                let row = calls::row(registers.number());
                match row.map(|row| &row.class) {
                    Some(Class::Special(Special::Exit)) => {
                        // The function that was called does not return.
                        return self.see(ThreadEvent::Signal(Signal(libc::SIGSYS)));
                    }
                    Some(
                        Class::Repeat
                        | Class::Own(..)
                        | Class::Special(Special::Map | Special::Advise),
                    ) => {
                        if self.running.tracee.leave_call().is_err() {
                            return self.see(killed);
                        }
                    }
                    _ => {
                        registers.answer(-i64::from(libc::ENOSYS));
                        registers.write(self.running.tracee.thread());
                        if self.running.is_stepping && self.running.tracee.leave_call().is_err() {
                            return self.see(killed);
                        }
                    }
                }
                if self.running.is_stepping {
                    return self.see(ThreadEvent::Signal(Signal::TRAP));
                }
                self.run(false);
                Replayed::GoesOn
            }
            Stop::Exited(_) | Stop::Killed(_) => self.see(killed),
            Stop::Signal(libc::SIGSEGV) if complete_time_stamp(self.running.tracee.pid) => {
                if self.running.is_stepping {
                    return self.see(ThreadEvent::Signal(Signal::TRAP));
                }
                self.run(false);
                Replayed::GoesOn
            }
            Stop::Signal(_) | Stop::Interrupted | Stop::Group(_) => match stop.seen() {
                Some(event) => self.see(event),
                None => Replayed::GoesOn,
            },
            _ => {
                self.run(self.running.is_stepping);
                Replayed::GoesOn
            }
        }
    }

    /// Returns whether its thread is in the code of the buffer, or at a jump to it in padding of the program.
    pub(super) fn is_in_buffer(&self, log: &Log) -> bool {
        let registers = self.running.tracee.registers();
        registers.is_ok_and(|registers| {
            let pc = registers.pc();
            self.refill.holds(pc) || log.segments.has_jump_in_padding(pc)
        })
    }

    /// Returns whether its registers are those of the next event.
    pub(super) fn is_at_event(&self, log: &Log) -> bool {
        let registers = self.running.tracee.registers().ok();
        let event = log.events.get(self.next);
        registers
            .zip(event)
            .is_some_and(|(registers, event)| Entry::of(&registers).pc == event.entry.pc)
    }

    pub(super) fn on_call(&mut self, log: &Log) -> Result<Replayed, Divergence> {
        if std::mem::take(&mut self.is_leaving) {
            let interrupted = ptrace::interrupt(self.running.tracee.thread());
            interrupted.map_err(|error| self.refused(log, &error))?;
        }
        let arrival = (self.refill).on_call(&self.running.tracee, log, self.next, &self.patches);
        match arrival.map_err(|error| self.refused(log, &error))? {
            Arrival::AtEvent => {}
            Arrival::Answered => return self.go_on(log, true),
        }
        let registers = self.running.tracee.registers_at_call();
        let registers = registers.map_err(|error| self.refused(log, &error))?;
        let registers = self.compare(log, registers)?;
        let Some(event) = log.events.get(self.next) else {
            return Ok(Replayed::End);
        };
        match &event.effect {
            Effect::Wait => {
                let left = self.leave_waiting(registers);
                left.map_err(|error| self.refused(log, &error))?;
                self.next += 1;
                return self.go_on(log, false);
            }
            Effect::Thread { thread, outputs } => {
                let created = self.create_thread(*thread, outputs);
                created.map_err(|error| self.refused(log, &error))?;
                self.compare_hash(log)?;
                self.next += 1;
                return match self.is_shown && !self.running.is_stepping {
                    true => Ok(Replayed::Mapped),
                    false => self.go_on(log, false),
                };
            }
            Effect::ThreadExit { outputs } => {
                let ended = self.end_thread(log, outputs);
                ended.map_err(|error| self.refused(log, &error))?;
                return self.go_on(log, false);
            }
            _ => {}
        }
        let is_answered = match self.apply(log, event, registers) {
            Ok(Applied::Answered) => true,
            Ok(Applied::Executed) => false,
            Ok(Applied::End) => {
                self.compare_hash(log)?;
                self.next += 1;
                return Ok(Replayed::End);
            }
            Ok(Applied::OtherResult(found)) => {
                return Err(self.diverged(log, Difference::Result(found)));
            }
            Err(error) => return Err(self.refused(log, &error)),
        };
        self.compare_hash(log)?;
        self.next += 1;
        if !is_answered && self.sees_mappings && !self.running.is_stepping {
            return Ok(Replayed::Mapped);
        }
        self.go_on(log, is_answered)
    }
}
