//! The names in the expression of a constant, which the scopes around it give a meaning.

use super::compute;
use super::find::Finder;
use super::meanings::Rows;
use super::values::SourceValue;

/// The names in the expression of a constant, which the scopes around it give a meaning.
pub(super) struct InScopes<'f, 'a> {
    pub(super) finder: &'f mut Finder<'a>,
    pub(super) around: &'f [usize],
}

impl compute::Names for InScopes<'_, '_> {
    fn constant(&mut self, path: &str) -> Result<Option<SourceValue>, String> {
        match self.finder.resolve(path, self.around) {
            Ok(Some(other)) => self.finder.value_of_meaning(other),
            Ok(None) => Ok(None),
            Err(why) => Err(why),
        }
    }

    fn places(&mut self, path: &str) -> Result<Rows, String> {
        let path = match path {
            "Self" => self.finder.type_of_impl(self.around).unwrap_or(path),
            path => path,
        };
        let outside = self.finder.outside;
        let outside = outside.ok_or("the root of the file's crate is not known")?;
        outside.places(self.finder, path, self.around)
    }

    fn alias(&mut self, path: &str) -> Option<String> {
        self.finder.alias(path, self.around).map(str::to_owned)
    }
}
