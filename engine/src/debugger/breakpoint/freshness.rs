//! Check whether a source file is still the one that the program was compiled from.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::stops::breakpoint::freshness::{checksum, recorded_checksum};
use dwarf::SourceFile;
use std::fs;
use std::path::Path;
use std::sync::Arc;

impl Debugger {
    /// Returns the source file of a breakpoint, as the debug info names it.
    pub fn breakpoint_source(&self, id: BreakpointId) -> Option<Arc<SourceFile>> {
        let bound = self.stops.breakpoints.all.get(&id)?.bound.first()?;
        let (path, ..) = bound.source.as_ref()?;
        let files = self
            .images
            .modules
            .get(bound.module)?
            .module
            .find_sources(path);
        files.into_iter().find(|file| file.path == *path)
    }

    /// Returns a warning if the source file of a bound breakpoint, at `local` on this machine, is
    /// not the compiled one any more. Compares its checksum if the compiler recorded one, else its
    /// time.
    pub fn source_changed(&mut self, id: BreakpointId, local: &Path) -> Option<String> {
        let modified = fs::metadata(local).and_then(|data| data.modified()).ok()?;
        let bound = self.stops.breakpoints.all.get(&id)?.bound.first()?;
        let key = (local.to_owned(), bound.module);
        if let Some((then, note)) = self.stops.breakpoints.freshness.get(&key)
            && *then == modified
        {
            return note.clone();
        }
        let recorded = recorded_checksum(&*self.breakpoint_source(id)?).copied();
        let note = match recorded.zip(checksum(local)) {
            Some((recorded, now)) => (recorded != now).then(|| {
                let local = local.display();
                format!("{local} differs from the compiled file: line numbers may be wrong")
            }),
            None => {
                let module = &self.images.modules.get(bound.module)?.module;
                let built = fs::metadata(module.path()).and_then(|data| data.modified());
                built.is_ok_and(|built| modified > built).then(|| {
                    let (local, program) = (local.display(), module.path().display());
                    format!("{local} is newer than {program}: line numbers may be wrong")
                })
            }
        };
        let known = (modified, note.clone());
        let modules = &self.images.modules;
        let all = &mut self.stops.breakpoints.freshness;
        all.retain(|(_, module), _| modules.get(*module).is_some());
        all.insert(key, known);
        note
    }
}
