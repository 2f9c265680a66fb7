//! Signals as 64-bit Linux numbers and describes them (`siginfo_t`).

use super::super::TrapCause;
use crate::arch::Arch;
use crate::ids::{Signal, SignalInfo};
use dwarf::LoadAddr;

/// `si_code` of a SIGTRAP after a single step (`TRAP_TRACE`).
const SINGLE_STEP: i32 = 2;
/// `si_code` of a SIGTRAP by a hardware watchpoint (`TRAP_HWBKPT`).
const WATCHPOINT: i32 = 4;

/// Returns the cause of a trap that a thread's own execution raised; `None` for a signal that a
/// process has sent, and for other signals than SIGTRAP.
pub fn trap_cause(arch: Arch, info: &SignalInfo) -> Option<TrapCause> {
    let abi = super::of(arch);
    // The kernel has no process id.
    if info.signal == Signal::TRAP
        && info.code == abi.stepped_call_code
        && info.sender.unwrap_or(0) == 0
    {
        return Some(TrapCause::Other);
    }
    (info.signal == Signal::TRAP && info.code > 0).then_some(match info.code {
        code if code == abi.breakpoint_code => TrapCause::Breakpoint,
        SINGLE_STEP => TrapCause::Step,
        WATCHPOINT => TrapCause::Watchpoint,
        _ => TrapCause::Other,
    })
}

/// Decodes a `siginfo_t`; `None` if it is too short.
pub fn decode_info(info: &[u8]) -> Option<SignalInfo> {
    let word = |at: usize| Some(i32::from_le_bytes(info.get(at..at + 4)?.try_into().ok()?));
    let (signal, code) = (Signal(word(0)?), word(8)?);
    let has_address = matches!(
        signal,
        Signal::SEGV | Signal::BUS | Signal::ILL | Signal::FPE | Signal::TRAP
    );
    let is_fault = has_address && code > 0;
    // A union: si_addr for these signals with a positive code, si_pid for codes up to SI_USER.
    let address = u64::from_le_bytes(info.get(16..24)?.try_into().ok()?);
    Some(SignalInfo {
        signal,
        code,
        address: is_fault.then_some(LoadAddr(address)),
        sender: if code <= 0 { word(16) } else { None },
    })
}

/// Returns whether a signal ends a process with a core file by default (signal(7)).
pub fn dumps_core(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::QUIT
            | Signal::ILL
            | Signal::TRAP
            | Signal::ABRT
            | Signal::BUS
            | Signal::FPE
            | Signal::SEGV
            | Signal::XCPU
            | Signal::XFSZ
            | Signal::SYS
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_traps() {
        let sent = |arch, signal: Signal, code, sender: i32| {
            let mut bytes = [0; 24];
            bytes[16..20].copy_from_slice(&sender.to_le_bytes());
            bytes[..4].copy_from_slice(&signal.0.to_le_bytes());
            bytes[8..12].copy_from_slice(&i32::to_le_bytes(code));
            trap_cause(arch, &decode_info(&bytes).unwrap())
        };
        let cause = |arch, signal, code| sent(arch, signal, code, 1);
        let on_x86 = |code| cause(Arch::X86_64, Signal::TRAP, code);
        assert_eq!(on_x86(0x80), Some(TrapCause::Breakpoint));
        assert_eq!(on_x86(1), Some(TrapCause::Other));
        assert_eq!(
            cause(Arch::Fixed, Signal::TRAP, 1),
            Some(TrapCause::Breakpoint)
        );
        assert_eq!(on_x86(2), Some(TrapCause::Step));
        assert_eq!(on_x86(4), Some(TrapCause::Watchpoint));
        assert_eq!(on_x86(0), None, "kill(2)");
        assert_eq!(sent(Arch::X86_64, Signal::TRAP, 0, 0), None);
        // The end of a step over a system call.
        let on_arm = |code, sender| sent(Arch::Aarch64, Signal::TRAP, code, sender);
        assert_eq!(on_arm(0, 0), Some(TrapCause::Other));
        assert_eq!(on_arm(0, 7), None, "kill(2)");
        assert_eq!(on_arm(1, 0), Some(TrapCause::Breakpoint));
        assert_eq!(on_x86(-6), None, "tgkill(2)");
        assert_eq!(cause(Arch::X86_64, Signal::SEGV, 1), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn numbers_are_those_of_this_machine() {
        let numbers = [
            (Signal::QUIT, libc::SIGQUIT),
            (Signal::ILL, libc::SIGILL),
            (Signal::TRAP, libc::SIGTRAP),
            (Signal::ABRT, libc::SIGABRT),
            (Signal::BUS, libc::SIGBUS),
            (Signal::FPE, libc::SIGFPE),
            (Signal::KILL, libc::SIGKILL),
            (Signal::USR1, libc::SIGUSR1),
            (Signal::SEGV, libc::SIGSEGV),
            (Signal::ALRM, libc::SIGALRM),
            (Signal::TERM, libc::SIGTERM),
            (Signal::CHLD, libc::SIGCHLD),
            (Signal::CONT, libc::SIGCONT),
            (Signal::STOP, libc::SIGSTOP),
            (Signal::URG, libc::SIGURG),
            (Signal::XCPU, libc::SIGXCPU),
            (Signal::XFSZ, libc::SIGXFSZ),
            (Signal::VTALRM, libc::SIGVTALRM),
            (Signal::PROF, libc::SIGPROF),
            (Signal::WINCH, libc::SIGWINCH),
            (Signal::SYS, libc::SIGSYS),
        ];
        for (ours, theirs) in numbers {
            assert_eq!(ours.0, theirs);
        }
        assert_eq!(size_of::<libc::siginfo_t>(), 128);
    }
}
