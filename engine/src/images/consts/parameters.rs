//! The parameters of generic code: what the instance that a frame runs has for them, by its name in the debug
//! info.

use super::compute;
use super::find::Finder;
use super::scopes::{Scope, ScopeKind};
use super::tokens::{Kind, tokens};
use super::values::SourceValue;

/// A name of a path in the debug info, and its arguments.
pub(super) type Part = (String, Vec<String>);

/// A parameter of an `impl` or function; the type of a `const` one.
struct Parameter {
    name: String,
    ty: Option<String>,
}

/// Splits the path of a function in the debug info: `a::B<u8, 3>::f`.
pub(super) fn parts_of(path: &str) -> Vec<Part> {
    let (mut depth, mut brackets, mut before) = (0usize, 0usize, ' ');
    let mut parts = vec![Part::default()];
    for it in path.chars() {
        let is_end = it == '>' && before != '-';
        if is_end {
            depth = depth.saturating_sub(1);
        }
        let (name, arguments) = match parts.last_mut() {
            Some(last) => last,
            None => break,
        };
        match it {
            ':' if depth == 0 && before == ':' => parts.push(Part::default()),
            ':' | '<' if depth == 0 => {}
            ',' if depth == 1 && brackets == 0 => arguments.push(String::new()),
            _ if depth == 0 && !is_end => name.push(it),
            _ if depth == 0 => {}
            _ => {
                if arguments.is_empty() {
                    arguments.push(String::new());
                }
                if let Some(last) = arguments.last_mut() {
                    last.push(it);
                }
            }
        }
        match it {
            '<' => depth += 1,
            '(' | '[' | '{' if depth > 0 => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.saturating_sub(1),
            _ => {}
        }
        before = it;
    }
    for argument in parts.iter_mut().flat_map(|it| &mut it.1) {
        *argument = argument.trim().to_owned();
    }
    parts
}

impl Finder<'_> {
    /// Returns the value that the frame's instance has for a `const` parameter of a scope; `None` if its name does not
    /// say.
    pub(super) fn parameter(&self, scope: usize, name: &str) -> Option<SourceValue> {
        let (argument, ty) = self.argument(scope, name)?;
        let is_plain = |it: char| it.is_ascii_alphanumeric() || it == '-';
        let ty = ty.filter(|_| argument.chars().all(is_plain))?;
        compute::literal(&format!(": {ty} = {argument};")).ok()
    }

    /// Returns the argument that the frame's instance has for a parameter of a scope, and the type of a `const`
    /// parameter.
    pub(super) fn argument(&self, number: usize, name: &str) -> Option<(String, Option<String>)> {
        let kind = |it: usize| self.outline.scopes.get(it).map(|it| &it.kind);
        let mut around = self.around().iter().copied();
        let own = around.find(|it| kind(*it) == Some(&ScopeKind::Function))?;
        let around = self.scope(own).ok()?.parent;
        let is_of_impl = matches!(kind(around), Some(ScopeKind::Impl { .. }));
        if number != own && !(number == around && is_of_impl) {
            return None;
        }
        let (_, arguments) = self.instance.last()?;
        let mut all = match is_of_impl {
            true => self.parameters(around)?,
            false => Vec::new(),
        };
        all.extend(self.parameters(own)?);
        // Those of `impl Trait` are behind the named ones; a trait's own come first.
        if arguments.len() < all.len() || kind(around) == Some(&ScopeKind::Trait) {
            return None;
        }
        let mut pairs = all.into_iter().zip(arguments);
        let (parameter, argument) = pairs.find(|it| it.0.name == name)?;
        Some((argument.clone(), parameter.ty))
    }

    /// Returns the parameters of an `impl` or function without lifetimes, in their order.
    fn parameters(&self, number: usize) -> Option<Vec<Parameter>> {
        let scope: &Scope = self.scope(number).ok()?;
        let header = self.text_of(&scope.header);
        let all = tokens(header).ok()?;
        let start = usize::from(matches!(scope.kind, ScopeKind::Impl { .. }));
        if !all.get(start).is_some_and(|it| it.is(b'<')) {
            return Some(Vec::new());
        }
        let (mut found, mut depth, mut brackets) = (Vec::new(), 1usize, 0usize);
        let mut rest = all.get(start + 1..)?;
        while let Some(first) = rest.first().filter(|_| depth > 0) {
            let is_const = first.text(header) == "const";
            let name = rest.get(usize::from(is_const))?;
            let mut ty = String::new();
            let mut count = 0;
            for token in rest {
                count += 1;
                brackets += usize::from(token.opens());
                brackets = brackets.saturating_sub(usize::from(token.closes()));
                depth += usize::from(token.is(b'<'));
                depth -= usize::from(token.is(b'>'));
                if depth == 0 || depth == 1 && brackets == 0 && token.is(b',') {
                    break;
                }
                let is_type = is_const && count > 3;
                if is_type && !ty.ends_with('=') {
                    ty.push_str(token.text(header));
                }
            }
            rest = &rest[count..];
            if name.kind == Kind::Name {
                let ty = ty.trim_end_matches('=').to_owned();
                found.push(Parameter {
                    name: name.text(header).to_owned(),
                    ty: is_const.then_some(ty),
                });
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_paths() {
        for (path, expected) in [
            ("a::b::f", "a[] b[] f[]"),
            ("a::B<u8, 3>::f", "a[] B[u8|3] f[]"),
            (
                "a::f<fn(u8, i8) -> c::d<(), e>, 3>",
                "a[] f[fn(u8, i8) -> c::d<(), e>|3]",
            ),
            ("a::{impl#0}::f<[u8; 2]>", "a[] {impl#0}[] f[[u8; 2]]"),
            (
                "a::f::{closure#0}<-1, true>",
                "a[] f[] {closure#0}[-1|true]",
            ),
            ("", "[]"),
            ("<>>::::<", "[] [] [] []"),
        ] {
            let shown: Vec<_> = parts_of(path)
                .iter()
                .map(|(name, arguments)| format!("{name}[{}]", arguments.join("|")))
                .collect();
            assert_eq!(shown.join(" "), expected, "{path}");
        }
    }
}
