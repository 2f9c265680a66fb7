//! Types: builtin ones, tuples, metatypes, existentials, modifiers, archetypes.

use super::super::node::{Id, Kind};
use super::Parser;

/// Largest width of a builtin number or vector that Swift's compiler knows.
const MAX_BUILTIN: u64 = 4096 * 255;

impl Parser<'_> {
    pub(super) fn builtin(&mut self) -> Option<Id> {
        let name = match self.next()? {
            b'b' => "Builtin.BridgeObject",
            b'B' => "Builtin.UnsafeValueBuffer",
            b'e' => "Builtin.Executor",
            b'f' => return self.sized_builtin("Builtin.FPIEEE"),
            b'i' => return self.sized_builtin("Builtin.Int"),
            b'I' => "Builtin.IntLiteral",
            b'v' => return self.vector(),
            b'V' => {
                let element = self.pop(Kind::Type)?;
                let size = self.pop(Kind::Type)?;
                return self.typed(Kind::BuiltinFixedArray, &[size, element]);
            }
            b'O' => "Builtin.UnknownObject",
            b'o' => "Builtin.NativeObject",
            b'p' => "Builtin.RawPointer",
            b'j' => "Builtin.Job",
            b'D' => "Builtin.DefaultActorStorage",
            b'd' => "Builtin.NonDefaultDistributedActorStorage",
            b'c' => "Builtin.RawUnsafeContinuation",
            b't' => "Builtin.SILToken",
            b'T' => "Builtin.TheTupleType",
            b'w' => "Builtin.Word",
            b'P' => "Builtin.PackIndex",
            b'A' => "Builtin.ImplicitActor",
            _ => return None,
        };
        let name = self.tree.text(Kind::Builtin, name)?;
        self.as_type(name)
    }

    fn width(&mut self) -> Option<u64> {
        let width = self.index()?.checked_sub(1)?;
        (1..=MAX_BUILTIN).contains(&width).then_some(width)
    }

    fn sized_builtin(&mut self, prefix: &str) -> Option<Id> {
        let width = self.width()?;
        let name = self.tree.text(Kind::Builtin, format!("{prefix}{width}"))?;
        self.as_type(name)
    }

    fn vector(&mut self) -> Option<Id> {
        let elements = self.width()?;
        let element = self.pop_type()?;
        if self.tree.kind(element) != Kind::Builtin {
            return None;
        }
        let name = self.tree.get(element).text.strip_prefix("Builtin.")?;
        let name = format!("Builtin.Vec{elements}x{name}");
        let vector = self.tree.text(Kind::Builtin, name)?;
        self.as_type(vector)
    }

    /// Reads an integer that is an argument of a generic type.
    pub(super) fn integer(&mut self) -> Option<Id> {
        let sign = if self.take(b'n') { "-" } else { "" };
        let number = self.index()?;
        let text = self.tree.text(Kind::Integer, format!("{sign}{number}"))?;
        self.as_type(text)
    }

    /// Marks the type on the stack by a word.
    pub(super) fn modified(&mut self, word: &'static str) -> Option<Id> {
        let ty = self.pop_type()?;
        self.typed(Kind::Modified(word), &[ty])
    }

    pub(super) fn tuple(&mut self) -> Option<Id> {
        let elements = self.pop_list(|parser| {
            let variadic = parser.pop(Kind::Variadic);
            let mut children: Vec<Id> = variadic.into_iter().collect();
            if let Some(label) = parser.pop(Kind::Identifier) {
                children.push(parser.tree.with_kind(label, Kind::ElementName)?);
            }
            children.push(parser.pop(Kind::Type)?);
            parser.node(Kind::TupleElement, &children)
        })?;
        self.typed(Kind::Tuple, &elements)
    }

    pub(super) fn pop_type_list(&mut self) -> Option<Id> {
        let types = self.pop_list(|parser| parser.pop(Kind::Type))?;
        self.node(Kind::TypeList, &types)
    }

    pub(super) fn pop_protocols(&mut self) -> Option<Id> {
        let protocols = self.pop_list(Parser::pop_protocol)?;
        let list = self.node(Kind::TypeList, &protocols)?;
        self.node(Kind::ProtocolList, &[list])
    }

    pub(super) fn protocol_list_type(&mut self) -> Option<Id> {
        let list = self.pop_protocols()?;
        self.as_type(list)
    }

    pub(super) fn generic_type(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature)?;
        let ty = self.pop(Kind::Type)?;
        self.typed(Kind::GenericType, &[signature, ty])
    }

    pub(super) fn debugger_type(&mut self) -> Option<Id> {
        let ty = self.pop(Kind::Type)?;
        let labels = self.pop_labels(ty);
        let mut children: Vec<Id> = labels.into_iter().collect();
        children.push(ty);
        self.node(Kind::Sugared("debugger"), &children)
    }

    pub(super) fn type_annotation(&mut self) -> Option<Id> {
        match self.next()? {
            b'a' => self.node(Kind::Async, &[]),
            b'A' => self.node(Kind::IsolatedAny, &[]),
            b'b' => self.node(Kind::Sendable, &[]),
            b'c' => {
                let actor = self.pop(Kind::Type)?;
                self.node(Kind::GlobalActor, &[actor])
            }
            b'C' => self.node(Kind::NonisolatedCaller, &[]),
            b'g' => self.modified("@const "),
            b'i' => self.modified("isolated "),
            b'j' => {
                let kind = match self.next()? {
                    b'd' => "@differentiable ",
                    b'f' => "@differentiable(_forward) ",
                    b'r' => "@differentiable(reverse) ",
                    b'l' => "@differentiable(_linear) ",
                    _ => return None,
                };
                self.tree.text(Kind::Differentiable, kind)
            }
            b'k' => self.modified("@noDerivative "),
            b'K' => {
                let error = self.pop(Kind::Type)?;
                self.node(Kind::TypedThrows, &[error])
            }
            b't' => self.modified("_const "),
            b'T' => self.node(Kind::SendingResult, &[]),
            b'u' => self.modified("sending "),
            _ => None,
        }
    }

    /// Reads archetypes: associated types, opaque types, packs.
    pub(super) fn archetype(&mut self) -> Option<Id> {
        match self.next()? {
            b'a' => {
                let name = self.pop(Kind::Identifier)?;
                let base = self.pop_type()?;
                let ty = self.typed(Kind::AssociatedType, &[base, name])?;
                self.substitutable(ty)
            }
            b'O' => {
                let of = self.pop_context()?;
                self.node(Kind::OpaqueReturnOf, &[of])
            }
            b'o' => self.opaque_type(),
            b'r' | b'u' => self.typed(Kind::OpaqueReturn, &[]),
            b'R' | b'U' => {
                let number = self.index()?;
                let node = self.numbered(Kind::OpaqueReturn, number)?;
                self.as_type(node)
            }
            b'x' => self.member(None),
            b'X' => self.member_path(None),
            b'y' => {
                let parameter = self.generic_parameter()?;
                self.member(Some(parameter))
            }
            b'z' => {
                let parameter = self.parameter_at(0, 0)?;
                self.member(Some(parameter))
            }
            b'Y' => {
                let parameter = self.generic_parameter()?;
                self.member_path(Some(parameter))
            }
            b'Z' => {
                let parameter = self.parameter_at(0, 0)?;
                self.member_path(Some(parameter))
            }
            b'e' => {
                let ty = self.pop(Kind::Type)?;
                let level = self.index()?;
                let level = self.numbered(Kind::Number, level)?;
                self.typed(Kind::PackElement, &[ty, level])
            }
            b'p' => {
                let count = self.pop_type()?;
                let pattern = self.pop_type()?;
                self.typed(Kind::PackExpansion, &[pattern, count])
            }
            b'P' => {
                let types = self.pop_list(|parser| parser.pop(Kind::Type))?;
                self.typed(Kind::Pack, &types)
            }
            b'S' => {
                let kind = match self.next()? {
                    b'd' => "@direct ",
                    b'i' => "@indirect ",
                    _ => return None,
                };
                let types = self.pop_list(|parser| parser.pop(Kind::Type))?;
                self.typed(Kind::SilPack(kind), &types)
            }
            _ => None,
        }
    }

    fn opaque_type(&mut self) -> Option<Id> {
        let index = self.index()?;
        let (lists, _) = self.pop_arguments()?;
        let declaration = self.pop_any()?;
        let index = self.numbered(Kind::Number, index)?;
        let mut all = Vec::new();
        for list in lists.iter().rev() {
            all.push(self.node(Kind::TypeList, list)?);
        }
        let all = self.node(Kind::TypeList, &all)?;
        let ty = self.typed(Kind::OpaqueType, &[declaration, index, all])?;
        self.substitutable(ty)
    }
}
