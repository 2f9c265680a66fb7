//! Functions without a name of their own: initializers, closures, default arguments, macros.

use super::super::node::{Id, Kind};
use super::Parser;

impl Parser<'_> {
    pub(super) fn function_entity(&mut self) -> Option<Id> {
        match self.next()? {
            b'D' => self.untyped(Kind::Deallocator),
            b'Z' => self.untyped(Kind::IsolatedDeallocator),
            b'd' => self.untyped(Kind::Destructor),
            b'E' => self.untyped(Kind::Special("__ivar_destroyer")),
            b'e' => self.untyped(Kind::Special("__ivar_initializer")),
            b'i' => self.untyped(Kind::Initializer("variable initialization expression")),
            b'P' => self.untyped(Kind::Initializer("property wrapper backing initializer")),
            b'W' => self.untyped(Kind::Initializer(
                "property wrapper init from projected value",
            )),
            b'F' => self.untyped(Kind::Initializer("property wrapped field init accessor")),
            b'C' => self.initializer(Kind::Allocator),
            b'c' => self.initializer(Kind::Constructor),
            b'U' => self.closure("closure #"),
            b'u' => self.closure("implicit closure #"),
            b'A' => {
                let index = self.index()?;
                let index = self.numbered(Kind::Number, index)?;
                let context = self.pop_context()?;
                self.node(Kind::DefaultArgument, &[context, index])
            }
            b'a' => self.untyped(Kind::Initializer("runtime attribute generator")),
            b'm' => self.macro_declaration(),
            b'M' => self.macro_expansion(),
            b'p' => self.named(Kind::GenericParameterDecl),
            b'o' => self.named(Kind::EnumCase),
            _ => None,
        }
    }

    fn untyped(&mut self, kind: Kind) -> Option<Id> {
        let context = self.pop_context()?;
        self.node(kind, &[context])
    }

    fn initializer(&mut self, kind: Kind) -> Option<Id> {
        let private = self.pop(Kind::PrivateName);
        let ty = self.pop(Kind::Type)?;
        let labels = self.pop_labels(ty);
        let context = self.pop_context()?;
        self.declaration(kind, context, &[labels, Some(ty), private])
    }

    fn closure(&mut self, text: &'static str) -> Option<Id> {
        let number = self.index()?;
        let number = self.numbered(Kind::Number, number)?;
        let ty = self.pop(Kind::Type)?;
        let context = self.pop_context()?;
        self.node(Kind::Closure(text), &[context, number, ty])
    }

    fn macro_declaration(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let mut ty = self.pop(Kind::Type)?;
        let labels = self.pop_labels(ty);
        if let Some(signature) = signature {
            ty = self.typed(Kind::GenericType, &[signature, ty])?;
        }
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        self.declaration(Kind::Macro, context, &[Some(name), labels, Some(ty)])
    }

    fn macro_expansion(&mut self) -> Option<Id> {
        let (text, is_attached) = match self.next()? {
            b'a' => ("accessor", true),
            b'r' => ("memberAttribute", true),
            b'm' => ("member", true),
            b'p' => ("peer", true),
            b'c' => ("conformance", true),
            b'e' => ("extension", true),
            b'q' => ("preamble", true),
            b'b' => ("body", true),
            b'f' => ("freestanding", false),
            b'u' => ("unique name", false),
            _ => return None,
        };
        let name = self.pop(Kind::Identifier)?;
        let declaration = match is_attached {
            true => Some(self.pop_name()?),
            false => self.pop(Kind::PrivateName),
        };
        let context = self.pop_context()?;
        let number = self.index()?;
        let number = self.numbered(Kind::Number, number)?;
        let parts = [declaration, Some(name), Some(number)];
        self.declaration(Kind::MacroExpansion(text), context, &parts)
    }
}
