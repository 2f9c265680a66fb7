//! [`Module`]: one image, read lazily and immutable.

mod loaded;

use crate::cfi::{Cfi, Rule};
use crate::file::debug_file;
use crate::file::function_slots;
use crate::file::mapping::{self, FileIdentity};
use crate::file::object::Image;
use crate::file::symbol_table::{self, SymbolTable};
use crate::file::versions::{self, Versioned};
use crate::functions::Function;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::source::{LineRow, SourceFile};
use crate::ids::symbol::Symbol;
use crate::ids::{DieRef, Language, Machine, Segment, SymbolStatus, ThreadStorage};
use crate::index::gdb_index::GdbIndexUnits;
use crate::index::{self, NameIndex, Named, Names};
use crate::lines::DebugInfo;
use crate::naming::Key;
use crate::types::{Type, TypeId};
use gimli::UnwindContext;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Minimum size of debug info in bytes for which the name index is cached on disk.
const WORTH_KEEPING: u64 = 4 << 20;
/// Minimum size of `.debug_info` in bytes for which a name is searched without an index of all
/// names.
const WORTH_SEARCHING: usize = 1 << 20;
/// An index that took this long to build is cached on disk, however small the debug info.
const LONG: Duration = Duration::from_millis(200);
/// Maximum number of names whose results are cached.
pub(crate) const MAX_NAMES: usize = 1 << 12;

/// The addresses of the functions of a name.
#[derive(Default, Debug)]
pub struct FunctionPlaces {
    /// Functions with code of their own.
    pub functions: Vec<Arc<Function>>,
    /// Entry points of inlined copies.
    pub inlined: Vec<FileAddr>,
    /// Bodies of async functions: the code that their futures run.
    pub async_bodies: Vec<Arc<Function>>,
    /// Entry points of inlined copies of these bodies.
    pub inlined_async_bodies: Vec<FileAddr>,
}

/// An image with its debug info.
pub struct Module {
    /// Unique in the process; the key of caches.
    pub(crate) identity: u64,
    pub(crate) image: Image,
    /// Folder of the on-disk cache.
    folder: OnceLock<PathBuf>,
    debug_image: OnceLock<Option<Image>>,
    info: OnceLock<Option<DebugInfo>>,
    symbols: OnceLock<SymbolTable>,
    pub(crate) cfi: OnceLock<Cfi>,
    /// Identity of the file; `None` if the image was not opened from a file.
    file: Option<FileIdentity>,
    index: OnceLock<NameIndex>,
    /// Whether the index was looked for in the folder.
    looked_for_index: AtomicBool,
    /// Whether a name was searched for that the index would have found faster.
    wants_index: AtomicBool,
    units_of_names: OnceLock<Option<GdbIndexUnits>>,
    /// Results of searches for names before the index was there, by key; `None`: only the index can
    /// find the name.
    named: RwLock<FxHashMap<u32, Option<Arc<Named>>>>,
    /// Results of [`Module::find_function`], by name.
    pub(crate) places: RwLock<FxHashMap<String, Arc<FunctionPlaces>>>,
    /// The types that vtables of Rust's trait objects belong to, by address.
    pub(crate) vtables: OnceLock<FxHashMap<FileAddr, TypeId>>,
    pub(crate) functions: RwLock<FxHashMap<DieRef, Option<Arc<Function>>>>,
    pub(crate) types: RwLock<FxHashMap<DieRef, Arc<Type>>>,
}

/// Whether the flag `wants_index` of any module was set.
static ANY_WANTS_INDEX: AtomicBool = AtomicBool::new(false);

/// Returns whether [`Module::take_names_wanted`] may be true of any module since the last call.
pub fn are_names_wanted() -> bool {
    // Called in every round of the session's loop: a load is cheaper than a swap.
    ANY_WANTS_INDEX.load(Ordering::Relaxed) && ANY_WANTS_INDEX.swap(false, Ordering::Acquire)
}

/// Modules opened so far: an image is mapped once in a session, however often it is loaded.
static OPENED: LazyLock<Mutex<FxHashMap<FileIdentity, Arc<Module>>>> =
    LazyLock::new(Mutex::default);

