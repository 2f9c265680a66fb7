//! Queries about processes, by proc(5).

use super::super::{MappedFile, Mapping, Processes};
use super::record::Recording;
use super::{LinuxBackend, procfs};
use crate::ids::ThreadId;
use dwarf::LoadAddr;
use std::path::PathBuf;

pub(super) const OUT_OF_FILES: &str =
    "the debugger has no file descriptors left; raise its limit (`ulimit -n`)";

impl LinuxBackend {
    /// Returns the recording if it is one of a file: its process has the program's memory, but not its names.
    fn stored(&self) -> Option<&Recording> {
        let recording = self.recording.as_deref();
        recording.filter(|recording| recording.is_stored())
    }
}

impl Processes for LinuxBackend {
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64> {
        match self.stored() {
            Some(recording) => recording.stored_auxiliary(key),
            None => procfs::auxiliary(pid, key),
        }
    }

    fn mappings(&self, pid: i32) -> Vec<Mapping> {
        let mut mappings = procfs::mappings(self.actual_process(pid));
        if let Some(recording) = self.stored() {
            for mapping in &mut mappings {
                if let Some(file) = recording.stored_file(&mapping.path) {
                    mapping.path = file.path;
                }
            }
        }
        mappings
    }

    fn executable(&self, pid: i32) -> Option<MappedFile> {
        match self.stored() {
            Some(recording) => recording.stored_program(),
            None => procfs::executable(pid),
        }
    }

    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile> {
        match self.stored() {
            Some(_) => {
                let mut mappings = self.mappings(pid).into_iter();
                let mapping = mappings.find(|it| it.start <= addr && addr < it.end)?;
                mapping.path.is_absolute().then_some(MappedFile {
                    path: mapping.path,
                    replaced: None,
                })
            }
            None => procfs::mapped_file(self.actual_process(pid), addr),
        }
    }

    fn processes(&self) -> Vec<i32> {
        procfs::processes()
    }

    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf> {
        procfs::program_named(pid, name)
    }

    fn thread_name(&self, pid: i32, thread: ThreadId) -> String {
        let of_recording = || self.recording.as_ref()?.name_of(thread);
        if self.stored().is_some() {
            // The kernel may have given the ids of a file to other programs.
            return of_recording().unwrap_or_default().to_owned();
        }
        match procfs::thread_name(pid, thread.0) {
            // It is a thread of the past, which has the program's name unless it has set another one.
            name if name.is_empty() && self.recording.is_some() => {
                of_recording().map_or_else(|| procfs::thread_name(pid, pid), ToOwned::to_owned)
            }
            name => name,
        }
    }

    /// A file has not kept what the program had open.
    fn open_file(&self, pid: i32, descriptor: i32) -> Option<String> {
        if self.stored().is_some() {
            return None;
        }
        procfs::open_file(pid, descriptor)
    }

    fn process_of(&self, thread: ThreadId) -> Option<i32> {
        procfs::status_number(thread.0, "Tgid")
    }

    /// A seccomp(2) filter may kill it.
    fn confinement(&self, pid: i32) -> Option<&'static str> {
        // The number of filters, which kernels since 5.9 report, or the mode: 0 without a filter.
        let (field, free) = match &self.recording {
            // The filter of the recorder lets the debugger's calls pass. Replays do without what they map.
            Some(it) if it.is_going_on() || it.is_replay_shown() => return None,
            Some(_) => ("Seccomp_filters", 1),
            None => ("Seccomp", 0),
        };
        match procfs::read_status(pid) {
            Ok(status) if procfs::number_in(&status, field) == Some(free) => None,
            Ok(_) => Some("a seccomp filter restricts the program's system calls"),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) => {
                Some(OUT_OF_FILES)
            }
            Err(_) => Some("the state of the process cannot be read in /proc"),
        }
    }
}
