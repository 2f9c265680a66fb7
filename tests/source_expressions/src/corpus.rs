//! Where packages come from: names, sources, folders.

use crate::commands;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Crates that are small, have tests of their own, and need few others.
const CRATES: &str = include_str!("../crates.txt");

/// Chooses so many crates, and packages of C and C++.
pub fn choose(seed: u64, crates: usize, packages: usize) -> Vec<String> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut rust: Vec<&str> = names(CRATES).collect();
    random.shuffle(&mut rust);
    let mut c: Vec<&str> = crate::c::names().collect();
    random.shuffle(&mut c);
    let rust = rust
        .into_iter()
        .take(crates)
        .map(|name| format!("rust:{name}"));
    let mut chosen: Vec<String> = rust.collect();
    for name in c.into_iter().take(packages) {
        let family = if random.bool() { "gcc" } else { "clang" };
        chosen.push(format!("{family}:{name}"));
    }
    chosen
}

/// Returns the first words of a list's lines.
pub fn names(list: &str) -> impl Iterator<Item = &str> {
    let lines = list.lines().filter(|it| !it.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next())
}

/// Returns the folder for sources and builds.
///
/// # Errors
/// It cannot be made.
pub fn cache() -> Result<PathBuf, String> {
    let named = std::env::var_os("SOURCE_EXPRESSIONS_CACHE").map(PathBuf::from);
    let default = || std::env::temp_dir().join("stillpoint-source-expressions");
    let folder = named.unwrap_or_else(default);
    std::fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    folder
        .canonicalize()
        .map_err(|why| format!("{}: {why}", folder.display()))
}

/// Returns an empty folder of the cache.
///
/// # Errors
/// It cannot be made.
pub fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = cache()?.join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|why| format!("{}: {why}", folder.display()))?;
    Ok(folder)
}

/// Fetches a crate by Cargo; returns its folder, which is not to be changed, and its version.
///
/// # Errors
/// There is none, or the registry cannot be reached in time.
pub fn fetch_crate(
    name: &str,
    folder: &Path,
    deadline: Instant,
) -> Result<(PathBuf, String), String> {
    let io = |why: std::io::Error| why.to_string();
    let wish = folder.join("wish");
    std::fs::create_dir_all(wish.join("src")).map_err(io)?;
    std::fs::write(wish.join("src/lib.rs"), "").map_err(io)?;
    let manifest = format!(
        "[package]\nname = \"wish\"\nedition = \"2024\"\n[dependencies]\nwished = {{ package = \"{name}\", version = \"*\" }}\n[workspace]\n"
    );
    std::fs::write(wish.join("Cargo.toml"), manifest).map_err(io)?;
    let mut command = Command::new("cargo");
    command.args(["metadata", "--format-version=1", "--quiet"]);
    let ended = commands::run(command.current_dir(&wish), folder, deadline)?;
    let metadata: Value = serde_json::from_str(&ended.output)
        .map_err(|_| format!("it cannot be fetched: {}", ended.errors.trim()))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let mut packages = packages.filter(|it| it["name"] == name);
    let package = packages.next().ok_or("the registry has no such crate")?;
    let manifest = package["manifest_path"].as_str().unwrap_or_default();
    let source = Path::new(manifest).parent().ok_or("no folder")?;
    let version = package["version"].as_str().unwrap_or_default();
    Ok((source.to_owned(), version.to_owned()))
}

/// Copies a folder, without what chooses another compiler.
///
/// # Errors
/// A file cannot be read or written.
pub fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == ".cargo" || name.to_string_lossy().starts_with("rust-toolchain") {
            continue;
        }
        let (kind, path) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &path)?;
        } else if kind.is_file() {
            std::fs::copy(entry.path(), path)?;
        }
    }
    Ok(())
}

/// Adds all files of a folder that end so.
pub fn files(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&path, end, found),
            Ok(kind) if kind.is_file() && path.extension().is_some_and(|it| it == end) => {
                found.push(path);
            }
            _ => {}
        }
    }
}

/// Fetches the source of a package of Debian, by lists of its own; returns its folder, which is not to be changed.
///
/// # Errors
/// There is none, or the archive cannot be reached in time.
pub fn fetch_source(name: &str, scratch: &Path, deadline: Instant) -> Result<PathBuf, String> {
    let (apt, sources) = (cache()?.join("apt"), cache()?.join("sources").join(name));
    let io = |why: std::io::Error| why.to_string();
    for folder in [
        &apt.join("lists/partial"),
        &apt.join("cache/archives/partial"),
        &sources,
    ] {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    let unpacked = || -> Option<PathBuf> {
        let entries = std::fs::read_dir(&sources).ok()?.flatten();
        entries.map(|it| it.path()).find(|it| it.is_dir())
    };
    if let Some(folder) = unpacked() {
        return Ok(folder);
    }
    let list = apt.join("sources.list");
    let apt_get = |words: &[&str]| {
        let mut command = Command::new("apt-get");
        let option = |key: &str, value: &Path| format!("{key}={}", value.display());
        command.args(["-q", "-o", "Dir::Etc::sourceparts=/dev/null"]);
        command.args(["-o", &option("Dir::Etc::sourcelist", &list)]);
        command.args(["-o", &option("Dir::State::lists", &apt.join("lists"))]);
        command.args(["-o", &option("Dir::Cache", &apt.join("cache"))]);
        let ended = commands::run(command.args(words).current_dir(&sources), scratch, deadline)?;
        match ended.status.success() {
            true => Ok(()),
            false => Err(format!("it cannot be fetched: {}", ended.errors.trim())),
        }
    };
    if !list.exists() {
        std::fs::write(
            &list,
            "deb-src http://deb.debian.org/debian bookworm main\n",
        )
        .map_err(io)?;
        if let Err(why) = apt_get(&["update"]) {
            let _ = std::fs::remove_file(&list);
            return Err(why);
        }
    }
    apt_get(&["source", "--only-source", name])?;
    unpacked().ok_or_else(|| "its source does not unpack".to_owned())
}
