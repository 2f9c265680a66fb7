//! Paths as text: split into components, normalized, compared.

use crate::naming::arguments::arguments_match;
use std::borrow::Cow;

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

/// Splits a qualified name into squeezed components.
pub(super) fn squeezed(name: &str) -> Vec<String> {
    components(name).into_iter().map(squeeze).collect()
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
pub(crate) fn without_arguments(component: &str) -> &str {
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
pub(super) fn strip_parameters(name: &str) -> &str {
    let trimmed = name.trim_end();
    parameter_list(trimmed).map_or(trimmed, |(name, _)| name)
}

/// Splits a name from the contents of its parameter list; `None` without one.
pub(super) fn parameter_list(name: &str) -> Option<(&str, &str)> {
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

/// Returns whether a path ends in the components of a typed one, which are squeezed.
pub(super) fn path_matches(wanted: &[String], found: &[&str]) -> bool {
    wanted.len() <= found.len()
        && wanted
            .iter()
            .rev()
            .zip(found.iter().rev())
            .all(|(wanted, found)| component_matches(wanted, &squeeze(found)))
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
    if arguments_match(wanted, found) {
        return true;
    }
    let (Some(wanted), Some(found)) = (implementation(wanted), implementation(found)) else {
        return false;
    };
    let matches = |wanted, found| path_matches(&squeezed(wanted), &components(found));
    matches(wanted.0, found.0) && matches(wanted.1, found.1)
}

/// Returns the type and the trait of `<Type as Trait>`.
fn implementation(component: &str) -> Option<(&str, &str)> {
    let inner = component.strip_prefix('<')?.strip_suffix('>')?;
    let (ty, implemented) = split_as(inner);
    Some((ty, implemented?))
}

/// Splits `Type as Trait` at the top level.
pub(super) fn split_as(inner: &str) -> (&str, Option<&str>) {
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
