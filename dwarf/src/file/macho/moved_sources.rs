//! Where the sources of a program are, if that is not where they were built: the list in its bundle,
//! `NAME.dSYM/Contents/Resources/UUID.plist` (LLDB's "Symbols on macOS").

use super::companion::{from_home, home, uuid_text};
use super::property_list::Value;
use crate::file::mapping;
use crate::file::object::Image;
use std::path::{Path, PathBuf};

/// Maximum size of a list in bytes.
const MAX_LIST: u64 = 1 << 20;
/// Maximum number of folders in a list.
const MAX_FOLDERS: usize = 4096;

/// Folders of a build, and where they are.
#[derive(Default, Debug)]
pub(crate) struct MovedSources {
    /// The deepest folders first. An empty one is the folder that relative paths begin in.
    folders: Vec<(PathBuf, PathBuf)>,
}

impl MovedSources {
    /// Reads the list in the bundle that a file with debug info is in; empty if there is none.
    pub(crate) fn of(file: &Image) -> MovedSources {
        let Some((list, home)) = list_of(file).zip(Some(home())) else {
            return MovedSources::default();
        };
        if !list.is_file() {
            return MovedSources::default();
        }
        let read = mapping::read_regular(&list, MAX_LIST).map_err(|error| error.to_string());
        let parsed = read.and_then(|text| List::parse(&text));
        match parsed {
            Ok(parsed) => parsed.folders(home.as_deref()),
            Err(error) => {
                tracing::info!(list = %list.display(), error, "sources stay where they were built");
                MovedSources::default()
            }
        }
    }

    /// Returns where a source is, by its path in the debug info.
    pub(crate) fn find(&self, path: PathBuf) -> PathBuf {
        let moved = self.folders.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from).ok()?;
            // The name of the file itself stays.
            let is_inside = rest.file_name().is_some();
            let fits = !from.as_os_str().is_empty() || path.is_relative();
            (is_inside && fits).then(|| to.join(rest))
        });
        match moved {
            // The list may be of another machine than this one, where the program was built.
            Some(moved) if moved.exists() || !path.exists() => moved,
            _ => path,
        }
    }
}

/// Returns where a file in a bundle has its list.
fn list_of(file: &Image) -> Option<PathBuf> {
    file.macho()?;
    let uuid = uuid_text(file.build_id?);
    // `BUNDLE/Contents/Resources/DWARF/NAME`, also behind a link.
    let real = std::fs::canonicalize(&file.path).ok()?;
    let resources = real.parent()?.parent()?;
    let is_bundle = resources.ends_with("Contents/Resources");
    is_bundle.then(|| resources.join(format!("{uuid}.plist")))
}

/// What a list says, a property list.
#[derive(Default, Debug)]
struct List {
    version: u32,
    build: Option<String>,
    source: Option<String>,
    remapping: Vec<(String, String)>,
}

impl List {
    fn parse(bytes: &[u8]) -> Result<List, String> {
        let values = Value::parse(bytes)?;
        let text = |key| values.get(key).and_then(Value::text).map(str::to_owned);
        let version = values.get("DBGVersion").and_then(Value::integer);
        let mut remapping = Vec::new();
        if let Some(Value::Dictionary(pairs)) = values.get("DBGSourcePathRemapping") {
            for (from, to) in pairs.iter().take(MAX_FOLDERS) {
                if let Some(to) = to.text() {
                    remapping.push((from.clone(), to.to_owned()));
                }
            }
        }
        Ok(List {
            version: version.and_then(|it| it.try_into().ok()).unwrap_or(0),
            build: text("DBGBuildSourcePath"),
            source: text("DBGSourcePath"),
            remapping,
        })
    }

