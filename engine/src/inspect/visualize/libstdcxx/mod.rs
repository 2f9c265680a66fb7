//! The classes of GNU libstdc++, by the member names of its stable ABI.

pub mod declared;
mod iterators;
mod nodes;
pub(super) mod pointers;
mod rows;
mod vocabulary;

pub use rows::text_of_string;

use super::standard::{self, Classes, Library, exceptions, time};

macro_rules! classes {
    ($($names:expr => $view:expr,)*) => {
        /// All classes with views.
        pub static CLASSES: &[Classes] =
            &[$(Classes::new(Library::Libstdcxx, &$names, $view)),*];
    };
}

classes! {
    ["basic_string"] => rows::string,
    ["basic_string_view"] => rows::string_view,
    ["vector"] => rows::vector,
    ["array"] => rows::array,
    ["span"] => rows::span,
    // Compilers know this class by name, so libc++ has no inline namespace for it.
    ["initializer_list"] => standard::initializer_list,
    ["bitset"] => rows::bitset,
    ["deque"] => rows::deque,
    ["stack", "queue", "priority_queue"] => rows::adaptor,
    ["list"] => nodes::list,
    ["forward_list"] => nodes::forward_list,
    ["map", "multimap", "set", "multiset"] => nodes::tree,
    ["unordered_map", "unordered_multimap", "unordered_set", "unordered_multiset"] => nodes::table,
    ["optional"] => vocabulary::optional,
    ["expected"] => vocabulary::expected,
    ["source_location"] => vocabulary::source_location,
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
    ["shared_ptr", "__shared_ptr"] => pointers::shared,
    ["weak_ptr", "__weak_ptr"] => pointers::weak,
    ["reference_wrapper"] => pointers::reference_wrapper,
    // Neither has this one an inline namespace in libc++.
    ["__exception_ptr::exception_ptr", "exception_ptr"] => exceptions::pointer,
    exceptions::WITH_TEXT => exceptions::object,
    exceptions::WITHOUT_TEXT => exceptions::object,
    ["__normal_iterator"] => iterators::contiguous,
    ["reverse_iterator"] => standard::iterators::reverse,
    ["_Bit_iterator", "_Bit_const_iterator"] => standard::iterators::bit,
    ["_Bit_reference"] => standard::iterators::bit_reference,
    ["_Deque_iterator"] => iterators::deque,
    ["_List_iterator", "_List_const_iterator"] => iterators::list,
    ["_Fwd_list_iterator", "_Fwd_list_const_iterator"] => iterators::forward_list,
    ["_Rb_tree_iterator", "_Rb_tree_const_iterator"] => iterators::tree,
    ["__detail::_Node_iterator", "__detail::_Node_const_iterator"] => iterators::table,
}
