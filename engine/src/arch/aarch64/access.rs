//! Memory operands of instructions, and the origin of a register's value.

use super::super::RegisterFile;
use super::super::instruction::{Access, Instruction, Operand, PointerChain};
use super::encoding::{Kind, LINK, Unit};
use super::memory::{Base, Direction, Extend, Index, MemoryAccess, WriteBack};
use super::{Decoded, dwarf_register, own};
use dwarf::{LoadAddr, Register};
use rustc_hash::FxHashSet;

impl Decoded {
    /// Returns the address that `adr` or `adrp` computes.
    pub fn address(&self) -> Option<u64> {
        match self.kind {
            Kind::Address { distance, unit, .. } => Some(match unit {
                Unit::Bytes => self.at(distance),
                Unit::Pages => (self.addr & !0xfff).wrapping_add_signed(distance << 12),
            }),
            _ => None,
        }
    }

    /// Returns the address of a memory operand, from a function that returns general registers;
    /// 31 is the stack pointer.
    pub fn operand_address(
        &self,
        access: &MemoryAccess,
        value: impl Fn(u8) -> Option<u64>,
    ) -> Option<u64> {
        let base = match access.base {
            Base::Near(distance) => self.at(distance),
            Base::Register(register) => value(register)?,
        };
        let index = match access.index {
            Some(index) => index_value(index, &value)?,
            None => 0,
        };
        Some(base.wrapping_add_signed(access.offset).wrapping_add(index))
    }
}

fn index_value(index: Index, value: &impl Fn(u8) -> Option<u64>) -> Option<u64> {
    let whole = match index.register {
        31 => 0,
        register => value(register)?,
    };
    let extended = match index.extend {
        Extend::Unsigned32 => whole & 0xffff_ffff,
        Extend::Signed32 => i64::from(whole as i32) as u64,
        Extend::None => whole,
    };
    Some(extended << index.shift)
}

/// Returns the memory operands of an instruction that has not been executed.
pub fn accesses(code: &Decoded, registers: &impl RegisterFile) -> Vec<Access> {
    let Kind::Memory(access) = code.kind else {
        return Vec::new();
    };
    if access.direction == Direction::Nothing {
        return Vec::new();
    }
    let at = code.operand_address(&access, |register| registers.get(dwarf_register(register)));
    let operand = at.map(|at| Access {
        at,
        size: access.bytes,
        write: access.writes(),
        base: match access.base {
            Base::Register(base) => Some((dwarf_register(base), access.offset)),
            Base::Near(_) => None,
        },
        is_plain: access.index.is_none(),
    });
    operand.into_iter().collect()
}

/// Returns the part of a frame that a memory operand is, or whose address an addition computes.
pub fn part_of_frame(code: &Decoded, base: Register) -> Option<(i64, u64)> {
    match code.kind {
        Kind::Memory(access) => match access.base {
            Base::Register(register) if dwarf_register(register) == base => {
                Some((access.offset, access.bytes.max(1)))
            }
            _ => None,
        },
        Kind::AddImmediate { from, value, .. } if dwarf_register(from) == base => Some((value, 1)),
        _ => None,
    }
}

/// Returns the divisor of an integer division. A division by zero does not trap: its result is
/// zero.
pub fn divisor(code: &Decoded, registers: &impl RegisterFile) -> Option<Operand> {
    match code.kind {
        Kind::Divide { divisor: 31, .. } => Some(Operand::Value(0)),
        Kind::Divide { divisor, width } => {
            let value = registers.get(dwarf_register(divisor))?;
            Some(Operand::Value(width.of(value)))
        }
        _ => None,
    }
}

/// Maximum number of loads; expressions in a source have fewer.
const MAX_POINTERS: usize = 8;
/// The number of the frame pointer.
const FRAME: u8 = 29;
/// The number of the stack pointer.
const STACK: u8 = 31;

/// What is known of a register.
#[derive(Clone)]
enum Origin {
    /// An address in the image.
    Address(u64),
    Loaded(PointerChain),
}

