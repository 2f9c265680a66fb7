//! The files that the process had mapped, found on this machine by build-id. Memory that the kernel
//! omits from a core file is read from them.

use super::notes::{FilePart, LARGEST_PAGE};
use super::reader::{Core, Dumped};
use dwarf::{LoadAddr, LoadBias, Memory, Module};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;
/// Directory where distributions install debug info and programs by build-id.
const BY_BUILD_ID: &str = "/usr/lib/debug/.build-id";
/// Maximum number of mapped files; a larger list is corrupt.
const MAX_FILES: usize = 1 << 13;
/// An image's headers and its build-id are in its first page.
static ZEROS: [u8; LARGEST_PAGE as usize] = [0; LARGEST_PAGE as usize];
/// Maximum size in bytes of the notes to search for a build-id: they are short.
const MAX_NOTES: u64 = 4096;

/// A module of the process.
pub struct CoreImage {
    /// Its file.
    pub module: Arc<Module>,
    /// Its load bias.
    pub bias: LoadBias,
    /// Whether it is the program.
    pub is_program: bool,
    /// Whether it is the dynamic loader.
    pub is_loader: bool,
}

/// The mapped files of a core file.
#[derive(Default)]
pub struct Images {
    /// The program first.
    pub all: Vec<CoreImage>,
    /// The program's file, or its name if the file was not found.
    pub program: Option<PathBuf>,
    pub notes: Vec<String>,
    contents: Vec<Contents>,
    /// Index into `contents` of each mapped part.
    content_of: Vec<Option<u32>>,
    written: Option<SystemTime>,
}

/// The contents of a mapped file.
enum Contents {
    /// An image of the same build.
    Image(Arc<Module>),
    /// A data file; opened when needed.
    Data(PathBuf, OnceCell<Option<&'static [u8]>>),
}

/// A file of the same build as the mapped one.
struct MatchedFile {
    module: Arc<Module>,
    bias: LoadBias,
    /// Whether it has the loaded segments, not only debug info.
    whole: bool,
}

/// A mapped file before it is looked for.
struct Mapped<'a> {
    path: &'a Path,
    start: Option<LoadAddr>,
    executable: bool,
}

