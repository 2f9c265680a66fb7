//! Which instructions make room for a jump. Whoever comes to a place inside what they covered
//! must have come over the jump: where that cannot be proved, there is no room.

use crate::arch::x86_64::{self, JUMP};
use dwarf::LoadAddr;
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use std::collections::BTreeSet;

/// The instructions whose bytes a jump takes.
#[derive(Clone, Debug)]
pub struct Window {
    /// In their order, the one at the site first.
    pub instructions: Vec<Instruction>,
    /// The address behind them.
    pub end: LoadAddr,
}

/// Why there is no room, for people.
pub type NoRoom = &'static str;

impl Window {
    /// The instructions from `site` on that a jump there would cover. `ranges` is the code of the
    /// whole function as the program has it, `entered` are places in it that are come to by other
    /// means than its own branches (landing pads); `padding` is what follows a range that ends
    /// there.
    ///
    /// # Errors
    /// What is in the way.
    pub fn at(
        site: LoadAddr,
        ranges: &[(LoadAddr, Vec<u8>)],
        entered: &BTreeSet<LoadAddr>,
        padding: impl Fn(LoadAddr) -> Vec<u8>,
    ) -> Result<Window, NoRoom> {
        let (start, bytes) = ranges
            .iter()
            .find(|(start, bytes)| site - *start < bytes.len() as u64)
            .ok_or("it is in no known function")?;
        let from = (site - *start) as usize;
        let mut decoder = Decoder::with_ip(64, &bytes[from..], site.0, DecoderOptions::NONE);
        let mut instructions = Vec::new();
        let mut length = 0;
        let mut ends = false;
        while length < JUMP && !ends {
            if !decoder.can_decode() {
                return Err("the function ends too soon behind it");
            }
            let instruction = decoder.decode();
            ends = check(&instruction)?;
            length += instruction.len();
            instructions.push(instruction);
        }
        let end = site + length as u64;
        if length < JUMP
            && !(from + length == bytes.len() && is_padding(&padding(end), JUMP - length))
        {
            return Err(
                "too few bytes are there before the next instruction that is come to by others",
            );
        }
        let behind = end.0.max(site.0 + JUMP as u64);
        let inside = LoadAddr(site.0 + 1)..LoadAddr(behind);
        if instructions.len() > 1 {
            if entered.range(inside.clone()).next().is_some() {
                return Err("an exception may come back to what follows it");
            }
            match targets(ranges) {
                None => return Err("the function jumps by a table, maybe to what follows it"),
                Some(targets) if targets.range(inside).next().is_some() => {
                    return Err("the function jumps to what follows it");
                }
                Some(_) => {}
            }
        }
        Ok(Window { instructions, end })
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

/// Where the function's own branches lead; `None`: not all of them are known.
fn targets(ranges: &[(LoadAddr, Vec<u8>)]) -> Option<BTreeSet<LoadAddr>> {
    let mut targets = BTreeSet::new();
    let mut instruction = Instruction::default();
    for (start, bytes) in ranges {
        let mut decoder = Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE);
        while decoder.can_decode() {
            decoder.decode_out(&mut instruction);
            match instruction.flow_control() {
                // A tail call by way of the global offset table.
                FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {}
                FlowControl::IndirectBranch => return None,
                _ if instruction.op0_kind() == OpKind::NearBranch64 => {
                    targets.insert(LoadAddr(instruction.near_branch64()));
                }
                _ => {}
            }
        }
    }
    Some(targets)
}

/// Whether nobody needs the first `wanted` of these bytes.
fn is_padding(bytes: &[u8], wanted: usize) -> bool {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    while decoder.position() < wanted {
        let before = decoder.position();
        let instruction = decoder.decode();
        let fills = matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
            // `xchg %ax,%ax`
            || bytes[before..].starts_with(&[0x66, 0x90]);
        if instruction.is_invalid() || !fills {
            return false;
        }
    }
    true
}
