//! The images of the process, and the dynamic loader's list of them.

pub mod announce;
mod dyld;
mod list;

use crate::arch::{Arch, Convention};
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::memory::ProcessMemory;
use crate::os::MappedFile;
use dwarf::{
    AddrRange, CTypes, FileAddr, HeuristicUnwind, LoadAddr, LoadBias, Memory, Module, ModuleMap,
    SymbolStatus,
};
use dyld::DyldList;
use list::{Entry, LoaderList};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;
const AT_SYSINFO_EHDR: u64 = 33;
const DT_DEBUG: u64 = 21;

/// An image in the process.
pub struct Loaded {
    pub id: ModuleId,
    pub module: Arc<Module>,
    pub bias: LoadBias,
    pub range: AddrRange<LoadAddr>,
    pub is_program: bool,
    /// Whether it is the dynamic loader.
    is_loader: bool,
    /// Whether it is in the loader's list (the program, the loader and the vdso stay without it).
    listed: bool,
}

impl Loaded {
    /// Returns whether an address is in it. Between its segments there may be gaps, of up to 64 KiB on
    /// aarch64, where the program may map something else.
    fn holds(&self, addr: LoadAddr) -> bool {
        /// The smallest page: a segment is followed by the rest of its last one.
        const PAGE: u64 = 4096;
        let segments = self.module.segments();
        let at = self.bias.file(addr);
        let covers = |segment: &dwarf::Segment| {
            let range = segment.range;
            (range.start.0 & !(PAGE - 1)..range.end.0.next_multiple_of(PAGE)).contains(&at.0)
        };
        self.range.contains(addr) && (segments.is_empty() || segments.iter().any(covers))
    }

    /// Returns whether it belongs to the system rather than to the user.
    pub fn is_of_the_system(&self) -> bool {
        let path = self.module.path();
        !self.is_program
            && ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/System"]
                .iter()
                .any(|folder| path.starts_with(folder))
    }

    /// Returns whether it is the dynamic loader.
    pub fn is_loader(&self) -> bool {
        self.is_loader
    }

    /// Returns a description for users.
    pub fn info(&self) -> ModuleInfo {
        let path = self.module.path().to_path_buf();
        ModuleInfo {
            id: self.id,
            name: path
                .file_name()
                .unwrap_or(path.as_os_str())
                .to_string_lossy()
                .into_owned(),
            path,
            range: self.range,
            symbols: self.module.symbol_status(),
            symbol_file: self.module.debug_file().map(Path::to_path_buf),
            build_id: self
                .module
                .build_id()
                .map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
            debug_size: self.module.debug_size(),
            is_program: self.is_program,
        }
    }
}

/// All images, the program first.
#[derive(Default)]
pub struct Modules {
    /// The instruction set of a test's program.
    #[cfg(test)]
    pub(crate) test_arch: Option<Arch>,
    pub loaded: Vec<Loaded>,
    /// Images by their first addresses.
    starts: BTreeMap<LoadAddr, ModuleId>,
    /// Load biases of the images other than the program.
    biases: FxHashSet<LoadBias>,
    next_id: u32,
    /// The number of changes so far.
    generation: u64,
    /// The loader's list, once it is known.
    list: Option<List>,
    /// The folder of the cache for data about images; `None`: no cache.
    pub cache: Option<PathBuf>,
    /// Problems with images, for the console.
    pub notes: Vec<String>,
    /// Files whose problems were reported.
    noted: HashSet<PathBuf>,
    /// Addresses of `__cxa_begin_catch`, where C++ handlers begin; filled on first use.
    catch_entries: OnceCell<Vec<LoadAddr>>,
    /// Addresses of functions that make long jumps; filled on first use.
    long_jumps: OnceCell<Vec<LoadAddr>>,
    /// Addresses that Rust's caught panics pass; filled on first use.
    panic_cleanups: OnceCell<Vec<LoadAddr>>,
}

/// The list of a dynamic loader: where it is, and what it was at the last read.
enum List {
    /// `struct r_debug` of ELF systems.
    Linked(LoadAddr, LoaderList),
    /// `struct dyld_all_image_infos` of macOS.
    Dyld(LoadAddr, DyldList),
}

/// The result of a refresh.
#[derive(Default)]
pub struct Change {
    pub added: Vec<ModuleId>,
    pub removed: Vec<Loaded>,
    /// Whether the loader is about to add images.
    pub is_addition: bool,
}

