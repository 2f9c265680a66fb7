//! What exceptions mean: the event of a thread that waits in one, and what is answered.

use super::flavors::code::{I386_GPFLT, INVALID_ADDRESS, SOFT_SIGNAL};
use super::flavors::kind;
use super::message::Exception;
use super::signals::{self, Numbers};
use crate::ids::{Signal, SignalInfo};
use dwarf::LoadAddr;

/// The codes of an exception (`mach_exception_data_type_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Codes(pub [u64; 2]);

/// `SI_KERNEL`, of a fault without an address.
const NO_ADDRESS: i32 = 0x80;
/// `si_code` of a fault at an address where nothing is mapped, and of one that is not permitted.
const SEGV_MAPERR: i32 = 1;
const SEGV_ACCERR: i32 = 2;

/// What an exception is for the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A signal that the process has got, and that can be replaced or dropped.
    Sent(Signal),
    /// A trap of the thread's own execution: SIGTRAP if it is not handled.
    Trap,
    /// A fault of the thread's own execution: this signal if it is not handled.
    Fault(Signal),
    /// The process executes another program now.
    Exec,
}

impl Meaning {
    /// Returns the signal that the thread is stopped with.
    pub fn signal(self) -> Signal {
        match self {
            Meaning::Sent(signal) | Meaning::Fault(signal) => signal,
            Meaning::Trap | Meaning::Exec => Signal::TRAP,
        }
    }
}

/// Returns what an exception means. `has_execed`: the task's program is another one than before.
pub fn meaning(exception: &Exception, numbers: &Numbers, has_execed: bool) -> Meaning {
    match (exception.kind, exception.codes) {
        (kind::SOFTWARE, [SOFT_SIGNAL, number]) => {
            let signal = signals::from_system(numbers, number as i32);
            match signal {
                Signal::TRAP if has_execed => Meaning::Exec,
                signal => Meaning::Sent(signal),
            }
        }
        (kind::BREAKPOINT, _) => Meaning::Trap,
        // The kernel's own choice (`ux_exception`, bsd/uxkern/ux_exception.c).
        (kind::BAD_ACCESS, [INVALID_ADDRESS | I386_GPFLT, _]) => Meaning::Fault(Signal::SEGV),
        (kind::BAD_ACCESS, _) => Meaning::Fault(Signal::BUS),
        (kind::BAD_INSTRUCTION, _) => Meaning::Fault(Signal::ILL),
        (kind::ARITHMETIC, _) => Meaning::Fault(Signal::FPE),
        (kind::SYSCALL | kind::MACH_SYSCALL, _) => Meaning::Fault(Signal::SYS),
        _ => Meaning::Fault(Signal::ABRT),
    }
}

/// Returns the details of the signal that a thread is stopped with.
pub fn info(exception: &Exception, meaning: Meaning) -> SignalInfo {
    let address = match exception.kind {
        kind::BAD_ACCESS => Some(LoadAddr(exception.codes[1])),
        _ => None,
    };
    let code = match (meaning, exception.codes[0]) {
        (Meaning::Sent(_), _) => 0,
        (Meaning::Fault(Signal::SEGV), INVALID_ADDRESS) => SEGV_MAPERR,
        (Meaning::Fault(Signal::SEGV), I386_GPFLT) => NO_ADDRESS,
        (Meaning::Fault(Signal::SEGV), _) => SEGV_ACCERR,
        // Above 0: raised by the thread itself.
        (Meaning::Fault(_) | Meaning::Trap | Meaning::Exec, code) => (code as i32).max(1),
    };
    SignalInfo {
        signal: meaning.signal(),
        code,
        address,
        sender: None,
    }
}

/// Returns whether the address of a signal is that of the instruction.
pub fn is_at_instruction(meaning: Meaning) -> bool {
    matches!(
        meaning,
        Meaning::Trap | Meaning::Fault(Signal::ILL | Signal::FPE)
    )
}

/// Returns whether a signal may stand for an exception that was not handled. Which one does, is the
/// kernel's choice, and depends on more than the codes.
pub fn stands_for_exception(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::SEGV
            | Signal::BUS
            | Signal::ILL
            | Signal::FPE
            | Signal::TRAP
            | Signal::SYS
            | Signal::ABRT
    )
}

/// How a thread goes on from an exception.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The signal of the exception becomes this one (0: none), and the thread goes on.
    Replace(Signal),
    /// The exception is handled: the thread goes on.
    Handled,
    /// The exception is not handled: the thread gets the signal that stands for it, which arrives as
    /// another exception.
    NotHandled,
    /// The exception is handled, and this signal is sent to the process.
    HandledAndSent(Signal),
}

/// Returns how a thread goes on that is to get a signal (0: none).
pub fn answer(meaning: Meaning, signal: Signal) -> Answer {
    match meaning {
        Meaning::Sent(_) | Meaning::Exec => Answer::Replace(signal),
        _ if signal.0 == 0 => Answer::Handled,
        Meaning::Trap | Meaning::Fault(_) if signal == meaning.signal() => Answer::NotHandled,
        Meaning::Trap | Meaning::Fault(_) => Answer::HandledAndSent(signal),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mach::Port;
    use super::super::message::{Message, kernel};
    use super::*;

    fn exception(kind: i32, codes: [u64; 2]) -> Exception {
        let bytes = kernel::exception(Port(1), Port(2), kind, codes, Port(3));
        match Message::decode(&bytes) {
            Some(Message::Exception(exception)) => exception,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn meanings() {
        let of = |kind, codes| meaning(&exception(kind, codes), &signals::XNU, false);
        let sent = |number| of(kind::SOFTWARE, [SOFT_SIGNAL, number]);
        assert_eq!(sent(30), Meaning::Sent(Signal::USR1));
        assert_eq!(sent(5), Meaning::Sent(Signal::TRAP));
        assert_eq!(of(kind::BREAKPOINT, [1, 2]), Meaning::Trap);
        assert_eq!(of(kind::BAD_ACCESS, [1, 8]), Meaning::Fault(Signal::SEGV));
        assert_eq!(of(kind::BAD_ACCESS, [2, 8]), Meaning::Fault(Signal::BUS));
        assert_eq!(of(kind::ARITHMETIC, [1, 0]), Meaning::Fault(Signal::FPE));
        let trap = exception(kind::SOFTWARE, [SOFT_SIGNAL, 5]);
        assert_eq!(meaning(&trap, &signals::XNU, true), Meaning::Exec);
    }

    #[test]
    fn faults_have_their_address() {
        let fault = exception(kind::BAD_ACCESS, [1, 0x10]);
        let info = info(&fault, Meaning::Fault(Signal::SEGV));
        assert_eq!(info.address, Some(LoadAddr(0x10)));
        assert_eq!((info.signal, info.code), (Signal::SEGV, SEGV_MAPERR));
    }

    #[test]
    fn answers() {
        let none = Signal(0);
        let fault = Meaning::Fault(Signal::SEGV);
        assert_eq!(answer(fault, none), Answer::Handled);
        assert_eq!(answer(fault, Signal::SEGV), Answer::NotHandled);
        let other = Answer::HandledAndSent(Signal::USR1);
        assert_eq!(answer(fault, Signal::USR1), other);
        // Otherwise the program would get the SIGTRAP by which the kernel reports this.
        assert_eq!(answer(Meaning::Exec, none), Answer::Replace(none));
        let sent = Meaning::Sent(Signal::USR1);
        assert_eq!(answer(sent, none), Answer::Replace(none));
        assert_eq!(answer(sent, Signal::USR1), Answer::Replace(Signal::USR1));
    }
}
