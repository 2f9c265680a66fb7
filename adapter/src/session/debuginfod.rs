//! Debug info from debuginfod servers, where the setting `debuginfod` asks for it: elfutils'
//! `debuginfod-find` is run for one image after another, each time on a thread of its own. The
//! session never waits for it.

use super::News;
use crate::protocol::InvalidatedEventBody;
use crate::session::Session;
use crate::session::progress::Work;
use engine::{ModuleInfo, State, SymbolStatus, os};
use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use std::{env, thread};

const PROGRAM: &str = "debuginfod-find";
const SERVERS: &str = "DEBUGINFOD_URLS";
/// Of what the program says, the last bytes that are kept.
const MOST_SAID: usize = 1 << 13;
/// Characters of it that are passed on.
const MOST_TOLD: usize = 200;

/// What is to be fetched, and what is.
#[derive(Debug, Default)]
pub struct Debuginfod {
    on: bool,
    /// Build-ids that need not be asked for again.
    asked: HashSet<String>,
    waiting: VecDeque<Wanted>,
    fetch: Option<Fetch>,
    last: u64,
    /// Files that came, by build-id.
    arrived: Vec<(Wanted, PathBuf)>,
}

/// An image without debug info.
#[derive(Clone, Debug)]
struct Wanted {
    build_id: String,
    name: String,
}

/// One run of the program. It is killed when nobody wants its answer any more.
#[derive(Debug)]
struct Fetch {
    number: u64,
    wanted: Wanted,
    began: Instant,
    process: Arc<Process>,
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// A process group, as long as its number is its own.
#[derive(Debug, Default)]
struct Process(Mutex<Stage>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Starting,
    /// The number of its leader.
    Running(u32),
    Unwanted,
    Ended,
}

impl Process {
    /// Goes to the next stage.
    fn enter(&self, next: Stage) {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (*stage, next) {
            // It may be unwanted before it runs.
            (Stage::Unwanted, Stage::Running(group)) | (Stage::Running(group), Stage::Unwanted) => {
                // It has just ended, else.
                os::host::kill_group(group);
                *stage = Stage::Unwanted;
            }
            (Stage::Ended, _) => {}
            _ => *stage = next,
        }
    }

    fn kill(&self) {
        self.enter(Stage::Unwanted);
    }
}

/// What became of a run.
#[derive(Debug)]
pub struct FetchResult {
    number: u64,
    outcome: Result<PathBuf, Failure>,
}

/// Why there is no file.
#[derive(Debug)]
enum Failure {
    /// There is no such program.
    NotInstalled,
    /// Something else, for people.
    Other(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Other(format!("{PROGRAM}: {error}"))
    }
}

impl Debuginfod {
    /// Fetches if `on`.
    pub fn new(on: bool) -> Self {
        Self {
            on,
            ..Self::default()
        }
    }

    /// Whether an image's debug info is going to be asked for.
    pub fn want(&mut self, info: &ModuleInfo) -> bool {
        // The vdso has a build-id, but is no file that anybody could have kept.
        if !self.on || info.symbols == SymbolStatus::DebugInfo || !info.path.is_absolute() {
            return false;
        }
        let Some(build_id) = info.build_id.clone() else {
            return false;
        };
        if self.asked.insert(build_id.clone()) {
            let name = info.name.clone();
            self.waiting.push_back(Wanted { build_id, name });
        }
        true
    }

    /// What is being fetched.
    pub fn work(&self) -> Option<Work> {
        let fetch = self.fetch.as_ref()?;
        Some(Work {
            title: format!("Fetching debug info of {}", fetch.wanted.name),
            began: fetch.began,
            percentage: None,
            cancellable: true,
        })
    }

    /// Gives up what is being fetched.
    pub fn cancel(&mut self) {
        self.fetch = None;
    }

