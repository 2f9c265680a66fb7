//! Types of functions, and functions, variables and subscripts.

use super::super::node::{Id, Kind};
use super::Parser;

impl<'a> Parser<'a> {
    pub(super) fn function_type(&mut self, prefix: &'static str) -> Option<Id> {
        let function = self.pop_function(prefix, None)?;
        self.as_type(function)
    }

    /// Reads a type with the C++ name of its type in C.
    pub(super) fn foreign_function_type(&mut self, prefix: &'static str) -> Option<Id> {
        let foreign = self.foreign_type()?;
        let function = self.pop_function(prefix, Some(foreign))?;
        self.as_type(function)
    }

    pub(super) fn foreign_type(&mut self) -> Option<Id> {
        let length = self.natural()?;
        let name = self.slice(length)?;
        self.tree.text(Kind::ClangType, name)
    }

    fn pop_function(&mut self, prefix: &'static str, foreign: Option<Id>) -> Option<Id> {
        let mut children: Vec<Id> = foreign.into_iter().collect();
        children.extend(self.pop(Kind::SendingResult));
        children.extend(self.pop_if(|kind| {
            matches!(
                kind,
                Kind::GlobalActor | Kind::IsolatedAny | Kind::NonisolatedCaller
            )
        }));
        children.extend(self.pop(Kind::Differentiable));
        children.extend(self.pop_if(|kind| matches!(kind, Kind::Throws | Kind::TypedThrows)));
        children.extend(self.pop(Kind::Sendable));
        children.extend(self.pop(Kind::Async));
        children.push(self.pop_parameters(Kind::ArgumentTuple)?);
        children.push(self.pop_parameters(Kind::ReturnType)?);
        self.node(Kind::FunctionType(prefix), &children)
    }

    fn pop_parameters(&mut self, kind: Kind) -> Option<Id> {
        let ty = match self.takes(Kind::EmptyList) {
            true => self.typed(Kind::Tuple, &[])?,
            false => self.pop(Kind::Type)?,
        };
        self.node(kind, &[ty])
    }

    /// Pops the labels of a function's parameters: as many as its type has parameters.
    pub(super) fn pop_labels(&mut self, ty: Id) -> Option<Id> {
        if !self.has_label_lists {
            return None;
        }
        if self.takes(Kind::EmptyList) {
            return self.node(Kind::LabelList, &[]);
        }
        let mut function = self.tree.unwrapped(ty);
        if self.tree.kind(function) == Kind::GenericType {
            function = self.tree.unwrapped(self.tree.child(function, 1)?);
        }
        if !matches!(self.tree.kind(function), Kind::FunctionType(_)) {
            return None;
        }
        let parameters = self.tree.child_of(function, Kind::ArgumentTuple)?;
        let tuple = self.tree.unwrapped(self.tree.child(parameters, 0)?);
        let count = match self.tree.kind(tuple) {
            Kind::Tuple => self.tree.children(tuple).len(),
            _ => 1,
        };
        let start = self.stack.len().checked_sub(count).filter(|_| count > 0)?;
        let labels: Vec<Id> = self.stack[start..].to_vec();
        let fits = |kind| matches!(kind, Kind::Identifier | Kind::FirstElement);
        if !labels.iter().all(|label| fits(self.tree.kind(*label))) {
            return None;
        }
        self.stack.truncate(start);
        let has_label = |label: &Id| self.tree.kind(*label) == Kind::Identifier;
        match labels.iter().any(has_label) {
            true => self.node(Kind::LabelList, &labels),
            false => self.node(Kind::LabelList, &[]),
        }
    }

    pub(super) fn function(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let mut ty = self.function_type("")?;
        let labels = self.pop_labels(ty);
        if let Some(signature) = signature {
            ty = self.typed(Kind::GenericType, &[signature, ty])?;
        }
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        self.declaration(Kind::Function, context, &[Some(name), labels, Some(ty)])
    }

    pub(super) fn declaration(
        &mut self,
        kind: Kind,
        context: Id,
        parts: &[Option<Id>],
    ) -> Option<Id> {
        let mut children = vec![context];
        children.extend(parts.iter().flatten());
        self.node(kind, &children)
    }

    /// Reads a declaration with a name and a type.
    pub(super) fn named(&mut self, kind: Kind) -> Option<Id> {
        let ty = self.pop(Kind::Type)?;
        let labels = self.pop_labels(ty);
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        self.declaration(kind, context, &[Some(name), labels, Some(ty)])
    }

    pub(super) fn variable(&mut self) -> Option<Id> {
        let variable = self.named(Kind::Variable)?;
        self.accessor(variable)
    }

    pub(super) fn subscript(&mut self) -> Option<Id> {
        let private = self.pop(Kind::PrivateName);
        let ty = self.pop(Kind::Type)?;
        let labels = self.pop_labels(ty);
        let context = self.pop_context()?;
        let parts = [labels, Some(ty), private];
        let subscript = self.declaration(Kind::Subscript, context, &parts)?;
        self.accessor(subscript)
    }

    fn accessor(&mut self, storage: Id) -> Option<Id> {
        let name = match self.next()? {
            b'm' => "materializeForSet",
            b's' => "setter",
            b'g' | b'G' => "getter",
            b'w' => "willset",
            b'W' => "didset",
            b'r' => "read",
            b'M' => "modify",
            b'i' => "init",
            b'x' => "yielding_mutate",
            b'y' => "yielding_borrow",
            b'b' => "borrow",
            b'z' => "mutate",
            b'a' => match self.next()? {
                b'O' => "owningMutableAddressor",
                b'o' => "nativeOwningMutableAddressor",
                b'p' => "nativePinningMutableAddressor",
                b'u' => "unsafeMutableAddressor",
                _ => return None,
            },
            b'l' => match self.next()? {
                b'O' => "owningAddressor",
                b'o' => "nativeOwningAddressor",
                b'p' => "nativePinningAddressor",
                b'u' => "unsafeAddressor",
                _ => return None,
            },
            b'p' => return Some(storage),
            _ => return None,
        };
        self.node(Kind::Accessor(name), &[storage])
    }
}
