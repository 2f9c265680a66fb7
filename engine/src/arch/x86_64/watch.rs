//! The debug registers of x86-64 (Intel SDM volume 3, §19.2): four addresses; a thread traps when
//! it executes, writes, or accesses one of them.

use super::super::RegisterFile;
use super::super::watch::{Coverage, MAX_SLOTS, Slot, Slots, Trigger};
use dwarf::LoadAddr;
use dwarf::register::x86_64::RFLAGS;

/// Returns the slots that watch a range. `None` if four are not enough.
pub fn cover(addr: LoadAddr, bytes: u64, trigger: Trigger, coverage: Coverage) -> Option<Slots> {
    let end = addr.0.checked_add(bytes)?;
    let exact = pieces(addr.0, end, trigger, |at| {
        let fits = |len: &u64| at.is_multiple_of(*len) && at + len <= end;
        [8, 4, 2].into_iter().find(fits).unwrap_or(1)
    });
    let loose = pieces(addr.0, end, trigger, |at| {
        let reaches = |len: &u64| at - at % len + len >= end;
        [1, 2, 4].into_iter().find(reaches).unwrap_or(8)
    });
    match (exact, loose.filter(|_| coverage == Coverage::WithNeighbors)) {
        (Some(exact), Some(loose)) if loose.len() < exact.len() => Some(loose),
        (exact, loose) => exact.or(loose),
    }
}

fn pieces(mut at: u64, end: u64, trigger: Trigger, len_at: impl Fn(u64) -> u64) -> Option<Slots> {
    let mut slots = Slots::new();
    while at < end {
        if slots.len() == MAX_SLOTS {
            return None;
        }
        let len = len_at(at);
        let start = at - at % len;
        slots.push(Slot {
            addr: LoadAddr(start),
            len: len as u8,
            trigger,
        });
        at = start.checked_add(len)?;
    }
    Some(slots)
}

/// Returns DR7 for these slots.
#[allow(dead_code, reason = "for processors of this set")]
pub fn control(slots: &[Option<Slot>; MAX_SLOTS]) -> u64 {
    let mut control = 0;
    for (index, slot) in slots.iter().enumerate() {
        let Some(slot) = slot else { continue };
        let trigger = match slot.trigger {
            Trigger::Execute => 0b00,
            Trigger::Write => 0b01,
            Trigger::Read | Trigger::Access => 0b11,
        };
        let len = match slot.len {
            1 => 0b00,
            2 => 0b01,
            8 => 0b10,
            _ => 0b11,
        };
        control |= 1 << (2 * index) | (trigger | len << 2) << (16 + 4 * index);
    }
    control
}

pub const TRAPS_BEFORE_ACCESS: bool = false;
pub const TELLS_READS_FROM_WRITES: bool = false;
/// The resume flag, which suppresses debug exceptions for the next instruction (§19.3.1.1).
const RESUME: u64 = 1 << 16;

/// Lets a thread execute the instruction at its pc despite [`Trigger::Execute`].
pub fn pass(registers: &mut impl RegisterFile) -> bool {
    let flags = registers.get(RFLAGS).unwrap_or(0);
    registers.set(RFLAGS, flags | RESUME)
}

/// Returns which slots were hit according to DR6, one bit each.
#[allow(dead_code, reason = "for processors of this set")]
pub fn hits(status: u64) -> u8 {
    (status & 0b1111) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(addr: u64, bytes: u64, loosely: bool) -> Option<Vec<(u64, u8)>> {
        let coverage = match loosely {
            true => Coverage::WithNeighbors,
            false => Coverage::Exact,
        };
        let slots = cover(LoadAddr(addr), bytes, Trigger::Write, coverage)?;
        Some(slots.iter().map(|slot| (slot.addr.0, slot.len)).collect())
    }

    #[test]
    fn ranges_are_split_by_alignment() {
        assert_eq!(covered(16, 4, false).unwrap(), [(16, 4)]);
        assert_eq!(covered(16, 16, false).unwrap(), [(16, 8), (24, 8)]);
        assert_eq!(covered(17, 4, false).unwrap(), [(17, 1), (18, 2), (20, 1)]);
        assert_eq!(covered(16, 32, false).unwrap().len(), 4);
        assert_eq!(covered(16, 33, false), None);
        assert_eq!(covered(17, 32, false), None);
        assert_eq!(covered(u64::MAX - 1, 4, true), None);
    }

    #[test]
    fn neighbours_share_debug_registers() {
        assert_eq!(covered(17, 4, true).unwrap(), [(16, 8)]);
        assert_eq!(covered(17, 1, true).unwrap(), [(17, 1)]);
        assert_eq!(covered(16, 7, true).unwrap(), [(16, 8)]);
        assert_eq!(covered(12, 8, true).unwrap(), [(12, 4), (16, 4)]);
    }

    #[test]
    fn control_register_matches_the_manual() {
        let slot = |addr, len, trigger| {
            Some(Slot {
                addr: LoadAddr(addr),
                len,
                trigger,
            })
        };
        let slots = [
            slot(8, 4, Trigger::Write),
            None,
            slot(16, 8, Trigger::Access),
            slot(3, 1, Trigger::Execute),
        ];
        assert_eq!(control(&slots), 0b0000_1011_0000_1101 << 16 | 0b0101_0001);
        assert_eq!(control(&[None; MAX_SLOTS]), 0);
        assert_eq!(hits(0xffff_0ff5), 0b0101);
    }
}
