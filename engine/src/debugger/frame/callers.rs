//! Data for conditions about their thread: its name and number, and its callers.

use super::FrameScope;
use crate::inspect::value::location::Bytes;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{Ty, Value, ValueLocation};
use dwarf::FrameAddress;

/// Maximum number of frames that are searched for a caller.
pub(crate) const MAX_FRAMES: usize = 1 << 16;

impl FrameScope<'_> {
    /// Returns `$thread` or `$thread_name`.
    pub(super) fn of_thread(&self, name: &str) -> Option<Value> {
        let thread = self.frame?.key.thread;
        match name {
            "thread" => {
                let int = Scalar::new(ScalarKind::Signed, 4);
                Some(Value::builtin(int, "int", thread.0 as u128))
            }
            "thread_name" => {
                // Any thread's number names its directory in procfs, too.
                let name = self.os.thread_name(thread.0, thread);
                Some(Value::new(
                    Ty::Text,
                    ValueLocation::Bytes(Bytes::new(name.as_bytes())),
                ))
            }
            _ => None,
        }
    }

    /// Returns whether the caller of that number (0: the frame itself) is a function of that name;
    /// without a number, whether any caller is, the frame itself included.
    pub(super) fn is_called_from(&self, typed: &str, number: Option<usize>) -> bool {
        let mut seen = 0;
        let mut found = false;
        self.visit_callers(&mut |name| {
            let wanted = number.is_none_or(|number| number == seen);
            found = wanted && dwarf::name_matches(name, typed);
            let is_last = number == Some(seen);
            seen += 1;
            found || is_last
        });
        found
    }

    /// Returns the names of the functions on the stack, innermost first, at most `most`.
    pub(crate) fn callers(&self, most: usize) -> Vec<String> {
        let mut names = Vec::new();
        self.visit_callers(&mut |name| {
            names.push(if name.is_empty() { "??" } else { name }.to_owned());
            names.len() >= most
        });
        names
    }

    /// Returns the name of the function whose code this is, of which calls may be inlined in it.
    pub(crate) fn function_with_code(&self) -> Option<String> {
        let place = self.frame?;
        let mut last = None;
        self.visit_calls(place.physical.address, 0, &mut |name| {
            last = Some(name.to_owned());
            false
        });
        last
    }

    /// Visits the names of the functions on the stack, innermost first; `visit` returns true to end
    /// that.
    fn visit_callers(&self, visit: &mut dyn FnMut(&str) -> bool) {
        let Some(place) = self.frame else {
            return;
        };
        let mut skip = place.inner;
        let mut address = place.physical.address;
        let mut registers = place.physical.registers.clone();
        for _ in 0..MAX_FRAMES {
            if self.visit_calls(address, skip, visit) || self.is_cancelled() {
                break;
            }
            skip = 0;
            match self
                .unwound(address, &registers)
                .and_then(|unwound| unwound.caller)
            {
                Some(caller) => (address, registers) = caller,
                None => break,
            }
        }
    }

    /// Visits the names of the calls in a machine frame, innermost first. Returns true if `visit`
    /// has ended the visit.
    fn visit_calls(
        &self,
        address: FrameAddress,
        skip: usize,
        visit: &mut dyn FnMut(&str) -> bool,
    ) -> bool {
        let Some(loaded) = self.modules.at(address.lookup()) else {
            return visit("");
        };
        let addr = loaded.bias.file(address.lookup());
        match loaded.module.function_at(addr) {
            Some(function) => {
                let frames = function.frames_at(addr);
                frames.iter().skip(skip).any(|frame| visit(frame.name))
            }
            None => match loaded.module.symbol_at(addr) {
                Some(symbol) => visit(&dwarf::demangle_short(symbol.name)),
                None => visit(""),
            },
        }
    }

    fn is_cancelled(&self) -> bool {
        crate::inspect::value::Target::cancelled(self)
    }
}
