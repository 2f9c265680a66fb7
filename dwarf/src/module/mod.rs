//! [`Module`]: one image, read lazily and immutable.

pub(crate) mod answers;
pub(crate) mod changed_parameters;
mod image;
mod loaded;
mod name_index;
mod open;

use crate::cfi::{Cfi, Rule};
use crate::entries::importers::MAX_IMPORTED;
use crate::entries::objects::Objects;
use crate::entries::units::Unit;
use crate::file::compressed;
use crate::file::debug_file::{self, DebugFile};
use crate::file::macho::debug_map::DebugMap;
use crate::file::mapping::FileIdentity;
use crate::file::object::Image;
use crate::file::symbol_table::SymbolTable;
use crate::functions::Function;
use crate::functions::variable::Variable;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::source::{LineRow, SourceFile};
use crate::ids::symbol::Symbol;
use crate::ids::{DieRef, Language};
use crate::index::unit_names::UnitNames;
use crate::lines::DebugInfo;
use crate::types::{Type, TypeId};
use answers::Answers;
use gimli::UnwindContext;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

pub use name_index::are_names_wanted;

/// Maximum number of names whose results are cached.
pub(crate) const MAX_NAMES: usize = 1 << 12;
/// Maximum number of units whose names are cached.
const MAX_UNITS_WITH_NAMES: usize = 2 * MAX_IMPORTED;

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

/// The name of a variable, the paths that it may have, and the unit that comes first.
type NameOfStatic = (String, Vec<String>, Option<u32>);

/// Answers to questions about names, a field for each kind of question.
#[derive(Default)]
pub(crate) struct NameAnswers {
    pub(crate) functions: Answers<String, Arc<Function>>,
    pub(crate) inlined: Answers<String, FileAddr>,
    /// Their entries.
    pub(crate) inlined_functions: Answers<String, DieRef>,
    pub(crate) symbols: Answers<String, Symbol>,
    /// By name and the unit that comes first.
    pub(crate) types: Answers<(String, Option<u32>), TypeId>,
    /// Of types that are only declared, by the declaration.
    pub(crate) definitions: Answers<DieRef, DieRef>,
    /// Each with whether it is visible.
    pub(crate) statics: Answers<NameOfStatic, (Variable, bool)>,
    /// Of static members, by the member's entry.
    pub(crate) members: Answers<DieRef, Variable>,
    /// The types of captured references, by the variable's entry.
    pub(crate) captured: Answers<DieRef, TypeId>,
}

/// An image with its debug info.
pub struct Module {
    /// Unique in the process; the key of caches.
    pub(crate) identity: u64,
    pub(crate) image: Image,
    /// Folder of the on-disk cache.
    folder: OnceLock<PathBuf>,
    debug_file: OnceLock<DebugFile>,
    info: OnceLock<Option<DebugInfo>>,
    symbols: OnceLock<SymbolTable>,
    /// Lookups that have scanned the symbols, as they were not sorted.
    symbol_scans: AtomicU32,
    pub(crate) cfi: OnceLock<Cfi>,
    /// Identity of the file; `None` if the image was not opened from a file.
    file: Option<FileIdentity>,
    names: name_index::NameTables,
    /// Answers to questions about names.
    pub(crate) answers: NameAnswers,
    /// Results of [`Module::find_function`], by name.
    pub(crate) places: RwLock<FxHashMap<String, Arc<FunctionPlaces>>>,
    /// The types that vtables of Rust's trait objects belong to, by address; `None` if types share one.
    pub(crate) vtables: OnceLock<FxHashMap<FileAddr, Option<TypeId>>>,
    pub(crate) functions: RwLock<FxHashMap<DieRef, Option<Arc<Function>>>>,
    pub(crate) types: RwLock<FxHashMap<DieRef, Arc<Type>>>,
    /// Names of the units that a lookup began in, by unit.
    unit_names: RwLock<FxHashMap<u32, Arc<UnitNames>>>,
    /// What names mean in scopes, for each kind of lookup.
    resolved: RwLock<FxHashMap<(DieRef, u8, String), Option<DieRef>>>,
    /// Classes whose virtual tables are at these addresses.
    tables: RwLock<FxHashMap<FileAddr, TypeId>>,
    /// How the parameters of functions with these entry points were changed.
    changed: RwLock<FxHashMap<FileAddr, Option<changed_parameters::ChangedParameters>>>,
    /// Definitions of macros.
    definitions: RwLock<FxHashMap<MacroPlace, Option<&'static [u8]>>>,
}

/// An address, a line if the macro is not looked up at that of the address, and its name.
pub(crate) type MacroPlace = (FileAddr, Option<(PathBuf, u32)>, String);

impl Module {
    /// Sets the folder of the on-disk cache of names and decompressed sections. Call it before any
    /// lookup.
    pub fn set_cache_folder(&self, folder: &Path) {
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
        self.found_debug_file().image.as_ref()
    }

