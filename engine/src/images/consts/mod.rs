//! The constants of Rust, which rustc does not describe in debug info: read from the source.
//!
//! A constant is answered only where its value is certain: the source is the one that was compiled, the
//! name means one constant there, no attribute or macro decides on it, and its expression is made of
//! literals, other such constants and arithmetic.

mod associated;
mod attributes;
mod cfg;
mod compute;
mod crates;
mod find;
mod imports;
mod in_scopes;
mod literals;
mod meanings;
mod numbers;
mod outline;
mod parameters;
mod paths;
mod scopes;
mod syntax;
mod tokens;
mod values;

use crate::ids::ModuleId;
use crate::images::modules::Loaded;
use crates::Crate;
use dwarf::{FileAddr, Function, Language, SourceFile, SourceLocation};
use find::{Finder, Outside};
use md5::{Digest, Md5};
use meanings::{Budget, Follower};
use parameters::parts_of;

use rustc_hash::FxHashMap;
use scopes::{Item, ItemKind, Outline, ScopeKind};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

pub use values::{Object, SourceValue};

/// Maximum size in bytes of a source file.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum number of files that are remembered, and of their bytes.
const MAX_FILES: usize = 64;
const MAX_BYTES: usize = 16 << 20;

/// The value of a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Constant {
    /// The name of its type, a primitive one.
    pub ty: &'static str,
    /// Its bits.
    pub bits: u128,
}

/// A source file that was read.
struct Source {
    text: String,
    outline: Result<Outline, String>,
    /// Why it is not the one that was compiled.
    stale: Option<String>,
}

/// A file, as an image names it.
type Key = (PathBuf, ModuleId);
/// The files that were read, with the times of their last changes.
type Files = FxHashMap<Key, (SystemTime, Arc<Source>)>;

/// The source files that constants were looked up in, read when they are asked for.
#[derive(Default)]
pub(crate) struct Consts(RefCell<Files>);

impl Consts {
    /// Returns the constant that a name means in a frame of Rust at an address, outside `depth` inlined
    /// calls; `None` if the source shows none. The first question about a file reads it.
    ///
    /// # Errors
    /// There is one, but its value is not certain: the reason and what to do.
    pub(crate) fn find(
        &self,
        loaded: &Loaded,
        function: &Function,
        (addr, depth): (FileAddr, usize),
        name: &str,
    ) -> Result<Option<SourceValue>, String> {
        let last = name.rsplit("::").next().unwrap_or(name);
        let is_constant = last.starts_with(|it: char| it.is_uppercase() || it == '_')
            && last.contains(char::is_uppercase)
            && !last.contains(char::is_lowercase);
        if function.language != Language::Rust || !is_constant {
            return Ok(None);
        }
        let Some(place) = line_of(loaded, function, addr, depth) else {
            return Ok(None);
        };
        let Some(source) = self.source(loaded, &place.file) else {
            return Ok(None);
        };
        let path = function_path(function, addr, depth);
        let names = crate_names(path);
        let of = || Crate::of(&names, self, loaded, addr, &place.file.path);
        source.constant(name, path, place.line, of).map_err(|why| {
            let file = place.file.path.display();
            format!("cannot tell the value of the const `{name}` from {file}: {why}; write its value instead")
        })
    }

