//! Mangled names read as a tree. The operators are those of Swift's docs/ABI/Mangling.rst: each takes its operands
//! from a stack and puts its result there.

mod autodiff;
mod conformance;
mod entity;
mod function;
mod generic;
mod identifier;
mod impl_function;
mod metadata;
mod nominal;
mod special_type;
mod specialization;
mod standard;

mod thunk;
mod types;
mod witness;

use super::node::{Id, Kind, Tree};

/// Maximum number of nodes on the stack, and of substitutions.
const MAX_STACK: usize = 1 << 12;
/// Maximum number of repetitions of one substitution (`S1000i`).
const MAX_REPEATED: u64 = 2048;

/// What a symbol begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// The prefix of mangled names.
    Prefix,
    /// The prefix of Swift 4.0, where the labels of parameters are in the type of the function.
    PrefixOfSwift4,
    /// The name of the function that runs asynchronous code of `main`, which is not mangled.
    AsyncMain,
}

/// Reads a mangled name behind its start. Returns the tree and its root, a [`Kind::Global`].
pub(super) fn parse(start: Start, mangled: &str) -> Option<(Tree<'_>, Id)> {
    let mut parser = Parser {
        text: mangled,
        at: 0,
        tree: Tree::default(),
        stack: Vec::new(),
        substitutions: Vec::new(),
        words: Vec::new(),
        has_label_lists: start != Start::PrefixOfSwift4,
    };
    if start == Start::AsyncMain {
        if !matches!(parser.peek(), None | Some(b'T' | b'.')) {
            return None;
        }
        let main = parser.tree.text(Kind::Text, "async main entry point")?;
        parser.push(main)?;
    }
    while parser.at < mangled.len() {
        let node = parser.operator()?;
        parser.push(node)?;
    }
    let global = parser.global()?;
    Some((parser.tree, global))
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    tree: Tree<'a>,
    stack: Vec<Id>,
    substitutions: Vec<Id>,
    /// Words of identifiers, which others refer to.
    words: Vec<String>,
    /// Whether the labels of parameters are beside the type.
    has_label_lists: bool,
}

