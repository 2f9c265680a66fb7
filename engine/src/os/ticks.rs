//! The processor's clock that programs can read without a system call.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

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

/// Returns how many nanoseconds a tick takes, measured once: the first call may take as long as
/// [`MEASURED`].
pub fn nanoseconds_per_tick() -> f64 {
    /// Long enough for an error of less than 1 in 10,000.
    const MEASURED: Duration = Duration::from_millis(5);
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| {
        let (begun, from) = both_clocks();
        while begun.elapsed() < MEASURED {
            std::hint::spin_loop();
        }
        let (ended, to) = both_clocks();
        let elapsed = ended.duration_since(begun);
        elapsed.as_nanos() as f64 / to.saturating_sub(from).max(1) as f64
    })
}

/// Reads the system's clock and the processor's at one time. On a busy machine the thread may lose the
/// processor for milliseconds between two instructions, so the closest of some readings counts.
fn both_clocks() -> (Instant, u64) {
    const READINGS: usize = 8;
    let read = |_| {
        let before = Instant::now();
        let ticks = ticks();
        (before.elapsed(), (before, ticks))
    };
    let closest = (0..READINGS).map(read).min_by_key(|(apart, _)| *apart);
    closest.map_or_else(|| (Instant::now(), ticks()), |(_, both)| both)
}
