//! Types of functions, as declared and as compiled.

use super::super::node::{Id, Kind};
use super::Printer;

impl Printer<'_, '_> {
    /// Prints a function's type, with the labels of its declaration.
    pub(super) fn function_type(&mut self, id: Id, labels: Option<Id>) -> Option<()> {
        let tree = self.tree;
        let Kind::FunctionType(prefix) = tree.kind(id) else {
            return None;
        };
        let foreign = tree.child_of(id, Kind::ClangType);
        self.write(prefix)?;
        if let Some(foreign) = foreign {
            self.write(", mangledCType: \"")?;
            let name = tree.get(foreign).text.escape_default().to_string();
            self.write(&name)?;
            self.write("\") ")?;
        }
        let mut effects = Vec::new();
        let (mut parameters, mut result) = (None, None);
        let mut is_sent = false;
        let mut is_sendable = false;
        for child in tree.children(id) {
            match tree.kind(*child) {
                Kind::GlobalActor => {
                    self.write("@")?;
                    self.node(tree.child(*child, 0)?)?;
                    self.write(" ")?;
                }
                Kind::IsolatedAny => self.write("@isolated(any) ")?,
                Kind::NonisolatedCaller => self.write("nonisolated(nonsending) ")?,
                Kind::Differentiable => self.write(&tree.get(*child).text)?,
                Kind::Sendable => is_sendable = true,
                Kind::Async => effects.insert(0, *child),
                Kind::Throws | Kind::TypedThrows => effects.push(*child),
                Kind::SendingResult => is_sent = true,
                Kind::ArgumentTuple => parameters = Some(*child),
                Kind::ReturnType => result = Some(*child),
                _ => {}
            }
        }
        if is_sendable {
            self.write("@Sendable ")?;
        }
        self.parameters(parameters?, labels)?;
        if !self.shown.has_types_of_functions() {
            return Some(());
        }
        for effect in effects {
            self.node(effect)?;
        }
        self.write(" -> ")?;
        if is_sent {
            self.write("sending ")?;
        }
        self.node(tree.child(result?, 0)?)
    }

    fn parameters(&mut self, id: Id, labels: Option<Id>) -> Option<()> {
        let tree = self.tree;
        let ty = tree.unwrapped(tree.child(id, 0)?);
        let labels = labels.map_or(&[][..], |labels| tree.children(labels));
        let one = [ty];
        let is_tuple = tree.kind(ty) == Kind::Tuple;
        let parameters = match is_tuple {
            true => tree.children(ty),
            false => &one,
        };
        let has_types = self.shown.has_types_of_functions();
        self.write("(")?;
        for (index, parameter) in parameters.iter().enumerate() {
            if index > 0 && has_types {
                self.write(", ")?;
            }
            let label = labels.get(index).map(|label| tree.get(*label));
            match label {
                Some(label) if label.kind == Kind::Identifier => {
                    self.write(&label.text)?;
                    self.write(":")?;
                }
                Some(_) => self.write("_:")?,
                None if has_types => {}
                None => match tree.child_of(*parameter, Kind::ElementName) {
                    Some(name) if is_tuple => {
                        self.write(&tree.get(name).text)?;
                        self.write(":")?;
                    }
                    _ => self.write("_:")?,
                },
            }
            if has_types {
                if label.is_some() {
                    self.write(" ")?;
                }
                self.node(*parameter)?;
            }
        }
        self.write(")")
    }

    /// Prints the type of a function as it is compiled.
    pub(super) fn impl_function(&mut self, id: Id) -> Option<()> {
        let tree = self.tree;
        let mut pattern = None;
        let mut invocation = None;
        let mut parameters = Vec::new();
        let mut results = Vec::new();
        let mut is_sent = false;
        for child in tree.children(id) {
            match tree.kind(*child) {
                Kind::ImplParameter(_) => parameters.push(*child),
                Kind::ImplResult(_) | Kind::ImplYield(_) | Kind::ImplError(_) => {
                    results.push(*child);
                }
                Kind::ImplPatternSubstitutions => pattern = Some(*child),
                Kind::ImplInvocationSubstitutions => invocation = Some(*child),
                Kind::ImplAttribute("sending-result") => is_sent = true,
                Kind::GenericSignature | Kind::PseudogenericSignature => {
                    self.node(*child)?;
                    self.write(" ")?;
                }
                Kind::ImplAttribute(text) => {
                    self.write(text)?;
                    self.write(" ")?;
                }
                Kind::ImplConvention(text) => {
                    self.write(text)?;
                    self.write(", mangledCType: \"")?;
                    let foreign = tree.get(tree.child(*child, 0)?);
                    self.write(&foreign.text.escape_default().to_string())?;
                    self.write("\") ")?;
                }
                _ => return None,
            }
        }
        if let Some(pattern) = pattern {
            self.write("@substituted ")?;
            self.node(tree.child(pattern, 0)?)?;
            self.write(" ")?;
        }
        self.write("(")?;
        self.list(&parameters, ", ")?;
        self.write(") -> ")?;
        if is_sent {
            self.write("sending ")?;
        }
        self.write("(")?;
        self.list(&results, ", ")?;
        self.write(")")?;
        for substitutions in [pattern, invocation].into_iter().flatten() {
            self.write(" for <")?;
            self.children(tree.last(substitutions)?, "")?;
            self.write(">")?;
        }
        Some(())
    }

    /// Prints a parameter or result of such a type.
    pub(super) fn impl_value(&mut self, id: Id) -> Option<bool> {
        let convention = match self.kind(id) {
            Kind::ImplParameter(convention) | Kind::ImplResult(convention) => convention,
            Kind::ImplYield(convention) => {
                self.write("@yields ")?;
                convention
            }
            Kind::ImplError(convention) => {
                self.write("@error ")?;
                convention
            }
            Kind::ImplParameterAttribute(text) => {
                self.write(text)?;
                return Some(true);
            }
            _ => return Some(false),
        };
        self.write(convention)?;
        self.write(" ")?;
        self.children(id, " ")?;
        Some(true)
    }
}
