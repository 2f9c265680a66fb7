//! The places in the debug info that paths of the code may mean, by what modules declare and import. Whether
//! a place exists, the debug info says: an enum that a macro makes is there, too.

use super::crates::Crate;
use super::find::Finder;
use super::imports::imports;
use super::numbers::primitive;
use super::scopes::{ItemKind, ScopeKind};
use std::cell::{Cell, RefCell};

/// Maximum number of paths that one answer follows, and of paths that lead to each other.
const MAX_FOLLOWED: u32 = 1024;
const MAX_DEPTH: u32 = 24;

/// A path from the root of a crate, which is its first name: `crate` for that of the file.
pub(super) type Names = Vec<String>;

/// The places that a path may mean, a row for each scope, innermost first. The path means the place that exists in
/// the first row that has one; if several exist in that row, its meaning is not certain.
pub(super) type Rows = Vec<Vec<String>>;

/// The same, with paths as their names.
type NamedRows = Vec<Vec<Names>>;

/// What has been followed so far.
pub(super) struct Budget {
    left: Cell<u32>,
    depth: Cell<u32>,
    /// The modules and the paths in them that are being followed: modules may import all of each other.
    open: RefCell<Vec<(Names, Names)>>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left: Cell::new(MAX_FOLLOWED),
            depth: Cell::new(MAX_DEPTH),
            open: RefCell::default(),
        }
    }
}

impl Budget {
    /// Follows a path; `Err` if it leads through too many others.
    fn within<T>(&self, follow: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        let next = |it: &Cell<u32>| it.get().checked_sub(1);
        let (Some(left), Some(depth)) = (next(&self.left), next(&self.depth)) else {
            return Err("its name leads through too many others".to_owned());
        };
        self.left.set(left);
        self.depth.set(depth);
        let found = follow();
        self.depth.set(self.depth.get() + 1);
        found
    }
}

/// A path of the code as it is followed.
pub(super) struct Follower<'a> {
    pub(super) of: &'a Crate<'a>,
    /// The path of the file's module.
    pub(super) home: &'a [String],
    /// The function of the line, in the debug info.
    pub(super) function: &'a [String],
    pub(super) budget: Budget,
}

fn names<'p>(parts: impl IntoIterator<Item = &'p str>) -> Names {
    parts.into_iter().map(str::to_owned).collect()
}

fn joined(before: &[String], after: &[String]) -> Names {
    [before, after].concat()
}

fn flat(rows: NamedRows) -> Vec<Names> {
    rows.into_iter().flatten().collect()
}

