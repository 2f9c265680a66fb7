//! Pure unwinding: from a frame's registers, memory and modules to the caller's registers.

mod heuristic;
mod instruction_starts;
mod landing_pads;
mod saved;

use crate::cfi::{CfaRule, RegisterRule, Rule};
use crate::ids::addr::{FileAddr, LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::ids::register::{Register, Registers};
use crate::locations::evaluate::evaluate_cfi;
use crate::module::Module;
use gimli::UnwindContext;
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub use saved::KeptRegister;

/// The modules of a process.
pub trait ModuleMap {
    /// Returns the module that covers `addr`, and its load bias.
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)>;

    /// For code without call frame information: returns candidate unwind rules inferred from the
    /// instructions around `addr`, most likely first. `is_return`: `addr` is a return address. The
    /// default implementation knows no instruction set and returns none.
    fn heuristic_unwinds(
        &self,
        _module: &Module,
        _addr: FileAddr,
        _is_return: bool,
    ) -> Vec<HeuristicUnwind> {
        Vec::new()
    }
}

/// A stack address, as an offset from the current value of a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterOffset {
    /// The stack pointer or frame pointer.
    pub register: Register,
    /// Offset in bytes.
    pub offset: i64,
}

/// The canonical frame address of a heuristic rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CfaLocation {
    /// The address itself.
    At(RegisterOffset),
    /// Saved in a word there, as the function aligned its stack.
    SavedAt(RegisterOffset),
}

/// Where a heuristic rule finds the return address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReturnAddress {
    /// In the word below the canonical frame address, where a call has pushed it.
    BelowCfa,
    /// In a word there, where the function has saved it.
    SavedAt(RegisterOffset),
    /// In a register, where the call has written it.
    In(Register),
}

/// A heuristic unwind rule, inferred from instructions.
#[derive(Clone, Debug)]
pub struct HeuristicUnwind {
    /// The canonical frame address.
    pub cfa: CfaLocation,
    /// Where the return address is.
    pub return_address: ReturnAddress,
    /// Where the caller's registers are saved.
    pub saved: Vec<(Register, RegisterOffset)>,
}

/// The address of a frame: the pc, or a return address. For a return address the instruction to
/// look up is the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameAddress {
    /// The pc (innermost frame, or interrupted by a signal).
    Pc(LoadAddr),
    /// The address that a call returns to.
    ReturnAddress(LoadAddr),
}

impl FrameAddress {
    /// Returns the address.
    pub fn addr(self) -> LoadAddr {
        match self {
            FrameAddress::Pc(addr) | FrameAddress::ReturnAddress(addr) => addr,
        }
    }

    /// Returns the address to look up in line tables and location lists.
    pub fn lookup(self) -> LoadAddr {
        match self {
            FrameAddress::Pc(addr) => addr,
            FrameAddress::ReturnAddress(addr) => addr - 1,
        }
    }
}

/// The result of unwinding a frame.
#[derive(Clone, Debug)]
pub struct Unwound {
    /// The canonical frame address of the frame.
    pub cfa: LoadAddr,
    /// The caller's address and registers; `None` at the outermost frame.
    pub caller: Option<(FrameAddress, Registers)>,
    /// The word that has the return address; `None` if it is in a register, or unknown.
    pub saved_at: Option<LoadAddr>,
    /// Whether the frame is a signal trampoline.
    pub signal_frame: bool,
    /// Whether call frame information was used; otherwise instructions or the frame pointer.
    pub from_cfi: bool,
}

/// Unwinds frames and caches unwind rules.
#[derive(Default)]
pub struct Unwinder {
    /// By module and address in it; `None` without call frame information.
    rules: FxHashMap<(u64, u64), Option<Arc<Rule>>>,
    /// Heuristic rules for code without call frame information.
    heuristics: FxHashMap<(u64, u64, bool), Arc<[HeuristicUnwind]>>,
    context: UnwindContext<usize>,
}

