//! The scopes of a Rust source file and what they declare.

use super::scopes::{Attribute, Item, ItemKind, Outline, Scope, ScopeKind};
use super::tokens::{Kind, Token, tokens};
use std::ops::Range;

/// Maximum number of scopes, and of declarations, of a file.
const MAX_SCOPES: usize = 1 << 16;
/// Maximum number of groups inside each other.
const MAX_DEPTH: usize = 1 << 8;

/// Reads the outline of a source file.
///
/// # Errors
/// The text cannot be understood.
pub(super) fn outline(text: &str) -> Result<Outline, String> {
    let tokens = tokens(text)?;
    let mut reader = Reader {
        text,
        tokens: &tokens,
        at: 0,
        open: Vec::new(),
        outline: Outline::default(),
    };
    reader.outline.scopes.push(Scope {
        kind: ScopeKind::Module,
        parent: 0,
        first_line: 0,
        last_line: u32::MAX,
        name: 0..0,
        header: 0..0,
        attribute: Attribute::Harmless,
    });
    reader.all()?;
    Ok(reader.outline)
}

/// A group that is open.
struct Open {
    closer: u8,
    /// The scope that its tokens are in.
    scope: usize,
    /// Whether the scope ends with it.
    ends: bool,
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) tokens: &'a [Token],
    pub(super) at: usize,
    open: Vec<Open>,
    outline: Outline,
}

fn unexpected(token: Option<&Token>) -> String {
    match token {
        Some(token) => format!("the brackets at line {} do not match", token.line),
        None => "a bracket has no end".to_owned(),
    }
}

/// Returns whether a `!` behind the word is an operator.
fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "while"
            | "match"
            | "return"
            | "in"
            | "else"
            | "break"
            | "as"
            | "let"
            | "move"
            | "loop"
            | "unsafe"
            | "const"
            | "impl"
            | "mut"
            | "ref"
            | "where"
            | "for"
            | "yield"
    )
}

