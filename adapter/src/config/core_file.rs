//! A core file, as settings name it.

use std::path::{Path, PathBuf};

/// What the settings say of a core file.
#[derive(Debug, PartialEq, Eq)]
pub struct CorePlan {
    /// The core file.
    pub core: PathBuf,
    /// The program's file, where it is not to be looked for.
    pub program: Option<PathBuf>,
}

impl CorePlan {
    /// What the settings come to; an empty path is none.
    pub fn of(core: Option<&Path>, program: Option<&Path>, directory: &Path) -> Option<Self> {
        let named = |path: Option<&Path>| {
            path.filter(|path| !path.as_os_str().is_empty())
                .map(|path| directory.join(path))
        };
        Some(Self {
            core: named(core)?,
            program: named(program),
        })
    }
}
