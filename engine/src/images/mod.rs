//! The images of the process: the loaded ones, their name indexes, and thread-local storage.
//! its own in them.

pub(crate) mod body;
pub(crate) mod indexer;
pub(crate) mod modules;
pub(crate) mod tls;
