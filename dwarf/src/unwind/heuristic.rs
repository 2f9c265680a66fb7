//! Heuristic unwinding for code without call frame information.

use crate::ids::addr::{FileAddr, LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::machine::{CodePatterns, Prologue};
use crate::ids::memory::Memory;
use crate::ids::register::Registers;
use crate::module::Module;
use crate::unwind::{
    CfaLocation, FrameAddress, HeuristicUnwind, ModuleMap, RegisterOffset, ReturnAddress, Unwound,
    preserved,
};

/// Unwinds code outside all modules: a call through a bad pointer, or generated code.
pub(crate) fn without_module(
    modules: &dyn ModuleMap,
    memory: &dyn Memory,
    address: FrameAddress,
    registers: &Registers,
) -> Result<Unwound, Error> {
    // After a call through a bad pointer nothing has run, so the return address is still where the
    // call wrote it.
    if let FrameAddress::Pc(_) = address
        && let Some((caller, back)) = caller_at_entry(memory, registers)?
        && is_code(modules, back)
    {
        return Ok(caller);
    }
    frame_pointer(modules, memory, address, registers)
}

/// A frame to unwind, with the modules and the memory of its process.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'a> {
    pub(crate) modules: &'a dyn ModuleMap,
    pub(crate) memory: &'a dyn Memory,
    pub(crate) address: FrameAddress,
    pub(crate) registers: &'a Registers,
}

/// Unwinds a frame of `module` without call frame information: tries `rules`,
/// then the function's entry and prologue, then the frame pointer.
pub(crate) fn without_rules(
    frame: &Frame<'_>,
    module: &Module,
    bias: LoadBias,
    rules: &[HeuristicUnwind],
) -> Result<Unwound, Error> {
    let Frame {
        modules,
        memory,
        address,
        registers,
    } = *frame;
    if let Some(frame) = signal_frame(memory, address, registers)? {
        return Ok(frame);
    }
    if let Some(caller) = outside_body(frame, module, bias, rules)? {
        return Ok(caller);
    }
    // The function may have no frame, or without a symbol, this may be its entry. An address after a
    // call is then taken for the return address. In a link register it may be that of a call which
    // the function has made itself.
    if let FrameAddress::Pc(pc) = address
        && registers.machine().facts().link.is_none()
        && prologue(module, bias.file(pc)) == Prologue::Body
        && let Some((caller, back)) = caller_at_entry(memory, registers)?
        && is_behind_call(frame, back)
    {
        return Ok(caller);
    }
    frame_pointer(modules, memory, address, registers)
}

/// Unwinds a frame where the instructions show how: tries `rules`, then the function's entry and
/// prologue. Returns `None` elsewhere.
pub(crate) fn outside_body(
    frame: &Frame<'_>,
    module: &Module,
    bias: LoadBias,
    rules: &[HeuristicUnwind],
) -> Result<Option<Unwound>, Error> {
    if let Some(caller) = rules.iter().find_map(|rule| by_instructions(frame, rule)) {
        return Ok(Some(caller));
    }
    let FrameAddress::Pc(pc) = frame.address else {
        return Ok(None);
    };
    match prologue(module, bias.file(pc)) {
        // At a program's first instruction, the top of the stack is the number of its arguments,
        // not a return address.
        Prologue::Entry => {
            let caller = caller_at_entry(frame.memory, frame.registers)?;
            let caller = caller.filter(|(_, back)| is_code(frame.modules, *back));
            Ok(caller.map(|(caller, _)| caller))
        }
        Prologue::Pushed => pushed_frame_pointer(frame.memory, frame.registers).map(Some),
        Prologue::Body => Ok(None),
    }
}

fn is_code(modules: &dyn ModuleMap, pc: LoadAddr) -> bool {
    modules.module_at(pc - 1).is_some_and(|(module, bias)| {
        let addr = bias.file(pc - 1);
        module
            .segments()
            .iter()
            .any(|segment| segment.executable && segment.range.contains(addr))
    })
}

