//! Queries about processes, by proc(5).

use super::super::{MappedFile, Mapping, Processes};
use super::{LinuxBackend, procfs};
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::path::PathBuf;

impl Processes for LinuxBackend {
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64> {
        procfs::auxiliary(pid, key)
    }

    fn mappings(&self, pid: i32) -> Vec<Mapping> {
        procfs::mappings(self.actual_process(pid))
    }

    fn executable(&self, pid: i32) -> Option<MappedFile> {
        procfs::executable(pid)
    }

    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile> {
        procfs::mapped_file(self.actual_process(pid), addr)
    }

    fn processes(&self) -> Vec<i32> {
        procfs::processes()
    }

    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf> {
        procfs::program_named(pid, name)
    }

    fn thread_name(&self, pid: i32, thread: ThreadId) -> String {
        procfs::thread_name(pid, thread.0)
    }

    fn open_file(&self, pid: i32, descriptor: i32) -> Option<String> {
        procfs::open_file(pid, descriptor)
    }

    fn process_of(&self, thread: ThreadId) -> Option<i32> {
        procfs::status_number(thread.0, "Tgid")
    }

    /// A seccomp(2) filter may kill it.
    fn is_confined(&self, pid: i32) -> bool {
        if let Some(recording) = &self.recording {
            // The filter of the recorder lets the debugger's calls in replays pass.
            return !recording.is_replay_shown();
        }
        procfs::status_number(pid, "Seccomp") != Some(0)
    }
}
