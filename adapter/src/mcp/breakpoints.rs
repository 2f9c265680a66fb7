//! Breakpoints as agents set them, one at a time, and the sets that the protocol wants of them.

use super::arguments::{Access, Breakpoint, BreakpointAction, Logpoint};
use super::error::ToolError;
use super::session::Session;
use super::text::near;
use serde_json::{Value, json};
use std::time::Duration;

/// How long names of functions may be looked for before that is told.
const PATIENCE: Duration = Duration::from_secs(5);
/// Lines around one without code that are looked at.
const NEAR: i64 = 50;

/// All breakpoints of a session.
#[derive(Debug, Default)]
pub struct Breakpoints {
    /// The last number that was given; those that go with the next stop are counted from above,
    /// as nobody hears of theirs.
    last: u32,
    passing: u32,
    all: Vec<Set>,
    /// What the session has taken away, as last told; nobody has been told of that yet.
    gone: Vec<String>,
}

/// One that is set.
#[derive(Clone, Debug)]
pub struct Set {
    /// The number that agents know it by.
    pub number: u32,
    place: Place,
    condition: Option<String>,
    hits: Option<String>,
    message: Option<String>,
    /// It goes with the next stop.
    temporary: bool,
    /// The session's number, and what it says.
    told: Value,
    /// Its line as agents know it; empty: they have not been told.
    shown: String,
}

/// Where one is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a source.
    Line(String, i64),
    /// A function.
    Function(String),
    /// An instruction.
    Address(String),
    /// Data: the expression, the session's name for it, which accesses.
    Data(String, String, &'static str),
    /// An exception filter.
    Exception(String),
}

/// A set that the protocol replaces as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Group {
    Source(String),
    Functions,
    Addresses,
    Data,
    Exceptions,
}

impl Place {
    /// `FILE:LINE`, a function's name, or an address in hex.
    pub fn of(text: &str) -> Self {
        let digits = text.trim().strip_prefix("0x");
        if digits.is_some_and(|digits| u64::from_str_radix(digits, 16).is_ok()) {
            return Self::Address(text.trim().to_owned());
        }
        if let Some((file, line)) = text.rsplit_once(':')
            && !file.is_empty()
            && !file.ends_with(':')
            && let Ok(line) = line.trim().parse()
        {
            return Self::Line(file.to_owned(), line);
        }
        Self::Function(text.trim().to_owned())
    }

    fn group(&self) -> Group {
        match self {
            Self::Line(file, _) => Group::Source(file.clone()),
            Self::Function(_) => Group::Functions,
            Self::Address(_) => Group::Addresses,
            Self::Data(..) => Group::Data,
            Self::Exception(_) => Group::Exceptions,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Line(file, line) => format!("{file}:{line}"),
            Self::Function(name) | Self::Address(name) => name.clone(),
            Self::Data(expression, _, access) => format!("watch {access} of {expression}"),
            Self::Exception(filter) => format!("exception {filter}"),
        }
    }
}

impl Set {
    fn new(place: Place) -> Self {
        Self {
            number: 0,
            place,
            condition: None,
            hits: None,
            message: None,
            temporary: false,
            told: Value::Null,
            shown: String::new(),
        }
    }

    fn id(&self) -> i64 {
        self.told["id"].as_i64().unwrap_or(-1)
    }

    fn is_verified(&self) -> bool {
        self.told["verified"] == true
    }

    fn said(&self) -> &str {
        self.told["message"].as_str().unwrap_or_default()
    }

    /// Names are still being looked for; what comes of it is told later.
    fn is_looked_for(&self) -> bool {
        self.said().starts_with("looking for")
    }

    fn to_protocol(&self) -> Value {
        let mut value = match &self.place {
            Place::Line(_, line) => json!({"line": line}),
            Place::Function(name) => json!({"name": name}),
            Place::Address(address) => json!({"instructionReference": address}),
            Place::Data(_, id, access) => json!({"dataId": id, "accessType": access}),
            Place::Exception(filter) => json!({"filterId": filter}),
        };
        let options = [
            ("condition", &self.condition),
            ("hitCondition", &self.hits),
            ("logMessage", &self.message),
        ];
        for (key, text) in options {
            if let Some(text) = text {
                value[key] = json!(text);
            }
        }
        value
    }

    /// Number, place, conditions.
    fn title(&self) -> String {
        let what = if self.message.is_some() {
            "logpoint"
        } else {
            "breakpoint"
        };
        let mut line = format!("{what} {}: {}", self.number, self.place.text());
        if let Some(condition) = &self.condition {
            line.push_str(&format!(" if {condition}"));
        }
        if let Some(hits) = &self.hits {
            line.push_str(&format!(", hits {hits}"));
        }
        if let Some(message) = &self.message {
            line.push_str(&format!(" says {message:?}"));
        }
        line
    }

