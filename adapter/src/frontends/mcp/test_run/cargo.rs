//! Tests of cargo.

use super::super::arguments::Test;
use super::super::error::ToolError;
use super::Plan;
use super::build::{self, failed, select};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Maximum number of test executables that are asked for their tests.
const MAX_EXECUTABLES: usize = 64;

/// Builds the tests of a package or workspace, and finds the one that is meant.
///
/// # Errors
/// The build has failed, or there is no such test.
pub async fn plan(input: &Test, folder: &Path) -> Result<Plan, ToolError> {
    let mut args = vec![
        "test",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    args.extend(input.args.iter().map(String::as_str));
    let built = build::run(folder, "cargo", &args).await?;
    if !built.success {
        return Err(failed(&built.stderr));
    }
    let mut tests: Vec<(String, (PathBuf, PathBuf))> = Vec::new();
    for (executable, package) in executables(&built.stdout).into_iter().take(MAX_EXECUTABLES) {
        let name = executable.to_string_lossy().into_owned();
        let listing = build::run(&package, &name, &["--list", "--format", "terse"]).await?;
        let names = listing
            .stdout
            .lines()
            .filter_map(|line| line.strip_suffix(": test"));
        tests.extend(names.map(|name| (name.to_owned(), (executable.clone(), package.clone()))));
    }
    let (name, (executable, package)) = select(&tests, &input.name)?;
    let args = [name.as_str(), "--exact", "--nocapture", "--test-threads=1"];
    let package = package.to_string_lossy().into_owned();
    Ok(Plan {
        program: executable.to_string_lossy().into_owned(),
        args: args.map(str::to_owned).to_vec(),
        env: [("CARGO_MANIFEST_DIR".to_owned(), package.clone())].into(),
        cwd: Some(package),
    })
}

/// Returns the test executables in cargo's messages, each with the folder of its package.
fn executables(messages: &str) -> Vec<(PathBuf, PathBuf)> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let executable = |message: Value| {
        let is_test = message["profile"]["test"].as_bool()?;
        let executable = message["executable"].as_str().filter(|_| is_test)?;
        let manifest = Path::new(message["manifest_path"].as_str()?);
        Some((PathBuf::from(executable), manifest.parent()?.to_owned()))
    };
    messages.filter_map(executable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_are_those_of_test_targets() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","profile":{"test":false},"executable":"/p/t/app"}"#,
            "\nwarning: text\n",
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","profile":{"test":true},"executable":"/p/t/app-1"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        let found = executables(messages);
        assert_eq!(found, [(PathBuf::from("/p/t/app-1"), PathBuf::from("/p"))]);
    }
}
