//! The image's symbol tables (`.symtab`, `.dynsym`, and what `.gnu_debugdata` may add).

use crate::ids::addr::FileAddr;

/// What a symbol stands for.
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
    /// Whether it stands for code.
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
    /// The name as the table has it (mangled).
    pub name: &'static str,
    /// Where it is.
    pub addr: FileAddr,
    /// Its size in bytes; 0 where the table does not say.
    pub size: u64,
    /// What it stands for.
    pub kind: SymbolKind,
}
