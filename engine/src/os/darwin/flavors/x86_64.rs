//! The states of a thread on x86-64.

use super::Flavor;

/// `THREAD_STATE_NONE`
pub const THREAD_STATE_NONE: i32 = 13;

/// `x86_THREAD_STATE64`
pub const THREAD_STATE64: Flavor = Flavor::new(4, 42);
/// `x86_FLOAT_STATE64`
pub const FLOAT_STATE64: Flavor = Flavor::new(5, 131);
/// `x86_EXCEPTION_STATE64`
pub const EXCEPTION_STATE64: Flavor = Flavor::new(6, 4);
/// `x86_DEBUG_STATE64`
pub const DEBUG_STATE64: Flavor = Flavor::new(11, 16);
/// `x86_AVX_STATE64`
pub const AVX_STATE64: Flavor = Flavor::new(17, 211);
/// `x86_AVX512_STATE64`. A processor without AVX-512 has no such state.
pub const AVX512_STATE64: Flavor = Flavor::new(20, 611);
/// `x86_THREAD_FULL_STATE64`: [`THREAD_STATE64`] and the rest of the segment registers. Only
/// processes with a local descriptor table have it.
pub const THREAD_FULL_STATE64: Flavor = Flavor::new(23, 50);

/// The registers of [`THREAD_STATE64`], 8 bytes each.
pub mod thread {
    pub const RAX: usize = 0;
    pub const RBX: usize = 8;
    pub const RCX: usize = 16;
    pub const RDX: usize = 24;
    pub const RDI: usize = 32;
    pub const RSI: usize = 40;
    pub const RBP: usize = 48;
    pub const RSP: usize = 56;
    /// `r8` to `r15` follow each other.
    pub const R8: usize = 64;
    pub const RIP: usize = 128;
    pub const RFLAGS: usize = 136;
    pub const CS: usize = 144;
    pub const FS: usize = 152;
    pub const GS: usize = 160;
    /// The rest is in [`super::THREAD_FULL_STATE64`].
    pub const DS: usize = 168;
    pub const ES: usize = 176;
    pub const SS: usize = 184;
    pub const GS_BASE: usize = 192;
}

/// [`FLOAT_STATE64`], and the beginning of the states with vectors.
pub mod float {
    /// An image as FXSAVE writes it, of 512 bytes, which begins with the control word of the
    /// x87.
    pub const FXSAVE: usize = 8;
    /// Size of that.
    pub const FXSAVE_BYTES: usize = 512;
    /// The tag word of that is the abridged one, of 8 bits.
    pub const FTW: usize = 12;
    pub const MXCSR: usize = 32;
    /// 8 registers at intervals of 16 bytes.
    pub const STMM0: usize = 40;
    /// 16 registers of 16 bytes.
    pub const XMM0: usize = 168;
}

/// The parts of [`AVX_STATE64`] and [`AVX512_STATE64`] that follow.
pub mod avx {
    /// The upper halves of `ymm0` to `ymm15`, 16 bytes each. XSAVE writes them 4 bytes nearer
    /// to the FXSAVE image than they are here.
    pub const YMM_HIGH: usize = 588;
    /// `k0` to `k7`, 8 bytes each.
    pub const K0: usize = 844;
    /// The upper halves of `zmm0` to `zmm15`, 32 bytes each.
    pub const ZMM_HIGH: usize = 908;
    /// `zmm16` to `zmm31`, 64 bytes each.
    pub const ZMM16: usize = 1420;
}

/// [`EXCEPTION_STATE64`]
pub mod exception {
    /// The vector of the last exception, 2 bytes.
    pub const TRAPNO: usize = 0;
    /// The processor's error code, 4 bytes.
    pub const ERR: usize = 4;
    /// The address of the last page fault, 8 bytes.
    pub const FAULT_ADDRESS: usize = 8;
}

/// [`DEBUG_STATE64`]: `dr0` to `dr7`, 8 bytes each.
pub mod debug {
    pub const DR0: usize = 0;
    pub const DR6: usize = 48;
    pub const DR7: usize = 56;
}
