//! The seccomp filter of a recorded process: each system call is a stop of its tracer, besides those
//! by the recorder's own instructions.

use super::{buffer, scratch};
use std::io;

/// Offsets in `struct seccomp_data`.
const INSTRUCTION_LOW: u32 = 8;
const INSTRUCTION_HIGH: u32 = 12;

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
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

/// The addresses behind the recorder's system call instructions, within 32 bits.
const OWN: u64 = scratch::CALL + super::registers::CALL_LEN;
const OF_BUFFER: u64 = buffer::PASSED_END;

static PROGRAM: [libc::sock_filter; 7] = [
    step(LOAD, INSTRUCTION_LOW),
    equal(OF_BUFFER as u32, 1),
    unless_equal(OWN as u32, 3),
    step(LOAD, INSTRUCTION_HIGH),
    unless_equal(0, 1),
    step(RETURN, libc::SECCOMP_RET_ALLOW),
    step(RETURN, libc::SECCOMP_RET_TRACE),
];
const _: () = assert!(OWN >> 32 == 0 && OF_BUFFER >> 32 == 0);

/// Puts this process and its future ones under the filter: they gain no privileges by executing
/// programs. Makes the time-stamp counter a fault. May be called in a forked child.
///
/// # Errors
/// The kernel has no seccomp filters, or a sandbox forbids them.
pub fn install() -> io::Result<()> {
    /// `PR_SET_TSC` and `PR_TSC_SIGSEGV`
    const SET_TIME_STAMP: libc::c_int = 26;
    const IS_FAULT: libc::c_ulong = 2;
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
