//! Registers by their names, their parts, and those that the kernel keeps in an area of their own.

use super::{Arch, in_set};
use dwarf::Register;
use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// A part of a general-purpose register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// Name of the register.
    pub whole: String,
    /// The part's first byte.
    pub first: u8,
    /// Its size in bytes.
    pub size: u8,
}

/// The register of condition flags.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flags {
    pub register: Register,
    pub name: &'static str,
    /// Flags with their meaning in parentheses, and their bit.
    pub bits: &'static [(&'static str, u8)],
}

/// The bytes of an extended register.
pub(crate) type ExtendedBytes = SmallVec<[u8; 64]>;

/// All registers of a thread besides the general-purpose ones, in the form in which a system keeps
/// them. [`Arch`] decodes their bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ExtendedRegisters(Vec<u8>);

impl From<Vec<u8>> for ExtendedRegisters {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Deref for ExtendedRegisters {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for ExtendedRegisters {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl Arch {
    /// Returns a register's name; empty if it has none.
    pub(crate) fn register_name(self, register: Register) -> String {
        in_set!(self, set => set::registers::name(register))
    }

    /// Returns a register by another name than its own.
    pub(crate) fn register_alias(self, name: &str) -> Option<Register> {
        in_set!(self, set => set::registers::alias(name))
    }

    /// Returns the part of a general-purpose register that has a name of its own.
    pub(crate) fn register_part(self, name: &str) -> Option<Part> {
        in_set!(self, set => set::registers::part(name))
    }

    /// Returns the names of the parts of a general-purpose register, largest first.
    pub(crate) fn parts_of_register(self, register: &str) -> Vec<String> {
        in_set!(self, set => set::registers::parts_of(register))
    }

    /// Returns the number of a vector register by its name.
    pub(crate) fn vector_register(self, name: &str) -> Option<u16> {
        in_set!(self, set => set::registers::vector(name))
    }

    /// Returns the flags; `None` if the set has none.
    pub(crate) fn flags(self) -> Option<Flags> {
        in_set!(self, set => set::registers::FLAGS)
    }

    /// Returns whether a register is a segment register or a segment base.
    pub(crate) fn is_segment_register(self, name: &str) -> bool {
        in_set!(self, set => set::registers::is_segment(name))
    }

    /// Returns whether a register is in the area for extended registers.
    pub(crate) fn is_extended_register(self, register: Register) -> bool {
        in_set!(self, set => set::extended::holds(register))
    }

    /// Returns the number, by name, of a register that is only in that area.
    pub(crate) fn extended_register_named(self, name: &str) -> Option<Register> {
        in_set!(self, set => set::extended::named(name))
    }

    /// Returns the bytes of a register in an area; `None` if the area lacks it.
    pub(crate) fn extended_register(
        self,
        register: Register,
        area: &[u8],
    ) -> Option<ExtendedBytes> {
        in_set!(self, set => set::extended::read(register, area))
    }

    /// Writes the first bytes of a register into an area; false if the area lacks it.
    pub(crate) fn write_extended_register(
        self,
        register: Register,
        area: &mut [u8],
        bytes: &[u8],
    ) -> bool {
        in_set!(self, set => set::extended::write(register, area, bytes))
    }

    /// Returns the low 16 bytes of each vector register in an area; `None` if the area lacks them.
    pub(crate) fn vectors(self, area: &[u8]) -> Option<Vec<u128>> {
        in_set!(self, set => set::extended::low_vectors(area))
    }

    /// Returns the 80-bit floating-point number that a function returns on a stack of such
    /// registers; `None` if the set or the area has none.
    pub(crate) fn float_stack_top(self, area: &[u8]) -> Option<[u8; 10]> {
        in_set!(self, set => set::extended::float_stack_top(area))
    }

    /// Returns whether a register holds an 80-bit floating-point number.
    pub(crate) fn is_extended_float(self, register: Register) -> bool {
        in_set!(self, set => set::extended::is_extended_float(register))
    }

    /// Returns the type of the number in a register that holds one; `None` if it holds several, or
    /// bits.
    pub(crate) fn lane_of_register(self, register: Register) -> Option<&'static str> {
        in_set!(self, set => set::extended::lane(register))
    }

    /// Returns whether a name is that of a vector register, not of a mask.
    pub(crate) fn is_vector_register(self, name: &str) -> bool {
        in_set!(self, set => set::extended::is_vector(name))
    }

    /// Returns the names of the vector and mask registers in an area; without one, of those that
    /// every processor has.
    pub(crate) fn vector_registers(self, area: Option<&[u8]>) -> Vec<String> {
        in_set!(self, set => set::extended::vectors(area))
    }

    /// Returns the names of floating-point registers besides vectors, and of control registers.
    pub(crate) fn float_registers(self) -> Vec<String> {
        in_set!(self, set => set::extended::floats())
    }
}
