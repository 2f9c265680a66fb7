//! What this machine calls its registers, and what else tests need to know of it.

use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A machine's registers, by their names in expressions without `$`.
#[derive(Debug)]
pub struct Machine {
    /// The program counter.
    pub pc: &'static str,
    /// The stack pointer.
    pub sp: &'static str,
    /// The first argument of a function, and where an integer result is returned.
    pub argument: &'static str,
    /// See `argument`.
    pub result: &'static str,
    /// The low 32 bits of `result`.
    pub result32: &'static str,
    /// A vector register.
    pub vector: &'static str,
    /// The flags, the name of the carry flag in the scope of registers, and its bit.
    pub flags: (&'static str, &'static str, u8),
    /// Registers that a call must preserve or that it is likely to change.
    pub all: &'static [&'static str],
    /// The breakpoint instruction.
    pub breakpoint: &'static [u8],
    /// The breakpoint instruction in listings.
    pub breakpoint_text: &'static str,
    /// What the texts of calls begin with.
    pub call: &'static str,
    /// The last instruction before the return of a small function that calls nothing.
    pub leaf_end: &'static str,
    /// The beginning of a register's name, and the registers with it.
    pub prefix: (&'static str, &'static [&'static str]),
    /// What addresses on the stack of a program's first thread begin with.
    pub stack_prefix: &'static str,
}

/// The machine that the tests run on.
#[cfg(target_arch = "x86_64")]
pub const MACHINE: Machine = Machine {
    pc: "rip",
    sp: "rsp",
    argument: "rdi",
    result: "rax",
    result32: "eax",
    vector: "xmm0",
    flags: ("rflags", "CF (carry)", 0),
    all: &[
        "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12",
        "r15", "rip", "rflags", "xmm0", "xmm1", "xmm7",
    ],
    breakpoint: &[0xcc],
    breakpoint_text: "int3",
    call: "call ",
    leaf_end: "pop rbp",
    prefix: ("$rb", &["rbx", "rbp"]),
    stack_prefix: "0x7ff",
};

/// The machine that the tests run on.
#[cfg(target_arch = "aarch64")]
pub const MACHINE: Machine = Machine {
    pc: "pc",
    sp: "sp",
    argument: "x0",
    result: "x0",
    result32: "w0",
    vector: "v0",
    flags: ("pstate", "C (carry)", 29),
    all: &[
        "x0", "x1", "x2", "x3", "x7", "x8", "x9", "x15", "x16", "x17", "x18", "x19", "x20", "x28",
        "x29", "x30", "sp", "pc", "pstate", "v0", "v1", "v7", "v31",
    ],
    breakpoint: &[0x00, 0x00, 0x20, 0xd4],
    breakpoint_text: "brk #0x0",
    call: "bl",
    leaf_end: "add sp, sp, #0x10",
    prefix: ("$x3", &["x3", "x30"]),
    stack_prefix: "0xffff",
};

/// Returns whether clang compiles with libc++; skips what needs it otherwise.
///
/// # Panics
/// As [`skips::skip`].
#[track_caller]
pub fn has_libcxx() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    let has = *HAS.get_or_init(|| {
        let mut command = Command::new("clang++");
        command.args(["-stdlib=libc++", "-fsyntax-only", "-include", "vector"]);
        command.args(["-x", "c++", "/dev/null"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    if !has {
        skips::skip("libc++");
    }
    has
}
