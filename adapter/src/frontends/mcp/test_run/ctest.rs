//! Tests of ctest.

use super::super::arguments::Test;
use super::super::error::ToolError;
use super::Plan;
use super::build::{self, failed, select};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Builds a CMake build folder, and finds the command of a test.
///
/// # Errors
/// The build has failed, or there is no such test.
pub async fn plan(input: &Test, folder: &Path) -> Result<Plan, ToolError> {
    let mut args = vec!["--build", "."];
    args.extend(input.args.iter().map(String::as_str));
    let built = build::run(folder, "cmake", &args).await?;
    if !built.success {
        return Err(failed(&format!("{}{}", built.stdout, built.stderr)));
    }
    let listing = build::run(folder, "ctest", &["--show-only=json-v1"]).await?;
    let tests = tests(&listing.stdout, folder);
    let (_, plan) = select(&tests, &input.name)?;
    let mut plan = plan.clone();
    if is_catch(Path::new(&plan.program)) {
        plan.args.push("--break".to_owned());
    }
    Ok(plan)
}

/// Returns whether an executable is one of Catch2: it has the name of an option that all of these have.
fn is_catch(program: &Path) -> bool {
    let bytes = std::fs::read(program).unwrap_or_default();
    memchr::memmem::find(&bytes, b"--libidentify").is_some()
}

/// Returns the tests in ctest's listing (cmake's manual, ctest(1), "Show as JSON Object Model").
fn tests(listing: &str, folder: &Path) -> Vec<(String, Plan)> {
    let listing: Value = serde_json::from_str(listing).unwrap_or_default();
    let listed = listing["tests"].as_array().into_iter().flatten();
    let plan = |test: &Value| {
        let command = test["command"].as_array()?.iter();
        let mut command = command.filter_map(|it| it.as_str().map(str::to_owned));
        let mut plan = Plan {
            program: command.next()?,
            args: command.collect(),
            cwd: Some(folder.to_string_lossy().into_owned()),
            // Of no effect on a test without GoogleTest.
            env: BTreeMap::from([("GTEST_BREAK_ON_FAILURE".to_owned(), "1".to_owned())]),
        };
        for property in test["properties"].as_array().into_iter().flatten() {
            let value = &property["value"];
            match property["name"].as_str() {
                Some("WORKING_DIRECTORY") => plan.cwd = value.as_str().map(str::to_owned),
                Some("ENVIRONMENT") => {
                    let pairs = value.as_array().into_iter().flatten();
                    let pairs = pairs.filter_map(|it| it.as_str()?.split_once('='));
                    plan.env
                        .extend(pairs.map(|(name, value)| (name.into(), value.into())));
                }
                _ => {}
            }
        }
        Some((test["name"].as_str()?.to_owned(), plan))
    };
    listed.filter_map(plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executables_of_catch_are_recognized_by_their_options() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("a file");
            is_catch(&path)
        };
        assert!(of("catch", b"\x7fELF\0--reporter\0--libidentify\0"));
        assert!(!of("other", b"\x7fELF\0--reporter\0"));
        assert!(!is_catch(&folder.path().join("missing")));
    }

    #[test]
    fn command_folder_and_environment_are_those_of_the_listing() {
        let listing = r#"{"tests": [
            {"name": "unit", "command": ["/b/unit", "--all"], "properties": [
                {"name": "WORKING_DIRECTORY", "value": "/b/data"},
                {"name": "ENVIRONMENT", "value": ["A=1=2", "B="]}]},
            {"name": "not built"}]}"#;
        let tests = tests(listing, Path::new("/b"));
        let [(name, plan)] = tests.as_slice() else {
            panic!("{tests:?}");
        };
        assert_eq!((name.as_str(), plan.program.as_str()), ("unit", "/b/unit"));
        assert_eq!(plan.args, ["--all"]);
        assert_eq!(plan.cwd.as_deref(), Some("/b/data"));
        assert_eq!(
            (plan.env["A"].as_str(), plan.env["B"].as_str()),
            ("1=2", "")
        );
    }
}
