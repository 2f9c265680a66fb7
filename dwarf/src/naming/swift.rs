//! Names of Swift's functions: `area`, `area(of:)`, `Stop.area(of:)`, `main.Stop.area`, `Stop.== infix`.

/// The parts of a function's name.
#[derive(PartialEq, Eq, Debug)]
struct Path {
    /// Module, types and the function's own name; of what a user types, the last of them.
    components: Vec<String>,
    /// `(of:)`.
    labels: Option<String>,
}

/// A name that a user typed.
pub(crate) struct SwiftQuery(Path);

impl SwiftQuery {
    /// Parses a name; `None` if it can be none of Swift.
    pub(crate) fn new(typed: &str) -> Option<SwiftQuery> {
        let mut path = Path::parse(typed)?;
        // `area()` means any `area`, as `main()` does.
        path.labels = path.labels.filter(|labels| labels != "()");
        Some(SwiftQuery(path))
    }

    /// Returns whether the name may be one of C, too: an identifier alone.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.components.len() == 1 && self.0.labels.is_none()
    }

    /// Returns a text that the symbols of all such functions contain. Identifiers may refer to words of
    /// earlier ones, but each word is spelled once. `None`: the symbols do not spell the name.
    pub(crate) fn word(&self) -> Option<&str> {
        let last = self.0.components.last()?;
        let is_encoded = matches!(
            last.as_str(),
            "init"
                | "deinit"
                | "subscript"
                | "getter"
                | "setter"
                | "modify"
                | "read"
                | "willset"
                | "didset"
                | "unsafeAddressor"
                | "unsafeMutableAddressor"
        ) || last.starts_with("__");
        if is_encoded || !last.chars().all(is_of_identifier) || !last.is_ascii() {
            return None;
        }
        words(last).max_by_key(|word| word.len())
    }

    /// Returns whether a demangled name is one of such a function: a path and labels, without types.
    pub(crate) fn matches(&self, readable: &str) -> bool {
        let Some(path) = Path::parse(readable) else {
            return false;
        };
        let wanted = &self.0;
        path.components.ends_with(&wanted.components)
            && (wanted.labels.is_none() || wanted.labels == path.labels)
    }
}

fn is_of_identifier(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$')
}

fn is_of_operator(letter: char) -> bool {
    "&@/=><*!|+?%-~^.".contains(letter) || !letter.is_ascii() && !letter.is_alphanumeric()
}

/// Returns the words of an identifier: they begin at capitals and behind underscores.
fn words(identifier: &str) -> impl Iterator<Item = &str> {
    let mut before = '_';
    let starts = identifier.char_indices().filter_map(move |(at, letter)| {
        let starts = letter == '_' || letter.is_ascii_uppercase() && !before.is_ascii_uppercase();
        before = letter;
        (at > 0 && starts).then_some(at)
    });
    let mut from = 0;
    starts
        .chain([identifier.len()])
        .filter_map(move |at| identifier.get(std::mem::replace(&mut from, at)..at))
        .map(|word| word.trim_start_matches('_'))
        .filter(|word| !word.is_empty())
}

impl Path {
    fn parse(text: &str) -> Option<Path> {
        let text = text.trim();
        let text = text.strip_prefix("static ").unwrap_or(text);
        let (path, labels) = match text.strip_suffix(')') {
            Some(before) => {
                let (path, labels) = before.rsplit_once('(')?;
                (path, Some(format!("({})", labels.replace(' ', ""))))
            }
            None => (text, None),
        };
        let path = path.trim_end();
        let positions = [" infix", " prefix", " postfix"];
        let operator = positions.iter().find_map(|it| path.strip_suffix(it));
        let path = match operator {
            Some(path) => path.to_owned(),
            None => without_arguments(path),
        };
        if path.is_empty() || path.contains([' ', '(', '[']) {
            return None;
        }
        // An operator may contain dots.
        let own = path.trim_end_matches(is_of_operator).len();
        let (path, operator) = path.split_at(own);
        let mut components: Vec<String> = path.split('.').map(str::to_owned).collect();
        if !operator.is_empty() {
            let own = match operator.strip_prefix('.') {
                Some(own) if !own.is_empty() && !path.is_empty() => own,
                _ => operator,
            };
            if path.is_empty() {
                components.clear();
            }
            components.push(own.to_owned());
        }
        components
            .iter()
            .all(|it| !it.is_empty())
            .then_some(Path { components, labels })
    }
}

/// Returns a path without arguments in angle brackets.
fn without_arguments(path: &str) -> String {
    let mut depth = 0_usize;
    let mut before = ' ';
    let mut kept = String::with_capacity(path.len());
    for letter in path.chars() {
        match letter {
            '<' if depth > 0 || is_of_identifier(before) => depth += 1,
            '>' if depth > 0 => depth -= 1,
            _ if depth == 0 => kept.push(letter),
            _ => {}
        }
        before = letter;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(typed: &str, readable: &str) -> bool {
        SwiftQuery::new(typed).is_some_and(|query| query.matches(readable))
    }

    #[test]
    fn a_name_means_what_ends_in_it() {
        let readable = "main.Stop.area(of:scaled:)";
        for typed in [
            "area",
            "area()",
            "area(of:scaled:)",
            "area(of: scaled:)",
            "Stop.area",
            "Stop.area(of:scaled:)",
            "main.Stop.area",
            " main.Stop.area(of:scaled:) ",
        ] {
            assert!(matches(typed, readable), "{typed}");
        }
        for typed in [
            "",
            "rea",
            "Stop",
            "area(of:)",
            "other.Stop.area",
            "top.area",
            "area.",
            "main::Stop::area",
        ] {
            assert!(!matches(typed, readable), "{typed}");
        }
    }

    #[test]
    fn names_of_all_kinds_are_split() {
        for (typed, readable) in [
            ("Box.put", "main.Box.put<A>(_:)"),
            ("Box.put", "static main.Box<A>.put(_:)"),
            ("total.getter", "main.Stop.total.getter"),
            ("Stop.init(x:)", "main.Stop.init(x:)"),
            ("==", "static main.Stop.== infix(_:_:)"),
            ("Stop.==", "static main.Stop.== infix(_:_:)"),
            ("..<", "static (main.Stop).fake" /* no path */),
            ("Stop.<", "static main.Stop.< infix(_:_:)"),
            ("Stop...<", "static main.Stop...< infix(_:_:)"),
            ("Stop.-", "static main.Stop.- prefix(_:)"),
        ] {
            assert_eq!(matches(typed, readable), typed != "..<", "{typed}");
        }
        for readable in [
            "type metadata accessor for main.Stop",
            "closure #1 in main.Stop.area(of:)",
            "@objc main.Stop.area(of:)",
            "protocol witness for main.P.area(of:) in conformance main.Stop",
        ] {
            assert!(!matches("area", readable), "{readable}");
            assert!(!matches("Stop", readable), "{readable}");
        }
    }

    #[test]
    fn the_longest_word_is_searched() {
        for (typed, word) in [
            ("area", Some("area")),
            ("Stop.rotateRandomAccess(by:)", Some("Access")),
            ("URLSession", Some("URLSession")),
            ("visit_all_nodes", Some("nodes")),
            ("Stop.init", None),
            ("Stop.+", None),
            ("straße", None),
        ] {
            let query = SwiftQuery::new(typed).expect(typed);
            assert_eq!(query.word(), word, "{typed}");
        }
    }
}
