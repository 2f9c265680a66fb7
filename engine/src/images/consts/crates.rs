//! The files of a crate, found from the file of a line as rustc finds them from the root of the crate.

use super::find::{Finder, Outside};
use super::meanings::{Budget, Follower, Rows};
use super::scopes::{Attribute, Item, ItemKind, Outline, ScopeKind};
use super::tokens::statement_of;
use super::values::SourceValue;
use super::{Consts, Source};
use crate::images::modules::Loaded;
use dwarf::FileAddr;
use std::cell::RefCell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of constants of other files that one answer is made of.
const MAX_ASKED: usize = 256;
/// Maximum number of files that are searched for the `impl` of a type: fewer than are remembered.
const MAX_SEARCHED: usize = 48;
/// Maximum number of folders above a file that are searched for the root of its crate.
const MAX_FOLDERS: usize = 16;

/// The path of a module from the root of its crate, or of a constant.
type Names = Vec<String>;

/// The crate of a source file.
pub(super) struct Crate<'a> {
    consts: &'a Consts,
    loaded: &'a Loaded,
    /// The names that it may have in the debug info.
    pub(super) names: Vec<String>,
    root: PathBuf,
    /// The constants that were asked for; `None`: their search has not ended.
    asked: RefCell<Vec<(Names, Option<Option<SourceValue>>)>>,
}

/// A module: of a file, or inline.
pub(super) struct Place {
    pub(super) source: Arc<Source>,
    pub(super) file: PathBuf,
    /// The module's scope in the file.
    pub(super) scope: usize,
    /// The folder of the files of its modules.
    folder: PathBuf,
}

/// A crate as one of its files sees it.
pub(super) struct View<'a> {
    of: &'a Crate<'a>,
    home: Names,
}

impl<'a> Crate<'a> {
    /// Returns the crate of the file of a line, by the names that it may have, whose code is at an address, and the
    /// path of the file's module; `None` if the crate's root is not certain.
    pub(super) fn of(
        names: &[String],
        consts: &'a Consts,
        loaded: &'a Loaded,
        addr: FileAddr,
        file: &Path,
    ) -> Option<(Self, Names)> {
        let mut found = None;
        for root in roots(loaded, addr, file) {
            let of = Crate {
                consts,
                loaded,
                names: names.to_vec(),
                root,
                asked: RefCell::default(),
            };
            if let Some(home) = of.home(file)
                && found.replace((of, home)).is_some()
            {
                return None;
            }
        }
        found
    }

