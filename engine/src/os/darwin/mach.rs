//! [`Mach`]: the calls to the system that the backend makes, each with the name in Apple's headers
//! (`mach/mach_types.h`, `mach/mach_vm.h`, `mach/exc.h`, `sys/ptrace.h`, `spawn.h`, `sys/event.h`,
//! `libproc.h`). Nothing here decides anything.

use crate::ids::Launch;
use std::fmt;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::time::Duration;

/// The name of a port right in this process (`mach_port_t`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Port(pub u32);

impl Port {
    /// `MACH_PORT_NULL`
    pub const NULL: Port = Port(0);
}

/// The failure of a Mach call (`kern_return_t`, `mach_msg_return_t`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernReturn(pub i32);

impl KernReturn {
    /// `KERN_SUCCESS`, as the result of an exception: the thread goes on.
    pub const SUCCESS: KernReturn = KernReturn(0);
    /// `KERN_INVALID_ADDRESS`
    pub const INVALID_ADDRESS: KernReturn = KernReturn(1);
    /// `KERN_PROTECTION_FAILURE`
    pub const PROTECTION_FAILURE: KernReturn = KernReturn(2);
    /// `KERN_INVALID_ARGUMENT`
    pub const INVALID_ARGUMENT: KernReturn = KernReturn(4);
    /// `KERN_FAILURE`. As the result of an exception: the next handler gets it, and at last the
    /// process gets a signal. As that of `task_for_pid`: this process may not control that one.
    pub const FAILURE: KernReturn = KernReturn(5);
    /// `KERN_RESOURCE_SHORTAGE`
    pub const RESOURCE_SHORTAGE: KernReturn = KernReturn(6);
    /// `KERN_INVALID_NAME`
    pub const INVALID_NAME: KernReturn = KernReturn(15);
    /// `KERN_TERMINATED`: the thread or the task has ended.
    pub const TERMINATED: KernReturn = KernReturn(37);
    /// `MACH_SEND_INVALID_DEST`: the receiver is gone, as a thread that was killed.
    pub const SEND_INVALID_DEST: KernReturn = KernReturn(0x1000_0003);
}

impl fmt::Display for KernReturn {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            KernReturn::SUCCESS => "KERN_SUCCESS",
            KernReturn::INVALID_ADDRESS => "KERN_INVALID_ADDRESS",
            KernReturn::PROTECTION_FAILURE => "KERN_PROTECTION_FAILURE",
            KernReturn::INVALID_ARGUMENT => "KERN_INVALID_ARGUMENT",
            KernReturn::FAILURE => "KERN_FAILURE",
            KernReturn::RESOURCE_SHORTAGE => "KERN_RESOURCE_SHORTAGE",
            KernReturn::INVALID_NAME => "KERN_INVALID_NAME",
            KernReturn::TERMINATED => "KERN_TERMINATED",
            KernReturn::SEND_INVALID_DEST => "MACH_SEND_INVALID_DEST",
            KernReturn(other) => return write!(to, "Mach error {other:#x}"),
        };
        to.write_str(name)
    }
}

/// The result of a Mach call.
pub type Result<T> = std::result::Result<T, KernReturn>;

/// `vm_prot_t`
pub mod protection {
    pub const READ: i32 = 1;
    pub const WRITE: i32 = 2;
    pub const EXECUTE: i32 = 4;
    /// The pages become private copies, also where they are mapped from a file.
    pub const COPY: i32 = 0x10;
}

/// A region of an address space (`vm_region_submap_info_64`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    pub start: u64,
    pub len: u64,
    /// What its pages are now.
    pub protection: i32,
    /// What they can become.
    pub max_protection: i32,
    /// Whether writes are seen by other processes.
    pub is_shared: bool,
    /// Offset in the mapped object.
    pub offset: u64,
    /// `VM_MEMORY_STACK` and the like.
    pub user_tag: u32,
}

/// What the kernel's table (`sysctl` of `KERN_PROC_PID`), `proc_pidinfo(PROC_PIDTBSDINFO)` and
/// `csops(CS_OPS_STATUS)` say about a process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessInfo {
    /// `e_ppid`
    pub parent: i32,
    /// `pbi_name`, or `p_comm`.
    pub name: String,
    /// Another process traces it (`P_TRACED`).
    pub is_traced: bool,
    /// Its code is x86-64, translated on arm64 (`P_TRANSLATED`).
    pub is_translated: bool,
    /// It has the entitlement `get-task-allow` (`CS_GET_TASK_ALLOW`).
    pub allows_task_port: bool,
    /// It runs with the hardened runtime (`CS_RUNTIME`), or is a part of the system
    /// (`CS_PLATFORM_BINARY`, `CS_RESTRICT`).
    pub is_protected: bool,
    /// It has ended and is not waited for (`SZOMB`).
    pub is_zombie: bool,
}

