//! Requests to end: SIGTERM, SIGINT or SIGHUP, and the death of the front process
//! ([`super::front`]), which raises the first of these. A dedicated thread waits for them, so that
//! they take effect whatever the session thread does: it cancels what can be cancelled, and
//! otherwise ends the process.

use super::{Waker, front, own, start};
use crate::ids::Signal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

/// The signal that this process gets at the death of the front process.
pub const BY_FRONT: i32 = libc::SIGTERM;

/// Grace period for an orderly end of the session. Waiting for threads that do not stop and for a
/// client that does not read has shorter timeouts, which add up to less.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The first signal received; 0 for none.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Whether the next SIGINT is for the debuggee.
static PASSES_INTERRUPT: AtomicBool = AtomicBool::new(false);
/// Whether a SIGINT for the debuggee was received.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

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

/// Returns the signal that requested the end of this process, if any.
pub fn end_signal() -> Option<Signal> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(Signal(signal)),
    }
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
        if signal != libc::SIGINT || !PASSES_INTERRUPT.swap(false, Ordering::Relaxed) {
            break;
        }
        INTERRUPTED.store(true, Ordering::Relaxed);
        waker.wake();
    }
    RECEIVED.store(signal, Ordering::Relaxed);
    waker.wake();
    thread::sleep(END_TIMEOUT);
    tracing::error!("the session does not end; exiting the process");
    // A launched debuggee dies with its tracer, an attached one is restored by the guardian.
    // SAFETY: ends all threads at once; nothing of this process is used afterwards.
    unsafe { libc::_exit(1) }
}
