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
mod ranges;
mod rust;
mod sibling;
mod text;
mod written;

pub use compare::{Comparison, active as variant, compare, is_none, is_text, parts};
pub use contents::{Contents, contents};
pub use cpp::iterators::{comparable as are_iterators, is_contiguous_iterator};
pub use cpp::{MADE, PREPENDED, Part};
pub use elements::{MAX_EXAMINED, elements, entries, row};
pub use method::Method;
pub use method::referent as referent_type;
pub use method::{function, has, method, names, truth};
pub use number::{Wanted, number, number_kind};
pub use ranges::kind as range_kind;
pub use text::{is_narrow, text_of, unit_type};
pub use written::{
    held_place, is_assignable, is_atomic, is_never_zero, is_optional, is_string, optional_parts,
    overwritable, overwrite_text,
};
