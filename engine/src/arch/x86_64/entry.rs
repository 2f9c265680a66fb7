//! Arguments of a function: the registers that it takes them from, and where unoptimized code
//! stores them.

use super::super::instruction::{Flow, Instruction};
use super::decode::dwarf_register;
use super::{Decoded, own};
use dwarf::register::x86_64::{RCX, RDI, RDX, RSI, XMM0};
use dwarf::{LoadAddr, Register};
use iced_x86::{Code, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register as Name};
use rustc_hash::FxHashMap;

/// Maximum number of instructions to examine.
const MAX_INSTRUCTIONS: usize = 4096;
/// Maximum number of instructions in a prologue.
const PROLOGUE: usize = 64;
/// Argument registers, and the static chain of C's nested functions (r10).
const ARGUMENTS: [Register; 7] = [RDI, RSI, RDX, RCX, Register(8), Register(9), Register(10)];
/// Number of vector registers for arguments.
const VECTORS: u16 = 8;

/// Returns the bit of a register that may hold an argument.
fn bit(register: Name) -> u16 {
    let nth = match dwarf_register(register) {
        Some(register) => ARGUMENTS.iter().position(|it| *it == register),
        None if register.is_vector_register() => {
            let number = register.number();
            (number < usize::from(VECTORS)).then_some(ARGUMENTS.len() + number)
        }
        None => None,
    };
    nth.map_or(0, |nth| 1 << nth)
}

/// Returns the registers that a function reads before it writes them: its arguments, with or
/// without debug info. `code` returns its instructions, `None` outside it. Arguments that are only
/// passed on to a call are not found.
pub fn arguments_read(
    entry: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Vec<Register> {
    let mut factory = InstructionInfoFactory::new();
    // The registers written on all paths to each instruction.
    let mut written: FxHashMap<LoadAddr, u16> = FxHashMap::default();
    let (mut todo, mut taken) = (vec![(entry, 0)], 0);
    for _ in 0..MAX_INSTRUCTIONS {
        let Some((at, mut before)) = todo.pop() else {
            break;
        };
        if let Some(known) = written.get(&at) {
            if known & before == *known {
                continue;
            }
            before &= known;
        }
        written.insert(at, before);
        let Some(instruction) = code(at) else {
            continue;
        };
        if instruction.is_call() {
            continue;
        }
        let Some(decoded) = own(&instruction) else {
            continue;
        };
        let (mut reads, mut writes) = (0, 0);
        let made_anew = made_anew(decoded);
        for used in factory.info(decoded).used_registers() {
            let bit = bit(used.register());
            let is_new = made_anew == Some(used.register().full_register());
            match used.access() {
                _ if is_new => writes |= bit,
                OpAccess::Read | OpAccess::CondRead => reads |= bit,
                OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                    reads |= bit;
                    writes |= bit;
                }
                OpAccess::Write => writes |= bit,
                _ => {}
            }
        }
        taken |= reads & !before;
        let after = before | writes;
        let next = (instruction.next(), after);
        match instruction.flow {
            Flow::Jump(target) => todo.push((target, after)),
            Flow::ConditionalJump(target) => todo.extend([(target, after), next]),
            Flow::Next => todo.push(next),
            _ => {}
        }
    }
    let vectors = (0..VECTORS).map(|nth| Register(XMM0.0 + nth));
    let all = ARGUMENTS.into_iter().chain(vectors).enumerate();
    all.filter(|(nth, _)| taken & 1 << nth != 0)
        .map(|(_, register)| register)
        .collect()
}

/// Returns the register that an instruction sets to a value that does not depend on the old one in
/// practice: it is combined with itself, or only unused bits of it remain.
fn made_anew(instruction: &Decoded) -> Option<Name> {
    let (to, from) = (instruction.op0_register(), instruction.op1_register());
    let other = to != from;
    let is_new = match instruction.mnemonic() {
        Mnemonic::Xor | Mnemonic::Sub | Mnemonic::Pxor | Mnemonic::Xorps | Mnemonic::Xorpd => {
            !other
        }
        Mnemonic::Cvtsi2sd | Mnemonic::Cvtsi2ss | Mnemonic::Cvtss2sd | Mnemonic::Cvtsd2ss => other,
        Mnemonic::Movss | Mnemonic::Movsd | Mnemonic::Sqrtss | Mnemonic::Sqrtsd => other,
        _ => false,
    };
    let is_register = instruction.op0_kind() == OpKind::Register;
    (is_new && is_register).then(|| to.full_register())
}

