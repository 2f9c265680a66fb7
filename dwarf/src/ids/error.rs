//! Errors in an image or its debug info. Missing things are `Option`s, not errors.

use std::path::PathBuf;

/// A failure to read an image or its debug info. It affects as little as possible: one entry, unit
/// or file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or mapped.
    #[error("cannot open {}: {message}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's message.
        message: String,
    },
    /// The file is not an image that this crate reads.
    #[error("{} is not a supported executable or library: {message}", path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
        /// The cause.
        message: String,
    },
    /// The file is not a usable debug file of the image.
    #[error("{} is not a debug file of {}: {message}", path.display(), image.display())]
    WrongDebugFile {
        /// The debug file.
        path: PathBuf,
        /// The image.
        image: PathBuf,
        /// The cause.
        message: String,
    },
    /// The file is not usable as the object file that a part of an image was linked from.
    #[error("cannot use the object file {}: {message}", path.display())]
    ObjectFile {
        /// The object file; of one in a static library `LIBRARY(MEMBER)`.
        path: PathBuf,
        /// The cause and the remedy.
        message: String,
    },
    /// A section is inconsistent.
    #[error("corrupt debug info: {0}")]
    Corrupt(String),
    /// An unknown form, operation or version.
    #[error("unsupported debug info: {0}")]
    Unsupported(String),
    /// The linker has removed the variable or function.
    #[error("removed by the linker: nothing in the program uses it")]
    Removed,
    /// Memory of the debuggee could not be read.
    #[error(transparent)]
    Unreadable(#[from] crate::Unreadable),
    /// A register's value is unknown in this frame.
    #[error("register {0} is not available in this frame")]
    RegisterUnavailable(String),
    /// An evaluation exceeded a limit on steps, nesting or memory.
    #[error("debug info exceeds a limit: {0}")]
    Limit(String),
}

impl Error {
    /// Prepends the position of the corrupt data to the message.
    pub(crate) fn at(self, section: &str, offset: usize) -> Error {
        match self {
            Error::Corrupt(message) => Error::Corrupt(format!("{section}+{offset:#x}: {message}")),
            Error::Limit(message) => Error::Limit(format!("{section}+{offset:#x}: {message}")),
            other => other,
        }
    }
}

impl From<gimli::Error> for Error {
    fn from(error: gimli::Error) -> Self {
        Error::Corrupt(error.to_string())
    }
}
