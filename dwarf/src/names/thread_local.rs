//! Rust's `thread_local!`: the macro puts the storage of `NAME` into a static nested in namespaces
//! below `NAME`, which itself is a constant without an entry.

use crate::entries::units::{Entry, Unit};
use crate::functions::variable::{Variable, VariableKind};
use crate::ids::symbol::SymbolKind;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::module::Module;
use crate::names::statics::in_function;
use crate::naming::{Key, NameQuery};

/// Names of the storage in releases of std: since 1.95; 1.80, and 1.70 for constant initializers;
/// 1.70 for lazy ones.
const STORAGES: [&str; 3] = ["__RUST_STD_INTERNAL_VAL", "VAL", "__KEY"];

/// Returns thread-local variables by the name in the source.
pub(crate) fn named(module: &Module, query: &NameQuery, near: Option<u32>) -> Vec<Variable> {
    let look = |info: &DebugInfo, mut dies: Vec<DieRef>| {
        dies.retain(|die| {
            declared_path(&info.qualified_name(*die)).is_some_and(|path| query.matches(path))
                && !in_function(info, *die)
        });
        dies.sort_by_key(|die| Some(die.unit) != near);
        dies.into_iter()
            .filter_map(|die| {
                let (unit, entry) = info.entry(die).ok()?;
                let variable = info.read_variable(unit, &entry, VariableKind::Static)?;
                as_declared(module, info, unit, &entry, variable)
            })
            .collect()
    };
    let found = |name: &&str| {
        let found = module.find_names(|index| &index.statics, Key::of(name), near, look);
        (!found.is_empty()).then_some(found)
    };
    STORAGES.iter().find_map(found).unwrap_or_default()
}

/// Renames the storage static to the name in the source. Returns `None` for statics that are not in
/// the source and for copies without storage: the macro expands to one static for values with a
/// destructor and one for those without. The linker keeps the one in use and sets the other's
/// location to 0, which is a valid offset.
pub(crate) fn as_declared(
    module: &Module,
    info: &DebugInfo,
    unit: &Unit,
    entry: &Entry,
    mut variable: Variable,
) -> Option<Variable> {
    // For constant initializers, 1.70 has a separate static for the destructor's state.
    let is_state = variable.name == "STATE" && variable.namespace.ends_with("::__getit");
    if unit.language == Language::Rust && is_state {
        return None;
    }
    if unit.language != Language::Rust || !STORAGES.contains(&&*variable.name) {
        return Some(variable);
    }
    let qualified = format!("{}::{}", variable.namespace, variable.name);
    let Some(path) = declared_path(&qualified) else {
        return Some(variable);
    };
    let symbol = info.linkage_name(unit, entry)?;
    // LLVM numbers the parts of a static that it splits.
    let has_storage = ["", ".0", ".1"].iter().any(|part| {
        let symbols = module.symbols_named(&format!("{symbol}{part}"));
        symbols.iter().any(|it| it.kind == SymbolKind::ThreadLocal)
    });
    if !has_storage {
        return None;
    }
    let (namespace, name) = path.rsplit_once("::").unwrap_or(("", path));
    variable.namespace = namespace.into();
    variable.name = name.into();
    Some(variable)
}

/// Returns `crate::NAME` for `crate::NAME::{constant#0}::{closure#1}::VAL` or
/// `crate::NAME::__getit::VAL`.
fn declared_path(qualified: &str) -> Option<&str> {
    let (mut path, storage) = qualified.rsplit_once("::")?;
    if !STORAGES.contains(&storage) {
        return None;
    }
    while let Some((outer, last)) = path.rsplit_once("::") {
        if last == "__getit" || last.starts_with("{constant#") {
            return Some(outer);
        }
        if !last.starts_with("{closure#") {
            return None;
        }
        path = outer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::declared_path;

    #[test]
    fn thread_local_names_match_the_source() {
        for (qualified, declared) in [
            (
                "a::m::NAME::{constant#0}::{closure#1}::__RUST_STD_INTERNAL_VAL",
                Some("a::m::NAME"),
            ),
            (
                "a::main::NAME::{constant#0}::__RUST_STD_INTERNAL_VAL",
                Some("a::main::NAME"),
            ),
            ("a::NAME::{constant#0}::{closure#0}::VAL", Some("a::NAME")),
            ("a::NAME::__getit::__KEY", Some("a::NAME")),
            ("a::NAME::__getit::STATE", None),
            ("a::main::{closure#0}::VAL", None),
            ("a::VAL", None),
            ("VAL", None),
            ("{constant#0}::VAL", None),
            ("", None),
        ] {
            assert_eq!(declared_path(qualified), declared, "{qualified}");
        }
    }
}
