//! Variables of the function around a nested function of GNU C, in the frame that its own is linked to.

use super::{FramePosition, FrameScope};
use crate::debugger::call::Replay;
use crate::debugger::stack::PhysicalFrame;
use crate::expr::EvalContext;
use crate::ids::error::Error;
use crate::inspect::value::Value;
use crate::memory::ProcessMemory;
use dwarf::{FrameAddress, Function, LoadAddr, Registers, VariableKind};
use std::cell::OnceCell;
use std::sync::Arc;

/// Maximum number of frames between a nested function and the one around it.
const DEEPEST: usize = 1 << 14;
/// The number of a machine frame that no stack has: registers of such a frame are only read.
const NO_FRAME: usize = usize::MAX;

impl FrameScope<'_> {
    /// Returns a variable by name of the functions around a nested one.
    ///
    /// # Errors
    /// The frame of such a function cannot be found; the variable exists but has no place.
    pub(super) fn of_enclosing(&self, name: &str) -> Result<Option<Value>, Error> {
        let Some((loaded, function)) = self.loaded().zip(self.function()) else {
            return Ok(None);
        };
        if !loaded.module.encloses(function, name) {
            return Ok(None);
        }
        self.in_enclosing(|scope| scope.local(name))?
    }

    /// Returns the names of the variables of the functions around a nested one.
    pub(super) fn names_of_enclosing(&self) -> Vec<String> {
        self.in_enclosing(|scope| scope.names()).unwrap_or_default()
    }

    /// Runs `use_it` in the frame that the frame of a nested function is linked to.
    fn in_enclosing<T>(&self, use_it: impl FnOnce(&FrameScope<'_>) -> T) -> Result<T, Error> {
        let none = || Error::Unsupported("no function around this one".into());
        let place = self.frame.ok_or_else(none)?;
        let (loaded, function) = self.loaded().zip(self.function()).ok_or_else(none)?;
        let around = loaded
            .module
            .enclosing_function(function)
            .ok_or_else(none)?;
        let (link, ..) = self.in_context(
            &loaded.module,
            loaded.bias,
            VariableKind::Local,
            None,
            |context| loaded.module.frame_of_enclosing(function, context),
        );
        let physical = self.frame_at(link?, &around)?;
        let scope = FrameScope {
            frame: Some(FramePosition {
                key: place.key,
                physical: &physical,
                index: NO_FRAME,
                inner: physical.levels.saturating_sub(1),
                callees: &[],
            }),
            replay: &mut Replay::default(),
            os: self.os,
            memory: ProcessMemory { ..self.memory },
            modules: self.modules,
            unwinder: self.unwinder,
            tail_calls: self.tail_calls,
            cancel: self.cancel,
            results: self.results,
            subject: self.subject,
            register_writes: Vec::new(),
            is_prepared: false,
            written: None,
            extended: OnceCell::new(),
        };
        Ok(use_it(&scope))
    }

    /// Returns the frame of a function with this canonical frame address, among the callers of this frame.
    fn frame_at(&self, cfa: LoadAddr, function: &Arc<Function>) -> Result<PhysicalFrame, Error> {
        let gone = || {
            Error::Unsupported(format!(
                "the call of `{}` that this function belongs to is not on the stack",
                function.name
            ))
        };
        let frame = self.frame.ok_or_else(gone)?.physical;
        let mut next = self.unwound(frame.address, &frame.registers);
        for _ in 0..DEEPEST {
            let (address, registers) = next.and_then(|it| it.caller).ok_or_else(gone)?;
            let here = self.unwound(address, &registers);
            if here.as_ref().is_some_and(|it| it.cfa == cfa) {
                return self
                    .frame_of(function, address, registers, cfa)
                    .ok_or_else(gone);
            }
            next = here;
        }
        Err(gone())
    }

    fn frame_of(
        &self,
        function: &Arc<Function>,
        address: FrameAddress,
        registers: Registers,
        cfa: LoadAddr,
    ) -> Option<PhysicalFrame> {
        let loaded = self.modules.at(address.lookup())?;
        let addr = loaded.bias.file(address.lookup());
        let found = loaded.module.function_at(addr)?;
        (found.id == function.id).then(|| PhysicalFrame {
            levels: found.frames_at(addr).len(),
            function: Some((found, loaded.bias)),
            cfa: Some(cfa),
            ..PhysicalFrame::at(address, registers)
        })
    }
}
