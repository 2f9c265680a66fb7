//! The instructions that a jump replaces.

use super::x86_64::function_code::FunctionCode;
use super::{aarch64, x86_64};
use crate::arch::{Arch, Instruction};
use dwarf::{LoadAddr, LoadBias, Memory, Module};

/// The instructions that a jump replaces.
#[derive(Clone, Debug)]
pub struct PatchedRange {
    /// The instructions in order, the one at the site first.
    pub instructions: Vec<Instruction>,
    /// The address after them.
    pub end: LoadAddr,
    /// The last bytes of the jump, which are the first ones of what follows: control may enter
    /// there, so they must not change.
    pub overlapped_bytes: Vec<u8>,
    /// Length of the jump.
    pub jump_bytes: usize,
}

/// Why a jump is refused, for users.
pub type PatchRefusal = &'static str;

/// No symbol or debug info says which function the site is in.
pub const UNKNOWN_FUNCTION: PatchRefusal = "not in a known function";
/// A write to the debuggee's memory failed.
pub const UNWRITABLE_MEMORY: PatchRefusal = "cannot write the program's memory";

impl PatchedRange {
    /// Returns the instructions that a jump at `site` in an image would replace. `others` are sites
    /// behind it, in order.
    ///
    /// # Errors
    /// The obstacle.
    pub fn find(
        arch: Arch,
        site: LoadAddr,
        (module, bias): (&Module, LoadBias),
        memory: &dyn Memory,
        others: &[LoadAddr],
    ) -> Result<PatchedRange, PatchRefusal> {
        match arch {
            Arch::X86_64 => {
                let code = FunctionCode::read(module, bias, site, memory)?;
                x86_64::window::at(site, &code, others)
            }
            Arch::Aarch64 => aarch64::window::at(site, memory),
            #[cfg(test)]
            Arch::Fixed => Err("no code is generated for this set"),
        }
    }

    /// Returns how many bytes of the jump do not belong to what follows.
    pub fn own(&self) -> usize {
        self.jump_bytes - self.overlapped_bytes.len()
    }

    /// Returns the address after the jump and all instructions that it replaces.
    pub fn reaches_to(&self, site: LoadAddr) -> LoadAddr {
        self.end.max(site + self.jump_bytes as u64)
    }
}