impl Images {
    /// Finds the files that a core file lists.
    pub fn find(core: &Core, program: Option<&Path>) -> Self {
        let mut images = Images {
            written: core.written(),
            ..Images::default()
        };
        let parts = &core.decoded.files;
        let mut files: Vec<Mapped<'_>> = Vec::new();
        let mut known: FxHashMap<&Path, usize> = FxHashMap::default();
        let mut file_of = Vec::with_capacity(parts.len());
        for part in parts {
            let path = part.path.as_path();
            let place = known.get(path).copied().or_else(|| {
                (files.len() < MAX_FILES).then(|| {
                    known.insert(path, files.len());
                    files.push(Mapped {
                        path,
                        start: None,
                        executable: false,
                    });
                    files.len() - 1
                })
            });
            file_of.push(place);
            if let Some(file) = place.and_then(|place| files.get_mut(place)) {
                if part.offset == 0 {
                    file.start = file.start.or(Some(part.start));
                }
                file.executable |= core.is_executable(part.start);
            }
        }
        let at = |key| {
            core.auxiliary(key)
                .and_then(|addr| place_of(parts, LoadAddr(addr)))
        };
        let file_at = |key| at(key).and_then(|part| *file_of.get(part)?);
        let (main, loader) = (file_at(AT_ENTRY), file_at(AT_BASE));
        let mut content_of_file = Vec::with_capacity(files.len());
        let mut missing: Vec<&Path> = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let is_program = Some(index) == main;
            let image = file
                .start
                .filter(|start| is_program || file.is_image(core, *start));
            let contents = match image {
                None => Some(Contents::Data(file.path.to_owned(), OnceCell::new())),
                Some(start) => {
                    let found = images.find_image(core, file.path, start, (is_program, program));
                    if found.is_none() && !is_program {
                        missing.push(file.path);
                    }
                    found.and_then(|found| {
                        let place = if is_program { 0 } else { images.all.len() };
                        let image = CoreImage {
                            module: found.module.clone(),
                            bias: found.bias,
                            is_program,
                            is_loader: Some(index) == loader,
                        };
                        images.all.insert(place, image);
                        found.whole.then_some(Contents::Image(found.module))
                    })
                }
            };
            content_of_file.push(contents.and_then(|contents| {
                images.contents.push(contents);
                u32::try_from(images.contents.len() - 1).ok()
            }));
        }
        let content_of = |file: &Option<usize>| *content_of_file.get((*file)?)?;
        images.content_of = file_of.iter().map(content_of).collect();
        if main.is_none() {
            // The list of files is missing or wrong: use the program that the user named.
            images.program = program.map(Path::to_owned);
            if program.is_none() {
                images.notes.push(format!(
                    "The core file lacks the path of the program `{}`; set `program` to it.\n",
                    core.decoded.name
                ));
            }
        }
        if !missing.is_empty() {
            let names: Vec<_> = missing
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            images.notes.push(format!(
                "Stacks may be wrong beyond functions of these libraries, whose builds were not \
                 found: {}. Put them beside the file that `program` names.\n",
                names.join(", ")
            ));
        }
        images
    }

    /// Finds the file of an image on this machine: the `user`'s program for the program, else the
    /// file at its `path`, beside the user's program, or installed by build-id.
    fn find_image(
        &mut self,
        core: &Core,
        path: &Path,
        start: LoadAddr,
        (is_program, user): (bool, Option<&Path>),
    ) -> Option<MatchedFile> {
        let wanted = user.filter(|_| is_program);
        let name = without_deleted(path);
        let id = build_id_at(core, start);
        let found = |module: Arc<Module>, whole: bool| {
            // What is mapped there is the beginning of the file, whatever the size of pages.
            let first = match module.segments().first() {
                Some(it) => it.range.start.0.wrapping_sub(it.file_offset),
                None => module.load_range().start.0,
            };
            let bias = LoadBias(start.0.wrapping_sub(first));
            MatchedFile {
                module,
                bias,
                whole,
            }
        };
        if is_program {
            self.program = Some(name.clone());
        }
        // Why the first candidate does not match.
        let mut wrong = None;
        for path in wanted.into_iter().chain([name.as_path()]) {
            if !path.is_file() {
                if Some(path) == wanted {
                    wrong = Some(format!("{} does not exist", path.display()));
                }
                continue;
            }
            let found = match Module::open(path) {
                Ok(module) => found(module, true),
                Err(error) => {
                    wrong.get_or_insert(error.to_string());
                    continue;
                }
            };
            let same = match (&id, found.module.build_id()) {
                (Some(theirs), Some(ours)) => theirs == ours,
                _ => found.module.is_loaded_at(found.bias, &Dumped(core)),
            };
            if !same {
                wrong.get_or_insert_with(|| another_build(path, &found.module, id.as_deref()));
                continue;
            }
            if let Some(wrong) = wrong {
                let note = format!("{wrong}; {} is used\n", path.display());
                self.notes.push(note);
            }
            if is_program {
                self.program = Some(path.to_owned());
            }
            return Some(found);
        }
        // Without the file itself, only one with the same build-id is used.
        let beside = user.and_then(|user| Some((user.with_file_name(name.file_name()?), true)));
        let by_id = id.iter().flat_map(|id| by_build_id(id));
        for (path, whole) in beside.filter(|_| id.is_some()).into_iter().chain(by_id) {
            let same = |module: &Arc<Module>| module.build_id() == id.as_deref();
            if path.is_file()
                && let Some(module) = Module::open_as(&name, &path).ok().filter(same)
            {
                return Some(found(module, whole));
            }
        }
        if !is_program {
            self.notes
                .extend(wrong.map(|wrong| format!("{wrong}; ignored\n")));
            return None;
        }
        let wrong = wrong.unwrap_or_else(|| format!("{} was not found", name.display()));
        let id = id.map_or(String::new(), |id| format!(" of build-id {}", hex(&id)));
        self.notes.push(format!(
            "{wrong}; names and variables are unavailable without the program{id}: set `program` \
             to its path\n"
        ));
        // A core file may contain the whole image (core(5), `coredump_filter`).
        let module = Module::from_memory(&name, start, &Dumped(core)).ok()?;
        Some(found(module, false))
    }

    /// Returns a mapped file's bytes from an address on, if the process cannot have changed them.
    pub fn bytes_at(&self, core: &Core, addr: LoadAddr) -> Option<&'static [u8]> {
        let place = place_of(&core.decoded.files, addr)?;
        let part = core.decoded.files.get(place)?;
        let contents = (*self.content_of.get(place)?)?;
        let writable = core.is_writable(addr);
        let offset = part.offset.checked_add(addr - part.start)?;
        let bytes = match self.contents.get(contents as usize)? {
            Contents::Image(module) => {
                let changed = module.segments().iter().any(|segment| {
                    let size = segment.file_size;
                    segment.writable && offset.wrapping_sub(segment.file_offset) < size
                });
                (!changed && writable != Some(true)).then(|| module.bytes())
            }
            Contents::Data(path, opened) => match writable {
                Some(false) => *opened.get_or_init(|| self.data_file(path)),
                _ => None,
            },
        }?;
        let offset = usize::try_from(offset).ok()?;
        let len = usize::try_from(part.end - addr).unwrap_or(usize::MAX);
        // The last page is padded with zeros (mmap(2)).
        let page = core.decoded.page_bytes.max(1) as usize;
        let rest = match bytes.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ if offset < bytes.len().next_multiple_of(page) => {
                ZEROS.get(..page - offset % page).unwrap_or_default()
            }
            _ => return None,
        };
        Some(&rest[..rest.len().min(len)])
    }

    /// Opens a data file; `None` if it was changed after the core file was written.
    fn data_file(&self, path: &Path) -> Option<&'static [u8]> {
        let file = dwarf::open_regular(path).ok()?;
        let old = file.metadata().ok()?.modified().ok()? <= self.written?;
        old.then(|| dwarf::map_file(path, &file).ok())?
    }
}

