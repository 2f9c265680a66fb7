//! The location of a breakpoint on a function: after the prologue as the line table marks it,
//! unless calls can skip that address or pass it more than once.
//!
//! Where that is a landing pad of indirect calls (`bti c`, `paciasp`), which optimized functions and
//! those without a prologue begin with, the location is behind it. No jump of a fast breakpoint can
//! replace the pad. The whole location moves, rather than only the jump: trap and jump are at one
//! address then, and a thread in the jump's trampoline has executed nothing that would have to be
//! undone to show it at the pad (`paciasp` signs the return address). Steps into the function stop
//! there, too, so that such a step and a breakpoint make one stop.

use crate::arch::body::{self, Body, Code, Leaving};
use crate::arch::{Arch, Instruction, MAX_INSTRUCTION_BYTES};
use dwarf::{AddrRange, FileAddr, Function, LoadAddr, Module, SimpleLocation, VariableKind};

/// Maximum number of bytes read of each part of a function.
const MAX_PART_BYTES: usize = 1 << 24;

/// Returns an address in the body that every call of the function passes.
pub fn passed_by_each_call(module: &Module, function: &Function) -> FileAddr {
    in_body(module, function, |_, body| body.addr)
}

/// Returns such an address that a call passes only once, if there is one.
pub fn passed_once(module: &Module, function: &Function) -> FileAddr {
    in_body(module, function, body::passed_once)
}

/// Returns such an address also if parameters cannot be read there: hits that read nothing of the frame are counted
/// right at it.
pub fn counted_once(module: &Module, function: &Function) -> FileAddr {
    in_body(module, function, body::counted_once)
}

/// Returns the address behind the landing pad of indirect calls at an address of a function, where a
/// breakpoint is bound instead; the address itself if there is no pad, or a loop begins behind it.
pub fn behind_landing_pad(module: &Module, function: &Function, addr: FileAddr) -> FileAddr {
    let behind = |code: &Code<'_>| body::behind_landing_pad(code, addr);
    in_code(module, function, behind).unwrap_or(addr)
}

fn in_body(
    module: &Module,
    function: &Function,
    choose: impl Fn(&Code<'_>, Body) -> FileAddr,
) -> FileAddr {
    let marked = module.body_start(function);
    let chosen = in_code(module, function, |code| {
        let chosen = match marked == function.entry {
            true => marked,
            false => {
                let body = body::passed_by_each_call(code, function.entry, marked);
                choose(code, body)
            }
        };
        body::behind_landing_pad(code, chosen)
    });
    chosen.unwrap_or(marked)
}

/// Calls `then` with a function's code; `None` if its instruction set is not known.
fn in_code<T>(
    module: &Module,
    function: &Function,
    then: impl FnOnce(&Code<'_>) -> T,
) -> Option<T> {
    let arch = Arch::of(module.machine())?;
    let mut variables = function.scope.variables.iter();
    let read = |addr: FileAddr, bytes: &mut [u8; MAX_INSTRUCTION_BYTES]| {
        let mut ranges = function.ranges.iter();
        let rest = ranges
            .find(|range| range.contains(addr))
            .map(|range| range.end - addr);
        let len = bytes.len().min(rest.unwrap_or(0) as usize);
        let bytes = bytes.get_mut(..len).unwrap_or_default();
        module.read_image(addr, bytes).map_or(0, |()| len)
    };
    Some(then(&Code {
        arch,
        read: &read,
        parts: &|| code_of(module, function),
        spills_parameters: variables.any(|it| {
            it.kind == VariableKind::Parameter
                && matches!(it.place, Some(SimpleLocation::FrameOffset(_)))
        }),
    }))
}

/// Returns where calls of a function return, and how: see [`body::exits`]; and whether calls may leave it
/// elsewhere, too: by a jump through a register where the frame is as at the entry.
pub fn exits(module: &Module, function: &Function) -> (Vec<(FileAddr, Leaving)>, bool) {
    let Some(arch) = Arch::of(module.machine()) else {
        return (Vec::new(), false);
    };
    let leaves = |target: LoadAddr| {
        let target = FileAddr(target.0);
        !function.ranges.iter().any(|range| range.contains(target))
    };
    let code = code_of(module, function);
    let instructions = code.iter().flat_map(|(start, bytes)| {
        let decoded = arch.decode_all(bytes, LoadAddr(start.0));
        decoded.filter_map(Result::ok)
    });
    let instructions: Vec<Instruction> = instructions.collect();
    let exits = body::exits(&instructions, leaves);
    let exits = exits.into_iter();
    let exits = exits.map(|(at, how)| (FileAddr(at.0), how)).collect();
    let at_entry = module.frame_address_at(function.entry);
    let mut jumps = instructions.iter().filter(|it| body::is_computed_jump(it));
    let may_leave = at_entry.is_some()
        && jumps.any(|it| module.frame_address_at(FileAddr(it.addr.0)) == at_entry);
    (exits, may_leave)
}

/// A function by its code alone.
pub struct Extent {
    /// The entry.
    pub entry: FileAddr,
    /// Where its code is.
    pub ranges: Vec<AddrRange<FileAddr>>,
}

impl Extent {
    /// Returns the function at an address: as the debug info describes it, or, if there are line tables
    /// alone, by its symbol.
    pub fn at(module: &Module, addr: FileAddr) -> Option<Extent> {
        if let Some(function) = module.function_at(addr) {
            return Some(Extent {
                entry: function.entry,
                ranges: function.ranges.clone(),
            });
        }
        let symbol = module.symbol_at(addr)?;
        let end = FileAddr(symbol.addr.0.checked_add(symbol.size)?);
        let ranges = vec![AddrRange::new(symbol.addr, end)];
        (addr < end).then_some(Extent {
            entry: symbol.addr,
            ranges,
        })
    }

    /// Returns its code in parts, each with its first address.
    pub fn code(&self, module: &Module) -> Vec<(FileAddr, Vec<u8>)> {
        code_in(module, &self.ranges)
    }
}

/// Returns a function's code in parts, each with its first address.
pub fn code_of(module: &Module, function: &Function) -> Vec<(FileAddr, Vec<u8>)> {
    code_in(module, &function.ranges)
}

fn code_in(module: &Module, ranges: &[AddrRange<FileAddr>]) -> Vec<(FileAddr, Vec<u8>)> {
    let parts = ranges.iter().filter_map(|range| {
        let len = usize::try_from(range.end.0.checked_sub(range.start.0)?).ok()?;
        let mut bytes = vec![0; len.min(MAX_PART_BYTES)];
        module.read_image(range.start, &mut bytes)?;
        Some((range.start, bytes))
    });
    parts.collect()
}
