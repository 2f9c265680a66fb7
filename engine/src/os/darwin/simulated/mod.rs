//! A simulated Mach, for tests on Linux: tasks, threads, ports, suspend counts and exceptions, made
//! of ptrace(2). It behaves as XNU does where that differs from Linux: a stop is a message, which
//! waits until it is received; a thread that has raised an exception waits for a reply; the kernel
//! says nothing of new threads and of children; rights to ports are counted.
//!
//! What it asserts would be a mistake of its only caller, the backend: a right that is given up twice,
//! a page that cannot be executed while its task runs.

mod kernel;
mod memory;
mod ports;
mod states;
mod stops;

use super::abi::DarwinAbi;
use super::flavors::{behavior, kind};
use super::mach::{
    Awaited, Descriptors, Ended, ExceptionPort, KernReturn, MAX_MESSAGE, Mach, Port, ProcessInfo,
    Ptrace, Region, Result,
};
use super::message::kernel as messages;
use super::{Platform, signals};
use crate::ids::error::Error;
use crate::ids::{Launch, ThreadId};
use crate::os::linux::{launch, procfs};
use crate::os::processes::ThreadStarts;
use crate::os::unix::stdio::Stdio;
use dwarf::LoadAddr;
use kernel::{Kernel, Task};
use std::cell::RefCell;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// The exceptions that are sent to a debugger.
const MASK: u32 = kind::OF_USER_CODE;
/// `EXCEPTION_DEFAULT | MACH_EXCEPTION_CODES`
const BEHAVIOR: i32 = behavior::DEFAULT | behavior::MACH_EXCEPTION_CODES;

/// The system.
pub struct Simulated(RefCell<Kernel>);

/// # Errors
/// The system has no descriptors left.
pub fn new() -> std::result::Result<Simulated, Error> {
    let kernel = Kernel::new().map_err(|error| Error::Os {
        call: "signalfd",
        errno: error.raw_os_error().unwrap_or(0),
        message: error.to_string(),
    })?;
    Ok(Simulated(RefCell::new(kernel)))
}

impl Simulated {
    fn with<T>(&self, act: impl FnOnce(&mut Kernel) -> T) -> T {
        let mut kernel = self.0.borrow_mut();
        kernel.take_stops();
        act(&mut kernel)
    }
}

impl Platform for Simulated {
    const ABI: &'static DarwinAbi = &states::ABI;
    const SIGNALS: &'static signals::Numbers = &signals::LINUX;
    const THREAD_STARTS: ThreadStarts = ("libc.so", &["start_thread"]);

    fn auxiliary(&self, pid: i32, key: u64) -> Option<u64> {
        procfs::auxiliary(pid, key)
    }
}

impl Mach for Simulated {
    fn mach_port_allocate(&self) -> Result<Port> {
        self.with(|it| Ok(it.ports.allocate(ports::Right::Receive)))
    }

    fn mach_port_deallocate(&self, port: Port) {
        self.with(|it| it.ports.deallocate(port));
    }

    fn mach_port_request_notification(&self, port: Port, notify: Port) -> Result<()> {
        self.with(|it| it.request_notification(port, notify))
    }

    fn mach_msg_receive(&self, _: Port, message: &mut [u8; MAX_MESSAGE]) -> Option<usize> {
        self.with(|it| {
            let next = it.receive()?;
            message[..next.len()].copy_from_slice(&next);
            Some(next.len())
        })
    }

    fn mach_msg_send(&self, message: &[u8]) -> Result<()> {
        let (to, result) = messages::result_of(message).ok_or(KernReturn::INVALID_ARGUMENT)?;
        self.with(|it| it.on_reply(to, result))
    }

    fn kevent(
        &self,
        _: Port,
        descriptors: Descriptors,
        timeout: Option<Duration>,
    ) -> io::Result<Awaited> {
        self.0.borrow_mut().wait(descriptors, timeout)
    }

    fn task_for_pid(&self, pid: i32) -> Result<Port> {
        self.with(|it| it.task_for_pid(pid))
    }

    fn pid_for_task(&self, task: Port) -> Result<i32> {
        self.with(|it| it.pid_of(task))
    }

    fn task_threads(&self, task: Port) -> Result<Vec<Port>> {
        self.with(|it| it.task_threads(task))
    }

    fn task_suspend(&self, task: Port) -> Result<()> {
        self.with(|it| it.task_suspend(task))
    }

    fn task_resume(&self, task: Port) -> Result<()> {
        self.with(|it| it.task_resume(task))
    }

    fn task_swap_exception_ports(&self, task: Port, port: Port) -> Result<Vec<ExceptionPort>> {
        self.with(|it| {
            let former = it.set_exception_port(task, port)?;
            Ok(vec![ExceptionPort {
                mask: MASK,
                port: former,
                behavior: BEHAVIOR,
                flavor: 0,
            }])
        })
    }

    fn task_set_exception_ports(&self, task: Port, port: &ExceptionPort) -> Result<()> {
        self.with(|it| it.set_exception_port(task, port.port).map(drop))
    }

