//! Inlined calls that begin at an address.

use dwarf::{FileAddr, Function, Module};

/// Returns how many nested inlined calls begin at exactly this address.
pub(crate) fn calls_beginning_at(module: &Module, addr: FileAddr) -> usize {
    let function = module.function_at(addr);
    function.map_or(0, |function| calls_begun(&function, addr, addr))
}

/// Returns how many nested inlined calls contain the beginning of a function's body; compilers let
/// them begin in the prologue.
pub(crate) fn calls_at_body(function: &Function, body: FileAddr) -> usize {
    calls_begun(function, function.entry, body)
}

/// Returns how many nested inlined calls contain `addr` and begin at `from` or later.
pub(crate) fn calls_begun(function: &Function, from: FileAddr, addr: FileAddr) -> usize {
    let frames = function.frames_at(addr);
    let calls = frames.iter().map_while(|frame| frame.inlined);
    calls
        .take_while(|call| (from..=addr).contains(&call.entry))
        .count()
}
