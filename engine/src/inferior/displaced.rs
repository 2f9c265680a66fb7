//! Displaced stepping: a thread passes a breakpoint without removal of the trap. It executes a copy
//! of the covered instruction (in a pad), followed by a jump back, so that no other thread can
//! miss the site and the thread needs no second stop. Indirect calls are emulated: a copy would
//! push the pad's address.
//!
//! # Exclusive sequences
//!
//! The store of an exclusive sequence fails after any stop since its load. A thread that steps to such
//! a load, or passes a breakpoint there, executes a copy of the whole sequence up to a trap
//! wherever that is left: the end of its step. A jump back is such a place, too, so that a thread that
//! waits for another one there does not stay in the copy.
//!
//! # Signals and system calls
//!
//! A signal is delivered after the covered instruction, so that one arrival is one hit whatever the
//! handler does. If that is impossible (the instruction faults, is a system call, or the hit was
//! reported: the handler runs first then), the thread keeps a record of the hit: its next arrival
//! with the same registers is not counted again (`inferior/pass.rs`).
//!
//! A thread that is interrupted at a trap would report the interrupt first and the trap after the
//! resume, wherever it is then; `ptrace::take_signal_before_interrupt` reports the trap first. In
//! the middle of `clone` or `fork` the kernel will overwrite registers; `normalize` steps to the
//! end of the call first.

use crate::arch::{Arch, Flow, MAX_BREAKPOINT_BYTES, SequenceExit};
use crate::os::{Backend, GuardedPatch, Mapping, RegisterSet};
use dwarf::{LoadAddr, Memory};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

/// Size of a region of pads in bytes.
pub const REGION: u64 = 1 << 16;

/// Memory in the debuggee that holds pads.
#[derive(Clone)]
struct Region {
    pub(crate) start: LoadAddr,
    pub(crate) used: u64,
}

/// A copy of a covered instruction, or of the exclusive sequence that it begins.
#[derive(Clone)]
struct DisplacedPad {
    site: LoadAddr,
    /// Where it is left, and where the program continues from there: at the jump back after the
    /// original instruction, or at the callee; at the traps behind a sequence.
    exits: SmallVec<[(LoadAddr, LoadAddr); 1]>,
    /// The traps behind a sequence, and the jumps that they stand for.
    traps: Vec<(LoadAddr, [u8; MAX_BREAKPOINT_BYTES])>,
}

/// The position of a thread in a pad, in terms of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PadPosition {
    /// Before the covered instruction, whose breakpoint has been handled.
    Before(LoadAddr),
    /// After it.
    Behind(LoadAddr),
    /// In the middle of an instruction that was relocated to several.
    Inside,
}

/// The way to move a thread past the covered instruction. Created once per hit and used at once:
/// boxing the registers would cost more than moving them.
#[allow(clippy::large_enum_variant)]
pub enum PastSite {
    /// Set these registers and resume.
    Go(RegisterSet),
    /// First map a region near it.
    NeedsRegion,
    /// Impossible without removal of the trap.
    Impossible,
}

/// All pads of the process.
#[derive(Default, Clone)]
pub struct DisplacedPads {
    regions: Vec<Region>,
    /// Covered address → address of its pad.
    starts: BTreeMap<LoadAddr, LoadAddr>,
    /// All pads by address, including those of unmapped code: a thread may be in one.
    slots: BTreeMap<LoadAddr, DisplacedPad>,
    /// Whether one of them is of an exclusive sequence.
    has_sequences: bool,
    /// Mapping failed once and is not tried again.
    refused: bool,
}

