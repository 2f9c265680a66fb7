//! How a step begins: which plan serves what was asked for, where the thread is.

use super::{Plan, Returning, Start, StepInstruction, StepOut, StepRange, View};
use crate::debugger::{Debugger, Granularity, StepKind};
use crate::error::Error;
use crate::event::{StopReason, ThreadId};
use dwarf::LoadAddr;
use std::sync::Arc;

impl Debugger {
    /// Starts a step; [`StopReason::Step`] follows, or another stop that comes first.
    ///
    /// # Errors
    /// Not stopped, no such thread, no caller to step out to, a core file.
    pub fn step(
        &mut self,
        thread: ThreadId,
        kind: StepKind,
        granularity: Granularity,
    ) -> Result<(), Error> {
        self.can_run()?;
        self.stopped_thread(thread)?;
        let registers = self
            .registers_of(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let hidden = self.hidden_at(thread);
        if hidden > 0 && kind == StepKind::Into && granularity == Granularity::Line {
            // The inlined call begins right here: it is entered without a move.
            self.forget_stop();
            if let Some(state) = self.thread_mut(thread) {
                state.hidden = hidden - 1;
            }
            self.tell_of_stop(thread, StopReason::Step);
            return Ok(());
        }
        let out = self.way_out(thread)?;
        let memory = self.memory();
        let view = View {
            registers: &registers,
            modules: &self.modules,
            memory: &memory,
        };
        let start = Start::at(&self.modules, registers.pc(), self.hidden_at(thread));
        let start_is_outermost = start.as_ref().is_none_or(|start| start.inlined.is_empty());
        let (plan, verdict): (Box<dyn Plan>, _) = match (kind, granularity) {
            (StepKind::Out, _) => match (start, &out) {
                (Some(mut start), _) if !start.inlined.is_empty() => {
                    // Out of an inlined call: until its code is left.
                    start.line = None;
                    let (plan, verdict) = StepRange::begin(start, false, &view);
                    (Box::new(plan), verdict)
                }
                (_, Some((back, cfa))) => {
                    let (plan, verdict) = StepOut::begin(*back, *cfa, &view);
                    (Box::new(plan), verdict)
                }
                (_, None) => return Err(Error::OutermostFrame),
            },
            (kind, Granularity::Instruction) => {
                let (plan, verdict) = StepInstruction::begin(&view, kind == StepKind::Over);
                (Box::new(plan), verdict)
            }
            (kind, Granularity::Line) => match (start.filter(|it| it.line.is_some()), &out) {
                (Some(start), _) => {
                    let (plan, verdict) = StepRange::begin(start, kind == StepKind::Into, &view);
                    (Box::new(plan), verdict)
                }
                // Without lines here, the next line is the caller's.
                (None, Some((back, cfa))) => {
                    let (plan, verdict) = StepOut::begin(*back, *cfa, &view);
                    (Box::new(plan), verdict)
                }
                (None, None) => {
                    let (plan, verdict) = StepInstruction::begin(&view, true);
                    (Box::new(plan), verdict)
                }
            },
        };
        let leaves = kind == StepKind::Out && start_is_outermost;
        let returning = leaves.then(|| self.returning(thread, out?.0)).flatten();
        self.begin_step(thread, plan, verdict);
        if let Some(step) = self.step_of(thread) {
            step.returning = returning;
        }
        Ok(())
    }

    /// A thread's innermost machine frame as one that returns to an address.
    fn returning(&self, thread: ThreadId, at: LoadAddr) -> Option<Returning> {
        let frame = self.stacks.get(&thread)?.physical.first()?;
        let (function, bias) = frame.function.clone()?;
        let loaded = self.modules.at(frame.address.lookup())?;
        Some(Returning {
            at,
            function,
            module: Arc::clone(&loaded.module),
            bias,
        })
    }

    /// Return address and canonical frame address of a thread's innermost machine frame.
    fn way_out(&mut self, thread: ThreadId) -> Result<Option<(LoadAddr, LoadAddr)>, Error> {
        self.unwound(thread, 1)?;
        let levels = self
            .stacks
            .get(&thread)
            .and_then(|stack| stack.physical.first())
            .map_or(1, |frame| frame.levels);
        let stack = self.unwound(thread, levels + 1)?;
        // Nothing returns to what a tail call left.
        let mut frames = stack.physical.iter().filter(|frame| !frame.is_tail_call);
        Ok(frames.next().zip(frames.next()).and_then(|(inner, outer)| {
            let cfa = inner.cfa?;
            Some((outer.address.addr(), cfa))
        }))
    }
}
