//! Breakpoints on instructions, by address or by a line of disassembly. An address at which no
//! instruction begins is refused.

use crate::debugger::Debugger;
use crate::ids::BreakpointId;
use crate::ids::CodeName;
use crate::stops::breakpoint::instruction::{refused, resolve};
use crate::stops::breakpoint::resolve::Resolved;
use crate::stops::breakpoint::{BreakpointInfo, InstructionBreakpoint, SourceBreakpoint, Spec};

impl Debugger {
    /// Replaces the breakpoints in the disassembly of a piece of code. `key` identifies the set, as
    /// in [`Debugger::set_source_breakpoints`].
    pub fn set_code_breakpoints(
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

    /// Replaces the breakpoints on instructions, as [`Debugger::set_source_breakpoints`] does.
    pub fn set_instruction_breakpoints(
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
    pub(crate) fn resolve_instruction(&self, id: BreakpointId) -> Option<Resolved> {
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
            .map(|it| self.inferior.os().mappings(it.pid));
        let mappings = mappings.unwrap_or_default();
        Some(match addr {
            Ok(addr) => resolve(
                addr,
                &self.images.modules,
                &self.inferior.memory(),
                &mappings,
            ),
            Err(error) => refused(error.to_string()),
        })
    }
}