/// Unwinds by a rule inferred from instructions. Returns `None` unless it leads to an address after
/// a call, or to the code that returns from a signal.
fn by_instructions(frame: &Frame<'_>, rule: &HeuristicUnwind) -> Option<Unwound> {
    let at = |place: RegisterOffset| {
        let base = frame.registers.get(place.register)?;
        Some(base.wrapping_add_signed(place.offset))
    };
    let word = |addr: u64| frame.memory.read_uint(LoadAddr(addr), 8).ok();
    let cfa = match rule.cfa {
        CfaLocation::At(place) => at(place)?,
        CfaLocation::SavedAt(place) => word(at(place)?)?,
    };
    let saved_at = match rule.return_address {
        ReturnAddress::BelowCfa => Some(cfa.wrapping_sub(8)),
        ReturnAddress::SavedAt(place) => Some(at(place)?),
        ReturnAddress::In(_) => None,
    };
    let back = match (saved_at, rule.return_address) {
        (Some(at), _) => word(at)?,
        (None, ReturnAddress::In(register)) => frame.registers.get(register)?,
        (None, _) => return None,
    };
    // A function that keeps it in a register may have no frame.
    let has_frame = !matches!(rule.return_address, ReturnAddress::In(_));
    let sp = frame.registers.sp()?;
    if cfa < sp || has_frame && cfa == sp {
        return None;
    }
    let machine = frame.registers.machine();
    let pc = frame.registers.return_address(back);
    // The return address of a signal handler is the code that returns from the signal, which no
    // call precedes.
    let code = machine.facts().code.as_ref()?;
    if !is_behind_call(frame, LoadAddr(pc)) && !is_signal_return(code, frame.memory, LoadAddr(pc)) {
        return None;
    }
    let mut unwound = step(frame.registers, cfa, (pc, saved_at), None);
    if let Some((_, caller)) = &mut unwound.caller {
        for (register, place) in &rule.saved {
            match at(*place).and_then(word) {
                Some(value) => caller.set(*register, value),
                None => caller.clear(*register),
            }
        }
    }
    Some(unwound)
}

/// Returns whether the instruction before `pc` is a call.
fn is_behind_call(frame: &Frame<'_>, pc: LoadAddr) -> bool {
    let Some(code) = &frame.registers.machine().facts().code else {
        return false;
    };
    let Some((module, bias)) = frame.modules.module_at(pc - 1) else {
        return false;
    };
    let mut bytes = [0; 7];
    is_code(frame.modules, pc)
        && module.read_image(bias.file(pc - 7), &mut bytes).is_some()
        && (code.ends_with_call)(&bytes)
}

/// Returns the caller at a return address, and where that is saved.
fn step(
    registers: &Registers,
    cfa: u64,
    (pc, saved_at): (u64, Option<u64>),
    frame_pointer: Option<u64>,
) -> Unwound {
    let mut caller = preserved(registers);
    caller.set_sp(cfa);
    caller.set_pc(pc);
    if let Some(value) = frame_pointer {
        caller.set(registers.machine().frame_pointer(), value);
    }
    Unwound {
        cfa: LoadAddr(cfa),
        caller: (pc != 0).then_some((FrameAddress::ReturnAddress(LoadAddr(pc)), caller)),
        saved_at: saved_at.map(LoadAddr),
        signal_frame: false,
        from_cfi: false,
    }
}

/// Unwinds a function at its first instruction, where the return address is on top of the stack or
/// in the link register. Returns it, too; `None` if it is unknown or 0.
fn caller_at_entry(
    memory: &dyn Memory,
    registers: &Registers,
) -> Result<Option<(Unwound, LoadAddr)>, Error> {
    let Some(sp) = registers.sp() else {
        return Ok(None);
    };
    let machine = registers.machine();
    let (cfa, saved, at) = match machine.facts().link {
        Some(link) => (sp, registers.get(link), None),
        None => {
            let top = memory.read_uint(LoadAddr(sp), 8)?;
            (sp.wrapping_add(8), Some(top), Some(sp))
        }
    };
    let back = saved.map(|saved| registers.return_address(saved));
    let back = back.filter(|back| *back != 0);
    Ok(back.map(|back| (step(registers, cfa, (back, at), None), LoadAddr(back))))
}

/// Unwinds where the frame pointer is pushed and not set yet: it is on top of the stack, and the
/// return address in the word above it.
fn pushed_frame_pointer(memory: &dyn Memory, registers: &Registers) -> Result<Unwound, Error> {
    let machine = registers.machine();
    let sp = registers
        .sp()
        .ok_or_else(|| Error::RegisterUnavailable(machine.register_name(machine.sp())))?;
    let frame_pointer = memory.read_uint(LoadAddr(sp), 8)?;
    let at = sp.wrapping_add(8);
    let pc = memory.read_uint(LoadAddr(at), 8)?;
    let (cfa, pc) = (sp.wrapping_add(16), registers.return_address(pc));
    Ok(step(registers, cfa, (pc, Some(at)), Some(frame_pointer)))
}

