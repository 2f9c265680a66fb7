//! Start of a step: selects the plan for the request and the thread's position.

use crate::debugger::{Debugger, Granularity, ResumeScope, StepKind};
use crate::ids::FrameKey;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::stops::event::StopReason;
use crate::stops::step::{
    Coroutine, Mode, Plan, ReturnedFunction, Start, StepInstruction, StepOut, StepRange, Target,
};
use dwarf::LoadAddr;
use std::sync::Arc;

/// Maximum number of frames of filtered code that are searched for a frame to return to.
pub(crate) const MAX_FRAMES: usize = 256;

/// What a return of the step's frame to its caller means for the step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AtReturn {
    /// The step ends if the filters show the caller's code, and runs through it otherwise.
    Filters,
    /// The step ends at the return address, and the stop has the return value.
    Ends,
}

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
        scope: ResumeScope,
    ) -> Result<(), Error> {
        self.step_until(thread, kind, granularity, scope, AtReturn::Filters)
    }

    /// Like [`Debugger::step`], where `at_return` says what a return of the frame means for a step
    /// over or into.
    pub(super) fn step_until(
        &mut self,
        thread: ThreadId,
        kind: StepKind,
        granularity: Granularity,
        scope: ResumeScope,
        at_return: AtReturn,
    ) -> Result<(), Error> {
        self.can_run()?;
        self.stopped_thread(thread)?;
        let registers = self
            .inferior
            .registers(thread)
            .ok_or(Error::NoSuchThread(thread.0))?;
        let pc = registers.pc();
        let hidden = self.hidden_at(thread);
        if kind == StepKind::Into
            && granularity != Granularity::Instruction
            && let Some(left_out) = self.shown_call_at(pc, hidden)
        {
            // The inlined call begins at the pc: it is entered without execution.
            self.enter_inlined(thread, left_out);
            return Ok(());
        }
        let out = self.way_out(thread)?;
        let coroutine = self.coroutine_of(thread);
        let outer = match kind {
            StepKind::Out => self.way_out_to_shown(thread).or(out),
            _ => out,
        };
        let needs_source = self.needs_source_from(thread);
        let memory = self.inferior.memory();
        let view = self.view_of_step(&registers, &memory, needs_source);
        let start = Start::at(&self.images.modules, pc, hidden);
        let start_is_outermost = start.as_ref().is_none_or(|start| start.inlined.is_empty());
        let (plan, verdict): (Box<dyn Plan>, _) = match (kind, granularity) {
            (StepKind::Out, _) => match (start, outer) {
                (Some(mut start), _) if !start.inlined.is_empty() => {
                    // Out of an inlined call: until its code is left.
                    start.line = None;
                    let (plan, verdict) =
                        StepRange::begin(start, Mode::Over, out, coroutine, false, &view);
                    (Box::new(plan), verdict)
                }
                (_, Some(back)) => {
                    let (plan, verdict) = StepOut::begin(back, coroutine, &view);
                    (Box::new(plan), verdict)
                }
                (_, None) => return Err(Error::OutermostFrame),
            },
            (kind, Granularity::Instruction) => {
                let (plan, verdict) = StepInstruction::begin(&view, kind == StepKind::Over);
                (Box::new(plan), verdict)
            }
            (kind, Granularity::Line | Granularity::Statement) => {
                match (start.filter(|it| it.line.is_some()), out) {
                    (Some(start), _) => {
                        let mode = match kind {
                            StepKind::Into => Mode::Into,
                            _ => Mode::Over,
                        };
                        let statements = granularity == Granularity::Statement;
                        let (mut plan, verdict) =
                            StepRange::begin(start, mode, out, coroutine, statements, &view);
                        if at_return == AtReturn::Ends {
                            plan.end_at_return();
                        }
                        (Box::new(plan), verdict)
                    }
                    // The frame has no lines: the next line is the caller's.
                    (None, Some(back)) => {
                        let (plan, verdict) = StepOut::begin(back, None, &view);
                        (Box::new(plan), verdict)
                    }
                    (None, None) => {
                        let (plan, verdict) = StepInstruction::begin(&view, true);
                        (Box::new(plan), verdict)
                    }
                }
            }
        };
        let leaves = (kind == StepKind::Out && start_is_outermost) || at_return == AtReturn::Ends;
        let returning = out.filter(|_| leaves);
        let returning = returning.and_then(|out| self.returning(thread, out.addr));
        self.begin_step((thread, scope), (plan, verdict), needs_source);
        if let Some(step) = self.step_of(thread) {
            step.returning = returning;
        }
        Ok(())
    }

    /// Returns the outermost of the `hidden` inlined calls that begin at `pc` and has source to
    /// show, as the number of calls inside it that stay hidden.
    fn shown_call_at(&self, pc: LoadAddr, hidden: usize) -> Option<usize> {
        let here = Start::at(&self.images.modules, pc, hidden)?.line?;
        let filters = &self.stops.step_filters;
        let unfiltered = filters.skips(&here.file);
        let filters = filters.of_step(filters.needs_source_from(Some(&here.file)));
        (0..hidden).rev().find(|left_out| {
            let start = Start::at(&self.images.modules, pc, *left_out);
            let line = start.and_then(|start| start.line);
            line.is_some_and(|line| match unfiltered {
                true => !filters.lacks(&line.file),
                false => !filters.skips(&line.file),
            })
        })
    }

    /// Returns [`Debugger::shown_call_at`] for a stopped thread that does not show `hidden` inlined calls.
    pub(in crate::debugger) fn inlined_to_enter(
        &self,
        thread: ThreadId,
        hidden: usize,
    ) -> Option<usize> {
        let pc = self.inferior.registers(thread)?.pc();
        self.shown_call_at(pc, hidden)
    }

    /// Shows the thread in an inlined call that begins at its pc.
    pub(crate) fn enter_inlined(&mut self, thread: ThreadId, left_out: usize) {
        self.forget_stop_of(thread);
        if let Some(state) = self.thread_state(thread) {
            state.hidden_inlined = left_out;
        }
        self.emit_stopped(thread, StopReason::Step, None);
    }

    /// Returns a thread's innermost machine frame as a function that returns to an address.
    fn returning(&self, thread: ThreadId, at: LoadAddr) -> Option<Arc<ReturnedFunction>> {
        let frame = self.stack_so_far(thread)?.physical.first()?;
        let (function, bias) = frame.function.clone()?;
        let loaded = self.images.modules.at(frame.address.lookup())?;
        Some(Arc::new(ReturnedFunction {
            at,
            function,
            module: Arc::clone(&loaded.module),
            bias,
            place: self.untold_place(thread),
        }))
    }

    /// Returns the return address of a thread's innermost machine frame.
    pub(crate) fn way_out(&mut self, thread: ThreadId) -> Result<Option<Target>, Error> {
        self.unwound(thread, 1)?;
        let levels = self
            .stack_so_far(thread)
            .and_then(|stack| stack.physical.first())
            .map_or(1, |frame| frame.levels);
        let stack = self.unwound(thread, levels + 1)?;
        // No frame returns to the caller of a tail call.
        let mut frames = stack.physical.iter().filter(|frame| !frame.is_tail_call);
        Ok(frames.next().zip(frames.next()).and_then(|(inner, outer)| {
            Some(Target {
                addr: outer.address.addr(),
                sp: inner.cfa?.0,
            })
        }))
    }

    /// Returns the future whose body a thread's innermost machine frame runs.
    pub(crate) fn coroutine_of(&mut self, thread: ThreadId) -> Option<Coroutine> {
        let frame = self.stack_so_far(thread)?.physical.first()?;
        let (function, bias) = frame.function.as_ref()?;
        function.coroutine?;
        let entry = bias.load(function.entry);
        let level = (frame.level + frame.levels).checked_sub(1)?;
        let (state, discriminant) = self
            .in_frame(FrameKey { thread, level }, |scope| Ok(scope.coroutine()))
            .ok()??;
        Some(Coroutine {
            state,
            discriminant,
            entry,
        })
    }

    /// Returns where a thread returns to code that steps stop in, if it is in such code now.
    fn way_out_to_shown(&mut self, thread: ThreadId) -> Option<Target> {
        let needs_source = self.needs_source_from(thread);
        let shown = |debugger: &Self, addr: LoadAddr| {
            let filters = debugger.stops.step_filters.of_step(needs_source);
            Start::shown_at(&debugger.images.modules, filters, addr)
        };
        let here = self.inferior.registers(thread)?.pc();
        shown(self, here)?;
        for outer in 1..MAX_FRAMES {
            let stack = self.stack_so_far(thread)?;
            if outer >= stack.physical.len() {
                let levels = stack.levels;
                self.unwound(thread, levels + 1).ok()?;
            }
            let frames = &self.stack_so_far(thread)?.physical;
            let here = frames.get(outer)?;
            // No frame returns to or from the caller of a tail call.
            let mut inner = frames.iter().take(outer).rev();
            let Some(inner) = inner.find(|it| !it.is_tail_call && !here.is_tail_call) else {
                continue;
            };
            if shown(self, here.address.lookup()).is_some() {
                return Some(Target {
                    addr: here.address.addr(),
                    sp: inner.cfa?.0,
                });
            }
        }
        None
    }
}
