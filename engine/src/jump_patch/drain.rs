//! Draining of log messages that the program writes itself.

use super::log_ring::{self, LogTarget, Ring};
use crate::debugger::{Debugger, State};
use crate::event::Event;
use crate::ids::ThreadId;
use crate::inferior::displaced::free_place;
use crate::os::SystemCall;
use dwarf::LoadAddr;
use std::time::{Duration, Instant};

impl Debugger {
    /// Makes the debuggee map memory shared with us, for its log messages.
    pub(super) fn find_ring(
        &mut self,
        thread: ThreadId,
        near: LoadAddr,
    ) -> Result<(), &'static str> {
        const NO: &str = "cannot map shared memory in the program";
        if self.inferior.jumps.ring.is_some() {
            return Ok(());
        }
        let pid = self.pid().ok_or(NO)?;
        // A forbidden system call could kill it.
        if self.inferior.os.is_confined(pid) {
            return Err("a seccomp filter restricts the program's system calls");
        }
        if !self.find_detour_room(thread, near) {
            return Err(NO);
        }
        // A word of zeros: an empty name.
        let name = self.inferior.jumps.new_counter(near).ok_or(NO)?;
        let arch = self.images.modules.arch();
        let mappings = self.inferior.os.mappings(pid);
        let at = free_place(arch, near, log_ring::LEN, &mappings).ok_or(NO)?;
        let file = self.inject_syscall(thread, SystemCall::MemoryFile { name });
        let descriptor = file
            .and_then(|it| i32::try_from(it).ok())
            .filter(|it| *it >= 0);
        let descriptor = descriptor.ok_or(NO)?;
        let len = log_ring::LEN;
        let set = self.inject_syscall(thread, SystemCall::SetLength { descriptor, len });
        let map = SystemCall::MapShared {
            addr: at,
            len,
            descriptor,
        };
        let mapped = self.inject_syscall(thread, map);
        let shared = self.inferior.os.shared(pid, descriptor, len);
        self.inject_syscall(thread, SystemCall::Close { descriptor });
        if set != Some(0) || mapped != Some(at.0 as i64) {
            return Err(NO);
        }
        self.inferior.jumps.ring = Some(Ring::new(at, shared.ok_or(NO)?));
        Ok(())
    }

    /// Emits log messages of the program, up to a limit. Returns true if there are more.
    pub(crate) fn drain_messages(&mut self) -> bool {
        /// Maximum number of records per call.
        const MAX_RECORDS: usize = 4096;
        /// Maximum size of one event in bytes.
        const MAX_EVENT_BYTES: usize = 1 << 15;
        if self.is_uncounted_call() {
            return false;
        }
        let Some(mut ring) = self.inferior.jumps.ring.take() else {
            return false;
        };
        let mut said = Vec::new();
        let mut text = String::new();
        let mut heard = 0;
        let mut values = Vec::new();
        while heard < MAX_RECORDS
            && let Some(whose) = ring.next(&mut values)
        {
            heard += 1;
            let detour = self.inferior.jumps.all.get(&whose);
            let Some(message) = detour.and_then(|detour| detour.message.as_ref()) else {
                continue;
            };
            let target = LogTarget {
                memory: self.memory(),
                modules: &self.images.modules,
            };
            target.format_message(message, &values, &mut text);
            if text.len() >= MAX_EVENT_BYTES {
                said.push(std::mem::take(&mut text));
            }
        }
        self.inferior.jumps.ring = Some(ring);
        said.push(text);
        for text in said.iter().filter(|text| !text.is_empty()) {
            self.emit_console(text);
        }
        heard == MAX_RECORDS
    }

    /// Emits all log messages of the program; its threads are stopped or gone.
    pub(crate) fn drain_all_messages(&mut self) {
        let Some(ring) = &self.inferior.jumps.ring else {
            return;
        };
        if ring.is_drained() {
            return;
        }
        while self.drain_messages() {}
        // A thread in the middle of a message has to complete it.
        let threads: Vec<ThreadId> = match &self.inferior.process {
            Some(process) => process.threads.keys().copied().collect(),
            None => Vec::new(),
        };
        for thread in threads {
            let raw = self.inferior.os.registers(thread).map(|raw| raw.pc());
            if raw.is_some_and(|pc| self.inferior.jumps.holds(pc)) {
                self.user_registers(thread);
            }
        }
        loop {
            while self.drain_messages() {}
            if !self
                .inferior
                .jumps
                .ring
                .as_mut()
                .is_some_and(Ring::skip_abandoned)
            {
                return;
            }
            let text = "Some log messages are lost: their threads ended while writing them.\n";
            self.inferior.events.push_back(Event::Note(text.to_owned()));
        }
    }

    /// Returns when to drain messages next.
    pub(crate) fn next_drain(&self) -> Option<Instant> {
        /// The drain interval; a shorter delay is not noticeable.
        const DRAIN_INTERVAL: Duration = Duration::from_millis(8);
        let tells = self.inferior.jumps.ring.is_some() && self.inferior.jumps.tells_something();
        (tells && self.state() == State::Running).then(|| Instant::now() + DRAIN_INTERVAL)
    }
}
