//! ARCHITECTURE.md: what it names exists.

use regex::Regex;
use std::collections::HashSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use stillpoint_tests::repository;

/// Made once: in a debug build each takes milliseconds.
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[\w.*<>-]+(?:/[\w.*<>-]*)+$|^[\w-]+\.(?:rs|md|json)$").expect("a pattern")
});
static MEMBER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?:\w+::)*(\w+)::(\w+)$").expect("a pattern"));
static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\w+\*?$").expect("a pattern"));

/// A source file: its words, and the types that it defines.
struct Source {
    path: PathBuf,
    words: HashSet<String>,
    /// Types, traits, and what has an `impl` block.
    defines: HashSet<String>,
}

impl Source {
    /// One pass over the text: a search for each name of the page would take a minute.
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).expect("a source");
        let mut source = Self {
            path: path.to_owned(),
            words: HashSet::new(),
            defines: HashSet::new(),
        };
        for line in text.lines() {
            let is_impl = line.contains("impl<");
            let (mut before, mut end) = ("", 0);
            for range in words(line) {
                let (between, word) = (&line[end..range.start], &line[range.clone()]);
                let defines = match between {
                    " " => ["struct", "enum", "trait", "type", "impl", "for"].contains(&before),
                    // `impl<T> Owner`.
                    _ => is_impl && between.ends_with("> "),
                };
                if defines {
                    source.defines.insert(word.to_owned());
                }
                if !source.words.contains(word) {
                    source.words.insert(word.to_owned());
                }
                (before, end) = (word, range.end);
            }
        }
        source
    }
}

/// The words of a line, byte by byte: in a debug build that takes a tenth of the time of patterns.
fn words(line: &str) -> Vec<Range<usize>> {
    let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80;
    let (bytes, mut at) = (line.as_bytes(), 0);
    let mut words = Vec::new();
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        if start < at {
            words.push(start..at);
        }
        at += 1;
    }
    words
}

/// The project's files and folders, and what its sources have.
struct Project {
    /// Paths relative to the repository.
    paths: Vec<String>,
    sources: Vec<Source>,
}

impl Project {
    fn read() -> Self {
        let mut project = Self {
            paths: Vec::new(),
            sources: Vec::new(),
        };
        for folder in [
            "adapter",
            "docs",
            "dwarf",
            "engine",
            "tests",
            "vscode-extension",
        ] {
            project.add(&repository().join(folder));
        }
        project
    }

    fn add(&mut self, path: &Path) {
        let relative = path.strip_prefix(repository()).expect("in the repository");
        let relative = relative.to_str().expect("UTF-8").to_owned();
        if path.is_dir() {
            if ["target", "node_modules"]
                .iter()
                .any(|it| path.ends_with(it))
            {
                return;
            }
            for entry in fs::read_dir(path).expect("a folder") {
                self.add(&entry.expect("an entry").path());
            }
        } else if path.extension().is_some_and(|it| it == "rs" || it == "ts") {
            self.sources.push(Source::read(path));
        }
        self.paths.push(relative);
    }

    /// Whether a path, perhaps without its beginning, its extension or its end (`*`), exists.
    fn has_path(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        let (path, is_start) = match path.split_once(['*', '<']) {
            Some((start, _)) => (start.trim_end_matches('/'), true),
            None => (path, false),
        };
        self.paths.iter().any(|known| {
            let known = format!("/{known}");
            let ends = [String::new(), ".rs".to_owned(), ".ts".to_owned()];
            let mut ends = ends.iter().map(|end| format!("/{path}{end}"));
            match is_start {
                true => known.contains(&format!("/{path}")),
                false => ends.any(|end| known.ends_with(&end)),
            }
        })
    }

    /// Whether a file that defines `owner`, or is called so, has the word `name`.
    fn has_member(&self, owner: &str, name: &str) -> bool {
        self.sources.iter().any(|source| {
            let path = &source.path;
            let is_module = path.file_stem().is_some_and(|stem| stem == owner)
                || path.ends_with(format!("{owner}/mod.rs"))
                || path.ends_with(format!("{owner}/src/lib.rs"));
            (is_module || source.defines.contains(owner)) && source.words.contains(name)
        })
    }

    /// Whether a name exists that stands in the text as code.
    fn has(&self, code: &str) -> bool {
        if PATH.is_match(code) {
            return self.has_path(code);
        }
        if let Some(member) = MEMBER.captures(code) {
            return &member[1] == "std" || self.has_member(&member[1], &member[2]);
        }
        if NAME.is_match(code) {
            return self.sources.iter().any(|it| it.words.contains(code)) || self.has_path(code);
        }
        // A command, a setting, an instruction.
        true
    }
}

#[test]
fn names_exist() {
    let project = Project::read();
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("a page");
    let mut wrong = Vec::new();
    let mut names = 0;
    let blocks = text.split("```");
    // Every second part is a block of code.
    for prose in blocks.step_by(2) {
        for code in prose.split('`').skip(1).step_by(2) {
            names += 1;
            let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
            if !project.has(&code) {
                wrong.push(code);
            }
        }
    }
    assert!(names > 300, "only {names} names");
    assert!(wrong.is_empty(), "ARCHITECTURE.md names {wrong:#?}");
}
