//! Types shared by all layers: addresses, entries, machines, registers, symbols, source positions, errors.
//! Plain data without readers.

pub mod addr;
pub mod error;
pub mod machine;
pub mod memory;
pub mod register;
pub mod source;
pub mod symbol;

use addr::{AddrRange, FileAddr};

pub use machine::{CTypes, Headers, LongDouble, Machine};

/// A reference to a debug info entry of one module: unit and offset. Opaque outside this crate.
#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DieRef {
    pub(crate) unit: u32,
    pub(crate) offset: u64,
}

impl DieRef {
    /// Returns whether both entries are of the same unit.
    pub fn is_in_unit_of(self, other: DieRef) -> bool {
        self.unit == other.unit
    }
}

/// The source language of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Language {
    /// C, any standard. Also used for assembler and unknown languages.
    #[default]
    C,
    /// C++, any standard.
    Cpp,
    /// Rust.
    Rust,
}

/// The kind of symbols that an image has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolStatus {
    /// Debug info (DWARF).
    DebugInfo,
    /// Only a symbol table.
    SymbolsOnly,
    /// No symbols.
    Stripped,
}

/// A segment that is loaded into memory (`PT_LOAD`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Addresses that it covers.
    pub range: AddrRange<FileAddr>,
    /// Offset in the file.
    pub file_offset: u64,
    /// Bytes of it that are in the file; the rest is zero.
    pub file_size: u64,
    /// Whether it is mapped executable.
    pub executable: bool,
    /// Whether it is mapped writable.
    pub writable: bool,
}

/// The thread-local storage template of an image (`PT_TLS`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadStorage {
    /// Address of the initial values.
    pub addr: FileAddr,
    /// Size of a thread's copy, in bytes.
    pub size: u64,
    /// Alignment of a copy in bytes, as in the file; 0 and 1 mean none.
    pub align: u64,
}
