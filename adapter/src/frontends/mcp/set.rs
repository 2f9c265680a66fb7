//! A breakpoint as agents see it: location, options, state.

use super::text::near;
use serde_json::{Value, json};

/// A breakpoint that is set.
#[derive(Clone, Debug)]
pub struct Set {
    /// Its number for agents.
    pub(super) number: u32,
    pub(super) place: Place,
    pub(super) condition: Option<String>,
    pub(super) hits: Option<String>,
    pub(super) message: Option<String>,
    /// Whether it is removed at the next stop.
    pub(super) temporary: bool,
    /// The adapter's last description of it, with its id.
    pub(super) told: Value,
    /// Its line as last reported to the agent; empty before the first report.
    pub(super) shown: String,
}

/// The location of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a source file.
    Line(String, i64),
    /// The start of a function.
    Function(String),
    /// An instruction.
    Address(String),
    /// Data: the expression, the adapter's data id, the type of access.
    Data(String, String, &'static str),
    /// An exception filter.
    Exception(String),
}

/// A set of breakpoints that one DAP request replaces as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Source(String),
    Functions,
    Addresses,
    Data,
    Exceptions,
}

impl Place {
    /// Parses `FILE:LINE`, a function's name, or an address in hex.
    pub(super) fn of(text: &str) -> Self {
        let digits = text.trim().strip_prefix("0x");
        if digits.is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok()) {
            return Self::Address(text.trim().to_owned());
        }
        if let Some((file, line)) = text.rsplit_once(':')
            && !file.is_empty()
            && !file.ends_with(':')
            && let Ok(line) = line.trim().parse()
        {
            return Self::Line(file.to_owned(), line);
        }
        Self::Function(text.trim().to_owned())
    }

    pub(super) fn group(&self) -> Group {
        match self {
            Self::Line(file, _) => Group::Source(file.clone()),
            Self::Function(_) => Group::Functions,
            Self::Address(_) => Group::Addresses,
            Self::Data(..) => Group::Data,
            Self::Exception(_) => Group::Exceptions,
        }
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Line(file, line) => format!("{file}:{line}"),
            Self::Function(name) | Self::Address(name) => name.clone(),
            Self::Data(expression, _, access) => format!("watch {access} of {expression}"),
            Self::Exception(filter) => format!("exception {filter}"),
        }
    }
}

impl Set {
    pub(super) fn new(place: Place) -> Self {
        Self {
            number: 0,
            place,
            condition: None,
            hits: None,
            message: None,
            temporary: false,
            told: Value::Null,
            shown: String::new(),
        }
    }

    pub(super) fn id(&self) -> i64 {
        self.told["id"].as_i64().unwrap_or(-1)
    }

    pub(super) fn is_verified(&self) -> bool {
        self.told["verified"] == true
    }

    pub(super) fn said(&self) -> &str {
        self.told["message"].as_str().unwrap_or_default()
    }

    /// Returns true while names are searched; the result is reported later.
    pub(super) fn is_looked_for(&self) -> bool {
        self.said().starts_with("searching")
    }

    pub(super) fn to_protocol(&self) -> Value {
        let mut value = match &self.place {
            Place::Line(_, line) => json!({"line": line}),
            Place::Function(name) => json!({"name": name}),
            Place::Address(address) => json!({"instructionReference": address}),
            Place::Data(_, id, access) => json!({"dataId": id, "accessType": access}),
            Place::Exception(filter) => json!({"filterId": filter}),
        };
        let options = [
            ("condition", &self.condition),
            ("hitCondition", &self.hits),
            ("logMessage", &self.message),
        ];
        for (key, text) in options {
            if let Some(text) = text {
                value[key] = json!(text);
            }
        }
        value
    }

    /// Returns true if it is on a line without code, or was moved to another line.
    pub(super) fn has_no_code(&self) -> bool {
        let Place::Line(_, line) = &self.place else {
            return false;
        };
        match self.is_verified() {
            true => self.told["line"] != *line,
            false => self.said().starts_with("no code at line"),
        }
    }

    /// Formats number, location and conditions.
    pub(super) fn title(&self) -> String {
        let what = if self.message.is_some() {
            "logpoint"
        } else {
            "breakpoint"
        };
        let mut line = format!("{what} {}: {}", self.number, self.place.text());
        if let Some(condition) = &self.condition {
            line.push_str(&format!(" if {condition}"));
        }
        if let Some(hits) = &self.hits {
            line.push_str(&format!(", hits {hits}"));
        }
        if let Some(message) = &self.message {
            line.push_str(&format!(" says {message:?}"));
        }
        line
    }

    /// Formats its title and its state in one line.
    pub(super) fn line(&self) -> String {
        let mut line = self.title();
        match (self.is_verified(), &self.place) {
            (true, Place::Line(file, line_asked)) if self.told["line"] != *line_asked => {
                line.push_str(&format!(
                    "; line {line_asked} has no code, so it is at {}:{}",
                    near(file, None),
                    self.told["line"]
                ));
            }
            (true, Place::Function(_)) => {
                if let (Some(path), Some(at)) = (
                    self.told["source"]["path"].as_str(),
                    self.told["line"].as_i64(),
                ) {
                    line.push_str(&format!(", at {path}:{at}"));
                }
            }
            (true, _) => {}
            (false, _) => line.push_str("; pending"),
        }
        if !self.said().is_empty() {
            line.push_str(&format!(" ({})", self.said()));
        }
        line
    }
}

/// Returns the groups of breakpoints, without repetition.
pub(super) fn groups_of(sets: &[Set]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for group in sets.iter().map(|set| set.place.group()) {
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let line = |file: &str, line| Place::Line(file.to_owned(), line);
        assert_eq!(Place::of("a.c:12"), line("a.c", 12));
        assert_eq!(Place::of("/x:y/a.c: 12"), line("/x:y/a.c", 12));
        assert_eq!(Place::of("a::b"), Place::Function("a::b".to_owned()));
        assert_eq!(Place::of("a::1"), Place::Function("a::1".to_owned()));
        assert_eq!(Place::of(" main "), Place::Function("main".to_owned()));
        assert_eq!(Place::of("0x4010a0"), Place::Address("0x4010a0".to_owned()));
        assert_eq!(Place::of("0xylon"), Place::Function("0xylon".to_owned()));
    }
}
