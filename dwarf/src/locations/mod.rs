//! Where a variable is: DWARF expressions, evaluated (DWARF 5 §2.5, §2.6).

pub(crate) mod call_site;
pub(crate) mod evaluate;
pub(crate) mod static_location;
pub(crate) mod tail_call;
mod vtable;

use crate::functions::Function;
use crate::functions::variable::Variable;
use crate::ids::DieRef;
use crate::ids::addr::{FileAddr, LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::ids::register::{Register, Registers};
use crate::module::Module;
use crate::types::TypeId;

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
        target: DieRef,
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

impl Module {
    /// Where a variable is in a frame.
    ///
    /// # Errors
    /// Its location is corrupt, or needs memory that cannot be read.
    pub fn locate(&self, variable: &Variable, frame: &FrameContext<'_>) -> Result<Location, Error> {
        evaluate::locate(self, variable, frame)
    }

    /// The address of a member or base whose place is an expression
    /// (`MemberOffset::Expression`), in the object at `object`.
    ///
    /// # Errors
    /// The expression is corrupt, or needs memory that cannot be read.
    pub fn locate_member(
        &self,
        member: DieRef,
        object: LoadAddr,
        frame: &FrameContext<'_>,
    ) -> Result<LoadAddr, Error> {
        evaluate::locate_member(self, member, object, frame)
    }

    /// The type that the vtable of a Rust trait object at an address is of. The first question
    /// reads where all vtables of the image are.
    pub fn type_of_vtable(&self, addr: FileAddr) -> Option<TypeId> {
        let vtables = self.vtables.get_or_init(|| vtable::read(self));
        vtables.get(&addr).copied()
    }
}
