//! Names of overloaded functions of C++ outside of calls: the type of pointer that is wanted chooses the function
//! (ISO C++ [over.over]).

use super::{Checked, Checker, Stop, wrong};
use crate::expr::evaluate::inner;
use crate::expr::exact;
use crate::expr::ir::{Expr, Kind, Storage};
use crate::expr::overload::Candidate;
use crate::expr::tree::{self, Node};
use crate::inspect::value::synthetic::FunctionTy;
use crate::inspect::value::{Shape, Ty};
use dwarf::Language;

/// Maximum number of functions that a message lists.
const LISTED: usize = 8;

impl Checker<'_> {
    /// Checks the name of an overloaded function, or its address, as a pointer or reference to a function of this
    /// type; `None`: the node or the type is something else.
    pub(super) fn function_as<'t>(
        &self,
        ty: &Ty,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Shape::Pointer(to, _) = ty.shape() else {
            return Ok(None);
        };
        if matches!(to.shape(), Shape::Pointer(..)) && exact::reference(ty).is_some() {
            return self.function_as(&to, node);
        }
        let Some(wanted) = to.signature() else {
            return Ok(None);
        };
        let Some((name, known)) = self.overloads_at(node)? else {
            return Ok(None);
        };
        let mut fitting: Vec<&Candidate> = known.iter().filter(|it| fits(it, &wanted)).collect();
        if fitting.len() > 1 {
            // `const` alone may tell them apart.
            let is_exact = |it: &&Candidate| names(&it.types).eq(names(&wanted.parameters));
            fitting.retain(is_exact);
        }
        let entry = match fitting[..] {
            [only] => only.code.as_ref(),
            _ => None,
        };
        let Some(code) = entry else {
            let why = format!(
                "not one of the functions `{name}` has the type `{}`",
                to.name()
            );
            return Err(wrong(format!("{why}: {}", list(&known)), &node.span));
        };
        let entry = code.bias.load(code.function.entry);
        let ty = match exact::reference(ty) {
            Some(_) => to.pointer(),
            None => ty.clone(),
        };
        Ok(Some(Expr::new(Kind::Constant(entry.0.into()), ty, node)))
    }

    /// Fails for the name of an overloaded function, where no type chooses one.
    pub(super) fn undecided<'t>(&self, name: &str, node: &'t Node) -> Result<(), Stop<'t>> {
        match self.overloads(name)? {
            None => Ok(()),
            Some(known) => Err(wrong(
                format!(
                    "`{name}` is overloaded: {}; cast it to a pointer to the one that is meant, for example \
                     `({} (*)({})){name}`",
                    list(&known),
                    known[0].returns.name(),
                    shown(&known[0].types),
                ),
                &node.span,
            )),
        }
    }

    /// Checks an argument of a call: which of several functions an overloaded name means, the parameter
    /// decides.
    pub(super) fn argument<'t>(&self, node: &'t Node) -> Checked<'t> {
        match self.check(node) {
            Err(stop @ Stop::Wrong(_)) => match self.overloads_at(node)? {
                Some((name, _)) => {
                    let kind = Kind::Variable(Storage::Global, name, node, None);
                    Ok(Expr::new(kind, Ty::Function(name.into()), node))
                }
                None => Err(stop),
            },
            checked => checked,
        }
    }

    /// Returns the name and the functions of an overloaded name, or of its address.
    fn overloads_at<'t>(
        &self,
        node: &'t Node,
    ) -> Result<Option<(&'t str, Vec<Candidate>)>, Stop<'t>> {
        let name = match &inner(node).kind {
            tree::Kind::Name(name) => Some(name),
            tree::Kind::AddressOf(of) => match &inner(of).kind {
                tree::Kind::Name(name) => Some(name),
                _ => None,
            },
            _ => None,
        };
        let Some(name) = name.filter(|_| self.language == Language::Cpp) else {
            return Ok(None);
        };
        let is_hidden = !matches!(self.scope.variable(Storage::Local, name, node), Ok(None))
            || self.own_member("this", name, node)?.is_some();
        if is_hidden {
            return Ok(None);
        }
        let found = match self.scope.variable(Storage::Global, name, node) {
            Ok(Some(leaf)) if matches!(leaf.ty.shape(), Shape::Function) => self.overloads(name)?,
            _ => None,
        };
        Ok(found.map(|known| (&**name, known)))
    }

    /// Returns the functions that a name of C++ means, one for each list of parameters, if there are several.
    fn overloads<'t>(&self, name: &str) -> Result<Option<Vec<Candidate>>, Stop<'t>> {
        if self.language != Language::Cpp {
            return Ok(None);
        }
        let known = self.scope.functions(name).map_err(Stop::Wrong)?;
        let mut apart: Vec<Candidate> = Vec::new();
        for candidate in known.into_iter().map(Candidate::of) {
            let is_it = |it: &Candidate| names(&it.types).eq(names(&candidate.types));
            if !candidate.takes_object() && !apart.iter().any(is_it) {
                apart.push(candidate);
            }
        }
        Ok((apart.len() > 1).then_some(apart))
    }
}

/// Returns whether a function has this type.
fn fits(known: &Candidate, wanted: &FunctionTy) -> bool {
    let types = known.types.iter().zip(&wanted.parameters);
    known.types.len() == wanted.parameters.len()
        && exact::same(&known.returns, &wanted.returns)
        && types.into_iter().all(|(a, b)| exact::same(a, b))
}

fn names(types: &[Ty]) -> impl Iterator<Item = String> + '_ {
    types.iter().map(|ty| ty.name().to_string())
}

fn shown(types: &[Ty]) -> String {
    names(types).collect::<Vec<_>>().join(", ")
}

/// Lists functions with their parameters.
fn list(known: &[Candidate]) -> String {
    let all = known.iter().take(LISTED);
    let all = all.map(|it| format!("`{} {}({})`", it.returns.name(), it.name, shown(&it.types)));
    let mut text = all.collect::<Vec<_>>().join(", ");
    if known.len() > LISTED {
        text.push_str(", …");
    }
    text
}