/// Finds the store of the address for a result in memory in a prologue. Returns the instruction's
/// address, the base register, and the offset.
pub fn result_address_store(
    entry: LoadAddr,
    mut code: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    let mut factory = InstructionInfoFactory::new();
    let mut at = entry;
    // The registers that hold the address, which is the first argument.
    let mut holders = vec![Name::RDI];
    for _ in 0..PROLOGUE {
        let next = code(at)?;
        let instruction = own(&next)?;
        let is_held = holders.contains(&instruction.op1_register());
        let is_store = instruction.code() == Code::Mov_rm64_r64
            && instruction.op0_kind() == OpKind::Memory
            && instruction.memory_index() == Name::None
            && matches!(instruction.memory_base(), Name::RBP | Name::RSP);
        if is_store && is_held {
            let base = dwarf_register(instruction.memory_base())?;
            return Some((at, base, instruction.memory_displacement64() as i64));
        }
        for used in factory.info(instruction).used_registers() {
            if used.access() != OpAccess::Read {
                holders.retain(|holder| *holder != used.register().full_register());
            }
        }
        let is_copy = matches!(instruction.code(), Code::Mov_rm64_r64 | Code::Mov_r64_rm64)
            && instruction.op0_kind() == OpKind::Register;
        if is_copy && is_held {
            holders.push(instruction.op0_register());
        }
        if holders.is_empty() || next.flow != Flow::Next {
            return None;
        }
        at = next.next();
    }
    None
}

/// Every function returns the address.
pub fn result_address_at_call(
    _: LoadAddr,
    _: impl FnMut(LoadAddr) -> Option<Instruction>,
) -> Option<(LoadAddr, Register, i64)> {
    None
}

#[cfg(test)]
mod tests {
    use super::super::decode::decode;
    use super::*;

    fn reading(bytes: &[u8]) -> impl FnMut(LoadAddr) -> Option<Instruction> {
        let bytes = bytes.to_vec();
        move |at| {
            let rest = bytes.get(at.0 as usize..).filter(|rest| !rest.is_empty())?;
            decode(rest, at)
        }
    }

    #[test]
    fn register_read_before_written_is_an_argument() {
        // xor esi, esi; mov eax, edi; jmp +2; mov eax, edx (never); movaps xmm1, xmm0; ret
        let code = [
            0x31, 0xf6, 0x89, 0xf8, 0xeb, 0x02, 0x89, 0xd0, 0x0f, 0x28, 0xc8, 0xc3,
        ];
        assert_eq!(arguments_read(LoadAddr(0), reading(&code)), [RDI, XMM0]);
    }

    #[test]
    fn one_path_without_a_write_suffices() {
        // test edi, edi; je +2; xor ecx, ecx; mov eax, ecx; jne -4 (a loop); ret
        let code = [
            0x85, 0xff, 0x74, 0x02, 0x31, 0xc9, 0x89, 0xc8, 0x75, 0xfa, 0xc3,
        ];
        assert_eq!(arguments_read(LoadAddr(0), reading(&code)), [RDI, RCX]);
    }

    #[test]
    fn overwritten_register_is_no_argument() {
        // pxor xmm0, xmm0; cvtsi2sd xmm1, rdi; movss xmm2, xmm1; addsd xmm3, xmm0
        let code = [
            0x66, 0x0f, 0xef, 0xc0, 0xf2, 0x48, 0x0f, 0x2a, 0xcf, 0xf3, 0x0f, 0x10, 0xd1, 0xf2,
            0x0f, 0x58, 0xd8,
        ];
        let xmm3 = Register(XMM0.0 + 3);
        assert_eq!(arguments_read(LoadAddr(0), reading(&code)), [RDI, xmm3]);
    }

    #[test]
    fn call_passes_unread_registers_on() {
        // call +0; mov eax, edi
        let code = [0xe8, 0, 0, 0, 0, 0x89, 0xf8];
        assert_eq!(arguments_read(LoadAddr(0), reading(&code)), []);
    }

    #[test]
    fn a_prologue_keeps_the_first_argument() {
        // push rbp; mov rbp, rsp; sub rsp, 32; mov [rbp-24], rdi
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0x7d, 0xe8,
        ];
        let kept = result_address_store(LoadAddr(0), reading(&code));
        assert_eq!(kept, Some((LoadAddr(8), Register(6), -24)));
        // mov edi, eax comes first.
        let code = [0x89, 0xc7, 0x48, 0x89, 0x7d, 0xe8];
        assert_eq!(result_address_store(LoadAddr(0), reading(&code)), None);
        // mov rax, rdi; mov rdi, [rsp+48]; mov [rsp+56], rax
        let code = [
            0x48, 0x89, 0xf8, 0x48, 0x8b, 0x7c, 0x24, 0x30, 0x48, 0x89, 0x44, 0x24, 0x38,
        ];
        let kept = result_address_store(LoadAddr(0), reading(&code));
        assert_eq!(kept, Some((LoadAddr(8), Register(7), 56)));
    }
}
