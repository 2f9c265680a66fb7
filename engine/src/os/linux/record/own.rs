//! System calls that the recorder answers itself: one stop of the program instead of two.

use super::log::Written;
use nix::time::{ClockId, clock_gettime};

/// A system call whose answer is the same for the recorder as for the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// clock_gettime(2).
    Clock,
    /// gettimeofday(2).
    TimeOfDay,
    /// time(2).
    Time,
    /// getrandom(2).
    Random,
    /// getpid(2).
    Pid,
    /// gettid(2).
    Thread,
}

/// More random bytes than that are left to the kernel: the call may be interrupted.
const MOST_RANDOM: u64 = 256;
/// Clocks that all processes share: CLOCK_REALTIME, CLOCK_MONOTONIC and what is like them.
const SHARED: [u64; 6] = [0, 1, 4, 5, 6, 7];

/// Returns the result of a call and what it writes; `None` if the kernel has to make it. `pid`: that of
/// the program; `thread`: the id of the thread.
pub fn answer(
    call: Own,
    arguments: &[u64; 6],
    pid: i32,
    thread: i32,
) -> Option<(i64, Vec<Written>)> {
    let [first, second, third, ..] = *arguments;
    match call {
        Own::Clock => {
            let clock = SHARED
                .contains(&first)
                .then(|| ClockId::from_raw(first as i32));
            let time = clock_gettime(clock?).ok()?;
            Some((0, written(second, &[time.tv_sec(), time.tv_nsec()])?))
        }
        Own::TimeOfDay if second == 0 => {
            let time = clock_gettime(ClockId::CLOCK_REALTIME).ok()?;
            let words = [time.tv_sec(), time.tv_nsec() / 1000];
            Some((0, written(first, &words)?))
        }
        Own::Time if first == 0 => {
            // That of the last tick, as the kernel has it.
            let time = clock_gettime(ClockId::CLOCK_REALTIME_COARSE).ok()?;
            Some((time.tv_sec(), Vec::new()))
        }
        Own::Random if second <= MOST_RANDOM => {
            let mut bytes = vec![0_u8; second as usize];
            // SAFETY: the kernel writes at most this many bytes to a live buffer.
            let count = unsafe {
                libc::getrandom(
                    bytes.as_mut_ptr().cast(),
                    bytes.len(),
                    third as libc::c_uint,
                )
            };
            (count == bytes.len() as isize).then(|| (second as i64, vec![(first, bytes.into())]))
        }
        Own::Pid => Some((i64::from(pid), Vec::new())),
        Own::Thread => Some((i64::from(thread), Vec::new())),
        Own::TimeOfDay | Own::Time | Own::Random => None,
    }
}

fn written(addr: u64, words: &[i64; 2]) -> Option<Vec<Written>> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    (addr != 0).then(|| vec![(addr, bytes.into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_all_processes_share_is_answered() {
        let processor_time = libc::CLOCK_PROCESS_CPUTIME_ID as u64;
        assert!(answer(Own::Clock, &[processor_time, 64, 0, 0, 0, 0], 7, 8).is_none());
        assert!(
            answer(Own::Clock, &[0, 0, 0, 0, 0, 0], 7, 8).is_none(),
            "EFAULT"
        );
        assert!(answer(Own::Random, &[64, u64::MAX, 0, 0, 0, 0], 7, 8).is_none());
        assert_eq!(answer(Own::Pid, &[0; 6], 7, 8), Some((7, Vec::new())));
        let thread = answer(Own::Thread, &[0; 6], 7, 8);
        assert_eq!(thread, Some((8, Vec::new())));
        let (result, outputs) =
            answer(Own::Random, &[64, 5, 0, 0, 0, 0], 7, 8).expect("five bytes");
        assert_eq!((result, outputs[0].0, outputs[0].1.len()), (5, 64, 5));
    }

    #[test]
    fn time_has_the_layout_of_the_kernel() {
        let before = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("a time");
        let (_, outputs) = answer(Own::TimeOfDay, &[64, 0, 0, 0, 0, 0], 7, 8).expect("a time");
        let seconds = u64::from_le_bytes(outputs[0].1[..8].try_into().expect("a word"));
        let micros = u64::from_le_bytes(outputs[0].1[8..].try_into().expect("a word"));
        assert!((before.as_secs()..before.as_secs() + 60).contains(&seconds));
        assert!(micros < 1_000_000);
    }
}
