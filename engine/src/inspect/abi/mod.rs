//! How functions pass and return values: the System V psABI, and what rustc does besides.

pub(crate) mod rustc_abi;
pub(crate) mod sysv;
