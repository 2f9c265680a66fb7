//! The classes of LLVM's libc++. Names of members differ between versions: each is looked up under
//! all its names.

mod iterators;
mod nodes;
pub(super) mod pointers;
mod rows;
mod vocabulary;

pub use rows::{capacity_of_string, length_of_string};

use super::standard::{self, Classes, Library, exceptions, time};
use crate::ids::error::Error;
use crate::inspect::value::{Target, Value, members};

macro_rules! classes {
    ($($names:expr => $view:expr,)*) => {
        /// All classes with views.
        pub static CLASSES: &[Classes] =
            &[$(Classes::new(Library::Libcxx, &$names, $view)),*];
    };
}

classes! {
    ["basic_string"] => rows::string,
    ["basic_string_view"] => rows::string_view,
    ["vector"] => rows::vector,
    ["array"] => rows::array,
    ["span"] => rows::span,
    ["bitset"] => rows::bitset,
    ["deque"] => rows::deque,
    ["stack", "queue", "priority_queue"] => rows::adaptor,
    ["list"] => nodes::list,
    ["forward_list"] => nodes::forward_list,
    ["map", "multimap", "set", "multiset"] => nodes::tree,
    ["unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset"] => nodes::table,
    ["optional"] => vocabulary::optional,
    ["expected"] => vocabulary::expected,
    ["mutex", "recursive_mutex", "timed_mutex", "recursive_timed_mutex"] => standard::mutex,
    ["variant"] => vocabulary::variant,
    ["any"] => vocabulary::any,
    ["tuple"] => vocabulary::tuple,
    ["complex"] => vocabulary::complex,
    ["atomic", "__atomic_base"] => vocabulary::atomic,
    ["function"] => vocabulary::function,
    ["filesystem::path"] => vocabulary::path,
    ["chrono::duration"] => time::duration,
    ["chrono::time_point"] => time::time_point,
    ["unique_ptr"] => pointers::unique,
    ["shared_ptr"] => pointers::shared,
    ["weak_ptr"] => pointers::weak,
    ["reference_wrapper"] => pointers::reference_wrapper,
    ["__wrap_iter"] => iterators::contiguous,
    ["reverse_iterator"] => standard::iterators::reverse,
    ["__bit_iterator"] => standard::iterators::bit,
    ["__bit_reference", "__bit_const_reference"] => standard::iterators::bit_reference,
    ["__deque_iterator"] => iterators::deque,
    ["__list_iterator", "__list_const_iterator"] => iterators::list,
    ["__forward_list_iterator", "__forward_list_const_iterator"] => iterators::forward_list,
    ["__tree_iterator", "__tree_const_iterator"] => iterators::tree,
    ["__hash_iterator", "__hash_const_iterator"] => iterators::table,
    ["__map_iterator", "__map_const_iterator", "__hash_map_iterator", "__hash_map_const_iterator"] => iterators::of_map,
    exceptions::WITH_TEXT => exceptions::object,
    exceptions::WITHOUT_TEXT => exceptions::object,
}

/// Returns the first element of a `__compressed_pair`, whose second one is empty, or the value
/// itself if it is not a pair.
pub(crate) fn first(target: &dyn Target, value: Value) -> Result<Value, Error> {
    Ok(members::find(target, &value, "__value_")?.unwrap_or(value))
}
