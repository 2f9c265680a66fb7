//! One slot of any alignment.

use super::super::RegisterFile;
use super::super::watch::{Coverage, Slot, Slots, Trigger};
use dwarf::LoadAddr;

pub fn cover(addr: LoadAddr, bytes: u64, trigger: Trigger, _: Coverage) -> Option<Slots> {
    let len = u8::try_from(bytes).ok()?;
    Some(Slots::from_slice(&[Slot { addr, len, trigger }]))
}

pub const TRAPS_BEFORE_ACCESS: bool = true;
pub const TELLS_READS_FROM_WRITES: bool = false;

pub fn pass(_: &mut impl RegisterFile) -> bool {
    false
}
