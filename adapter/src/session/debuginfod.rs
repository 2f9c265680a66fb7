//! Debug info from debuginfod servers, if the setting `debuginfod` is on: runs elfutils'
//! `debuginfod-find` for one module after another, each on a thread of its own. The session never
//! waits for it; a launched program waits for its own debug info before it starts, at most for
//! [`MAX_HOLD`], so that `stopAtMain` and the first breakpoints are not passed.

use super::reports::{FetchFailure, FetchResult, Report};
use crate::protocol::InvalidatedEventBody;
use crate::session::Session;
use crate::session::work::Work;
use engine::{ModuleInfo, State, SymbolStatus, os};
use std::collections::{HashSet, VecDeque};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

const PROGRAM: &str = "debuginfod-find";
const SERVERS: &str = "DEBUGINFOD_URLS";
/// Maximum time for which a program waits for its debug info before it starts.
pub const MAX_HOLD: Duration = Duration::from_secs(90);
/// Maximum number of bytes kept of the tool's output, from its end.
const MAX_OUTPUT_BYTES: usize = 1 << 13;
/// Maximum number of characters shown of it.
const MAX_ERROR_CHARS: usize = 200;

/// Queue and results of fetching.
#[derive(Debug, Default)]
pub struct Debuginfod {
    on: bool,
    /// Build-ids that were requested already.
    requested: HashSet<String>,
    waiting: VecDeque<MissingDebugInfo>,
    fetch: Option<Fetch>,
    last: u64,
    /// Fetched files, by build-id.
    arrived: Vec<(MissingDebugInfo, PathBuf)>,
}

/// A module without debug info.
#[derive(Clone, Debug)]
struct MissingDebugInfo {
    build_id: String,
    name: String,
    is_program: bool,
}

/// One run of the tool. The process is killed on drop.
#[derive(Debug)]
struct Fetch {
    number: u64,
    wanted: MissingDebugInfo,
    began: Instant,
    process: Arc<Process>,
}

impl Drop for Fetch {
    fn drop(&mut self) {
        self.process.kill();
    }
}

/// A process group; it is killed only while its number cannot be reused.
#[derive(Debug, Default)]
struct Process(Mutex<Stage>);

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Stage {
    #[default]
    Starting,
    /// Runs; the process id of its leader.
    Running(u32),
    Unwanted,
    Ended,
}

