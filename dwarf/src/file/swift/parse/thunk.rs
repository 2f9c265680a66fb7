//! Thunks, and what else the compiler makes of functions: operators that begin with `T`.

use super::super::node::{Id, Kind};
use super::Parser;

impl<'a> Parser<'a> {
    pub(super) fn attribute(&mut self, full: &'static str, short: &'static str) -> Option<Id> {
        self.node(Kind::Attribute(full, short), &[])
    }

    pub(super) fn thunk_or_specialization(&mut self) -> Option<Id> {
        match self.next()? {
            b'c' => self.about_entity("curry thunk of "),
            b'j' => self.about_entity("dispatch thunk of "),
            b'q' => self.about_entity("method descriptor for "),
            b'o' => self.attribute("@objc ", "@objc "),
            b'O' => self.attribute("@nonobjc ", "@nonobjc "),
            b'D' => self.attribute("dynamic ", "dynamic "),
            b'd' => self.attribute("super ", "super "),
            b'E' => self.attribute("distributed thunk ", ""),
            b'F' => self.attribute("distributed accessor for ", ""),
            b'a' => self.attribute("partial apply ObjC forwarder for ", "partial apply for "),
            b'A' => self.attribute("partial apply forwarder for ", "partial apply for "),
            b'm' => self.attribute("merged ", ""),
            b'X' => self.attribute("dynamically replaceable variable for ", ""),
            b'x' => self.attribute("dynamically replaceable key for ", ""),
            b'I' => self.attribute("dynamically replaceable thunk for ", ""),
            b'u' => self.attribute("async function pointer to ", "async function pointer to "),
            b'w' => match self.next()? {
                b'b' => self.attribute("back deployment thunk for ", ""),
                b'B' => self.attribute(
                    "back deployment fallback for ",
                    "back deployment fallback for ",
                ),
                b'S' => self.attribute("#_hasSymbol query for ", "#_hasSymbol query for "),
                b'c' => self.attribute("coro function pointer to ", "coro function pointer to "),
                b'd' => self.attribute("default override of ", "default override of "),
                _ => None,
            },
            b'Q' => self.resumption("await resume partial function for "),
            b'Y' => self.resumption("suspend resume partial function for "),
            b'C' => self.about_type("coroutine continuation prototype for "),
            b'V' => {
                let base = self.pop_if(Kind::is_entity)?;
                let derived = self.pop_if(Kind::is_entity)?;
                self.node(Kind::VtableThunk, &[derived, base])
            }
            b'W' => {
                let entity = self.pop_if(Kind::is_entity)?;
                let conformance = self.pop_conformance()?;
                self.node(Kind::ProtocolWitness, &[conformance, entity])
            }
            b'S' => self.about_entity("protocol self-conformance witness for "),
            b'R' => self.reabstraction("reabstraction thunk helper "),
            b'r' => self.reabstraction("reabstraction thunk "),
            b'y' => self.thunk_with_self(),
            b'U' => {
                let actor = self.pop(Kind::Type)?;
                self.node(Kind::ReabstractionThunk("global actor"), &[actor])
            }
            b'z' => self.completion_handler("@objc completion handler block implementation for "),
            b'Z' => self
                .completion_handler("checked @objc completion handler block implementation for "),
            b'K' => self.key_path_accessor("key path getter for "),
            b'k' => match (self.peek(), self.text.as_bytes().get(self.at + 1)) {
                (Some(b'm'), Some(b'u')) => {
                    self.at += 2;
                    self.key_path_accessor("key path unapplied method ")
                }
                (Some(b'M'), Some(b'A')) => {
                    self.at += 2;
                    self.key_path_accessor("key path applied method ")
                }
                _ => self.key_path_accessor("key path setter for "),
            },
            b'H' => self.key_path_operator("key path index equality operator for "),
            b'h' => self.key_path_operator("key path index hash operator for "),
            b'L' => self.about_protocol("protocol requirements base descriptor for "),
            b'l' => self.about_member("associated type descriptor for "),
            b'M' => self.about_member("default associated type metadata accessor for "),
            b'n' => self.associated_conformance("associated conformance descriptor for "),
            b'N' => self.associated_conformance("default associated conformance accessor for "),
            b'b' => {
                let requirement = self.pop_protocol()?;
                let protocol = self.pop_protocol()?;
                self.node(Kind::BaseConformance, &[protocol, requirement])
            }
            b'v' => {
                let number = self.index()?;
                let (full, short) = match self.take(b'r') {
                    true => ("outlined read-only object #", " of "),
                    false => ("outlined variable #", " of "),
                };
                let kind = Kind::NumberedAttribute(full, short);
                self.numbered(kind, number)
            }
            b'e' => {
                let start = self.at;
                while matches!(self.peek(), Some(b'a'..=b'z')) {
                    self.at += 1;
                }
                let kind = self
                    .text
                    .get(start..self.at)
                    .filter(|kind| kind.len() > 1)?;
                let is_known = kind.bytes().all(|it| b"mapnbog".contains(&it));
                if !self.take(b'_') || !is_known {
                    return None;
                }
                let text = self.tree.text(Kind::Text, kind)?;
                self.node(Kind::Attribute("outlined bridged method (", ""), &[text])
            }
            b'J' => self.autodiff(),
            b'f' => self.signature_specialization(),
            letter @ (b'g' | b'G' | b'B' | b's' | b'i' | b't' | b'p' | b'P') => {
                self.specialization(letter)
            }
            _ => None,
        }
    }

