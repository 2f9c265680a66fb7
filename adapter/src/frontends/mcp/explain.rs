//! Explanations of stops and hangs, and searches.

use super::arguments::{Explain, Search};
use super::error::ToolError;
use super::link::Phase;
use super::output::Stream;
use super::run::thread;
use super::session::Session;

use crate::context::{cut, explain, search};
use crate::protocol::{
    Context, ContextArguments, ContextFrame, ExplainArguments, Explanation, SearchArguments,
    StacksArguments,
};
use crate::requests::{self, Pause};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Number of looks at a program that computes, and the time between them.
const SAMPLES: usize = 5;
const SAMPLE_INTERVAL: Duration = Duration::from_millis(20);
/// How long to wait for a stop after a pause was requested.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of variables that are listed, and length of a value in bytes.
const MAX_VARIABLES: usize = 12;
const MAX_VALUE_BYTES: usize = 60;

/// Maximum number of the last lines of stderr that are shown, length of each, and bytes that are read for them.
const MAX_STDERR_LINES: usize = 3;
const MAX_STDERR_LINE: usize = 200;
const MAX_STDERR_BYTES: usize = 1000;

/// A look at a computing thread.
struct Sample {
    /// Its frames, innermost first.
    frames: Vec<ContextFrame>,
    /// The variables by the level of their frame, counted from the outermost one.
    variables: BTreeMap<usize, Context>,
}

impl Session {
    /// Runs `debug_explain`.
    ///
    /// # Errors
    /// The program has ended or has not begun.
    pub async fn explain(&self, input: Explain) -> Result<String, ToolError> {
        let phase = self.link.state().phase.clone();
        match phase {
            Phase::Ended(how) => return Err(ToolError::ended(&how)),
            Phase::Lost => return Err(ToolError::lost()),
            Phase::Held => return Err(ToolError::held()),
            Phase::Stopped => {
                let thread = input
                    .thread
                    .map(|it| self.thread_id(Some(it)))
                    .transpose()?;
                let explanation = self.explanation(thread, input.addresses).await?;
                return Ok(self.explained(&explanation));
            }
            Phase::Running => {}
        }
        self.pause().await?;
        let explanation = self.explanation(None, input.addresses).await?;
        let Some(busy) = busy_thread(&explanation) else {
            return Ok(self.all_wait(&explanation));
        };
        let mut samples = Vec::new();
        for nth in 0..SAMPLES {
            if nth > 0 {
                let argument = thread(busy);
                self.link.request::<requests::Continue>(&argument).await?;
                tokio::time::sleep(SAMPLE_INTERVAL).await;
                self.pause().await?;
            }
            samples.push(self.sample(busy).await?);
        }
        let explanation = self.explanation(Some(busy), input.addresses).await?;
        // A program that has just started may have come to its deadlock meanwhile.
        if busy_thread(&explanation).is_none() {
            return Ok(self.all_wait(&self.explanation(None, input.addresses).await?));
        }
        Ok(format!(
            "it was running, and is paused now\n{}{}",
            in_samples(&samples),
            self.explained(&explanation)
        ))
    }

    /// Runs `debug_search`.
    ///
    /// # Errors
    /// Not stopped, no such frame, or nothing to search for.
    pub async fn search(&self, input: Search) -> Result<String, ToolError> {
        let frame = self.frame_id(input.thread, input.frame).await?;
        let arguments = SearchArguments {
            wanted: input.wanted,
            frame_id: Some(frame),
            limit: input.limit,
            addresses: input.addresses,
        };
        let found = self.link.request::<requests::Search>(&arguments).await?;
        Ok(search::text(&found))
    }

    /// Stops a running program.
    async fn pause(&self) -> Result<(), ToolError> {
        let thread = thread(self.thread_id(None)?);
        let is_stopped = |phase: &Phase| !matches!(phase, Phase::Running);
        if let Err(error) = self.link.request::<Pause>(&thread).await
            && !is_stopped(&self.link.state().phase)
        {
            return Err(error);
        }
        let stopped = self
            .link
            .wait(PAUSE_TIMEOUT, |state| is_stopped(&state.phase))
            .await;
        match stopped {
            true => self.stopped(),
            false => Err(ToolError::running()),
        }
    }

    async fn explanation(
        &self,
        thread_id: Option<i64>,
        addresses: bool,
    ) -> Result<Explanation, ToolError> {
        let arguments = ExplainArguments {
            thread_id,
            addresses,
        };
        self.link.request::<requests::Explain>(&arguments).await
    }

    /// The answer about a program whose threads all wait.
    fn all_wait(&self, explanation: &Explanation) -> String {
        let head = "it was running, and is paused now; all its threads wait\n";
        format!("{head}{}", self.explained(explanation))
    }

