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
    // A declaration (`mod tests;`) may be at the top; a module with a body is the end of the file.
    let mut tests = text.match_indices("#[cfg(test)]\nmod ");
    let has_body = |at: usize| {
        text[at..]
            .lines()
            .nth(1)
            .is_some_and(|it| it.ends_with('{'))
    };
    let end = tests.find(|(at, _)| has_body(*at)).map(|(at, _)| at);
    let text = &text[..end.unwrap_or(text.len())];
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
    named_behind("crate::", code)
}

/// The names that follow a path in a source, alone or in a group.
fn named_behind(path: &str, code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, marker) in code.match_indices(path) {
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

/// Returns the modules of the crate's root that a source names by `super::`, which leads there from
/// a module at this depth.
fn named_by_super(code: &str, depth: usize) -> BTreeSet<String> {
    let chain = "super::".repeat(depth);
    let behind = |(at, _): (usize, &str)| {
        let is_longer = code[..at].ends_with("super::");
        let rest = &code[at + chain.len()..];
        let word = rest
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .next();
        word.filter(|it| !is_longer && !["super", "", "self"].contains(it))
    };
    let words = code.match_indices(&chain).filter_map(behind);
    words.map(str::to_owned).collect()
}

/// The depth of a source's module: 1 for a module of the crate's root.
fn depth_of(inside: &Path) -> usize {
    let is_folder = inside.file_name().is_some_and(|name| name == "mod.rs");
    inside.components().count() - usize::from(is_folder)
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
        let code = code_of(&text);
        let mut named = named_by(&code);
        named.append(&mut named_by_super(&code, depth_of(inside)));
        for used in named {
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

/// Returns the files of a module's folder that name each other in a circle, with those they name.
/// `mod.rs`, which declares what all of them share, is left out.
fn circle_in(folder: &Path, module: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    sources(folder, &mut files);
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files {
        let inside = path.strip_prefix(folder).expect("a source of the folder");
        let first = inside.components().next().expect("a component");
        let own = Path::new(first.as_os_str()).with_extension("");
        let own = own.display().to_string();
        if own == "mod" {
            continue;
        }
        let code = code_of(&std::fs::read_to_string(&path).expect("a source"));
        let mut used = named_behind(&format!("crate::{module}::"), &code);
        if inside.components().count() == 1 {
            used.append(&mut named_behind("super::", &code));
        }
        used.remove(&own);
        edges.entry(own).or_default().append(&mut used);
    }
    // What uses nothing that is left is in no circle.
    loop {
        let is_free = |used: &BTreeSet<String>| !used.iter().any(|it| edges.contains_key(it));
        let free = edges.iter().filter(|(_, used)| is_free(used));
        let free: Vec<String> = free.map(|(name, _)| name.clone()).collect();
        if free.is_empty() {
            return edges;
        }
        edges.retain(|name, _| !free.contains(name));
    }
}

#[test]
fn files_of_the_session_are_in_no_circle() {
    let folder = root().join("adapter/src/session");
    assert_eq!(circle_in(&folder, "session"), BTreeMap::new());
}

#[test]
fn dwarf_has_no_upward_dependency() {
    assert_eq!(upward_arrows("dwarf"), Vec::<String>::new());
}

#[test]
fn adapter_has_no_upward_dependency() {
    assert_eq!(upward_arrows("adapter"), Vec::<String>::new());
}

#[test]
fn engine_has_no_upward_dependency() {
    assert_eq!(upward_arrows("engine"), Vec::<String>::new());
}

#[test]
fn names_are_found_in_groups_and_paths() {
    let code = "use crate::{a, b::{c, d}, e::f};\nfn x() { crate::g::h(); }";
    let names: Vec<String> = named_by(code).into_iter().collect();
    assert_eq!(names, ["a", "b", "e", "g"]);
}

#[test]
fn names_are_found_behind_declared_test_modules_and_by_super() {
    let code = code_of(
        "#[cfg(test)]\nmod tests;\nuse crate::a;\n#[cfg(test)]\nmod inner {\nuse crate::b;",
    );
    assert_eq!(named_by(&code), BTreeSet::from(["a".to_owned()]));
    let code = "use super::super::c::d;\nuse super::e;";
    assert_eq!(named_by_super(code, 2), BTreeSet::from(["c".to_owned()]));
    assert_eq!(depth_of(Path::new("a/b.rs")), 2);
    assert_eq!(depth_of(Path::new("a/mod.rs")), 1);
}

/// Returns the sources of a crate that have one of these words, also as a part of a longer one, in
/// their code, besides those that begin with one of `allowed`.
fn sources_with(name: &str, words: &[&str], allowed: &[&str]) -> Vec<String> {
    let folder = root().join(name).join("src");
    let mut files = Vec::new();
    sources(&folder, &mut files);
    let is_named = |path: &PathBuf| {
        let inside = path.strip_prefix(&folder).expect("a source of the crate");
        let shown = inside.display().to_string();
        let is_test = shown.ends_with("tests.rs") || shown.contains("tests/");
        if is_test || allowed.iter().any(|start| shown.starts_with(start)) {
            return None;
        }
        let code = code_of(&std::fs::read_to_string(path).expect("a source"));
        // A word that begins with a blank is not part of a longer one.
        let code = code
            .to_lowercase()
            .replace(['(', '[', '{', '<', '&', '!', '\n'], " ");
        let found = words.iter().find(|word| code.contains(**word))?;
        Some(format!("{name}/src/{shown} names {found}"))
    };
    files.iter().filter_map(is_named).collect()
}

/// Conditions compiled to machine code, and the jumps to them: what exists per instruction set, and
/// where it is chosen.
const COMPILED: [&str; 5] = [
    "compile/x86_64/",
    "compile/aarch64/",
    "compile/set.rs",
    "compile/mod.rs",
    "inferior/jump_patch/",
];

#[test]
fn instruction_sets_are_named_below_their_seam_only() {
    let sets = ["x86_64", "aarch64"];
    let seam = [
        "arch/",
        // What the kernel defines for it; its debug registers.
        "os/linux_abi/",
        "os/linux/x86_64.rs",
        "os/linux/aarch64.rs",
        "os/darwin/abi/",
        "os/darwin/simulated/states.rs",
        "os/darwin/flavors/",
        // The processor's clock.
        "os/ticks.rs",
    ];
    let allowed: Vec<&str> = seam.into_iter().chain(COMPILED).collect();
    assert_eq!(
        sources_with("engine", &sets, &allowed),
        Vec::<String>::new()
    );
    assert_eq!(sources_with("adapter", &sets, &[]), Vec::<String>::new());
}

#[test]
fn decoders_are_named_by_their_instruction_set_only() {
    let of_x86_64 = [
        "arch/x86_64/",
        "compile/x86_64/",
        "inferior/jump_patch/x86_64/",
    ];
    assert_eq!(
        sources_with("engine", &["iced_x86"], &of_x86_64),
        Vec::<String>::new()
    );
    assert_eq!(
        sources_with("engine", &["yaxpeax"], &["arch/aarch64/"]),
        Vec::<String>::new()
    );
    // Where the processor of this machine is named, at compile time.
    assert_eq!(
        sources_with(
            "engine",
            &["target_arch"],
            &["arch/mod.rs", "os/linux/mod.rs", "os/ticks.rs"]
        ),
        Vec::<String>::new()
    );
}

#[test]
fn the_system_is_called_below_its_seam_only() {
    let calls = [" libc::", "unsafe ", "target_os", " nix::", "os::linux"];
    let none = Vec::<String>::new();
    assert_eq!(sources_with("engine", &calls, &["os/"]), none);
    // `nix` is for calls that POSIX has, too; `main.rs` forbids unsafe code.
    let of_linux = [" libc::", "target_os", "os::linux", "peercredentials"];
    assert_eq!(sources_with("adapter", &of_linux, &[]), none);
}

#[test]
fn instruction_sets_have_the_same_files() {
    let files = |set: &str| {
        let mut files = Vec::new();
        let folder = root().join("engine/src/arch").join(set);
        sources(&folder, &mut files);
        let names = files.iter().filter_map(|file| file.file_name());
        let mut names: Vec<_> = names.map(|name| name.to_owned()).collect();
        names.retain(|name| name != "tests.rs");
        names.sort();
        names
    };
    assert_eq!(files("x86_64"), files("fixed"));
    // With its own decoder.
    let more = files("aarch64");
    let missing: Vec<_> = files("x86_64")
        .into_iter()
        .filter(|file| !more.contains(file))
        .collect();
    assert!(missing.is_empty(), "aarch64 lacks {missing:?}");
}

/// Returns all words of the crates' sources, comments left out, and the names of their files.
fn words_of_sources() -> BTreeSet<String> {
    let mut files = Vec::new();
    for folder in ["dwarf/src", "engine/src", "adapter/src", "tests"] {
        sources(&root().join(folder), &mut files);
    }
    let stem = |path: PathBuf| path.file_stem().map(|stem| stem.display().to_string());
    let mut words = BTreeSet::new();
    for folder in ["", "past", "traces", "panel"] {
        let folder = root().join("vscode-extension/src").join(folder);
        let extension = std::fs::read_dir(folder).expect("the extension");
        words.extend(extension.filter_map(|entry| stem(entry.expect("an entry").path())));
    }
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a source");
        let lines = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or(""));
        for line in lines {
            let split = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            words.extend(split.map(str::to_owned));
        }
        words.extend(stem(path));
    }
    words
}

#[test]
fn names_in_the_architecture_exist() {
    let words = words_of_sources();
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut missing = BTreeSet::new();
    // The odd pieces are in backticks.
    for line in text.lines() {
        for quoted in line.split('`').skip(1).step_by(2) {
            if quoted.contains('/') && quoted.ends_with(".rs") && !quoted.contains('*') {
                let folders = ["", "dwarf/src", "engine/src", "adapter/src", "tests"].iter();
                let mut places = folders.map(|folder| root().join(folder).join(quoted));
                if !places.any(|place| place.exists()) {
                    missing.insert(quoted.to_owned());
                }
                continue;
            }
            let split = quoted.split(|c: char| !c.is_alphanumeric() && c != '_');
            let unknown = split.filter(|it| it.len() > 2 && !words.contains(*it));
            missing.extend(unknown.map(str::to_owned));
        }
    }
    // A macro of C++, a command.
    for other in ["__cplusplus", "killall"] {
        missing.remove(other);
    }
    assert!(missing.is_empty(), "{missing:?}");
}
