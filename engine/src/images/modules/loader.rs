//! What the dynamic loader says of images: those at the start, where it announces changes, its list.

use super::list::{self, Entry, LoaderList};
use super::{Change, List, Loaded, Modules, announce, dyld};
use crate::arch::Arch;
use crate::memory::ProcessMemory;
use dwarf::{LoadAddr, LoadBias, Memory, Module};
use rustc_hash::FxHashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const AT_PHDR: u64 = 3;
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;
const AT_SYSINFO_EHDR: u64 = 33;
const DT_DEBUG: u64 = 21;

impl Modules {
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
        let module = os.executable(pid).and_then(|file| match os.stored_end() {
            Some(_) => self.open_stored_program(pid, &file.path, memory),
            None => self.open_program(&file),
        });
        if let Some(module) = module {
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

    /// Opens the program of a recording in a file: what has its name now, may be another build.
    fn open_stored_program(
        &mut self,
        pid: i32,
        path: &Path,
        memory: &ProcessMemory<'_>,
    ) -> Option<Arc<Module>> {
        const PAGE: u64 = 4096;
        let at = |key| memory.os.auxiliary(pid, key);
        let (headers, entry) = (at(AT_PHDR)?, at(AT_ENTRY)?);
        // The headers of the program are in its first page.
        let start = LoadAddr(headers & !(PAGE - 1));
        let bias = |module: &Module| LoadBias(entry.wrapping_sub(module.entry().0));
        self.open(path, start, bias, (pid, memory))
    }

    /// Finds the program and the loader by their headers: until the loader runs, its list is empty.
    fn load_initial_of_dyld(&mut self, pid: i32, infos: LoadAddr, memory: &ProcessMemory<'_>) {
        self.list = Some(List::Dyld(infos, dyld::DyldList::default()));
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

    /// Returns the addresses of all entries of the loader, with the load biases of their images.
    pub fn link_maps(&self, memory: &dyn Memory) -> Vec<(LoadAddr, LoadBias)> {
        let debug = self.debug_structure(memory);
        let entries = debug.map_or_else(Vec::new, |debug| list::entries(debug, memory));
        let maps = entries.into_iter().map(|(at, entry)| (at, entry.bias));
        maps.collect()
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
                if let Some(loaded) = self.loaded.last_mut() {
                    loaded.namespace = entry.namespace;
                }
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
