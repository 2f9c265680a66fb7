//! Tracepoints of agents.

use super::arguments::{Trace, TraceAction};
use super::error::ToolError;
use super::meant;
use super::session::Session;
use crate::context::calls;
use crate::context::traces::{self, Style};
use crate::protocol::{self, AddTraceArguments, RemoveTraceArguments, TracesArguments};
use crate::requests::{AddTrace, ReadTraces, RemoveTrace};
use std::time::{Duration, Instant};

/// Default size of a reply in bytes.
const BUDGET: usize = 4000;
/// Size of what the report of the program's end has of all tracepoints, in bytes.
const END_BUDGET: usize = 2000;
/// How long to wait for a search for a function before it is reported as unfinished.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between two looks whether it has ended.
const SEARCH_INTERVAL: Duration = Duration::from_millis(5);

impl Session {
    /// Runs `debug_trace`.
    ///
    /// # Errors
    /// The location has no code, the query is wrong, or there is no such tracepoint.
    pub async fn trace(&self, input: Trace) -> Result<String, ToolError> {
        match meant::trace_action(&input)? {
            TraceAction::Add => {
                let location = input.location.as_deref().unwrap_or_default();
                let query = input.query.as_deref().unwrap_or_default();
                self.add_trace(location, query).await
            }
            TraceAction::Remove => {
                let id = input
                    .id
                    .ok_or_else(|| ToolError::new("BAD_ARGUMENTS", "missing argument; set `id`"))?;
                let arguments = RemoveTraceArguments { id };
                let removed = self.link.request::<RemoveTrace>(&arguments).await;
                removed.map_err(|error| error.or_code("NO_SUCH_TRACEPOINT"))?;
                self.traces().retain(|(known, ..)| *known != id);
                Ok(format!("tracepoint {id} removed\n"))
            }
            TraceAction::Read => {
                let arguments = TracesArguments {
                    id: input.id,
                    rows: input.rows,
                    records: input.records,
                    ..TracesArguments::default()
                };
                let budget = super::inspect::budget(input.budget, BUDGET);
                let read = self.read_traces(&arguments, budget, |_| true).await;
                let text = read.map_err(|error| error.or_code("NO_SUCH_TRACEPOINT"))?;
                Ok(match text.is_empty() {
                    true => "no tracepoints\n".to_owned(),
                    false => text,
                })
            }
        }
    }

    /// Returns what the tracepoints have recorded, for the report of the program's end; empty if
    /// there are none, or if that cannot be read any more.
    pub async fn recorded(&self) -> String {
        if self.traces().is_empty() {
            return String::new();
        }
        let all = TracesArguments::default();
        // Recorded calls are queried (`debug_calls`).
        let is_shown = |trace: &protocol::Trace| !calls::is_history(trace);
        let read = self.read_traces(&all, END_BUDGET, is_shown).await;
        read.unwrap_or_default()
    }

    async fn read_traces(
        &self,
        arguments: &TracesArguments,
        budget: usize,
        is_shown: impl Fn(&protocol::Trace) -> bool,
    ) -> Result<String, ToolError> {
        let read = self.link.request::<ReadTraces>(arguments).await?;
        let read = read.traces.iter().filter(|it| is_shown(it));
        let read: Vec<&protocol::Trace> = read.collect();
        let budget = budget / read.len().max(1);
        let texts = read.into_iter();
        let texts = texts.map(|it| traces::text(it, budget, Style::Untimed) + "\n");
        Ok(texts.collect())
    }

    /// Sets a tracepoint, and returns its state.
    pub(super) async fn add_trace(&self, location: &str, query: &str) -> Result<String, ToolError> {
        let arguments = AddTraceArguments {
            location: location.to_owned(),
            query: query.to_owned(),
        };
        let mut set: protocol::Trace = self.link.request::<AddTrace>(&arguments).await?;
        let begun = Instant::now();
        while set.is_searching && begun.elapsed() < SEARCH_TIMEOUT {
            tokio::time::sleep(SEARCH_INTERVAL).await;
            let arguments = TracesArguments {
                id: Some(set.id),
                ..TracesArguments::default()
            };
            let read = self.link.request::<ReadTraces>(&arguments).await?;
            set = read.traces.into_iter().next().unwrap_or_default();
        }
        if !set.verified {
            let arguments = RemoveTraceArguments { id: set.id };
            self.link.request::<RemoveTrace>(&arguments).await?;
            let why = set.message.as_deref().unwrap_or("no code there");
            // With a location, the query is what cannot be recorded there.
            let code = match set.location {
                Some(_) => "CANNOT_TRACE",
                None => "NO_SUCH_PLACE",
            };
            return Err(ToolError::new(code, format!("{location}: {why}")));
        }
        let kept = (set.id, location.to_owned(), query.to_owned());
        self.traces().push(kept);
        Ok(traces::head(&set, Style::Untimed) + "\n")
    }

    /// Sets the tracepoints of a former session. Those that cannot be set are left out, and said.
    ///
    /// # Errors
    /// The session is lost.
    pub async fn restore_traces(&self, former: &Session) -> Result<String, ToolError> {
        let all = former.traces().clone();
        let mut text = String::new();
        for (_, location, query) in all {
            match self.add_trace(&location, &query).await {
                Ok(line) => text.push_str(&line),
                Err(error) => text.push_str(&format!("{error}\n")),
            }
        }
        Ok(text)
    }
}
