//! Inspection of a stopped process: stacks, variables, registers, expressions.

use super::{Debugger, RegisterGroup};
use crate::debugger::call::Replay;
use crate::debugger::stack::{Frame, Stack};
use crate::expr::{Completion, EvalContext, Expression, Purpose};
use crate::ids::FrameKey;
use crate::ids::ThreadId;
use crate::ids::error::Error;
use crate::inspect::abi::{self, Returning};
use crate::inspect::value::scalar::NumberFormat;
use crate::inspect::value::{
    ChildBatch, ChildFilter, Limits, Named, Objects, Presentation, Ty, Value, ValueLocation,
};
use crate::stops::step::ReturnedFunction;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of results to keep; beyond it, only the last one.
const MAX_RESULTS: usize = 10_000;

/// The result of an expression.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The value.
    pub value: Value,
    /// The format of its integers, if the expression has one.
    pub numbers: Option<NumberFormat>,
    /// The expression without its format specifiers.
    pub expression: String,
}

impl Debugger {
    /// Returns a part of a thread's stack; `levels` `None`: everything from `start` on. The list is
    /// empty beyond the end.
    ///
    /// # Errors
    /// Not stopped, no such thread. A stack that cannot be unwound further just ends.
    pub fn stack(
        &mut self,
        thread: ThreadId,
        start: usize,
        levels: Option<usize>,
    ) -> Result<Stack, Error> {
        self.stopped_thread(thread)?;
        self.stack_page(thread, start, levels)
    }

    /// Returns the arguments and locals visible in a frame, innermost scope last; the name of a
    /// shadowed variable says so.
    ///
    /// # Errors
    /// Not stopped, no such frame.
    pub fn locals(&mut self, frame: FrameKey) -> Result<Vec<Named>, Error> {
        self.stopped_thread(frame.thread)?;
        self.in_frame(frame, |scope| scope.locals())
    }

    /// Returns the parameters of a frame's function in order, including unnamed ones.
    ///
    /// # Errors
    /// Not stopped, no such frame.
    pub fn parameters(&mut self, frame: FrameKey) -> Result<Vec<Named>, Error> {
        self.stopped_thread(frame.thread)?;
        self.in_frame(frame, |scope| scope.shown_parameters())
    }

    /// Returns the variables of static storage in a frame's unit that are not local to a function.
    ///
    /// # Errors
    /// Not stopped, no such frame, cancelled.
    pub fn globals(&mut self, frame: FrameKey) -> Result<Vec<Named>, Error> {
        self.stopped_thread(frame.thread)?;
        self.in_frame(frame, |scope| scope.globals())
    }

    /// Returns whether a frame's unit has variables of static storage, without reading them.
    pub fn has_globals(&mut self, frame: FrameKey) -> bool {
        self.in_frame(frame, |scope| Ok(scope.has_globals()))
            .unwrap_or(false)
    }

    /// Returns whether [`Debugger::returned`] has a value, without reading it.
    pub fn has_returned(&self, frame: FrameKey) -> bool {
        self.returned_from(frame).is_some_and(|(function, ty)| {
            let arch = self.inferior.arch;
            match abi::returning(arch, &ty, function.function.language) {
                Returning::Registers(_) => true,
                Returning::Memory => {
                    arch.convention().returned_address.is_some() || function.place.is_some()
                }
                Returning::Unknown => false,
            }
        })
    }

    /// Returns the function that was just stepped out of into a frame, and its return type.
    fn returned_from(&self, frame: FrameKey) -> Option<(Arc<ReturnedFunction>, Ty)> {
        let function = self.threads.get(&frame.thread)?.returned.clone()?;
        let ty = function.function.return_type?;
        let ty = Ty::dwarf(&function.module, function.bias, ty);
        (frame.level == 0).then_some((function, ty))
    }

    /// Returns the return value of the function that was just stepped out of into this frame, under
    /// the function's name.
    pub fn returned(&mut self, frame: FrameKey) -> Option<Named> {
        let (function, ty) = self.returned_from(frame)?;
        let thread = frame.thread;
        let language = function.function.language;
        let value = self.value_returned(thread, &ty, language, function.place)?;
        Some(Named {
            name: format!("{}()", function.function.name),
            expression: None,
            value: Ok(value),
            is_parameter: false,
            declaration: function.function.declaration.clone(),
        })
    }