impl<'a> Parser<'a> {
    // The text.

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// Reads a number without a sign.
    fn natural(&mut self) -> Option<u64> {
        let mut number = None;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            let so_far: u64 = number.unwrap_or(0);
            number = Some(
                so_far
                    .checked_mul(10)?
                    .checked_add(u64::from(digit - b'0'))?,
            );
            self.at += 1;
        }
        number.filter(|number| *number <= i32::MAX as u64)
    }

    /// Reads `_` as 0 and `N_` as N + 1.
    fn index(&mut self) -> Option<u64> {
        if self.take(b'_') {
            return Some(0);
        }
        let number = self.natural()?;
        self.take(b'_').then_some(number + 1)
    }

    /// Reads that many bytes as text.
    fn slice(&mut self, length: u64) -> Option<&'a str> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let slice = self.text.get(self.at..end)?;
        self.at = end;
        Some(slice)
    }

    // The stack.

    fn push(&mut self, node: Id) -> Option<()> {
        if self.stack.len() >= MAX_STACK {
            return None;
        }
        self.stack.push(node);
        Some(())
    }

    fn pop_if(&mut self, fits: impl FnOnce(Kind) -> bool) -> Option<Id> {
        let top = *self.stack.last()?;
        if !fits(self.tree.kind(top)) {
            return None;
        }
        self.stack.pop()
    }

    fn pop(&mut self, kind: Kind) -> Option<Id> {
        self.pop_if(|it| it == kind)
    }

    fn pop_any(&mut self) -> Option<Id> {
        self.stack.pop()
    }

    fn takes(&mut self, kind: Kind) -> bool {
        self.pop(kind).is_some()
    }

    /// Pops a type and returns what it is.
    fn pop_type(&mut self) -> Option<Id> {
        let ty = self.pop(Kind::Type)?;
        self.tree.child(ty, 0)
    }

    fn pop_nominal(&mut self) -> Option<Id> {
        let child = self.pop_type()?;
        self.tree.kind(child).is_nominal().then_some(child)
    }

    fn pop_module(&mut self) -> Option<Id> {
        match self.pop(Kind::Identifier) {
            Some(name) => self.tree.with_kind(name, Kind::Module),
            None => self.pop(Kind::Module),
        }
    }

    fn pop_context(&mut self) -> Option<Id> {
        if let Some(module) = self.pop_module() {
            return Some(module);
        }
        if let Some(ty) = self.pop_type() {
            return self.tree.kind(ty).is_context().then_some(ty);
        }
        self.pop_if(Kind::is_context)
    }

    fn pop_name(&mut self) -> Option<Id> {
        self.pop_if(Kind::is_declaration_name)
    }

    fn pop_protocol(&mut self) -> Option<Id> {
        if let Some(ty) = self.pop(Kind::Type) {
            let is_protocol = self.tree.kind(self.tree.unwrapped(ty)) == Kind::Protocol;
            return is_protocol.then_some(ty);
        }
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        self.typed(Kind::Protocol, &[context, name])
    }

    /// Pops elements back to the one that a mark follows, and returns them in order.
    fn pop_list(&mut self, pop: impl Fn(&mut Self) -> Option<Id>) -> Option<Vec<Id>> {
        let mut list = Vec::new();
        if !self.takes(Kind::EmptyList) {
            loop {
                let is_first = self.takes(Kind::FirstElement);
                list.push(pop(self)?);
                if is_first {
                    break;
                }
            }
            list.reverse();
        }
        Some(list)
    }

    // The tree.

    fn node(&mut self, kind: Kind, children: &[Id]) -> Option<Id> {
        self.tree.node(kind, children)
    }

    fn numbered(&mut self, kind: Kind, number: u64) -> Option<Id> {
        self.tree.number(kind, number, &[])
    }

    /// Adds a node and marks it as a type.
    fn typed(&mut self, kind: Kind, children: &[Id]) -> Option<Id> {
        let node = self.tree.node(kind, children)?;
        self.tree.node(Kind::Type, &[node])
    }

    fn as_type(&mut self, node: Id) -> Option<Id> {
        self.tree.node(Kind::Type, &[node])
    }

    fn substitutable(&mut self, node: Id) -> Option<Id> {
        if self.substitutions.len() >= MAX_STACK {
            return None;
        }
        self.substitutions.push(node);
        Some(node)
    }

    /// Reads one operator with its operands.
    fn operator(&mut self) -> Option<Id> {
        let operator = self.next()?;
        match operator {
            b'A' => self.substitution(),
            b'B' => self.builtin(),
            b'C' => self.nominal(Kind::Class),
            b'D' => self.debugger_type(),
            b'E' => self.extension(),
            b'F' => self.function(),
            b'G' => self.bound_generic(),
            b'H' => self.conformance_operator(),
            b'I' => self.impl_function(),
            b'K' => self.node(Kind::Throws, &[]),
            b'L' => self.discriminated_name(),
            b'M' => self.metadata(),
            b'N' => self.about_type("type metadata for "),
            b'O' => self.nominal(Kind::Enum),
            b'P' => self.nominal(Kind::Protocol),
            b'Q' => self.archetype(),
            b'R' => self.requirement(),
            b'S' => self.standard_substitution(),
            b'T' => self.thunk_or_specialization(),
            b'V' => self.nominal(Kind::Structure),
            b'W' => self.witness(),
            b'X' => self.special_type(),
            b'Y' => self.type_annotation(),
            b'Z' => {
                let entity = self.pop_if(Kind::is_entity)?;
                self.node(Kind::Static, &[entity])
            }
            b'a' => self.nominal(Kind::Alias),
            b'c' => self.function_type(""),
            b'd' => self.node(Kind::Variadic, &[]),
            b'f' => self.function_entity(),
            b'g' => self.retroactive_conformance(),
            b'h' => self.modified("__shared "),
            b'i' => self.subscript(),
            b'l' => self.generic_signature(false),
            b'm' => {
                let ty = self.pop(Kind::Type)?;
                self.typed(Kind::Metatype, &[ty])
            }
            b'n' => self.modified("__owned "),
            b'o' => self.operator_name(),
            b'p' => self.protocol_list_type(),
            b'q' => {
                let parameter = self.generic_parameter()?;
                self.as_type(parameter)
            }
            b'r' => self.generic_signature(true),
            b's' => self.tree.text(Kind::Module, "Swift"),
            b't' => self.tuple(),
            b'u' => self.generic_type(),
            b'v' => self.variable(),
            b'w' => self.value_witness(),
            b'x' => {
                let parameter = self.parameter_at(0, 0)?;
                self.as_type(parameter)
            }
            b'y' => self.node(Kind::EmptyList, &[]),
            b'z' => self.modified("inout "),
            b'_' => self.node(Kind::FirstElement, &[]),
            b'$' => self.integer(),
            b'.' => {
                self.at -= 1;
                let rest = self.text.get(self.at..)?;
                self.at = self.text.len();
                self.tree.text(Kind::Suffix, rest)
            }
            b'0'..=b'9' => {
                self.at -= 1;
                self.identifier()
            }
            _ => None,
        }
    }

    /// Makes one node of all that is on the stack.
    fn global(&mut self) -> Option<Id> {
        let suffix = self.pop(Kind::Suffix);
        let mut children = Vec::new();
        while let Some(attribute) = self.pop_if(Kind::is_attribute) {
            children.push(attribute);
        }
        let attributes = children.len();
        for node in std::mem::take(&mut self.stack) {
            let is_mark = matches!(
                self.tree.kind(node),
                Kind::EmptyList | Kind::FirstElement | Kind::Variadic | Kind::Suffix
            );
            if is_mark {
                return None;
            }
            children.push(self.tree.unwrapped(node));
        }
        // What is left of a malformed name makes no sense side by side.
        let is_postfix = |id: &Id| self.tree.kind(*id) == Kind::ReabstractionThunk("global actor");
        let entities = children[attributes..].iter().filter(|id| !is_postfix(id));
        if entities.count() > 1 {
            return None;
        }
        children.extend(suffix);
        if children.is_empty() {
            return None;
        }
        self.node(Kind::Global, &children)
    }
}
