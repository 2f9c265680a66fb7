//! The debug map: which object file each function and variable of an image was linked from. The
//! linker leaves debug info in the object files and records them as entries for debuggers
//! (`mach-o/stab.h`) in the symbol table.

use super::symbols::{SYMBOL_SIZE, external_data};
use crate::file::object::{Image, u32_at, u64_at};
use crate::ids::addr::{AddrRange, FileAddr};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Types of entries for debuggers.
const N_GSYM: u8 = 0x20;
const N_FUN: u8 = 0x24;
const N_STSYM: u8 = 0x26;
const N_SO: u8 = 0x64;
const N_OSO: u8 = 0x66;

/// Maximum length in bytes of a path (the kernel's `PATH_MAX`, and a name in a library), and of a
/// symbol's name. Longer ones are left out: any number of entries can share one.
const MAX_PATH: usize = 8192;
const MAX_SYMBOL: usize = 1 << 16;

/// The object files of an image, and the addresses of their functions.
#[derive(Default)]
pub(crate) struct DebugMap {
    symbols: &'static [u8],
    strings: &'static [u8],
    pub(crate) objects: Vec<ObjectFile>,
    /// By start.
    code: Vec<Code>,
    /// For each function its end, or the end of one before it that reaches further.
    max_end: Vec<u64>,
    /// Addresses of variables that the map names without an address.
    data: OnceLock<FxHashMap<&'static [u8], u64>>,
}

/// An object file that the linker read.
pub(crate) struct ObjectFile {
    /// `path`, or `path(member)` for a file in a static library.
    name: &'static [u8],
    /// Folder of its source file, if the linker records it.
    folder: &'static [u8],
    /// When it was last modified, in seconds since 1970; 0 if the linker does not record it.
    pub(crate) modified: u64,
    /// Its source files, as its units name them.
    sources: SmallVec<[&'static [u8]; 1]>,
    /// Its symbols' entries, by index.
    entries: SmallVec<[Range<usize>; 1]>,
}

/// The code of a function of an object file.
#[derive(Clone, Copy)]
struct Code {
    start: u64,
    end: u64,
    object: u32,
}

/// A symbol of an object file that is in the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Linked {
    /// As it is in the symbol tables, with an underscore.
    pub(crate) name: &'static [u8],
    pub(crate) addr: u64,
    /// Size of a function's code; `None` for data.
    pub(crate) code_size: Option<u64>,
}

struct Entry {
    /// Offset in the strings.
    name: usize,
    kind: u8,
    value: u64,
}

impl DebugMap {
    /// Reads the map of an image; `None` if it has none.
    pub(crate) fn read(image: &Image) -> Option<DebugMap> {
        let macho = image.macho()?;
        DebugMap::of_symbols(macho.symbols, macho.strings)
    }

    fn of_symbols(symbols: &'static [u8], strings: &'static [u8]) -> Option<DebugMap> {
        let mut map = DebugMap {
            symbols,
            strings,
            ..DebugMap::default()
        };
        let mut reading = Reading::default();
        for index in 0..map.symbols.len() / SYMBOL_SIZE {
            if let Some(entry) = map.entry(index) {
                reading.entry(&mut map, index, &entry);
            }
        }
        if map.objects.is_empty() {
            return None;
        }
        map.code.sort_unstable_by_key(|it| (it.start, it.end));
        map.code.shrink_to_fit();
        let mut max = 0;
        let ends = map.code.iter().map(|it| {
            max = max.max(it.end);
            max
        });
        map.max_end = ends.collect();
        Some(map)
    }

    /// Reads an entry for debuggers; `None` for other symbols.
    fn entry(&self, index: usize) -> Option<Entry> {
        let at = index * SYMBOL_SIZE;
        let kind = *self.symbols.get(at + 4)?;
        if ![N_GSYM, N_FUN, N_STSYM, N_SO, N_OSO].contains(&kind) {
            return None;
        }
        Some(Entry {
            name: u32_at(self.symbols, at)? as usize,
            kind,
            value: u64_at(self.symbols, at + 8)?,
        })
    }

