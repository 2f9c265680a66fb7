//! Heuristic unwinding for code without call frame information.

use crate::ids::Machine;
use crate::ids::addr::{FileAddr, LoadAddr, LoadBias};
use crate::ids::error::Error;
use crate::ids::memory::Memory;
use crate::ids::register::{Register, Registers};
use crate::module::Module;
use crate::unwind::{
    CfaLocation, FrameAddress, HeuristicUnwind, ModuleMap, RegisterOffset, Unwound, preserved,
};

/// Unwinds code outside all modules: a call through a bad pointer, or generated code.
pub(crate) fn without_module(
    modules: &dyn ModuleMap,
    memory: &dyn Memory,
    address: FrameAddress,
    registers: &Registers,
) -> Result<Unwound, Error> {
    // After a call through a bad pointer nothing has run, so the return address is still on top of
    // the stack.
    if let FrameAddress::Pc(_) = address
        && let Some(caller) = at_entry(memory, registers)?
        && let Some((FrameAddress::ReturnAddress(pc), _)) = &caller.caller
        && is_code(modules, *pc)
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

/// Unwinds a frame of `module` without call frame information: tries the candidate rules `ways`,
/// then the function's entry and prologue, then the frame pointer.
pub(crate) fn without_rules(
    frame: &Frame<'_>,
    module: &Module,
    bias: LoadBias,
    ways: &[HeuristicUnwind],
) -> Result<Unwound, Error> {
    let Frame {
        modules,
        memory,
        address,
        registers,
    } = *frame;
    let machine = registers.machine();
    if machine == Machine::X86_64 {
        if let Some(frame) = signal_frame(memory, address, registers)? {
            return Ok(frame);
        }
        if let Some(caller) = ways.iter().find_map(|way| by_instructions(frame, way)) {
            return Ok(caller);
        }
        if let FrameAddress::Pc(pc) = address {
            let pc = bias.file(pc);
            match prologue(module, pc) {
                Prologue::Entry => {
                    // At a program's first instruction, the top of the stack is the number of its
                    // arguments, not a return address.
                    if let Some(caller) = at_entry(memory, registers)?
                        && let Some((FrameAddress::ReturnAddress(back), _)) = &caller.caller
                        && is_code(modules, *back)
                    {
                        return Ok(caller);
                    }
                }
                Prologue::Pushed => {
                    return pushed_frame_pointer(memory, registers);
                }
                // The function may have no frame, or without a symbol, this may be its entry. If
                // the top of the stack is an address after a call, it is taken for the return
                // address.
                Prologue::Body => {
                    if let Some(caller) = at_entry(memory, registers)?
                        && let Some((FrameAddress::ReturnAddress(back), _)) = &caller.caller
                        && is_behind_call(modules, *back)
                    {
                        return Ok(caller);
                    }
                }
            }
        }
    } else if machine == Machine::Aarch64
        && let FrameAddress::Pc(pc) = address
        && module
            .symbol_at(bias.file(pc))
            .is_some_and(|symbol| symbol.addr == bias.file(pc))
        && let Some(caller) = at_entry(memory, registers)?
    {
        return Ok(caller);
    }
    frame_pointer(modules, memory, address, registers)
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
/// a call, or to the trampoline of a signal handler.
fn by_instructions(frame: &Frame<'_>, way: &HeuristicUnwind) -> Option<Unwound> {
    let at = |place: RegisterOffset| {
        let base = frame.registers.get(place.register)?;
        Some(base.wrapping_add_signed(place.offset))
    };
    let word = |addr: u64| frame.memory.read_uint(LoadAddr(addr), 8).ok();
    let cfa = match way.cfa {
        CfaLocation::At(place) => at(place)?,
        CfaLocation::SavedAt(place) => word(at(place)?)?,
    };
    if cfa <= frame.registers.sp()? {
        return None;
    }
    let pc = word(cfa.wrapping_sub(8))?;
    // The return address of a signal handler is the trampoline, which no call precedes.
    if !is_behind_call(frame.modules, LoadAddr(pc)) && !is_trampoline(frame.memory, LoadAddr(pc)) {
        return None;
    }
    let mut unwound = step(frame.registers, cfa, pc, None);
    if let Some((_, caller)) = &mut unwound.caller {
        for (register, place) in &way.saved {
            match at(*place).and_then(word) {
                Some(value) => caller.set(*register, value),
                None => caller.clear(*register),
            }
        }
    }
    Some(unwound)
}

/// Returns whether the instruction before `pc` is a call: `e8` and an offset, or `ff /2` with its
/// operand.
fn is_behind_call(modules: &dyn ModuleMap, pc: LoadAddr) -> bool {
    let Some((module, bias)) = modules.module_at(pc - 1) else {
        return false;
    };
    let mut bytes = [0; 7];
    if !is_code(modules, pc) || module.read_image(bias.file(pc - 7), &mut bytes).is_none() {
        return false;
    }
    let indirect = |length: usize| matches!(bytes.get(7 - length..), Some([0xff, operand, ..]) if operand & 0x38 == 0x10);
    bytes[2] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

fn step(registers: &Registers, cfa: u64, pc: u64, frame_pointer: Option<u64>) -> Unwound {
    let mut caller = preserved(registers);
    caller.set_sp(cfa);
    caller.set_pc(pc);
    if let Some(value) = frame_pointer {
        caller.set(registers.machine().frame_pointer(), value);
    }
    Unwound {
        cfa: LoadAddr(cfa),
        caller: (pc != 0).then_some((FrameAddress::ReturnAddress(LoadAddr(pc)), caller)),
        signal_frame: false,
        from_cfi: false,
    }
}

/// Unwinds a function at its first instruction: the return address is on top of the stack, or in
/// the link register.
fn at_entry(memory: &dyn Memory, registers: &Registers) -> Result<Option<Unwound>, Error> {
    let Some(sp) = registers.sp() else {
        return Ok(None);
    };
    if registers.machine() == Machine::Aarch64 {
        let link = registers.get(crate::ids::register::aarch64::X30);
        return Ok(link.map(|pc| step(registers, sp, pc, None)));
    }
    let pc = memory.read_uint(LoadAddr(sp), 8)?;
    Ok(Some(step(registers, sp.wrapping_add(8), pc, None)))
}

/// Unwinds between `push rbp` and `mov rbp, rsp`.
fn pushed_frame_pointer(memory: &dyn Memory, registers: &Registers) -> Result<Unwound, Error> {
    let sp = registers
        .sp()
        .ok_or_else(|| Error::RegisterUnavailable("rsp".into()))?;
    let frame_pointer = memory.read_uint(LoadAddr(sp), 8)?;
    let pc = memory.read_uint(LoadAddr(sp.wrapping_add(8)), 8)?;
    Ok(step(
        registers,
        sp.wrapping_add(16),
        pc,
        Some(frame_pointer),
    ))
}

enum Prologue {
    /// Before `push rbp` at the first instruction, or at a `ret`.
    Entry,
    /// Between `push rbp` and `mov rbp, rsp`.
    Pushed,
    /// Elsewhere, or unknown for lack of a symbol.
    Body,
}

/// Returns the position in the prologue of an x86-64 function, from its first bytes.
fn prologue(module: &Module, pc: FileAddr) -> Prologue {
    let mut here = [0; 1];
    if module.read_image(pc, &mut here).is_some() && here == [0xc3] {
        return Prologue::Entry;
    }
    let Some(symbol) = module.symbol_at(pc) else {
        return Prologue::Body;
    };
    let mut code = [0; 8];
    if module.read_image(symbol.addr, &mut code).is_none() {
        return Prologue::Body;
    }
    let (push, skipped) = match code {
        // endbr64
        [0xf3, 0x0f, 0x1e, 0xfa, rest, ..] => (rest, 4),
        [first, ..] => (first, 0),
    };
    let done = pc - symbol.addr;
    if done <= skipped {
        Prologue::Entry
    } else if push == 0x55 && done < skipped + 4 {
        Prologue::Pushed
    } else {
        Prologue::Body
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
            signal_frame: false,
            from_cfi: false,
        });
    }
    if frame < sp || !frame.is_multiple_of(8) {
        return Err(nothing());
    }
    let saved = memory.read_uint(LoadAddr(frame), 8)?;
    let mut pc = memory.read_uint(LoadAddr(frame.wrapping_add(8)), 8)?;
    if machine == Machine::Aarch64 {
        pc &= (1 << 48) - 1;
    }
    if pc != 0 && !is_code(modules, LoadAddr(pc)) && saved <= frame {
        return Err(nothing());
    }
    Ok(step(registers, frame.wrapping_add(16), pc, Some(saved)))
}

/// Unwinds the trampoline that returns from a signal handler, in libraries without call frame
/// information for it (musl): `mov rax, 15; syscall`, with the kernel's `ucontext` on top of the
/// stack. Returns `None` for other code.
fn signal_frame(
    memory: &dyn Memory,
    address: FrameAddress,
    registers: &Registers,
) -> Result<Option<Unwound>, Error> {
    if !is_trampoline(memory, address.addr()) {
        return Ok(None);
    }
    let Some(sp) = registers.sp() else {
        return Ok(None);
    };
    // DWARF numbers of the registers in the order of the kernel's `struct sigcontext`.
    const SAVED: [u16; 17] = [8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16];
    let mut caller = preserved(registers);
    let mut at = sp.wrapping_add(40);
    for register in SAVED {
        caller.set(Register(register), memory.read_uint(LoadAddr(at), 8)?);
        at = at.wrapping_add(8);
    }
    let pc = LoadAddr(caller.pc().unwrap_or(0));
    Ok(Some(Unwound {
        cfa: LoadAddr(sp),
        caller: (pc.0 != 0).then_some((FrameAddress::Pc(pc), caller)),
        signal_frame: true,
        from_cfi: false,
    }))
}

/// Returns whether `pc` is at one of the two instructions of a signal trampoline.
fn is_trampoline(memory: &dyn Memory, pc: LoadAddr) -> bool {
    const SIGRETURN: [u8; 9] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05];
    const SYSCALL: u64 = 7;
    let begins_at = |start| {
        let mut code = [0; 9];
        memory.read(start, &mut code).is_ok() && code == SIGRETURN
    };
    begins_at(pc) || begins_at(pc - SYSCALL)
}
