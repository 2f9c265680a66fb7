//! The object files of a debug map, opened when first needed.

use super::Wanted;
use super::debug_map::{DebugMap, Linked, ObjectFile};
use super::placement::{Atom, Placement};
use super::symbols::{Defined, defined};
use super::universal;
use crate::file::mapping;
use crate::file::object::{Image, slice, u32_at, u64_at};
use crate::ids::error::Error;
use memchr::memmem;
use object::read::archive::ArchiveFile;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

/// Maximum number of members of a static library; the largest known have some ten thousand.
const MAX_MEMBERS: usize = 1 << 20;
/// Bits of a relocation's second word: the symbol's index, the size as a power of two, whether it
/// is of a symbol, and its type.
const SYMBOL: u32 = 0x00ff_ffff;
const LENGTH_SHIFT: u32 = 25;
const EXTERNAL: u32 = 1 << 27;
const TYPE_SHIFT: u32 = 28;
/// `X86_64_RELOC_UNSIGNED` and `ARM64_RELOC_UNSIGNED`
const UNSIGNED: u32 = 0;
/// What an address becomes that the object file does not have; no atom covers it.
const NOWHERE: u64 = u64::MAX;
/// Alignment of the addresses given to variables that have none in the object file.
const COMMON_ALIGN: u64 = 16;

/// An object file with debug info.
pub(crate) struct Opened {
    pub(crate) image: Image,
    pub(crate) placement: Placement,
}

/// The static libraries opened so far, by path.
#[derive(Default)]
pub(crate) struct Libraries(Mutex<FxHashMap<PathBuf, Option<Arc<Library>>>>);

