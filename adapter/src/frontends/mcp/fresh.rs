//! Tools that may launch a program themselves: one call instead of two.

use super::arguments::{Explain, Launch, TraceCall};
use super::error::ToolError;
use super::run::WaitResult;
use super::session::Session;
use super::tools::Tools;
use std::sync::Arc;

/// After how many seconds a program that was launched to be explained hangs.
const HANGS_AFTER: f64 = 10.0;

impl Tools {
    /// Runs `debug_trace_call`, of the present program or of one that is launched for it.
    ///
    /// # Errors
    /// The program cannot be launched, has ended, or has no such function.
    pub(super) async fn trace_call(&self, input: TraceCall) -> Result<String, ToolError> {
        let launch = input.launch()?.map(|launch| Launch {
            stops_with_libraries: true,
            ..launch
        });
        let session = self.session_of(launch).await?;
        if input.program.is_some() {
            match session.first_stop(input.timeout).await? {
                WaitResult::Stopped | WaitResult::Running(_) => {}
                over => return session.report(over, None, false, None).await,
            }
        }
        session.trace_call(input).await
    }

    /// Runs `debug_explain`, of the present stop or of that of a program that is launched for it.
    ///
    /// # Errors
    /// The program cannot be launched, has ended or has not begun.
    pub(super) async fn explain(&self, input: Explain) -> Result<String, ToolError> {
        let session = self.session_of(input.launch()?).await?;
        if input.program.is_some() {
            let timeout = input.timeout.unwrap_or(HANGS_AFTER);
            match session.first_stop(Some(timeout)).await? {
                WaitResult::Stopped | WaitResult::Running(_) => {}
                over => return session.report(over, None, input.addresses, None).await,
            }
        }
        session.explain(input).await
    }

    /// Returns the present session, or that of a program launched in its place.
    async fn session_of(&self, launch: Option<Launch>) -> Result<Arc<Session>, ToolError> {
        match launch {
            Some(launch) => self.start(&launch).await,
            None => self.session().await,
        }
    }
}
