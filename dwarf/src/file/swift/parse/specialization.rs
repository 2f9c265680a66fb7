//! Specialized functions.

use super::super::node::{Id, Kind};
use super::Parser;

/// What is known of an argument before its operands are popped.
enum Argument<'a> {
    Text(String),
    Closure,
    Function,
    Global,
    Text8(&'static str),
    KeyPath,
    Unchanged,
    Closed(&'a str),
}

impl<'a> Parser<'a> {
    /// Reads what all specializations have: whether callers in other modules may use the function, and which
    /// pass made it.
    fn specialization_head(&mut self) -> Option<(bool, bool)> {
        let is_serialized = self.take(b'q');
        let is_changed = match self.take(b'a') {
            true => false,
            false => self.take(b'r'),
        };
        let pass = self.next()?;
        pass.is_ascii_digit().then_some((is_serialized, is_changed))
    }

    pub(super) fn specialization(&mut self, letter: u8) -> Option<Id> {
        let mut letter = letter;
        while letter == b't' {
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                self.natural()?;
            }
            letter = self.next()?;
        }
        let text = match letter {
            b'g' | b'B' => "generic specialization",
            b'G' => "generic not re-abstracted specialization",
            b's' => "generic pre-specialization",
            b'i' => "inlined generic function",
            b'p' => "generic partial specialization",
            b'P' => "generic not-reabstracted partial specialization",
            _ => return None,
        };
        let (is_serialized, is_changed) = self.specialization_head()?;
        let types = match letter {
            b'p' | b'P' => vec![self.pop(Kind::Type)?],
            _ => {
                let list = self.pop_type_list()?;
                self.tree.children(list).to_vec()
            }
        };
        let mut children = Vec::new();
        if is_serialized {
            children.push(self.node(Kind::Serialized, &[])?);
        }
        children.extend(types);
        if is_changed {
            return self.attribute("representation changed of ", "specialized ");
        }
        self.node(Kind::Specialization(text), &children)
    }

    pub(super) fn signature_specialization(&mut self) -> Option<Id> {
        let (is_serialized, is_changed) = self.specialization_head()?;
        let mut arguments = Vec::new();
        while !self.take(b'_') {
            if self.at >= self.text.len() {
                return None;
            }
            arguments.push(self.argument_kind()?);
        }
        let result = self.argument_kind()?;
        // Operands of the last argument are on top.
        let mut nodes = Vec::new();
        if let Some(node) = self.argument("Return", result)? {
            nodes.push(node);
        }
        for (index, argument) in arguments.into_iter().enumerate().rev() {
            if let Some(node) = self.argument(&format!("Arg[{index}]"), argument)? {
                nodes.push(node);
            }
        }
        if is_serialized {
            nodes.push(self.node(Kind::Serialized, &[])?);
        }
        nodes.reverse();
        if is_changed {
            return self.attribute("representation changed of ", "specialized ");
        }
        self.node(Kind::SignatureSpecialization, &nodes)
    }

    fn argument_kind(&mut self) -> Option<Argument<'a>> {
        let first = match self.next()? {
            b'n' => return Some(Argument::Unchanged),
            b'c' => return Some(Argument::Closure),
            b'C' => {
                let start = self.at;
                self.natural()?;
                return Some(Argument::Closed(self.text.get(start..self.at)?));
            }
            b'p' => return self.constant_kind(),
            b'e' => "Existential To Protocol Constrained Generic",
            b'd' => "Dead",
            b'g' => "Owned To Guaranteed",
            b'o' => "Guaranteed To Owned",
            b'x' => return Some(Argument::Text("Exploded".to_owned())),
            b'i' => return Some(Argument::Text("Value Promoted from Box".to_owned())),
            b's' => return Some(Argument::Text("Stack Promoted from Box".to_owned())),
            b'r' => return Some(Argument::Text("InOut Converted to Out".to_owned())),
            _ => return None,
        };
        let mut text = first.to_owned();
        let is_existential = first.starts_with('E');
        let is_dead = first == "Dead";
        if is_existential && self.take(b'D') {
            text.push_str(" and Dead");
        }
        if (is_existential || is_dead) && self.take(b'G') {
            text.push_str(" and Owned To Guaranteed");
        }
        if (is_existential || is_dead) && self.take(b'O') {
            text.push_str(" and Guaranteed To Owned");
        }
        if self.take(b'X') {
            text.push_str(" and Exploded");
        }
        Some(Argument::Text(text))
    }

    fn constant_kind(&mut self) -> Option<Argument<'a>> {
        Some(match self.next()? {
            b'f' => Argument::Function,
            b'g' => Argument::Global,
            b'i' => Argument::Text(format!(
                "[Constant Propagated Integer : {}]",
                self.natural_text()?
            )),
            b'd' => Argument::Text(format!(
                "[Constant Propagated Float : {}]",
                self.natural_text()?
            )),
            b's' => Argument::Text8(match self.next()? {
                b'b' => "u8",
                b'w' => "u16",
                b'c' => "objc",
                _ => return None,
            }),
            b'k' => Argument::KeyPath,
            _ => return None,
        })
    }

    fn natural_text(&mut self) -> Option<&'a str> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.text
            .get(start..self.at)
            .filter(|text| !text.is_empty())
    }

    fn piece(&mut self, text: impl Into<std::borrow::Cow<'a, str>>) -> Option<Id> {
        self.tree.text(Kind::Text, text)
    }

    /// Pops the name of a symbol, which may be mangled itself.
    fn pop_symbol(&mut self) -> Option<Id> {
        let identifier = self.pop(Kind::Identifier)?;
        let name = self.tree.get(identifier).text.clone();
        self.tree.text(Kind::SpecializedArgument, name)
    }

    /// Pops an argument's operands and returns its text in pieces; `Some(None)` if it is unchanged.
    fn argument(&mut self, which: &str, argument: Argument<'a>) -> Option<Option<Id>> {
        let mut pieces = vec![self.piece(format!("{which} = "))?];
        match argument {
            Argument::Unchanged => return Some(None),
            Argument::Text(text) => pieces.push(self.piece(text)?),
            Argument::Closed(of) => {
                pieces.push(self.piece(format!("Same As Argument {of}"))?);
            }
            Argument::Function => {
                let symbol = self.pop_symbol()?;
                pieces.push(self.piece("[Constant Propagated Function : ")?);
                pieces.push(symbol);
                pieces.push(self.piece("]")?);
            }
            Argument::Global => {
                let symbol = self.pop_symbol()?;
                pieces.push(self.piece("[Constant Propagated Global : ")?);
                pieces.push(symbol);
                pieces.push(self.piece("]")?);
            }
            Argument::Text8(encoding) => {
                let identifier = self.pop(Kind::Identifier)?;
                let text = self.tree.get(identifier).text.clone();
                // An underscore is inserted where a digit or underscore would follow the length.
                let text = text.strip_prefix('_').unwrap_or(&text);
                pieces.push(
                    self.piece(format!("[Constant Propagated String : {encoding}'{text}']"))?,
                );
            }
            Argument::KeyPath => {
                let value = self.pop(Kind::Type)?;
                let root = self.pop(Kind::Type)?;
                let symbol = self.pop_symbol()?;
                pieces.push(self.piece("[Constant Propagated KeyPath : ")?);
                pieces.push(symbol);
                pieces.push(self.piece("<")?);
                pieces.push(root);
                pieces.push(self.piece(",")?);
                pieces.push(value);
                pieces.push(self.piece(">]")?);
            }
            Argument::Closure => {
                let mut types = Vec::new();
                while let Some(ty) = self.pop(Kind::Type) {
                    types.push(ty);
                }
                types.reverse();
                let symbol = self.pop(Kind::Identifier)?;
                pieces.push(self.piece("[Closure Propagated : ")?);
                pieces.push(symbol);
                pieces.push(self.piece(", Argument Types : [")?);
                for (index, ty) in types.into_iter().enumerate() {
                    if index > 0 {
                        pieces.push(self.piece(", ")?);
                    }
                    pieces.push(ty);
                }
                pieces.push(self.piece("]")?);
            }
        }
        self.node(Kind::SpecializationType, &pieces).map(Some)
    }
}
