//! The instruction that a jump replaces.

use super::super::window::{PatchRefusal, PatchedRange};
use crate::arch::aarch64::{INSTRUCTION_BYTES, is_landing_pad, own, relocate};
use crate::arch::{Arch, Flow};
use dwarf::{LoadAddr, Memory};

/// Returns the instruction at `site`, if a jump can replace it.
///
/// # Errors
/// The obstacle.
pub fn at(site: LoadAddr, memory: &dyn Memory) -> Result<PatchedRange, PatchRefusal> {
    const NOT_RELOCATED: PatchRefusal = "its instruction cannot be relocated";
    let read = |addr| Arch::Aarch64.read(memory, addr);
    let instruction = read(site).ok_or("invalid code is there")?;
    let code = own(&instruction).ok_or(NOT_RELOCATED)?;
    if is_landing_pad(code) {
        // The processor would fault on a jump where an indirect call leads to. Breakpoints on functions
        // are bound behind their pads.
        return Err("a landing pad of indirect calls must stay in place");
    }
    match instruction.flow {
        // The kernel looks at the address of a thread that stops in there.
        Flow::SystemCall => return Err("it is a system call"),
        Flow::Interrupt | Flow::Fault => return Err("it is a trap of the program"),
        _ => {}
    }
    // Its store fails after any other access to memory.
    if (Arch::Aarch64.exclusive_sequence(site, read)).is_some_and(|it| it.contains(&site)) {
        return Err("it is inside an exclusive sequence");
    }
    // Where the copy will be, is not known yet; only its distance matters.
    if relocate::copy(code, site).is_none() {
        return Err(NOT_RELOCATED);
    }
    Ok(PatchedRange {
        instructions: vec![instruction],
        end: instruction.next(),
        overlapped_bytes: Vec::new(),
        jump_bytes: INSTRUCTION_BYTES,
    })
}
