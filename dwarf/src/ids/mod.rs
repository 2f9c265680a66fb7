//! What all layers speak of: addresses, entries, registers, symbols, source positions, errors.
//! Plain data without readers.

pub mod addr;
pub mod error;
pub mod memory;
pub mod register;
pub mod source;
pub mod symbol;

use addr::{AddrRange, FileAddr};

/// A debug info entry of one module: unit and offset. Opaque outside this crate.
#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DieRef {
    pub(crate) unit: u32,
    pub(crate) offset: u64,
}

/// The instruction set of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Machine {
    /// x86-64
    X86_64,
    /// AArch64
    Aarch64,
    /// Another one, by its ELF `e_machine`.
    Other(u16),
}

/// The source language of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Language {
    /// C, any year. Also what assembler and unknown languages are shown as.
    #[default]
    C,
    /// C++, any year.
    Cpp,
    /// Rust.
    Rust,
}

/// How much is known about an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolStatus {
    /// DWARF was found.
    DebugInfo,
    /// Only a symbol table.
    SymbolsOnly,
    /// Nothing.
    Stripped,
}

/// A segment that is loaded into memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Addresses it covers.
    pub range: AddrRange<FileAddr>,
    /// Offset in the file.
    pub file_offset: u64,
    /// Bytes of it that come from the file.
    pub file_size: u64,
    /// Mapped executable.
    pub executable: bool,
    /// Mapped writable.
    pub writable: bool,
}

/// What each thread has a copy of (`PT_TLS`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadStorage {
    /// Where the initial values are.
    pub addr: FileAddr,
    /// Bytes of a copy.
    pub size: u64,
    /// Alignment of a copy in bytes, as the file says: 0 and 1 are none.
    pub align: u64,
}
