//! Named types, extensions, and arguments of generic ones.

use super::super::node::{Id, Kind};
use super::Parser;

/// Maximum nesting of generic contexts.
const MAX_NESTING: usize = 64;

impl Parser<'_> {
    pub(super) fn nominal(&mut self, kind: Kind) -> Option<Id> {
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        let ty = self.typed(kind, &[context, name])?;
        self.substitutable(ty)
    }

    pub(super) fn extension(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let module = self.pop_module()?;
        let extended = self.pop_nominal_or_bound()?;
        let mut children = vec![module, extended];
        children.extend(signature);
        self.node(Kind::Extension, &children)
    }

    fn pop_nominal_or_bound(&mut self) -> Option<Id> {
        let ty = self.pop_type()?;
        let kind = self.tree.kind(ty);
        (kind.is_nominal() || kind == Kind::BoundGeneric).then_some(ty)
    }

    /// Pops the arguments of a generic type and of the generic types around it, innermost first. Returns
    /// them as lists, and the conformances that are declared elsewhere.
    pub(super) fn pop_arguments(&mut self) -> Option<(Vec<Vec<Id>>, Vec<Id>)> {
        let mut conformances = Vec::new();
        while let Some(conformance) = self.pop(Kind::RetroactiveConformance) {
            conformances.push(conformance);
        }
        conformances.reverse();
        let mut lists = Vec::new();
        loop {
            let mut list = Vec::new();
            while let Some(ty) = self.pop(Kind::Type) {
                list.push(ty);
            }
            list.reverse();
            lists.push(list);
            if self.takes(Kind::EmptyList) {
                return Some((lists, conformances));
            }
            self.pop(Kind::FirstElement)?;
        }
    }

    pub(super) fn bound_generic(&mut self) -> Option<Id> {
        let (lists, _) = self.pop_arguments()?;
        let nominal = self.pop_nominal()?;
        let bound = self.bind(nominal, &lists, 0)?;
        let ty = self.as_type(bound)?;
        self.substitutable(ty)
    }

    /// Gives a declaration the first of the lists, and its contexts the others.
    pub(super) fn bind(&mut self, declaration: Id, lists: &[Vec<Id>], depth: usize) -> Option<Id> {
        let ([list, outer @ ..], true) = (lists, depth < MAX_NESTING) else {
            return None;
        };
        self.tree.child(declaration, 0)?;
        let takes_arguments = !matches!(
            self.tree.kind(declaration),
            Kind::Variable
                | Kind::Subscript
                | Kind::Closure(_)
                | Kind::DefaultArgument
                | Kind::Initializer(_)
                | Kind::Static
        );
        let outer = if takes_arguments { outer } else { lists };
        let mut declaration = declaration;
        if !outer.is_empty() {
            let mut children = self.tree.children(declaration).to_vec();
            let context = *children.first()?;
            children[0] = match self.tree.kind(context) {
                Kind::Extension => {
                    let mut parts = self.tree.children(context).to_vec();
                    let extended = parts.get_mut(1)?;
                    *extended = self.bind(*extended, outer, depth + 1)?;
                    self.node(Kind::Extension, &parts)?
                }
                _ => self.bind(context, outer, depth + 1)?,
            };
            let kind = self.tree.kind(declaration);
            declaration = self.node(kind, &children)?;
        }
        if !takes_arguments || list.is_empty() {
            return Some(declaration);
        }
        let arguments = self.node(Kind::TypeList, list)?;
        match self.tree.kind(declaration) {
            kind if kind.is_nominal() => {
                let ty = self.as_type(declaration)?;
                self.node(Kind::BoundGeneric, &[ty, arguments])
            }
            Kind::Function | Kind::Constructor | Kind::Accessor(_) | Kind::Allocator => {
                self.node(Kind::BoundGeneric, &[declaration, arguments])
            }
            _ => None,
        }
    }
}
