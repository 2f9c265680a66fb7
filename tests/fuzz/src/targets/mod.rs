//! What an input is taken for. Each target asks `dwarf` everything that a debugger would ask
//! of such a file; whatever the answers are, there must be some.
//!
//! An input is a few parts with [`MARK`] between them, so that bytes can be put in and taken
//! out of one without moving the others.

mod cfi;
mod image;
mod info;
mod line;
mod location;
mod names_cache;
mod object;
mod property_list;
mod swift_name;

pub use cfi::cfi;
pub use info::info;
pub use line::line;
pub use location::location;
pub use names_cache::names_cache;
pub use object::object;
pub use property_list::property_list;
pub use swift_name::swift_name;

use dwarf::{LoadAddr, Machine, Memory, Register, Registers, Unreadable};
use std::path::Path;

/// What parts an input (`mark.dict`, `seeds.sh`).
pub const MARK: &[u8] = b"-=8<=-";

/// The parts of an input; those that are not there are empty.
fn parts<const N: usize>(mut data: &[u8]) -> [&[u8]; N] {
    let mut parts: [&[u8]; N] = [&[]; N];
    for part in &mut parts {
        let end = data
            .windows(MARK.len())
            .position(|window| window == MARK)
            .unwrap_or(data.len());
        *part = &data[..end];
        data = data.get(end + MARK.len()..).unwrap_or(&[]);
    }
    parts
}

/// Writes a file anew: the old one stays mapped, and changing it would cost more with every
/// mapping of it.
fn replace(path: &Path, contents: &[u8]) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, contents).expect("write to the temporary folder");
}

/// Memory that can be read everywhere but in the first page, and repeats itself.
struct Repeating<'a>(&'a [u8]);

impl Memory for Repeating<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        if addr.0 < 0x1000 || self.0.is_empty() {
            let len = buffer.len();
            return Err(Unreadable { addr, len });
        }
        let start = (addr.0 % self.0.len() as u64) as usize;
        for (to, from) in buffer
            .iter_mut()
            .zip(self.0[start..].iter().chain(self.0.iter().cycle()))
        {
            *to = *from;
        }
        Ok(())
    }
}

/// Registers of these values; without enough of them, of addresses in the image's code.
fn registers(machine: Machine, values: &[u8]) -> Registers {
    let mut registers = Registers::new(machine);
    for number in 0..34 {
        let at = usize::from(number) * 8;
        let value = values
            .get(at..at + 8)
            .and_then(|value| value.try_into().ok());
        let value = value.map_or(0x1000 + 0x88 * u64::from(number), u64::from_le_bytes);
        registers.set(Register(number), value);
    }
    registers
}
