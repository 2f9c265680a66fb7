//! Finds the constant that a name means at a line of a source file, by Rust's rules of scopes.

use super::scopes::{Attribute, Item, ItemKind, Outline, Scope, ScopeKind};
use super::tokens::{Kind, Token, tokens};
use super::{Constant, compute};
use std::collections::BTreeMap;
use std::ops::Range;

/// Maximum number of constants that one is computed from, and of those in each other.
const MAX_CONSTS: usize = 64;
const MAX_DEPTH: usize = 12;

/// A search in one file, from a function's line.
pub(super) struct Finder<'a> {
    text: &'a str,
    outline: &'a Outline,
    /// The scopes around the line, innermost first, with the function's own body.
    around: Vec<usize>,
    /// Blocks that begin or end on the line: it may be in them or not.
    unclear: Vec<usize>,
    known: BTreeMap<u32, Constant>,
    /// The constants that are being computed.
    open: Vec<u32>,
}

/// The constant of a name; `None`: this file has none.
type Found<'a> = Result<Option<&'a Item>, String>;

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
        let mut finder = Finder {
            text,
            outline,
            around: Vec::new(),
            unclear: Vec::new(),
            known: BTreeMap::new(),
            open: Vec::new(),
        };
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
    fn ancestors(&self, scope: usize) -> Vec<usize> {
        let (mut all, mut next) = (vec![scope], scope);
        while next != 0 {
            next = self.outline.scopes.get(next).map_or(0, |it| it.parent);
            all.push(next);
        }
        all
    }

    fn text_of(&self, bytes: &Range<u32>) -> &'a str {
        let text = self.text;
        let found = text.get(bytes.start as usize..bytes.end as usize);
        let found = found.unwrap_or_default();
        found.strip_prefix("r#").unwrap_or(found)
    }

    /// Returns whether a scope is that of `macro_rules!`.
    fn defines_macro(&self, scope: &Scope) -> bool {
        scope.kind == ScopeKind::Macro && self.text_of(&scope.name) == "macro_rules"
    }

    fn scope(&self, number: usize) -> Result<&'a Scope, String> {
        let scope = self.outline.scopes.get(number);
        scope.ok_or_else(|| "its scope is unknown".to_owned())
    }

    /// Returns the value of a constant by its path, as the line sees it; `None`: the file has none.
    ///
    /// # Errors
    /// It has one whose value, or meaning, is not certain; why.
    pub(super) fn value(&mut self, path: &str) -> Result<Option<Constant>, String> {
        let name = path.rsplit("::").next().unwrap_or(path);
        for number in &self.unclear {
            if self.mentions(*number, name)? {
                return Err(format!(
                    "the line is where a block begins or ends that declares `{name}`"
                ));
            }
        }
        let around = self.around.clone();
        match self.resolve(path, &around)? {
            Some(item) => self.value_of(item).map(Some),
            None => Ok(None),
        }
    }

    fn value_of(&mut self, item: &'a Item) -> Result<Constant, String> {
        let (key, name) = (item.name.start, self.text_of(&item.name));
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        if self.open.contains(&key) || self.open.len() >= MAX_DEPTH || self.known.len() > MAX_CONSTS
        {
            return Err(format!("`{name}` is computed from too many others"));
        }
        self.check(item)?;
        let rest = self.text.get(item.name.end as usize..).unwrap_or_default();
        let around = self.ancestors(item.scope);
        self.open.push(key);
        let value = compute::value(rest, &mut |path| match self.resolve(path, &around)? {
            Some(other) => self.value_of(other),
            None => Err(format!("`{path}` is no constant that this file shows")),
        });
        self.open.pop();
        let value = value.map_err(|why| match self.open.is_empty() {
            true => format!("{why} (line {})", item.line),
            false => format!("`{name}`: {why}"),
        })?;
        self.known.insert(key, value);
        Ok(value)
    }

    /// Checks that an item is compiled as it is written.
    fn check(&self, item: &Item) -> Result<(), String> {
        let refuse = |what: &str, attribute: &Attribute| match attribute {
            Attribute::Harmless => Ok(()),
            Attribute::Cfg => Err(format!("`#[cfg]` decides on {what}")),
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

    /// Returns what a path means in scopes, innermost first.
    fn resolve(&self, path: &str, around: &[usize]) -> Found<'a> {
        let parts: Vec<&str> = path.split("::").collect();
        match parts.as_slice() {
            [name] => self.bare(name, around),
            ["Self", name] => self.of_self(name, around),
            [of, name] if !matches!(*of, "self" | "super" | "crate") => {
                let module = self.module(around)?;
                match self.child(module, of)? {
                    Some(child) => self.level(child, name).map(|it| it.0),
                    None => self.of_type(of, name, around),
                }
            }
            [modules @ .., name] => {
                let mut module = self.module(around)?;
                for (number, part) in modules.iter().enumerate() {
                    let next = match *part {
                        "self" if number == 0 => Some(module),
                        "super" if module != 0 => {
                            Some(self.module(&self.ancestors(self.scope(module)?.parent))?)
                        }
                        "super" | "crate" | "self" => None,
                        part => self.child(module, part)?,
                    };
                    let Some(next) = next else {
                        return Ok(None);
                    };
                    module = next;
                }
                self.level(module, name).map(|it| it.0)
            }
            [] => Ok(None),
        }
    }

    /// Returns the module of scopes.
    fn module(&self, around: &[usize]) -> Result<usize, String> {
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

    /// Returns what a bare name means.
    fn bare(&self, name: &str, around: &[usize]) -> Found<'a> {
        let mut glob = false;
        for number in around {
            let scope = self.scope(*number)?;
            if self.has_parameter(scope, name)? {
                return Err(format!("`{name}` is a parameter of generic code"));
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

    /// Returns the constant of a name that a scope itself declares, and whether it imports all of another.
    fn level(&self, scope: usize, name: &str) -> Result<(Option<&'a Item>, bool), String> {
        let (mut consts, mut others, mut import, mut glob) = (Vec::new(), 0, None, None);
        for item in self.outline.items.iter().filter(|it| it.scope == scope) {
            match item.kind {
                ItemKind::Use => {
                    let text = self.text_of(&item.name);
                    glob = glob.or_else(|| text.contains('*').then_some(text));
                    if self.has_name(text, name)? {
                        import = Some(text);
                    }
                }
                _ if self.text_of(&item.name) != name => {}
                ItemKind::Const => consts.push(item),
                _ => others += 1,
            }
        }
        self.check_macros(scope, name)?;
        match (consts.as_slice(), others, import) {
            ([one], 0, _) => Ok((Some(*one), false)),
            ([], 0, None) => self.by_glob(scope, name, glob),
            ([], 0, Some(import)) => self.imported(scope, name, import),
            ([], ..) => Err(format!("`{name}` is declared as something else")),
            _ => Err(format!("`{name}` is declared several times")),
        }
    }

    /// Returns what `use super::*;` of an inline module brings.
    fn by_glob(
        &self,
        scope: usize,
        name: &str,
        glob: Option<&str>,
    ) -> Result<(Option<&'a Item>, bool), String> {
        let of = self.scope(scope)?;
        match (glob, of.kind) {
            (Some("super::*"), ScopeKind::Module) if scope != 0 => {
                let module = self.module(&self.ancestors(of.parent))?;
                Ok((self.level(module, name)?.0, false))
            }
            (glob, _) => Ok((None, glob.is_some())),
        }
    }

    /// Returns what `use super::NAME;` of an inline module brings.
    fn imported(
        &self,
        scope: usize,
        name: &str,
        import: &str,
    ) -> Result<(Option<&'a Item>, bool), String> {
        let of = self.scope(scope)?;
        if of.kind == ScopeKind::Module
            && scope != 0
            && import.strip_prefix("super::") == Some(name)
        {
            let module = self.module(&self.ancestors(of.parent))?;
            return Ok((self.level(module, name)?.0, false));
        }
        let import: String = import.chars().take(80).collect();
        Err(format!("`use {import}` brings it from another place"))
    }

    /// Refuses a name that the arguments of a macro declare.
    fn check_macros(&self, scope: usize, name: &str) -> Result<(), String> {
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

    /// Returns the constant that `Self::NAME` means.
    fn of_self(&self, name: &str, around: &[usize]) -> Found<'a> {
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
                        (own, _) => match (self.inherent(scope.parent, ty, name)?, own) {
                            (None, Some(_)) => Err("it is a constant of a trait".to_owned()),
                            (found, _) => Ok(found),
                        },
                    };
                }
                ScopeKind::Module => break,
                _ => {}
            }
        }
        Ok(None)
    }

    /// Returns a constant of a type that the module of the line declares.
    fn of_type(&self, ty: &str, name: &str, around: &[usize]) -> Found<'a> {
        for number in around {
            let scope = self.scope(*number)?;
            let mut items = self.outline.items.iter().filter(|it| it.scope == *number);
            if self.has_parameter(scope, ty)? {
                return Ok(None);
            }
            if scope.kind == ScopeKind::Module {
                let is_declared =
                    items.any(|it| it.kind == ItemKind::Type && self.text_of(&it.name) == ty);
                return match is_declared {
                    true => self.inherent(*number, ty, name),
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

    /// Returns the constant of a name in those `impl` of a type, without parameters, that a scope has.
    fn inherent(&self, scope: usize, ty: &str, name: &str) -> Found<'a> {
        if ty.contains('<') {
            return Ok(None);
        }
        let scopes = self.outline.scopes.iter().enumerate();
        let all = scopes.filter(|(_, it)| {
            it.parent == scope
                && it.kind == ScopeKind::Impl { of_trait: false }
                && self.text_of(&it.name) == ty
        });
        let mut found = None;
        for (number, _) in all {
            if let Some(item) = self.level(number, name)?.0
                && found.replace(item).is_some()
            {
                return Err(format!("`{name}` is declared several times"));
            }
        }
        Ok(found)
    }

    /// Returns whether a scope declares or imports a name.
    fn mentions(&self, scope: usize, name: &str) -> Result<bool, String> {
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
    fn has_parameter(&self, scope: &Scope, name: &str) -> Result<bool, String> {
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
