//! Operations on the process for the layers above. They get the backend only by shared reference
//! ([`Inferior::os`]), so that no thread can be resumed outside of `inferior`.

use super::Inferior;
use super::site::Owner;
use super::thread::RunState;
use crate::arch::{Arch, ExtendedRegisters};
use crate::ids::error::Error;
use crate::ids::{Launch, OutputStream, Signal, ThreadId};
use crate::os::{Backend, Core, Duty, OpenStdio, Ready, SeizeAs, SignalData, WaitInterest};
use dwarf::LoadAddr;
use std::time::Instant;

impl Inferior {
    /// Returns the backend, for queries and memory access.
    pub(crate) fn os(&self) -> &dyn Backend {
        &*self.os
    }

    pub(crate) fn os_mut(&mut self) -> &mut dyn Backend {
        &mut *self.os
    }

    /// Replaces the backend by one for a core file or for live processes.
    pub(crate) fn replace_backend(&mut self, os: Box<dyn Backend>) {
        self.note_change();
        self.arch = os.core().map_or(Arch::HOST, Core::arch);
        self.os = os;
    }

    /// Sleeps until something is ready.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub(crate) fn wait(
        &mut self,
        deadline: Option<Instant>,
        besides: WaitInterest<'_>,
    ) -> Result<Ready, Error> {
        self.os.wait(deadline, besides)
    }

    /// Launches a program. Returns its pid; it is stopped after its `execve`.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) fn launch(
        &mut self,
        launch: &Launch,
        opened: Option<OpenStdio>,
    ) -> Result<i32, Error> {
        self.os.launch(launch, opened)
    }

    /// Seizes all threads of a process; they keep running. Returns them.
    ///
    /// # Errors
    /// The process is gone or may not be traced.
    pub(crate) fn seize(&mut self, pid: i32, role: SeizeAs) -> Result<Vec<ThreadId>, Error> {
        self.os.seize(pid, role)
    }

    /// Interrupts a thread, unless an earlier interrupt is still to stop it.
    pub(crate) fn interrupt(&mut self, thread: ThreadId) {
        if let Some(state) = self.thread_mut(thread)
            && state.run != RunState::Interrupted
        {
            if state.run == RunState::Running {
                state.run = RunState::Interrupted;
            }
            self.os.interrupt(thread);
        }
    }

    /// Detaches from a stopped thread, delivering a signal (0: none). It runs on untraced.
    pub(crate) fn detach_thread(&mut self, thread: ThreadId, signal: Signal) {
        self.os.detach(thread, signal);
    }

    /// Sends a signal to a process.
    pub(crate) fn send_signal(&mut self, pid: i32, signal: Signal) {
        self.os.signal(pid, signal);
    }

    /// Restores the data of the signal that a thread is stopped with.
    pub(crate) fn restore_signal_data(&mut self, thread: ThreadId, data: &SignalData) {
        self.os.set_signal_data(thread, data);
    }

    /// Writes all registers besides the general-purpose ones. Returns false if that fails.
    pub(crate) fn set_extended_registers(
        &mut self,
        thread: ThreadId,
        registers: &ExtendedRegisters,
    ) -> bool {
        self.note_change_of(thread);
        self.os.set_extended_registers(thread, registers)
    }

    /// Closes the memory of a process that has ended or is detached.
    pub(crate) fn close_memory(&mut self) {
        self.os.close_memory();
    }

    /// Returns output of the debuggee that is ready.
    pub(crate) fn read_output(&mut self) -> Option<(OutputStream, Vec<u8>)> {
        self.os.read_output()
    }

    /// Registers an action for a process that is no longer traced, for when the debugger ends;
    /// `None`: there is nothing to do.
    pub(crate) fn set_duty(&mut self, pid: i32, duty: Option<Duty>) {
        self.os.set_duty(pid, duty);
    }

    /// Reads eight bytes of data as a number; `None` if some of them are not mapped.
    pub(crate) fn read_word(&self, at: LoadAddr) -> Option<u64> {
        let mut word = [0; 8];
        (self.os.read_memory(at, &mut word) == 8).then(|| u64::from_le_bytes(word))
    }

    /// Adds an owner to the site at an address. Returns false if no trap can be inserted there. A breakpoint in
    /// memory that the shown replay maps later gets its trap then.
    pub(crate) fn add_site(&mut self, addr: LoadAddr, owner: Owner) -> bool {
        if self.sites.add(addr, owner, &*self.os) {
            return true;
        }
        let is_mapped_later = matches!(owner, Owner::User(_))
            && (self.os.mapped_later().iter()).any(|(start, end)| (*start..*end).contains(&addr));
        if is_mapped_later {
            self.await_mapping(addr, owner);
        }
        is_mapped_later
    }

    /// Sets the sites in the dynamic loader. Returns the former ones.
    pub(crate) fn replace_loader_sites(&mut self, sites: Vec<LoadAddr>) -> Vec<LoadAddr> {
        let process = self.process.as_mut();
        process.map_or_else(Vec::new, |process| {
            std::mem::replace(&mut process.loader_sites, sites)
        })
    }

    /// Removes an owner from a site; with the last owner, the trap is removed.
    pub(crate) fn remove_site(&mut self, addr: LoadAddr, owner: Owner) {
        self.missing.retain(|missing| *missing != (addr, owner));
        self.sites.remove(addr, owner, &*self.os);
    }

    /// Removes an owner from all its sites.
    pub(crate) fn remove_sites_of(&mut self, owner: Owner) {
        self.missing.retain(|(_, of)| *of != owner);
        self.sites.remove_owner(owner, &*self.os);
    }

    /// Replaces the jump at an address by a trap.
    pub(crate) fn end_jump_at(&mut self, addr: LoadAddr) {
        self.sites.end_jump_at(addr, &*self.os);
    }

    /// Replaces all jumps by traps.
    pub(crate) fn end_all_jumps(&mut self) {
        self.sites.end_all_jumps(&*self.os);
    }
}