    fn give_up(&mut self) {
        *self = Self::default();
    }
}

/// Does what can be done: puts files that came to use, and asks for the next one.
pub fn advance(session: &mut Session) {
    // Frames that were shown may be others with the file: who cannot be told so keeps them
    // until the program goes on.
    let keeps_frames = session.state() == State::Stopped && !session.client.invalidated;
    if !keeps_frames && !session.deferred.is_calling() {
        use_arrived(session);
    }
    if session.debuginfod.fetch.is_some() {
        return;
    }
    while let Some(wanted) = session.debuginfod.waiting.pop_front() {
        if !images_without(session, &wanted).is_empty() {
            start(session, wanted);
            break;
        }
        session.debuginfod.asked.remove(&wanted.build_id);
    }
}

/// The images that a file would help.
fn images_without(session: &Session, wanted: &Wanted) -> Vec<ModuleInfo> {
    let mut images = session.debugger.modules();
    images.retain(|image| {
        image.symbols != SymbolStatus::DebugInfo
            && image.build_id.as_ref() == Some(&wanted.build_id)
    });
    images
}

fn start(session: &mut Session, wanted: Wanted) {
    let servers = env::var(SERVERS).unwrap_or_default();
    if servers.trim().is_empty() {
        session.debuginfod.give_up();
        session.console(&format!(
            "No debug info is fetched: {SERVERS} is not set in the debugger's environment; \
             set it to the servers to ask, such as https://debuginfod.elfutils.org\n"
        ));
        return;
    }
    let debuginfod = &mut session.debuginfod;
    debuginfod.last += 1;
    let (number, process) = (debuginfod.last, Arc::<Process>::default());
    let (inbox, build_id) = (session.inbox.clone(), wanted.build_id.clone());
    let runs = Arc::clone(&process);
    let work = move || {
        let outcome = fetch(&build_id, &runs);
        inbox.put(News::DebugFile(FetchResult { number, outcome }));
    };
    match thread::Builder::new().name("debuginfod".into()).spawn(work) {
        Ok(_) => {
            debuginfod.fetch = Some(Fetch {
                number,
                wanted,
                began: Instant::now(),
                process,
            });
        }
        Err(error) => tracing::warn!(%error, "no thread to fetch debug info"),
    }
}

/// A run has ended.
pub fn on_report(session: &mut Session, report: FetchResult) {
    let current = &mut session.debuginfod.fetch;
    // One that was cancelled reports, too.
    let Some(fetch) = current.take_if(|fetch| fetch.number == report.number) else {
        return;
    };
    let wanted = fetch.wanted.clone();
    match report.outcome {
        Ok(file) => session.debuginfod.arrived.push((wanted, file)),
        Err(Failure::Other(why)) => failed(session, &wanted, &why),
        Err(Failure::NotInstalled) => {
            session.debuginfod.give_up();
            session.console(&format!(
                "No debug info is fetched: the program {PROGRAM} is not installed; it is in the \
                 package `debuginfod` (Debian, Ubuntu, Arch) or `elfutils-debuginfod-client` \
                 (Fedora, openSUSE, Alpine: `elfutils`)\n"
            ));
        }
    }
}

fn failed(session: &mut Session, wanted: &Wanted, why: &str) {
    session.console(&format!("No debug info of {}: {why}\n", wanted.name));
}

/// Puts files to use before the program goes on: what they bind, it is to hit.
pub fn before_going_on(session: &mut Session) {
    use_arrived(session);
}

/// Puts files to use.
fn use_arrived(session: &mut Session) {
    let mut used = false;
    for (wanted, file) in std::mem::take(&mut session.debuginfod.arrived) {
        let images = images_without(session, &wanted);
        if images.is_empty() {
            // Should it be loaded again, the program still has the file.
            session.debuginfod.asked.remove(&wanted.build_id);
        }
        for image in images {
            match session.debugger.use_debug_file(image.id, &file) {
                Ok(()) => used = true,
                Err(error) => failed(session, &wanted, &error.to_string()),
            }
        }
    }
    if used && session.state() == State::Stopped {
        session.handles.clear();
        if session.client.invalidated {
            let areas = &["stacks", "variables"];
            session.event("invalidated", &InvalidatedEventBody { areas });
        }
    }
}

/// Runs the program to its end.
fn fetch(build_id: &str, process: &Process) -> Result<PathBuf, Failure> {
    let (mut reader, writer) = io::pipe()?;
    let mut command = Command::new(PROGRAM);
    command
        .args(["debuginfo", build_id])
        // What it says is for us.
        .env_remove("DEBUGINFOD_PROGRESS")
        .env_remove("DEBUGINFOD_VERBOSE")
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::NotInstalled,
        _ => error.into(),
    })?;
    // It has our ends of the pipe.
    drop(command);
    process.enter(Stage::Running(child.id()));
    let said = last_of(&mut reader);
    // Until it is collected nobody else can get its number.
    os::host::await_exit(&child);
    process.enter(Stage::Ended);
    let status = child.wait()?;
    let said = String::from_utf8_lossy(&said?).into_owned();
    answer(status.success(), &said)
}

/// The end of what is written, once that is all.
fn last_of(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut last, mut part) = (Vec::new(), [0; 1 << 12]);
    loop {
        match reader.read(&mut part) {
            Ok(0) => return Ok(last),
            Ok(len) => last.extend_from_slice(&part[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        last.drain(..last.len().saturating_sub(MOST_SAID));
    }
}

/// The file, by the last line that the program has said.
fn answer(success: bool, said: &str) -> Result<PathBuf, Failure> {
    let lines = said.split(['\n', '\r']).map(str::trim);
    let last = lines.rev().find(|line| !line.is_empty()).unwrap_or("");
    if success && last.starts_with('/') {
        return Ok(PathBuf::from(last));
    }
    let told: String = last.chars().take(MOST_TOLD).collect();
    Err(Failure::Other(match (success, told.is_empty()) {
        (true, true) => format!("{PROGRAM} named no file"),
        (true, false) => format!("{PROGRAM} named no file but said `{told}`"),
        (false, true) => format!("{PROGRAM} failed"),
        (false, false) => told,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_on_the_last_line() {
        let path = |said| answer(true, said).ok();
        assert_eq!(path("/a b/debuginfo\n"), Some("/a b/debuginfo".into()));
        assert_eq!(path("Downloading 9/9\r\n/x\n"), Some("/x".into()));
        assert_eq!(path("x\n"), None);
        assert_eq!(path(""), None);
        let Err(Failure::Other(why)) = answer(false, "Server query failed: none\n") else {
            panic!("it has failed");
        };
        assert_eq!(why, "Server query failed: none");
    }

    #[test]
    fn only_the_end_of_a_flood_is_kept() {
        let mut flood = vec![b'x'; 1 << 20];
        flood.extend(b"\n/file\n");
        let last = last_of(&mut flood.as_slice()).unwrap();
        assert_eq!(last.len(), MOST_SAID);
        assert!(last.ends_with(b"\n/file\n"));
    }
}
