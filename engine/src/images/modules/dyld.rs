//! The list of images of macOS's dynamic loader (`mach-o/dyld_images.h`), and the headers of images in
//! memory (`mach-o/loader.h`).

use super::list::{Change, Entry, MAX_IMAGES};
use crate::os::Mapping;
use dwarf::{LoadAddr, LoadBias, Memory};
use rustc_hash::FxHashMap;

/// The functions that the loader calls when its list has changed, in the order in which it came to
/// have them, latest first.
pub const FUNCTIONS: [&str; 3] = [
    "lldb_image_notifier",
    "_dyld_debugger_notification",
    "gdb_image_notifier",
];

// `struct dyld_all_image_infos`
const COUNT: u64 = 4;
const ARRAY: u64 = 8;
const NOTIFICATION: u64 = 16;
const LOADER: u64 = 32;
/// Size of a `struct dyld_image_info`: the address of the image, that of its path, a time.
const INFO_BYTES: usize = 24;

/// `MH_MAGIC_64`
const MAGIC: u32 = 0xfeed_facf;
/// Size of a `struct mach_header_64`.
const HEADER_BYTES: usize = 32;
/// More than the load commands of any image have.
const MAX_COMMANDS: u32 = 1 << 18;
const LC_SEGMENT_64: u32 = 0x19;
const LC_UUID: u32 = 0x1b;

/// The type of an image in its header (`filetype`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `MH_EXECUTE`
    Program,
    /// `MH_DYLINKER`
    Loader,
    /// A library, and others.
    Other,
}

/// What the header of an image in memory tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    pub kind: Kind,
    pub bias: LoadBias,
    pub uuid: Option<[u8; 16]>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Reads the header of an image; `None` if there is none at an address.
pub fn header(at: LoadAddr, memory: &dyn Memory) -> Option<Header> {
    let mut fixed = [0; HEADER_BYTES];
    memory.read(at, &mut fixed).ok()?;
    let len = word(&fixed, 20)?;
    if word(&fixed, 0)? != MAGIC || len > MAX_COMMANDS {
        return None;
    }
    let kind = match word(&fixed, 12)? {
        2 => Kind::Program,
        7 => Kind::Loader,
        _ => Kind::Other,
    };
    let mut commands = vec![0; len as usize];
    memory.read(at + HEADER_BYTES as u64, &mut commands).ok()?;
    let (mut text, mut uuid) = (None, None);
    let mut rest = &commands[..];
    while let (Some(command), Some(size)) = (word(rest, 0), word(rest, 4)) {
        let this = rest.get(..size as usize).filter(|it| it.len() >= 8)?;
        match command {
            LC_SEGMENT_64 if this.get(8..24)?.starts_with(b"__TEXT\0") => {
                text = Some(long(this, 24)?);
            }
            LC_UUID => uuid = this.get(8..).and_then(|it| it.first_chunk().copied()),
            _ => {}
        }
        rest = &rest[this.len()..];
    }
    Some(Header {
        kind,
        // The header is the beginning of that segment.
        bias: LoadBias(at.0.wrapping_sub(text?)),
        uuid,
    })
}

/// Finds an image by its type among the mappings of a process.
pub fn find(kind: Kind, mappings: &[Mapping], memory: &dyn Memory) -> Option<(LoadAddr, Header)> {
    let mut starts = mappings.iter().filter(|it| it.readable && !it.writable);
    starts.find_map(|it| {
        let found = header(it.start, memory).filter(|header| header.kind == kind)?;
        Some((it.start, found))
    })
}

/// The images at the last read.
#[derive(Default)]
pub struct DyldList {
    entries: FxHashMap<LoadAddr, Entry>,
}

impl DyldList {
    /// Reads the list, whose `struct dyld_all_image_infos` is at `infos`. An image whose header cannot
    /// be read is left out.
    pub fn read(&mut self, infos: LoadAddr, memory: &dyn Memory) -> Change {
        let count = memory.read_uint(infos + COUNT, 4).unwrap_or(0);
        let array = memory.read_uint(infos + ARRAY, 8).unwrap_or(0);
        // While the loader changes the array, its address is 0.
        if array == 0 {
            return Change::InFlux { is_addition: true };
        }
        let count = usize::try_from(count).map_or(MAX_IMAGES, |count| count.min(MAX_IMAGES));
        let mut infos = vec![0; count * INFO_BYTES];
        if memory.read(LoadAddr(array), &mut infos).is_err() {
            return Change::InFlux { is_addition: true };
        }
        let before = std::mem::take(&mut self.entries);
        let mut all = Vec::with_capacity(count);
        for info in infos.chunks_exact(INFO_BYTES) {
            let (Some(start), Some(name)) = (long(info, 0), long(info, 8)) else {
                continue;
            };
            let (start, name) = (LoadAddr(start), LoadAddr(name));
            let known = before.get(&start).filter(|it| it.name == name).copied();
            let entry = known.or_else(|| {
                let bias = header(start, memory)?.bias;
                let dynamic = start;
                Some(Entry {
                    bias,
                    name,
                    dynamic,
                    start,
                    namespace: 0,
                })
            });
            if let Some(entry) = entry {
                all.push((entry, known.is_none()));
                self.entries.insert(start, entry);
            }
        }
        Change::All(all)
    }
}

