//! Core files, written by the kernel where it puts them beside the program, else by gdb.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixture::Fixture;

/// Runs a program that crashes, and returns the core file that it leaves in `folder`. Returns
/// `None`, and prints a note, if neither the kernel nor gdb writes one.
pub fn core_of(fixture: &Fixture, folder: &Path) -> Option<PathBuf> {
    core_of_program(&fixture.program, folder)
}

/// Like [`core_of`], for any executable.
pub fn core_of_program(program: &Path, folder: &Path) -> Option<PathBuf> {
    let place = folder.join("dies");
    fs::create_dir_all(&place).expect("a folder");
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    // In another folder, or with a handler program, it would not be found.
    if !pattern.starts_with(['|', '/']) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -c unlimited && exec \"$0\""]);
        run(shell.arg(program).current_dir(&place));
        let mut files = fs::read_dir(&place).expect("the folder");
        if let Some(Ok(core)) = files.next() {
            return Some(core.path());
        }
    }
    let core = place.join("taken");
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "set confirm off", "-ex", "run"]);
    gdb.args(["-ex", &format!("generate-core-file {}", core.display())]);
    run(gdb.args(["-ex", "kill"]).arg(program).current_dir(&place));
    if core.exists() {
        return Some(core);
    }
    skips::skip("core files in the current directory, or gdb");
    None
}

fn run(command: &mut Command) {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null());
    // A failure shows as a missing core file: gdb may not be installed.
    let _ = silent.stderr(Stdio::null()).status();
}
