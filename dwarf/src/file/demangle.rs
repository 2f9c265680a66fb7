//! Demangled names of symbols, bounded in time and length.

use crate::file::swift::{self, Shown as SwiftShown};
use std::borrow::Cow;

/// Maximum length of a symbol to demangle: the time can grow faster than the length.
const MAX_SYMBOL: usize = 4096;
/// Maximum nesting of the C++ grammar.
const MAX_RECURSION: u32 = 96;
/// Maximum length of a demangled C++ name: substitutions can expand a short symbol to a huge name.
const MAX_READABLE: usize = 1 << 16;

/// Demangles Rust (legacy and v0), Itanium C++ and Swift symbols. Other symbols, and those that exceed a
/// limit, are returned unchanged. Names of Swift are complete: `main.Stop.area(of: Swift.Int) -> Swift.Int`.
pub fn demangle(symbol: &str) -> Cow<'_, str> {
    if symbol.len() > MAX_SYMBOL {
        return Cow::Borrowed(symbol);
    }
    if (symbol.starts_with("_R") || symbol.starts_with("_ZN"))
        && let Ok(name) = rustc_demangle::try_demangle(symbol)
    {
        return Cow::Owned(format!("{name:#}"));
    }
    if symbol.starts_with("_Z")
        && let Some(name) = demangle_cpp(symbol, Shown::All)
    {
        return Cow::Owned(name);
    }
    swift_name(symbol, SwiftShown::Full).map_or(Cow::Borrowed(symbol), Cow::Owned)
}

/// Demangles a symbol like [`demangle`], as a stack shows it: a name of Swift without modules and types,
/// `Stop.area(of:)`.
pub fn demangle_short(symbol: &str) -> Cow<'_, str> {
    match swift_name(symbol, SwiftShown::Short) {
        Some(name) => Cow::Owned(name),
        None => demangle(symbol),
    }
}

/// Returns the name of a Swift symbol; `None` for others, and for those that exceed a limit.
pub(crate) fn swift_name(symbol: &str, shown: SwiftShown) -> Option<String> {
    if symbol.len() > MAX_SYMBOL {
        return None;
    }
    swift::demangle(symbol, shown)
}

/// Demangles a function's symbol like [`demangle`], without the return type, which C++ encodes for
/// templates only, and for Swift without all types.
pub fn demangle_function(symbol: &str) -> Cow<'_, str> {
    if let Some(name) = swift_name(symbol, SwiftShown::Path) {
        return Cow::Owned(name);
    }
    let readable = demangle(symbol);
    if readable == symbol || !symbol.starts_with("_Z") || rust_path(symbol).is_some() {
        return readable;
    }
    demangle_cpp(symbol, Shown::WithParameters).map_or(readable, Cow::Owned)
}

/// The parts of a C++ symbol to print.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    WithParameters,
    Name,
}

/// Returns the qualified name of a C++ symbol without parameters and return type; `None` for other
/// symbols.
pub(crate) fn cpp_function_name(symbol: &str) -> Option<String> {
    if symbol.len() > MAX_SYMBOL || !symbol.starts_with("_Z") {
        return None;
    }
    demangle_cpp(symbol, Shown::Name)
}

/// Returns the path of a Rust symbol without its hash; `None` for other symbols.
pub(crate) fn rust_path(symbol: &str) -> Option<String> {
    if symbol.len() > MAX_SYMBOL {
        return None;
    }
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    Some(format!("{name:#}"))
}

fn demangle_cpp(symbol: &str, shown: Shown) -> Option<String> {
    let parse = cpp_demangle::ParseOptions::default().recursion_limit(MAX_RECURSION);
    let mut show = cpp_demangle::DemangleOptions::new().recursion_limit(MAX_RECURSION);
    if shown != Shown::All {
        show = show.no_return_type();
    }
    if shown == Shown::Name {
        show = show.no_params();
    }
    let parsed = cpp_demangle::BorrowedSymbol::new_with_options(symbol.as_bytes(), &parse).ok()?;
    let mut name = Bounded(String::new());
    parsed.structured_demangle(&mut name, &show).ok()?;
    (!name.0.is_empty()).then_some(name.0)
}

/// A string that refuses to grow beyond [`MAX_READABLE`].
struct Bounded(String);

impl std::fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > MAX_READABLE {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}
