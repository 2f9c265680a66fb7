//! Values of settings with more than one notation.

use crate::sources::SourceMap;
use engine::StdioTarget;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "expected a list of strings, or one string")]
pub enum Args {
    List(Vec<Scalar>),
    Line(String),
}

impl Default for Args {
    fn default() -> Self {
        Args::List(Vec::new())
    }
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected an object of strings, or a list of \"NAME=VALUE\""
)]
pub enum Env {
    Object(BTreeMap<String, Option<Scalar>>),
    List(Vec<String>),
}

impl Default for Env {
    fn default() -> Self {
        Env::List(Vec::new())
    }
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected a list [stdin, stdout, stderr] of paths and nulls, or an object of them"
)]
pub enum Stdio {
    List(Vec<Option<PathBuf>>),
    Object(StdioObject),
}

impl Default for Stdio {
    fn default() -> Self {
        Stdio::List(Vec::new())
    }
}

#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct StdioObject {
    stdin: Option<PathBuf>,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
}

#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected an object {\"from\": \"to\"}, or a list of pairs [\"from\", \"to\"]"
)]
pub enum PathPairs {
    Object(BTreeMap<PathBuf, PathBuf>),
    List(Vec<(PathBuf, PathBuf)>),
}

impl Default for PathPairs {
    fn default() -> Self {
        PathPairs::List(Vec::new())
    }
}

impl PathPairs {
    pub fn to_map(&self) -> SourceMap {
        match self {
            PathPairs::Object(pairs) => SourceMap::new(pairs.clone()),
            PathPairs::List(pairs) => SourceMap::new(pairs.clone()),
        }
    }
}

/// A value with or without quotes.
#[derive(Deserialize, Debug)]
#[serde(untagged, expecting = "expected a string")]
pub enum Scalar {
    Text(String),
    Bool(bool),
    Integer(i64),
    Float(f64),
}

impl Scalar {
    pub fn text(&self) -> String {
        match self {
            Scalar::Text(text) => text.clone(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Integer(value) => value.to_string(),
            Scalar::Float(value) => value.to_string(),
        }
    }
}

impl Stdio {
    pub fn targets(&self) -> Result<[StdioTarget; 3], String> {
        let mut paths = match self {
            Stdio::List(list) => list.clone(),
            Stdio::Object(object) => {
                let StdioObject {
                    stdin,
                    stdout,
                    stderr,
                } = object.clone();
                vec![stdin, stdout, stderr]
            }
        };
        if paths.len() > 3 {
            return Err(
                "`stdio`: expected at most three entries (stdin, stdout, stderr)".to_owned(),
            );
        }
        paths.resize(3, None);
        let mut paths = paths.into_iter();
        Ok(std::array::from_fn(|_| match paths.next().flatten() {
            None => StdioTarget::Captured,
            Some(path) if path == Path::new("/dev/null") => StdioTarget::Null,
            Some(path) => StdioTarget::File(path),
        }))
    }
}

/// More than an `execve` takes (`ARG_MAX`).
const MAX_ENV_FILE_BYTES: u64 = 4 << 20;

/// Reads lines `NAME=VALUE`. A leading `export` and quotes are removed, `#` starts a comment,
/// nothing is expanded.
pub fn read_env_file(
    file: &Path,
    env: &mut BTreeMap<String, Option<String>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let text = String::from_utf8(engine::read_regular(file, MAX_ENV_FILE_BYTES)?)
        .map_err(|_| "not UTF-8")?;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line
            .split_once('=')
            .ok_or_else(|| format!("line {}: expected NAME=VALUE", index + 1))?;
        env.insert(name.trim().to_owned(), Some(env_value(value.trim())));
    }
    Ok(())
}

fn env_value(text: &str) -> String {
    for quote in ['"', '\''] {
        let inside = text
            .strip_prefix(quote)
            .and_then(|text| text.split_once(quote));
        if let Some((value, _)) = inside {
            return value.to_owned();
        }
    }
    let remark = text.find(" #").unwrap_or(text.len());
    text[..remark].trim_end().to_owned()
}

/// The setting for step filters.
#[derive(Deserialize, Debug)]
#[serde(
    untagged,
    expecting = "expected true, false, or a list of patterns of source paths"
)]
pub enum StepFilters {
    Switch(bool),
    Patterns(Vec<String>),
}

impl Default for StepFilters {
    fn default() -> Self {
        StepFilters::Switch(true)
    }
}

impl StepFilters {
    /// Compiles the filters.
    ///
    /// # Errors
    /// Patterns that are too long or too many.
    pub fn build(&self) -> Result<engine::StepFilters, String> {
        match self {
            StepFilters::Switch(false) => Ok(engine::StepFilters::none()),
            StepFilters::Switch(true) => Ok(engine::StepFilters::default()),
            StepFilters::Patterns(more) => engine::StepFilters::new(more)
                .map_err(|mistake| format!("`stepFilters`: {mistake}")),
        }
    }
}
