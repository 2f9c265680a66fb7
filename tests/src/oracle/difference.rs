//! What differs between the compiler and the debugger about one expression.

use super::names;
use super::program::{Language, Program, Verdict};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The kind of a difference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum What {
    /// The compiler rejects the expression; the debugger shows a value.
    Accepted,
    /// The debugger refuses the expression.
    Refused,
    /// The evaluation in the program ends in a signal, an exception or a panic; the debugger shows a
    /// value.
    Trap,
    /// The values differ.
    Value,
    /// The types differ.
    Type,
    /// The log message that runs in the program differs from the debugger's own.
    Compiled,
    /// The expression changes other variables than in the program.
    State,
    /// AddressSanitizer reports an error, or the program ends.
    Memory,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accepted => "accepted",
            Self::Refused => "refused",
            Self::Trap => "trap",
            Self::Value => "value",
            Self::Type => "type",
            Self::Compiled => "compiled",
            Self::State => "state",
            Self::Memory => "memory",
        })
    }
}

/// One difference.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The language of the program.
    pub language: Language,
    /// The kind of the program.
    pub kind: String,
    /// What differs.
    pub what: What,
    /// The expression.
    pub expression: String,
    /// What the compiler says: its message, or value and type.
    pub expected: String,
    /// What the debugger says.
    pub found: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            language,
            kind,
            what,
            expression,
            expected,
            found,
        } = self;
        write!(
            f,
            "{kind} {language} {what}: `{expression}`: {expected}; the debugger: {found}"
        )
    }
}

/// What the program prints for an expression.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Printed {
    /// Its type (unless the compiler said it) and value; `?` is a value that the program cannot
    /// print.
    Value(String, String),
    /// Its evaluation ends in a signal, an exception or a panic.
    Trap,
    /// Its behaviour is undefined.
    Undefined,
}

/// Reads the lines `index TAB state TAB text`: all variables after an expression.
pub(super) fn states(output: &str) -> BTreeMap<usize, String> {
    let line = |line: &str| {
        let (index, text) = line.split_once("\tstate\t")?;
        Some((index.parse().ok()?, text.to_owned()))
    };
    output.lines().filter_map(line).collect()
}

/// Reads the lines of the program: `index TAB type TAB value`, `index TAB trap`, or `index TAB
/// undefined`.
pub(super) fn printed(output: &str) -> BTreeMap<usize, Printed> {
    let line = |line: &str| {
        let mut fields = line.splitn(3, '\t');
        let index = fields.next()?.parse().ok()?;
        let printed = match (fields.next()?, fields.next()) {
            ("trap", None) => Printed::Trap,
            ("undefined", None) => Printed::Undefined,
            ("state", _) => return None,
            (ty, Some(value)) => Printed::Value(ty.to_owned(), value.to_owned()),
            _ => return None,
        };
        Some((index, printed))
    };
    output.lines().filter_map(line).collect()
}

/// Returns what differs about an expression: kind, expectation, finding.
pub(super) fn difference(
    program: &Program,
    index: usize,
    printed: Option<&Printed>,
    reply: Result<&Value, &str>,
) -> Option<(What, String, String)> {
    let text = |body: &Value, key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let shown = |body: &Value| format!("{} ({})", text(body, "result"), text(body, "type"));
    let (ty, value) = match (&program.verdicts[index], printed) {
        (Verdict::Rejected(why), _) => {
            let body = reply.ok()?;
            return Some((What::Accepted, why.clone(), shown(body)));
        }
        (_, Some(Printed::Trap)) => {
            let body = reply.ok()?;
            return Some((What::Trap, "it traps".to_owned(), shown(body)));
        }
        (_, Some(Printed::Undefined)) => return None,
        (_, None) => {
            let missing = "the program printed nothing".to_owned();
            return Some((What::Memory, missing, String::new()));
        }
        (Verdict::Typed(ty), Some(Printed::Value(_, value))) => (ty, value),
        (Verdict::Printed, Some(Printed::Value(ty, value))) => (ty, value),
    };
    let expected = format!("{value} ({ty})");
    let body = match reply {
        Ok(body) => body,
        Err(why) => return Some((What::Refused, expected, why.to_owned())),
    };
    let language = program.world.language();
    // What the program cannot print, it cannot disprove.
    let same = value == "?" || {
        let named = program
            .enumerators
            .get(&(names::enumeration(ty), value.clone()));
        let shown = text(body, "result");
        // Enumerators that are joined by their bits.
        let of_name = |name: &str| {
            let wanted = (names::enumeration(ty), name.rsplit("::").next()?);
            let mut known = program.enumerators.iter();
            let found = known.find(|(key, it)| key.0 == wanted.0 && it.as_str() == wanted.1);
            found.and_then(|(key, _)| key.1.parse::<i64>().ok())
        };
        let mut joined = shown.split(" | ").map(of_name);
        let joined = joined.try_fold(0, |sum, it| Some(sum | it?));
        let named = named.unwrap_or(value);
        names::same_value(language, ty, named, &shown)
            || shown.contains(" | ") && joined.is_some_and(|it| it.to_string() == *value)
    };
    if !same {
        return Some((What::Value, expected, shown(body)));
    }
    let same = names::same_type(language, ty, &text(body, "type"));
    (!same).then(|| (What::Type, expected, shown(body)))
}
