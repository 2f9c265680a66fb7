//! A jump in place of a system call instruction.
//!
//! The instruction has 2 bytes, and a jump with a 32-bit displacement has 5. Only bytes that nothing
//! else executes are changed, so branches to the code behind the instruction stay right, and the
//! program can be continued or interrupted at any place. There are three ways:
//!
//! 1. The instruction becomes `48 e9`, a jump with a prefix that it ignores, and the next four bytes,
//!    unchanged, are its displacement (a pun). `cmp $-4096,%rax`, which follows nearly all system
//!    calls in glibc, leads 256 MiB down, where a zone is.
//! 2. The instruction becomes `e9` and a byte: the next three bytes are the rest of the displacement. So
//!    it is with `cmp $-4096,%eax`.
//! 3. The instruction becomes a short jump to padding behind a return or a jump, which holds the jump
//!    to the slot.
//!
//! Each leads to a slot, which tells the stub where the program continues, and has the instruction
//! that makes the call with a stop. A program that reads its own code sees the jumps.

use super::super::log::Written;
use super::super::patches::Patches;
use super::super::registers::CALL_LEN;
use super::super::tracee::Tracee;
use super::free;
use super::layout::{self, word};
use super::zones::{JUMP_LEN, SLOT_LEN, Zones};
use crate::arch::{Arch, Flow};
use dwarf::LoadAddr;
use std::io;
use std::ops::Range;

/// The system call instruction.
pub const CALL: [u8; 2] = [0x0f, 0x05];
const JUMP: u8 = 0xe9;
const SHORT_JUMP: u8 = 0xeb;
const IGNORED_PREFIX: u8 = 0x48;
/// How far a short jump leads.
const SHORT_REACH: usize = 127;
/// How much code from the instruction on is looked at: more than [`SHORT_REACH`], and padding.
pub const CODE_LEN: usize = 160;
/// Padding ends where a function may begin.
const ALIGNMENT: u64 = 16;

/// Length in bytes of a jump whose displacement is other code, at most.
pub const PUN_LEN: u64 = 6;

/// How far before a patch of the debugger a site may be that has to give way to it.
const REACH: u64 = (CALL.len() + SHORT_REACH) as u64 + JUMP_LEN;

/// Restores the instruction at a site if a patch in this range would change its jump, or what that leads to.
///
/// # Errors
/// The process has ended.
pub fn give_way(tracee: &Tracee, site: u64, range: &Range<u64>) -> io::Result<()> {
    if site >= range.end || range.start - range.start.min(site) > REACH {
        return Ok(());
    }
    let overlaps = |start: u64, len: u64| start < range.end && range.start < start + len;
    let is_in_the_way = match *tracee.read(site, CALL.len()) {
        [JUMP, _] | [IGNORED_PREFIX, JUMP] => overlaps(site, PUN_LEN),
        [SHORT_JUMP, distance] => {
            let padding = site + CALL_LEN + u64::from(distance);
            overlaps(site, CALL_LEN) || overlaps(padding, JUMP_LEN)
        }
        _ => false,
    };
    match is_in_the_way {
        true => tracee.write(site, &CALL),
        false => Ok(()),
    }
}

/// Returns the code whose patches may stand against a jump at a site, or against the code that it needs: of a patch
/// before it, the last bytes may be those of the instruction.
pub fn around(site: u64) -> Range<u64> {
    site.saturating_sub(JUMP_LEN)..site.saturating_add(CODE_LEN as u64)
}

/// Returns whether the instruction at a site is there, besides patches.
pub fn is_call(tracee: &Tracee, site: u64, patches: &Patches) -> bool {
    let mut code = tracee.read(site, CALL.len());
    patches.hide(site, &mut code);
    code == CALL
}

