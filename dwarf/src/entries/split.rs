//! Split debug info: units whose entries are in a `.dwo` file, or in a package (`.dwp`) beside the
//! image (DWARF 5 §7.3; the GNU extension before version 5).
//!
//! The skeleton in the image is an ordinary [`Unit`] with ranges and lines. [`Entries::whole`]
//! returns the split unit under the same number, and opens its file when first needed. Type units
//! of split files are numbered after all units of the image, in the order in which the files are
//! opened.

use crate::entries::units::{Entries, Entry, Unit, type_signature};
use crate::file::R;
use crate::file::mapping;
use crate::file::object::Image;
use crate::file::sections::{load_package, load_split};
use crate::ids::DieRef;
use gimli::{DwoId, Section, UnitHeader, UnitOffset, UnitType};
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// The file that has a unit's entries.
pub(crate) enum UnitStorage {
    /// The unit is not split.
    No,
    /// The entries are in another file.
    Skeleton(Box<Skeleton>),
    /// This unit was read from a split file.
    SplitUnit(SplitUnit),
}

/// A skeleton's reference to its split unit (DWARF 5 §3.1.2).
pub(crate) struct Skeleton {
    name: &'static [u8],
    id: DwoId,
    whole: OnceLock<Option<Box<Unit>>>,
}

/// A unit's position in a split file.
#[derive(Clone)]
pub(crate) struct SplitUnit {
    dwarf: Arc<gimli::Dwarf<R>>,
    /// The type units of its file, for `DW_FORM_ref_sig8`.
    types: &'static TypeUnits,
    /// Offset of the unit's own file table in `.debug_line.dwo`, if it has one.
    lines: Option<usize>,
}

impl SplitUnit {
    pub(crate) fn dwarf(&self) -> &gimli::Dwarf<R> {
        &self.dwarf
    }
}

/// The type units of a `.dwo` file or of a package. They live as long as the process, as mapped
/// files do.
#[derive(Default)]
struct TypeUnits {
    /// Unit number of the first one.
    first: u32,
    units: Vec<TypeUnit>,
    signatures: FxHashMap<u64, DieRef>,
}

struct TypeUnit {
    header: UnitHeader<R>,
    dwarf: Arc<gimli::Dwarf<R>>,
    comp_dir: Option<R>,
    unit: OnceLock<Option<Box<Unit>>>,
}

/// A `.dwo` file; with link-time optimization it has several units.
struct SplitFile {
    units: Vec<(DwoId, UnitHeader<R>, Arc<gimli::Dwarf<R>>)>,
    types: &'static TypeUnits,
}

struct Package {
    sections: gimli::DwarfPackage<R>,
    types: &'static TypeUnits,
}

