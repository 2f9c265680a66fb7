//! The setting `symbolCache`: where names read from debug info are kept between sessions.

use crate::files::private::{self, Unusable};
use serde::Deserialize;
use std::env;
use std::path::PathBuf;

/// What the setting may say.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(untagged, expecting = "expected true, false, or a folder")]
pub enum SymbolCache {
    /// In the user's cache directory, or nowhere.
    Switch(bool),
    /// In this folder.
    Folder(PathBuf),
}

impl Default for SymbolCache {
    fn default() -> Self {
        SymbolCache::Switch(true)
    }
}

impl SymbolCache {
    /// The folder, made private; `None`: nowhere.
    ///
    /// # Errors
    /// Another user could read or change what is in it: a warning.
    pub fn private_folder(self) -> Result<Option<PathBuf>, String> {
        let Some(folder) = self.folder() else {
            return Ok(None);
        };
        match private::folder(&folder) {
            Ok(()) => Ok(Some(folder)),
            Err(Unusable::Io(error)) => {
                tracing::info!(folder = %folder.display(), %error, "nothing is kept");
                Ok(None)
            }
            Err(unsafe_folder) => Err(format!(
                "Nothing is kept between sessions: {unsafe_folder}; set `symbolCache` to a folder \
                 of yours, or to false\n"
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

/// The user's cache directory (XDG Base Directory Specification: relative paths do not count).
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
