//! The process where a recording ends, with all its threads. It never runs.

use super::super::super::copy::Copies;
use super::super::super::{ptrace, stop_wait};
use super::super::log::State;
use super::super::signals;
use super::super::threads::copied;
use super::super::tracee::Tracee;
use super::format::OpenError;
use super::image::Image;
use std::collections::BTreeMap;

/// The process, and its threads.
pub struct EndProcess {
    /// The thread that has the id of the process: the program's first one, unless that has exited before.
    pub first: Tracee,
    /// The threads of the program by their ids in it, with their states.
    pub threads: BTreeMap<i32, (Tracee, State)>,
    /// The id of the one that has run last.
    pub running: i32,
}

impl EndProcess {
    /// Makes the threads of an image in its process. `first`: the process; `process`: the id that the program's had.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn of(image: &Image, first: Tracee, process: i32) -> Result<EndProcess, OpenError> {
        // Those that are collected here if the others cannot be made.
        let made = Copies::default();
        match create(image, &first, process, &made) {
            Ok(threads) => Ok(EndProcess {
                first,
                threads,
                running: image.threads.first().map_or(process, |it| it.thread),
            }),
            Err(error) => {
                // SAFETY: integers only; the process is not collected yet.
                unsafe { libc::kill(first.pid, libc::SIGKILL) };
                stop_wait::collect(first.pid);
                Err(error)
            }
        }
    }
}

fn create(
    image: &Image,
    first: &Tracee,
    process: i32,
    made: &Copies,
) -> Result<BTreeMap<i32, (Tracee, State)>, OpenError> {
    let mut threads = BTreeMap::new();
    let mut of_first = None;
    for thread in &image.threads {
        let (state, mask) = match &thread.state {
            Some(state) => (&**state, thread.mask),
            None => (&image.thread, image.mask),
        };
        let tracee = match thread.thread == process {
            true => {
                of_first = Some((state, mask));
                first.sibling(first.pid)
            }
            false => copied::create(first, (state, mask), made)?,
        };
        threads.insert(thread.thread, (tracee, state.clone()));
    }
    // Last, since it has made the others.
    if let Some((state, mask)) = of_first {
        signals::restore(first.thread(), state);
        ptrace::set_blocked_signals(first.thread(), mask)?;
    }
    Ok(threads)
}