impl DisplacedPads {
    /// Returns how a thread with `registers` passes the instruction at `site`, of which a copy may be executed
    /// if `may_copy`.
    pub fn past_site(
        &mut self,
        (arch, site): (Arch, LoadAddr),
        registers: &RegisterSet,
        memory: &dyn Memory,
        os: &dyn Backend,
        may_copy: bool,
    ) -> PastSite {
        let mut registers = *registers;
        if let Some(start) = self.starts.get(&site).filter(|_| may_copy) {
            registers.set_pc(*start);
            return PastSite::Go(registers);
        }
        let Some(instruction) = arch.read(memory, site) else {
            return PastSite::Impossible;
        };
        let code = |addr| arch.read(memory, addr);
        let sequence = arch.exclusive_sequence_at(site, code);
        if let Some(after) = instruction.emulate(&registers, memory) {
            if let Some((addr, word)) = after.store
                && !os.write_memory(addr, &word.to_le_bytes())
            {
                return PastSite::Impossible;
            }
            return PastSite::Go(after.registers);
        }
        if self.refused || !may_copy || matches!(instruction.flow, Flow::IndirectCall(_)) {
            return PastSite::Impossible;
        }
        let room = match &sequence {
            // As much again for what leads out of it, and addresses that take several instructions.
            Some(sequence) => (4 * (sequence.end - sequence.start)).max(arch.pad_bytes()),
            None => arch.pad_bytes(),
        };
        let near = |region: &&mut Region| {
            region.start.0.abs_diff(site.0) < arch.pad_reach() && region.used + room <= REGION
        };
        let Some(region) = self.regions.iter_mut().find(near) else {
            return PastSite::NeedsRegion;
        };
        let start = region.start + region.used;
        let mut traps = Vec::new();
        let (bytes, exits) = match &sequence {
            Some(sequence) => {
                let copy = arch.copy_sequence(sequence.clone(), start, code);
                let Some(copy) = copy.filter(|copy| copy.bytes.len() as u64 <= room) else {
                    return PastSite::Impossible;
                };
                let at = |exit: &SequenceExit| start + exit.offset as u64;
                traps.extend(copy.exits.iter().map(|exit| (at(exit), exit.jump)));
                let exits = copy.exits.iter().map(|exit| (at(exit), exit.next));
                (copy.bytes, exits.collect())
            }
            None => {
                let Some(relocated) = instruction.relocate(start) else {
                    return PastSite::Impossible;
                };
                let jump = start + relocated.jump as u64;
                (relocated.bytes, smallvec![(jump, relocated.next)])
            }
        };
        if !os.write_memory(start, &bytes) {
            return PastSite::Impossible;
        }
        region.used += room;
        for (trap, jump) in &traps {
            // If the debugger is killed, the thread goes on.
            let patch = GuardedPatch {
                original: jump,
                patch: arch.breakpoint(),
                rank: 0,
            };
            os.guard(*trap, Some(patch));
        }
        self.has_sequences |= sequence.is_some();
        self.starts.insert(site, start);
        let pad = DisplacedPad { site, exits, traps };
        self.slots.insert(start, pad);
        registers.set_pc(start);
        PastSite::Go(registers)
    }

    /// Returns registers with which a thread at `site` can continue without the debugger: in the
    /// copy of the covered instruction. `None` if there is no copy.
    pub fn safe_registers(&self, site: LoadAddr, registers: &RegisterSet) -> Option<RegisterSet> {
        let mut registers = *registers;
        registers.set_pc(*self.starts.get(&site)?);
        Some(registers)
    }

    /// Returns whether there is a copy of the instruction at an address.
    pub fn has_copy(&self, site: LoadAddr) -> bool {
        self.starts.contains_key(&site)
    }

    /// Adds a mapped region.
    pub fn add_region(&mut self, start: LoadAddr) {
        self.regions.push(Region { start, used: 0 });
    }

    /// Takes room for other code of ours; `None` if no region has so much.
    pub fn take_room(&mut self, bytes: usize) -> Option<LoadAddr> {
        // Instructions of some machines are aligned.
        let bytes = (bytes as u64).next_multiple_of(16);
        let has_room = |region: &&mut Region| region.used + bytes <= REGION;
        let region = self.regions.iter_mut().find(has_room)?;
        let start = region.start + region.used;
        region.used += bytes;
        Some(start)
    }

    /// Returns whether regions may be mapped.
    pub fn can_map(&self) -> bool {
        !self.refused
    }

