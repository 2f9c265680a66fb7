//! Instruction sets, and what their psABIs define for debug info: one table per machine.

mod aarch64;
mod unknown;
mod x86_64;

use crate::ids::register::Register;

/// The instruction set of an image.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Machine {
    /// x86-64
    X86_64,
    /// AArch64
    Aarch64,
    /// Another machine, by its ELF `e_machine`; 0 if that is not known.
    Other(u16),
}

/// What debug info, ELF files and code of a machine look like.
pub(crate) struct MachineFacts {
    /// The DWARF number that stands for the program counter.
    pub(crate) pc: Register,
    pub(crate) sp: Register,
    /// The frame pointer of code that keeps one.
    pub(crate) frame_pointer: Register,
    /// The register that calls write the return address to; `None` if they push it.
    pub(crate) link: Option<Register>,
    /// The bits of a return address that are an address, unless `signature_mask` says it. Others may
    /// be a pointer authentication code.
    pub(crate) return_address_mask: u64,
    /// What stands for the bits of a return address that are a pointer authentication code. Bits
    /// above them are no address either.
    pub(crate) signature_mask: Option<Register>,
    pub(crate) first_vector: Register,
    /// Registers that a called function must preserve, except the stack pointer.
    pub(crate) callee_saved: &'static [Register],
    /// Registers of a thread, which are the same in all its frames.
    pub(crate) of_thread: &'static [Register],
    /// Integer registers in display order.
    pub(crate) register_names: &'static [(Register, &'static str)],
    /// Whether gcc describes no locations of thread-local variables, for want of a relocation: their
    /// symbols have them.
    pub(crate) thread_locals_by_symbol: bool,
    /// What the psABI says of C's types, and what Apple's compilers make of them.
    pub(crate) c_types: CTypes,
    pub(crate) c_types_of_apple: CTypes,
    /// The vendor whose extensions of call frame information apply.
    pub(crate) cfi_vendor: gimli::Vendor,
    /// What else is in its call frame information.
    pub(crate) foreign_cfi: ForeignCfi,
    /// `None`: relocations are not interpreted.
    pub(crate) relocations: Option<Relocations>,
    /// `None`: instructions are not interpreted.
    pub(crate) code: Option<CodePatterns>,
}

/// What is not the same everywhere of C's types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CTypes {
    /// Whether `char` is signed, unless a compiler's option says otherwise.
    pub char_is_signed: bool,
    /// Whether `wchar_t` is signed.
    pub wchar_is_signed: bool,
    /// The format of `long double`.
    pub long_double: LongDouble,
    /// Whose C library programs are compiled for.
    pub headers: Headers,
}

/// The headers that fix the numbers which C's standard and POSIX leave open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Headers {
    /// Those of Linux, in which glibc and musl agree.
    Linux,
    /// Those of Apple's systems.
    Apple,
    /// Not known: the machine is not.
    Unknown,
}

/// The format of C's `long double`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LongDouble {
    /// That of `double`.
    Double,
    /// 80 bits (x87), in 16 bytes.
    Extended,
    /// IEEE 754 binary128.
    Quad,
}

/// What gimli does not know of a machine's call frame information, and no rule depends on.
pub(crate) struct ForeignCfi {
    /// Opcodes, and how many numbers in LEB128 follow each.
    pub(crate) instructions: &'static [(u8, usize)],
    /// Letters of augmentations, which come without data.
    pub(crate) augmentations: &'static [u8],
}

impl ForeignCfi {
    const NONE: ForeignCfi = ForeignCfi {
        instructions: &[],
        augmentations: &[],
    };

    /// Returns whether gimli knows all.
    pub(crate) fn is_empty(&self) -> bool {
        self.instructions.is_empty() && self.augmentations.is_empty()
    }
}

/// Types of relocations (`r_info`) in dynamic tables.
pub(crate) struct Relocations {
    /// To the address of a symbol.
    pub(crate) absolute: u64,
    /// To the address of a symbol, in the global offset table.
    pub(crate) global_data: u64,
    /// To the address of a function, in the global offset table.
    pub(crate) jump_slot: u64,
    /// To the load address and the addend.
    pub(crate) relative: u64,
    /// To the result of the resolver at the addend.
    pub(crate) indirect: u64,
    /// To the number of the image with a thread-local variable; the offset is in the next word.
    pub(crate) thread_module: u64,
}

impl Relocations {
    /// Returns whether a word with a relocation of this type gets the address of a symbol.
    pub(crate) fn is_to_symbol(&self, kind: u64) -> bool {
        [self.absolute, self.global_data, self.jump_slot].contains(&kind)
    }
}