    /// One line: its title, how it stands.
    fn line(&self) -> String {
        let mut line = self.title();
        match (self.is_verified(), &self.place) {
            (true, Place::Line(file, line_asked)) if self.told["line"] != *line_asked => {
                line.push_str(&format!(
                    "; line {line_asked} has no code, so it is at {}:{}",
                    near(file, None),
                    self.told["line"]
                ));
            }
            (true, Place::Function(_)) => {
                if let (Some(path), Some(at)) = (
                    self.told["source"]["path"].as_str(),
                    self.told["line"].as_i64(),
                ) {
                    line.push_str(&format!(", at {path}:{at}"));
                }
            }
            (true, _) => {}
            (false, _) => line.push_str("; pending"),
        }
        if !self.said().is_empty() {
            line.push_str(&format!(" ({})", self.said()));
        }
        line
    }
}

impl Session {
    /// `debug_breakpoint`.
    ///
    /// # Errors
    /// The place has no code, the condition is wrong, there is no such breakpoint.
    pub async fn breakpoint(&self, asked: Breakpoint) -> Result<String, ToolError> {
        match asked.action {
            BreakpointAction::List => Ok(self.list()),
            BreakpointAction::Remove => self.remove(asked.id).await,
            BreakpointAction::Add => {
                let place = match (&asked.location, &asked.watch, &asked.exception) {
                    (Some(location), None, None) => Place::of(location),
                    (None, Some(expression), None) => {
                        self.watchable(expression, asked.access).await?
                    }
                    (None, None, Some(filter)) => Place::Exception(filter.clone()),
                    _ => {
                        return Err(ToolError::new(
                            "BAD_ARGUMENTS",
                            "one of `location`, `watch` and `exception` is needed",
                        ));
                    }
                };
                let set = Set {
                    condition: asked.condition,
                    hits: asked.hit_condition,
                    ..Set::new(place)
                };
                self.add(set).await.map(|set| set.line())
            }
        }
    }

    /// `debug_logpoint`.
    ///
    /// # Errors
    /// As [`Session::breakpoint`].
    pub async fn logpoint(&self, asked: Logpoint) -> Result<String, ToolError> {
        let place = Place::of(&asked.location);
        if !matches!(place, Place::Line(..)) {
            return Err(ToolError::new(
                "BAD_ARGUMENTS",
                format!(
                    "`location`: a logpoint needs FILE:LINE, not `{}`",
                    asked.location
                ),
            ));
        }
        let set = Set {
            condition: asked.condition,
            hits: asked.hit_condition,
            message: Some(asked.message),
            ..Set::new(place)
        };
        self.add(set).await.map(|set| set.line())
    }

    /// Sets a breakpoint that goes with the next stop.
    ///
    /// # Errors
    /// As [`Session::breakpoint`]; a place that may come later is an error, too.
    pub async fn add_temporary(&self, place: &str) -> Result<u32, ToolError> {
        let set = Set {
            temporary: true,
            ..Set::new(Place::of(place))
        };
        let set = self.add(set).await?;
        if !set.is_verified() {
            self.take_out(|it| it.number == set.number).await?;
            let message = format!("{place}: {}", set.said());
            return Err(ToolError::new("NO_SUCH_PLACE", message));
        }
        Ok(set.number)
    }

    /// Sets a breakpoint at a place as agents write it, and says how it stands.
    ///
    /// # Errors
    /// As [`Session::breakpoint`].
    pub async fn add_place(&self, place: &str) -> Result<String, ToolError> {
        self.add(Set::new(Place::of(place)))
            .await
            .map(|set| set.line())
    }

    /// Takes out what was to last until a stop.
    ///
    /// # Errors
    /// The session is lost.
    pub async fn remove_temporary(&self) -> Result<(), ToolError> {
        self.take_out(|set| set.temporary).await.map(drop)
    }

    /// The breakpoints of these session's numbers, as agents know them.
    pub fn names(&self, ids: &[u32]) -> Vec<String> {
        let breakpoints = self.breakpoints();
        let known = breakpoints.all.iter();
        let hit = known.filter(|set| ids.iter().any(|id| i64::from(*id) == set.id()));
        hit.map(|set| match set.temporary {
            true => format!("at the place to run to ({})", set.place.text()),
            false => format!("{} ({})", set.number, set.place.text()),
        })
        .collect()
    }

