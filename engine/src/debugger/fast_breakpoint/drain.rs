//! Draining of log messages that the program writes itself.

use crate::debugger::Debugger;
use crate::debugger::outbox::MAX_LOG_EVENT_BYTES;
use crate::ids::ThreadId;
use crate::inferior::jump_patch::log_ring::{self, LogTarget, Ring};
use crate::stops::event::Event;

/// Maximum number of records that one call drains.
const MAX_RECORDS: usize = 4096;

impl Debugger {
    /// Emits log messages of the program, up to a limit. Returns true if there are more.
    pub(crate) fn drain_messages(&mut self) -> bool {
        if self.is_uncounted_call() {
            return false;
        }
        let Some(mut ring) = self.inferior.jumps.ring.take() else {
            return false;
        };
        let mut events = Vec::new();
        let mut text = String::new();
        let mut count = 0;
        let mut values = Vec::new();
        while count < MAX_RECORDS
            && let Some(whose) = ring.next(&mut values)
        {
            count += 1;
            let patch = self.inferior.jumps.all.get(&whose);
            let Some(message) = patch.and_then(|patch| patch.message.as_ref()) else {
                continue;
            };
            let target = LogTarget {
                memory: self.inferior.memory(),
                modules: &self.images.modules,
            };
            target.format_message(message, &values, &mut text);
            if text.len() >= MAX_LOG_EVENT_BYTES {
                events.push(std::mem::take(&mut text));
            }
        }
        self.inferior.jumps.ring = Some(ring);
        events.push(text);
        for text in events.iter().filter(|text| !text.is_empty()) {
            self.emit_console(text);
        }
        count == MAX_RECORDS
    }

    /// Emits the log messages of the program up to now. Other threads may write more meanwhile: a
    /// full ring is drained, not all that they ever write.
    pub(crate) fn drain_messages_so_far(&mut self) {
        /// Calls that drain a full ring of the shortest records.
        const MAX_CALLS: usize = log_ring::COUNT as usize / MAX_RECORDS + 1;
        for _ in 0..MAX_CALLS {
            if !self.drain_messages() {
                return;
            }
        }
    }

    /// Emits all log messages of the program, and the records of tracepoints that clients get all of;
    /// its threads are stopped or gone.
    pub(crate) fn drain_all_messages(&mut self) {
        self.drain_all_records();
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
            let raw = self.inferior.os().registers(thread).map(|raw| raw.pc());
            if raw.is_some_and(|pc| self.inferior.jumps.holds(pc)) {
                self.inferior.normalize(thread);
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
            self.emit(Event::Note(text.to_owned()));
        }
    }
}
