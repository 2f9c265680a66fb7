//! Memory of tasks, by `mach_vm`, which respects page protection: code is written by making its page
//! a private copy that can be written, for a moment in which the task executes nothing.

use super::mach::{KernReturn, Mach, Port, protection};
use super::{DarwinBackend, OpenMemory, Platform, mach_error};
use crate::ids::error::Error;
use crate::os::{AddressSpace, Shared, SystemCall};
use dwarf::LoadAddr;

/// Protection changes page by page; no machine has smaller pages. A transfer that fails as a whole is
/// repeated in pieces of this size.
const PIECE: u64 = 4096;

/// Returns the end of the piece that an address is in.
fn piece_end(addr: u64) -> u64 {
    (addr | (PIECE - 1)).saturating_add(1)
}

/// Reads as much as can be read. Returns the number of bytes.
fn read(mach: &impl Mach, task: Port, addr: u64, buffer: &mut [u8]) -> usize {
    if mach.mach_vm_read_overwrite(task, addr, buffer).is_ok() {
        return buffer.len();
    }
    let mut done = 0;
    while done < buffer.len() {
        let Some(at) = addr.checked_add(done as u64) else {
            break;
        };
        let len = (piece_end(at) - at).min((buffer.len() - done) as u64) as usize;
        let piece = &mut buffer[done..done + len];
        if mach.mach_vm_read_overwrite(task, at, piece).is_err() {
            break;
        }
        done += len;
    }
    done
}

/// Writes within one piece, despite protection.
fn write_piece(mach: &impl Mach, task: Port, addr: u64, bytes: &[u8]) -> Result<(), KernReturn> {
    let Err(error) = mach.mach_vm_write(task, addr, bytes) else {
        return Ok(());
    };
    let region = mach.mach_vm_region_recurse(task, addr)?;
    if region.start > addr || region.protection & protection::WRITE != 0 {
        return Err(error);
    }
    let len = bytes.len() as u64;
    let writable = protection::READ | protection::WRITE | protection::COPY;
    // Without the permission to execute, a thread in this page would fault.
    mach.task_suspend(task)?;
    let written = mach
        .mach_vm_protect(task, addr, len, writable)
        .and_then(|()| mach.mach_vm_write(task, addr, bytes));
    let restored = mach.mach_vm_protect(task, addr, len, region.protection);
    let resumed = mach.task_resume(task);
    written.and(restored).and(resumed)
}

/// Writes as much as can be written. Returns the number of bytes.
fn write(mach: &impl Mach, task: Port, addr: u64, bytes: &[u8]) -> usize {
    let mut done = 0;
    while done < bytes.len() {
        let Some(at) = addr.checked_add(done as u64) else {
            break;
        };
        let len = (piece_end(at) - at).min((bytes.len() - done) as u64) as usize;
        if write_piece(mach, task, at, &bytes[done..done + len]).is_err() {
            break;
        }
        done += len;
    }
    done
}

impl<M: Platform> DarwinBackend<M> {
    /// Calls a function with the task of a process.
    fn with_task<T>(&self, pid: i32, act: impl FnOnce(Port) -> T) -> Option<T> {
        let task = self.mach.task_for_pid(pid).ok()?;
        let result = act(task);
        self.mach.mach_port_deallocate(task);
        Some(result)
    }
}

impl<M: Platform> AddressSpace for DarwinBackend<M> {
    fn open_memory(&mut self, pid: i32) -> Result<(), Error> {
        self.close_memory();
        let task = (self.mach.task_for_pid(pid)).map_err(|it| mach_error("task_for_pid", it))?;
        self.memory = Some(OpenMemory { task });
        Ok(())
    }

    fn close_memory(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.mach.mach_port_deallocate(memory.task);
        }
    }

    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let memory = self.memory.as_ref();
        memory.map_or(0, |memory| read(&self.mach, memory.task, addr.0, buffer))
    }

    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        self.read_memory(addr, buffer)
    }

    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize {
        let memory = self.memory.as_ref();
        memory.map_or(0, |memory| write(&self.mach, memory.task, addr.0, bytes))
    }

    fn why_no_jumps(&self) -> Option<&'static str> {
        Some("fast breakpoints are not there on macOS")
    }

    fn call_for(&self, call: SystemCall) -> Option<i64> {
        const ENOSYS: i64 = -78;
        let task = self.memory.as_ref()?.task;
        let map = |addr: LoadAddr, len, protection| {
            self.mach.mach_vm_allocate(task, addr.0, len)?;
            self.mach.mach_vm_protect(task, addr.0, len, protection)?;
            Ok(addr.0)
        };
        let done = match call {
            SystemCall::MapCode { addr, len } => {
                map(addr, len, protection::READ | protection::EXECUTE)
            }
            SystemCall::MapData { addr, len } => {
                map(addr, len, protection::READ | protection::WRITE)
            }
            SystemCall::Unmap { addr, len } => {
                let done = self.mach.mach_vm_deallocate(task, addr.0, len);
                done.map(|()| 0)
            }
            _ => return Some(ENOSYS),
        };
        Some(match done {
            Ok(result) => result.cast_signed(),
            Err(error) => -i64::from(error.0).abs(),
        })
    }

    /// There are no memory files.
    fn shared(&self, _: i32, _: i32, _: u64) -> Option<Shared> {
        None
    }

    fn read_memory_of(&self, pid: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let read = self.with_task(pid, |task| read(&self.mach, task, addr.0, buffer));
        read.unwrap_or(0)
    }

    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]) {
        let written = self.with_task(pid, |task| {
            let write = |(addr, byte): &(LoadAddr, u8)| write(&self.mach, task, addr.0, &[*byte]);
            writes.iter().map(write).sum::<usize>()
        });
        if written != Some(writes.len()) {
            tracing::warn!(pid, "cannot restore the code of a process");
        }
    }
}
