//! Mapping of a path to source files in the debug info.

use super::NO_LOCATION_YET;
use crate::images::modules::{Loaded, Modules};
use dwarf::SourceFile;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Minimum number of trailing components in common for a path that is not in the debug info to
/// match a file there.
const ALIKE: usize = 2;

/// The files that a path means.
#[derive(Default)]
pub struct Files<'a> {
    pub files: Vec<(&'a Loaded, Arc<SourceFile>)>,
    /// The path in the debug info, if only its end matches the requested path.
    pub by_end: Option<PathBuf>,
}

/// Returns the files that a path means. System libraries are read only if no other image has the
/// file.
pub fn files_of<'a>(source: &Path, modules: &'a Modules) -> Files<'a> {
    let exact = in_modules(modules, |loaded| loaded.module.find_sources(source));
    if !exact.is_empty() || !source.is_absolute() {
        return Files {
            files: exact,
            by_end: None,
        };
    }
    let similar = in_modules(modules, |loaded| loaded.module.similar_sources(source));
    by_end(source, similar)
}

fn in_modules(
    modules: &Modules,
    find: impl Fn(&Loaded) -> Vec<Arc<SourceFile>>,
) -> Vec<(&Loaded, Arc<SourceFile>)> {
    let mut files: Vec<(&Loaded, Arc<SourceFile>)> = Vec::new();
    for of_the_system in [false, true] {
        for loaded in &modules.loaded {
            if loaded.is_of_the_system() == of_the_system {
                files.extend(find(loaded).into_iter().map(|file| (loaded, file)));
            }
        }
        if !files.is_empty() {
            break;
        }
    }
    files
}

/// Returns the file whose path has the most trailing components in common with the requested one,
/// if it is the only one and does not exist on this machine (then it is another file).
fn by_end<'a>(source: &Path, similar: Vec<(&'a Loaded, Arc<SourceFile>)>) -> Files<'a> {
    let most = similar
        .iter()
        .map(|(_, file)| alike(source, &file.path))
        .max()
        .filter(|most| *most >= ALIKE);
    let Some(most) = most else {
        return Files::default();
    };
    let mut files = similar;
    files.retain(|(_, file)| alike(source, &file.path) == most);
    let Some(path) = files.first().map(|(_, file)| file.path.clone()) else {
        return Files::default();
    };
    if files.iter().any(|(_, file)| file.path != path) || path.is_file() {
        return Files::default();
    }
    Files {
        files,
        by_end: Some(path),
    }
}

/// Returns how many trailing components two paths have in common.
fn alike(a: &Path, b: &Path) -> usize {
    let names = |path: &Path| {
        let components = path.components().rev();
        let names = components.filter(|it| matches!(it, Component::Normal(_)));
        names
            .map(|it| it.as_os_str().to_owned())
            .collect::<Vec<_>>()
    };
    let pairs = names(a).into_iter().zip(names(b));
    pairs.take_while(|(a, b)| a == b).count()
}

pub fn no_such_source(source: &Path, modules: &Modules) -> String {
    let mut similar: Vec<String> = modules
        .loaded
        .iter()
        .flat_map(|loaded| loaded.module.similar_sources(source))
        .map(|file| file.path.display().to_string())
        .collect();
    similar.sort_unstable();
    similar.dedup();
    if let [first, ..] = similar.as_slice() {
        let more = match similar.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        return format!(
            "pending: no loaded module was built from {}; candidates: {first}{more} (same file? \
             add it to `sourceMap`)",
            source.display()
        );
    }
    match modules.program() {
        Some(program) if program.module.symbol_status() != dwarf::SymbolStatus::DebugInfo => {
            format!(
                "{} has no debug info; compile it with -g",
                program.module.path().display()
            )
        }
        _ => NO_LOCATION_YET.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_suffixes_match_by_whole_components() {
        let alike = |a: &str, b: &str| alike(Path::new(a), Path::new(b));
        assert_eq!(alike("/home/me/p/src/a.c", "/build/p/src/a.c"), 3);
        assert_eq!(alike("/src/a.c", "/xsrc/a.c"), 1);
        assert_eq!(alike("/a.c", "/a.c"), 1);
        assert_eq!(alike("/p/./src/a.c", "/q/src/a.c"), 2);
    }
}
