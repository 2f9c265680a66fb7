//! The processor of a recorded program. `cpuid` and `rdpid` tell which one executes them, and start-up
//! code stores that: so the program, the recorder and the replays stay on one. The program is answered
//! what it would see without that, and the processes that it starts run on any.

use std::io;

/// Processors that a thread may run on, as the kernel has them: a bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Processors(Vec<u8>);

/// Room for 8192 processors, the most that the kernel supports.
const ROOM: usize = 1024;

impl Processors {
    /// Returns those of a thread (0: this one).
    ///
    /// # Errors
    /// The thread is gone.
    pub fn of(thread: i32) -> io::Result<Processors> {
        let mut bits = vec![0_u8; ROOM];
        // SAFETY: the kernel writes at most `ROOM` bytes, to a live buffer of that size.
        let len =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, thread, ROOM, bits.as_mut_ptr()) };
        if len < 0 {
            return Err(io::Error::last_os_error());
        }
        bits.truncate(len as usize);
        Ok(Processors(bits))
    }

    /// Returns the one that this thread is on.
    pub fn current() -> Processors {
        // SAFETY: the call takes no arguments.
        let number = usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0);
        let mut bits = vec![0_u8; ROOM];
        if let Some(byte) = bits.get_mut(number / 8) {
            *byte = 1 << (number % 8);
        }
        Processors(bits)
    }

    /// Returns only the one of a number, if it is one of these.
    pub fn only(&self, number: u32) -> Option<Processors> {
        let at = number as usize / 8;
        let bit = 1 << (number % 8);
        let mut bits = vec![0_u8; ROOM];
        (self.0.get(at)? & bit != 0).then_some(())?;
        *bits.get_mut(at)? = bit;
        Some(Processors(bits))
    }

    /// Lets a thread (0: this one) run on these. Does nothing if it is gone.
    pub fn set_for(&self, thread: i32) {
        // SAFETY: the kernel reads the buffer, which is live and has the given length.
        unsafe {
            libc::syscall(
                libc::SYS_sched_setaffinity,
                thread,
                self.0.len(),
                self.0.as_ptr(),
            )
        };
    }

    /// Returns their bits.
    pub fn bits(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_stays_on_one_processor_and_gets_all_back() {
        let before = Processors::of(0).expect("this thread");
        let one = Processors::current();
        one.set_for(0);
        let pinned = Processors::of(0).expect("this thread");
        assert_eq!(
            pinned.bits().iter().map(|it| it.count_ones()).sum::<u32>(),
            1
        );
        before.set_for(0);
        assert_eq!(Processors::of(0).expect("this thread"), before);
    }
}
