//! The processor's clock that programs can read without a system call.

/// Returns the clock: x86-64's time stamp counter, aarch64's virtual count. All processors of a machine
/// have the same, as far as the kernel uses it itself.
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads a counter, and every processor of the set has it.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: the register is read, which user code may do.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        ticks
    }
}