    /// Disables displaced stepping: regions cannot be mapped in this process.
    pub fn disable(&mut self) {
        self.refused = true;
    }

    /// Returns the position of a thread at `pc`, if that is in a pad.
    pub fn origin(&self, pc: LoadAddr) -> Option<PadPosition> {
        if !self.holds(pc) {
            return None;
        }
        let (start, slot) = self.slots.range(..=pc).next_back()?;
        let exit = slot.exits.iter().find(|(exit, _)| *exit == pc);
        Some(match exit {
            _ if pc == *start => PadPosition::Before(slot.site),
            Some((_, next)) => PadPosition::Behind(*next),
            None => PadPosition::Inside,
        })
    }

    /// Returns whether there are copies of exclusive sequences.
    pub fn has_sequences(&self) -> bool {
        self.has_sequences
    }

    /// Returns the address of the exclusive sequence in whose copy `pc` is: a thread there runs
    /// until it traps, instead of being stepped.
    pub fn sequence(&self, pc: LoadAddr) -> Option<LoadAddr> {
        if !self.has_sequences || !self.holds(pc) {
            return None;
        }
        let (_, pad) = self.slots.range(..=pc).next_back()?;
        (!pad.traps.is_empty()).then_some(pad.site)
    }

    /// Returns whether `pc` is in one of our regions.
    pub fn holds(&self, pc: LoadAddr) -> bool {
        self.regions.iter().any(|region| pc - region.start < REGION)
    }

    /// Returns the regions, to unmap them.
    pub fn regions(&self) -> Vec<LoadAddr> {
        self.regions.iter().map(|region| region.start).collect()
    }

    /// Returns whether no pads were made.
    pub fn is_empty(&self) -> bool {
        self.regions.is_empty()
    }

    /// Replaces the traps of sequences by jumps, for threads that the debugger leaves there.
    pub fn release(&self, os: &dyn Backend) {
        for (trap, jump) in self.slots.values().flat_map(|pad| &pad.traps) {
            os.write_memory(*trap, jump);
            os.guard(*trap, None);
        }
    }

    /// Drops the copies of code in a range that is unmapped or overwritten. Their room is not
    /// reused.
    pub fn forget_in(&mut self, start: LoadAddr, end: LoadAddr) {
        self.starts.retain(|addr, _| *addr < start || *addr >= end);
    }

    /// Returns the number of bytes from `addr` to the next region of ours; 0: it is in one.
    pub fn distance(&self, addr: LoadAddr) -> u64 {
        let to = |region: &Region| match addr - region.start < REGION {
            true => 0,
            false => region.start.0.wrapping_sub(addr.0),
        };
        self.regions.iter().map(to).min().unwrap_or(u64::MAX)
    }
}

