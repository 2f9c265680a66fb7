//! The history of calls, for agents.

use super::arguments::Calls;
use super::error::ToolError;
use super::inspect::budget;
use super::run::WaitResult;
use super::session::Session;
use super::tools::Tools;
use crate::context::calls::{self, Filter};
use crate::context::cut;
use crate::context::traces;
use crate::protocol::TracesArguments;
use crate::requests::ReadTraces;

/// Default size of a reply in bytes, and number of calls or groups.
const BUDGET: usize = 4000;
const LIMIT: usize = 50;
/// The functions whose calls are recorded in a program that is launched for it.
const ALL_FUNCTIONS: &str = "*";
/// Records that are read: all that are kept.
const RECORDS: i64 = 1 << 20;

impl Tools {
    /// Runs `debug_calls`, in the present program or in one that is launched and run for it.
    ///
    /// # Errors
    /// The program cannot be launched, or as [`Session::calls`].
    pub(super) async fn calls(&self, input: Calls) -> Result<String, ToolError> {
        let Some(launch) = input.launch()? else {
            return self.session().await?.calls(input).await;
        };
        // A mistake shows before the program runs.
        filter_of(&input)?;
        let session = self.start(&launch).await?;
        let functions = input.functions.as_deref().unwrap_or(ALL_FUNCTIONS);
        let recorded = session.record_calls(functions, input.condition.as_deref());
        if let Err(error) = recorded.await {
            self.close().await;
            return Err(error);
        }
        let how = match session.first_stop(input.timeout).await? {
            WaitResult::Stopped => "stopped; debug_explain says why\n".to_owned(),
            WaitResult::Running(limit) => {
                format!("still running after {} seconds\n", limit.as_secs_f64())
            }
            WaitResult::Ended(how) => format!("ended: {how}\n"),
            WaitResult::Lost => return Err(ToolError::lost()),
        };
        let queried = Calls {
            functions: None,
            ..input
        };
        Ok(how + &session.calls(queried).await?)
    }
}

/// Reads the condition on recorded calls.
fn filter_of(input: &Calls) -> Result<Filter, ToolError> {
    let filter = Filter::parse(input.filter.as_deref().unwrap_or_default());
    filter.map_err(|error| ToolError::new("BAD_ARGUMENTS", error.to_string()))
}

impl Session {
    /// Runs `debug_calls`.
    ///
    /// # Errors
    /// There is no such function, no calls are recorded, or the condition is wrong.
    pub async fn calls(&self, input: Calls) -> Result<String, ToolError> {
        let mut text = String::new();
        if let Some(functions) = &input.functions {
            text = self
                .record_calls(functions, input.condition.as_deref())
                .await?;
        }
        let filter = filter_of(&input)?;
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
        let groups = input.group_by.iter().flatten().map(|field| &**field);
        if let Some(why) = calls::unknown_field(&recorded, filter.fields().chain(groups)) {
            return Err(ToolError::new("BAD_ARGUMENTS", why));
        }
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

    /// Records the calls of functions from now on, by a name or a pattern.
    async fn record_calls(
        &self,
        functions: &str,
        condition: Option<&str>,
    ) -> Result<String, ToolError> {
        let wanted = calls::tracepoint(functions, condition);
        self.add_trace(&wanted.location, &wanted.query).await
    }
}