    /// Returns the value of a type in the registers of a thread that returns from a function, or has just
    /// returned. `place`: where a result in memory is, if no register tells it.
    pub(crate) fn value_returned(
        &mut self,
        thread: ThreadId,
        ty: &Ty,
        language: dwarf::Language,
        place: Option<dwarf::LoadAddr>,
    ) -> Option<Value> {
        let (_, registers) = self.innermost(thread).ok()?;
        let arch = self.inferior.arch;
        let st0 = || arch.float_stack_top(&self.inferior.os().extended_registers(thread)?);
        abi::returned(ty, language, &registers, &st0, place)
    }

    /// Returns a group of a frame's registers, as far as they are known.
    ///
    /// # Errors
    /// Not stopped, no such frame.
    pub fn registers(
        &mut self,
        frame: FrameKey,
        group: RegisterGroup,
    ) -> Result<Vec<Named>, Error> {
        self.stopped_thread(frame.thread)?;
        self.in_frame(frame, |scope| Ok(scope.register_group(group)))
    }

    /// Returns the parts of a register: smaller registers, or a vector as lanes of each kind. Empty
    /// if it has no parts.
    ///
    /// # Errors
    /// Not stopped, no such frame.
    pub fn register_parts(&mut self, frame: FrameKey, register: &str) -> Result<Vec<Named>, Error> {
        self.stopped_thread(frame.thread)?;
        self.in_frame(frame, |scope| Ok(scope.register_parts(register)))
    }

