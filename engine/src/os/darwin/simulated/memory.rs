//! Address spaces: reads and writes that respect protection, and mappings that a thread of the
//! process is made to change.

use super::super::mach::{KernReturn, Port, Region, Result, protection};
use super::kernel::Kernel;
use crate::ids::{Signal, ThreadId};
use crate::os::event::Patience;
use crate::os::linux::{procfs, ptrace};
use crate::os::{Mapping, ThreadEvent};
use dwarf::LoadAddr;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Memory that can be written, although its mapping does not say so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Override {
    addr: u64,
    len: u64,
}

const NT_PRSTATUS: i32 = 1;
const RAX: usize = 10;
const ARGUMENTS: [usize; 6] = [14, 13, 12, 7, 9, 8];
const ORIG_RAX: usize = 15;
const PC: usize = 16;

/// Reads all of a range.
pub fn read(pid: i32, addr: u64, buffer: &mut [u8]) -> Result<()> {
    let from = [RemoteIoVec {
        base: addr as usize,
        len: buffer.len(),
    }];
    let len = buffer.len();
    let mut to = [IoSliceMut::new(buffer)];
    match process_vm_readv(Pid::from_raw(pid), &mut to, &from) {
        Ok(read) if read == len => Ok(()),
        _ => Err(KernReturn::INVALID_ADDRESS),
    }
}

impl Kernel {
    pub fn write_memory(&mut self, task: Port, addr: u64, bytes: &[u8]) -> Result<()> {
        let pid = self.pid_of(task)?;
        let to = [RemoteIoVec {
            base: addr as usize,
            len: bytes.len(),
        }];
        let written = process_vm_writev(Pid::from_raw(pid), &[IoSlice::new(bytes)], &to);
        if written == Ok(bytes.len()) {
            return Ok(());
        }
        let end = addr + bytes.len() as u64;
        let covers = |it: &Override| it.addr <= addr && end <= it.addr + it.len;
        if !self.task(task)?.overrides.iter().any(covers) {
            return Err(KernReturn::PROTECTION_FAILURE);
        }
        let memory = File::options().write(true).open(format!("/proc/{pid}/mem"));
        let written = memory.and_then(|memory| memory.write_all_at(bytes, addr));
        written.map_err(|_| KernReturn::INVALID_ADDRESS)
    }

    pub fn protect(&mut self, task: Port, addr: u64, len: u64, protection: i32) -> Result<()> {
        let wanted = Override { addr, len };
        if protection & protection::COPY != 0 {
            let is_suspended = self.is_task_suspended(task);
            assert!(
                is_suspended || protection & protection::EXECUTE != 0,
                "a running task cannot execute {addr:#x}"
            );
            self.task(task)?.overrides.push(wanted);
            return Ok(());
        }
        let overrides = &mut self.task(task)?.overrides;
        if let Some(at) = overrides.iter().position(|it| *it == wanted) {
            overrides.swap_remove(at);
            return Ok(());
        }
        let flags = [
            (protection::READ, libc::PROT_READ),
            (protection::WRITE, libc::PROT_WRITE),
            (protection::EXECUTE, libc::PROT_EXEC),
        ];
        let flags = flags.iter().filter(|(bit, _)| protection & bit != 0);
        let flags = flags.map(|(_, flag)| *flag).sum::<i32>();
        self.call(task, libc::SYS_mprotect, [addr, len, flags as u64, 0, 0, 0])
            .map(drop)
    }

