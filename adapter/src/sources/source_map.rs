//! Paths in the debug info, on this machine, and in the client's format.

use super::Client;
use super::columns::Columns;
use super::rust_toolchains;
use crate::protocol::{Checksum, Source, SourceHint};
use engine::{SourceFile, SourceLocation};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

/// Algorithm of the checksums that compilers record for sources (DWARF 5).
pub const MD5: &str = "MD5";

/// Path prefixes in the debug info, and their replacements on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl SourceMap {
    /// Creates a map from pairs of (path in the debug info, local path).
    pub fn new(pairs: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(from, to)| (plain(&from), plain(&to)))
            .collect();
        Self { pairs }
    }

    /// Returns true if the map is empty.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Converts a path in the debug info to one on this machine.
    pub fn to_local(&self, path: &Path) -> PathBuf {
        let pairs = self.pairs.iter().map(|(from, to)| (from, to));
        let mut replaced = replaced(path, pairs);
        // Of several matching prefixes, the one that leads to an existing file.
        let there = match replaced.len() {
            0 => return path.to_owned(),
            1 => 0,
            _ => replaced.iter().position(|it| it.is_file()).unwrap_or(0),
        };
        replaced.swap_remove(there)
    }

    /// Converts a path on this machine to one in the debug info.
    pub fn to_debug_info(&self, path: &Path) -> PathBuf {
        let pairs = self.pairs.iter().map(|(from, to)| (to, from));
        let replaced = replaced(path, pairs);
        replaced
            .into_iter()
            .next()
            .unwrap_or_else(|| path.to_owned())
    }
}

/// Removes `.` components and trailing slashes.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| *component != Component::CurDir)
        .collect()
}

/// Returns the path with each matching prefix replaced, longest prefix first.
fn replaced<'a>(
    path: &Path,
    pairs: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>,
) -> Vec<PathBuf> {
    let fitting = pairs.filter_map(|(from, to)| {
        let rest = path.strip_prefix(from).ok()?;
        let replaced = match rest.as_os_str().is_empty() {
            true => to.clone(),
            false => to.join(rest),
        };
        Some((from.components().count(), replaced))
    });
    let mut fitting: Vec<(usize, PathBuf)> = fitting.collect();
    fitting.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
    fitting.into_iter().map(|(_, replaced)| replaced).collect()
}

/// Sources for the client. The existence of a file is checked once per session.
#[derive(Debug, Default)]
pub struct Sources {
    map: SourceMap,
    /// Folders of the debug info and their local equivalents, inferred from breakpoints.
    learnt: Vec<(PathBuf, PathBuf)>,
    /// Folders that relative paths of the debug info may refer to: the program's working directory, its own
    /// folder.
    roots: Vec<PathBuf>,
    rust: RustSources,
    known: HashMap<PathBuf, Source>,
    columns: Columns,
}

/// The sources of Rust's standard library: `/rustc/<hash>/library/…` in the debug info.
#[derive(Debug, Default)]
enum RustSources {
    /// Not needed yet.
    #[default]
    Unneeded,
    /// Needed, and the search has not started.
    Needed,
    /// The search is running.
    Sought,
    /// The local folder, if there is one, and its name in the debug info once it is known.
    Found(Option<PathBuf>, Option<PathBuf>),
}

impl Sources {
    /// Replaces the map.
    pub fn set_map(&mut self, map: SourceMap) {
        self.map = map;
        self.known.clear();
    }

    /// Returns the map.
    pub fn map(&self) -> &SourceMap {
        &self.map
    }

    /// Returns the folders of the debug info whose files are elsewhere, by the map and by breakpoints.
    pub fn mapped(&self) -> Vec<PathBuf> {
        let pairs = self.map.pairs.iter().chain(&self.learnt);
        pairs.map(|(from, _)| from.clone()).collect()
    }

    /// Converts a path on this machine to one in the debug info.
    pub fn to_debug_info(&self, path: &Path) -> PathBuf {
        if let RustSources::Found(Some(folder), Some(prefix)) = &self.rust
            && let Ok(rest) = path.strip_prefix(folder)
        {
            return prefix.join(rest);
        }
        self.map.to_debug_info(path)
    }

    /// Adds a folder to search for relative paths of the debug info. Folders are searched in the order of their addition.
    pub fn add_root(&mut self, folder: &Path) {
        if folder.is_absolute() && !self.roots.iter().any(|it| it == folder) {
            self.roots.push(folder.to_owned());
            self.known.clear();
        }
    }

