//! The places of `--break`: their syntax, their breakpoints, and what is wrong with them.

use super::driver::Driver;
use crate::client::ClientError;
use crate::protocol::{
    Breakpoint, BreakpointProblem, BreakpointsResponse, Event, FunctionBreakpoint,
    SetBreakpointsArguments, SetFunctionBreakpointsArguments, Source, SourceBreakpoint,
};
use crate::requests::{SetBreakpoints, SetFunctionBreakpoints};

/// The location of a breakpoint, as given on the command line.
#[derive(Debug, PartialEq, Eq)]
enum BreakSpec<'a> {
    /// A file, and the line and column in it.
    Line(&'a str, Position),
    Function(&'a str),
}

/// A line, and a column in it.
type Position = (u32, Option<u32>);

impl BreakSpec<'_> {
    /// Reads a place.
    ///
    /// # Errors
    /// The text is not a place; the error says what a place looks like.
    fn of(text: &str) -> Result<BreakSpec<'_>, String> {
        const EXPECTED: &str = "expected FILE:LINE, FILE:LINE:COLUMN or FUNCTION";
        if let Some((place, condition)) = text.split_once(" if ") {
            return Err(format!(
                "a place has no condition here; `--break '{}'` stops at each hit, and an editor or an agent \
                 sets breakpoints with conditions such as `{}`",
                place.trim(),
                condition.trim()
            ));
        }
        let is_pattern = text.len() > 1 && text.starts_with('/') && text.ends_with('/');
        match text.rsplit_once(':') {
            // A function: `depot::find`, a pattern, a method of Objective-C.
            Some((scope, _)) if scope.ends_with(':') || is_pattern || scope.contains('[') => {
                Ok(BreakSpec::Function(text))
            }
            Some((file, number)) => {
                let counted = |text: &str| text.parse().ok().filter(|it: &u32| *it > 0);
                let number = counted(number).ok_or(EXPECTED)?;
                // Compilers write `FILE:LINE:COLUMN`.
                let with_line = file.rsplit_once(':');
                let with_line = with_line.and_then(|(file, line)| Some((file, counted(line)?)));
                let (file, place) = match with_line {
                    Some((file, line)) => (file, (line, Some(number))),
                    None => (file, (number, None)),
                };
                match file.is_empty() {
                    true => Err(EXPECTED.to_owned()),
                    false => Ok(BreakSpec::Line(file, place)),
                }
            }
            None if text.trim().is_empty() => Err(EXPECTED.to_owned()),
            None => Ok(BreakSpec::Function(text)),
        }
    }
}

/// Returns what is wrong with the syntax of places, a line for each.
pub fn mistakes(places: &[String]) -> Vec<String> {
    let mistakes = places.iter().filter_map(|text| {
        let why = BreakSpec::of(text).err()?;
        Some(format!("`{text}`: {why}"))
    });
    mistakes.collect()
}

/// A place as it was given, and its breakpoint.
struct Place {
    text: String,
    breakpoint: Breakpoint,
    /// Whether it was found at some time: a library may be unloaded.
    is_found: bool,
}

/// The breakpoints at the places.
#[derive(Default)]
pub struct Places(Vec<Place>);