    pub(super) fn view(&'a self, home: Names) -> View<'a> {
        View { of: self, home }
    }

    /// Returns the path of a file's module: its names follow from its folders.
    fn home(&self, file: &Path) -> Option<Names> {
        if file == self.root {
            return Some(Vec::new());
        }
        let inside = file.strip_prefix(self.root.parent()?).ok()?;
        let names = inside.with_extension("");
        let names = names.iter().map(|it| it.to_str().map(str::to_owned));
        let mut names: Names = names.collect::<Option<_>>()?;
        names.pop_if(|last| last == "mod");
        let place = self.module(&names).ok()??;
        (place.file == file).then_some(names)
    }

    fn start(&self) -> Result<Place, String> {
        let folder = self.root.parent().unwrap_or(&self.root).to_owned();
        self.place(self.root.clone(), folder)
    }

    fn place(&self, file: PathBuf, folder: PathBuf) -> Result<Place, String> {
        let source = self.consts.source_at(self.loaded, &file);
        let source = source.ok_or_else(|| format!("{} cannot be read", file.display()))?;
        Ok(Place {
            source,
            file,
            scope: 0,
            folder,
        })
    }

    /// Returns the module at a path, whose code runs: attributes do not matter; `None` if the source shows none.
    pub(super) fn module(&self, path: &[String]) -> Result<Option<Place>, String> {
        let mut place = self.start()?;
        for name in path {
            match self.enter(&place, name, true)? {
                Some(next) => place = next,
                None => return Ok(None),
            }
        }
        Ok(Some(place))
    }

    /// Returns a module of a module; `None` if the source shows none of that name.
    fn enter(&self, of: &Place, name: &str, is_compiled: bool) -> Result<Option<Place>, String> {
        let outline = of.source.outline.as_ref().map_err(Clone::clone)?;
        let check = |attribute: &Attribute| match attribute {
            Attribute::Harmless => Ok(()),
            Attribute::Cfg if is_compiled => Ok(()),
            Attribute::Cfg => Err(format!("`#[cfg]` decides on the module `{name}`")),
            Attribute::Absent => Err(format!("`#[cfg]` leaves out the module `{name}`")),
            Attribute::Other(other) => Err(format!("`#[{other}]` may change the module `{name}`")),
        };
        let folder = of.folder.join(name);
        match (of.inline(outline, name)?, of.declared(outline, name)?) {
            (Some(scope), None) => {
                check(&outline.scopes[scope].attribute)?;
                Ok(Some(Place {
                    source: Arc::clone(&of.source),
                    file: of.file.clone(),
                    scope,
                    folder,
                }))
            }
            (None, Some(attribute)) => {
                let candidates = [
                    folder.with_file_name(format!("{name}.rs")),
                    folder.join("mod.rs"),
                ];
                let mut there = candidates.into_iter().filter(|it| it.is_file());
                match (there.next(), there.next()) {
                    (Some(file), None) => {
                        // A file with code was compiled.
                        let has_code = || !self.loaded.module.find_sources(&file).is_empty();
                        if attribute != Attribute::Cfg || !has_code() {
                            check(&attribute)?;
                        }
                        self.place(file, folder).map(Some)
                    }
                    _ => Err(format!("the file of the module `{name}` is not found")),
                }
            }
            (None, None) => Ok(None),
            _ => Err(format!("there are several modules `{name}`")),
        }
    }

    /// Returns the constant at a path from the root; `None` if there is none.
    fn find(&self, path: &[String]) -> Result<Option<SourceValue>, String> {
        let (mut place, mut rest) = (self.start()?, path);
        while let [name, behind @ ..] = rest
            && !behind.is_empty()
        {
            match self.enter(&place, name, false)? {
                Some(next) => (place, rest) = (next, behind),
                None => break,
            }
        }
        if rest.len() > 2 {
            return Ok(None);
        }
        if let Some(why) = &place.source.stale {
            return Err(format!("{}: {why}", place.file.display()));
        }
        let source = &place.source;
        let outline = source.outline.as_ref().map_err(Clone::clone)?;
        let home = path[..path.len() - rest.len()].to_vec();
        let inline = depth(outline, place.scope);
        let home = home[..home.len().saturating_sub(inline)].to_vec();
        let view = self.view(home);
        let mut finder = Finder::in_module(&source.text, outline, place.scope);
        finder.outside = Some(&view);
        let found = finder.value(&rest.join("::"))?;
        match (found, path.split_last()) {
            (None, Some((name, ty))) if rest.len() == 2 => self.of_impl(ty, name),
            (found, _) => Ok(found),
        }
    }

    /// Returns the constant in the inherent `impl` blocks of a type, in all modules; `ty`: a path from the root by which some
    /// module knows the type.
    fn of_impl(&self, ty: &[String], name: &str) -> Result<Option<SourceValue>, String> {
        let mut found = None;
        for (place, home) in self.files()? {
            let source = &place.source;
            let (Ok(outline), true) = (&source.outline, source.text.contains(name)) else {
                continue;
            };
            let view = self.view(home.clone());
            let mut finder = Finder::in_module(&source.text, outline, 0);
            finder.outside = Some(&view);
            let Some(value) = finder.value_of_impl(ty, name)? else {
                continue;
            };
            if let Some(why) = &source.stale {
                return Err(format!("{}: {why}", place.file.display()));
            }
            if found.replace(value).is_some() {
                return Err(format!("`{name}` is declared several times"));
            }
        }
        Ok(found)
    }

    /// Returns the files of the crate that its modules declare, with the paths of their modules.
    fn files(&self) -> Result<Vec<(Place, Names)>, String> {
        let mut files = Vec::new();
        let mut left = vec![(self.start()?, Names::new())];
        while let Some((place, names)) = left.pop() {
            if files.len() >= MAX_SEARCHED {
                break;
            }
            if let Ok(outline) = &place.source.outline {
                for name in place.modules(outline) {
                    // One that is not compiled has no file.
                    if let Ok(Some(next)) = self.enter(&place, &name, true) {
                        let names = [names.as_slice(), &[name]].concat();
                        left.push((next, names));
                    }
                }
            }
            if place.scope == 0 {
                files.push((place, names));
            }
        }
        Ok(files)
    }
}

impl Place {
    pub(super) fn text_of(&self, bytes: &Range<u32>) -> &str {
        text_of(&self.source, bytes)
    }

    /// Returns what `type NAME = ..;` says of a declaration; `None` if it is no alias.
    pub(super) fn alias(&self, item: &Item) -> Option<&str> {
        let rest = self.source.text.get(item.name.end as usize..)?;
        let target = rest.trim_start().strip_prefix('=')?;
        statement_of(target)
    }

