//! Types in Swift's syntax.

use super::super::node::{Id, Kind};
use super::Printer;

impl Printer<'_, '_> {
    /// Prints a type; `Some(false)` if the node is none.
    pub(super) fn type_node(&mut self, id: Id) -> Option<bool> {
        let tree = self.tree;
        let node = tree.get(id);
        match node.kind {
            Kind::Builtin | Kind::Integer => self.write(&node.text)?,
            Kind::BuiltinFixedArray => {
                self.write("Builtin.FixedArray<")?;
                self.children(id, ", ")?;
                self.write(">")?;
            }
            Kind::BoundGeneric => self.bound_generic(id)?,
            Kind::Tuple => {
                self.write("(")?;
                self.children(id, ", ")?;
                self.write(")")?;
            }
            Kind::TupleElement => {
                if let Some(name) = tree.child_of(id, Kind::ElementName) {
                    self.write(&tree.get(name).text)?;
                    self.write(": ")?;
                }
                self.node(tree.child_of(id, Kind::Type)?)?;
                if tree.child_of(id, Kind::Variadic).is_some() {
                    self.write("...")?;
                }
            }
            Kind::TypeList => self.children(id, "")?,
            Kind::FunctionType(_) => self.function_type(id, None)?,
            Kind::Throws => self.write(" throws")?,
            Kind::TypedThrows => {
                self.write(" throws(")?;
                self.children(id, "")?;
                self.write(")")?;
            }
            Kind::Async => self.write(" async")?,
            Kind::Modified(word) => {
                self.write(word)?;
                self.children(id, "")?;
            }
            Kind::Metatype | Kind::ExistentialMetatype => self.metatype(id)?,
            Kind::MetatypeRepresentation => self.write(&node.text)?,
            Kind::ProtocolList => {
                let list = tree.child(id, 0)?;
                match tree.children(list) {
                    [] => self.write("Any")?,
                    protocols => self.list(protocols, " & ")?,
                }
            }
            Kind::ProtocolListWithClass | Kind::ProtocolListWithAnyObject => {
                self.class_protocols(id)?;
            }
            Kind::ConstrainedExistential => {
                let [base, requirements] = tree.children(id) else {
                    return None;
                };
                self.write("any ")?;
                self.node(*base)?;
                self.write("<")?;
                self.children(*requirements, ", ")?;
                self.write(">")?;
            }
            Kind::ExistentialShape => {
                self.write("existential shape for ")?;
                let (ty, signature) = tree.children(id).split_last()?;
                if !signature.is_empty() {
                    self.list(signature, "")?;
                    self.write(" ")?;
                }
                self.write("any ")?;
                self.node(*ty)?;
            }
            Kind::DynamicSelf => self.write("Self")?,
            Kind::Error => self.write("<ERROR TYPE>")?,
            Kind::SilBox => {
                let [layout, generic @ ..] = tree.children(id) else {
                    return None;
                };
                if let [signature, _] = generic {
                    self.node(*signature)?;
                    self.write(" ")?;
                }
                self.node(*layout)?;
                if let [_, arguments] = generic {
                    self.write(" <")?;
                    self.children(*arguments, ", ")?;
                    self.write(">")?;
                }
            }
            Kind::SilBoxLayout => {
                self.write("{")?;
                for (index, field) in tree.children(id).iter().enumerate() {
                    self.write(if index > 0 { ", " } else { " " })?;
                    let is_variable = tree.get(*field).number == 1;
                    self.write(if is_variable { "var " } else { "let " })?;
                    self.children(*field, "")?;
                }
                self.write(" }")?;
            }
            Kind::Sugared(kind) => self.sugared(id, kind)?,
            Kind::AssociatedType => self.children(id, ".")?,
            Kind::OpaqueReturn => self.write("some")?,
            Kind::OpaqueReturnOf => {
                self.write("<<opaque return type of ")?;
                self.children(id, "")?;
                self.write(">>")?;
            }
            Kind::OpaqueType => {
                self.node(tree.child(id, 0)?)?;
                self.write(".")?;
                self.node(tree.child(id, 1)?)?;
            }
            Kind::PackElement => {
                let [ty, level] = tree.children(id) else {
                    return None;
                };
                let level = tree.get(*level).number;
                self.write(&format!("/* level: {level} */ each "))?;
                self.node(*ty)?;
            }
            Kind::PackExpansion => {
                self.write("repeat ")?;
                self.node(tree.child(id, 0)?)?;
            }
            Kind::Pack => {
                self.write("Pack{")?;
                self.children(id, ", ")?;
                self.write("}")?;
            }
            Kind::SilPack(kind) => {
                self.write(kind)?;
                self.write("Pack{")?;
                self.children(id, ", ")?;
                self.write("}")?;
            }
            Kind::GenericType => {
                let [signature, ty] = tree.children(id) else {
                    return None;
                };
                self.node(*signature)?;
                let inner = tree.unwrapped(*ty);
                if !matches!(tree.kind(inner), Kind::FunctionType(_) | Kind::GenericType) {
                    self.write(" ")?;
                }
                self.node(*ty)?;
            }
            Kind::ImplFunction => self.impl_function(id)?,
            _ => return self.impl_value(id),
        }
        Some(true)
    }

