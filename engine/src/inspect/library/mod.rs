//! What the classes of C++'s and Rust's standard libraries contain, and their methods that are
//! answered by reading: by the type alone, so that an expression is checked before it is evaluated.
//!
//! To add a method, add a row to the table of its class (`cpp/`, `rust/`): name, parameters, type of
//! the result, and the function that reads it.

mod call;
mod compare;
mod contents;
mod cpp;
mod elements;
mod method;
mod number;
mod rust;
mod text;

pub use compare::{active as variant, compare};
#[allow(unused_imports, reason = "the types of the results below")]
pub use contents::Contents;
pub use contents::contents;
#[allow(unused_imports, reason = "the types of the results below")]
pub use method::Method;
pub use method::{function, is_comparison, method, names, truth};
pub use number::plain as referent;
