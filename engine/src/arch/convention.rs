//! Calling conventions, and what C libraries do in assembly.

use super::{Arch, ExtendedRegisters, RegisterFile, in_set};
use dwarf::{LoadAddr, Memory, Register, Registers};

/// How C and C++ pass classes and arrays of up to two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Composites {
    /// Each eight bytes in the kind of register that their members want (System V psABI).
    Eightbytes,
    /// Up to four floats or vectors of one type in vector registers, others as integers (AAPCS64).
    Homogeneous,
}

/// Which word of a C++ pointer to a member function tells that the function is virtual
/// (Itanium C++ ABI §2.3, C++ ABI for the Arm 64-bit Architecture §3.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VirtualBit {
    /// The lowest bit of the pointer, since functions have even addresses.
    Pointer,
    /// The lowest bit of the adjustment, which is shifted for it.
    Adjustment,
}

/// Where glibc has the word with which it mangles pointers (`PTR_MANGLE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PointerGuard {
    /// At an offset in the structure of a thread, which the thread pointer points to.
    InThread(u64),
    /// In a variable of the loader.
    Variable,
}

/// What C libraries save for a long jump (`jmp_buf`), as words.
#[derive(Debug)]
pub(crate) struct JumpBuffer {
    pub pc: u64,
    pub sp: u64,
    pub guard: PointerGuard,
    /// By how many bits glibc rotates a word to the left after xor with the guard.
    pub rotation: u32,
}

/// The registers that have a meaning between functions, and the rules for arguments and results.
#[derive(Debug)]
pub(crate) struct Convention {
    /// The first integers and addresses among the arguments.
    pub integers: &'static [Register],
    /// The number of vector registers that take arguments, from the first one on.
    pub vectors: u16,
    /// Integer results.
    pub integer_results: &'static [Register],
    /// The number of vector registers that hold results.
    pub vector_results: u16,
    /// Classes and arrays.
    pub composites: Composites,
    /// Whether a value of two words that is aligned to both begins at an even integer register.
    pub even_pairs: bool,
    /// Whether all later arguments of a kind are on the stack once one was; otherwise they use the
    /// registers that it left.
    pub exhausts: bool,
    /// Whether numbers and homogeneous aggregates take no more of the stack than their size and
    /// alignment; otherwise each argument takes whole words.
    pub packs_stack: bool,
    /// Whether arguments beyond the parameters of a variadic function are on the stack.
    pub variadics_on_stack: bool,
    /// The register with the address for a result in memory; `None`: it is the first argument.
    pub result_address: Option<Register>,
    /// The register in which a function returns that address; `None` if it does not.
    pub returned_address: Option<Register>,
    /// Pointers to member functions.
    pub virtual_bit: VirtualBit,
    /// Number of bytes below the stack pointer that a function may use.
    pub red_zone: u64,
    /// The number of a system call.
    pub system_call: Register,
    /// What the first argument of `longjmp` points to.
    pub jump_buffer: JumpBuffer,
}

/// The template of an image's thread-local storage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TlsTemplate {
    pub start: u64,
    pub size: u64,
    /// A power of two.
    pub align: u64,
}

/// Where execution continues, and the stack pointer there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Landing {
    pub addr: LoadAddr,
    pub sp: u64,
}

