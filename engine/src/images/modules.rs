//! The images of the process, and the dynamic loader's list of them.

pub mod announce;
mod dyld;
mod list;
mod loader;

use crate::arch::{Arch, Convention};
use crate::ids::ModuleId;
use crate::ids::error::Error;
use crate::images::consts::Consts;
use crate::images::first_uses::FirstUses;
use crate::memory::ProcessMemory;
use crate::os::MappedFile;
use dwarf::{
    AddrRange, CTypes, FileAddr, HeuristicUnwind, LoadAddr, LoadBias, Module, ModuleMap,
    SymbolStatus,
};
use dyld::DyldList;
use list::LoaderList;
use rustc_hash::FxHashSet;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    /// The number of its namespace; images see definitions of their own one.
    pub(crate) namespace: usize,
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
    /// Where functions first refer to their variables.
    pub(crate) first_uses: FirstUses,
    /// The sources that constants of Rust were looked up in.
    pub(crate) consts: Consts,
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
            namespace: 0,
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
                let note = match memory.os.stored_end() {
                    Some(_) => format!(
                        "{} is not the file that was recorded; its symbols are ignored\n",
                        path.display()
                    ),
                    None => replaced_note(path, "its symbols are ignored"),
                };
                self.note(path, note);
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

    /// Returns the program's entry point.
    pub fn entry(&self) -> Option<LoadAddr> {
        let program = self.program()?;
        Some(program.bias.load(program.module.entry()))
    }
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
