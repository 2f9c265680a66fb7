//! Breakpoints of agents, set one at a time, and the sets that DAP requests expect.

use super::agent_breakpoint::{AgentBreakpoint, BreakpointTarget, Group, groups_of};
use super::arguments::{
    Access, Breakpoint, BreakpointAction, BreakpointOptions, FirstBreakpoint, Logpoint,
};
use super::error::ToolError;
use super::session::Session;
use crate::protocol::{
    self, BreakpointEventReason, BreakpointLocationsArguments, BreakpointProblem, DataAccessType,
    DataBreakpointInfoArguments, SetBreakpointsArguments, SetDataBreakpointsArguments,
    SetExceptionBreakpointsArguments, SetFunctionBreakpointsArguments,
    SetInstructionBreakpointsArguments, Source,
};
use crate::requests::{
    BreakpointLocations, DataBreakpointInfo, SetBreakpoints, SetDataBreakpoints,
    SetExceptionBreakpoints, SetFunctionBreakpoints, SetInstructionBreakpoints,
};
use std::time::Duration;

/// How long to wait for a search for functions before it is reported as unfinished.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of lines to search for code around a line without code.
const NEARBY_LINES: i64 = 50;

/// All breakpoints of a session.
#[derive(Debug, Default)]
pub struct Breakpoints {
    /// The number assigned last. Temporary breakpoints have a counter of their own above, since
    /// agents do not see their numbers.
    last: u32,
    passing: u32,
    all: Vec<AgentBreakpoint>,
    /// The last lines of breakpoints that the adapter removed, not yet reported.
    removed: Vec<String>,
}

impl Session {
    /// Runs `debug_breakpoint`.
    ///
    /// # Errors
    /// The location has no code, the condition is wrong, or there is no such breakpoint.
    pub async fn breakpoint(&self, input: Breakpoint) -> Result<String, ToolError> {
        match input.action {
            BreakpointAction::List => Ok(self.list()),
            BreakpointAction::Remove => self.remove(input.id).await,
            BreakpointAction::Add => {
                let place = match (&input.location, &input.watch, &input.exception) {
                    (Some(location), None, None) => BreakpointTarget::of(location),
                    (None, Some(expression), None) => {
                        self.watchable(expression, input.access).await?
                    }
                    (None, None, Some(filter)) => BreakpointTarget::Exception(filter.clone()),
                    _ => {
                        return Err(ToolError::new(
                            "BAD_ARGUMENTS",
                            "missing argument; set one of `location`, `watch`, `exception`",
                        ));
                    }
                };
                let set = AgentBreakpoint {
                    condition: input.condition,
                    hits: input.hit_condition,
                    ..AgentBreakpoint::new(place)
                };
                self.add(set).await.map(|set| set.line())
            }
        }
    }

    /// Runs `debug_logpoint`.
    ///
    /// # Errors
    /// Like [`Session::breakpoint`].
    pub async fn logpoint(&self, input: Logpoint) -> Result<String, ToolError> {
        let place = BreakpointTarget::of(&input.location);
        if !matches!(place, BreakpointTarget::Line(..)) {
            return Err(ToolError::new(
                "BAD_ARGUMENTS",
                format!(
                    "`location`: a logpoint needs FILE:LINE, not `{}`",
                    input.location
                ),
            ));
        }
        let set = AgentBreakpoint {
            condition: input.condition,
            hits: input.hit_condition,
            message: Some(input.message),
            ..AgentBreakpoint::new(place)
        };
        self.add(set).await.map(|set| set.line())
    }

    /// Sets a breakpoint that is removed at the next stop, and returns its number.
    ///
    /// # Errors
    /// Like [`Session::breakpoint`]; a pending location is an error, too.
    pub async fn add_temporary(
        &self,
        target: BreakpointTarget,
        place: &str,
    ) -> Result<u32, ToolError> {
        let set = AgentBreakpoint {
            temporary: true,
            ..AgentBreakpoint::new(target)
        };
        let set = self.add(set).await?;
        if !set.is_verified() {
            self.remove_matching(|it| it.number == set.number).await?;
            let message = format!("{place}: {}", set.message());
            return Err(ToolError::new("NO_SUCH_PLACE", message));
        }
        Ok(set.number)
    }