/// Returns what has to be written so that the system call instruction at `site` jumps to the stub;
/// `None`: it has to stay as it is. `code`: the memory from `site` on, [`CODE_LEN`] bytes if
/// there are as many.
pub fn plan(site: u64, code: &[u8], zones: &mut Zones) -> Option<Vec<Written>> {
    if code.get(..2)? != CALL {
        return None;
    }
    let near = punned(site, code, zones).or_else(|| by_padding(site, code))?;
    let entry = zones.next_entry()?;
    let slot = zones.take_slot(&[site, near.jump])?;
    zones.take_entry();
    zones.take_jump(near.jump);
    let mut jump = vec![JUMP];
    jump.extend(displacement(near.jump + JUMP_LEN, slot));
    let next = site + CALL_LEN;
    Some(vec![
        (entry, free::entry_code(next).into()),
        (slot, slot_code(slot, next, entry).into()),
        (near.jump, jump.into()),
        (site, near.bytes.into()),
    ])
}

/// What replaces the instruction.
#[derive(PartialEq, Eq, Debug)]
struct Near {
    bytes: [u8; 2],
    /// Where it leads: the place of a jump of 5 bytes.
    jump: u64,
}

fn displacement(from: u64, to: u64) -> [u8; 4] {
    (to.wrapping_sub(from) as u32).to_le_bytes()
}

/// Returns a jump whose displacement is the code behind the instruction.
fn punned(site: u64, code: &[u8], zones: &Zones) -> Option<Near> {
    let target =
        |from: u64, bytes: [u8; 4]| from.wrapping_add_signed(i64::from(i32::from_le_bytes(bytes)));
    let &[a, b, c, d] = code.get(2..6)? else {
        return None;
    };
    let long = Near {
        bytes: [IGNORED_PREFIX, JUMP],
        jump: target(site + JUMP_LEN + 1, [a, b, c, d]),
    };
    let mut short = (0..=u8::MAX).map(|first| Near {
        bytes: [JUMP, first],
        jump: target(site + JUMP_LEN, [first, a, b, c]),
    });
    match zones.is_free(long.jump) {
        true => Some(long),
        false => short.find(|near| zones.is_free(near.jump)),
    }
}

/// Returns a jump to padding that is in reach: instructions without an effect that follow on one after
/// which nothing is executed, up to where a function may begin. The code is decoded from an
/// instruction on, so what is found are instructions, and not their parts.
fn by_padding(site: u64, code: &[u8]) -> Option<Near> {
    let mut decoder = Arch::HOST.decoder(code, LoadAddr(site));
    let mut at = CALL.len();
    loop {
        let instruction = decoder.at(at)?.ok()?;
        at += instruction.len();
        if at - CALL.len() > SHORT_REACH {
            return None;
        }
        let is_left = match instruction.flow {
            Flow::Return | Flow::Jump(_) | Flow::IndirectJump(_) => true,
            Flow::Fault => return None,
            _ => false,
        };
        let padding = padding(code.get(at..)?);
        let ends_aligned = (site + (at + padding) as u64).is_multiple_of(ALIGNMENT);
        if is_left && padding as u64 >= JUMP_LEN && ends_aligned {
            return Some(Near {
                bytes: [SHORT_JUMP, (at - CALL.len()) as u8],
                jump: site + at as u64,
            });
        }
    }
}

/// Returns the length of the instructions at the start of some code that do nothing.
fn padding(code: &[u8]) -> usize {
    let mut len = 0;
    while let Some(one) = code.get(len..).and_then(nothing) {
        len += one;
    }
    len
}

/// Returns the length of an instruction that does nothing: `nop` with or without an operand.
fn nothing(code: &[u8]) -> Option<usize> {
    let prefixes = code.iter().take_while(|it| [0x66, 0x2e].contains(*it));
    let at = prefixes.count();
    match *code.get(at..)? {
        [0x90, ..] => Some(at + 1),
        [0x0f, 0x1f, operand, ..] => {
            let has_index = operand & 7 == 4;
            let displacement = match operand >> 6 {
                0 if operand & 7 != 5 => 0,
                1 => 1,
                2 => 4,
                _ => return None,
            };
            let len = at + 3 + usize::from(has_index) + displacement;
            (len <= code.len()).then_some(len)
        }
        _ => None,
    }
}

/// The address that `r11` has when a slot enters the stub, from the slot's on: that of the instruction that makes the
/// call with a stop.
pub const CALL_OF_SLOT: u64 = 21;
/// Offset from that instruction to the address of the free entry.
pub const ENTRY_OF_CALL: u64 = 7;

