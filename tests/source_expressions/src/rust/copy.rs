//! The copy of a crate with probes: written, and corrected until it compiles.

use super::build::Cargo;
use crate::probe::Statement;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How often the compiler is asked which probes it does not take.
const ROUNDS: usize = 20;
/// The name of the library that prints.
const LIBRARY: &str = "source_expressions_printer";

/// Where the probes stand in a file of the copy.
#[derive(Default)]
struct Places {
    /// A statement's probes as a whole, with the statement's number.
    statements: Vec<(Range<usize>, usize)>,
    /// A probe, with its number.
    probes: Vec<(Range<usize>, usize)>,
}

/// Which statements and probes are left out, since the copy does not compile with them.
#[derive(Default)]
struct Left {
    statements: BTreeSet<usize>,
    probes: BTreeSet<usize>,
}

/// Writes the copy in `folder`, which has the files of `plain`, and takes out of `statements` what does not
/// compile.
///
/// # Errors
/// It does not compile for another reason, or not in time.
pub fn write(
    plain: &Path,
    folder: &Path,
    statements: &mut Vec<Statement>,
    cargo: &Cargo,
) -> Result<(), String> {
    add_library(folder).map_err(|why| why.to_string())?;
    let mut left = Left::default();
    for _ in 0..ROUNDS {
        let places = insert(plain, folder, statements, &left).map_err(|why| why.to_string())?;
        let errors = cargo.errors(folder)?;
        if errors.is_empty() {
            statements.retain(|it| !left.statements.contains(&it.id));
            for statement in &mut *statements {
                statement.probes.retain(|it| !left.probes.contains(&it.id));
            }
            statements.retain(|it| !it.probes.is_empty());
            return match statements.is_empty() {
                true => Err("the copy compiles with no probe".to_owned()),
                false => Ok(()),
            };
        }
        let before = left.statements.len() + left.probes.len();
        for error in &errors {
            blame(error, folder, &places, &mut left);
        }
        if left.statements.len() + left.probes.len() == before {
            let first = errors[0]["rendered"].as_str().unwrap_or_default();
            let first: Vec<&str> = first.lines().take(6).collect();
            return Err(format!("the copy does not compile: {}", first.join(" / ")));
        }
    }
    Err(format!(
        "the copy does not compile after {ROUNDS} corrections"
    ))
}

/// Adds the library that prints to the manifest.
fn add_library(folder: &Path) -> std::io::Result<()> {
    let library = folder.join(LIBRARY);
    std::fs::create_dir_all(library.join("src"))?;
    std::fs::write(library.join("src/lib.rs"), include_str!("printer.rs"))?;
    let manifest = format!("[package]\nname = \"{LIBRARY}\"\nedition = \"2021\"\n");
    std::fs::write(library.join("Cargo.toml"), manifest)?;
    let path = folder.join("Cargo.toml");
    let mut manifest = std::fs::read_to_string(&path)?;
    manifest.push_str(&format!(
        "\n[dependencies.{LIBRARY}]\npath = \"{LIBRARY}\"\n"
    ));
    std::fs::write(path, manifest)
}

