//! The images of the process: which are loaded, their names across units, and what each thread has of
//! its own in them.

pub(crate) mod body;
pub(crate) mod indexer;
pub(crate) mod modules;
pub(crate) mod tls;
