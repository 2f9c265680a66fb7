//! What decides at a stop: breakpoints, watchpoints, exceptions, signals and steps, and the events
//! that come of it. Nothing here touches the process.

pub mod breakpoint;
pub mod event;
pub mod exception;
pub(crate) mod fold;
pub(crate) mod origin;
pub mod past;
pub(crate) mod search_end;
pub mod step;
pub mod trace;
pub(crate) mod travel;
