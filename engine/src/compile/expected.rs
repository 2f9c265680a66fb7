//! Comparison of the program's state with known values.

use super::code::{Address, Base, BoolExpr, Int, Order, Width};
use super::set::{self, Work};
use super::{Condition, NotCompilable, check};
use crate::arch::Arch;
use dwarf::{LoadAddr, Register};

/// A part of the program's state, and the value that it is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// A general-purpose register.
    Register(Register, u64),
    /// Eight bytes of memory, as a number.
    Word(LoadAddr, u64),
}

impl Expected {
    fn truth(self) -> BoolExpr {
        let (part, value) = match self {
            Expected::Register(register, value) => (Int::Register(register, 0, Width::WORD), value),
            Expected::Word(at, value) => {
                let address = Address::of(Base::Zero, at.0 as i64);
                (Int::Load(Box::new(address), Width::WORD), value)
            }
        };
        BoolExpr::compare(Order::Eq, false, part, Int::Constant(value))
    }
}

impl Condition {
    /// Compiles the condition that all parts have their values. They are compared in this order, up to
    /// the first that differs. Memory that cannot be read is a deopt.
    ///
    /// # Errors
    /// There are too many parts, or no code is generated for the instruction set.
    pub(crate) fn of_expected(arch: Arch, parts: &[Expected]) -> Result<Condition, NotCompilable> {
        let truths = parts.iter().rev().map(|part| part.truth());
        let truth = truths.fold(BoolExpr::Constant(true), |rest, part| part.and(rest));
        check(arch, truth.needs())?;
        let uses = set::uses(arch, Work::Condition(&truth))?;
        Ok(Condition { truth, uses })
    }
}
