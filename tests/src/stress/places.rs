//! Lines of a program with code, those that run often, and the variables there.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use fastrand::Rng;
use serde_json::{Value, json};

use super::LIMIT;
use super::program::{Program, Streams};
use crate::client::DapClient;

/// A line with code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The source.
    pub path: String,
    /// Its line, from 1.
    pub line: u64,
}

/// The lines of a program.
#[derive(Default, Debug)]
pub struct Places {
    /// Lines with code.
    pub all: Vec<Place>,
    /// Lines that are hit often, with names and types of variables there.
    pub busy: Vec<(Place, Vec<(String, String)>)>,
}

/// Maximum number of lines to try; more would take minutes.
const MAX_PLACES: usize = 800;
/// Maximum number of busy lines whose variables are read.
const MAX_BUSY_PLACES: usize = 120;

impl Places {
    /// Reads the file that [`Places::write`] has written.
    pub fn read(file: &Path) -> Option<Places> {
        let text = fs::read_to_string(file).ok()?;
        let mut places = Places::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [kind, path, number, names @ ..] = &fields[..] else {
                return None;
            };
            let place = Place {
                path: (*path).to_owned(),
                line: number.parse().ok()?,
            };
            if *kind == "busy" {
                let (names, _) = names.as_chunks::<2>();
                let named = names
                    .iter()
                    .map(|[name, kind]| ((*name).to_owned(), (*kind).to_owned()));
                places.busy.push((place, named.collect()));
            } else {
                places.all.push(place);
            }
        }
        Some(places)
    }

    /// Writes them to a file.
    ///
    /// # Panics
    /// The file cannot be written.
    pub fn write(&self, file: &Path) {
        let mut text = String::new();
        for place in &self.all {
            text += &format!("all\t{}\t{}\n", place.path, place.line);
        }
        for (place, names) in &self.busy {
            text += &format!("busy\t{}\t{}", place.path, place.line);
            for (name, kind) in names {
                text += &format!("\t{name}\t{kind}");
            }
            text.push('\n');
        }
        fs::write(file, text).expect("the file of a program's lines");
    }

    /// Finds them by runs of the program.
    pub fn learn(program: &Program, mark: &str) -> Places {
        let all = lines_with_code(program, mark);
        let mut tried = all.clone();
        Rng::with_seed(1).shuffle(&mut tried);
        tried.truncate(MAX_PLACES);
        let mut busy: Vec<Place> = busy_ones(program, tried, mark).into_iter().collect();
        Rng::with_seed(2).shuffle(&mut busy);
        busy.truncate(MAX_BUSY_PLACES);
        let busy = with_variables(program, busy, mark);
        Places { all, busy }
    }
}

/// Launches the program, up to the point where breakpoints are set.
fn launched(program: &Program, streams: &Streams, mark: &str) -> DapClient {
    let mut client = DapClient::spawn();
    client.start("launch", program.settings(streams, mark));
    client.request_ok("setExceptionBreakpoints", json!({"filters": []}));
    client
}

/// Returns true if a source file exists and is the program's own.
fn is_own(path: &str) -> bool {
    !path.starts_with("/usr/") && Path::new(path).exists()
}

fn lines_with_code(program: &Program, mark: &str) -> Vec<Place> {
    let streams = Streams::new();
    let mut client = launched(program, &streams, mark);
    let sources = client.request_ok("loadedSources", Value::Null);
    let mut all = Vec::new();
    for source in sources["sources"].as_array().into_iter().flatten() {
        let Some(path) = source["path"].as_str().filter(|path| is_own(path)) else {
            continue;
        };
        let lines = json!({"source": {"path": path}, "line": 1, "endLine": 1_000_000});
        let Ok(body) = client.request("breakpointLocations", lines) else {
            continue;
        };
        let lines = body["breakpoints"].as_array().into_iter().flatten();
        let lines: BTreeSet<u64> = lines.filter_map(|it| it["line"].as_u64()).collect();
        all.extend(lines.into_iter().map(|line| Place {
            path: path.to_owned(),
            line,
        }));
    }
    client.configure();
    client.disconnect_with(json!({"terminateDebuggee": true}));
    all
}

