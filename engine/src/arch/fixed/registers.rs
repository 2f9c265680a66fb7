//! Names of registers.

use dwarf::Register;

pub fn name(register: Register) -> String {
    format!("f{}", register.0)
}
