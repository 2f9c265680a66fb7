//! The modules that paths lead to: inline ones, and those of other files of the crate.

use super::associated::Qualified;
use super::find::{Finder, Found, Meaning};
use super::imports::imports;
use super::scopes::{Attribute, Item, ItemKind, ScopeKind};
use super::tokens::statement_of;

impl<'a> Finder<'a> {
    /// Returns what a path means in scopes, innermost first.
    pub(super) fn resolve(&self, path: &str, around: &[usize]) -> Found<'a> {
        if let Some(path) = Qualified::of(path) {
            return self.of_qualified(&path, around);
        }
        let parts: Vec<&str> = path.split("::").collect();
        match parts.as_slice() {
            [name] => self.bare(name, around),
            ["Self", name] => self.of_self(name, around),
            [of, name] if !matches!(*of, "self" | "super" | "crate") => {
                let module = self.module(around)?;
                if let Some(child) = self.child(module, of)? {
                    return self.level(child, name).map(|it| it.0);
                }
                match self.elsewhere(module, of)? {
                    Some(path) => Ok(Some(Meaning::of(path, name))),
                    None => self.of_type(of, None, name, around),
                }
            }
            [modules @ .., name] => {
                let from = self.module(around)?;
                match self.inline(from, modules)? {
                    Some(module) => self.level(module, name).map(|it| it.0),
                    None => Ok(self
                        .absolute(from, modules)?
                        .map(|it| Meaning::of(it, name))),
                }
            }
            [] => Ok(None),
        }
    }

    /// Returns the inline module of this file that a path from a module leads to.
    pub(super) fn inline(&self, from: usize, modules: &[&str]) -> Result<Option<usize>, String> {
        let mut module = from;
        for (number, part) in modules.iter().enumerate() {
            let next = match *part {
                "self" if number == 0 => Some(module),
                "super" if module != 0 => {
                    Some(self.module(&self.ancestors(self.scope(module)?.parent))?)
                }
                "super" | "crate" | "self" => None,
                part => self.child(module, part)?,
            };
            match next {
                Some(next) => module = next,
                None => return Ok(None),
            }
        }
        Ok(Some(module))
    }

    /// Returns the path of a module or type from the root of the crate, if a module declares it in another file or
    /// imports it.
    pub(super) fn elsewhere(
        &self,
        module: usize,
        name: &str,
    ) -> Result<Option<Vec<String>>, String> {
        if self.has_file(module, name) {
            return self.absolute(module, &[name]);
        }
        match self.import(module, name)? {
            Some(path) => {
                let path: Vec<&str> = path.iter().map(String::as_str).collect();
                self.absolute(module, &path)
            }
            None => Ok(None),
        }
    }

    /// Returns whether a module declares a module of that name in another file.
    fn has_file(&self, module: usize, name: &str) -> bool {
        self.outline.items.iter().any(|it| {
            it.kind == ItemKind::Module && it.scope == module && self.text_of(&it.name) == name
        })
    }

    /// Returns a path that a module writes as one from the root of the crate; `None` if it may lead out of the crate, or
    /// the crate is not known.
    pub(super) fn absolute(
        &self,
        module: usize,
        path: &[&str],
    ) -> Result<Option<Vec<String>>, String> {
        let Some(outside) = self.outside else {
            return Ok(None);
        };
        let mut names = outside.home().to_vec();
        names.extend(self.inline_modules(module)?);
        let mut rest = path;
        match path {
            ["crate", behind @ ..] => {
                names.clear();
                rest = behind;
            }
            ["self", behind @ ..] => rest = behind,
            ["super", ..] => {
                while let ["super", behind @ ..] = rest {
                    if names.pop().is_none() {
                        return Ok(None);
                    }
                    rest = behind;
                }
            }
            [first, ..] => {
                let is_child = self.child(module, first)?.is_some();
                if !is_child && !self.has_file(module, first) {
                    return Ok(None);
                }
            }
            [] => return Ok(None),
        }
        names.extend(rest.iter().map(|it| (*it).to_owned()));
        Ok(Some(names))
    }

    /// Returns the names of the inline modules of this file around a scope, outermost first.
    pub(super) fn inline_modules(&self, scope: usize) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        for number in self.ancestors(scope).iter().rev().filter(|it| **it != 0) {
            let scope = self.scope(*number)?;
            if scope.kind == ScopeKind::Module {
                names.push(self.text_of(&scope.name).to_owned());
            }
        }
        Ok(names)
    }

    /// Returns what `type NAME = ..;` says in the innermost of the scopes that declares the name.
    pub(super) fn alias(&self, name: &str, around: &[usize]) -> Option<&'a str> {
        for number in around {
            let scope = self.scope(*number).ok()?;
            let mut items = self.outline.items.iter();
            let found = items.find(|it| {
                it.scope == *number && it.kind == ItemKind::Type && self.text_of(&it.name) == name
            });
            if let Some(item) = found {
                let rest = self.text_from(item.name.end);
                let rest = rest.trim_start().strip_prefix('=')?;
                let is_certain = item.attribute == Attribute::Harmless;
                return statement_of(rest).filter(|_| is_certain);
            }
            if self.mentions(*number, name).ok()? || scope.kind == ScopeKind::Module {
                return None;
            }
        }
        None
    }

    /// Returns the path of the name that a scope imports.
    pub(super) fn import(&self, scope: usize, name: &str) -> Result<Option<Vec<String>>, String> {
        let mut found: Option<(Vec<String>, &Item)> = None;
        for item in self.outline.items.iter() {
            let text = self.text_of(&item.name);
            if item.kind != ItemKind::Use || item.scope != scope || !text.contains(name) {
                continue;
            }
            for import in imports(text)?.into_iter().filter(|it| it.name == name) {
                if found.replace((import.path, item)).is_some() {
                    return Err(format!("several `use` bring `{name}`"));
                }
            }
        }
        match found {
            Some((path, item)) if item.attribute == Attribute::Harmless => Ok(Some(path)),
            Some(_) => Err(format!(
                "an attribute decides on the `use` that brings `{name}`"
            )),
            None => Ok(None),
        }
    }

    /// Returns the module of scopes.
    pub(super) fn module(&self, around: &[usize]) -> Result<usize, String> {
        let is_module = |number: &&usize| {
            let scope = self.outline.scopes.get(**number);
            scope.is_some_and(|it| it.kind == ScopeKind::Module)
        };
        Ok(around.iter().find(is_module).copied().unwrap_or(0))
    }

    /// Returns the inline module of a name in a module.
    fn child(&self, module: usize, name: &str) -> Result<Option<usize>, String> {
        let scopes = self.outline.scopes.iter().enumerate().skip(1);
        let mut all = scopes.filter(|(_, it)| {
            it.parent == module && it.kind == ScopeKind::Module && self.text_of(&it.name) == name
        });
        match (all.next(), all.next()) {
            (Some((number, _)), None) => Ok(Some(number)),
            (None, _) => Ok(None),
            _ => Err(format!("there are several modules `{name}`")),
        }
    }
}
