//! The images of the process: the loaded ones, their name indexes, and thread-local storage.
//!
//! # What is read, and when
//!
//! - a core file is opened: headers and notes; headers of the mapped files, for their build-ids.
//!   Compressed cores are unpacked first, on a thread of their own
//! - a module is loaded: the end of the loader's list (all of it after an unload); the mapping, if
//!   the name is relative; ELF headers, compared with those in memory, since the file may be newer;
//!   dynamic symbols; `.symtab` once, for modules with a C++ or Rust run-time library, to find the
//!   functions that exceptions pass through
//! - a breakpoint on a line: names in line table headers, then the line programs that mention the
//!   file; system libraries only if no other module has it; for a line without code, the functions
//!   around it, for inlined calls
//! - a breakpoint on a function: symbols. Inlined copies, functions without symbols and bodies of
//!   async functions exist in debug info only: a thread searches the string sections for the name,
//!   all units for the offsets of these strings, then the entries of the units found. The program's
//!   first instruction, or the thread that loads the library, waits for that search
//!   (`debugger/hold.rs`)
//! - debug info is in object files (Mach-O) and a line, an address or a name is looked up: the symbol
//!   table, for the list of these files. Then of a line all of them are searched for the name of the
//!   source, and those that have it are read; of an address the one that has its function; of a
//!   function those with such symbols; of another name all
//! - compressed debug info is first used: the whole section is decompressed; the next session maps
//!   the kept result
//! - a debug file arrives from debuginfod: its module is read anew; the others keep what was read
//! - a column of a source is reported: the local source file, once, for lines that are not ASCII
//! - a breakpoint was hit 16 times: its function's code, landing pads and jump tables; the symbol
//!   that follows
//! - a stop: nothing
//! - a stop for an exception: the object's header, type and message in memory; of its type the
//!   vtable's symbol. Of a Rust panic whose payload no symbol tells, the addresses of all vtables, in debug info of
//!   moderate size
//! - a deadly signal: the mappings; the function's instructions up to the faulting one, and its
//!   variables
//! - a stack: call frame information by binary search; the units of the frames (`.debug_aranges`),
//!   their functions with call sites, their line programs
//! - a disassembly, a frame without source: the memory; symbols, call frame information and line
//!   rows of the code around
//! - variables: the entries of the frame's function; types when they are shown; of unoptimized Rust the
//!   function's code, once, to see which have no value yet; the begin of its code where a location list says
//!   nothing of an object behind a pointer. The first trait
//!   object reads where the module's vtables are. An object with virtual functions, or of a class
//!   that is only declared, reads the symbol of its vtable and one of its functions;
//!   `std::function` and `std::any` the function that handles their content
//! - a name that is not a local (also in a condition, with the types of the members it uses): what
//!   the frame's unit declares, once. If it does not declare the name, the names of all units, once:
//!   from the cache on disk, from clang's `.debug_names`, else from the entries. Until that is done,
//!   the few units that `.gdb_index` or a search for the string finds
//! - a variable that another image may define, too (or a function, in a call): of the frame's image its
//!   dynamic symbols and relocations, and the word in the process that the loader has written; of all
//!   images the dynamic symbols only if there is none
//! - an entry that dwz has shared between units: the beginnings of all units, once
//! - a name of Rust that nothing else has and that is written like a constant: the source file of the
//!   frame's line, once, to 4 MB
//! - a macro: the macro information of the frame's unit up to the line

pub(crate) mod binding;
pub(crate) mod body;
pub(crate) mod consts;
mod crate_versions;
pub(crate) mod derived;
pub(crate) mod first_uses;
pub(crate) mod indexer;
pub(crate) mod missing;
pub(crate) mod modules;
pub(crate) mod names;
pub(crate) mod spills;
pub(crate) mod tail_calls;
pub(crate) mod tls;