/// Maximum number of cached rules; the cache is cleared beyond it. No stack needs so many.
const MAX_RULES: usize = 1 << 16;

impl Unwinder {
    /// Returns an unwinder with an empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// Clears the cache. Call it when a module is unloaded or replaced.
    pub fn clear(&mut self) {
        self.rules.clear();
        self.heuristics.clear();
    }

    /// Unwinds the frame at `address` with `registers`. Returns its caller.
    ///
    /// # Errors
    /// The stack cannot be read, or there is no unwind rule for the frame.
    pub fn unwind(
        &mut self,
        modules: &dyn ModuleMap,
        memory: &dyn Memory,
        address: FrameAddress,
        registers: &Registers,
    ) -> Result<Unwound, Error> {
        let lookup = address.lookup();
        let Some((module, bias)) = modules.module_at(lookup) else {
            return heuristic::without_module(modules, memory, address, registers);
        };
        let rule = match self.rule(module, bias.file(lookup).0) {
            Ok(rule) => rule,
            Err(error) => {
                // Corrupt unwind rules are treated like missing ones.
                tracing::debug!(%lookup, %error, "corrupt call frame information");
                None
            }
        };
        let innermost = matches!(address, FrameAddress::Pc(_));
        if let Some(rule) = rule.as_ref().filter(|rule| !rule.at_calls || !innermost) {
            return apply(rule, bias, memory, address, registers);
        }
        let heuristics = self.heuristics(modules, module, bias.file(address.addr()), !innermost);
        let frame = heuristic::Frame {
            modules,
            memory,
            address,
            registers,
        };
        // Where a frame is made or removed, which may be anywhere in the function, a rule for calls
        // takes the caller's frame for that of the function. Only the instructions tell.
        match rule {
            Some(rule) => match heuristic::outside_body(&frame, module, bias, &heuristics)? {
                Some(unwound) => Ok(unwound),
                None => apply(&rule, bias, memory, address, registers),
            },
            None => heuristic::without_rules(&frame, module, bias, &heuristics),
        }
    }

    /// Returns the canonical frame address of the frame at `address`, and unwinds to its caller
    /// only if that is needed.
    ///
    /// # Errors
    /// Those of [`Unwinder::unwind`].
    pub fn cfa(
        &mut self,
        modules: &dyn ModuleMap,
        memory: &dyn Memory,
        address: FrameAddress,
        registers: &Registers,
    ) -> Result<LoadAddr, Error> {
        if let Some((module, bias)) = modules.module_at(address.lookup())
            && let Ok(Some(rule)) = self.rule(module, bias.file(address.lookup()).0)
            && (!rule.at_calls || matches!(address, FrameAddress::ReturnAddress(_)))
            && let CfaRule::Offset(register, offset) = &rule.cfa
        {
            let from = known(registers, *register)?;
            return Ok(LoadAddr(from.wrapping_add(*offset as u64)));
        }
        let unwound = self.unwind(modules, memory, address, registers)?;
        Ok(unwound.cfa)
    }

    /// Returns the register, and the offset from it, that the canonical frame address is at an address;
    /// `None` if it is not a fixed distance from a register, or there is no rule.
    pub fn cfa_register(
        &mut self,
        modules: &dyn ModuleMap,
        address: FrameAddress,
    ) -> Option<(Register, i64)> {
        let (module, bias) = modules.module_at(address.lookup())?;
        let rule = self.rule(module, bias.file(address.lookup()).0).ok()??;
        if rule.at_calls && matches!(address, FrameAddress::Pc(_)) {
            return None;
        }
        match &rule.cfa {
            CfaRule::Offset(register, offset) => Some((*register, *offset)),
            _ => None,
        }
    }