    fn found_debug_file(&self) -> &DebugFile {
        self.debug_file.get_or_init(|| DebugFile::find(&self.image))
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
                    return self.mapped_info();
                }
                let supplementary = debug_file::supplementary_file(holder);
                DebugInfo::open(&self.image, holder, supplementary.as_ref(), self.folder())
            })
            .as_ref()
    }

    /// Reads the debug map of an image whose debug info is in object files.
    fn mapped_info(&self) -> Option<DebugInfo> {
        let map = DebugMap::read(&self.image)?;
        let info = DebugInfo::of_map(&self.image, map);
        info.inspect_err(|error| tracing::debug!(%error, "debug map"))
            .ok()
    }

    /// Returns the object files with the debug info, if the map was read by now.
    fn opened_objects(&self) -> Option<&Objects> {
        self.info.get()?.as_ref()?.objects.as_ref()
    }

    pub(crate) fn symbol_table(&self) -> &SymbolTable {
        self.symbols
            .get_or_init(|| SymbolTable::read(&self.image, self.debug_image()))
    }

    /// Returns the split files (`.dwo`) that were needed and are missing or of another build.
    pub fn missing_split_units(&self) -> Vec<PathBuf> {
        self.info()
            .map(|info| info.missing_split_files())
            .unwrap_or_default()
    }

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

    /// Returns the language of the unit that covers `addr`.
    pub fn language_at(&self, addr: FileAddr) -> Option<Language> {
        let info = self.info()?;
        Some(info.whole(info.unit_at(addr.0)?)?.language)
    }

    /// Returns the path of the source file that the unit which covers `addr` is made of, as the compiler
    /// wrote it: rustc adds the name of the part of the crate.
    pub fn unit_source(&self, addr: FileAddr) -> Option<PathBuf> {
        self.source_of_unit(self.info()?.unit_at(addr.0)?)
    }

    /// Returns the path of the source file that the unit which describes a variable is made of, as
    /// [`Module::unit_source`].
    pub fn unit_source_of(&self, variable: &Variable) -> Option<PathBuf> {
        self.source_of_unit(variable.id.unit)
    }

    fn source_of_unit(&self, unit: u32) -> Option<PathBuf> {
        let unit = self.info()?.whole(unit)?;
        let folder = unit.raw.comp_dir.map_or(&[][..], |it| it.slice());
        Some(crate::lines::sources::join(&[
            folder,
            unit.raw.name?.slice(),
        ]))
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

    /// Returns what a kind of lookup finds for a name in a scope; `find` does it at most once as long
    /// as the result is cached.
    pub(crate) fn resolved(
        &self,
        scope: DieRef,
        kind: u8,
        name: &str,
        find: impl FnOnce() -> Option<DieRef>,
    ) -> Option<DieRef> {
        cached(&self.resolved, (scope, kind, name.to_owned()), find)
    }

    /// Returns the class whose virtual table is at an address, if [`Module::keep_class_of_table`] was
    /// called for it.
    pub fn class_of_table(&self, table: FileAddr) -> Option<TypeId> {
        let known = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&table).copied()
    }

    /// Records the class whose virtual table is at an address: what tells it takes longer to read.
    pub fn keep_class_of_table(&self, table: FileAddr, class: TypeId) {
        let mut all = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_NAMES {
            all.clear();
        }
        all.insert(table, class);
    }

    /// Returns the text that defines a macro at a place; `find` reads it at most once as long as the
    /// result is cached.
    pub(crate) fn definition(
        &self,
        place: MacroPlace,
        find: impl FnOnce() -> Option<&'static [u8]>,
    ) -> Option<&'static [u8]> {
        cached(&self.definitions, place, find)
    }

    /// Returns whether a function is of an assembler's unit, which has no types: its parameters and
    /// result are unknown.
    pub fn is_of_assembler(&self, function: &Function) -> bool {
        let language = || {
            let unit = self.info()?.whole(function.id.unit)?;
            let root = unit.raw.entry(unit.raw.header.root_offset()).ok()?;
            root.attr_value(gimli::DW_AT_language)
        };
        matches!(
            language(),
            Some(gimli::AttributeValue::Language(
                gimli::DW_LANG_Mips_Assembler | gimli::DW_LANG_ALTIUM_Assembler
            ))
        )
    }

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

    /// Returns a section of the file with the debug info of a unit that few lookups need: a
    /// compressed one is decompressed now.
    pub(crate) fn lazy_section(&self, unit: &Unit, name: &'static str) -> &'static [u8] {
        let object = self.info().and_then(|info| info.file_of(unit.index));
        let object = object.and_then(|file| file.object.as_ref());
        let holder = object.unwrap_or(self.holder());
        compressed::inflate(holder, &[name], None);
        holder.section_data(name)
    }

    /// Returns whether a type is an array whose bounds are computed in a frame, or leads to one by
    /// pointers, typedefs and elements.
    pub fn has_dynamic_array(&self, id: TypeId) -> bool {
        self.info().is_some_and(|info| info.has_dynamic_array(id))
    }

    /// Returns the names that a unit declares outside functions, read on first use.
    pub(crate) fn unit_names(&self, info: &DebugInfo, unit: &Unit) -> Arc<UnitNames> {
        let known = self
            .unit_names
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&unit.index) {
            return Arc::clone(known);
        }
        drop(known);
        let names = Arc::new(info.read_unit_names(unit));
        let mut all = self
            .unit_names
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_UNITS_WITH_NAMES {
            all.clear();
        }
        Arc::clone(all.entry(unit.index).or_insert(names))
    }

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

/// Returns the value of a key in a cache of at most [`MAX_NAMES`], found on first use.
fn cached<K: Eq + Hash, V: Clone>(
    cache: &RwLock<FxHashMap<K, V>>,
    key: K,
    find: impl FnOnce() -> V,
) -> V {
    let known = cache.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(&key) {
        return known.clone();
    }
    drop(known);
    let found = find();
    let mut all = cache.write().unwrap_or_else(PoisonError::into_inner);
    if all.len() >= MAX_NAMES {
        all.clear();
    }
    all.insert(key, found.clone());
    found
}
