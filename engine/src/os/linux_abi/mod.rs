//! What the Linux kernel defines for each architecture: the order of registers, numbers of system
//! calls, notes of core files. Plain data, which reads core files on any host. The architectures
//! here are those with 64-bit little-endian programs.

mod aarch64;
mod calls;
#[cfg(test)]
mod fixed;
pub mod signal;
mod x86_64;

use super::registers::RegisterLayout;
use crate::arch::Arch;
#[cfg(target_os = "linux")]
pub use calls::PendingCall;
pub use calls::{Restart, SystemCalls};
use dwarf::Register;

/// What the kernel defines for an architecture.
pub struct LinuxAbi {
    /// The general-purpose registers (`NT_PRSTATUS`).
    pub registers: RegisterLayout,
    pub calls: SystemCalls,
    /// The set that has all extended registers, if `NT_FPREGSET` has only some.
    pub extended: Option<ExtendedSet>,
    /// What is not among the general-purpose registers.
    pub separate: &'static [SeparateRegister],
    /// `si_code` of the SIGTRAP of a breakpoint instruction.
    pub breakpoint_code: i32,
    /// `si_code` of the SIGTRAP at the end of a single step over a system call.
    pub stepped_call_code: i32,
    /// Whether the next step after that ends at once, unless registers are written before it.
    pub repeats_stepped_call: bool,
}

/// A set of extended registers.
pub struct ExtendedSet {
    /// The type of its note.
    pub note: u32,
    /// Returns whether it has more than `NT_FPREGSET`, in a layout of its own: on aarch64 only for
    /// threads that use scalable vectors.
    pub is_used: fn(&[u8]) -> bool,
    /// The types of notes of further sets, which a core file may have.
    pub further: &'static [u32],
    /// Makes the area of a thread that uses further sets, of the sets in a core file by their types;
    /// `None` if it uses none.
    pub join: fn(&FindSet<'_>) -> Option<Vec<u8>>,
}

/// Returns a set in a core file by the type of its note.
pub type FindSet<'a> = dyn Fn(u32) -> Option<&'static [u8]> + 'a;

/// A register in a set of its own.
pub struct SeparateRegister {
    /// The type of the note of the set.
    pub note: u32,
    /// Offset of the register in the set, in bytes.
    pub offset: usize,
    pub register: Register,
    /// Whether it is the same in all threads of the machine.
    pub is_constant: bool,
}

/// Returns what the kernel defines for an architecture.
pub fn of(arch: Arch) -> &'static LinuxAbi {
    match arch {
        Arch::X86_64 => &x86_64::ABI,
        Arch::Aarch64 => &aarch64::ABI,
        #[cfg(test)]
        Arch::Fixed => &fixed::ABI,
    }
}
