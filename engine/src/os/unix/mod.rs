//! What POSIX has, for all systems here. What differs is a function of the system's `own` module:
//! `os/linux/own.rs`, `os/darwin/host/own.rs`.

#[cfg(any(target_os = "macos", test))]
#[cfg_attr(not(target_os = "macos"), allow(dead_code))]
pub mod alarm;
pub mod ending;
pub mod front;
pub mod output;
pub mod shared;
mod sigbus;
pub mod start;
pub mod stdio;
pub mod waker;

pub use ending::{
    ask_to_end, end_as_interrupted, end_by_interrupt, end_of_wait, end_signal,
    pass_first_interrupt, request_end, take_interrupt, was_interrupted,
};
pub use front::{ProcessGroup, run_behind_front};
pub use shared::Shared;
pub use start::{Launcher, prepare};
pub use stdio::OpenStdio;
pub use waker::Waker;

use super::platform::own;
use crate::ids::error::Error;
use std::io;

/// Returns the error of a system call.
pub fn os_error(call: &'static str, error: &io::Error) -> Error {
    Error::Os {
        call,
        errno: error.raw_os_error().unwrap_or(0),
        message: error.to_string(),
    }
}
