//! Entering a frame: the scope in which expressions and variables of one frame are evaluated.

use super::{FramePosition, FrameScope};
use crate::debugger::Debugger;
use crate::debugger::call::Replay;
use crate::debugger::stack::PhysicalFrame;
use crate::ids::error::Error;
use crate::ids::{FrameKey, ThreadId};
use crate::inspect::registers::parts as register_parts;
use crate::inspect::value::RegisterPlace;
use std::cell::OnceCell;

impl Debugger {
    /// Runs `use_it` in a frame. A thread that is stopped while others run (during the evaluation
    /// of a breakpoint) has only its innermost frame.
    pub(crate) fn in_frame<T>(
        &mut self,
        key: FrameKey,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.replay_in_frame(key, &mut Replay::default(), use_it)
    }

    /// Like [`Debugger::in_frame`], with the results of calls that the evaluation has made before.
    /// A call that it needs next is in `replay` afterwards.
    pub(crate) fn replay_in_frame<T>(
        &mut self,
        key: FrameKey,
        replay: &mut Replay,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.inferior.is_visible_stop(key.thread) {
            return self.replay_in_hit_frame(key.thread, 0, replay, use_it);
        }
        self.unwound(key.thread, key.level + 1)?;
        let Some(stack) = self.take_stack(key.thread) else {
            return Err(Error::NoSuchThread(key.thread.0));
        };
        let before = self.inferior.writes();
        let (result, writes) = match stack.at(key.level) {
            Some((index, inner)) => match stack.physical.get(index) {
                Some(physical) => {
                    let callees = &stack.physical[..index];
                    let frame = Some(((key, physical, index, inner), callees));
                    self.with_scope(frame, replay, use_it)
                }
                None => (Err(Error::NoSuchFrame(key.level)), Vec::new()),
            },
            None => (Err(Error::NoSuchFrame(key.level)), Vec::new()),
        };
        if self.inferior.writes() != before {
            // A word that was written may be one in which a function keeps its caller's register.
            self.inferior.note_change();
        } else if writes.is_empty() {
            self.views.stacks.insert(key.thread, stack);
        }
        for (place, bytes) in writes {
            self.write_register(place, &bytes)?;
        }
        result
    }

    /// Runs `use_it` in the innermost frame of a thread that hit a site, without `hidden` inlined
    /// calls: in the frame of the requested location.
    pub(crate) fn in_hit_frame<T>(
        &mut self,
        thread: ThreadId,
        hidden: usize,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.replay_in_hit_frame(thread, hidden, &mut Replay::default(), use_it)
    }

    /// Like [`Debugger::in_hit_frame`], with the results of calls that the evaluation has made
    /// before.
    pub(crate) fn replay_in_hit_frame<T>(
        &mut self,
        thread: ThreadId,
        hidden: usize,
        replay: &mut Replay,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (address, registers) = self.innermost(thread)?;
        let mut frame = self.physical_frame(address, registers, 0);
        frame.cfa = self.cfa_of(&frame).ok();
        let inner = hidden.min(frame.levels.saturating_sub(1));
        let key = FrameKey { thread, level: 0 };
        let frame = Some(((key, &frame, 0, inner), &[][..]));
        self.with_scope(frame, replay, use_it).0
    }

    /// Runs `use_it` in a machine frame of a thread; `place`: its number, and the number of inlined
    /// calls inside the wanted one.
    pub(crate) fn in_physical_frame<T>(
        &self,
        key: FrameKey,
        physical: &PhysicalFrame,
        (index, inner): (usize, usize),
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let replay = &mut Replay::default();
        let frame = Some(((key, physical, index, inner), &[][..]));
        self.with_scope(frame, replay, use_it).0
    }

    /// Runs `use_it` without a frame.
    pub(crate) fn in_process<T>(
        &self,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_scope(None, &mut Replay::default(), use_it).0
    }

    #[allow(clippy::type_complexity)]
    fn with_scope<T>(
        &self,
        frame: Option<((FrameKey, &PhysicalFrame, usize, usize), &[PhysicalFrame])>,
        replay: &mut Replay,
        use_it: impl FnOnce(&mut FrameScope<'_>) -> Result<T, Error>,
    ) -> (Result<T, Error>, Vec<(RegisterPlace, Vec<u8>)>) {
        let mut scope = FrameScope {
            os: self.inferior.os(),
            memory: self.inferior.memory(),
            modules: &self.images.modules,
            unwinder: &self.views.unwinder,
            tail_calls: &self.views.tail_calls,
            cancel: self.views.cancel.as_deref(),
            frame: frame.map(|((key, physical, index, inner), callees)| FramePosition {
                key,
                physical,
                index,
                inner,
                callees,
            }),
            results: &self.views.results,
            replay,
            subject: frame.and_then(|((key, ..), _)| self.stops.exceptions.subject_of(key.thread)),
            register_writes: Vec::new(),
            is_prepared: self.is_prepared_for_change(),
            written: None,
            extended: OnceCell::new(),
        };
        let result = use_it(&mut scope);
        (result, scope.register_writes)
    }

    fn write_register(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        self.prepare_change()?;
        if self
            .images
            .modules
            .arch()
            .is_extended_register(place.register)
        {
            return self.write_extended(place, bytes);
        }
        let mut set = self
            .inferior
            .registers(place.thread)
            .ok_or(Error::NoSuchThread(place.thread.0))?;
        let old = set.get(place.register).unwrap_or(0);
        let value = register_parts::written(old, bytes);
        if bytes.len() > 8 || !set.set(place.register, value) {
            return Err(Error::Unsupported("cannot write this register".into()));
        }
        if !self.inferior.set_registers_of(place.thread, set) {
            return Err(Error::NoSuchThread(place.thread.0));
        }
        Ok(())
    }

    /// Writes the first bytes of an extended register.
    fn write_extended(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        let gone = Error::NoSuchThread(place.thread.0);
        let mut area = self
            .inferior
            .os()
            .extended_registers(place.thread)
            .ok_or(gone)?;
        let arch = self.images.modules.arch();
        let there = arch.write_extended_register(place.register, &mut area, bytes);
        match there && self.inferior.set_extended_registers(place.thread, &area) {
            true => Ok(()),
            false => Err(Error::Unsupported(
                "the processor rejects this value for the register".into(),
            )),
        }
    }
}
