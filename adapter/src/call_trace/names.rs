//! Names of functions in short form.

/// Returns a function's name without the arguments of templates and generics: `HashMap::insert` of
/// `HashMap<K, V>::insert::<u8>`. Operators and the types of `<T as Trait>` keep their signs.
pub fn without_generics(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if first == '<'
            && may_have_generics(&short)
            && let Some(len) = balanced(rest)
        {
            short.truncate(short.trim_end_matches("::").len());
            rest = &rest[len..];
            continue;
        }
        short.push(first);
        rest = &rest[first.len_utf8()..];
    }
    short
}

/// Returns whether `<` after this text begins generic arguments.
fn may_have_generics(before: &str) -> bool {
    let word = before.rsplit(|char: char| !(char.is_alphanumeric() || char == '_'));
    let is_operator = word.into_iter().next() == Some("operator");
    let last = before.chars().next_back();
    let ends_name = last.is_some_and(|last| last.is_alphanumeric() || matches!(last, '_' | '}'));
    !is_operator && (ends_name || before.ends_with("::") && before.len() > 2)
}

/// Returns the length of the text in angle brackets at the start of a text; `None` if it never ends.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
        match char {
            '<' => depth += 1,
            // The arrow of a function's type.
            '>' if before != '-' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
        before = char;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_types_and_functions_are_left_out() {
        for (name, short) in [
            ("main", "main"),
            (
                "std::vector<int, std::allocator<int> >::push_back",
                "std::vector::push_back",
            ),
            (
                "hashbrown::map::HashMap<u32, u32, RandomState>::insert<u32, fn(u8) -> u8>",
                "hashbrown::map::HashMap::insert",
            ),
            ("iter::collect::<Vec<u8>>", "iter::collect"),
            (
                "<alloc::vec::Vec<u8> as Debug>::fmt",
                "<alloc::vec::Vec as Debug>::fmt",
            ),
            ("shop::{impl#3}<T>::price", "shop::{impl#3}::price"),
            ("operator<", "operator<"),
            ("operator<< <char>", "operator<< <char>"),
            ("Point::operator<=>", "Point::operator<=>"),
            ("Handle<T>::operator->", "Handle::operator->"),
            ("a < b", "a < b"),
            ("never<closed", "never<closed"),
        ] {
            assert_eq!(without_generics(name), short, "{name}");
        }
    }
}
