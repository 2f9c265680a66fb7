//! Memory operands of instructions, and the origin of a register's value.

use super::super::RegisterFile;
use super::super::instruction::{Access, Instruction, Operand, PointerChain};
use super::decode::{dwarf_register, is_call, register_value};
use super::{Decoded, own};
use dwarf::LoadAddr;
use iced_x86::{Code, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the memory operands of an instruction that has not been executed.
pub fn accesses(instruction: &Decoded, registers: &impl RegisterFile) -> Vec<Access> {
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let used = info.used_memory().iter();
    used.filter_map(|used| {
        let at = used.virtual_address(0, |register, _, _| match register {
            Register::FS => registers.get(dwarf::register::x86_64::FS_BASE),
            Register::GS => registers.get(dwarf::register::x86_64::GS_BASE),
            register if register.is_segment_register() => Some(0),
            register => register_value(register, registers),
        })?;
        let has_base = !matches!(used.base(), Register::None | Register::RIP);
        let base = dwarf_register(used.base()).filter(|_| has_base);
        Some(Access {
            at,
            size: used.memory_size().size() as u64,
            write: matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            ),
            base: base.map(|base| (base, used.displacement() as i64)),
            is_plain: used.index() == Register::None,
        })
    })
    .collect()
}

/// Returns the part of a frame that a memory operand is, also that of `lea`.
pub fn part_of_frame(code: &Decoded, base: dwarf::Register) -> Option<(i64, u64)> {
    let has_one = (0..code.op_count()).any(|it| code.op_kind(it) == OpKind::Memory);
    let is_of_frame = has_one && dwarf_register(code.memory_base()) == Some(base);
    let size = code.memory_size().size() as u64;
    is_of_frame.then(|| (code.memory_displacement64() as i64, size.max(1)))
}

/// Returns the divisor of an integer division.
pub fn divisor(instruction: &Decoded, registers: &impl RegisterFile) -> Option<Operand> {
    if !matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv) {
        return None;
    }
    match instruction.op0_kind() {
        OpKind::Register => {
            register_value(instruction.op0_register(), registers).map(Operand::Value)
        }
        OpKind::Memory => {
            let access = accesses(instruction, registers).into_iter().next()?;
            Some(Operand::Memory(LoadAddr(access.at), access.size))
        }
        _ => None,
    }
}

/// Returns the word that the last of these instructions jumps or calls through.
pub fn word_of_jump(code: &[Instruction]) -> Option<LoadAddr> {
    code.last()?.word_of_jump()
}

/// Maximum number of loads; expressions in a source have fewer.
const MAX_POINTERS: usize = 8;

/// Returns the chain of loads for the value of `wanted` after `code`, which is a function from its
/// start up to the pc. `None`: the instructions alone do not determine it.
pub fn pointer_chain(
    wanted: dwarf::Register,
    code: &[Instruction],
    registers: &impl RegisterFile,
) -> Option<PointerChain> {
    let end = code.last()?.next();
    let targets: FxHashSet<LoadAddr> = code.iter().filter_map(Instruction::direct_target).collect();
    let mut ways: FxHashMap<Register, PointerChain> = FxHashMap::default();
    let mut factory = InstructionInfoFactory::new();
    for instruction in code {
        // A branch from elsewhere may bring other values.
        if targets.contains(&instruction.addr) {
            ways.clear();
        }
        let instruction = own(instruction)?;
        let loaded = loaded(instruction, &ways, registers);
        for used in factory.info(instruction).used_registers() {
            if matches!(
                used.access(),
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            ) {
                ways.remove(&used.register().full_register());
            }
        }
        if is_call(instruction) {
            ways.clear();
        }
        ways.extend(loaded);
    }
    if targets.contains(&end) {
        return None;
    }
    let mut ways = ways.into_iter();
    let (_, way) = ways.find(|(register, _)| dwarf_register(*register) == Some(wanted))?;
    Some(way)
}

fn loaded(
    instruction: &Decoded,
    ways: &FxHashMap<Register, PointerChain>,
    registers: &impl RegisterFile,
) -> Option<(Register, PointerChain)> {
    let to = instruction.op0_register();
    match instruction.code() {
        Code::Mov_r64_rm64 | Code::Mov_rm64_r64 if instruction.op1_kind() == OpKind::Register => {
            let from = ways.get(&instruction.op1_register())?;
            (instruction.op0_kind() == OpKind::Register).then(|| (to, from.clone()))
        }
        Code::Mov_r64_rm64 if instruction.memory_index() == Register::None => {
            let displacement = instruction.memory_displacement64();
            let way = match instruction.memory_base() {
                Register::RIP => PointerChain {
                    root: displacement,
                    offsets: Vec::new(),
                },
                base @ (Register::RBP | Register::RSP) if !ways.contains_key(&base) => {
                    PointerChain {
                        root: register_value(base, registers)?.wrapping_add(displacement),
                        offsets: Vec::new(),
                    }
                }
                base => {
                    let mut way = ways.get(&base)?.clone();
                    way.offsets.push(displacement as i64);
                    (way.offsets.len() <= MAX_POINTERS).then_some(way)?
                }
            };
            Some((to, way))
        }
        _ => None,
    }
}
