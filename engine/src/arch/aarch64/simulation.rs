//! Predicts the targets of calls through registers: simulates the moves, loads and additions before
//! them on a copy of the registers. Whatever is not simulated makes its result unknown.

use super::super::RegisterFile;
use super::encoding::{Kind, LINK, Transfer, signature};
use super::memory::{Base, Direction, MemoryAccess};
use super::relocate::authenticates;
use super::{Decoded, END_OF_USER_SPACE, dwarf_register};
use dwarf::register::aarch64::SIGNATURE_MASK;
use dwarf::{LoadAddr, Memory};

/// The known general registers; the last one is the stack pointer.
pub struct Simulation<'a> {
    memory: &'a dyn Memory,
    known: [Option<u64>; 32],
    /// The bits of an address; others may be a signature.
    address: u64,
}

const STACK: usize = 31;
/// Callee-saved registers are x19 to x29 (AAPCS64, §6.1.1).
const FIRST_KEPT: usize = 19;
const FRAME: usize = 29;

impl<'a> Simulation<'a> {
    /// Starts with a thread's registers.
    pub fn new(registers: &impl RegisterFile, memory: &'a dyn Memory) -> Self {
        let known = std::array::from_fn(|nth| registers.get(dwarf_register(nth as u8)));
        let signature = registers.get(SIGNATURE_MASK).filter(|mask| *mask != 0);
        let address = match signature {
            Some(mask) => (1 << mask.trailing_zeros()) - 1,
            None => END_OF_USER_SPACE - 1,
        };
        Self {
            memory,
            known,
            address,
        }
    }

    /// Drops the values computed on another path, but keeps the stack and frame pointers: functions
    /// do not use those as variables.
    pub fn forget(&mut self) {
        for (nth, value) in self.known.iter_mut().enumerate() {
            if nth != STACK && nth != FRAME {
                *value = None;
            }
        }
    }

    /// Returns the target of a call through a register.
    pub fn target(&self, code: &Decoded) -> Option<LoadAddr> {
        match code.kind {
            Kind::JumpTo { register, .. } => {
                let target = self.value(register)?;
                // Its signature fits, or the jump faults.
                let is_signed = authenticates(code.word);
                let target = if is_signed {
                    target & self.address
                } else {
                    target
                };
                Some(LoadAddr(target))
            }
            _ => None,
        }
    }

    /// Returns a register's value; 31 is zero.
    fn value(&self, register: u8) -> Option<u64> {
        match register {
            31 => Some(0),
            register => self.base(register),
        }
    }

    /// Returns a register's value; 31 is the stack pointer.
    fn base(&self, register: u8) -> Option<u64> {
        *self.known.get(usize::from(register))?
    }

    /// Simulates an instruction's effect on the registers.
    pub fn execute(&mut self, code: &Decoded) {
        let is_call = matches!(
            code.kind,
            Kind::Jump { links: true, .. }
                | Kind::JumpTo {
                    transfer: Transfer::Call,
                    ..
                }
        );
        if is_call {
            for (nth, value) in self.known.iter_mut().enumerate() {
                if !(FIRST_KEPT..=FRAME).contains(&nth) && nth != STACK {
                    *value = None;
                }
            }
            return;
        }
        let results = self.results(code);
        let writes = code.effects().writes;
        for (nth, value) in self.known.iter_mut().enumerate() {
            if writes & 1 << nth != 0 {
                *value = None;
            }
        }
        for (register, value) in results.into_iter().flatten() {
            if let Some(known) = self.known.get_mut(usize::from(register)) {
                *known = value;
            }
        }
    }

    /// Returns the registers that an instruction writes, with their new values: two at most, and a
    /// base register. The zero register is not among them.
    fn results(&self, code: &Decoded) -> [Option<(u8, Option<u64>)>; 3] {
        let one = |to: u8, value: Option<u64>| [(to <= LINK).then_some((to, value)), None, None];
        match code.kind {
            Kind::Address { to, .. } => one(to, code.address()),
            Kind::Move { to, from, width } => one(to, self.value(from).map(|it| width.of(it))),
            Kind::MoveImmediate { to, value } => one(to, Some(value)),
            Kind::MoveSome { to, value, shift } => {
                let old = self.value(to);
                one(to, old.map(|old| old & !(0xffff << shift) | value))
            }
            Kind::AddImmediate {
                to,
                from,
                value,
                width,
                sets_flags,
            } => {
                let sum = self
                    .base(from)
                    .map(|it| width.of(it.wrapping_add_signed(value)));
                match to {
                    31 if sets_flags => [None; 3],
                    to => [Some((to, sum)), None, None],
                }
            }
            Kind::AddRegister {
                to,
                from,
                other,
                shift,
                subtracts,
                width,
            } => {
                let sum = || {
                    let (from, other) = (self.value(from)?, self.value(other)? << shift);
                    Some(width.of(match subtracts {
                        true => from.wrapping_sub(other),
                        false => from.wrapping_add(other),
                    }))
                };
                one(to, sum())
            }
            Kind::Memory(access) => self.loaded(code, &access),
            kind => match signature(code.word, &kind) {
                Some(it) if it.is_removed => one(
                    it.register,
                    self.value(it.register).map(|it| it & self.address),
                ),
                _ => [None; 3],
            },
        }
    }

    fn loaded(&self, code: &Decoded, access: &MemoryAccess) -> [Option<(u8, Option<u64>)>; 3] {
        let mut results = [None; 3];
        let at = code.operand_address(access, |register| self.base(register));
        if let (Some(plain), Direction::Load) = (access.plain, access.direction) {
            for (nth, (to, result)) in (0..).zip(plain.registers.iter().zip(&mut results)) {
                let read = || {
                    let at = LoadAddr(at?.wrapping_add(nth * plain.bytes));
                    let whole = !plain.is_signed && plain.bytes >= 4;
                    whole.then(|| self.memory.read_uint(at, plain.bytes as usize).ok())?
                };
                let to = to.filter(|to| *to <= LINK);
                *result = to.map(|to| (to, read()));
            }
        }
        if let (Base::Register(base), Some(write_back)) = (access.base, access.write_back) {
            let after = || write_back.after(self.base(base)?, |register| self.value(register));
            results[2] = Some((base, after()));
        }
        results
    }
}
