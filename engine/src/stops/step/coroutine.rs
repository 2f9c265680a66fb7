//! Steps in an `async fn`: a step over an `.await` waits for the same future.

use super::{Target, View};
use dwarf::{LoadAddr, Register};

/// The future in whose body a step begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coroutine {
    /// Address of its state, which is pinned.
    pub state: LoadAddr,
    /// Address and size of the discriminant of its state.
    pub discriminant: (LoadAddr, usize),
    /// The function that resumes it.
    pub entry: LoadAddr,
}

/// rustc's state numbers: 0 not begun, 1 done, 2 panicked, and the suspension points from here on.
const FIRST_WAITING: u64 = 3;

impl Coroutine {
    /// Returns whether it is suspended.
    pub fn is_waiting(&self, view: &View<'_>) -> bool {
        let (addr, size) = self.discriminant;
        let state = view.memory.read_uint(addr, size);
        state.is_ok_and(|state| state >= FIRST_WAITING)
    }

    /// Returns whether the thread is about to resume it: its state is the first argument, or the
    /// second one after the address of a result in memory.
    pub fn is_resumed(&self, view: &View<'_>) -> bool {
        let mut arguments = view.arch().convention().integers.iter().take(2);
        let is_state = |register: &Register| view.registers.get(*register) == Some(self.state.0);
        view.registers.pc() == self.entry && arguments.any(is_state)
    }

    /// Returns the address at which it will be resumed.
    pub fn resumption(&self) -> Target {
        Target {
            addr: self.entry,
            sp: 0,
        }
    }
}
