//! Breakpoints on instructions, by address or by a line of disassembly. An address at which no
//! instruction begins is refused.

use super::resolve::{Resolved, bind};
use super::{BoundLocation, BreakpointInfo, InstructionBreakpoint, SourceBreakpoint, Spec};
use crate::arch::Arch;
use crate::debugger::Debugger;
use crate::disassembly::CodeName;
use crate::ids::BreakpointId;
use crate::ids::ModuleId;
use crate::images::modules::{Loaded, Modules};
use crate::os::Mapping;
use dwarf::{Language, LoadAddr, Memory};

/// The module of code that is in no image (generated at run time); it is never unloaded.
const NO_IMAGE: ModuleId = ModuleId(u32::MAX);

/// Maximum size in bytes of a function whose instructions are decoded from its entry.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

impl Debugger {
    pub(crate) fn replace_code_breakpoints(
        &mut self,
        key: &str,
        code: &CodeName,
        wanted: &[SourceBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let old = self
            .stops
            .breakpoints
            .by_source
            .remove(key)
            .unwrap_or_default();
        let wanted = wanted
            .iter()
            .map(|wanted| {
                let spec = Spec::Code(code.clone(), wanted.line);
                (spec, wanted.options.clone())
            })
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, wanted);
        let by_source = &mut self.stops.breakpoints.by_source;
        by_source.insert(key.to_owned(), ids.clone());
        self.change_breakpoints(ids, gone)
    }

    pub(crate) fn replace_instruction_breakpoints(
        &mut self,
        wanted: &[InstructionBreakpoint],
    ) -> Vec<BreakpointInfo> {
        let old = std::mem::take(&mut self.stops.breakpoints.instructions);
        let wanted = wanted
            .iter()
            .map(|wanted| (Spec::Instruction(wanted.address), wanted.options.clone()))
            .collect();
        let (ids, gone) = self.stops.breakpoints.replace(old, wanted);
        self.stops.breakpoints.instructions.clone_from(&ids);
        self.change_breakpoints(ids, gone)
    }

    /// Resolves a breakpoint on an instruction. `None`: it is of another kind, is bound already, or
    /// can never bind.
    pub(super) fn resolve_instruction(&self, id: BreakpointId) -> Option<Resolved> {
        let breakpoint = self.stops.breakpoints.all.get(&id)?;
        if !breakpoint.bound.is_empty() || breakpoint.failure.is_some() {
            return None;
        }
        let addr = match &breakpoint.spec {
            Spec::Instruction(addr) => Ok(*addr),
            Spec::Code(code, line) => self.address_of_line(code, *line),
            _ => return None,
        };
        let mappings = self
            .inferior
            .process
            .as_ref()
            .map(|it| self.inferior.os.mappings(it.pid));
        let mappings = mappings.unwrap_or_default();
        Some(match addr {
            Ok(addr) => resolve(addr, &self.images.modules, &self.memory(), &mappings),
            Err(error) => refused(error.to_string()),
        })
    }
}

/// Returns the location, if an instruction may begin at the address.
fn resolve(
    addr: LoadAddr,
    modules: &Modules,
    memory: &dyn Memory,
    mappings: &[Mapping],
) -> Resolved {
    let is_code = |map: &&Mapping| map.executable && (map.start..map.end).contains(&addr);
    if mappings.iter().find(is_code).is_none() {
        return refused(format!("no code at {addr}"));
    }
    let Some(loaded) = modules.at(addr) else {
        return Resolved {
            bound: vec![BoundLocation {
                addr,
                module: NO_IMAGE,
                source: None,
                language: Language::default(),
                hidden: 0,
                shown: None,
            }],
            ..Resolved::default()
        };
    };
    if let Some(begin) = covered_by(addr, loaded, memory) {
        return refused(format!("{addr} is inside the instruction at {begin}"));
    }
    Resolved {
        bound: vec![bind(loaded, loaded.bias.file(addr))],
        ..Resolved::default()
    }
}

fn refused(why: String) -> Resolved {
    Resolved {
        why: Some(why),
        ..Resolved::default()
    }
}

/// Returns the instruction that contains an address at which none begins.
fn covered_by(addr: LoadAddr, loaded: &Loaded, memory: &dyn Memory) -> Option<LoadAddr> {
    let arch = Arch::of(loaded.module.machine())?;
    let here = loaded.bias.file(addr);
    let function = loaded.module.function_at(here)?;
    let range = function.ranges.iter().find(|it| it.contains(here))?;
    let mut at = loaded.bias.load(range.start);
    if addr.0.abs_diff(at.0) > MAX_FUNCTION_BYTES {
        return None;
    }
    while at < addr {
        let next = arch.read(memory, at)?.next();
        if next > addr {
            return Some(at);
        }
        at = next;
    }
    None
}
