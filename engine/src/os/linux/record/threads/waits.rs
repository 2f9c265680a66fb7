//! System calls that may wait, in a program with threads: a thread that would wait in the kernel does not make the
//! call before it can return at once. So nothing writes to memory while another thread runs.

use super::super::calls::{Class, Row, Special, Waits};
use super::super::recorder::Recorder;
use super::super::registers::Registers;
use super::super::{calls, mapping, scratch};
use super::files;
use super::futex::{self, Request, Until};
use super::thread::{Outcome, Reason, Waiting};
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

/// The most descriptors of one call: others are left to the kernel.
const MOST_FILES: u64 = 1024;
const AGAIN: i64 = -(libc::EAGAIN as i64);
const TIMED_OUT: i64 = -(libc::ETIMEDOUT as i64);

impl Recorder {
    /// Handles a call of a thread that would wait, or is one for other threads. Returns false if the call can
    /// be made.
    pub(in super::super) fn waits_in(
        &mut self,
        row: &Row,
        registers: Registers,
    ) -> io::Result<bool> {
        let arguments = registers.arguments();
        // The kernel ends the call for a signal.
        let has_signal = self.running.held.iter().any(|held| held.is_sent());
        if matches!(row.class, Class::Special(Special::Futex)) {
            return self.futex(registers, has_signal);
        }
        if SENDS.contains(&registers.number()) {
            self.turns.has_sent_signals = true;
        }
        if has_signal {
            return Ok(false);
        }
        if waits_for_all(registers.number(), &arguments) {
            let reason = "it has threads, and waits for a whole message of a socket (MSG_WAITALL)";
            self.end_recording(reason.to_owned());
            return Ok(true);
        }
        let until = |time: Option<Duration>, outcome: Outcome| {
            time.map(|time| (Instant::now() + time, outcome))
        };
        let (reason, until) = match row.waits {
            Waits::Never | Waits::Kernel | Waits::Again => return Ok(false),
            Waits::Input(nth) | Waits::Output(nth) => {
                let events = match row.waits {
                    Waits::Input(_) => libc::POLLIN,
                    _ => libc::POLLOUT,
                };
                let file = mapping::file(&self.process, arguments[nth] as i32);
                let Some(file) = file.filter(|it| !files::never_waits(it)) else {
                    return Ok(false);
                };
                if is_without_waiting(registers.number(), &arguments) {
                    return Ok(false);
                }
                (Reason::Files(vec![(file, events)]), None)
            }
            Waits::Poll | Waits::Select | Waits::Epoll => {
                let Some(all) = self.files_of(row.waits, &arguments) else {
                    return Ok(false);
                };
                let time = match self.time_of(registers.number(), &arguments) {
                    Some(Duration::ZERO) => return Ok(false),
                    time => time,
                };
                (Reason::Files(all), until(time, Outcome::MakeAtOnce))
            }
            Waits::Sleep(nth) => {
                let Some(time) = self.sleep_of(registers.number(), &arguments, nth) else {
                    return Ok(false);
                };
                (Reason::Word, until(Some(time), Outcome::Answer(0)))
            }
            Waits::Child => {
                let options = match registers.number() {
                    libc::SYS_wait4 => arguments[2],
                    _ => arguments[3],
                };
                if options & libc::WNOHANG as u64 != 0
                    || files::has_ended_child(self.pid, &registers)
                {
                    return Ok(false);
                }
                (Reason::Child, None)
            }
        };
        if let Reason::Files(all) = &reason
            && files::is_any_ready(all)
        {
            return Ok(false);
        }
        self.wait(Waiting {
            registers,
            reason,
            until,
        })?;
        Ok(true)
    }

    /// Lets the kernel make a call that does not have to wait any more, or that a signal ends: of a sleep that
    /// is what remains.
    pub(super) fn make_waited(&mut self, waiting: &Waiting) -> io::Result<()> {
        let mut changed = waiting.registers;
        let nth = calls::row(changed.number()).and_then(|row| match row.waits {
            Waits::Sleep(nth) => Some(nth),
            _ => None,
        });
        let is_relative = changed.number() == libc::SYS_nanosleep
            || changed.arguments()[1] & libc::TIMER_ABSTIME as u64 == 0;
        if let (Some(nth), Some((until, _)), true) = (nth, waiting.until, is_relative) {
            let left = until.saturating_duration_since(Instant::now());
            let words = [left.as_secs(), u64::from(left.subsec_nanos())];
            let bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
            self.make_with(&mut changed, nth, &bytes)?;
        }
        self.make(waiting.registers)
    }

    /// Lets the kernel make a call whose time is over.
    pub(super) fn make_at_once(&mut self, registers: Registers) -> io::Result<()> {
        let mut changed = registers;
        let number = registers.number();
        match number {
            libc::SYS_poll => changed.set_argument(2, 0),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => changed.set_argument(3, 0),
            number => {
                let nth = match number {
                    libc::SYS_ppoll => 2,
                    libc::SYS_epoll_pwait2 => 3,
                    _ => 4,
                };
                self.make_with(&mut changed, nth, &[0; 16])?;
            }
        }
        changed.write(self.running.tracee.thread());
        self.running.is_call_changed = true;
        self.make(registers)
    }

