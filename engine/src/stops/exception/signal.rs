//! Signals: names, rules, and which of them stop the program.

use crate::ids::Signal;
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
pub(crate) fn is_quiet(signal: Signal) -> bool {
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
pub(crate) struct SignalRules(pub(crate) BTreeMap<Signal, SignalRule>);

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