/// Returns the position in the prologue of the function at `pc`.
fn prologue(module: &Module, pc: FileAddr) -> Prologue {
    let code = module.machine().facts().code.as_ref();
    let is_return = |code: &CodePatterns| {
        let mut here = [0; CodePatterns::RETURN];
        // Fewer bytes are there at the end of a segment.
        let mut lens = (1..=here.len()).rev();
        let len = lens.find(|len| module.read_image(pc, &mut here[..*len]).is_some());
        len.is_some_and(|len| (code.is_return)(&here[..len]))
    };
    if code.is_some_and(is_return) {
        return Prologue::Entry;
    }
    let Some(symbol) = module.symbol_at(pc) else {
        return Prologue::Body;
    };
    let mut start = [0; 8];
    match code {
        Some(code) if module.read_image(symbol.addr, &mut start).is_some() => {
            (code.prologue)(&start, pc - symbol.addr)
        }
        None if symbol.addr == pc => Prologue::Entry,
        _ => Prologue::Body,
    }
}

/// Unwinds by the frame pointer: it points to the caller's saved frame pointer, and the return
/// address is in the word above that.
fn frame_pointer(
    modules: &dyn ModuleMap,
    memory: &dyn Memory,
    address: FrameAddress,
    registers: &Registers,
) -> Result<Unwound, Error> {
    let machine = registers.machine();
    let nothing = || {
        Error::Unsupported(format!(
            "no unwind information for {}, and no valid frame pointer",
            address.addr()
        ))
    };
    let (Some(sp), Some(frame)) = (registers.sp(), registers.get(machine.frame_pointer())) else {
        return Err(nothing());
    };
    if frame == 0 {
        // Zero marks the outermost frame (x86-64 psABI §3.4.1, AAPCS64).
        return Ok(Unwound {
            cfa: LoadAddr(sp),
            caller: None,
            saved_at: None,
            signal_frame: false,
            from_cfi: false,
        });
    }
    if frame < sp || !frame.is_multiple_of(8) {
        return Err(nothing());
    }
    let saved = memory.read_uint(LoadAddr(frame), 8)?;
    let at = frame.wrapping_add(8);
    let pc = memory.read_uint(LoadAddr(at), 8)?;
    let pc = registers.return_address(pc);
    if pc != 0 && !is_code(modules, LoadAddr(pc)) && saved <= frame {
        return Err(nothing());
    }
    let cfa = frame.wrapping_add(16);
    Ok(step(registers, cfa, (pc, Some(at)), Some(saved)))
}

/// Unwinds the code that returns from a signal handler, in libraries without call frame information
/// for it (musl): the kernel's `ucontext` is on top of the stack. Returns `None` for other code.
fn signal_frame(
    memory: &dyn Memory,
    address: FrameAddress,
    registers: &Registers,
) -> Result<Option<Unwound>, Error> {
    let Some(code) = &registers.machine().facts().code else {
        return Ok(None);
    };
    if !is_signal_return(code, memory, address.addr()) {
        return Ok(None);
    }
    let Some(sp) = registers.sp() else {
        return Ok(None);
    };
    let mut caller = preserved(registers);
    let mut at = sp.wrapping_add(code.signal_return.saved_at);
    for register in code.signal_return.saved {
        caller.set(*register, memory.read_uint(LoadAddr(at), 8)?);
        at = at.wrapping_add(8);
    }
    let pc = LoadAddr(caller.pc().unwrap_or(0));
    Ok(Some(Unwound {
        cfa: LoadAddr(sp),
        caller: (pc.0 != 0).then_some((FrameAddress::Pc(pc), caller)),
        saved_at: None,
        signal_frame: true,
        from_cfi: false,
    }))
}

/// Returns whether `pc` is at an instruction of the code that returns from a signal handler.
fn is_signal_return(code: &CodePatterns, memory: &dyn Memory, pc: LoadAddr) -> bool {
    let wanted = code.signal_return.code;
    let begins_at = |start| {
        let mut found = [0; 16];
        let Some(found) = found.get_mut(..wanted.len()) else {
            return false;
        };
        memory.read(start, found).is_ok() && found == wanted
    };
    let mut offsets = code.signal_return.instructions.iter();
    offsets.any(|offset| begins_at(pc - *offset))
}