    fn folders(self, home: Option<&Path>) -> MovedSources {
        let mut folders = Vec::new();
        let mut add = |from: &Path, to: &Path| {
            let to = from_home(to, home);
            // `./` is how relative paths begin.
            let from: PathBuf = from
                .components()
                .filter(|part| !matches!(part, std::path::Component::CurDir))
                .collect();
            folders.push((from, to));
        };
        if let (Some(build), Some(source)) = (&self.build, &self.source) {
            add(Path::new(build), Path::new(source));
        }
        // Before version 2 the entries are of another kind.
        if self.version >= 2 {
            for (from, to) in &self.remapping {
                let (from, to) = (Path::new(from), Path::new(to));
                add(from, to);
                // In version 2 both have two components too many.
                let around = |path: &Path| path.ancestors().nth(2).map(Path::to_owned);
                if self.version == 2
                    && let (Some(from), Some(to)) = (around(from), around(to))
                    && from.file_name().is_some()
                {
                    add(&from, &to);
                }
            }
        }
        folders.sort_by_key(|(from, _)| std::cmp::Reverse(from.components().count()));
        MovedSources { folders }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(inside: &str) -> MovedSources {
        let text =
            format!("<?xml version=\"1.0\"?><!DOCTYPE plist><plist><dict>{inside}</dict></plist>");
        let parsed = List::parse(text.as_bytes()).unwrap();
        parsed.folders(Some(Path::new("/home/me")))
    }

    fn pair(key: &str, value: &str) -> String {
        format!("<key>{key}</key>\n<string>{value}</string>")
    }

    #[track_caller]
    fn moved(list: &MovedSources, from: &str, to: &str) {
        assert_eq!(list.find(from.into()), Path::new(to));
    }

    #[test]
    fn deepest_folder_decides() {
        let pairs = pair("/b", "/src") + &pair("/b/lib", "~/lib &amp; more&#33;");
        let text = pair("DBGVersion", "3");
        let one = list(&format!(
            "{text}<key>DBGSourcePathRemapping</key><dict>{pairs}</dict>"
        ));
        moved(&one, "/b/a/x.c", "/src/a/x.c");
        moved(&one, "/b/lib/x.c", "/home/me/lib & more!/x.c");
        moved(&one, "/bb/x.c", "/bb/x.c");
        moved(&one, "/b", "/b");
    }

    #[test]
    fn relative_paths_begin_in_their_folder() {
        let pairs = pair("./", "/work") + &pair("./external/", "/external");
        let text = pair("DBGVersion", "3");
        let one = list(&format!(
            "{text}<key>DBGSourcePathRemapping</key><dict>{pairs}</dict>"
        ));
        moved(&one, "app/x.c", "/work/app/x.c");
        moved(&one, "external/x.c", "/external/x.c");
        moved(&one, "/app/x.c", "/app/x.c");
    }

    #[test]
    fn versions_differ() {
        let pairs = format!(
            "<key>DBGSourcePathRemapping</key><dict>{}</dict>",
            pair("/build/p/q", "/src/p/q")
        );
        let old =
            list(&(pair("DBGBuildSourcePath", "/old") + &pair("DBGSourcePath", "/new") + &pairs));
        moved(&old, "/old/x.c", "/new/x.c");
        moved(&old, "/build/p/q/x.c", "/build/p/q/x.c");
        let second = list(&("<key>DBGVersion</key><integer>2</integer>".to_owned() + &pairs));
        moved(&second, "/build/p/q/x.c", "/src/p/q/x.c");
        moved(&second, "/build/r/x.c", "/src/r/x.c");
        let third = list(&(pair("DBGVersion", "3") + &pairs));
        moved(&third, "/build/r/x.c", "/build/r/x.c");
    }

    #[test]
    fn garbage_is_refused() {
        for text in [
            "bplist00",
            "<dict><key>a</dict>",
            "<a>&b;</a>",
            "<a>&#x110000;</a>",
            "\u{0}<",
        ] {
            let parsed = List::parse(text.as_bytes()).map(|list| list.remapping);
            assert!(parsed.is_err() || parsed == Ok(Vec::new()), "{text}");
        }
        let deep = "<dict>".repeat(1 << 16);
        let _ = List::parse(deep.as_bytes());
    }

    #[test]
    fn source_that_stays_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("x.c");
        std::fs::write(&built, "").unwrap();
        let from = folder.path().display().to_string();
        let one = list(&(pair("DBGBuildSourcePath", &from) + &pair("DBGSourcePath", "/nowhere")));
        assert_eq!(one.find(built.clone()), built);
        assert_eq!(
            one.find(folder.path().join("y.c")),
            Path::new("/nowhere/y.c")
        );
    }
}
