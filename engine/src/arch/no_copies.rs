//! Instruction sets whose copies are not followed, as nothing is recorded on them: each value is computed where
//! it is found.

use super::RegisterFile;
use super::copies::{Copying, Held};
use dwarf::Register;

pub fn stored<T>(_: &T, _: Held, _: &impl RegisterFile) -> Copying {
    Copying::Computed
}

pub fn loaded<T>(_: &T, _: Held, _: &impl RegisterFile) -> Copying {
    Copying::Computed
}

pub fn sets<T>(_: &T, _: Register) -> bool {
    false
}
