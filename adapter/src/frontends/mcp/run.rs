//! Resuming the program, and reporting the stop that follows.

use super::agent_breakpoint::BreakpointTarget;
use super::arguments::{Action, Continue, TraceCall, seconds};
use super::error::ToolError;
use super::expect;
use super::link::Phase;
use super::session::Session;
use super::text;
use crate::protocol::{
    ContextArguments, DataBreakpointInfoArguments, StepArguments, StepBackArguments, StepBackKind,
    StepInArguments, ThreadArguments, TraceCallArguments, VisitHitArguments,
};
use crate::requests::{self, Next, NoArguments, Pause, ReverseContinue, StepBack, StepIn, StepOut};
use crate::session::describe::list_of_hops;
use std::time::Duration;

/// The result of waiting for a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitResult {
    /// The program stopped.
    Stopped,
    /// It still runs after this time.
    Running(Duration),
    /// It has ended; how, as text.
    Ended(String),
    /// The adapter's process has exited.
    Lost,
}

impl Session {
    /// Resumes the program by an action. Returns the number of stops before it, for
    /// [`Session::wait`].
    ///
    /// # Errors
    /// The program is not in a state for this action, or the adapter refused it.
    pub async fn run_action(&self, input: &Continue, action: Action) -> Result<u64, ToolError> {
        let (phase, stops) = {
            let state = self.link.state();
            (state.phase.clone(), state.stops)
        };
        match (&phase, action) {
            // Handled by the caller.
            (_, Action::Restart) => return Ok(stops),
            (Phase::Ended(how), _) => return Err(ToolError::ended(how)),
            (Phase::Lost, _) => return Err(ToolError::lost()),
            // Wait for the stop that has already arrived.
            (Phase::Stopped, Action::Wait | Action::Pause) => return Ok(stops - 1),
            (Phase::Running, Action::Wait) => return Ok(stops),
            (Phase::Running, Action::Pause) => {
                let thread = thread(self.thread_id(input.thread)?);
                self.link.request::<Pause>(&thread).await?;
                return Ok(stops);
            }
            (Phase::Running, _) => return Err(ToolError::running()),
            (Phase::Held, Action::Continue | Action::RunTo) => {}
            (Phase::Held, _) => return Err(ToolError::held()),
            (Phase::Stopped, _) => {}
        }
        let mut there = None;
        match action {
            Action::RunTo => {
                let Some(place) = &input.to else {
                    let message =
                        "`to` is missing; set it to FILE:LINE, a function name, or an address";
                    return Err(ToolError::new("BAD_ARGUMENTS", message));
                };
                self.add_temporary(BreakpointTarget::of(place), place)
                    .await?;
            }
            Action::ReverseContinue => match &input.to {
                Some(place) => {
                    let target = BreakpointTarget::of(place);
                    there = Some(self.add_temporary(target, place).await?);
                }
                None if input.hit.is_some() => {
                    let message =
                        "`hit` needs `to`; set it to FILE:LINE, a function name, or an address";
                    return Err(ToolError::new("BAD_ARGUMENTS", message));
                }
                None => {}
            },
            Action::Continue
            | Action::StepOver
            | Action::StepInto
            | Action::StepOut
            | Action::ReverseStepOver
            | Action::ReverseStepInto
            | Action::ReverseStepOut => {}
            Action::Pause | Action::Wait | Action::Restart => return Ok(stops),
        }
        if phase == Phase::Held {
            self.resume_from_start().await?;
        } else {
            let resumed = match (&input.written, action) {
                (Some(expression), Action::ReverseContinue) => {
                    self.go_to_write(expression, input).await
                }
                (None, Action::ReverseContinue) if input.hit.is_some() => {
                    self.go_to_hit(there, input.hit.unwrap_or(0)).await
                }
                (_, action) => self.resume(action, self.thread_id(input.thread)?).await,
            };
            if let Err(error) = resumed {
                self.remove_temporary().await?;
                return Err(error.or_code("CANNOT_CONTINUE"));
            }
        }
        Ok(stops)
    }

