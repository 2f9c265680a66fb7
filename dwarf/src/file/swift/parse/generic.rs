//! Generic parameters, their requirements and signatures, and members of them.

use super::super::node::{Id, Kind};
use super::Parser;

/// How a requirement names what it is about.
enum Subject {
    Parameter,
    Member,
    Path,
    Substitution,
}

impl Parser<'_> {
    /// Adds the generic parameter with a depth and an index.
    pub(super) fn parameter_at(&mut self, depth: u64, index: u64) -> Option<Id> {
        let depth = self.numbered(Kind::Number, depth)?;
        self.tree.number(Kind::GenericParameter, index, &[depth])
    }

    pub(super) fn generic_parameter(&mut self) -> Option<Id> {
        if self.take(b'd') {
            let depth = self.index()? + 1;
            let index = self.index()?;
            return self.parameter_at(depth, index);
        }
        if self.take(b'z') {
            return self.parameter_at(0, 0);
        }
        if self.take(b's') {
            return self.node(Kind::ExistentialSelf, &[]);
        }
        let index = self.index()? + 1;
        self.parameter_at(0, index)
    }

    pub(super) fn pop_member_name(&mut self) -> Option<Id> {
        let protocol = self.pop(Kind::Type);
        if let Some(protocol) = protocol
            && self.tree.kind(self.tree.unwrapped(protocol)) != Kind::Protocol
        {
            return None;
        }
        let name = self.pop(Kind::Identifier)?;
        let mut children = vec![name];
        children.extend(protocol);
        self.node(Kind::MemberName, &children)
    }

    fn base(&mut self, parameter: Option<Id>) -> Option<Id> {
        match parameter {
            Some(parameter) => self.as_type(parameter),
            None => self.pop(Kind::Type),
        }
    }

    /// Reads an associated type of a parameter, or of the type on the stack.
    pub(super) fn member(&mut self, of: Option<Id>) -> Option<Id> {
        let name = self.pop_member_name()?;
        let base = self.base(of)?;
        let ty = self.typed(Kind::Member, &[base, name])?;
        self.substitutable(ty)
    }

    pub(super) fn member_path(&mut self, of: Option<Id>) -> Option<Id> {
        let names = self.pop_list(Parser::pop_member_name)?;
        let mut base = self.base(of)?;
        for name in names {
            base = self.typed(Kind::Member, &[base, name])?;
        }
        self.substitutable(base)
    }

    fn subject(&mut self, subject: Subject) -> Option<Id> {
        match subject {
            Subject::Substitution => self.pop(Kind::Type),
            Subject::Parameter => {
                let parameter = self.generic_parameter()?;
                self.as_type(parameter)
            }
            Subject::Member => {
                let parameter = self.generic_parameter()?;
                self.member(Some(parameter))
            }
            Subject::Path => {
                let parameter = self.generic_parameter()?;
                self.member_path(Some(parameter))
            }
        }
    }

    /// Reads a requirement of a generic signature.
    pub(super) fn requirement(&mut self) -> Option<Id> {
        use Subject::{Member, Parameter, Path, Substitution};
        match self.next()? {
            b'v' => {
                let parameter = self.generic_parameter()?;
                self.node(Kind::PackMarker, &[parameter])
            }
            b'V' => {
                let parameter = self.generic_parameter()?;
                let ty = self.pop(Kind::Type)?;
                self.node(Kind::ValueMarker, &[parameter, ty])
            }
            b'b' => self.type_requirement(Kind::Conforms, Parameter),
            b'c' => self.type_requirement(Kind::Conforms, Member),
            b'C' => self.type_requirement(Kind::Conforms, Path),
            b'B' => self.type_requirement(Kind::Conforms, Substitution),
            b's' => self.type_requirement(Kind::SameType, Parameter),
            b't' => self.type_requirement(Kind::SameType, Member),
            b'T' => self.type_requirement(Kind::SameType, Path),
            b'S' => self.type_requirement(Kind::SameType, Substitution),
            b'h' => self.type_requirement(Kind::SameShape, Parameter),
            b'i' => self.inverse(Parameter),
            b'I' => self.inverse(Substitution),
            b'j' => self.inverse(Member),
            b'J' => self.inverse(Path),
            b'l' => self.layout(Parameter),
            b'm' => self.layout(Member),
            b'M' => self.layout(Path),
            b'L' => self.layout(Substitution),
            b'p' => self.protocol_requirement(Member),
            b'P' => self.protocol_requirement(Path),
            b'Q' => self.protocol_requirement(Substitution),
            _ => {
                self.at -= 1;
                self.protocol_requirement(Parameter)
            }
        }
    }

    fn type_requirement(&mut self, kind: Kind, subject: Subject) -> Option<Id> {
        let subject = self.subject(subject)?;
        let ty = self.pop(Kind::Type)?;
        self.node(kind, &[subject, ty])
    }

    fn protocol_requirement(&mut self, subject: Subject) -> Option<Id> {
        let subject = self.subject(subject)?;
        let protocol = self.pop_protocol()?;
        self.node(Kind::Conforms, &[subject, protocol])
    }

    fn inverse(&mut self, subject: Subject) -> Option<Id> {
        let kind = self.index()?;
        let subject = self.subject(subject)?;
        self.tree.number(Kind::Inverse, kind, &[subject])
    }

    fn layout(&mut self, subject: Subject) -> Option<Id> {
        let subject = self.subject(subject)?;
        let (name, numbers) = match self.next()? {
            b'U' => ("_UnknownLayout", 0),
            b'R' => ("_RefCountedObject", 0),
            b'N' => ("_NativeRefCountedObject", 0),
            b'C' => ("AnyObject", 0),
            b'D' => ("_NativeClass", 0),
            b'T' => ("_Trivial", 0),
            b'B' => ("_BridgeObject", 0),
            b'E' => ("_Trivial", 2),
            b'e' => ("_Trivial", 1),
            b'M' => ("_TrivialAtMost", 2),
            b'm' => ("_TrivialAtMost", 1),
            b'S' => ("_TrivialStride", 1),
            _ => return None,
        };
        let mut children = vec![subject];
        for _ in 0..numbers {
            let number = self.index()?;
            children.push(self.numbered(Kind::Number, number)?);
        }
        self.tree.text_with(Kind::Layout, name, &children)
    }

    /// Reads a signature: requirements from the stack, and how many parameters each level has.
    pub(super) fn generic_signature(&mut self, has_counts: bool) -> Option<Id> {
        let mut children = Vec::new();
        match has_counts {
            true => {
                while !self.take(b'l') {
                    let count = match self.take(b'z') {
                        true => 0,
                        false => self.index()? + 1,
                    };
                    children.push(self.numbered(Kind::GenericParameterCount, count)?);
                }
            }
            false => children.push(self.numbered(Kind::GenericParameterCount, 1)?),
        }
        let mut requirements = Vec::new();
        while let Some(requirement) = self.pop_if(Kind::is_requirement) {
            requirements.push(requirement);
        }
        requirements.reverse();
        children.extend(requirements);
        self.node(Kind::GenericSignature, &children)
    }
}
