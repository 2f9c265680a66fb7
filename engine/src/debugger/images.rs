//! Debug info that is found after an image was loaded.

use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::ModuleId;
use crate::ids::error::Error;
use std::path::Path;

impl Debugger {
    /// Takes the debug info of an image from a file that was found by its build-id. What was
    /// worked out without it is forgotten, frames of the present stop too: they may be others
    /// now. [`Event::ModuleLoaded`] and [`Event::BreakpointChanged`] tell what follows.
    ///
    /// # Errors
    /// The file is of another build or has no debug info, or the image is gone.
    pub fn use_debug_file(&mut self, id: ModuleId, file: &Path) -> Result<(), Error> {
        self.modules.use_debug_file(id, file)?;
        self.unwinder.borrow_mut().clear();
        self.tail_calls.borrow_mut().clear();
        self.reaches.borrow_mut().clear();
        self.stacks.clear();
        self.told_of_units.remove(&id);
        if let Some(loaded) = self.modules.get(id) {
            self.events.push_back(Event::ModuleLoaded(loaded.info()));
        }
        self.rebind_in(id);
        Ok(())
    }
}
