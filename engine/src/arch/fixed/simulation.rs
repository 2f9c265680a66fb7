//! Registers that no instruction changes, besides calls.

use super::super::RegisterFile;
use super::{CALL, CALL_REGISTER, Decoded};
use dwarf::{LoadAddr, Memory, Register};

pub struct Simulation<'a> {
    _memory: &'a dyn Memory,
    known: Vec<Option<u64>>,
}

impl<'a> Simulation<'a> {
    pub fn new(registers: &impl RegisterFile, memory: &'a dyn Memory) -> Self {
        Self {
            _memory: memory,
            known: (0..16).map(|nth| registers.get(Register(nth))).collect(),
        }
    }

    pub fn forget(&mut self) {
        self.known.fill(None);
    }

    pub fn target(&self, code: &Decoded) -> Option<LoadAddr> {
        let register = usize::from(code.register().0);
        self.known.get(register).copied()?.map(LoadAddr)
    }

    pub fn execute(&mut self, code: &Decoded) {
        if matches!(code.opcode(), CALL | CALL_REGISTER) {
            self.forget();
        }
    }
}
