//! Draining of log messages that the program writes itself.

use super::log_ring::{self, Ring};
use crate::ids::ThreadId;
use crate::inferior::Inferior;
use crate::inferior::State;
use crate::inferior::displaced::free_place;
use crate::os::{Shared, SystemCall};
use dwarf::LoadAddr;
use std::time::{Duration, Instant};

impl Inferior {
    /// Makes the debuggee map memory shared with us, for its log messages.
    pub(crate) fn find_ring(
        &mut self,
        thread: ThreadId,
        near: LoadAddr,
    ) -> Result<(), &'static str> {
        if self.jumps.ring.is_none() {
            let (at, shared) = self.map_shared(thread, near, log_ring::LEN)?;
            self.jumps.ring = Some(Ring::new(at, shared));
        }
        Ok(())
    }

    /// Makes the debuggee map `len` bytes of memory that it shares with us. Returns their address in
    /// the debuggee, and our view.
    pub(crate) fn map_shared(
        &mut self,
        thread: ThreadId,
        near: LoadAddr,
        len: u64,
    ) -> Result<(LoadAddr, Shared), &'static str> {
        const NO: &str = "cannot map shared memory in the program";
        let pid = self.pid().ok_or(NO)?;
        if let Some(why) = self.os.confinement(pid) {
            return Err(why);
        }
        if !self.find_jump_room(thread, near) {
            return Err(NO);
        }
        // A word of zeros: an empty name.
        let name = self.jumps.new_counter(self.arch, near).ok_or(NO)?;
        let mappings = self.occupied(pid);
        let at = free_place(self.arch, near, len, &mappings).ok_or(NO)?;
        let file = self.inject_syscall(thread, SystemCall::MemoryFile { name });
        let descriptor = file
            .and_then(|it| i32::try_from(it).ok())
            .filter(|it| *it >= 0);
        let descriptor = descriptor.ok_or(NO)?;
        let set = self.inject_syscall(thread, SystemCall::SetLength { descriptor, len });
        let map = SystemCall::MapShared {
            addr: at,
            len,
            descriptor,
        };
        let mapped = self.inject_syscall(thread, map);
        let shared = self.os.shared(pid, descriptor, len);
        self.inject_syscall(thread, SystemCall::Close { descriptor });
        if set != Some(0) || mapped != Some(at.0 as i64) {
            return Err(NO);
        }
        Ok((at, shared.ok_or(NO)?))
    }

    /// Returns the offset in bytes from the thread pointer at which the C library keeps a thread's
    /// number. It is searched for once, in the memory of this thread.
    pub(crate) fn thread_number_offset(&mut self, thread: ThreadId) -> Option<i32> {
        /// Size of what is searched: glibc has it at 720, musl at 48.
        const SEARCHED: usize = 1024;
        if let Some(known) = self.jumps.thread_number {
            return known;
        }
        let found = (|| {
            let pointer = self
                .arch
                .thread_pointer(&self.registers(thread)?.to_registers())?;
            let mut bytes = [0; SEARCHED];
            let read = self.os.read_memory(LoadAddr(pointer), &mut bytes);
            let (words, _) = bytes[..read].as_chunks::<4>();
            let at = words
                .iter()
                .position(|word| i32::from_le_bytes(*word) == thread.0)?;
            i32::try_from(4 * at).ok()
        })();
        self.jumps.thread_number = Some(found);
        found
    }

    /// Returns when to drain messages next.
    pub(crate) fn next_drain(&self) -> Option<Instant> {
        /// The drain interval; a shorter delay is not noticeable.
        const DRAIN_INTERVAL: Duration = Duration::from_millis(8);
        let tells = self.jumps.ring.is_some() && self.jumps.has_messages();
        (tells && self.state() == State::Running).then(|| Instant::now() + DRAIN_INTERVAL)
    }
}