    /// Returns whether a type is clear beside `?` or `.Type`.
    fn is_simple(&self, ty: Id) -> bool {
        let ty = self.tree.unwrapped(ty);
        match self.tree.kind(ty) {
            Kind::ProtocolList => self
                .child(ty, 0)
                .is_some_and(|list| self.tree.children(list).len() <= 1),
            Kind::ProtocolListWithAnyObject => self
                .child(ty, 0)
                .and_then(|list| self.child(list, 0))
                .is_some_and(|list| self.tree.children(list).is_empty()),
            Kind::ProtocolListWithClass
            | Kind::ConstrainedExistential
            | Kind::FunctionType(_)
            | Kind::ImplFunction
            | Kind::GenericType
            | Kind::PackExpansion
            | Kind::SilBox
            | Kind::Modified(_) => false,
            _ => true,
        }
    }

    fn in_parentheses(&mut self, ty: Id) -> Option<()> {
        if self.is_simple(ty) {
            return self.node(ty);
        }
        self.write("(")?;
        self.node(ty)?;
        self.write(")")
    }

    fn bound_generic(&mut self, id: Id) -> Option<()> {
        let tree = self.tree;
        let [nominal, arguments] = tree.children(id) else {
            return None;
        };
        let inner = tree.unwrapped(*nominal);
        // `swift demangle` shows `[T]` so in symbols, but not in symbols that others name.
        let short = match self.names {
            0 => tree.children(*arguments),
            _ => &[],
        };
        match short {
            [wrapped] if tree.is_of_library(inner, "Optional") => {
                self.in_parentheses(*wrapped)?;
                return self.write("?");
            }
            [element] if tree.is_of_library(inner, "Array") => {
                self.write("[")?;
                self.node(*element)?;
                return self.write("]");
            }
            [key, value] if tree.is_of_library(inner, "Dictionary") => {
                self.write("[")?;
                self.node(*key)?;
                self.write(" : ")?;
                self.node(*value)?;
                return self.write("]");
            }
            _ => {}
        }
        if tree.kind(inner) == Kind::Protocol {
            self.children(*arguments, "")?;
            self.write(" as ")?;
            return self.node(*nominal);
        }
        self.node(*nominal)?;
        self.write("<")?;
        self.children(*arguments, ", ")?;
        self.write(">")
    }

    fn metatype(&mut self, id: Id) -> Option<()> {
        let tree = self.tree;
        let (ty, representation) = tree.children(id).split_last()?;
        self.list(representation, "")?;
        if tree.kind(id) == Kind::ExistentialMetatype {
            self.node(*ty)?;
            return self.write(".Type");
        }
        self.in_parentheses(*ty)?;
        let is_existential = matches!(
            tree.kind(tree.unwrapped(*ty)),
            Kind::ExistentialMetatype
                | Kind::ProtocolList
                | Kind::ProtocolListWithClass
                | Kind::ProtocolListWithAnyObject
        );
        self.write(if is_existential { ".Protocol" } else { ".Type" })
    }

    fn class_protocols(&mut self, id: Id) -> Option<()> {
        let tree = self.tree;
        let list = tree.child(tree.child(id, 0)?, 0)?;
        let class = tree.child(id, 1);
        if let Some(class) = class {
            self.node(class)?;
        }
        let protocols = tree.children(list);
        if class.is_some() && !protocols.is_empty() {
            self.write(" & ")?;
        }
        self.list(protocols, " & ")?;
        if class.is_none() {
            if !protocols.is_empty() {
                self.write(" & ")?;
            }
            self.write("Swift.AnyObject")?;
        }
        Some(())
    }

    fn sugared(&mut self, id: Id, kind: &str) -> Option<()> {
        let tree = self.tree;
        match (kind, tree.children(id)) {
            ("optional", [ty]) => {
                self.in_parentheses(*ty)?;
                self.write("?")
            }
            ("array", [ty]) => {
                self.write("[")?;
                self.node(*ty)?;
                self.write("]")
            }
            ("dictionary", [key, value]) => {
                self.write("[")?;
                self.node(*key)?;
                self.write(" : ")?;
                self.node(*value)?;
                self.write("]")
            }
            ("inline array", [count, element]) => {
                self.write("[")?;
                self.node(*count)?;
                self.write(" of ")?;
                self.node(*element)?;
                self.write("]")
            }
            ("paren", [ty]) => {
                self.write("(")?;
                self.node(*ty)?;
                self.write(")")
            }
            ("debugger", [ty]) => self.node(*ty),
            ("debugger", [labels, ty]) => {
                let inner = tree.unwrapped(*ty);
                match tree.kind(inner) {
                    Kind::FunctionType(_) => self.function_type(inner, Some(*labels)),
                    _ => self.node(*ty),
                }
            }
            _ => None,
        }
    }
}
