//! Finds the constant that a name means at a line of a source file, by Rust's rules of scopes.

use super::compute;
use super::imports::imports;
use super::in_scopes::InScopes;
use super::meanings::Rows;
use super::parameters::Part;
use super::scopes::{Attribute, Item, ItemKind, Outline, Scope, ScopeKind};
use super::tokens::{Kind, Token, tokens};
use super::values::SourceValue;
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of constants that one is computed from, and of those in each other.
const MAX_CONSTS: usize = 64;
const MAX_DEPTH: usize = 12;

/// A search in one file, from a function's line.
pub(super) struct Finder<'a> {
    text: &'a str,
    pub(super) outline: &'a Outline,
    /// The scopes around the line, innermost first, with the function's own body.
    around: Vec<usize>,
    /// Blocks that begin or end on the line: it may be in them or not.
    unclear: Vec<usize>,
    known: BTreeMap<u32, SourceValue>,
    /// The constants that are being computed.
    open: Vec<u32>,
    /// The path of the frame's function in the debug info.
    pub(super) instance: Vec<Part>,
    /// The other files, if the crate is known.
    pub(super) outside: Option<&'a dyn Outside>,
}

/// The constants of other files of the crate.
pub(super) trait Outside {
    /// Returns the path of this file's module from the root of the crate.
    fn home(&self) -> &[String];

    /// Returns the constant at a path from the root of the crate; `None` if the source shows none.
    ///
    /// # Errors
    /// There is one, but its value is not certain; why.
    fn value(&self, path: &[String]) -> Result<Option<SourceValue>, String>;

    /// Returns the places in the debug info that a path may mean in scopes of a file, innermost first.
    ///
    /// # Errors
    /// The source does not say; why.
    fn places(&self, finder: &Finder<'_>, path: &str, around: &[usize]) -> Result<Rows, String>;
}

/// The meaning of a name.
pub(super) enum Meaning<'a> {
    /// A constant of this file.
    Own(&'a Item),
    /// The constant at a path from the root of the crate.
    Other(Vec<String>),
    /// What the instance that runs has for a parameter.
    Argument(SourceValue),
}

impl Meaning<'_> {
    pub(super) fn of(mut path: Vec<String>, name: &str) -> Self {
        path.push(name.to_owned());
        Meaning::Other(path)
    }
}

/// The constant of a name; `None`: no file shows one.
pub(super) type Found<'a> = Result<Option<Meaning<'a>>, String>;

