//! Readable names of symbols, bounded in time and length.

use std::borrow::Cow;

/// Longer symbols are shown as they are: demangling can take time out of all proportion.
const MAX_SYMBOL: usize = 4096;
/// Nesting of the grammar that is followed.
const MAX_RECURSION: u32 = 96;
/// Substitutions can make a short symbol's readable form huge.
const MAX_READABLE: usize = 1 << 16;

/// A symbol's readable name: Rust (legacy and v0) and Itanium C++ demangled, bounded in time
/// and length; others as they are.
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
    Cow::Borrowed(symbol)
}

/// A function's readable name as [`demangle`] gives it, without the type that it returns: C++
/// writes that into the symbols of templates only.
pub fn demangle_function(symbol: &str) -> Cow<'_, str> {
    let readable = demangle(symbol);
    if readable == symbol || !symbol.starts_with("_Z") || rust_path(symbol).is_some() {
        return readable;
    }
    demangle_cpp(symbol, Shown::WithParameters).map_or(readable, Cow::Owned)
}

/// How much of a C++ symbol is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shown {
    All,
    WithParameters,
    Name,
}

/// The qualified name without parameters and return type, if it is a C++ symbol.
pub(crate) fn cpp_function_name(symbol: &str) -> Option<String> {
    if symbol.len() > MAX_SYMBOL || !symbol.starts_with("_Z") {
        return None;
    }
    demangle_cpp(symbol, Shown::Name)
}

/// The path of a Rust symbol without its hash, if it is one.
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

/// Text that refuses to grow without bound.
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
