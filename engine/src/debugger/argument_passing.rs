//! Arguments where a function looks for them.

use crate::arch::{Arch, ExtendedRegisters};
use crate::expr::{Argument, ArgumentPassing};
use crate::inspect::abi::{Class, RegisterPart};
use crate::os::RegisterSet;
use dwarf::Register;

/// What the registers and the stack hold when a function begins.
#[derive(Debug)]
pub struct HandedOver {
    arch: Arch,
    integers: Vec<(Register, u64)>,
    vectors: Vec<[u8; 16]>,
    /// The number of registers for arguments that are used up: of integers, and of vectors.
    used_up: [usize; 2],
    /// The bytes right above the return address.
    pub stack: Vec<u8>,
    /// The alignment in bytes that they need.
    pub stack_alignment: u64,
}

impl HandedOver {
    /// Returns the state of a function without arguments.
    pub fn new(arch: Arch) -> HandedOver {
        HandedOver {
            arch,
            integers: Vec::new(),
            vectors: Vec::new(),
            used_up: [0; 2],
            stack: Vec::new(),
            stack_alignment: 16,
        }
    }

    /// Passes the address for a result in memory, before all arguments.
    pub fn result_address(&mut self, addr: u64) {
        match self.arch.convention().result_address {
            Some(register) => self.integers.push((register, addr)),
            None => self.word(addr),
        }
    }

    /// Passes a number or an address as the next argument.
    pub fn word(&mut self, word: u64) {
        let whole = RegisterPart {
            offset: 0,
            size: 8,
            class: Class::Integer,
        };
        self.place(&[whole], &word.to_le_bytes(), 8);
    }

    /// Passes the next argument; `copied` puts bytes with an alignment into memory that outlives the
    /// call, and says where.
    pub fn add(&mut self, argument: Argument, copied: impl FnOnce(Vec<u8>, u64) -> u64) {
        match argument.how {
            ArgumentPassing::Registers(parts) => {
                self.place(&parts, &argument.bytes, argument.alignment);
            }
            ArgumentPassing::Stack => self.push(&argument.bytes, argument.alignment),
            ArgumentPassing::Pointer => {
                self.word(copied(argument.bytes, argument.alignment));
            }
        }
    }

    fn place(&mut self, parts: &[RegisterPart], bytes: &[u8], alignment: u64) {
        let convention = self.arch.convention();
        let wants = |class| parts.iter().filter(|it| it.class == class).count();
        let (integers, vectors) = (wants(Class::Integer), wants(Class::Vector));
        let [mut first, next_vector] = self.used_up;
        if convention.even_pairs && integers == 2 && alignment >= 16 {
            first = first.next_multiple_of(2);
        }
        let (all, all_vectors) = (convention.integers.len(), usize::from(convention.vectors));
        if first + integers > all || next_vector + vectors > all_vectors {
            if convention.exhausts && integers > 0 {
                self.used_up[0] = all;
            }
            if convention.exhausts && vectors > 0 {
                self.used_up[1] = all_vectors;
            }
            self.push(bytes, alignment);
            return;
        }
        let mut free = convention.integers.iter().skip(first).copied();
        for part in parts {
            let mut held = [0; 16];
            let of_part = bytes.iter().skip(part.offset as usize);
            let of_part = of_part.take(part.size as usize);
            held.iter_mut().zip(of_part).for_each(|(to, it)| *to = *it);
            match part.class {
                Class::Vector => self.vectors.push(held),
                Class::Integer => {
                    let word = u128::from_le_bytes(held) as u64;
                    self.integers.extend(free.next().map(|it| (it, word)));
                }
                Class::X87 => {}
            }
        }
        self.used_up = match integers {
            0 => [self.used_up[0], next_vector + vectors],
            _ => [first + integers, next_vector + vectors],
        };
    }

    fn push(&mut self, bytes: &[u8], alignment: u64) {
        let stack = &mut self.stack;
        self.stack_alignment = self.stack_alignment.max(alignment);
        stack.resize(stack.len().next_multiple_of(alignment.max(1) as usize), 0);
        stack.extend(bytes);
        stack.resize(stack.len().next_multiple_of(8), 0);
    }

