//! Following the dynamic loader.

use crate::breakpoint::site::Owner;
use crate::debugger::Debugger;
use crate::event::Event;
use crate::ids::ModuleId;
use crate::ids::ThreadId;
use crate::images::modules::Modules;
use crate::images::modules::announce::{self, FUNCTION};
use crate::memory::ProcessMemory;
use crate::process::Process;
use dwarf::LoadAddr;

impl Debugger {
    /// Reads the loader's module list again and updates the modules.
    pub(crate) fn on_loader(&mut self, thread: ThreadId, addr: LoadAddr) {
        let Some(pid) = self.pid() else {
            return;
        };
        let change = {
            let memory = ProcessMemory::uncached(&*self.os, &self.sites);
            self.modules.refresh(pid, &memory)
        };
        let gone: Vec<ModuleId> = change.removed.iter().map(|loaded| loaded.id).collect();
        for loaded in change.removed {
            self.sites
                .discard_range(loaded.range.start, loaded.range.end);
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
        self.note_announcement(thread, addr, change.is_addition);
        // At the program's entry the loader itself provides the addresses to watch.
        if self.modules.entry() == Some(addr) {
            self.watch_loader();
            self.sites.remove(addr, Owner::Loader, &*self.os);
        }
    }

    /// Records a call of the function that the loader calls on changes. Call sites that announce
    /// nothing yet get no trap once they are known.
    fn note_announcement(&mut self, thread: ThreadId, addr: LoadAddr, is_addition: bool) {
        let is_function = |modules: &Modules, addr: LoadAddr| {
            let loader = modules.at(addr).filter(|it| it.is_loader());
            loader.is_some_and(|it| it.module.exported(FUNCTION) == Some(it.bias.file(addr)))
        };
        let watched = |it: &Process| it.loader_sites == [addr];
        if !self.process.as_ref().is_some_and(watched) {
            return;
        }
        let Some(sp) = self.user_registers(thread).map(|it| LoadAddr(it.sp())) else {
            return;
        };
        let memory = ProcessMemory::uncached(&*self.os, &self.sites);
        let (Some(back), Some(process)) =
            (announce::return_address(&memory, sp), self.process.as_mut())
        else {
            return;
        };
        if !process.announcements.note(back, is_addition) || !is_function(&self.modules, addr) {
            return;
        }
        let loader = self.modules.at(addr);
        let calls = loader.and_then(|it| process.announcements.calls_to_watch(it, addr));
        let Some(calls) = calls else { return };
        let mut added = calls.iter();
        let former = match added.all(|call| self.sites.add(*call, Owner::Loader, &*self.os)) {
            true => std::mem::replace(&mut process.loader_sites, calls),
            // Without all of them a change would be missed.
            false => calls,
        };
        for site in former {
            self.sites.remove(site, Owner::Loader, &*self.os);
        }
    }

    /// Inserts the traps in the loader.
    pub(crate) fn watch_loader(&mut self) {
        let memory = ProcessMemory::uncached(&*self.os, &self.sites);
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
