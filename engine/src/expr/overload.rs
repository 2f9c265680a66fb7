//! Overload resolution.

use super::evaluate::Evaluator;
use super::exact::{self, Refusal};
use super::invoke::ResolvedFunction;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Ty, Value};
use dwarf::{Language, VariableKind};
use std::cmp::Reverse;
use std::sync::Arc;

impl Evaluator<'_> {
    /// Returns the best of these functions; an error says why none matches.
    pub(super) fn best<'k>(
        &self,
        known: &'k [ResolvedFunction],
        class: Option<&Arc<DwarfTy>>,
        typed: &str,
        arguments: &[Value],
    ) -> Result<Option<&'k ResolvedFunction>, String> {
        let mut fitting: Vec<(u32, &ResolvedFunction)> = Vec::new();
        let mut refused: Option<(&ResolvedFunction, Refusal)> = None;
        for it in known {
            match self.fitness(it, class, typed, arguments) {
                Ok(rank) => fitting.push((rank, it)),
                // A refused argument is a better explanation than other parameters.
                Err(why) => match &refused {
                    Some((_, before)) if before.weight() >= why.weight() => {}
                    _ => refused = Some((it, why)),
                },
            }
        }
        let Some(rank) = fitting.iter().map(|(rank, _)| *rank).max() else {
            return match refused {
                Some((known, why)) => Err(refusal_message(known, why)),
                None => Ok(None),
            };
        };
        let mut best: Vec<&ResolvedFunction> = fitting
            .into_iter()
            .filter(|it| it.0 == rank)
            .map(|it| it.1)
            .collect();
        // A class's own functions hide those of traits; a non-const overload is preferred to its
        // const twin.
        best.sort_by_key(|it| {
            let of_trait = class.is_some() && it.module.class_of(&it.function).is_none();
            (of_trait, exact::is_const_method(it), Reverse(it.nearness))
        });
        let is_as_near = |it: &&ResolvedFunction| match best.first() {
            Some(first) => {
                it.nearness == first.nearness
                    && exact::is_const_method(it) == exact::is_const_method(first)
                    && (class.is_none()
                        || it.module.class_of(&it.function).is_none()
                            == first.module.class_of(&first.function).is_none())
                    && (it.function.linkage_name != first.function.linkage_name
                        || it.function.linkage_name.is_none())
            }
            None => false,
        };
        match (best.first(), best.iter().skip(1).find(|it| is_as_near(it))) {
            (Some(one), Some(other)) if one.function.entry != other.function.entry => Err(format!(
                "ambiguous call: candidates are `{}`{} and `{}`{}; write a more qualified name",
                one.function.name,
                declared_at(one),
                other.function.name,
                declared_at(other),
            )),
            (first, _) => Ok(first.copied()),
        }
    }

    pub(super) fn best_virtual<'k>(
        &self,
        known: &'k [ResolvedFunction],
        name: &str,
        all: &[Value],
    ) -> Result<Option<&'k ResolvedFunction>, String> {
        let arguments = all.get(1..).unwrap_or_default();
        let fits = |it: &&ResolvedFunction| {
            let types = parameters(it);
            let types = types.get(1..).unwrap_or_default();
            types.len() == arguments.len()
                && types
                    .iter()
                    .zip(arguments)
                    .all(|(ty, value)| self.accepts(ty, value, Language::Cpp).is_ok())
        };
        let rank = |it: &&ResolvedFunction| -> u32 {
            let types = parameters(it);
            let types = types.get(1..).unwrap_or_default();
            let pairs = types.iter().zip(arguments);
            pairs
                .filter_map(|(ty, value)| self.accepts(ty, value, Language::Cpp).ok())
                .sum()
        };
        match (known.iter().filter(fits).max_by_key(rank), known.first()) {
            (Some(best), _) => Ok(Some(best)),
            (None, Some(only)) => Err(format!("`{name}` takes {}", parameter_list(only))),
            (None, None) => Ok(None),
        }
    }
}

/// Returns the message for a function that is not called.
fn refusal_message(known: &ResolvedFunction, why: Refusal) -> String {
    match why {
        Refusal::Argument(why) => why,
        _ => format!("`{}` takes {}", known.function.name, parameter_list(known)),
    }
}

fn declared_at(known: &ResolvedFunction) -> String {
    match &known.function.declaration {
        Some(at) => format!(" ({}:{})", at.file.path.display(), at.line),
        None => String::new(),
    }
}

fn parameter_list(known: &ResolvedFunction) -> String {
    match &parameters(known)[..] {
        [] => "no arguments".to_owned(),
        types => types.iter().map(Ty::name).collect::<Vec<_>>().join(", "),
    }
}

/// Returns the types of a function's parameters, `this` first.
pub(super) fn parameters(known: &ResolvedFunction) -> Vec<Ty> {
    let all = known.function.scope.variables.iter();
    all.filter(|it| it.kind == VariableKind::Parameter)
        .map(|it| match it.ty {
            Some(id) => Ty::dwarf(&known.module, known.bias, id),
            None => Ty::Void,
        })
        .collect()
}
