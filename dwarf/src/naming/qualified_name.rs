//! Qualified names of entries, as they are displayed and matched.

use crate::entries::units::{Entry, MAX_HOPS, MAX_NAME, Unit};
use crate::file::demangle::{cpp_function_name, demangle, rust_path, swift_name};
use crate::file::swift::Shown;
use crate::ids::{DieRef, Language};
use crate::lines::DebugInfo;
use crate::naming::simple_template_names::ArgumentBudget;
use std::borrow::Cow;

/// The kinds of coroutines: their bodies are functions that are called again to continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coroutine {
    /// The body of an `async fn`.
    AsyncFn,
    /// An `async` block, a generator, and other coroutines of rustc.
    Block,
}

/// rustc's name for the bodies of `async fn`s.
const ASYNC_FN: &str = "{async_fn#";

/// Maximum nesting of names; more is a cycle.
pub(crate) const MAX_NESTING: usize = 48;

/// Returns the symbol of a variable in namespaces or classes that are no templates (Itanium C++ ABI, 5.1.2).
pub fn nested_symbol(namespace: &str, name: &str) -> String {
    let parts = namespace.split("::").chain([name]);
    let parts: String = parts.map(|it| format!("{}{it}", it.len())).collect();
    format!("_ZN{parts}E")
}

/// A symbol's path names any coroutine a closure. Returns the path with the body's own name
/// instead.
fn with_coroutine_name(path: String, name: &str) -> String {
    match path.rsplit_once("::") {
        Some((outer, "{{closure}}")) => format!("{outer}::{name}"),
        Some((outer, own)) if own.starts_with("{closure#") => format!("{outer}::{name}"),
        _ => path,
    }
}

impl DebugInfo {
    /// Returns the qualified name of a function, type or variable; empty for unnamed ones.
    pub(crate) fn qualified_name(&self, die: DieRef) -> String {
        let Ok((unit, entry)) = self.entry(die) else {
            return String::new();
        };
        self.qualified_name_of(unit, &entry)
    }

    /// Like `qualified_name`, for an entry that is already read.
    pub(crate) fn qualified_name_of(&self, unit: &Unit, entry: &Entry) -> String {
        // Swift's names of functions leave out the labels, and its scopes are not those of C++.
        if unit.language == Language::C
            && matches!(
                entry.tag(),
                gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine
            )
            && let Some(symbol) = self.linkage_name(unit, entry)
            && let Some(name) = swift_name(symbol, Shown::Short)
        {
            return name;
        }
        let mut name = String::new();
        self.write_name(unit, entry, None, 0, &ArgumentBudget::default(), &mut name);
        // rustc names the namespace of an implementation `{impl#0}`; the symbol has its type and
        // trait.
        if unit.language == Language::Rust
            && name.contains("{impl#")
            && let Some(symbol) = self.linkage_name(unit, entry)
            && let Some(path) = rust_path(symbol)
        {
            return match self.coroutine_name(unit, entry) {
                Some(name) => with_coroutine_name(path, name),
                None => path,
            };
        }
        // A class without a name in the debug info may have one in the symbol.
        if unit.language == Language::Cpp
            && (name.contains("(anonymous struct)::") || name.contains("(anonymous class)::"))
            && let Some(symbol) = self.linkage_name(unit, entry)
            && let Some(path) = cpp_function_name(symbol)
        {
            return path;
        }
        // clang gives the initializer of a file's globals a symbol but no name.
        if name.is_empty()
            && let Some(symbol) = self.linkage_name(unit, entry)
        {
            return demangle(symbol).into_owned();
        }
        name
    }

    /// Returns the kind of coroutine that a function is the body of.
    pub(crate) fn coroutine(&self, unit: &Unit, entry: &Entry) -> Option<Coroutine> {
        let name = self.coroutine_name(unit, entry)?;
        Some(match name.starts_with(ASYNC_FN) {
            true => Coroutine::AsyncFn,
            false => Coroutine::Block,
        })
    }

    /// Returns rustc's own name for the body of a coroutine: `{async_fn#0}`, `{async_block#1}<u8>`.
    fn coroutine_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static str> {
        if unit.language != Language::Rust {
            return None;
        }
        let name = self.inherited_string(unit, entry, gimli::DW_AT_name)?;
        let name = std::str::from_utf8(name).ok()?;
        let kinds = [ASYNC_FN, "{async_", "{gen_", "{coroutine#", "{generator#"];
        kinds
            .iter()
            .any(|kind| name.starts_with(kind))
            .then_some(name)
    }

