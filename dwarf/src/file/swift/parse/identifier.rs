//! Identifiers, which refer to words of earlier ones, and names made of them.

use super::super::node::{Id, Kind};
use super::super::punycode;
use super::Parser;
use std::borrow::Cow;

/// Words of a name that later identifiers can refer to, by one letter each.
const MAX_WORDS: usize = 26;
/// Maximum length of an identifier: words can expand a short one.
const MAX_IDENTIFIER: usize = 1 << 13;

impl<'a> Parser<'a> {
    pub(super) fn identifier(&mut self) -> Option<Id> {
        let text = self.identifier_text()?;
        let node = self.tree.text(Kind::Identifier, text)?;
        self.substitutable(node)
    }

    fn identifier_text(&mut self) -> Option<Cow<'a, str>> {
        if !self.take(b'0') {
            let length = self.natural()?;
            let text = self.slice(length).filter(|text| !text.is_empty())?;
            self.note_words(text);
            return Some(Cow::Borrowed(text));
        }
        if self.take(b'0') {
            let length = self.natural()?;
            self.take(b'_');
            return punycode::decode(self.slice(length)?).map(Cow::Owned);
        }
        let mut text = String::new();
        loop {
            let mut is_last = false;
            while let Some(letter) = self.peek().filter(u8::is_ascii_alphabetic) {
                self.at += 1;
                let word = usize::from(letter.to_ascii_lowercase() - b'a');
                text.push_str(self.words.get(word)?);
                if letter.is_ascii_uppercase() {
                    is_last = true;
                    break;
                }
            }
            if self.take(b'0') {
                break;
            }
            let length = self.natural()?;
            let part = self.slice(length).filter(|part| !part.is_empty())?;
            self.note_words(part);
            text.push_str(part);
            if text.len() > MAX_IDENTIFIER {
                return None;
            }
            if is_last {
                break;
            }
        }
        (!text.is_empty()).then_some(Cow::Owned(text))
    }

    /// Remembers the words of an identifier: they begin at capitals and behind underscores.
    fn note_words(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut start = None;
        for at in 0..=bytes.len() {
            let byte = bytes.get(at).copied().unwrap_or(b'_');
            let before = at.checked_sub(1).map_or(b'_', |at| bytes[at]);
            let ends = byte == b'_' || byte.is_ascii_uppercase() && !before.is_ascii_uppercase();
            if let Some(from) = start
                && ends
            {
                if at - from >= 2 && self.words.len() < MAX_WORDS {
                    self.words.extend(text.get(from..at).map(str::to_owned));
                }
                start = None;
            }
            if start.is_none() && byte != b'_' && !byte.is_ascii_digit() {
                start = Some(at);
            }
        }
    }

    /// Reads an operator's name, whose characters are letters in the identifier.
    pub(super) fn operator_name(&mut self) -> Option<Id> {
        let identifier = self.pop(Kind::Identifier)?;
        let text = self.tree.get(identifier).text.clone();
        let mut name = String::with_capacity(text.len());
        for letter in text.chars() {
            name.push(match letter {
                'a' => '&',
                'c' => '@',
                'd' => '/',
                'e' => '=',
                'g' => '>',
                'l' => '<',
                'm' => '*',
                'n' => '!',
                'o' => '|',
                'p' => '+',
                'q' => '?',
                'r' => '%',
                's' => '-',
                't' => '~',
                'x' => '^',
                'z' => '.',
                other if !other.is_ascii() => other,
                _ => return None,
            });
        }
        let position = match self.next()? {
            b'i' => " infix",
            b'p' => " prefix",
            b'P' => " postfix",
            _ => return None,
        };
        self.tree.text(Kind::Operator(position), name)
    }

    /// Reads what tells declarations of the same name apart.
    pub(super) fn discriminated_name(&mut self) -> Option<Id> {
        match self.peek()? {
            b'L' => {
                self.at += 1;
                let file = self.pop(Kind::Identifier)?;
                let name = self.pop_name()?;
                self.node(Kind::PrivateName, &[file, name])
            }
            b'l' => {
                self.at += 1;
                let file = self.pop(Kind::Identifier)?;
                self.node(Kind::PrivateName, &[file])
            }
            b'a'..=b'j' | b'A'..=b'J' => {
                let text = self.slice(1)?;
                let name = self.pop_name()?;
                self.tree.text_with(Kind::RelatedName, text, &[name])
            }
            _ => {
                let number = self.index()?;
                let number = self.numbered(Kind::Number, number)?;
                let name = self.pop_name()?;
                self.node(Kind::LocalName, &[number, name])
            }
        }
    }
}