/// How a child process ended (`waitpid`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// With this status.
    Exited(i32),
    /// By this signal, in the system's numbers.
    Signaled(i32),
}

/// Descriptors to wait for, and which of them can be read.
pub type Descriptors = [Option<RawFd>; 4];

/// What a wait has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Awaited {
    /// There may be a message at the port.
    pub message: bool,
    /// Which descriptors can be read, or are at their end.
    pub readable: [bool; 4],
}

/// A request of ptrace(2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ptrace {
    /// `PT_ATTACHEXC`: signals of the process become exceptions, and it gets a SIGSTOP.
    AttachExc,
    /// `PT_THUPDATE`: a thread that waits in the exception of a signal gets this one instead (0:
    /// none).
    ThUpdate(Port, i32),
    /// `PT_DETACH`
    Detach,
    /// `PT_KILL`
    Kill,
}

/// Size in bytes of the largest message that is received: an exception with its trailer.
pub const MAX_MESSAGE: usize = 512;

/// The calls to the system. Methods that change a process take `&self`, as the system allows it: the
/// backend decides what needs exclusive access.
pub trait Mach {
    // Ports (mach/mach_port.h, mach/message.h).

    /// `mach_port_allocate(MACH_PORT_RIGHT_RECEIVE)` and `mach_port_insert_right(MAKE_SEND)`.
    fn mach_port_allocate(&self) -> Result<Port>;
    /// `mach_port_deallocate`: gives up one send right, or a dead name.
    fn mach_port_deallocate(&self, port: Port);
    /// `mach_port_request_notification(MACH_NOTIFY_DEAD_NAME)`: a message arrives at `notify` when
    /// the port's receiver is gone.
    fn mach_port_request_notification(&self, port: Port, notify: Port) -> Result<()>;
    /// `mach_msg(MACH_RCV_MSG | MACH_RCV_TIMEOUT)` without waiting. Returns the number of bytes
    /// written to `message`; `None` if there is no message.
    fn mach_msg_receive(&self, port: Port, message: &mut [u8; MAX_MESSAGE]) -> Option<usize>;
    /// `mach_msg(MACH_SEND_MSG)`: sends a reply, whose header names the port.
    fn mach_msg_send(&self, message: &[u8]) -> Result<()>;
    /// `kevent64` with `EVFILT_MACHPORT` for the port, and `poll` for it and the descriptors: sleeps
    /// until one of them is ready, or the time is over.
    ///
    /// # Errors
    /// The system has no resources left.
    fn kevent(
        &self,
        port: Port,
        descriptors: Descriptors,
        timeout: Option<Duration>,
    ) -> std::io::Result<Awaited>;

    // Tasks and threads (mach/task.h, mach/thread_act.h).