    fn heuristics(
        &mut self,
        modules: &dyn ModuleMap,
        module: &Module,
        addr: FileAddr,
        is_return: bool,
    ) -> Arc<[HeuristicUnwind]> {
        if self.heuristics.len() >= MAX_RULES {
            self.heuristics.clear();
        }
        let heuristics = self.heuristics.entry((module.identity, addr.0, is_return));
        heuristics
            .or_insert_with(|| modules.heuristic_unwinds(module, addr, is_return).into())
            .clone()
    }

    fn rule(&mut self, module: &Module, addr: u64) -> Result<Option<Arc<Rule>>, Error> {
        let key = (module.identity, addr);
        if let Some(rule) = self.rules.get(&key) {
            return Ok(rule.clone());
        }
        let rule = module.unwind_rule(addr, &mut self.context)?.map(Arc::new);
        if self.rules.len() >= MAX_RULES {
            self.rules.clear();
        }
        self.rules.insert(key, rule.clone());
        Ok(rule)
    }
}

/// Returns the caller's registers before any rule is applied: those that calls preserve, and those
/// of the thread.
pub(crate) fn preserved(registers: &Registers) -> Registers {
    let machine = registers.machine();
    let mut caller = Registers::new(machine);
    let of_thread = machine.facts().of_thread;
    for register in machine.callee_saved().iter().chain(of_thread) {
        if let Some(value) = registers.get(*register) {
            caller.set(*register, value);
        }
    }
    caller
}

fn known(registers: &Registers, register: Register) -> Result<u64, Error> {
    registers
        .get(register)
        .ok_or_else(|| Error::RegisterUnavailable(registers.machine().register_name(register)))
}

