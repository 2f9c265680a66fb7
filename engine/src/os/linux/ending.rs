//! Being asked to end: by SIGTERM, SIGINT or SIGHUP, and by the death of the process in front
//! ([`super::front`]), which sends the first of these. A thread of its own waits for them, so that
//! they are heard whatever the session's thread does: what can be cancelled is, and what cannot
//! ends with the process.

use super::Waker;
use super::launch;
use crate::event::Signal;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::Duration;

/// The signal by which the kernel tells of the death of the process in front.
pub const BY_FRONT: i32 = libc::SIGTERM;

/// How long the session may take to end in order. Waiting for threads that do not stop and for a
/// client that does not read has bounds of its own, which add up to less.
const PATIENCE: Duration = Duration::from_secs(10);

/// The signal that came first; 0: none.
static ASKED: AtomicI32 = AtomicI32::new(0);

/// The signal by which this process was asked to end.
pub fn asked_to_end() -> Option<Signal> {
    match ASKED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(Signal(signal)),
    }
}

/// What asks us to end. Blocked in all threads.
pub fn signals() -> libc::sigset_t {
    launch::signal_set(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP])
}

/// Has `waker` used when one of the signals comes. Once a process: all backends share a waker.
pub fn listen(waker: &Waker) {
    static LISTENS: OnceLock<()> = OnceLock::new();
    // Without `prepare` the signals are not blocked, and end the process.
    if !launch::is_prepared() {
        return;
    }
    LISTENS.get_or_init(|| {
        let waker = waker.clone();
        let listener = thread::Builder::new().name("ending".to_owned());
        if let Err(error) = listener.stack_size(64 << 10).spawn(move || hear(&waker)) {
            tracing::warn!(%error, "no thread to hear SIGTERM with");
        }
    });
}

fn hear(waker: &Waker) {
    let signals = signals();
    let mut signal = 0;
    // SAFETY: the set and the number are live.
    while unsafe { libc::sigwait(&raw const signals, &raw mut signal) } != 0 {}
    ASKED.store(signal, Ordering::Relaxed);
    waker.wake();
    thread::sleep(PATIENCE);
    tracing::error!("the session does not end: the process does");
    // What was launched dies with the tracer, what was attached to is the guardian's.
    // SAFETY: ends all threads at once; nothing of ours is used afterwards.
    unsafe { libc::_exit(1) }
}
