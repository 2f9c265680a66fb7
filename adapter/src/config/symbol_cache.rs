//! The setting `symbolCache`: where indexed names from debug info are stored between sessions.

use crate::files::private::{self, Unusable};
use serde::Deserialize;
use std::env;
use std::path::PathBuf;

/// The values of the setting.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged, expecting = "expected true, false, or a folder")]
pub enum SymbolCache {
    /// The user's cache directory, or none.
    Switch(bool),
    /// This folder.
    Folder(PathBuf),
}

impl Default for SymbolCache {
    fn default() -> Self {
        SymbolCache::Switch(true)
    }
}

impl SymbolCache {
    /// Creates the folder, private to the user; `None`: no cache.
    ///
    /// # Errors
    /// Another user could read or change its contents; the text is a warning.
    pub fn private_folder(self) -> Result<Option<PathBuf>, String> {
        let Some(folder) = self.folder() else {
            return Ok(None);
        };
        match private::folder(&folder) {
            Ok(()) => Ok(Some(folder)),
            Err(Unusable::Io(error)) => {
                tracing::info!(folder = %folder.display(), %error, "no cache is used");
                Ok(None)
            }
            Err(unsafe_folder) => Err(format!(
                "No cache is kept between sessions: {unsafe_folder}. Set `symbolCache` to a \
                 folder that only you can write to, or to false.\n"
            )),
        }
    }

    fn folder(self) -> Option<PathBuf> {
        match self {
            SymbolCache::Folder(folder) => Some(folder),
            SymbolCache::Switch(false) => None,
            SymbolCache::Switch(true) => cache_home(|name| env::var_os(name).map(PathBuf::from))
                .map(|home| home.join("stillpoint")),
        }
    }
}

/// Returns the user's cache directory (XDG Base Directory Specification: relative paths do not
/// count).
fn cache_home(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    variable("XDG_CACHE_HOME").filter(absolute).or_else(|| {
        let home = variable("HOME").filter(absolute)?;
        Some(home.join(".cache"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_xdg_says() {
        let with = |pairs: &'static [(&str, &str)]| {
            cache_home(|name| {
                let pair = pairs.iter().find(|(known, _)| *known == name)?;
                Some(PathBuf::from(pair.1))
            })
        };
        let path = |path: &str| Some(PathBuf::from(path));
        assert_eq!(
            with(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]),
            path("/c")
        );
        assert_eq!(
            with(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]),
            path("/h/.cache")
        );
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn the_setting_is_a_switch_or_a_folder() {
        let read = |text: &str| serde_json::from_str::<SymbolCache>(text);
        assert_eq!(read("false").unwrap().folder(), None);
        assert_eq!(read("\"/tmp/x\"").unwrap().folder(), Some("/tmp/x".into()));
        assert!(read("7").is_err());
    }
}
