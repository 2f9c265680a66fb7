//! A timer that can be polled, for systems without timers that are descriptors.

use super::waker::nonblocking_pipe;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A timer that can be polled: its descriptor is readable once it has expired, until 8 bytes are
/// read of it.
///
/// The descriptor is the end of a pipe, which a thread writes to. A queue with a timer (kqueue) is
/// no such descriptor: nothing can be read of it.
#[derive(Debug)]
pub struct Alarm {
    read: File,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    order: Mutex<Order>,
    changed: Condvar,
}

/// What the thread is to do.
#[derive(Clone, Copy, Debug, Default)]
enum Order {
    #[default]
    Wait,
    ExpireAt(Instant),
    End,
}

impl Shared {
    fn order(&self) -> MutexGuard<'_, Order> {
        // The lock is never held where something may panic.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn give(&self, order: Order) {
        *self.order() = order;
        self.changed.notify_one();
    }

    /// The thread's work: writes once at each time that is set.
    fn keep_time(&self, mut write: File) {
        let mut order = self.order();
        loop {
            order = match *order {
                Order::End => return,
                Order::Wait => self
                    .changed
                    .wait(order)
                    .unwrap_or_else(PoisonError::into_inner),
                Order::ExpireAt(time) => {
                    let left = time.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        *order = Order::Wait;
                        // A pipe that is full is readable.
                        let _ = write.write(&1_u64.to_ne_bytes());
                        continue;
                    }
                    let waited = self.changed.wait_timeout(order, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Alarm {
    /// An alarm that is not set. Reading it never blocks.
    ///
    /// # Errors
    /// The system has no descriptors or threads left.
    pub fn new() -> io::Result<Self> {
        let (read, write) = nonblocking_pipe()?;
        let shared = Arc::new(Shared::default());
        let keeper = shared.clone();
        thread::Builder::new()
            .name("alarm".to_owned())
            .stack_size(64 << 10)
            .spawn(move || keeper.keep_time(write))?;
        Ok(Self { read, shared })
    }

    /// Lets it expire once, after this time.
    ///
    /// # Errors
    /// The time is one of centuries.
    pub fn set(&self, after: Duration) -> io::Result<()> {
        let time = Instant::now().checked_add(after);
        let time = time.ok_or(io::ErrorKind::InvalidInput)?;
        self.shared.give(Order::ExpireAt(time));
        Ok(())
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.give(Order::End);
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::io::Read;

    fn expires(alarm: &Alarm, within: PollTimeout) -> bool {
        let mut polled = [PollFd::new(alarm.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, within).unwrap() > 0
    }

    #[test]
    fn alarms_expire_once_each_time_they_are_set() {
        let alarm = Alarm::new().unwrap();
        assert!(!expires(&alarm, PollTimeout::ZERO));
        for after in [Duration::from_millis(5), Duration::ZERO] {
            let set = Instant::now();
            alarm.set(after).unwrap();
            assert!(expires(&alarm, PollTimeout::NONE));
            assert!(set.elapsed() >= after);
            assert_eq!((&alarm.read).read(&mut [0; 8]).unwrap(), 8);
            assert!(!expires(&alarm, PollTimeout::ZERO));
        }
        // A later time replaces an earlier one.
        alarm.set(Duration::from_secs(3600)).unwrap();
        alarm.set(Duration::ZERO).unwrap();
        assert!(expires(&alarm, PollTimeout::NONE));
        alarm.set(Duration::MAX).unwrap_err();
    }

    #[test]
    fn an_alarm_that_is_dropped_ends_its_thread() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::from_secs(3600)).unwrap();
        let read = alarm.read.try_clone().unwrap();
        drop(alarm);
        // The thread has the only end for writing.
        let mut polled = [PollFd::new(read.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut polled, PollTimeout::NONE).unwrap(), 1);
        assert_eq!((&read).read(&mut [0; 8]).unwrap(), 0);
    }
}
