//! Macros of C and C++ (ISO C §6.10.5) in expressions, from debug info made with `-g3`.

use super::lex::{self, MAX_EXPRESSION_BYTES, Token, TokenKind};
use dwarf::{Language, Macro};

/// Maximum number of macros to expand in each other.
const NESTING: usize = 64;

/// Maximum number of expansions in one expression.
const EXPANSIONS: usize = 4096;

/// Finds the definition of a macro by its name.
pub type FindMacro<'a> = dyn Fn(&str) -> Option<Macro> + 'a;

/// Returns a text with its macros expanded; `None`: it has none, or their use is wrong, or the result
/// is too long.
pub fn expand(text: &str, language: Language, find: &FindMacro<'_>) -> Option<String> {
    let mut expansion = Expansion {
        language,
        find,
        expansions: 0,
    };
    let words = expansion.expand(words(text, language)?, &mut Vec::new())?;
    let text = words.join(" ");
    (expansion.expansions > 0 && text.len() <= MAX_EXPRESSION_BYTES).then_some(text)
}

struct Expansion<'a> {
    language: Language,
    find: &'a FindMacro<'a>,
    expansions: usize,
}

/// Returns the tokens of a text as they are written.
fn words(text: &str, language: Language) -> Option<Vec<String>> {
    let tokens = lex::tokens(text, language).ok()?;
    let is_token = |token: &&Token| token.kind != TokenKind::End;
    let mut words = Vec::new();
    for token in tokens.iter().filter(is_token) {
        words.push(text.get(token.span.clone())?.to_owned());
    }
    Some(words)
}

impl Expansion<'_> {
    /// Expands the macros in words, except those that are being expanded.
    fn expand(&mut self, words: Vec<String>, open: &mut Vec<String>) -> Option<Vec<String>> {
        let (mut result, mut rest) = (Vec::new(), words.into_iter().peekable());
        let mut length = 0;
        while let Some(word) = rest.next() {
            let is_name = word.starts_with(|char: char| char.is_alphabetic() || char == '_');
            let found = match is_name && !open.contains(&word) {
                true => (self.find)(&word),
                false => None,
            };
            let is_called = rest.peek().is_some_and(|next| next == "(");
            let replaced = match found {
                Some(Macro {
                    parameters: None,
                    body,
                }) => Some(words_of(&body, self.language)?),
                Some(Macro {
                    parameters: Some(parameters),
                    body,
                }) if is_called => {
                    let mut all = Vec::new();
                    for words in arguments(&mut rest)? {
                        let expanded = self.expand(words.clone(), open)?;
                        all.push(Argument { words, expanded });
                    }
                    let body = words_of(&body, self.language)?;
                    let body = substituted(body, &parameters, &all)?;
                    Some(pasted(body, self.language)?)
                }
                _ => None,
            };
            let words = match replaced {
                Some(words) => {
                    self.expansions += 1;
                    if open.len() >= NESTING || self.expansions > EXPANSIONS {
                        return None;
                    }
                    open.push(word);
                    let words = self.expand(words, open);
                    open.pop();
                    words?
                }
                None => vec![word],
            };
            length += words.iter().map(String::len).sum::<usize>();
            if length > MAX_EXPRESSION_BYTES {
                return None;
            }
            result.extend(words);
        }
        Some(result)
    }
}

/// An argument of a macro.
struct Argument {
    /// As it is written, for the operators `#` and `##`.
    words: Vec<String>,
    /// With its macros expanded.
    expanded: Vec<String>,
}

/// Returns the words of a macro's body; the operators `#` and `##` are words, too.
fn words_of(body: &str, language: Language) -> Option<Vec<String>> {
    let (mut all, mut rest) = (Vec::new(), body);
    while let Some(at) = operator_in(rest) {
        all.extend(words(rest.get(..at)?, language)?);
        let after = rest.get(at + 1..)?;
        let (operator, after) = match after.strip_prefix('#') {
            Some(after) => ("##", after),
            None => ("#", after),
        };
        all.push(operator.to_owned());
        rest = after;
    }
    all.extend(words(rest, language)?);
    Some(all)
}

/// Returns the position of the first `#` outside of literals.
fn operator_in(body: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, byte) in body.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'#') => return Some(at),
            _ => {}
        }
    }
    None
}

/// Joins the words on both sides of each `##`; `None`: they make no word.
fn pasted(body: Vec<String>, language: Language) -> Option<Vec<String>> {
    let mut result: Vec<String> = Vec::new();
    let mut rest = body.into_iter();
    while let Some(word) = rest.next() {
        if word != "##" {
            result.push(word);
            continue;
        }
        let joined = result.pop()? + &rest.next()?;
        let joined = words(&joined, language)?;
        match joined.len() {
            0 | 1 => result.extend(joined),
            _ => return None,
        }
    }
    Some(result)
}

