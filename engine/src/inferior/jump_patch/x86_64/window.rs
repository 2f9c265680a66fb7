//! The instructions that a jump replaces. Control must not enter inside them except over the jump:
//! unless that is proved, the jump is refused.

use super::super::window::{PatchRefusal, PatchedRange, UNKNOWN_FUNCTION};
use super::function_code::FunctionCode;
use crate::arch::x86_64::{self, JUMP};
use crate::arch::{Arch, Flow, Instruction as Decoded};
use dwarf::LoadAddr;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

/// Returns the instructions from `site` that a jump there would replace, in the function of
/// that code: as many as the jump is long, or else as many as control does not enter and
/// contain none of the `others`, which are sites in order.
///
/// # Errors
/// The obstacle.
pub fn at(
    site: LoadAddr,
    code: &FunctionCode,
    others: &[LoadAddr],
) -> Result<PatchedRange, PatchRefusal> {
    let run = code.run_at(site).ok_or(UNKNOWN_FUNCTION)?;
    let from = (site - run.start) as usize;
    let mut decoder = Decoder::with_ip(64, &run.bytes[from..], site.0, DecoderOptions::NONE);
    let mut instructions = Vec::new();
    let mut length = 0;
    let mut ends = false;
    while length < JUMP && !ends && decoder.can_decode() {
        let instruction = decoder.decode();
        match admit(&instruction, site, code, others) {
            Ok(last) => ends = last,
            Err(why) if instructions.is_empty() => return Err(why),
            Err(_) => break,
        }
        let at = LoadAddr(instruction.ip());
        let bytes = &run.bytes[from + length..];
        let decoded = Arch::X86_64
            .decode(bytes, at)
            .ok_or("invalid code follows it")?;
        length += instruction.len();
        instructions.push(decoded);
    }
    let last = instructions.last().map(|it: &Decoded| it.flow);
    let leaves = matches!(
        last,
        Some(Flow::Return | Flow::Jump(_) | Flow::IndirectJump(_))
    );
    // A call returns behind itself.
    let unreached = match leaves {
        true => unreached_padding(&run.bytes[from + length..], site + length as u64, code),
        false => 0,
    };
    let free = match from + length + unreached == run.bytes.len() {
        true => length + unreached + run.padding,
        false => length + unreached,
    };
    // Padding may contain another site, too.
    let next = others.iter().find(|other| **other > site);
    let free = next.map_or(free, |next| free.min((*next - site) as usize));
    let there = run.bytes[from..].iter().chain(&run.behind).take(JUMP);
    let kept: Vec<u8> = there.skip(free).copied().collect();
    if free + kept.len() < JUMP {
        return Err("no room for a jump");
    }
    Ok(PatchedRange {
        instructions,
        end: site + length as u64,
        overlapped_bytes: kept,
        jump_bytes: JUMP,
    })
}

/// Returns the number of bytes of padding at the start of code that nothing leads to: it aligns the next
/// branch target.
fn unreached_padding(bytes: &[u8], start: LoadAddr, code: &FunctionCode) -> usize {
    if !code.targets_are_known() {
        return 0;
    }
    let mut decoder = Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE);
    let mut len = 0;
    while len < JUMP && decoder.can_decode() {
        let instruction = decoder.decode();
        let place = LoadAddr(instruction.ip())..LoadAddr(instruction.next_ip());
        let is_entered = code.other_entry_into(place).is_some();
        if instruction.mnemonic() != Mnemonic::Nop || is_entered {
            break;
        }
        len += instruction.len();
    }
    len
}

/// Returns whether an instruction ends the control flow; fails if a jump at `site` cannot replace
/// it.
fn admit(
    instruction: &Instruction,
    site: LoadAddr,
    code: &FunctionCode,
    others: &[LoadAddr],
) -> Result<bool, PatchRefusal> {
    let ends = check(instruction)?;
    let bytes = LoadAddr(instruction.ip())..LoadAddr(instruction.next_ip());
    let is_inside = |other: &LoadAddr| *other != site && bytes.contains(other);
    if others.iter().any(is_inside) {
        return Err("another breakpoint is inside its instructions");
    }
    if instruction.ip() > site.0 && !code.targets_are_known() {
        return Err("an unresolved jump table may target the next instruction");
    }
    // The instruction at the site may be entered after a prefix.
    let inside = instruction.ip().max(site.0 + 1)..instruction.next_ip();
    match code.other_entry_into(LoadAddr(inside.start)..LoadAddr(inside.end)) {
        Some(_) if instruction.ip() == site.0 => {
            Err("a branch targets the middle of its instruction")
        }
        Some(why) => Err(why),
        None => Ok(ends),
    }
}

/// Returns whether an instruction ends the control flow; fails if it cannot be relocated.
fn check(instruction: &Instruction) -> Result<bool, PatchRefusal> {
    if instruction.is_invalid() {
        return Err("invalid code follows it");
    }
    match instruction.flow_control() {
        FlowControl::Next => match instruction.mnemonic() {
            // The kernel looks at the address of a thread that stops in there.
            Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Hlt => {
                Err("a system call follows it")
            }
            Mnemonic::Endbr64 | Mnemonic::Endbr32 => Err("`endbr64` must stay in place"),
            _ => Ok(false),
        },
        FlowControl::ConditionalBranch if instruction.op0_kind() == OpKind::NearBranch64 => {
            match instruction.mnemonic() {
                Mnemonic::Loop | Mnemonic::Loope | Mnemonic::Loopne | Mnemonic::Jrcxz => {
                    Err("a loop instruction follows it")
                }
                _ => Ok(false),
            }
        }
        FlowControl::UnconditionalBranch if instruction.op0_kind() == OpKind::NearBranch64 => {
            Ok(true)
        }
        FlowControl::Call if instruction.op0_kind() == OpKind::NearBranch64 => Ok(true),
        FlowControl::IndirectCall if x86_64::can_push_and_jump(instruction) => Ok(true),
        FlowControl::IndirectBranch => Ok(true),
        FlowControl::Return if matches!(instruction.code(), Code::Retnq | Code::Retnq_imm16) => {
            Ok(true)
        }
        _ => Err("the next instructions cannot be relocated"),
    }
}

#[cfg(test)]
mod tests;
