//! Whether a word of a frame already has the pointer that the function was passed, where a location list says
//! nothing ([`dwarf::Spill`]): the code from the function's entry on is read.

use crate::arch::{Arch, Flow, Instruction};
use dwarf::{FileAddr, Function, LoadAddr, Module, Spill};

/// Maximum size in bytes of the code that is read: compilers store what was passed right at the beginning.
const CODE_BYTES: u64 = 1 << 16;

/// Returns whether the word has the pointer at `pc`. The code before it must be one path: a single
/// instruction on it stores to the word, before `pc` and the place where the list first has the object, and
/// nothing up to the place where the list has it in the word changes the word, or the register of its
/// address. So the word has there what it has at `pc`.
///
/// Cost: the code of the function is decoded up to that place.
pub(crate) fn is_spilled(
    module: &Module,
    function: &Function,
    spill: &Spill,
    pc: FileAddr,
) -> bool {
    let size = spill.to.0.checked_sub(function.entry.0);
    let Some(size) = size.filter(|size| (1..=CODE_BYTES).contains(size)) else {
        return false;
    };
    let mut ranges = function.ranges.iter();
    let is_whole = ranges.any(|it| it.contains(function.entry) && spill.to <= it.end);
    let mut code = vec![0; size as usize];
    if !is_whole || module.read_image(function.entry, &mut code).is_none() {
        return false;
    }
    let Some(arch) = Arch::of(module.machine()) else {
        return false;
    };
    pc < spill.to && is_stored_once(arch, (&code, function.entry), spill, pc)
}

/// Returns whether code that begins at a function's entry stores to the word once, and early enough.
fn is_stored_once(
    arch: Arch,
    (code, entry): (&[u8], FileAddr),
    spill: &Spill,
    pc: FileAddr,
) -> bool {
    let passed_in = spill.passed_in.filter(|(_, from)| *from <= pc);
    let first = passed_in.map_or(pc, |it| it.1);
    let mut is_stored = false;
    for decoded in arch.decode_all(code, LoadAddr(entry.0)) {
        let Ok(instruction) = decoded else {
            return false;
        };
        if instruction.is_call() {
            continue;
        }
        let is_early = instruction.addr.0 < first.0;
        let may_change = |register| is_stored && instruction.sets(register);
        if !goes_on(&instruction, entry, is_stored)
            || may_change(spill.base)
            || is_early && passed_in.is_some_and(|it| may_change(it.0))
        {
            return false;
        }
        if !instruction.may_store() {
            continue;
        }
        match instruction.part_of_frame(spill.base) {
            Some((offset, 8)) if offset == spill.offset && is_early && !is_stored => {
                is_stored = true;
            }
            Some((offset, size)) if overlaps((offset, size), (spill.offset, 8)) => return false,
            _ => {}
        }
    }
    is_stored
}

/// Returns whether execution goes on behind an instruction. Before the word is stored there may be loops: those
/// that touch each page of a large frame.
fn goes_on(instruction: &Instruction, entry: FileAddr, is_stored: bool) -> bool {
    match instruction.flow {
        Flow::Next | Flow::SystemCall => true,
        Flow::ConditionalJump(to) => !is_stored && (entry.0..instruction.addr.0).contains(&to.0),
        _ => false,
    }
}

fn overlaps((one, one_size): (i64, u64), (other, other_size): (i64, u64)) -> bool {
    one < other.saturating_add_unsigned(other_size) && other < one.saturating_add_unsigned(one_size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::register::x86_64::{RDI, RSP};

    /// Returns whether [rsp+0x10] has what rdi has at `from`, in code at 0x100.
    fn stored(code: &[u8], from: u64) -> bool {
        let spill = Spill {
            passed_in: Some((RDI, FileAddr(from))),
            base: RSP,
            offset: 0x10,
            to: FileAddr(0x100 + code.len() as u64),
        };
        let code = (code, FileAddr(0x100));
        let is_there = |spill: &Spill, pc| is_stored_once(Arch::X86_64, code, spill, FileAddr(pc));
        let passed = Spill {
            passed_in: None,
            ..spill
        };
        // The word has what was passed only behind the store.
        assert!(!is_there(&passed, 0x100));
        let found = is_there(&spill, from);
        assert!(!found || is_there(&passed, from));
        found
    }

    #[test]
    fn word_is_stored_once_on_a_straight_path() {
        let prologue = [0x48, 0x83, 0xec, 0x28]; // sub rsp,0x28
        let store = [0x48, 0x89, 0x7c, 0x24, 0x10]; // mov [rsp+0x10],rdi
        let call = [0xe8, 0, 0, 0, 0];
        let code = |parts: &[&[u8]]| parts.concat();
        let whole = code(&[&prologue, &store, &[0xbf, 1, 0, 0, 0], &call]);
        assert!(stored(&whole, 0x109));
        // The list has the object in the register before the store.
        assert!(!stored(&whole, 0x104));
        // No store at all; another store: mov [rsp+0x14],eax.
        assert!(!stored(&code(&[&prologue, &call]), 0x104));
        let again = code(&[&prologue, &store, &call, &[0x89, 0x44, 0x24, 0x14]]);
        assert!(!stored(&again, 0x109));
        // mov [rsp+0x18],eax is another word.
        let other = code(&[&prologue, &store, &call, &[0x89, 0x44, 0x24, 0x18]]);
        assert!(stored(&other, 0x109));
        // A branch; the stack pointer moves: push rax; another value in the register: mov rdi,rax.
        assert!(!stored(
            &code(&[&prologue, &store, &[0x74, 0], &call]),
            0x109
        ));
        assert!(!stored(&code(&[&prologue, &store, &[0x50], &call]), 0x109));
        let moved = code(&[&prologue, &store, &[0x48, 0x89, 0xc7], &call]);
        assert!(!stored(&moved, 0x10c));
        // A loop over the pages of a large frame: test rax,rax; jne back.
        let probes = [0x48, 0x85, 0xc0, 0x75, 0xfb];
        assert!(stored(&code(&[&probes, &store, &call]), 0x10a));
    }
}
