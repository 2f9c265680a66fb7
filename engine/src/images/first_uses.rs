//! Where the code of a function first refers to a variable.
//!
//! rustc's block of the variables of a pattern begins before the expression that is matched: at a stop at
//! `if let Some(x) = x`, the inner `x` is in scope by the debug info, but has no value yet, and the source
//! means the outer one. In unoptimized code a variable has a place in the frame that nothing else uses, and the
//! code that gives it its value precedes all that uses it. So it has no value before the first
//! instruction that refers to its place.

use super::body;
use super::modules::Loaded;
use crate::arch::Arch;
use crate::ids::ModuleId;
use dwarf::{
    DieRef, FileAddr, Function, Language, LoadAddr, Module, Register, Scope, SimpleLocation,
    Variable, VariableKind,
};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Maximum number of functions that are remembered.
const FUNCTIONS: usize = 256;
/// Maximum size in bytes of a function whose code is read.
const CODE_BYTES: u64 = 1 << 20;
/// The address of the first instruction that refers to a variable, by the variable's entry.
type Uses = FxHashMap<DieRef, FileAddr>;

/// The first uses of the variables of functions, found when they are asked for.
#[derive(Default)]
pub(crate) struct FirstUses(RefCell<FxHashMap<(ModuleId, DieRef), Arc<Uses>>>);

impl FirstUses {
    /// Returns whether a variable of a function has no value yet at an address, since the pattern that it is
    /// in was not matched. The first question about a function decodes its code.
    pub fn has_no_value_yet(
        &self,
        loaded: &Loaded,
        function: &Function,
        variable: &Variable,
        addr: FileAddr,
    ) -> bool {
        let may_be = function.language == Language::Rust
            && !function.optimized
            && variable.kind == VariableKind::Local;
        let Some(base) = base_of_frame(function).filter(|_| may_be && place(variable).is_some())
        else {
            return false;
        };
        let uses = self.of(loaded, function, base);
        uses.get(&variable.id).is_some_and(|first| addr <= *first)
    }

    fn of(&self, loaded: &Loaded, function: &Function, base: Register) -> Arc<Uses> {
        let key = (loaded.id, function.id);
        if let Some(known) = self.0.borrow().get(&key) {
            return Arc::clone(known);
        }
        let found = Arc::new(first_uses(&loaded.module, function, base));
        let mut known = self.0.borrow_mut();
        if known.len() >= FUNCTIONS {
            known.clear();
        }
        known.insert(key, Arc::clone(&found));
        found
    }
}

/// Returns the register that the places of a function's variables are relative to.
fn base_of_frame(function: &Function) -> Option<Register> {
    match function.frame_base {
        Some(SimpleLocation::Register(base)) => Some(base),
        _ => None,
    }
}

/// Returns the offset of a variable's place from the base of its frame.
fn place(variable: &Variable) -> Option<i64> {
    match variable.place {
        Some(SimpleLocation::FrameOffset(offset)) => Some(offset),
        _ => None,
    }
}

/// A variable's entry, and the part of the frame that is its place: offset and size in bytes.
type Place = (DieRef, i64, u64);

/// Finds the first uses in the code of a function; none if it is too large, or its instructions are unknown.
fn first_uses(module: &Module, function: &Function, base: Register) -> Uses {
    let size = function.ranges.iter().map(|it| it.end.0 - it.start.0);
    let Some(arch) = Arch::of(module.machine()).filter(|_| size.sum::<u64>() <= CODE_BYTES) else {
        return Uses::default();
    };
    // The parts of the frame that instructions refer to, each with the first of these.
    let mut parts: FxHashMap<(i64, u64), FileAddr> = FxHashMap::default();
    for (start, bytes) in body::code_of(module, function) {
        let code = arch.decode_all(&bytes, LoadAddr(start.0));
        for instruction in code.filter_map(Result::ok) {
            if let Some(part) = instruction.part_of_frame(base) {
                let addr = FileAddr(instruction.addr.0);
                let known = parts.entry(part).or_insert(addr);
                *known = addr.min(*known);
            }
        }
    }
    let mut places = Vec::new();
    add_places(module, &function.scope, &mut places);
    let first_use = |(variable, offset, size): Place| {
        let end = offset.saturating_add_unsigned(size);
        let uses = parts
            .iter()
            .filter(|((at, len), _)| *at < end && at.saturating_add_unsigned(*len) > offset);
        Some((variable, *uses.map(|it| it.1).min()?))
    };
    places.into_iter().filter_map(first_use).collect()
}

/// Adds the places of the variables of a scope and of those in it.
fn add_places(module: &Module, scope: &Scope, places: &mut Vec<Place>) {
    for variable in &scope.variables {
        if let Some(offset) = place(variable)
            && let Some(ty) = variable.ty.and_then(|ty| module.ty(ty).ok())
            && let Some(size) = ty.size.filter(|size| *size > 0)
        {
            places.push((variable.id, offset, size));
        }
    }
    for child in &scope.children {
        add_places(module, child, places);
    }
}
