//! What the compiler makes of declarations: thunks, witnesses, metadata, specializations.

use super::super::node::{Id, Kind};
use super::super::{MAX_NESTED_NAMES, Shown, demangle_nested};
use super::Printer;

impl Printer<'_, '_> {
    /// Prints such a node; `Some(false)` if the node is none.
    pub(super) fn made(&mut self, id: Id) -> Option<bool> {
        let tree = self.tree;
        let node = tree.get(id);
        let children = tree.children(id);
        match (node.kind, children) {
            (Kind::About(full, short), _) => {
                self.write(if self.is_full() { full } else { short })?;
                self.children(id, "")?;
            }
            (Kind::Attribute("outlined bridged method (", _), [kind]) => {
                self.write("outlined bridged method (")?;
                self.node(*kind)?;
                self.write(") of ")?;
            }
            (Kind::Attribute("representation changed of ", _), _) if !self.is_full() => {
                self.specialized()?;
            }
            (Kind::Attribute(full, short), _) => {
                self.write(if self.is_full() { full } else { short })?;
            }
            (Kind::NumberedAttribute("(", text), _) => {
                // It is a part of the function, but no entry of it.
                if self.is_full() || self.shown == Shown::Path {
                    let number = node.number;
                    self.write(&format!("({number}) {text}"))?;
                }
            }
            (Kind::NumberedAttribute(before, after), _) => {
                let number = node.number;
                self.write(&format!("{before}{number}{after}"))?;
            }
            (Kind::ReabstractionThunk("global actor"), [actor]) => {
                self.write(" with global actor constraint ")?;
                self.node(*actor)?;
            }
            (Kind::ReabstractionThunk(text), [signature @ .., to, from]) => {
                if !self.is_full() {
                    self.write("thunk for ")?;
                    self.node(*from)?;
                    return Some(true);
                }
                self.write(text)?;
                for signature in signature {
                    self.node(*signature)?;
                    self.write(" ")?;
                }
                self.write("from ")?;
                self.node(*from)?;
                self.write(" to ")?;
                self.node(*to)?;
            }
            (Kind::ThunkWithSelf, [signature @ .., own, to, from]) => {
                self.write("reabstraction thunk ")?;
                for signature in signature {
                    self.node(*signature)?;
                    self.write(" ")?;
                }
                self.write("from ")?;
                self.node(*from)?;
                self.write(" to ")?;
                self.node(*to)?;
                self.write(" self ")?;
                self.node(*own)?;
            }
            (Kind::KeyPath(text), _) => self.key_path(text, children)?,
            (Kind::ProtocolWitness, [conformance, entity]) => {
                self.write("protocol witness for ")?;
                self.node(*entity)?;
                self.write(" in conformance ")?;
                self.node(*conformance)?;
            }
            (Kind::ValueWitness(name), [ty]) => {
                self.write(name)?;
                self.write_full(" value witness")?;
                self.write(" for ")?;
                self.node(*ty)?;
            }
            (Kind::LazyWitness(text), [ty, conformance]) => {
                self.write(text)?;
                self.node(*ty)?;
                self.write(" and conformance ")?;
                self.node(*conformance)?;
            }
            (Kind::AssociatedConformance(text), [protocol, path, requirement]) => {
                self.write(text)?;
                self.node(*protocol)?;
                self.write(".")?;
                self.path(*path)?;
                self.write(": ")?;
                self.node(*requirement)?;
            }
            (Kind::AssociatedTypeMetadata, [conformance, name]) => {
                self.write("associated type metadata accessor for ")?;
                self.node(*name)?;
                self.write(" in ")?;
                self.node(*conformance)?;
            }
            (Kind::AssociatedTypeWitness, [conformance, path, protocol]) => {
                self.write("associated type witness table accessor for ")?;
                self.path(*path)?;
                self.write(" : ")?;
                self.node(*protocol)?;
                self.write(" in ")?;
                self.node(*conformance)?;
            }
            (Kind::BaseConformance, [protocol, requirement]) => {
                self.write("base conformance descriptor for ")?;
                self.node(*protocol)?;
                self.write(": ")?;
                self.node(*requirement)?;
            }
            (Kind::BaseWitness, [conformance, protocol]) => {
                self.write("base witness table accessor for ")?;
                self.node(*protocol)?;
                self.write(" in ")?;
                self.node(*conformance)?;
            }
            (Kind::Conformance, [ty, protocol, module, behavior @ ..]) => {
                self.conformance(*ty, *protocol, *module, behavior)?;
            }
            (Kind::VtableThunk, [derived, base]) => {
                self.write("vtable thunk for ")?;
                self.node(*base)?;
                self.write(" dispatching to ")?;
                self.node(*derived)?;
            }
            (Kind::Outlined(text), _) => {
                self.write(text)?;
                self.children(id, "")?;
            }
            (Kind::GlobalOnce(text), names) => {
                self.write(text)?;
                match names {
                    [name] => self.node(*name)?,
                    _ => {
                        self.write("(")?;
                        self.list(names, ", ")?;
                        self.write(")")?;
                    }
                }
            }
            (Kind::CompletionHandler(text), _) => self.completion_handler(text, children)?,
            (Kind::AutodiffFunction, _) => {
                self.derivative(children, "")?;
            }
            (Kind::DifferentiabilityWitness, _) => {
                self.derivative(children, " differentiability witness")?;
            }
            (Kind::AutodiffReordering, [kind, from, to]) => {
                self.write("autodiff self-reordering reabstraction thunk for ")?;
                if !self.is_full() {
                    self.node(*from)?;
                    return Some(true);
                }
                self.node(*kind)?;
                self.write(" from ")?;
                self.node(*from)?;
                self.write(" to ")?;
                self.node(*to)?;
            }
            (Kind::AutodiffThunk, [kind, from, parameters, results, to, rest @ ..]) => {
                self.write("autodiff subset parameters thunk for ")?;
                self.node(*kind)?;
                self.write(" from ")?;
                self.node(*from)?;
                if !self.is_full() {
                    return Some(true);
                }
                self.write(" with respect to parameters ")?;
                self.node(*parameters)?;
                self.write(" and results ")?;
                self.node(*results)?;
                self.write(" to parameters ")?;
                self.node(*to)?;
                if let [ty, ..] = rest {
                    self.write(" of type ")?;
                    self.node(*ty)?;
                }
            }
            (Kind::Specialization(text), _) => {
                if !self.is_full() {
                    self.specialized()?;
                    return Some(true);
                }
                self.write(text)?;
                self.write(" <")?;
                if text.contains("partial") {
                    self.partial(children)?;
                } else {
                    self.list(children, ", ")?;
                }
                self.write("> of ")?;
            }
            (Kind::SignatureSpecialization, _) => {
                if !self.is_full() {
                    self.specialized()?;
                    return Some(true);
                }
                self.write("function signature specialization <")?;
                self.list(children, ", ")?;
                self.write("> of ")?;
            }
            (Kind::SpecializationType, _) => self.children(id, "")?,
            (Kind::Serialized, _) => self.write("serialized")?,
            (Kind::SpecializedArgument, _) => self.symbol(&node.text)?,
            (Kind::OtherConformance(_) | Kind::ConcreteConformance, _) => return None,
            (Kind::ConformanceRef(text), _) => {
                self.write(text)?;
                self.children(id, "")?;
            }
            (Kind::RetroactiveConformance, _) => return None,
            (Kind::AnonymousContext, [name, parent, arguments]) => {
                self.node(*parent)?;
                self.write(".(unknown context at ")?;
                self.node(*name)?;
                self.write(")")?;
                if !tree.children(*arguments).is_empty() {
                    self.write("<")?;
                    self.children(*arguments, ", ")?;
                    self.write(">")?;
                }
            }
            _ => return Some(false),
        }
        Some(true)
    }

