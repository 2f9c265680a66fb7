//! Cargo, with a deadline.

use crate::commands::{self, Ended};
use crate::probe::Level;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// How packages are built.
pub struct Cargo<'a> {
    /// The folder of what is built.
    pub target: PathBuf,
    /// A folder for files of a moment.
    pub scratch: &'a Path,
    /// When building has to end.
    pub deadline: Instant,
}

impl Cargo<'_> {
    fn run(&self, folder: &Path, arguments: &[&str]) -> Result<Ended, String> {
        let mut command = Command::new("cargo");
        command.args(arguments);
        command.args(["--message-format=json", "--quiet"]);
        command.args(["--config", "profile.dev.package.\"*\".debug=false"]);
        command.arg("--target-dir").arg(&self.target);
        // The lints of other people's crates are theirs.
        command.env("RUSTFLAGS", "--cap-lints=allow");
        command.env_remove("CARGO_TARGET_DIR").current_dir(folder);
        commands::run(&mut command, self.scratch, self.deadline)
    }

    /// Returns the compiler's errors about a package and its tests.
    ///
    /// # Errors
    /// Cargo fails for another reason.
    pub fn errors(&self, folder: &Path) -> Result<Vec<Value>, String> {
        let ended = self.run(folder, &["check", "--lib", "--tests", "--keep-going"])?;
        let errors: Vec<Value> = messages(&ended.output)
            .filter(|it| it["reason"] == "compiler-message" && it["message"]["level"] == "error")
            .map(|mut it| it["message"].take())
            .filter(|it| it["spans"].as_array().is_some_and(|it| !it.is_empty()))
            .collect();
        if errors.is_empty() && !ended.status.success() {
            return Err(format!("cargo check fails: {}", last_line(&ended.errors)));
        }
        Ok(errors)
    }

    /// Builds the tests of a package at a level; returns their programs by their names, the library's own first.
    ///
    /// # Errors
    /// They do not compile.
    pub fn tests(&self, folder: &Path, level: Level) -> Result<Vec<(String, PathBuf)>, String> {
        let mut arguments = vec!["build", "--lib", "--tests", "--keep-going"];
        if level == Level::Optimized {
            // With overflow checks, as in the copy.
            arguments.extend(["--config", "profile.dev.opt-level=2"]);
        }
        let ended = self.run(folder, &arguments)?;
        let mut programs: Vec<(bool, String, PathBuf)> = messages(&ended.output)
            .filter(|it| it["reason"] == "compiler-artifact" && it["profile"]["test"] == true)
            .filter_map(|it| {
                let is_test = it["target"]["kind"][0] == "test";
                let name = it["target"]["name"].as_str()?.to_owned();
                Some((is_test, name, it["executable"].as_str()?.into()))
            })
            .collect();
        if programs.is_empty() {
            return Err(format!("it does not build: {}", last_line(&ended.errors)));
        }
        programs.sort();
        let named = programs.into_iter().map(|(_, name, path)| (name, path));
        Ok(named.collect())
    }
}

fn messages(output: &str) -> impl Iterator<Item = Value> {
    output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
}

/// Returns the first line of an error text that says something.
fn last_line(text: &str) -> String {
    let errors = text.lines().find(|it| it.starts_with("error"));
    errors
        .or(text.lines().last())
        .unwrap_or_default()
        .chars()
        .take(160)
        .collect()
}
