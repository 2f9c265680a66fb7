//! The paths that a `use` imports.

use super::tokens::{Kind, Token, tokens};

/// Maximum number of names of one `use`, and of groups inside each other.
const MAX_IMPORTS: usize = 1 << 10;
const MAX_DEPTH: usize = 32;

/// A name that a `use` brings into a scope.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Import {
    /// The name in the scope; `*` for all names of a module.
    pub(super) name: String,
    /// Its path, without the `*`. It begins with an empty name if that of a crate follows (`::std::u8`).
    pub(super) path: Vec<String>,
}

/// Returns the names that the text between `use` and `;` imports.
///
/// # Errors
/// The text cannot be understood.
pub(super) fn imports(text: &str) -> Result<Vec<Import>, String> {
    let tokens = tokens(text)?;
    let mut reader = Reader {
        text,
        tokens: &tokens,
        at: 0,
        path: Vec::new(),
        found: Vec::new(),
    };
    reader.tree(0)?;
    match reader.at == tokens.len() {
        true => Ok(reader.found),
        false => Err(reader.unknown()),
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// The path up to here.
    path: Vec<String>,
    found: Vec<Import>,
}

impl Reader<'_> {
    fn word(&self) -> &str {
        let token = self.tokens.get(self.at);
        token.map_or("", |it| it.text(self.text))
    }

    fn unknown(&self) -> String {
        let text: String = self.text.chars().take(80).collect();
        format!("`use {text}` cannot be understood")
    }

    fn name(&mut self) -> Result<String, String> {
        let token = self.tokens.get(self.at);
        let token = token.filter(|it| it.kind == Kind::Name);
        let name = token
            .map(|it| it.text(self.text))
            .ok_or_else(|| self.unknown())?;
        self.at += 1;
        Ok(name.strip_prefix("r#").unwrap_or(name).to_owned())
    }

    /// Reads a path with what follows it: a group, `*`, another name.
    fn tree(&mut self, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH || self.found.len() >= MAX_IMPORTS {
            return Err(self.unknown());
        }
        let before = self.path.len();
        if self.word() == "::" {
            self.at += 1;
            self.path.push(String::new());
        }
        loop {
            match self.word() {
                "{" => {
                    self.group(depth)?;
                    break;
                }
                "*" => {
                    self.at += 1;
                    self.add("*".to_owned());
                    break;
                }
                _ => {
                    let name = self.name()?;
                    self.path.push(name);
                }
            }
            if self.word() == "::" {
                self.at += 1;
                continue;
            }
            self.named()?;
            break;
        }
        self.path.truncate(before);
        Ok(())
    }

    fn group(&mut self, depth: usize) -> Result<(), String> {
        self.at += 1;
        while self.word() != "}" {
            self.tree(depth + 1)?;
            if self.word() == "," {
                self.at += 1;
            } else if self.word() != "}" {
                return Err(self.unknown());
            }
        }
        self.at += 1;
        Ok(())
    }

    /// Reads the end of a path: `self` is the module itself.
    fn named(&mut self) -> Result<(), String> {
        if self.path.len() > 1 && self.path.last().is_some_and(|it| it == "self") {
            self.path.pop();
        }
        let mut name = self.path.last().cloned().unwrap_or_default();
        if self.word() == "as" {
            self.at += 1;
            name = self.name()?;
        }
        self.add(name);
        Ok(())
    }

    fn add(&mut self, name: String) {
        let path = self.path.clone();
        self.found.push(Import { name, path });
    }
}

#[cfg(test)]
mod tests {
    use super::imports;

    fn shown(text: &str) -> String {
        match imports(text) {
            Ok(found) => {
                let one = |it: &super::Import| format!("{}={}", it.name, it.path.join("::"));
                found.iter().map(one).collect::<Vec<_>>().join(" ")
            }
            Err(why) => why,
        }
    }

    #[test]
    fn each_form_of_a_use() {
        for (text, expected) in [
            ("crate::a::B", "B=crate::a::B"),
            ("super::B as C", "C=super::B"),
            (
                "crate::a::{B, c::{self, D as E}, f::*}",
                "B=crate::a::B c=crate::a::c E=crate::a::c::D *=crate::a::f",
            ),
            ("{a, b::C,}", "a=a C=b::C"),
            ("self::r#type::X", "X=self::type::X"),
            ("::std::u8", "u8=::std::u8"),
            ("a::B as _", "_=a::B"),
            ("*", "*="),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
        for text in ["", "a::", "a::{b", "a b", "a::{b c}", "a::1"] {
            assert!(
                shown(text).contains("cannot be understood") || shown(text).contains("bracket"),
                "{text}"
            );
        }
        let deep = "{".repeat(100) + &"}".repeat(100);
        assert!(shown(&deep).contains("cannot be understood"));
    }
}
