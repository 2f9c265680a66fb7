//! The location of a breakpoint on a function: after the prologue as the line table marks it,
//! unless calls can skip that address or pass it more than once.

use crate::arch::body::{self, Body, Code};
use crate::arch::{Arch, MAX_INSTRUCTION_BYTES};
use dwarf::{FileAddr, Function, Module, SimpleLocation, VariableKind};

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

fn in_body(
    module: &Module,
    function: &Function,
    choose: impl Fn(&Code<'_>, Body) -> FileAddr,
) -> FileAddr {
    let marked = module.body_start(function);
    if marked == function.entry {
        return marked;
    }
    let Some(arch) = Arch::of(module.machine()) else {
        return marked;
    };
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
    let code = Code {
        arch,
        read: &read,
        parts: &|| code_of(module, function),
        spills_parameters: variables.any(|it| {
            it.kind == VariableKind::Parameter
                && matches!(it.place, Some(SimpleLocation::FrameOffset(_)))
        }),
    };
    let body = body::passed_by_each_call(&code, function.entry, marked);
    choose(&code, body)
}

/// Returns a function's code in parts, each with its first address.
pub fn code_of(module: &Module, function: &Function) -> Vec<(FileAddr, Vec<u8>)> {
    let parts = function.ranges.iter().filter_map(|range| {
        let len = usize::try_from(range.end.0.checked_sub(range.start.0)?).ok()?;
        let mut bytes = vec![0; len.min(MAX_PART_BYTES)];
        module.read_image(range.start, &mut bytes)?;
        Some((range.start, bytes))
    });
    parts.collect()
}
