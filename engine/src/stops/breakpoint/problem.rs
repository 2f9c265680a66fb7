//! Why a breakpoint cannot be hit.

/// The kind of a problem, for callers that act on it: its text is for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProblemKind {
    /// The condition is invalid.
    Condition,
    /// The hit condition is invalid.
    HitCondition,
    /// The log message is invalid.
    LogMessage,
    /// What a tracepoint is to record is invalid.
    Trace,
    /// The line has no code.
    NoCode,
    /// Debug info is being searched; the result is an event.
    Searching,
    /// No loaded module has the function; one that is loaded later may.
    NotFound,
    /// Anything else.
    Other,
}

/// Why a breakpoint cannot be hit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Problem {
    pub kind: ProblemKind,
    pub text: String,
}

impl Problem {
    pub fn new(kind: ProblemKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }
}

impl From<String> for Problem {
    fn from(text: String) -> Self {
        Self::new(ProblemKind::Other, text)
    }
}

impl From<&str> for Problem {
    fn from(text: &str) -> Self {
        Self::new(ProblemKind::Other, text)
    }
}

#[cfg(test)]
mod tests {
    use super::ProblemKind;
    use crate::ids::BreakpointId;
    use crate::stops::breakpoint::{Breakpoint, BreakpointInfo, BreakpointOptions, Spec};

    fn info(options: BreakpointOptions) -> BreakpointInfo {
        let spec = Spec::Line {
            source: "a.c".into(),
            line: 1,
            column: None,
        };
        Breakpoint::new(spec, options).info(BreakpointId(1))
    }

    #[test]
    fn invalid_option_is_the_kind_of_the_problem() {
        let kinds = [
            ("1 +", "", "", ProblemKind::Condition),
            ("", "often", "", ProblemKind::HitCondition),
            ("", "", "{1 +}", ProblemKind::LogMessage),
        ];
        for (condition, hits, message, kind) in kinds {
            let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            let info = info(BreakpointOptions {
                condition: given(condition),
                hit_condition: given(hits),
                log_message: given(message),
                ..BreakpointOptions::default()
            });
            assert!(info.failed && info.message.is_some());
            assert_eq!(info.problem, Some(kind));
        }
        let info = info(BreakpointOptions::default());
        assert_eq!((info.problem, info.message), (None, None));
    }
}