    /// Programs of Linux have no dyld; the loader of the tests for Mach-O programs publishes the same
    /// structure, in a mapping with this name.
    fn task_info_dyld(&self, task: Port) -> Result<u64> {
        const NAME: &str = "/memfd:dyld_all_image_infos (deleted)";
        let pid = self.pid_for_task(task)?;
        let mappings = procfs::mappings(pid);
        let infos = mappings.iter().find(|it| it.path.as_os_str() == NAME);
        infos
            .map(|it| it.start.0)
            .ok_or(KernReturn::INVALID_ARGUMENT)
    }

    fn thread_suspend(&self, thread: Port) -> Result<()> {
        self.with(|it| it.thread_suspend(thread))
    }

    fn thread_resume(&self, thread: Port) -> Result<()> {
        self.with(|it| it.thread_resume(thread))
    }

    fn thread_abort_safely(&self, _: Port) -> Result<()> {
        Ok(())
    }

    fn thread_get_state(&self, thread: Port, flavor: i32, state: &mut [u32]) -> Result<usize> {
        let tid = self.with(|it| it.stopped_tid(thread))?;
        states::read(tid, flavor, state)
    }

    fn thread_set_state(&self, thread: Port, flavor: i32, state: &[u32]) -> Result<()> {
        let tid = self.with(|it| it.stopped_tid(thread))?;
        if let Some(steps) = states::write(tid, flavor, state)? {
            self.with(|it| it.set_stepping(tid, steps));
        }
        Ok(())
    }

    fn thread_convert_thread_state(&self, _: Port, _: bool, _: i32, _: &mut [u32]) -> Result<()> {
        Ok(())
    }

    fn thread_info_identifier(&self, thread: Port) -> Result<u64> {
        let tid = self.with(|it| it.tid_of(thread))?;
        u64::try_from(tid.0).map_err(|_| KernReturn::FAILURE)
    }

    fn thread_info_handle(&self, thread: Port) -> Result<u64> {
        let tid = self.with(|it| it.tid_of(thread))?;
        states::gs_base(tid)
    }

    fn thread_info_name(&self, thread: Port) -> Result<String> {
        let (tid, pid) = self.with(|it| Ok((it.tid_of(thread)?, it.pid_of_thread(thread)?)))?;
        Ok(procfs::thread_name(pid, tid.0))
    }

    fn mach_vm_read_overwrite(&self, task: Port, addr: u64, buffer: &mut [u8]) -> Result<()> {
        let pid = self.pid_for_task(task)?;
        memory::read(pid, addr, buffer)
    }

    fn mach_vm_write(&self, task: Port, addr: u64, bytes: &[u8]) -> Result<()> {
        self.with(|it| it.write_memory(task, addr, bytes))
    }

    fn mach_vm_protect(&self, task: Port, addr: u64, len: u64, protection: i32) -> Result<()> {
        self.with(|it| it.protect(task, addr, len, protection))
    }

    fn mach_vm_region_recurse(&self, task: Port, addr: u64) -> Result<Region> {
        self.with(|it| it.region(task, addr))
    }

    fn mach_vm_allocate(&self, task: Port, addr: u64, len: u64) -> Result<()> {
        self.with(|it| it.allocate(task, addr, len))
    }

    fn mach_vm_deallocate(&self, task: Port, addr: u64, len: u64) -> Result<()> {
        self.with(|it| it.deallocate(task, addr, len))
    }

    fn posix_spawn(
        &self,
        launch: &Launch,
        stdio: [Option<OwnedFd>; 3],
    ) -> std::result::Result<i32, String> {
        let stdio = Stdio {
            child: stdio,
            ours: [None, None],
        };
        let started = launch::start_with(launch, stdio).map_err(|error| match error {
            Error::Launch { message, .. } => message,
            other => other.to_string(),
        })?;
        self.with(|it| it.add_spawned(started.pid));
        Ok(started.pid)
    }

    fn ptrace(&self, request: Ptrace, pid: i32) -> io::Result<()> {
        self.with(|it| it.ptrace(request, pid))
    }

    fn kill(&self, pid: i32, signal: i32) {
        // SAFETY: integers only.
        unsafe { libc::kill(pid, signal) };
    }

    fn waitpid(&self, pid: i32) -> Option<Ended> {
        self.with(|it| it.tasks.get(&pid).and_then(|task: &Task| task.ended))
    }

    fn proc_listallpids(&self) -> Vec<i32> {
        procfs::processes()
    }

    fn proc_pidpath(&self, pid: i32) -> Option<PathBuf> {
        procfs::executable(pid).map(|file| file.path)
    }

    fn proc_regionfilename(&self, pid: i32, addr: u64) -> Option<PathBuf> {
        if let Some(path) = self.with(|it| it.listed_path(pid, addr)) {
            return path;
        }
        procfs::mapped_file(pid, LoadAddr(addr)).map(|file| file.path)
    }

    fn process_info(&self, pid: i32) -> Option<ProcessInfo> {
        let parent = procfs::status_number(pid, "PPid")?;
        let is_ours = self.with(|it| it.tasks.get(&pid).is_some_and(|task| task.is_seized));
        let tracer = procfs::status_number(pid, "TracerPid").unwrap_or(0);
        Some(ProcessInfo {
            parent,
            name: procfs::thread_name(pid, ThreadId(pid).0),
            is_traced: tracer != 0 && !is_ours,
            is_translated: false,
            allows_task_port: true,
            is_protected: false,
            is_zombie: procfs::is_zombie(pid),
        })
    }

    fn sysctlbyname(&self, _: &str) -> Option<u64> {
        None
    }
}
