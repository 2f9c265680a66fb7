//! The program of a command line.

use serde_json::{Value, json};
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the file of a program: in the working directory, or where a shell finds it.
pub fn find(program: &OsStr) -> PathBuf {
    let path = Path::new(program);
    if program.as_encoded_bytes().contains(&b'/') || path.is_file() {
        return path.to_owned();
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    let mut files = env::split_paths(&folders).map(|folder| folder.join(path));
    files
        .find(|file| file.is_file())
        .unwrap_or_else(|| path.to_owned())
}

/// Returns the launch of a command: the program ([`find`]) and its arguments. It reads the same stdin, if that
/// can be opened again: a socket cannot.
pub fn launch(command: &[String]) -> Value {
    let (program, args) = command.split_first().unzip();
    let program = program.map(|it| find(OsStr::new(it)));
    let mut launch = json!({"program": program, "args": args});
    if std::fs::File::open("/dev/stdin").is_ok() {
        launch["stdio"] = json!({"stdin": "/dev/stdin"});
    }
    launch
}
