//! Which crate a path of Rust means, if a program has several of one name: two versions of one library. The
//! frame's own crate has it; which version another crate depends on, the debug info does not say.

use super::modules::Loaded;
use super::names::CodePlace;
use dwarf::{Language, ScopeKind, Variable};
use std::path::{Path, PathBuf};

/// The variable that a path means.
pub(super) enum Choice {
    /// That of the only crate, or of the place's own one.
    One(Variable),
    /// Several crates have one: the message names them, and says how to select one.
    Several(String),
}

/// Selects the variable of the place's crate of several with the same path; `first` is the best one of
/// an image.
pub(super) fn choose(
    place: Option<&CodePlace<'_>>,
    loaded: &Loaded,
    first: Variable,
    others: Vec<Variable>,
) -> Choice {
    let language = place.and_then(|it| it.loaded.module.language_at(it.addr));
    if language.is_some_and(|it| it != Language::Rust) || others.is_empty() {
        return Choice::One(first);
    }
    let root = |it: &Variable| root_file(loaded.module.unit_source_of(it)?);
    let mut crates: Vec<(PathBuf, Variable)> = Vec::new();
    let name = first.qualified_name();
    let same = others.into_iter().filter(|it| it.qualified_name() == name);
    for variable in std::iter::once(first.clone()).chain(same) {
        if let Some(root) = root(&variable)
            && crates.iter().all(|it| it.0 != root)
        {
            crates.push((root, variable));
        }
    }
    if crates.len() < 2 {
        return Choice::One(first);
    }
    let place = place.filter(|it| it.loaded.id == loaded.id);
    let own = place.and_then(|it| own_crate(it, crates.iter().map(|it| &*it.0)));
    match own.and_then(|at| crates.get(at)) {
        Some((_, variable)) => Choice::One(variable.clone()),
        None => Choice::Several(message(&name, &crates)),
    }
}

/// Returns the file that a crate begins with, by the name of a unit: `src/lib.rs/@/crate.hash-cgu.0`.
fn root_file(unit: PathBuf) -> Option<PathBuf> {
    let (file, _) = unit.to_str()?.split_once("/@/")?;
    Some(PathBuf::from(file))
}

/// Returns which of these crates the code of a place is of: its unit is, or its function was declared
/// there, and was inlined or compiled for the types of another crate.
fn own_crate<'a>(
    place: &CodePlace<'_>,
    mut roots: impl Iterator<Item = &'a Path> + Clone,
) -> Option<usize> {
    let module = &place.loaded.module;
    let function = module.function_at(place.addr)?;
    let declaration = match place.scopes.first().map(|it| &it.kind) {
        Some(ScopeKind::Inlined(call)) => call.declaration.as_ref(),
        _ => function.declaration.as_ref(),
    };
    if let Some(declared) = declaration {
        let is_below = |root: &Path| {
            let folder = root.parent();
            folder.is_some_and(|it| declared.file.path.starts_with(it))
        };
        let mut fitting = roots.clone().enumerate().filter(|it| is_below(it.1));
        if let (Some((at, _)), None) = (fitting.next(), fitting.next()) {
            return Some(at);
        }
    }
    let here = module.unit_source(place.addr).and_then(root_file)?;
    roots.position(|root| root == here)
}

fn message(name: &str, crates: &[(PathBuf, Variable)]) -> String {
    let places = crates.iter().map(|(root, variable)| {
        let root = root.display();
        match &variable.mangled_name {
            Some(symbol) => format!("{root} (its symbol: {symbol})"),
            None => root.to_string(),
        }
    });
    let places: Vec<String> = places.collect();
    format!(
        "`{name}` is ambiguous: several crates have it, and the frame is of none of them: {}; select a frame of \
         the crate that you mean, or write the symbol",
        places.join(", ")
    )
}
