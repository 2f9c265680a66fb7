//! Whether a line of Rust moves a variable: debug info does not say which variables have been moved, and the memory
//! that they owned may be freed and used again.

/// What a line does with a variable, by its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Nothing.
    None,
    /// It may pass the value on: `drop(v)`, `let w = v;`, `for x in v {`.
    Moves,
    /// It looks at the value or changes it where it is: `v.push(1)`, `v[0] = 2`, `&v`.
    InPlace,
}

/// Words after which a value is passed on.
const BEFORE_VALUE: [&str; 5] = ["return", "in", "break", "yield", "else"];
/// Words after which a value is looked at: whether a pattern moves it is not known.
const BEFORE_LOOK: [&str; 5] = ["match", "mut", "ref", "if", "while"];

/// Returns what a line does with the variable `name`. Of several uses, one in place counts: what is used in place has
/// not been moved before.
pub fn use_of(line: &str, name: &str) -> Use {
    let line = without_literals(line);
    let mut found = Use::None;
    for (at, _) in line.match_indices(name) {
        let (before, after) = (&line[..at], &line[at + name.len()..]);
        let is_part = |char: char| char.is_alphanumeric() || char == '_';
        if before.ends_with(is_part) || after.starts_with(is_part) {
            continue;
        }
        match use_at(before.trim_end(), after.trim_start()) {
            Use::InPlace => return Use::InPlace,
            Use::Moves => found = Use::Moves,
            Use::None => {}
        }
    }
    found
}

fn use_at(before: &str, after: &str) -> Use {
    let word = before.rsplit(|char: char| !char.is_alphanumeric()).next();
    let word = word.unwrap_or_default();
    match before.chars().next_back() {
        // A member or a method of the name.
        Some('.') if !before.ends_with("..") => return Use::None,
        Some('&' | '*' | '<' | '>' | '!') => return Use::InPlace,
        _ => {}
    }
    if BEFORE_LOOK.contains(&word) || before.ends_with("==") || before.ends_with("!=") {
        return Use::InPlace;
    }
    // A declaration, a label of a member.
    if matches!(word, "let" | "fn" | "move") || after.starts_with(':') {
        return Use::None;
    }
    let is_whole = after.is_empty() || after.starts_with([')', ',', ';', '}', ']', '{', '?']);
    if !is_whole {
        return Use::InPlace;
    }
    let begins = before.is_empty() || before.ends_with(['(', ',', '=', '{', '[', '|', '>']);
    match begins || BEFORE_VALUE.contains(&word) {
        true if is_in_macro(before) => Use::InPlace,
        true if before.contains(" let ") && before.ends_with('=') && !after.starts_with(';') => {
            Use::InPlace
        }
        true => Use::Moves,
        false => Use::InPlace,
    }
}

/// Returns whether a text ends in the arguments of a macro, which take references: those of `vec!` do not.
fn is_in_macro(before: &str) -> bool {
    let mut open = 0_i32;
    for (at, char) in before.char_indices().rev() {
        match char {
            ')' | ']' | '}' => open += 1,
            '(' | '[' | '{' => open -= 1,
            _ => {}
        }
        if open < 0 {
            let name = before[..at].strip_suffix('!');
            return name.is_some_and(|name| !name.ends_with("vec"));
        }
    }
    false
}

/// Replaces the contents of strings, and leaves out a comment.
fn without_literals(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let (mut quoted, mut escaped) = (false, false);
    for (at, char) in line.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => {
                quoted = !quoted;
                text.push('"');
            }
            _ if quoted => {}
            '/' if line[at..].starts_with("//") => break,
            _ => text.push(char),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_of_a_variable() {
        for (line, expected) in [
            ("drop(v);", Use::Moves),
            ("drop((boxed, v, shared));", Use::Moves),
            ("let w = v;", Use::Moves),
            ("for x in v {", Use::Moves),
            ("return v;", Use::Moves),
            ("v", Use::Moves),
            ("Queue { v, seen: 0 }", Use::Moves),
            ("let all = vec![v, w];", Use::Moves),
            ("println!(\"{}\", take(v));", Use::Moves),
            ("v.push(1);", Use::InPlace),
            ("v[0] = 2;", Use::InPlace),
            ("take(&v);", Use::InPlace),
            ("swap(&mut v, w);", Use::InPlace),
            ("println!(\"{:?}\", v);", Use::InPlace),
            ("assert_eq!(v, w);", Use::InPlace),
            ("if v == w {", Use::InPlace),
            ("match v {", Use::InPlace),
            ("if let Some(x) = v {", Use::InPlace),
            ("let v = make();", Use::None),
            ("Queue { v: 1 }", Use::None),
            ("self.v = w;", Use::None),
            ("vec_of(w); // v", Use::None),
            ("print(\"v\");", Use::None),
            ("drop(v2);", Use::None),
        ] {
            assert_eq!(use_of(line, "v"), expected, "{line}");
        }
    }
}
