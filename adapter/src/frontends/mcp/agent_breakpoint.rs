//! A breakpoint as agents see it: location, options, state.

use super::text::short_path;
use crate::protocol::{
    Breakpoint, BreakpointProblem, BreakpointReason, DataAccessType, DataBreakpoint,
    ExceptionFilterOptions, FunctionBreakpoint, InstructionBreakpoint, SourceBreakpoint,
};

/// A breakpoint that is set.
#[derive(Clone, Debug)]
pub struct AgentBreakpoint {
    /// Its number for agents.
    pub(super) number: u32,
    pub(super) target: BreakpointTarget,
    pub(super) condition: Option<String>,
    pub(super) hits: Option<String>,
    pub(super) message: Option<String>,
    /// Whether it is removed at the next stop.
    pub(super) temporary: bool,
    /// The adapter's last description of it, with its id.
    pub(super) description: Breakpoint,
    /// Its line as last reported to the agent; empty before the first report.
    pub(super) shown: String,
}

/// The location of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BreakpointTarget {
    /// A line of a source file.
    Line(String, i64),
    /// The start of a function.
    Function(String),
    /// An instruction.
    Address(String),
    /// Data: the expression, the adapter's data id, the type of access.
    Data(String, String, DataAccessType),
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

impl BreakpointTarget {
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
            // Compilers write `FILE:LINE:COLUMN`; the line is taken.
            let before = file.rsplit_once(':').filter(|(file, _)| !file.is_empty());
            let before = before.and_then(|(file, line)| Some((file, line.parse().ok()?)));
            let (file, line) = before.unwrap_or((file, line));
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
            Self::Data(expression, _, access) => {
                let access = match access {
                    DataAccessType::Read => "read",
                    DataAccessType::Write => "write",
                    DataAccessType::ReadWrite => "readWrite",
                };
                format!("watch {access} of {expression}")
            }
            Self::Exception(filter) => format!("exception {filter}"),
        }
    }
}

impl AgentBreakpoint {
    pub(super) fn new(place: BreakpointTarget) -> Self {
        Self {
            number: 0,
            target: place,
            condition: None,
            hits: None,
            message: None,
            temporary: false,
            description: Breakpoint::default(),
            shown: String::new(),
        }
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.description.id
    }

    pub(super) fn is_verified(&self) -> bool {
        self.description.verified
    }

    pub(super) fn message(&self) -> &str {
        self.description.message.as_deref().unwrap_or_default()
    }

    /// Returns true while names are searched; the result is reported later.
    pub(super) fn is_searching(&self) -> bool {
        self.description.problem == Some(BreakpointProblem::Searching)
    }

    /// Returns true if it cannot be resolved, now or later.
    pub(super) fn has_failed(&self) -> bool {
        self.description.reason == Some(BreakpointReason::Failed)
    }

    /// Returns it for `setBreakpoints`, if it is on a line.
    pub(super) fn on_line(&self) -> Option<SourceBreakpoint> {
        let BreakpointTarget::Line(_, line) = &self.target else {
            return None;
        };
        Some(SourceBreakpoint {
            line: *line,
            condition: self.condition.clone(),
            hit_condition: self.hits.clone(),
            log_message: self.message.clone(),
            ..SourceBreakpoint::default()
        })
    }

    /// Returns it for `setFunctionBreakpoints`, if it is on a function.
    pub(super) fn on_function(&self) -> Option<FunctionBreakpoint> {
        let BreakpointTarget::Function(name) = &self.target else {
            return None;
        };
        Some(FunctionBreakpoint {
            name: name.clone(),
            condition: self.condition.clone(),
            hit_condition: self.hits.clone(),
        })
    }

    /// Returns it for `setInstructionBreakpoints`, if it is on an instruction.
    pub(super) fn on_instruction(&self) -> Option<InstructionBreakpoint> {
        let BreakpointTarget::Address(address) = &self.target else {
            return None;
        };
        Some(InstructionBreakpoint {
            instruction_reference: address.clone(),
            condition: self.condition.clone(),
            hit_condition: self.hits.clone(),
            ..InstructionBreakpoint::default()
        })
    }

    /// Returns it for `setDataBreakpoints`, if it is on data.
    pub(super) fn on_data(&self) -> Option<DataBreakpoint> {
        let BreakpointTarget::Data(_, id, access) = &self.target else {
            return None;
        };
        Some(DataBreakpoint {
            data_id: id.clone(),
            access_type: Some(*access),
            condition: self.condition.clone(),
            hit_condition: self.hits.clone(),
        })
    }

    /// Returns it for `setExceptionBreakpoints`, if it is an exception filter.
    pub(super) fn on_exception(&self) -> Option<ExceptionFilterOptions> {
        let BreakpointTarget::Exception(filter) = &self.target else {
            return None;
        };
        Some(ExceptionFilterOptions {
            filter_id: filter.clone(),
            condition: self.condition.clone(),
        })
    }

    /// Returns true if it is on a line without code, or was moved to another line.
    pub(super) fn has_no_code(&self) -> bool {
        let BreakpointTarget::Line(_, line) = &self.target else {
            return false;
        };
        match self.is_verified() {
            true => self.description.line != Some(*line),
            false => self.description.problem == Some(BreakpointProblem::NoCode),
        }
    }

    /// Formats number, location and conditions.
    pub(super) fn title(&self) -> String {
        let what = if self.message.is_some() {
            "logpoint"
        } else {
            "breakpoint"
        };
        let mut line = format!("{what} {}: {}", self.number, self.target.text());
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
        match (self.is_verified(), &self.target) {
            (true, BreakpointTarget::Line(file, line_asked))
                if self.description.line != Some(*line_asked) =>
            {
                line.push_str(&format!(
                    "; line {line_asked} has no code, moved to {}:{}",
                    short_path(file, None),
                    self.description.line.unwrap_or_default()
                ));
            }
            (true, BreakpointTarget::Function(_)) => {
                let source = self.description.source.as_ref();
                let path = source.and_then(|source| source.path.as_deref());
                if let (Some(path), Some(at)) = (path, self.description.line) {
                    line.push_str(&format!(", at {path}:{at}"));
                }
            }
            (true, _) => {}
            (false, _) => line.push_str("; pending"),
        }
        if !self.message().is_empty() {
            line.push_str(&format!(" ({})", self.message()));
        }
        line
    }
}

/// Returns the groups of breakpoints, without repetition.
pub(super) fn groups_of(sets: &[AgentBreakpoint]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for group in sets.iter().map(|set| set.target.group()) {
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
        let line = |file: &str, line| BreakpointTarget::Line(file.to_owned(), line);
        assert_eq!(BreakpointTarget::of("a.c:12"), line("a.c", 12));
        assert_eq!(BreakpointTarget::of("a.c:12:5"), line("a.c", 12));
        assert_eq!(BreakpointTarget::of("/x:y/a.c: 12"), line("/x:y/a.c", 12));
        assert_eq!(
            BreakpointTarget::of("a::b"),
            BreakpointTarget::Function("a::b".to_owned())
        );
        assert_eq!(
            BreakpointTarget::of("a::1"),
            BreakpointTarget::Function("a::1".to_owned())
        );
        assert_eq!(
            BreakpointTarget::of(" main "),
            BreakpointTarget::Function("main".to_owned())
        );
        assert_eq!(
            BreakpointTarget::of("0x4010a0"),
            BreakpointTarget::Address("0x4010a0".to_owned())
        );
        assert_eq!(
            BreakpointTarget::of("0xylon"),
            BreakpointTarget::Function("0xylon".to_owned())
        );
    }
}