    /// Returns the name of an entry; empty if it is longer than `most`.
    fn name(&self, entry: &Entry, most: usize) -> &'static [u8] {
        let rest = self.strings.get(entry.name..).unwrap_or_default();
        let rest = rest.get(..most).unwrap_or(rest);
        let end = memchr::memchr(0, rest);
        end.and_then(|end| rest.get(..end)).unwrap_or_default()
    }

    /// Returns whether an entry has no name: it ends what came before.
    fn is_end(&self, entry: &Entry) -> bool {
        matches!(self.strings.get(entry.name), Some(0) | None)
    }

    /// Returns the object files with functions in a range, by number.
    pub(crate) fn objects_in(&self, range: AddrRange<FileAddr>) -> Vec<u32> {
        let (start, end) = (range.start.0, range.end.0);
        let last = self.code.partition_point(|it| it.start < end);
        let before = self.code.iter().zip(&self.max_end).take(last).rev();
        let mut found: Vec<u32> = before
            .take_while(|(_, max_end)| **max_end > start)
            .filter(|(code, _)| code.end > start)
            .map(|(code, _)| code.object)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the object files whose source file has that base name, by number.
    pub(crate) fn objects_of_source(&self, base: &[u8]) -> Vec<u32> {
        let is_source = |source: &&'static [u8]| {
            let before = source.strip_suffix(base);
            before.is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
        };
        let objects = (0u32..).zip(&self.objects);
        let objects = objects.filter(|(_, object)| object.sources.iter().any(is_source));
        objects.map(|(number, _)| number).collect()
    }

    /// Returns the symbols of an object file that are in the image.
    pub(crate) fn linked(&self, image: &Image, object: &ObjectFile) -> Vec<Linked> {
        let mut found: Vec<Linked> = Vec::new();
        let entries = object.entries.iter().cloned().flatten();
        for entry in entries.filter_map(|index| self.entry(index)) {
            let name = self.name(&entry, MAX_SYMBOL);
            match entry.kind {
                N_FUN if self.is_end(&entry) => {
                    if let Some(Linked { code_size, .. }) = found.last_mut() {
                        *code_size = code_size.and(Some(entry.value));
                    }
                }
                N_FUN | N_STSYM => found.push(Linked {
                    name,
                    addr: entry.value,
                    code_size: (entry.kind == N_FUN).then_some(0),
                }),
                // Apple's linker leaves its address to the symbol of that name.
                N_GSYM => {
                    let addr = match entry.value {
                        0 => self.data(image).get(name).copied(),
                        addr => Some(addr),
                    };
                    found.extend(addr.map(|addr| Linked {
                        name,
                        addr,
                        code_size: None,
                    }));
                }
                _ => {}
            }
        }
        found
    }

    fn data(&self, image: &Image) -> &FxHashMap<&'static [u8], u64> {
        self.data.get_or_init(|| external_data(image).collect())
    }
}

impl ObjectFile {
    /// Returns its path, and its name in the static library that this is the path of.
    pub(crate) fn path(&self) -> (PathBuf, Option<&'static [u8]>) {
        let path = |bytes| Path::new(OsStr::from_bytes(bytes)).to_owned();
        let inside = self.name.strip_suffix(b")");
        let split = inside.and_then(|it| Some((it, memchr::memrchr(b'(', it)?)));
        match split.and_then(|(inside, at)| inside.split_at_checked(at)) {
            Some((library, [b'(', member @ ..])) => (path(library), Some(member)),
            _ => (path(self.name), None),
        }
    }

    /// Returns its name in the map, for messages.
    pub(crate) fn name(&self) -> PathBuf {
        Path::new(OsStr::from_bytes(self.name)).to_owned()
    }

    /// Returns the path of the file that it is or is in; `None` if there is none. One that is
    /// relative is looked for beside the image and its source: the linker's folder is not recorded.
    pub(crate) fn file(&self, image: &Path) -> Option<PathBuf> {
        let (path, _) = self.path();
        if path.is_absolute() {
            return path.is_file().then_some(path);
        }
        let beside = image.parent().map(|folder| folder.join(&path));
        let real = std::fs::canonicalize(image).ok();
        let real = real.and_then(|image| Some(image.parent()?.join(&path)));
        let folder = Path::new(OsStr::from_bytes(self.folder));
        let of_source = folder.is_absolute().then(|| folder.join(&path));
        let mut places = [beside, real, of_source].into_iter().flatten();
        places.find(|place| place.is_file())
    }
}

