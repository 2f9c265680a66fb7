//! Witnesses: value witnesses, and operators that begin with `W`.

use super::super::node::{Id, Kind};
use super::Parser;

impl Parser<'_> {
    pub(super) fn value_witness(&mut self) -> Option<Id> {
        let name = match (self.next()?, self.next()?) {
            (b'a', b'l') => "allocateBuffer",
            (b'c', b'a') => "assignWithCopy",
            (b't', b'a') => "assignWithTake",
            (b'd', b'e') => "deallocateBuffer",
            (b'x', b'x') => "destroy",
            (b'X', b'X') => "destroyBuffer",
            (b'X', b'x') => "destroyArray",
            (b'C', b'P') => "initializeBufferWithCopyOfBuffer",
            (b'C', b'p') => "initializeBufferWithCopy",
            (b'c', b'p') => "initializeWithCopy",
            (b'T', b'K') => "initializeBufferWithTakeOfBuffer",
            (b'T', b'k') => "initializeBufferWithTake",
            (b't', b'k') => "initializeWithTake",
            (b'p', b'r') => "projectBuffer",
            (b'x', b's') => "storeExtraInhabitant",
            (b'x', b'g') => "getExtraInhabitantIndex",
            (b'C', b'c') => "initializeArrayWithCopy",
            (b'T', b't') => "initializeArrayWithTakeFrontToBack",
            (b't', b'T') => "initializeArrayWithTakeBackToFront",
            (b'u', b'g') => "getEnumTag",
            (b'u', b'p') => "destructiveProjectEnumData",
            (b'u', b'i') => "destructiveInjectEnumTag",
            (b'e', b't') => "getEnumTagSinglePayload",
            (b's', b't') => "storeEnumTagSinglePayload",
            _ => return None,
        };
        let ty = self.pop(Kind::Type)?;
        self.node(Kind::ValueWitness(name), &[ty])
    }

    pub(super) fn witness(&mut self) -> Option<Id> {
        match self.next()? {
            b'C' => self.about_entity("enum case for "),
            b'V' => self.about_type("value witness table for "),
            b'v' => match self.next()? {
                b'd' => self.about_entity("direct field offset for "),
                b'i' => self.about_entity("indirect field offset for "),
                _ => None,
            },
            b'S' => self.about_protocol("protocol self-conformance witness table for "),
            b'P' => self.about_conformance("protocol witness table for "),
            b'p' => self.about_conformance("protocol witness table pattern for "),
            b'G' => self.about_conformance("generic protocol witness table for "),
            b'I' => self.about_conformance(
                "instantiation function for generic protocol witness table for ",
            ),
            b'r' => self.about_conformance("resilient protocol witness table for "),
            b'a' => self.about_conformance("protocol witness table accessor for "),
            b'l' => self.lazy_witness("lazy protocol witness table accessor for type "),
            b'L' => self.lazy_witness("lazy protocol witness table cache variable for type "),
            b't' => {
                let name = self.pop_name()?;
                let conformance = self.pop_conformance()?;
                self.node(Kind::AssociatedTypeMetadata, &[conformance, name])
            }
            b'T' => {
                let protocol = self.pop(Kind::Type)?;
                let path = self.pop_associated_path()?;
                let conformance = self.pop_conformance()?;
                self.node(Kind::AssociatedTypeWitness, &[conformance, path, protocol])
            }
            b'b' => {
                let protocol = self.pop(Kind::Type)?;
                let conformance = self.pop_conformance()?;
                self.node(Kind::BaseWitness, &[conformance, protocol])
            }
            b'O' => self.outlined(),
            b'Z' => self.once("one-time initialization function for "),
            b'z' => self.once("one-time initialization token for "),
            b'J' => self.differentiability_witness(),
            _ => None,
        }
    }

    fn lazy_witness(&mut self, text: &'static str) -> Option<Id> {
        let conformance = self.pop_conformance()?;
        let ty = self.pop(Kind::Type)?;
        self.node(Kind::LazyWitness(text), &[ty, conformance])
    }

    /// Pops the path of associated types from a protocol's `Self`.
    pub(super) fn pop_associated_path(&mut self) -> Option<Id> {
        let names = self.pop_list(Parser::pop_member_name)?;
        self.node(Kind::TypeList, &names)
    }

    fn outlined(&mut self) -> Option<Id> {
        let text = match self.next()? {
            b'y' => "outlined copy of ",
            b'e' => "outlined consume of ",
            b'r' => "outlined retain of ",
            b's' => "outlined release of ",
            b'b' | b'B' => "outlined init with take of ",
            b'c' | b'C' => "outlined init with copy of ",
            b'd' | b'D' => "outlined assign with take of ",
            b'f' | b'F' => "outlined assign with copy of ",
            b'h' | b'H' => "outlined destroy of ",
            b'i' => return self.outlined_case("outlined enum tag store of "),
            b'j' => return self.outlined_case("outlined enum project data for load of "),
            b'g' => "outlined enum get tag of ",
            _ => return None,
        };
        let signature = self.pop(Kind::GenericSignature);
        let ty = self.pop(Kind::Type)?;
        let mut children = vec![ty];
        // `swift demangle` shows it for these only.
        let is_shown = matches!(text, "outlined copy of " | "outlined consume of ");
        children.extend(signature.filter(|_| is_shown));
        self.node(Kind::Outlined(text), &children)
    }

    /// Reads code for one case of an enum, which has a number.
    fn outlined_case(&mut self, text: &'static str) -> Option<Id> {
        self.index()?;
        self.pop(Kind::GenericSignature);
        let ty = self.pop(Kind::Type)?;
        self.node(Kind::Outlined(text), &[ty])
    }

    /// Reads the function that initializes variables when they are used first.
    fn once(&mut self, text: &'static str) -> Option<Id> {
        let mut children = Vec::new();
        while self.takes(Kind::FirstElement) {
            children.push(self.pop_name()?);
        }
        children.reverse();
        if children.is_empty() {
            return None;
        }
        self.pop_context()?;
        self.node(Kind::GlobalOnce(text), &children)
    }
}
