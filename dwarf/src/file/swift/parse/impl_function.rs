//! Types of functions as they are compiled, with the conventions of parameters and results.

use super::super::node::{Id, Kind};
use super::Parser;

impl Parser<'_> {
    pub(super) fn impl_function(&mut self) -> Option<Id> {
        let mut children = Vec::new();
        if self.take(b's') {
            let arguments = self.pop_substitutions()?;
            let signature = self.pop(Kind::GenericSignature)?;
            let kind = Kind::ImplPatternSubstitutions;
            children.push(self.node(kind, &[signature, arguments])?);
        }
        if self.take(b'I') {
            let arguments = self.pop_substitutions()?;
            children.push(self.node(Kind::ImplInvocationSubstitutions, &[arguments])?);
        }
        let mut signature = self.pop(Kind::GenericSignature);
        if let Some(known) = signature
            && self.take(b'P')
        {
            signature = Some(self.tree.with_kind(known, Kind::PseudogenericSignature)?);
        }
        self.impl_attributes(&mut children)?;
        children.extend(signature);
        let types = self.impl_values()?;
        // The types are on the stack in the order of the values.
        let mut popped = Vec::with_capacity(types.len());
        for _ in &types {
            popped.push(self.pop(Kind::Type)?);
        }
        popped.reverse();
        for ((kind, attributes), ty) in types.into_iter().zip(popped) {
            let mut parts = attributes;
            parts.push(ty);
            children.push(self.node(kind, &parts)?);
        }
        self.typed(Kind::ImplFunction, &children)
    }

    fn pop_substitutions(&mut self) -> Option<Id> {
        let (lists, _) = self.pop_arguments()?;
        match lists.as_slice() {
            [list] => self.node(Kind::TypeList, list),
            _ => None,
        }
    }

    fn impl_attribute(&mut self, children: &mut Vec<Id>, text: &'static str) -> Option<()> {
        children.push(self.node(Kind::ImplAttribute(text), &[])?);
        Some(())
    }

    /// Reads what is said about the function itself, in the order of the mangling.
    fn impl_attributes(&mut self, children: &mut Vec<Id>) -> Option<()> {
        const ESCAPE: &[(u8, &str)] = &[(b'e', "@escaping")];
        const ISOLATION: &[(u8, &str)] = &[(b'A', "@isolated(any)"), (b'N', "@caller_isolated")];
        const ONCE: &[(u8, &str)] = &[(b'O', "@called(once)")];
        const DIFFERENTIABLE: &[(u8, &str)] = &[
            (b'd', "@differentiable"),
            (b'l', "@differentiable(_linear)"),
            (b'f', "@differentiable(_forward)"),
            (b'r', "@differentiable(reverse)"),
        ];
        for table in [ESCAPE, ISOLATION, ONCE, DIFFERENTIABLE] {
            self.impl_choice(children, table)?;
        }
        let callee = match self.next()? {
            b'y' => "@callee_unowned",
            b'g' => "@callee_guaranteed",
            b'x' => "@callee_owned",
            b't' => "@convention(thin)",
            _ => return None,
        };
        self.impl_attribute(children, callee)?;
        self.impl_representation(children)?;
        const COROUTINE: &[(u8, &str)] = &[
            (b'A', "@yield_once"),
            (b'I', "@yield_once_2"),
            (b'G', "@yield_many"),
        ];
        const SENDABLE: &[(u8, &str)] = &[(b'h', "@Sendable")];
        const ASYNC: &[(u8, &str)] = &[(b'H', "@async")];
        const SENDING: &[(u8, &str)] = &[(b'T', "sending-result")];
        for table in [COROUTINE, SENDABLE, ASYNC, SENDING] {
            self.impl_choice(children, table)?;
        }
        Some(())
    }

    fn impl_choice(&mut self, children: &mut Vec<Id>, table: &[(u8, &'static str)]) -> Option<()> {
        for (letter, text) in table {
            if self.take(*letter) {
                return self.impl_attribute(children, text);
            }
        }
        Some(())
    }

    fn impl_representation(&mut self, children: &mut Vec<Id>) -> Option<()> {
        let plain = [
            (b'B', "@convention(block)"),
            (b'C', "@convention(c)"),
            (b'M', "@convention(method)"),
            (b'O', "@convention(objc_method)"),
            (b'K', "@convention(closure)"),
            (b'W', "@convention(witness_method)"),
            (b'V', "@convention(com_method)"),
        ];
        if self.take(b'z') {
            let text = match self.next()? {
                b'B' => "@convention(block",
                b'C' => "@convention(c",
                _ => return None,
            };
            let foreign = self.foreign_type()?;
            children.push(self.node(Kind::ImplConvention(text), &[foreign])?);
            return Some(());
        }
        self.impl_choice(children, &plain)
    }

    /// Reads parameters, yields, results and the error, and returns the kind and the attributes of each.
    fn impl_values(&mut self) -> Option<Vec<(Kind, Vec<Id>)>> {
        let mut values = Vec::new();
        while let Some(convention) = self.peek().and_then(parameter) {
            self.at += 1;
            let mut attributes = Vec::new();
            for (letter, text) in [
                (b'w', "@noDerivative"),
                (b'T', "sending"),
                (b'I', "isolated"),
                (b'L', "sil_implicit_leading_param"),
            ] {
                if self.take(letter) {
                    attributes.push(self.node(Kind::ImplParameterAttribute(text), &[])?);
                }
            }
            values.push((Kind::ImplParameter(convention), attributes));
        }
        while let Some(convention) = self.peek().and_then(result) {
            self.at += 1;
            let attributes = self.no_derivative()?;
            values.push((Kind::ImplResult(convention), attributes));
        }
        while self.take(b'Y') {
            let convention = parameter(self.next()?)?;
            values.push((Kind::ImplYield(convention), Vec::new()));
        }
        if self.take(b'z') {
            let convention = result(self.next()?)?;
            let attributes = self.no_derivative()?;
            values.push((Kind::ImplError(convention), attributes));
        }
        self.take(b'_').then_some(values)
    }

    fn no_derivative(&mut self) -> Option<Vec<Id>> {
        if !self.take(b'w') {
            return Some(Vec::new());
        }
        let kind = Kind::ImplParameterAttribute("@noDerivative");
        Some(vec![self.node(kind, &[])?])
    }
}

fn parameter(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'i' => "@in",
        b'c' => "@in_constant",
        b'l' => "@inout",
        b'b' => "@inout_aliasable",
        b'n' => "@in_guaranteed",
        b'X' => "@in_cxx",
        b'x' => "@owned",
        b'g' => "@guaranteed",
        b'e' => "@deallocating",
        b'y' => "@unowned",
        b'v' => "@pack_owned",
        b'p' => "@pack_guaranteed",
        b'm' => "@pack_inout",
        _ => return None,
    })
}

fn result(letter: u8) -> Option<&'static str> {
    Some(match letter {
        b'r' => "@out",
        b'o' => "@owned",
        b'd' => "@unowned",
        b'u' => "@unowned_inner_pointer",
        b'a' => "@autoreleased",
        b'k' => "@pack_out",
        b'l' => "@guaranteed_address",
        b'g' => "@guaranteed",
        b'm' => "@inout",
        _ => return None,
    })
}
