//! The constants of types: `Self::NAME`, `Type::NAME`, `T::NAME`, `<Type as Trait>::NAME`.
//!
//! A constant of a type's own `impl` comes before those of its traits. Of a trait, an `impl` for the type has the value, or
//! the trait itself.

use super::find::{Finder, Found, Meaning};
use super::scopes::{Item, ItemKind, Scope, ScopeKind};
use super::tokens::statement_of;
use super::values::SourceValue;

/// A path by a type and one of its traits: `<Type as Trait>::NAME`.
pub(super) struct Qualified<'p> {
    ty: &'p str,
    of_trait: &'p str,
    name: &'p str,
}

impl Qualified<'_> {
    /// Reads such a path; `None`: it is another one.
    pub(super) fn of(path: &str) -> Option<Qualified<'_>> {
        let (pair, name) = path.strip_prefix('<')?.rsplit_once(">::")?;
        let (ty, of_trait) = pair.split_once(" as ")?;
        let (ty, of_trait) = (ty.trim(), of_trait.trim());
        let is_plain = !ty.contains(['<', ' ']) && !of_trait.contains(['<', ' ']);
        is_plain.then_some(Qualified { ty, of_trait, name })
    }
}

/// Returns the last name of a path.
fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// Returns the constant of a type at a path from the root of the crate; `of_trait`: of the trait with this name.
fn elsewhere<'a>(mut path: Vec<String>, of_trait: Option<&str>, name: &str) -> Meaning<'a> {
    if let (Some(of_trait), Some(ty)) = (of_trait, path.last_mut()) {
        *ty = format!("<{ty} as {of_trait}>");
    }
    Meaning::of(path, name)
}

/// Returns the path of a type without arguments.
fn bare(ty: &str) -> &str {
    ty.split('<').next().unwrap_or(ty).trim_end()
}

