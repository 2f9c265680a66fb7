//! Methods of the C++ libraries' classes: those that only read. Both libraries have the same ones,
//! as the standard defines them.

mod containers;
pub(super) mod iterators;
mod owners;
mod parts;
mod segments;
mod streams;
mod strings;
mod values;

pub use parts::Part;
pub(super) use strings::is_piece;
pub use strings::{MADE, PREPENDED};

use super::method::Row;

/// Returns the tables of a class's methods.
pub(super) fn tables(class: &str) -> Vec<&'static [Row]> {
    match class {
        "basic_string" => vec![
            strings::OWNED,
            strings::COMMON,
            containers::ROW,
            iterators::ENDS,
        ],
        "basic_string_view" => vec![
            strings::VIEW,
            strings::COMMON,
            containers::ROW,
            iterators::ENDS,
        ],
        "vector" => vec![containers::VECTOR, containers::ROW, iterators::ENDS],
        "array" => vec![containers::ROW, iterators::ENDS],
        "span" => vec![containers::SPAN, containers::ROW],
        "initializer_list" => vec![containers::COUNTED],
        "deque" => vec![containers::INDEXED, containers::ENDS, containers::COUNTED],
        "list" => vec![containers::ENDS, containers::COUNTED, iterators::ENDS],
        "forward_list" => vec![containers::FORWARD, iterators::ENDS],
        "stack" | "priority_queue" => vec![containers::TOP, containers::COUNTED],
        "queue" => vec![containers::QUEUE, containers::COUNTED],
        "map" | "unordered_map" => vec![
            containers::MAP,
            containers::KEYS,
            containers::COUNTED,
            iterators::ENDS,
        ],
        "multimap" | "unordered_multimap" | "set" | "multiset" | "unordered_set"
        | "unordered_multiset" => vec![containers::KEYS, containers::COUNTED, iterators::ENDS],
        "bitset" => vec![values::BITS],
        "optional" => vec![values::OPTIONAL, values::HELD],
        "expected" => vec![values::EXPECTED, values::OPTIONAL, values::HELD],
        "variant" => vec![values::VARIANT],
        "any" | "function" => vec![values::ERASED],
        "complex" => vec![values::COMPLEX],
        "atomic" | "__atomic_base" => vec![values::ATOMIC],
        "chrono::duration" => vec![values::DURATION],
        "chrono::time_point" => vec![values::TIME_POINT],
        "filesystem::path" => vec![strings::PATH],
        "unique_ptr" => vec![owners::OWNER],
        "shared_ptr" | "__shared_ptr" => vec![owners::COUNTS, owners::OWNER],
        "weak_ptr" | "__weak_ptr" => vec![owners::WEAK, owners::COUNTS],
        "reference_wrapper" => vec![owners::REFERENCE],
        "__normal_iterator" | "__wrap_iter" => vec![iterators::CONTIGUOUS, values::HELD],
        "_Deque_iterator" => vec![segments::DEQUE, values::HELD],
        "_Bit_iterator" | "_Bit_const_iterator" | "__bit_iterator" => {
            vec![segments::BITS, values::HELD]
        }
        name if streams::is_stream(name) => vec![streams::STREAM],
        _ => vec![values::HELD],
    }
}
