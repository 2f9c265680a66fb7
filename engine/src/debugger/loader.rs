//! Following the dynamic loader.

use super::Debugger;
use crate::ids::ModuleId;
use crate::ids::ThreadId;
use crate::images::modules::Modules;
use crate::images::modules::announce::FUNCTION;
use crate::inferior::Process;
use crate::inferior::site::Owner;
use crate::memory::ProcessMemory;
use crate::stops::event::Event;
use dwarf::LoadAddr;

impl Debugger {
    /// Returns whether the dynamic loader has yet to load the libraries that the program is linked
    /// with: it was launched, and has not reached its first instruction.
    pub fn awaits_libraries(&self) -> bool {
        let entry = self.images.modules.entry();
        entry.is_some_and(|entry| self.inferior.sites.has_owner(entry, Owner::Loader))
    }

    /// Reads the loader's module list again and updates the modules.
    pub(crate) fn on_loader(&mut self, thread: ThreadId, addr: LoadAddr) {
        let Some(pid) = self.pid() else {
            return;
        };
        let change = {
            let memory = ProcessMemory::uncached(self.inferior.os(), &self.inferior.sites);
            self.images.modules.refresh(pid, &memory)
        };
        let gone: Vec<ModuleId> = change.removed.iter().map(|loaded| loaded.id).collect();
        for loaded in change.removed {
            self.inferior
                .sites
                .discard_range(loaded.range.start, loaded.range.end);
            self.inferior
                .pads
                .forget_in(loaded.range.start, loaded.range.end);
            self.inferior
                .jumps
                .forget_in(loaded.range.start, loaded.range.end);
            self.stops
                .choices
                .forget_in(loaded.range.start, loaded.range.end);
            self.emit(Event::ModuleUnloaded(loaded.id));
            self.unbind_module(&loaded);
            self.end_watches_in(loaded.range.start, loaded.range.end);
        }
        self.unbind_exceptions_in(&gone);
        self.announce_modules(&change.added);
        self.flush_module_notes();
        self.note_announcement(thread, addr, change.is_addition);
        // At the program's entry the loader itself provides the addresses to watch.
        if self.images.modules.entry() == Some(addr) {
            self.watch_loader();
            self.inferior.remove_site(addr, Owner::Loader);
        }
    }

    /// Makes new threads stop where they begin, if the system does not report them: they are known from
    /// then on, and get the debug registers.
    pub(crate) fn watch_thread_starts(&mut self, ids: &[ModuleId]) {
        let Some((file, functions)) = self.inferior.os().thread_starts() else {
            return;
        };
        let mut starts = Vec::new();
        for loaded in ids.iter().filter_map(|id| self.images.modules.get(*id)) {
            let name = loaded.module.path().file_name().unwrap_or_default();
            if name.to_string_lossy().starts_with(file) {
                let found = loaded.module.functions_called(functions, functions);
                starts.extend(found.iter().map(|(_, at)| loaded.bias.load(*at)));
            }
        }
        for start in starts {
            self.inferior.add_site(start, Owner::ThreadStart);
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
        if !self.inferior.process.as_ref().is_some_and(watched) {
            return;
        }
        let Some(registers) = self.inferior.registers(thread) else {
            return;
        };
        let arch = self.images.modules.arch();
        let memory = ProcessMemory::uncached(self.inferior.os(), &self.inferior.sites);
        let (Some(back), Some(process)) = (
            arch.return_at_entry(&registers, &memory),
            self.inferior.process.as_mut(),
        ) else {
            return;
        };
        if !process.announcements.note(back.addr, is_addition)
            || !is_function(&self.images.modules, addr)
        {
            return;
        }
        let loader = self.images.modules.at(addr);
        let calls = loader.and_then(|it| process.announcements.calls_to_watch(it, addr));
        let Some(calls) = calls else { return };
        let mut added = calls.iter();
        let former = match added.all(|call| self.inferior.add_site(*call, Owner::Loader)) {
            true => self.inferior.replace_loader_sites(calls),
            // Without all of them a change would be missed.
            false => calls,
        };
        for site in former {
            self.inferior.remove_site(site, Owner::Loader);
        }
    }

    /// Inserts the traps in the loader.
    pub(crate) fn watch_loader(&mut self) {
        let memory = ProcessMemory::uncached(self.inferior.os(), &self.inferior.sites);
        let addr = self.images.modules.loader_breakpoint(&memory);
        let Some(process) = &self.inferior.process else {
            return;
        };
        if let Some(addr) = addr
            && !process.loader_sites.contains(&addr)
            && self.inferior.add_site(addr, Owner::Loader)
            && let Some(process) = &mut self.inferior.process
        {
            process.loader_sites.push(addr);
        }
    }
}