    /// Returns the places in the debug info that a path may mean in a frame of Rust, by the declarations and `use`
    /// of the source: a row for each scope, innermost first. The path means the place that exists in the first row that
    /// has one. The first question about a file reads it.
    ///
    /// # Errors
    /// The source does not say; why.
    pub(crate) fn places(
        &self,
        loaded: &Loaded,
        function: &Function,
        (addr, depth): (FileAddr, usize),
        path: &str,
    ) -> Result<Vec<Vec<String>>, String> {
        let is_path = path.starts_with(|it: char| it.is_alphabetic() || matches!(it, '_' | ':'));
        if function.language != Language::Rust || !is_path || path.contains(['<', ' ']) {
            return Ok(Vec::new());
        }
        let unknown = || "the file of the frame's line is not known".to_owned();
        let place = line_of(loaded, function, addr, depth).ok_or_else(unknown)?;
        let function = function_path(function, addr, depth);
        let own = names_of(function);
        let name = own.last().map_or("", String::as_str);
        let source = self.source(loaded, &place.file).ok_or_else(unknown)?;
        let outline = source.outline.as_ref().map_err(Clone::clone)?;
        if let Some(why) = &source.stale {
            return Err(why.clone());
        }
        let finder = Finder::at(&source.text, outline, name, place.line)?;
        let unknown = || "the root of the file's crate is not known".to_owned();
        let names = crate_names(function);
        let of = Crate::of(&names, self, loaded, addr, &place.file.path);
        let (of, home) = of.ok_or_else(unknown)?;
        let follower = Follower {
            of: &of,
            home: &home,
            function: &own,
            budget: Budget::default(),
        };
        follower.at_line(&finder, path)
    }

    /// Returns the source file at a path; `None` if it cannot be read. The line table has its checksum if it has code.
    fn source_at(&self, loaded: &Loaded, path: &Path) -> Option<Arc<Source>> {
        let known = loaded.module.find_sources(path);
        let known = known.into_iter().find(|it| it.path == path);
        let file = known.unwrap_or_else(|| {
            Arc::new(SourceFile {
                path: path.to_owned(),
                md5: None,
            })
        });
        self.source(loaded, &file)
    }

    /// Returns a source file; `None` if it cannot be read.
    fn source(&self, loaded: &Loaded, file: &SourceFile) -> Option<Arc<Source>> {
        let modified = std::fs::metadata(&file.path)
            .and_then(|it| it.modified())
            .ok()?;
        let key = (file.path.clone(), loaded.id);
        if let Some((then, known)) = self.0.borrow().get(&key)
            && *then == modified
        {
            return Some(Arc::clone(known));
        }
        let bytes = dwarf::read_regular(&file.path, MAX_FILE_BYTES).ok()?;
        let stale = stale(&bytes, file, modified, loaded.module.path());
        let text = String::from_utf8(bytes).ok()?;
        let outline = outline::outline(&text);
        let source = Arc::new(Source {
            text,
            outline,
            stale,
        });
        let mut files = self.0.borrow_mut();
        let bytes: usize = files.values().map(|(_, it)| it.text.len()).sum();
        if files.len() >= MAX_FILES || bytes + source.text.len() > MAX_BYTES {
            files.clear();
        }
        files.insert(key, (modified, Arc::clone(&source)));
        Some(source)
    }
}

/// Returns why the bytes of a file are not those that were compiled.
fn stale(bytes: &[u8], file: &SourceFile, modified: SystemTime, program: &Path) -> Option<String> {
    // Some compilers write zeros for files that they did not read.
    if let Some(recorded) = file.md5.filter(|it| *it != [0; 16]) {
        let now: [u8; 16] = Md5::digest(bytes).into();
        return (now != recorded).then(|| "it differs from the compiled file".to_owned());
    }
    let built = std::fs::metadata(program).and_then(|it| it.modified());
    match built {
        Ok(built) if modified <= built => None,
        Ok(_) => Some("it is newer than the program".to_owned()),
        Err(_) => Some("the program has no time to compare it with".to_owned()),
    }
}

/// Returns the path of the function of a frame.
fn function_path(function: &Function, addr: FileAddr, depth: usize) -> &str {
    let frames = function.frames_at(addr);
    frames.get(depth).map_or("", |it| it.name)
}