    /// `task_for_pid`
    fn task_for_pid(&self, pid: i32) -> Result<Port>;
    /// `pid_for_task`
    fn pid_for_task(&self, task: Port) -> Result<i32>;
    /// `task_threads`: a send right for each thread, oldest thread first.
    fn task_threads(&self, task: Port) -> Result<Vec<Port>>;
    /// `task_suspend`
    fn task_suspend(&self, task: Port) -> Result<()>;
    /// `task_resume`
    fn task_resume(&self, task: Port) -> Result<()>;
    /// `task_swap_exception_ports` for all exceptions of user code, with `EXCEPTION_DEFAULT |
    /// MACH_EXCEPTION_CODES`: they are sent to `port`. Returns what was set before.
    fn task_swap_exception_ports(&self, task: Port, port: Port) -> Result<Vec<ExceptionPort>>;
    /// `task_set_exception_ports`
    fn task_set_exception_ports(&self, task: Port, port: &ExceptionPort) -> Result<()>;
    /// `task_info(TASK_DYLD_INFO)`: address of `dyld_all_image_infos`.
    fn task_info_dyld(&self, task: Port) -> Result<u64>;
    /// `thread_suspend`. When it returns, the thread executes nothing of the program.
    fn thread_suspend(&self, thread: Port) -> Result<()>;
    /// `thread_resume`
    fn thread_resume(&self, thread: Port) -> Result<()>;
    /// `thread_abort_safely`: a system call that waits is interrupted, so that the thread's registers
    /// are those of user code.
    fn thread_abort_safely(&self, thread: Port) -> Result<()>;
    /// `thread_get_state`. Returns the number of words written to `state`.
    fn thread_get_state(&self, thread: Port, flavor: i32, state: &mut [u32]) -> Result<usize>;
    /// `thread_set_state`
    fn thread_set_state(&self, thread: Port, flavor: i32, state: &[u32]) -> Result<()>;
    /// `thread_convert_thread_state(THREAD_CONVERT_THREAD_STATE_TO_SELF` or `_FROM_SELF)`: on arm64e,
    /// removes or adds what signs the pointers among the registers.
    fn thread_convert_thread_state(
        &self,
        thread: Port,
        to_self: bool,
        flavor: i32,
        state: &mut [u32],
    ) -> Result<()>;
    /// `thread_info(THREAD_IDENTIFIER_INFO)`: a number that no other thread of the system has had.
    fn thread_info_identifier(&self, thread: Port) -> Result<u64>;
    /// The same: the thread's handle, which is the address of its thread-specific data.
    fn thread_info_handle(&self, thread: Port) -> Result<u64>;
    /// `thread_info(THREAD_EXTENDED_INFO)`: the name that the program gave it.
    fn thread_info_name(&self, thread: Port) -> Result<String>;

    // Memory (mach/mach_vm.h).

    /// `mach_vm_read_overwrite`. Fails if not all can be read.
    fn mach_vm_read_overwrite(&self, task: Port, addr: u64, buffer: &mut [u8]) -> Result<()>;
    /// `mach_vm_write`. Fails if not all can be written.
    fn mach_vm_write(&self, task: Port, addr: u64, bytes: &[u8]) -> Result<()>;
    /// `mach_vm_protect` of the present, not the maximum, protection.
    fn mach_vm_protect(&self, task: Port, addr: u64, len: u64, protection: i32) -> Result<()>;
    /// `mach_vm_region_recurse`: the region that contains `addr`, or the next one.
    fn mach_vm_region_recurse(&self, task: Port, addr: u64) -> Result<Region>;
    /// `mach_vm_allocate(VM_FLAGS_FIXED)`: zeros, readable and writable.
    fn mach_vm_allocate(&self, task: Port, addr: u64, len: u64) -> Result<()>;
    /// `mach_vm_deallocate`
    fn mach_vm_deallocate(&self, task: Port, addr: u64, len: u64) -> Result<()>;

    // Processes (sys/ptrace.h, spawn.h, libproc.h, signal.h).

    /// `posix_spawn(POSIX_SPAWN_START_SUSPENDED | POSIX_SPAWN_CLOEXEC_DEFAULT)` in a session of its
    /// own, with these descriptors for 0 to 2.
    ///
    /// # Errors
    /// Cause and remedy.
    fn posix_spawn(
        &self,
        launch: &Launch,
        stdio: [Option<OwnedFd>; 3],
    ) -> std::result::Result<i32, String>;
    /// `ptrace`
    ///
    /// # Errors
    /// The system refuses.
    fn ptrace(&self, request: Ptrace, pid: i32) -> std::io::Result<()>;
    /// `kill`, with the system's number of the signal.
    fn kill(&self, pid: i32, signal: i32);
    /// `waitpid(WNOHANG)`: how a child or traced process has ended; `None` if it has not.
    fn waitpid(&self, pid: i32) -> Option<Ended>;
    /// `proc_listallpids`
    fn proc_listallpids(&self) -> Vec<i32>;
    /// `proc_pidpath`
    fn proc_pidpath(&self, pid: i32) -> Option<PathBuf>;
    /// `proc_regionfilename`
    fn proc_regionfilename(&self, pid: i32, addr: u64) -> Option<PathBuf>;
    /// `sysctl`, `proc_pidinfo` and `csops`; `None` if there is no such process.
    fn process_info(&self, pid: i32) -> Option<ProcessInfo>;
    /// `sysctlbyname` of a number.
    fn sysctlbyname(&self, name: &str) -> Option<u64>;
}

/// Where exceptions of some kinds are sent, as `task_swap_exception_ports` returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExceptionPort {
    /// `exception_mask_t`
    pub mask: u32,
    pub port: Port,
    /// `exception_behavior_t`
    pub behavior: i32,
    /// `thread_state_flavor_t`
    pub flavor: i32,
}
