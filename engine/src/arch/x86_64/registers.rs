//! Names of registers.

use dwarf::register::x86_64::XMM0;
use dwarf::{Machine, Register};

/// Returns a register's name; empty if it has none.
pub fn name(register: Register) -> String {
    if let Some(vector) = register.0.checked_sub(XMM0.0)
        && vector < 16
    {
        return format!("xmm{vector}");
    }
    let mut names = Machine::X86_64.register_names().iter();
    let found = names.find(|(number, _)| *number == register);
    found.map_or_else(String::new, |(_, name)| (*name).to_owned())
}
