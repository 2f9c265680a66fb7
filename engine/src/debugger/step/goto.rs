//! Goto: moves a thread to another line of its function without running the code in between.

use crate::debugger::{Debugger, Shown, Vote};
use crate::ids::CodeName;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::stops::breakpoint::resolve::resolve;
use crate::stops::event::StopReason;
use crate::stops::step::start::inlined_at;
use dwarf::{AddrRange, FrameAddress, LoadAddr};
use std::path::Path;

/// A location that a thread can be moved to.
#[derive(Clone, Debug)]
pub struct GotoTarget {
    /// The address.
    pub addr: LoadAddr,
    /// The line there: of a source, or of disassembly.
    pub line: u32,
    /// Its column, 0 if unknown.
    pub column: u32,
    /// The readable name of the function.
    pub function: String,
    /// Number of inlined calls that begin there and are not entered.
    hidden: usize,
}

impl Debugger {
    /// Returns where the code of a line begins in the functions that stopped threads are in.
    ///
    /// # Errors
    /// The program is not stopped, or it is a core file.
    pub fn goto_targets(&mut self, source: &Path, line: u32) -> Result<Vec<GotoTarget>, Error> {
        self.can_run()?;
        let threads: Vec<ThreadId> = self.threads().into_iter().map(|it| it.id).collect();
        let mut places = Vec::new();
        for thread in threads {
            places.extend(
                self.inferior
                    .registers(thread)
                    .map(|registers| registers.pc()),
            );
        }
        let mut targets = Vec::new();
        for bound in resolve(source, line, None, &self.images.modules).bound {
            let Some(loaded) = self.images.modules.at(bound.addr) else {
                continue;
            };
            let Some(function) = loaded.module.function_at(loaded.bias.file(bound.addr)) else {
                continue;
            };
            let has = |pc: &LoadAddr| function.contains(loaded.bias.file(*pc));
            let Some((_, line, column)) = bound.source.filter(|_| places.iter().any(has)) else {
                continue;
            };
            targets.push(GotoTarget {
                addr: bound.addr,
                line,
                column,
                function: function.name.clone(),
                hidden: bound.hidden,
            });
        }
        Ok(targets)
    }

    /// Returns the instruction in a line of the disassembly of a function that stopped threads are
    /// in.
    ///
    /// # Errors
    /// As for [`Debugger::goto_targets`]; the code does not exist, or has fewer lines.
    pub fn goto_targets_in_code(
        &mut self,
        code: &CodeName,
        line: u32,
    ) -> Result<Vec<GotoTarget>, Error> {
        self.can_run()?;
        let addr = self.address_of_line(code, line)?;
        let here = self.piece_at(addr);
        let threads = self.threads().into_iter();
        let pcs: Vec<LoadAddr> = threads
            .filter_map(|it| Some(self.inferior.registers(it.id)?.pc()))
            .collect();
        if here.is_none() || !pcs.into_iter().any(|pc| self.piece_at(pc) == here) {
            return Ok(Vec::new());
        }
        Ok(vec![GotoTarget {
            addr,
            line: self.line_in(code, addr).unwrap_or(line),
            column: 0,
            function: code.label(),
            hidden: 0,
        }])
    }

    /// Returns the range of the function at an address without debug info: by the symbols, or else
    /// the mapping.
    pub(crate) fn piece_at(&self, addr: LoadAddr) -> Option<AddrRange<LoadAddr>> {
        match self.images.modules.at(addr) {
            Some(loaded) => {
                let (range, _) = loaded.module.code_at(loaded.bias.file(addr))?;
                let bias = loaded.bias;
                Some(AddrRange::new(bias.load(range.start), bias.load(range.end)))
            }
            None => {
                let mappings = self
                    .inferior
                    .os()
                    .mappings(self.process_with_memory().ok()?);
                let mut code = mappings.into_iter().filter(|it| it.executable);
                let mapping = code.find(|it| (it.start..it.end).contains(&addr))?;
                Some(AddrRange::new(mapping.start, mapping.end))
            }
        }
    }

    /// Moves a thread; [`StopReason::Goto`] follows, and no code has run.
    ///
    /// # Errors
    /// Not stopped; the location is in another function than the thread's innermost frame, or in an
    /// inlined call, or the frame has a different layout there.
    pub fn goto(&mut self, thread: ThreadId, target: &GotoTarget) -> Result<(), Error> {
        self.can_run()?;
        if self.is_in_replay() {
            return Err(Error::InThePast("the program cannot go on at another line"));
        }
        self.stopped_thread(thread)?;
        let mut registers = self
            .inferior
            .registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let refuse = |why: &str| Err(Error::Unsupported(why.into()));
        let place = |addr: LoadAddr| {
            let loaded = self.images.modules.at(addr)?;
            let function = loaded.module.function_at(loaded.bias.file(addr))?;
            let mut inlined = inlined_at(&function, loaded.bias.file(addr));
            if addr == target.addr {
                inlined.truncate(inlined.len().saturating_sub(target.hidden));
            }
            Some((function.id, loaded.id, inlined))
        };
        const ELSEWHERE: &str = "the line is not in the thread's current function";
        match (place(registers.pc()), place(target.addr)) {
            (Some(here), Some(there)) => {
                if (here.0, here.1) != (there.0, there.1) {
                    return refuse(ELSEWHERE);
                }
                if !here.2.starts_with(&there.2) {
                    return refuse(
                        "the line is in an inlined call that was not entered: its variables are \
                         not set up",
                    );
                }
            }
            (None, None) => {
                let here = self.piece_at(registers.pc());
                if here.is_none() || here != self.piece_at(target.addr) {
                    return refuse(ELSEWHERE);
                }
            }
            _ => return refuse(ELSEWHERE),
        }
        let memory = self.inferior.memory();
        let view = self.view(&registers, &memory);
        let frame = |addr| {
            let unwound = view.unwind(FrameAddress::Pc(addr), &registers.to_registers());
            unwound.map(|unwound| unwound.cfa)
        };
        let (from, to) = (frame(registers.pc()), frame(target.addr));
        if from.is_none() || from != to {
            return refuse("the stack frame has another layout there: the program would crash");
        }
        registers.set_pc(target.addr);
        self.prepare_change()?;
        if !self.inferior.set_registers_of(thread, registers) {
            return Err(Error::NoSuchThread(thread.0));
        }
        let shown = Shown {
            hidden: Some(target.hidden),
            ..Shown::default()
        };
        self.carry_out(thread, Vote::Stop(StopReason::Goto, shown));
        Ok(())
    }
}
