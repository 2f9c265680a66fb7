//! Memory near the code of a program, for the jumps to the stub: which is too far from most code for a
//! jump of 5 bytes.

use super::super::scratch;
use super::super::tracee::Tracee;
use super::layout::{FREE, FREE_ENTRY};
use std::collections::BTreeSet;
use std::ops::Range;

/// Length of a jump with a 32-bit displacement.
pub const JUMP_LEN: u64 = 5;
/// Length of a slot in bytes.
pub const SLOT_LEN: u64 = 32;
/// Room for slots at the start of a zone: more than the sites of all libraries of a process.
const SLOTS_LEN: u64 = 64 << 10;
/// Puns (`jump`) of the code that follows nearly all system calls lead 256 MiB down.
const DISTANCE: u64 = 256 << 20;

/// Entries of the auxiliary vector: where the headers of the program and the loader are.
const HEADERS: u64 = 3;
const LOADER: u64 = 7;
const PAGE: u64 = 4096;
const MIB: u64 = 1 << 20;

/// Executable memory that the program does not use.
struct Zone {
    range: Range<u64>,
    next_slot: u64,
}

/// The zones of a program.
#[derive(Default)]
pub struct Zones {
    all: Vec<Zone>,
    /// Starts of the jumps outside of slots: in zones, and in padding of the program.
    jumps: BTreeSet<u64>,
    /// The next free entry; `None`: the program has no memory for them.
    next_entry: Option<u64>,
}

/// Returns where zones should be in a program.
pub fn of(program: &Tracee) -> Vec<Range<u64>> {
    let vector = std::fs::read(format!("/proc/{}/auxv", program.pid));
    wanted(&vector.unwrap_or_default(), scratch::PAGE)
}

/// Returns where zones should be in a program with this auxiliary vector: near the page of the
/// recorder, for programs at low addresses; 256 MiB below the libraries, which the kernel
/// places below the loader, and below the program.
fn wanted(vector: &[u8], own: u64) -> Vec<Range<u64>> {
    let mut wanted = Vec::new();
    wanted.push(own + MIB..own + 2 * MIB);
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    for entry in vector.chunks_exact(16) {
        let (kind, at) = (word(&entry[..8]), word(&entry[8..]) & !(PAGE - 1));
        let (below, above) = match kind {
            HEADERS => (MIB, 32 * MIB),
            LOADER => (64 * MIB, 4 * MIB),
            _ => continue,
        };
        if at > (1 << 32) {
            let start = at - DISTANCE - below;
            wanted.push(start - SLOTS_LEN..start + below + above);
        }
    }
    wanted
}

impl Zones {
    /// Adds a zone that was mapped.
    pub fn add(&mut self, range: Range<u64>) {
        self.all.push(Zone {
            next_slot: range.start,
            range,
        });
    }

    /// The memory for free entries was mapped.
    pub fn add_entries(&mut self) {
        self.next_entry = Some(FREE.start);
    }

    /// Returns the address of the next free entry, if there is room for one.
    pub fn next_entry(&self) -> Option<u64> {
        self.next_entry.filter(|entry| *entry < FREE.end)
    }

    /// Takes that entry.
    pub fn take_entry(&mut self) {
        self.next_entry = self.next_entry().map(|entry| entry + FREE_ENTRY);
    }

    /// Returns the start of the slot that an address is in, if it is in the room for slots.
    pub fn slot_at(&self, addr: u64) -> Option<u64> {
        let mut zones = self.all.iter();
        let zone = zones.find(|zone| (zone.range.start..zone.next_slot).contains(&addr))?;
        let offset = addr - zone.range.start;
        Some(addr - offset % SLOT_LEN)
    }

    /// Returns whether a jump outside of slots begins at an address.
    pub fn is_jump(&self, addr: u64) -> bool {
        self.jumps.contains(&addr)
    }

    /// Returns whether an address is in a zone, or is that of a jump to one.
    pub fn contain(&self, addr: u64) -> bool {
        self.all.iter().any(|zone| zone.range.contains(&addr)) || self.jumps.contains(&addr)
    }