    fn list(&self) -> String {
        self.take_news();
        let mut breakpoints = self.breakpoints();
        let mut lines = std::mem::take(&mut breakpoints.gone);
        for set in breakpoints.all.iter_mut().filter(|set| !set.temporary) {
            set.shown = set.line();
            lines.push(set.shown.clone());
        }
        match lines.is_empty() {
            true => "no breakpoints".to_owned(),
            false => lines.join("\n"),
        }
    }

    /// What has become of breakpoints since agents were last told of them, a line each.
    pub fn news(&self) -> Vec<String> {
        self.take_news();
        let mut breakpoints = self.breakpoints();
        let mut lines = std::mem::take(&mut breakpoints.gone);
        for set in breakpoints.all.iter_mut().filter(|set| !set.temporary) {
            let line = set.line();
            if line != set.shown && !set.is_looked_for() {
                lines.push(line.clone());
                set.shown = line;
            }
        }
        lines
    }

    async fn remove(&self, id: Option<u32>) -> Result<String, ToolError> {
        let Some(id) = id else {
            let message = "`id` is missing: the number of the breakpoint, 0 for all";
            return Err(ToolError::new("BAD_ARGUMENTS", message));
        };
        match self.take_out(|set| id == 0 || set.number == id).await? {
            0 if id != 0 => Err(ToolError::new(
                "NO_SUCH_BREAKPOINT",
                format!("there is no breakpoint {id}\n{}", self.list()),
            )),
            1 => Ok("removed 1 breakpoint".to_owned()),
            count => Ok(format!("removed {count} breakpoints")),
        }
    }

    /// Takes out what fits; gives how many that were.
    async fn take_out(&self, fits: impl Fn(&Set) -> bool) -> Result<usize, ToolError> {
        let out: Vec<Set> = {
            let mut breakpoints = self.breakpoints();
            breakpoints.all.extract_if(.., |set| fits(set)).collect()
        };
        let mut groups: Vec<Group> = Vec::new();
        for group in out.iter().map(|set| set.place.group()) {
            if !groups.contains(&group) {
                groups.push(group);
            }
        }
        for group in groups {
            self.sync(&group).await?;
        }
        Ok(out.len())
    }

    async fn add(&self, mut set: Set) -> Result<Set, ToolError> {
        let group = set.place.group();
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
        let mut set = self.set_of(number)?;
        if set.is_looked_for() {
            let id = set.id();
            self.link
                .wait(PATIENCE, |told| told.breakpoints.contains_key(&id))
                .await;
            self.take_news();
            set = self.set_of(number)?;
        }
        match self.why_not(&set).await {
            None => {
                let mut breakpoints = self.breakpoints();
                let own = breakpoints.all.iter_mut().find(|it| it.number == number);
                if let Some(own) = own {
                    own.shown = set.line();
                }
                Ok(set)
            }
            Some(error) => {
                self.take_out(|set| set.number == number).await?;
                let mut breakpoints = self.breakpoints();
                // Nobody has heard of that number.
                if breakpoints.last == number {
                    breakpoints.last -= 1;
                }
                Err(error)
            }
        }
    }

    fn set_of(&self, number: u32) -> Result<Set, ToolError> {
        let breakpoints = self.breakpoints();
        let set = breakpoints.all.iter().find(|set| set.number == number);
        set.cloned().ok_or_else(ToolError::lost)
    }

    /// Why a breakpoint will never be hit.
    async fn why_not(&self, set: &Set) -> Option<ToolError> {
        if set.is_verified() {
            return None;
        }
        let said = set.said();
        if said.starts_with("no code at line")
            && let Place::Line(file, line) = &set.place
        {
            let lines = self.lines_with_code(file, *line).await;
            let message = match lines.is_empty() {
                true => format!("{file}:{line}: {said}"),
                false => format!(
                    "{file}:{line} has no code; valid lines: {}",
                    lines.join(", ")
                ),
            };
            return Some(ToolError::new("NO_CODE_AT_LINE", message));
        }
        if set.told["reason"] != "failed" {
            return None;
        }
        let code = match (&set.place, said) {
            (Place::Exception(_), _) => "NO_SUCH_FILTER",
            (_, said) if said.starts_with("condition") => "BAD_CONDITION",
            (_, said) if said.starts_with("log message") => "BAD_MESSAGE",
            _ if set.hits.is_some() => "BAD_CONDITION",
            _ => "CANNOT_SET",
        };
        Some(ToolError::new(code, said))
    }

