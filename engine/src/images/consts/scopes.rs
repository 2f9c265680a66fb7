//! What a source file has: scopes and declarations.

use std::ops::Range;

/// What a scope is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ScopeKind {
    /// The file or a `mod x { }` in it.
    Module,
    /// The body of a function.
    Function,
    /// An `impl`, of a trait or not.
    Impl { of_trait: bool },
    /// The body of a trait.
    Trait,
    /// Any other braces.
    Block,
    /// The tokens of a macro, whose meaning the macro alone knows.
    Macro,
}

/// Whether something is compiled as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Attribute {
    /// It is.
    Harmless,
    /// If it is compiled at all.
    Cfg,
    /// It is left out.
    Absent,
    /// An attribute with this name may change it.
    Other(String),
}

/// A scope.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) kind: ScopeKind,
    /// The scope around it; that of the file is its own.
    pub(super) parent: usize,
    pub(super) first_line: u32,
    pub(super) last_line: u32,
    /// The bytes of its name; of an `impl` those of its type.
    pub(super) name: Range<u32>,
    /// The bytes between its name and its brace; of an `impl` those from the keyword on; of a macro all.
    pub(super) header: Range<u32>,
    pub(super) attribute: Attribute,
}

/// What is declared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ItemKind {
    Const,
    /// A type.
    Type,
    /// A `static`, a function.
    Other,
    /// A module in another file: `mod name;`.
    Module,
    /// What `use` imports: the bytes of the item are all of its paths.
    Use,
}

/// A declaration.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    pub(super) scope: usize,
    /// The bytes of its name.
    pub(super) name: Range<u32>,
    pub(super) line: u32,
    pub(super) attribute: Attribute,
}

/// The scopes and declarations of a file.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The file comes first; each scope comes before those in it.
    pub(super) scopes: Vec<Scope>,
    pub(super) items: Vec<Item>,
}