fn apply(
    rule: &Rule,
    bias: LoadBias,
    memory: &dyn Memory,
    address: FrameAddress,
    registers: &Registers,
) -> Result<Unwound, Error> {
    let cfa = match &rule.cfa {
        CfaRule::Offset(register, offset) => {
            known(registers, *register)?.wrapping_add(*offset as u64)
        }
        CfaRule::Expression(expression) => {
            evaluate_cfi(*expression, rule.encoding, None, registers, memory, bias)?
        }
    };
    let machine = registers.machine();
    let of_return_address = |(register, _): &&(Register, _)| *register == rule.return_address;
    let ruled = rule.registers.iter().find(of_return_address);
    // On a machine with a link register, a leaf function does not save it.
    let outermost = match ruled {
        Some((_, how)) => matches!(how, RegisterRule::Undefined),
        None => machine.facts().link.is_none(),
    };
    // Frames lie below their callers, unless a signal switched stacks. This check also stops loops
    // in a corrupt stack. With a link register the outermost frame may be empty.
    if matches!(address, FrameAddress::ReturnAddress(_))
        && !outermost
        && !rule.signal_frame
        && registers.sp().is_some_and(|sp| cfa <= sp)
    {
        return Err(Error::Corrupt(format!(
            "the stack does not grow at {}: the frame's end {cfa:#x} is not above {:#x}",
            address.addr(),
            registers.sp().unwrap_or(0)
        )));
    }
    let mut caller = preserved(registers);
    caller.set_sp(cfa);
    let (mut return_address, mut saved_at) = (None, None);
    for (register, how) in &rule.registers {
        let saved = |addr: u64| memory.read_uint(LoadAddr(addr), 8);
        let evaluate = |expression| {
            evaluate_cfi(
                expression,
                rule.encoding,
                Some(cfa),
                registers,
                memory,
                bias,
            )
        };
        let place = match how {
            RegisterRule::Offset(offset) => Some(cfa.wrapping_add(*offset as u64)),
            RegisterRule::Expression(expression) => Some(evaluate(*expression)?),
            _ => None,
        };
        let value = match how {
            RegisterRule::Offset(_) | RegisterRule::Expression(_) => {
                place.map(saved).transpose()?
            }
            RegisterRule::Undefined => None,
            RegisterRule::Same => registers.get(*register),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add(*offset as u64)),
            RegisterRule::Register(other) => registers.get(*other),
            RegisterRule::ValExpression(expression) => Some(evaluate(*expression)?),
            RegisterRule::Constant(value) => Some(*value),
        };
        if *register == rule.return_address {
            (return_address, saved_at) = (value, place);
        }
        match value {
            Some(value) => caller.set(*register, value),
            None => caller.clear(*register),
        }
    }
    if ruled.is_none() {
        return_address = registers.get(rule.return_address);
    }
    // glibc's code that binds functions lazily on aarch64 finds the return address where the stub has
    // saved it, and says so, but not that this moved the stack pointer by a pair of words.
    let mut cfa = cfa;
    if let Some(at) = saved_at.filter(|at| machine.facts().link.is_some() && *at >= cfa) {
        cfa = at.wrapping_add(16) & !15;
        caller.set_sp(cfa);
    }
    let mut unwound = Unwound {
        cfa: LoadAddr(cfa),
        caller: None,
        saved_at: saved_at.map(LoadAddr),
        signal_frame: rule.signal_frame,
        from_cfi: true,
    };
    if outermost {
        return Ok(unwound);
    }
    let pc = return_address
        .ok_or_else(|| Error::RegisterUnavailable(machine.register_name(rule.return_address)))?;
    let pc = registers.return_address(pc);
    if pc == 0 {
        return Ok(unwound);
    }
    caller.set_pc(pc);
    let pc = LoadAddr(pc);
    unwound.caller = Some((
        if rule.signal_frame {
            FrameAddress::Pc(pc)
        } else {
            FrameAddress::ReturnAddress(pc)
        },
        caller,
    ));
    Ok(unwound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::machine::Machine;
    use crate::ids::register::aarch64::{SP, X30};
    use crate::locations::NoMemory;
    use smallvec::smallvec;

    fn unwound(return_address: RegisterRule) -> Result<Unwound, Error> {
        unwound_in(&NoMemory, return_address)
    }

    fn unwound_in(memory: &dyn Memory, return_address: RegisterRule) -> Result<Unwound, Error> {
        let rule = Rule {
            cfa: CfaRule::Offset(SP, 0),
            registers: smallvec![(X30, return_address)],
            return_address: X30,
            signal_frame: false,
            at_calls: false,
            encoding: gimli::Encoding {
                address_size: 8,
                format: gimli::Format::Dwarf32,
                version: 4,
            },
        };
        let mut registers = Registers::new(Machine::Aarch64);
        registers.set(SP, 0x7000);
        registers.set(X30, 0x100);
        let address = match rule.registers[0].1 {
            RegisterRule::Offset(_) => FrameAddress::Pc(LoadAddr(0x100)),
            _ => FrameAddress::ReturnAddress(LoadAddr(0x100)),
        };
        apply(&rule, LoadBias(0), memory, address, &registers)
    }

    /// As in glibc's `_dl_runtime_resolve`.
    #[test]
    fn a_return_address_above_the_cfa_is_below_that_of_the_caller() {
        struct Saved;
        impl Memory for Saved {
            fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), crate::Unreadable> {
                assert_eq!(addr, LoadAddr(0x7008));
                buffer.copy_from_slice(&0x200_u64.to_le_bytes());
                Ok(())
            }
        }
        let unwound = unwound_in(&Saved, RegisterRule::Offset(8)).unwrap();
        assert_eq!(unwound.saved_at, Some(LoadAddr(0x7008)));
        let (caller, registers) = unwound.caller.unwrap();
        assert_eq!(caller.addr(), LoadAddr(0x200));
        assert_eq!(registers.sp(), Some(0x7010));
    }

    #[test]
    fn the_outermost_frame_may_be_empty() {
        assert!(unwound(RegisterRule::Undefined).unwrap().caller.is_none());
        // A frame that has called a function has saved its return address.
        assert!(unwound(RegisterRule::Same).is_err());
    }
}
