//! What instructions copy: where bytes of a register or of memory were before one.

use dwarf::{LoadAddr, Register};

/// Where bytes are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    /// In a register, from this byte on (0: the least significant one).
    Register(Register, u64),
    /// In memory, from this address on.
    Memory(LoadAddr),
}

/// Bytes in a register or in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Held {
    pub holder: Holder,
    /// Their number.
    pub size: u64,
}

impl Held {
    /// Bytes in memory.
    pub fn memory(addr: u64, size: u64) -> Held {
        Held {
            holder: Holder::Memory(LoadAddr(addr)),
            size,
        }
    }

    /// Bytes in a register.
    pub fn register(register: Register, from: u64, size: u64) -> Held {
        Held {
            holder: Holder::Register(register, from),
            size,
        }
    }
}

/// What an instruction does to bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Copying {
    /// They are as they were before it.
    Untouched,
    /// It has copied some of them: those from the byte `at` on were there. What is behind these, if the source
    /// is shorter, repeats its sign or is 0.
    Copied { from: Held, at: u64 },
    /// It has computed them, or has them in its code.
    Computed,
}
