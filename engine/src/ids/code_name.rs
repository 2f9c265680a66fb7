//! A name for a piece of code.

use std::path::PathBuf;

/// Identifies a piece of code independent of the process.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CodeName {
    /// The image's file; `None` for code outside all images, which is gone with its process.
    pub image: Option<PathBuf>,
    /// The mangled symbol, if there is one.
    pub symbol: Option<String>,
    /// Its start: an address of the image, or of the process without an image.
    pub start: u64,
    /// The address after its last byte.
    pub end: u64,
}

impl CodeName {
    /// Returns a name for display: the demangled symbol, or the address.
    pub fn label(&self) -> String {
        match &self.symbol {
            Some(symbol) => dwarf::demangle_short(symbol).into_owned(),
            None => format!("{:#x}", self.start),
        }
    }

    pub(crate) fn title(&self) -> String {
        match &self.image {
            Some(image) => format!("{} in {}", self.label(), image.display()),
            None => format!("code at {}", self.label()),
        }
    }
}