/// Replaces the breakpoints in the sources of `places`; returns the places by breakpoint id.
pub fn set(
    client: &mut DapClient,
    places: &BTreeMap<Place, Value>,
    sources: &BTreeSet<String>,
) -> BTreeMap<i64, Place> {
    let mut ids = BTreeMap::new();
    for path in sources {
        let mut lines = Vec::new();
        let mut requested = Vec::new();
        for (place, options) in places.iter().filter(|(place, _)| place.path == *path) {
            let mut breakpoint = options.clone();
            breakpoint["line"] = json!(place.line);
            lines.push(breakpoint);
            requested.push(place.clone());
        }
        let answer = client.set_source_breakpoints(path, lines);
        let bound = answer.iter().zip(requested);
        ids.extend(bound.filter_map(|(set, place)| Some((set["id"].as_i64()?, place))));
    }
    ids
}

/// Returns the lines that are hit often, as the messages of their breakpoints say.
fn busy_ones(program: &Program, tried: Vec<Place>, mark: &str) -> BTreeSet<Place> {
    let streams = Streams::new();
    let mut client = launched(program, &streams, mark);
    let sources: BTreeSet<String> = tried.iter().map(|place| place.path.clone()).collect();
    let never = json!({"hitCondition": ">= 4000000000"});
    let mut places: BTreeMap<Place, Value> = tried
        .into_iter()
        .map(|place| (place, never.clone()))
        .collect();
    let mut ids = set(&mut client, &places, &sources);
    client.configure();
    let mut busy = BTreeSet::new();
    while let Some(message) = client.next_message(LIMIT) {
        let body = &message["body"];
        if message["event"] == "terminated" {
            break;
        }
        let Some((place, stays)) = trap_state_of(body, &ids) else {
            continue;
        };
        busy.insert(place.clone());
        if stays {
            places.remove(&place);
            ids.extend(set(&mut client, &places, &BTreeSet::from([place.path])));
        }
    }
    client.disconnect();
    busy
}

/// Returns whether a breakpoint that is hit often stays a trap, by its message; `None` if the
/// message does not say.
pub fn stays_on_trap(says: &str) -> Option<bool> {
    if says.starts_with("evaluated in the program") {
        return Some(false);
    }
    says.starts_with("evaluated by the debugger")
        .then_some(true)
}

/// Returns the place of a `breakpoint` event for a location that is hit often, and whether it stays
/// a trap.
fn trap_state_of(body: &Value, ids: &BTreeMap<i64, Place>) -> Option<(Place, bool)> {
    let says = body["breakpoint"]["message"].as_str()?;
    let place = ids.get(&body["breakpoint"]["id"].as_i64()?)?;
    Some((place.clone(), stays_on_trap(says)?))
}

/// Returns the variables at lines that are hit.
fn with_variables(
    program: &Program,
    busy: Vec<Place>,
    mark: &str,
) -> Vec<(Place, Vec<(String, String)>)> {
    let streams = Streams::new();
    let mut client = launched(program, &streams, mark);
    let sources: BTreeSet<String> = busy.iter().map(|place| place.path.clone()).collect();
    let first = json!({"hitCondition": "1"});
    let mut places: BTreeMap<Place, Value> = busy
        .iter()
        .map(|place| (place.clone(), first.clone()))
        .collect();
    let mut ids = set(&mut client, &places, &sources);
    client.configure();
    let mut known: BTreeMap<Place, Vec<(String, String)>> = BTreeMap::new();
    while let Some(message) = client.next_message(LIMIT) {
        let body = &message["body"];
        if message["event"] == "terminated" {
            break;
        }
        if let Some((place, true)) = trap_state_of(body, &ids) {
            places.remove(&place);
            ids.extend(set(&mut client, &places, &BTreeSet::from([place.path])));
        }
        if message["event"] != "stopped" {
            continue;
        }
        if let Some(thread) = body["threadId"].as_i64() {
            client.select_thread(thread);
        }
        let hit = body["hitBreakpointIds"].as_array().into_iter().flatten();
        let hit: Vec<Place> = hit
            .filter_map(|id| ids.get(&id.as_i64()?).cloned())
            .collect();
        let names: Vec<(String, String)> = client
            .local_variables()
            .into_iter()
            .filter(|(name, _)| {
                name.chars()
                    .all(|letter| letter.is_alphanumeric() || letter == '_')
            })
            .filter_map(|(name, variable)| Some((name, variable["type"].as_str()?.to_owned())))
            .filter(|(_, kind)| !kind.contains(['\t', '\n']))
            .take(12)
            .collect();
        for place in hit {
            known.insert(place, names.clone());
        }
        client.continue_();
    }
    client.disconnect();
    let empty = |place: Place| (place, Vec::new());
    let mut all: BTreeMap<_, _> = busy.into_iter().map(empty).collect();
    all.extend(known);
    all.into_iter().collect()
}
