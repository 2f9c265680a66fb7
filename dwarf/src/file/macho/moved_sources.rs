//! Where the sources of a program are, if that is not where they were built: the list in its bundle,
//! `NAME.dSYM/Contents/Resources/UUID.plist` (LLDB's "Symbols on macOS").

use super::companion::uuid_text;
use crate::file::mapping;
use crate::file::object::Image;
use quick_xml::Reader;
use quick_xml::events::{BytesRef, Event};
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

fn home() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
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

/// What a list says.
#[derive(Default, Debug)]
struct List {
    version: u32,
    build: Option<String>,
    source: Option<String>,
    remapping: Vec<(String, String)>,
}

impl List {
    /// Parses a property list, as XML.
    fn parse(text: &[u8]) -> Result<List, String> {
        if text.starts_with(b"bplist") {
            return Err("a binary property list; convert it by plutil -convert xml1".to_owned());
        }
        let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
        let mut reader = Reader::from_str(text);
        let mut list = List::default();
        // The last key of the outermost dictionary and of one in it, and how deep the reader is.
        let mut keys = [String::new(), String::new()];
        let mut depth = 0usize;
        let mut value = String::new();
        loop {
            match reader.read_event().map_err(|error| error.to_string())? {
                Event::Start(tag) => match tag.name().as_ref() {
                    "dict" | "array" => depth = depth.saturating_add(1),
                    _ => value.clear(),
                },
                Event::Text(text) => value.push_str(&text),
                Event::CData(text) => value.push_str(&text),
                Event::GeneralRef(name) => value.push(character(&name)?),
                Event::End(tag) => {
                    let [outer, inner] = &mut keys;
                    match (tag.name().as_ref(), depth) {
                        ("dict" | "array", _) => depth = depth.saturating_sub(1),
                        ("key", 1) => *outer = std::mem::take(&mut value),
                        ("key", 2) => *inner = std::mem::take(&mut value),
                        ("string" | "integer", 1) => list.set(outer, std::mem::take(&mut value)),
                        ("string", 2) if outer == "DBGSourcePathRemapping" => {
                            if list.remapping.len() < MAX_FOLDERS {
                                let pair = (std::mem::take(inner), std::mem::take(&mut value));
                                list.remapping.push(pair);
                            }
                        }
                        _ => value.clear(),
                    }
                }
                Event::Eof => return Ok(list),
                _ => {}
            }
        }
    }

    fn set(&mut self, key: &str, value: String) {
        match key {
            "DBGVersion" => self.version = value.trim().parse().unwrap_or(0),
            "DBGBuildSourcePath" => self.build = Some(value),
            "DBGSourcePath" => self.source = Some(value),
            _ => {}
        }
    }

    fn folders(self, home: Option<&Path>) -> MovedSources {
        let mut folders = Vec::new();
        let mut add = |from: &Path, to: &Path| {
            let to = match (to.strip_prefix("~"), home) {
                (Ok(rest), Some(home)) => home.join(rest),
                _ => to.to_owned(),
            };
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

/// Returns the character that a reference stands for.
fn character(name: &BytesRef<'_>) -> Result<char, String> {
    if let Some(char) = name.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(char);
    }
    Ok(match &**name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => return Err("an unknown entity".to_owned()),
    })
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