    /// Lines with code near one that has none.
    async fn lines_with_code(&self, file: &str, line: i64) -> Vec<String> {
        let mut lines = Vec::new();
        // Behind the end of a file its last lines are the nearest.
        for first in [line.saturating_sub(NEAR).max(1), 1] {
            let arguments = json!({
                "source": {"path": file}, "line": first, "endLine": line.saturating_add(NEAR)
            });
            let places = self.link.request("breakpointLocations", arguments).await;
            let places = places.unwrap_or_default();
            let places = places["breakpoints"].as_array().into_iter().flatten();
            lines = places.filter_map(|place| place["line"].as_i64()).collect();
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

    async fn watchable(&self, name: &str, access: Option<Access>) -> Result<Place, ToolError> {
        let frame = self.frame_id(None, None).await?;
        let access = match access {
            None | Some(Access::Write) => "write",
            Some(Access::Read) => "read",
            Some(Access::ReadWrite) => "readWrite",
        };
        let asked = json!({"name": name, "frameId": frame});
        let info = self.link.request("dataBreakpointInfo", asked).await;
        let info = info.map_err(|error| error.or_code("CANNOT_SET"))?;
        match info["dataId"].as_str() {
            Some(id) => Ok(Place::Data(name.to_owned(), id.to_owned(), access)),
            None => Err(ToolError::new(
                "CANNOT_SET",
                info["description"]
                    .as_str()
                    .unwrap_or("it has no place in memory"),
            )),
        }
    }

    /// Tells the session which breakpoints a group has.
    async fn sync(&self, group: &Group) -> Result<(), ToolError> {
        let (numbers, wanted): (Vec<u32>, Vec<Value>) = {
            let breakpoints = self.breakpoints();
            let of_group = breakpoints
                .all
                .iter()
                .filter(|set| set.place.group() == *group);
            of_group.map(|set| (set.number, set.to_protocol())).unzip()
        };
        let (command, arguments, before) = match group {
            Group::Source(file) => (
                "setBreakpoints",
                json!({"source": {"path": file}, "breakpoints": wanted}),
                0,
            ),
            Group::Functions => ("setFunctionBreakpoints", json!({"breakpoints": wanted}), 0),
            Group::Addresses => (
                "setInstructionBreakpoints",
                json!({"breakpoints": wanted}),
                0,
            ),
            Group::Data => ("setDataBreakpoints", json!({"breakpoints": wanted}), 0),
            Group::Exceptions => {
                let named =
                    |filter: &&String| !wanted.iter().any(|wanted| wanted["filterId"] == **filter);
                let usual: Vec<&String> = self.usual_filters.iter().filter(named).collect();
                let arguments = json!({"filters": usual, "filterOptions": wanted});
                ("setExceptionBreakpoints", arguments, usual.len())
            }
        };
        let answer = self.link.request(command, arguments).await?;
        let told = answer["breakpoints"]
            .as_array()
            .into_iter()
            .flatten()
            .skip(before);
        let mut breakpoints = self.breakpoints();
        for (number, told) in numbers.into_iter().zip(told) {
            if let Some(set) = breakpoints.all.iter_mut().find(|set| set.number == number) {
                set.told = told.clone();
            }
        }
        Ok(())
    }

    /// Notes what has become of breakpoints.
    fn take_news(&self) {
        let news = std::mem::take(&mut self.link.told().breakpoints);
        let mut breakpoints = self.breakpoints();
        for (id, told) in news {
            if told["removed"] == true {
                let gone = breakpoints.all.extract_if(.., |set| set.id() == id);
                let why = told["message"].as_str().unwrap_or_default();
                let gone = gone.filter(|set| !set.temporary);
                let gone: Vec<String> = gone
                    .map(|set| format!("{}; it is gone: {why}", set.title()))
                    .collect();
                breakpoints.gone.extend(gone);
            } else if let Some(set) = breakpoints.all.iter_mut().find(|set| set.id() == id) {
                set.told = told;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places() {
        let line = |file: &str, line| Place::Line(file.to_owned(), line);
        assert_eq!(Place::of("a.c:12"), line("a.c", 12));
        assert_eq!(Place::of("/x:y/a.c: 12"), line("/x:y/a.c", 12));
        assert_eq!(Place::of("a::b"), Place::Function("a::b".to_owned()));
        assert_eq!(Place::of("a::1"), Place::Function("a::1".to_owned()));
        assert_eq!(Place::of(" main "), Place::Function("main".to_owned()));
        assert_eq!(Place::of("0x4010a0"), Place::Address("0x4010a0".to_owned()));
        assert_eq!(Place::of("0xylon"), Place::Function("0xylon".to_owned()));
    }
}
