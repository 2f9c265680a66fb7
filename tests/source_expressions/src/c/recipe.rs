//! The list of packages of C and C++: how each is built without its own build system.

use std::path::PathBuf;

const PACKAGES: &str = include_str!("../../packages.txt");

/// How a package is built and run.
#[derive(Default, Debug)]
pub struct Recipe {
    /// A command of the shell that makes the headers which it generates.
    pub prepare: String,
    /// Options of the compiler.
    pub flags: Vec<String>,
    /// What it is linked with.
    pub libraries: Vec<String>,
    /// Its files, and those of a program that uses it.
    pub sources: Vec<PathBuf>,
    /// The arguments of that program.
    pub arguments: Vec<String>,
}

/// Returns the names of all packages.
pub fn names() -> impl Iterator<Item = &'static str> {
    all()
        .map(|it| it.trim_start_matches('\n'))
        .filter_map(|it| it.lines().next())
}

fn all() -> impl Iterator<Item = &'static str> {
    let paragraphs = PACKAGES.split("\n\n").map(str::trim_start);
    paragraphs.filter(|it| !it.is_empty() && !it.starts_with('#'))
}

/// Returns the recipe of a package.
pub fn of(name: &str) -> Option<Recipe> {
    let text = all().find(|it| it.lines().next() == Some(name))?;
    let value = |key: &str| {
        let line = text.lines().find_map(|it| it.strip_prefix(key));
        line.unwrap_or_default().trim().to_owned()
    };
    let words = |key: &str| {
        value(key)
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    Some(Recipe {
        prepare: value("prepare:"),
        flags: words("flags:"),
        libraries: words("libraries:"),
        sources: words("sources:").into_iter().map(PathBuf::from).collect(),
        arguments: words("arguments:"),
    })
}
