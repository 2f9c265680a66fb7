//! Commands of build tools, with a time limit.

use super::super::error::ToolError;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::process::Command;

/// Time for a build.
const TIMEOUT: Duration = Duration::from_secs(900);
/// How much of a failed build's output is returned, in bytes.
const MAX_OUTPUT_BYTES: usize = 3000;

/// What a command has written.
pub struct Output {
    pub stdout: String,
    pub stderr: String,
    pub success: bool,
}

/// Runs a command in a folder until its end. It ends with this call, if that is cancelled.
///
/// # Errors
/// The command cannot be started, or takes too long.
pub async fn run(folder: &Path, name: &str, args: &[&str]) -> Result<Output, ToolError> {
    let child = Command::new(name)
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let done = tokio::time::timeout(TIMEOUT, child).await;
    let done = done.map_err(|_| {
        let message = format!(
            "{name} took longer than {} s; build it first",
            TIMEOUT.as_secs()
        );
        ToolError::new("BUILD_FAILED", message)
    })?;
    let done = done.map_err(|error| {
        let place = folder.display();
        ToolError::new(
            "BUILD_FAILED",
            format!("cannot run {name} in {place}: {error}"),
        )
    })?;
    Ok(Output {
        stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&done.stderr).into_owned(),
        success: done.status.success(),
    })
}

/// Returns the error of a failed build, with the end of its output.
pub fn failed(output: &str) -> ToolError {
    let from = output.len().saturating_sub(MAX_OUTPUT_BYTES);
    let end = &output[output.ceil_char_boundary(from)..];
    ToolError::new(
        "BUILD_FAILED",
        format!("the build has failed:\n{}", end.trim()),
    )
}

/// Selects the one test that is meant: of this name, or the only one whose name ends with it behind a
/// separator, or contains it.
///
/// # Errors
/// There is none, or several.
pub fn select<'a, T>(tests: &'a [(String, T)], wanted: &str) -> Result<&'a (String, T), ToolError> {
    let is_end = |name: &str| {
        let head = name.strip_suffix(wanted);
        head.is_some_and(|head| head.ends_with(['.', ':', '/']))
    };
    let kinds: [&dyn Fn(&str) -> bool; 3] = [&|name| name == wanted, &is_end, &|name| {
        name.contains(wanted)
    }];
    for kind in kinds {
        let found: Vec<_> = tests.iter().filter(|(name, _)| kind(name)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => {
                let names: Vec<&str> = several.iter().map(|(name, _)| name.as_str()).collect();
                let message = format!("several tests match `{wanted}`: {}", listed(&names));
                return Err(ToolError::new("AMBIGUOUS_TEST", message));
            }
        }
    }
    let names: Vec<&str> = tests.iter().map(|(name, _)| name.as_str()).collect();
    let message = match names.is_empty() {
        true => "there are no tests".to_owned(),
        false => format!("no test `{wanted}`; there are {}", listed(&names)),
    };
    Err(ToolError::new("NO_SUCH_TEST", message))
}

fn listed(names: &[&str]) -> String {
    const MAX_NAMES: usize = 12;
    let more = match names.len() > MAX_NAMES {
        true => format!(", … ({} in all)", names.len()),
        false => String::new(),
    };
    let shown = &names[..names.len().min(MAX_NAMES)];
    format!("{}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_is_selected_by_the_nearest_match() {
        let tests: Vec<(String, ())> = ["a::parse", "b::parse", "parse_all", "b::deep::merge"]
            .map(|name| (name.to_owned(), ()))
            .to_vec();
        let of = |wanted: &str| select(&tests, wanted).map(|(name, ())| name.as_str());
        assert_eq!(of("a::parse").unwrap(), "a::parse");
        assert_eq!(of("merge").unwrap(), "b::deep::merge");
        assert_eq!(of("_all").unwrap(), "parse_all");
        assert_eq!(of("parse").unwrap_err().code, "AMBIGUOUS_TEST");
        let missing = of("split").unwrap_err();
        assert!(missing.to_string().contains("a::parse"), "{missing}");
    }
}
