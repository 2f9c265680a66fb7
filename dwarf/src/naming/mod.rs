//! Qualified names of entries, and matching them with a name that a user typed.

pub(crate) mod parameters;
mod simple_template_names;

use crate::entries::units::{Entry, MAX_HOPS, MAX_NAME, Unit};
use crate::file::demangle::demangle;
use crate::file::demangle::{cpp_function_name, rust_path};
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::naming::parameters::Parameters;
use crate::naming::simple_template_names::ArgumentBudget;
use smallvec::SmallVec;
use std::borrow::Cow;

/// The kinds of coroutines: their bodies are functions that are called again to continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coroutine {
    /// The body of an `async fn`.
    AsyncFn,
    /// An `async` block, a generator, and other coroutines of rustc.
    Block,
}

/// rustc's name for the bodies of `async fn`s.
const ASYNC_FN: &str = "{async_fn#";

/// Maximum nesting of names; more is a cycle.
const MAX_NESTING: usize = 48;

/// A symbol's path names any coroutine a closure. Returns the path with the body's own name
/// instead.
fn with_coroutine_name(path: String, name: &str) -> String {
    match path.rsplit_once("::") {
        Some((outer, "{{closure}}")) => format!("{outer}::{name}"),
        Some((outer, own)) if own.starts_with("{closure#") => format!("{outer}::{name}"),
        _ => path,
    }
}

impl DebugInfo {
    /// Returns the qualified name of a function, type or variable; empty for unnamed ones.
    pub(crate) fn qualified_name(&self, die: DieRef) -> String {
        let Ok((unit, entry)) = self.entry(die) else {
            return String::new();
        };
        self.qualified_name_of(unit, &entry)
    }

    /// Like `qualified_name`, for an entry that is already read.
    pub(crate) fn qualified_name_of(&self, unit: &Unit, entry: &Entry) -> String {
        let mut name = String::new();
        self.write_name(unit, entry, None, 0, &ArgumentBudget::default(), &mut name);
        // rustc names the namespace of an implementation `{impl#0}`; the symbol has its type and
        // trait.
        if unit.language == Language::Rust
            && name.contains("{impl#")
            && let Some(symbol) = self.linkage_name(unit, entry)
            && let Some(path) = rust_path(symbol)
        {
            return match self.coroutine_name(unit, entry) {
                Some(name) => with_coroutine_name(path, name),
                None => path,
            };
        }
        // A class without a name in the debug info may have one in the symbol.
        if unit.language == Language::Cpp
            && (name.contains("(anonymous struct)::") || name.contains("(anonymous class)::"))
            && let Some(symbol) = self.linkage_name(unit, entry)
            && let Some(path) = cpp_function_name(symbol)
        {
            return path;
        }
        // clang gives the initializer of a file's globals a symbol but no name.
        if name.is_empty()
            && let Some(symbol) = self.linkage_name(unit, entry)
        {
            return demangle(symbol).into_owned();
        }
        name
    }

    /// Returns the kind of coroutine that a function is the body of.
    pub(crate) fn coroutine(&self, unit: &Unit, entry: &Entry) -> Option<Coroutine> {
        let name = self.coroutine_name(unit, entry)?;
        Some(match name.starts_with(ASYNC_FN) {
            true => Coroutine::AsyncFn,
            false => Coroutine::Block,
        })
    }

    /// Returns rustc's own name for the body of a coroutine: `{async_fn#0}`, `{async_block#1}<u8>`.
    fn coroutine_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static str> {
        if unit.language != Language::Rust {
            return None;
        }
        let name = self.inherited_string(unit, entry, gimli::DW_AT_name)?;
        let name = std::str::from_utf8(name).ok()?;
        let kinds = [ASYNC_FN, "{async_", "{gen_", "{coroutine#", "{generator#"];
        kinds
            .iter()
            .any(|kind| name.starts_with(kind))
            .then_some(name)
    }

    /// Returns the mangled name, if the compiler recorded it.
    pub(crate) fn linkage_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static str> {
        let name = self
            .inherited_string(unit, entry, gimli::DW_AT_linkage_name)
            .or_else(|| self.inherited_string(unit, entry, gimli::DW_AT_MIPS_linkage_name))?;
        std::str::from_utf8(name).ok()
    }

    /// Returns the enclosing namespaces and classes of an entry; empty if there are none.
    pub(crate) fn enclosing_name(&self, unit: &Unit, entry: &Entry) -> String {
        let mut name = String::new();
        if unit.language != Language::C
            && let Some(parent) = self.parent(self.root_of(unit, entry))
            && let Ok((unit, entry)) = self.entry(parent)
            && entry.tag() != gimli::DW_TAG_subprogram
        {
            self.write_name(unit, &entry, None, 0, &ArgumentBudget::default(), &mut name);
        }
        name
    }

