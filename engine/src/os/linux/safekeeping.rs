//! Processes that outlive the debugger: the guardian of an attached one, and the keepers of those
//! that are no longer traced.

use super::super::{AddressSpace, Backend, Duty, GuardedPatch, Patience, Safekeeping, ThreadEvent};
use super::duty::Keeper;
use super::guardian::Guardian;
use super::refuge::Refuge;
use super::{LinuxBackend, machine, procfs, ptrace};
use crate::ids::{Signal, ThreadId};
use dwarf::LoadAddr;

impl LinuxBackend {
    /// Returns the refuge in the debuggee, if it has one.
    pub(super) fn refuge(&self) -> Option<Refuge<'_>> {
        let guardian = self.guardian.as_ref()?;
        let at = guardian.refuge.get()?;
        Some(Refuge { at, guardian })
    }

    /// Ends the keeper of a process.
    fn dismiss_keeper(&mut self, pid: i32) {
        if let Some(index) = self.keepers.iter().position(|(of, _)| *of == pid) {
            self.keepers.swap_remove(index).1.dismiss();
        }
    }
}

impl Safekeeping for LinuxBackend {
    fn guard(&self, addr: LoadAddr, patch: Option<GuardedPatch<'_>>) {
        if let Some(recording) = &self.recording {
            recording.note_patch(addr, patch.map(|patch| patch.original));
        }
        if let Some(guardian) = &self.guardian {
            guardian.remove(addr);
            if let Some(patch) = patch {
                guardian.add(addr, patch);
            }
        }
    }

    fn refuge_bytes(&self) -> Option<usize> {
        let lacks = |guardian: &Guardian| guardian.refuge.get().is_none();
        (self.recording.is_none() && self.guardian.as_ref().is_some_and(lacks))
            .then_some(machine::REFUGE.bytes.len())
    }

    fn set_refuge(&self, at: LoadAddr) {
        if let Some(guardian) = &self.guardian
            && self.write_memory_partly(at, machine::REFUGE.bytes) == machine::REFUGE.bytes.len()
        {
            guardian.refuge.set(Some(at));
        }
    }

    fn restore_code(&mut self, pid: i32, addr: LoadAddr, bytes: &[u8], original: &[u8]) -> bool {
        if let Err(error) = ptrace::seize(pid, false) {
            return error.raw_os_error() != Some(libc::EPERM) || procfs::is_zombie(pid);
        }
        let thread = ThreadId(pid);
        self.interrupt(thread);
        let signal = match self.stop_of(thread, Patience::UntilStopped) {
            Some(ThreadEvent::Exited(_) | ThreadEvent::Killed(_)) | None => return true,
            Some(ThreadEvent::Signal(signal)) => signal,
            Some(_) => Signal(0),
        };
        let mut there = vec![0; bytes.len()];
        if self.read_memory_of(pid, addr, &mut there) == bytes.len() && there == bytes {
            let writes = original.iter().enumerate();
            let writes: Vec<_> = writes
                .map(|(index, byte)| (addr + index as u64, *byte))
                .collect();
            self.write_memory_of(pid, &writes);
        }
        self.detach(thread, signal);
        true
    }

    fn set_duty(&mut self, pid: i32, duty: Option<Duty>) {
        self.dismiss_keeper(pid);
        let Some(duty) = duty else { return };
        match Keeper::start(pid, duty) {
            Ok(keeper) => self.keepers.push((pid, keeper)),
            Err(error) => {
                tracing::warn!(pid, %error, "no keeper: it is left alone if the debugger is killed")
            }
        }
    }

    fn kill_left(&mut self, pid: i32) {
        match self.keepers.iter().find(|(of, _)| *of == pid) {
            Some((_, keeper)) => keeper.kill_target(pid),
            None => self.signal(pid, Signal(libc::SIGKILL)),
        }
        self.dismiss_keeper(pid);
    }
}