    /// Sets a breakpoint before the program runs, and returns its state.
    ///
    /// # Errors
    /// Like [`Session::breakpoint`] and [`Session::logpoint`].
    pub async fn add_first(&self, input: &FirstBreakpoint) -> Result<String, ToolError> {
        let options = match input {
            FirstBreakpoint::Place(place) => BreakpointOptions {
                location: Some(place.clone()),
                ..BreakpointOptions::default()
            },
            FirstBreakpoint::Options(options) => options.clone(),
        };
        match (options.message, options.location) {
            (Some(message), Some(location)) if options.exception.is_none() => {
                let logpoint = Logpoint {
                    location,
                    message,
                    condition: options.condition,
                    hit_condition: options.hit_condition,
                };
                self.logpoint(logpoint).await
            }
            (Some(_), _) => Err(ToolError::new(
                "BAD_ARGUMENTS",
                "`breakpoints`: `message` requires `location`",
            )),
            (None, location) => {
                let breakpoint = Breakpoint {
                    action: BreakpointAction::Add,
                    location,
                    exception: options.exception,
                    condition: options.condition,
                    hit_condition: options.hit_condition,
                    watch: None,
                    access: None,
                    id: None,
                };
                self.breakpoint(breakpoint).await
            }
        }
    }

    /// Sets the breakpoints of the session before this one, with their numbers, and returns their
    /// state. Data breakpoints ended with the process.
    ///
    /// # Errors
    /// The session is lost.
    pub async fn restore(&self, former: &Session) -> Result<String, ToolError> {
        let (last, mut all) = {
            let former = former.breakpoints();
            (former.last, former.all.clone())
        };
        let mut text = String::new();
        all.retain(|set| {
            let is_data = matches!(set.target, BreakpointTarget::Data(..));
            if is_data {
                text.push_str(&format!(
                    "{}; removed: its process has ended; set it again at a stop\n",
                    set.title()
                ));
            }
            !is_data && !set.temporary
        });
        for set in &mut all {
            set.description = protocol::Breakpoint::default();
            set.shown.clear();
        }
        let numbers: Vec<u32> = all.iter().map(|set| set.number).collect();
        let groups = groups_of(&all);
        {
            let mut breakpoints = self.breakpoints();
            breakpoints.last = last;
            breakpoints.all = all;
        }
        for group in groups {
            self.sync(&group).await?;
        }
        for number in numbers {
            let line = self.wait_until_searched(number).await?.line();
            text.push_str(&format!("{line}\n"));
            self.record_shown_line(number, line);
        }
        Ok(text)
    }

    /// Removes the temporary breakpoints.
    ///
    /// # Errors
    /// The session is lost.
    pub async fn remove_temporary(&self) -> Result<(), ToolError> {
        self.remove_matching(|set| set.temporary).await.map(drop)
    }

    /// Returns the adapter's id of a breakpoint, by its number.
    pub fn id_of(&self, number: u32) -> Option<u32> {
        let breakpoints = self.breakpoints();
        let found = breakpoints.all.iter().find(|set| set.number == number);
        found?.id()
    }

    /// Returns number and location of the breakpoints with these adapter ids.
    pub fn names(&self, ids: &[u32]) -> Vec<String> {
        let breakpoints = self.breakpoints();
        let known = breakpoints.all.iter();
        let hit = known.filter(|set| set.id().is_some_and(|id| ids.contains(&id)));
        hit.map(|set| match set.temporary {
            true => format!("at the run-to location ({})", set.target.text()),
            false => format!("{} ({})", set.number, set.target.text()),
        })
        .collect()
    }

    fn list(&self) -> String {
        self.apply_changes();
        let mut breakpoints = self.breakpoints();
        let mut lines = std::mem::take(&mut breakpoints.removed);
        for set in breakpoints.all.iter_mut().filter(|set| !set.temporary) {
            set.shown = set.line();
            lines.push(set.shown.clone());
        }
        match lines.is_empty() {
            true => "no breakpoints".to_owned(),
            false => lines.join("\n"),
        }
    }

    /// Returns what changed in breakpoints since the last report, one line each.
    pub fn take_changes(&self) -> Vec<String> {
        self.apply_changes();
        let mut breakpoints = self.breakpoints();
        let mut lines = std::mem::take(&mut breakpoints.removed);
        for set in breakpoints.all.iter_mut().filter(|set| !set.temporary) {
            let line = set.line();
            if line != set.shown && !set.is_searching() {
                lines.push(line.clone());
                set.shown = line;
            }
        }
        lines
    }

    async fn remove(&self, id: Option<u32>) -> Result<String, ToolError> {
        let Some(id) = id else {
            let message =
                "`id` is missing; set it to the number of the breakpoint, or to 0 for all";
            return Err(ToolError::new("BAD_ARGUMENTS", message));
        };
        match self
            .remove_matching(|set| id == 0 || set.number == id)
            .await?
        {
            0 if id != 0 => Err(ToolError::new(
                "NO_SUCH_BREAKPOINT",
                format!("there is no breakpoint {id}\n{}", self.list()),
            )),
            1 => Ok("removed 1 breakpoint".to_owned()),
            count => Ok(format!("removed {count} breakpoints")),
        }
    }

