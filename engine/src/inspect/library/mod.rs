//! What the classes of C++'s and Rust's standard libraries contain, and their methods that are
//! answered by reading: by the type alone, so that an expression is checked before it is evaluated.

mod contents;

pub use contents::{Contents, contents};
