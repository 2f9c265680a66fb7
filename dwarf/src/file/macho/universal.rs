//! Universal ("fat") files: images for several machines, one behind another.

use super::{HEADER, MAGIC};
use crate::file::object::{slice, u32_at};
use crate::ids::Machine;

/// `FAT_MAGIC` and `FAT_MAGIC_64`, both in big-endian order.
const FAT: u32 = 0xcafe_babe;
const FAT_64: u32 = 0xcafe_babf;
/// A class file of Java has the same magic number, then its version, which is 43 or more.
const MAX_IMAGES: u32 = 42;
/// The part of a subtype that is not about capabilities.
const SUBTYPE: u32 = 0x00ff_ffff;
/// `CPU_SUBTYPE_ARM64E`: code with pointer authentication.
const ARM64E: u32 = 2;

/// The image that is wanted of a universal file.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Wanted {
    /// Its machine; `None`: that of this process.
    pub(crate) machine: Option<Machine>,
    /// Its identity. Two images of a file may be for the same machine: arm64 and arm64e.
    pub(crate) uuid: Option<[u8; 16]>,
}

/// An image in a universal file.
struct Slice {
    machine: Machine,
    subtype: u32,
    data: &'static [u8],
}

/// Returns whether a file has the header of a universal one.
pub(super) fn is_universal(data: &[u8]) -> bool {
    matches!(big_u32(data, 0), Some(FAT | FAT_64))
        && big_u32(data, 4).is_some_and(|count| count <= MAX_IMAGES)
}

/// Returns the wanted image of a universal file: the one with the identity, else one for the
/// machine. Without a wanted machine it may be any, if there is none for this process.
///
/// # Errors
/// There is none.
pub(super) fn choose(data: &'static [u8], wanted: Wanted) -> Result<&'static [u8], String> {
    let mut all = slices(data);
    if let Some(uuid) = wanted.uuid
        && let Some(found) = all.iter().find(|it| uuid_of(it.data) == Some(uuid))
    {
        return Ok(found.data);
    }
    let machine = wanted.machine.unwrap_or_else(Machine::host);
    // Programs run as arm64; only those of the system are arm64e.
    all.sort_by_key(|slice| (slice.machine != machine, slice.subtype & SUBTYPE == ARM64E));
    let found = all.iter().find(|slice| match wanted.machine {
        Some(machine) => slice.machine == machine,
        None => matches!(slice.machine, Machine::X86_64 | Machine::Aarch64),
    });
    match (found, wanted.machine) {
        (Some(found), _) => Ok(found.data),
        (None, Some(machine)) => Err(format!("a universal file without code for {machine:?}")),
        (None, None) => Err("a universal file without code for x86-64 or arm64".to_owned()),
    }
}

fn slices(data: &'static [u8]) -> Vec<Slice> {
    let is_64 = big_u32(data, 0) == Some(FAT_64);
    let count = big_u32(data, 4).unwrap_or(0).min(MAX_IMAGES) as usize;
    let entry = |index: usize| {
        let size = if is_64 { 32 } else { 20 };
        let at = 8 + index * size;
        let number = |at| big_u32(data, at).map(u64::from);
        let (offset, size) = match is_64 {
            true => (
                number(at + 8)? << 32 | number(at + 12)?,
                number(at + 16)? << 32 | number(at + 20)?,
            ),
            false => (number(at + 8)?, number(at + 12)?),
        };
        Some(Slice {
            machine: Machine::of_macho(big_u32(data, at)?),
            subtype: big_u32(data, at + 4)?,
            data: slice(data, offset, size)?,
        })
    };
    (0..count).filter_map(entry).collect()
}

/// Returns the UUID of an image.
fn uuid_of(data: &'static [u8]) -> Option<[u8; 16]> {
    if u32_at(data, 0) != Some(MAGIC) {
        return None;
    }
    let commands = slice(data, HEADER as u64, u32_at(data, 20)?.into())?;
    super::commands::all(commands)
        .find_map(super::commands::uuid)?
        .try_into()
        .ok()
}

fn big_u32(data: &[u8], at: usize) -> Option<u32> {
    u32_at(data, at).map(u32::swap_bytes)
}
