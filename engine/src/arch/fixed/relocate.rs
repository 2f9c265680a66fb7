//! Displaced instructions.

use super::super::RegisterFile;
use super::super::instruction::{Emulated, Relocated};
use super::{CALL, CALL_REGISTER, Decoded, JUMP, JUMP_IF, LINK, LOAD_NEAR, NOP, RETURN, STORE, to};
use dwarf::{LoadAddr, Memory};

pub const PAD_BYTES: usize = 16;
/// Distances have 24 bits.
pub const PAD_REACH: u64 = 1 << 22;

pub fn emulate<R: RegisterFile>(
    code: &Decoded,
    registers: &R,
    _: &dyn Memory,
) -> Option<Emulated<R>> {
    let mut after = *registers;
    let next = match code.opcode() {
        NOP => code.next(),
        JUMP | CALL => code.target(),
        RETURN => registers.get(LINK)?,
        CALL_REGISTER => registers.get(code.register())?,
        _ => return None,
    };
    if matches!(code.opcode(), CALL | CALL_REGISTER) {
        after.set(LINK, code.next());
    }
    after.set_pc(LoadAddr(next));
    Some(Emulated {
        registers: after,
        store: None,
    })
}

pub fn jump_patch(_: LoadAddr, _: LoadAddr) -> Option<Vec<u8>> {
    None
}

pub fn jump_patch_target(_: LoadAddr, _: &[u8]) -> Option<LoadAddr> {
    None
}

pub fn relocate(code: &Decoded, pad: LoadAddr) -> Option<Relocated> {
    let jump = |from: u64, to_addr: u64| {
        let distance = i32::try_from(to_addr.wrapping_sub(from) as i64).ok()?;
        (-0x80_0000..0x80_0000)
            .contains(&distance)
            .then_some(distance)
    };
    let moved = match code.opcode() {
        LOAD_NEAR | JUMP_IF => to(code.opcode(), jump(pad.0, code.target())?),
        STORE => code.word.to_le_bytes(),
        _ => return None,
    };
    let back = to(JUMP, jump(pad.0 + 4, code.next())?);
    Some(Relocated {
        bytes: [moved, back].concat(),
        jump: 4,
        next: LoadAddr(code.next()),
    })
}
