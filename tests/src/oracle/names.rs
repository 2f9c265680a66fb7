//! When a type or a value is the same in the compiler's spelling and in the debugger's.

use super::program::Language;
use regex::Regex;
use std::sync::LazyLock;

/// Returns whether two spellings are of one type: `long int` is `long`.
///
/// A top-level `const` or reference is not part of an expression's type. Paths of Rust may be
/// shortened; arguments that a template has by default may be left out.
pub(super) fn same_type(language: Language, compiler: &str, debugger: &str) -> bool {
    // gcc's name of a bit-field's type is not that of its declaration.
    if language == Language::C && compiler.contains(':') {
        return true;
    }
    // Each compiler and each debugger has its own name for a type without one.
    if compiler.contains("<lambda")
        || compiler.contains("<unnamed")
        || compiler.contains("{{closure}}")
    {
        return debugger.contains(['<', '{']);
    }
    if is_library_alias(debugger) {
        return true;
    }
    let mut names = compiler.split('|');
    names.any(|name| {
        let (name, debugger) = without_lengths(name, debugger);
        canonical(language, &name) == canonical(language, &debugger)
    })
}

/// Returns the name of a type of C or C++ without what stands around it: `Color` of `const enum Color`.
pub(super) fn enumeration(ty: &str) -> String {
    let bare = ty.replace("const ", "").replace("enum ", "");
    bare.trim().to_owned()
}

/// Returns whether a value is the one shown.
pub(super) fn same_value(language: Language, ty: &str, value: &str, shown: &str) -> bool {
    if value.starts_with(['"', '\'']) || language == Language::Rust && !is_number(value) {
        return value == shown;
    }
    let shown = match shown.strip_prefix('(').and_then(|it| it.split_once(')')) {
        Some((_, number)) => number,
        None => shown,
    };
    let shown = shown.split(' ').next().unwrap_or_default();
    let numbers = (value.parse::<f64>(), shown.parse::<f64>());
    // A reference of Rust is shown by its target.
    let ty = match language {
        Language::Rust => ty.trim_start_matches(['&', ' ']).trim_start_matches("mut "),
        _ => ty,
    };
    match (ty, numbers) {
        // Shown with as many digits as the type needs.
        ("float" | "f32", (Ok(value), Ok(shown))) => same_float(value as f32, shown as f32),
        ("double" | "f64" | "long double", (Ok(value), Ok(shown))) => {
            value == shown || value.is_nan() && shown.is_nan()
        }
        // A null pointer.
        _ if value == "(nil)" => matches!(shown, "0x0" | "nullptr" | "NULL" | "0"),
        // An enumerator with its scopes; a number that none has, with its type.
        _ => {
            let last = shown.rsplit("::").next();
            value == shown || last == Some(value)
        }
    }
}

fn is_number(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_digit() || it == '-')
        || matches!(text, "NaN" | "inf" | "true" | "false")
}

fn same_float(a: f32, b: f32) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

/// Arguments of templates and generics that their definitions have by default.
const DEFAULTS: &[&str] = &[
    "std::allocator<",
    "std::char_traits<",
    "std::less<",
    "std::default_delete<",
    "std::hash<",
    "std::equal_to<",
    "Global",
    "RandomState",
];

/// Returns whether a type is named by a typedef of the C++ library, as `std::vector<int>::reference`.
/// The compiler names what it stands for, which the typedef does not tell.
fn is_library_alias(name: &str) -> bool {
    let last = name.trim_end_matches([' ', '*', '&']).rsplit("::").next();
    let last = last.unwrap_or_default();
    let is_alias = last.ends_with("_type") || last.ends_with("_t") || {
        matches!(
            last,
            "iterator" | "const_iterator" | "pointer" | "reference" | "const_reference"
        )
    };
    is_alias && name.contains("std::") && !last.contains(['<', '>'])
}

/// Leaves out the lengths of arrays if the compiler names an expression for one.
fn without_lengths(compiler: &str, debugger: &str) -> (String, String) {
    static LENGTH: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[[^\]]*\]").expect("it is right"));
    let is_variable = LENGTH.find_iter(compiler).any(|it| {
        let mut inner = it.as_str().chars();
        inner.any(|it| it.is_alphabetic())
    });
    match is_variable {
        true => [compiler, debugger]
            .map(|name| LENGTH.replace_all(name, "[]").into_owned())
            .into(),
        false => (compiler.to_owned(), debugger.to_owned()),
    }
}

