//! Paths: those of the debug info and those of this machine, and how the client spells them.

use super::Client;
use super::columns::Columns;
use crate::protocol::{Checksum, Source, SourceHint};
use engine::{SourceFile, SourceLocation};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Write;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// What compilers record of sources (DWARF 5).
pub const MD5: &str = "MD5";

/// Prefixes of paths in the debug info, and what they are on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    pairs: Vec<(PathBuf, PathBuf)>,
}

impl SourceMap {
    /// A map of (debug info, here) pairs.
    pub fn new(pairs: impl IntoIterator<Item = (PathBuf, PathBuf)>) -> Self {
        let pairs = pairs
            .into_iter()
            .map(|(from, to)| (plain(&from), plain(&to)))
            .collect();
        Self { pairs }
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The path on this machine of a path in the debug info.
    pub fn to_local(&self, path: &Path) -> PathBuf {
        let pairs = self.pairs.iter().map(|(from, to)| (from, to));
        let mut replaced = replaced(path, pairs);
        // Of several that fit, the one whose file is there.
        let there = match replaced.len() {
            0 => return path.to_owned(),
            1 => 0,
            _ => replaced.iter().position(|it| it.is_file()).unwrap_or(0),
        };
        replaced.swap_remove(there)
    }

    /// The path in the debug info of a path on this machine.
    pub fn to_debug_info(&self, path: &Path) -> PathBuf {
        let pairs = self.pairs.iter().map(|(from, to)| (to, from));
        let replaced = replaced(path, pairs);
        replaced
            .into_iter()
            .next()
            .unwrap_or_else(|| path.to_owned())
    }
}

/// The path without `.` components and trailing slashes.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| *component != Component::CurDir)
        .collect()
}

/// The path with each prefix that fits replaced, that of the longest one first.
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

/// Sources as the client sees them; whether a file is there is asked once a session.
#[derive(Debug, Default)]
pub struct Sources {
    map: SourceMap,
    /// What breakpoints have shown: folders of the debug info, and what they are here.
    learnt: Vec<(PathBuf, PathBuf)>,
    rust: RustSources,
    known: HashMap<PathBuf, Source>,
    columns: Columns,
}

/// The sources of Rust's own library: `/rustc/<hash>/library/…` in the debug info.
#[derive(Debug, Default)]
enum RustSources {
    /// Nobody needs them yet.
    #[default]
    Unneeded,
    /// They are to be looked for.
    Needed,
    /// Somebody looks.
    Sought,
    /// The folder they are in, if any, and its name in the debug info once it was seen there.
    Found(Option<PathBuf>, Option<PathBuf>),
}

impl Sources {
    /// Uses another map from now on.
    pub fn set_map(&mut self, map: SourceMap) {
        self.map = map;
        self.known.clear();
    }

    /// The map.
    pub fn map(&self) -> &SourceMap {
        &self.map
    }

    /// The path in the debug info of a path on this machine.
    pub fn to_debug_info(&self, path: &Path) -> PathBuf {
        if let RustSources::Found(Some(folder), Some(prefix)) = &self.rust
            && let Ok(rest) = path.strip_prefix(folder)
        {
            return prefix.join(rest);
        }
        self.map.to_debug_info(path)
    }

    /// A breakpoint shows that `path` of the debug info is what the client calls `spelling`.
    pub fn learn(&mut self, path: &Path, spelling: &Path) {
        if path == spelling || self.map.to_local(path).is_file() {
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

    /// The path on this machine of a path in the debug info, as far as it is known.
    pub fn local(&mut self, path: &Path) -> PathBuf {
        self.locate(path).unwrap_or_else(|| path.to_owned())
    }

    /// The path on this machine; `None`: not known yet.
    fn locate(&mut self, path: &Path) -> Option<PathBuf> {
        let local = self.map.to_local(path);
        if local != path || local.is_file() {
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
        let Some((prefix, rest)) = rust_library(path) else {
            return Some(local);
        };
        match &mut self.rust {
            RustSources::Unneeded => {
                self.rust = RustSources::Needed;
                None
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

    /// Whether somebody has to look for Rust's own sources now.
    pub fn seek_rust(&mut self) -> bool {
        let needed = matches!(self.rust, RustSources::Needed);
        if needed {
            self.rust = RustSources::Sought;
        }
        needed
    }

    /// Rust's own sources are in this folder, or nowhere.
    pub fn found_rust(&mut self, folder: Option<PathBuf>) {
        self.rust = RustSources::Found(folder, None);
    }

    /// The source of a file of the debug info, with what is known of its text.
    pub fn of_file(&mut self, file: &SourceFile, client: &Client) -> Source {
        let mut source = self.of(&file.path, client);
        source.checksums = checksums_of(file);
        source
    }

    /// A column (0: unknown) of a file in the debug info, in the client's counting.
    pub fn column_out(&mut self, path: &Path, line: u32, column: u32, client: &Client) -> i64 {
        let local = self.local(path);
        client.column_out(self.columns.units_at(&local, line, column))
    }

    /// As [`Sources::column_out`]; `None` where the column is not known.
    pub fn known_column_out(&mut self, place: &SourceLocation, client: &Client) -> Option<i64> {
        let SourceLocation { file, line, column } = place;
        (*column > 0).then(|| self.column_out(&file.path, *line, *column, client))
    }

    /// The debug info's column of a client's, in a line of a file on this machine.
    pub fn column_in(&mut self, local: &Path, line: u32, column: i64, client: &Client) -> u32 {
        self.columns.bytes_at(local, line, client.column_in(column))
    }

    /// The source of a path in the debug info.
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

/// What the compiler recorded of a source's text.
pub fn checksums_of(file: &SourceFile) -> Vec<Checksum> {
    engine::recorded_checksum(file)
        .map(md5_of)
        .into_iter()
        .collect()
}

fn md5_of(md5: &[u8; 16]) -> Checksum {
    let mut checksum = String::with_capacity(32);
    for byte in md5 {
        // A string takes everything.
        let _ = write!(checksum, "{byte:02x}");
    }
    Checksum {
        algorithm: MD5,
        checksum,
    }
}

/// `/rustc/<hash>/library`, and what follows.
fn rust_library(path: &Path) -> Option<(PathBuf, &Path)> {
    let rest = path.strip_prefix("/rustc").ok()?;
    let mut components = rest.components();
    let hash = components.next()?;
    let rest = components.as_path().strip_prefix("library").ok()?;
    let prefix = Path::new("/rustc").join(hash).join("library");
    Some((prefix, rest))
}

/// The folder of Rust's own sources on this machine, as `rustc` says. It takes a while.
pub fn rust_sources() -> Option<PathBuf> {
    let mut rustc = Command::new("rustc")
        .args(["--print", "sysroot"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut sysroot = Vec::new();
    let read = rustc.stdout.take()?.take(1 << 16).read_to_end(&mut sysroot);
    let _ = rustc.wait();
    read.ok()?;
    let sysroot = PathBuf::from(OsStr::from_bytes(sysroot.trim_ascii()));
    let folder = sysroot.join("lib/rustlib/src/rust/library");
    folder.is_dir().then_some(folder)
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
    fn of_two_folders_the_one_with_the_file() {
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
