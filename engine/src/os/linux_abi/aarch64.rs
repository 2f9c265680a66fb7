//! AArch64: `user_pt_regs` (`arch/arm64/include/uapi/asm/ptrace.h`) and the generic table of system
//! calls (`asm-generic/unistd.h`).

use super::super::registers::{RegisterLayout, Word};
use super::super::system_call::BlockingCall;
use super::{ExtendedSet, FindSet, LinuxAbi, Restart, SeparateRegister, SystemCalls};
use crate::arch::Arch;
use crate::arch::aarch64::extended::is_scalable;
use crate::arch::aarch64::matrix;
use dwarf::Register;
use dwarf::register::aarch64::{PC, PSTATE, SIGNATURE_MASK, SP, TPIDR};

/// `NT_ARM_TLS`
const TLS_NOTE: u32 = 0x401;
/// `NT_ARM_SVE`, `NT_ARM_SSVE`, `NT_ARM_ZA`
const SVE_NOTE: u32 = 0x405;
const STREAMING_NOTE: u32 = 0x40b;
const MATRIX_NOTE: u32 = 0x40c;
/// `NT_FPREGSET`
const PLAIN_NOTE: u32 = 2;

/// `NT_ARM_PAC_MASK`
const PAC_NOTE: u32 = 0x406;

/// x0 to x30, the stack pointer, the pc, and the pstate; then the thread pointer and the bits of
/// pointer authentication codes.
const WORDS: &[Word] = &{
    let mut words = [Word::System; 36];
    let mut number = 0;
    while number < 31 {
        words[number as usize] = Word::Register(Register(number));
        number += 1;
    }
    words[31] = Word::Register(SP);
    words[32] = Word::Register(PC);
    words[33] = Word::Register(PSTATE);
    words[34] = Word::Separate(TPIDR);
    words[35] = Word::Separate(SIGNATURE_MASK);
    words
};

/// Makes the area of a thread that uses SME.
fn join(set: &FindSet<'_>) -> Option<Vec<u8>> {
    let streaming = set(STREAMING_NOTE).filter(|set| is_scalable(set));
    let other = || {
        set(SVE_NOTE)
            .filter(|set| is_scalable(set))
            .or(set(PLAIN_NOTE))
    };
    let state = matrix::State {
        vectors: streaming.or_else(other)?,
        is_streaming: streaming.is_some(),
        matrix: set(MATRIX_NOTE).unwrap_or_default(),
        // Only what runs needs it.
        second_thread_pointer: 0,
    };
    (state.modes() != 0).then(|| matrix::join(&state))
}

const fn x(number: u16) -> Register {
    Register(number)
}

pub static ABI: LinuxAbi = LinuxAbi {
    registers: RegisterLayout::new(Arch::Aarch64, WORDS, PC, SP),
    calls: SystemCalls {
        number: x(8),
        arguments: [x(0), x(1), x(2), x(3), x(4), x(5)],
        result: x(0),
        // The kernel keeps it in a register set of its own (`NT_ARM_SYSTEM_CALL`).
        current: None,
        map: 222,
        unmap: 215,
        close: 57,
        set_length: 46,
        memory_file: 279,
        process_control: 167,
        futex: 98,
        restart: Restart::ByInstruction(4),
        interrupted_by_stops: &[
            22,  // epoll_pwait
            441, // epoll_pwait2
            426, // io_uring_enter
            4,   // io_getevents
            137, // rt_sigtimedwait
            193, // semop
            192, // semtimedop
            // On sockets with a timeout.
            202, // accept
            242, // accept4
            63,  // read
            207, // recvfrom
            212, // recvmsg
            206, // sendto
            211, // sendmsg
        ],
        blocking: &[
            (63, BlockingCall::File(0)),    // read
            (65, BlockingCall::File(0)),    // readv
            (64, BlockingCall::File(0)),    // write
            (207, BlockingCall::File(0)),   // recvfrom
            (212, BlockingCall::File(0)),   // recvmsg
            (202, BlockingCall::File(0)),   // accept
            (242, BlockingCall::File(0)),   // accept4
            (203, BlockingCall::File(0)),   // connect
            (32, BlockingCall::File(0)),    // flock
            (73, BlockingCall::Readiness),  // ppoll
            (72, BlockingCall::Readiness),  // pselect6
            (22, BlockingCall::Readiness),  // epoll_pwait
            (441, BlockingCall::Readiness), // epoll_pwait2
            (101, BlockingCall::Time),      // nanosleep
            (115, BlockingCall::Time),      // clock_nanosleep
            (260, BlockingCall::Child),     // wait4
            (95, BlockingCall::Child),      // waitid
            (133, BlockingCall::Signal),    // rt_sigsuspend
            (137, BlockingCall::Signal),    // rt_sigtimedwait
        ],
    },
    extended: Some(ExtendedSet {
        note: SVE_NOTE,
        is_used: is_scalable,
        further: &[STREAMING_NOTE, MATRIX_NOTE],
        join,
    }),
    separate: &[
        SeparateRegister {
            note: TLS_NOTE,
            offset: 0,
            register: TPIDR,
            is_constant: false,
        },
        // `struct user_pac_mask`: of data, then of code.
        SeparateRegister {
            note: PAC_NOTE,
            offset: 8,
            register: SIGNATURE_MASK,
            is_constant: true,
        },
    ],
    // TRAP_BRKPT
    breakpoint_code: 1,
    // SI_USER: the generic `user_single_step_report` (include/linux/ptrace.h)
    stepped_call_code: 0,
    repeats_stepped_call: true,
};
