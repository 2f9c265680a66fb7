//! Overload resolution.

use super::exact::{self, Candidate, Passed, Refusal};
use super::invoke::ResolvedFunction;
use crate::inspect::value::Ty;
use dwarf::{Language, VariableKind};
use std::cmp::Reverse;

/// Returns the best of these functions; an error says why none matches. `is_method`: the first
/// argument is the object.
pub(super) fn best<'k>(
    known: &'k [Candidate],
    is_method: bool,
    typed: &str,
    arguments: &[Passed],
) -> Result<Option<&'k Candidate>, String> {
    let mut fitting: Vec<(u32, &Candidate)> = Vec::new();
    let mut refused: Option<(&Candidate, Refusal)> = None;
    for it in known {
        match exact::fitness(it, is_method, typed, arguments) {
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
            Some((known, why)) => {
                let own = usize::from(is_method && known.has_this);
                let given = arguments.len().saturating_sub(usize::from(is_method));
                Err(refusal_message(known, why, own, given))
            }
            None => Ok(None),
        };
    };
    let mut best: Vec<&Candidate> = fitting
        .into_iter()
        .filter(|it| it.0 == rank)
        .map(|it| it.1)
        .collect();
    let nearness = |it: &Candidate| it.code.as_ref().map_or(0, |it| it.nearness);
    // A class's own functions hide those of traits; a non-const overload is preferred to its
    // const twin.
    let order = |it: &Candidate| {
        (
            is_method && !it.is_of_class,
            it.is_const,
            Reverse(nearness(it)),
        )
    };
    best.sort_by_key(|it| order(it));
    let (Some(first), rest) = (best.first().copied(), best.iter().skip(1)) else {
        return Ok(None);
    };
    let differs = |it: &&&Candidate| {
        let (Some(a), Some(b)) = (&it.code, &first.code) else {
            return false;
        };
        let (a, b) = (&a.function, &b.function);
        let is_named_alike = a.linkage_name.is_some() && a.linkage_name == b.linkage_name;
        order(it) == order(first) && !is_named_alike && a.entry != b.entry
    };
    match rest.clone().find(differs) {
        Some(other) => Err(format!(
            "ambiguous call: candidates are `{}`{} and `{}`{}; write a more qualified name",
            first.name,
            declared_at(first),
            other.name,
            declared_at(other),
        )),
        None => Ok(Some(first)),
    }
}

/// Returns the message for a function that is not called.
/// Its first `own` parameters are the object; the call has `given` arguments for the others.
fn refusal_message(known: &Candidate, why: Refusal, own: usize, given: usize) -> String {
    let wanted = known.types.len().saturating_sub(own);
    match why {
        Refusal::Argument(why) => why,
        _ if given < wanted && known.language == Language::Cpp => {
            let missing = match wanted - given {
                1 => "1 argument is missing".to_owned(),
                missing => format!("{missing} arguments are missing"),
            };
            format!(
                "`{}` takes {}: {missing}, and the debug info does not record default arguments; \
                 write all of them",
                known.name,
                parameter_list(known)
            )
        }
        _ => format!("`{}` takes {}", known.name, parameter_list(known)),
    }
}

fn declared_at(known: &Candidate) -> String {
    let code = known.code.as_ref();
    match code.and_then(|it| it.function.declaration.as_ref()) {
        Some(at) => format!(" ({}:{})", at.file.path.display(), at.line),
        None => String::new(),
    }
}

fn parameter_list(known: &Candidate) -> String {
    match &known.types[..] {
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
