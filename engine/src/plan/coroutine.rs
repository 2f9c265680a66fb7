//! Steps in an `async fn`: a person who steps over an `.await` waits for the same future.

use super::{Target, View};
use dwarf::{LoadAddr, Register};

/// The future whose body a step begins in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coroutine {
    /// Where its state is; it is pinned.
    pub state: LoadAddr,
    /// Where the number of the state is that it is in, and how many bytes it has.
    pub discriminant: (LoadAddr, usize),
    /// The function that resumes it.
    pub entry: LoadAddr,
}

/// rustc numbers the states: not begun, done, panicked, and from here on where it waits.
const FIRST_WAITING: u64 = 3;

impl Coroutine {
    /// Whether it waits for something.
    pub fn is_waiting(&self, view: &View<'_>) -> bool {
        let (addr, size) = self.discriminant;
        let state = view.memory.read_uint(addr, size);
        state.is_ok_and(|state| state >= FIRST_WAITING)
    }

    /// Whether the thread is about to resume it: its state is the first argument (rdi).
    pub fn is_resumed(&self, view: &View<'_>) -> bool {
        view.registers.pc() == self.entry && view.registers.get(Register(5)) == Some(self.state.0)
    }

    /// Where it will be resumed.
    pub fn resumption(&self) -> Target {
        Target {
            addr: self.entry,
            sp: 0,
        }
    }
}
