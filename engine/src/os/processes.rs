//! [`Processes`]: queries about processes and their address spaces.

use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::path::PathBuf;

/// Queries about processes, traced or not.
pub trait Processes {
    /// Returns a value of the auxiliary vector, by its ELF number.
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64>;
    /// Returns the address of the list of images of a process whose loader is macOS's
    /// (`struct dyld_all_image_infos`); `None` on other systems.
    fn image_infos(&self, _: i32) -> Option<LoadAddr> {
        None
    }
    /// Returns the mappings of the address space.
    fn mappings(&self, pid: i32) -> Vec<Mapping>;
    /// Returns the program's file.
    fn executable(&self, pid: i32) -> Option<MappedFile>;
    /// Returns the file that is mapped at an address.
    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile>;
    /// Returns all processes of the system.
    fn processes(&self) -> Vec<i32>;
    /// Returns the program of a process if `name` matches it: a path (with a slash), the base name
    /// of the program's file, or the process name. `None` also if the process has ended.
    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf>;
    /// Returns a thread's name, empty if it is gone.
    fn thread_name(&self, pid: i32, thread: ThreadId) -> String;
    /// Returns what the system links an open file of a process to: a path, or `pipe:[NUMBER]`.
    fn open_file(&self, _pid: i32, _descriptor: i32) -> Option<String> {
        None
    }
    /// Returns the process that a thread belongs to.
    fn process_of(&self, thread: ThreadId) -> Option<i32>;
    /// Returns whether the creation of a process by the debuggee is an event. If not, a child that has
    /// our traps is seen once it hits one, as a thread of another process.
    fn reports_children(&self) -> bool {
        true
    }
    /// Returns how the name of the library begins whose functions new threads begin with, and these
    /// functions; `None`: new threads are events.
    fn thread_starts(&self) -> Option<ThreadStarts> {
        None
    }
    /// Returns why the process must not be made to make system calls, if it may be killed for one.
    fn confinement(&self, pid: i32) -> Option<&'static str>;
}

/// How the name of a library begins, and functions in it.
pub type ThreadStarts = (&'static str, &'static [&'static str]);

/// One mapping of a process's address space.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// First address.
    pub start: LoadAddr,
    /// First address after it.
    pub end: LoadAddr,
    /// Whether it is readable.
    pub readable: bool,
    /// Whether it is writable.
    pub writable: bool,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether writes go to the file, and are seen by other processes that map it.
    pub shared: bool,
    /// The mapped file, or `[stack]` and the like; empty for anonymous memory.
    pub path: PathBuf,
    /// Offset in the file.
    pub offset: u64,
}

/// The file of a program or of a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MappedFile {
    /// Its name when it was mapped, or its present name if it was renamed.
    pub path: PathBuf,
    /// A path that still opens the file if its name is gone or refers to another file.
    pub replaced: Option<PathBuf>,
}
