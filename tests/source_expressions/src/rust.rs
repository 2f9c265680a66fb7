//! Crates: their own tests are the programs.

mod build;
mod copy;
mod probes;
mod purity;

use crate::ask::{self, Program};
use crate::commands;
use crate::corpus;
use crate::probe::{Answer, Level, Statement, Truth};
use crate::report::Package;
use crate::{compare, truth};
use build::Cargo;
use probes::Finder;
use purity::{Derived, Purity};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use syn::visit::Visit;

/// The most statements of a package.
const STATEMENTS: usize = 2000;
/// The most programs of a package.
const PROGRAMS: usize = 4;
/// How long a program may run by itself.
const RUN: Duration = Duration::from_secs(10);

/// Compares the expressions of a crate.
///
/// # Errors
/// It cannot be fetched, built or run in time: why.
pub fn examine(name: &str, level: Level, deadline: Instant) -> Result<Package, String> {
    let folder = corpus::folder(&format!("rust/{name}"))?;
    let io = |why: std::io::Error| why.to_string();
    let (source, version) = corpus::fetch_crate(name, &folder, deadline)?;
    let (plain, probed) = (folder.join("plain"), folder.join("probed"));
    for to in [&plain, &probed] {
        corpus::copy(&source, to).map_err(io)?;
        let manifest = to.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).map_err(io)?;
        std::fs::write(manifest, without_benches(&text)).map_err(io)?;
    }
    let target = corpus::cache()?.join("target");
    let cargo = Cargo {
        target,
        scratch: &folder,
        deadline,
    };
    let programs = cargo.tests(&plain, level)?;
    let (mut statements, derived) = find(&plain)?;
    copy::write(&plain, &probed, &mut statements, &cargo)?;
    let copies: BTreeMap<String, PathBuf> =
        cargo.tests(&probed, Level::Plain)?.into_iter().collect();
    let mut package = Package::new(&format!("rust:{name} {version}"), level);
    let mut done: HashSet<usize> = HashSet::new();
    let mut tried = 0;
    for (program, path) in &programs {
        if tried == PROGRAMS || Instant::now() > deadline {
            break;
        }
        let Some(copy) = copies.get(program) else {
            continue;
        };
        let before = Instant::now();
        let run = || before + 3 * RUN;
        let Ok(truth) = truth::of(&folder, run(), |nth| {
            let mut command = commands::bounded(copy);
            command.args(arguments()).current_dir(&probed);
            // What depends on memory without a value is no truth.
            command.env("MALLOC_PERTURB_", ["0", "254"][nth]);
            command
        }) else {
            package.note(format!("{program}: it does not end by itself"));
            continue;
        };
        let reached: HashSet<usize> = truth.reached.iter().copied().collect();
        let asked: Vec<&Statement> = statements
            .iter()
            .filter(|it| reached.contains(&it.id) && !done.contains(&it.id))
            .collect();
        if asked.is_empty() {
            continue;
        }
        tried += 1;
        done.extend(asked.iter().map(|it| it.id));
        let debugged = Program {
            path,
            arguments: arguments().map(str::to_owned).to_vec(),
            folder: &plain,
            sources: &plain,
        };
        match ask::session(&debugged, &asked, truth.varies, deadline) {
            Ok(session) => {
                let judge = |truth: &Truth, answer: &Answer| compare::rust(truth, answer, &derived);
                package.judge(program, &asked, &truth, &session, judge);
            }
            Err(why) => package.lose(program, &why),
        }
    }
    if tried == 0 {
        let why = package.notes().first().cloned();
        return Err(why.unwrap_or_else(|| "its tests reach none of its statements".to_owned()));
    }
    Ok(package)
}

/// The arguments of a crate's tests.
fn arguments() -> [&'static str; 2] {
    ["--test-threads=1", "--color=never"]
}

/// Finds all statements of a crate's sources, and its types whose `Debug` is derived.
fn find(folder: &Path) -> Result<(Vec<Statement>, HashSet<String>), String> {
    let mut paths = Vec::new();
    corpus::files(&folder.join("src"), "rs", &mut paths);
    paths.sort();
    let mut parsed = Vec::new();
    for path in &paths {
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        // Offsets are those of the text only without what the parser strips.
        if text.starts_with('\u{feff}') || text.starts_with("#!/") {
            continue;
        }
        if let Ok(file) = syn::parse_file(&text) {
            parsed.push((path.clone(), text, file));
        }
    }
    let files: Vec<&syn::File> = parsed.iter().map(|it| &it.2).collect();
    let purity = Purity::of(&files);
    let derived = Derived::of(&files);
    let (mut found, mut next) = (Vec::new(), 0);
    for (path, text, file) in &parsed {
        let relative = path.strip_prefix(folder).map_err(|why| why.to_string())?;
        let mut finder = Finder {
            file: relative,
            text,
            purity: &purity,
            found: &mut found,
            next: &mut next,
            functions: Vec::new(),
        };
        finder.visit_file(file);
    }
    if found.len() > STATEMENTS {
        let every = found.len().div_ceil(STATEMENTS);
        found.retain(|it| it.id % every == 0);
    }
    match found.is_empty() {
        true => Err("it has no statements with expressions to compare".to_owned()),
        false => Ok((found, derived)),
    }
}

/// Takes benchmarks out of a manifest as Cargo has normalized it, with the libraries that only they need and that
/// take long to compile.
fn without_benches(manifest: &str) -> String {
    const SLOW: [&str; 6] = ["criterion", "bencher", "divan", "iai", "trybuild", "pprof"];
    let mut keeps = true;
    let mut kept = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            let is_slow = |name: &str| line.starts_with(&format!("[dev-dependencies.{name}"));
            keeps = line != "[[bench]]" && !SLOW.iter().any(|it| is_slow(it));
        }
        if keeps {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.push_str("\n[workspace]\n");
    kept
}
