//! The name index of an image, and the searches that replace it until it is built.

use crate::entries::unit_file::UnitFile;
use crate::ids::DieRef;
use crate::ids::addr::AddrRange;
use crate::index::gdb_index::GdbIndexUnits;
use crate::index::{self, NameIndex, Named, Names};
use crate::lines::DebugInfo;
use crate::module::{MAX_NAMES, Module};
use crate::naming::Key;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Minimum size of debug info in bytes for which the name index is cached on disk.
const MIN_CACHED_SIZE: u64 = 4 << 20;
/// Minimum size of `.debug_info` in bytes for which a name is searched without an index of all
/// names.
const MIN_SEARCHED_SIZE: usize = 1 << 20;
/// Maximum size of `.debug_info` in bytes that is searched for details which the client may do without.
const MAX_SOON_SIZE: usize = 32 << 20;
/// Maximum number of units of debug info of that size that are read at once.
const MAX_QUICK_UNITS: u32 = 64;
/// An index that took this long to build is cached on disk, however small the debug info.
const MIN_CACHED_BUILD_TIME: Duration = Duration::from_millis(200);

/// The index, and results found without it.
#[derive(Default)]
pub(super) struct NameTables {
    index: OnceLock<NameIndex>,
    /// Whether the cache folder was searched for the index.
    cache_was_read: AtomicBool,
    /// Whether a name was searched for that the index would have found faster.
    is_index_wanted: AtomicBool,
    gdb_index: OnceLock<Option<GdbIndexUnits>>,
    /// Results of searches for names before the index was there, by key; `None`: only the index can
    /// find the name.
    named: RwLock<FxHashMap<u32, Option<Arc<Named>>>>,
}

/// Whether `is_index_wanted` of any module was set.
static IS_ANY_INDEX_WANTED: AtomicBool = AtomicBool::new(false);

/// Returns whether [`Module::take_names_wanted`] may be true of any module since the last call.
pub fn are_names_wanted() -> bool {
    // Called in every round of the session's loop: a load is cheaper than a swap.
    IS_ANY_INDEX_WANTED.load(Ordering::Relaxed)
        && IS_ANY_INDEX_WANTED.swap(false, Ordering::Acquire)
}

impl Module {
    /// Returns the entries of inlined functions with a key, and the units that may have copies of
    /// them (`None`: all).
    pub(crate) fn inlined_by_key(
        &self,
        info: &DebugInfo,
        key: Key<'_>,
    ) -> (Vec<DieRef>, Option<Vec<u32>>) {
        self.log_search(key);
        if self.needs_search(info)
            && let Some(named) = self.named(info, key)
        {
            let dies = named.index.inlined.get(key.hash).collect();
            return (dies, Some(named.units.clone()));
        }
        let index = self.full_index(info);
        (index.inlined.get(key.hash).collect(), None)
    }

    /// Logs a search, which takes as long as the program has entries of such names: an expression
    /// that was evaluated before needs none.
    fn log_search(&self, key: Key<'_>) {
        tracing::debug!(name = key.base, image = %self.holder().path.display(), "searches a name");
    }

    /// Returns whether the index cannot be used: it is not built yet, or incomplete.
    fn needs_search(&self, info: &DebugInfo) -> bool {
        info.is_indexing_cancelled.load(Ordering::Relaxed) || self.cached_index().is_none()
    }

    /// Returns the index if it is in memory or in the cache folder.
    fn cached_index(&self) -> Option<&NameIndex> {
        if self.names.index.get().is_none()
            && !self.names.cache_was_read.swap(true, Ordering::Relaxed)
            && let Some(index) = self.load_cached_index()
        {
            // Another thread may have set it in the meantime; both are the same.
            let _ = self.names.index.set(index);
        }
        self.names.index.get()
    }

    fn load_cached_index(&self) -> Option<NameIndex> {
        let (folder, id) = self.folder().zip(self.cache_key())?;
        index::cache::load(folder, &id, self.debug_size())
    }

