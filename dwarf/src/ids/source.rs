//! Source files and lines.

use crate::ids::addr::{AddrRange, FileAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// A source file as the debug info names it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceFile {
    /// The full path: compilation directory, include directory and name joined, `.` and `..`
    /// removed lexically. The file may not exist on this machine.
    pub path: PathBuf,
    /// The MD5 that the compiler recorded (DWARF 5), to detect that the source was edited.
    pub md5: Option<[u8; 16]>,
}

/// A position in a source file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceLocation {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1; 0 if the compiler did not record it.
    pub column: u32,
}

/// One row of a line table with its address range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineRow {
    /// From the row's own address to that of the next row.
    pub range: AddrRange<FileAddr>,
    /// The source position; `None` for line 0 (code that the compiler generated).
    pub location: Option<SourceLocation>,
    /// Whether the row is a recommended breakpoint location.
    pub is_stmt: bool,
    /// Whether the row marks the end of a function's prologue.
    pub prologue_end: bool,
}

/// An address for a breakpoint on a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineLocation {
    /// Start of a run of rows of the line.
    pub addr: FileAddr,
    /// The source position of the row.
    pub location: SourceLocation,
    /// Number of the function instance that has the address: the concrete function, or one inlined
    /// copy of it. Equal numbers mean the same instance.
    pub instance: u64,
    /// Whether the row is a recommended breakpoint location; elsewhere the line may have begun
    /// before.
    pub is_stmt: bool,
}