/// Takes the arguments of a macro, from its opening to its closing parenthesis.
fn arguments(rest: &mut impl Iterator<Item = String>) -> Option<Vec<Vec<String>>> {
    rest.next()?;
    let (mut all, mut depth) = (vec![Vec::new()], 0usize);
    for word in rest {
        match word.as_str() {
            ")" if depth == 0 => return Some(all),
            "," if depth == 0 => {
                all.push(Vec::new());
                continue;
            }
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        all.last_mut()?.push(word);
    }
    None
}

/// Replaces the parameters in a body; `None`: the number of arguments is wrong.
fn substituted(
    body: Vec<String>,
    parameters: &[String],
    arguments: &[Argument],
) -> Option<Vec<String>> {
    let variadic = parameters.last().filter(|last| last.ends_with("..."));
    let named = parameters.len() - usize::from(variadic.is_some());
    let is_empty = matches!(arguments, [only] if only.words.is_empty());
    let given = if is_empty && named == 0 {
        0
    } else {
        arguments.len()
    };
    if given < named || given > named && variadic.is_none() {
        return None;
    }
    let rest_name = variadic.map(|last| match last.trim_end_matches("...") {
        "" => "__VA_ARGS__",
        name => name,
    });
    let rest = |of: fn(&Argument) -> &Vec<String>| {
        let rest = arguments.get(named..).unwrap_or_default().iter();
        rest.map(of)
            .cloned()
            .collect::<Vec<_>>()
            .join(&",".to_owned())
    };
    let argument = |word: &str, of: fn(&Argument) -> &Vec<String>| {
        let named = parameters.get(..named)?.iter().position(|it| it == word);
        match named {
            Some(index) => Some(of(arguments.get(index)?).clone()),
            None => (rest_name == Some(word)).then(|| rest(of)),
        }
    };
    let mut result = Vec::new();
    for (at, word) in body.iter().enumerate() {
        let next = |is: &str| body.get(at + 1).is_some_and(|it| it == is);
        let before = |is: &str| {
            at.checked_sub(1)
                .and_then(|at| body.get(at))
                .is_some_and(|it| it == is)
        };
        let is_pasted = next("##") || before("##");
        match word.as_str() {
            // An object-like macro has `#` as a word of its own.
            "#" => {}
            word if before("#") => result.push(quoted(&argument(word, |it| &it.words)?)),
            word => {
                let of: fn(&Argument) -> &Vec<String> = match is_pasted {
                    true => |it| &it.words,
                    false => |it| &it.expanded,
                };
                match argument(word, of) {
                    // An empty operand of `##`.
                    Some(words) if words.is_empty() && is_pasted => result.push(String::new()),
                    Some(words) => result.extend(words),
                    None => result.push(word.to_owned()),
                }
            }
        }
    }
    Some(result)
}

/// Returns words as a string literal.
fn quoted(words: &[String]) -> String {
    let text = words.join(" ").replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Option<String> {
        let find = |name: &str| {
            let (parameters, body): (Option<&[&str]>, _) = match name {
                "LIMIT" => (None, "( BASE + 1 )"),
                "BASE" => (None, "0x10"),
                "SELF" => (None, "SELF + OTHER"),
                "OTHER" => (None, "SELF"),
                "MAX" => (Some(&["a", "b"]), "((a) > (b) ? (a) : (b))"),
                "NONE" => (Some(&[]), "7"),
                "LAST" => (Some(&["..."]), "last(0, __VA_ARGS__)"),
                "TEXT" => (Some(&["x"]), "#x"),
                "JOIN" => (Some(&["a", "b"]), "a##b"),
                "BROKEN" => (Some(&["a"]), "a ## +"),
                "HASH" => (Some(&["a"]), "f(\"#\", a)"),
                "M" => (None, ""),
                name if name.len() > 1 && name.chars().all(|char| char == 'M') => {
                    (None, &*format!("{0} {0}", &name[1..]).leak())
                }
                _ => return None,
            };
            let all = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
            Some(Macro {
                parameters: parameters.map(all),
                body: body.to_owned(),
            })
        };
        expand(text, Language::C, &find)
    }

    #[test]
    fn objects_and_functions() {
        let same = |text: &str, other: &str| {
            let compact = |text: &str| text.replace(' ', "");
            let found = expanded(text).map(|it| compact(&it));
            assert_eq!(found.as_deref(), Some(&*compact(other)), "{text}");
        };
        same("LIMIT * 2", "(0x10+1)*2");
        same(
            "MAX(LIMIT, f(x, 1))",
            "(((0x10+1))>(f(x,1))?((0x10+1)):(f(x,1)))",
        );
        same("NONE() + 1", "7+1");
        same("LAST(1, 2)", "last(0,1,2)");
        same("SELF", "SELF+SELF");
        same("TEXT(x + \"y\")", "\"x+\\\"y\\\"\"");
        same("JOIN(BA, SE) + JOIN(1, 2)", "0x10+12");
        same("JOIN(LIMIT, ) + HASH(BASE)", "(0x10+1)+f(\"#\",0x10)");
    }

    #[test]
    fn what_only_the_preprocessor_knows() {
        for text in [
            "x + 1",
            "BROKEN(x)",
            "MAX(1)",
            "MAX(1",
            "MAX + 1",
            "NONE(1)",
        ] {
            assert_eq!(expanded(text), None, "{text}");
        }
        // Each doubles the number of expansions, to nothing.
        assert_eq!(expanded(&"M".repeat(60)), None);
    }
}
