//! The origin of a value, as decisions: where its bytes were before an instruction, and which search finds the one
//! that has put them there.
//!
//! The places come from searches in a recording, so registers and memory are known at each. What an instruction
//! copies from memory counts as the origin only if that memory has the value.

use crate::arch::{Arch, Copying, Flow, Held, Holder, Instruction, RegisterFile};
use dwarf::{LoadAddr, Register};

/// A value on its way back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Followed {
    /// Where it is at the shown place.
    pub held: Held,
    /// Its bytes, as many as `held` has.
    pub bytes: Vec<u8>,
}

/// Where a search for what has set a value has led.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrival {
    /// Behind an instruction that has written to its memory; `None`: it is unknown.
    Stored(Option<Instruction>),
    /// To an instruction that may set its register.
    Setter(Instruction),
    /// To the first instruction of the function, which has set the register nowhere before.
    Entry,
}

/// How to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// To the last write to its memory.
    Store,
    /// To the last instruction that may set its register, in the frame.
    InFrame,
    /// The same, in the frame of the caller.
    InCaller,
    /// The same, in the function that is called, from its end on.
    InCallee,
    /// Nowhere: this is the origin.
    End(End),
}

/// Why a value is not followed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The instruction computes it, or has it in its code.
    Computed,
    /// The kernel has returned it.
    SystemCall,
    /// The register does not have it: the program has come there in a way that is not known.
    Lost,
}

/// What was found out at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    /// The value as it was before.
    pub followed: Followed,
    /// The memory that it was copied from.
    pub copied_from: Option<LoadAddr>,
    pub way: Way,
}

impl Followed {
    /// Returns the register that it is in.
    pub fn register(&self) -> Option<Register> {
        match self.held.holder {
            Holder::Register(register, _) => Some(register),
            Holder::Memory(_) => None,
        }
    }

    fn goes(&self, way: Way) -> Found {
        Found {
            followed: self.clone(),
            copied_from: None,
            way,
        }
    }

    /// Decides how to go on from a place with these registers; `read` reads its memory.
    pub fn arrived<R: RegisterFile>(
        &self,
        at: Arrival,
        registers: &R,
        read: impl Fn(LoadAddr, usize) -> Option<Vec<u8>>,
    ) -> Found {
        let mut found = self.decided(at, registers, read);
        let goes_on = matches!(found.way, Way::InFrame | Way::InCaller);
        if goes_on && !found.followed.may_be_in(registers) {
            found.way = Way::End(End::Lost);
        }
        found
    }

    /// Returns whether it may be in its register: those of vectors are not compared.
    fn may_be_in(&self, registers: &impl RegisterFile) -> bool {
        let Holder::Register(register, from) = self.held.holder else {
            return true;
        };
        let Some(word) = registers.get(register) else {
            return true;
        };
        let from = from as usize;
        let bytes = word.to_le_bytes();
        let there = bytes.get(from..from.saturating_add(self.bytes.len()));
        there.is_none_or(|there| there == self.bytes)
    }

    fn decided<R: RegisterFile>(
        &self,
        at: Arrival,
        registers: &R,
        read: impl Fn(LoadAddr, usize) -> Option<Vec<u8>>,
    ) -> Found {
        let copying = match at {
            Arrival::Entry => return self.goes(Way::InCaller),
            Arrival::Stored(None) => Copying::Computed,
            Arrival::Stored(Some(instruction)) => match instruction.stored(self.held, registers) {
                // It is said to have written there.
                Copying::Untouched => Copying::Computed,
                copying => copying,
            },
            Arrival::Setter(instruction) if instruction.is_call() => {
                return self.goes(Way::InCallee);
            }
            Arrival::Setter(instruction) if instruction.flow == Flow::SystemCall => {
                return self.goes(Way::End(End::SystemCall));
            }
            Arrival::Setter(instruction) => instruction.loaded(self.held, registers),
        };
        match copying {
            Copying::Untouched => self.goes(Way::InFrame),
            Copying::Computed => self.goes(Way::End(End::Computed)),
            Copying::Copied { from, at } => self.copied(from, at, read),
        }
    }

    /// The bytes from `at` on, or all up to their extension, were in `from`.
    fn copied(
        &self,
        from: Held,
        at: u64,
        read: impl Fn(LoadAddr, usize) -> Option<Vec<u8>>,
    ) -> Found {
        let (first, size) = (at as usize, from.size as usize);
        let behind = first.saturating_add(size);
        let Some(bytes) = self.bytes.get(first..behind).filter(|it| !it.is_empty()) else {
            return self.goes(Way::End(End::Computed));
        };
        let followed = Followed {
            held: from,
            bytes: bytes.to_vec(),
        };
        match from.holder {
            Holder::Register(..) => Found {
                followed,
                copied_from: None,
                way: Way::InFrame,
            },
            Holder::Memory(addr) => match read(addr, size) {
                Some(there) if there == followed.bytes => Found {
                    followed,
                    copied_from: Some(addr),
                    way: Way::Store,
                },
                _ => self.goes(Way::End(End::Computed)),
            },
        }
    }
}

/// Returns whether a call may set a register.
pub(crate) fn is_set_by_calls(arch: Arch, register: Register) -> bool {
    !arch.machine().callee_saved().contains(&register)
}

/// Returns the instructions of a piece of code that may set a register, and the first instruction that does not
/// decode, where the list ends. `code` returns instructions.
pub(crate) fn setters(
    arch: Arch,
    register: Register,
    start: LoadAddr,
    end: LoadAddr,
    code: impl Fn(LoadAddr) -> Option<Instruction>,
) -> Vec<LoadAddr> {
    /// More instructions are not looked at.
    const MOST: usize = 1 << 16;
    let calls_set = is_set_by_calls(arch, register);
    let mut found = Vec::new();
    let mut at = start;
    for _ in 0..MOST {
        let Some(instruction) = code(at).filter(|_| at < end) else {
            break;
        };
        let sets = match instruction.is_call() {
            true => calls_set,
            false => instruction.sets(register),
        };
        if sets {
            found.push(at);
        }
        at = instruction.next();
    }
    found
}

/// Returns the instruction of a piece of code that ends at `behind`, or is there and repeats.
pub(crate) fn executed_before(
    start: LoadAddr,
    behind: LoadAddr,
    code: impl Fn(LoadAddr) -> Option<Instruction>,
) -> Option<Instruction> {
    /// More instructions are not looked at.
    const MOST: usize = 1 << 16;
    let mut at = start;
    for _ in 0..MOST {
        let instruction = code(at)?;
        if at == behind {
            return instruction.is_repeated().then_some(instruction);
        }
        if at > behind {
            return None;
        }
        if instruction.next() == behind {
            // A string instruction that repeats stops at itself until it has ended.
            let next = code(behind).filter(Instruction::is_repeated);
            return Some(
                next.filter(|_| !instruction.may_store())
                    .unwrap_or(instruction),
            );
        }
        at = instruction.next();
    }
    None
}

#[cfg(test)]
mod tests;
