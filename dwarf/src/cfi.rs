//! stub
pub(crate) struct Cfi;