    fn root_of(&self, unit: &Unit, entry: &Entry) -> DieRef {
        match self.origin(unit, entry) {
            Some(origin) => self.root_origin(origin),
            None => unit.die(entry.offset()),
        }
    }

    /// Appends the qualified name of `entry`. `member` is the name of the member that is being
    /// qualified.
    pub(crate) fn write_name(
        &self,
        unit: &Unit,
        entry: &Entry,
        member: Option<&[u8]>,
        depth: usize,
        told: &ArgumentBudget,
        out: &mut String,
    ) {
        if depth > MAX_NESTING {
            return;
        }
        // Take the first name on the chain to the declaration. The declaration's position
        // determines the enclosing scopes.
        let mut name = self.own_name(unit, entry);
        let mut place = unit.die(entry.offset());
        let mut language = unit.language;
        let tag = entry.tag();
        let mut next = self.origin(unit, entry);
        for _ in 0..MAX_HOPS {
            let Some((unit, entry)) = next.and_then(|next| self.entry(next).ok()) else {
                break;
            };
            name = name.or_else(|| self.own_name(unit, &entry));
            place = unit.die(entry.offset());
            language = unit.language;
            next = self.origin(unit, &entry);
        }
        let anonymous = match tag {
            // The class of a lambda.
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type
                if member == Some(b"operator()") =>
            {
                "{lambda}"
            }
            gimli::DW_TAG_namespace => "(anonymous namespace)",
            gimli::DW_TAG_structure_type => "(anonymous struct)",
            gimli::DW_TAG_class_type => "(anonymous class)",
            gimli::DW_TAG_union_type => "(anonymous union)",
            gimli::DW_TAG_enumeration_type => "(anonymous enum)",
            _ => "(anonymous)",
        };
        if depth == 0 && name.is_none() && tag != gimli::DW_TAG_namespace {
            return;
        }
        if language != Language::C
            && let Some(parent) = self.parent(place)
            && let Ok((unit, entry)) = self.entry(parent)
        {
            self.write_name(unit, &entry, name, depth + 1, told, out);
            if !out.is_empty() {
                out.push_str("::");
            }
        }
        if out.len() < MAX_NAME {
            match name {
                Some(name) => {
                    out.push_str(&String::from_utf8_lossy(name));
                    self.write_arguments(unit, entry, name, depth, told, out);
                }
                None => out.push_str(anonymous),
            }
        }
    }

    /// Returns `DW_AT_name` of an entry itself.
    pub(crate) fn own_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static [u8]> {
        let name = self.string(unit, entry.attr_value(gimli::DW_AT_name)?)?;
        (!name.is_empty()).then_some(name)
    }
}

/// A parsed name that a user typed.
pub(crate) struct NameQuery {
    components: Vec<String>,
    parameters: Option<Parameters>,
}

/// The key of a name in the name index.
#[derive(Clone, Copy)]
pub(crate) struct Key<'a> {
    /// The last component without arguments, as in the debug info.
    pub(crate) base: &'a str,
    /// Its hash.
    pub(crate) hash: u32,
}

