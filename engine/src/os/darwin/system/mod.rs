//! [`System`]: the calls of [`Mach`], made to the system. Each method is the call that it is named
//! after; processes and their start are in files of their own.

mod processes;
mod spawn;
mod wait;

pub use spawn::replace;

use super::super::unix::os_error;
use super::declared::{
    self, THREAD_CONVERT_THREAD_STATE_FROM_SELF, THREAD_CONVERT_THREAD_STATE_TO_SELF,
    THREAD_EXTENDED_INFO, THREAD_IDENTIFIER_INFO, thread_extended_info, thread_identifier_info,
};
use super::flavors::{THREAD_STATE_NONE, behavior, kind};
use super::mach::{
    Awaited, Descriptors, Ended, ExceptionPort, KernReturn, MAX_MESSAGE, Mach, Port, ProcessInfo,
    Ptrace, Region, Result,
};
use crate::ids::Launch;
use crate::ids::error::Error;
use mach2::message::{
    MACH_MSG_TIMEOUT_NONE, MACH_MSG_TYPE_MAKE_SEND, MACH_MSG_TYPE_MAKE_SEND_ONCE, MACH_RCV_MSG,
    MACH_RCV_TIMEOUT, MACH_SEND_MSG, mach_msg_header_t,
};
use mach2::task_info::{TASK_DYLD_INFO, TASK_DYLD_INFO_COUNT, task_dyld_info};
use mach2::vm_region::{SM_SHARED, SM_SHARED_ALIASED, SM_TRUESHARED, vm_region_submap_info_64};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// The system that this process runs on. Not `Send`: it is used by the thread that controls the
/// process.
pub struct System {
    wait: wait::Wait,
}

impl System {
    /// # Errors
    /// The system has no descriptors left.
    pub fn new() -> std::result::Result<Self, Error> {
        let wait = wait::Wait::new().map_err(|error| os_error("kqueue", &error))?;
        Ok(Self { wait })
    }
}

/// A message, aligned as its header must be.
#[repr(C, align(8))]
struct Buffer([u8; MAX_MESSAGE]);

impl Buffer {
    fn header(&mut self) -> *mut mach_msg_header_t {
        self.0.as_mut_ptr().cast()
    }
}

fn checked(result: i32) -> Result<()> {
    match result {
        0 => Ok(()),
        code => Err(KernReturn(code)),
    }
}

/// This process.
fn own_task() -> u32 {
    // SAFETY: reads a variable that the C library has set before `main`.
    unsafe { mach2::traps::mach_task_self() }
}

impl Mach for System {
    fn mach_port_allocate(&self) -> Result<Port> {
        let mut port = 0;
        // SAFETY: integers, and a live number.
        unsafe {
            let receive = mach2::port::MACH_PORT_RIGHT_RECEIVE;
            checked(mach2::mach_port::mach_port_allocate(
                own_task(),
                receive,
                &raw mut port,
            ))?;
            checked(mach2::mach_port::mach_port_insert_right(
                own_task(),
                port,
                port,
                MACH_MSG_TYPE_MAKE_SEND,
            ))?;
        }
        Ok(Port(port))
    }

    fn mach_port_deallocate(&self, port: Port) {
        // SAFETY: integers only. A name that is not there is an error, which changes nothing.
        unsafe { mach2::mach_port::mach_port_deallocate(own_task(), port.0) };
    }

    fn mach_port_request_notification(&self, port: Port, notify: Port) -> Result<()> {
        let mut previous = 0;
        // SAFETY: integers, and a live number.
        let result = unsafe {
            mach2::mach_port::mach_port_request_notification(
                own_task(),
                port.0,
                mach2::notify::MACH_NOTIFY_DEAD_NAME,
                0,
                notify.0,
                MACH_MSG_TYPE_MAKE_SEND_ONCE,
                &raw mut previous,
            )
        };
        if result == 0 && previous != 0 {
            self.mach_port_deallocate(Port(previous));
        }
        checked(result)
    }

    fn mach_msg_receive(&self, port: Port, message: &mut [u8; MAX_MESSAGE]) -> Option<usize> {
        let mut buffer = Buffer([0; MAX_MESSAGE]);
        // SAFETY: the buffer is live, aligned, and has the size that is named.
        let result = unsafe {
            mach2::message::mach_msg(
                buffer.header(),
                MACH_RCV_MSG | MACH_RCV_TIMEOUT,
                0,
                MAX_MESSAGE as u32,
                port.0,
                0,
                0,
            )
        };
        if result != 0 {
            return None;
        }
        // SAFETY: the kernel has written a header.
        let size = unsafe { (*buffer.header()).msgh_size } as usize;
        let size = size.min(MAX_MESSAGE);
        message[..size].copy_from_slice(&buffer.0[..size]);
        Some(size)
    }

