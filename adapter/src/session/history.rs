//! Stops, output and variables before a stop, for its summary.

use crate::protocol::{Context, StoppedEventBody};
use engine::{Named, Objects, ThreadId};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Reasons for stops at arbitrary locations. `entry` is one: an attached process may stop anywhere.
const UNPLANNED_REASONS: [&str; 4] = ["exception", "pause", "data breakpoint", "entry"];

/// Maximum number of functions whose variables are remembered.
const MAX_FUNCTIONS: usize = 32;
/// Maximum size of the output kept, in bytes.
const MAX_OUTPUT_BYTES: usize = 64 << 10;

/// Earlier stops, output and variables.
#[derive(Debug, Default)]
pub struct History {
    stops: u64,
    last: Option<ReportedStop>,
    output: Tail,
    /// Total bytes of output at the stop before the last one, and at the last one.
    marks: [u64; 2],
    seen: VecDeque<FunctionVariables>,
    /// The targets of pointers shown so far.
    pub objects: Objects,
}

/// The last stop as the client knows it.
#[derive(Debug)]
struct ReportedStop {
    thread: ThreadId,
    reason: Cow<'static, str>,
    description: Option<String>,
    text: Option<String>,
    hit_breakpoint_ids: Vec<u32>,
}

/// The texts of a variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// As shown to the client.
    pub shown: String,
    /// With all addresses, and all targets of its pointers.
    pub exact: String,
    /// With all addresses, without targets of its pointers.
    pub own: String,
}

impl Value {
    /// Returns true if the value has changed, or the shown part of its pointers' targets has. A
    /// target that another variable shows is compared there only.
    pub fn differs_from(&self, was: &Self) -> bool {
        self.own != was.own || (self.exact != was.exact && self.shown != was.shown)
    }
}

/// Variables by name.
type Values = Vec<(String, Value)>;

/// The variables of a function at its last stop.
#[derive(Debug)]
struct FunctionVariables {
    thread: ThreadId,
    function: String,
    now: (u64, Values),
    before: Option<(u64, Values)>,
}

/// Finds a variable by its name; of two with the same name, the inner one is last.
pub fn find<'a>(values: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    let found = values.iter().rev().find(|(known, _)| known == name);
    found.map(|(_, value)| value)
}

impl History {
    /// Records a stop that is reported to the client.
    pub fn stopped(&mut self, thread: ThreadId, body: &StoppedEventBody) {
        self.stops += 1;
        self.marks = [self.marks[1], self.output.end()];
        self.last = Some(ReportedStop {
            thread,
            reason: body.reason.clone(),
            description: body.description.clone(),
            text: body.text.clone(),
            hit_breakpoint_ids: body.hit_breakpoint_ids.clone(),
        });
    }

    /// Records output that is sent to the client.
    pub fn add_output(&mut self, text: &str) {
        self.output.push(text);
    }

    /// Returns the thread that stopped last.
    pub fn thread(&self) -> Option<ThreadId> {
        self.last.as_ref().map(|last| last.thread)
    }

    /// Returns true if a thread stopped at a breakpoint or after a step, not at an arbitrary
    /// location.
    pub fn stopped_on_purpose(&self, thread: ThreadId) -> bool {
        let last = self.last.as_ref().filter(|last| last.thread == thread);
        last.is_some_and(|last| !UNPLANNED_REASONS.contains(&&*last.reason))
    }

    /// Starts a response that shows all objects itself, whatever earlier responses showed.
    pub fn begin_reply(&mut self) {
        self.objects.begin();
    }

    /// Adds variables to those that the current response shows.
    pub fn name_variables<'a>(&mut self, variables: impl IntoIterator<Item = &'a Named>) {
        for named in variables {
            if let Ok(value) = &named.value {
                self.objects.name(value, &named.name);
            }
        }
    }

    /// Returns what is known of a thread's stop without reading the debuggee.
    pub fn begin(&self, thread: ThreadId) -> Context {
        let last = self.last.as_ref().filter(|last| last.thread == thread);
        Context {
            stop_id: self.stops,
            reason: last.map_or("", |last| &last.reason).to_owned(),
            description: last.and_then(|last| last.description.clone()),
            text: last.and_then(|last| last.text.clone()),
            hit_breakpoint_ids: last
                .map(|last| last.hit_breakpoint_ids.clone())
                .unwrap_or_default(),
            thread_id: thread.0.into(),
            ..Context::default()
        }
    }

    /// Returns the end of the output since the stop before, at most `most` bytes, and the number of
    /// bytes left out before it.
    pub fn output(&self, most: usize) -> (String, u64) {
        self.output.since(self.marks[0], most)
    }

    /// Records the variables of a function. Returns those of its last stop, with that stop's
    /// number.
    pub fn record_variables(
        &mut self,
        thread: ThreadId,
        function: &str,
        values: Values,
    ) -> Option<(u64, Values)> {
        let is_it = |seen: &FunctionVariables| seen.thread == thread && seen.function == function;
        let known = self.seen.iter().position(is_it);
        let seen = match known.and_then(|at| self.seen.remove(at)) {
            Some(seen) if seen.now.0 == self.stops => seen,
            Some(seen) => FunctionVariables {
                before: Some(seen.now),
                now: (self.stops, values),
                ..seen
            },
            None => FunctionVariables {
                thread,
                function: function.to_owned(),
                now: (self.stops, values),
                before: None,
            },
        };
        let before = seen.before.clone();
        self.seen.push_back(seen);
        if self.seen.len() > MAX_FUNCTIONS {
            self.seen.pop_front();
        }
        before
    }
}

