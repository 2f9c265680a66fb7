//! The history of calls, for agents.

use super::error::ToolError;
use super::inspect::budget;
use super::session::Session;
use crate::context::calls::{self, Filter};
use crate::context::cut;
use crate::context::traces;
use crate::protocol::TracesArguments;
use crate::requests::ReadTraces;
use schemars::JsonSchema;
use serde::Deserialize;

/// Default size of a reply in bytes, and number of calls or groups.
const BUDGET: usize = 4000;
const LIMIT: usize = 50;
/// Records that are read: all that are kept.
const RECORDS: i64 = 1 << 20;

/// Arguments of `debug_calls`.
#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Calls {
    /// Record the calls of these functions from now on: a name, or a pattern such as `shop::*`. Then
    /// let the program run, and call this again without `functions`.
    pub functions: Option<String>,
    /// With `functions`: record only calls for which this holds at their entry, as an expression of the
    /// program, such as `n > 3`.
    pub condition: Option<String>,
    /// Show only calls for which this holds: conditions such as `function = price and n > 3 and
    /// returned < 0`, on function, returned, elapsed (ns), depth, thread and names of arguments;
    /// operators = != < <= > >= and ~ (contains).
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// Show only calls that have returned after the one with this number.
    pub since: Option<u64>,
    /// Count the calls by these fields instead of listing them, for example ["function", "returned"].
    pub group_by: Option<Vec<String>>,
    /// Maximum number of calls, the last ones, or of groups (50).
    pub limit: Option<usize>,
    /// About how many characters the reply may have (4000).
    pub budget: Option<i64>,
}

impl Session {
    /// Runs `debug_calls`.
    ///
    /// # Errors
    /// There is no such function, no calls are recorded, or the condition is wrong.
    pub async fn calls(&self, input: Calls) -> Result<String, ToolError> {
        let mut text = String::new();
        if let Some(functions) = &input.functions {
            let wanted = calls::tracepoint(functions, input.condition.as_deref());
            text = self.add_trace(&wanted.location, &wanted.query).await?;
        }
        let filter = Filter::parse(input.filter.as_deref().unwrap_or_default());
        let filter = filter.map_err(|error| ToolError::new("BAD_ARGUMENTS", error.to_string()))?;
        let wanted = TracesArguments {
            rows: Some(0),
            records: Some(RECORDS),
            ..TracesArguments::default()
        };
        let read = self.link.request::<ReadTraces>(&wanted).await?.traces;
        let Some(trace) = read.iter().rev().find(|trace| calls::is_history(trace)) else {
            let message = "no calls are recorded; set `functions`, then let the program run";
            return Err(ToolError::new("NO_CALLS", message));
        };
        if trace.all_records == 0 && input.functions.is_some() {
            text.push_str("no call has returned yet; let the program run, then call this again\n");
            return Ok(text);
        }
        let recorded = calls::calls(trace);
        let kept = recorded.len() as u64;
        let mut found: Vec<calls::Call> = recorded
            .into_iter()
            .filter(|call| call.number > input.since.unwrap_or(0) && filter.holds(call))
            .collect();
        let all = traces::grouped(trace.all_records);
        text.push_str(&format!("{all} calls recorded"));
        if trace.all_records > kept {
            let kept = traces::grouped(kept);
            text.push_str(&format!(", the last {kept} of them kept"));
        }
        text.push_str(&format!(", {} match", traces::grouped(found.len() as u64)));
        let limit = input.limit.unwrap_or(LIMIT).clamp(1, 1000);
        let most = budget(input.budget, BUDGET).saturating_sub(text.len());
        if let Some(fields) = &input.group_by {
            text.push('\n');
            text.push_str(&calls::groups(&found, fields, limit));
            return Ok(cut(&text, most));
        }
        let thread = |id: i64| {
            let threads = &self.link.state().threads;
            threads
                .iter()
                .position(|known| *known == id)
                .map(|at| at + 1)
        };
        // The last ones that fit.
        let mut shown = found.split_off(found.len().saturating_sub(limit));
        let mut listed = calls::list(&shown, thread);
        while listed.len() > most && shown.len() > 1 {
            let fits = shown.len() * most / listed.len();
            let left = fits.min(shown.len() - 1).max(1);
            shown.drain(..shown.len() - left);
            listed = calls::list(&shown, thread);
        }
        let last = shown.len();
        if last > 0 {
            text.push_str(&format!(
                "; the last {last}, in the order of their beginnings, callees below callers"
            ));
        }
        text.push('\n');
        text.push_str(&listed);
        if let Some(failed) = &trace.failed {
            let hits = traces::grouped(failed.hits);
            text.push_str(&format!("{hits} calls are missing: {}\n", failed.message));
        }
        Ok(text)
    }
}