/// The state in which a map is read.
#[derive(Default)]
struct Reading {
    /// Names of source files since the last object file.
    folder: &'static [u8],
    sources: SmallVec<[&'static [u8]; 1]>,
    /// The object file that entries are of.
    object: Option<u32>,
    /// Object files by name and time: the linker may list one several times, for each source.
    known: FxHashMap<(&'static [u8], u64), u32>,
    /// Start of the function whose size follows.
    function: Option<u64>,
}

impl Reading {
    fn entry(&mut self, map: &mut DebugMap, index: usize, entry: &Entry) {
        match entry.kind {
            // The end of what an object file has.
            N_SO if map.is_end(entry) => *self = self.between(),
            N_SO => {
                if self.object.is_some() {
                    *self = self.between();
                }
                let name = map.name(entry, MAX_PATH);
                match name.ends_with(b"/") {
                    true => self.folder = name,
                    false => self.sources.push(name),
                }
            }
            N_OSO => self.object_file(map, entry),
            _ => self.symbol(map, index, entry),
        }
    }

    fn between(&mut self) -> Reading {
        Reading {
            known: std::mem::take(&mut self.known),
            ..Reading::default()
        }
    }

    fn object_file(&mut self, map: &mut DebugMap, entry: &Entry) {
        let Ok(next) = u32::try_from(map.objects.len()) else {
            return;
        };
        let name = map.name(entry, MAX_PATH);
        // A library can have several members of a name.
        let number = match name.ends_with(b")") {
            true => next,
            false => *self.known.entry((name, entry.value)).or_insert(next),
        };
        if number == next {
            map.objects.push(ObjectFile {
                name,
                folder: self.folder,
                modified: entry.value,
                sources: SmallVec::new(),
                entries: SmallVec::new(),
            });
        }
        if let Some(object) = map.objects.get_mut(number as usize) {
            for source in self.sources.drain(..) {
                if !object.sources.contains(&source) {
                    object.sources.push(source);
                }
            }
        }
        self.object = Some(number);
        self.function = None;
    }

    fn symbol(&mut self, map: &mut DebugMap, index: usize, entry: &Entry) {
        let Some(number) = self.object else {
            return;
        };
        let is_end = map.is_end(entry);
        let Some(object) = map.objects.get_mut(number as usize) else {
            return;
        };
        match object.entries.last_mut() {
            Some(last) if last.end == index => last.end = index + 1,
            _ => object.entries.push(index..index + 1),
        }
        if entry.kind != N_FUN {
            return;
        }
        if !is_end {
            self.function = Some(entry.value);
        } else if let Some(start) = self.function.take()
            && let Some(end) = start.checked_add(entry.value)
            && end > start
        {
            map.code.push(Code {
                start,
                end,
                object: number,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N_BNSYM: u8 = 0x2e;
    const N_ENSYM: u8 = 0x4e;

    /// A symbol table of these entries: type, name, value.
    fn map(entries: &[(u8, &str, u64)]) -> Option<DebugMap> {
        let (mut symbols, mut strings) = (Vec::new(), vec![0]);
        for (kind, name, value) in entries {
            let at = match name.is_empty() {
                true => 0,
                false => strings.len() as u32,
            };
            symbols.extend(at.to_le_bytes());
            symbols.extend([*kind, 0, 0, 0]);
            symbols.extend(value.to_le_bytes());
            strings.extend(name.bytes().chain([0]));
        }
        DebugMap::of_symbols(symbols.leak(), strings.leak())
    }

    fn objects_at(map: &DebugMap, addr: u64) -> Vec<u32> {
        map.objects_in(AddrRange::new(FileAddr(addr), FileAddr(addr + 1)))
    }

    /// Apple's linker names a source in two entries and encloses each function.
    #[test]
    fn entries_of_apples_linker() {
        let map = map(&[
            (N_SO, "/src/", 0),
            (N_SO, "main.c", 0),
            (N_OSO, "/out/main.o", 77),
            (N_BNSYM, "", 0x1000),
            (N_FUN, "_main", 0x1000),
            (N_FUN, "", 0x20),
            (N_ENSYM, "", 0x20),
            (N_SO, "", 0),
            (N_SO, "/src/", 0),
            (N_SO, "more.c", 0),
            (N_OSO, "libmore.a(more.o)", 78),
            (N_STSYM, "_hidden", 0x2000),
            (N_BNSYM, "", 0x1020),
            (N_FUN, "_more", 0x1020),
            (N_FUN, "", 8),
            (N_ENSYM, "", 8),
            (N_SO, "", 0),
            // The same object file, for another of its sources.
            (N_SO, "/src/", 0),
            (N_SO, "part.c", 0),
            (N_OSO, "/out/main.o", 77),
            (N_FUN, "_part", 0x1030),
            (N_FUN, "", 8),
            (N_SO, "", 0),
        ]);
        let map = map.unwrap();
        let [main, more] = &map.objects[..] else {
            panic!("{} object files", map.objects.len());
        };
        assert_eq!(main.path(), (PathBuf::from("/out/main.o"), None));
        assert_eq!(main.modified, 77);
        assert_eq!(
            more.path(),
            (PathBuf::from("libmore.a"), Some(&b"more.o"[..]))
        );
        assert_eq!(more.folder, b"/src/");
        assert_eq!(map.objects_of_source(b"main.c"), [0]);
        assert_eq!(map.objects_of_source(b"part.c"), [0]);
        assert_eq!(map.objects_of_source(b"more.c"), [1]);
        assert!(map.objects_of_source(b"ore.c").is_empty());
        for (addr, objects) in [
            (0xfff, &[][..]),
            (0x1000, &[0]),
            (0x101f, &[0]),
            (0x1020, &[1]),
            (0x1028, &[]),
            (0x1037, &[0]),
            (0x1038, &[]),
        ] {
            assert_eq!(objects_at(&map, addr), objects, "{addr:#x}");
        }
    }

    #[test]
    fn corrupt_entries_are_left_out() {
        assert!(map(&[(N_FUN, "_main", 0), (N_FUN, "", 8)]).is_none());
        let map = map(&[
            (N_OSO, "a.o", 0),
            (N_FUN, "", 8),
            (N_FUN, "_empty", 0x1000),
            (N_FUN, "", 0),
            (N_FUN, "_endless", u64::MAX),
            (N_FUN, "", 8),
            (N_FUN, "_open", 0x2000),
        ]);
        let map = map.unwrap();
        assert!(map.code.is_empty());
    }
}
