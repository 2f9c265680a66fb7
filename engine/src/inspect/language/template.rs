//! C++: names of templates as in a source, without default arguments.

use super::DEPTH;
use std::borrow::Cow;

/// Maximum length in bytes of a name to shorten.
const MAX_NAME_BYTES: usize = 1 << 14;

/// Inline namespaces of library versions.
const INLINE: &[(&str, &str)] = &[
    ("std::__1::", "std::"),
    ("std::__ndk1::", "std::"),
    ("std::__cxx11::", "std::"),
    ("std::__cxx1998::", "std::"),
    ("std::__fs::", "std::"),
    ("filesystem::__cxx11::", "filesystem::"),
    ("chrono::_V2::", "chrono::"),
];

/// Character types of strings, and the names of those strings.
const STRINGS: &[(&str, &str)] = &[
    ("char", "string"),
    ("wchar_t", "wstring"),
    ("char8_t", "u8string"),
    ("char16_t", "u16string"),
    ("char32_t", "u32string"),
];

/// Returns the position of the bracket that closes the one before the start of `text`.
pub fn closing(text: &str) -> Option<usize> {
    let (mut angles, mut others) = (0_u32, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'{' | b'[' => others += 1,
            b')' | b'}' | b']' => others = others.saturating_sub(1),
            _ if others > 0 => {}
            b'<' => angles += 1,
            b'>' if angles == 0 => return Some(at),
            b'>' => angles -= 1,
            _ => {}
        }
    }
    None
}

/// Splits a list of arguments at its top-level commas.
pub fn split_arguments(list: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_i32, 0);
    let mut parts = Vec::new();
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'<' | b'(' | b'{' | b'[' => depth += 1,
            b'>' | b')' | b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(list[start..].trim());
    parts
}

/// Returns a type's name in readable form: `std::vector<std::string>`.
pub fn readable(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_NAME_BYTES || !(name.contains('<') || name.contains("std::")) {
        return Cow::Borrowed(name);
    }
    Cow::Owned(shorten(name, 0))
}

fn shorten(name: &str, depth: usize) -> String {
    if depth > DEPTH * 2 || name.contains("operator") {
        return name.to_owned();
    }
    let mut out = String::new();
    let mut rest = name;
    while let Some(open) = rest.find('<') {
        let Some(end) = closing(&rest[open + 1..]) else {
            break;
        };
        let list = &rest[open + 1..open + 1 + end];
        out += &rest[..open];
        rest = &rest[open + 2 + end..];
        // `<lambda(int)>` and `<unnamed struct>` are not arguments.
        if !out.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
            out = out + "<" + list + ">";
            continue;
        }
        for (long, short) in INLINE {
            out = out.replace(long, short);
        }
        let arguments = split_arguments(list);
        let arguments = arguments.iter().filter(|it| !it.is_empty());
        let mut arguments: Vec<String> = arguments
            .map(|argument| argument_text(argument, depth + 1))
            .collect();
        drop_defaults(&out, &mut arguments);
        match string_name(&out, &arguments) {
            Some(short) => out = short,
            None => out = out + "<" + &arguments.join(", ") + ">",
        }
    }
    out += rest;
    for (long, short) in INLINE {
        out = out.replace(long, short);
    }
    out
}

fn argument_text(argument: &str, depth: usize) -> String {
    // gcc writes `int const` and `3ul`.
    if let Some(of) = argument
        .strip_suffix(" const")
        .filter(|of| !of.ends_with('*'))
    {
        return format!("const {}", shorten(of, depth));
    }
    let digits = argument.trim_end_matches(['u', 'l', 'U', 'L']);
    let number = digits.strip_prefix('-').unwrap_or(digits);
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits.to_owned();
    }
    shorten(argument, depth)
}

/// Removes default arguments, last first.
fn drop_defaults(class: &str, arguments: &mut Vec<String>) {
    while arguments.len() > 1
        && let (Some(first), Some(last)) = (arguments.first(), arguments.last())
    {
        let of_first = |template: &str| {
            last.strip_prefix(template)
                .and_then(|rest| rest.strip_prefix('<'))
                .and_then(|rest| rest.strip_suffix('>'))
                .is_some_and(|inner| inner == first)
        };
        let by_default = last.starts_with("std::allocator<")
            || last.starts_with("std::char_traits<")
            || [
                "std::less",
                "std::hash",
                "std::equal_to",
                "std::default_delete",
            ]
            .iter()
            .any(|template| of_first(template))
            || matches!(class, "std::stack" | "std::queue") && of_first("std::deque")
            || class == "std::priority_queue" && of_first("std::vector");
        if !class.starts_with("std::") || !by_default {
            return;
        }
        arguments.pop();
    }
}

/// Returns `std::string` for `std::basic_string<char>`.
fn string_name(class: &str, arguments: &[String]) -> Option<String> {
    let view = match class {
        "std::basic_string" => "",
        "std::basic_string_view" => "_view",
        _ => return None,
    };
    let [unit] = arguments else { return None };
    let (_, name) = STRINGS.iter().find(|(of, _)| of == unit)?;
    Some(format!("std::{name}{view}"))
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names() {
        for (long, short) in [
            ("int", "int"),
            ("ns::Box<int>", "ns::Box<int>"),
            ("std::vector<int, std::allocator<int> >", "std::vector<int>"),
            (
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
                "std::string",
            ),
            (
                "std::__1::basic_string_view<char16_t, std::__1::char_traits<char16_t>>",
                "std::u16string_view",
            ),
            (
                "std::map<int, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::less<int>, std::allocator<std::pair<int const, std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > > >",
                "std::map<int, std::string>",
            ),
            (
                "std::map<int, int, std::greater<int>, std::allocator<std::pair<int const, int>>>",
                "std::map<int, int, std::greater<int>>",
            ),
            (
                "std::vector<int, my::allocator<int>>",
                "std::vector<int, my::allocator<int>>",
            ),
            (
                "std::unique_ptr<Tree, std::default_delete<Tree> >",
                "std::unique_ptr<Tree>",
            ),
            (
                "std::unique_ptr<int, Closer>",
                "std::unique_ptr<int, Closer>",
            ),
            ("std::array<int, 3ul>", "std::array<int, 3>"),
            ("std::pair<int const, char>", "std::pair<const int, char>"),
            (
                "std::stack<int, std::deque<int, std::allocator<int> > >",
                "std::stack<int>",
            ),
            (
                "std::vector<int, std::allocator<int> >::iterator",
                "std::vector<int>::iterator",
            ),
            (
                "std::function<int(int, char)>",
                "std::function<int(int, char)>",
            ),
            ("main::<lambda(int)>", "main::<lambda(int)>"),
            ("std::tuple<>", "std::tuple<>"),
            ("broken<int", "broken<int"),
            ("a>b<c", "a>b<c"),
        ] {
            assert_eq!(readable(long), short);
        }
    }
}
