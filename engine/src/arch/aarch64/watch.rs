//! The watchpoint registers of AArch64 (Arm Architecture Reference Manual, D2.10): a word of eight
//! bytes, of which some that follow each other are watched. The processor also has ranges of a power
//! of two; the kernel does not offer them.

use super::super::RegisterFile;
use super::super::watch::{Coverage, MAX_SLOTS, Slot, Slots, Trigger};
use super::decode::untagged;
use dwarf::LoadAddr;

/// Size of the word that a slot watches bytes of.
const WORD: u64 = 8;

/// Returns the slots that watch a range. `None` if four are not enough. Any bytes of a word take
/// one, so that neighbours never take fewer.
pub fn cover(addr: LoadAddr, bytes: u64, trigger: Trigger, _: Coverage) -> Option<Slots> {
    let start = untagged(addr.0);
    let end = start.checked_add(bytes)?;
    let mut slots = Slots::new();
    let mut at = start;
    while at < end {
        if slots.len() == MAX_SLOTS {
            return None;
        }
        let len = (WORD - at % WORD).min(end - at);
        slots.push(Slot {
            addr: LoadAddr(at),
            len: len as u8,
            trigger,
        });
        at = at.checked_add(len)?;
    }
    Some(slots)
}

/// Returns the address and the control word (DBGWVR, DBGWCR; for [`Trigger::Execute`] DBGBVR,
/// DBGBCR) of a slot.
#[allow(dead_code, reason = "for processors of this set")]
pub fn registers(slot: &Slot) -> (u64, u32) {
    /// Enabled, for programs only (PAC).
    const FOR_PROGRAMS: u32 = 0b10 << 1 | 1;
    let (addr, offset) = (slot.addr.0 & !(WORD - 1), slot.addr.0 % WORD);
    let kind = match slot.trigger {
        // An instruction has four bytes.
        Trigger::Execute => return (slot.addr.0, 0b1111 << 5 | FOR_PROGRAMS),
        Trigger::Read => 0b01,
        Trigger::Write => 0b10,
        Trigger::Access => 0b11,
    };
    let selected = (1_u32 << slot.len.min(8)) - 1;
    let selected = selected << offset & 0xff;
    (addr, selected << 5 | kind << 3 | FOR_PROGRAMS)
}

/// Returns the slot that an address and a control word set; `None` if they set none. `trigger`: that
/// of the set of registers, if it has only one.
#[allow(dead_code, reason = "for processors of this set")]
pub fn slot_of(addr: u64, control: u32, trigger: Option<Trigger>) -> Option<Slot> {
    let selected = control >> 5 & 0xff;
    let offset = selected.trailing_zeros();
    let (offset, len, trigger) = match (trigger, control >> 3 & 0b11) {
        _ if control & 1 == 0 || selected == 0 => return None,
        (Some(trigger), _) => (0, 1, trigger),
        (None, 0b01) => (offset, selected.count_ones(), Trigger::Read),
        (None, 0b10) => (offset, selected.count_ones(), Trigger::Write),
        (None, _) => (offset, selected.count_ones(), Trigger::Access),
    };
    Some(Slot {
        addr: LoadAddr(addr.wrapping_add(u64::from(offset))),
        len: len as u8,
        trigger,
    })
}

/// Returns which slots the execution of, or an access at, `addr` has hit, one bit each. The address
/// that the processor reports may be the beginning of the access, outside the watched bytes: the
/// nearest slots are meant, several if they watch the same bytes.
#[allow(dead_code, reason = "for processors of this set")]
pub fn hits(slots: &[Option<Slot>; MAX_SLOTS], addr: u64) -> u8 {
    let addr = untagged(addr);
    let distance = |slot: &Slot| {
        let last = slot.addr.0.saturating_add(u64::from(slot.len.max(1)) - 1);
        match addr {
            _ if addr < slot.addr.0 => slot.addr.0 - addr,
            _ => addr.saturating_sub(last),
        }
    };
    let is_code = |slot: &Option<Slot>| {
        slot.is_some_and(|it| it.trigger == Trigger::Execute && it.addr.0 == addr)
    };
    if let Some(nth) = slots.iter().position(is_code) {
        return 1 << nth;
    }
    let watched = slots.iter().enumerate().filter_map(|(nth, slot)| {
        let slot = slot.as_ref().filter(|it| it.trigger != Trigger::Execute)?;
        Some((distance(slot), nth))
    });
    let Some((nearest, _)) = watched.clone().min() else {
        return 0;
    };
    let hit = watched.filter(|(distance, _)| *distance == nearest);
    hit.fold(0, |hits, (_, nth)| hits | 1 << nth)
}