    /// The registers that hold arguments, or the address for the result.
    pub fn used(&self) -> Vec<Register> {
        let first = self.arch.machine().first_vector();
        let vectors = (0..self.vectors.len() as u16).map(|nth| Register(first.0 + nth));
        let integers = self.integers.iter().map(|it| it.0);
        integers.chain(vectors).collect()
    }

    /// Sets the registers, and the area of extended ones, as they are where a function begins.
    pub fn write(&self, registers: &mut RegisterSet, extended: &mut ExtendedRegisters) {
        self.arch
            .set_arguments(registers, extended, &self.integers, &self.vectors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eight bytes times `len`, of this class, with this number in each byte.
    fn value(class: Class, len: u64, number: u8, alignment: u64) -> Argument {
        let part = |nth| RegisterPart {
            offset: 8 * nth,
            size: 8,
            class,
        };
        Argument {
            bytes: vec![number; 8 * len as usize],
            alignment,
            how: ArgumentPassing::Registers((0..len).map(part).collect()),
        }
    }

    fn passed(arch: Arch, arguments: &[(Class, u64, u64)]) -> (String, String) {
        let mut handed = HandedOver::new(arch);
        for (number, (class, len, alignment)) in (1..).zip(arguments) {
            handed.add(value(*class, *len, number, *alignment), |_, _| 0);
        }
        let used = handed.used();
        let name = |register: &Register| arch.register_name(*register);
        let names: Vec<String> = used.iter().map(name).collect();
        let stack = handed.stack.iter().step_by(8).map(u8::to_string);
        let stack: Vec<String> = stack.collect();
        (names.join(" "), stack.join(" "))
    }

    fn is(arch: Arch, arguments: &[(Class, u64, u64)], registers: &str, stack: &str) {
        let expected = (registers.to_owned(), stack.to_owned());
        assert_eq!(passed(arch, arguments), expected);
    }

    #[test]
    fn a_value_that_does_not_fit_is_on_the_stack_as_a_whole() {
        use Class::{Integer, Vector};
        let (word, pair) = ((Integer, 1, 8), (Integer, 2, 8));
        let six = "x0 x1 x2 x3 x4 x5 x6";
        is(
            Arch::Aarch64,
            &[pair, pair, pair, word, pair, word],
            six,
            "5 5 6",
        );
        is(
            Arch::X86_64,
            &[pair, pair, word, pair, word, word],
            "rdi rsi rdx rcx r8 r9",
            "4 4 6",
        );
        // Vectors are counted apart.
        let vectors = [
            (Vector, 4, 8),
            (Vector, 3, 8),
            (Vector, 2, 8),
            (Vector, 1, 8),
            word,
        ];
        is(Arch::Aarch64, &vectors, "x0 v0 v1 v2 v3 v4 v5 v6", "3 3 4");
    }

    #[test]
    fn a_value_aligned_to_two_words_begins_at_an_even_register() {
        let (word, quad) = ((Class::Integer, 1, 8), (Class::Integer, 2, 16));
        is(Arch::Aarch64, &[word, quad, word], "x0 x2 x3 x4", "");
        is(Arch::X86_64, &[word, quad, word], "rdi rsi rdx rcx", "");
        is(
            Arch::Aarch64,
            &[quad, quad, quad, word, quad, word],
            "x0 x1 x2 x3 x4 x5 x6",
            "5 5 6",
        );
        is(
            Arch::X86_64,
            &[quad, quad, word, word, word, quad],
            "rdi rsi rdx rcx r8 r9",
            "5 0 6 6",
        );
    }

    #[test]
    fn the_address_for_a_result_has_its_place() {
        let mut handed = HandedOver::new(Arch::Aarch64);
        handed.result_address(0x1000);
        handed.add(Argument::word(1), |_, _| 0);
        assert_eq!(handed.used(), [Register(8), Register(0)]);
        let mut handed = HandedOver::new(Arch::X86_64);
        handed.result_address(0x1000);
        handed.add(Argument::word(1), |_, _| 0);
        let [rdi, rsi] = [Register(5), Register(4)];
        assert_eq!(handed.used(), [rdi, rsi]);
    }
}