    fn resumption(&mut self, text: &'static str) -> Option<Id> {
        let number = self.index()?;
        self.numbered(Kind::NumberedAttribute("(", text), number)
    }

    fn reabstraction(&mut self, text: &'static str) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let to = self.pop(Kind::Type)?;
        let from = self.pop(Kind::Type)?;
        let mut children: Vec<Id> = signature.into_iter().collect();
        children.extend([to, from]);
        self.node(Kind::ReabstractionThunk(text), &children)
    }

    fn thunk_with_self(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let own = self.pop(Kind::Type)?;
        let to = self.pop(Kind::Type)?;
        let from = self.pop(Kind::Type)?;
        let mut children: Vec<Id> = signature.into_iter().collect();
        children.extend([own, to, from]);
        self.node(Kind::ThunkWithSelf, &children)
    }

    fn completion_handler(&mut self, text: &'static str) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let result = self.pop(Kind::Type)?;
        let block = self.pop(Kind::Type)?;
        let mut children = vec![block, result];
        children.extend(signature);
        // A number tells which flag of the block says whether an error was passed.
        if matches!(self.peek(), Some(b'_' | b'0'..=b'9')) {
            let flag = self.index()?;
            children.push(self.numbered(Kind::Number, flag)?);
        }
        self.node(Kind::CompletionHandler(text), &children)
    }

    fn key_path_accessor(&mut self, text: &'static str) -> Option<Id> {
        let is_serialized = self.take(b'q');
        let mut types = Vec::new();
        let mut signature = None;
        let storage = loop {
            let node = self.pop_any()?;
            match self.tree.kind(node) {
                Kind::Type => types.push(node),
                Kind::GenericSignature if signature.is_none() => signature = Some(node),
                _ => break node,
            }
            if signature.is_some() {
                break self.pop_any()?;
            }
        };
        if types.is_empty() {
            return None;
        }
        let mut children = vec![storage];
        children.extend(signature);
        children.extend(types.into_iter().rev());
        if is_serialized {
            children.push(self.node(Kind::Serialized, &[])?);
        }
        self.node(Kind::KeyPath(text), &children)
    }

    fn key_path_operator(&mut self, text: &'static str) -> Option<Id> {
        let is_serialized = self.take(b'q');
        let signature = self.pop(Kind::GenericSignature);
        let mut types = Vec::new();
        while let Some(ty) = self.pop(Kind::Type) {
            types.push(ty);
        }
        if types.is_empty() {
            return None;
        }
        let mut children: Vec<Id> = signature.into_iter().collect();
        children.extend(types.into_iter().rev());
        if is_serialized {
            children.push(self.node(Kind::Serialized, &[])?);
        }
        self.node(Kind::KeyPath(text), &children)
    }

    fn about_member(&mut self, text: &'static str) -> Option<Id> {
        let protocol = self.pop(Kind::Type);
        let name = self.pop(Kind::Identifier)?;
        let mut children = vec![name];
        children.extend(protocol);
        let member = self.node(Kind::MemberName, &children)?;
        self.about(text, member)
    }

    fn associated_conformance(&mut self, text: &'static str) -> Option<Id> {
        let requirement = self.pop_protocol()?;
        // A generic parameter is a type; names of associated types may have a protocol on top.
        let top = self.tree.kind(self.tree.unwrapped(*self.stack.last()?));
        let path = match top {
            Kind::Identifier | Kind::Protocol | Kind::FirstElement => self.pop_associated_path()?,
            _ => self.pop(Kind::Type)?,
        };
        let protocol = self.pop(Kind::Type)?;
        self.node(
            Kind::AssociatedConformance(text),
            &[protocol, path, requirement],
        )
    }
}
