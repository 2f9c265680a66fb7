//! Registers by their DWARF numbers; plain data.

pub mod aarch64;
pub mod x86_64;

use crate::ids::machine::Machine;
use std::sync::{Arc, LazyLock};

/// A register, by the DWARF number of its psABI.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Register(pub u16);

/// The integer registers of a frame, each known or unknown, and the vector registers of the
/// innermost frame. Indexed by DWARF number.
#[derive(Clone, Debug)]
pub struct Registers {
    machine: Machine,
    known: u64,
    values: [u64; 64],
    /// 16-byte vector registers by DWARF number minus the machine's first one.
    vectors: Vectors,
}

/// 16 bytes of each vector register, read on first use.
type Vectors = Option<Arc<LazyLock<Option<Vec<u128>>, ReadVectors>>>;
/// Reads the vector registers; `None` if they are unknown.
type ReadVectors = Box<dyn FnOnce() -> Option<Vec<u128>> + Send>;

impl Registers {
    /// Returns registers of which none is known.
    pub fn new(machine: Machine) -> Self {
        Self {
            machine,
            known: 0,
            values: [0; 64],
            vectors: None,
        }
    }

    /// Returns the machine that defines the numbers.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Returns an integer register's value, if known.
    pub fn get(&self, register: Register) -> Option<u64> {
        let index = usize::from(register.0);
        (index < 64 && self.known & (1 << index) != 0).then(|| self.values[index])
    }

    /// Sets an integer register. Numbers above 63 are ignored (they are vector registers).
    pub fn set(&mut self, register: Register, value: u64) {
        let index = usize::from(register.0);
        if index < 64 {
            self.known |= 1 << index;
            self.values[index] = value;
        }
    }

    /// Marks an integer register as unknown.
    pub fn clear(&mut self, register: Register) {
        let index = usize::from(register.0);
        if index < 64 {
            self.known &= !(1 << index);
        }
    }

    /// Sets the vector registers, in the order of their DWARF numbers.
    pub fn set_vectors(&mut self, vectors: Option<Vec<u128>>) {
        let vectors = Arc::new(LazyLock::new(Box::new(move || vectors) as ReadVectors));
        LazyLock::force(&vectors);
        self.vectors = Some(vectors);
    }

    /// Like [`Registers::set_vectors`], but `read` is called on first use.
    pub fn set_vectors_later(&mut self, read: ReadVectors) {
        self.vectors = Some(Arc::new(LazyLock::new(read)));
    }

    /// Returns a vector register's low 16 bytes, if known.
    pub fn vector(&self, register: Register) -> Option<u128> {
        let index = register.0.checked_sub(self.machine.first_vector().0)?;
        let vectors = (**self.vectors.as_ref()?).as_ref()?;
        vectors.get(usize::from(index)).copied()
    }

    /// Returns the address in a return address that was read from a register or from the stack:
    /// without its pointer authentication code. Everything that reads one passes it through here.
    pub(crate) fn return_address(&self, signed: u64) -> u64 {
        let facts = self.machine.facts();
        let signature = facts.signature_mask.and_then(|mask| self.get(mask));
        match signature.filter(|mask| *mask != 0) {
            Some(mask) => signed & ((1 << mask.trailing_zeros()) - 1),
            None => signed & facts.return_address_mask,
        }
    }

    /// Returns the program counter (x86-64: the return address column 16).
    pub fn pc(&self) -> Option<u64> {
        self.get(self.machine.pc())
    }

    /// Returns the stack pointer.
    pub fn sp(&self) -> Option<u64> {
        self.get(self.machine.sp())
    }

    /// Sets the program counter.
    pub fn set_pc(&mut self, pc: u64) {
        self.set(self.machine.pc(), pc);
    }

    /// Sets the stack pointer.
    pub fn set_sp(&mut self, sp: u64) {
        self.set(self.machine.sp(), sp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn return_addresses_lose_their_signature() {
        let signed = 0x5a7f_ffff_1234_5678;
        let mut registers = Registers::new(Machine::Aarch64);
        assert_eq!(registers.return_address(signed), 0xffff_1234_5678);
        // The kernel's mask of processes with addresses of 52 bits, and of 48.
        registers.set(aarch64::SIGNATURE_MASK, 0x0070_0000_0000_0000);
        assert_eq!(registers.return_address(signed), 0x000f_ffff_1234_5678);
        registers.set(aarch64::SIGNATURE_MASK, 0x007f_0000_0000_0000);
        assert_eq!(registers.return_address(signed), 0xffff_1234_5678);
        registers.set(aarch64::SIGNATURE_MASK, 0);
        assert_eq!(registers.return_address(signed), 0xffff_1234_5678);
        let registers = Registers::new(Machine::X86_64);
        assert_eq!(registers.return_address(signed), signed);
    }
}
