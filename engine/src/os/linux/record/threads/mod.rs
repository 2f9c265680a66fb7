//! Threads of a recorded program: one runs at a time, so what a thread does between two events depends on
//! memory and registers alone, as in a program with one thread.
//!
//! Which one runs is decided by the `scheduler`, at random if that is asked for (`chaos`, `steps`). The order of the events in the log is the schedule: between two
//! events only the thread of the second one runs (`turns`). A thread that waits does so outside of the kernel: `futex`
//! answers futex(2), or the buffer's stub does by a table of the threads that wait (`noted`), in which they are
//! parked when they do so often (`parking`, `streak`); other calls are made when
//! they can return (`waits`, `files`). A thread that runs longer
//! than its slice is interrupted (`preempt`); the `place` is an event, with the memory that the
//! thread can `reach` there, which a replay finds again by a `search`: a `stub` planted at a `site` compares registers and memory at each passage. A snapshot has the
//! registers of all threads, which a replay creates anew (`copied`). Threads that are there where a recording begins,
//! make the calls again that they were in (`joined`); those that wait leave their calls for a moment where the process is
//! copied (`outside`).

mod births;
mod chaos;
pub mod copied;
pub mod files;
mod futex;
pub mod joined;
pub mod names;
mod noted;
pub mod outside;
pub mod parking;
pub mod place;
mod preempt;
mod reach;
mod scheduler;
pub mod search;
mod site;
mod steps;
mod streak;
mod stub;
pub mod thread;
pub mod turns;
mod waits;