impl<'a> Key<'a> {
    /// Returns the key of a name that has neither path nor arguments.
    pub(crate) fn of(base: &'a str) -> Key<'a> {
        Key {
            base,
            hash: key(base.as_bytes()),
        }
    }
}

/// Returns whether a function with that qualified name matches a name that a user typed: equal, or
/// a suffix by whole components, without regard to parameters.
pub fn answers_to(qualified: &str, typed: &str) -> bool {
    let query = NameQuery::new(typed);
    !query.components.is_empty() && query.matches(qualified)
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
        let mut components: Vec<String> = components(name).into_iter().map(squeeze).collect();
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

    /// Returns the query for a path without parameters.
    fn path(path: &str) -> NameQuery {
        NameQuery {
            components: components(path).into_iter().map(squeeze).collect(),
            parameters: None,
        }
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

    /// Returns whether a qualified name equals the query, or ends in it by whole components.
    /// Arguments are compared only if the query has some.
    pub(crate) fn matches(&self, qualified: &str) -> bool {
        let qualified = components(strip_parameters(qualified));
        if self.matches_components(&qualified) {
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
            .any(|alternative| self.matches_components(alternative))
    }

    fn matches_components(&self, qualified: &[&str]) -> bool {
        self.components.len() <= qualified.len()
            && self
                .components
                .iter()
                .rev()
                .zip(qualified.iter().rev())
                .all(|(wanted, found)| component_matches(wanted, &squeeze(found)))
    }
}

/// Returns whether a squeezed component matches the typed one. Arguments are compared only if they
/// were typed, and in `<Type as Trait>` leading components of both paths may be omitted.
pub(crate) fn component_matches(wanted: &str, found: &str) -> bool {
    if wanted == found {
        return true;
    }
    if wanted == without_arguments(found) {
        return without_arguments(wanted).len() == wanted.len();
    }
    let inner = |component| -> Option<(NameQuery, NameQuery)> {
        let (ty, implemented) = implementation(component)?;
        Some((NameQuery::path(ty), NameQuery::path(implemented)))
    };
    match (inner(wanted), implementation(found)) {
        (Some((ty, implemented)), Some((found_type, found_trait))) => {
            ty.matches_components(&components(found_type))
                && implemented.matches_components(&components(found_trait))
        }
        _ => false,
    }
}

/// Returns the type and the trait of `<Type as Trait>`.
fn implementation(component: &str) -> Option<(&str, &str)> {
    let inner = component.strip_prefix('<')?.strip_suffix('>')?;
    let (ty, implemented) = split_as(inner);
    Some((ty, implemented?))
}

/// Computes the key of a name in the name index: the hash of its last component without arguments.
pub(crate) fn key(name: &[u8]) -> u32 {
    use std::hash::Hasher;
    let hash = |name: &[u8]| {
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(name);
        let hash = hasher.finish();
        (hash ^ (hash >> 32)) as u32
    };
    // Nearly all names are plain.
    let plain = |byte: &u8| !matches!(byte, b'<' | b':' | b'(' | b' ');
    let Some(special) = name.iter().position(|byte| !plain(byte)) else {
        return hash(name);
    };
    // Most of the others are a plain name with arguments.
    if let Some((bare, arguments)) = name.split_at_checked(special)
        && bare
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        && !bare.is_empty()
        && bare != b"operator"
        && are_arguments(arguments)
    {
        return hash(bare);
    }
    let Ok(name) = std::str::from_utf8(name) else {
        return hash(name);
    };
    let last = components(name).pop().unwrap_or(name);
    hash(squeeze(without_arguments(last)).as_bytes())
}

/// Returns whether all of this is the argument list of one name, not followed by a path.
fn are_arguments(bytes: &[u8]) -> bool {
    let mut depth = 0usize;
    let mut before = 0;
    for byte in bytes {
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'>' if before == b'-' => {}
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => return false,
            _ => {}
        }
        before = *byte;
    }
    bytes.first() == Some(&b'<') && bytes.last() == Some(&b'>')
}

/// Computes the key of a qualified name that may have parameters, as in `.gdb_index`.
pub(crate) fn table_key(name: &str) -> u32 {
    key(strip_parameters(name).as_bytes())
}

/// Splits `Type as Trait` at the top level.
fn split_as(inner: &str) -> (&str, Option<&str>) {
    let mut depth = 0usize;
    for (index, byte) in inner.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'[' => depth += 1,
            b'>' | b')' | b']' => depth = depth.saturating_sub(1),
            b' ' if depth == 0 && inner.get(index..index + 4) == Some(" as ") => {
                return (inner.get(..index).unwrap_or(inner), inner.get(index + 4..));
            }
            _ => {}
        }
    }
    (inner, None)
}

/// Splits a qualified name at each `::` outside brackets.
pub(crate) fn components(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    let mut index = 0;
    let mut depth = 0usize;
    while let Some(byte) = bytes.get(index) {
        if depth == 0 && starts_operator(bytes, start, index) {
            // The symbols of an operator are not brackets: skip to the end of its name.
            index += operator_length(bytes.get(index..).unwrap_or(b""));
            continue;
        }
        match byte {
            b'<' | b'(' | b'[' | b'{' => depth += 1,
            b'-' if bytes.get(index + 1) == Some(&b'>') => index += 1,
            b'>' | b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b':' if depth == 0
                && bytes.get(index + 1) == Some(&b':')
                && !is_turbofish(bytes, start, index) =>
            {
                parts.extend(name.get(start..index));
                start = index + 2;
                index += 1;
            }
            _ => {}
        }
        index += 1;
    }
    parts.extend(name.get(start..));
    parts
}

/// Returns whether the `::` at `index` is between a name and its arguments (`largest::<i32>`). An
/// implementation's type is in brackets, too (`fmt::<impl Debug for Type>::fmt`).
fn is_turbofish(bytes: &[u8], start: usize, index: usize) -> bool {
    let behind = bytes.get(index + 2..).unwrap_or(b"");
    index > start && behind.starts_with(b"<") && !behind.starts_with(b"<impl ")
}