    fn mach_msg_send(&self, message: &[u8]) -> Result<()> {
        let mut buffer = Buffer([0; MAX_MESSAGE]);
        let Some(bytes) = buffer.0.get_mut(..message.len()) else {
            return Err(KernReturn::INVALID_ARGUMENT);
        };
        bytes.copy_from_slice(message);
        // SAFETY: the buffer is live, aligned, and holds a message of this size.
        checked(unsafe {
            mach2::message::mach_msg(
                buffer.header(),
                MACH_SEND_MSG,
                message.len() as u32,
                0,
                0,
                MACH_MSG_TIMEOUT_NONE,
                0,
            )
        })
    }

    fn kevent(
        &self,
        port: Port,
        descriptors: Descriptors,
        timeout: Option<Duration>,
    ) -> io::Result<Awaited> {
        self.wait.wait(port, descriptors, timeout)
    }

    fn task_for_pid(&self, pid: i32) -> Result<Port> {
        let mut task = 0;
        // SAFETY: integers, and a live number.
        checked(unsafe { mach2::traps::task_for_pid(own_task(), pid, &raw mut task) })?;
        Ok(Port(task))
    }

    fn pid_for_task(&self, task: Port) -> Result<i32> {
        let mut pid = 0;
        // SAFETY: an integer, and a live number.
        checked(unsafe { declared::pid_for_task(task.0, &raw mut pid) })?;
        Ok(pid)
    }

    fn task_threads(&self, task: Port) -> Result<Vec<Port>> {
        let (mut threads, mut count) = (std::ptr::null_mut(), 0);
        // SAFETY: live variables. The kernel maps an array of that many names here, which is ours
        // to unmap.
        unsafe {
            checked(mach2::task::task_threads(
                task.0,
                &raw mut threads,
                &raw mut count,
            ))?;
            if threads.is_null() {
                return Ok(Vec::new());
            }
            let names = std::slice::from_raw_parts(threads, count as usize);
            let ports = names.iter().map(|name| Port(*name)).collect();
            let bytes = size_of_val(names) as u64;
            mach2::vm::mach_vm_deallocate(own_task(), threads as u64, bytes);
            Ok(ports)
        }
    }

    fn task_suspend(&self, task: Port) -> Result<()> {
        // SAFETY: integers only.
        checked(unsafe { mach2::task::task_suspend(task.0) })
    }

    fn task_resume(&self, task: Port) -> Result<()> {
        // SAFETY: integers only.
        checked(unsafe { mach2::task::task_resume(task.0) })
    }

    fn task_swap_exception_ports(&self, task: Port, port: Port) -> Result<Vec<ExceptionPort>> {
        let (mut masks, mut ports) = ([0; kind::COUNT], [0; kind::COUNT]);
        let (mut behaviors, mut flavors) = ([0; kind::COUNT], [0; kind::COUNT]);
        let mut count = kind::COUNT as u32;
        // SAFETY: the arrays are live and have as many elements as `count` says.
        checked(unsafe {
            mach2::task::task_swap_exception_ports(
                task.0,
                kind::OF_USER_CODE,
                port.0,
                behavior::DEFAULT | behavior::MACH_EXCEPTION_CODES,
                THREAD_STATE_NONE,
                masks.as_mut_ptr(),
                &raw mut count,
                ports.as_mut_ptr(),
                behaviors.as_mut_ptr(),
                flavors.as_mut_ptr(),
            )
        })?;
        let count = (count as usize).min(kind::COUNT);
        let before = (0..count).map(|index| ExceptionPort {
            mask: masks[index],
            port: Port(ports[index]),
            behavior: behaviors[index],
            flavor: flavors[index],
        });
        Ok(before.collect())
    }

    fn task_set_exception_ports(&self, task: Port, port: &ExceptionPort) -> Result<()> {
        // SAFETY: integers only.
        checked(unsafe {
            mach2::task::task_set_exception_ports(
                task.0,
                port.mask,
                port.port.0,
                port.behavior,
                port.flavor,
            )
        })
    }