/// What is read from instructions where debug info is missing.
pub(crate) struct CodePatterns {
    /// Returns whether these bytes end with a call instruction.
    pub(crate) ends_with_call: fn(&[u8; 7]) -> bool,
    /// Returns whether code begins with an instruction that returns from its function. At the end of
    /// a segment fewer bytes than [`CodePatterns::RETURN`] may be there.
    pub(crate) is_return: fn(&[u8]) -> bool,
    /// Returns the position in the prologue, from a function's first bytes and the offset in it.
    pub(crate) prologue: fn(&[u8; 8], u64) -> Prologue,
    /// The code that a signal handler returns to.
    pub(crate) signal_return: SignalReturn,
    /// The stubs of the procedure linkage table.
    pub(crate) linkage: LinkageStubs,
}

/// The stubs of the procedure linkage table, each of which jumps through a slot of the global offset
/// table.
pub(crate) struct LinkageStubs {
    /// They begin at multiples of this from the beginning of their section.
    pub(crate) alignment: usize,
    /// Length of the longest in bytes.
    pub(crate) longest: u64,
    /// Returns the address of the slot of the stub that code begins with; the code is at the given
    /// address.
    pub(crate) slot: fn(&[u8], u64) -> Option<u64>,
}

impl CodePatterns {
    /// Maximum length in bytes of a return.
    pub(crate) const RETURN: usize = 4;
}

/// A position in a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Prologue {
    /// Where nothing of the frame exists: the first instruction, or the last.
    Entry,
    /// The frame pointer is pushed, and not set yet.
    Pushed,
    /// Elsewhere, or unknown.
    Body,
}

/// The code that a signal handler returns to, and the frame of the interrupted code.
pub(crate) struct SignalReturn {
    pub(crate) code: &'static [u8],
    /// Offsets of the code's instructions.
    pub(crate) instructions: &'static [u64],
    /// Offset of the first saved register from the stack pointer.
    pub(crate) saved_at: u64,
    /// The registers in the order in which the kernel saves them, a word each.
    pub(crate) saved: &'static [Register],
}

impl Machine {
    /// Returns the machine with this `e_machine`.
    pub(crate) fn of_elf(number: u16) -> Machine {
        match number {
            62 => Machine::X86_64,
            183 => Machine::Aarch64,
            other => Machine::Other(other),
        }
    }

    /// Returns the machine of a Mach-O file with this `cputype`.
    pub(crate) fn of_macho(number: u32) -> Machine {
        match number {
            0x0100_0007 => Machine::X86_64,
            0x0100_000c => Machine::Aarch64,
            // The others, old ones of Apple's, have 32 bits or PowerPC's order of bytes.
            _ => Machine::Other(0),
        }
    }

    /// Returns the machine that this process runs on.
    pub(crate) fn host() -> Machine {
        match std::env::consts::ARCH {
            "x86_64" => Machine::X86_64,
            "aarch64" => Machine::Aarch64,
            _ => Machine::Other(0),
        }
    }

    /// Returns whether `memcmp` of the C libraries mostly returns the difference of two bytes, not only its sign:
    /// musl does on x86-64, and so does glibc on CPUs with AVX2; glibc does not on AArch64, and on other x86-64 CPUs
    /// its result depends on the length.
    pub fn subtracts_bytes(self) -> bool {
        self == Machine::X86_64
    }

    pub(crate) fn facts(self) -> &'static MachineFacts {
        match self {
            Machine::X86_64 => &x86_64::FACTS,
            Machine::Aarch64 => &aarch64::FACTS,
            Machine::Other(_) => &unknown::FACTS,
        }
    }

    /// Returns the DWARF number that stands for the program counter.
    pub fn pc(self) -> Register {
        self.facts().pc
    }

    /// Returns the stack pointer.
    pub fn sp(self) -> Register {
        self.facts().sp
    }

    /// Returns the frame pointer of code that keeps one.
    pub fn frame_pointer(self) -> Register {
        self.facts().frame_pointer
    }

    /// Returns the first vector register.
    pub fn first_vector(self) -> Register {
        self.facts().first_vector
    }

    /// Returns what the psABI says of C's types. Images of Apple's formats may differ
    /// ([`crate::Module::c_types`]).
    pub fn c_types(self) -> CTypes {
        self.facts().c_types
    }

    /// Returns the registers that a called function must preserve (psABI), except the stack
    /// pointer.
    pub fn callee_saved(self) -> &'static [Register] {
        self.facts().callee_saved
    }

    /// Returns the integer registers' names in the psABI's spelling, by DWARF number.
    pub fn register_names(self) -> &'static [(Register, &'static str)] {
        self.facts().register_names
    }

    /// Returns a register's name for messages.
    pub(crate) fn register_name(self, register: Register) -> String {
        let mut names = self.register_names().iter();
        let known = names.find(|(number, _)| *number == register);
        known.map_or_else(|| register.0.to_string(), |(_, name)| (*name).to_owned())
    }
}
