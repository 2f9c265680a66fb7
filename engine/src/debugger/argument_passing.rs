//! Arguments where a function looks for them.

use crate::arch::{Arch, Convention, ExtendedRegisters};
use crate::expr::{Argument, ArgumentPassing, Slot};
use crate::inspect::abi::{Class, RegisterPart};
use crate::os::RegisterSet;
use dwarf::Register;

/// What the registers and the stack hold when a function begins.
#[derive(Debug)]
pub struct HandedOver {
    arch: Arch,
    convention: &'static Convention,
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
    pub fn new(arch: Arch, convention: &'static Convention) -> HandedOver {
        HandedOver {
            arch,
            convention,
            integers: Vec::new(),
            vectors: Vec::new(),
            used_up: [0; 2],
            stack: Vec::new(),
            stack_alignment: 16,
        }
    }

    /// Passes the address for a result in memory, before all arguments.
    pub fn result_address(&mut self, addr: u64) {
        match self.convention.result_address {
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
        self.place(&[whole], &word.to_le_bytes(), 8, Slot::Words);
    }

    /// Passes the next argument; `copied` puts bytes with an alignment into memory that outlives the
    /// call, and says where.
    pub fn add(&mut self, argument: Argument, copied: impl FnOnce(Vec<u8>, u64) -> u64) {
        match argument.how {
            ArgumentPassing::Registers(parts) => {
                self.place(&parts, &argument.bytes, argument.alignment, argument.slot);
            }
            ArgumentPassing::Stack => self.push(&argument.bytes, argument.alignment, argument.slot),
            ArgumentPassing::Pointer => {
                self.word(copied(argument.bytes, argument.alignment));
            }
        }
    }

    fn place(&mut self, parts: &[RegisterPart], bytes: &[u8], alignment: u64, slot: Slot) {
        let convention = self.convention;
        if slot == Slot::Variadic && convention.variadics_on_stack {
            self.push(bytes, alignment, slot);
            return;
        }
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
            self.push(bytes, alignment, slot);
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

    fn push(&mut self, bytes: &[u8], alignment: u64, slot: Slot) {
        let stack = &mut self.stack;
        let (len, alignment, unit) = match slot {
            Slot::Packed { size, alignment } if self.convention.packs_stack => (size, alignment, 1),
            // One may follow that is packed.
            _ => (bytes.len(), alignment.max(8), 8),
        };
        self.stack_alignment = self.stack_alignment.max(alignment);
        stack.resize(stack.len().next_multiple_of(alignment.max(1) as usize), 0);
        stack.extend(bytes.iter().take(len));
        stack.resize(stack.len().next_multiple_of(unit), 0);
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
            slot: Slot::Words,
        }
    }

    fn passed(arch: Arch, arguments: &[(Class, u64, u64)]) -> (String, String) {
        let mut handed = HandedOver::new(arch, arch.convention());
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

    /// A value of this size, whose bytes are its number.
    fn numbered(number: u8, len: usize, slot: Slot, class: Class) -> Argument {
        let part = |nth: usize| RegisterPart {
            offset: 8 * nth as u64,
            size: 8,
            class,
        };
        Argument {
            bytes: vec![number; len.max(8)],
            alignment: 8,
            how: ArgumentPassing::Registers((0..len.div_ceil(8)).map(part).collect()),
            slot,
        }
    }

    /// Where the bytes of each number begin on the stack.
    fn starts(handed: &HandedOver, numbers: std::ops::Range<u8>) -> Vec<usize> {
        let start = |number| handed.stack.iter().position(|byte| *byte == number);
        numbers
            .map(|number| start(number).expect("it is there"))
            .collect()
    }

    // Offsets as clang has them for arm64-apple-macos:
    // f(int ×8, char, short, int, long, char, char[3], char, int[3], char, __int128)
    #[test]
    fn the_stack_of_apple_is_packed() {
        let packed = |size: usize| Slot::Packed {
            size,
            alignment: size as u64,
        };
        let arch = Arch::Aarch64;
        let all = |convention| {
            let mut handed = HandedOver::new(arch, convention);
            (0..8).for_each(|_| handed.word(0xff));
            let arguments = [
                (1, packed(1)),
                (2, packed(2)),
                (4, packed(4)),
                (8, packed(8)),
                (1, packed(1)),
                (3, Slot::Words),
                (1, packed(1)),
                (12, Slot::Words),
                (1, packed(1)),
                (16, packed(16)),
            ];
            for (number, (len, slot)) in (1..).zip(arguments) {
                handed.add(numbered(number, len, slot, Class::Integer), |_, _| 0);
            }
            starts(&handed, 1..11)
        };
        let apple = [0, 2, 4, 8, 16, 24, 32, 40, 56, 64];
        assert_eq!(all(arch.convention_of_apple()), apple);
        let words = [0, 8, 16, 24, 32, 40, 48, 56, 72, 80];
        assert_eq!(all(arch.convention()), words);
    }

    // As clang has them for arm64-apple-macos: printf("", int, char, double, long), and a function
    // of (int, __int128, int).
    #[test]
    fn variadic_arguments_of_apple_are_on_the_stack() {
        let arch = Arch::Aarch64;
        let all = |convention| {
            let mut handed = HandedOver::new(arch, convention);
            handed.word(0xff);
            for (number, class) in (1..).zip([
                Class::Integer,
                Class::Integer,
                Class::Vector,
                Class::Integer,
            ]) {
                handed.add(numbered(number, 8, Slot::Variadic, class), |_, _| 0);
            }
            handed
        };
        let apple = all(arch.convention_of_apple());
        assert_eq!(apple.used(), [Register(0)]);
        assert_eq!(starts(&apple, 1..5), [0, 8, 16, 24]);
        let others = all(arch.convention());
        assert_eq!(others.used().len(), 5);
        assert!(others.stack.is_empty());
        let mut handed = HandedOver::new(arch, arch.convention_of_apple());
        handed.word(1);
        handed.add(value(Class::Integer, 2, 2, 16), |_, _| 0);
        assert_eq!(handed.used(), [0, 1, 2].map(Register));
        assert_eq!(arch.convention_of_apple().red_zone, 128);
    }

    #[test]
    fn the_address_for_a_result_has_its_place() {
        let mut handed = HandedOver::new(Arch::Aarch64, Arch::Aarch64.convention());
        handed.result_address(0x1000);
        handed.add(Argument::word(1), |_, _| 0);
        assert_eq!(handed.used(), [Register(8), Register(0)]);
        let mut handed = HandedOver::new(Arch::X86_64, Arch::X86_64.convention());
        handed.result_address(0x1000);
        handed.add(Argument::word(1), |_, _| 0);
        let [rdi, rsi] = [Register(5), Register(4)];
        assert_eq!(handed.used(), [rdi, rsi]);
    }
}
