//! Types whose operators begin with `X`.

use super::super::node::{Id, Kind};
use super::Parser;

impl Parser<'_> {
    pub(super) fn special_type(&mut self) -> Option<Id> {
        match self.next()? {
            b'E' => self.function_type(""),
            b'A' | b'K' => self.function_type("@autoclosure "),
            b'f' => self.function_type("@convention(thin) "),
            b'U' => self.function_type(""),
            b'L' => self.function_type("@escaping @convention(block) "),
            b'B' => self.function_type("@convention(block) "),
            b'C' => self.function_type("@convention(c) "),
            b'O' => self.function_type("@called(once) "),
            b'z' => match self.next()? {
                b'B' => self.foreign_function_type("@convention(block"),
                b'C' => self.foreign_function_type("@convention(c"),
                _ => None,
            },
            b'o' => self.modified("unowned "),
            b'u' => self.modified("unowned(unsafe) "),
            b'w' => self.modified("weak "),
            b'b' => self.modified("@box "),
            b'D' => {
                let ty = self.pop(Kind::Type)?;
                self.typed(Kind::DynamicSelf, &[ty])
            }
            b'M' => self.represented(Kind::Metatype),
            b'm' => self.represented(Kind::ExistentialMetatype),
            b'p' => {
                let ty = self.pop(Kind::Type)?;
                self.typed(Kind::ExistentialMetatype, &[ty])
            }
            b'c' => {
                let class = self.pop(Kind::Type)?;
                let protocols = self.pop_protocols()?;
                self.typed(Kind::ProtocolListWithClass, &[protocols, class])
            }
            b'l' => {
                let protocols = self.pop_protocols()?;
                self.typed(Kind::ProtocolListWithAnyObject, &[protocols])
            }
            b'P' => self.constrained_existential(),
            b'g' => {
                let ty = self.pop(Kind::Type)?;
                self.node(Kind::ExistentialShape, &[ty])
            }
            b'G' => {
                let ty = self.pop(Kind::Type)?;
                let signature = self.pop(Kind::GenericSignature)?;
                self.node(Kind::ExistentialShape, &[signature, ty])
            }
            b'X' => self.box_with_layout(true),
            b'x' => self.box_with_layout(false),
            b'Y' => self.nominal(Kind::OtherNominal),
            b'Z' => {
                let arguments = self.pop_type_list()?;
                let name = self.pop(Kind::Identifier)?;
                let parent = self.pop_context()?;
                self.node(Kind::AnonymousContext, &[name, parent, arguments])
            }
            b'e' => self.typed(Kind::Error, &[]),
            b'S' => self.sugared(),
            _ => None,
        }
    }

    fn sugared(&mut self) -> Option<Id> {
        let (kind, types) = match self.next()? {
            b'q' => ("optional", 1),
            b'a' => ("array", 1),
            b'D' => ("dictionary", 2),
            b'A' => ("inline array", 2),
            b'p' => ("paren", 1),
            _ => return None,
        };
        let mut children = Vec::new();
        for _ in 0..types {
            children.push(self.pop(Kind::Type)?);
        }
        children.reverse();
        self.typed(Kind::Sugared(kind), &children)
    }

    fn represented(&mut self, kind: Kind) -> Option<Id> {
        let representation = match self.next()? {
            b't' => "@thin ",
            b'T' => "@thick ",
            b'o' => "@objc_metatype ",
            _ => return None,
        };
        let representation = self
            .tree
            .text(Kind::MetatypeRepresentation, representation)?;
        let ty = self.pop(Kind::Type)?;
        self.typed(kind, &[representation, ty])
    }

    fn constrained_existential(&mut self) -> Option<Id> {
        let requirements = self.pop_list(|parser| parser.pop_if(Kind::is_requirement))?;
        let requirements = self.node(Kind::ConstrainedExistentialRequirements, &requirements)?;
        let base = self.pop(Kind::Type)?;
        self.typed(Kind::ConstrainedExistential, &[base, requirements])
    }

    /// Reads the type of a box of captured variables.
    fn box_with_layout(&mut self, is_generic: bool) -> Option<Id> {
        let generic = match is_generic {
            true => {
                let signature = self.pop(Kind::GenericSignature)?;
                let arguments = self.pop_type_list()?;
                Some([signature, arguments])
            }
            false => None,
        };
        let fields = self.pop_type_list()?;
        let types = self.tree.children(fields).to_vec();
        let mut fields = Vec::new();
        for ty in types {
            let inner = self.tree.unwrapped(ty);
            let (is_variable, ty) = match self.tree.kind(inner) {
                Kind::Modified("inout ") => (1, self.tree.child(inner, 0)?),
                _ => (0, inner),
            };
            fields.push(self.tree.number(Kind::SilBoxField, is_variable, &[ty])?);
        }
        let layout = self.node(Kind::SilBoxLayout, &fields)?;
        let mut children = vec![layout];
        children.extend(generic.into_iter().flatten());
        self.typed(Kind::SilBox, &children)
    }
}
