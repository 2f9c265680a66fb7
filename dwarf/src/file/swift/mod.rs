//! Names of Swift, demangled as by `swift demangle`: mangled by Swift 4 (`_T0`, `$S`), by 5 and later (`$s`), and
//! for embedded systems (`$e`); classes in the runtime of Objective-C (`_TtC`).
//!
//! The operators of a mangled name are read into a tree, and the tree is printed. What is read is text of a file,
//! so the tree, its depth and the text are bounded.
//!
//! `swift demangle` is followed but where it is wrong: it leaves out the separators of captured types, `each` of some
//! packs, and the names of some initializers; and it shows the parts of a malformed name side by side.

mod node;
mod parse;
mod print;
mod punycode;
mod runtime_class;
#[cfg(test)]
mod tests;

use parse::Start;

/// Maximum nesting of mangled names: a specialized function can name the symbol of another one.
const MAX_NESTED_NAMES: usize = 3;

/// How much of a name is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shown {
    /// Everything, as `swift demangle` shows it: `main.Stop.area(of: Swift.Int) -> Swift.Int`.
    Full,
    /// Without modules and types, as `swift demangle --simplified` shows it: `Stop.area(of:)`.
    Short,
    /// Without types, and for a specialized function what it was made of: `main.Stop.area(of:)`.
    Path,
    /// For types: without modules, `Stop`, `(Int) -> [String]`.
    Type,
}

impl Shown {
    fn has_modules(self) -> bool {
        matches!(self, Shown::Full | Shown::Path)
    }

    fn has_types_of_functions(self) -> bool {
        matches!(self, Shown::Full | Shown::Type)
    }
}

/// Returns whether a symbol has a prefix of Swift.
pub(crate) fn is_mangled(symbol: &str) -> bool {
    mangled(symbol).is_some()
}

/// Returns how a symbol of Swift begins, and what follows; `None` for others.
fn mangled(symbol: &str) -> Option<(Start, &str)> {
    let starts = [
        ("$s", Start::Prefix),
        ("$S", Start::Prefix),
        ("$e", Start::Prefix),
        ("T0", Start::PrefixOfSwift4),
        ("async_Main", Start::AsyncMain),
    ];
    let plain = symbol.strip_prefix('_').unwrap_or(symbol);
    let (start, rest) = starts
        .iter()
        .find_map(|(prefix, start)| Some((*start, plain.strip_prefix(prefix)?)))?;
    let is_swift = start != Start::PrefixOfSwift4 || symbol.starts_with("_");
    is_swift.then_some((start, rest))
}

/// Demangles a symbol of Swift; `None` for others, and for what is malformed or too deep.
pub(crate) fn demangle(symbol: &str, shown: Shown) -> Option<String> {
    demangle_nested(symbol, shown, 0)
}

fn demangle_nested(symbol: &str, shown: Shown, nested: usize) -> Option<String> {
    let (tree, root) = match symbol.strip_prefix("_Tt") {
        Some(mangled) => runtime_class::parse(mangled)?,
        None => {
            let (start, mangled) = mangled(symbol)?;
            parse::parse(start, mangled)?
        }
    };
    print::print(&tree, root, shown, nested)
}
