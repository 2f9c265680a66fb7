//! Where a variable is: DWARF expressions, evaluated (DWARF 5 §2.5, §2.6).

use crate::addr::{FileAddr, LoadAddr, LoadBias};
use crate::function::Function;
use crate::memory::Memory;
use crate::register::{Register, Registers};

/// What evaluating a location may ask of a frame.
pub struct FrameContext<'a> {
    /// The process's memory.
    pub memory: &'a dyn Memory,
    /// The frame's registers.
    pub registers: &'a Registers,
    /// The canonical frame address, where the unwinder knows it.
    pub cfa: Option<LoadAddr>,
    /// The address that location lists are searched by (pc, or return address − 1).
    pub pc: FileAddr,
    /// Where the module is loaded.
    pub bias: LoadBias,
    /// The concrete function of the frame, for `DW_OP_fbreg`; `None` for globals.
    pub function: Option<&'a Function>,
    /// Address of the thread's TLS block of the module plus an offset; `None` if unknown.
    pub tls: &'a dyn Fn(u64) -> Option<LoadAddr>,
    /// The callers' frames for `DW_OP_entry_value`, the frame's own caller at 0, that one's at
    /// 1 (a caller's arguments may be known by its own caller only); `None` where the stack
    /// cannot be unwound as far.
    pub caller: &'a dyn Fn(u32) -> Option<CallerFrame>,
}

/// The caller's side of a call, for entry values.
pub struct CallerFrame {
    /// The caller's registers.
    pub registers: Registers,
    /// The return address in the caller.
    pub return_address: LoadAddr,
    /// The caller's canonical frame address.
    pub cfa: Option<LoadAddr>,
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// In memory.
    Memory(LoadAddr),
    /// In a register.
    Register(Register),
    /// Nowhere; these are its bytes.
    Implicit(Vec<u8>),
    /// In pieces, least significant first.
    Pieces(Vec<Piece>),
    /// A pointer to something that has no address: the debug info entry of it and an offset.
    ImplicitPointer {
        /// Entry of the variable pointed at.
        target: crate::module::DieRef,
        /// Bytes into it.
        offset: i64,
    },
    /// Not available at this address.
    OptimizedOut,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Size in bits.
    pub bits: u64,
    /// Bits to skip at the start of the location.
    pub bit_offset: u64,
    /// Where the part is (never `Pieces`).
    pub location: Location,
}
