//! Calls made by the debugger that pass jump patches: their hits and messages are not the program's
//! own.

use crate::inferior::Inferior;
use dwarf::LoadAddr;

/// Why a breakpoint with a hit count or a message has no jump.
pub(crate) const CALLED_THROUGH: &str =
    "a condition calls functions that may pass it, and such hits must not count";

/// The hit counters in the program, and their saved values.
pub(crate) struct Counted(pub(crate) Vec<(LoadAddr, u64)>);

impl Inferior {
    /// Restores the hit counters and drops the messages since; all other threads must be stopped.
    pub(crate) fn uncount(&mut self, before: &Counted) {
        for (at, count) in &before.0 {
            self.os.write_memory(*at, &count.to_le_bytes());
        }
        let mut values = Vec::new();
        if let Some(ring) = &mut self.jumps.ring {
            loop {
                while ring.next(&mut values).is_some() {}
                if !ring.skip_abandoned() {
                    break;
                }
            }
        }
    }
}
