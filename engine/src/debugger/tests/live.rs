//! Programs that run under the debugger. Each such test runs in a process of its own, all threads of
//! which block SIGCHLD, as in a process that debugs.

use crate::debugger::start::FirstStop;
use crate::debugger::{Debugger, ResumeScope, Wait};
use crate::ids::{BreakpointId, BreakpointOptions, Launch, StdioTarget, ThreadId};
use crate::stops::breakpoint::SourceBreakpoint;
use crate::stops::event::{Event, StopReason};
use dwarf::{LoadAddr, Memory, Module};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Set in the process of one test.
const ALONE: &str = "STILLPOINT_TEST_ALONE";

/// Runs the body of the calling test in a process of its own.
pub fn alone(body: fn()) {
    if env::var_os(ALONE).is_some() {
        crate::os::prepare();
        return body();
    }
    let blocks = ["--block-signal=CHLD", "true"];
    let can_block = Command::new("env").args(blocks).output();
    if !can_block.is_ok_and(|output| output.status.success()) {
        skips::skip("env --block-signal");
        return;
    }
    let current = thread::current();
    let name = current.name().expect("the name of the test");
    let output = Command::new("env")
        .arg(blocks[0])
        .arg(env::current_exe().expect("this test"))
        .args(["--exact", name, "--nocapture"])
        .env(ALONE, "1")
        .output()
        .expect("the test starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    print!("{text}");
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}");
}

/// A program in C, at addresses that its file determines.
pub struct Program {
    folder: tempfile::TempDir,
    source: String,
    module: Arc<Module>,
}

impl Program {
    /// Compiles a program; `None` if there is no compiler.
    pub fn build(source: &str, level: &str) -> Option<Self> {
        if !skips::has_command("gcc") {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("program.c"), source).expect("the source");
        let status = Command::new("gcc")
            .args(["-g", level, "-no-pie", "-fno-pie", "-w", "-o", "program"])
            .arg("program.c")
            .current_dir(&folder)
            .status();
        assert!(status.expect("gcc starts").success());
        let module = Module::open(&folder.path().join("program")).expect("an image");
        Some(Self {
            folder,
            source: source.to_owned(),
            module,
        })
    }

    /// Returns the path of its source.
    pub fn source_path(&self) -> PathBuf {
        self.folder.path().join("program.c")
    }

    /// Returns the line that ends with a marker.
    pub fn line(&self, marker: &str) -> u32 {
        let marker = format!("//@ {marker}");
        let line = self.source.lines().position(|line| line.ends_with(&marker));
        line.expect("the marker") as u32 + 1
    }

    /// Returns the address of a symbol.
    pub fn symbol(&self, name: &str) -> LoadAddr {
        let symbols = self.module.symbols_named(name);
        LoadAddr(symbols.first().expect("the symbol").addr.0)
    }
}

/// The program under the debugger.
pub struct Live<'a> {
    pub debugger: Debugger,
    pub thread: ThreadId,
    /// What the debugger has reported besides stops, threads and modules.
    pub reported: Vec<Event>,
    program: &'a Program,
    is_released: bool,
}

impl<'a> Live<'a> {
    /// Launches a program and holds it before its first instruction.
    pub fn launch(program: &'a Program, arguments: &[&str]) -> Self {
        let mut debugger = Debugger::new().expect("a debugger");
        let launch = Launch {
            program: program.folder.path().join("program"),
            args: arguments.iter().map(Into::into).collect(),
            cwd: program.folder.path().to_path_buf(),
            env: Vec::new(),
            stdio: [StdioTarget::Null, StdioTarget::Null, StdioTarget::Null],
            disable_aslr: true,
            record: false,
            chaos: None,
        };
        debugger.launch(&launch).expect("the program starts");
        Self {
            debugger,
            thread: ThreadId(0),
            reported: Vec::new(),
            program,
            is_released: false,
        }
    }

    /// Sets breakpoints on marked lines in place of all others. Returns their numbers.
    pub fn breakpoints(&mut self, wanted: &[(&str, BreakpointOptions)]) -> Vec<BreakpointId> {
        let wanted: Vec<SourceBreakpoint> = wanted
            .iter()
            .map(|(marker, options)| SourceBreakpoint {
                line: self.program.line(marker),
                column: None,
                options: options.clone(),
            })
            .collect();
        let path = self.program.source_path();
        let infos = self.debugger.set_source_breakpoints("", &path, &wanted);
        infos.iter().map(|info| info.id).collect()
    }

    /// Runs the program to its next stop; `None`: to its end.
    pub fn run(&mut self) -> Option<StopReason> {
        if std::mem::replace(&mut self.is_released, true) {
            let resumed = self.debugger.resume(self.thread, ResumeScope::All);
            assert!(resumed.expect("the program resumes"));
        } else {
            self.debugger
                .release(FirstStop::None)
                .expect("the program runs");
        }
        let deadline = Instant::now() + Duration::from_secs(100);
        loop {
            match self.debugger.wait(Some(deadline), None).expect("waiting") {
                Wait::Event(Event::Stopped(stop)) => {
                    self.thread = stop.thread;
                    return Some(stop.reason);
                }
                Wait::Event(Event::Exited(_)) => return None,
                Wait::Event(
                    Event::ThreadStarted(_) | Event::ThreadExited(_) | Event::ModuleLoaded(_),
                ) => {}
                Wait::Event(event) => self.reported.push(event),
                Wait::Deadline => panic!("no stop"),
                _ => {}
            }
        }
    }

    /// Returns a word of the stopped program.
    pub fn word(&self, addr: LoadAddr) -> u64 {
        let mut word = [0; 8];
        let memory = self.debugger.inferior.memory();
        memory.read(addr, &mut word).expect("readable memory");
        u64::from_le_bytes(word)
    }

    /// Returns a global variable of the stopped program, of 8 bytes.
    pub fn global(&self, name: &str) -> u64 {
        self.word(self.program.symbol(name))
    }
}

/// Returns options with a condition.
pub fn when(condition: &str) -> BreakpointOptions {
    BreakpointOptions {
        condition: Some(condition.to_owned()),
        ..BreakpointOptions::default()
    }
}