/// Returns a free address for `len` bytes near `site`, as far below or above as necessary.
pub fn free_place(arch: Arch, site: LoadAddr, len: u64, mappings: &[Mapping]) -> Option<LoadAddr> {
    const LOWEST: u64 = 0x1_0000;
    let highest = arch.end_of_user_space();
    let mut best: Option<u64> = None;
    let mut consider = |place: u64| {
        if (LOWEST..highest).contains(&place)
            && place.abs_diff(site.0) < arch.pad_reach()
            && best.is_none_or(|best| place.abs_diff(site.0) < best.abs_diff(site.0))
        {
            best = Some(place);
        }
    };
    // Distance to existing mappings, so that the heap and stacks can grow.
    const GAP: u64 = 1 << 20;
    let mut end_before = LOWEST;
    for mapping in mappings {
        if mapping.start.0 >= end_before + len + 2 * GAP {
            consider((mapping.start.0 - GAP - len) & !0xffff);
            consider((end_before + GAP + 0xffff) & !0xffff);
        }
        end_before = end_before.max(mapping.end.0);
    }
    consider((end_before + GAP + 0xffff) & !0xffff);
    best.map(LoadAddr)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::AddressSpace;
    use crate::os::fake::{BASE, Fake};

    fn mapping(start: u64, end: u64) -> Mapping {
        Mapping {
            start: LoadAddr(start),
            end: LoadAddr(end),
            readable: true,
            writable: false,
            executable: true,
            shared: false,
            path: Default::default(),
            offset: 0,
        }
    }

    #[test]
    fn the_nearest_gap_is_taken() {
        let maps = [
            mapping(0x5555_5555_0000, 0x5555_5556_0000),
            mapping(0x7fff_f000_0000, 0x7fff_f800_0000),
        ];
        let place = free_place(Arch::X86_64, LoadAddr(0x5555_5555_1000), REGION, &maps).unwrap();
        assert!(place.0.abs_diff(0x5555_5555_1000) < 0x40_0000);
        assert!(
            maps.iter()
                .all(|map| place.0 + REGION <= map.start.0 || place.0 >= map.end.0)
        );
    }

    /// How a thread passes an instruction of the fake set at [`SITE`]: the pc, the link register
    /// and the words of the pad.
    fn passed(word: [u8; 4]) -> Option<(u64, Option<u64>, Vec<[u8; 4]>)> {
        use crate::arch::fixed::LINK;
        use crate::memory::ProcessMemory;
        const SITE: LoadAddr = LoadAddr(BASE);
        const PADS: LoadAddr = LoadAddr(BASE + 0x100);
        let fake = Fake::default();
        fake.0.borrow_mut().memory = vec![0; 0x200];
        fake.write_memory_partly(SITE, &word);
        let sites = crate::inferior::site::Sites::default();
        let memory = ProcessMemory::uncached(&fake, &sites);
        let mut registers = RegisterSet::zeroed();
        registers.set_pc(SITE);
        registers.set(LINK, 0x7000);
        registers.set(dwarf::Register(3), 0x9000);
        let mut pads = DisplacedPads::default();
        let at = (Arch::Fixed, SITE);
        let mut past = pads.past_site(at, &registers, &memory, &fake, true);
        if let PastSite::NeedsRegion = past {
            pads.add_region(PADS);
            past = pads.past_site(at, &registers, &memory, &fake, true);
        }
        let PastSite::Go(after) = past else {
            return None;
        };
        let mut words = Vec::new();
        if after.pc() == PADS {
            words.resize(2, [0; 4]);
            for (nth, word) in (0..).zip(&mut words) {
                fake.read_memory(PADS + 4 * nth, word);
            }
            assert_eq!(pads.origin(PADS), Some(PadPosition::Before(SITE)));
            assert_eq!(pads.origin(PADS + 4), Some(PadPosition::Behind(SITE + 4)));
        }
        Some((after.pc().0, after.get(LINK), words))
    }

    #[test]
    fn pads_do_not_depend_on_an_instruction_set() {
        use crate::arch::fixed::{
            CALL, CALL_REGISTER, JUMP, LOAD_NEAR, NOP, RETURN, STORE, SYSTEM_CALL, to, with,
        };
        let emulated = |pc, link| Some((pc, Some(link), Vec::new()));
        assert_eq!(passed(to(NOP, 0)), emulated(BASE + 4, 0x7000));
        assert_eq!(passed(to(CALL, 0x40)), emulated(BASE + 0x40, BASE + 4));
        assert_eq!(passed(to(RETURN, 0)), emulated(0x7000, 0x7000));
        assert_eq!(
            passed(with(CALL_REGISTER, 3, 0)),
            emulated(0x9000, BASE + 4)
        );
        // A load keeps its operand, and a jump leads back.
        let back = to(JUMP, -0x100);
        let moved = |word| Some((BASE + 0x100, Some(0x7000), vec![word, back]));
        assert_eq!(passed(to(LOAD_NEAR, 0x20)), moved(to(LOAD_NEAR, -0xe0)));
        let store = with(STORE, 7, 8);
        assert_eq!(passed(store), moved(store));
        assert_eq!(passed(to(SYSTEM_CALL, 0)), None);
        // A call through a register that the set does not have.
        assert_eq!(passed(with(CALL_REGISTER, 90, 0)), None);
    }
}
