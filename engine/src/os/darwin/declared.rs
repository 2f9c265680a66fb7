//! What Apple's headers declare and neither `libc` nor `mach2` does, in types of any host, so that a
//! test (`layout_tests`) compares it with the headers.

#![allow(non_camel_case_types)]

/// `THREAD_IDENTIFIER_INFO` (`mach/thread_info.h`).
pub const THREAD_IDENTIFIER_INFO: u32 = 4;
/// `THREAD_EXTENDED_INFO` (`mach/thread_info.h`).
pub const THREAD_EXTENDED_INFO: u32 = 5;
/// `THREAD_CONVERT_THREAD_STATE_TO_SELF` (`mach/thread_status.h`).
pub const THREAD_CONVERT_THREAD_STATE_TO_SELF: i32 = 1;
/// `THREAD_CONVERT_THREAD_STATE_FROM_SELF` (`mach/thread_status.h`).
pub const THREAD_CONVERT_THREAD_STATE_FROM_SELF: i32 = 2;
/// `POSIX_SPAWN_SETSID` (`sys/spawn.h`).
pub const POSIX_SPAWN_SETSID: i32 = 0x0400;
/// `_POSIX_SPAWN_DISABLE_ASLR`, which is in the kernel's version of `sys/spawn.h`.
pub const POSIX_SPAWN_DISABLE_ASLR: i32 = 0x0100;
/// `P_TRACED` (`sys/proc.h`), in [`kinfo_proc::p_flag`].
pub const P_TRACED: i32 = 0x800;
/// `P_TRANSLATED` (`sys/proc.h`), in [`kinfo_proc::p_flag`].
pub const P_TRANSLATED: i32 = 0x2_0000;
/// `SZOMB` (`sys/proc.h`), in [`kinfo_proc::p_stat`].
pub const SZOMB: i8 = 5;

/// `CS_OPS_STATUS` of `csops`, which no public header has, as with the flags that it returns
/// (`sys/codesign.h` and `kern/cs_blobs.h` of the kernel).
pub const CS_OPS_STATUS: u32 = 0;
/// The process has the entitlement `get-task-allow`.
pub const CS_GET_TASK_ALLOW: u32 = 0x4;
/// dyld treats the process as restricted.
pub const CS_RESTRICT: u32 = 0x800;
/// The hardened runtime.
pub const CS_RUNTIME: u32 = 0x1_0000;
/// A part of the system.
pub const CS_PLATFORM_BINARY: u32 = 0x400_0000;

/// `struct thread_identifier_info` (`mach/thread_info.h`).
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct thread_identifier_info {
    pub thread_id: u64,
    pub thread_handle: u64,
    pub dispatch_qaddr: u64,
}

/// `struct thread_extended_info` (`mach/thread_info.h`).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct thread_extended_info {
    pub pth_user_time: u64,
    pub pth_system_time: u64,
    pub pth_cpu_usage: i32,
    pub pth_policy: i32,
    pub pth_run_state: i32,
    pub pth_flags: i32,
    pub pth_sleep_time: i32,
    pub pth_curpri: i32,
    pub pth_priority: i32,
    pub pth_maxpriority: i32,
    pub pth_name: [u8; 64],
}

/// `struct kinfo_proc` (`sys/sysctl.h`), of which only these fields are named: `kp_proc.p_flag`,
/// `kp_proc.p_stat`, `kp_proc.p_pid`, `kp_proc.p_comm` and `kp_eproc.e_ppid`.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
pub struct kinfo_proc {
    before_flag: [u8; 32],
    pub p_flag: i32,
    pub p_stat: i8,
    before_pid: [u8; 3],
    pub p_pid: i32,
    before_comm: [u8; 199],
    pub p_comm: [u8; 17],
    before_ppid: [u8; 300],
    pub e_ppid: i32,
    rest: [u8; 84],
}

#[cfg(target_os = "macos")]
unsafe extern "C" {
    /// `mach/thread_act.h`
    pub fn thread_abort_safely(target_act: u32) -> i32;
    /// `mach/thread_act.h`
    pub fn thread_info(
        target_act: u32,
        flavor: u32,
        thread_info_out: *mut i32,
        thread_info_out_count: *mut u32,
    ) -> i32;
    /// `mach/thread_act.h`
    pub fn thread_convert_thread_state(
        thread: u32,
        direction: i32,
        flavor: i32,
        in_state: *mut u32,
        in_state_count: u32,
        out_state: *mut u32,
        out_state_count: *mut u32,
    ) -> i32;
    /// `mach/mach_traps.h`
    pub fn pid_for_task(task: u32, pid: *mut i32) -> i32;
    /// In libSystem; declared by no public header.
    pub fn csops(pid: i32, operations: u32, address: *mut core::ffi::c_void, size: usize) -> i32;
    /// `spawn.h`
    pub fn posix_spawn_file_actions_addinherit_np(
        file_actions: *mut libc::posix_spawn_file_actions_t,
        descriptor: i32,
    ) -> i32;
}
