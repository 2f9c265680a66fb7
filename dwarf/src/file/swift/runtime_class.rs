//! Names that Swift gives its classes in the runtime of Objective-C, as Swift 3 mangled them:
//! `_TtCV4main5Outer5Inner` is a class `Inner` in a struct `Outer`. Of Swift 3 no other names are still in use.

use super::node::{Id, Kind, Tree};
use super::punycode;
use std::borrow::Cow;

/// Maximum nesting of types.
const MAX_NESTING: usize = 32;

/// Reads what follows `_Tt`. Generic and local types are not known.
pub(super) fn parse(mangled: &str) -> Option<(Tree<'_>, Id)> {
    let mut tree = Tree::default();
    let mut rest = Rest(mangled);
    let mut kinds = Vec::new();
    while let Some(kind) = rest.kind() {
        if kinds.len() >= MAX_NESTING {
            return None;
        }
        kinds.push(kind);
    }
    let is_protocol = kinds.first() == Some(&Kind::Protocol);
    let module = match rest.take("s") {
        true => Cow::Borrowed("Swift"),
        false => rest.identifier()?,
    };
    let mut ty = tree.text(Kind::Module, module)?;
    for kind in kinds.into_iter().rev() {
        let file = match rest.take("P") {
            true => Some(rest.identifier()?),
            false => None,
        };
        let name = rest.identifier()?;
        let mut name = tree.text(Kind::Identifier, name)?;
        if let Some(file) = file {
            let file = tree.text(Kind::Identifier, file)?;
            name = tree.node(Kind::PrivateName, &[file, name])?;
        }
        ty = tree.node(kind, &[ty, name])?;
    }
    if is_protocol && !rest.take("_") {
        return None;
    }
    (rest.0.is_empty() && tree.kind(ty) != Kind::Module).then_some((tree, ty))
}

/// The rest of a mangled name.
struct Rest<'a>(&'a str);

impl<'a> Rest<'a> {
    fn take(&mut self, text: &str) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn kind(&mut self) -> Option<Kind> {
        let kind = match self.0.as_bytes().first()? {
            b'C' => Kind::Class,
            b'V' => Kind::Structure,
            b'O' => Kind::Enum,
            b'P' => Kind::Protocol,
            _ => return None,
        };
        self.0 = self.0.get(1..)?;
        Some(kind)
    }

    /// Reads a length and as many bytes, which `X` says are in Punycode.
    fn identifier(&mut self) -> Option<Cow<'a, str>> {
        let is_encoded = self.take("X");
        let digits = self.0.bytes().take_while(u8::is_ascii_digit).count();
        let (length, rest) = self.0.split_at_checked(digits)?;
        let (text, rest) = rest.split_at_checked(length.parse().ok()?)?;
        self.0 = rest;
        match is_encoded {
            true => punycode::decode(text).map(Cow::Owned),
            false => (!text.is_empty()).then_some(Cow::Borrowed(text)),
        }
    }
}