/// Members of a static library, by name.
#[derive(Default)]
struct Library(FxHashMap<&'static [u8], SmallVec<[Member; 1]>>);

#[derive(Clone, Copy)]
struct Member {
    /// In seconds since 1970.
    modified: u64,
    /// `None`: the file is beside the library (a thin one).
    data: Option<&'static [u8]>,
}

/// The bytes of an object file, and when it was modified.
pub(crate) type Found = (&'static [u8], u64);

/// The files that may be an object file, or why there is none.
pub(crate) type Candidates = Result<Vec<Found>, String>;

/// Opens an object file of the map of an image, one of the `candidates`. `may_read` counts the bytes that are read, and ends
/// it when they are more than all files have: a corrupt map can list one any number of times.
///
/// # Errors
/// It is missing, not the one that was linked, or has no debug info.
pub(crate) fn open(
    image: &Image,
    map: &DebugMap,
    object: &ObjectFile,
    candidates: &Candidates,
    may_read: &dyn Fn(u64) -> bool,
) -> Result<Opened, Error> {
    let wrong = |message: String| Error::ObjectFile {
        path: object.name(),
        message,
    };
    let candidates = candidates
        .as_ref()
        .map_err(|message| wrong(message.clone()))?;
    let is_current = |found: &&Found| object.modified == 0 || found.1 == object.modified;
    let mut current = candidates.iter().filter(is_current).peekable();
    if current.peek().is_none() {
        return Err(wrong(
            "it was changed after the program was linked; build the program again".to_owned(),
        ));
    }
    let linked = map.linked(image, object);
    let wanted = Wanted {
        machine: Some(image.machine),
        uuid: None,
    };
    let mut failure = String::new();
    let mut best: Option<Candidate> = None;
    for (data, _) in current {
        if !may_read(data.len() as u64) {
            return Err(wrong("the debug map lists it too often".to_owned()));
        }
        let file = match Image::parse_for(&object.name(), data, wanted) {
            Ok(file) if file.machine == image.machine => file,
            Ok(_) => {
                failure = "it is for another machine; build the program again".to_owned();
                continue;
            }
            Err(Error::NotAnImage { message, .. }) => {
                failure = format!("{message}; build the program again");
                continue;
            }
            Err(error) => return Err(error),
        };
        if !file.has_section(".debug_info") {
            failure = "no section __debug_info; compile it with -g".to_owned();
            continue;
        }
        let Some(candidate) = Candidate::new(file, &linked) else {
            failure =
                "it has none of the functions that were linked from it; build the program again"
                    .to_owned();
            continue;
        };
        if best
            .as_ref()
            .is_none_or(|it| candidate.missing < it.missing)
        {
            best = Some(candidate);
        }
    }
    let best = best.ok_or_else(|| wrong(failure))?;
    relocate(&best.image, &best.symbols);
    Ok(Opened {
        image: best.image,
        placement: best.placement,
    })
}

/// A file that may be the object file.
struct Candidate {
    image: Image,
    symbols: Symbols,
    placement: Placement,
    /// Number of functions that were linked from the object file and are not in this one.
    missing: usize,
}

impl Candidate {
    /// Finds the place of what a file defines and the image has; `None` if the file has none of the
    /// functions.
    fn new(file: Image, linked: &[Linked]) -> Option<Candidate> {
        let symbols = Symbols::read(&file)?;
        let mut atoms = Vec::with_capacity(linked.len());
        let mut uses = FxHashMap::<&[u8], (usize, usize)>::default();
        for it in linked {
            uses.entry(it.name).or_default().0 += 1;
        }
        let (mut functions, mut missing) = (0, 0);
        for it in linked {
            let places = symbols.by_name.get(it.name);
            functions += usize::from(it.code_size.is_some());
            missing += usize::from(it.code_size.is_some() && places.is_none());
            let (Some(places), Some((all, used))) = (places, uses.get_mut(it.name)) else {
                continue;
            };
            // Local symbols of a file can have the same name. If the linker left out some of them,
            // the remaining ones are ambiguous.
            let place = places.get(*used).filter(|_| *all == places.len());
            *used += 1;
            atoms.extend(place.map(|place| Atom {
                start: place.start,
                end: match it.code_size {
                    Some(size) => place.start.saturating_add(size),
                    None => place.end,
                },
                linked: it.addr,
                is_label: place.is_label,
            }));
        }
        (missing == 0 || missing < functions).then(|| Candidate {
            image: file,
            symbols,
            placement: Placement::new(atoms),
            missing,
        })
    }
}

/// Returns whether line tables of an object file may mention a source file with that base name, or
/// cannot be read. Reads no debug info, so that this can be asked of many files.
pub(crate) fn may_mention(image: &Image, candidates: &Candidates, base: &[u8]) -> bool {
    let wanted = Wanted {
        machine: Some(image.machine),
        uuid: None,
    };
    let finder = memmem::Finder::new(base);
    let mentions = |found: &Found| {
        let Ok(file) = Image::parse_for(&image.path, found.0, wanted) else {
            return true;
        };
        let has = |name| finder.find(file.section_data(name)).is_some();
        // Without the section for names of lines they are among the others.
        has(".debug_line")
            || match file.has_section(".debug_line_str") {
                true => has(".debug_line_str"),
                false => has(".debug_str"),
            }
    };
    match candidates {
        Ok(found) => found.iter().any(mentions),
        Err(_) => true,
    }
}

/// Returns the files that may be the object file: a static library can have several of one name.
pub(crate) fn find(image: &Image, object: &ObjectFile, libraries: &Libraries) -> Candidates {
    let missing = || "no such file; build the program again, and keep its object files".to_owned();
    let path = object.file(&image.path).ok_or_else(missing)?;
    let (_, Some(member)) = object.path() else {
        return read(&path).map(|found| vec![found]);
    };
    let library = libraries.get(&path, image)?;
    let named = library.0.get(member).map(SmallVec::as_slice);
    let members = named.unwrap_or_default().iter();
    let found = members.filter_map(|it| match it.data {
        Some(data) => Some((data, it.modified)),
        None => {
            let folder = path.parent()?;
            read(&folder.join(OsStr::from_bytes(member))).ok()
        }
    });
    let found: Vec<Found> = found.collect();
    match found.is_empty() {
        true => Err("the library has no such member; build the program again".to_owned()),
        false => Ok(found),
    }
}

fn read(path: &Path) -> Result<Found, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    let modified = metadata.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let (data, _) = mapping::map_known(path, &metadata).map_err(|error| error.to_string())?;
    Ok((data, modified.map_or(0, |time| time.as_secs())))
}

impl Libraries {
    fn get(&self, path: &Path, image: &Image) -> Result<Arc<Library>, String> {
        let unusable = || "not a static library; build the program again".to_owned();
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.get(path) {
            return known.clone().ok_or_else(unusable);
        }
        let library = Library::open(path, image).map(Arc::new);
        all.insert(path.to_owned(), library.clone());
        library.ok_or_else(unusable)
    }
}

impl Library {
    fn open(path: &Path, image: &Image) -> Option<Library> {
        let (data, _) = mapping::map(path).ok()?;
        let wanted = Wanted {
            machine: Some(image.machine),
            uuid: None,
        };
        let data = match universal::is_universal(data) {
            true => universal::choose(data, wanted).ok()?,
            false => data,
        };
        let archive = ArchiveFile::parse(data).ok()?;
        let mut library = Library::default();
        // The members after a corrupt one cannot be found.
        for member in archive.members().take(MAX_MEMBERS).map_while(Result::ok) {
            let contents = match member.is_thin() {
                true => None,
                false => Some(member.data(data).ok()),
            };
            // A member whose bytes are not all there is skipped.
            let data = match contents {
                Some(None) => continue,
                contents => contents.flatten(),
            };
            let members = library.0.entry(member.name()).or_default();
            members.push(Member {
                modified: member.date().unwrap_or(0),
                data,
            });
        }
        Some(library)
    }
}

/// A symbol's place in an object file.
struct Place {
    start: u64,
    /// Where the next symbol begins.
    end: u64,
    is_label: bool,
}

/// The symbols of an object file.
struct Symbols {
    by_name: FxHashMap<&'static [u8], SmallVec<[Place; 1]>>,
    /// Address of each symbol, by index.
    addrs: Vec<u64>,
}

impl Symbols {
    fn read(file: &Image) -> Option<Symbols> {
        let macho = file.macho()?;
        let ends = file
            .sections
            .iter()
            .map(|it| it.addr.saturating_add(it.size));
        let ends: Vec<u64> = ends.collect();
        let mut free = ends.iter().copied().max().unwrap_or(0);
        let all: Vec<Option<Defined>> = defined(macho).collect();
        let starts = all.iter().flatten().filter(|it| !it.is_label);
        let starts = starts.filter_map(|it| it.section.map(|section| (section, it.addr)));
        let mut starts: Vec<(usize, u64)> = starts.collect();
        starts.sort_unstable();
        let mut symbols = Symbols {
            by_name: FxHashMap::default(),
            addrs: Vec::with_capacity(all.len()),
        };
        for symbol in all {
            let Some(symbol) = symbol else {
                symbols.addrs.push(NOWHERE);
                continue;
            };
            let (start, end) = match symbol.section {
                Some(section) => {
                    let behind = starts.partition_point(|it| *it <= (section, symbol.addr));
                    let next = starts.get(behind).filter(|next| next.0 == section);
                    let end = next.map(|next| next.1);
                    let end = end.or_else(|| ends.get(section).copied());
                    (symbol.addr, end.unwrap_or(symbol.addr))
                }
                None => {
                    let start = free.checked_next_multiple_of(COMMON_ALIGN)?;
                    free = start.checked_add(symbol.addr)?;
                    (start, free)
                }
            };
            symbols.addrs.push(start);
            let places = symbols.by_name.entry(symbol.name).or_default();
            places.push(Place {
                start,
                end,
                is_label: symbol.is_label,
            });
        }
        Some(symbols)
    }
}

/// Sets the addresses of symbols in debug sections. Those that depend on the start of a section are
/// in the file.
fn relocate(file: &Image, symbols: &Symbols) {
    let Some(macho) = file.macho() else { return };
    let mut names = FxHashSet::default();
    for (section, kind) in file.sections.iter().zip(&macho.sections) {
        // Only the first section of a name is read.
        if !section.name.starts_with(".debug_") || !names.insert(section.name) {
            continue;
        }
        let (offset, count) = kind.relocations;
        let records = slice(file.data, offset.into(), u64::from(count) * 8);
        let mut copy = Vec::new();
        for record in records.unwrap_or_default().chunks_exact(8) {
            let words = u32_at(record, 0).zip(u32_at(record, 4));
            let Some((at, info)) = words else { continue };
            if info & EXTERNAL == 0
                || info >> TYPE_SHIFT != UNSIGNED
                || info >> LENGTH_SHIFT & 3 != 3
            {
                continue;
            }
            if copy.is_empty() {
                copy = file.contents(section).to_vec();
            }
            let at = at as usize;
            let addr = symbols.addrs.get((info & SYMBOL) as usize).copied();
            let addr = match (addr.unwrap_or(NOWHERE), u64_at(&copy, at)) {
                (NOWHERE, _) => NOWHERE,
                (addr, addend) => addr.wrapping_add(addend.unwrap_or(0)),
            };
            if let Some(place) = copy.get_mut(at..at.saturating_add(8)) {
                place.copy_from_slice(&addr.to_le_bytes());
            }
        }
        if !copy.is_empty() {
            // The file is opened once, and its bytes live as long as the process.
            let _ = section.relocated.set(Box::leak(copy.into_boxed_slice()));
        }
    }
}
