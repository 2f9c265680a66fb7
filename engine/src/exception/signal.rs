//! Signals: names, rules, and which of them stop the program.

use super::{ExceptionFilter, Subject};
use crate::debugger::{Debugger, Vote};
use crate::event::{Event, StopReason};
use crate::ids::{Signal, SignalInfo, ThreadId};
use std::collections::BTreeMap;

/// signal(7); the numbers are those of x86 and Arm.
const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];
/// The number of `SIGRTMIN`; the C library uses the two below.
const REAL_TIME: i32 = 34;
const LAST: i32 = 64;

impl Signal {
    /// Returns its name for display.
    pub fn name(self) -> String {
        let index = usize::try_from(self.0).ok().and_then(|n| n.checked_sub(1));
        match index.and_then(|index| NAMES.get(index)) {
            Some(name) => format!("SIG{name}"),
            None if self.0 == REAL_TIME => "SIGRTMIN".to_owned(),
            None if self.0 > REAL_TIME => format!("SIGRTMIN+{}", self.0 - REAL_TIME),
            None => format!("signal {}", self.0),
        }
    }

    /// Parses a name as [`Signal::name`] returns it, with or without `SIG`, also `SIGRTMAX-3`, or a
    /// number.
    pub fn named(name: &str) -> Option<Signal> {
        let name = name.trim().to_ascii_uppercase();
        let short = name.strip_prefix("SIG").unwrap_or(&name);
        let offset = |rest: &str, sign: char| match rest {
            "" => Some(0),
            rest => rest.strip_prefix(sign)?.parse::<i32>().ok(),
        };
        let number = if let Some(index) = NAMES.iter().position(|known| *known == short) {
            i32::try_from(index).ok()? + 1
        } else if let Some(rest) = short.strip_prefix("RTMIN") {
            REAL_TIME.checked_add(offset(rest, '+')?)?
        } else if let Some(rest) = short.strip_prefix("RTMAX") {
            LAST.checked_sub(offset(rest, '-')?)?
        } else {
            short.parse().ok()?
        };
        (1..=LAST).contains(&number).then_some(Signal(number))
    }
}

/// The handling of a signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalRule {
    /// Stop before it is delivered.
    pub stop: bool,
    /// Deliver it; otherwise it is discarded.
    pub pass: bool,
    /// Report it if it does not stop.
    pub print: bool,
}

impl SignalRule {
    /// Returns the default rule: signals of program errors stop, and all are delivered.
    pub fn usual(signal: Signal) -> Self {
        Self {
            stop: crate::inferior::is_fatal_signal(signal),
            pass: true,
            print: false,
        }
    }
}

/// Returns whether a signal belongs to normal operation, so that a filter for all signals excludes
/// it.
fn is_quiet(signal: Signal) -> bool {
    matches!(
        signal.0,
        libc::SIGCHLD
            | libc::SIGWINCH
            | libc::SIGURG
            | libc::SIGCONT
            | libc::SIGALRM
            | libc::SIGVTALRM
            | libc::SIGPROF
            | 32
            | 33
    )
}

/// The rules that differ from the defaults.
#[derive(Default)]
pub(crate) struct SignalRules(BTreeMap<Signal, SignalRule>);

impl Debugger {
    /// Returns the rule for a signal.
    pub fn signal_rule(&self, signal: Signal) -> SignalRule {
        let rule = self.stops.signal_rules.0.get(&signal).copied();
        rule.unwrap_or_else(|| SignalRule::usual(signal))
    }

    /// Sets the rules for these signals; all others get the default. Rules for SIGKILL and SIGSTOP
    /// have no effect.
    pub fn set_signal_rules(&mut self, rules: &[(Signal, SignalRule)]) {
        self.stops.signal_rules.0 = rules.iter().copied().collect();
    }

    /// Returns the details of the signal that a thread is about to receive.
    fn info_of(&self, thread: ThreadId, signal: Signal) -> SignalInfo {
        self.inferior.os.signal_info(thread).unwrap_or(SignalInfo {
            signal,
            code: 0,
            address: None,
            sender: None,
        })
    }

