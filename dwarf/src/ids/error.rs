//! What can be wrong with an image. Missing things are `Option`s, not errors.

use std::path::PathBuf;

/// A failure to read an image or its debug info; it spoils the smallest thing it concerns.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The file could not be opened or mapped.
    #[error("cannot open {}: {message}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's words.
        message: String,
    },
    /// The file is no image this crate reads.
    #[error("{} is not an executable or library that can be debugged: {message}", path.display())]
    NotAnImage {
        /// The file.
        path: PathBuf,
        /// What was found instead.
        message: String,
    },
    /// The file has no debug info for the image it is to be used for.
    #[error("{} is no debug file of {}: {message}", path.display(), image.display())]
    WrongDebugFile {
        /// The file.
        path: PathBuf,
        /// The image.
        image: PathBuf,
        /// What it lacks.
        message: String,
    },
    /// A section contradicts itself.
    #[error("corrupt debug info: {0}")]
    Corrupt(String),
    /// A form, operation or version that this crate does not know.
    #[error("unsupported debug info: {0}")]
    Unsupported(String),
    /// The debuggee's memory was needed and could not be read.
    #[error(transparent)]
    Unreadable(#[from] crate::Unreadable),
    /// A register was needed that the frame does not know.
    #[error("register {0} is not available in this frame")]
    RegisterUnavailable(String),
    /// Evaluating a location took more steps, or nested deeper, than any sane one does.
    #[error("debug info too complex: {0}")]
    Limit(String),
}

impl Error {
    /// With where the corrupt thing begins before what is wrong with it.
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