    fn explained(&self, explanation: &Explanation) -> String {
        let mut state = self.link.state();
        let mut text = explain::text(explanation, |id| state.number(id).to_string());
        let written = state
            .output
            .read(0, Some(Stream::Stderr), MAX_STDERR_BYTES, true);
        // The message of a panic is already there.
        let lines = written.text.lines().map(str::trim_end);
        let lines = lines.filter(|line| !line.is_empty() && !text.contains(line));
        let lines: Vec<&str> = lines.collect();
        if !lines.is_empty() {
            text.push_str("stderr ends with:\n");
        }
        for line in &lines[lines.len().saturating_sub(MAX_STDERR_LINES)..] {
            text.push_str(&format!("  {}\n", cut(line, MAX_STDERR_LINE)));
        }
        text
    }

    /// Reads the frames of a thread, and the variables of those with source.
    async fn sample(&self, thread: i64) -> Result<Sample, ToolError> {
        let arguments = StacksArguments {
            thread_id: Some(thread),
            start_frame: Some(0),
            levels: Some(64),
            ..StacksArguments::default()
        };
        let stacks = self.link.request::<requests::Stacks>(&arguments).await?;
        let frames = stacks.threads.into_iter().next();
        let frames = frames.map(|it| it.stack).unwrap_or_default();
        let mut variables = BTreeMap::new();
        let count = frames.len();
        for (level, frame) in frames
            .iter()
            .enumerate()
            .filter(|(_, it)| it.line.is_some())
        {
            let arguments = ContextArguments {
                frame_id: Some(frame.frame_id),
                budget: Some(2000),
                ..ContextArguments::default()
            };
            let context = self.link.request::<requests::Context>(&arguments).await?;
            variables.insert(count - level, context);
            if variables.len() == 4 {
                break;
            }
        }
        Ok(Sample { frames, variables })
    }
}

/// The first thread that waits for nothing that the debugger knows of.
fn busy_thread(explanation: &Explanation) -> Option<i64> {
    let mut threads = explanation.threads.iter();
    threads.find(|it| it.wait.is_none()).map(|it| it.thread_id)
}

/// Describes what the looks at a thread have in common: the innermost function that it was in at each
/// of them, and which of its variables changed.
fn in_samples(samples: &[Sample]) -> String {
    let outermost = |sample: &Sample, nth: usize| {
        let index = sample.frames.len().checked_sub(nth)?;
        sample.frames.get(index).cloned()
    };
    let mut common = 0;
    while let Some(first) = samples.first().and_then(|it| outermost(it, common + 1)) {
        let same = |it: &Sample| outermost(it, common + 1).is_some_and(|it| it.name == first.name);
        if !samples.iter().all(same) {
            break;
        }
        common += 1;
    }
    // Functions of libraries are less interesting than what calls them.
    let has_variables = |level: &usize| samples.iter().all(|it| it.variables.contains_key(level));
    let Some(level) = (1..=common).rev().find(has_variables) else {
        return String::new();
    };
    let frames: Vec<ContextFrame> = samples
        .iter()
        .filter_map(|it| outermost(it, level))
        .collect();
    let Some(frame) = frames.first() else {
        return String::new();
    };
    let lines: BTreeSet<i64> = frames.iter().filter_map(|it| it.line).collect();
    let lines: Vec<String> = lines.iter().map(i64::to_string).collect();
    let mut text = format!(
        "looked at {} times within {} ms, thread was always in {} (line {})\n",
        samples.len(),
        SAMPLE_INTERVAL.as_millis() * (samples.len() as u128 - 1),
        frame.name,
        lines.join(", "),
    );
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for context in samples.iter().filter_map(|it| it.variables.get(&level)) {
        for variable in &context.variables {
            values
                .entry(&variable.name)
                .or_default()
                .insert(&variable.value);
        }
    }
    let (same, changed): (Vec<_>, Vec<_>) = values.iter().partition(|(_, it)| it.len() == 1);
    if !changed.is_empty() {
        let names: Vec<&str> = changed.iter().map(|(name, _)| **name).collect();
        text.push_str(&format!("  changed meanwhile: {}\n", listed(&names)));
    }
    if !same.is_empty() {
        let values: Vec<String> = same
            .iter()
            .map(|(name, values)| {
                let value = values.first().copied().unwrap_or_default();
                format!("{name} = {}", cut(value, MAX_VALUE_BYTES))
            })
            .collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        text.push_str(&format!("  unchanged: {}\n", listed(&values)));
    }
    text
}

fn listed(items: &[&str]) -> String {
    let more = match items.len() > MAX_VARIABLES {
        true => ", …",
        false => "",
    };
    let shown = &items[..items.len().min(MAX_VARIABLES)];
    format!("{}{more}", shown.join(", "))
}
