//! Programs with a test suite of their own: their runs and results.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::{Value, json};

use crate::process;

/// Environment variable of all processes of a run, to find those that are left over.
const MARK: &str = "STILLPOINT_STRESS";

/// A program with its arguments.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name, also of files about it.
    pub name: String,
    /// The program, absolute, and its arguments.
    pub command: Vec<String>,
    /// Its working directory.
    pub folder: PathBuf,
    /// Whether the order of its output is fixed.
    pub ordered: bool,
}

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Its exit code.
    pub code: Option<i64>,
    /// Its standard output and standard error, without what differs in each run.
    pub output: [Vec<String>; 2],
}

/// The files for the output of a run; removed on drop.
pub struct Streams {
    folder: tempfile::TempDir,
}

impl Streams {
    /// Creates the files.
    ///
    /// # Panics
    /// No file can be created.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for what a program says");
        Self { folder }
    }

    fn paths(&self) -> [PathBuf; 2] {
        ["stdout", "stderr"].map(|name| self.folder.path().join(name))
    }
}

impl Default for Streams {
    fn default() -> Self {
        Self::new()
    }
}

impl Program {
    /// Reads the programs that `tests/stress/programs.sh` has described.
    ///
    /// # Panics
    /// A description cannot be read.
    pub fn described_in(folder: &Path) -> Vec<Program> {
        let files = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut programs: Vec<Program> = files.map(|file| Self::read(&file.path())).collect();
        programs.sort_by(|a, b| a.name.cmp(&b.name));
        programs
    }

    fn read(path: &Path) -> Program {
        let text = fs::read_to_string(path).expect("a description of a program");
        let described: Value = serde_json::from_str(&text).expect("a description in JSON");
        let words = described["command"].as_array().expect("its command");
        let word = |word: &Value| word.as_str().expect("a text").to_owned();
        Program {
            name: path.file_stem().unwrap_or_default().display().to_string(),
            command: words.iter().map(word).collect(),
            folder: word(&described["folder"]).into(),
            ordered: described["ordered"] == true,
        }
    }

    /// Starts it without a debugger.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(&self, streams: &Streams, mark: &str) -> Child {
        let [out, err] = streams.paths();
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .current_dir(&self.folder)
            .env(MARK, mark)
            .stdin(Stdio::null())
            .stdout(File::create(out).expect("a file"))
            .stderr(File::create(err).expect("a file"));
        command.spawn().expect("the program starts")
    }

    /// Returns the launch settings.
    pub fn settings(&self, streams: &Streams, mark: &str) -> Value {
        let [out, err] = streams.paths();
        json!({
            "program": self.command[0],
            "args": self.command[1..],
            "cwd": self.folder,
            "env": {MARK: mark},
            "stdio": ["/dev/null", out, err],
        })
    }

    /// Runs it to its end without a debugger; returns also the duration.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn run(&self, mark: &str) -> (Outcome, Duration) {
        let streams = Streams::new();
        let begun = Instant::now();
        let status = self.start(&streams, mark).wait().expect("its end");
        let took = begun.elapsed();
        let code = status.code().map(i64::from);
        (self.outcome(code, &streams), took)
    }

    /// Returns the result of a run with an exit code.
    pub fn outcome(&self, code: Option<i64>, streams: &Streams) -> Outcome {
        let output = streams.paths().map(|path| {
            let bytes = fs::read(path).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes).into_owned();
            // libtest's notes on slow tests are ignored.
            let lines = text
                .lines()
                .filter(|line| !line.contains(" has been running for over "));
            let mut lines: Vec<String> = lines.map(timeless).collect();
            if !self.ordered {
                lines.sort();
            }
            lines
        });
        Outcome { code, output }
    }
}

/// Removes from a line what differs in each run: durations, addresses, ids of processes and
/// threads.
fn timeless(line: &str) -> String {
    static CHANGES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?x) \d+(\.\d+)?\s?(s|ms|us|µs|seconds|microseconds)\b | 0x[0-9a-f]+
            | \(\d+\)\ panicked | /tmp/[\w./-]+ | \b(pid|process)[\ =]\d+ | \[\d+\] | ^real.*|^user.*|^sys.*",
        )
        .expect("a pattern")
    });
    CHANGES.replace_all(line, "~").into_owned()
}

impl Outcome {
    /// Describes the first difference.
    pub fn difference(&self, other: &Outcome) -> Option<String> {
        if self.code != other.code {
            let output = &other.output[1];
            let last = &output[output.len().saturating_sub(8)..];
            return Some(format!(
                "exit code {:?} became {:?}; {last:#?}",
                self.code, other.code
            ));
        }
        for (mine, others) in self.output.iter().zip(&other.output) {
            let same = mine.iter().zip(others).take_while(|(a, b)| a == b).count();
            if same < mine.len().max(others.len()) {
                let [mine, others] = [mine, others].map(|lines| {
                    let behind = &lines[same..];
                    &behind[..behind.len().min(4)]
                });
                return Some(format!("from line {same}: {mine:?} became {others:?}"));
            }
        }
        None
    }
}

/// Returns the processes that a run with this mark has left.
pub fn left_of(mark: &str) -> Vec<i32> {
    let mark = format!("{MARK}={mark}").into_bytes();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let marked = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|it| it == mark)
    };
    pids.filter(marked)
        .filter(|pid| process::is_alive(*pid))
        .collect()
}

/// Describes the state of a process's threads.
pub fn state_of(pid: i32) -> String {
    let mut text = String::new();
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    for task in tasks.into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let status = read("status");
        let is_compared = |line: &&str| {
            ["Name", "State", "TracerPid", "SigPnd", "SigBlk"]
                .iter()
                .any(|key| line.starts_with(key))
        };
        let lines: Vec<&str> = status.lines().filter(is_compared).collect();
        text += &format!(
            "{pid}/{}: {}; syscall {}; wchan {}\n",
            task.file_name().display(),
            lines.join(", "),
            read("syscall").trim(),
            read("wchan"),
        );
    }
    text
}