/// The split files of an image, opened when first needed.
pub(crate) struct SplitFiles {
    /// Paths of the image and its separate debug file.
    near: Vec<PathBuf>,
    packages: OnceLock<Vec<Package>>,
    files: Mutex<FxHashMap<PathBuf, Option<Arc<SplitFile>>>>,
    /// Type units by the number of the first one.
    types: RwLock<Vec<&'static TypeUnits>>,
    missing: Mutex<Vec<PathBuf>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn path(bytes: &'static [u8]) -> &'static Path {
    use std::os::unix::ffi::OsStrExt;
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

impl UnitStorage {
    /// Returns the skeleton that the root entry of a unit of the image describes, or `Split::No`.
    pub(crate) fn of_root(
        root: &Entry,
        raw: &gimli::Unit<R>,
        dwarf: &gimli::Dwarf<R>,
    ) -> UnitStorage {
        let name = root
            .attr_value(gimli::DW_AT_dwo_name)
            .or_else(|| root.attr_value(gimli::DW_AT_GNU_dwo_name))
            .and_then(|value| dwarf.attr_string(raw, value).ok());
        match (name, raw.dwo_id.or_else(|| root_id(root))) {
            (Some(name), Some(id)) => UnitStorage::Skeleton(Box::new(Skeleton {
                name: name.slice(),
                id,
                whole: OnceLock::new(),
            })),
            _ => UnitStorage::No,
        }
    }
}

/// Returns the id of the split unit: an attribute in the GNU extension, part of the header in
/// version 5.
fn root_id(root: &Entry) -> Option<DwoId> {
    match root.attr_value(gimli::DW_AT_GNU_dwo_id)? {
        gimli::AttributeValue::DwoId(id) => Some(id),
        value => value.udata_value().map(DwoId),
    }
}

fn unit_id(dwarf: &gimli::Dwarf<R>, header: &UnitHeader<R>) -> Option<DwoId> {
    match header.type_() {
        UnitType::SplitCompilation(id) => Some(id),
        UnitType::Compilation => {
            let abbreviations = header.abbreviations(&dwarf.debug_abbrev).ok()?;
            let root = header.entry(&abbreviations, header.root_offset()).ok()?;
            root_id(&root)
        }
        _ => None,
    }
}

/// Returns the headers of all units up to the first corrupt one.
fn headers(dwarf: &gimli::Dwarf<R>) -> Vec<UnitHeader<R>> {
    let mut found = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        found.push(header);
    }
    let mut units = dwarf.type_units();
    while let Ok(Some(header)) = units.next() {
        found.push(header);
    }
    found
}

fn open(path: &Path) -> Option<Image> {
    if !path.is_file() {
        return None;
    }
    mapping::map(path)
        .and_then(|(data, _)| Image::parse(path, data))
        .inspect_err(|error| tracing::debug!(path = %path.display(), %error, "split file"))
        .ok()
}

impl SplitFiles {
    pub(crate) fn new(image: &Image, holder: &Image) -> SplitFiles {
        let mut near = vec![image.path.clone(), holder.path.clone()];
        near.dedup();
        SplitFiles {
            near,
            packages: OnceLock::new(),
            files: Mutex::default(),
            types: RwLock::default(),
            missing: Mutex::default(),
        }
    }

    /// Returns the paths of the image and its debug file, and the targets of symbolic links there.
    fn places(&self) -> Vec<PathBuf> {
        let real = self.near.iter().filter_map(|path| path.canonicalize().ok());
        let mut places: Vec<PathBuf> = self.near.iter().cloned().chain(real).collect();
        let mut seen = rustc_hash::FxHashSet::default();
        places.retain(|path| seen.insert(path.clone()));
        places
    }

    /// Returns the paths to try for a `.dwo` file. Its name is relative to the compilation
    /// directory; a moved file is also looked for beside the image.
    fn candidates(&self, name: &Path, comp_dir: Option<&Path>) -> Vec<PathBuf> {
        let mut found = vec![comp_dir.map_or(name.to_owned(), |folder| folder.join(name))];
        for place in self.places() {
            let Some(folder) = place.parent() else {
                continue;
            };
            if let Some(comp_dir) = comp_dir {
                found.push(folder.join(comp_dir).join(name));
            }
            found.push(folder.join(name));
            found.extend(name.file_name().map(|base| folder.join(base)));
        }
        let mut seen = rustc_hash::FxHashSet::default();
        found.retain(|path| path.is_absolute() && seen.insert(path.clone()));
        found
    }
}

impl Entries {
    /// Returns the unit that has the entries: for a skeleton its split unit, or the skeleton itself
    /// if the file is missing. Also finds type units of split files that are open.
    pub(crate) fn whole(&self, index: u32) -> Option<&Unit> {
        if self.objects.is_some() || index < self.unit_count() {
            return self.unit(index).map(|unit| self.whole_of(unit));
        }
        let all = self
            .split
            .types
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let at = all.partition_point(|types| types.first <= index);
        let types: &'static TypeUnits = all.get(at.checked_sub(1)?)?;
        drop(all);
        let slot = types.units.get((index - types.first) as usize)?;
        slot.unit
            .get_or_init(|| {
                let part = SplitUnit {
                    dwarf: slot.dwarf.clone(),
                    types,
                    lines: None,
                };
                self.read_part(index, slot.header, part, None)
                    .map(|mut unit| {
                        unit.raw.comp_dir = unit.raw.comp_dir.or(slot.comp_dir);
                        Box::new(unit)
                    })
            })
            .as_deref()
    }

    /// Like `whole`, for a unit that is already read.
    pub(crate) fn whole_of<'a>(&self, unit: &'a Unit) -> &'a Unit {
        let UnitStorage::Skeleton(skeleton) = &unit.split else {
            return unit;
        };
        skeleton
            .whole
            .get_or_init(|| self.find_whole(unit, skeleton).map(Box::new))
            .as_deref()
            .unwrap_or(unit)
    }

