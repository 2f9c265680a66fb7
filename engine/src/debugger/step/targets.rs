//! Targets of "step into": the calls of the line that a thread is at.

use crate::debugger::{Debugger, ResumeScope};
use crate::ids::FrameKey;
use crate::ids::error::Error;
use crate::stops::step::start::Start;
use crate::stops::step::targets::{Entry, MAX_TARGETS, StepTarget, calls, inlined_calls};
use crate::stops::step::{Mode, StepRange};

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
            .inferior
            .registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let hidden = self.hidden_at(thread);
        let start = Start::at(&self.images.modules, registers.pc(), hidden);
        let Some(start) = start.filter(|start| key.level == 0 && start.line.is_some()) else {
            return Ok(Vec::new());
        };
        let memory = self.inferior.memory();
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
    pub fn step_into(&mut self, target: &StepTarget, scope: ResumeScope) -> Result<(), Error> {
        self.can_run()?;
        let thread = target.thread;
        self.stopped_thread(thread)?;
        let registers = self
            .inferior
            .registers(thread)
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
        let needs_source = self.needs_source_from(thread);
        let memory = self.inferior.memory();
        let view = self.view_of_step(&registers, &memory, needs_source);
        let (plan, verdict) = StepRange::begin(start, mode, out, coroutine, false, &view);
        self.begin_step((thread, scope), (Box::new(plan), verdict), needs_source);
        Ok(())
    }
}
