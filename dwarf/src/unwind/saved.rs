//! The places that keep the registers of a frame's caller while the frame's function runs.

use super::{FrameAddress, ModuleMap, Unwinder};
use crate::cfi::RegisterRule;
use crate::ids::addr::LoadAddr;
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::ids::register::{Register, Registers};
use crate::locations::evaluate::evaluate_cfi;

/// The place that keeps the value of a caller's register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeptRegister {
    /// In a word of memory, from which the function restores it.
    Memory(LoadAddr),
    /// In a register of the frame.
    Register(Register),
    /// Nowhere, or unknown.
    Nowhere,
}

impl Unwinder {
    /// Returns where a register of the caller of the frame at `address` is kept, by call frame information.
    ///
    /// # Errors
    /// The call frame information is corrupt, or needs memory that cannot be read.
    pub fn kept_register(
        &mut self,
        modules: &dyn ModuleMap,
        memory: &dyn Memory,
        (address, registers): (FrameAddress, &Registers),
        register: Register,
    ) -> Result<KeptRegister, Error> {
        let Some((module, bias)) = modules.module_at(address.lookup()) else {
            return Ok(KeptRegister::Nowhere);
        };
        let rule = self.rule(module, bias.file(address.lookup()).0)?;
        let is_return = matches!(address, FrameAddress::ReturnAddress(_));
        let Some(rule) = rule.filter(|rule| !rule.at_calls || is_return) else {
            return Ok(KeptRegister::Nowhere);
        };
        let cfa = self.cfa(modules, memory, address, registers)?.0;
        let how = rule.registers.iter().find(|(it, _)| *it == register);
        Ok(match how.map(|(_, how)| how) {
            Some(RegisterRule::Offset(offset)) => {
                KeptRegister::Memory(LoadAddr(cfa.wrapping_add(offset.cast_unsigned())))
            }
            Some(RegisterRule::Expression(expression)) => {
                let (encoding, first) = (rule.encoding, Some(cfa));
                let at = evaluate_cfi(*expression, encoding, first, registers, memory, bias)?;
                KeptRegister::Memory(LoadAddr(at))
            }
            Some(RegisterRule::Register(other)) => KeptRegister::Register(*other),
            Some(RegisterRule::Same) => KeptRegister::Register(register),
            // By the calling convention, unless the function says otherwise.
            None if registers.machine().callee_saved().contains(&register) => {
                KeptRegister::Register(register)
            }
            _ => KeptRegister::Nowhere,
        })
    }
}
