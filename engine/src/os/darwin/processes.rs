//! Queries about processes, by `libproc` and the regions of address spaces.

use super::mach::{Port, protection};
use super::{DarwinBackend, Platform};
use crate::ids::ThreadId;
use crate::os::processes::ThreadStarts;
use crate::os::{MappedFile, Mapping, Processes};
use dwarf::LoadAddr;
use std::path::{Path, PathBuf};

/// `VM_MEMORY_STACK`
const STACK: u32 = 30;
/// Upper bound of the number of regions that are listed.
const MAX_REGIONS: usize = 1 << 20;

impl<M: Platform> DarwinBackend<M> {
    fn list_regions(&self, pid: i32, task: Port) -> Vec<Mapping> {
        let mut mappings = Vec::new();
        let mut addr = 0;
        while let Ok(region) = self.mach.mach_vm_region_recurse(task, addr) {
            let end = region.start.saturating_add(region.len);
            if end <= addr || mappings.len() == MAX_REGIONS {
                break;
            }
            let file = self.mach.proc_regionfilename(pid, region.start);
            let path = match file {
                Some(path) => path,
                None if region.user_tag == STACK => PathBuf::from("[stack]"),
                None => PathBuf::new(),
            };
            let may = |bit| region.protection & bit != 0;
            mappings.push(Mapping {
                start: LoadAddr(region.start),
                end: LoadAddr(end),
                readable: may(protection::READ),
                writable: may(protection::WRITE),
                executable: may(protection::EXECUTE),
                shared: region.is_shared,
                path,
                offset: region.offset,
            });
            addr = end;
        }
        mappings
    }
}

/// Makes what is known of a file: names on this system do not outlive their files.
fn mapped(path: PathBuf) -> MappedFile {
    MappedFile {
        path,
        replaced: None,
    }
}

impl<M: Platform> Processes for DarwinBackend<M> {
    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64> {
        self.mach.auxiliary(pid, key)
    }

    fn image_infos(&self, pid: i32) -> Option<LoadAddr> {
        let task = self.mach.task_for_pid(pid).ok()?;
        let infos = self.mach.task_info_dyld(task);
        self.mach.mach_port_deallocate(task);
        infos.ok().map(LoadAddr)
    }

    fn mappings(&self, pid: i32) -> Vec<Mapping> {
        let Ok(task) = self.mach.task_for_pid(pid) else {
            return Vec::new();
        };
        let mappings = self.list_regions(pid, task);
        self.mach.mach_port_deallocate(task);
        mappings
    }

    fn executable(&self, pid: i32) -> Option<MappedFile> {
        self.mach.proc_pidpath(pid).map(mapped)
    }

    fn mapped_file(&self, pid: i32, addr: LoadAddr) -> Option<MappedFile> {
        self.mach.proc_regionfilename(pid, addr.0).map(mapped)
    }

    fn processes(&self) -> Vec<i32> {
        self.mach.proc_listallpids()
    }

    fn program_named(&self, pid: i32, name: &str) -> Option<PathBuf> {
        let program = self.mach.proc_pidpath(pid);
        let is_named = match name.contains('/') {
            true => program.as_deref() == Some(Path::new(name)),
            false => {
                let file = program.as_deref().and_then(Path::file_name);
                file.is_some_and(|file| file == name)
                    || self
                        .mach
                        .process_info(pid)
                        .is_some_and(|it| it.name == name)
            }
        };
        program.filter(|_| is_named)
    }

    fn thread_name(&self, pid: i32, thread: ThreadId) -> String {
        let Some(state) = self.threads.get(thread) else {
            return String::new();
        };
        let name = self.mach.thread_info_name(state.port).unwrap_or_default();
        match name.is_empty() && thread.0 == pid {
            true => self.mach.process_info(pid).unwrap_or_default().name,
            false => name,
        }
    }

    fn process_of(&self, thread: ThreadId) -> Option<i32> {
        self.threads.get(thread).map(|it| it.pid)
    }

    fn reports_children(&self) -> bool {
        false
    }

    fn thread_starts(&self) -> Option<ThreadStarts> {
        Some(M::THREAD_STARTS)
    }

    /// The system calls that the debugger needs are its own here.
    fn confinement(&self, _: i32) -> Option<&'static str> {
        Some("system calls in the program are not supported on this system")
    }
}
