//! Derivatives of functions, by automatic differentiation.

use super::super::node::{Id, Kind};
use super::Parser;

impl Parser<'_> {
    fn derivative_kind(&mut self) -> Option<&'static str> {
        Some(match self.next()? {
            b'f' => "forward-mode derivative",
            b'r' => "reverse-mode derivative",
            b'd' => "differential",
            b'p' => "pullback",
            _ => return None,
        })
    }

    /// Reads a set of indices, `S` for those in it, `U` for others.
    fn index_subset(&mut self) -> Option<Id> {
        let mut members: Vec<String> = Vec::new();
        let start = self.at;
        while let Some(letter @ (b'S' | b'U')) = self.peek() {
            if letter == b'S' {
                members.push((self.at - start).to_string());
            }
            self.at += 1;
        }
        if start == self.at {
            return None;
        }
        let text = format!("{{{}}}", members.join(", "));
        self.tree.text(Kind::IndexSubset, text)
    }

    /// Reads the sets of parameters and results.
    fn subsets(&mut self) -> Option<[Id; 2]> {
        let parameters = self.index_subset()?;
        if !self.take(b'p') {
            return None;
        }
        let results = self.index_subset()?;
        self.take(b'r').then_some([parameters, results])
    }

    pub(super) fn autodiff(&mut self) -> Option<Id> {
        if self.take(b'S') {
            return self.subset_thunk();
        }
        if self.take(b'O') {
            let kind = self.derivative_kind()?;
            let to = self.pop(Kind::Type)?;
            let from = self.pop(Kind::Type)?;
            let kind = self.tree.text(Kind::Text, kind)?;
            return self.node(Kind::AutodiffReordering, &[kind, from, to]);
        }
        let thunk = if self.take(b'V') {
            "vtable thunk for "
        } else {
            ""
        };
        let kind = self.derivative_kind()?;
        let signature = self.pop(Kind::GenericSignature);
        let subsets = self.subsets()?;
        let original = self.pop_any()?;
        let kind = self.tree.text(Kind::Text, format!("{thunk}{kind}"))?;
        let mut children = vec![kind, original];
        children.extend(subsets);
        children.extend(signature);
        self.node(Kind::AutodiffFunction, &children)
    }

    fn subset_thunk(&mut self) -> Option<Id> {
        let kind = self.derivative_kind()?;
        let subsets = self.subsets()?;
        let to = self.index_subset()?;
        if !self.take(b'P') {
            return None;
        }
        let signature = self.pop(Kind::GenericSignature);
        let ty = self.pop(Kind::Type)?;
        let original = self.pop_if(|kind| kind == Kind::Type || kind.is_context());
        let kind = self.tree.text(Kind::Text, kind)?;
        let mut children = vec![kind, original.unwrap_or(ty)];
        children.extend(subsets);
        children.push(to);
        if original.is_some() {
            children.push(ty);
        }
        children.extend(signature);
        self.node(Kind::AutodiffThunk, &children)
    }

    pub(super) fn differentiability_witness(&mut self) -> Option<Id> {
        let signature = self.pop(Kind::GenericSignature);
        let kind = match self.next()? {
            b'f' => "forward-mode",
            b'r' => "reverse-mode",
            b'd' => "normal",
            b'l' => "linear",
            _ => return None,
        };
        let subsets = self.subsets()?;
        let original = self.pop_any()?;
        let kind = self.tree.text(Kind::Text, kind)?;
        let mut children = vec![kind, original];
        children.extend(subsets);
        children.extend(signature);
        self.node(Kind::DifferentiabilityWitness, &children)
    }
}
