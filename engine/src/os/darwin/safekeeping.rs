//! Processes that outlive the debugger. The kernel kills a process that is traced when its tracer
//! ends, so that nothing is restored then.

use super::{DarwinBackend, Platform, signals};
use crate::ids::Signal;
use crate::os::{AddressSpace, Duty, GuardedPatch, Safekeeping};
use dwarf::LoadAddr;

impl<M: Platform> Safekeeping for DarwinBackend<M> {
    fn guard(&self, _: LoadAddr, _: Option<GuardedPatch<'_>>) {}

    fn restore_code(&mut self, pid: i32, addr: LoadAddr, bytes: &[u8], original: &[u8]) -> bool {
        let Ok(task) = self.mach.task_for_pid(pid) else {
            // It has ended.
            return true;
        };
        if self.mach.process_info(pid).is_some_and(|it| it.is_traced) {
            self.mach.mach_port_deallocate(task);
            return false;
        }
        if self.mach.task_suspend(task).is_ok() {
            let mut there = vec![0; bytes.len()];
            if self.read_memory_of(pid, addr, &mut there) == bytes.len() && there == bytes {
                let writes = original.iter().enumerate();
                let writes: Vec<_> = writes
                    .map(|(index, byte)| (addr + index as u64, *byte))
                    .collect();
                self.write_memory_of(pid, &writes);
            }
            let _ = self.mach.task_resume(task);
        }
        self.mach.mach_port_deallocate(task);
        true
    }

    /// Carried out in order only, by [`Safekeeping::kill_left`]: there is no helper process.
    fn set_duty(&mut self, _: i32, _: Option<Duty>) {}

    fn kill_left(&mut self, pid: i32) {
        self.mach
            .kill(pid, signals::to_system(M::SIGNALS, Signal::KILL));
    }
}
