//! The seccomp filter of a recorded process: each system call is a stop of its tracer, besides those
//! by the recorder's own instructions.

use super::buffer::layout::FREE;
use super::{buffer, scratch};
use std::io;

/// Offsets in `struct seccomp_data`.
const INSTRUCTION_LOW: u32 = 8;
const INSTRUCTION_HIGH: u32 = 12;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn step(code: u16, k: u32) -> libc::sock_filter {
    libc::sock_filter {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

/// Jumps over `skipped` instructions if the loaded word is not `k`.
const fn unless_equal(k: u32, skipped: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: JUMP_IF_EQUAL,
        jt: 0,
        jf: skipped,
        k,
    }
}

/// Jumps over `skipped` instructions if the loaded word is `k`.
const fn equal(k: u32, skipped: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: JUMP_IF_EQUAL,
        jt: skipped,
        jf: 0,
        k,
    }
}

/// The addresses behind the recorder's system call instructions, within 32 bits, besides those of free entries.
const OWN: u64 = scratch::CALL + super::registers::CALL_LEN;
const OF_BUFFER: u64 = buffer::PASSED_END;
const OF_PARKED: u64 = buffer::PARKING_END;

/// The bits of an address that are the same in all free entries.
const OF_FREE: u32 = !(FREE.end - FREE.start - 1) as u32;

static PROGRAM: [libc::sock_filter; 10] = [
    step(LOAD, INSTRUCTION_LOW),
    equal(OF_BUFFER as u32, 4),
    equal(OF_PARKED as u32, 3),
    equal(OWN as u32, 2),
    step(AND, OF_FREE),
    unless_equal(FREE.start as u32, 3),
    step(LOAD, INSTRUCTION_HIGH),
    unless_equal(0, 1),
    step(RETURN, libc::SECCOMP_RET_ALLOW),
    step(RETURN, libc::SECCOMP_RET_TRACE),
];
const _: () = assert!(OWN >> 32 == 0 && OF_BUFFER >> 32 == 0 && OF_PARKED >> 32 == 0);

/// The system call by which the time-stamp counter becomes a fault in a thread.
pub const HIDE_TIME: (libc::c_long, [u64; 6]) = (
    libc::SYS_prctl,
    [SET_TIME_STAMP as u64, IS_FAULT, 0, 0, 0, 0],
);

/// The system calls by which a thread puts all threads of its process under the filter, whose [`argument`] is in the
/// recorder's page. Each returns 0, or has failed.
pub const CALLS: [(libc::c_long, [u64; 6]); 2] = [
    (
        libc::SYS_prctl,
        [libc::PR_SET_NO_NEW_PRIVS as u64, 1, 0, 0, 0, 0],
    ),
    (
        libc::SYS_seccomp,
        [
            libc::SECCOMP_SET_MODE_FILTER as u64,
            libc::SECCOMP_FILTER_FLAG_TSYNC,
            scratch::ROOM,
            0,
            0,
            0,
        ],
    ),
];

/// The call that takes [`HIDE_TIME`] back.
pub const BACK: (libc::c_long, [u64; 6]) = (
    libc::SYS_prctl,
    [SET_TIME_STAMP as u64, IS_ALLOWED, 0, 0, 0, 0],
);

/// Returns the filter as an argument at this address: `struct sock_fprog`, and the program.
pub fn argument(at: u64) -> Vec<u8> {
    const HEADER: u64 = 16;
    let mut bytes = (PROGRAM.len() as u64).to_le_bytes().to_vec();
    bytes.extend((at + HEADER).to_le_bytes());
    for step in PROGRAM {
        bytes.extend(step.code.to_le_bytes());
        bytes.extend([step.jt, step.jf]);
        bytes.extend(step.k.to_le_bytes());
    }
    bytes
}

/// `PR_SET_TSC`, `PR_TSC_ENABLE` and `PR_TSC_SIGSEGV`
const SET_TIME_STAMP: libc::c_int = 26;
const IS_ALLOWED: libc::c_ulong = 1;
const IS_FAULT: libc::c_ulong = 2;

/// Puts this process and its future ones under the filter: they gain no privileges by executing
/// programs. Makes the time-stamp counter a fault. May be called in a forked child.
///
/// # Errors
/// The kernel has no seccomp filters, or a sandbox forbids them.
pub fn install() -> io::Result<()> {
    let program = libc::sock_fprog {
        len: PROGRAM.len() as u16,
        filter: PROGRAM.as_ptr().cast_mut(),
    };
    let none: libc::c_ulong = 0;
    // SAFETY: integers, and a program that lives as long as this one; the kernel copies it.
    let ok = unsafe {
        let one: libc::c_ulong = 1;
        libc::prctl(SET_TIME_STAMP, IS_FAULT, none, none, none) == 0
            && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, one, none, none, none) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::c_ulong::from(libc::SECCOMP_MODE_FILTER),
                &raw const program,
                none,
                none,
            ) == 0
    };
    match ok {
        true => Ok(()),
        false => Err(io::Error::last_os_error()),
    }
}
