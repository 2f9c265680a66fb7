//! Arguments where a function looks for them: System V psABI for x86-64, §3.2.3.

use crate::inspect::abi::sysv::{Class, RegisterPart};
use crate::inspect::eval::{Argument, ArgumentPassing};
use crate::os::RegisterSet;
use dwarf::Register;
use dwarf::register::x86_64::{RAX, RCX, RDI, RDX, RFLAGS, RSI, XMM0};

/// Registers of the first integers and addresses.
const INTEGERS: [Register; 6] = [RDI, RSI, RDX, RCX, Register(8), Register(9)];
/// Vector registers that take arguments.
const VECTORS: usize = 8;
/// Where FXSAVE, and so XSAVE, keeps xmm0 (Intel SDM vol. 1, §10.5.1).
const XMM: usize = 160;
/// Where it says which x87 registers are in use.
const X87_TAGS: usize = 4;
/// The word of an XSAVE area that says which parts are in it (§13.4.2); x87 and SSE are 1 and 2.
const XSTATE_BV: usize = 512;
/// The direction and the trap flag.
const FLAGS_CLEARED: u64 = 0x500;

/// What the registers and the stack hold when a function begins.
#[derive(Default, Debug)]
pub struct HandedOver {
    integers: Vec<u64>,
    vectors: Vec<[u8; 8]>,
    /// The bytes right above the return address.
    pub stack: Vec<u8>,
}

impl HandedOver {
    /// A number or an address, in the next register for those if there is one.
    pub fn word(&mut self, word: u64) {
        if self.integers.len() < INTEGERS.len() {
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
        let fits = self.integers.len() + wants(Class::Integer) <= INTEGERS.len()
            && self.vectors.len() + wants(Class::Sse) <= VECTORS;
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
        let vectors = (0..self.vectors.len() as u16).map(|nth| Register(XMM0.0 + nth));
        let integers = INTEGERS.into_iter().take(self.integers.len());
        integers.chain(vectors).collect()
    }

    /// Sets the registers, and an XSAVE area, as they are where a function begins.
    pub fn write(&self, registers: &mut RegisterSet, extended: &mut [u8]) {
        for (register, word) in INTEGERS.iter().zip(&self.integers) {
            registers.set(*register, *word);
        }
        for (nth, word) in self.vectors.iter().enumerate() {
            let at = XMM + 16 * nth;
            if let Some(slot) = extended.get_mut(at..at + 16) {
                slot.fill(0);
                slot[..8].copy_from_slice(word);
            }
        }
        if let Some(parts) = extended.get_mut(XSTATE_BV) {
            *parts |= 3;
            // The x87 stack is empty where a function begins (psABI §3.2.1).
            extended[X87_TAGS] = 0;
        }
        registers.set(RAX, self.vectors.len() as u64);
        let flags = registers.get(RFLAGS).unwrap_or(0);
        registers.set(RFLAGS, flags & !FLAGS_CLEARED);
    }
}
