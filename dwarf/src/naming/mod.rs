//! Names: how entries are named ([`qualified_name`]), names that a user typed ([`query`]) with their
//! parameter lists ([`parameters`]), methods of Objective-C ([`objc`]), functions of Swift
//! ([`swift`]), and the keys of the name index (`key`).

mod arguments;
mod key;
mod objc;
pub(crate) mod parameters;
mod path;
mod qualified_name;
mod query;
mod simple_template_names;
mod swift;

pub(crate) use key::{Key, key, table_key};
pub(crate) use objc::MethodQuery;
pub(crate) use path::{component_matches, components, squeeze, without_arguments};
pub(crate) use qualified_name::MAX_NESTING;
pub use qualified_name::{Coroutine, nested_symbol};
pub(crate) use query::NameQuery;
pub use query::name_matches;
pub(crate) use swift::SwiftQuery;