impl Mapped<'_> {
    /// Returns whether the mapped file is an image: by its first bytes, or because it is mapped
    /// executable.
    fn is_image(&self, core: &Core, start: LoadAddr) -> bool {
        match core.dumped_at(start) {
            Some(bytes) => bytes.starts_with(b"\x7fELF"),
            None => self.executable,
        }
    }
}

fn another_build(path: &Path, module: &Module, wanted: Option<&[u8]>) -> String {
    format!(
        "{} is not the build in the core file (its build-id is {}, that in the core file {})",
        path.display(),
        module.build_id().map_or("missing".into(), hex),
        wanted.map_or("missing, and its headers differ".into(), hex),
    )
}

/// Returns the index of the file part that contains an address.
pub(super) fn place_of(parts: &[FilePart], addr: LoadAddr) -> Option<usize> {
    let behind = parts.partition_point(|part| part.start <= addr);
    let place = behind.checked_sub(1)?;
    (addr < parts.get(place)?.end).then_some(place)
}

/// Returns the build-id of the image that begins at an address, if the core file has it.
fn build_id_at(core: &Core, start: LoadAddr) -> Option<Vec<u8>> {
    use object::LittleEndian as Endian;
    use object::elf::{FileHeader64, NT_GNU_BUILD_ID, PT_LOAD, PT_NOTE};
    use object::read::elf::{FileHeader, NoteIterator, ProgramHeader};
    let bytes = core.dumped_at(start)?;
    let header = FileHeader64::<Endian>::parse(bytes).ok()?;
    let headers = header.program_headers(Endian, bytes).ok()?;
    let loads = headers.iter().filter(|it| it.p_type(Endian) == PT_LOAD);
    let first = loads.min_by_key(|it| it.p_vaddr(Endian))?;
    // Where the beginning of the file would be.
    let first = first.p_vaddr(Endian).wrapping_sub(first.p_offset(Endian));
    let notes = headers.iter().filter(|it| it.p_type(Endian) == PT_NOTE);
    for note in notes.take(64) {
        let at = note.p_vaddr(Endian).wrapping_sub(first);
        let mut bytes = vec![0; note.p_filesz(Endian).min(MAX_NOTES) as usize];
        let addr = LoadAddr(start.0.wrapping_add(at));
        if Dumped(core).read(addr, &mut bytes).is_err() {
            continue;
        }
        let align = note.p_align(Endian);
        let mut notes = NoteIterator::<FileHeader64<Endian>>::new(Endian, align, &bytes).ok()?;
        while let Ok(Some(note)) = notes.next() {
            if note.name() == b"GNU" && note.n_type(Endian) == NT_GNU_BUILD_ID {
                return Some(note.desc().to_vec());
            }
        }
    }
    None
}

/// Returns the paths of files with a build-id, and whether each is the whole image.
fn by_build_id(id: &[u8]) -> Vec<(PathBuf, bool)> {
    let Some((first, rest)) = id.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Vec::new();
    };
    let place = format!("{BY_BUILD_ID}/{first:02x}/{}", hex(rest));
    let debug = PathBuf::from(format!("{place}.debug"));
    vec![(PathBuf::from(place), true), (debug, false)]
}

/// Strips the suffix ` (deleted)`, which the kernel appends to the path of a deleted file.
fn without_deleted(path: &Path) -> PathBuf {
    let bytes = path.as_os_str().as_bytes();
    match bytes.strip_suffix(b" (deleted)") {
        Some(name) if !path.exists() => PathBuf::from(OsString::from_vec(name.to_vec())),
        _ => path.to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