impl Places {
    /// Replaces all breakpoints of the session by those at the places.
    ///
    /// # Errors
    /// The server has disconnected.
    pub async fn set(driver: &Driver, places: &[String]) -> Result<Self, ClientError> {
        let mut files: Vec<(&str, Vec<Position>)> = Vec::new();
        let mut functions = Vec::new();
        for place in places.iter().filter_map(|text| BreakSpec::of(text).ok()) {
            match place {
                BreakSpec::Function(name) => functions.push(name),
                BreakSpec::Line(file, line) => {
                    match files.iter_mut().find(|(known, _)| *known == file) {
                        Some((_, lines)) => lines.push(line),
                        None => files.push((file, vec![line])),
                    }
                }
            }
        }
        let mut all = Self::default();
        for (file, lines) in files {
            let breakpoints = lines.iter().map(|(line, column)| SourceBreakpoint {
                line: i64::from(*line),
                column: column.map(i64::from),
                ..SourceBreakpoint::default()
            });
            let arguments = SetBreakpointsArguments {
                source: Source {
                    path: Some(file.to_owned()),
                    ..Source::default()
                },
                breakpoints: Some(breakpoints.collect()),
                lines: None,
            };
            let set = driver.client.request::<SetBreakpoints>(&arguments).await?;
            let names = lines.iter().map(|(line, column)| match column {
                None => format!("{file}:{line}"),
                Some(column) => format!("{file}:{line}:{column}"),
            });
            all.add(set, names);
        }
        let breakpoints = functions.iter().map(|name| FunctionBreakpoint {
            name: (*name).to_owned(),
            ..FunctionBreakpoint::default()
        });
        let arguments = SetFunctionBreakpointsArguments {
            breakpoints: breakpoints.collect(),
        };
        let set = driver
            .client
            .request::<SetFunctionBreakpoints>(&arguments)
            .await?;
        all.add(set, functions.iter().map(|name| (*name).to_owned()));
        Ok(all)
    }

    fn add(&mut self, set: BreakpointsResponse, names: impl Iterator<Item = String>) {
        self.0
            .extend(names.zip(set.breakpoints).map(|(text, breakpoint)| Place {
                text,
                is_found: breakpoint.verified,
                breakpoint,
            }));
    }

    /// Notes a change of a breakpoint.
    pub fn changed(&mut self, breakpoint: &Breakpoint) {
        for place in &mut self.0 {
            if place.breakpoint.id == breakpoint.id {
                place.breakpoint.clone_from(breakpoint);
                place.is_found |= breakpoint.verified;
            }
        }
    }

    /// Waits until no debug info is searched for the places. Other events are kept.
    ///
    /// # Errors
    /// The server has disconnected.
    pub async fn await_search(&mut self, driver: &mut Driver) -> Result<(), ClientError> {
        let is_searching = |it: &Place| {
            !it.breakpoint.verified && it.breakpoint.problem == Some(BreakpointProblem::Searching)
        };
        let mut left = Vec::new();
        while self.0.iter().any(is_searching) {
            match driver.event().await? {
                Event::Breakpoint(change) => self.changed(&change.breakpoint),
                event => {
                    let is_end = matches!(event, Event::Terminated);
                    left.push(event);
                    if is_end {
                        break;
                    }
                }
            }
        }
        driver.unread(left);
        Ok(())
    }

    /// Prints a line for each place that was never found, with the reason. Returns whether there is none.
    pub fn all_are_found(&self) -> bool {
        for place in self.0.iter().filter(|it| !it.is_found) {
            let why = place.breakpoint.message.as_deref().unwrap_or("not found");
            let why = why.strip_prefix("pending: ").unwrap_or(why);
            complain!("stillpoint: {}: {why}", place.text);
        }
        self.0.iter().all(|it| it.is_found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax() {
        let line = |file, line| Ok(BreakSpec::Line(file, (line, None)));
        let function = |name| Ok(BreakSpec::Function(name));
        for (text, expected) in [
            ("a.c:12", line("a.c", 12)),
            ("/x:y/a.c:12", line("/x:y/a.c", 12)),
            ("a.c:12:5", Ok(BreakSpec::Line("a.c", (12, Some(5))))),
            ("main", function("main")),
            ("a::b", function("a::b")),
            ("operator new", function("operator new")),
            ("/shop::.*:/", function("/shop::.*:/")),
            ("-[Shop sell:]", function("-[Shop sell:]")),
        ] {
            assert_eq!(BreakSpec::of(text), expected);
        }
        for text in [
            "",
            " ",
            ":5",
            ":5:1",
            "a.c:5:0",
            "a.c:",
            "a.c:x",
            "a.c:0",
            "a.c:5 if x == 3",
        ] {
            assert!(BreakSpec::of(text).is_err(), "{text}");
        }
    }
}
