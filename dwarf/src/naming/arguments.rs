//! Template and generic arguments, which users write without those that have defaults and compilers
//! write in several ways.

use crate::naming::parameters::{is_type, plain, split};

/// Templates whose instances are default arguments in the standard libraries.
const DEFAULTS: [&str; 9] = [
    "std::allocator<",
    "std::char_traits<",
    "std::less<",
    "std::hash<",
    "std::equal_to<",
    "std::default_delete<",
    "alloc::alloc::Global",
    "std::hash::random::RandomState",
    "std::collections::hash::map::RandomState",
];

/// Splits a component into its name and its list of arguments.
fn parts(component: &str) -> Option<(&str, Vec<&str>)> {
    let (name, list) = component.strip_suffix('>')?.split_once('<')?;
    (!name.is_empty()).then(|| (name.trim_end_matches("::"), split(list)))
}

/// Returns whether a typed component with arguments means a found one. Arguments that are defaults of
/// the standard libraries may be omitted.
pub(super) fn arguments_match(typed: &str, found: &str) -> bool {
    let (Some((name, typed)), Some((found_name, found))) = (parts(typed), parts(found)) else {
        return false;
    };
    let Some((found, rest)) = found.split_at_checked(typed.len()) else {
        return false;
    };
    name == found_name
        && (typed.iter().zip(found)).all(|(typed, found)| argument_matches(typed, found))
        && rest.iter().all(|argument| is_default(argument))
}

fn is_default(argument: &str) -> bool {
    let argument = plain_inline(argument.trim());
    DEFAULTS.iter().any(|start| argument.starts_with(start))
}

/// Removes inline namespaces of the standard libraries.
fn plain_inline(name: &str) -> String {
    name.replace("std::__1::", "std::")
        .replace("std::__cxx11::", "std::")
}

fn argument_matches(typed: &str, found: &str) -> bool {
    let (typed, found) = (typed.trim(), found.trim());
    if typed == found {
        return true;
    }
    match (number(typed), number(found)) {
        (Some(typed), Some(found)) => typed == found,
        (None, None) => {
            let (typed, found) = (plain(&plain_inline(typed)), plain(&plain_inline(found)));
            is_type(&typed, &found)
        }
        _ => false,
    }
}

/// Returns the value of an integer, character or boolean as an argument.
fn number(text: &str) -> Option<i128> {
    // gcc writes some with a cast: `(char)97`.
    let text = match text.strip_prefix('(').and_then(|text| text.split_once(')')) {
        Some((_, number)) => number,
        None => text,
    };
    match text {
        "true" => return Some(1),
        "false" => return Some(0),
        _ => {}
    }
    if let Some(letter) = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')) {
        let mut letters = letter.chars();
        let only = letters.next().filter(|_| letters.next().is_none());
        return only.map(|letter| i128::from(u32::from(letter)));
    }
    let text = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::arguments_match;

    #[test]
    fn arguments_in_several_spellings() {
        for (typed, found) in [
            ("nt<7>", "nt<7u>"),
            ("nt<7ul>", "nt<7>"),
            ("nt<0x10>", "nt<16>"),
            ("ct<'a'>", "ct<(char)97>"),
            ("bt<true>", "bt<1>"),
            ("vector<int>", "vector<int,std::allocator<int>>"),
            ("vector<int>", "vector<int,std::__1::allocator<int>>"),
            (
                "map<std::string,int>",
                "map<std::__cxx11::basic_string<char,std::char_traits<char>,std::allocator<char>>,\
                 int,std::less<std::__cxx11::basic_string<char,std::char_traits<char>,\
                 std::allocator<char>>>,std::allocator<std::pair<X const,int>>>",
            ),
            ("Vec<i32>", "Vec<i32,alloc::alloc::Global>"),
            ("f<unsigned long>", "f<long unsigned int>"),
            (
                "vector<vector<int>>",
                "vector<std::vector<int,std::allocator<int>>,std::allocator<std::vector<int,std::allocator<int>>>>",
            ),
        ] {
            assert!(arguments_match(typed, found), "{typed} {found}");
        }
        for (typed, found) in [
            ("nt<7>", "nt<8>"),
            ("pair<int>", "pair<int,long>"),
            ("vector<int>", "vector<long,std::allocator<long>>"),
            ("vector<int>", "vector<int,my::allocator<int>>"),
            ("a<int>", "b<int>"),
            ("a<int,int>", "a<int>"),
        ] {
            assert!(!arguments_match(typed, found), "{typed} {found}");
        }
    }
}
