//! Memory operands of instructions, and the origin of a register's value.

use super::RegisterFile;
use super::x86_64::register_value;
use dwarf::LoadAddr;
use iced_x86::{Code, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use rustc_hash::{FxHashMap, FxHashSet};

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Its address before the instruction.
    pub at: u64,
    /// Size in bytes; 0 if it varies.
    pub size: u64,
    /// Whether it is written.
    pub write: bool,
    /// The base register, and the operand's offset from its value.
    pub base: Option<(Register, i64)>,
    /// Whether the address has no index register.
    pub is_plain: bool,
}

/// Returns the memory operands of an instruction that has not been executed.
pub fn accesses(instruction: &Instruction, registers: &impl RegisterFile) -> Vec<Access> {
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
            base: has_base.then(|| (used.base(), used.displacement() as i64)),
            is_plain: used.index() == Register::None,
        })
    })
    .collect()
}

/// Returns the divisor of an integer division.
pub fn divisor(instruction: &Instruction, registers: &impl RegisterFile) -> Option<Operand> {
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

/// The operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Value(u64),
    /// The given number of bytes in memory.
    Memory(LoadAddr, u64),
}

/// A chain of loads that produced a register's value: from `root`, then at an offset from each
/// loaded address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PointerChain {
    /// An address in the frame or in an image.
    pub root: u64,
    /// Offset added to each loaded address.
    pub offsets: Vec<i64>,
}

/// Maximum number of loads; expressions in a source have fewer.
const MAX_POINTERS: usize = 8;

/// Returns the chain of loads for the value of `wanted` after `code`, which is a function from its
/// start up to the pc. `None`: the instructions alone do not determine it.
pub fn way_to(
    wanted: Register,
    code: &[Instruction],
    registers: &impl RegisterFile,
) -> Option<PointerChain> {
    let end = code.last()?.next_ip();
    let targets: FxHashSet<u64> = code
        .iter()
        .filter(|instruction| instruction.op0_kind() == OpKind::NearBranch64)
        .map(Instruction::near_branch64)
        .collect();
    let mut ways: FxHashMap<Register, PointerChain> = FxHashMap::default();
    let mut factory = InstructionInfoFactory::new();
    for instruction in code {
        // A branch from elsewhere may bring other values.
        if targets.contains(&instruction.ip()) {
            ways.clear();
        }
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
        if super::x86_64::is_call(instruction) {
            ways.clear();
        }
        ways.extend(loaded);
    }
    if targets.contains(&end) {
        return None;
    }
    ways.remove(&wanted.full_register())
}

fn loaded(
    instruction: &Instruction,
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
