//! Possible breakpoint locations and the list of sources, for editors.

use crate::debugger::Debugger;
use crate::ids::error::Error;
use crate::stops::breakpoint::function::Named;
use crate::stops::breakpoint::locations::places_on;
use crate::stops::breakpoint::sources::files_of;
use dwarf::SourceFile;
use std::collections::{BTreeMap, BTreeSet};

use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Debugger {
    /// Returns the source files of all images as the debug info names them, sorted, without
    /// duplicates. Reads every file table.
    ///
    /// # Errors
    /// It was cancelled.
    pub fn source_files(&self) -> Result<Vec<Arc<SourceFile>>, Error> {
        let mut sources: BTreeMap<PathBuf, Arc<SourceFile>> = BTreeMap::new();
        for loaded in &self.images.modules.loaded {
            if self.cancelled() {
                return Err(Error::Cancelled);
            }
            for file in loaded.module.source_files() {
                match sources.get_mut(&file.path) {
                    // Not every unit that names the file has its checksum.
                    Some(known) if known.md5.is_none() => *known = file,
                    Some(_) => {}
                    None => drop(sources.insert(file.path.clone(), file)),
                }
            }
        }
        Ok(sources.into_values().collect())
    }

    /// Returns the source, the line and the column (0: unknown) at which a breakpoint on a function
    /// is set; of several functions of the name, the first one that has a source. Reads what is
    /// known of the name without a search of all debug info.
    pub fn function_source(&self, name: &str) -> Option<(PathBuf, u32, u32)> {
        let resolved = Named::new(name).resolve(&self.images.modules);
        let mut sources = resolved.bound.into_iter().map(|place| place.source);
        sources.find_map(|source| source)
    }

    /// Returns those of [`Debugger::source_files`] that only system images have.
    pub fn system_source_files(&self) -> BTreeSet<PathBuf> {
        let (mut of_system, mut others) = (BTreeSet::new(), BTreeSet::new());
        for loaded in &self.images.modules.loaded {
            let files = match loaded.is_of_the_system() {
                true => &mut of_system,
                false => &mut others,
            };
            let paths = loaded.module.source_files().into_iter();
            files.extend(paths.map(|file| file.path.clone()));
        }
        of_system.retain(|path| !others.contains(path));
        of_system
    }

    /// Returns lines and columns (0: unknown) of a source from line `first` to line `last` at which
    /// a breakpoint can be set, sorted, without duplicates. The list is incomplete if the request
    /// is cancelled.
    pub fn breakpoint_locations(
        &mut self,
        source: &Path,
        first: u32,
        last: u32,
    ) -> Vec<(u32, u32)> {
        let mut places = BTreeSet::new();
        for (loaded, file) in files_of(source, &self.images.modules).files {
            let found = places_on(&loaded.module, &file, first..=last, || self.cancelled());
            places.extend(
                found
                    .into_iter()
                    .map(|place| (place.location.line, place.location.column)),
            );
        }
        places.into_iter().collect()
    }
}