    fn task_info_dyld(&self, task: Port) -> Result<u64> {
        let mut info = task_dyld_info::default();
        let mut count = TASK_DYLD_INFO_COUNT;
        // SAFETY: the structure is live and has as many words as `count` says.
        checked(unsafe {
            let out = (&raw mut info).cast();
            mach2::task::task_info(task.0, TASK_DYLD_INFO, out, &raw mut count)
        })?;
        Ok(info.all_image_info_addr)
    }

    fn thread_suspend(&self, thread: Port) -> Result<()> {
        // SAFETY: integers only.
        checked(unsafe { mach2::thread_act::thread_suspend(thread.0) })
    }

    fn thread_resume(&self, thread: Port) -> Result<()> {
        // SAFETY: integers only.
        checked(unsafe { mach2::thread_act::thread_resume(thread.0) })
    }

    fn thread_abort_safely(&self, thread: Port) -> Result<()> {
        // SAFETY: integers only.
        checked(unsafe { declared::thread_abort_safely(thread.0) })
    }

    fn thread_get_state(&self, thread: Port, flavor: i32, state: &mut [u32]) -> Result<usize> {
        let mut count = state.len() as u32;
        // SAFETY: the array is live and has as many words as `count` says.
        checked(unsafe {
            let out = state.as_mut_ptr();
            mach2::thread_act::thread_get_state(thread.0, flavor, out, &raw mut count)
        })?;
        Ok(state.len().min(count as usize))
    }

    fn thread_set_state(&self, thread: Port, flavor: i32, state: &[u32]) -> Result<()> {
        let count = state.len() as u32;
        // SAFETY: the kernel reads that many words of a live array, and writes none.
        checked(unsafe {
            let words = state.as_ptr().cast_mut();
            mach2::thread_act::thread_set_state(thread.0, flavor, words, count)
        })
    }

    fn thread_convert_thread_state(
        &self,
        thread: Port,
        to_self: bool,
        flavor: i32,
        state: &mut [u32],
    ) -> Result<()> {
        let direction = match to_self {
            true => THREAD_CONVERT_THREAD_STATE_TO_SELF,
            false => THREAD_CONVERT_THREAD_STATE_FROM_SELF,
        };
        let mut converted = vec![0; state.len()];
        let mut count = state.len() as u32;
        // SAFETY: both arrays are live and have as many words as `count` says; the first is only
        // read.
        checked(unsafe {
            declared::thread_convert_thread_state(
                thread.0,
                direction,
                flavor,
                state.as_mut_ptr(),
                count,
                converted.as_mut_ptr(),
                &raw mut count,
            )
        })?;
        let count = state.len().min(count as usize);
        state[..count].copy_from_slice(&converted[..count]);
        Ok(())
    }

    fn thread_info_identifier(&self, thread: Port) -> Result<u64> {
        let info: thread_identifier_info = thread_info(thread, THREAD_IDENTIFIER_INFO)?;
        Ok(info.thread_id)
    }

    fn thread_info_handle(&self, thread: Port) -> Result<u64> {
        let info: thread_identifier_info = thread_info(thread, THREAD_IDENTIFIER_INFO)?;
        Ok(info.thread_handle)
    }

    fn thread_info_name(&self, thread: Port) -> Result<String> {
        let info: thread_extended_info = thread_info(thread, THREAD_EXTENDED_INFO)?;
        Ok(processes::text(&info.pth_name))
    }

    fn mach_vm_read_overwrite(&self, task: Port, addr: u64, buffer: &mut [u8]) -> Result<()> {
        let mut read = 0;
        // SAFETY: the buffer is live and has the length that is named.
        checked(unsafe {
            mach2::vm::mach_vm_read_overwrite(
                task.0,
                addr,
                buffer.len() as u64,
                buffer.as_mut_ptr() as u64,
                &raw mut read,
            )
        })?;
        match read == buffer.len() as u64 {
            true => Ok(()),
            false => Err(KernReturn::INVALID_ADDRESS),
        }
    }

    fn mach_vm_write(&self, task: Port, addr: u64, bytes: &[u8]) -> Result<()> {
        let Ok(count) = u32::try_from(bytes.len()) else {
            return Err(KernReturn::INVALID_ARGUMENT);
        };
        // SAFETY: the kernel reads that many bytes of a live array.
        checked(unsafe { mach2::vm::mach_vm_write(task.0, addr, bytes.as_ptr() as usize, count) })
    }