/// Returns the address of the function that the loader calls when its list has changed, once the loader
/// has published it.
pub fn notification(infos: LoadAddr, memory: &dyn Memory) -> Option<LoadAddr> {
    let published = memory.read_uint(infos + NOTIFICATION, 8).ok()?;
    Some(LoadAddr(published)).filter(|it| it.0 != 0)
}

/// Returns the address of the loader, once it has published that.
pub fn loader(infos: LoadAddr, memory: &dyn Memory) -> Option<LoadAddr> {
    let published = memory.read_uint(infos + LOADER, 8).ok()?;
    Some(LoadAddr(published)).filter(|it| it.0 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::Unreadable;
    use std::collections::BTreeMap;

    /// Blocks of memory by address.
    #[derive(Default)]
    struct Blocks(BTreeMap<u64, Vec<u8>>);

    impl Memory for Blocks {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
            let len = buffer.len();
            let unreadable = Unreadable { addr, len };
            let (start, block) = self.0.range(..=addr.0).next_back().ok_or(unreadable)?;
            let at = (addr.0 - start) as usize;
            let bytes = block.get(at..at + len).ok_or(unreadable)?;
            buffer.copy_from_slice(bytes);
            Ok(())
        }
    }

    impl Blocks {
        /// Adds an image whose segment with code is linked to 0x1000.
        fn image(&mut self, at: u64, kind: u32) {
            let mut segment = vec![0; 72];
            segment[..4].copy_from_slice(&LC_SEGMENT_64.to_le_bytes());
            segment[4..8].copy_from_slice(&72_u32.to_le_bytes());
            segment[8..14].copy_from_slice(b"__TEXT");
            segment[24..32].copy_from_slice(&0x1000_u64.to_le_bytes());
            let mut uuid = vec![7; 24];
            uuid[..4].copy_from_slice(&LC_UUID.to_le_bytes());
            uuid[4..8].copy_from_slice(&24_u32.to_le_bytes());
            let words = [MAGIC, 0x100_000c, 0, kind, 2, 96, 0, 0];
            let mut bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
            bytes.extend(segment);
            bytes.extend(uuid);
            self.0.insert(at, bytes);
        }

        fn list(&mut self, at: u64, images: &[u64]) {
            let array = if images.is_empty() { 0 } else { at + 0x100 };
            let mut infos = vec![0; 40];
            infos[4..8].copy_from_slice(&(images.len() as u32).to_le_bytes());
            infos[8..16].copy_from_slice(&array.to_le_bytes());
            infos[16..24].copy_from_slice(&0x77_u64.to_le_bytes());
            self.0.insert(at, infos);
            let info = |image: &u64| [*image, image + 1, 0];
            let words = images.iter().flat_map(info);
            self.0
                .insert(at + 0x100, words.flat_map(u64::to_le_bytes).collect());
        }
    }

    #[test]
    fn headers_have_the_bias_and_the_uuid() {
        let mut memory = Blocks::default();
        memory.image(0x1_0000_4000, 6);
        let found = header(LoadAddr(0x1_0000_4000), &memory).unwrap();
        assert_eq!(found.kind, Kind::Other);
        assert_eq!(found.bias, LoadBias(0x1_0000_3000));
        assert_eq!(found.uuid, Some([7; 16]));
        assert_eq!(header(LoadAddr(0x1_0000_4008), &memory), None);
    }

    #[test]
    fn headers_that_are_garbage_are_none() {
        let mut memory = Blocks::default();
        memory.image(0x4000, 2);
        let good = memory.0[&0x4000].clone();
        for at in 0..good.len() {
            for value in [0, 1, 0xff] {
                let mut bytes = good.clone();
                bytes[at] = value;
                memory.0.insert(0x4000, bytes);
                let _ = header(LoadAddr(0x4000), &memory);
            }
        }
        for len in 0..good.len() {
            memory.0.insert(0x4000, good[..len].to_vec());
            assert_eq!(header(LoadAddr(0x4000), &memory), None, "{len} bytes");
        }
    }

    #[test]
    fn changes_of_the_list() {
        let mut memory = Blocks::default();
        for at in [0x4000, 0x8000, 0xc000] {
            memory.image(at, 6);
        }
        let infos = LoadAddr(0x1_0000);
        let mut list = DyldList::default();
        memory.list(infos.0, &[]);
        let in_flux = Change::InFlux { is_addition: true };
        assert_eq!(list.read(infos, &memory), in_flux);
        let read = |list: &mut DyldList, memory: &Blocks| match list.read(infos, memory) {
            Change::All(all) => {
                let shown = all.iter().map(|(entry, is_new)| (entry.start.0, *is_new));
                shown.collect::<Vec<_>>()
            }
            other => panic!("{other:?}"),
        };
        memory.list(infos.0, &[0x4000, 0x8000]);
        assert_eq!(read(&mut list, &memory), [(0x4000, true), (0x8000, true)]);
        memory.list(infos.0, &[0x4000, 0xc000]);
        assert_eq!(read(&mut list, &memory), [(0x4000, false), (0xc000, true)]);
        // One that was unmapped meanwhile is not in the list.
        memory.list(infos.0, &[0x4000, 0x2_0000]);
        assert_eq!(read(&mut list, &memory), [(0x4000, false)]);
        assert_eq!(notification(infos, &memory), Some(LoadAddr(0x77)));
        assert_eq!(loader(infos, &memory), None);
    }
}