    /// Returns the file in one of the folders for relative paths, if the path is relative.
    fn in_roots(&self, path: &Path) -> Option<PathBuf> {
        let inside = relative(path)?;
        let mut candidates = self.roots.iter().map(|root| root.join(inside));
        candidates.find(|it| it.is_file())
    }

    /// Records that a breakpoint maps `path` of the debug info to the client's path `spelling`.
    pub fn learn(&mut self, path: &Path, spelling: &Path) {
        let local = self.map.to_local(path);
        let is_known = local != path || relative(path).is_none();
        if path == spelling || is_known && local.is_file() {
            return;
        }
        let (mut from, mut to) = (path, spelling);
        while let (Some(a), Some(b)) = (from.file_name(), to.file_name())
            && a == b
            && let (Some(a), Some(b)) = (from.parent(), to.parent())
        {
            (from, to) = (a, b);
        }
        let pair = (from.to_owned(), to.to_owned());
        if from != path && !self.learnt.contains(&pair) {
            self.learnt.push(pair);
            self.known.clear();
        }
    }

    /// Converts a path in the debug info to one on this machine; returns it unchanged if unknown.
    pub fn local(&mut self, path: &Path) -> PathBuf {
        self.locate(path).unwrap_or_else(|| path.to_owned())
    }

    /// Converts a path in the debug info to one on this machine; `None` if unknown.
    fn locate(&mut self, path: &Path) -> Option<PathBuf> {
        let local = self.map.to_local(path);
        // A relative path never means a file in the debugger's own working directory.
        if local != path || relative(path).is_none() && local.is_file() {
            return Some(local);
        }
        for (from, to) in &self.learnt {
            let learnt = path.strip_prefix(from).map(|rest| to.join(rest));
            if let Ok(learnt) = learnt
                && learnt.is_file()
            {
                return Some(learnt);
            }
        }
        if let Some(found) = self.in_roots(path) {
            return Some(found);
        }
        let Some((prefix, rest)) = rust_library(path) else {
            return Some(local);
        };
        match &mut self.rust {
            RustSources::Unneeded => {
                // Known at once: the answer that a client shows first is right.
                let hash = prefix.iter().nth(2).unwrap_or_default();
                self.rust = match rust_toolchains::of_commit(hash) {
                    Some(folder) => RustSources::Found(Some(folder), None),
                    None => RustSources::Needed,
                };
                self.locate(path)
            }
            RustSources::Needed | RustSources::Sought => None,
            RustSources::Found(None, _) => Some(local),
            RustSources::Found(Some(folder), seen) => {
                let here = folder.join(rest);
                if !here.is_file() {
                    return Some(local);
                }
                *seen = Some(prefix);
                Some(here)
            }
        }
    }

    /// Returns true, once, if the search for the sources of Rust's standard library should start.
    pub fn seek_rust(&mut self) -> bool {
        let needed = matches!(self.rust, RustSources::Needed);
        if needed {
            self.rust = RustSources::Sought;
        }
        needed
    }

    /// Sets the folder with the sources of Rust's standard library; `None`: there is none.
    pub fn set_rust_sources(&mut self, folder: Option<PathBuf>) {
        self.rust = RustSources::Found(folder, None);
    }

    /// Returns the source of a file in the debug info, with its checksum.
    pub fn of_file(&mut self, file: &SourceFile, client: &Client) -> Source {
        let mut source = self.of(&file.path, client);
        source.checksums = checksums_of(file);
        source
    }

    /// Converts a column (0: unknown) of a file in the debug info to the client's numbering.
    pub fn column_out(&mut self, path: &Path, line: u32, column: u32, client: &Client) -> i64 {
        let local = self.local(path);
        client.column_out(self.columns.units_at(&local, line, column))
    }

    /// Like [`Sources::column_out`]; `None` if the column is unknown.
    pub fn known_column_out(&mut self, place: &SourceLocation, client: &Client) -> Option<i64> {
        let SourceLocation { file, line, column } = place;
        (*column > 0).then(|| self.column_out(&file.path, *line, *column, client))
    }

    /// Converts the client's column in a line of a local file to one of the debug info.
    pub fn column_in(&mut self, local: &Path, line: u32, column: i64, client: &Client) -> u32 {
        self.columns.bytes_at(local, line, client.column_in(column))
    }

