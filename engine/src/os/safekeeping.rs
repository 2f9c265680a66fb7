//! [`Safekeeping`]: what happens to processes if the debugger ends without cleaning up.

use crate::arch::SPIN_LOOP_BYTES;
use dwarf::LoadAddr;

/// Restores processes that outlive the debugger, however it ends.
pub trait Safekeeping {
    /// Registers the patch at an address of a process that was attached to, or that there is none
    /// (`None`), so that the code is restored if the debugger is killed.
    fn guard(&self, addr: LoadAddr, patch: Option<GuardedPatch<'_>>);
    /// Returns how many bytes of code the backend wants in the process for a refuge: threads that make system
    /// calls for the debugger are there if it is killed. `None`: it needs none, or has one.
    fn refuge_bytes(&self) -> Option<usize> {
        None
    }
    /// Makes the refuge at an address where so many bytes of executable memory are free.
    fn set_refuge(&self, _at: LoadAddr) {}
    /// Writes `original` in an untraced process if it has `bytes` there. Stops it for that, so that
    /// it never executes a half-written instruction. Returns false if it is still traced.
    fn restore_code(&mut self, pid: i32, addr: LoadAddr, bytes: &[u8], original: &[u8]) -> bool;
    /// Registers an action for a process that is no longer traced, to be carried out when the
    /// debugger ends in any way; `None`: there is nothing to do. Replaces an earlier one.
    fn set_duty(&mut self, pid: i32, duty: Option<Duty>);
    /// Kills a process that has a registered action.
    fn kill_left(&mut self, pid: i32);
}

/// Code that the debugger has patched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardedPatch<'a> {
    /// The program's bytes.
    pub original: &'a [u8],
    /// The bytes at the beginning by which the patch is recognised; with others there, the program
    /// has replaced it, and nothing is restored.
    pub patch: &'a [u8],
    /// Patches of a higher rank are restored first: they are jumps that overlap sites of a lower
    /// rank, whose bytes are part of the jump's offset.
    pub rank: u8,
}

/// An action for a process that is no longer traced, carried out when the debugger ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    /// Kill it: it was launched, and detached in favour of its child.
    Kill,
    /// Restore its code: it was detached for another debugger and spins in a loop. If that debugger
    /// does not take it over, the original code is restored, or the process is killed.
    RestoreCode {
        /// Address of the loop.
        at: LoadAddr,
        /// The loop.
        bytes: [u8; SPIN_LOOP_BYTES],
        /// The original bytes.
        original: [u8; SPIN_LOOP_BYTES],
        /// Whether it was launched, and is to be killed.
        launched: bool,
        /// Pid of the other debugger.
        to: i32,
    },
}