    /// Evaluates an expression in a frame; `None` is the innermost frame of the stopped thread.
    ///
    /// # Errors
    /// Not stopped; the expression's own errors, [`Error::Eval`] with positions in `expression`.
    /// [`Error::Calling`]: a call into the program is in progress; repeat the request with the same
    /// text after [`crate::Event::CallEnded`].
    pub fn evaluate(
        &mut self,
        frame: Option<FrameKey>,
        expression: &str,
        purpose: Purpose,
    ) -> Result<Evaluated, Error> {
        self.stopped()?;
        let requested = (frame, expression.to_owned());
        let mut replay = std::mem::take(&mut self.calls.replay);
        if replay.expression != requested {
            replay = Replay::default();
            replay.expression = requested;
        }
        let evaluate = |scope: &mut crate::debugger::frame::FrameScope<'_>| {
            let expression = Expression::parse(expression, scope.language())?;
            Ok(Evaluated {
                value: expression.evaluate(scope, purpose)?,
                numbers: expression.numbers(),
                expression: expression.value_text().to_owned(),
            })
        };
        let mut evaluated = self.in_some_frame(frame, &mut replay, evaluate);
        if let Err(Error::Unprepared) = evaluated {
            self.prepare_change()?;
            evaluated = self.in_some_frame(frame, &mut replay, evaluate);
        }
        let wanted = replay.wanted.take();
        if let (Err(Error::Calling), Some(call)) = (&evaluated, wanted) {
            self.calls.replay = replay;
            let thread = frame
                .map(|frame| frame.thread)
                .or_else(|| self.current_thread());
            self.begin_call(thread.ok_or(Error::NoProcess)?, call, purpose)?;
            return Err(Error::Calling);
        }
        let place = match &evaluated {
            Ok(evaluated) => match evaluated.value.place {
                ValueLocation::Memory(addr, None) => Some(addr),
                _ => None,
            },
            Err(Error::Unreadable(unreadable)) => Some(unreadable.addr),
            Err(_) => None,
        };
        match place.and_then(|addr| self.not_loaded_there(addr)) {
            Some(why) => Err(why),
            None => evaluated,
        }
    }

    /// Makes a value available to expressions: as `$1` if it is the first one, and as `$_` until
    /// the next one. Small values, and parts that are not in memory, keep their present bytes.
    pub fn remember_result(&mut self, value: &Value) {
        self.views.results.truncate(MAX_RESULTS - 1);
        let kept = self.with_present_bytes(value);
        self.views.results.push(kept);
    }

    /// Returns a value that keeps its present bytes if it has at most 16: also when its variable is
    /// gone, it is the same number, or points to the same object.
    pub fn with_present_bytes(&self, value: &Value) -> Value {
        let mut kept = value.clone();
        if let (ValueLocation::Memory(addr, None), Some(size @ 1..=16)) =
            (&value.place, value.ty.size())
            && let Ok(bytes) = self.in_process(|scope| value.place.read(scope, size as usize))
        {
            let mut few = [0; 16];
            few[..bytes.len()].copy_from_slice(&bytes);
            kept.place = ValueLocation::Memory(*addr, Some((few, bytes.len() as u8)));
        }
        kept
    }

    /// Returns the completions at byte `at` of an unfinished expression, and the range of bytes
    /// that they replace.
    ///
    /// # Errors
    /// Not stopped, no such frame.
    pub fn complete(
        &mut self,
        frame: Option<FrameKey>,
        text: &str,
        at: usize,
    ) -> Result<(Range<usize>, Vec<Completion>), Error> {
        self.stopped()?;
        self.in_some_frame(frame, &mut Replay::default(), |scope| {
            Ok(crate::expr::complete(scope, text, at))
        })
    }

    /// Assigns the value of an expression (in `frame`) to a value that has a place. Returns the new
    /// value.
    ///
    /// # Errors
    /// Not stopped, no place, the text is not a value of the type.
    pub fn assign(
        &mut self,
        frame: Option<FrameKey>,
        target: &Value,
        expression: &str,
    ) -> Result<Value, Error> {
        self.stopped()?;
        self.prepare_change()?;
        self.in_some_frame(frame, &mut Replay::default(), |scope| {
            crate::expr::assign(scope, target, expression)
        })
    }

    fn in_some_frame<T>(
        &mut self,
        frame: Option<FrameKey>,
        replay: &mut Replay,
        use_it: impl FnOnce(&mut crate::debugger::frame::FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let frame = frame.or_else(|| {
            self.current_thread()
                .map(|thread| FrameKey { thread, level: 0 })
        });
        match frame {
            Some(frame) => {
                self.stopped_thread(frame.thread)?;
                self.replay_in_frame(frame, replay, use_it)
            }
            None => self.in_process(use_it),
        }
    }

    /// Formats a value for users: one line, and its expandable children.
    pub fn present(&mut self, value: &Value, limits: &Limits) -> Presentation {
        self.in_process(|scope| Ok(crate::inspect::value::present(scope, value, limits)))
            .unwrap_or_default()
    }

    /// Formats a value like [`Debugger::present`], with pointers annotated by the numbers of
    /// `objects` ([`Limits::pointees`]).
    pub fn present_with(
        &mut self,
        value: &Value,
        limits: &Limits,
        objects: &mut Objects,
    ) -> Presentation {
        self.in_process(|scope| {
            Ok(crate::inspect::value::present_with(
                scope, value, limits, objects,
            ))
        })
        .unwrap_or_default()
    }

    /// Returns whether a frame is in library code: it matches the step filters
    /// ([`crate::StepFilters`]), has no lines, or is in a system image without sources on this
    /// machine.
    pub fn is_library(&self, frame: &Frame) -> bool {
        let Some(place) = &frame.location else {
            return true;
        };
        let module = frame.module.and_then(|id| self.images.modules.get(id));
        let of_the_system = module.is_some_and(|module| module.is_of_the_system());
        self.stops.step_filters.skips(&place.file)
            || of_the_system && !self.stops.step_filters.is_at_hand(&place.file)
    }

    /// Returns whether an image belongs to the system rather than to the user.
    pub fn is_of_the_system(&self, module: Option<crate::ModuleId>) -> bool {
        let loaded = module.and_then(|id| self.images.modules.get(id));
        loaded.is_some_and(|loaded| loaded.is_of_the_system())
    }

    /// Returns children of a value: those of `which` kind in `range`, numbered as in
    /// [`Presentation`]. If there are many, only the first ones; `range` becomes the rest. `frame`: of the
    /// thread whose thread-local members an object shows.
    ///
    /// # Errors
    /// Not stopped, cancelled, no such frame. An unreadable child has the error as its value.
    pub fn next_children(
        &mut self,
        value: &Value,
        frame: Option<FrameKey>,
        which: ChildFilter,
        range: &mut Range<u64>,
    ) -> Result<ChildBatch, Error> {
        use crate::inspect::value::next_children;
        self.stopped()?;
        match frame.filter(|key| self.inferior.is_visible_stop(key.thread)) {
            Some(key) => self.in_frame(key, |scope| next_children(scope, value, which, range)),
            None => self.in_process(|scope| next_children(scope, value, which, range)),
        }
    }
}
