//! x86-64: `user_regs_struct` (`arch/x86/include/asm/user_64.h`) and `syscall_64.tbl`.

use super::super::registers::{RegisterLayout, Word};
use super::super::system_call::BlockingCall;
use super::{ExtendedSet, LinuxAbi, Restart, SystemCalls};
use crate::arch::Arch;
use dwarf::Register;
use dwarf::register::x86_64::{
    FS_BASE, GS_BASE, RAX, RBP, RBX, RCX, RDI, RDX, RFLAGS, RIP, RSI, RSP,
};

/// `NT_X86_XSTATE`
const XSTATE_NOTE: u32 = 0x202;

const fn word(register: Register) -> Word {
    Word::Register(register)
}

/// Index of `orig_rax`: the number of the system call that the thread is in.
const CURRENT_CALL: usize = 15;

const WORDS: &[Word] = &[
    word(Register(15)),
    word(Register(14)),
    word(Register(13)),
    word(Register(12)),
    word(RBP),
    word(RBX),
    word(Register(11)),
    word(Register(10)),
    word(Register(9)),
    word(Register(8)),
    word(RAX),
    word(RCX),
    word(RDX),
    word(RSI),
    word(RDI),
    Word::System,
    word(RIP),
    // cs
    word(Register(51)),
    word(RFLAGS),
    word(RSP),
    // ss
    word(Register(52)),
    word(FS_BASE),
    word(GS_BASE),
    // ds, es, fs, gs
    word(Register(53)),
    word(Register(50)),
    word(Register(54)),
    word(Register(55)),
];

pub static ABI: LinuxAbi = LinuxAbi {
    registers: RegisterLayout::new(Arch::X86_64, WORDS, RIP, RSP),
    calls: SystemCalls {
        number: RAX,
        arguments: [RDI, RSI, RDX, Register(10), Register(8), Register(9)],
        result: RAX,
        current: Some(CURRENT_CALL),
        map: 9,
        unmap: 11,
        close: 3,
        set_length: 77,
        memory_file: 319,
        process_control: 157,
        futex: 202,
        restart: Restart::ByResult,
        interrupted_by_stops: &[
            232, // epoll_wait
            281, // epoll_pwait
            441, // epoll_pwait2
            426, // io_uring_enter
            208, // io_getevents
            128, // rt_sigtimedwait
            65,  // semop
            220, // semtimedop
            // On sockets with a timeout.
            43,  // accept
            288, // accept4
            0,   // read
            45,  // recvfrom
            47,  // recvmsg
            44,  // sendto
            46,  // sendmsg
        ],
        blocking: &[
            (0, BlockingCall::File(0)),     // read
            (19, BlockingCall::File(0)),    // readv
            (1, BlockingCall::File(0)),     // write
            (45, BlockingCall::File(0)),    // recvfrom
            (47, BlockingCall::File(0)),    // recvmsg
            (43, BlockingCall::File(0)),    // accept
            (288, BlockingCall::File(0)),   // accept4
            (42, BlockingCall::File(0)),    // connect
            (73, BlockingCall::File(0)),    // flock
            (7, BlockingCall::Readiness),   // poll
            (271, BlockingCall::Readiness), // ppoll
            (23, BlockingCall::Readiness),  // select
            (270, BlockingCall::Readiness), // pselect6
            (232, BlockingCall::Readiness), // epoll_wait
            (281, BlockingCall::Readiness), // epoll_pwait
            (441, BlockingCall::Readiness), // epoll_pwait2
            (35, BlockingCall::Time),       // nanosleep
            (230, BlockingCall::Time),      // clock_nanosleep
            (61, BlockingCall::Child),      // wait4
            (247, BlockingCall::Child),     // waitid
            (34, BlockingCall::Signal),     // pause
            (130, BlockingCall::Signal),    // rt_sigsuspend
            (128, BlockingCall::Signal),    // rt_sigtimedwait
        ],
    },
    extended: Some(ExtendedSet {
        note: XSTATE_NOTE,
        is_used: |_| true,
        further: &[],
        join: |_| None,
    }),
    separate: &[],
    // SI_KERNEL
    breakpoint_code: 0x80,
    // TRAP_BRKPT
    stepped_call_code: 1,
    repeats_stepped_call: false,
};