impl Process {
    /// Enters the next stage; kills the group if it is both running and unwanted.
    fn enter(&self, next: Stage) {
        let mut stage = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (*stage, next) {
            // The fetch may be cancelled before the process runs.
            (Stage::Unwanted, Stage::Running(group)) | (Stage::Running(group), Stage::Unwanted) => {
                // Fails if the process has just ended.
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

impl From<io::Error> for FetchFailure {
    fn from(error: io::Error) -> Self {
        FetchFailure::Other(format!("{PROGRAM}: {error}"))
    }
}

impl Debuginfod {
    /// Creates an empty queue; `on`: the setting.
    pub fn new(on: bool) -> Self {
        Self {
            on,
            ..Self::default()
        }
    }

    /// Queues a module's debug info. Returns whether it will be fetched.
    pub fn request(&mut self, info: &ModuleInfo) -> bool {
        // The vdso has a build-id, but no server has a file of it.
        if !self.on || info.symbols == SymbolStatus::DebugInfo || !info.path.is_absolute() {
            return false;
        }
        let Some(build_id) = info.build_id.clone() else {
            return false;
        };
        if self.requested.insert(build_id.clone()) {
            self.waiting.push_back(MissingDebugInfo {
                build_id,
                name: info.name.clone(),
                is_program: info.is_program,
            });
        }
        true
    }

    /// Returns the current fetch as work.
    pub fn work(&self) -> Option<Work> {
        let fetch = self.fetch.as_ref()?;
        Some(Work {
            title: format!("Fetching debug info of {}", fetch.wanted.name),
            began: fetch.began,
            percentage: None,
            cancellable: true,
        })
    }

    /// Returns true until the program's own debug info has arrived, or is not fetched any more.
    pub fn is_program_awaited(&self) -> bool {
        let fetched = self.fetch.iter().map(|fetch| &fetch.wanted);
        let arrived = self.arrived.iter().map(|(wanted, _)| wanted);
        let mut all = self.waiting.iter().chain(fetched).chain(arrived);
        all.any(|wanted| wanted.is_program)
    }

    /// Cancels the current fetch.
    pub fn cancel(&mut self) {
        self.fetch = None;
    }

    fn cancel_all(&mut self) {
        *self = Self::default();
    }
}

/// Loads fetched files, and starts the next fetch.
pub fn advance(session: &mut Session) {
    // With the file, shown frames may change. A client without `invalidated` keeps them until the
    // debuggee resumes.
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
        session.debuginfod.requested.remove(&wanted.build_id);
    }
}

/// Returns the modules that a file is for.
fn images_without(session: &Session, wanted: &MissingDebugInfo) -> Vec<ModuleInfo> {
    let mut images = session.debugger.modules();
    images.retain(|image| {
        image.symbols != SymbolStatus::DebugInfo
            && image.build_id.as_ref() == Some(&wanted.build_id)
    });
    images
}

fn start(session: &mut Session, wanted: MissingDebugInfo) {
    let servers = env::var(SERVERS).unwrap_or_default();
    if servers.trim().is_empty() {
        session.debuginfod.cancel_all();
        session.console(&format!(
            "Cannot fetch debug info: {SERVERS} is not set in the debugger's environment. Set it \
             to servers such as https://debuginfod.elfutils.org.\n"
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
        inbox.put(Report::DebugFile(FetchResult { number, outcome }));
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
        Err(error) => tracing::warn!(%error, "cannot start a thread to fetch debug info"),
    }
}

/// Handles the result of a run.
pub fn on_report(session: &mut Session, report: FetchResult) {
    let current = &mut session.debuginfod.fetch;
    // A cancelled run reports a result, too.
    let Some(fetch) = current.take_if(|fetch| fetch.number == report.number) else {
        return;
    };
    let wanted = fetch.wanted.clone();
    match report.outcome {
        Ok(file) => session.debuginfod.arrived.push((wanted, file)),
        Err(FetchFailure::Other(why)) => failed(session, &wanted, &why),
        Err(FetchFailure::NotInstalled) => {
            session.debuginfod.cancel_all();
            session.console(&format!(
                "Cannot fetch debug info: the program {PROGRAM} is not installed. Install the \
                 package `debuginfod` (Debian, Ubuntu, Arch) or `elfutils-debuginfod-client` \
                 (Fedora, openSUSE, Alpine: `elfutils`)\n"
            ));
        }
    }
}

fn failed(session: &mut Session, wanted: &MissingDebugInfo, why: &str) {
    session.console(&format!(
        "Cannot fetch debug info of {}: {why}\n",
        wanted.name
    ));
}

/// Loads fetched files before the debuggee resumes, so that breakpoints they resolve are hit.
pub fn before_resume(session: &mut Session) {
    use_arrived(session);
}

/// Puts files to use.
fn use_arrived(session: &mut Session) {
    let mut used = false;
    for (wanted, file) in std::mem::take(&mut session.debuginfod.arrived) {
        let images = images_without(session, &wanted);
        if images.is_empty() {
            // Should it be loaded again, the program still has the file.
            session.debuginfod.requested.remove(&wanted.build_id);
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
fn fetch(build_id: &str, process: &Process) -> Result<PathBuf, FetchFailure> {
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
        io::ErrorKind::NotFound => FetchFailure::NotInstalled,
        _ => error.into(),
    })?;
    // It has our ends of the pipe.
    drop(command);
    process.enter(Stage::Running(child.id()));
    let output = last_of(&mut reader);
    // Until the child is reaped, its process id cannot be reused.
    os::host::await_exit(&child);
    process.enter(Stage::Ended);
    let status = child.wait()?;
    let output = String::from_utf8_lossy(&output?).into_owned();
    parse_output(status.success(), &output)
}

/// Reads to the end of the stream. Returns its last [`MAX_OUTPUT_BYTES`].
fn last_of(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let (mut last, mut part) = (Vec::new(), [0; 1 << 12]);
    loop {
        match reader.read(&mut part) {
            Ok(0) => return Ok(last),
            Ok(len) => last.extend_from_slice(&part[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        last.drain(..last.len().saturating_sub(MAX_OUTPUT_BYTES));
    }
}

/// Returns the file that the last line of the tool's output names.
fn parse_output(success: bool, output: &str) -> Result<PathBuf, FetchFailure> {
    let lines = output.split(['\n', '\r']).map(str::trim);
    let last = lines.rev().find(|line| !line.is_empty()).unwrap_or("");
    if success && last.starts_with('/') {
        return Ok(PathBuf::from(last));
    }
    let error: String = last.chars().take(MAX_ERROR_CHARS).collect();
    Err(FetchFailure::Other(match (success, error.is_empty()) {
        (true, true) => format!("{PROGRAM} named no file"),
        (true, false) => format!("{PROGRAM} named no file but printed `{error}`"),
        (false, true) => format!("{PROGRAM} failed"),
        (false, false) => error,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_on_the_last_line() {
        let path = |output| parse_output(true, output).ok();
        assert_eq!(path("/a b/debuginfo\n"), Some("/a b/debuginfo".into()));
        assert_eq!(path("Downloading 9/9\r\n/x\n"), Some("/x".into()));
        assert_eq!(path("x\n"), None);
        assert_eq!(path(""), None);
        let Err(FetchFailure::Other(why)) = parse_output(false, "Server query failed: none\n")
        else {
            panic!("it has failed");
        };
        assert_eq!(why, "Server query failed: none");
    }

    #[test]
    fn only_the_end_of_a_flood_is_kept() {
        let mut flood = vec![b'x'; 1 << 20];
        flood.extend(b"\n/file\n");
        let last = last_of(&mut flood.as_slice()).unwrap();
        assert_eq!(last.len(), MAX_OUTPUT_BYTES);
        assert!(last.ends_with(b"\n/file\n"));
    }
}