impl Follower<'_> {
    /// Returns the places that a path means at the line of a search.
    ///
    /// # Errors
    /// The source does not say; why.
    pub(super) fn at_line(&self, finder: &Finder<'_>, path: &str) -> Result<Rows, String> {
        finder.check_unclear(path.split("::").next().unwrap_or(path))?;
        self.in_scopes_of(finder, path, finder.around())
    }

    /// Returns the places that a path means in scopes, innermost first.
    ///
    /// # Errors
    /// The source does not say; why.
    pub(super) fn in_scopes_of(
        &self,
        finder: &Finder<'_>,
        path: &str,
        around: &[usize],
    ) -> Result<Rows, String> {
        if self.of.names.is_empty() {
            return Err("the function has no path".to_owned());
        }
        let rows = self.in_scopes(finder, &names(path.split("::")), around)?;
        let spelled = |path: Names| -> Vec<String> {
            match path.split_first() {
                Some((first, rest)) if first == "crate" => {
                    let with = |name: &String| joined(std::slice::from_ref(name), rest);
                    self.of.names.iter().map(|it| with(it).join("::")).collect()
                }
                _ => vec![path.join("::")],
            }
        };
        let row = |row: Vec<Names>| row.into_iter().flat_map(spelled).collect();
        Ok(rows.into_iter().map(row).collect())
    }

    /// Follows a path from scopes of the line's file, innermost first.
    fn in_scopes(
        &self,
        finder: &Finder<'_>,
        path: &[String],
        around: &[usize],
    ) -> Result<NamedRows, String> {
        let Some((first, rest)) = path.split_first() else {
            return Ok(Vec::new());
        };
        let is_keyword = matches!(first.as_str(), "crate" | "self" | "super" | "");
        let mut rows = Vec::new();
        for number in around {
            let scope = finder.scope(*number)?;
            match scope.kind {
                ScopeKind::Module => {
                    let home = joined(self.home, &finder.inline_modules(*number)?);
                    rows.extend(self.of.places(&self.budget, &home, path)?);
                    break;
                }
                _ if is_keyword => {}
                _ if finder.has_parameter(scope, first)? => {
                    return Err(format!("`{first}` is a parameter of generic code"));
                }
                ScopeKind::Impl { .. } if first == "Self" => {
                    let of = implemented(finder.text_of(&scope.name))?;
                    let around = finder.ancestors(scope.parent);
                    return self.in_scopes(finder, &joined(&of, rest), &around);
                }
                ScopeKind::Trait if first == "Self" => {
                    return Err("`Self` is any type that has the trait".to_owned());
                }
                ScopeKind::Impl { .. } | ScopeKind::Trait => {}
                ScopeKind::Function | ScopeKind::Block | ScopeKind::Macro => {
                    let found = self.in_block(finder, *number, path)?;
                    let is_certain = found.is_certain;
                    rows.extend(found.rows);
                    if is_certain {
                        break;
                    }
                }
            }
        }
        Ok(rows)
    }

    /// Follows a path in a block of a function, which may declare and import what it needs.
    fn in_block(
        &self,
        finder: &Finder<'_>,
        block: usize,
        path: &[String],
    ) -> Result<InBlock, String> {
        let first = path.first().map_or("", String::as_str);
        let mut found = Vec::new();
        let mut by_globs = Vec::new();
        // An import does not lead to itself.
        let around = finder.ancestors(block);
        for item in finder.outline.items.iter().filter(|it| it.scope == block) {
            let text = finder.text_of(&item.name);
            match item.kind {
                ItemKind::Use if text.contains(first) || text.contains('*') => {
                    for import in imports(text)? {
                        let target = match import.name.as_str() {
                            "*" => joined(&import.path, path),
                            name if name == first => joined(&import.path, &path[1..]),
                            _ => continue,
                        };
                        let is_own = target.first().map(String::as_str) == Some(first);
                        let around = &around[usize::from(is_own)..];
                        let places = self
                            .budget
                            .within(|| self.in_scopes(finder, &target, around))?;
                        match import.name.as_str() {
                            "*" => by_globs.extend(flat(places)),
                            _ => found.extend(flat(places)),
                        }
                    }
                }
                ItemKind::Use => {}
                ItemKind::Type if text == first => found.push(joined(self.function, path)),
                _ if text == first && path.len() == 1 => {
                    return Err(format!("`{first}` is declared in a block"));
                }
                _ => {}
            }
        }
        Ok(match found.is_empty() {
            true => InBlock {
                is_certain: false,
                rows: vec![by_globs],
            },
            false => InBlock {
                is_certain: true,
                rows: vec![found],
            },
        })
    }
}

/// What a block brings.
struct InBlock {
    rows: NamedRows,
    /// Whether the scopes around it do not matter.
    is_certain: bool,
}

/// Returns whether a text is a path without parameters.
fn is_path(text: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | ':');
    !text.is_empty() && text.chars().all(is_part)
}

/// Returns the path of the type that an `impl` is of, without its parameters.
fn implemented(text: &str) -> Result<Names, String> {
    let head = text.split('<').next().unwrap_or_default().trim();
    match is_path(head) {
        true => Ok(names(head.split("::"))),
        false => Err("`Self` is no type that the crate declares".to_owned()),
    }
}