impl<'a> Finder<'a> {
    /// Returns the constant that `Self::NAME` means.
    pub(super) fn of_self(&self, name: &str, around: &[usize]) -> Found<'a> {
        for number in around {
            let scope = self.scope(*number)?;
            match scope.kind {
                ScopeKind::Trait => {
                    return Err("each `impl` of a trait may have another value".to_owned());
                }
                ScopeKind::Impl { of_trait } => {
                    let own = self.level(*number, name)?.0;
                    let ty = self.text_of(&scope.name);
                    return match (own, of_trait) {
                        (Some(own), false) => Ok(Some(own)),
                        // An own constant of the type comes before the trait's.
                        (Some(own), true) => {
                            let home = self.home_of(scope.parent, bare(ty))?;
                            let inherent = self.of_impls(home, last(bare(ty)), |it| {
                                it.kind == ScopeKind::Impl { of_trait: false }
                            });
                            let inherent = self.the_only(inherent?, name)?;
                            Ok(inherent.or(Some(own)))
                        }
                        (None, _) => self.of_path(ty, None, name, around),
                    };
                }
                ScopeKind::Module => break,
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns a constant by a type and one of its traits.
    pub(super) fn of_qualified(&self, path: &Qualified<'_>, around: &[usize]) -> Found<'a> {
        let ty = match path.ty {
            "Self" => self.type_of_impl(around),
            ty => Some(ty),
        };
        let Some(ty) = ty else {
            return Ok(None);
        };
        self.of_path(ty, Some(last(path.of_trait)), path.name, around)
    }

    /// Returns the type of the `impl` that scopes are in, as it is written.
    pub(super) fn type_of_impl(&self, around: &[usize]) -> Option<&'a str> {
        let mut all = around.iter().filter_map(|it| self.scope(*it).ok());
        let own = all.find(|it| matches!(it.kind, ScopeKind::Impl { .. }))?;
        Some(self.text_of(&own.name))
    }

    /// Returns a constant of the type at a path, as scopes see it; `of_trait`: of the trait with this name.
    fn of_path(&self, ty: &str, of_trait: Option<&str>, name: &str, around: &[usize]) -> Found<'a> {
        if ty.contains(['<', ' ', '&']) {
            return Ok(None);
        }
        if !ty.contains("::")
            && let Some(found) = self.of_type(ty, of_trait, name, around)?
        {
            return Ok(Some(found));
        }
        let module = self.module(around)?;
        let parts: Vec<&str> = ty.split("::").collect();
        let path = match parts.as_slice() {
            [one] => self.elsewhere(module, one)?,
            parts => self.absolute(module, parts)?,
        };
        Ok(path.map(|path| elsewhere(path, of_trait, name)))
    }

    /// Returns a constant of a type that the module of the line declares, or that a parameter stands for; `of_trait`: of
    /// the trait with this name.
    pub(super) fn of_type(
        &self,
        ty: &str,
        of_trait: Option<&str>,
        name: &str,
        around: &[usize],
    ) -> Found<'a> {
        for number in around {
            let scope = self.scope(*number)?;
            let mut items = self.outline.items.iter().filter(|it| it.scope == *number);
            if self.has_parameter(scope, ty)? {
                return Ok(self.of_argument(*number, ty, of_trait, name));
            }
            if scope.kind == ScopeKind::Module {
                let is_declared =
                    items.any(|it| it.kind == ItemKind::Type && self.text_of(&it.name) == ty);
                return match is_declared {
                    true => self.associated(*number, ty, of_trait, name),
                    false => Ok(None),
                };
            }
            // A type of a block may hide that of the module.
            if self.mentions(*number, ty)?
                || items.any(|it| it.kind == ItemKind::Use && self.text_of(&it.name).contains('*'))
            {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Returns the constant of the type that the frame's instance has for a parameter, if it is one of the crate.
    fn of_argument(
        &self,
        scope: usize,
        parameter: &str,
        of_trait: Option<&str>,
        name: &str,
    ) -> Option<Meaning<'a>> {
        let (argument, _) = self.argument(scope, parameter)?;
        let (of_crate, path) = argument.split_once("::")?;
        let is_own = self.instance.first()?.0 == of_crate;
        if !is_own || path.contains(['<', ' ', '{']) {
            return None;
        }
        let path = path.split("::").map(str::to_owned).collect();
        Some(elsewhere(path, of_trait, name))
    }

    /// Returns the constant of a type that a module declares.
    fn associated(&self, module: usize, ty: &str, of_trait: Option<&str>, name: &str) -> Found<'a> {
        let is_plain = |it: &Scope| !self.text_of(&it.name).contains('<');
        if of_trait.is_none() {
            let own = self.of_impls(Some(module), ty, |it| {
                is_plain(it) && it.kind == ScopeKind::Impl { of_trait: false }
            })?;
            if let Some(found) = self.the_only(own, name)? {
                return Ok(Some(found));
            }
        }
        let is_wanted = |it: &Scope| {
            let path = self.trait_of(it).filter(|_| is_plain(it));
            path.is_some_and(|path| of_trait.is_none_or(|wanted| last(path) == wanted))
        };
        let impls = self.of_impls(Some(module), ty, is_wanted)?;
        if let Some(found) = self.the_only(impls.clone(), name)? {
            return Ok(Some(found));
        }
        let mut traits = Vec::new();
        for number in impls {
            let scope = self.scope(number)?;
            if let Some(path) = self.trait_of(scope) {
                traits.extend(self.trait_at(scope.parent, path)?);
            }
        }
        let found = self.the_only(traits, name)?;
        Ok(found.filter(|it| match it {
            Meaning::Own(item) => self.has_value(item),
            _ => true,
        }))
    }

    /// Returns the value of a constant in the inherent `impl` blocks that this file has for a type; `ty`: the path of the
    /// type from the root of the crate, as any module knows it.
    pub(super) fn value_of_impl(
        &mut self,
        ty: &[String],
        name: &str,
    ) -> Result<Option<SourceValue>, String> {
        let mut impls = Vec::new();
        for (number, scope) in self.outline.scopes.iter().enumerate() {
            let text = self.text_of(&scope.name);
            if scope.kind == (ScopeKind::Impl { of_trait: false })
                && ty.last().is_some_and(|it| it == last(text))
                && self.scope(scope.parent)?.kind == ScopeKind::Module
                && self.knows_as(scope.parent, text, ty)?
            {
                impls.push(number);
            }
        }
        match self.the_only(impls, name)? {
            Some(meaning) => self.value_of_meaning(meaning),
            None => Ok(None),
        }
    }

    /// Returns whether a path, as a module writes it, is one from the root of the crate.
    fn knows_as(&self, module: usize, text: &str, path: &[String]) -> Result<bool, String> {
        let parts: Vec<&str> = text.split("::").collect();
        let [one] = parts.as_slice() else {
            return Ok(self.absolute(module, &parts)?.as_deref() == Some(path));
        };
        let mut here = self.outside.map_or(Vec::new(), |it| it.home().to_vec());
        here.extend(self.inline_modules(module)?);
        here.push((*one).to_owned());
        Ok(here == path || self.elsewhere(module, one)?.as_deref() == Some(path))
    }

    /// Returns the constant of a name that exactly one of these scopes declares.
    fn the_only(&self, scopes: Vec<usize>, name: &str) -> Found<'a> {
        let mut found = None;
        for number in scopes {
            if let Some(item) = self.level(number, name)?.0
                && found.replace(item).is_some()
            {
                return Err(format!("`{name}` is declared several times"));
            }
        }
        Ok(found)
    }