    /// Goes back to the last write that has changed the value of an expression, or to the origin of the value.
    async fn go_to_write(&self, expression: &str, input: &Continue) -> Result<(), ToolError> {
        let data = DataBreakpointInfoArguments {
            name: expression.to_owned(),
            frame_id: Some(self.frame_id(None, input.frame).await?),
            ..DataBreakpointInfoArguments::default()
        };
        match input.through_copies {
            true => self.link.request::<requests::Origin>(&data).await,
            false => self.link.request::<requests::LastWrite>(&data).await,
        }
    }

    /// Returns the places on the way to an origin that was searched, once the program has stopped there.
    pub async fn way_to_origin(&self, input: &Continue, waited: &WaitResult) -> String {
        let is_searched = input.through_copies && input.written.is_some();
        if !is_searched || *waited != WaitResult::Stopped {
            return String::new();
        }
        let hops = self.link.request::<requests::OriginHops>(&NoArguments {});
        hops.await
            .map_or_else(|_| String::new(), |it| list_of_hops(&it))
    }

    /// Goes to a hit of a breakpoint, by the numbers of both.
    async fn go_to_hit(&self, breakpoint: Option<u32>, number: i64) -> Result<(), ToolError> {
        let hit = VisitHitArguments {
            breakpoint_id: breakpoint.and_then(|it| self.id_of(it)).map(i64::from),
            number,
        };
        self.link.request::<requests::VisitHit>(&hit).await
    }

    async fn resume(&self, action: Action, thread_id: i64) -> Result<(), ToolError> {
        let step = StepArguments {
            thread_id,
            ..StepArguments::default()
        };
        let step_back = async |kind| {
            let step = StepBackArguments {
                thread_id,
                kind: Some(kind),
                ..StepBackArguments::default()
            };
            self.link.request::<StepBack>(&step).await
        };
        match action {
            Action::ReverseStepOver => step_back(StepBackKind::Over).await,
            Action::ReverseStepInto => step_back(StepBackKind::Into).await,
            Action::ReverseStepOut => step_back(StepBackKind::Out).await,
            Action::ReverseContinue => {
                let thread = thread(thread_id);
                self.link.request::<ReverseContinue>(&thread).await
            }
            Action::StepOver => self.link.request::<Next>(&step).await,
            Action::StepOut => self.link.request::<StepOut>(&step).await,
            Action::StepInto => {
                let step = StepInArguments {
                    thread_id,
                    ..StepInArguments::default()
                };
                self.link.request::<StepIn>(&step).await
            }
            _ => {
                let thread = thread(thread_id);
                let resumed = self.link.request::<requests::Continue>(&thread).await;
                resumed.map(drop)
            }
        }
    }

    /// Waits for a stop beyond the first `stops`, for the time `limit` at most.
    pub async fn wait(&self, stops: u64, limit: Duration) -> WaitResult {
        let over = |phase: &Phase| matches!(phase, Phase::Ended(_) | Phase::Lost);
        self.link
            .wait(limit, |state| {
                over(&state.phase) || (state.stops > stops && state.phase == Phase::Stopped)
            })
            .await;
        match &self.link.state().phase {
            Phase::Stopped => WaitResult::Stopped,
            Phase::Ended(how) => WaitResult::Ended(how.clone()),
            Phase::Lost => WaitResult::Lost,
            Phase::Running | Phase::Held => WaitResult::Running(limit),
        }
    }

