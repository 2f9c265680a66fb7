//! Past stops.

use super::arguments::Past;
use super::error::ToolError;
use super::link::Phase;
use super::session::Session;
use crate::context::past::{listed, state_of, told};
use crate::protocol::{PastChangesArguments, VisitStopArguments};
use crate::requests::{self, NoArguments};
use std::time::Duration;

/// How long to wait for a stop that is shown.
const VISIT_TIMEOUT: Duration = Duration::from_secs(5);

impl Session {
    /// Runs `debug_past`.
    ///
    /// # Errors
    /// Not stopped, or there is no such stop.
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
        if input.stop.is_none() && !input.present {
            let past = self
                .link
                .request::<requests::PastStops>(&NoArguments {})
                .await?;
            if let Some(recording) = &past.recording {
                let ways = "debug_continue {\"action\": \"reverse-step-over\"} or \
                            \"reverse-continue\" goes back, {\"present\": true} returns";
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
        self.forget_shown_frame();
        let waited = self.wait(stops, VISIT_TIMEOUT).await;
        self.report(waited, None, false, None).await
    }
}
