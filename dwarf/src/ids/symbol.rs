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

/// How an image shares a symbol with other images.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SharedSymbol {
    /// The exported definition: an address, or the offset of a thread-local variable.
    pub definition: Option<FileAddr>,
    /// Whether it is a thread-local variable.
    pub is_thread_local: bool,
    /// Whether the image uses its own definition, whatever others define (`STV_PROTECTED`).
    pub is_protected: bool,
    /// Whether it need not be defined anywhere.
    pub is_weak: bool,
    /// Whether variables of the image are initialized with its address.
    pub is_referred_to: bool,
    /// The word into which the loader writes the address that the image's code uses.
    pub slot: Option<FileAddr>,
    /// The word with the address of the function that the image's code calls. Until its first call,
    /// that may be code of the image itself, which asks the loader.
    pub call_slot: Option<FileAddr>,
    /// The words with the number of the image that has the thread-local variable, and with the offset
    /// in that image's storage.
    pub thread_slot: Option<FileAddr>,
}
