//! The variables and members that a source line names.

/// Maximum number of expressions of a line, and of members of one.
const MAX_EXPRESSIONS: usize = 12;
const MAX_MEMBERS: usize = 6;

/// Returns what a line of source reads or writes, in its order: for each variable its name, and the
/// longer expressions that begin with it (`node`, `node->next`, `node->next->value`). Names of called
/// functions are left out. Keywords and types are not: they have no values.
pub fn chains(line: &str) -> Vec<Vec<String>> {
    let mut chains: Vec<Vec<String>> = Vec::new();
    let mut rest = line;
    let mut after_member = false;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            break;
        }
        if let Some(len) = literal_len(rest) {
            rest = rest.get(len..).unwrap_or("");
            continue;
        }
        if !is_start(first) {
            let len = match first.is_ascii_digit() {
                true => number_len(rest),
                false if rest.starts_with("..") => 2,
                false => first.len_utf8(),
            };
            after_member = len == 1
                && (matches!(first, '.' | ':') || first == '>' && after_member_arrow(line, rest));
            rest = rest.get(len..).unwrap_or("");
            continue;
        }
        let (chain, len) = chain(rest);
        rest = rest.get(len..).unwrap_or("");
        // The member of something that is no variable, as of a call's result.
        if !after_member && !chain.is_empty() && !chains.contains(&chain) {
            let indexes = indexes(chain.last().map_or("", String::as_str));
            if chain != ["NULL"] {
                chains.push(chain);
            }
            for index in indexes {
                if !chains.contains(&index) {
                    chains.push(index);
                }
            }
        }
        after_member = false;
        if chains.len() >= MAX_EXPRESSIONS {
            break;
        }
    }
    chains.truncate(MAX_EXPRESSIONS);
    chains
}

/// Returns what the indexes of an expression name: `i` of `items[i].price`.
fn indexes(expression: &str) -> Vec<Vec<String>> {
    let inner = expression.split('[').skip(1);
    let inner = inner.filter_map(|part| part.split_once(']'));
    inner.flat_map(|(index, _)| chains(index)).collect()
}

/// Returns the length of the number at the start of a text, with its suffix. `0..n` begins a range.
fn number_len(text: &str) -> usize {
    let end = text.find(|char| !is_part(char) && char != '.');
    let len = end.unwrap_or(text.len());
    text[..len].find("..").unwrap_or(len)
}

/// Returns whether `rest`, which begins with `>`, is the end of an arrow.
fn after_member_arrow(line: &str, rest: &str) -> bool {
    let at = line.len() - rest.len();
    line[..at].ends_with('-')
}

/// Returns the expressions that begin with the name at the start of a text, each longer than the one
/// before, and the length of the last.
fn chain(text: &str) -> (Vec<String>, usize) {
    let mut end = name_len(text);
    let mut found = Vec::new();
    loop {
        let rest = text.get(end..).unwrap_or("");
        let next = rest.trim_start();
        let is_call = next.starts_with('(') || next.starts_with('!') && !next.starts_with("!=");
        let is_literal = next.starts_with('{') && rest.len() == next.len();
        if is_call || is_literal || next.starts_with("::<") {
            return (found, end);
        }
        let is_path = rest.starts_with("::");
        if !is_path && found.len() < MAX_MEMBERS {
            found.push(text[..end].to_owned());
        }
        let operator = ["->", ".", "::"]
            .into_iter()
            .find(|it| rest.starts_with(it));
        let more = match operator {
            Some(operator) => {
                let member = rest.get(operator.len()..).unwrap_or("");
                // `a..b` is a range, `a.0` a member of a tuple.
                let len = match member.starts_with(|first: char| first.is_ascii_digit()) {
                    true => member.bytes().take_while(u8::is_ascii_digit).count(),
                    false => name_len(member),
                };
                (len > 0).then_some(operator.len() + len)
            }
            None => index_len(rest),
        };
        match more {
            Some(more) => end += more,
            None => return (found, end),
        }
    }
}

/// Returns the length of an index that contains no call: `[i + 1]`.
fn index_len(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let len = inner.find([']', '[', '(', '"'])?;
    let is_range = inner[..len].contains("..");
    (inner[len..].starts_with(']') && len > 0 && !is_range).then_some(len + 2)
}

fn is_start(char: char) -> bool {
    char.is_alphabetic() || char == '_'
}

fn is_part(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

fn name_len(text: &str) -> usize {
    match text.starts_with(is_start) {
        true => text.find(|char| !is_part(char)).unwrap_or(text.len()),
        false => 0,
    }
}

/// Returns the length of a string, a character or a comment at the start of a text. An apostrophe that
/// begins no character, as of a lifetime, is none.
fn literal_len(text: &str) -> Option<usize> {
    if let Some(comment) = text.strip_prefix("/*") {
        return Some(comment.find("*/").map_or(text.len(), |at| at + 4));
    }
    let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''))?;
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, char)| {
        let ends = *char == quote && !escaped;
        escaped = *char == '\\' && !escaped;
        ends
    });
    match (quote, end) {
        ('"', end) => Some(end.map_or(text.len(), |(at, _)| at + 1)),
        (_, Some((at, _)))
            if at <= 12 && (text[1..].starts_with('\\') || text[1..at].chars().count() == 1) =>
        {
            Some(at + 1)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> String {
        let chains = chains(line);
        let chains: Vec<String> = chains.iter().map(|it| it.join(" ")).collect();
        chains.join("; ")
    }

    #[test]
    fn variables_and_members_of_a_line() {
        assert_eq!(
            all("while (node->next->value < limit) {"),
            "node node->next node->next->value; limit"
        );
        assert_eq!(
            all("total += items[i].price * 2u;"),
            "total; items items[i] items[i].price; i"
        );
        assert_eq!(all("free(list->head);"), "list list->head");
        assert_eq!(
            all("grid[row + 1][at.x] = i[NULL];"),
            "grid grid[row + 1] grid[row + 1][at.x]; row; at at.x; i i[NULL]"
        );
        assert_eq!(
            all("let x = self.map.get(&key).unwrap();"),
            "let; x; self self.map; key"
        );
        assert_eq!(all("println!(\"{x} is {}\", y.0);"), "y y.0");
        assert_eq!(all("return f(a, 'b', \"c d\") + g; // h"), "return; a; g");
        assert_eq!(
            all("std::cout << shop::total << 0x1fUL;"),
            "std::cout; shop::total"
        );
        assert_eq!(all("make().field = point;"), "point");
        assert_eq!(all("get(p)->field = 1;"), "p");
        assert_eq!(all("for i in 0..n { v[i..n].len() }"), "for; i; in; n; v");
        assert_eq!(all("a[f(x)] = b[c[1]];"), "a; x; b; c c[1]");
        assert_eq!(all("fn f<'a>(x: &'a str) {}"), "fn; f; a; x; str");
        assert_eq!(all("\"never closed"), "");
        assert_eq!(all("é.ü = ß"), "é é.ü; ß");
    }

    #[test]
    fn no_text_is_read_beyond_its_end() {
        for line in [
            "a->", "a.", "a::", "a[", "a[]", "'", "'\\", "/*", "0x", "a..", "é[", "\"\\",
        ] {
            chains(line);
        }
    }
}
