//! Conformances of types to protocols, and the operators that begin with `H`.

use super::super::node::{Id, Kind};
use super::Parser;

impl Parser<'_> {
    /// Pops the conformance that a witness table is for.
    pub(super) fn pop_conformance(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let module = self.pop_module()?;
        let protocol = self.pop_protocol()?;
        let mut ty = self.pop(Kind::Type);
        let mut behavior = None;
        if ty.is_none() {
            behavior = Some(self.pop(Kind::Identifier)?);
            ty = self.pop(Kind::Type);
        }
        let mut ty = ty?;
        if let Some(signature) = signature {
            ty = self.typed(Kind::GenericType, &[signature, ty])?;
        }
        let mut children = vec![ty, protocol, module];
        children.extend(behavior);
        self.node(Kind::Conformance, &children)
    }

    pub(super) fn conformance_operator(&mut self) -> Option<Id> {
        match self.next()? {
            b'A' => {
                let index = self.conformance_index()?;
                let protocol = self.pop_protocol()?;
                let ty = self.pop(Kind::Type)?;
                let outer = self.pop_if(Kind::is_conformance)?;
                let kind = Kind::OtherConformance("dependent associated protocol conformance ");
                self.node(kind, &[index, outer, ty, protocol])
            }
            b'C' => self.concrete_conformance(),
            b'D' => {
                let index = self.conformance_index()?;
                let protocol = self.pop_protocol()?;
                let ty = self.pop(Kind::Type)?;
                let kind = Kind::OtherConformance("dependent root protocol conformance ");
                self.node(kind, &[index, ty, protocol])
            }
            b'I' => {
                let index = self.conformance_index()?;
                let protocol = self.pop_protocol()?;
                let outer = self.pop_if(Kind::is_conformance)?;
                let kind = Kind::OtherConformance("dependent inherited protocol conformance ");
                self.node(kind, &[index, outer, protocol])
            }
            b'O' => {
                let ty = self.pop(Kind::Type)?;
                let outer = self.pop_if(Kind::is_conformance)?;
                let kind = Kind::OtherConformance("opaque result conformance ");
                self.node(kind, &[outer, ty])
            }
            b'P' => self.conformance_ref("protocol conformance ref (type's module) "),
            b'p' => self.conformance_ref("protocol conformance ref (protocol's module) "),
            b'X' => {
                let list = self.pop_conformances()?;
                self.node(
                    Kind::OtherConformance("pack protocol conformance "),
                    &[list],
                )
            }
            b'c' => {
                let conformance = self.pop_conformance()?;
                self.about(
                    "protocol conformance descriptor runtime record for ",
                    conformance,
                )
            }
            b'n' => self.about_type("nominal type descriptor runtime record for "),
            b'o' => {
                let entity = self.pop_any()?;
                self.about("opaque type descriptor runtime record for ", entity)
            }
            b'r' => {
                let protocol = self.pop_protocol()?;
                self.about("protocol descriptor runtime record for ", protocol)
            }
            b'F' => self.attribute("accessible function runtime record for ", ""),
            _ => None,
        }
    }

    fn conformance_index(&mut self) -> Option<Id> {
        let index = self.index()?;
        self.numbered(Kind::Number, index)
    }

    fn conformance_ref(&mut self, text: &'static str) -> Option<Id> {
        let protocol = self.pop_protocol()?;
        self.node(Kind::ConformanceRef(text), &[protocol])
    }

    fn pop_conformances(&mut self) -> Option<Id> {
        let list = self.pop_list(|parser| parser.pop_if(Kind::is_conformance))?;
        self.node(Kind::ConformanceList, &list)
    }

    fn concrete_conformance(&mut self) -> Option<Id> {
        let conditional = self.pop_conformances()?;
        let reference = match self.pop_if(|kind| matches!(kind, Kind::ConformanceRef(_))) {
            Some(reference) => reference,
            None => {
                let module = self.pop_module()?;
                let protocol = self.pop_protocol()?;
                let kind = Kind::ConformanceRef("protocol conformance ref (retroactive) ");
                self.node(kind, &[protocol, module])?
            }
        };
        let ty = self.pop(Kind::Type)?;
        self.node(Kind::ConcreteConformance, &[ty, reference, conditional])
    }

    pub(super) fn retroactive_conformance(&mut self) -> Option<Id> {
        let index = self.conformance_index()?;
        let conformance = self.pop_if(Kind::is_conformance)?;
        self.node(Kind::RetroactiveConformance, &[index, conformance])
    }
}