    /// Gives the kernel another argument in the recorder's memory.
    fn make_with(&mut self, changed: &mut Registers, nth: usize, bytes: &[u8]) -> io::Result<()> {
        self.running.tracee.write(scratch::ROOM, bytes)?;
        changed.set_argument(nth, scratch::ROOM);
        changed.write(self.running.tracee.thread());
        self.running.is_call_changed = true;
        Ok(())
    }

    fn make(&mut self, registers: Registers) -> io::Result<()> {
        match calls::row(registers.number()) {
            Some(row) => self.make_call(row, registers),
            None => Err(io::Error::other("a call that is not listed has waited")),
        }
    }

    fn duration(&self, addr: u64) -> Option<Duration> {
        let mut bytes = [0; 16];
        let read = self.running.tracee.read_into(addr, &mut bytes);
        futex::duration(bytes).filter(|_| read == bytes.len())
    }

    /// Returns the files that a call waits for; `None`: the kernel refuses it, or they are too many.
    fn files_of(&self, waits: Waits, arguments: &[u64; 6]) -> Option<Vec<(File, i16)>> {
        let [first, second, third, fourth, ..] = *arguments;
        let tracee = &self.running.tracee;
        let open = |descriptor: i32| mapping::file(&self.process, descriptor);
        let mut all = Vec::new();
        match waits {
            Waits::Poll => {
                if second > MOST_FILES {
                    return None;
                }
                let entries = tracee.read(first, 8 * second as usize);
                for entry in entries.chunks_exact(8) {
                    let descriptor = i32::from_le_bytes(entry.get(..4)?.try_into().ok()?);
                    let events = i16::from_le_bytes(entry.get(4..6)?.try_into().ok()?);
                    if descriptor >= 0 {
                        all.push((open(descriptor)?, events));
                    }
                }
            }
            Waits::Select => {
                let count = first.min(MOST_FILES);
                let sets = [
                    (second, libc::POLLIN),
                    (third, libc::POLLOUT),
                    (fourth, libc::POLLPRI),
                ];
                for (addr, events) in sets.into_iter().filter(|it| it.0 != 0) {
                    let bits = tracee.read(addr, count.div_ceil(64) as usize * 8);
                    for nth in 0..count {
                        let byte = bits.get((nth / 8) as usize)?;
                        if byte & (1 << (nth % 8)) != 0 {
                            all.push((open(nth as i32)?, events));
                        }
                    }
                }
            }
            _ => all.push((open(first as i32)?, libc::POLLIN)),
        }
        Some(all)
    }

    /// Returns how long a call waits for files at most; `None`: for ever.
    fn time_of(&self, number: i64, arguments: &[u64; 6]) -> Option<Duration> {
        let millis = |argument: u64| {
            let millis = u64::try_from(i64::from(argument as i32)).ok();
            millis.map(Duration::from_millis)
        };
        match number {
            libc::SYS_poll => millis(arguments[2]),
            libc::SYS_epoll_wait | libc::SYS_epoll_pwait => millis(arguments[3]),
            libc::SYS_ppoll => self.duration(arguments[2]),
            libc::SYS_epoll_pwait2 => self.duration(arguments[3]),
            libc::SYS_select => {
                let mut bytes = [0; 16];
                let read = self.running.tracee.read_into(arguments[4], &mut bytes);
                let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
                let (seconds, micros) = bytes.split_at(8);
                (read == 16).then(|| {
                    Duration::from_secs(word(seconds))
                        .saturating_add(Duration::from_micros(word(micros)))
                })
            }
            _ => self.duration(arguments[4]),
        }
    }

    /// Returns how long a call sleeps; `None`: the kernel knows.
    fn sleep_of(&self, number: i64, arguments: &[u64; 6], nth: usize) -> Option<Duration> {
        let time = self.duration(arguments[nth])?;
        let [clock, flags, ..] = *arguments;
        let time = match number {
            libc::SYS_nanosleep => time,
            _ if flags & libc::TIMER_ABSTIME as u64 == 0 && [0, 1, 7].contains(&clock) => time,
            _ => time.checked_sub(now(match clock {
                0 => nix::time::ClockId::CLOCK_REALTIME,
                1 => nix::time::ClockId::CLOCK_MONOTONIC,
                7 => nix::time::ClockId::CLOCK_BOOTTIME,
                _ => return None,
            })?)?,
        };
        (!time.is_zero()).then_some(time)
    }