    /// Returns the number of unit numbers in use. It grows as split files are opened.
    pub(crate) fn all_units(&self) -> u32 {
        let types = &self.split.types;
        let types = types.read().unwrap_or_else(PoisonError::into_inner);
        types.last().map_or(self.unit_count(), |last| {
            last.first.saturating_add(last.units.len() as u32)
        })
    }

    /// Returns whether unit numbers and offsets are the same each time the image is opened.
    pub(crate) fn is_reproducible(&self) -> bool {
        let objects = self.objects.as_ref();
        self.all_units() == self.unit_count()
            && lock(&self.split.missing).is_empty()
            && objects.is_none_or(|objects| objects.rejected().is_empty())
    }

    /// Returns the split files that were needed and are missing or of another build.
    pub(crate) fn missing_split_files(&self) -> Vec<PathBuf> {
        lock(&self.split.missing).clone()
    }

    fn find_whole(&self, unit: &Unit, skeleton: &Skeleton) -> Option<Unit> {
        let packages = self.split.packages.get_or_init(|| self.open_packages());
        for package in packages {
            if let Ok(Some(dwarf)) = package.sections.find_cu(skeleton.id, &self.main.dwarf) {
                let headers = headers(&dwarf);
                let header = headers.into_iter().find(|header| {
                    type_signature(header).is_none() && unit_id(&dwarf, header) == Some(skeleton.id)
                });
                let part = SplitUnit {
                    dwarf: Arc::new(dwarf),
                    types: package.types,
                    lines: None,
                };
                if let Some(whole) =
                    header.and_then(|header| self.read_part(unit.index, header, part, Some(unit)))
                {
                    return Some(whole);
                }
            }
        }
        let comp_dir = unit.raw.comp_dir;
        let candidates = self
            .split
            .candidates(path(skeleton.name), comp_dir.map(|dir| path(dir.slice())));
        for candidate in &candidates {
            let Some(file) = self.split_file(candidate, comp_dir) else {
                continue;
            };
            let Some((_, header, dwarf)) = file.units.iter().find(|unit| unit.0 == skeleton.id)
            else {
                tracing::debug!(path = %candidate.display(), "split file of another build");
                continue;
            };
            let part = SplitUnit {
                dwarf: dwarf.clone(),
                types: file.types,
                lines: None,
            };
            if let Some(whole) = self.read_part(unit.index, *header, part, Some(unit)) {
                return Some(whole);
            }
        }
        let wanted = candidates.into_iter().next();
        let wanted = wanted.unwrap_or_else(|| path(skeleton.name).to_owned());
        let mut missing = lock(&self.split.missing);
        if !missing.contains(&wanted) {
            missing.push(wanted);
        }
        None
    }

    fn read_part(
        &self,
        index: u32,
        header: UnitHeader<R>,
        part: SplitUnit,
        skeleton: Option<&Unit>,
    ) -> Option<Unit> {
        let mut unit = self
            .read_root(index, header, false, Some(part), skeleton)
            .inspect_err(|error| tracing::debug!(unit = index, %error, "corrupt split unit"))
            .ok()?;
        // DWARF 5 §7.3.2.2: `.debug_line.dwo` has the file tables of type units. A compilation unit
        // uses the skeleton's table, unless it has `DW_AT_stmt_list`.
        let own = unit.stmt_list.take();
        if let UnitStorage::SplitUnit(part) = &mut unit.split
            && !part.dwarf.debug_line.reader().is_empty()
        {
            part.lines = own;
        }
        unit.stmt_list = skeleton.and_then(|skeleton| skeleton.stmt_list);
        Some(unit)
    }

