//! Targets of "step into": the calls of the line that a thread is at.

use super::callee::{Code, body_of, function_at};
use super::region::Region;
use super::start::{Start, inlined_at};
use super::{Mode, StepRange, View};
use crate::arch::Simulation;
use crate::debugger::Debugger;
use crate::ids::FrameKey;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::stack::calls_beginning_at;
use dwarf::{DieRef, LoadAddr, ScopeKind, SourceLocation};

/// Maximum number of targets of a line.
const MAX_TARGETS: usize = 256;

/// A call that a step can enter.
#[derive(Clone, Debug)]
pub struct StepTarget {
    /// The thread that is about to make it.
    pub thread: ThreadId,
    /// The readable name of the function.
    pub name: String,
    /// The location of the call.
    pub location: Option<SourceLocation>,
    entry: Entry,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Entry {
    /// By the call at this address.
    Call(LoadAddr),
    /// The inlined call that begins at this address, and the number of calls inside it that begin
    /// there as well.
    Inlined(LoadAddr, usize),
}

impl Entry {
    fn addr(self) -> LoadAddr {
        match self {
            Entry::Call(addr) | Entry::Inlined(addr, _) => addr,
        }
    }
}

impl Debugger {
    /// Returns the functions with source that the line of a thread's innermost frame calls from the
    /// pc on, in order of the calls. Calls through pointers and objects are included if their
    /// targets can be determined now. Other frames have none: they are in the middle of a call.
    ///
    /// # Errors
    /// Not stopped, no such thread.
    pub fn step_targets(&mut self, key: FrameKey) -> Result<Vec<StepTarget>, Error> {
        let thread = key.thread;
        self.stopped_thread(thread)?;
        let registers = self
            .user_registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let hidden = self.hidden_at(thread);
        let start = Start::at(&self.images.modules, registers.pc(), hidden);
        let Some(start) = start.filter(|start| key.level == 0 && start.line.is_some()) else {
            return Ok(Vec::new());
        };
        let memory = self.memory();
        let view = self.view(&registers, &memory);
        let region = StepRange::region(start.clone(), &view);
        let mut found = calls(&view, &start, &region);
        found.extend(inlined_calls(&view, &start, &region));
        found.sort_by_key(|(_, entry)| entry.addr());
        found.truncate(MAX_TARGETS);
        let target = |(name, entry): (String, Entry)| {
            let loaded = self.images.modules.at(entry.addr())?;
            let row = loaded.module.row_at(loaded.bias.file(entry.addr()));
            let location = match entry {
                Entry::Call(_) => row.and_then(|row| row.location),
                Entry::Inlined(..) => start.line.clone(),
            };
            Some(StepTarget {
                thread,
                name,
                location,
                entry,
            })
        };
        Ok(found.into_iter().filter_map(target).collect())
    }

    /// Steps into one of the calls returned by [`Debugger::step_targets`]. If the program does not
    /// make the call, the step ends where a step over would.
    ///
    /// # Errors
    /// Not stopped, the thread has ended, or has moved since.
    pub fn step_into(&mut self, target: &StepTarget) -> Result<(), Error> {
        self.can_run()?;
        let thread = target.thread;
        self.stopped_thread(thread)?;
        let registers = self
            .user_registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let mode = match target.entry {
            Entry::Inlined(addr, left_out) if addr == registers.pc() => {
                self.enter_inlined(thread, left_out);
                return Ok(());
            }
            Entry::Inlined(addr, left_out) => Mode::IntoInlined(addr, left_out),
            Entry::Call(addr) => Mode::IntoCall(addr),
        };
        let out = self.way_out(thread)?;
        let coroutine = self.coroutine_of(thread);
        let start = Start::at(&self.images.modules, registers.pc(), self.hidden_at(thread));
        let start = start.ok_or_else(|| Error::Unsupported("no line information here".into()))?;
        let memory = self.memory();
        let view = self.view(&registers, &memory);
        let (plan, verdict) = StepRange::begin(start, mode, out, coroutine, false, &view);
        self.begin_step(thread, Box::new(plan), verdict);
        Ok(())
    }
}

/// Returns the real calls of a region that belong to the line itself, not to calls inlined into it.
fn calls(view: &View<'_>, start: &Start, region: &Region) -> Vec<(String, Entry)> {
    let mut simulation = Simulation::new(view.arch(), view.registers, view.memory);
    let mut code = Code::new(view);
    let mut found = Vec::new();
    let mut expected = view.registers.pc();
    for at in region.instructions.iter().copied() {
        let Some(instruction) = code.at(at) else {
            continue;
        };
        if at != expected {
            // Control enters here from elsewhere.
            simulation.forget();
        }
        expected = instruction.next();
        let direct = instruction.direct_target();
        let target = direct.or_else(|| simulation.target(&instruction));
        simulation.execute(&instruction);
        if !region.calls.iter().any(|call| call.at == at) {
            continue;
        }
        let addr = start.bias.file(at);
        if inlined_at(&start.function, addr).len() > start.inlined.len() {
            continue;
        }
        let Some(target) = target.filter(|target| body_of(view, *target, false).is_some()) else {
            continue;
        };
        if let Some((_, function)) = function_at(view, target) {
            found.push((function.name.clone(), Entry::Call(at)));
        }
    }
    found
}

/// Returns the inlined calls of the line.
fn inlined_calls(view: &View<'_>, start: &Start, region: &Region) -> Vec<(String, Entry)> {
    let mut found = Vec::new();
    let Some(line) = &start.line else {
        return found;
    };
    let mut scopes = vec![(&start.function.scope, start.inlined.as_slice())];
    while let Some((scope, path)) = scopes.pop() {
        for child in &scope.children {
            let ScopeKind::Inlined(call) = &child.kind else {
                scopes.push((child, path));
                continue;
            };
            if let Some((next, rest)) = path.split_first() {
                if child.id == *next {
                    scopes.push((child, rest));
                }
                continue;
            }
            let site = call.call_site.as_ref();
            let is_here = site.is_some_and(|it| it.line == line.line && it.file == line.file);
            let entry = start.bias.load(call.entry);
            if is_here && region.instructions.contains(&entry) {
                let left_out = calls_in(view, entry, child.id);
                found.push((call.name.clone(), Entry::Inlined(entry, left_out)));
            }
        }
    }
    found
}

/// Returns how many inlined calls inside the one of this entry begin at the same address.
fn calls_in(view: &View<'_>, entry: LoadAddr, id: DieRef) -> usize {
    let Some(loaded) = view.modules.at(entry) else {
        return 0;
    };
    let addr = loaded.bias.file(entry);
    let Some(function) = loaded.module.function_at(addr) else {
        return 0;
    };
    let chain = inlined_at(&function, addr);
    let deeper = chain.iter().rev().take_while(|it| **it != id).count();
    deeper.min(calls_beginning_at(&loaded.module, addr))
}
