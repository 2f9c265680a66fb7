//! System V psABI for x86-64, figure 3.36: DWARF register numbers.

use super::Register;

/// `rax`
pub const RAX: Register = Register(0);
/// `rdx`
pub const RDX: Register = Register(1);
/// `rcx`
pub const RCX: Register = Register(2);
/// `rbx`
pub const RBX: Register = Register(3);
/// `rsi`
pub const RSI: Register = Register(4);
/// `rdi`
pub const RDI: Register = Register(5);
/// `rbp`
pub const RBP: Register = Register(6);
/// `rsp`
pub const RSP: Register = Register(7);
/// The return address column; also stands for `rip`.
pub const RIP: Register = Register(16);
/// `xmm0`; the fifteen others follow.
pub const XMM0: Register = Register(17);
/// `rflags`
pub const RFLAGS: Register = Register(49);
/// `fs.base`
pub const FS_BASE: Register = Register(58);
/// `gs.base`
pub const GS_BASE: Register = Register(59);

/// rbx, rbp, r12 to r15.
pub const CALLEE_SAVED: &[Register] = &[
    RBX,
    RBP,
    Register(12),
    Register(13),
    Register(14),
    Register(15),
];

/// Integer registers in display order.
pub const NAMES: &[(Register, &str)] = &[
    (RAX, "rax"),
    (RBX, "rbx"),
    (RCX, "rcx"),
    (RDX, "rdx"),
    (RSI, "rsi"),
    (RDI, "rdi"),
    (RBP, "rbp"),
    (RSP, "rsp"),
    (Register(8), "r8"),
    (Register(9), "r9"),
    (Register(10), "r10"),
    (Register(11), "r11"),
    (Register(12), "r12"),
    (Register(13), "r13"),
    (Register(14), "r14"),
    (Register(15), "r15"),
    (RIP, "rip"),
    (RFLAGS, "rflags"),
    (Register(51), "cs"),
    (Register(52), "ss"),
    (Register(53), "ds"),
    (Register(50), "es"),
    (Register(54), "fs"),
    (Register(55), "gs"),
    (FS_BASE, "fs_base"),
    (GS_BASE, "gs_base"),
];
