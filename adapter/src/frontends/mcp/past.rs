//! Past stops.

use super::arguments::Past;
use super::error::ToolError;
use super::link::Phase;
use super::session::Session;
use crate::context::past::{list_of_calls, listed, state_of, told};
use crate::protocol::{
    PastChangesArguments, SystemCallsArguments, VisitCallArguments, VisitStopArguments,
};
use crate::requests::{self, NoArguments};
use std::time::Duration;

/// How long to wait for a stop that is shown.
const VISIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for a place in a recording, which a replay has to come to.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(30);

impl Session {
    /// Runs `debug_past`.
    ///
    /// # Errors
    /// Not stopped, or there is no such stop or system call.
    pub async fn past(&self, input: Past) -> Result<String, ToolError> {
        let (phase, stops) = {
            let state = self.link.state();
            (state.phase.clone(), state.stops)
        };
        match phase {
            Phase::Ended(how) => return Err(ToolError::ended(&how)),
            Phase::Lost => return Err(ToolError::lost()),
            Phase::Held => return Err(ToolError::held()),
            Phase::Running => return Err(ToolError::running()),
            Phase::Stopped => {}
        }
        if let Some(from) = input.since {
            let to = input.stop;
            let changes = PastChangesArguments { from, to };
            let changes = self.link.request::<requests::PastChanges>(&changes).await;
            let changes = changes.map_err(|error| error.or_code("NO_SUCH_STOP"))?;
            return Ok(told(from.unsigned_abs(), &changes) + "\n");
        }
        if let Some(from) = input.calls {
            let wanted = SystemCallsArguments {
                from: Some(from).filter(|from| *from != 0),
                count: input.count,
            };
            let calls = self.link.request::<requests::SystemCalls>(&wanted).await;
            let calls = calls.map_err(|error| error.or_code("NO_SUCH_CALL"))?;
            let more = "debug_past {\"call\": N} goes to behind one; * is the last one before the shown place";
            return Ok(format!("{}{more}\n", list_of_calls(&calls)));
        }
        if let Some(number) = input.call {
            let call = VisitCallArguments { number };
            let visited = self.link.request::<requests::VisitCall>(&call).await;
            visited.map_err(|error| error.or_code("NO_SUCH_CALL"))?;
            return self.shown_then(stops, SEARCH_TIMEOUT).await;
        }
        if input.stop.is_none() && !input.present {
            let past = self
                .link
                .request::<requests::PastStops>(&NoArguments {})
                .await?;
            if let Some(recording) = &past.recording {
                let ways = "debug_continue {\"action\": \"reverse-step-over\"} or \
                            \"reverse-continue\" goes back, {\"present\": true} returns, \
                            {\"calls\": 0} lists system calls";
                return Ok(format!("{}\n{ways}\n", state_of(recording)));
            }
            let more = match past.stops.len() {
                0 | 1 => "no earlier stop is kept\n",
                _ => "debug_past {\"stop\": N} shows one; {\"since\": N} what changed since\n",
            };
            return Ok(listed(&past.stops) + more);
        }
        let number = input.stop.filter(|_| !input.present);
        let visit = VisitStopArguments { number };
        let visited = self.link.request::<requests::VisitStop>(&visit).await;
        visited.map_err(|error| error.or_code("NO_SUCH_STOP"))?;
        self.shown_then(stops, VISIT_TIMEOUT).await
    }

    /// Waits for the stop that is shown then, and describes it.
    async fn shown_then(&self, stops: u64, limit: Duration) -> Result<String, ToolError> {
        self.forget_shown_frame();
        let waited = self.wait(stops, limit).await;
        self.report(waited, None, false, None).await
    }
}
