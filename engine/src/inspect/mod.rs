//! Values, from a snapshot: nothing here runs the debuggee. Memory and registers are
//! read through traits.

pub(crate) mod abi;
pub(crate) mod captured;
pub mod dynamic_class;
pub mod inlined;
pub mod language;
pub mod library;
pub(crate) mod registers;
pub mod value;
pub mod visualize;
