//! The registers of a caller: the functions that it has called keep them, in words of their frames from which they
//! restore them, or untouched in the processor's registers.

use super::FrameScope;
use crate::expr::messages;
use crate::ids::error::Error;
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::{RegisterPlace, Target};
use dwarf::{KeptRegister, LoadAddr, Memory, Unwinder};

/// The place that keeps a register of a caller.
enum Kept {
    /// In a word of memory.
    Memory(LoadAddr),
    /// In a register of the innermost frame.
    Register(RegisterPlace),
}

impl FrameScope<'_> {
    /// Writes a register of a caller where it is kept. Returns a write to a register of the innermost frame if it
    /// is there.
    ///
    /// # Errors
    /// It is not known where it is kept; the memory cannot be written.
    pub(super) fn write_kept(
        &mut self,
        place: RegisterPlace,
        bytes: &[u8],
    ) -> Result<Option<(RegisterPlace, Vec<u8>)>, Error> {
        let unknown = || Error::Unsupported(messages::CALLER_REGISTER.into());
        let frame = self.frame.filter(|frame| frame.index == place.level);
        let frame = frame.ok_or_else(unknown)?;
        let old = self.seen_registers(frame).get(place.register);
        let old = old.filter(|_| bytes.len() <= 8).ok_or_else(unknown)?;
        match self.kept(place, old).ok_or_else(unknown)? {
            Kept::Memory(addr) => {
                let value = register_parts::written(old, bytes);
                self.write_memory(addr, &value.to_le_bytes())?;
                Ok(None)
            }
            Kept::Register(place) => Ok(Some((place, bytes.to_vec()))),
        }
    }

    /// Finds where a register of a caller with this value is kept, from the caller inwards.
    fn kept(&self, place: RegisterPlace, value: u64) -> Option<Kept> {
        let frame = self.frame?;
        let machine = frame.physical.registers.machine();
        // Changing these would lead the program, or the stack, astray.
        if [machine.pc(), machine.sp()].contains(&place.register) {
            return None;
        }
        let mut register = place.register;
        for callee in frame.callees.iter().rev() {
            if callee.is_tail_call {
                continue;
            }
            // The call returns to where the console made it.
            if callee.is_console_call || !callee.by_rules {
                return None;
            }
            let at = (callee.address, &callee.registers);
            let find =
                |it: &mut Unwinder| it.kept_register(self.modules, &self.memory, at, register);
            match self.unwinder.with(self.modules, find).ok()? {
                KeptRegister::Memory(addr) => {
                    let there = self.memory.read_uint(addr, 8).ok()?;
                    return (there == value).then_some(Kept::Memory(addr));
                }
                KeptRegister::Register(other) => register = other,
                KeptRegister::Nowhere => return None,
            }
        }
        let innermost = &frame.callees.first()?.registers;
        let place = RegisterPlace {
            level: 0,
            register,
            ..place
        };
        (innermost.get(register) == Some(value)).then_some(Kept::Register(place))
    }
}
