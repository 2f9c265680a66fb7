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

/// Returns why no place is found in the program of a command: it is a dynamic loader, which loads the program as it
/// loads a library, and whose list of what it has loaded is not read.
pub fn why_unseen(command: &[String]) -> Option<String> {
    const LOADERS: [&str; 5] = ["ld-linux", "ld-musl", "ld64.so", "ld.so", "ld-2."];
    let (program, arguments) = command.split_first()?;
    let name = Path::new(program).file_name()?.to_string_lossy();
    if !LOADERS.iter().any(|it| name.starts_with(it)) {
        return None;
    }
    let meant = shlex::try_join(arguments.iter().map(String::as_str)).unwrap_or_default();
    Some(format!(
        "`{name}` is a dynamic loader, and what it loads is not searched for places; run the program itself: `{meant}`"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_are_known_by_their_names() {
        for (program, expected) in [
            ("/lib64/ld-linux-x86-64.so.2", true),
            ("/lib/ld-musl-aarch64.so.1", true),
            ("/usr/bin/ld", false),
            ("./old.so", false),
        ] {
            let command = [program.to_owned(), "./a b".to_owned()];
            let why = why_unseen(&command);
            assert_eq!(why.is_some(), expected, "{program}");
            assert!(why.is_none_or(|why| why.ends_with("`'./a b'`")));
        }
    }
}