/// The end of a growing text.
#[derive(Debug, Default)]
struct Tail {
    text: String,
    /// Number of bytes dropped before `text`.
    dropped: u64,
}

impl Tail {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * MAX_OUTPUT_BYTES {
            let cut = self
                .text
                .ceil_char_boundary(self.text.len() - MAX_OUTPUT_BYTES);
            self.text.drain(..cut);
            self.dropped += cut as u64;
        }
    }

    /// Returns the total number of bytes.
    fn end(&self) -> u64 {
        self.dropped + self.text.len() as u64
    }

    /// Returns the last `most` bytes after `mark`, cut at a line if possible, and the number of
    /// bytes left out after `mark`.
    fn since(&self, mark: u64, most: usize) -> (String, u64) {
        let from = usize::try_from(mark.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        let from = self.text.ceil_char_boundary(from.min(self.text.len()));
        let mut shown = &self.text[from..];
        if shown.len() > most {
            let start = shown.ceil_char_boundary(shown.len() - most);
            let starts_line = shown.as_bytes().get(start.wrapping_sub(1)) == Some(&b'\n');
            shown = &shown[start..];
            if !starts_line && let Some(line) = shown.find('\n').filter(|at| at + 1 < shown.len()) {
                shown = &shown[line + 1..];
            }
        }
        let omitted = self.end() - shown.len() as u64;
        (shown.to_owned(), omitted.saturating_sub(mark))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        let value = |text: &str| Value {
            shown: text.to_owned(),
            exact: text.to_owned(),
            own: text.to_owned(),
        };
        let pairs = pairs.iter();
        pairs
            .map(|(name, text)| ((*name).to_owned(), value(text)))
            .collect()
    }

    #[test]
    fn changes_refer_to_the_previous_stop() {
        let mut history = History::default();
        let thread = ThreadId(1);
        let look = |history: &mut History, function: &str, text: &str| {
            let before = history.record_variables(thread, function, values(&[("i", text)]));
            before.map(|(stop, values)| (stop, find(&values, "i").unwrap().shown.clone()))
        };
        history.stops = 1;
        assert_eq!(look(&mut history, "f", "1"), None);
        assert_eq!(look(&mut history, "f", "1"), None);
        history.stops = 2;
        assert_eq!(look(&mut history, "g", "9"), None);
        history.stops = 3;
        let first = Some((1, "1".to_owned()));
        assert_eq!(look(&mut history, "f", "2"), first);
        assert_eq!(look(&mut history, "f", "2"), first);
        history.stops = 4;
        assert_eq!(look(&mut history, "f", "3"), Some((3, "2".to_owned())));
        for function in 0..MAX_FUNCTIONS {
            look(&mut history, &format!("f{function}"), "");
        }
        assert_eq!(look(&mut history, "f", "3"), None);
    }

    #[test]
    fn value_of_another_variable_is_no_change() {
        let value = |shown: &str, exact: &str, own: &str| Value {
            shown: shown.to_owned(),
            exact: exact.to_owned(),
            own: own.to_owned(),
        };
        let first = value("→ #1 {1}", "0x8 → #1 {1}", "0x8");
        let same = value("→ #1", "0x8 → #1 {1}", "0x8");
        let written = value("→ #1 {2}", "0x8 → #1 {2}", "0x8");
        let same_written = value("→ #1", "0x8 → #1 {2}", "0x8");
        let moved = value("→ #2 {1}", "0x9 → #2 {1}", "0x9");
        assert!(written.differs_from(&first) && moved.differs_from(&first));
        assert!(!same_written.differs_from(&same) && !same.differs_from(&first));
    }

    #[test]
    fn inner_of_two_equal_names_counts() {
        let values = values(&[("i", "1"), ("i", "2")]);
        assert_eq!(find(&values, "i").unwrap().shown, "2");
        assert!(find(&values, "j").is_none());
    }

    #[test]
    fn the_end_of_the_output_in_whole_lines() {
        let mut tail = Tail::default();
        tail.push("before\n");
        let mark = tail.end();
        assert_eq!(tail.since(mark, 100), (String::new(), 0));
        tail.push("one\ntwo\nthree");
        assert_eq!(tail.since(mark, 100), ("one\ntwo\nthree".to_owned(), 0));
        assert_eq!(tail.since(mark, 10), ("two\nthree".to_owned(), 4).clone());
        assert_eq!(tail.since(mark, 9), ("two\nthree".to_owned(), 4));
        assert_eq!(tail.since(mark, 3), ("ree".to_owned(), 10));
        assert_eq!(tail.since(0, 100).0, "before\none\ntwo\nthree");
    }

    #[test]
    fn endless_output_is_bounded() {
        let mut tail = Tail::default();
        for _ in 0..100_000 {
            tail.push("ü line\n");
        }
        assert!(tail.text.len() <= 2 * MAX_OUTPUT_BYTES);
        assert_eq!(tail.end(), 800_000);
        let (shown, omitted) = tail.since(0, 16);
        assert_eq!(
            (shown.as_str(), omitted),
            ("ü line\nü line\n", 800_000 - 16)
        );
    }
}
