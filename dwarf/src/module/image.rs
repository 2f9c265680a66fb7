//! What the headers and segments of an image say, and its symbols.

use crate::entries::objects::Objects;
use crate::file::elf::versions::{self, Versioned};
use crate::file::elf::{Elf, function_slots};
use crate::file::macho;
use crate::file::object::{Format, Image};
use crate::file::symbol_table;
use crate::ids::addr::{AddrRange, FileAddr};
use crate::ids::error::Error;
use crate::ids::symbol::{SharedSymbol, Symbol, SymbolKind};
use crate::ids::{CTypes, Machine, Segment, SymbolStatus, ThreadStorage};
use crate::module::Module;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The number of lookups that scan the symbols of an image; the next one sorts them. That many scans take about as
/// long as one sort.
const MAX_SYMBOL_SCANS: u32 = 16;

impl Module {
    /// Returns the file it was opened from.
    pub fn path(&self) -> &Path {
        &self.image.path
    }

    /// Returns the whole file, or one image of a universal Mach-O file.
    pub fn bytes(&self) -> &'static [u8] {
        self.image.data
    }

    /// Returns a number that is unique among the modules of this process.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns what identifies the build: the GNU build-id, or the UUID of a Mach-O image.
    pub fn build_id(&self) -> Option<&[u8]> {
        self.image.build_id
    }

    /// Returns the instruction set.
    pub fn machine(&self) -> Machine {
        self.image.machine
    }

    /// Returns whether it is one of Apple's systems, in whose format it is.
    pub fn is_of_apple(&self) -> bool {
        matches!(self.image.format, Format::MachO(_))
    }

    /// Returns what C's types are in code of this image.
    pub fn c_types(&self) -> CTypes {
        let facts = self.image.machine.facts();
        match self.is_of_apple() {
            false => facts.c_types,
            true => facts.c_types_of_apple,
        }
    }

    /// Returns whether it can be loaded at any address (PIE, shared library).
    pub fn is_position_independent(&self) -> bool {
        self.image.position_independent
    }

    /// Returns the entry point: `e_entry` of ELF, `LC_MAIN` of Mach-O.
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

    /// Returns the paths of the libraries that a Mach-O image is linked with, in the order of their
    /// ordinals, as they are in the file: `@rpath` and the like are not replaced.
    pub fn linked_libraries(&self) -> &[&'static str] {
        self.image.macho().map_or(&[], |macho| &macho.libraries)
    }

    /// Returns the path by which programs refer to a Mach-O library (`LC_ID_DYLIB`).
    pub fn install_name(&self) -> Option<&'static str> {
        self.image.macho()?.install_name
    }

    /// Returns the folders that `@rpath` stands for in a Mach-O image.
    pub fn rpaths(&self) -> &[&'static str] {
        self.image.macho().map_or(&[], |macho| &macho.rpaths)
    }

    /// Returns the address of the program headers (for AT_PHDR arithmetic), if they are loaded.
    pub fn program_headers(&self) -> Option<FileAddr> {
        self.image.elf()?.program_headers
    }

    /// Returns the address of `PT_DYNAMIC`.
    pub fn dynamic(&self) -> Option<FileAddr> {
        self.image.elf()?.dynamic
    }

    /// Returns the thread-local storage template.
    pub fn thread_storage(&self) -> Option<ThreadStorage> {
        self.image.thread_storage
    }

    /// Returns the dynamic loader that the kernel starts (`PT_INTERP`, `LC_LOAD_DYLINKER`).
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
        if self.has_debug_info() {
            SymbolStatus::DebugInfo
        } else if symbol_table::has_symbols(holder) || symbol_table::has_symbols(&self.image) {
            SymbolStatus::SymbolsOnly
        } else {
            SymbolStatus::Stripped
        }
    }

    /// Returns whether there is debug info: in the image, a file of its own, or object files.
    pub(crate) fn has_debug_info(&self) -> bool {
        let has_objects = || self.objects().is_some_and(Objects::are_there);
        self.holder().has_section(".debug_info") || has_objects()
    }

    /// Returns the separate file with the debug info, if there is one.
    pub fn debug_file(&self) -> Option<&Path> {
        self.debug_image().map(|image| image.path.as_path())
    }

    /// Returns why files that seem to have the debug info of the image are not used: a bundle of
    /// another build, for example, or an object file that was changed. Of object files, those that
    /// were needed so far.
    pub fn rejected_debug_files(&self) -> Vec<Error> {
        let mut rejected = self.found_debug_file().rejected.clone();
        rejected.extend(self.opened_objects().map_or(Vec::new(), Objects::rejected));
        rejected
    }

    /// Returns the number of object files that the debug info of the image is in, and how many of
    /// them have been opened; zeros if it is not in object files.
    pub fn object_files(&self) -> (u32, u32) {
        let count = |objects: &Objects| (objects.count(), objects.opened().count() as u32);
        self.objects().map_or((0, 0), count)
    }

    /// Returns the object files with the debug info, if it is in object files.
    pub(crate) fn objects(&self) -> Option<&Objects> {
        // Other images are asked without a read of their debug info.
        self.image.macho()?;
        if self.holder().has_section(".debug_info") {
            return None;
        }
        self.info()?.objects.as_ref()
    }

    /// Returns the size of the debug sections in the file, in bytes; of debug info in object files,
    /// the size of these.
    pub fn debug_size(&self) -> u64 {
        if let Some(objects) = self.objects() {
            return objects.fingerprint().1;
        }
        let separate = self.debug_image().map_or(0, Image::debug_size);
        self.image.debug_size().saturating_add(separate)
    }

    /// Returns the address in this image that the loader writes at `addr`, for example in the
    /// global offset table; `None` if the value is not known or may be in another image.
    pub fn relocated(&self, addr: FileAddr) -> Option<FileAddr> {
        self.image.relocated(addr.0).map(FileAddr)
    }

    /// Returns the function or object symbol that covers `addr`. A symbol without a size reaches to
    /// the next one of its section.
    pub fn symbol_at(&self, addr: FileAddr) -> Option<Symbol> {
        if self.may_scan_symbols()
            && let Some(symbol) =
                symbol_table::function_covering(&self.image, self.debug_image(), addr.0)
        {
            return Some(symbol);
        }
        self.symbol_table().at(&self.image, addr.0)
    }

    /// Returns whether a lookup scans the unsorted symbols: the table is not sorted, and few lookups have scanned.
    fn may_scan_symbols(&self) -> bool {
        self.symbols.get().is_none()
            && self.symbol_scans.fetch_add(1, Ordering::Relaxed) < MAX_SYMBOL_SCANS
    }

    #[cfg(test)]
    pub(crate) fn symbols_are_sorted(&self) -> bool {
        self.symbols.get().is_some()
    }

    /// Returns the symbols of code in a range, in no order.
    pub(crate) fn code_symbols_in(&self, range: AddrRange<FileAddr>) -> Vec<Symbol> {
        if self.may_scan_symbols()
            && let Some(symbols) = symbol_table::code_in(&self.image, self.debug_image(), range)
        {
            return symbols;
        }
        let from = self.symbol_table().functions_from(range.start);
        from.take_while(|it| it.addr < range.end).collect()
    }

    /// Returns the address of a symbol that the image exports, by its raw name. Unlike
    /// [`Module::symbols_named`] this reads only the dynamic symbols.
    pub fn exported(&self, name: &str) -> Option<FileAddr> {
        symbol_table::exported(&self.image, name)
    }

    /// Returns how the image shares the symbol of a raw name with other images; `None`: it neither
    /// defines it for them nor refers to theirs. The first call reads the dynamic symbols and relocations.
    pub fn shared_symbol(&self, name: &str) -> Option<SharedSymbol> {
        match &self.image.format {
            Format::Elf(elf) => elf.shared_symbol(&self.image, name),
            Format::MachO(_) => Some(SharedSymbol {
                definition: Some(self.exported(name)?),
                ..SharedSymbol::default()
            }),
        }
    }

    /// Returns a raw name under which other images may refer to the data at an address: `preferred` if
    /// it is one.
    pub fn shared_data<'a>(&self, addr: FileAddr, preferred: &'a str) -> Option<&'a str> {
        match &self.image.format {
            Format::Elf(elf) => elf.shared_data(&self.image, addr, preferred),
            Format::MachO(_) => {
                let exported = self.exported(preferred);
                (exported == Some(addr)).then_some(preferred)
            }
        }
    }

    /// Returns the names of the libraries that an ELF image was linked with, as they are in the file.
    pub fn needed_libraries(&self) -> &[&'static str] {
        let elf = self.image.elf();
        elf.map_or(&[], |elf| &elf.linking(&self.image).needed)
    }

    /// Returns whether an image of ELF goes by a name among [`Module::needed_libraries`] of another one.
    pub fn is_library_named(&self, name: &str) -> bool {
        let known = |elf: &Elf| elf.linking(&self.image).name == Some(name);
        let file = self.image.path.file_name();
        self.image.elf().is_some_and(known) || file.is_some_and(|file| file == name)
    }

    /// Returns whether an image uses its own definitions, whatever others define (`-Bsymbolic`).
    pub fn is_symbolic(&self) -> bool {
        let elf = self.image.elf();
        elf.is_some_and(|elf| elf.linking(&self.image).is_symbolic)
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

    /// Returns the address of the code that a raw name stands for; an indirect function's is not known here.
    pub fn code_of_symbol(&self, name: &str) -> Option<FileAddr> {
        let mut symbols = self.symbol_table().named(name);
        let code = symbols.find(|it| it.kind == SymbolKind::Function)?;
        Some(code.addr)
    }

    /// Returns the address of the data that other files of the program can refer to by a raw name.
    pub fn global_object(&self, name: &str) -> Option<FileAddr> {
        self.symbol_table().global_object(name)
    }

    /// Returns the functions that are exported under a name with a version.
    pub(crate) fn versioned_functions(&self, wanted: Versioned<'_>) -> Vec<Symbol> {
        versions::functions(&self.image, wanted)
    }

    /// Returns the words of the image that the loader relocates to the function of a raw name, or to
    /// the result of the resolver at `chooser` (`STT_GNU_IFUNC`).
    pub fn function_slots(&self, name: &str, chooser: Option<FileAddr>) -> Vec<FileAddr> {
        match &self.image.format {
            Format::Elf(_) => function_slots::of(&self.image, name, chooser),
            Format::MachO(_) => macho::symbols::pointers(&self.image, name),
        }
    }

    pub(crate) fn functions_spelled_with(&self, text: &str) -> Vec<Symbol> {
        symbol_table::functions_spelled_with(&self.image, self.debug_image(), text)
    }

    /// Returns the symbols of all functions.
    pub fn functions_by_symbol(&self) -> Vec<Symbol> {
        self.symbol_table().functions().collect()
    }
}
