//! Numbers of Apple's headers that the backend needs on any host: the flavors of a thread's state
//! with their sizes in words of 32 bits (`mach/i386/thread_status.h`, `mach/arm/thread_status.h`) and
//! offsets in bytes (`_structs.h` beside them), and the kinds and codes of exceptions
//! (`mach/exception_types.h`, `mach/i386/exception.h`, `mach/arm/exception.h`).
//! A test (`layout_tests`) compares them with those headers.

pub mod arm64;
pub mod x86_64;

use crate::arch::Arch;

/// A flavor of a thread's state, and its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flavor {
    /// `thread_state_flavor_t`
    pub number: i32,
    /// Its `_COUNT`: the size in words of 32 bits.
    pub words: usize,
}

impl Flavor {
    const fn new(number: i32, words: usize) -> Flavor {
        Flavor { number, words }
    }

    /// Returns the size in bytes.
    pub const fn bytes(self) -> usize {
        4 * self.words
    }
}

/// `THREAD_STATE_NONE` of this machine: exceptions are sent without a state.
pub const THREAD_STATE_NONE: i32 = match Arch::HOST {
    Arch::X86_64 => x86_64::THREAD_STATE_NONE,
    _ => arm64::THREAD_STATE_NONE,
};

/// The largest state of any flavor here, in words.
pub const MAX_WORDS: usize = x86_64::AVX512_STATE64.words;

/// `exception_type_t`
pub mod kind {
    pub const BAD_ACCESS: i32 = 1;
    pub const BAD_INSTRUCTION: i32 = 2;
    pub const ARITHMETIC: i32 = 3;
    pub const EMULATION: i32 = 4;
    pub const SOFTWARE: i32 = 5;
    pub const BREAKPOINT: i32 = 6;
    pub const SYSCALL: i32 = 7;
    pub const MACH_SYSCALL: i32 = 8;
    pub const RPC_ALERT: i32 = 9;
    pub const CRASH: i32 = 10;
    pub const RESOURCE: i32 = 11;
    pub const GUARD: i32 = 12;
    pub const CORPSE_NOTIFY: i32 = 13;
    /// `EXC_TYPES_COUNT`: the number of kinds, with the invalid 0.
    pub const COUNT: usize = 14;

    /// Returns the bit of a kind in an `exception_mask_t`.
    pub const fn mask(kind: i32) -> u32 {
        1 << kind
    }

    /// What a debugger handles: the exceptions of user code.
    pub const OF_USER_CODE: u32 = mask(BAD_ACCESS)
        | mask(BAD_INSTRUCTION)
        | mask(ARITHMETIC)
        | mask(EMULATION)
        | mask(SOFTWARE)
        | mask(BREAKPOINT);
}

/// The first code of an exception.
pub mod code {
    /// Of `EXC_SOFTWARE`: a signal, whose number is the second code. Also a traced process that
    /// executes another program raises this one (SIGTRAP).
    pub const SOFT_SIGNAL: u64 = 0x10003;

    /// Of `EXC_BAD_ACCESS`: `kern_return_t`, nothing is mapped there. The second code is the
    /// address.
    pub const INVALID_ADDRESS: u64 = 1;
    /// Of `EXC_BAD_ACCESS`: `kern_return_t`, the mapping does not allow this access.
    pub const PROTECTION_FAILURE: u64 = 2;

    /// Of `EXC_BREAKPOINT` on x86-64: a single step, or a debug register.
    pub const I386_SGL: u64 = 1;
    /// Of `EXC_BREAKPOINT` on x86-64: `int3`.
    pub const I386_BPT: u64 = 2;
    /// Of `EXC_BAD_INSTRUCTION` on x86-64.
    pub const I386_INVOP: u64 = 1;
    /// Of `EXC_ARITHMETIC` on x86-64: a division by zero, or one whose result is too large.
    pub const I386_DIV: u64 = 1;
    /// Of `EXC_ARITHMETIC` on x86-64: x87.
    pub const I386_EXTERR: u64 = 5;
    /// Of `EXC_ARITHMETIC` on x86-64: SSE.
    pub const I386_SSEEXTERR: u64 = 8;
    /// Of `EXC_BAD_ACCESS` on x86-64: a general protection fault, as at an address that is not
    /// canonical. The second code is no address.
    pub const I386_GPFLT: u64 = 13;

    /// Of `EXC_BREAKPOINT` on arm64: `brk`, a hardware breakpoint, or a single step; the latter has
    /// 0 as the second code.
    pub const ARM_BREAKPOINT: u64 = 1;
    /// Of `EXC_BAD_INSTRUCTION` on arm64.
    pub const ARM_UNDEFINED: u64 = 1;
    /// Of `EXC_BAD_ACCESS` on arm64: an access that is not aligned.
    pub const ARM_DA_ALIGN: u64 = 0x101;
    /// Of `EXC_BREAKPOINT` on arm64: a watchpoint; the second code is the address.
    pub const ARM_DA_DEBUG: u64 = 0x102;
    /// Of `EXC_BAD_ACCESS` on arm64: a stack pointer that is not aligned.
    pub const ARM_SP_ALIGN: u64 = 0x103;
    /// Of `EXC_BAD_ACCESS` on arm64: the signature of a pointer is wrong.
    pub const ARM_PAC_FAIL: u64 = 0x105;
    /// Of `EXC_ARITHMETIC` on arm64: an operation that is invalid.
    pub const ARM_FP_IO: u64 = 1;
    /// Of `EXC_ARITHMETIC` on arm64: a division by zero.
    pub const ARM_FP_DZ: u64 = 2;
    /// Of `EXC_ARITHMETIC` on arm64: an overflow.
    pub const ARM_FP_OF: u64 = 3;
    /// Of `EXC_ARITHMETIC` on arm64: an underflow.
    pub const ARM_FP_UF: u64 = 4;
    /// Of `EXC_ARITHMETIC` on arm64: a result that is not exact.
    pub const ARM_FP_IX: u64 = 5;
    /// Of `EXC_ARITHMETIC` on arm64: a denormal operand.
    pub const ARM_FP_ID: u64 = 6;
}

/// `exception_behavior_t`
pub mod behavior {
    /// `EXCEPTION_DEFAULT`: messages name the thread and the task.
    pub const DEFAULT: i32 = 1;
    /// `MACH_EXCEPTION_CODES`: codes of 64 bits. A flag.
    pub const MACH_EXCEPTION_CODES: i32 = i32::MIN;
}