    pub fn allocate(&mut self, task: Port, addr: u64, len: u64) -> Result<()> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let arguments = [addr, len, protection as u64, flags as u64, u64::MAX, 0];
        let got = self.call(task, libc::SYS_mmap, arguments)?;
        (got == addr)
            .then_some(())
            .ok_or(KernReturn::INVALID_ADDRESS)
    }

    pub fn deallocate(&mut self, task: Port, addr: u64, len: u64) -> Result<()> {
        self.call(task, libc::SYS_munmap, [addr, len, 0, 0, 0, 0])
            .map(drop)
    }

    /// Makes a stopped thread of a task execute a system call.
    fn call(&mut self, task: Port, number: i64, arguments: [u64; 6]) -> Result<u64> {
        let pid = self.pid_of(task)?;
        let thread = self.any_stopped(pid).ok_or(KernReturn::FAILURE)?;
        let instruction = instruction(pid).ok_or(KernReturn::FAILURE)?;
        let mut before = [0; 27];
        if !ptrace::read_register_words(thread, NT_PRSTATUS, &mut before) {
            return Err(KernReturn::TERMINATED);
        }
        let info = ptrace::signal_info(thread);
        let mut set = before;
        (set[RAX], set[ORIG_RAX], set[PC]) = (number as u64, u64::MAX, instruction.0);
        for (at, argument) in ARGUMENTS.into_iter().zip(arguments) {
            set[at] = argument;
        }
        let mask = ptrace::blocked_signals(thread).map_err(|_| KernReturn::TERMINATED)?;
        let _ = ptrace::set_blocked_signals(thread, u64::MAX);
        ptrace::write_register_words(thread, NT_PRSTATUS, &set);
        let result = step(thread).then(|| {
            let mut after = [0; 27];
            ptrace::read_register_words(thread, NT_PRSTATUS, &mut after);
            after[RAX]
        });
        ptrace::write_register_words(thread, NT_PRSTATUS, &before);
        let _ = ptrace::set_blocked_signals(thread, mask);
        if let Some(info) = info {
            ptrace::set_signal_info(thread, &info);
        }
        match result {
            Some(result) if result.cast_signed() >= 0 => Ok(result),
            _ => Err(KernReturn::RESOURCE_SHORTAGE),
        }
    }

    pub fn region(&mut self, task: Port, addr: u64) -> Result<Region> {
        let pid = self.pid_of(task)?;
        // A listing goes on where the last region has ended.
        let at = |mappings: &[Mapping]| mappings.partition_point(|it| it.end.0 <= addr);
        let goes_on = self.listed.as_ref().is_some_and(|(of, mappings)| {
            let before = at(mappings).checked_sub(1).map(|last| mappings[last].end.0);
            *of == pid && before == Some(addr)
        });
        if !goes_on {
            self.listed = Some((pid, procfs::mappings(pid)));
        }
        let (_, mappings) = self.listed.as_ref().ok_or(KernReturn::FAILURE)?;
        let mapping = mappings.get(at(mappings));
        let mapping = mapping.ok_or(KernReturn::INVALID_ADDRESS)?;
        Ok(region_of(mapping))
    }

    /// Returns the path at the beginning of a mapping that was listed.
    pub fn listed_path(&self, pid: i32, addr: u64) -> Option<Option<PathBuf>> {
        let (of, mappings) = self.listed.as_ref()?;
        let at = mappings.partition_point(|it| it.end.0 <= addr);
        let mapping = mappings.get(at).filter(|it| it.start.0 == addr)?;
        let path = Some(mapping.path.clone()).filter(|path| !path.as_os_str().is_empty());
        (*of == pid).then_some(path)
    }
}

fn region_of(mapping: &Mapping) -> Region {
    let bits = [
        (mapping.readable, protection::READ),
        (mapping.writable, protection::WRITE),
        (mapping.executable, protection::EXECUTE),
    ];
    let granted = bits.iter().filter(|(is, _)| *is).map(|(_, bit)| *bit);
    Region {
        start: mapping.start.0,
        len: mapping.end - mapping.start,
        protection: granted.sum(),
        max_protection: protection::READ | protection::WRITE | protection::EXECUTE,
        is_shared: mapping.shared,
        offset: mapping.offset,
        user_tag: 0,
    }
}

/// Returns the address of a system call instruction in the vdso.
fn instruction(pid: i32) -> Option<LoadAddr> {
    let mappings = procfs::mappings(pid);
    let vdso = mappings.iter().find(|it| it.path.as_os_str() == "[vdso]")?;
    let mut code = vec![0; (vdso.end - vdso.start).min(1 << 16) as usize];
    read(pid, vdso.start.0, &mut code).ok()?;
    let at = code.windows(2).position(|it| it == [0x0f, 0x05])?;
    Some(vdso.start + at as u64)
}

/// Lets a thread execute one instruction. Returns whether it has.
fn step(thread: ThreadId) -> bool {
    for _ in 0..8 {
        if ptrace::resume(thread, true, Signal(0)).is_err() {
            return false;
        }
        match ptrace::stop_of(thread, Patience::UntilStopped) {
            Some(ThreadEvent::Signal(Signal::TRAP)) => return true,
            // An interrupt that was still to come.
            Some(ThreadEvent::Interrupted | ThreadEvent::GroupStop(_)) => {}
            _ => return false,
        }
    }
    false
}