    /// Returns the cache key of the debug info: the build-id, else the file's identity.
    fn cache_key(&self) -> Option<Cow<'static, [u8]>> {
        if let Some(id) = self.image.build_id {
            // The UUID of an image does not depend on the contents of its object files.
            return Some(match self.objects() {
                None => Cow::Borrowed(id),
                Some(objects) => Cow::Owned([id, &objects.fingerprint().0.to_le_bytes()].concat()),
            });
        }
        let (device, inode, size, modified) = self.file?;
        if self.debug_image().is_some() || self.objects().is_some() {
            return None;
        }
        let mut id = Vec::with_capacity(40);
        for number in [device, inode, size] {
            id.extend(number.to_le_bytes());
        }
        id.extend(modified.to_le_bytes());
        Some(Cow::Owned(id))
    }

    /// Returns the index of all names: from the cache folder, else built, and cached if that took
    /// long.
    fn full_index(&self, info: &DebugInfo) -> &NameIndex {
        self.names.index.get_or_init(|| {
            self.load_cached_index()
                .unwrap_or_else(|| self.read_index(info))
        })
    }

    fn read_index(&self, info: &DebugInfo) -> NameIndex {
        let began = Instant::now();
        let index = info.read_index(self.holder());
        let size = self.debug_size();
        // An index that is built quickly needs no file.
        let is_worth_it = size >= MIN_CACHED_SIZE || began.elapsed() >= MIN_CACHED_BUILD_TIME;
        let is_complete = !index.sparse && !info.is_indexing_cancelled.load(Ordering::Relaxed);
        if is_worth_it
            && is_complete
            && info.is_reproducible()
            && let Some((folder, id)) = self.folder().zip(self.cache_key())
        {
            match index::cache::store(folder, &id, size, &index) {
                // The mapped file replaces the index in memory.
                Ok(()) => return self.load_cached_index().unwrap_or(index),
                Err(error) => {
                    tracing::info!(folder = %folder.display(), %error, "cannot cache the name index");
                }
            }
        }
        index
    }

    /// Searches for the entries of a name; `None` if a search is not worth it.
    fn named(&self, info: &DebugInfo, key: Key<'_>) -> Option<Arc<Named>> {
        // The search of object files opens them all.
        info.files();
        if info.debug_info_size() < MIN_SEARCHED_SIZE || self.holder().has_section(".debug_names") {
            return None;
        }
        let known = self
            .names
            .named
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key.hash) {
            return known.clone();
        }
        drop(known);
        let named = info.named(key).map(Arc::new);
        self.want_index();
        let mut all = self
            .names
            .named
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_NAMES {
            all.clear();
        }
        all.insert(key.hash, named.clone());
        named
    }

    /// Returns what `look` finds for the entries of a name, from the first source that has any.
    /// Before the index is read: the few units that `.gdb_index` lists for the name, or a search.
    /// Then the index. Last, if the index is incomplete, the unit `near`.
    pub(crate) fn find_names<T>(
        &self,
        kind: fn(&NameIndex) -> &Names,
        key: Key<'_>,
        near: Option<u32>,
        look: impl Fn(&DebugInfo, Vec<DieRef>) -> Vec<T>,
    ) -> Vec<T> {
        let Some(info) = self.info() else {
            return Vec::new();
        };
        self.log_search(key);
        let look_in = |index: &NameIndex| look(info, kind(index).get(key.hash).collect());
        if self.needs_search(info) {
            if let Some(names) = self.gdb_index(info) {
                if let Some(units) = names.get(key.hash) {
                    let units: FxHashSet<u32> = units.into_iter().chain(near).collect();
                    let found = look_in(&info.index_of(units.into_iter().collect()));
                    if !found.is_empty() {
                        return found;
                    }
                }
            } else if let Some(named) = self.named(info, key) {
                return look_in(&named.index);
            }
        }
        let index = self.full_index(info);
        let found = look_in(index);
        match near {
            Some(near) if found.is_empty() && index.sparse => look_in(&info.index_of(vec![near])),
            _ => found,
        }
    }

    /// Returns what `look` finds for the functions of a name in the object files whose symbols contain
    /// its last component, `base`. Nothing if the debug info is in one file, if the index is there,
    /// or if most object files have such symbols. Functions can have symbols of other names
    /// (`asm("name")`).
    pub(crate) fn find_functions_by_symbol<T>(
        &self,
        base: &str,
        key: Key<'_>,
        look: impl Fn(&DebugInfo, Vec<DieRef>) -> Vec<T>,
    ) -> Vec<T> {
        let Some((info, objects)) = self.info().zip(self.objects()) else {
            return Vec::new();
        };
        if !self.needs_search(info) {
            return Vec::new();
        }
        self.want_index();
        let symbols = self.functions_spelled_with(base);
        let ranges = symbols
            .iter()
            .map(|it| AddrRange::new(it.addr, it.addr + 1));
        let numbers: FxHashSet<u32> = ranges.flat_map(|it| objects.numbers_in(it)).collect();
        if numbers.len() > objects.count().div_ceil(2) as usize {
            return Vec::new();
        }
        let files = numbers.into_iter().filter_map(|number| info.file(number));
        let index = info.index_of(files.flat_map(UnitFile::units).collect());
        look(info, index.functions.get(key.hash).collect())
    }

    fn want_index(&self) {
        self.names.is_index_wanted.store(true, Ordering::Relaxed);
        IS_ANY_INDEX_WANTED.store(true, Ordering::Release);
    }

    fn gdb_index(&self, info: &DebugInfo) -> Option<&GdbIndexUnits> {
        let read = || {
            GdbIndexUnits::read(info, self.holder()).unwrap_or_else(|error| {
                tracing::warn!(image = %self.holder().path.display(), %error, "names wait for all units");
                None
            })
        };
        self.names.gdb_index.get_or_init(read).as_ref()
    }

    /// Returns whether a name was searched for that the index would have found, and clears the
    /// flag. [`Module::index_names`] builds the index.
    pub fn take_names_wanted(&self) -> bool {
        self.names.is_index_wanted.swap(false, Ordering::Relaxed)
            && self.names.index.get().is_none()
    }

    /// Returns whether names can be looked up without reading all units first. Until then
    /// [`Module::functions_named`], [`Module::inlined_named`], [`Module::statics_named`],
    /// [`Module::types_named`] and [`Module::complete_type`] may wait for that.
    pub fn has_names(&self) -> bool {
        self.names.index.get().is_some() || self.info().is_none()
    }

    /// Returns whether a name can be looked up in less than a fifth of a second: as
    /// [`Module::has_names_soon`], or by a search of debug info of moderate size.
    pub fn finds_names_soon(&self) -> bool {
        let size = self.info().map_or(0, |it| it.debug_info_size());
        self.has_names_soon() || size <= MAX_SOON_SIZE
    }

    /// Returns whether names can be looked up in milliseconds: by the index, if it is in memory or in
    /// the cache folder, or since there is little debug info. If not, the index is wanted
    /// ([`Module::take_names_wanted`]).
    pub fn has_names_soon(&self) -> bool {
        let Some(info) = self.info() else {
            return true;
        };
        let is_small = || {
            // The size is without that of split files, one for each unit.
            info.objects.is_none()
                && info.unit_count() <= MAX_QUICK_UNITS
                && info.debug_info_size() < MIN_SEARCHED_SIZE
        };
        let is_soon = self.cached_index().is_some() || is_small();
        if !is_soon {
            self.want_index();
        }
        is_soon
    }

    /// Returns whether the index is in memory. Unlike [`Module::has_names`] this reads nothing.
    pub fn knows_names(&self) -> bool {
        self.names.index.get().is_some()
    }

    /// Returns the progress of [`Module::index_names`]: units read, and units in all.
    pub fn names_read(&self) -> (u32, u32) {
        match self.info.get() {
            Some(Some(info)) => (info.indexed.load(Ordering::Relaxed), info.unit_count()),
            _ => (0, 0),
        }
    }

    /// Cancels [`Module::index_names`] from another thread. Names not read by then are found only
    /// through `.gdb_index`, or by a search for the name, which does not cover split units and
    /// debug info below 1 MB.
    pub fn cancel_indexing(&self) {
        if let Some(info) = self.info() {
            info.is_indexing_cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether lookups by name may miss because [`Module::cancel_indexing`] cancelled the
    /// indexing before its end.
    pub fn has_partial_names(&self) -> bool {
        let is_cancelled = |info: &DebugInfo| info.is_indexing_cancelled.load(Ordering::Relaxed);
        let (read, all) = self.names_read();
        self.names.index.get().is_some() && read < all && self.info().is_some_and(is_cancelled)
    }

    /// Builds the name index: from the cache if it is there, else from a trustworthy
    /// `.debug_names`, else by reading all units in parallel. An index that took long is then
    /// cached. This may take seconds: call it on a background thread.
    pub fn index_names(&self) {
        let Some(info) = self.info() else {
            return;
        };
        self.full_index(info);
    }
}