pub const TRAPS_BEFORE_ACCESS: bool = true;
pub const TELLS_READS_FROM_WRITES: bool = true;

/// There is no flag for this.
pub fn pass(_: &mut impl RegisterFile) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(addr: u64, bytes: u64) -> Option<Vec<(u64, u8)>> {
        let slots = cover(LoadAddr(addr), bytes, Trigger::Write, Coverage::Exact)?;
        Some(slots.iter().map(|slot| (slot.addr.0, slot.len)).collect())
    }

    #[test]
    fn ranges_are_split_at_words() {
        assert_eq!(covered(16, 4).unwrap(), [(16, 4)]);
        assert_eq!(covered(17, 4).unwrap(), [(17, 4)]);
        assert_eq!(covered(17, 8).unwrap(), [(17, 7), (24, 1)]);
        assert_eq!(covered(16, 32).unwrap().len(), 4);
        assert_eq!(covered(16, 33), None);
        assert_eq!(covered(17, 32), None);
        assert_eq!(covered(0x0b00_0000_0000_0010, 4).unwrap(), [(16, 4)]);
        assert_eq!(covered(u64::MAX - 1, 4), None);
    }

    fn slot(addr: u64, len: u8, trigger: Trigger) -> Slot {
        Slot {
            addr: LoadAddr(addr),
            len,
            trigger,
        }
    }

    #[test]
    fn control_words_match_the_manual() {
        let of = |addr, len, trigger| registers(&slot(addr, len, trigger));
        // Bytes 3 and 4 of the word.
        assert_eq!(of(0x1003, 2, Trigger::Write), (0x1000, 0x18 << 5 | 0b10101));
        assert_eq!(
            of(0x1008, 8, Trigger::Access),
            (0x1008, 0xff << 5 | 0b11101)
        );
        assert_eq!(of(0x100c, 1, Trigger::Execute), (0x100c, 0xf << 5 | 0b101));
    }

    #[test]
    fn registers_tell_what_they_watch() {
        for slot in [
            slot(0x1003, 2, Trigger::Write),
            slot(0x1008, 8, Trigger::Access),
            slot(0x1010, 4, Trigger::Read),
            slot(0x1007, 1, Trigger::Access),
            slot(0x100c, 1, Trigger::Execute),
        ] {
            let (addr, control) = registers(&slot);
            let only = Some(Trigger::Execute).filter(|_| slot.trigger == Trigger::Execute);
            assert_eq!(slot_of(addr, control, only), Some(slot));
            assert_eq!(slot_of(addr, control & !1, only), None);
        }
    }

    #[test]
    fn an_access_that_begins_before_the_watched_bytes_is_a_hit() {
        let slots = [
            Some(slot(0x1000, 4, Trigger::Write)),
            None,
            Some(slot(0x1020, 8, Trigger::Write)),
            Some(slot(0x101c, 1, Trigger::Execute)),
        ];
        assert_eq!(hits(&slots, 0x1003), 0b001);
        assert_eq!(hits(&slots, 0x1010), 0b001);
        // A store of 16 bytes.
        assert_eq!(hits(&slots, 0x1018), 0b100);
        assert_eq!(hits(&slots, 0x1027), 0b100);
        assert_eq!(hits(&slots, 0x101c), 0b1000);
        assert_eq!(hits(&slots, 0x0b00_0000_0000_1027), 0b100);
        assert_eq!(hits(&[None; MAX_SLOTS], 0x1000), 0);
        let same = [
            Some(slot(0x1000, 4, Trigger::Read)),
            Some(slot(0x1008, 4, Trigger::Write)),
            Some(slot(0x1000, 8, Trigger::Write)),
            None,
        ];
        assert_eq!(hits(&same, 0x1000), 0b101);
    }
}
