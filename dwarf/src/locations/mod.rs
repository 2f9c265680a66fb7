//! Locations of variables: evaluation of DWARF expressions (DWARF 5 §2.5, §2.6).

mod bounds;
mod call_site;
mod captured;
mod entry_value;
pub(crate) mod evaluate;
mod locate;
mod spill;
mod static_link;
pub(crate) mod static_location;
pub(crate) mod tail_call;
mod vtable;

pub use spill::Spill;

use crate::functions::Function;
use crate::functions::variable::Variable;
use crate::ids::DieRef;
use crate::ids::addr::{FileAddr, LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::{Memory, Unreadable};
use crate::ids::register::{Register, Registers};
use crate::module::Module;
use crate::types::TypeId;

/// The frame that a location is evaluated in.
pub struct FrameContext<'a> {
    /// The process's memory.
    pub memory: &'a dyn Memory,
    /// The frame's registers.
    pub registers: &'a Registers,
    /// The canonical frame address, if the unwinder found it.
    pub cfa: Option<LoadAddr>,
    /// The address to look up in location lists (pc, or return address − 1).
    pub pc: FileAddr,
    /// The load bias of the module.
    pub bias: LoadBias,
    /// The concrete function of the frame, for `DW_OP_fbreg`; `None` for globals.
    pub function: Option<&'a Function>,
    /// Returns the address of an offset in the thread's TLS block of the module; `None` if unknown.
    pub tls: &'a dyn Fn(u64) -> Option<LoadAddr>,
    /// Returns a caller's frame for `DW_OP_entry_value`: 0 is the frame's caller, 1 the caller of
    /// that, needed if the value at the call is itself an entry value. `None` if the stack cannot
    /// be unwound that far.
    pub caller: &'a dyn Fn(u32) -> Option<CallerFrame>,
    /// Returns whether the code shows that a word of the frame has the pointer that was stored there.
    pub is_spilled: &'a dyn Fn(&Spill) -> bool,
}

impl<'a> FrameContext<'a> {
    /// Returns a context without a process: only the address and the function are known.
    fn without_process(
        registers: &'a Registers,
        pc: FileAddr,
        function: Option<&'a Function>,
    ) -> FrameContext<'a> {
        FrameContext {
            memory: &NoMemory,
            registers,
            cfa: None,
            pc,
            bias: LoadBias(0),
            function,
            tls: &|_| None,
            caller: &|_| None,
            is_spilled: &|_| false,
        }
    }
}

pub(crate) struct NoMemory;

impl Memory for NoMemory {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        Err(Unreadable { addr, len })
    }
}

/// Returns the number of bits of a value of `size` bytes that its pieces do not describe: clang
/// omits the last piece if it is optimized out.
fn undescribed_bits(pieces: impl Iterator<Item = u64>, size: Option<u64>) -> Option<u64> {
    let described = pieces.fold(0, u64::saturating_add);
    let missing = size?.saturating_mul(8).saturating_sub(described);
    (missing > 0).then_some(missing)
}

/// The caller's frame at a call, for entry values.
pub struct CallerFrame {
    /// The caller's registers; none are known if it left by a tail call.
    pub registers: Registers,
    /// The return address in the caller, or the address behind its tail call.
    pub return_address: LoadAddr,
    /// The address of its tail call, if that is known instead.
    pub jump: Option<LoadAddr>,
    /// The caller's canonical frame address.
    pub cfa: Option<LoadAddr>,
}

/// The location of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// At an address in memory.
    Memory(LoadAddr),
    /// In a register.
    Register(Register),
    /// Without storage: the bytes of the value.
    Implicit(Vec<u8>),
    /// Split into pieces, least significant first.
    Pieces(Vec<Piece>),
    /// A pointer to an object that has no address: the object's debug info entry and an offset.
    ImplicitPointer {
        /// Entry of the object.
        target: DieRef,
        /// Offset in the object, in bytes.
        offset: i64,
    },
    /// Not available at this pc.
    OptimizedOut,
}

/// A part of a value, with its own location.
#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    /// Size in bits.
    pub bits: u64,
    /// Bits to skip at the start of the location.
    pub bit_offset: u64,
    /// Location of the part (never `Pieces`).
    pub location: Location,
}

impl Module {
    /// Returns the location of a variable in a frame.
    ///
    /// # Errors
    /// The location is corrupt, or needs memory that cannot be read.
    pub fn locate(&self, variable: &Variable, frame: &FrameContext<'_>) -> Result<Location, Error> {
        locate::locate(self, variable, frame)
    }

    /// Returns the numbers of elements of an array in a frame, outermost dimension first, where some
    /// are computed (`ArrayType::is_dynamic`); `None` for one that is unknown.
    pub fn array_counts(&self, array: TypeId, frame: &FrameContext<'_>) -> Vec<Option<u64>> {
        bounds::array_counts(self, array, frame).unwrap_or_default()
    }

    /// Returns the address of a member or base whose offset is an expression
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
        locate::locate_member(self, member, object, frame)
    }

    /// Returns the type that the vtable of a Rust trait object at `addr` belongs to; `None` also if types share
    /// it. The first call
    /// reads the addresses of all vtables of the module.
    pub fn type_of_vtable(&self, addr: FileAddr) -> Option<TypeId> {
        let vtables = self.vtables.get_or_init(|| vtable::read(self));
        vtables.get(&addr).copied().flatten()
    }
}
