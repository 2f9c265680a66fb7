//! Signals as 64-bit Linux numbers and describes them (`siginfo_t`).

use crate::ids::{Signal, SignalInfo};
use dwarf::LoadAddr;

const SIGQUIT: i32 = 3;
pub const SIGILL: i32 = 4;
pub const SIGTRAP: i32 = 5;
const SIGABRT: i32 = 6;
pub const SIGBUS: i32 = 7;
pub const SIGFPE: i32 = 8;
pub const SIGSEGV: i32 = 11;
const SIGXCPU: i32 = 24;
const SIGXFSZ: i32 = 25;
pub const SIGSYS: i32 = 31;

/// Decodes a `siginfo_t`; `None` if it is too short.
pub fn decode_info(info: &[u8]) -> Option<SignalInfo> {
    let word = |at: usize| Some(i32::from_le_bytes(info.get(at..at + 4)?.try_into().ok()?));
    let (signal, code) = (word(0)?, word(8)?);
    let is_fault = matches!(signal, SIGSEGV | SIGBUS | SIGILL | SIGFPE | SIGTRAP) && code > 0;
    // A union: si_addr for these signals with a positive code, si_pid for codes up to SI_USER.
    let address = u64::from_le_bytes(info.get(16..24)?.try_into().ok()?);
    Some(SignalInfo {
        signal: Signal(signal),
        code,
        address: is_fault.then_some(LoadAddr(address)),
        sender: if code <= 0 { word(16) } else { None },
    })
}

/// Returns whether a signal ends a process with a core file by default (signal(7)).
pub fn dumps_core(signal: Signal) -> bool {
    matches!(
        signal.0,
        SIGQUIT
            | SIGILL
            | SIGTRAP
            | SIGABRT
            | SIGBUS
            | SIGFPE
            | SIGSEGV
            | SIGXCPU
            | SIGXFSZ
            | SIGSYS
    )
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_this_machine() {
        let ours = [
            SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS,
        ];
        let theirs = [
            libc::SIGQUIT,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGABRT,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGSEGV,
            libc::SIGXCPU,
            libc::SIGXFSZ,
            libc::SIGSYS,
        ];
        assert_eq!(ours, theirs);
        assert_eq!(size_of::<libc::siginfo_t>(), 128);
    }
}
