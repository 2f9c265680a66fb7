//! The frame that a data breakpoint was set in: its condition is evaluated there, in whatever frame
//! the data was accessed. Only names that this frame lacks are looked up in the accessing one.

use crate::compile::{CodeScope, Scope};
use crate::debugger::Debugger;
use crate::debugger::frame::FrameScope;
use crate::expr::Expression;
use crate::ids::BreakpointId;
use crate::ids::FrameKey;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::stops::breakpoint::watch::frame::{MAX_FRAMES, OwnFrame};
use dwarf::LoadAddr;

impl Debugger {
    /// Returns the data to find a frame again; `None`: it has no debug info, or its CFA is unknown.
    pub(crate) fn own_frame(&mut self, frame: FrameKey) -> Option<OwnFrame> {
        let stack = self.unwound(frame.thread, frame.level + 1).ok()?;
        let (index, depth) = stack.at(frame.level)?;
        let physical = stack.physical.get(index)?;
        let (function, bias) = physical.function.as_ref()?;
        let code = physical.address.lookup();
        let frames = function.frames_at(bias.file(code));
        let this = frames.get(depth)?;
        Some(OwnFrame {
            thread: frame.thread,
            cfa: physical.cfa?,
            scope: this.scopes.first()?.id,
            code,
            depth,
            name: this.name.to_owned(),
        })
    }

    /// Returns whether the condition of a data breakpoint that a thread has hit holds.
    pub(crate) fn in_watch_frame(
        &mut self,
        id: BreakpointId,
        thread: ThreadId,
        condition: &Expression,
    ) -> Result<bool, Error> {
        let watch = self.stops.watches.all.get(&id);
        let Some(own) = watch.and_then(|watch| watch.data.own.clone()) else {
            return self.in_hit_frame(thread, 0, |context| condition.is_true(context));
        };
        let found = match own.thread == thread {
            true => self.in_own_frame(&own, |context| condition.is_true(context)),
            false if self.is_there(own.thread) => self.with_world_stopped(thread, |this, _| {
                this.in_own_frame(&own, |context| condition.is_true(context))
            }),
            false => None,
        };
        let memory = self.inferior.memory();
        let scope = CodeScope::at(&self.images.modules, Some(&memory), own.code, own.depth);
        let names = condition.mentioned();
        let mut names = names.iter();
        let local = names.find(|it| !matches!(scope.local(it.name), Ok(None)));
        let answer = match (found, local) {
            (Some(answer), Some(_)) => return answer,
            (Some(answer), None) => answer,
            (None, Some(local)) => {
                return Err(Error::eval(format!(
                    "`{}` is a local of `{}`, whose frame has returned; set the data breakpoint \
                     again",
                    local.name, own.name
                )));
            }
            (None, None) => self.in_process(|context| condition.is_true(context)),
        };
        // Names that the frame lacks may be those of the function that accessed the data.
        answer.or_else(|error| {
            let there = self.in_hit_frame(thread, 0, |context| condition.is_true(context));
            there.map_err(|_| error)
        })
    }

    fn is_there(&self, thread: ThreadId) -> bool {
        let process = self.inferior.process.as_ref();
        process.is_some_and(|it| it.threads.contains_key(&thread))
    }

    /// Runs `use_it` in a frame of a thread that is stopped without a report; `None`: the frame has
    /// ended.
    fn in_own_frame<T>(
        &mut self,
        own: &OwnFrame,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Option<Result<T, Error>> {
        let mut levels = 1;
        let place = loop {
            let Ok(stack) = self.unwound(own.thread, levels) else {
                break None;
            };
            let is_own = |cfa: LoadAddr| cfa == own.cfa;
            let index = stack
                .physical
                .iter()
                .position(|it| !it.is_tail_call && it.cfa.is_some_and(is_own));
            let found = index.and_then(|index| {
                let physical = stack.physical.get(index)?;
                let (function, bias) = physical.function.as_ref()?;
                let frames = function.frames_at(bias.file(physical.address.lookup()));
                let depth = frames
                    .iter()
                    .position(|frame| frame.scopes.first().is_some_and(|it| it.id == own.scope))?;
                Some((index, depth, physical.level))
            });
            let is_below = stack
                .physical
                .iter()
                .any(|it| it.cfa.is_some_and(|cfa| cfa > own.cfa));
            if index.is_some() || is_below || stack.complete || levels > MAX_FRAMES {
                break found;
            }
            levels *= 2;
        };
        let stack = self.take_stack(own.thread)?;
        let (index, depth, level) = place?;
        let key = FrameKey {
            thread: own.thread,
            level: level + depth,
        };
        let physical = stack.physical.get(index)?;
        Some(self.in_physical_frame(key, physical, (index, depth), use_it))
    }
}