    /// futex(2). Returns false if the kernel makes the call.
    fn futex(&mut self, registers: Registers, has_signal: bool) -> io::Result<bool> {
        let arguments = registers.arguments();
        let word = arguments[0];
        let result = match Request::of(&arguments) {
            Request::Invalid => return Ok(false),
            Request::Inherit => {
                let reason = "it uses mutexes with priority inheritance";
                self.end_recording(reason.to_owned());
                return Ok(true);
            }
            Request::Wait {
                expected,
                bits,
                until,
            } => {
                let Some(value) = self.word_at(word).filter(|_| !has_signal) else {
                    return Ok(false);
                };
                let until = match until {
                    None => None,
                    Some(until) => match self.left(until) {
                        Some(left) => {
                            let end = Instant::now().checked_add(left);
                            end.map(|end| (end, Outcome::Answer(TIMED_OUT)))
                        }
                        None => return Ok(false),
                    },
                };
                if value == expected {
                    let thread = self.running.tracee.pid;
                    self.turns.futexes.wait(thread, word, bits);
                    self.wait(Waiting {
                        registers,
                        reason: Reason::Word,
                        until,
                    })?;
                    return Ok(true);
                }
                AGAIN
            }
            Request::Wake { count, bits } => {
                let woken = self.turns.futexes.wake(word, count, bits);
                let result = woken.len() as i64;
                self.wake(woken);
                result
            }
            Request::Requeue {
                count,
                moved,
                to,
                expected,
            } => match (self.word_at(word), expected) {
                (None, _) => return Ok(false),
                (Some(value), Some(expected)) if value != expected => AGAIN,
                (Some(_), _) => {
                    let woken = self.turns.futexes.wake(word, count, u32::MAX);
                    let result = woken.len() as i64;
                    self.wake(woken);
                    let moved = self.turns.futexes.requeue(word, to, moved);
                    // FUTEX_REQUEUE counts what it moves, too, unlike futex(2) says.
                    result + i64::from(moved)
                }
            },
            Request::Change {
                count,
                other_count,
                other,
                change,
            } => {
                let changed = self.word_at(other).and_then(|old| change.apply(old));
                let Some((new, wakes_other)) = changed else {
                    return Ok(false);
                };
                let written = vec![(other, Box::from(new.to_le_bytes()))];
                if !self.write_all(&written) {
                    return Ok(false);
                }
                let mut woken = self.turns.futexes.wake(word, count, u32::MAX);
                if wakes_other {
                    woken.extend(self.turns.futexes.wake(other, other_count, u32::MAX));
                }
                let result = woken.len() as i64;
                self.wake(woken);
                self.answer(registers, result, written)?;
                return Ok(true);
            }
        };
        self.answer(registers, result, Vec::new())?;
        Ok(true)
    }

    fn word_at(&self, addr: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        let read = self.running.tracee.read_into(addr, &mut bytes);
        (read == 4 && addr.is_multiple_of(4)).then(|| u32::from_le_bytes(bytes))
    }

    /// Returns the time that is left; `None`: the kernel refuses it.
    fn left(&self, until: Until) -> Option<Duration> {
        let since = |clock, addr| {
            let end = self.duration(addr)?;
            Some(end.saturating_sub(now(clock)?))
        };
        match until {
            Until::After(addr) => self.duration(addr),
            Until::Monotonic(addr) => since(nix::time::ClockId::CLOCK_MONOTONIC, addr),
            Until::RealTime(addr) => since(nix::time::ClockId::CLOCK_REALTIME, addr),
        }
    }

    /// Returns how long no thread can run, at most, and the files that end that.
    pub fn idle_until(&self) -> (Option<Instant>, Vec<libc::pollfd>) {
        let mut end: Option<Instant> = None;
        let mut all = Vec::new();
        for thread in self.others.values().chain([&self.running]) {
            let Some(waiting) = &thread.waiting else {
                continue;
            };
            let until = waiting.until.map(|it| it.0);
            end = [end, until].into_iter().flatten().min();
            if let Reason::Files(files) = &waiting.reason {
                all.extend(files::to_poll(files));
            }
        }
        (end, all)
    }
}

/// Calls that send signals, to other threads of the program among others.
const SENDS: [libc::c_long; 6] = [
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
];

/// Returns whether the flags of a call say that it does not wait.
fn is_without_waiting(number: i64, arguments: &[u64; 6]) -> bool {
    message_flags(number, arguments) & libc::MSG_DONTWAIT as u64 != 0
}

/// Returns whether a call goes on to wait when there is something to read.
fn waits_for_all(number: i64, arguments: &[u64; 6]) -> bool {
    let receives = [libc::SYS_recvfrom, libc::SYS_recvmsg].contains(&number);
    receives && message_flags(number, arguments) & libc::MSG_WAITALL as u64 != 0
}

fn message_flags(number: i64, arguments: &[u64; 6]) -> u64 {
    match number {
        libc::SYS_recvfrom | libc::SYS_sendto | libc::SYS_sendmmsg => arguments[3],
        libc::SYS_recvmsg | libc::SYS_sendmsg => arguments[2],
        _ => 0,
    }
}

fn now(clock: nix::time::ClockId) -> Option<Duration> {
    nix::time::clock_gettime(clock).ok().map(Duration::from)
}
