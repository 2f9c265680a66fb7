//! Packages of C and C++ of Debian.

mod build;
mod copy;
mod find;
mod recipe;
mod tree;

use crate::ask::{self, Program};
use crate::probe::{Answer, Level, Statement, Truth};
use crate::report::Package;
use crate::{commands, compare, corpus, truth};
use build::Build;
use copy::Copy;
use find::{Finder, Form};
use recipe::Recipe;
use std::collections::HashSet;
use std::io::BufReader;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may run by itself.
const RUN: Duration = Duration::from_secs(30);

/// Returns the names of all packages.
pub fn names() -> impl Iterator<Item = &'static str> {
    recipe::names()
}

/// Compares the expressions of a package, built by compilers of one family.
///
/// # Errors
/// It cannot be fetched, built or run in time: why.
pub fn examine(
    name: &str,
    family: &str,
    level: Level,
    deadline: Instant,
) -> Result<Package, String> {
    let recipe = recipe::of(name).ok_or("packages.txt does not name it")?;
    let folder = corpus::folder(&format!("{family}/{name}"))?;
    let io = |why: std::io::Error| why.to_string();
    let source = corpus::fetch_source(name, &folder, deadline)?;
    let (plain, probed) = (folder.join("plain"), folder.join("probed"));
    for to in [&plain, &probed] {
        corpus::copy(&source, to).map_err(io)?;
        prepare(&recipe, to, &folder, deadline)?;
    }
    let build = Build {
        recipe: &recipe,
        family,
        level,
        scratch: &folder,
        deadline,
    };
    let program = build.plain(&plain)?;
    let (statements, forms) = find(&build, &plain)?;
    let mut copy = Copy {
        plain: &plain,
        folder: &probed,
        statements: &statements,
        forms: &forms,
        left: HashSet::new(),
    };
    copy.write(None).map_err(io)?;
    let programs = build.probed(&probed, |source, places| copy.correct(source, places))?;
    let left = copy.left;
    let truth = truth::of(&folder, Instant::now() + RUN, |nth| {
        let mut command = commands::bounded(&programs[nth]);
        command.args(&recipe.arguments).current_dir(&probed);
        // What depends on memory without a value is no truth.
        command.env("MALLOC_PERTURB_", ["0", "254"][nth]);
        command
    })?;
    let reached: HashSet<usize> = truth.reached.iter().copied().collect();
    let is_asked = |it: &&Statement| reached.contains(&it.id);
    let asked: Vec<&Statement> = statements.iter().filter(is_asked).collect();
    let mut package = Package::new(&format!("{family}:{name}"), level);
    if !left.is_empty() {
        package.note(format!("{} probes do not compile", left.len()));
    }
    let debugged = Program {
        path: &program,
        arguments: recipe.arguments.clone(),
        folder: &plain,
        sources: &plain,
    };
    match ask::session(&debugged, &asked, truth.varies, deadline) {
        Ok(session) => {
            let judge = |truth: &Truth, answer: &Answer| compare::c(truth, answer);
            package.judge("its program", &asked, &truth, &session, judge);
        }
        Err(why) => package.lose("its program", &why),
    }
    Ok(package)
}

/// Makes the headers that a package generates.
fn prepare(
    recipe: &Recipe,
    folder: &Path,
    scratch: &Path,
    deadline: Instant,
) -> Result<(), String> {
    if recipe.prepare.is_empty() {
        return Ok(());
    }
    let mut command = Command::new("sh");
    command.args(["-c", &recipe.prepare]).current_dir(folder);
    let ended = commands::run(&mut command, scratch, deadline)?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(format!("`{}` fails", recipe.prepare)),
    }
}

/// Finds the statements of all files, and how their probes are printed.
fn find(build: &Build, plain: &Path) -> Result<(Vec<Statement>, Vec<Form>), String> {
    let (mut found, mut forms) = (Vec::new(), Vec::new());
    for source in &build.recipe.sources {
        let path = plain.join(source);
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let mut command = build.tree(plain, source);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut clang = command.spawn().map_err(|why| format!("clang: {why}"))?;
        let output = clang.stdout.take().ok_or("no output")?;
        let tree = tree::read(
            BufReader::with_capacity(1 << 16, output),
            &path.to_string_lossy(),
        );
        let _ = clang.kill();
        let _ = clang.wait();
        let tree = tree.map_err(|why| format!("clang's tree of {}: {why}", source.display()))?;
        let mut finder = Finder {
            file: source,
            text: &text,
            found: &mut found,
            forms: &mut forms,
        };
        finder.visit(&tree);
    }
    match found.is_empty() {
        true => Err("it has no statements with expressions to compare".to_owned()),
        false => Ok((found, forms)),
    }
}
