//! The layers of each crate, as ARCHITECTURE.md lists them: a file uses its own layer and lower
//! ones, so that there is no circle between layers either.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The list of a crate's layers in ARCHITECTURE.md, lowest first; modules joined by `+` are one
/// layer.
fn layers(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let marker = format!("Layers of `{name}`, lowest first: ");
    let list = text
        .lines()
        .find_map(|line| line.strip_prefix(&marker))
        .unwrap_or_else(|| panic!("ARCHITECTURE.md has no line `{marker}…`"));
    let layers = list.trim_end_matches('.').split(", ");
    let modules = |layer: &str| {
        let modules = layer.split(" + ");
        modules
            .map(|name| name.trim_matches('`').to_owned())
            .collect()
    };
    layers.map(modules).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The source without comments, texts and test modules.
fn code_of(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or("");
    let mut code = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or("");
        let outside = line.split('"').step_by(2);
        code.extend(outside);
        code.push('\n');
    }
    code
}

/// The modules of the crate's root that a source names by `crate::`.
fn named_by(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, marker) in code.match_indices("crate::") {
        // `$crate::` in a macro means the same crate; `stillpoint_crate::` would not.
        let behind = &code[at + marker.len()..];
        let word = |text: &str| {
            let word = text.trim_start();
            let end = word
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(word.len());
            word[..end].to_owned()
        };
        match behind.strip_prefix('{') {
            None => {
                names.insert(word(behind));
            }
            Some(group) => {
                // The first word of each element of the group, without nested groups.
                let mut depth = 0;
                let mut start = 0;
                for (index, c) in group.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => {
                            names.insert(word(&group[start..index]));
                            break;
                        }
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            names.insert(word(&group[start..index]));
                            start = index + 1;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    names
}

/// What of a crate's root an exported name comes from (`pub use lines::…`): items that a file
/// takes by `crate::Item` belong to a layer, too.
fn exports(lib: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in code_of(lib).split(';') {
        let Some((_, path)) = statement.split_once("use ") else {
            continue;
        };
        let path = path.trim().trim_start_matches("crate::");
        let Some((layer, items)) = path.split_once("::") else {
            continue;
        };
        for item in items.split([',', '{', '}']) {
            let name = item.trim().rsplit("::").next().unwrap_or("");
            let name = name.rsplit(" as ").next().unwrap_or(name);
            exports.insert(name.to_owned(), layer.to_owned());
        }
    }
    exports
}

fn upward_arrows(name: &str) -> Vec<String> {
    let layers = layers(name);
    let level = |module: &str| {
        let has = |layer: &Vec<String>| layer.iter().any(|known| known == module);
        layers.iter().position(has)
    };
    let folder = root().join(name).join("src");
    let exports = exports(&std::fs::read_to_string(folder.join("lib.rs")).unwrap_or_default());
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let mut arrows = Vec::new();
    for path in files {
        let inside = path.strip_prefix(&folder).expect("a source of the crate");
        let shown = inside.display().to_string();
        if inside.components().count() == 1 && (shown == "lib.rs" || shown == "main.rs") {
            continue;
        }
        if shown.ends_with("tests.rs") || shown.contains("tests/") {
            continue;
        }
        let first = inside.components().next().expect("a component");
        let own = Path::new(first.as_os_str()).with_extension("");
        let own = own.display().to_string();
        let Some(own_level) = level(&own) else {
            arrows.push(format!("{shown} is in no layer"));
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("a source");
        for used in named_by(&code_of(&text)) {
            let layer = exports.get(&used).unwrap_or(&used);
            match level(layer) {
                Some(used_level) if used_level <= own_level => {}
                Some(_) => arrows.push(format!("{shown} uses {layer}, which is above it")),
                None => arrows.push(format!("{shown} uses crate::{used}, which is in no layer")),
            }
        }
    }
    arrows
}

#[test]
fn dwarf_has_no_upward_arrow() {
    assert_eq!(upward_arrows("dwarf"), Vec::<String>::new());
}

#[test]
fn adapter_has_no_upward_arrow() {
    assert_eq!(upward_arrows("adapter"), Vec::<String>::new());
}

#[test]
fn engine_has_no_upward_arrow() {
    assert_eq!(upward_arrows("engine"), Vec::<String>::new());
}

#[test]
fn names_are_found_in_groups_and_paths() {
    let code = "use crate::{a, b::{c, d}, e::f};\nfn x() { crate::g::h(); }";
    let names: Vec<String> = named_by(code).into_iter().collect();
    assert_eq!(names, ["a", "b", "e", "g"]);
}
