//! Signals: names, rules, and which of them stop the program.

use super::ExceptionFilter;
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

/// What becomes of a signal that does not stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Delivery {
    /// Whether the thread gets it.
    pub is_delivered: bool,
    /// The outcome to report to the client, if it is to be reported.
    pub note: Option<&'static str>,
}

impl SignalRule {
    /// Returns what becomes of a signal that does not stop. `is_ours`: the debugger has sent it to
    /// end the program; it is delivered whatever the rule says.
    pub(crate) fn delivery(self, is_ours: bool) -> Delivery {
        let is_delivered = self.pass || is_ours;
        let outcome = match is_delivered {
            true => "delivered",
            false => "discarded",
        };
        Delivery {
            is_delivered,
            note: (self.print && !is_ours).then_some(outcome),
        }
    }
}

impl ExceptionFilter {
    /// Returns whether the filter is for a signal. `explicit`: the rule that the client has set for
    /// it. A filter for all signals leaves out one whose rule says not to stop, and without a
    /// condition also those of normal operation.
    pub(crate) fn wants_signal(
        self,
        signal: Signal,
        explicit: Option<SignalRule>,
        is_conditional: bool,
    ) -> bool {
        match self {
            Self::Signal(only) => only == signal,
            Self::Signals => {
                explicit.is_none_or(|rule| rule.stop) && (is_conditional || !is_quiet(signal))
            }
            _ => false,
        }
    }
}

/// Returns whether a signal belongs to normal operation.
fn is_quiet(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::CHLD
            | Signal::WINCH
            | Signal::URG
            | Signal::CONT
            | Signal::ALRM
            | Signal::VTALRM
            | Signal::PROF
            | Signal(32 | 33)
    )
}

/// The rules that differ from the defaults.
#[derive(Default)]
pub(crate) struct SignalRules(pub(crate) BTreeMap<Signal, SignalRule>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_decides_what_becomes_of_a_signal() {
        let rule = |pass, print| SignalRule {
            stop: false,
            pass,
            print,
        };
        for (rule, is_ours, is_delivered, note) in [
            (rule(true, false), false, true, None),
            (rule(true, true), false, true, Some("delivered")),
            (rule(false, false), false, false, None),
            (rule(false, true), false, false, Some("discarded")),
            // The SIGTERM of the debugger ends the program in any case, without a note.
            (rule(false, true), true, true, None),
        ] {
            let expected = Delivery { is_delivered, note };
            assert_eq!(rule.delivery(is_ours), expected, "{rule:?} {is_ours}");
        }
    }

    #[test]
    fn filters_leave_out_signals_of_normal_operation_and_silenced_ones() {
        let (usr1, child) = (Signal::USR1, Signal::CHLD);
        let rule = |stop| {
            let usual = SignalRule::usual(usr1);
            Some(SignalRule { stop, ..usual })
        };
        let (all, one) = (ExceptionFilter::Signals, ExceptionFilter::Signal(usr1));
        for (filter, signal, explicit, is_conditional, expected) in [
            (all, usr1, None, false, true),
            (all, usr1, rule(true), false, true),
            (all, usr1, rule(false), false, false),
            (all, child, None, false, false),
            (all, child, None, true, true),
            (one, usr1, rule(false), false, true),
            (one, child, None, true, false),
            (ExceptionFilter::CppThrow, usr1, None, true, false),
        ] {
            let found = filter.wants_signal(signal, explicit, is_conditional);
            assert_eq!(found, expected, "{filter:?} {signal:?} {explicit:?}");
        }
    }

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
