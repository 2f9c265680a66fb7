//! The threads that read debug info in parallel.

use rayon::ThreadPoolBuilder;
use std::io;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Starts the threads that read debug info: one for each processor, or as many as the system allows.
/// Without this call they start by themselves, and a program that may not have as many panics.
/// Later calls have no effect.
///
/// # Errors
/// Not even one can be started.
pub fn start_threads() -> io::Result<()> {
    let wanted = thread::available_parallelism().map_or(1, Into::into);
    let (sender, work) = mpsc::channel::<rayon::ThreadBuilder>();
    let work = Arc::new(Mutex::new(work));
    let started = start(wanted, || {
        let work = Arc::clone(&work);
        let run = move || {
            let worker = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
            // There is none if the pool exists already.
            if let Ok(worker) = worker {
                worker.run();
            }
        };
        let builder = thread::Builder::new().name("debug info".to_owned());
        builder.spawn(run).map(drop)
    })?;
    let pool = ThreadPoolBuilder::new().num_threads(started);
    let give = |worker| {
        sender
            .send(worker)
            .map_err(|_| io::Error::other("the thread has ended"))
    };
    let pool = pool.spawn_handler(give);
    if let Err(error) = pool.build_global() {
        tracing::debug!(%error, "the threads that read debug info are there already");
    }
    Ok(())
}

/// Calls `one` up to `wanted` times, until it fails. Returns how often it has succeeded, or the error
/// if it never has.
fn start(wanted: usize, one: impl Fn() -> io::Result<()>) -> io::Result<usize> {
    for started in 0..wanted {
        match one() {
            Ok(()) => {}
            Err(error) if started == 0 => return Err(error),
            Err(error) => {
                tracing::warn!(started, wanted, %error, "few threads read debug info");
                return Ok(started);
            }
        }
    }
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;
    use std::cell::Cell;

    #[test]
    fn as_many_start_as_are_allowed() {
        let allowed = |allowed: usize| {
            let calls = Cell::new(0);
            start(4, || {
                calls.set(calls.get() + 1);
                match calls.get() <= allowed {
                    true => Ok(()),
                    false => Err(io::ErrorKind::WouldBlock.into()),
                }
            })
        };
        assert_eq!(allowed(9).unwrap(), 4);
        assert_eq!(allowed(3).unwrap(), 3);
        assert_eq!(allowed(0).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn work_is_done_after_any_number_of_starts() {
        for _ in 0..2 {
            start_threads().unwrap();
            assert_eq!((0..100).into_par_iter().sum::<i32>(), 4950);
        }
    }
}
