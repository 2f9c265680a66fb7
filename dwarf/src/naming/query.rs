//! Names that a user typed, and which qualified names they match.

use crate::naming::SwiftQuery;
use crate::naming::key::{Key, key};
use crate::naming::parameters::Parameters;
use crate::naming::path::{
    component_matches, components, path_matches, split_as, squeeze, squeezed, strip_parameters,
    without_arguments,
};
use smallvec::SmallVec;

/// A parsed name that a user typed.
pub(crate) struct NameQuery {
    components: Vec<String>,
    parameters: Option<Parameters>,
}

/// Returns whether a function with that qualified name matches a name that a user typed: equal, or
/// a suffix by whole components, without regard to parameters. Names of Swift have components that dots
/// separate, and labels.
pub fn name_matches(qualified: &str, typed: &str) -> bool {
    let query = NameQuery::new(typed);
    !query.components.is_empty() && query.matches(qualified)
        || SwiftQuery::new(typed).is_some_and(|query| query.matches(qualified))
}

impl NameQuery {
    /// Parses a name: splits off the parameter list and strips `struct` and similar keywords.
    pub(crate) fn new(name: &str) -> NameQuery {
        let mut name = name.trim();
        for keyword in ["struct ", "class ", "union ", "enum "] {
            if let Some(rest) = name.strip_prefix(keyword) {
                name = rest.trim_start();
            }
        }
        let parameters = Parameters::typed(name);
        let name = strip_parameters(name);
        let name = name.strip_prefix("::").unwrap_or(name);
        let mut components = squeezed(name);
        // A demangled Rust symbol may include its hash.
        if components.len() > 1
            && components.last().is_some_and(|last| {
                last.len() == 17
                    && last.starts_with('h')
                    && last.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit())
            })
        {
            components.pop();
        }
        NameQuery {
            components,
            parameters,
        }
    }

    /// Returns the query without the words that begin relative paths of Rust: `crate::`, `self::`
    /// and `super::`.
    pub(crate) fn without_keywords_of_rust(mut self) -> NameQuery {
        let is_word = |part: &String| matches!(part.as_str(), "crate" | "self" | "super");
        let words = self.components.iter().take_while(|part| is_word(part));
        let words = words.count().min(self.components.len().saturating_sub(1));
        self.components.drain(..words);
        self
    }

    /// Returns the key of the last component in the name index.
    pub(crate) fn key(&self) -> Option<Key<'_>> {
        let last = self.components.last()?;
        Some(Key {
            base: self.base(),
            hash: key(last.as_bytes()),
        })
    }

    /// Returns the parameter list typed after the name.
    pub(crate) fn parameters(&self) -> Option<&Parameters> {
        self.parameters.as_ref()
    }

    /// Returns the last component without template or generic arguments.
    pub(crate) fn base(&self) -> &str {
        self.components
            .last()
            .map_or("", |last| without_arguments(last))
    }

    /// Returns whether the query is one component without arguments. The scopes around a name and the
    /// arguments of a template make no difference to it.
    pub(crate) fn is_bare(&self) -> bool {
        self.components.len() == 1 && self.components.first().is_some_and(|it| it == self.base())
    }

    /// Returns whether a qualified name that ends in `name` may match: false only if its last
    /// component does not. A template's name may lack its arguments
    /// (`-gsimple-template-names`).
    pub(crate) fn may_end(&self, name: &str) -> bool {
        let Some(wanted) = self.components.last() else {
            return false;
        };
        let last = squeeze(components(name).pop().unwrap_or(name));
        component_matches(wanted, &last) || last == self.base()
    }

    /// Returns the number of components.
    pub(crate) fn len(&self) -> usize {
        self.components.len()
    }

    /// Returns whether a qualified name equals the query, or ends in it by whole components.
    /// Arguments are compared only if the query has some.
    pub(crate) fn matches(&self, qualified: &str) -> bool {
        let qualified = components(strip_parameters(qualified));
        if path_matches(&self.components, &qualified) {
            return true;
        }
        // `<crate::Type as crate::Trait>::method` matches `Type::method` and `Trait::method`.
        let mut alternatives: SmallVec<[Vec<&str>; 2]> = SmallVec::new();
        if let Some((first, rest)) = qualified.split_first()
            && let Some(inner) = first.strip_prefix('<').and_then(|f| f.strip_suffix('>'))
        {
            let (ty, implemented) = split_as(inner);
            for part in [Some(ty), implemented].into_iter().flatten() {
                let mut all = components(part);
                all.extend(rest);
                alternatives.push(all);
            }
        }
        alternatives
            .iter()
            .any(|alternative| path_matches(&self.components, alternative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(query: &str, name: &str) -> bool {
        let found = NameQuery::new(query).matches(name);
        if found {
            assert_eq!(
                NameQuery::new(query).key().map(|key| key.hash),
                Some(key(components(name).pop().unwrap_or("").as_bytes())),
                "the index would not find {name} by {query}"
            );
        }
        found
    }

    #[test]
    fn suffixes_by_whole_components() {
        assert!(matches("method", "ns::Class::method"));
        assert!(matches("Class::method", "ns::Class::method"));
        assert!(matches("ns::Class::method", "ns::Class::method"));
        assert!(matches("::ns::Class::method", "ns::Class::method"));
        assert!(!matches("ass::method", "ns::Class::method"));
        assert!(!matches("ethod", "ns::Class::method"));
    }

    #[test]
    fn arguments_and_parameters_are_optional() {
        assert!(matches("f", "ns::f<int>"));
        assert!(matches("f<int>", "ns::f<int>"));
        assert!(!matches("f<long>", "ns::f<int>"));
        assert!(matches(
            "vector::push_back",
            "std::vector<int, std::allocator<int> >::push_back"
        ));
        assert!(matches("f(int, char const*)", "ns::f"));
        assert!(matches("f(std::function<void ()>) const", "ns::f"));
        assert!(matches("g<std::pair<int,int>>", "g<std::pair<int, int> >"));
    }

    #[test]
    fn integers_have_many_spellings() {
        assert!(matches("unsigned long", "long unsigned int"));
        assert!(matches("unsigned", "unsigned int"));
        assert!(matches("f<long>", "f<long int>"));
        assert!(matches("short", "short int"));
        assert!(!matches("long", "long unsigned int"));
    }

    #[test]
    fn names_that_cannot_match_are_known_by_their_end() {
        let query = NameQuery::new("std::vector<int>");
        assert!(query.may_end("vector<int>") && query.may_end("vector"));
        assert!(!query.may_end("vector<long>") && !query.may_end("vectors"));
        assert!(NameQuery::new("S::operator<<").may_end("operator<< <int>"));
    }

    #[test]
    fn operators() {
        assert!(matches("operator<", "S::operator<"));
        assert!(!matches("operator<", "S::operator<<"));
        assert!(matches("operator<<", "S::operator<< <int>"));
        assert!(matches("S::operator->", "ns::S::operator->"));
        assert!(matches("operator()", "S::operator()"));
        assert!(matches("operator()(int)", "S::operator()"));
        assert!(matches("operator bool", "S::operator bool"));
    }

    #[test]
    fn rust_paths() {
        assert!(matches(
            "Type::fmt",
            "<krate::Type as core::fmt::Display>::fmt"
        ));
        assert!(matches(
            "Display::fmt",
            "<krate::Type as core::fmt::Display>::fmt"
        ));
        assert!(matches(
            "<Type as Display>::fmt",
            "<krate::Type as core::fmt::Display>::fmt"
        ));
        assert!(matches(
            "<krate::Type as Display>::fmt",
            "<krate::Type as core::fmt::Display>::fmt"
        ));
        assert!(!matches(
            "<Type as Debug>::fmt",
            "<krate::Type as core::fmt::Display>::fmt"
        ));
        assert!(!matches(
            "<ype as Display>::fmt",
            "<krate::Type as core::fmt::Display>::fmt"
        ));
        assert!(matches(
            "<[u8] as Display>::fmt",
            "<[u8] as core::fmt::Display>::fmt"
        ));
        assert!(matches("largest::<i32>", "flow::largest<i32>"));
        assert!(matches("largest::<i32>", "flow::largest::<i32>"));
        assert!(matches("largest", "flow::largest::<i32>"));
        assert!(!matches("largest::<u8>", "flow::largest<i32>"));
        assert!(matches("Pair::<u8>::show", "flow::Pair<u8>::show"));
        assert!(matches(
            "f::<alloc::vec::Vec::<u8>>",
            "krate::f<alloc::vec::Vec<u8>>"
        ));
        assert!(matches("fmt", "fmt::<impl Debug for Type>::fmt"));
        assert!(matches("{closure#0}", "krate::main::{closure#0}"));
        assert!(matches("krate::f::h0123456789abcdef", "krate::f"));
        assert!(matches(
            "f<alloc::vec::Vec<u8>>",
            "krate::f<alloc::vec::Vec<u8>>"
        ));
        assert!(matches(
            "(anonymous namespace)::f",
            "ns::(anonymous namespace)::f"
        ));
    }
}