impl Module {
    /// Opens an image: maps it and reads only its headers.
    ///
    /// # Errors
    /// The file cannot be opened, or is not an ELF image.
    pub fn open(path: &Path) -> Result<Arc<Module>, Error> {
        Module::open_as(path, path)
    }

    /// Opens an image whose path is gone or refers to another file by now, by the other path
    /// `file`.
    ///
    /// # Errors
    /// The file cannot be opened, or is not an ELF image.
    pub fn open_as(path: &Path, file: &Path) -> Result<Arc<Module>, Error> {
        let io = |error: std::io::Error| Error::Io {
            path: file.to_owned(),
            message: error.to_string(),
        };
        let metadata = std::fs::metadata(file).map_err(io)?;
        {
            let identity = mapping::identity_of(&metadata);
            let opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(module) = opened.get(&identity)
                && module.path() == path
            {
                return Ok(module.clone());
            }
        }
        let (data, identity) = mapping::map_known(file, &metadata)?;
        let module = Arc::new(Module {
            file: Some(identity),
            ..Module::new(Image::parse(path, data)?)
        });
        OPENED
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(identity, module.clone());
        Ok(module)
    }

    /// Returns the same image with its debug info from a given separate file (found by build-id,
    /// for example).
    /// From now on [`Module::open`] returns the new module.
    ///
    /// # Errors
    /// The file cannot be read, is of another build, or has no debug info.
    pub fn with_debug_file(&self, file: &Path) -> Result<Arc<Module>, Error> {
        let debug = debug_file::debug_file_at(file, &self.image)?;
        let image = Image::parse(&self.image.path, self.image.data)?;
        let module = Module {
            folder: self.folder.clone(),
            debug_image: OnceLock::from(Some(debug)),
            ..Module::new(image)
        };
        let module = Arc::new(module);
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&mut Arc<Module>| known.identity == self.identity;
        if let Some(known) = opened.values_mut().find(same) {
            *known = Arc::clone(&module);
        }
        drop(opened);
        Ok(module)
    }

    /// Opens an image that is not a file (the vdso). `name` is used in messages.
    ///
    /// # Errors
    /// The bytes are not an ELF image.
    pub fn from_bytes(name: &Path, bytes: Vec<u8>) -> Result<Arc<Module>, Error> {
        let data = Box::leak(bytes.into_boxed_slice());
        Ok(Arc::new(Module::new(Image::parse(name, data)?)))
    }

    fn new(image: Image) -> Module {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Module {
            identity: NEXT.fetch_add(1, Ordering::Relaxed),
            image,
            folder: OnceLock::new(),
            debug_image: OnceLock::new(),
            info: OnceLock::new(),
            symbols: OnceLock::new(),
            cfi: OnceLock::new(),
            file: None,
            index: OnceLock::new(),
            looked_for_index: AtomicBool::new(false),
            wants_index: AtomicBool::new(false),
            units_of_names: OnceLock::new(),
            named: RwLock::default(),
            places: RwLock::default(),
            vtables: OnceLock::new(),
            functions: RwLock::default(),
            types: RwLock::default(),
        }
    }

    /// Sets the folder of the on-disk cache of names and decompressed sections. Call it before any
    /// lookup.
    pub fn keep_in(&self, folder: &Path) {
        self.folder.get_or_init(|| folder.to_owned());
    }

    fn folder(&self) -> Option<&Path> {
        self.folder.get().map(PathBuf::as_path)
    }

    /// Returns the start of the function whose unwind table entry covers `addr` and the address of
    /// its exception table; `None` without one.
    pub(crate) fn exception_table(&self, addr: u64) -> Result<Option<(u64, u64)>, Error> {
        self.cfi().exception_table(addr)
    }

    /// Returns the unwind rules at an address of the image.
    pub(crate) fn unwind_rule(
        &self,
        addr: u64,
        context: &mut UnwindContext<usize>,
    ) -> Result<Option<Rule>, Error> {
        self.cfi().rule(addr, context)
    }

