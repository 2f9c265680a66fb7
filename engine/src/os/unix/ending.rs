//! Requests to end: SIGTERM, SIGINT or SIGHUP, and the death of the front process
//! ([`super::front`]), which raises the first of these. A dedicated thread waits for them, so that
//! they take effect whatever the session thread does: it cancels what can be cancelled, and
//! otherwise ends the process.

use super::{Waker, front, own, start};
use crate::ids::Signal;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The signal that this process gets at the death of the front process.
pub const BY_FRONT: i32 = libc::SIGTERM;

/// Grace period for an orderly end of the session. Waiting for threads that do not stop and for a
/// client that does not read has shorter timeouts, which add up to less.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The first signal received; 0 for none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// When this process was first asked to end.
static ASKED: OnceLock<Instant> = OnceLock::new();

/// Whether the next SIGINT is for the debuggee.
static PASSES_INTERRUPT: AtomicBool = AtomicBool::new(false);
/// Whether a SIGINT for the debuggee was received.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether a SIGINT was received.
static WAS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets the first SIGINT be for the debuggee, as without a debugger: it does not request the end of this
/// process ([`take_interrupt`]); the second one does.
pub fn pass_first_interrupt() {
    PASSES_INTERRUPT.store(true, Ordering::Relaxed);
}

/// Returns whether a SIGINT for the debuggee was received since the last call.
pub fn take_interrupt() -> bool {
    INTERRUPTED.swap(false, Ordering::Relaxed)
}

/// Requests the end of this process by a SIGINT that was not for the debuggee: there is none.
pub fn end_by_interrupt() {
    RECEIVED.store(libc::SIGINT, Ordering::Relaxed);
}

/// Requests the end of this process as if it had received SIGTERM, once.
pub fn request_end() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: integers only.
    ONCE.call_once(|| unsafe {
        libc::kill(libc::getpid(), libc::SIGTERM);
    });
}

/// Returns the signal that requested the end of this process, if any.
pub fn end_signal() -> Option<Signal> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(Signal(signal)),
    }
}

/// Returns whether this process has received a SIGINT, for the debuggee or for itself.
pub fn was_interrupted() -> bool {
    WAS_INTERRUPTED.load(Ordering::Relaxed)
}

/// Ends this process by SIGINT: shells go on after a program that has handled the key, and not after one that it has
/// ended. To be called when nothing is left to do.
pub fn end_as_interrupted() -> ! {
    let interrupt = start::signal_set(&[libc::SIGINT]);
    // SAFETY: system calls on integers and a live set.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::kill(libc::getpid(), libc::SIGINT);
        libc::pthread_sigmask(
            libc::SIG_UNBLOCK,
            &raw const interrupt,
            std::ptr::null_mut(),
        );
        libc::_exit(128 + libc::SIGINT)
    }
}

/// Notes that this process was asked to end, by a signal or by its client: waits for threads are short from now on.
pub fn ask_to_end() {
    ASKED.get_or_init(Instant::now);
}

/// Returns when a wait for threads of the debuggee is over that lasts so long at most: within a second of a
/// request to end, so that the end of the session does not depend on the debuggee.
pub fn end_of_wait(began: Instant, most: Duration) -> Instant {
    end_of(began, most, asked().map(|asked| (asked, WAS_LATE.get())))
}

/// Notes that a wait for threads was over before they stopped. Returns whether the end was asked for: then the waits
/// that follow are shorter.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub fn note_late() -> bool {
    let is_asked = asked().is_some();
    WAS_LATE.set(is_asked);
    is_asked
}

/// `asked`: when the end was asked for, and whether a wait was over since.
fn end_of(began: Instant, most: Duration, asked: Option<(Instant, bool)>) -> Instant {
    /// How long a wait lasts from then on.
    const AT_END: Duration = Duration::from_secs(1);
    /// The same if a wait was over: many threads may not stop.
    const AFTER_THAT: Duration = Duration::from_millis(50);
    let end = asked.map(|(asked, was_late)| match was_late {
        true => began.max(asked) + AFTER_THAT,
        false => began.max(asked) + AT_END,
    });
    end.unwrap_or(began + most).min(began + most)
}

fn asked() -> Option<Instant> {
    ASKED_THREAD.get().or_else(|| ASKED.get().copied())
}

thread_local! {
    /// Whether a wait of this thread was over after the end was asked for.
    static WAS_LATE: Cell<bool> = const { Cell::new(false) };
    /// When this thread alone was asked to end: tests ask one, not the process with all others.
    static ASKED_THREAD: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Notes that this thread is to end.
#[cfg(test)]
pub fn ask_this_thread_to_end() {
    ASKED_THREAD.set(Some(Instant::now()));
}

/// Returns the signals that request the end. They are blocked in all threads.
pub fn signals() -> libc::sigset_t {
    start::signal_set(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP, front::INTERRUPT])
}

/// Returns those of them that count in this process.
fn awaited_signals() -> libc::sigset_t {
    let interrupt = front::front().map_or(libc::SIGINT, |_| front::INTERRUPT);
    start::signal_set(&[libc::SIGTERM, libc::SIGHUP, interrupt])
}

/// Starts the thread that waits for the signals and uses `waker` then. Once per process: all
/// backends share a waker.
pub fn start_listener(waker: &Waker) {
    static LISTENS: OnceLock<()> = OnceLock::new();
    // Without `prepare` the signals are not blocked, and end the process by default.
    if !start::is_prepared() {
        return;
    }
    LISTENS.get_or_init(|| {
        own::watch_front();
        let waker = waker.clone();
        let listener = thread::Builder::new().name("ending".to_owned());
        if let Err(error) = listener
            .stack_size(64 << 10)
            .spawn(move || await_signal(&waker))
        {
            tracing::warn!(%error, "cannot start the SIGTERM thread");
        }
    });
}

fn await_signal(waker: &Waker) {
    let signals = awaited_signals();
    let mut signal = 0;
    loop {
        // SAFETY: the set and the number are live.
        while unsafe { libc::sigwait(&raw const signals, &raw mut signal) } != 0 {}
        if signal == front::INTERRUPT {
            signal = libc::SIGINT;
        }
        if signal == libc::SIGINT {
            WAS_INTERRUPTED.store(true, Ordering::Relaxed);
        }
        if signal != libc::SIGINT || !PASSES_INTERRUPT.swap(false, Ordering::Relaxed) {
            break;
        }
        INTERRUPTED.store(true, Ordering::Relaxed);
        waker.wake();
    }
    ask_to_end();
    RECEIVED.store(signal, Ordering::Relaxed);
    waker.wake();
    thread::sleep(END_TIMEOUT);
    tracing::error!("the session does not end; exiting the process");
    // A launched debuggee dies with its tracer, an attached one is restored by the guardian.
    // SAFETY: ends all threads at once; nothing of this process is used afterwards.
    unsafe { libc::_exit(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_short_once_the_end_was_asked_for() {
        let began = Instant::now();
        let second = Duration::from_secs(1);
        let most = 60 * second;
        assert_eq!(end_of(began, most, None), began + most);
        let before = began - 9 * second;
        assert_eq!(end_of(began, most, Some((before, false))), began + second);
        let later = began + 9 * second;
        assert_eq!(end_of(began, most, Some((later, false))), later + second);
        let late = end_of(began, most, Some((before, true)));
        assert!(late > began && late < began + second);
        assert_eq!(
            end_of(began, second / 100, Some((later, false))),
            began + second / 100
        );
    }
}