    fn open_packages(&self) -> Vec<Package> {
        let package = |image: PathBuf| {
            let mut name = image.into_os_string();
            name.push(".dwp");
            let image = open(Path::new(&name))?;
            let sections = load_package(&image)
                .inspect_err(|error| tracing::debug!(path = ?name, %error, "corrupt package"))
                .ok()?;
            let mut units = Vec::new();
            // Row numbers start at 1 (DWARF 5 §7.3.5.3).
            for row in 1..=sections.tu_index.unit_count() {
                let Ok(dwarf) = sections.tu_sections(row, &self.main.dwarf) else {
                    continue;
                };
                let headers = headers(&dwarf);
                let dwarf = Arc::new(dwarf);
                units.extend(headers.into_iter().map(|header| (header, dwarf.clone())));
            }
            Some(Package {
                types: self.add_types(units, None),
                sections,
            })
        };
        let places = self.split.places();
        places.into_iter().filter_map(package).collect()
    }

    /// Returns a `.dwo` file, opened once; `None` if it cannot be read.
    fn split_file(&self, path: &Path, comp_dir: Option<R>) -> Option<Arc<SplitFile>> {
        if let Some(known) = lock(&self.split.files).get(path) {
            return known.clone();
        }
        let opened = open(path).map(|image| {
            let mut units = Vec::new();
            for dwarf in load_split(&image, &self.main.dwarf)
                .into_iter()
                .map(Arc::new)
            {
                let headers = headers(&dwarf);
                units.extend(headers.into_iter().map(|header| (header, dwarf.clone())));
            }
            units
        });
        let mut files = lock(&self.split.files);
        if let Some(known) = files.get(path) {
            return known.clone();
        }
        let file = opened.map(|units| {
            let compilations = units.iter().filter_map(|(header, dwarf)| {
                Some((unit_id(dwarf, header)?, *header, dwarf.clone()))
            });
            Arc::new(SplitFile {
                units: compilations.collect(),
                types: self.add_types(units, comp_dir),
            })
        });
        files.insert(path.to_owned(), file.clone());
        file
    }

    /// Assigns unit numbers to the type units among `units`.
    fn add_types(
        &self,
        units: Vec<(UnitHeader<R>, Arc<gimli::Dwarf<R>>)>,
        comp_dir: Option<R>,
    ) -> &'static TypeUnits {
        static NONE: std::sync::LazyLock<TypeUnits> = std::sync::LazyLock::new(TypeUnits::default);
        let mut all = self
            .split
            .types
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let first = all.last().map_or(self.unit_count(), |last| {
            last.first.saturating_add(last.units.len() as u32)
        });
        let mut types = TypeUnits {
            first,
            ..TypeUnits::default()
        };
        for (number, (header, dwarf, (signature, offset))) in (first..u32::MAX).zip(
            units
                .into_iter()
                .filter_map(|(header, dwarf)| Some((header, dwarf, type_signature(&header)?))),
        ) {
            let die = DieRef {
                unit: number,
                offset: offset as u64,
            };
            types.signatures.entry(signature).or_insert(die);
            types.units.push(TypeUnit {
                header,
                dwarf,
                comp_dir,
                unit: OnceLock::new(),
            });
        }
        if types.units.is_empty() {
            return &NONE;
        }
        let types: &'static TypeUnits = Box::leak(Box::new(types));
        all.push(types);
        types
    }

    /// Returns the sections that have a unit's line program.
    pub(crate) fn line_sections<'a>(&'a self, unit: &'a Unit) -> &'a gimli::Dwarf<R> {
        match unit.own_lines() {
            Some(_) => self.dwarf_of(unit),
            None => self.sections(unit.index, false),
        }
    }
}

impl Unit {
    /// Returns the offset of the unit's own file table in `.debug_line.dwo`, if it has one.
    pub(crate) fn own_lines(&self) -> Option<usize> {
        match &self.split {
            UnitStorage::SplitUnit(part) => part.lines,
            _ => None,
        }
    }

    /// Returns the type of the split file that has this signature.
    pub(crate) fn split_type(&self, signature: u64) -> Option<DieRef> {
        match &self.split {
            UnitStorage::SplitUnit(part) => part.types.signatures.get(&signature).copied(),
            _ => None,
        }
    }

    /// Returns the entry at an offset of the unit's section, if it is in this unit.
    pub(crate) fn entry_at(&self, offset: usize) -> Option<DieRef> {
        let header = &self.raw.header;
        let inside = UnitOffset(offset.checked_sub(header.offset().0)?);
        inside.is_in_bounds(header).then(|| self.die(inside))
    }
}
