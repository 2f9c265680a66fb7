//! Following the dynamic loader.

use crate::breakpoint::site::Owner;
use crate::debugger::{Debugger, ModuleId};
use crate::event::Event;
use dwarf::LoadAddr;

impl Debugger {
    /// Reads the loader's list anew and follows it.
    pub(crate) fn on_loader(&mut self, addr: LoadAddr) {
        let Some(pid) = self.pid() else {
            return;
        };
        let change = {
            let memory = crate::memory::ProcessMemory {
                os: &*self.os,
                sites: &self.sites,
                cache: None,
                known: None,
            };
            self.modules.refresh(pid, &memory)
        };
        let gone: Vec<ModuleId> = change.removed.iter().map(|loaded| loaded.id).collect();
        for loaded in change.removed {
            self.sites.forget_in(loaded.range.start, loaded.range.end);
            self.slots.forget_in(loaded.range.start, loaded.range.end);
            self.detours.forget_in(loaded.range.start, loaded.range.end);
            self.choices.forget_in(loaded.range.start, loaded.range.end);
            self.events.push_back(Event::ModuleUnloaded(loaded.id));
            self.unwinder.borrow_mut().clear();
            self.tail_calls.borrow_mut().clear();
            self.reaches.borrow_mut().clear();
            self.unbind_module(&loaded);
            self.end_watches_in(loaded.range.start, loaded.range.end);
        }
        self.unbind_exceptions_in(&gone);
        self.announce_modules(&change.added);
        self.flush_module_notes();
        // At the program's entry the loader itself can say where it wants to be watched.
        if self.modules.entry() == Some(addr) {
            self.watch_loader();
            self.sites.remove(addr, Owner::Loader, &*self.os);
        }
    }

    /// Plants the traps by which we follow the loader.
    pub(crate) fn watch_loader(&mut self) {
        let memory = crate::memory::ProcessMemory {
            os: &*self.os,
            sites: &self.sites,
            cache: None,
            known: None,
        };
        let addr = self.modules.loader_breakpoint(&memory);
        let Some(process) = &mut self.process else {
            return;
        };
        if let Some(addr) = addr
            && !process.loader_sites.contains(&addr)
            && self.sites.add(addr, Owner::Loader, &*self.os)
        {
            process.loader_sites.push(addr);
        }
    }
}