    /// Returns the `impl` blocks of this file for a type that one of its modules declares; none if `module` is `None`,
    /// since the type is of another file.
    fn of_impls(
        &self,
        module: Option<usize>,
        ty: &str,
        is_wanted: impl Fn(&Scope) -> bool,
    ) -> Result<Vec<usize>, String> {
        let mut found = Vec::new();
        for (number, scope) in self.outline.scopes.iter().enumerate() {
            let path = bare(self.text_of(&scope.name));
            let is_impl = matches!(scope.kind, ScopeKind::Impl { .. });
            if module.is_some()
                && is_impl
                && last(path) == ty
                && is_wanted(scope)
                && self.home_of(scope.parent, path)? == module
            {
                found.push(number);
            }
        }
        Ok(found)
    }

    /// Returns the module of this file that declares what a path means, as a module writes it.
    fn home_of(&self, scope: usize, path: &str) -> Result<Option<usize>, String> {
        if self.scope(scope)?.kind != ScopeKind::Module {
            return Ok(None);
        }
        let parts: Vec<&str> = path.split("::").collect();
        let [one] = parts.as_slice() else {
            return Ok(self.leads_to(scope, &parts, last(path)));
        };
        let mut items = self.outline.items.iter();
        let declares = |it: &Item| {
            it.scope == scope && it.kind == ItemKind::Type && self.text_of(&it.name) == *one
        };
        if items.any(declares) {
            return Ok(Some(scope));
        }
        let Some(path) = self.import(scope, one)? else {
            return Ok(None);
        };
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        Ok(self.leads_to(scope, &path, one))
    }

    /// Returns the module of this file in which a path finds a name.
    fn leads_to(&self, from: usize, path: &[&str], name: &str) -> Option<usize> {
        let (found, modules) = path.split_last()?;
        let is_root = self.outside.is_some_and(|it| it.home().is_empty());
        let (from, modules) = match modules {
            ["crate", rest @ ..] if is_root => (0, rest),
            _ => (from, modules),
        };
        let module = self.inline(from, modules).ok()??;
        (*found == name).then_some(module)
    }

    /// Returns the path of the trait of an `impl`, if it has no arguments.
    fn trait_of(&self, scope: &Scope) -> Option<&'a str> {
        if scope.kind != (ScopeKind::Impl { of_trait: true }) {
            return None;
        }
        let text = self.text_of(&(scope.header.start..scope.name.start));
        let path = text.strip_prefix("impl")?.trim_end().strip_suffix("for")?;
        let path = path.trim();
        let is_path = |it: char| it.is_alphanumeric() || matches!(it, '_' | ':');
        (!path.is_empty() && path.chars().all(is_path)).then_some(path)
    }

    /// Returns the trait of this file that a path leads to.
    fn trait_at(&self, scope: usize, path: &str) -> Result<Option<usize>, String> {
        let name = last(path);
        for (number, it) in self.outline.scopes.iter().enumerate() {
            if it.kind == ScopeKind::Trait
                && self.text_of(&it.name) == name
                && self.home_of(scope, path)? == Some(it.parent)
            {
                return Ok(Some(number));
            }
        }
        Ok(None)
    }

    /// Returns whether a declaration says the value.
    fn has_value(&self, item: &Item) -> bool {
        let statement = statement_of(self.text_from(item.name.end));
        statement.is_some_and(|it| it.contains('='))
    }
}
