//! Files: ELF images, their sections and symbols, the files with their debug info, and the folder
//! that keeps results between sessions.

pub(crate) mod compressed;
pub(crate) mod debug_file;
pub(crate) mod demangle;
pub(crate) mod disk_cache;
pub(crate) mod mapping;
pub(crate) mod object;
pub(crate) mod sections;
pub(crate) mod symbol_table;

/// All readers: the bytes live as long as the process does.
pub(crate) type R = gimli::EndianSlice<'static, gimli::LittleEndian>;
