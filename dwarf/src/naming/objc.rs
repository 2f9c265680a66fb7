//! Names of Objective-C's methods: `-[Class selector:]`, `+[Class(Category) selector]`.

/// The parts of a method's name, as compilers write it.
#[derive(PartialEq, Eq, Debug)]
struct Method<'a> {
    /// `-` or `+`; `None`: either.
    kind: Option<char>,
    /// `None`: any.
    class: Option<&'a str>,
    /// `None`: any, and none.
    category: Option<&'a str>,
    selector: &'a str,
}

/// A method that a user typed: a name with or without its sign and category, or a selector alone.
pub(crate) struct MethodQuery<'a>(Method<'a>);

impl<'a> MethodQuery<'a> {
    /// Parses a name; `None` if it can be none of a method.
    pub(crate) fn new(typed: &'a str) -> Option<Self> {
        let typed = typed.trim();
        if let Some(method) = parse(typed) {
            return Some(Self(method));
        }
        let of_any = Method {
            kind: None,
            class: None,
            category: None,
            selector: typed,
        };
        is_selector(typed).then_some(Self(of_any))
    }

    /// Returns whether it may be a name of C, too.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.class.is_none() && !self.0.selector.contains(':')
    }

    /// Returns a text that all names of such methods contain.
    pub(crate) fn selector(&self) -> &'a str {
        self.0.selector
    }

    /// Returns whether a function's name is one of such a method.
    pub(crate) fn matches(&self, name: &str) -> bool {
        let Some(method) = parse(name) else {
            return false;
        };
        let fits = |wanted: Option<&str>, own: Option<&str>| wanted.is_none() || wanted == own;
        method.selector == self.0.selector
            && (self.0.kind.is_none() || self.0.kind == method.kind)
            && fits(self.0.class, method.class)
            && fits(self.0.category, method.category)
    }
}

/// Parses a name with brackets.
fn parse(name: &str) -> Option<Method<'_>> {
    let kind = name.chars().next().filter(|it| matches!(it, '-' | '+'));
    let rest = name.strip_prefix(['-', '+']).unwrap_or(name);
    let inner = rest.strip_prefix('[')?.strip_suffix(']')?;
    let (class, selector) = inner.split_once(' ')?;
    let (class, category) = match class.split_once('(') {
        Some((class, category)) => (class, Some(category.strip_suffix(')')?)),
        None => (class, None),
    };
    let is_method = is_identifier(class) && is_selector(selector);
    is_method.then_some(Method {
        kind,
        class: Some(class),
        category,
        selector,
    })
}

/// Returns whether a text is a selector: an identifier, or parts of which each ends in a colon. Parts may
/// be empty, but a name with `::` alone is one of C++.
fn is_selector(text: &str) -> bool {
    let Some(parts) = text.strip_suffix(':') else {
        return is_identifier(text);
    };
    let mut parts = parts.split(':');
    parts.next().is_some_and(is_identifier)
        && parts.all(|part| part.is_empty() || is_identifier(part))
}

fn is_identifier(text: &str) -> bool {
    let begins = |first: char| first.is_alphabetic() || first == '_' || first == '$';
    let goes_on =
        |other: char| other.is_alphanumeric() || other == '_' || other == '$' || other == '.';
    text.starts_with(begins) && text.chars().all(goes_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn matches(typed: &str, name: &str) -> bool {
        MethodQuery::new(typed).is_some_and(|query| query.matches(name))
    }

    #[test]
    fn name_matches_without_sign_and_category() {
        for typed in [
            "-[Point third]",
            "[Point third]",
            "-[Point(Other) third]",
            "third",
        ] {
            assert!(matches(typed, "-[Point(Other) third]"), "{typed}");
        }
        for typed in [
            "+[Point third]",
            "-[Point(More) third]",
            "-[Line third]",
            "third:",
        ] {
            assert!(!matches(typed, "-[Point(Other) third]"), "{typed}");
        }
        assert!(!matches("-[Point(Other) third]", "-[Point third]"));
    }

    #[test]
    fn selector_matches_whole_methods_only() {
        assert!(matches("sum:with:", "+[Point sum:with:]"));
        assert!(!matches("sum:", "+[Point sum:with:]"));
        assert!(!matches("with:", "+[Point sum:with:]"));
        assert!(!matches("sum", "sum"), "a function of C");
    }

    #[test]
    fn other_names_are_no_methods() {
        for typed in [
            "a::b",
            "::a",
            "f(int)",
            "operator[]",
            "[a]",
            "-[a b",
            "",
            ":",
            "f.c:12",
        ] {
            assert!(MethodQuery::new(typed).is_none(), "{typed}");
        }
    }
}