/// Returns where the program continues after the call of a slot, whose code this is; `None`: it is none.
pub fn next_of_slot(slot: u64, code: &[u8]) -> Option<u64> {
    let rest = code.strip_prefix(&LOAD_NEXT)?;
    let displacement = i32::from_le_bytes(*rest.first_chunk()?);
    Some((slot + LOAD_LEN).wrapping_add_signed(displacement.into()))
}

/// `lea rcx, [rip + …]`
const LOAD_NEXT: [u8; 3] = [0x48, 0x8d, 0x0d];
const LOAD_LEN: u64 = 7;

/// Returns where a jump outside of slots leads to, whose code this is; `None`: it is none.
pub fn target(at: u64, code: &[u8]) -> Option<u64> {
    let rest = code.strip_prefix(&[JUMP])?;
    let displacement = i32::from_le_bytes(*rest.first_chunk()?);
    Some((at + JUMP_LEN).wrapping_add_signed(displacement.into()))
}

/// Returns the code of a slot: `rcx` is where the program continues, as after a system call, and `r11` is
/// the instruction that makes the call with a stop. Behind the code is the address of the free entry.
fn slot_code(slot: u64, next: u64, entry: u64) -> Vec<u8> {
    let mut code = LOAD_NEXT.to_vec();
    code.extend(displacement(slot + LOAD_LEN, next));
    // lea r11, [rip + 7]; jmp [ENTRY]
    code.extend([0x4c, 0x8d, 0x1d, 7, 0, 0, 0, 0xff, 0x24, 0x25]);
    code.extend((layout::word_at(word::ENTRY) as u32).to_le_bytes());
    code.extend(CALL);
    code.push(JUMP);
    code.extend(displacement(slot + code.len() as u64 + 4, next));
    code.extend((entry as u32).to_le_bytes());
    debug_assert!(code.len() as u64 <= SLOT_LEN);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: u64 = 0x7fff_f7ee_22ab;

    fn zones() -> Zones {
        let mut zones = Zones::default();
        zones.add(SITE - (300 << 20)..SITE - (200 << 20));
        zones.add_entries();
        zones
    }

    /// Follows jumps from the site as a processor does, with the written bytes over the code.
    fn followed(site: u64, code: &[u8], written: &[Written]) -> Vec<u64> {
        let read = |addr: u64| {
            let mut bytes: Vec<u8> = (0..16)
                .map(|nth| {
                    let offset = (addr + nth).wrapping_sub(site) as usize;
                    code.get(offset).copied().unwrap_or(0xcc)
                })
                .collect();
            for (at, new) in written {
                for (nth, byte) in new.iter().enumerate() {
                    let offset = (at + nth as u64).wrapping_sub(addr) as usize;
                    if let Some(place) = bytes.get_mut(offset) {
                        *place = *byte;
                    }
                }
            }
            bytes
        };
        let mut path = vec![site];
        let mut at = site;
        while let Some(decoded) = Arch::HOST.decode(&read(at), LoadAddr(at)) {
            let Flow::Jump(next) = decoded.flow else {
                break;
            };
            at = next.0;
            path.push(at);
        }
        path
    }

    /// The bytes of the program that are changed.
    fn changed(site: u64, code: &[u8], written: &[Written]) -> Vec<usize> {
        let all = written.iter().flat_map(|(at, bytes)| {
            let offset = at.wrapping_sub(site) as usize;
            offset..offset.saturating_add(bytes.len())
        });
        let mut inside: Vec<_> = all.filter(|offset| *offset < code.len()).collect();
        inside.sort_unstable();
        inside
    }

    #[test]
    fn comparison_behind_the_call_becomes_a_displacement() {
        let shapes: [&[u8]; 4] = [
            // cmp $-4096,%rax; cmp $-4095,%rax; cmp $-4096,%eax; cmp $-4095,%eax
            &[0x0f, 5, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff, 0x77, 1, 0xc3],
            &[0x0f, 5, 0x48, 0x3d, 1, 0xf0, 0xff, 0xff, 0x73, 1, 0xc3],
            &[0x0f, 5, 0x3d, 0, 0xf0, 0xff, 0xff, 0x77, 7, 0xc3],
            &[0x0f, 5, 0x3d, 1, 0xf0, 0xff, 0xff, 0x77, 7, 0xc3],
        ];
        for code in shapes {
            let written = plan(SITE, code, &mut zones()).expect("a jump");
            assert_eq!(changed(SITE, code, &written), [0, 1], "only the call");
            let path = followed(SITE, code, &written);
            assert_eq!(path.len(), 3, "{path:x?}");
            assert_eq!(path[2], written[1].0, "the slot");
        }
    }

    #[test]
    fn sites_whose_jumps_collide_get_others() {
        let code = [0x0f, 5, 0x3d, 0, 0xf0, 0xff, 0xff];
        let mut zones = zones();
        let mut slots = Vec::new();
        for site in [SITE, SITE + 2, SITE + 4] {
            let written = plan(site, &code, &mut zones).expect("a jump");
            let path = followed(site, &code, &written);
            assert_eq!(path.last(), Some(&written[1].0));
            slots.push(written[1].0);
        }
        slots.dedup();
        assert_eq!(slots.len(), 3);
    }

    #[test]
    fn padding_behind_a_return_holds_the_jump() {
        // test %eax,%eax; jne; ret; nopl 0(%rax)
        let code = [
            0x0f, 5, 0x85, 0xc0, 0x75, 2, 0xc3, 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x90, 0xcc,
        ];
        let site = 0x7fff_f7ee_22a0 + 1;
        let mut zones = zones();
        let written = plan(site, &code, &mut zones).expect("a jump");
        assert_eq!(changed(site, &code, &written), [0, 1, 7, 8, 9, 10, 11]);
        // A thread there is in code of the recorder.
        assert!(zones.contain(site + 7) && !zones.contain(site));
        let path = followed(site, &code, &written);
        assert_eq!(path[..2], [site, site + 7]);
        assert_eq!(path[2], written[1].0);
    }

    #[test]
    fn code_that_may_be_executed_is_left() {
        let site = 0x7fff_f7ee_22a0 + 1;
        // Padding of a loop, which is executed; too short; not up to a border; no zone in reach.
        let loops = [
            0x0f, 5, 0x85, 0xc0, 0x0f, 0x1f, 0x80, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0, 0xc3,
        ];
        let short = [0x0f, 5, 0xc3, 0x66, 0x90, 0x55, 0xcc];
        let inside = [0x0f, 5, 0xc3, 0x0f, 0x1f, 0x44, 0, 0, 0x55, 0xcc];
        for code in [&loops[..], &short, &inside, &[0x0f, 5], &[0xcd, 0x80], &[]] {
            assert_eq!(plan(site, code, &mut zones()), None, "{code:x?}");
        }
        let far = [0x0f, 5, 0x48, 0x3d, 0, 0xf0, 0xff, 0xff];
        assert_eq!(plan(site, &far, &mut Zones::default()), None);
    }

    #[test]
    fn slot_leads_to_the_stub_or_makes_the_call() {
        let (slot, next) = (0x7fff_e000_0000, SITE + 2);
        let code = slot_code(slot, next, 0x7020_0010);
        assert_eq!(next_of_slot(slot, &code), Some(next));
        assert_eq!(next_of_slot(slot, &code[1..]), None);
        let mut decoder = Arch::HOST.decoder(&code, LoadAddr(slot));
        let flow = |offset: usize, decoder: &mut crate::arch::Decoder<'_>| {
            let one = decoder.at(offset).and_then(Result::ok);
            one.expect("an instruction").flow
        };
        assert_eq!(flow(0, &mut decoder), Flow::Next);
        assert_eq!(flow(7, &mut decoder), Flow::Next);
        assert!(matches!(flow(14, &mut decoder), Flow::IndirectJump(_)));
        assert_eq!(flow(21, &mut decoder), Flow::SystemCall);
        assert_eq!(flow(23, &mut decoder), Flow::Jump(LoadAddr(next)));
        let entry = (CALL_OF_SLOT + ENTRY_OF_CALL) as usize;
        assert_eq!(code[CALL_OF_SLOT as usize..][..2], CALL);
        assert_eq!(code[entry..], 0x7020_0010_u32.to_le_bytes());
    }
}