impl Modules {
    /// Returns the image that contains an address.
    pub fn at(&self, addr: LoadAddr) -> Option<&Loaded> {
        let (_, nearest) = self.starts.range(..=addr).next_back()?;
        let holds = |loaded: &&Loaded| loaded.holds(addr);
        // An image may be mapped in a gap of another one.
        let nearest = self.get(*nearest).filter(holds);
        nearest.or_else(|| self.loaded.iter().find(holds))
    }

    /// Returns the image with an id.
    pub fn get(&self, id: ModuleId) -> Option<&Loaded> {
        // The list is sorted by id.
        let index = self.loaded.binary_search_by_key(&id, |loaded| loaded.id);
        self.loaded.get(index.ok()?)
    }

    /// Returns the program.
    pub fn program(&self) -> Option<&Loaded> {
        self.loaded.iter().find(|loaded| loaded.is_program)
    }

    /// Returns the instruction set of the program, or of this machine while there is none.
    pub(crate) fn arch(&self) -> Arch {
        #[cfg(test)]
        if let Some(arch) = self.test_arch {
            return arch;
        }
        let program = self.loaded.first();
        let arch = program.and_then(|loaded| Arch::of(loaded.module.machine()));
        arch.unwrap_or(Arch::HOST)
    }

    /// Returns the calling convention of the program.
    pub(crate) fn convention(&self) -> &'static Convention {
        match self.loaded.first() {
            Some(program) if program.module.is_of_apple() => self.arch().convention_of_apple(),
            _ => self.arch().convention(),
        }
    }

    /// Returns what C's types are in the program, or on this machine while there is none.
    pub(crate) fn c_types(&self) -> CTypes {
        #[cfg(test)]
        if let Some(arch) = self.test_arch {
            return arch.machine().c_types();
        }
        match self.loaded.first() {
            Some(program) => program.module.c_types(),
            None => Arch::HOST.machine().c_types(),
        }
    }

    /// Removes all images (the process executed another program, or is gone). Returns them.
    pub fn clear(&mut self) -> Vec<Loaded> {
        self.note_change();
        self.list = None;
        self.starts.clear();
        self.biases.clear();
        std::mem::take(&mut self.loaded)
    }

    /// Returns only a program, for tests.
    #[cfg(test)]
    pub fn of(module: Arc<Module>, bias: LoadBias) -> Modules {
        let mut modules = Modules::default();
        modules.add(module, bias, true, false);
        modules
    }

    fn add(
        &mut self,
        module: Arc<Module>,
        bias: LoadBias,
        is_program: bool,
        listed: bool,
    ) -> ModuleId {
        self.note_change();
        if let Some(folder) = &self.cache {
            module.set_cache_folder(folder);
        }
        let id = ModuleId(self.next_id);
        self.next_id += 1;
        let range = module.load_range();
        let range = AddrRange::new(bias.load(range.start), bias.load(range.end));
        self.starts.insert(range.start, id);
        if !is_program {
            self.biases.insert(bias);
        }
        self.loaded.push(Loaded {
            id,
            range,
            module,
            bias,
            is_program,
            is_loader: false,
            listed,
        });
        id
    }

    /// Returns a number that increases with each change of the images.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Drops what was derived from the images before a change.
    fn note_change(&mut self) {
        self.generation += 1;
        self.catch_entries.take();
        self.long_jumps.take();
        self.panic_cleanups.take();
    }

    /// Returns the C library functions that a program calls to make a long jump.
    pub fn long_jumps(&self) -> &[LoadAddr] {
        self.long_jumps.get_or_init(|| {
            let mut found: Vec<LoadAddr> = Vec::new();
            for loaded in &self.loaded {
                for name in ["longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"] {
                    let exported = loaded.module.exported(name);
                    found.extend(exported.map(|addr| loaded.bias.load(addr)));
                }
            }
            found.sort_unstable();
            found.dedup();
            found
        })
    }

    /// Returns the address of the variable with which glibc mangles pointers, on the machines that
    /// have one: the loader exports it, a static program has a copy.
    pub fn pointer_guard(&self) -> Option<LoadAddr> {
        let in_loader = self.loaded.iter().filter(|it| it.is_loader).find_map(|it| {
            let exported = it.module.exported("__pointer_chk_guard")?;
            Some(it.bias.load(exported))
        });
        in_loader.or_else(|| {
            let program = self.loaded.first()?;
            let symbols = program.module.symbols_named("__pointer_chk_guard_local");
            Some(program.bias.load(symbols.first()?.addr))
        })
    }

    /// Returns the functions that Rust's `catch_unwind` calls when it has caught a panic.
    pub fn panic_cleanups(&self) -> &[LoadAddr] {
        self.panic_cleanups.get_or_init(|| {
            let candidates = self.loaded.iter().filter(|it| !it.is_of_the_system());
            let of = |loaded: &Loaded| {
                let symbols = loaded.module.function_symbols("__rust_panic_cleanup");
                let bias = loaded.bias;
                symbols
                    .into_iter()
                    .map(move |symbol| bias.load(symbol.addr))
            };
            candidates.flat_map(of).collect()
        })
    }

    /// Returns the same functions if they have been searched already, otherwise an empty list.
    pub fn known_panic_cleanups(&self) -> &[LoadAddr] {
        self.panic_cleanups.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the functions that every C++ handler calls first: there an exception has arrived
    /// (Itanium C++ ABI "Exception Handling" §2.5.3).
    pub fn catch_entries(&self) -> &[LoadAddr] {
        self.catch_entries.get_or_init(|| {
            let of = |loaded: &Loaded| {
                let module = &loaded.module;
                // A program without exports may contain the C++ library.
                let addr = module.exported("__cxa_begin_catch").or_else(|| {
                    let alone = loaded.is_program && module.interpreter().is_none();
                    let symbols = alone.then(|| module.symbols_named("__cxa_begin_catch"))?;
                    let mut code = symbols
                        .into_iter()
                        .filter(|symbol| symbol.kind == dwarf::SymbolKind::Function);
                    code.next().map(|symbol| symbol.addr)
                })?;
                Some(loaded.bias.load(addr))
            };
            self.loaded.iter().filter_map(of).collect()
        })
    }

    /// Takes the debug info of an image from a file.
    ///
    /// # Errors
    /// The file has none for that image, or the image was unloaded.
    pub fn use_debug_file(&mut self, id: ModuleId, file: &Path) -> Result<(), Error> {
        let gone = || Error::Unsupported("the module was unloaded".into());
        let known = self.loaded.iter_mut().find(|loaded| loaded.id == id);
        let loaded = known.ok_or_else(gone)?;
        loaded.module = loaded.module.with_debug_file(file)?;
        self.note_change();
        Ok(())
    }

    fn note(&mut self, path: &Path, note: String) {
        // The loader's list is read often; report a problem once.
        if self.noted.insert(path.to_path_buf()) {
            self.notes.push(note);
        }
    }

    /// Opens the image that a process has mapped from the file at `path`, which may have been
    /// replaced since. `start` is its first address in memory (libraries begin at 0), and `bias`
    /// its load bias. Without the file, the copy in memory is used for unwinding.
    fn open(
        &mut self,
        path: &Path,
        start: LoadAddr,
        bias: impl Fn(&Module) -> LoadBias,
        (pid, memory): (i32, &ProcessMemory<'_>),
    ) -> Option<Arc<Module>> {
        let is_it = |module: &Module| module.is_loaded_at(bias(module), memory);
        let of_dyld = matches!(self.list, Some(List::Dyld(..)));
        let named = match of_dyld {
            true => {
                let uuid = dyld::header(start, memory).and_then(|header| header.uuid);
                Module::open_for(path, Arch::HOST.machine(), uuid)
            }
            false => Module::open(path),
        };
        let is_named = named.as_deref().is_ok_and(&is_it);
        // Without a build-id, two builds may begin with the same bytes.
        if let Ok(module) = &named
            && is_named
            && module.build_id().is_some()
        {
            return named.ok();
        }
        let mapped = memory.os.mapped_file(pid, start);
        let replaced = mapped.and_then(|file| file.replaced);
        if let Some(file) = &replaced
            && let Ok(module) = Module::open_as(path, file)
            && is_it(&module)
        {
            if named.is_ok() {
                self.note(path, replaced_note(path, "the old file stays in use"));
            }
            return Some(module);
        }
        match named {
            Ok(module) if replaced.is_none() && is_named => Some(module),
            Ok(_) => {
                self.note(path, replaced_note(path, "its symbols are ignored"));
                Module::from_memory(path, start, memory).ok()
            }
            Err(error) => {
                // The system's own libraries have no files on macOS.
                if !of_dyld || path.exists() {
                    self.note(path, format!("{error}\n"));
                }
                Module::from_memory(path, start, memory).ok()
            }
        }
    }

    /// Opens the program, which is readable through the system even if its file was replaced.
    fn open_program(&mut self, file: &MappedFile) -> Option<Arc<Module>> {
        let path = &file.path;
        let opened = match &file.replaced {
            Some(replaced) => Module::open_as(path, replaced),
            None => Module::open(path),
        };
        match opened {
            Ok(module) => {
                if file.replaced.is_some() && path.exists() {
                    self.note(path, replaced_note(path, "the old file stays in use"));
                }
                Some(module)
            }
            Err(error) => {
                self.note(path, format!("{error}\n"));
                None
            }
        }
    }

    /// Finds the program, its loader and the vdso by the auxiliary vector.
    pub fn load_initial(&mut self, pid: i32, memory: &ProcessMemory<'_>) {
        let os = memory.os;
        if let Some(core) = os.core().filter(|core| !core.images().is_empty()) {
            for image in core.images() {
                self.add(image.module.clone(), image.bias, image.is_program, false);
                if let Some(loaded) = self.loaded.last_mut() {
                    loaded.is_loader = image.is_loader;
                }
            }
            self.add_vdso(pid, memory);
            return;
        }
        if let Some(infos) = os.image_infos(pid) {
            return self.load_initial_of_dyld(pid, infos, memory);
        }
        let program = os.executable(pid);
        if let Some(module) = program.and_then(|file| self.open_program(&file)) {
            let bias = match os.auxiliary(pid, AT_ENTRY) {
                Some(entry) => LoadBias(entry.wrapping_sub(module.entry().0)),
                None => LoadBias(0),
            };
            let interpreter = module.interpreter();
            self.add(module, bias, true, false);
            let base = os.auxiliary(pid, AT_BASE).filter(|base| *base != 0);
            let bias = |module: &Module| {
                let start = module.load_range().start.0;
                LoadBias(base.unwrap_or(0).wrapping_sub(start))
            };
            if let (Some(base), Some(path)) = (base, interpreter)
                && let Some(module) = self.open(&path, LoadAddr(base), bias, (pid, memory))
            {
                let bias = bias(&module);
                self.add(module, bias, false, false);
                if let Some(loader) = self.loaded.last_mut() {
                    loader.is_loader = true;
                }
            }
        }
        self.add_vdso(pid, memory);
    }

    /// Finds the program and the loader by their headers: until the loader runs, its list is empty.
    fn load_initial_of_dyld(&mut self, pid: i32, infos: LoadAddr, memory: &ProcessMemory<'_>) {
        self.list = Some(List::Dyld(infos, DyldList::default()));
        let os = memory.os;
        let mappings = os.mappings(pid);
        let open = |path: &Path, header: &dyld::Header| {
            Module::open_for(path, Arch::HOST.machine(), header.uuid)
        };
        if let Some((at, header)) = dyld::find(dyld::Kind::Program, &mappings, memory)
            && let Some(file) = os.mapped_file(pid, at).or_else(|| os.executable(pid))
        {
            match open(&file.path, &header) {
                Ok(module) => drop(self.add(module, header.bias, true, false)),
                Err(error) => self.note(&file.path, format!("{error}\n")),
            }
        }
        let published = dyld::loader(infos, memory);
        let published = published.and_then(|at| Some((at, dyld::header(at, memory)?)));
        let loader = published.or_else(|| dyld::find(dyld::Kind::Loader, &mappings, memory));
        if let Some((at, header)) = loader
            && let Some(file) = os.mapped_file(pid, at)
            && let Ok(module) = open(&file.path, &header)
        {
            self.add(module, header.bias, false, false);
            if let Some(loader) = self.loaded.last_mut() {
                loader.is_loader = true;
            }
        }
    }

    fn add_vdso(&mut self, pid: i32, memory: &ProcessMemory<'_>) {
        let os = memory.os;
        if let Some(addr) = os.auxiliary(pid, AT_SYSINFO_EHDR) {
            /// More than any has so far.
            const MAX_BYTES: usize = 1 << 14;
            let mut bytes = vec![0; MAX_BYTES];
            let len = os.read_memory(LoadAddr(addr), &mut bytes);
            bytes.truncate(len);
            if let Ok(module) = Module::from_bytes(Path::new("linux-vdso.so.1"), bytes) {
                let bias = LoadBias(addr.wrapping_sub(module.load_range().start.0));
                self.add(module, bias, false, false);
            }
        }
    }

    /// Returns the program's entry point.
    pub fn entry(&self) -> Option<LoadAddr> {
        let program = self.program()?;
        Some(program.bias.load(program.module.entry()))
    }

    /// Returns where to watch the dynamic loader: the function that it calls when its list changes,
    /// by name, or by `r_debug.r_brk` once that is initialised.
    pub fn loader_breakpoint(&self, memory: &dyn Memory) -> Option<LoadAddr> {
        if let Some(List::Dyld(infos, _)) = &self.list {
            return self.dyld_breakpoint(*infos, memory);
        }
        let published = self
            .debug_structure(memory)
            .and_then(|debug| memory.read_uint(debug + 16, 8).ok())
            .filter(|addr| *addr != 0)
            .map(LoadAddr);
        published.or_else(|| {
            let loader = self.loaded.iter().find(|loaded| loaded.is_loader)?;
            let symbol = loader.module.exported(announce::FUNCTION)?;
            Some(loader.bias.load(symbol))
        })
    }

    /// Returns where to watch macOS's loader: by the name of the function, since the address that the
    /// loader publishes is right only once it has moved itself.
    fn dyld_breakpoint(&self, infos: LoadAddr, memory: &dyn Memory) -> Option<LoadAddr> {
        let loader = self.loaded.iter().find(|loaded| loaded.is_loader);
        let named = loader.and_then(|loader| {
            let symbols = dyld::FUNCTIONS
                .iter()
                .map(|it| loader.module.symbols_named(it));
            let symbol = symbols.flatten().next()?;
            Some(loader.bias.load(symbol.addr))
        });
        let is_code = |at: &LoadAddr| loader.is_none_or(|loader| loader.holds(*at));
        named.or_else(|| dyld::notification(infos, memory).filter(is_code))
    }

    /// Returns the address of `r_debug` (link.h), by the program's DT_DEBUG.
    fn debug_structure(&self, memory: &dyn Memory) -> Option<LoadAddr> {
        let program = self.program()?;
        let dynamic = program.bias.load(program.module.dynamic()?);
        for index in 0..1024 {
            let tag = memory.read_uint(dynamic + index * 16, 8).ok()?;
            let value = memory.read_uint(dynamic + index * 16 + 8, 8).ok()?;
            match tag {
                0 => return None,
                DT_DEBUG if value != 0 => return Some(LoadAddr(value)),
                _ => {}
            }
        }
        None
    }

    /// Returns the address of the loader's entry for the image with a load bias.
    pub fn link_map(&self, memory: &dyn Memory, bias: LoadBias) -> Option<LoadAddr> {
        let entries = list::entries(self.debug_structure(memory)?, memory);
        let mut of_it = entries.into_iter().filter(|(_, entry)| entry.bias == bias);
        of_it.next().map(|(at, _)| at)
    }

    /// Returns whether an image of the loader's list is there already. On macOS the system's libraries
    /// share a load bias, and the program is in the list, too.
    fn is_known(&self, entry: &Entry) -> bool {
        match self.list {
            Some(List::Dyld(..)) => self.starts.contains_key(&entry.start),
            _ => self.biases.contains(&entry.bias),
        }
    }

    /// Updates the images from the loader's list. Nothing changes while the list is in flux.
    pub fn refresh(&mut self, pid: i32, memory: &ProcessMemory<'_>) -> Change {
        let mut change = Change::default();
        // A core file has its own list, whose files were opened already.
        if memory.os.core().is_some_and(|core| core.lists_files()) {
            return change;
        }
        if self.list.is_none() {
            let debug = self.debug_structure(memory);
            self.list = debug.map(|debug| List::Linked(debug, LoaderList::default()));
        }
        let read = match &mut self.list {
            None => return change,
            Some(List::Linked(debug, list)) => list.read(*debug, memory),
            Some(List::Dyld(infos, list)) => list.read(*infos, memory),
        };
        let new = match read {
            list::Change::InFlux { is_addition } => {
                change.is_addition = is_addition;
                return change;
            }
            list::Change::Added(new) => new,
            list::Change::All(all) => {
                let by_start = matches!(self.list, Some(List::Dyld(..)));
                let key = |bias: LoadBias, start: LoadAddr| match by_start {
                    true => start.0,
                    false => bias.0,
                };
                let listed = all.iter().map(|(it, _)| key(it.bias, it.start));
                let listed: FxHashSet<u64> = listed.collect();
                let is_there =
                    |it: &Loaded| !it.listed || listed.contains(&key(it.bias, it.range.start));
                let (stay, gone) = std::mem::take(&mut self.loaded)
                    .into_iter()
                    .partition(is_there);
                self.loaded = stay;
                change.removed = gone;
                for gone in &change.removed {
                    if self.starts.get(&gone.range.start) == Some(&gone.id) {
                        self.starts.remove(&gone.range.start);
                    }
                    self.biases.remove(&gone.bias);
                }
                let new = all.into_iter().filter(|(_, is_new)| *is_new);
                new.map(|(entry, _)| entry).collect()
            }
        };
        if !change.removed.is_empty() {
            self.note_change();
        }
        for entry in new {
            if self.is_known(&entry) {
                continue;
            }
            let Some(path) = image_path(pid, &entry, memory) else {
                continue;
            };
            let (start, bias) = (entry.start, entry.bias);
            if let Some(module) = self.open(&path, start, |_| bias, (pid, memory)) {
                change.added.push(self.add(module, bias, false, true));
            }
        }
        change
    }
}

/// Returns the file of an image in the loader's list. A relative name refers to the process's
/// working directory of that time, so the mapped file is used instead. `None`: it has no file (the
/// program itself, which has no name here, and the vdso).
fn image_path(pid: i32, entry: &Entry, memory: &ProcessMemory<'_>) -> Option<PathBuf> {
    let name = read_path(memory, entry.name);
    if name.as_os_str().is_empty() || name.is_absolute() {
        return Some(name).filter(|name| name.is_absolute());
    }
    let file = memory.os.mapped_file(pid, entry.dynamic)?;
    Some(file.path)
}

impl ModuleMap for Modules {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        self.at(addr).map(|loaded| (&*loaded.module, loaded.bias))
    }

    fn heuristic_unwinds(
        &self,
        module: &Module,
        addr: FileAddr,
        is_return: bool,
    ) -> Vec<HeuristicUnwind> {
        match Arch::of(module.machine()) {
            Some(arch) => arch.heuristic_unwinds(module, addr, is_return),
            None => Vec::new(),
        }
    }
}

