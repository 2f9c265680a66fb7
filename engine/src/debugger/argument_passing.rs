//! Arguments where a function looks for them.

use crate::arch::{Arch, Convention};
use crate::expr::{Argument, ArgumentPassing};
use crate::inspect::abi::sysv::{Class, RegisterPart};
use crate::os::RegisterSet;
use dwarf::Register;

/// What the registers and the stack hold when a function begins.
#[derive(Default, Debug)]
pub struct HandedOver {
    arch: Arch,
    integers: Vec<u64>,
    vectors: Vec<[u8; 8]>,
    /// The bytes right above the return address.
    pub stack: Vec<u8>,
}

impl HandedOver {
    fn convention(&self) -> &'static Convention {
        self.arch.convention()
    }

    /// A number or an address, in the next register for those if there is one.
    pub fn word(&mut self, word: u64) {
        if self.integers.len() < self.convention().integers.len() {
            self.integers.push(word);
        }
    }

    /// The next argument; `copied` puts bytes into memory that outlives the call, and says where.
    pub fn add(&mut self, argument: Argument, copied: impl FnOnce(Vec<u8>) -> u64) {
        let (parts, bytes) = match argument.how {
            ArgumentPassing::Registers(parts) => (parts, argument.bytes),
            ArgumentPassing::Stack(alignment) => {
                let stack = &mut self.stack;
                stack.resize(stack.len().next_multiple_of(alignment), 0);
                stack.extend(&argument.bytes);
                stack.resize(stack.len().next_multiple_of(8), 0);
                return;
            }
            ArgumentPassing::Pointer => {
                let pointer = RegisterPart {
                    offset: 0,
                    size: 8,
                    class: Class::Integer,
                };
                let at = copied(argument.bytes);
                (vec![pointer], at.to_le_bytes().to_vec())
            }
        };
        let wants = |class| parts.iter().filter(|it| it.class == class).count();
        let fits = self.integers.len() + wants(Class::Integer) <= self.convention().integers.len()
            && self.vectors.len() + wants(Class::Sse) <= usize::from(self.convention().vectors);
        for part in &parts {
            let mut word = [0; 8];
            let held = bytes.iter().skip(part.offset as usize);
            let held = held.take(part.size as usize);
            word.iter_mut().zip(held).for_each(|(to, byte)| *to = *byte);
            match part.class {
                _ if !fits => self.stack.extend(word),
                Class::Sse => self.vectors.push(word),
                Class::Integer | Class::X87 => self.word(u64::from_le_bytes(word)),
            }
        }
    }

    /// The registers that hold arguments.
    pub fn used(&self) -> Vec<Register> {
        let first = self.arch.machine().first_vector();
        let vectors = (0..self.vectors.len() as u16).map(|nth| Register(first.0 + nth));
        let integers = self.convention().integers.iter().copied();
        integers.take(self.integers.len()).chain(vectors).collect()
    }

    /// Sets the registers, and the area of extended ones, as they are where a function begins.
    pub fn write(&self, registers: &mut RegisterSet, extended: &mut [u8]) {
        self.arch
            .set_arguments(registers, extended, &self.integers, &self.vectors);
    }
}
