//! DWARF for the Arm 64-bit Architecture, table 4.1: register numbers.

use super::Register;

/// `x29`, the frame pointer.
pub const X29: Register = Register(29);
/// `x30`, the link register.
pub const X30: Register = Register(30);
/// `sp`
pub const SP: Register = Register(31);
/// `pc`
pub const PC: Register = Register(32);
/// `pstate`, which DWARF does not number. The number is of a register that programs do not have
/// (ELR_mode).
pub const PSTATE: Register = Register(33);
/// Whether the return address is signed (RA_SIGN_STATE): of call frame information only.
pub const RA_SIGN_STATE: Register = Register(34);
/// `tpidrro_el0`, the thread pointer that only the kernel writes.
pub const TPIDRRO: Register = Register(35);
/// `tpidr_el0`, the thread pointer.
pub const TPIDR: Register = Register(36);
/// The bits of a return address that are a pointer authentication code, as the kernel says
/// (`NT_ARM_PAC_MASK`). No register; DWARF reserves the number.
pub const SIGNATURE_MASK: Register = Register(40);
/// `v0`; the others follow.
pub const V0: Register = Register(64);
/// The first register of scalable vectors.
pub const Z0: Register = Register(96);
/// The first predicate register.
pub const P0: Register = Register(48);
/// The first fault register.
pub const FFR: Register = Register(47);

/// x19 to x29 (and the link register, which calls clobber but functions save).
pub const CALLEE_SAVED: &[Register] = &[
    Register(19),
    Register(20),
    Register(21),
    Register(22),
    Register(23),
    Register(24),
    Register(25),
    Register(26),
    Register(27),
    Register(28),
    X29,
];

/// Integer registers in display order.
pub const NAMES: &[(Register, &str)] = &[
    (Register(0), "x0"),
    (Register(1), "x1"),
    (Register(2), "x2"),
    (Register(3), "x3"),
    (Register(4), "x4"),
    (Register(5), "x5"),
    (Register(6), "x6"),
    (Register(7), "x7"),
    (Register(8), "x8"),
    (Register(9), "x9"),
    (Register(10), "x10"),
    (Register(11), "x11"),
    (Register(12), "x12"),
    (Register(13), "x13"),
    (Register(14), "x14"),
    (Register(15), "x15"),
    (Register(16), "x16"),
    (Register(17), "x17"),
    (Register(18), "x18"),
    (Register(19), "x19"),
    (Register(20), "x20"),
    (Register(21), "x21"),
    (Register(22), "x22"),
    (Register(23), "x23"),
    (Register(24), "x24"),
    (Register(25), "x25"),
    (Register(26), "x26"),
    (Register(27), "x27"),
    (Register(28), "x28"),
    (X29, "x29"),
    (X30, "x30"),
    (SP, "sp"),
    (PC, "pc"),
    (PSTATE, "pstate"),
    (TPIDR, "tpidr_el0"),
];
