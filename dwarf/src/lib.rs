//! Object files and DWARF debug info, read for a debugger.
//!
//! This crate reads no process, uses no operating system services but files, and is not async. Its
//! threads read in parallel ([`start_threads`]), and one writes cache files ([`finish_cache_writes`]
//! waits for it). An image is opened as an immutable, lazily read [`Module`]. Addresses of the image
//! are [`FileAddr`]s, addresses of a process are [`LoadAddr`]s, and a [`LoadBias`] is the only way
//! from one to the other. Code that needs a process's memory reads it through a [`Memory`].
//!
//! ```
//! // This test itself is a program with debug info.
//! let module = dwarf::Module::open(&std::env::current_exe()?)?;
//!
//! // A name to functions, a function to its first statement, an address to its line.
//! for function in module.functions_named("main") {
//!     let row = module.row_at(module.body_start(&function));
//!     if let Some(location) = row.and_then(|row| row.location) {
//!         // A line to the addresses of its code.
//!         let places = module.line_locations(&location.file, location.line);
//!         assert!(!places.is_empty());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

// Layers, lowest first: ids, file, entries, lines, cfi, naming, types, functions, index, module,
// names, locations, unwind. `tests/tests/layers.rs` holds the imports to this order.
mod cfi;
mod entries;
mod file;
mod functions;
mod ids;
mod index;
mod lines;
mod locations;
mod module;
mod names;
mod naming;
mod types;
mod unwind;

pub use file::demangle::{demangle, demangle_function, demangle_short};
pub use file::disk_cache::finish_cache_writes;
pub use file::mapping::{
    MappedFile, map_file, mapped_at, open_regular, read_regular, truncated_files,
};
pub use file::threads::start_threads;
pub use functions::variable::{SimpleLocation, Variable, VariableKind};
pub use functions::{Function, FunctionFrame, InlinedSubroutine, Scope, ScopeKind};
pub use ids::addr::{AddrRange, FileAddr, LoadAddr, LoadBias};
pub use ids::error::Error;
pub use ids::memory::{Memory, Unreadable};
pub use ids::register::{self, Register, Registers};
pub use ids::source::{LineLocation, LineRow, SourceFile, SourceLocation};
pub use ids::symbol::{SharedSymbol, Symbol, SymbolKind};
pub use ids::{
    CTypes, DieRef, Headers, Language, LongDouble, Machine, Segment, SymbolStatus, ThreadStorage,
};
pub use locations::static_location::{StaticLocation, StaticPiece, Term, TermOperator};
pub use locations::tail_call::{Callee, JumpAddress, TailCall};
pub use locations::{CallerFrame, FrameContext, Location, Piece, Spill};
pub use module::changed_parameters::ChangedParameters;
pub use module::{FunctionPlaces, Module, are_names_wanted};
pub use names::{Declaration, Macro, Method, Objects, VisiblePaths, VisibleVariable};
pub use naming::parameters::plain as plain_type_name;
pub use naming::{Coroutine, name_matches, nested_symbol};
pub use types::{
    ArrayType, BaseType, Bitfield, Composite, CompositeKind, Encoding, Enumeration, Enumerator,
    Inheritance, Member, MemberOffset, Subroutine, SwiftType, Type, TypeId, TypeKind, Variant,
    VariantPart,
};
pub use unwind::{
    CfaLocation, FrameAddress, HeuristicUnwind, KeptRegister, ModuleMap, RegisterOffset,
    ReturnAddress, Unwinder, Unwound,
};
