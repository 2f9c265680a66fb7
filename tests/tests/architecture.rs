//! ARCHITECTURE.md: what it names exists.

use regex::Regex;
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use stillpoint_tests::repository;

/// The project's files and folders, and the text of its sources.
struct Project {
    /// Paths relative to the repository.
    paths: Vec<String>,
    sources: Vec<(PathBuf, String)>,
    words: HashSet<String>,
}

impl Project {
    fn read() -> Self {
        let mut project = Self {
            paths: Vec::new(),
            sources: Vec::new(),
            words: HashSet::new(),
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
        let word = Regex::new(r"\w+").expect("a pattern");
        for (_, text) in &project.sources {
            let words = word.find_iter(text).map(|it| it.as_str().to_owned());
            project.words.extend(words);
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
            let text = fs::read_to_string(path).expect("a source");
            self.sources.push((path.to_owned(), text));
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
        let definition = format!(r"\b(?:struct|enum|trait|type|impl(?:<.*>)?|for) {owner}\b");
        let definition = Regex::new(&definition).expect("a pattern");
        let name = Regex::new(&format!(r"\b{name}\b")).expect("a pattern");
        self.sources.iter().any(|(path, text)| {
            let is_module = path.file_stem().is_some_and(|stem| stem == owner)
                || path.ends_with(format!("{owner}/mod.rs"))
                || path.ends_with(format!("{owner}/src/lib.rs"));
            let defines = || text.contains(owner) && definition.is_match(text);
            (is_module || defines()) && name.is_match(text)
        })
    }

    /// Whether a name exists that stands in the text as code.
    fn has(&self, code: &str) -> bool {
        let path = Regex::new(r"^[\w.*<>-]+(?:/[\w.*<>-]*)+$|^[\w-]+\.(?:rs|md|json)$");
        if path.expect("a pattern").is_match(code) {
            return self.has_path(code);
        }
        let member = Regex::new(r"^(?:\w+::)*(\w+)::(\w+)$").expect("a pattern");
        if let Some(member) = member.captures(code) {
            return &member[1] == "std" || self.has_member(&member[1], &member[2]);
        }
        let name = Regex::new(r"^\w+\*?$").expect("a pattern");
        if name.is_match(code) {
            return self.words.contains(code) || self.has_path(code);
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
