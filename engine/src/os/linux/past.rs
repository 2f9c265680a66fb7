//! Copies of the debuggee for past stops, and the memory that they may use.

use super::LinuxBackend;
use super::copy::{CopyError, CopyParent, ProcessCopy, reap_in};
use super::{machine, procfs};
use crate::ids::ThreadId;
use crate::os::Processes;
use crate::os::ThreadEvent;
use crate::os::copies::{Copies, CopyId, MemoryUse};
use dwarf::LoadAddr;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Copies of the debuggee.
#[derive(Default)]
pub(super) struct PastCopies {
    /// With the pid of the process of which they are copies.
    live: BTreeMap<CopyId, (i32, ProcessCopy)>,
    /// Copies that have ended, and that their process has not collected: its pid, and that of the copy
    /// as the process sees it.
    ended: Vec<(i32, i32)>,
    /// Threads of the debuggee that have ended meanwhile: nothing else reports that.
    pub(super) ends: Vec<(ThreadId, ThreadEvent)>,
}

impl PastCopies {
    fn note_end(&mut self, thread: ThreadId, error: &CopyError) {
        let end = error.end_of_thread().map(|event| (thread, event));
        self.ends.extend(end);
    }
}

impl Copies for LinuxBackend {
    fn copy_process(
        &mut self,
        thread: ThreadId,
        instruction: LoadAddr,
    ) -> Result<Option<CopyId>, String> {
        let copied =
            self.copies
                .copy_process_in(self.refuge(), thread, instruction, CopyParent::Copied);
        let copy = match copied {
            Ok(copy) => copy,
            Err(error) => {
                self.past.note_end(thread, &error);
                return match error.is_end() {
                    true => Ok(None),
                    false => Err(error.to_string()),
                };
            }
        };
        let id = CopyId(copy.pid());
        // If memory is exhausted, it is better to lose a copy than the program.
        if let Err(error) = fs::write(format!("/proc/{}/oom_score_adj", id.0), "1000") {
            tracing::debug!(%error, "cannot make a copy the first to be killed");
        }
        let of = self.process_of(thread).unwrap_or(thread.0);
        self.past.live.insert(id, (of, copy));
        Ok(Some(id))
    }

    fn read_copy(&self, copy: CopyId, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let addr = crate::arch::Arch::HOST.untagged(addr);
        let copy = self.past.live.get(&copy);
        copy.map_or(0, |(_, copy)| copy.read_memory(addr, buffer))
    }

    fn end_copies(&mut self, copies: &[CopyId], reaper: Option<(ThreadId, LoadAddr)>) {
        let ended: Vec<(i32, ProcessCopy)> = copies
            .iter()
            .filter_map(|id| self.past.live.remove(id))
            .collect();
        // The kernel frees their memory meanwhile.
        ended.iter().for_each(|(_, copy)| copy.kill());
        let pids = ended.iter().map(|(of, copy)| (*of, copy.pid_inside()));
        self.past.ended.extend(pids);
        drop(ended);
        let Some((thread, instruction)) = reaper else {
            return;
        };
        let process = self.process_of(thread);
        for (of, pid) in std::mem::take(&mut self.past.ended) {
            // Those of a former process are init's; their pids may be those of others now.
            if Some(of) == process
                && let Err(error) = reap_in(self.refuge(), thread, instruction, pid)
            {
                tracing::debug!(%error, pid, "a copy stays as a zombie of the program");
                self.past.note_end(thread, &error);
            }
        }
    }

    fn memory_use(&self, pid: i32) -> Option<MemoryUse> {
        if !machine::CALLS_KEEP_VECTORS {
            // The injected call does not restore them: no copies are made.
            return None;
        }
        let pages = fs::read_to_string(format!("/proc/{pid}/statm")).ok()?;
        let resident: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
        // SAFETY: the call has no preconditions.
        let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let of_system = procfs::meminfo("MemAvailable")?;
        let of_group = groups_of(pid).filter_map(|group| left_in(&group)).min();
        Some(MemoryUse {
            resident: resident * page,
            available: of_group.map_or(of_system, |group| group.min(of_system)),
        })
    }
}

/// Returns the control groups of a process that may limit its memory, innermost first.
fn groups_of(pid: i32) -> impl Iterator<Item = PathBuf> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let group = text.lines().find_map(|line| line.strip_prefix("0::"));
    let root = Path::new("/sys/fs/cgroup");
    let group = group.map(|group| root.join(group.trim_start_matches('/')));
    let groups: Vec<PathBuf> = group
        .iter()
        .flat_map(|group| group.ancestors())
        .take_while(|group| group.starts_with(root))
        .map(Path::to_path_buf)
        .collect();
    groups.into_iter()
}

/// Returns how much memory a control group may still use, in bytes; `None`: it has no limit.
fn left_in(group: &Path) -> Option<u64> {
    let number = |name: &str| -> Option<u64> {
        let text = fs::read_to_string(group.join(name)).ok()?;
        text.trim().parse().ok()
    };
    let limit = number("memory.max")?;
    Some(limit.saturating_sub(number("memory.current")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_a_process_is_known() {
        let groups: Vec<PathBuf> = groups_of(std::process::id() as i32).collect();
        assert!(
            groups
                .iter()
                .all(|group| group.starts_with("/sys/fs/cgroup"))
        );
        let backend =
            super::super::LinuxBackend::woken_by(crate::os::Waker::new().expect("a pipe"));
        let backend = backend.expect("descriptors");
        let memory = backend.memory_use(std::process::id() as i32);
        assert_eq!(memory.is_some(), machine::CALLS_KEEP_VECTORS);
        let Some(memory) = memory else { return };
        assert!(memory.resident > 1 << 16, "{memory:?}");
        assert!(memory.available > 1 << 20, "{memory:?}");
    }
}