/// Returns the names that the crate of a function may have: the path of a method of a trait is
/// `<Type as Trait>::name`, of which either may be of another crate.
fn crate_names(path: &str) -> Vec<String> {
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | ':');
    let paths = path.split(|it| !is_part(it)).filter(|it| it.contains("::"));
    let firsts = paths.filter_map(|it| it.split("::").next());
    let is_name = |it: &&str| it.starts_with(char::is_alphabetic);
    let is_own = |it: &&str| !matches!(*it, "core" | "alloc" | "std");
    let mut names: Vec<String> = match path.starts_with(char::is_alphabetic) {
        true => firsts.take(1).map(str::to_owned).collect(),
        false => firsts
            .filter(is_name)
            .filter(is_own)
            .map(str::to_owned)
            .collect(),
    };
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the line of a frame in its own function.
fn line_of(
    loaded: &Loaded,
    function: &Function,
    addr: FileAddr,
    depth: usize,
) -> Option<SourceLocation> {
    let frames = function.frames_at(addr);
    let frame = frames.get(depth)?;
    let declaration = match frame.inlined {
        Some(call) => call.declaration.as_ref(),
        None => function.declaration.as_ref(),
    };
    let place = match depth.checked_sub(1) {
        // The line of a caller is that of the inlined call.
        Some(inner) => frames.get(inner)?.inlined?.call_site.clone()?,
        None => loaded.module.place_at(addr)?,
    };
    let is_own = declaration.is_none_or(|it| it.file.path == place.file.path);
    is_own.then_some(place)
}

/// Returns the names of a function's path without parameters; of a closure those of the function around it.
fn names_of(path: &str) -> Vec<String> {
    let parts = parts_of(path).into_iter();
    let mut names: Vec<String> = parts.map(|it| it.0).collect();
    let is_name = |part: &String| !part.is_empty() && !part.starts_with('{');
    let count = names.iter().rposition(is_name).map_or(0, |last| last + 1);
    names.truncate(count);
    names
}

impl Source {
    /// Returns the constant that a path means at a line of a function, by its path; `of` returns the file's crate.
    fn constant<'c>(
        &self,
        name: &str,
        function: &str,
        line: u32,
        of: impl FnOnce() -> Option<(Crate<'c>, Vec<String>)>,
    ) -> Result<Option<SourceValue>, String> {
        let last = name.rsplit("::").next().unwrap_or(name);
        let outline = match &self.outline {
            Ok(outline) => outline,
            Err(_) if !self.text.contains(last) => return Ok(None),
            Err(why) => return Err(why.clone()),
        };
        let may_be = |item: &Item| {
            let bytes = item.name.start as usize..item.name.end as usize;
            let text = self.text.get(bytes).unwrap_or_default();
            match item.kind {
                ItemKind::Const => text == last,
                ItemKind::Use => text.contains(last) || text.contains('*'),
                ItemKind::Type | ItemKind::Module | ItemKind::Other => false,
            }
        };
        let in_header = |scope: &scopes::Scope| {
            let header = scope.header.start as usize..scope.header.end as usize;
            matches!(scope.kind, ScopeKind::Function | ScopeKind::Impl { .. })
                && self.text.get(header).is_some_and(|it| it.contains(last))
        };
        let is_parameter = || outline.scopes.iter().any(in_header);
        if !name.contains("::") && !outline.items.iter().any(may_be) && !is_parameter() {
            return Ok(None);
        }
        if let Some(why) = &self.stale {
            return Err(why.clone());
        }
        let is_shown = outline.items.iter().any(|it| {
            let bytes = it.name.start as usize..it.name.end as usize;
            self.text.get(bytes).is_some_and(|text| text.contains(last))
        });
        let bare = names_of(function).pop().unwrap_or_default();
        let mut finder = match Finder::at(&self.text, outline, &bare, line) {
            Ok(finder) => finder,
            Err(_) if !is_shown => return Ok(None),
            Err(why) => return Err(why),
        };
        finder.instance = parts_of(function);
        let of = of();
        let view = of.as_ref().map(|(of, home)| of.view(home.clone()));
        finder.outside = view.as_ref().map(|it| it as &dyn Outside);
        finder.value(name)
    }
}

#[cfg(test)]
mod tests;