impl Crate<'_> {
    /// Returns the places that a path means which a module writes.
    pub(super) fn places(
        &self,
        budget: &Budget,
        module: &[String],
        path: &[String],
    ) -> Result<NamedRows, String> {
        let Some((first, rest)) = path.split_first() else {
            return Ok(Vec::new());
        };
        budget.within(|| match first.as_str() {
            "crate" | "$crate" => self.places_from(budget, &[], rest),
            "self" => self.places_from(budget, module, rest),
            "super" => {
                let mut module = module.to_vec();
                let mut rest = path;
                while let Some((_, behind)) = rest.split_first().filter(|it| it.0 == "super") {
                    module.pop();
                    rest = behind;
                }
                self.places_from(budget, &module, rest)
            }
            "" => Ok(vec![vec![rest.to_vec()]]),
            _ => {
                let mut rows = self.places_in(budget, module, path)?;
                if path.len() > 1 {
                    // Another crate; in the edition of 2015 the root of this one.
                    let own = joined(&names(["crate"]), path);
                    rows.push(vec![path.to_vec(), own]);
                }
                Ok(rows)
            }
        })
    }

    /// Returns the places that a path behind a module means.
    fn places_from(
        &self,
        budget: &Budget,
        module: &[String],
        path: &[String],
    ) -> Result<NamedRows, String> {
        match path {
            [] => Ok(vec![vec![joined(&names(["crate"]), module)]]),
            _ => self.places_in(budget, module, path),
        }
    }

    /// Returns the places that a path means whose first name a module declares or imports.
    fn places_in(
        &self,
        budget: &Budget,
        module: &[String],
        path: &[String],
    ) -> Result<NamedRows, String> {
        let question = (module.to_vec(), path.to_vec());
        if budget.open.borrow().contains(&question) {
            return Ok(Vec::new());
        }
        budget.open.borrow_mut().push(question);
        let found = self.places_of(budget, module, path);
        budget.open.borrow_mut().pop();
        found
    }

    fn places_of(
        &self,
        budget: &Budget,
        module: &[String],
        path: &[String],
    ) -> Result<NamedRows, String> {
        let own = joined(&joined(&names(["crate"]), module), path);
        let (Some((first, rest)), Some(place)) = (path.split_first(), self.module(module)?) else {
            return Ok(vec![vec![own]]);
        };
        if let Some(why) = &place.source.stale {
            return Err(format!("{}: {why}", place.file.display()));
        }
        let outline = place.source.outline.as_ref().map_err(Clone::clone)?;
        let mut found = Vec::new();
        let mut globs = Vec::new();
        let is_module = place.inline(outline, first).is_ok_and(|it| it.is_some())
            || place.declared(outline, first).is_ok_and(|it| it.is_some());
        if is_module {
            let module = joined(module, &path[..1]);
            found.extend(flat(
                budget.within(|| self.places_from(budget, &module, rest))?,
            ));
        }
        for item in outline.items.iter().filter(|it| it.scope == place.scope) {
            let text = place.text_of(&item.name);
            match item.kind {
                ItemKind::Use if text.contains(first.as_str()) || text.contains('*') => {
                    for import in imports(text)? {
                        if import.name == "*" {
                            globs.push(import.path);
                        } else if import.name == *first {
                            let target = joined(&import.path, rest);
                            found.extend(flat(self.places(budget, module, &target)?));
                        }
                    }
                }
                ItemKind::Use | ItemKind::Module => {}
                ItemKind::Type if text == first => match place.alias(item).map(str::trim) {
                    Some(to) if primitive(to).is_some() => found.push(joined(&names([to]), rest)),
                    Some(to) if is_path(to) => {
                        let target = joined(&names(to.split("::")), rest);
                        found.extend(flat(self.places(budget, module, &target)?));
                    }
                    _ => found.push(own.clone()),
                },
                _ if text == first && rest.is_empty() => found.push(own.clone()),
                _ => {}
            }
        }
        if !found.is_empty() {
            return Ok(vec![found]);
        }
        let mut by_globs = Vec::new();
        for glob in globs {
            // Its first name is no other name that the glob itself brings.
            if glob.first() != Some(first) {
                by_globs.extend(flat(self.places(budget, module, &joined(&glob, path))?));
            }
        }
        // What a macro declares comes before what a glob brings.
        Ok(vec![vec![own], by_globs])
    }
}
