//! The states of a thread on arm64.

use super::Flavor;

/// `THREAD_STATE_NONE`
pub const THREAD_STATE_NONE: i32 = 5;

/// `ARM_THREAD_STATE64`
pub const THREAD_STATE64: Flavor = Flavor::new(6, 68);
/// `ARM_EXCEPTION_STATE64`
pub const EXCEPTION_STATE64: Flavor = Flavor::new(7, 4);
/// `ARM_DEBUG_STATE64`
pub const DEBUG_STATE64: Flavor = Flavor::new(15, 130);
/// `ARM_NEON_STATE64`. Its count includes the padding to a multiple of 16 bytes.
pub const NEON_STATE64: Flavor = Flavor::new(17, 132);

/// The registers of [`THREAD_STATE64`], 8 bytes each unless said otherwise.
pub mod thread {
    /// `x0` to `x28` follow each other.
    pub const X0: usize = 0;
    /// `x29`
    pub const FP: usize = 232;
    /// `x30`
    pub const LR: usize = 240;
    pub const SP: usize = 248;
    pub const PC: usize = 256;
    /// 4 bytes.
    pub const CPSR: usize = 264;
    /// How the four pointers are signed, where they are: 4 bytes. Must be written as it was
    /// read.
    pub const FLAGS: usize = 268;
    /// In [`FLAGS`]: the pointers are not signed.
    pub const FLAGS_NO_PTRAUTH: u32 = 1;
}

/// [`NEON_STATE64`]
pub mod neon {
    /// 32 registers of 16 bytes.
    pub const V0: usize = 0;
    /// 4 bytes.
    pub const FPSR: usize = 512;
    /// 4 bytes.
    pub const FPCR: usize = 516;
}

/// [`EXCEPTION_STATE64`]
pub mod exception {
    /// The address of the last fault, 8 bytes.
    pub const FAR: usize = 0;
    /// The syndrome (`ESR_EL1`), 4 bytes.
    pub const ESR: usize = 8;
    /// The kind of exception, 4 bytes.
    pub const EXCEPTION: usize = 12;
}

/// [`DEBUG_STATE64`]: arrays of 16 registers of 8 bytes each.
pub mod debug {
    pub const BVR: usize = 0;
    pub const BCR: usize = 128;
    pub const WVR: usize = 256;
    pub const WCR: usize = 384;
    /// Bit 0 single-steps the thread.
    pub const MDSCR_EL1: usize = 512;
    /// In [`MDSCR_EL1`]: single step.
    pub const MDSCR_SS: u64 = 1;
}
