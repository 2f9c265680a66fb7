//! Core files: left by the kernel where it puts them beside the program, else taken by gdb.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixture::Fixture;

/// Runs a program that dies, and gives the core file that it leaves in `folder`; none, and a
/// printed word, where nobody here makes core files.
pub fn core_of(fixture: &Fixture, folder: &Path) -> Option<PathBuf> {
    core_of_program(&fixture.program, folder)
}

/// As [`core_of`], of any file.
pub fn core_of_program(program: &Path, folder: &Path) -> Option<PathBuf> {
    let place = folder.join("dies");
    fs::create_dir_all(&place).expect("a folder");
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap_or_default();
    // Elsewhere, and in the hands of another program, it would not be found.
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
    // Its status says that it died, or that there is no gdb.
    let _ = silent.stderr(Stdio::null()).status();
}
