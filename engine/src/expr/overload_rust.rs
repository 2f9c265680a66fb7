//! Overloads of Rust: which literals an instance of a generic function takes, and which functions are
//! copies of one.

use super::invoke::ResolvedFunction;
use super::overload::{Candidate, is_instance, parameters};
use crate::inspect::language::template;
use crate::inspect::value::Ty;
use dwarf::{Function, Language};
use std::sync::Arc;

/// Returns whether the type of an instance's parameter does not depend on the argument: it is fixed in the
/// function's source, or by the type of the object. Only such a parameter converts a literal; for any other
/// one, a literal of another type would choose another instance.
pub(super) fn is_settled(known: &Candidate, parameter: &Ty) -> bool {
    let Some(code) = &known.code else {
        return false;
    };
    if known.language != Language::Rust {
        return false;
    }
    let mut chosen = generic_arguments(&known.name);
    for settled in settled_by_class(code) {
        if let Some(at) = chosen.iter().position(|it| *it == settled) {
            chosen.swap_remove(at);
        }
    }
    let name = parameter.name();
    let target = name.strip_prefix('&').unwrap_or(&name);
    let target = target.strip_prefix("mut ").unwrap_or(target);
    !chosen.iter().any(|it| **it == *name || *it == target)
}

/// Returns the generic arguments at the end of a name.
fn generic_arguments(name: &str) -> Vec<&str> {
    parts_of_instance(name).1
}

/// Returns a name without the generic arguments at its end, and these.
pub(super) fn parts_of_instance(name: &str) -> (&str, Vec<&str>) {
    let Some(list) = name.strip_suffix('>').filter(|_| is_instance(name)) else {
        return (name, Vec::new());
    };
    let (mut depth, mut before) = (1usize, list.len());
    for (at, byte) in list.bytes().enumerate().rev() {
        match byte {
            // `fn() -> u8`
            b'>' if list[..at].ends_with('-') => {}
            b'>' => depth += 1,
            b'<' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            before = at + 1;
            break;
        }
    }
    let head = list[..before].trim_end_matches('<');
    (head, template::split_arguments(&list[before..]))
}

/// Returns the types that the class of a method settles: generic parameters that both have with one
/// name and type.
fn settled_by_class(code: &ResolvedFunction) -> Vec<String> {
    let ty = |id| Ty::dwarf(&code.module, code.bias, id);
    let Some(class) = code.module.class_of(&code.function).map(ty) else {
        return Vec::new();
    };
    let Ty::Dwarf(class) = class.strip() else {
        return Vec::new();
    };
    let parameters = class.composite().map(|it| &it.template_types[..]);
    let settled = parameters.unwrap_or_default().iter().filter_map(|it| {
        let of_class = class.related(it.1?).name();
        let own = code.module.type_in_block(&it.0, &code.function.scope)?;
        (*ty(own).name() == *of_class).then(|| of_class.to_string())
    });
    settled.collect()
}

/// Returns whether two functions are copies of one: the compiler makes one of an `#[inline]` or
/// generic function in each unit that calls it, under symbols that differ in a hash only.
pub(super) fn are_copies(a: &ResolvedFunction, b: &ResolvedFunction) -> bool {
    if types_of(a) != types_of(b) {
        return false;
    }
    let (a, b) = (&a.function, &b.function);
    // The name of a function of a trait, or of a type in another module, has no generic arguments.
    let is_of_std = |name: &str| {
        ["core::", "alloc::", "std::"]
            .iter()
            .any(|it| name.starts_with(it))
    };
    let lacks_arguments =
        |name: &str| name.starts_with('<') || name.contains("<impl ") && !is_of_std(name);
    let is_generic = |it: &Function| {
        lacks_arguments(&it.name) && (!it.scope.declarations.is_empty() || it.scope.is_instance)
    };
    if is_generic(a) || is_generic(b) {
        return false;
    }
    let is_rust = a.language == Language::Rust && b.language == Language::Rust;
    let (Some(at), Some(other)) = (&a.declaration, &b.declaration) else {
        return false;
    };
    let (Some(symbol), Some(other_symbol)) = (&a.linkage_name, &b.linkage_name) else {
        return false;
    };
    is_rust
        && a.name == b.name
        && at.line == other.line
        && at.file.path == other.file.path
        && without_hash(symbol) == without_hash(other_symbol)
}

/// Returns the names of the types that a function takes and returns.
fn types_of(known: &ResolvedFunction) -> Vec<Arc<str>> {
    let returned = known.function.return_type;
    let returned = returned.map(|id| Ty::dwarf(&known.module, known.bias, id));
    let types = parameters(known).into_iter().chain(returned);
    types.map(|ty| ty.name()).collect()
}

/// Returns a symbol without what distinguishes copies: the hash at the end of a legacy one, the crate
/// at the end of one of version 0.
fn without_hash(symbol: &str) -> &str {
    let symbol = match symbol.split_once(".llvm.") {
        Some((symbol, _)) => symbol,
        None => symbol,
    };
    let shorter = match symbol.starts_with("_R") {
        true => symbol.rfind("Cs").and_then(|at| symbol.get(..at)),
        false => symbol
            .rfind("17h")
            .filter(|at| symbol.len() - at == "17h0123456789abcdefE".len())
            .and_then(|at| symbol.get(..at)),
    };
    shorter.unwrap_or(symbol)
}

#[cfg(test)]
mod tests {
    use super::{generic_arguments, parts_of_instance, without_hash};

    #[test]
    fn arguments_of_the_last_component() {
        assert_eq!(generic_arguments("a::S<u8>::at<u8>"), ["u8"]);
        let several = generic_arguments("a::f<(u8, u16), b::T<i32>, fn(u8) -> u16>");
        assert_eq!(several, ["(u8, u16)", "b::T<i32>", "fn(u8) -> u16"]);
        assert_eq!(generic_arguments("a::S<u8>::at"), Vec::<&str>::new());
        for (name, head) in [
            ("a::S<u8>::at<u8>", "a::S<u8>::at"),
            ("Pair<u8,Vec<u8>>", "Pair"),
            ("a::S<u8>::at", "a::S<u8>::at"),
        ] {
            assert_eq!(parts_of_instance(name).0, head);
        }
    }

    #[test]
    fn symbols_of_copies() {
        let copies = [
            (
                "_ZN1x1T4size17h0123456789abcdefE",
                "_ZN1x1T4size17hfedcba9876543210E",
            ),
            (
                "_ZN1x1T4size17h0123456789abcdefE.llvm.12",
                "_ZN1x1T4size17h0123456789abcdefE",
            ),
            ("_RINvCs1a_1x1fhECs2b_1y", "_RINvCs1a_1x1fhECs3c_1z"),
        ];
        for (a, b) in copies {
            assert_eq!(without_hash(a), without_hash(b), "{a}");
        }
        let others = [
            (
                "_ZN1x1T4size17h0123456789abcdefE",
                "_ZN1x1U4size17h0123456789abcdefE",
            ),
            ("_RINvCs1a_1x1fhECs2b_1y", "_RINvCs1a_1x1gtECs2b_1y"),
        ];
        for (a, b) in others {
            assert_ne!(without_hash(a), without_hash(b), "{a}");
        }
    }
}
