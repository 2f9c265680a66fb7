//! Source files and lines.

use crate::ids::addr::{AddrRange, FileAddr};
use std::path::PathBuf;
use std::sync::Arc;

/// A source file as the debug info names it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceFile {
    /// The whole path: compilation directory, include directory and name joined,
    /// `.` and `..` removed by spelling. Not necessarily there on this machine.
    pub path: PathBuf,
    /// The MD5 the compiler recorded (DWARF 5), for "source newer than binary".
    pub md5: Option<[u8; 16]>,
}

/// A place in a source file.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceLocation {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1; 0 where the compiler did not say.
    pub column: u32,
}

/// One row of a line table with the addresses it holds for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineRow {
    /// From the row's own address to the next row's.
    pub range: AddrRange<FileAddr>,
    /// Where the code comes from; line 0 (compiler-made code) is `None`.
    pub location: Option<SourceLocation>,
    /// Whether the row is a recommended breakpoint place.
    pub is_stmt: bool,
    /// Whether the row is where a function's prologue is over.
    pub prologue_end: bool,
}

/// An address a line breakpoint could use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineLocation {
    /// Start of a run of rows of the line.
    pub addr: FileAddr,
    /// What the row says.
    pub location: SourceLocation,
    /// Identifies the function instance that holds the address: the concrete function, or
    /// the inlined copy of one. Equal numbers: one instance.
    pub instance: u64,
    /// Whether compilers recommend to stop there; elsewhere the line may have begun before.
    pub is_stmt: bool,
}
