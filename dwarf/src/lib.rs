//! Object files and DWARF, turned into a debugger's answers.
//!
//! This crate has no process, no operating system, no async and no threads of its own.
//! An image is opened as an immutable, lazily read [`Module`]; addresses of the image are
//! [`FileAddr`]s, addresses of a process are [`LoadAddr`]s, and a [`LoadBias`] is the only
//! way from one to the other. Whatever needs a process's memory asks a [`Memory`].
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

pub mod addr;
pub mod error;
pub mod function;
pub mod location;
pub mod memory;
pub mod module;
pub mod register;
pub mod source;
pub mod symbol;
pub mod types;
pub mod unwind;
pub mod variable;

mod abbreviations;
mod bare_templates;
mod budget;
mod call_site;
mod cfi;
mod code;
mod compressed;
mod constant;
mod demangle;
mod eval;
mod fallback;
mod index;
mod keep;
mod landing_pads;
mod line;
mod loaded;
mod locate;
mod mapping;
mod methods;
mod names;
mod object;
mod parameters;
mod ranges;
mod read_type;
mod scan;
mod scopes;
mod search;
mod sections;
mod sources;
mod split;
mod static_location;
mod symtab;
mod tail_call;
mod thread_local;
mod unit;
mod vtable;

pub use addr::{AddrRange, FileAddr, LoadAddr, LoadBias};
pub use demangle::demangle_function;
pub use error::Error;
pub use function::{Coroutine, Function, FunctionFrame, InlinedSubroutine, Scope, ScopeKind};
pub use keep::finish_keeping;
pub use location::{CallerFrame, FrameContext, Location, Piece};
pub use mapping::{MappedFile, map_file, mapped_at, open_regular, read_regular, truncated_files};
pub use memory::{Memory, Unreadable};
pub use methods::Method;
pub use module::{
    DieRef, FunctionPlaces, Language, Machine, Module, Segment, SymbolStatus, ThreadStorage,
    are_names_wanted, demangle,
};
pub use names::answers_to;
pub use register::{Register, Registers};
pub use source::{LineLocation, LineRow, SourceFile, SourceLocation};
pub use static_location::{StaticLocation, StaticPiece, Term, TermOperator};
pub use symbol::{Symbol, SymbolKind};
pub use tail_call::{Called, JumpAddress, TailCall};
pub use types::{
    ArrayType, BaseType, Bitfield, Composite, CompositeKind, Encoding, Enumeration, Enumerator,
    Inheritance, Member, MemberOffset, Subroutine, Type, TypeId, TypeKind, Variant, VariantPart,
};
pub use unwind::{CfaPlace, FrameAddress, ModuleMap, StackPlace, Unwinder, Unwound, WayBack};
pub use variable::{PlainPlace, Variable, VariableKind};