    pub(crate) fn cfi(&self) -> &Cfi {
        self.cfi
            .get_or_init(|| Cfi::read(&self.image, || self.debug_image()))
    }

    /// Returns the separate debug file, looked for on first use.
    pub(crate) fn debug_image(&self) -> Option<&Image> {
        self.debug_image
            .get_or_init(|| debug_file::debug_file(&self.image))
            .as_ref()
    }

    /// Returns the file with the debug info.
    pub(crate) fn holder(&self) -> &Image {
        self.debug_image().unwrap_or(&self.image)
    }

    /// Returns the debug info; unit headers are read on first use.
    pub(crate) fn info(&self) -> Option<&DebugInfo> {
        self.info
            .get_or_init(|| {
                let holder = self.holder();
                if !holder.has_section(".debug_info") {
                    return None;
                }
                let supplementary = debug_file::supplementary_file(holder);
                DebugInfo::open(&self.image, holder, supplementary.as_ref(), self.folder())
            })
            .as_ref()
    }

    pub(crate) fn symbol_table(&self) -> &SymbolTable {
        self.symbols
            .get_or_init(|| SymbolTable::read(&self.image, self.debug_image()))
    }

    /// Returns the entries of inlined functions with a key, and the units that may have copies of
    /// them (`None`: all).
    pub(crate) fn inlined_by_key(
        &self,
        info: &DebugInfo,
        key: Key<'_>,
    ) -> (Vec<DieRef>, Option<Vec<u32>>) {
        if self.needs_search(info)
            && let Some(named) = self.named(info, key)
        {
            let dies = named.index.inlined.get(key.hash).collect();
            return (dies, Some(named.units.clone()));
        }
        let index = self.full_index(info);
        (index.inlined.get(key.hash).collect(), None)
    }

    /// Returns whether the index cannot be used: it is not built yet, or incomplete.
    fn needs_search(&self, info: &DebugInfo) -> bool {
        info.given_up.load(Ordering::Relaxed) || self.kept_index().is_none()
    }

    /// Returns the index if it is loaded or in the cache folder.
    fn kept_index(&self) -> Option<&NameIndex> {
        if self.index.get().is_none()
            && !self.looked_for_index.swap(true, Ordering::Relaxed)
            && let Some(index) = self.load_index()
        {
            // Another thread may have set it in the meantime; both are the same.
            let _ = self.index.set(index);
        }
        self.index.get()
    }

    fn load_index(&self) -> Option<NameIndex> {
        let (folder, id) = self.folder().zip(self.kept_as())?;
        index::cache::load(folder, &id, self.debug_size())
    }

    /// Returns the cache key of the debug info: the build-id, else the file's identity.
    fn kept_as(&self) -> Option<Cow<'static, [u8]>> {
        if let Some(id) = self.image.build_id {
            return Some(Cow::Borrowed(id));
        }
        let (device, inode, size, modified) = self.file?;
        if self.debug_image().is_some() {
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
        self.index
            .get_or_init(|| self.load_index().unwrap_or_else(|| self.read_index(info)))
    }

    fn read_index(&self, info: &DebugInfo) -> NameIndex {
        let began = Instant::now();
        let index = info.read_index(self.holder());
        let size = self.debug_size();
        // An index that is built quickly needs no file.
        let is_worth_it = size >= WORTH_KEEPING || began.elapsed() >= LONG;
        let is_complete = !index.sparse && !info.given_up.load(Ordering::Relaxed);
        if is_worth_it
            && is_complete
            && info.is_reproducible()
            && let Some((folder, id)) = self.folder().zip(self.kept_as())
        {
            match index::cache::store(folder, &id, size, &index) {
                // The mapped file replaces the index in memory.
                Ok(()) => return self.load_index().unwrap_or(index),
                Err(error) => {
                    tracing::info!(folder = %folder.display(), %error, "cannot keep the name index");
                }
            }
        }
        index
    }

