//! Numbers of signals: the engine has those of Linux, XNU has others (`sys/signal.h`).

use crate::ids::Signal;

/// The engine's number of each of the system's, by the system's number.
pub type Numbers = [u8; 32];

/// XNU's. `SIGEMT` and `SIGINFO` have no counterpart: their numbers are beyond those of Linux.
#[cfg_attr(
    not(target_os = "macos"),
    allow(dead_code, reason = "the numbers of macOS")
)]
pub static XNU: Numbers = [
    0, 1, 2, 3, 4, 5, 6, 67, 8, 9, 7, 11, 31, 13, 14, 15, // up to SIGTERM
    23, 19, 20, 18, 17, 21, 22, 29, 24, 25, 26, 27, 28, 69, 10, 12,
];

/// Linux's, for programs of Linux under a simulated Mach.
#[cfg(feature = "simulated-mach")]
pub static LINUX: Numbers = {
    let mut numbers = [0; 32];
    let mut number = 0;
    while number < numbers.len() {
        numbers[number] = number as u8;
        number += 1;
    }
    numbers
};

/// Returns the engine's signal of a number of the system.
pub fn from_system(numbers: &Numbers, number: i32) -> Signal {
    let known = usize::try_from(number).ok().and_then(|at| numbers.get(at));
    Signal(known.map_or(number, |number| i32::from(*number)))
}

/// Returns the system's number of a signal of the engine.
pub fn to_system(numbers: &Numbers, signal: Signal) -> i32 {
    let is_it = |number: &u8| i32::from(*number) == signal.0;
    let at = numbers.iter().position(is_it);
    at.map_or(signal.0, |number| number as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_both_ways() {
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..32 {
            let signal = from_system(&XNU, number);
            assert!(
                seen.insert(signal.0),
                "{number} is {} like another",
                signal.0
            );
            assert_eq!(to_system(&XNU, signal), number);
        }
    }

    #[test]
    fn names_are_kept() {
        // sys/signal.h of macOS.
        let pairs = [
            (10, Signal::BUS),
            (12, Signal::SYS),
            (16, Signal::URG),
            (17, Signal::STOP),
            (19, Signal::CONT),
            (20, Signal::CHLD),
            (30, Signal::USR1),
            (11, Signal::SEGV),
            (5, Signal::TRAP),
        ];
        for (number, signal) in pairs {
            assert_eq!(from_system(&XNU, number), signal);
        }
    }
}
