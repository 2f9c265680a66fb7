//! Expressions for parts of values.

use engine::value::ChildPath;

/// Returns the expression for a child of a parent's expression.
pub fn child_expression(
    parent: Option<&str>,
    path: Option<ChildPath>,
    name: &str,
) -> Option<String> {
    let parent = parent?;
    Some(match path? {
        ChildPath::Suffix(suffix) => format!("{}{suffix}", atom(parent)),
        ChildPath::Name => format!("{}{name}", atom(parent)),
        ChildPath::Prefix(prefix) => format!("{prefix}{}", atom(parent)),
        ChildPath::Around(before, behind) => format!("{before}{}{behind}", atom(parent)),
        ChildPath::Same => parent.to_owned(),
    })
}

/// Puts an expression in parentheses, unless suffixes bind to all of it.
pub fn atom(expression: &str) -> String {
    match is_postfix(expression) {
        true => expression.to_owned(),
        false => format!("({expression})"),
    }
}

/// Returns true if suffixes bind to all of an expression: a name, or parentheses, followed by
/// members and indices.
fn is_postfix(expression: &str) -> bool {
    let mut depth = 0_u32;
    let mut rest = expression.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '-' if rest.peek() == Some(&'>') => drop(rest.next()),
            _ if depth > 0 || c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '$') => {}
            _ => return false,
        }
    }
    // `(T)x` starts with parentheses, but is a cast.
    !expression.starts_with('(') || !cast_like(expression)
}

fn cast_like(expression: &str) -> bool {
    let mut depth = 0_u32;
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let next = expression[at + 1..].chars().next();
            return next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '('));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_children() {
        let child = |parent: &str, path| child_expression(Some(parent), Some(path), "[1]").unwrap();
        let suffix = |parent, text: &str| child(parent, ChildPath::Suffix(text.to_owned()));
        assert_eq!(suffix("a.b[3]->c", ".x"), "a.b[3]->c.x");
        assert_eq!(suffix("*p", "->x"), "(*p)->x");
        assert_eq!(suffix("(*p).y", "[1]"), "(*p).y[1]");
        assert_eq!(suffix("(int*)p", "[1]"), "((int*)p)[1]");
        assert_eq!(child("a - b", ChildPath::Name), "(a - b)[1]");
        assert_eq!(child("p->q", ChildPath::Prefix("*".to_owned())), "*p->q");
        assert_eq!(child("x", ChildPath::Same), "x");
    }
}