    /// Searches for the entries of a name; `None` if a search is not worth it.
    fn named(&self, info: &DebugInfo, key: Key<'_>) -> Option<Arc<Named>> {
        if info.debug_info_size() < WORTH_SEARCHING || self.holder().has_section(".debug_names") {
            return None;
        }
        let known = self.named.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&key.hash) {
            return known.clone();
        }
        drop(known);
        let named = info.named(key).map(Arc::new);
        self.wants_index.store(true, Ordering::Relaxed);
        ANY_WANTS_INDEX.store(true, Ordering::Release);
        let mut all = self.named.write().unwrap_or_else(PoisonError::into_inner);
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
        let look_in = |index: &NameIndex| look(info, kind(index).get(key.hash).collect());
        if self.needs_search(info) {
            if let Some(names) = self.units_of_names(info) {
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

    fn units_of_names(&self, info: &DebugInfo) -> Option<&GdbIndexUnits> {
        let read = || {
            GdbIndexUnits::read(info, self.holder()).unwrap_or_else(|error| {
                tracing::warn!(image = %self.holder().path.display(), %error, "names wait for all units");
                None
            })
        };
        self.units_of_names.get_or_init(read).as_ref()
    }

    /// Returns whether a name was searched for that the index would have found, and clears the
    /// flag. [`Module::index_names`] builds the index.
    pub fn take_names_wanted(&self) -> bool {
        self.wants_index.swap(false, Ordering::Relaxed) && self.index.get().is_none()
    }

    /// Returns whether names can be looked up without reading all units first. Until then
    /// [`Module::functions_named`], [`Module::inlined_named`], [`Module::statics_named`],
    /// [`Module::types_named`] and [`Module::complete_type`] may wait for that.
    pub fn has_names(&self) -> bool {
        self.index.get().is_some() || self.info().is_none()
    }

    /// Returns whether the index is in memory. Unlike [`Module::has_names`] this reads nothing.
    pub fn knows_names(&self) -> bool {
        self.index.get().is_some()
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
            info.given_up.store(true, Ordering::Relaxed);
        }
    }

    /// Returns whether lookups by name may miss because [`Module::cancel_indexing`] cancelled the
    /// indexing before its end.
    pub fn has_partial_names(&self) -> bool {
        let given_up = |info: &DebugInfo| info.given_up.load(Ordering::Relaxed);
        let (read, all) = self.names_read();
        self.index.get().is_some() && read < all && self.info().is_some_and(given_up)
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

    // ---- the image
    /// Returns the file it was opened from.
    pub fn path(&self) -> &Path {
        &self.image.path
    }

    /// Returns the whole file.
    pub fn bytes(&self) -> &'static [u8] {
        self.image.data
    }

    /// Returns a number that is unique among the modules of this process.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the GNU build-id.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.image.build_id
    }

    /// Returns the instruction set.
    pub fn machine(&self) -> Machine {
        self.image.machine
    }

    /// Returns whether it can be loaded at any address (PIE, shared library).
    pub fn is_position_independent(&self) -> bool {
        self.image.position_independent
    }

    /// Returns the ELF entry point (`e_entry`).
    pub fn entry(&self) -> FileAddr {
        self.image.entry
    }

    /// Returns the loadable segments by address.
    pub fn segments(&self) -> &[Segment] {
        &self.image.segments
    }

    /// Returns the range from the first segment's start to the last one's end.
    pub fn load_range(&self) -> AddrRange<FileAddr> {
        let segments = &self.image.segments;
        AddrRange {
            start: segments
                .iter()
                .map(|segment| segment.range.start)
                .min()
                .unwrap_or_default(),
            end: segments
                .iter()
                .map(|segment| segment.range.end)
                .max()
                .unwrap_or_default(),
        }
    }

    /// Returns the address of the program headers (for AT_PHDR arithmetic), if they are loaded.
    pub fn program_headers(&self) -> Option<FileAddr> {
        self.image.program_headers
    }

    /// Returns the address of `PT_DYNAMIC`.
    pub fn dynamic(&self) -> Option<FileAddr> {
        self.image.dynamic
    }

    /// Returns the thread-local storage template.
    pub fn thread_storage(&self) -> Option<ThreadStorage> {
        self.image.thread_storage
    }

    /// Returns the interpreter (`PT_INTERP`).
    pub fn interpreter(&self) -> Option<PathBuf> {
        self.image.interpreter.clone()
    }