    fn specialized(&mut self) -> Option<()> {
        if self.shown != Shown::Path && !std::mem::replace(&mut self.is_specialized, true) {
            self.write("specialized ")?;
        }
        Some(())
    }

    fn partial(&mut self, children: &[Id]) -> Option<()> {
        let (ty, serialized) = children.split_last()?;
        for it in serialized {
            self.node(*it)?;
            self.write(", ")?;
        }
        self.write("Signature = ")?;
        self.node(*ty)
    }

    /// Prints a path of associated types, or the type that stands for it.
    fn path(&mut self, path: Id) -> Option<()> {
        match self.kind(path) {
            Kind::TypeList => self.children(path, "."),
            _ => self.node(path),
        }
    }

    fn key_path(&mut self, text: &str, children: &[Id]) -> Option<()> {
        self.write(text)?;
        let is_operator = text.contains("operator");
        let (mut rest, mut is_serialized) = (children, false);
        if let [before @ .., last] = children
            && self.kind(*last) == Kind::Serialized
        {
            (rest, is_serialized) = (before, true);
        }
        if is_operator {
            if let [signature, types @ ..] = rest
                && self.kind(*signature) == Kind::GenericSignature
            {
                self.node(*signature)?;
                rest = types;
            }
            self.write("(")?;
            self.list(rest, ", ")?;
            self.write(")")?;
        } else {
            let [storage, types @ ..] = rest else {
                return None;
            };
            self.node(*storage)?;
            self.write(" : ")?;
            self.list(types, "")?;
        }
        if is_serialized {
            self.write(", serialized")?;
        }
        Some(())
    }