/// Writes all files with probes; the lines stay the same.
fn insert(
    plain: &Path,
    folder: &Path,
    statements: &[Statement],
    left: &Left,
) -> std::io::Result<BTreeMap<PathBuf, Places>> {
    let mut files: BTreeMap<&Path, Vec<&Statement>> = BTreeMap::new();
    for statement in statements {
        files.entry(&statement.file).or_default().push(statement);
    }
    // Its paths begin at the crate's own root.
    let manifest = std::fs::read_to_string(plain.join("Cargo.toml"))?;
    let is_old = !manifest.contains("\nedition = \"20") || manifest.contains("\nedition = \"2015");
    let mut all = BTreeMap::new();
    for (file, mut statements) in files {
        statements.sort_by_key(|it| it.offset);
        let text = std::fs::read_to_string(plain.join(file))?;
        let (mut copy, mut places, mut at) = (String::new(), Places::default(), 0);
        for statement in statements {
            copy.push_str(&text[at..statement.offset]);
            at = statement.offset;
            let probes = statement
                .probes
                .iter()
                .filter(|it| !left.probes.contains(&it.id));
            let probes: Vec<_> = probes.collect();
            if probes.is_empty() || left.statements.contains(&statement.id) {
                continue;
            }
            let begin = copy.len();
            let id = statement.id;
            copy.push_str(&format!(
                "if ::{LIBRARY}::first({id}) {{ use ::{LIBRARY}::{{Opaque as _, Readable as _}}; "
            ));
            for probe in probes {
                let begin = copy.len();
                let (text, id) = (&probe.text, probe.id);
                copy.push_str(&format!(
                    "::{LIBRARY}::probe({id}, || (&&::{LIBRARY}::Shown(&({text}))).show_probe({id})); "
                ));
                places.probes.push((begin..copy.len(), id));
            }
            copy.push_str("} ");
            places.statements.push((begin..copy.len(), id));
        }
        copy.push_str(&text[at..]);
        if is_old && file == Path::new("src/lib.rs") {
            copy.push_str(&format!("\nextern crate {LIBRARY};\n"));
        }
        let path = folder.join(file);
        if std::fs::read_to_string(&path).is_ok_and(|it| it == copy) {
            // Nothing new to compile.
        } else {
            std::fs::write(&path, copy)?;
        }
        all.insert(path, places);
    }
    Ok(all)
}

/// Finds what an error of the compiler is about, and leaves that out.
fn blame(error: &Value, folder: &Path, places: &BTreeMap<PathBuf, Places>, left: &mut Left) {
    let mut spans = Vec::new();
    collect_spans(error, &mut spans);
    let located: Vec<(&Places, Range<usize>, bool)> = spans
        .iter()
        .filter_map(|span| {
            let file = folder.join(span["file_name"].as_str()?);
            let number = |key: &str| span[key].as_u64().map(|it| it as usize);
            let range = number("byte_start")?..number("byte_end")?;
            Some((places.get(&file)?, range, span["is_primary"] == true))
        })
        .collect();
    for only_primary in [true, false] {
        let probes: HashSet<usize> = located
            .iter()
            .filter(|it| it.2 || !only_primary)
            .flat_map(|(places, range, _)| inside(&places.probes, range))
            .collect();
        if !probes.is_empty() {
            left.probes.extend(probes);
            return;
        }
    }
    for (places, range, _) in &located {
        let statements: Vec<usize> = inside(&places.statements, range).collect();
        if !statements.is_empty() {
            left.statements.extend(statements);
            return;
        }
    }
    // The probes changed what the compiler infers behind them.
    for (places, range, _) in &located {
        let before = places
            .statements
            .iter()
            .filter(|it| it.0.end <= range.start);
        let before = before.filter(|it| !left.statements.contains(&it.1));
        if let Some((_, id)) = before.max_by_key(|it| it.0.end) {
            left.statements.insert(*id);
            return;
        }
    }
}

/// Returns the numbers of those that a range touches.
fn inside(places: &[(Range<usize>, usize)], range: &Range<usize>) -> impl Iterator<Item = usize> {
    let touched = |it: &&(Range<usize>, usize)| range.start < it.0.end && range.end > it.0.start;
    // An error of a whole file or function is not one of its probes.
    let is_within = |it: &&(Range<usize>, usize)| range.start >= it.0.start;
    let found = places
        .iter()
        .filter(touched)
        .filter(is_within)
        .map(|it| it.1);
    found.collect::<Vec<_>>().into_iter()
}

/// Collects all spans of a message, with those that macros were expanded from.
fn collect_spans<'a>(message: &'a Value, found: &mut Vec<&'a Value>) {
    for span in message["spans"].as_array().into_iter().flatten() {
        let mut span = span;
        for _ in 0..16 {
            found.push(span);
            match span.pointer("/expansion/span") {
                Some(outer) => span = outer,
                None => break,
            }
        }
    }
    for child in message["children"].as_array().into_iter().flatten() {
        collect_spans(child, found);
    }
}