    /// Returns the names of the modules that it declares.
    fn modules(&self, outline: &Outline) -> Vec<String> {
        let scopes = outline.scopes.iter().skip(1);
        let inline = scopes.filter(|it| it.parent == self.scope && it.kind == ScopeKind::Module);
        let items = outline.items.iter();
        let declared = items.filter(|it| it.scope == self.scope && it.kind == ItemKind::Module);
        let names = inline.map(|it| &it.name).chain(declared.map(|it| &it.name));
        let mut names: Vec<String> = names.map(|it| self.text_of(it).to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the inline module of a name.
    pub(super) fn inline(&self, outline: &Outline, name: &str) -> Result<Option<usize>, String> {
        let scopes = outline.scopes.iter().enumerate().skip(1);
        let mut all = scopes.filter(|(_, it)| {
            it.parent == self.scope
                && it.kind == ScopeKind::Module
                && self.text_of(&it.name) == name
        });
        match (all.next(), all.next()) {
            (found, None) => Ok(found.map(|(number, _)| number)),
            _ => Err(format!("there are several modules `{name}`")),
        }
    }

    /// Returns the attribute of `mod NAME;`. Several of them, as for features, declare the same file.
    pub(super) fn declared(
        &self,
        outline: &Outline,
        name: &str,
    ) -> Result<Option<Attribute>, String> {
        let all = outline.items.iter().filter(|it| {
            it.scope == self.scope && it.kind == ItemKind::Module && self.text_of(&it.name) == name
        });
        let all: Vec<&Attribute> = all.map(|it| &it.attribute).collect();
        match all.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some((*only).clone())),
            several if several.iter().any(|it| matches!(it, Attribute::Other(_))) => {
                Err(format!("there are several modules `{name}`"))
            }
            _ => Ok(Some(Attribute::Cfg)),
        }
    }
}

impl Outside for View<'_> {
    fn home(&self) -> &[String] {
        &self.home
    }

    fn value(&self, path: &[String]) -> Result<Option<SourceValue>, String> {
        let asked = &self.of.asked;
        let known = asked
            .borrow()
            .iter()
            .find(|(it, _)| it == path)
            .map(|it| it.1.clone());
        if let Some(known) = known {
            // Modules may import all of each other.
            return Ok(known.flatten());
        }
        let number = asked.borrow().len();
        if number >= MAX_ASKED {
            return Err("it is made of too many others".to_owned());
        }
        asked.borrow_mut().push((path.to_vec(), None));
        let found = self.of.find(path)?;
        if let Some(entry) = asked.borrow_mut().get_mut(number) {
            entry.1 = Some(found.clone());
        }
        Ok(found)
    }

    fn places(&self, finder: &Finder<'_>, path: &str, around: &[usize]) -> Result<Rows, String> {
        let follower = Follower {
            of: self.of,
            home: &self.home,
            function: &[],
            budget: Budget::default(),
        };
        follower.in_scopes_of(finder, path, around)
    }
}

fn text_of<'s>(source: &'s Source, bytes: &Range<u32>) -> &'s str {
    let text = source.text.get(bytes.start as usize..bytes.end as usize);
    let text = text.unwrap_or_default();
    text.strip_prefix("r#").unwrap_or(text)
}

/// Returns how many inline modules a scope is in, with itself.
fn depth(outline: &Outline, scope: usize) -> usize {
    let (mut count, mut next) = (0, scope);
    while next != 0 {
        let of = outline.scopes.get(next);
        count += usize::from(of.is_some_and(|it| it.kind == ScopeKind::Module));
        next = of.map_or(0, |it| it.parent);
    }
    count
}

/// Returns the files that may be the root of a file's crate: that of the unit at an address, and the next above the file
/// that cargo takes for one. Code of other crates is inlined into a unit.
fn roots(loaded: &Loaded, addr: FileAddr, file: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    // `src/lib.rs/@/crate.hash-cgu.0`
    let unit = loaded.module.unit_source(addr);
    let unit = unit.and_then(|it| {
        let text = it.to_str()?;
        Some(PathBuf::from(text.split("/@/").next().unwrap_or(text)))
    });
    all.extend(unit.filter(|it| it.parent().is_some_and(|it| file.starts_with(it))));
    for folder in file.ancestors().skip(1).take(MAX_FOLDERS) {
        let mut here = ["lib.rs", "main.rs"].map(|it| folder.join(it)).to_vec();
        here.retain(|it| it.is_file());
        if !here.is_empty() {
            all.extend(here);
            break;
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}
