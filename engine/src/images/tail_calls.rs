//! Functions that left the stack by tail calls: those that must have run between a function and the caller that it
//! returns to.

use super::derived::Derived;
use super::modules::Modules;
use dwarf::{FrameAddress, Function, JumpAddress, LoadAddr, LoadBias};
use rustc_hash::FxHashMap;

/// Maximum number of cached tail calls; beyond it, the cache is cleared.
const MAX_KNOWN_CALLS: usize = 1 << 16;

/// The jumps between two frames, by the return address and the entry of the running function.
#[derive(Default)]
pub(crate) struct TailCalls(FxHashMap<(LoadAddr, LoadAddr), Vec<FrameAddress>>);

/// Returns the jumps that led from the function which a caller has called to the running one, innermost first; none
/// if it was called directly, or that is not known.
pub(crate) fn between(
    modules: &Modules,
    known: &Derived<TailCalls>,
    (function, bias): (&Function, LoadBias),
    caller: FrameAddress,
) -> Vec<FrameAddress> {
    let FrameAddress::ReturnAddress(back) = caller else {
        return Vec::new();
    };
    let entry = bias.load(function.entry);
    let key = (back, entry);
    if let Some(found) = known.with(modules, |known| known.0.get(&key).cloned()) {
        return found;
    }
    let called = modules.at(caller.lookup()).and_then(|loaded| {
        let back = loaded.bias.file(back);
        loaded.module.callee_at(back)
    });
    let gone = called.zip(modules.at(entry)).map(|(called, loaded)| {
        let calls = loaded.module.tail_calls(&called, function);
        let address = |call: dwarf::TailCall| match call.address {
            JumpAddress::At(addr) => FrameAddress::Pc(bias.load(addr)),
            JumpAddress::Before(addr) => FrameAddress::ReturnAddress(bias.load(addr)),
        };
        calls.into_iter().map(address).collect::<Vec<_>>()
    });
    let gone = gone.unwrap_or_default();
    known.with(modules, |known| {
        if known.0.len() >= MAX_KNOWN_CALLS {
            known.0.clear();
        }
        known.0.insert(key, gone.clone());
    });
    gone
}
