//! A core file in the settings.

use std::path::{Path, PathBuf};

/// The settings for a core file.
#[derive(Debug, PartialEq, Eq)]
pub struct CorePlan {
    /// The core file.
    pub core: PathBuf,
    /// The executable; `None`: found from the core file.
    pub program: Option<PathBuf>,
}

impl CorePlan {
    /// Builds the plan; `None` without a core file. An empty path counts as missing.
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
