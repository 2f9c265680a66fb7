//! Breakpoints in newly loaded images. A program may load thousands of images: only the new ones
//! are searched, unless they change the result for the others.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::images::modules::Loaded;
use crate::stops::breakpoint::new_images::{Mentions, Outlook};
use crate::stops::event::Event;

impl Debugger {
    /// Binds breakpoints in new images, and reports those that changed.
    pub(crate) fn bind_in_new(&mut self, new: &[ModuleId]) {
        let images: Vec<&Loaded> = new
            .iter()
            .filter_map(|id| self.images.modules.get(*id))
            .collect();
        let mut mentions = Mentions::default();
        let all = self.stops.breakpoints.all.iter_mut();
        let outlooks: Vec<(BreakpointId, Outlook)> = all
            .map(|(id, breakpoint)| (*id, breakpoint.outlook(&images, &mut mentions)))
            .collect();
        for (id, outlook) in outlooks {
            let bound = match outlook {
                Outlook::Nothing => false,
                Outlook::Also(resolved) => self.bind_to(id, resolved),
                Outlook::Anew => self.bind(id),
            };
            if self.check_names(id) || bound {
                self.emit(Event::BreakpointChanged(id));
            }
        }
        self.place_hardware(&[]);
        self.bind_exceptions_in_new(new);
        self.plant_search_end();
    }
}
