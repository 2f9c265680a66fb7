//! Paths: those of the debug info and those of this machine, and how the client spells them.

use crate::client::Client;
use crate::protocol::{Source, SourceHint};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Prefixes of paths in the debug info, and what they are on this machine.
#[derive(Clone, Debug, Default)]
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
        replace_prefix(path, self.pairs.iter().map(|(from, to)| (from, to)))
    }

    /// The path in the debug info of a path on this machine.
    pub fn to_debug_info(&self, path: &Path) -> PathBuf {
        replace_prefix(path, self.pairs.iter().map(|(from, to)| (to, from)))
    }
}

/// The path without `.` components and trailing slashes.
fn plain(path: &Path) -> PathBuf {
    path.components()
        .filter(|component| *component != Component::CurDir)
        .collect()
}

/// The path with the longest prefix that fits replaced.
fn replace_prefix<'a>(
    path: &Path,
    pairs: impl Iterator<Item = (&'a PathBuf, &'a PathBuf)>,
) -> PathBuf {
    let best = pairs
        .filter_map(|(from, to)| {
            Some((from.components().count(), path.strip_prefix(from).ok()?, to))
        })
        .max_by_key(|(length, ..)| *length);
    match best {
        None => path.to_owned(),
        Some((_, rest, to)) if rest.as_os_str().is_empty() => to.clone(),
        Some((_, rest, to)) => to.join(rest),
    }
}

/// Sources as the client sees them; whether a file is there is asked once a session.
#[derive(Debug, Default)]
pub struct Sources {
    map: SourceMap,
    known: HashMap<PathBuf, Source>,
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

    /// The source of a path in the debug info.
    pub fn of(&mut self, path: &Path, client: &Client) -> Source {
        if let Some(source) = self.known.get(path) {
            return source.clone();
        }
        let local = self.map.to_local(path);
        let source = Source {
            name: local
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
            path: Some(client.path_out(&local)),
            presentation_hint: (!local.is_file()).then_some(SourceHint::Deemphasize),
            ..Source::default()
        };
        self.known.insert(path.to_owned(), source.clone());
        source
    }
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
}
