//! Files of the debugger itself: its log, and files and folders for this user alone.

pub mod log;
pub mod private;
