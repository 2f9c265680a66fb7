//! The object files that a debug map lists (Mach-O), opened when first needed.

use crate::entries::unit_file::{Numbering, UnitFile};
use crate::file::macho::debug_map::DebugMap;
use crate::file::macho::object_file::{self, Candidates, Libraries};
use crate::file::mapping;
use crate::file::object::Image;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use rayon::prelude::*;
use rustc_hash::{FxHashSet, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The object files of an image, and which of them has what.
pub(crate) struct Objects {
    map: DebugMap,
    /// What opening them needs of the image.
    image: Image,
    libraries: Libraries,
    /// By number, the files that may be it.
    candidates: Box<[OnceLock<Candidates>]>,
    /// By number; `None` for those that cannot be used.
    files: Box<[OnceLock<Option<UnitFile>>]>,
    rejected: Mutex<Vec<Error>>,
    fingerprint: OnceLock<(u64, u64)>,
    /// Bytes of files that were read to open them.
    read: AtomicU64,
}

/// Bytes of object files that may be read without a look at how many there are.
const FEW_BYTES: u64 = 16 << 20;
/// How often the bytes of files may be read: a static library can have several members of a name,
/// and only their symbols tell which one is meant.
const MAX_READS: u64 = 4;

impl Objects {
    pub(super) fn new(map: DebugMap, image: Image) -> Objects {
        let count = map.objects.len();
        Objects {
            files: std::iter::repeat_with(OnceLock::new).take(count).collect(),
            candidates: std::iter::repeat_with(OnceLock::new).take(count).collect(),
            map,
            image,
            libraries: Libraries::default(),
            rejected: Mutex::default(),
            fingerprint: OnceLock::new(),
            read: AtomicU64::new(0),
        }
    }

    /// Returns the number of object files.
    pub(crate) fn count(&self) -> u32 {
        self.files.len() as u32
    }

    /// Returns an object file by its number, opened at the first call. Opening starts no thread, so
    /// that it may run inside parallel walks.
    pub(crate) fn file(&self, number: u32) -> Option<&UnitFile> {
        let slot = self.files.get(number as usize)?;
        slot.get_or_init(|| self.open(number)).as_ref()
    }

    fn open(&self, number: u32) -> Option<UnitFile> {
        let object = self.map.objects.get(number as usize)?;
        let reads = |bytes: u64| {
            let read = self.read.fetch_add(bytes, Ordering::Relaxed);
            read <= FEW_BYTES || read / MAX_READS <= self.fingerprint().1
        };
        let candidates = self.candidates(number)?;
        let opened = object_file::open(&self.image, &self.map, object, candidates, &reads);
        let opened = opened.map_err(|error| {
            tracing::debug!(%error, "object file");
            let mut rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
            rejected.push(error);
        });
        let opened = opened.ok()?;
        let numbering = Numbering {
            file: number,
            files: self.count(),
        };
        let file = UnitFile::read(&opened.image, None, None, numbering);
        Some(file.placed(opened.image, opened.placement))
    }

    fn candidates(&self, number: u32) -> Option<&Candidates> {
        let object = self.map.objects.get(number as usize)?;
        let slot = self.candidates.get(number as usize)?;
        Some(slot.get_or_init(|| object_file::find(&self.image, object, &self.libraries)))
    }

    /// Returns the object files that are open.
    pub(crate) fn opened(&self) -> impl Iterator<Item = &UnitFile> {
        self.files.iter().filter_map(|slot| slot.get()?.as_ref())
    }

    /// Opens all object files.
    pub(crate) fn all(&self) -> Vec<&UnitFile> {
        let numbers = (0..self.count()).into_par_iter();
        numbers.filter_map(|number| self.file(number)).collect()
    }

    /// Returns the numbers of the object files with functions in a range.
    pub(crate) fn numbers_in(&self, range: AddrRange<FileAddr>) -> Vec<u32> {
        self.map.objects_in(range)
    }

    /// Returns the object files with functions in a range.
    pub(crate) fn files_in(&self, range: AddrRange<FileAddr>) -> impl Iterator<Item = &UnitFile> {
        let numbers = self.numbers_in(range).into_iter();
        numbers.filter_map(|number| self.file(number))
    }

    /// Returns the numbers of the object files that may have lines of a source file with that base
    /// name. The map names the main source of each only, and sources include each other, so all are
    /// searched for the name; those without it are not opened.
    pub(crate) fn numbers_for_source(&self, base: &[u8]) -> Vec<u32> {
        let of_source = self.map.objects_of_source(base);
        let may_mention = |number: &u32| {
            of_source.binary_search(number).is_ok()
                || self.candidates(*number).is_some_and(|candidates| {
                    object_file::may_mention(&self.image, candidates, base)
                })
        };
        let numbers = (0..self.count()).into_par_iter();
        numbers.filter(may_mention).collect()
    }

    /// Returns a hash of the names of the object files and of when they were modified, and the size
    /// of the files that they are or are in, in bytes. Reads only metadata.
    pub(crate) fn fingerprint(&self) -> (u64, u64) {
        *self.fingerprint.get_or_init(|| {
            let mut files = FxHashSet::default();
            let mut hasher = FxHasher::default();
            let mut size: u64 = 0;
            for object in &self.map.objects {
                object.name().hash(&mut hasher);
                object.modified.hash(&mut hasher);
                if let Some(path) = object.file(&self.image.path)
                    && let Ok(metadata) = std::fs::metadata(&path)
                {
                    let identity = mapping::identity_of(&metadata);
                    if files.insert(identity) {
                        identity.hash(&mut hasher);
                        size = size.saturating_add(metadata.len());
                    }
                }
            }
            (hasher.finish(), size)
        })
    }

    /// Returns whether any object file is where the map says.
    pub(crate) fn are_there(&self) -> bool {
        let mut objects = self.map.objects.iter();
        objects.any(|object| object.file(&self.image.path).is_some())
    }

    /// Returns why object files that were needed so far cannot be used.
    pub(crate) fn rejected(&self) -> Vec<Error> {
        let rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner);
        rejected.clone()
    }
}