    /// Handles a signal-delivery-stop: the thread stops, or runs with or without the signal.
    pub(crate) fn on_signal(&mut self, thread: ThreadId, signal: Signal) -> Vote {
        let rule = self.signal_rule(signal);
        let sent_by_us = self.inferior.terminating && signal.0 == libc::SIGTERM;
        if let Some(state) = self.inferior.thread_mut(thread) {
            state.signal = match rule.pass || sent_by_us {
                true => signal,
                false => Signal(0),
            };
        }
        let reason = match sent_by_us {
            true => None,
            false => self.ask_signal(thread, signal, rule),
        };
        if let Some(reason) = reason {
            return Vote::stop(reason);
        }
        if rule.print && !sent_by_us {
            let what = match rule.pass {
                true => "delivered",
                false => "discarded",
            };
            let from = self.sender(&self.info_of(thread, signal));
            let note = format!("{}{from}: {what} (thread {thread})\n", signal.name());
            self.emit(Event::Note(note));
        }
        if rule.pass || sent_by_us {
            self.signal_while_stepping(thread);
        }
        Vote::Resume
    }

    /// Returns whether a signal stops the program, by its rule or by a filter.
    fn ask_signal(
        &mut self,
        thread: ThreadId,
        signal: Signal,
        rule: SignalRule,
    ) -> Option<StopReason> {
        if let Some(reason) = self.ask_aborting_panic(thread, signal) {
            return Some(reason);
        }
        let explicit = self.stops.signal_rules.0.contains_key(&signal);
        let (mut ids, mut wanted) = (Vec::new(), rule.stop);
        let mut problem = None;
        for index in 0..self.stops.exceptions.watched.len() {
            let (filter, id) = match self.stops.exceptions.watched.get(index) {
                Some(watched) if watched.failure.is_none() => (watched.filter, watched.id),
                _ => continue,
            };
            let fits = match filter {
                ExceptionFilter::Signal(only) => only == signal,
                // Without a condition, signals of normal operation are excluded.
                ExceptionFilter::Signals => {
                    self.stops.exceptions.is_conditional(index) || !is_quiet(signal)
                }
                _ => false,
            };
            let silenced = explicit && !rule.stop && filter == ExceptionFilter::Signals;
            if !fits || silenced {
                continue;
            }
            match self.condition_holds(thread, index, &Subject::Signal(signal)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(error) => problem = Some(error.to_string()),
            }
            wanted = true;
            ids.extend(id);
        }
        if let Some(problem) = problem {
            return Some(StopReason::BreakpointError(ids, problem));
        }
        if !wanted || self.is_aftermath(thread, signal) {
            return None;
        }
        let info = self.info_of(thread, signal);
        Some(StopReason::Signal { info, ids })
    }

    /// Returns the sender of a signal as part of a sentence; empty for signals of the kernel.
    pub(crate) fn sender(&self, info: &SignalInfo) -> String {
        match info.sender {
            Some(pid) if Some(pid) == self.pid() => " from the program itself".to_owned(),
            Some(0) => " from the kernel or another namespace".to_owned(),
            Some(pid) => match self.inferior.os.thread_name(pid, ThreadId(pid)) {
                name if name.is_empty() => format!(" from process {pid}"),
                name => format!(" from process {pid} ({name})"),
            },
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (number, name) in [
            (11, "SIGSEGV"),
            (31, "SIGSYS"),
            (34, "SIGRTMIN"),
            (37, "SIGRTMIN+3"),
        ] {
            assert_eq!(Signal(number).name(), name);
            assert_eq!(Signal::named(name), Some(Signal(number)));
        }
        assert_eq!(Signal(0).name(), "signal 0");
        assert_eq!(Signal::named(" usr1"), Some(Signal(10)));
        assert_eq!(Signal::named("SIGRTMAX-1"), Some(Signal(63)));
        assert_eq!(Signal::named("37"), Some(Signal(37)));
        for wrong in [
            "",
            "SIG",
            "SIGNAL",
            "0",
            "65",
            "SIGRTMIN3",
            "SIGRTMIN+99",
            "-1",
        ] {
            assert_eq!(Signal::named(wrong), None, "{wrong}");
        }
    }
}
