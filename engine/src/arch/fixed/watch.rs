//! One slot of any alignment.

use super::super::RegisterFile;
use super::super::watch::{Coverage, MAX_SLOTS, Slot, Slots, Trigger};
use dwarf::LoadAddr;

pub fn cover(addr: LoadAddr, bytes: u64, trigger: Trigger, _: Coverage) -> Option<Slots> {
    let len = u8::try_from(bytes).ok()?;
    Some(Slots::from_slice(&[Slot { addr, len, trigger }]))
}

pub fn control(slots: &[Option<Slot>; MAX_SLOTS]) -> u64 {
    slots.iter().flatten().count() as u64
}

pub fn hits(status: u64) -> u8 {
    status as u8
}

pub fn pass(_: &mut impl RegisterFile) {}
