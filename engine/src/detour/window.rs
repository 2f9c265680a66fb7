//! Which instructions make room for a jump. Whoever comes to a place inside what they covered
//! must have come over the jump: where that cannot be proved, there is no room.

use super::code::FunctionCode;
use crate::arch::x86_64::{self, JUMP};
use dwarf::LoadAddr;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};

/// The instructions that a jump takes the place of.
#[derive(Clone, Debug)]
pub struct Window {
    /// In their order, the one at the site first.
    pub instructions: Vec<Instruction>,
    /// The address behind them.
    pub end: LoadAddr,
    /// The last bytes of the jump, which are the first ones of what follows: others come there, so
    /// they have to stay as they are.
    pub kept: Vec<u8>,
}

/// Why there is no room, for people.
pub type NoRoom = &'static str;

impl Window {
    /// The instructions from `site` on that a jump there would take the place of, in the function of
    /// that code: as many as the jump is long, or else as many as nobody comes into and none of the
    /// `others` is at, which are sites in their order.
    ///
    /// # Errors
    /// What is in the way.
    pub fn at(site: LoadAddr, code: &FunctionCode, others: &[LoadAddr]) -> Result<Window, NoRoom> {
        let run = code.run_at(site).ok_or("it is in no known function")?;
        let from = (site - run.start) as usize;
        let mut decoder = Decoder::with_ip(64, &run.bytes[from..], site.0, DecoderOptions::NONE);
        let mut instructions: Vec<Instruction> = Vec::new();
        let mut length = 0;
        let mut ends = false;
        while length < JUMP && !ends && decoder.can_decode() {
            let instruction = decoder.decode();
            match admit(&instruction, site, code, others) {
                Ok(last) => ends = last,
                Err(why) if instructions.is_empty() => return Err(why),
                Err(_) => break,
            }
            length += instruction.len();
            instructions.push(instruction);
        }
        let free = match from + length == run.bytes.len() {
            true => length + run.padding,
            false => length,
        };
        // Also in what fills a gap there may be another one.
        let next = others.iter().find(|other| **other > site);
        let free = next.map_or(free, |next| free.min((*next - site) as usize));
        let there = run.bytes[from..].iter().chain(&run.behind).take(JUMP);
        let kept: Vec<u8> = there.skip(free).copied().collect();
        if free + kept.len() < JUMP {
            return Err("nothing is behind it");
        }
        Ok(Window {
            instructions,
            end: site + length as u64,
            kept,
        })
    }

    /// How many bytes of the jump are not those of what follows.
    pub fn own(&self) -> usize {
        JUMP - self.kept.len()
    }

    /// The address behind the jump and all that it takes the place of.
    pub fn reaches_to(&self, site: LoadAddr) -> LoadAddr {
        self.end.max(site + JUMP as u64)
    }
}

/// Whether nothing runs on behind an instruction that a jump at `site` is to take the place of.
fn admit(
    instruction: &Instruction,
    site: LoadAddr,
    code: &FunctionCode,
    others: &[LoadAddr],
) -> Result<bool, NoRoom> {
    let ends = check(instruction)?;
    let bytes = LoadAddr(instruction.ip())..LoadAddr(instruction.next_ip());
    let is_inside = |other: &LoadAddr| *other != site && bytes.contains(other);
    if others.iter().any(is_inside) {
        return Err("another breakpoint is in the midst of it");
    }
    if instruction.ip() > site.0 && !code.targets_are_known() {
        return Err("the function jumps by a table, maybe to what follows it");
    }
    // The one at the site may be branched into behind a prefix.
    let inside = instruction.ip().max(site.0 + 1)..instruction.next_ip();
    match code.entered(LoadAddr(inside.start)..LoadAddr(inside.end)) {
        Some(_) if instruction.ip() == site.0 => Err("the function jumps into the midst of it"),
        Some(why) => Err(why),
        None => Ok(ends),
    }
}

/// Whether an instruction can be run elsewhere, and whether nothing runs on behind it.
fn check(instruction: &Instruction) -> Result<bool, NoRoom> {
    if instruction.is_invalid() {
        return Err("what follows it is no code");
    }
    match instruction.flow_control() {
        FlowControl::Next => match instruction.mnemonic() {
            // A stop in there is the kernel's business, which looks at the address.
            Mnemonic::Syscall | Mnemonic::Sysenter | Mnemonic::Hlt => {
                Err("a system call follows it")
            }
            Mnemonic::Endbr64 | Mnemonic::Endbr32 => {
                Err("the processor wants to see the `endbr64` that is there")
            }
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
        _ => Err("an instruction follows it that cannot be run elsewhere"),
    }
}

#[cfg(test)]
mod tests;