/// Returns whether the component that starts at `start` has the keyword `operator` at `index`.
fn starts_operator(bytes: &[u8], start: usize, index: usize) -> bool {
    index == start
        && bytes.get(index..).is_some_and(|rest| {
            rest.starts_with(b"operator")
                && rest
                    .get(8)
                    .is_some_and(|next| !next.is_ascii_alphanumeric() && *next != b'_')
        })
}

/// Returns the length of `operator` and its symbols (`operator<<`, `operator()`, `operator->*`).
fn operator_length(name: &[u8]) -> usize {
    let symbols = name.get(8..).unwrap_or(b"");
    for long in [
        &b"<=>"[..],
        b"->*",
        b"<<=",
        b">>=",
        b"()",
        b"[]",
        b"<<",
        b">>",
        b"<=",
        b">=",
        b"->",
    ] {
        if symbols.starts_with(long) {
            return 8 + long.len();
        }
    }
    match symbols.first() {
        Some(b'<' | b'>') => 9,
        _ => 8,
    }
}

/// Returns a component without its template or generic arguments (`vector<int>`, `f::<T>`).
fn without_arguments(component: &str) -> &str {
    let bytes = component.as_bytes();
    let skip = if starts_operator(bytes, 0, 0) {
        operator_length(bytes)
    } else {
        0
    };
    // Names that start with a bracket are types (`<T as U>`, `&[T]`), not names with arguments.
    match bytes
        .iter()
        .skip(skip)
        .position(|byte| *byte == b'<')
        .map(|at| at + skip)
    {
        Some(at) if at > 0 && component.ends_with('>') => {
            let name = component.get(..at).unwrap_or(component).trim_end();
            name.strip_suffix("::").unwrap_or(name)
        }
        _ => component,
    }
}

/// Strips the parameter list off `f(int) const`; keeps `operator()` and `(anonymous namespace)`.
fn strip_parameters(name: &str) -> &str {
    let trimmed = name.trim_end();
    parameter_list(trimmed).map_or(trimmed, |(name, _)| name)
}

/// Splits a name from the contents of its parameter list; `None` without one.
pub(crate) fn parameter_list(name: &str) -> Option<(&str, &str)> {
    let trimmed = name.trim_end();
    let bare = trimmed.strip_suffix(" const").unwrap_or(trimmed);
    if !bare.ends_with(')') {
        return None;
    }
    let bytes = bare.as_bytes();
    let mut depth = 0usize;
    for index in (0..bytes.len()).rev() {
        match bytes.get(index) {
            Some(b')') => depth += 1,
            Some(b'(') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let head = bare.get(..index).unwrap_or("");
                    let named =
                        !head.is_empty() && !head.ends_with("::") && !head.ends_with("operator");
                    let inside = bare.get(index + 1..bare.len() - 1).unwrap_or("");
                    return named.then_some((head.trim_end(), inside));
                }
            }
            _ => {}
        }
    }
    None
}

/// Normalizes C's integer types: gcc writes `long unsigned int`, users and clang `unsigned long`.
fn plain_integers(name: &str) -> Cow<'_, str> {
    const SPELLINGS: [(&str, &str); 10] = [
        ("long long unsigned int", "unsigned long long"),
        ("unsigned long long int", "unsigned long long"),
        ("long unsigned int", "unsigned long"),
        ("unsigned long int", "unsigned long"),
        ("short unsigned int", "unsigned short"),
        ("unsigned short int", "unsigned short"),
        ("long long int", "long long"),
        ("long int", "long"),
        ("short int", "short"),
        ("unsigned int", "unsigned"),
    ];
    let mut name = Cow::Borrowed(name);
    for (long, short) in SPELLINGS {
        if name.contains(long) {
            name = Cow::Owned(name.replace(long, short));
        }
    }
    name
}

/// Removes optional spaces from a component (`> >`, `a, b`).
pub(crate) fn squeeze(component: &str) -> String {
    let component = component.trim();
    let component = match component.contains("::<") && !component.contains("::<impl ") {
        true => Cow::Owned(component.replace("::<", "<")),
        false => Cow::Borrowed(component),
    };
    if !component.contains(' ') {
        return component.into_owned();
    }
    let component = &*plain_integers(&component);
    let mut out = String::with_capacity(component.len());
    for (at, character) in component.char_indices() {
        if character == ' ' {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let behind = component.get(at + 1..).unwrap_or("");
            let between_words = out.chars().next_back().is_some_and(word)
                && behind.chars().next().is_some_and(word);
            // `<[T] as Trait>`
            let of_as = behind.starts_with("as ") || out.ends_with(" as");
            if !between_words && !of_as {
                continue;
            }
        }
        out.push(character);
    }
    out
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