fn replaced_note(path: &Path, what: &str) -> String {
    let path = path.display();
    format!(
        "{path} was replaced on disk after the program started; {what}. Restart the program to \
         debug the new file.\n"
    )
}

/// Reads a path in the debuggee; empty if it cannot be read.
fn read_path(memory: &dyn Memory, addr: LoadAddr) -> PathBuf {
    const MAX_PATH: usize = 4096;
    /// Divides a page, so that a read never crosses into an unmapped one.
    const CHUNK: u64 = 256;
    let mut path = Vec::new();
    while path.len() < MAX_PATH {
        let at = addr + path.len() as u64;
        let mut bytes = [0; CHUNK as usize];
        let bytes = &mut bytes[..(CHUNK - at.0 % CHUNK) as usize];
        if memory.read(at, bytes).is_err() {
            break;
        }
        let end = bytes.iter().position(|byte| *byte == 0);
        path.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        if end.is_some() {
            break;
        }
    }
    PathBuf::from(OsString::from_vec(path))
}

/// An image, for users.
#[derive(Clone, Debug)]
pub struct ModuleInfo {
    /// Its id.
    pub id: ModuleId,
    /// Base name.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its addresses.
    pub range: AddrRange<LoadAddr>,
    /// The state of its symbols.
    pub symbols: SymbolStatus,
    /// The separate file with its debug info.
    pub symbol_file: Option<PathBuf>,
    /// GNU build-id in hex.
    pub build_id: Option<String>,
    /// Size of its debug info in bytes.
    pub debug_size: u64,
    /// Whether it is the program itself.
    pub is_program: bool,
}
