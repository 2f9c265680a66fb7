//! The debugger's own files: its log, and files and folders that are private to the user.

pub mod kind;
pub mod log;
pub mod output;
pub mod own_socket;
pub mod private;
pub mod recordings;