    fn mach_vm_protect(&self, task: Port, addr: u64, len: u64, protection: i32) -> Result<()> {
        // SAFETY: integers only; `task` is the process under control.
        checked(unsafe { mach2::vm::mach_vm_protect(task.0, addr, len, 0, protection) })
    }

    fn mach_vm_region_recurse(&self, task: Port, addr: u64) -> Result<Region> {
        /// Maps within maps are entered: deeper than the system nests them.
        const MAX_DEPTH: u32 = 1024;
        let mut info = vm_region_submap_info_64::default();
        let mut count = vm_region_submap_info_64::count();
        let (mut start, mut len, mut depth) = (addr, 0, MAX_DEPTH);
        // SAFETY: live variables, and a live structure of as many words as `count` says.
        checked(unsafe {
            mach2::vm::mach_vm_region_recurse(
                task.0,
                &raw mut start,
                &raw mut len,
                &raw mut depth,
                (&raw mut info).cast(),
                &raw mut count,
            )
        })?;
        Ok(Region {
            start,
            len,
            protection: info.protection,
            max_protection: info.max_protection,
            is_shared: matches!(
                info.share_mode,
                SM_SHARED | SM_TRUESHARED | SM_SHARED_ALIASED
            ),
            offset: info.offset,
            user_tag: info.user_tag,
        })
    }

    fn mach_vm_allocate(&self, task: Port, addr: u64, len: u64) -> Result<()> {
        let mut at = addr;
        let fixed = mach2::vm_statistics::VM_FLAGS_FIXED;
        // SAFETY: a live variable; `task` is the process under control, and memory that it has is
        // not replaced.
        checked(unsafe { mach2::vm::mach_vm_allocate(task.0, &raw mut at, len, fixed) })
    }

    fn mach_vm_deallocate(&self, task: Port, addr: u64, len: u64) -> Result<()> {
        // SAFETY: integers only; `task` is the process under control.
        checked(unsafe { mach2::vm::mach_vm_deallocate(task.0, addr, len) })
    }

    fn posix_spawn(
        &self,
        launch: &Launch,
        stdio: [Option<OwnedFd>; 3],
    ) -> std::result::Result<i32, String> {
        spawn::spawn(launch, &stdio)
    }

    fn ptrace(&self, request: Ptrace, pid: i32) -> io::Result<()> {
        // PT_DETACH continues the process where it is if the address is 1.
        let (request, address, data) = match request {
            Ptrace::AttachExc => (libc::PT_ATTACHEXC, 0, 0),
            Ptrace::ThUpdate(thread, signal) => (libc::PT_THUPDATE, thread.0 as usize, signal),
            Ptrace::Detach => (libc::PT_DETACH, 1, 0),
            Ptrace::Kill => (libc::PT_KILL, 0, 0),
        };
        // SAFETY: none of these requests accesses memory of this process.
        match unsafe { libc::ptrace(request, pid, address as *mut libc::c_char, data) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    fn kill(&self, pid: i32, signal: i32) {
        // SAFETY: integers only.
        unsafe { libc::kill(pid, signal) };
    }

    fn waitpid(&self, pid: i32) -> Option<Ended> {
        processes::ended(pid)
    }

    fn proc_listallpids(&self) -> Vec<i32> {
        processes::all()
    }

    fn proc_pidpath(&self, pid: i32) -> Option<PathBuf> {
        processes::path(pid)
    }

    fn proc_regionfilename(&self, pid: i32, addr: u64) -> Option<PathBuf> {
        processes::file_at(pid, addr)
    }

    fn process_info(&self, pid: i32) -> Option<ProcessInfo> {
        processes::info(pid)
    }

    fn sysctlbyname(&self, name: &str) -> Option<u64> {
        processes::system_number(name)
    }
}

/// Returns a structure of `thread_info`. `T` must be the one of that flavor, of integers only.
fn thread_info<T: Copy>(thread: Port, flavor: u32) -> Result<T> {
    let mut info = MaybeUninit::<T>::zeroed();
    let mut count = (size_of::<T>() / 4) as u32;
    // SAFETY: the structure is live and has as many words as `count` says. All zeros are valid for
    // it, as is what the kernel writes.
    unsafe {
        let out = info.as_mut_ptr().cast();
        checked(declared::thread_info(thread.0, flavor, out, &raw mut count))?;
        Ok(info.assume_init())
    }
}
