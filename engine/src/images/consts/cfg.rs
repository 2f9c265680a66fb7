//! `#[cfg(..)]`, by what all programs have in common that are debugged: 64 bits, the lowest byte first, Unix.

use super::tokens::{Kind, Token};

/// Maximum number of predicates inside each other.
const MAX_DEPTH: u32 = 32;

/// Returns whether the predicate in the brackets behind `cfg` holds; `None` if it depends on more.
pub(super) fn holds(text: &str, tokens: &[Token]) -> Option<bool> {
    let mut reader = Reader {
        text,
        tokens,
        at: 1,
    };
    reader.predicate(0)
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Reader<'a> {
    fn word(&self) -> &'a str {
        let token = self.tokens.get(self.at);
        token.map_or("", |it| it.text(self.text))
    }

    fn skip(&mut self, sign: &str) -> bool {
        let is_it = self.word() == sign;
        self.at += usize::from(is_it);
        is_it
    }

    fn predicate(&mut self, depth: u32) -> Option<bool> {
        let name = self.word();
        self.at += 1;
        if self.skip("(") {
            let all = self.list(depth)?;
            return match (name, all.as_slice()) {
                ("not", [only]) => only.map(|it| !it),
                ("all", all) => combined(all, false),
                ("any", all) => combined(all, true),
                _ => None,
            };
        }
        if !self.skip("=") {
            return match name {
                "unix" | "true" => Some(true),
                "windows" | "false" => Some(false),
                _ => None,
            };
        }
        let is_text = self.tokens.get(self.at).map(|it| it.kind) == Some(Kind::Text);
        let value = self.word().trim_matches('"');
        self.at += 1;
        match (name, value) {
            _ if !is_text => None,
            ("target_pointer_width", width) => Some(width == "64"),
            ("target_endian", order) => Some(order == "little"),
            ("target_family", family) => Some(family == "unix"),
            ("target_os", "windows" | "none" | "emscripten" | "wasi" | "unknown") => Some(false),
            ("target_arch", "x86_64" | "aarch64") => None,
            ("target_arch", _) => Some(false),
            _ => None,
        }
    }

    /// Reads predicates up to `)`; `None` if they cannot be understood.
    fn list(&mut self, depth: u32) -> Option<Vec<Option<bool>>> {
        let mut all = Vec::new();
        while !self.skip(")") {
            if depth >= MAX_DEPTH || self.at >= self.tokens.len() {
                return None;
            }
            all.push(self.predicate(depth + 1));
            if !self.skip(",") && self.word() != ")" {
                return None;
            }
        }
        Some(all)
    }
}

/// Combines predicates of which one with the value `decides` decides.
fn combined(all: &[Option<bool>], decides: bool) -> Option<bool> {
    if all.contains(&Some(decides)) {
        return Some(decides);
    }
    all.iter().all(Option::is_some).then_some(!decides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::consts::tokens::tokens;

    #[test]
    fn predicates_are_decided_as_far_as_they_are_certain() {
        for (text, expected) in [
            ("(unix)", Some(true)),
            ("(not(windows))", Some(true)),
            ("(target_pointer_width = \"32\")", Some(false)),
            ("(target_pointer_width = \"64\")", Some(true)),
            (
                "(any(feature = \"a\", target_endian = \"little\"))",
                Some(true),
            ),
            ("(any(feature = \"a\", windows))", None),
            ("(all(feature = \"a\", windows))", Some(false)),
            (
                "(all(unix, not(all(target_arch = \"wasm32\", x))))",
                Some(true),
            ),
            ("(all())", Some(true)),
            ("(any())", Some(false)),
            ("(target_os = \"linux\")", None),
            ("(target_arch = \"x86_64\")", None),
            ("(test)", None),
            ("(target_endian)", None),
            ("(not(unix, unix))", None),
            ("(any(unix", None),
            ("(any(unix x))", None),
            ("()", None),
            ("", None),
        ] {
            let all = tokens(text).expect(text);
            assert_eq!(holds(text, &all), expected, "{text}");
        }
        let deep = "(".to_owned() + &"not(".repeat(100) + "unix" + &")".repeat(101);
        assert_eq!(holds(&deep, &tokens(&deep).expect("tokens")), None);
    }
}