/// Returns the tokens of a type in an order of their own.
fn canonical(language: Language, name: &str) -> Vec<String> {
    let name = name
        .replace("std::__cxx11::", "std::")
        .replace("{anonymous}::", "(anonymous namespace)::")
        .replace("(anonymous namespace)::", "")
        .replace("<anonymous>", "{...}")
        .replace("uintptr_t", "unsigned long")
        .replace("(&)", "")
        .replace("'_, ", "")
        .replace("<'_>", "");
    let mut tokens = tokens(&name);
    if language == Language::Rust {
        for token in &mut tokens {
            if let Some((_, last)) = token.rsplit_once("::") {
                *token = last.to_owned();
            }
        }
        return without_defaults(tokens);
    }
    let mut tokens = without_defaults(tokens);
    for (of_char, alias) in [
        ("std::basic_string", "std::string"),
        ("std::basic_string_view", "std::string_view"),
    ] {
        let is_it = |it: &[String]| it[0] == of_char && it[1..] == ["<", "char", ">"];
        while let Some(at) = tokens.windows(4).position(is_it) {
            tokens.splice(at..at + 4, [alias.to_owned()]);
        }
    }
    // A variable of a reference type is shown with that type.
    while tokens.last().is_some_and(|it| it == "&") {
        tokens.pop();
    }
    let is_pointer = tokens.iter().any(|it| it == "*");
    // Words between punctuation may have any order: `char const` is `const char`.
    let mut canonical: Vec<String> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for token in tokens {
        match token.starts_with(|it: char| it.is_alphanumeric() || it == '_') {
            true => words.push(token),
            false => {
                canonical.append(&mut ordered(std::mem::take(&mut words)));
                canonical.push(token);
            }
        }
    }
    canonical.append(&mut ordered(words));
    while canonical.last().is_some_and(|it| it == "const") {
        canonical.pop();
    }
    if !is_pointer && canonical.first().is_some_and(|it| it == "const") {
        canonical.remove(0);
    }
    canonical
}

/// Returns the words of a type's name: those that say nothing are left out.
fn ordered(mut words: Vec<String>) -> Vec<String> {
    let has = |words: &[String], word: &str| words.iter().any(|it| it == word);
    words.retain(|it| !matches!(it.as_str(), "enum" | "struct" | "union" | "class"));
    if has(&words, "long") || has(&words, "short") || has(&words, "unsigned") {
        words.retain(|it| it != "int");
    }
    if !has(&words, "char") {
        words.retain(|it| it != "signed");
    }
    for word in &mut words {
        if word == "bool" {
            *word = "_Bool".to_owned();
        }
    }
    words.sort();
    words
}

fn without_defaults(tokens: Vec<String>) -> Vec<String> {
    let mut rest: Vec<String> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let joined = |next: Option<&String>| match next.is_some_and(|it| it == "<") {
            true => format!("{token}<"),
            false => token.clone(),
        };
        let is_default = DEFAULTS.contains(&joined(tokens.peek()).as_str());
        if is_default && rest.last().is_some_and(|it| it == ",") {
            rest.pop();
            let mut depth = 0;
            while let Some(next) = tokens.peek() {
                match next.as_str() {
                    "<" => depth += 1,
                    ">" if depth > 0 => depth -= 1,
                    _ if depth > 0 => {}
                    _ => break,
                }
                tokens.next();
            }
        } else {
            rest.push(token);
        }
    }
    rest
}

/// Splits a type's name into paths and single characters.
fn tokens(name: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut is_word = false;
    for character in name.chars() {
        let belongs = character.is_alphanumeric() || matches!(character, '_' | ':' | '$');
        match tokens.last_mut() {
            Some(last) if is_word && belongs => last.push(character),
            _ if character == ' ' => {}
            _ => tokens.push(character.to_string()),
        }
        is_word = belongs;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_type() {
        for (one, other) in [
            ("long int", "long"),
            ("char const *", "const char*"),
            ("enum Color", "Color"),
            ("const int", "int"),
            ("std::vector<int>", "std::vector<int, std::allocator<int> >"),
            ("std::__cxx11::basic_string<char>", "std::string"),
            (
                "std::map<int, char>",
                "std::map<int, char, std::less<int>, std::allocator<std::pair<const int, char> > >",
            ),
        ] {
            assert!(same_type(Language::Cpp, one, other), "{one} {other}");
        }
        for (one, other) in [
            ("const char *", "char *"),
            ("int", "unsigned int"),
            ("char", "signed char"),
            ("std::vector<int>", "std::vector<long>"),
            ("int *", "int"),
        ] {
            assert!(!same_type(Language::Cpp, one, other), "{one} {other}");
        }
        assert!(same_type(Language::Rust, "alloc::vec::Vec<u8>", "Vec<u8>"));
        assert!(same_type(Language::Rust, "&mut a::B", "&mut B"));
        assert!(!same_type(Language::Rust, "&i32", "*const i32"));
    }
}
