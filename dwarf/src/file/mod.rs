//! Files: images (ELF and Mach-O), their sections and symbols, files with debug info, and the on-disk cache.

pub(crate) mod compressed;
pub(crate) mod debug_file;
pub(crate) mod demangle;
pub(crate) mod disk_cache;
pub(crate) mod elf;
pub(crate) mod macho;
pub(crate) mod mapping;
pub(crate) mod merged_strings;
pub(crate) mod object;
pub(crate) mod sections;
pub(crate) mod swift;
pub(crate) mod symbol_table;
pub(crate) mod threads;

/// The reader type everywhere: mapped bytes live as long as the process.
pub(crate) type R = gimli::EndianSlice<'static, gimli::LittleEndian>;