impl<'a> Reader<'a> {
    pub(super) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |it| it.text(self.text))
    }

    pub(super) fn is(&self, at: usize, sign: u8) -> bool {
        self.tokens.get(at).is_some_and(|it| it.is(sign))
    }

    pub(super) fn opens(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(Token::opens)
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|it| it.kind == Kind::Name)
    }

    fn scope(&self) -> usize {
        self.open.last().map_or(0, |it| it.scope)
    }

    /// Returns whether statements or items are in the innermost group.
    fn has_statements(&self) -> bool {
        self.open.last().is_none_or(|it| it.closer == b'}')
    }

    fn all(&mut self) -> Result<(), String> {
        let mut is_start = true;
        while self.at < self.tokens.len() {
            while is_start && self.has_statements() {
                is_start = self.statement()?;
            }
            let Some(token) = self.tokens.get(self.at) else {
                break;
            };
            is_start = match token.kind {
                Kind::Sign(b'{', 0) => {
                    let none = token.start..token.start;
                    self.enter(ScopeKind::Block, none.clone(), none, Attribute::Harmless)?;
                    true
                }
                Kind::Sign(b'(', 0) => self.enter_group(b')')?,
                Kind::Sign(b'[', 0) => self.enter_group(b']')?,
                Kind::Sign(sign @ (b')' | b']' | b'}'), 0) => {
                    self.leave(sign)?;
                    sign == b'}'
                }
                Kind::Name if self.is(self.at + 1, b'!') && !is_keyword(self.word(self.at)) => {
                    self.invocation()?
                }
                Kind::Sign(b';', 0) => {
                    self.at += 1;
                    true
                }
                _ => {
                    self.at += 1;
                    false
                }
            };
        }
        match self.open.is_empty() {
            true => Ok(()),
            false => Err(unexpected(None)),
        }
    }

    fn push_open(&mut self, closer: u8, scope: usize, ends: bool) -> Result<(), String> {
        if self.open.len() >= MAX_DEPTH {
            return Err("its groups are nested too deeply".to_owned());
        }
        self.open.push(Open {
            closer,
            scope,
            ends,
        });
        self.at += 1;
        Ok(())
    }

    fn enter_group(&mut self, closer: u8) -> Result<bool, String> {
        self.push_open(closer, self.scope(), false)?;
        Ok(false)
    }

    /// Enters the scope whose brace is the next token.
    fn enter(
        &mut self,
        kind: ScopeKind,
        name: Range<u32>,
        header: Range<u32>,
        attribute: Attribute,
    ) -> Result<(), String> {
        let line = self.tokens.get(self.at).map_or(0, |it| it.line);
        // No name means what is left out.
        let name = match attribute {
            Attribute::Absent => name.start..name.start,
            _ => name,
        };
        let number = self.push_scope(kind, name, header, attribute, line..line)?;
        self.push_open(b'}', number, true)
    }

    fn push_scope(
        &mut self,
        kind: ScopeKind,
        name: Range<u32>,
        header: Range<u32>,
        attribute: Attribute,
        lines: Range<u32>,
    ) -> Result<usize, String> {
        let scopes = &self.outline.scopes;
        if scopes.len() >= MAX_SCOPES {
            return Err("it has too many blocks".to_owned());
        }
        let number = scopes.len();
        let parent = self.scope();
        self.outline.scopes.push(Scope {
            kind,
            parent,
            first_line: lines.start,
            last_line: lines.end,
            name,
            header,
            attribute,
        });
        Ok(number)
    }

    fn leave(&mut self, closer: u8) -> Result<(), String> {
        let token = self.tokens.get(self.at);
        let open = self.open.pop().filter(|it| it.closer == closer);
        let open = open.ok_or_else(|| unexpected(token))?;
        if open.ends
            && let Some(scope) = self.outline.scopes.get_mut(open.scope)
        {
            scope.last_line = token.map_or(0, |it| it.line);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips a group from its opening token.
    pub(super) fn skip_group(&mut self) -> Result<(), String> {
        let mut depth = 0usize;
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match (token.opens(), token.closes()) {
                (true, _) => depth += 1,
                (_, true) => depth = depth.saturating_sub(1),
                _ => continue,
            }
            if depth == 0 {
                return Ok(());
            }
        }
        Err(unexpected(None))
    }

    /// Skips `name!(..)` or `name! name {..}` from its name. Returns whether a statement may follow.
    fn invocation(&mut self) -> Result<bool, String> {
        let first = self.at;
        self.at += 2;
        self.at += usize::from(self.is_name(self.at));
        if !self.opens(self.at) {
            return Ok(false);
        }
        let is_block = self.is(self.at, b'{');
        self.skip_group()?;
        let (Some(start), Some(end)) = (self.tokens.get(first), self.tokens.get(self.at - 1))
        else {
            return Ok(false);
        };
        let (name, all) = (start.start..start.end, start.start..end.end);
        let lines = start.line..end.line;
        self.push_scope(ScopeKind::Macro, name, all, Attribute::Harmless, lines)?;
        Ok(is_block)
    }

    /// Skips `pub(..)`, `unsafe` and others before the keyword of an item.
    fn modifiers(&mut self) {
        loop {
            let next = self.word(self.at + 1);
            let is_before_item = matches!(
                next,
                "fn" | "unsafe"
                    | "async"
                    | "extern"
                    | "impl"
                    | "trait"
                    | "mod"
                    | "const"
                    | "static"
                    | "auto"
                    | "type"
            );
            match self.word(self.at) {
                "pub" => {
                    self.at += 1;
                    if self.is(self.at, b'(') && self.skip_group().is_err() {
                        return;
                    }
                }
                "default" | "unsafe" | "async" | "auto" | "safe" if is_before_item => self.at += 1,
                "const" if matches!(next, "fn" | "unsafe" | "async" | "extern") => self.at += 1,
                "extern" if next.starts_with('"') => {
                    if self.is(self.at + 2, b'{') {
                        return;
                    }
                    self.at += 2;
                }
                "extern" if next == "fn" => self.at += 1,
                _ => return,
            }
        }
    }

    /// Reads the beginning of a statement. Returns whether another may follow at once.
    fn statement(&mut self) -> Result<bool, String> {
        let attribute = self.attributes()?;
        self.modifiers();
        let at = self.at;
        let next = usize::from(self.word(at + 1) == "mut") + at + 1;
        match self.word(at) {
            "const" if self.is(at + 2, b':') => self.declare(ItemKind::Const, at + 1, attribute)?,
            "static" if self.is(next + 1, b':') => {
                self.declare(ItemKind::Other, next, attribute)?
            }
            "mod" if self.is(at + 2, b'{') => {
                let name = self.bytes(at + 1);
                self.at += 2;
                let end = name.end;
                self.enter(ScopeKind::Module, name, end..end, attribute)?;
                return Ok(true);
            }
            "mod" if self.is(at + 2, b';') => self.declare(ItemKind::Module, at + 1, attribute)?,
            "fn" if self.is_name(at + 1) => {
                self.declare(ItemKind::Other, at + 1, attribute.clone())?;
                return self.body(ScopeKind::Function, at + 1, attribute);
            }
            "trait" if self.is_name(at + 1) => {
                self.declare(ItemKind::Type, at + 1, attribute.clone())?;
                return self.body(ScopeKind::Trait, at + 1, attribute);
            }
            "impl" => return self.implementation(attribute),
            "struct" | "enum" | "union" | "type" if self.is_name(at + 1) => {
                let is_type = self.word(at) == "type";
                self.declare(ItemKind::Type, at + 1, attribute)?;
                if !is_type && self.header()? && self.is(self.at, b'{') {
                    self.skip_group()?;
                    return Ok(true);
                }
            }
            "use" => self.import(attribute)?,
            "extern" if self.is(at + 2, b'{') || self.is(at + 1, b'{') => {
                self.at += 1 + usize::from(!self.is(at + 1, b'{'));
                self.push_open(b'}', self.scope(), false)?;
                return Ok(true);
            }
            _ => {}
        }
        Ok(false)
    }

    fn bytes(&self, at: usize) -> Range<u32> {
        self.tokens.get(at).map_or(0..0, |it| it.start..it.end)
    }

    fn declare(&mut self, kind: ItemKind, at: usize, attribute: Attribute) -> Result<(), String> {
        let name = self.bytes(at);
        self.at = at + 1;
        self.push_item(kind, name, at, attribute)
    }

    fn push_item(
        &mut self,
        kind: ItemKind,
        name: Range<u32>,
        at: usize,
        attribute: Attribute,
    ) -> Result<(), String> {
        if self.outline.items.len() >= MAX_SCOPES {
            return Err("it declares too much".to_owned());
        }
        if attribute == Attribute::Absent {
            return Ok(());
        }
        let line = self.tokens.get(at).map_or(0, |it| it.line);
        let scope = self.scope();
        self.outline.items.push(Item {
            kind,
            scope,
            name,
            line,
            attribute,
        });
        Ok(())
    }

    /// Skips to the `{` or `;` that ends the header of an item. Returns whether there is one.
    fn header(&mut self) -> Result<bool, String> {
        let mut angle = 0usize;
        while let Some(token) = self.tokens.get(self.at) {
            match token.kind {
                Kind::Sign(b'<', 0) => angle += 1,
                Kind::Sign(b'>', 0) => angle = angle.saturating_sub(1),
                Kind::Sign(b'{' | b';', 0) if angle == 0 => return Ok(true),
                _ if token.opens() => {
                    self.skip_group()?;
                    continue;
                }
                _ if token.closes() => return Err(unexpected(Some(token))),
                _ => {}
            }
            self.at += 1;
        }
        Ok(false)
    }

    /// Enters the body behind the header of an item; `false` if it has none.
    fn body(&mut self, kind: ScopeKind, name: usize, attribute: Attribute) -> Result<bool, String> {
        let (name, first) = (
            self.bytes(name),
            self.tokens.get(name).map_or(0, |it| it.line),
        );
        if !self.header()? || !self.is(self.at, b'{') {
            return Ok(false);
        }
        let header = name.end..self.bytes(self.at).start;
        self.enter(kind, name, header, attribute)?;
        if let Some(scope) = self.outline.scopes.last_mut() {
            scope.first_line = first;
        }
        Ok(true)
    }

    fn implementation(&mut self, attribute: Attribute) -> Result<bool, String> {
        let keyword = self.at;
        self.at += 1;
        if !self.header()? || !self.is(self.at, b'{') {
            return Ok(false);
        }
        let (mut angle, mut start, mut of_trait, mut end) = (0usize, keyword + 1, false, self.at);
        for at in keyword + 1..self.at {
            match self.word(at) {
                "<" => angle += 1,
                ">" => {
                    angle = angle.saturating_sub(1);
                    // The parameters of the `impl` itself.
                    if angle == 0 && !of_trait && start == keyword + 1 && self.is(start, b'<') {
                        start = at + 1;
                    }
                }
                "for" if angle == 0 && !self.is(at + 1, b'<') => {
                    (of_trait, start) = (true, at + 1);
                }
                "where" if angle == 0 => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        let name = match start < end {
            true => self.bytes(start).start..self.bytes(end - 1).end,
            false => 0..0,
        };
        let header = self.bytes(keyword).start..self.bytes(self.at).start;
        self.enter(ScopeKind::Impl { of_trait }, name, header, attribute)?;
        Ok(true)
    }

    /// Reads `use ..;`.
    fn import(&mut self, attribute: Attribute) -> Result<(), String> {
        let first = self.at + 1;
        while self.at < self.tokens.len() && !self.is(self.at, b';') {
            self.at += 1;
        }
        let name = self.bytes(first).start..self.bytes(self.at.max(first + 1) - 1).end;
        self.push_item(ItemKind::Use, name, first, attribute)
    }
}