impl<'a> Finder<'a> {
    /// Begins a search at a line of a function, by its bare name.
    ///
    /// # Errors
    /// The file does not show the function there.
    pub(super) fn at(
        text: &'a str,
        outline: &'a Outline,
        function: &str,
        line: u32,
    ) -> Result<Finder<'a>, String> {
        let mut finder = Finder::in_module(text, outline, 0);
        let in_macro = outline
            .scopes
            .iter()
            .any(|it| finder.defines_macro(it) && (it.first_line..=it.last_line).contains(&line));
        if in_macro {
            return Err(format!("line {line} is in the definition of a macro"));
        }
        let scopes = outline.scopes.iter().enumerate();
        let mut at_line = scopes.filter(|(_, it)| {
            it.kind == ScopeKind::Function
                && (it.first_line..=it.last_line).contains(&line)
                && finder.text_of(&it.name) == function
        });
        let (Some((own, _)), None) = (at_line.next(), at_line.next()) else {
            return Err(format!(
                "line {line} is in no function `{function}` that is written out: a macro may have made it"
            ));
        };
        finder.enter(own, line);
        Ok(finder)
    }

    /// Begins a search in a module of the file, outside of functions.
    pub(super) fn in_module(text: &'a str, outline: &'a Outline, module: usize) -> Finder<'a> {
        let mut finder = Finder {
            text,
            outline,
            around: Vec::new(),
            unclear: Vec::new(),
            known: BTreeMap::new(),
            open: Vec::new(),
            instance: Vec::new(),
            outside: None,
        };
        finder.around = finder.ancestors(module);
        finder
    }

    /// Notes the scopes around a line of a function.
    fn enter(&mut self, own: usize, line: u32) {
        let mut inside = vec![false; self.outline.scopes.len()];
        let mut around = self.ancestors(own);
        if let Some(is_inside) = inside.get_mut(own) {
            *is_inside = true;
        }
        for (number, scope) in self.outline.scopes.iter().enumerate().skip(own + 1) {
            if scope.kind != ScopeKind::Block || !inside.get(scope.parent).is_some_and(|it| *it) {
                continue;
            }
            if (scope.first_line + 1..scope.last_line).contains(&line) {
                around.insert(0, number);
                inside[number] = true;
            } else if (scope.first_line..=scope.last_line).contains(&line) {
                self.unclear.push(number);
                inside[number] = true;
            }
        }
        self.around = around;
    }

    /// Returns a scope and all around it, innermost first.
    pub(super) fn ancestors(&self, scope: usize) -> Vec<usize> {
        let (mut all, mut next) = (vec![scope], scope);
        while next != 0 {
            next = self.outline.scopes.get(next).map_or(0, |it| it.parent);
            all.push(next);
        }
        all
    }

    pub(super) fn text_of(&self, bytes: &Range<u32>) -> &'a str {
        let text = self.text;
        let found = text.get(bytes.start as usize..bytes.end as usize);
        let found = found.unwrap_or_default();
        found.strip_prefix("r#").unwrap_or(found)
    }

    /// Returns the text of the file from a byte on.
    pub(super) fn text_from(&self, start: u32) -> &'a str {
        self.text.get(start as usize..).unwrap_or_default()
    }

    /// Returns whether a scope is that of `macro_rules!`.
    fn defines_macro(&self, scope: &Scope) -> bool {
        scope.kind == ScopeKind::Macro && self.text_of(&scope.name) == "macro_rules"
    }

    pub(super) fn scope(&self, number: usize) -> Result<&'a Scope, String> {
        let scope = self.outline.scopes.get(number);
        scope.ok_or_else(|| "its scope is unknown".to_owned())
    }

    /// The scopes around the line, innermost first.
    pub(super) fn around(&self) -> &[usize] {
        &self.around
    }

    /// Refuses a name that a block declares which the line may be in or not.
    pub(super) fn check_unclear(&self, name: &str) -> Result<(), String> {
        for number in &self.unclear {
            if self.mentions(*number, name)? {
                return Err(format!(
                    "the line is where a block begins or ends that declares `{name}`"
                ));
            }
        }
        Ok(())
    }

    /// Returns the value of a constant by its path, as the line sees it; `None`: the file has none.
    ///
    /// # Errors
    /// It has one whose value, or meaning, is not certain; why.
    pub(super) fn value(&mut self, path: &str) -> Result<Option<SourceValue>, String> {
        let name = path.rsplit("::").next().unwrap_or(path);
        self.check_unclear(name)?;
        let around = self.around.clone();
        match self.resolve(path, &around)? {
            Some(meaning) => self.value_of_meaning(meaning),
            None => Ok(None),
        }
    }

    pub(super) fn value_of_meaning(
        &mut self,
        meaning: Meaning<'a>,
    ) -> Result<Option<SourceValue>, String> {
        match (meaning, self.outside) {
            (Meaning::Own(item), _) => self.value_of(item).map(Some),
            (Meaning::Other(path), Some(outside)) => outside.value(&path),
            (Meaning::Other(_), None) => Ok(None),
            (Meaning::Argument(value), _) => Ok(Some(value)),
        }
    }

    fn value_of(&mut self, item: &'a Item) -> Result<SourceValue, String> {
        let (key, name) = (item.name.start, self.text_of(&item.name));
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        if self.open.contains(&key) || self.open.len() >= MAX_DEPTH || self.known.len() > MAX_CONSTS
        {
            return Err(format!("`{name}` is computed from too many others"));
        }
        self.check(item)?;
        let rest = self.text.get(item.name.end as usize..).unwrap_or_default();
        let around = self.ancestors(item.scope);
        self.open.push(key);
        let mut names = InScopes {
            finder: self,
            around: &around,
        };
        let value = compute::value(rest, &mut names);
        self.open.pop();
        let value = value.map_err(|why| match self.open.is_empty() {
            true => format!("{why} (line {})", item.line),
            false => format!("`{name}`: {why}"),
        })?;
        self.known.insert(key, value.clone());
        Ok(value)
    }

    /// Checks that an item is compiled as it is written.
    fn check(&self, item: &Item) -> Result<(), String> {
        let refuse = |what: &str, attribute: &Attribute| match attribute {
            Attribute::Harmless => Ok(()),
            Attribute::Cfg => Err(format!("`#[cfg]` decides on {what}")),
            Attribute::Absent => Err(format!("`#[cfg]` leaves out {what}")),
            Attribute::Other(name) => Err(format!("`#[{name}]` may change {what}")),
        };
        refuse("it", &item.attribute)?;
        let name = self.text_of(&item.name);
        for scope in self
            .outline
            .scopes
            .iter()
            .filter(|it| self.defines_macro(it))
        {
            if self.declares(self.text_of(&scope.header), name)? {
                let line = scope.first_line;
                return Err(format!("the macro at line {line} may declare it, too"));
            }
        }
        for number in self.ancestors(item.scope) {
            let scope = self.scope(number)?;
            match scope.kind {
                // The code around the line is compiled.
                _ if scope.attribute == Attribute::Cfg && self.around.contains(&number) => {}
                ScopeKind::Module => refuse("its module", &scope.attribute)?,
                ScopeKind::Impl { .. } => refuse("its `impl`", &scope.attribute)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns what a bare name means.
    pub(super) fn bare(&self, name: &str, around: &[usize]) -> Found<'a> {
        let mut glob = false;
        for number in around {
            let scope = self.scope(*number)?;
            if self.has_parameter(scope, name)? {
                let value = self.parameter(*number, name).map(Meaning::Argument);
                return value.map(Some).ok_or_else(|| {
                    format!("`{name}` is a parameter of generic code, and the instance's name does not say it")
                });
            }
            if matches!(scope.kind, ScopeKind::Impl { .. } | ScopeKind::Trait) {
                continue;
            }
            let (found, has_glob) = self.level(*number, name)?;
            if found.is_some() {
                return match glob {
                    true => Err(format!(
                        "a `use ..::*` in a block may bring another `{name}`"
                    )),
                    false => Ok(found),
                };
            }
            glob |= has_glob;
            if scope.kind == ScopeKind::Module {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the constant of a name that a scope itself declares or imports, and whether it imports all of another
    /// place that is not known.
    pub(super) fn level(
        &self,
        scope: usize,
        name: &str,
    ) -> Result<(Option<Meaning<'a>>, bool), String> {
        let (mut consts, mut others) = (Vec::new(), 0);
        for item in self.outline.items.iter().filter(|it| it.scope == scope) {
            match item.kind {
                ItemKind::Use => {}
                _ if self.text_of(&item.name) != name => {}
                ItemKind::Const => consts.push(item),
                _ => others += 1,
            }
        }
        self.check_macros(scope, name)?;
        match (consts.as_slice(), others) {
            ([one], 0) => Ok((Some(Meaning::Own(one)), false)),
            ([], 0) => match self.import(scope, name)? {
                Some(path) => self
                    .imported(scope, name, &path)
                    .map(|it| (Some(it), false)),
                None => self.by_globs(scope, name),
            },
            ([], _) => Err(format!("`{name}` is declared as something else")),
            _ => Err(format!("`{name}` is declared several times")),
        }
    }

    /// Returns what those `use` of a scope bring that import all of another module.
    fn by_globs(&self, scope: usize, name: &str) -> Result<(Option<Meaning<'a>>, bool), String> {
        let (mut found, mut is_unknown) = (None, false);
        let module = self.module(&self.ancestors(scope))?;
        for item in self.outline.items.iter() {
            let text = self.text_of(&item.name);
            if item.kind != ItemKind::Use || item.scope != scope || !text.contains('*') {
                continue;
            }
            for import in imports(text)?.into_iter().filter(|it| it.name == "*") {
                let path: Vec<&str> = import.path.iter().map(String::as_str).collect();
                let next = match self.inline(module, &path)? {
                    Some(inline) if inline != scope => self.level(inline, name)?.0,
                    Some(_) => None,
                    None => match self.absolute(module, &path)? {
                        Some(path) => self.if_there(Meaning::of(path, name))?,
                        None => {
                            is_unknown = true;
                            None
                        }
                    },
                };
                if next.is_some() && item.attribute != Attribute::Harmless {
                    return Err(format!(
                        "an attribute decides on the `use` that brings `{name}`"
                    ));
                }
                found = match (found, next) {
                    (Some(one), Some(other)) if !self.are_one(&one, &other)? => {
                        return Err(format!("several `use` may bring `{name}`"));
                    }
                    (found, next) => found.or(next),
                };
            }
        }
        let is_unknown = is_unknown && found.is_none();
        Ok((found, is_unknown))
    }

    /// Returns whether two meanings are of one constant, or of one value.
    fn are_one(&self, one: &Meaning<'a>, other: &Meaning<'a>) -> Result<bool, String> {
        Ok(match (one, other, self.outside) {
            (Meaning::Own(one), Meaning::Own(other), _) => std::ptr::eq(*one, *other),
            (Meaning::Other(one), Meaning::Other(other), Some(outside)) => {
                one == other || outside.value(one)? == outside.value(other)?
            }
            _ => false,
        })
    }

    /// Returns a constant of another file, if it is there.
    fn if_there(&self, meaning: Meaning<'a>) -> Result<Option<Meaning<'a>>, String> {
        let is_there = match (&meaning, self.outside) {
            (Meaning::Other(path), Some(outside)) => outside.value(path)?.is_some(),
            _ => true,
        };
        Ok(is_there.then_some(meaning))
    }

    /// Returns what `use PATH;` brings.
    fn imported(&self, scope: usize, name: &str, path: &[String]) -> Result<Meaning<'a>, String> {
        let refuse = || {
            let path: String = path.join("::").chars().take(80).collect();
            format!("`use {path}` brings it from another place")
        };
        let module = self.module(&self.ancestors(scope))?;
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let (last, modules) = path.split_last().ok_or_else(refuse)?;
        if let Some(inline) = self.inline(module, modules)?
            && (inline, *last) != (scope, name)
            && !modules.is_empty()
        {
            return self.level(inline, last)?.0.ok_or_else(refuse);
        }
        let found = self.absolute(module, &path)?.map(Meaning::Other);
        found.ok_or_else(refuse)
    }

    /// Refuses a name that the arguments of a macro declare.
    pub(super) fn check_macros(&self, scope: usize, name: &str) -> Result<(), String> {
        let scopes = self.outline.scopes.iter();
        let macros = scopes.filter(|it| it.parent == scope && it.kind == ScopeKind::Macro);
        for it in macros {
            if self.declares(self.text_of(&it.header), name)? {
                return Err(format!(
                    "a macro at line {} may declare `{name}`",
                    it.first_line
                ));
            }
        }
        Ok(())
    }

    /// Returns whether a scope declares or imports a name.
    pub(super) fn mentions(&self, scope: usize, name: &str) -> Result<bool, String> {
        for item in self.outline.items.iter().filter(|it| it.scope == scope) {
            let text = self.text_of(&item.name);
            if text == name || item.kind == ItemKind::Use && self.has_name(text, name)? {
                return Ok(true);
            }
        }
        Ok(self.check_macros(scope, name).is_err())
    }

    /// Returns whether a name is one of the words of a text.
    fn has_name(&self, text: &str, name: &str) -> Result<bool, String> {
        let is_named = |it: &Token| it.kind == Kind::Name && it.text(text) == name;
        Ok(text.contains(name) && tokens(text)?.iter().any(is_named))
    }

    /// Returns whether tokens declare or import a name: one of `const NAME`, `static NAME`, `use`.
    fn declares(&self, text: &str, name: &str) -> Result<bool, String> {
        if !text.contains(name) {
            return Ok(false);
        }
        let all = tokens(text)?;
        let mut pairs = all.iter().zip(all.iter().skip(1));
        let imports = all.iter().any(|it| it.text(text) == "use");
        let declares = pairs.any(|(before, it)| {
            it.text(text) == name && matches!(before.text(text), "const" | "static" | "mut")
        });
        Ok(declares || imports)
    }

    /// Returns whether a function or `impl` has a generic parameter of a name.
    pub(super) fn has_parameter(&self, scope: &Scope, name: &str) -> Result<bool, String> {
        let header = self.text_of(&scope.header);
        if matches!(scope.kind, ScopeKind::Block | ScopeKind::Macro) || !header.contains(name) {
            return Ok(false);
        }
        let all = tokens(header)?;
        let start = usize::from(matches!(scope.kind, ScopeKind::Impl { .. }));
        if !all.get(start).is_some_and(|it| it.is(b'<')) {
            return Ok(false);
        }
        let mut depth = 0usize;
        let mut before = "";
        for token in all.iter().skip(start) {
            let word = token.text(header);
            if word == name && depth == 1 && matches!(before, "<" | "," | "const") {
                return Ok(true);
            }
            match word {
                "<" => depth += 1,
                ">" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                break;
            }
            before = word;
        }
        Ok(false)
    }
}