impl Arch {
    /// Returns the registers of the calling convention.
    pub(crate) fn convention(self) -> &'static Convention {
        in_set!(self, set => &set::convention::CONVENTION)
    }

    /// Returns the registers of the calling convention of Apple's systems.
    pub(crate) fn convention_of_apple(self) -> &'static Convention {
        in_set!(self, set => &set::convention::CONVENTION_OF_APPLE)
    }

    /// Returns where a thread at the entry of a function returns to.
    pub(crate) fn return_at_entry(
        self,
        registers: &impl RegisterFile,
        memory: &dyn Memory,
    ) -> Option<Landing> {
        in_set!(self, set => set::convention::return_at_entry(registers, memory))
    }

    /// Sets the registers, and the area of extended ones, as they are where a function begins.
    pub(crate) fn set_arguments(
        self,
        registers: &mut impl RegisterFile,
        extended: &mut ExtendedRegisters,
        integers: &[(Register, u64)],
        vectors: &[[u8; 16]],
    ) {
        for (register, word) in integers {
            registers.set(*register, *word);
        }
        in_set!(self, set => set::convention::set_vectors(registers, extended, vectors));
    }

    /// Sets the return address of a function that is about to be entered. Returns a word of memory
    /// that has to be written for that: its address and value.
    pub(crate) fn set_return_address(
        self,
        registers: &mut impl RegisterFile,
        back: LoadAddr,
    ) -> Option<(LoadAddr, u64)> {
        in_set!(self, set => set::convention::set_return_address(registers, back))
    }

    /// Returns where the return address of a function is in memory while it runs, from the stack
    /// pointer at its entry; `None` if it is in a register at first.
    pub(crate) fn return_slot(self, sp: u64) -> Option<LoadAddr> {
        in_set!(self, set => set::convention::return_slot(sp))
    }

    /// Returns the pointer to a thread's own storage.
    pub(crate) fn thread_pointer(self, registers: &Registers) -> Option<u64> {
        in_set!(self, set => set::convention::thread_pointer(registers))
    }

    /// Returns the address of the thread-specific data of a thread of Apple's systems.
    pub(crate) fn thread_data_of_apple(self, registers: &Registers) -> Option<u64> {
        in_set!(self, set => set::convention::thread_data_of_apple(registers))
    }

    /// Returns the address of a thread's copy of the program's thread-local storage, which is next
    /// to the thread pointer (ELF Handling For Thread-Local Storage, section 3).
    pub(crate) fn tls_of_program(self, thread: u64, template: TlsTemplate) -> u64 {
        in_set!(self, set => set::convention::tls_of_program(thread, template))
    }

    /// Returns where a thread has the pointer to the table of its copies. `offset` is that of the
    /// pointer in the C library's structure of a thread.
    pub(crate) fn tls_table_pointer(self, thread: u64, offset: u64) -> u64 {
        in_set!(self, set => set::convention::tls_table_pointer(thread, offset))
    }

    /// Returns the address of a thread's copy of an image's, from the offset that the loader has
    /// for it.
    pub(crate) fn tls_at(self, thread: u64, offset: u64) -> u64 {
        in_set!(self, set => set::convention::tls_at(thread, offset))
    }

    /// Returns where `longjmp` may resume a thread that is at its entry: the first of these that is
    /// code. glibc mangles both words with the `guard`, musl has them as they are.
    pub(crate) fn long_jumps(
        self,
        registers: &impl RegisterFile,
        memory: &dyn Memory,
        guard: Option<u64>,
    ) -> Option<[Landing; 2]> {
        let Convention {
            integers,
            jump_buffer: layout,
            ..
        } = self.convention();
        let buffer = registers.get(*integers.first()?)?;
        let word = |nth: u64| {
            let addr = LoadAddr(buffer.wrapping_add(8 * nth));
            memory.read_uint(addr, 8).ok()
        };
        let (pc, sp) = (word(layout.pc)?, word(layout.sp)?);
        let guard = guard.unwrap_or(0);
        let clear = |word: u64| word.rotate_right(layout.rotation) ^ guard;
        Some([(clear(pc), clear(sp)), (pc, sp)].map(|(pc, sp)| Landing {
            addr: LoadAddr(pc),
            sp,
        }))
    }

    /// Returns where a thread resumes after the function of a context (`makecontext`) has returned:
    /// in the context that its own is linked to, at the point where that was left.
    pub(crate) fn linked_context(
        self,
        pc: LoadAddr,
        registers: &impl RegisterFile,
        memory: &dyn Memory,
    ) -> Option<Landing> {
        in_set!(self, set => set::convention::linked_context(pc, registers, memory))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_block_is_next_to_the_thread_pointer_and_aligned_as_its_template() {
        let thread = 0x7000;
        let block = |arch: Arch, start, size, align| {
            let template = TlsTemplate { start, size, align };
            arch.tls_of_program(thread, template)
        };
        let below = |start, size, align| block(Arch::X86_64, start, size, align);
        assert_eq!(below(0x100, 8, 8), 0x6ff8);
        assert_eq!(below(0x100, 4, 16), 0x6ff0);
        assert_eq!(below(0x108, 4, 16), 0x6ff8);
        let above = |start, align| block(Arch::Fixed, start, 4, align);
        assert_eq!(above(0x100, 8), 0x7010);
        assert_eq!(above(0x100, 64), 0x7040);
        assert_eq!(above(0x108, 16), 0x7018);
        assert_eq!(Arch::X86_64.tls_at(thread, 0x20), 0x6fe0);
        assert_eq!(Arch::Fixed.tls_at(thread, 0x20), 0x7020);
        assert_eq!(Arch::X86_64.tls_table_pointer(thread, 8), 0x7008);
        assert_eq!(Arch::Fixed.tls_table_pointer(thread, 0x700), 0x7000);
    }
}
