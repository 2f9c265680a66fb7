//! Programs whose crates have line tables alone.

use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture};

/// Compiles a crate of a folder; returns nothing, since cargo's layout is imitated: a folder for each crate.
fn rustc(folder: &Path, source: &str, text: &str, flags: &[&str]) {
    let path = folder.join(source);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, text).expect("a file");
    let mut command = Command::new("rustc");
    command
        .current_dir(folder)
        .args(["--edition", "2021", "-g", "-L", "."]);
    let status = command.args(flags).arg(source).status();
    assert!(status.expect("rustc runs").success(), "{source}");
}

const LOOP: &str = "pub fn many<T: Clone>(t: T, n: usize) -> Vec<T> {
    let mut out = Vec::new();
    for _ in 0..n {
        out.push(t.clone()); //@ push
    }
    out
}
fn main() {
    println!(\"{}\", many(vec![1], 2).len());
}
";

/// Of a function without an entry in the debug info, its symbol says which code is its own.
#[test]
fn a_line_of_line_tables_alone_is_stopped_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let flags = ["-Cdebuginfo=line-tables-only"];
    rustc(folder, "main.rs", LOOP, &flags);
    let fixture = Fixture::compiled(&folder.join("main.rs"), &folder.join("main"));
    let mut client = DapClient::stopped_at(&fixture, "push");
    client.continue_();
    client.expect_stopped("breakpoint");
    client.continue_();
    client.expect_exit();
    client.disconnect();
}