    /// Returns the source of a path in the debug info.
    pub fn of(&mut self, path: &Path, client: &Client) -> Source {
        if let Some(source) = self.known.get(path) {
            return source.clone();
        }
        let found = self.locate(path);
        let local = found.as_deref().unwrap_or(path);
        let source = Source {
            name: local
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            path: Some(client.path_out(local)),
            presentation_hint: (!local.is_file()).then_some(SourceHint::Deemphasize),
            ..Source::default()
        };
        if found.is_some() {
            self.known.insert(path.to_owned(), source.clone());
        }
        source
    }
}

/// Returns the checksum of a source's text that the compiler recorded.
pub fn checksums_of(file: &SourceFile) -> Vec<Checksum> {
    engine::recorded_checksum(file)
        .map(md5_of)
        .into_iter()
        .collect()
}

fn md5_of(md5: &[u8; 16]) -> Checksum {
    let mut checksum = String::with_capacity(32);
    for byte in md5 {
        // Writing to a string does not fail.
        let _ = write!(checksum, "{byte:02x}");
    }
    Checksum {
        algorithm: MD5,
        checksum,
    }
}

/// Returns the part of a path that is relative to some working directory: builds that can be repeated record
/// `.` or `/proc/self/cwd` as theirs.
fn relative(path: &Path) -> Option<&Path> {
    match path.strip_prefix("/proc/self/cwd") {
        Ok(rest) => Some(rest),
        Err(_) => path.is_relative().then_some(path),
    }
}

/// Splits `/rustc/<hash>/library` from the rest of a path.
fn rust_library(path: &Path) -> Option<(PathBuf, &Path)> {
    let rest = path.strip_prefix("/rustc").ok()?;
    let mut components = rest.components();
    let hash = components.next()?;
    let rest = components.as_path().strip_prefix("library").ok()?;
    let prefix = Path::new("/rustc").join(hash).join("library");
    Some((prefix, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> SourceMap {
        SourceMap::new(pairs.iter().map(|(a, b)| (a.into(), b.into())))
    }

    #[test]
    fn whole_components_and_the_longest_prefix() {
        let map = map(&[
            ("/build/", "/home/me"),
            ("/build/lib", "/srv/lib/"),
            ("./gen", "/gen"),
        ]);
        let local = |path: &str| map.to_local(Path::new(path));
        assert_eq!(local("/build/a.c"), Path::new("/home/me/a.c"));
        assert_eq!(local("/build"), Path::new("/home/me"));
        assert_eq!(local("/builder/a.c"), Path::new("/builder/a.c"));
        assert_eq!(local("/build/lib/x/b.c"), Path::new("/srv/lib/x/b.c"));
        assert_eq!(local("gen/b.c"), Path::new("/gen/b.c"));
        let back = |path: &str| map.to_debug_info(Path::new(path));
        assert_eq!(back("/home/me/a.c"), Path::new("/build/a.c"));
        assert_eq!(back("/srv/lib/b.c"), Path::new("/build/lib/b.c"));
        assert_eq!(back("main.c"), Path::new("main.c"));
    }

    #[test]
    fn folder_with_the_file_wins() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("there");
        std::fs::create_dir(&there).unwrap();
        std::fs::write(there.join("a.c"), "").unwrap();
        let there = there.to_str().unwrap();
        let map = map(&[("/build", "/no/such/folder"), ("/build", there)]);
        let local = |path: &str| map.to_local(Path::new(path));
        assert_eq!(local("/build/a.c"), Path::new(there).join("a.c"));
        assert_eq!(local("/build/b.c"), Path::new("/no/such/folder/b.c"));
        let back = |path: &str| map.to_debug_info(Path::new(path));
        assert_eq!(back(&format!("{there}/a.c")), Path::new("/build/a.c"));
    }

    #[test]
    fn the_library_of_rust() {
        let split = |path| rust_library(Path::new(path));
        let prefix = PathBuf::from("/rustc/5980/library");
        let rest = Path::new("std/src/rt.rs");
        assert_eq!(
            split("/rustc/5980/library/std/src/rt.rs"),
            Some((prefix, rest))
        );
        assert_eq!(split("/rustc/5980/src/a.rs"), None);
        assert_eq!(split("/rustc"), None);
    }
}
