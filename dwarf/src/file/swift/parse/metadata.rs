//! Metadata of types, whose operators begin with `M`.

use super::super::node::{Id, Kind};
use super::Parser;

impl<'a> Parser<'a> {
    pub(super) fn about(&mut self, text: &'static str, what: Id) -> Option<Id> {
        self.node(Kind::About(text, text), &[what])
    }

    pub(super) fn about_type(&mut self, text: &'static str) -> Option<Id> {
        let ty = self.pop(Kind::Type)?;
        self.about(text, ty)
    }

    pub(super) fn about_entity(&mut self, text: &'static str) -> Option<Id> {
        let entity = self.pop_if(Kind::is_entity)?;
        self.about(text, entity)
    }

    fn about_any(&mut self, text: &'static str) -> Option<Id> {
        let node = self.pop_any()?;
        self.about(text, node)
    }

    pub(super) fn about_protocol(&mut self, text: &'static str) -> Option<Id> {
        let protocol = self.pop_protocol()?;
        self.about(text, protocol)
    }

    pub(super) fn about_conformance(&mut self, text: &'static str) -> Option<Id> {
        let conformance = self.pop_conformance()?;
        self.about(text, conformance)
    }

    pub(super) fn metadata(&mut self) -> Option<Id> {
        let of_type = match self.next()? {
            b'a' => "type metadata accessor for ",
            b'b' => "canonical specialized generic type metadata accessor for ",
            b'B' => "reflection metadata builtin descriptor ",
            b'C' => "reflection metadata superclass descriptor ",
            b'D' => "demangling cache variable for type metadata for ",
            b'f' => "full type metadata for ",
            b'F' => "reflection metadata field descriptor ",
            b'i' => "type metadata instantiation function for ",
            b'I' => "type metadata instantiation cache for ",
            b'l' => "type metadata singleton initialization cache for ",
            b'L' => "lazy cache variable for type metadata for ",
            b'm' => "metaclass for ",
            b'M' => "specialized generic metaclass for ",
            b'n' => "nominal type descriptor for ",
            b'N' => "noncanonical specialized generic type metadata for ",
            b'o' => "class metadata base offset for ",
            b'P' => "generic type metadata pattern for ",
            b'r' => "type metadata completion function for ",
            b's' => "ObjC resilient class stub for ",
            b't' => "full ObjC resilient class stub for ",
            b'u' => "method lookup function for ",
            b'U' => "ObjC metadata update function for ",
            b'z' => {
                return self.about_any(
                    "flag for loading of canonical specialized generic type metadata for ",
                );
            }
            b'A' => {
                return self.about_conformance("reflection metadata associated type descriptor ");
            }
            b'c' => return self.about_conformance("protocol conformance descriptor for "),
            b'g' => return self.about_any("opaque type descriptor accessor for "),
            b'h' => return self.about_any("opaque type descriptor accessor impl for "),
            b'j' => return self.about_any("opaque type descriptor accessor key for "),
            b'k' => return self.about_any("opaque type descriptor accessor var for "),
            b'J' => {
                return self.about_any(
                    "cache variable for noncanonical specialized generic type metadata for ",
                );
            }
            b'K' => return self.about_any("metadata instantiation cache for "),
            b'p' => return self.about_protocol("protocol descriptor for "),
            b'q' => return self.about_any("uniquable "),
            b'Q' => return self.about_any("opaque type descriptor for "),
            b'S' => return self.about_protocol("protocol self-conformance descriptor for "),
            b'V' => return self.about_entity("property descriptor for "),
            b'X' => return self.private_context(),
            _ => return None,
        };
        self.about_type(of_type)
    }

    fn private_context(&mut self) -> Option<Id> {
        match self.next()? {
            b'M' => {
                let module = self.pop_module()?;
                self.about("module descriptor ", module)
            }
            b'E' => {
                let context = self.pop_context()?;
                self.about("extension descriptor ", context)
            }
            b'X' => {
                let context = self.pop_context()?;
                self.about("anonymous descriptor ", context)
            }
            b'Y' => {
                // The name is that of a file.
                self.pop_any()?;
                let context = self.pop_context()?;
                self.about("anonymous descriptor ", context)
            }
            _ => None,
        }
    }
}
