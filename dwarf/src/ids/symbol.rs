//! The image's symbol tables (`.symtab`, `.dynsym`, and what `.gnu_debugdata` may add).

use crate::ids::addr::FileAddr;

/// The kind of thing that a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// Code.
    Function,
    /// Data.
    Object,
    /// A GNU indirect function: its address is that of a resolver.
    IndirectFunction,
    /// A thread-local variable: `addr` is an offset into the image's TLS block.
    ThreadLocal,
}

impl Symbol {
    /// Returns whether the symbol names code.
    pub fn is_code(&self) -> bool {
        matches!(
            self.kind,
            SymbolKind::Function | SymbolKind::IndirectFunction
        )
    }
}

/// One symbol of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The raw (mangled) name.
    pub name: &'static str,
    /// Its address, or the offset of a thread-local variable.
    pub addr: FileAddr,
    /// Its size in bytes; 0 if the table has none.
    pub size: u64,
    /// Its kind.
    pub kind: SymbolKind,
}