    fn conformance(&mut self, ty: Id, protocol: Id, module: Id, behavior: &[Id]) -> Option<()> {
        if let [behavior] = behavior {
            self.write("property behavior storage of ")?;
            self.node(*behavior)?;
            self.write(" in ")?;
            self.node(ty)?;
            self.write(" : ")?;
            return self.node(protocol);
        }
        self.node(ty)?;
        if !self.is_full() {
            return Some(());
        }
        self.write(" : ")?;
        self.node(protocol)?;
        self.write(" in ")?;
        self.node(module)
    }

    fn completion_handler(&mut self, text: &str, children: &[Id]) -> Option<()> {
        let [block, result, rest @ ..] = children else {
            return None;
        };
        self.write(text)?;
        let signature = rest
            .iter()
            .find(|it| self.kind(**it) == Kind::GenericSignature);
        if let Some(signature) = signature {
            self.node(*signature)?;
        }
        self.node(*block)?;
        self.write(" with result type ")?;
        self.node(*result)?;
        let flag = rest.iter().map(|it| self.tree.get(*it));
        let mut flag = flag.filter(|node| node.kind == Kind::Number);
        match flag.next().map(|node| node.number) {
            Some(0) | None => Some(()),
            Some(1) => self.write(" nonzero on error"),
            Some(_) => self.write(" zero on error"),
        }
    }

    fn derivative(&mut self, children: &[Id], word: &str) -> Option<()> {
        let [kind, original, parameters, results, signature @ ..] = children else {
            return None;
        };
        self.node(*kind)?;
        self.write(word)?;
        self.write(if word.is_empty() { " of " } else { " for " })?;
        self.node(*original)?;
        if word.is_empty() && !self.is_full() {
            return Some(());
        }
        self.write(" with respect to parameters ")?;
        self.node(*parameters)?;
        self.write(" and results ")?;
        self.node(*results)?;
        if let [signature] = signature {
            self.write(" with ")?;
            self.node(*signature)?;
        }
        Some(())
    }

    /// Prints a symbol that is named in a specialization.
    fn symbol(&mut self, name: &str) -> Option<()> {
        let nested = self.names + 1;
        let readable = match nested <= MAX_NESTED_NAMES {
            true => demangle_nested(name, Shown::Full, nested),
            false => None,
        };
        self.write(readable.as_deref().unwrap_or(name))
    }
}
