//! Pure unwinding: registers of a frame, memory and modules in; the caller's registers out.

use crate::addr::{LoadAddr, LoadBias};
use crate::error::Error;
use crate::memory::Memory;
use crate::module::Module;
use crate::register::Registers;

/// The images of a process.
pub trait ModuleMap {
    /// The image that holds `addr`, and where it is loaded.
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)>;
}

/// An address of a frame, and whether it is where execution is or where it returns to: the
/// instruction to look up is the one before a return address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameAddress {
    /// Execution is here (innermost frame, or interrupted by a signal).
    Pc(LoadAddr),
    /// Execution comes back here.
    ReturnAddress(LoadAddr),
}

impl FrameAddress {
    /// The address itself.
    pub fn addr(self) -> LoadAddr {
        match self {
            FrameAddress::Pc(addr) | FrameAddress::ReturnAddress(addr) => addr,
        }
    }

    /// The address to look up in line tables and location lists.
    pub fn lookup(self) -> LoadAddr {
        match self {
            FrameAddress::Pc(addr) => addr,
            FrameAddress::ReturnAddress(addr) => addr - 1,
        }
    }
}

/// One step up the stack.
#[derive(Clone, Debug)]
pub struct Unwound {
    /// The canonical frame address of the frame that was left.
    pub cfa: LoadAddr,
    /// The caller and the kind of its address; `None` at the outermost frame.
    pub caller: Option<(FrameAddress, Registers)>,
    /// The frame that was left is a signal trampoline.
    pub signal_frame: bool,
}

/// Unwinds and remembers the rules it used.
#[derive(Default)]
pub struct Unwinder {
    _private: (),
}

impl Unwinder {
    /// No rule known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all rules: to be called when an image is unloaded or replaced.
    pub fn clear(&mut self) {}

    /// Steps from the frame at `address` with `registers` to its caller.
    ///
    /// # Errors
    /// The stack cannot be read, or nothing says how to go on: what was found so far stands.
    pub fn unwind(
        &mut self,
        _modules: &dyn ModuleMap,
        _memory: &dyn Memory,
        _address: FrameAddress,
        _registers: &Registers,
    ) -> Result<Unwound, Error> {
        todo!()
    }
}

#[allow(unused)]
fn _unused(_: &Module) {}