    /// Reads bytes of a segment from the file; `None` if the file does not have them all.
    pub fn read_image(&self, addr: FileAddr, buffer: &mut [u8]) -> Option<()> {
        let bytes = self.image.bytes_at(addr.0)?.get(..buffer.len())?;
        buffer.copy_from_slice(bytes);
        Some(())
    }

    /// Returns which kind of symbols the image has.
    pub fn symbol_status(&self) -> SymbolStatus {
        let holder = self.holder();
        if holder.has_section(".debug_info") {
            SymbolStatus::DebugInfo
        } else if symbol_table::has_symbols(holder) || symbol_table::has_symbols(&self.image) {
            SymbolStatus::SymbolsOnly
        } else {
            SymbolStatus::Stripped
        }
    }

    /// Returns the separate file with the debug info, if there is one.
    pub fn debug_file(&self) -> Option<&Path> {
        self.debug_image().map(|image| image.path.as_path())
    }

    /// Returns the size of the debug sections in the file, in bytes.
    pub fn debug_size(&self) -> u64 {
        let separate = self.debug_image().map_or(0, Image::debug_size);
        self.image.debug_size().saturating_add(separate)
    }

    /// Returns the address in this image that the loader writes at `addr`, for example in the
    /// global offset table; `None` if the value is not known or may be in another image.
    pub fn relocated(&self, addr: FileAddr) -> Option<FileAddr> {
        match self.machine() {
            Machine::X86_64 => self.image.relocated(addr.0).map(FileAddr),
            _ => None,
        }
    }

    /// Returns the split files (`.dwo`) that were needed and are missing or of another build.
    pub fn missing_split_units(&self) -> Vec<PathBuf> {
        self.info()
            .map(|info| info.missing_split_files())
            .unwrap_or_default()
    }

    // ---- symbols
    /// Returns the function or object symbol that covers `addr`. A symbol without a size reaches to
    /// the next one of its section.
    pub fn symbol_at(&self, addr: FileAddr) -> Option<Symbol> {
        if self.symbols.get().is_none()
            && let Some(symbol) =
                symbol_table::function_covering(&self.image, self.debug_image(), addr.0)
        {
            return Some(symbol);
        }
        self.symbol_table().at(&self.image, addr.0)
    }

    /// Returns the address of a symbol that the image exports, by its raw name. Unlike
    /// [`Module::symbols_named`] this reads only the dynamic symbols.
    pub fn exported(&self, name: &str) -> Option<FileAddr> {
        symbol_table::exported(&self.image, name)
    }

    /// Returns the addresses of the functions with these raw names, local ones included, each with
    /// the index of its name. For Rust's v0 mangling the last path component is compared. Cheap if
    /// none of `marks` is in the strings of `.symtab`: then only exported symbols are read.
    pub fn functions_called(&self, names: &[&str], marks: &[&str]) -> Vec<(usize, FileAddr)> {
        symbol_table::functions_called([Some(&self.image), self.debug_image()], names, marks)
    }

    /// Returns all symbols with exactly this raw name.
    pub fn symbols_named(&self, name: &str) -> Vec<Symbol> {
        self.symbol_table().named(name).collect()
    }

    /// Returns the functions that are exported under a name with a version.
    pub(crate) fn versioned_functions(&self, wanted: Versioned<'_>) -> Vec<Symbol> {
        versions::functions(&self.image, wanted)
    }

    /// Returns the words of the image that the loader relocates to the function of a raw name, or to
    /// the result of the resolver at `chooser` (`STT_GNU_IFUNC`).
    pub fn function_slots(&self, name: &str, chooser: Option<FileAddr>) -> Vec<FileAddr> {
        match self.machine() {
            Machine::X86_64 => function_slots::of(&self.image, name, chooser),
            _ => Vec::new(),
        }
    }

    pub(crate) fn functions_spelled_with(&self, text: &str) -> Vec<Symbol> {
        symbol_table::functions_spelled_with(&self.image, self.debug_image(), text)
    }

