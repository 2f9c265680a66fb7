//! Questions about processes.

use super::super::declared::{
    self, CS_GET_TASK_ALLOW, CS_OPS_STATUS, CS_PLATFORM_BINARY, CS_RESTRICT, CS_RUNTIME, P_TRACED,
    P_TRANSLATED, SZOMB, kinfo_proc,
};
use super::super::mach::{Ended, ProcessInfo};
use std::ffi::{CString, OsString};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Returns the text of an array that a NUL ends.
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// Returns how a child or a traced process has ended. Its stops, which exceptions replace, are
/// passed over.
pub fn ended(pid: i32) -> Option<Ended> {
    loop {
        let mut status = 0;
        // SAFETY: the number is live.
        let found = unsafe { libc::waitpid(pid, &raw mut status, libc::WNOHANG) };
        if found == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) {
            continue;
        }
        if found != pid {
            return None;
        }
        if libc::WIFEXITED(status) {
            return Some(Ended::Exited(libc::WEXITSTATUS(status)));
        }
        if libc::WIFSIGNALED(status) {
            return Some(Ended::Signaled(libc::WTERMSIG(status)));
        }
    }
}

/// Returns all processes.
pub fn all() -> Vec<i32> {
    /// Processes that may start between two calls.
    const ROOM: usize = 64;
    // SAFETY: without a buffer the number of processes is returned.
    let count = unsafe { libc::proc_listallpids(std::ptr::null_mut(), 0) };
    let mut pids = vec![0; usize::try_from(count).unwrap_or(0) + ROOM];
    // SAFETY: the array is live and has that size.
    let count = unsafe {
        let bytes = i32::try_from(size_of_val(pids.as_slice())).unwrap_or(0);
        libc::proc_listallpids(pids.as_mut_ptr().cast(), bytes)
    };
    pids.truncate(usize::try_from(count).unwrap_or(0));
    pids.retain(|pid| *pid > 0);
    pids
}

/// Returns what a call of libproc writes into a buffer for a path.
fn path_by(call: impl FnOnce(*mut libc::c_void, u32) -> i32) -> Option<PathBuf> {
    let mut buffer = vec![0_u8; libc::PROC_PIDPATHINFO_MAXSIZE as usize];
    let written = call(buffer.as_mut_ptr().cast(), buffer.len() as u32);
    let written = usize::try_from(written).ok().filter(|count| *count > 0)?;
    buffer.truncate(written);
    Some(OsString::from_vec(buffer).into())
}

/// Returns the file of the program.
pub fn path(pid: i32) -> Option<PathBuf> {
    // SAFETY: the buffer is live and has that size.
    path_by(|buffer, size| unsafe { libc::proc_pidpath(pid, buffer, size) })
}

/// Returns the file that is mapped at an address.
pub fn file_at(pid: i32, addr: u64) -> Option<PathBuf> {
    // SAFETY: the buffer is live and has that size.
    path_by(|buffer, size| unsafe { libc::proc_regionfilename(pid, addr, buffer, size) })
}

/// Returns what the kernel's table says of a process; also of one that another user owns, and of one
/// that has ended.
fn table_entry(pid: i32) -> Option<kinfo_proc> {
    let mut name = [libc::CTL_KERN, libc::KERN_PROC, libc::KERN_PROC_PID, pid];
    let mut entry = MaybeUninit::<kinfo_proc>::zeroed();
    let mut size = size_of::<kinfo_proc>();
    // SAFETY: the name and the structure are live and have these sizes. All zeros are valid for the
    // structure, as is what the kernel writes.
    unsafe {
        let out = entry.as_mut_ptr().cast();
        let none = std::ptr::null_mut();
        let result = libc::sysctl(name.as_mut_ptr(), 4, out, &raw mut size, none, 0);
        let is_written = result == 0 && size == size_of::<kinfo_proc>();
        is_written.then(|| entry.assume_init())
    }
}

/// Returns the longer name that libproc knows, of up to 32 bytes.
fn long_name(pid: i32) -> Option<String> {
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    let size = size_of::<libc::proc_bsdinfo>() as i32;
    // SAFETY: the structure is live and has that size. All zeros are valid for it, as is what the
    // kernel writes.
    let info = unsafe {
        let out = info.as_mut_ptr().cast();
        let written = libc::proc_pidinfo(pid, libc::PROC_PIDTBSDINFO, 0, out, size);
        (written == size).then(|| info.assume_init())?
    };
    let name = text(&info.pbi_name.map(libc::c_char::cast_unsigned));
    Some(name).filter(|name| !name.is_empty())
}

/// Returns what is known of a process.
pub fn info(pid: i32) -> Option<ProcessInfo> {
    let entry = table_entry(pid)?;
    let mut signature = 0_u32;
    // SAFETY: the number is live and has that size. An error leaves it 0: a process without a
    // signature has no flags.
    unsafe {
        let out = (&raw mut signature).cast();
        declared::csops(pid, CS_OPS_STATUS, out, size_of::<u32>());
    }
    Some(ProcessInfo {
        parent: entry.e_ppid,
        name: long_name(pid).unwrap_or_else(|| text(&entry.p_comm)),
        is_traced: entry.p_flag & P_TRACED != 0,
        is_translated: entry.p_flag & P_TRANSLATED != 0,
        allows_task_port: signature & CS_GET_TASK_ALLOW != 0,
        is_protected: signature & (CS_RUNTIME | CS_PLATFORM_BINARY | CS_RESTRICT) != 0,
        is_zombie: entry.p_stat == SZOMB,
    })
}

/// Returns a number of the system by its name.
pub fn system_number(name: &str) -> Option<u64> {
    let name = CString::new(name).ok()?;
    let mut bytes = [0; 8];
    let mut size = bytes.len();
    // SAFETY: the name is a string, and the number is live and has that size.
    let result = unsafe {
        let out = bytes.as_mut_ptr().cast();
        libc::sysctlbyname(name.as_ptr(), out, &raw mut size, std::ptr::null_mut(), 0)
    };
    // Most numbers have 4 bytes; both machines store the lowest byte first.
    (result == 0 && matches!(size, 4 | 8)).then(|| u64::from_le_bytes(bytes))
}