    /// Runs to a call and through it, and returns its text.
    ///
    /// # Errors
    /// The program has ended, or the adapter refused it.
    pub async fn trace_call(&self, input: TraceCall) -> Result<String, ToolError> {
        let phase = self.link.state().phase.clone();
        match &phase {
            Phase::Ended(how) => return Err(ToolError::ended(how)),
            Phase::Lost => return Err(ToolError::lost()),
            Phase::Held | Phase::Running | Phase::Stopped => {}
        }
        let arguments = TraceCallArguments {
            function: input.function,
            hit: input.hit,
            condition: input.condition,
            depth: input.depth,
            limit: input.limit,
            seconds: input.timeout.map(|it| it.ceil() as u64),
        };
        let mut traced = self.link.send::<requests::TraceCall>(&arguments)?;
        if phase == Phase::Held {
            self.resume_from_start().await?;
        }
        let limit = seconds(input.timeout, 60.0);
        let traced = match tokio::time::timeout(limit, &mut traced).await {
            Ok(traced) => traced,
            Err(_) => {
                let thread = thread(self.thread_id(None)?);
                self.link.request::<Pause>(&thread).await?;
                traced.await
            }
        };
        let mut text = traced
            .map_err(|error| ToolError::from(error).or_code("CANNOT_TRACE"))?
            .text;
        self.forget_shown_frame();
        self.remove_temporary().await?;
        self.add_changes(&mut text);
        Ok(text)
    }

    /// Formats the result of waiting.
    ///
    /// # Errors
    /// The session is lost.
    pub async fn report(
        &self,
        waited: WaitResult,
        budget: Option<i64>,
        addresses: bool,
        expected: Option<&str>,
    ) -> Result<String, ToolError> {
        let mut text = match waited {
            WaitResult::Stopped => match self.format_stop(budget, addresses, expected).await {
                Err(error) if error.code == "NOT_STOPPED" => {
                    "running (stopped, then resumed by another call)\n".to_owned()
                }
                state => state?,
            },
            WaitResult::Running(limit) => format!(
                "{}running (no stop within {} seconds)\ndebug_continue {{\"action\": \"wait\"}} keeps waiting, {{\"action\": \"pause\"}} stops it; debug_output has its output\n",
                expect::missed(expected, "the program is running"),
                limit.as_secs_f64()
            ),
            WaitResult::Ended(how) => {
                let missed = expect::missed(expected, "the program has ended");
                missed + &self.format_end(&how, budget) + &self.recorded().await
            }
            WaitResult::Lost => return Err(ToolError::lost()),
        };
        self.add_changes(&mut text);
        Ok(text)
    }

    /// Adds the breakpoints that have changed since the last reply.
    fn add_changes(&self, text: &mut String) {
        let changes = self.take_changes();
        if !changes.is_empty() {
            text.push_str("changed breakpoints:\n");
            for line in changes {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }

    async fn format_stop(
        &self,
        budget: Option<i64>,
        addresses: bool,
        expected: Option<&str>,
    ) -> Result<String, ToolError> {
        let arguments = ContextArguments {
            budget,
            addresses,
            ..ContextArguments::default()
        };
        let context = self.link.request::<requests::Context>(&arguments).await?;
        self.record_shown_frame(&context);
        let names = self.names(&context.hit_breakpoint_ids);
        let stop = text::stop(&context, &names, &mut self.link.state());
        let text = expect::elsewhere(expected, &context) + &stop;
        self.remove_temporary().await?;
        Ok(text)
    }

    fn format_end(&self, how: &str, budget: Option<i64>) -> String {
        let most = usize::try_from(budget.unwrap_or(2000))
            .unwrap_or(0)
            .clamp(200, 1 << 20);
        let state = self.link.state();
        let read = state.output.read(0, None, most, true);
        let mut text = format!("ended: {how}\n");
        if !read.text.is_empty() {
            text.push_str("output:\n");
            if read.skipped > 0 {
                text.push_str("  … earlier output: debug_output {\"since\": 0}\n");
            }
            for line in read.text.lines() {
                text.push_str("  ");
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }

    /// Returns how long `debug_continue` waits for a stop.
    pub fn stop_timeout(input: &Continue) -> Duration {
        seconds(input.timeout, 30.0)
    }
}

/// Returns the arguments of a request for a thread.
pub fn thread(thread_id: i64) -> ThreadArguments {
    ThreadArguments {
        thread_id,
        ..ThreadArguments::default()
    }
}