    /// Removes the breakpoints that match; returns their number.
    async fn remove_matching(
        &self,
        fits: impl Fn(&AgentBreakpoint) -> bool,
    ) -> Result<usize, ToolError> {
        let out: Vec<AgentBreakpoint> = {
            let mut breakpoints = self.breakpoints();
            breakpoints.all.extract_if(.., |set| fits(set)).collect()
        };
        for group in groups_of(&out) {
            self.sync(&group).await?;
        }
        Ok(out.len())
    }

    /// Waits until a breakpoint's names have been searched, and returns it.
    async fn wait_until_searched(&self, number: u32) -> Result<AgentBreakpoint, ToolError> {
        let set = self.by_number(number)?;
        if !set.is_searching() {
            return Ok(set);
        }
        let Some(id) = set.id() else {
            return Ok(set);
        };
        self.link
            .wait(SEARCH_TIMEOUT, |state| state.breakpoints.contains_key(&id))
            .await;
        self.apply_changes();
        self.by_number(number)
    }

    /// Records the line of a breakpoint that was reported to the agent.
    fn record_shown_line(&self, number: u32, line: String) {
        let mut breakpoints = self.breakpoints();
        let own = breakpoints.all.iter_mut().find(|it| it.number == number);
        if let Some(own) = own {
            own.shown = line;
        }
    }

    async fn add(&self, mut set: AgentBreakpoint) -> Result<AgentBreakpoint, ToolError> {
        let group = set.target.group();
        {
            let mut breakpoints = self.breakpoints();
            set.number = if set.temporary {
                breakpoints.passing += 1;
                u32::MAX - breakpoints.passing
            } else {
                breakpoints.last += 1;
                breakpoints.last
            };
            breakpoints.all.push(set.clone());
        }
        let number = set.number;
        if let Err(error) = self.sync(&group).await {
            self.breakpoints().all.retain(|set| set.number != number);
            return Err(error);
        }
        let set = self.wait_until_searched(number).await?;
        match self.error_of(&set).await {
            None => {
                self.record_shown_line(number, set.line());
                Ok(set)
            }
            Some(error) => {
                self.remove_matching(|set| set.number == number).await?;
                let mut breakpoints = self.breakpoints();
                // The number was not reported: use it again.
                if breakpoints.last == number {
                    breakpoints.last -= 1;
                }
                Err(error)
            }
        }
    }

    fn by_number(&self, number: u32) -> Result<AgentBreakpoint, ToolError> {
        let breakpoints = self.breakpoints();
        let set = breakpoints.all.iter().find(|set| set.number == number);
        set.cloned().ok_or_else(ToolError::lost)
    }

    /// Returns the error for a breakpoint that cannot be hit; `None` if it can.
    async fn error_of(&self, set: &AgentBreakpoint) -> Option<ToolError> {
        let message = set.message();
        if let BreakpointTarget::Line(file, line) = &set.target
            && set.has_no_code()
        {
            let lines = self.lines_with_code(file, *line).await;
            let message = match lines.is_empty() {
                true => format!("{file}:{line}: {message}"),
                false => format!(
                    "no code at {file}:{line}; valid lines: {}",
                    lines.join(", ")
                ),
            };
            return Some(ToolError::new("NO_CODE_AT_LINE", message));
        }
        if set.is_verified() {
            return None;
        }
        if !set.has_failed() {
            return None;
        }
        let code = match (set.description.problem, &set.target) {
            (Some(BreakpointProblem::Condition), _) => "BAD_CONDITION",
            (Some(BreakpointProblem::LogMessage), _) => "BAD_MESSAGE",
            (_, BreakpointTarget::Exception(_)) => "NO_SUCH_FILTER",
            _ => "CANNOT_SET",
        };
        Some(ToolError::new(code, message))
    }

    /// Returns the lines with code near a line without any.
    async fn lines_with_code(&self, file: &str, line: i64) -> Vec<String> {
        let mut lines = Vec::new();
        // For a line beyond the end of a file, its last lines are the nearest.
        for first in [line.saturating_sub(NEARBY_LINES).max(1), 1] {
            let arguments = BreakpointLocationsArguments {
                source: source(file),
                line: first,
                end_line: Some(line.saturating_add(NEARBY_LINES)),
                ..BreakpointLocationsArguments::default()
            };
            let places = self.link.request::<BreakpointLocations>(&arguments).await;
            let places = places.map_or_else(|_| Vec::new(), |places| places.breakpoints);
            lines = places.iter().map(|place| place.line).collect();
            if !lines.is_empty() {
                break;
            }
        }
        lines.sort_unstable();
        lines.dedup();
        let below = lines.partition_point(|have| *have < line);
        let near = lines.iter().skip(below.saturating_sub(3)).take(6);
        near.map(i64::to_string).collect()
    }

