//! Memory of processes, by `/proc/PID/mem`, which ignores page protection.

use super::super::AddressSpace;
use super::super::Shared;
use super::guardian::Guardian;
use super::{LinuxBackend, os_error, procfs};
use crate::arch::Arch;
use crate::ids::error::Error;
use dwarf::LoadAddr;
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut};
use std::os::unix::fs::FileExt;

/// The open memory of a process.
pub(super) struct OpenMemory {
    file: File,
    pid: Pid,
}

fn path(pid: i32) -> String {
    format!("/proc/{pid}/mem")
}

/// Repeats a transfer at an offset until it has moved `len` bytes or fails. Returns the number of
/// bytes moved.
pub(super) fn transfer(len: usize, mut part: impl FnMut(usize) -> io::Result<usize>) -> usize {
    let mut done = 0;
    while done < len {
        match part(done) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    done
}

impl AddressSpace for LinuxBackend {
    fn open_memory(&mut self, pid: i32) -> Result<(), Error> {
        self.guardian = None;
        let shown = procfs::thread_with_memory(self.actual_process(pid));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path(shown))
            .map_err(|error| os_error("open(/proc/PID/mem)", &error))?;
        if self.guarded {
            match Guardian::start(&file) {
                Ok(guardian) => self.guardian = Some(guardian),
                Err(error) => {
                    tracing::warn!(%error, "no guardian: SIGKILL of the debugger would kill the \
                                            debuggee")
                }
            }
        }
        let pid = Pid::from_raw(shown);
        self.memory = Some(OpenMemory { file, pid });
        Ok(())
    }

    fn close_memory(&mut self) {
        self.memory = None;
    }

    fn read_memory(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let Some(OpenMemory { file, .. }) = &self.memory else {
            return 0;
        };
        let addr = Arch::HOST.untagged(addr);
        transfer(buffer.len(), |done| {
            file.read_at(&mut buffer[done..], addr.0.wrapping_add(done as u64))
        })
    }

    fn read_permitted(&self, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        let Some(OpenMemory { pid, .. }) = self.memory else {
            return 0;
        };
        let addr = Arch::HOST.untagged(addr);
        transfer(buffer.len(), |done| {
            let from = [RemoteIoVec {
                base: addr.0.wrapping_add(done as u64) as usize,
                len: buffer.len() - done,
            }];
            let mut to = [IoSliceMut::new(&mut buffer[done..])];
            match process_vm_readv(pid, &mut to, &from) {
                // The first thread may have ended since.
                Err(Errno::ESRCH) => {
                    let pid = procfs::thread_with_memory(pid.as_raw());
                    Ok(process_vm_readv(Pid::from_raw(pid), &mut to, &from)?)
                }
                read => Ok(read?),
            }
        })
    }

    fn write_memory_partly(&self, addr: LoadAddr, bytes: &[u8]) -> usize {
        let Some(OpenMemory { file, .. }) = &self.memory else {
            return 0;
        };
        let addr = Arch::HOST.untagged(addr);
        transfer(bytes.len(), |done| {
            file.write_at(&bytes[done..], addr.0.wrapping_add(done as u64))
        })
    }

    fn shared(&self, pid: i32, descriptor: i32, len: u64) -> Option<Shared> {
        let shared = super::shared_file(
            self.actual_process(pid),
            descriptor,
            usize::try_from(len).ok()?,
        );
        shared
            .inspect_err(|error| tracing::info!(%error, "cannot share memory with the program"))
            .ok()
    }

    fn read_memory_of(&self, pid: i32, addr: LoadAddr, buffer: &mut [u8]) -> usize {
        File::open(path(pid))
            .and_then(|memory| memory.read_at(buffer, addr.0))
            .unwrap_or(0)
    }

    fn write_memory_of(&self, pid: i32, writes: &[(LoadAddr, u8)]) {
        match OpenOptions::new().write(true).open(path(pid)) {
            Ok(memory) => {
                for (addr, byte) in writes {
                    if let Err(error) = memory.write_all_at(&[*byte], addr.0) {
                        tracing::warn!(pid, %addr, %error, "cannot clean a forked child");
                    }
                }
            }
            Err(error) => tracing::warn!(pid, %error, "cannot open a forked child's memory"),
        }
    }
}