    /// Returns the mangled name, if the compiler recorded it.
    pub(crate) fn linkage_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static str> {
        let name = self
            .inherited_string(unit, entry, gimli::DW_AT_linkage_name)
            .or_else(|| self.inherited_string(unit, entry, gimli::DW_AT_MIPS_linkage_name))?;
        std::str::from_utf8(name).ok()
    }

    /// Returns the mangled name of a variable, if it has one. clang records none where a class declares a static
    /// member: that is made of the class's name. No symbol has the one that is made for a member of a template.
    pub(crate) fn mangled_name(&self, unit: &Unit, entry: &Entry) -> Option<Cow<'static, str>> {
        if let Some(recorded) = self.linkage_name(unit, entry) {
            return Some(Cow::Borrowed(recorded));
        }
        if unit.language != Language::Cpp {
            return None;
        }
        let parent = self.parent(self.root_of(unit, entry))?;
        let is_member = matches!(
            self.entry(parent).ok()?.1.tag(),
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type
        );
        let name = self.inherited_string(unit, entry, gimli::DW_AT_name)?;
        let name = std::str::from_utf8(name).ok()?;
        is_member.then(|| Cow::Owned(nested_symbol(&self.enclosing_name(unit, entry), name)))
    }

    /// Returns the enclosing namespaces and classes of an entry; empty if there are none.
    pub(crate) fn enclosing_name(&self, unit: &Unit, entry: &Entry) -> String {
        let mut name = String::new();
        if unit.language != Language::C
            && let Some(parent) = self.parent(self.root_of(unit, entry))
            && let Ok((unit, entry)) = self.entry(parent)
            && entry.tag() != gimli::DW_TAG_subprogram
        {
            self.write_name(unit, &entry, None, 0, &ArgumentBudget::default(), &mut name);
        }
        name
    }

    fn root_of(&self, unit: &Unit, entry: &Entry) -> DieRef {
        match self.origin(unit, entry) {
            Some(origin) => self.root_origin(origin),
            None => unit.die(entry.offset()),
        }
    }

    /// Appends the qualified name of `entry`. `member` is the name of the member that is being
    /// qualified.
    pub(crate) fn write_name(
        &self,
        unit: &Unit,
        entry: &Entry,
        member: Option<&[u8]>,
        depth: usize,
        budget: &ArgumentBudget,
        out: &mut String,
    ) {
        if depth > MAX_NESTING {
            return;
        }
        // Take the first name on the chain to the declaration. The declaration's position
        // determines the enclosing scopes.
        let mut name = self.own_name(unit, entry);
        let mut place = unit.die(entry.offset());
        let mut language = unit.language;
        let tag = entry.tag();
        let mut next = self.origin(unit, entry);
        for _ in 0..MAX_HOPS {
            let Some((unit, entry)) = next.and_then(|next| self.entry(next).ok()) else {
                break;
            };
            name = name.or_else(|| self.own_name(unit, &entry));
            place = unit.die(entry.offset());
            language = unit.language;
            next = self.origin(unit, &entry);
        }
        let anonymous = match tag {
            // The class of a lambda.
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type
                if member == Some(b"operator()") =>
            {
                "{lambda}"
            }
            gimli::DW_TAG_namespace => "(anonymous namespace)",
            gimli::DW_TAG_structure_type => "(anonymous struct)",
            gimli::DW_TAG_class_type => "(anonymous class)",
            gimli::DW_TAG_union_type => "(anonymous union)",
            gimli::DW_TAG_enumeration_type => "(anonymous enum)",
            _ => "(anonymous)",
        };
        if depth == 0 && name.is_none() && tag != gimli::DW_TAG_namespace {
            return;
        }
        if language != Language::C
            && let Some(parent) = self.parent(place)
            && let Ok((unit, entry)) = self.entry(parent)
        {
            self.write_name(unit, &entry, name, depth + 1, budget, out);
            if !out.is_empty() {
                out.push_str("::");
            }
        }
        if out.len() < MAX_NAME {
            match name {
                Some(name) => {
                    out.push_str(&String::from_utf8_lossy(name));
                    self.write_arguments(unit, entry, name, depth, budget, out);
                    if let Some(arguments) = self.arguments_of_variable(unit, entry, name) {
                        out.push_str(&arguments);
                    }
                }
                None => out.push_str(anonymous),
            }
        }
    }

    /// Returns `DW_AT_name` of an entry itself.
    pub(crate) fn own_name(&self, unit: &Unit, entry: &Entry) -> Option<&'static [u8]> {
        let name = self.string(unit, entry.attr_value(gimli::DW_AT_name)?)?;
        (!name.is_empty()).then_some(name)
    }
}