/// Returns the chain of loads for the value of `wanted` after `code`, which is a function from its
/// start up to the pc. `None`: the instructions alone do not determine it.
pub fn pointer_chain(
    wanted: Register,
    code: &[Instruction],
    registers: &impl RegisterFile,
) -> Option<PointerChain> {
    let value = |register: u8| registers.get(dwarf_register(register));
    chain(wanted, code, &value)
}

/// Returns the word that the last of these instructions jumps or calls through: `adrp`, `ldr` and
/// `br` of a stub.
pub fn word_of_jump(code: &[Instruction]) -> Option<LoadAddr> {
    let (last, before) = code.split_last()?;
    let Kind::JumpTo { register, .. } = own(last)?.kind else {
        return None;
    };
    let chain = chain(dwarf_register(register), before, &|_| None)?;
    chain.offsets.is_empty().then_some(LoadAddr(chain.root))
}

fn chain(
    wanted: Register,
    code: &[Instruction],
    value: &impl Fn(u8) -> Option<u64>,
) -> Option<PointerChain> {
    let end = code.last()?.next();
    let targets: FxHashSet<_> = code.iter().filter_map(Instruction::direct_target).collect();
    let mut origins: [Option<Origin>; 32] = Default::default();
    for instruction in code {
        // A branch from elsewhere may bring other values.
        if targets.contains(&instruction.addr) {
            origins = Default::default();
        }
        let decoded = own(instruction)?;
        let made = made(decoded, &origins, value);
        let writes = decoded.effects().writes;
        for (register, origin) in origins.iter_mut().enumerate() {
            if writes & 1 << register != 0 || instruction.is_call() {
                *origin = None;
            }
        }
        if let Some((to, origin)) = made
            && let Some(place) = origins.get_mut(usize::from(to))
        {
            *place = Some(origin);
        }
    }
    if targets.contains(&end) {
        return None;
    }
    match origins.get_mut(usize::from(wanted.0))?.take()? {
        Origin::Loaded(chain) => Some(chain),
        Origin::Address(_) => None,
    }
}

/// Returns the register that an instruction writes, if what it writes is known.
fn made(
    code: &Decoded,
    origins: &[Option<Origin>; 32],
    value: &impl Fn(u8) -> Option<u64>,
) -> Option<(u8, Origin)> {
    let origin = |register: u8| origins.get(usize::from(register))?.clone();
    match code.kind {
        Kind::Address { to, .. } if to <= LINK => Some((to, Origin::Address(code.address()?))),
        Kind::AddImmediate {
            to, from, value, ..
        } if to <= LINK => match origin(from)? {
            Origin::Address(addr) => Some((to, Origin::Address(addr.wrapping_add_signed(value)))),
            Origin::Loaded(_) => None,
        },
        Kind::Move { to, from, .. } if to <= LINK => Some((to, origin(from)?)),
        Kind::Memory(access) => {
            let plain = access.plain.filter(|plain| plain.bytes == 8)?;
            let [Some(to), None] = plain.registers else {
                return None;
            };
            let is_simple = access.direction == Direction::Load
                && access.index.is_none()
                && access.write_back.is_none()
                && to <= LINK;
            let root = |root| PointerChain {
                root,
                offsets: Vec::new(),
            };
            let chain = match access.base {
                _ if !is_simple => return None,
                Base::Near(distance) => root(code.at(distance)),
                Base::Register(base) => match (origin(base), base) {
                    (Some(Origin::Address(addr)), _) => {
                        root(addr.wrapping_add_signed(access.offset))
                    }
                    (Some(Origin::Loaded(mut chain)), _) => {
                        chain.offsets.push(access.offset);
                        (chain.offsets.len() <= MAX_POINTERS).then_some(chain)?
                    }
                    (None, FRAME | STACK) => {
                        let base = value(base)?;
                        root(base.wrapping_add_signed(access.offset))
                    }
                    (None, _) => return None,
                },
            };
            Some((to, Origin::Loaded(chain)))
        }
        _ => None,
    }
}

impl WriteBack {
    /// Returns the base register's value after the access.
    pub fn after(self, base: u64, value: impl Fn(u8) -> Option<u64>) -> Option<u64> {
        match self {
            WriteBack::By(by) => Some(base.wrapping_add_signed(by)),
            WriteBack::Register(register) => Some(base.wrapping_add(value(register)?)),
        }
    }
}