    /// Returns the address of a free slot that code at all these addresses can jump to and from, and takes it.
    pub fn take_slot(&mut self, near: &[u64]) -> Option<u64> {
        self.take_room(near, SLOT_LEN)
    }

    /// Like [`Zones::take_slot`], for as many slots as have this length in bytes.
    pub fn take_room(&mut self, near: &[u64], len: u64) -> Option<u64> {
        let len = len.next_multiple_of(SLOT_LEN);
        let is_near = |slot: u64| near.iter().all(|at| is_in_reach(*at, slot));
        let zone = self.all.iter_mut().find(|zone| {
            let free = zone.next_slot + len <= zone.range.start + SLOTS_LEN;
            free && is_near(zone.next_slot)
        })?;
        let slot = zone.next_slot;
        zone.next_slot += len;
        Some(slot)
    }

    /// Returns whether a jump fits at an address in a zone.
    pub fn is_free(&self, at: u64) -> bool {
        let end = at.saturating_add(JUMP_LEN);
        let mut zones = self.all.iter();
        let is_in = zones.any(|zone| zone.range.start + SLOTS_LEN <= at && end <= zone.range.end);
        let before = at.saturating_sub(JUMP_LEN - 1);
        is_in && self.jumps.range(before..end).next().is_none()
    }

    /// Takes the room of a jump.
    pub fn take_jump(&mut self, at: u64) {
        self.jumps.insert(at);
    }
}

/// Returns whether a displacement of 32 bits leads from one address to the other, and from the end of
/// either's code.
fn is_in_reach(from: u64, to: u64) -> bool {
    from.abs_diff(to) < (1 << 31) - 256
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(entries: &[(u64, u64)]) -> Vec<u8> {
        let words = entries.iter().flat_map(|(kind, value)| [*kind, *value]);
        words.flat_map(u64::to_le_bytes).collect()
    }

    #[test]
    fn zones_are_a_distance_below_code() {
        let loader = 0x7fff_f7fc_a000;
        let vector = vector(&[(6, 4096), (HEADERS, 0x5555_5555_4040), (LOADER, loader)]);
        let zones = wanted(&vector, 0x7000_0000);
        assert_eq!(zones.len(), 3);
        assert!(zones[1].contains(&(0x5555_5555_5000 - DISTANCE)));
        assert!(zones[2].contains(&(loader + 0x1000 - DISTANCE)));
        assert!(zones[2].contains(&(loader - 63 * MIB - DISTANCE)));
    }

    #[test]
    fn program_at_low_addresses_has_slots_only() {
        let vector = vector(&[(HEADERS, 0x40_0040), (LOADER, 0)]);
        assert_eq!(wanted(&vector, 0x7000_0000).len(), 1);
        assert_eq!(wanted(&[1, 2, 3], 0x7000_0000).len(), 1);
    }

    #[test]
    fn slots_and_jumps_are_taken_once() {
        let mut zones = Zones::default();
        zones.add(0x1000_0000..0x2000_0000);
        assert_eq!(zones.take_slot(&[0x1000]), Some(0x1000_0000));
        assert_eq!(zones.take_slot(&[0x1000]), Some(0x1000_0020));
        assert_eq!(zones.take_slot(&[0x1000, 1 << 40]), None, "too far");
        assert!(!zones.is_free(0x1000_0100), "for slots");
        assert!(zones.is_free(0x1100_0000));
        zones.take_jump(0x1100_0000);
        assert!(!zones.is_free(0x1100_0004) && !zones.is_free(0x10ff_fffc));
        assert!(zones.is_free(0x1100_0005) && zones.is_free(0x10ff_fffb));
        assert!(!zones.is_free(0x1fff_fffc) && !zones.is_free(u64::MAX));
        let taken = (0..5000).filter_map(|_| zones.take_slot(&[0x1000])).count();
        assert_eq!(taken, 2046, "as many as there is room for");
    }
}