    /// Returns the symbols of all functions.
    pub fn functions_by_symbol(&self) -> Vec<Symbol> {
        self.symbol_table().functions().collect()
    }

    // ---- lines
    /// Returns the row that covers `addr`.
    pub fn row_at(&self, addr: FileAddr) -> Option<LineRow> {
        self.info()?.row_at(addr.0)
    }

    /// Returns all rows in `range`, by address, clipped to it.
    pub fn rows_in(&self, range: AddrRange<FileAddr>) -> Vec<LineRow> {
        self.info()
            .map(|info| info.rows_in(range))
            .unwrap_or_default()
    }

    /// Returns the source files that `path` may refer to. An absolute path matches the same path
    /// (lexically or canonically on this machine); a relative path or bare name matches every file
    /// that ends in it, by whole components.
    pub fn find_sources(&self, path: &Path) -> Vec<Arc<SourceFile>> {
        self.info()
            .map(|info| info.find_sources(path))
            .unwrap_or_default()
    }

    /// Returns the files with the same base name as `path`: candidates for a message if nothing
    /// matched.
    pub fn similar_sources(&self, path: &Path) -> Vec<Arc<SourceFile>> {
        self.info()
            .zip(crate::lines::program::base_name(path))
            .map(|(info, base)| info.files_named(base))
            .unwrap_or_default()
    }

    /// Returns the lines of `file` that have code, sorted and unique.
    pub fn lines_with_code(&self, file: &SourceFile) -> Vec<u32> {
        self.info()
            .map(|info| info.lines_with_code(file))
            .unwrap_or_default()
    }

    /// Returns all source files of the image.
    pub fn source_files(&self) -> Vec<Arc<SourceFile>> {
        self.info().map(DebugInfo::source_files).unwrap_or_default()
    }

    // ---- units
    /// Returns the language of the unit that covers `addr`.
    pub fn language_at(&self, addr: FileAddr) -> Option<Language> {
        let info = self.info()?;
        Some(info.whole(info.unit_at(addr.0)?)?.language)
    }

    /// Returns the language of the unit that describes a type.
    pub fn language_of(&self, id: TypeId) -> Option<Language> {
        Some(self.info()?.whole(id.0.unit)?.language)
    }

    /// Returns the compiler (`DW_AT_producer`) of the unit that describes a type.
    pub fn producer_of(&self, id: TypeId) -> Option<&'static str> {
        let info = self.info()?;
        let unit = info.whole(id.0.unit)?;
        let root = unit.raw.entry(unit.raw.header.root_offset()).ok()?;
        let producer = info.string(unit, root.attr_value(gimli::DW_AT_producer)?)?;
        std::str::from_utf8(producer).ok()
    }

    // ---- functions
    /// Returns the concrete function that covers `addr`.
    pub fn function_at(&self, addr: FileAddr) -> Option<Arc<Function>> {
        let info = self.info()?;
        self.function_of(info, info.function_die_at(addr.0)?)
    }

    /// Returns a function, parsed on first use.
    pub(crate) fn function_of(&self, info: &DebugInfo, die: DieRef) -> Option<Arc<Function>> {
        let functions = self
            .functions
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = functions.get(&die) {
            return known.clone();
        }
        drop(functions);
        let function = info
            .read_function(die)
            .inspect_err(|error| tracing::debug!(?die, %error, "cannot read a function"))
            .ok()
            .map(Arc::new);
        let mut functions = self
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        functions.entry(die).or_insert(function).clone()
    }

    // ---- types
    /// Returns a type, parsed on first use.
    ///
    /// # Errors
    /// The entry is corrupt.
    pub fn ty(&self, id: TypeId) -> Result<Arc<Type>, Error> {
        let types = self.types.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = types.get(&id.0) {
            return Ok(known.clone());
        }
        drop(types);
        let info = self
            .info()
            .ok_or_else(|| Error::Corrupt("no debug info".into()))?;
        let read = info.read_type(id);
        let read = Arc::new(read.map_err(|error| info.error_at(id.0, error))?);
        let mut types = self.types.write().unwrap_or_else(PoisonError::into_inner);
        Ok(types.entry(id.0).or_insert(read).clone())
    }
}
