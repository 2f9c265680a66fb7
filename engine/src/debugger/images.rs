//! Debug info that becomes available after an image was loaded.

use crate::debugger::Debugger;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::stops::event::Event;
use std::path::Path;

impl Debugger {
    /// Takes the debug info of an image from a file found by its build-id. Everything derived
    /// without it is dropped, including frames of the present stop, which may change.
    /// [`Event::ModuleLoaded`] and [`Event::BreakpointChanged`] report the consequences.
    ///
    /// # Errors
    /// The file belongs to another build or has no debug info, or the image was unloaded.
    pub fn use_debug_file(&mut self, id: ModuleId, file: &Path) -> Result<(), Error> {
        self.images.modules.use_debug_file(id, file)?;
        self.views.reported_units.remove(&id);
        if let Some(loaded) = self.images.modules.get(id) {
            self.emit(Event::ModuleLoaded(loaded.info()));
        }
        self.rebind_in(id);
        Ok(())
    }
}
