//! Installation of a jump patch: the checks, and everything that is written for it.

use super::trampoline::Processor;
use super::window::UNWRITABLE_MEMORY;
use super::{COUNTERS, JumpPatch, Region};
use crate::ids::ThreadId;
use crate::inferior::Inferior;
use crate::inferior::StoppedWorld;
use crate::inferior::displaced::{REGION, free_place};
use crate::os::{GuardedPatch, SystemCall};
use dwarf::LoadAddr;

/// Why a site keeps its trap.
pub(crate) struct Refusal {
    /// The reason, for users.
    pub(crate) why: String,
    /// Whether it is permanent: no change of threads or other sites can remove it.
    pub(crate) is_lasting: bool,
}

impl Refusal {
    /// Returns a refusal after which another attempt is worthwhile.
    pub(crate) fn passing(why: &str) -> Self {
        Self {
            why: why.to_owned(),
            is_lasting: false,
        }
    }
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Self {
            why: why.into(),
            is_lasting: true,
        }
    }
}

impl Inferior {
    /// Writes a trampoline that no jump leads to yet.
    pub(crate) fn write_trampoline(
        &mut self,
        patch: &JumpPatch,
        _: &StoppedWorld,
    ) -> Result<(), Refusal> {
        let JumpPatch {
            site,
            trampoline,
            window,
            ..
        } = patch;
        if !self.os.write_memory(trampoline.start, &trampoline.bytes) {
            return Err(UNWRITABLE_MEMORY.into());
        }
        if window.instructions.len() > 1 && self.may_come_back_into(*site, window.end) {
            return Err(Refusal::passing(
                "a thread's stack returns into the bytes of the jump",
            ));
        }
        for trap in trampoline.traps() {
            let patch = GuardedPatch {
                // A trap that is not used becomes a `nop`.
                original: self.arch.nop(),
                patch: self.arch.breakpoint(),
                rank: 0,
            };
            self.os.guard(trap, Some(patch));
        }
        Ok(())
    }

    /// Returns whether a thread may have been interrupted, by a signal whose handler runs, after
    /// `start` and before `end`: its stack contains such an address then.
    fn may_come_back_into(&mut self, start: LoadAddr, end: LoadAddr) -> bool {
        /// Maximum number of stack bytes searched per thread; a larger stack counts as a match.
        const MAX_STACK_BYTES: u64 = 1 << 20;
        const PORTION: usize = 1 << 14;
        let Some(process) = &self.process else {
            return true;
        };
        let threads: Vec<ThreadId> = process.threads.keys().copied().collect();
        let mappings = self.os.mappings(process.pid);
        let mut bytes = vec![0; PORTION];
        for thread in threads {
            let Some(registers) = self.registers(thread) else {
                continue;
            };
            let sp = registers.sp() & !7;
            let stack = mappings.partition_point(|mapping| mapping.end.0 <= sp);
            let Some(stack) = mappings.get(stack).filter(|it| it.start.0 <= sp) else {
                return true;
            };
            if stack.end.0 - sp > MAX_STACK_BYTES {
                return true;
            }
            let mut at = LoadAddr(sp);
            while at < stack.end {
                let read = self.os.read_memory(at, &mut bytes);
                let (words, _) = bytes[..read].as_chunks::<8>();
                let inside = |word: &[u8; 8]| {
                    let addr = LoadAddr(u64::from_le_bytes(*word));
                    addr > start && addr < end
                };
                if words.iter().any(inside) {
                    return true;
                }
                if read < PORTION {
                    break;
                }
                at = at + PORTION as u64;
            }
        }
        false
    }

    /// Moves all threads out of springboards: some of these may get new targets.
    pub(crate) fn leave_springboards(&mut self, _: &StoppedWorld) {
        let threads = self
            .process
            .iter()
            .flat_map(|process| process.threads.keys());
        for thread in threads.copied().collect::<Vec<_>>() {
            let raw = self.os.registers(thread);
            if raw.is_some_and(|raw| self.jumps.springboards.hold(raw.pc())) {
                self.normalize(thread);
            }
        }
    }

    /// Returns the processor that runs the program.
    pub(crate) fn processor(&self) -> Processor {
        /// What the processor can do (`getauxval(3)`).
        const AT_HWCAP: u64 = 16;
        let capabilities = self.pid().and_then(|pid| self.os.auxiliary(pid, AT_HWCAP));
        Processor {
            arch: self.arch,
            capabilities: capabilities.unwrap_or(0),
        }
    }

    /// Makes the debuggee map memory near a site, if no region there has room.
    pub(crate) fn find_jump_room(&mut self, thread: ThreadId, addr: LoadAddr) -> bool {
        if self.jumps.near(self.arch, addr).is_some() {
            return true;
        }
        let Some(pid) = self.pid() else {
            return false;
        };
        let len = REGION + COUNTERS;
        let Some(place) = free_place(self.arch, addr, len, &self.occupied(pid)) else {
            return false;
        };
        let counters = SystemCall::MapData {
            addr: place + REGION,
            len: COUNTERS,
        };
        let code = SystemCall::MapCode {
            addr: place,
            len: REGION,
        };
        for (call, at) in [(code, place), (counters, place + REGION)] {
            if self.inject_syscall(thread, call) != Some(at.0 as i64) {
                self.jumps.refused = true;
                return false;
            }
        }
        self.jumps.regions.push(Region {
            start: place,
            used: 0,
            counters: 0,
            own_stack: None,
        });
        true
    }
}