    async fn watchable(
        &self,
        name: &str,
        access: Option<Access>,
    ) -> Result<BreakpointTarget, ToolError> {
        let frame = self.frame_id(None, None).await?;
        let access = match access {
            None | Some(Access::Write) => DataAccessType::Write,
            Some(Access::Read) => DataAccessType::Read,
            Some(Access::ReadWrite) => DataAccessType::ReadWrite,
        };
        let arguments = DataBreakpointInfoArguments {
            name: name.to_owned(),
            frame_id: Some(frame),
            ..DataBreakpointInfoArguments::default()
        };
        let info = self.link.request::<DataBreakpointInfo>(&arguments).await;
        let info = info.map_err(|error| error.or_code("CANNOT_SET"))?;
        match info.data_id {
            Some(id) => Ok(BreakpointTarget::Data(name.to_owned(), id, access)),
            None => Err(ToolError::new("CANNOT_SET", info.description)),
        }
    }

    /// Sends the adapter the complete set of a group's breakpoints.
    async fn sync(&self, group: &Group) -> Result<(), ToolError> {
        // The response begins with the filters that are on by default.
        let mut before = 0;
        let wanted: Vec<AgentBreakpoint> = {
            let breakpoints = self.breakpoints();
            let all = breakpoints.all.iter();
            all.filter(|set| set.target.group() == *group)
                .cloned()
                .collect()
        };
        let link = &self.link;
        let state = match group {
            Group::Source(file) => {
                let arguments = SetBreakpointsArguments {
                    source: source(file),
                    breakpoints: Some(wanted.iter().filter_map(AgentBreakpoint::on_line).collect()),
                    lines: None,
                };
                link.request::<SetBreakpoints>(&arguments).await
            }
            Group::Functions => {
                let breakpoints = wanted
                    .iter()
                    .filter_map(AgentBreakpoint::on_function)
                    .collect();
                let arguments = SetFunctionBreakpointsArguments { breakpoints };
                link.request::<SetFunctionBreakpoints>(&arguments).await
            }
            Group::Addresses => {
                let breakpoints = wanted
                    .iter()
                    .filter_map(AgentBreakpoint::on_instruction)
                    .collect();
                let arguments = SetInstructionBreakpointsArguments { breakpoints };
                link.request::<SetInstructionBreakpoints>(&arguments).await
            }
            Group::Data => {
                let breakpoints = wanted.iter().filter_map(AgentBreakpoint::on_data).collect();
                let arguments = SetDataBreakpointsArguments { breakpoints };
                link.request::<SetDataBreakpoints>(&arguments).await
            }
            Group::Exceptions => {
                let options: Vec<_> = wanted
                    .iter()
                    .filter_map(AgentBreakpoint::on_exception)
                    .collect();
                let is_usual = |id: &&String| !options.iter().any(|it| it.filter_id == **id);
                let usual: Vec<String> = self
                    .usual_filters
                    .iter()
                    .filter(is_usual)
                    .cloned()
                    .collect();
                before = usual.len();
                let arguments = SetExceptionBreakpointsArguments {
                    filters: usual,
                    filter_options: options,
                    ..SetExceptionBreakpointsArguments::default()
                };
                link.request::<SetExceptionBreakpoints>(&arguments).await
            }
        };
        let state = state?.breakpoints.into_iter().skip(before);
        let numbers = wanted.iter().map(|set| set.number);
        let mut breakpoints = self.breakpoints();
        for (number, state) in numbers.zip(state) {
            if let Some(set) = breakpoints.all.iter_mut().find(|set| set.number == number) {
                set.description = state;
            }
        }
        Ok(())
    }

    /// Takes the changes of breakpoints from the link.
    fn apply_changes(&self) {
        let changes = std::mem::take(&mut self.link.state().breakpoints);
        let mut breakpoints = self.breakpoints();
        for (id, change) in changes {
            let state = change.breakpoint;
            if change.reason == BreakpointEventReason::Removed {
                let gone = breakpoints.all.extract_if(.., |set| set.id() == Some(id));
                let why = state.message.as_deref().unwrap_or_default();
                let gone = gone.filter(|set| !set.temporary);
                let gone: Vec<String> = gone
                    .map(|set| format!("{}; removed: {why}", set.title()))
                    .collect();
                breakpoints.removed.extend(gone);
            } else if let Some(set) = breakpoints.all.iter_mut().find(|set| set.id() == Some(id)) {
                set.description = state;
            }
        }
    }
}

fn source(path: &str) -> Source {
    Source {
        path: Some(path.to_owned()),
        ..Source::default()
    }
}
