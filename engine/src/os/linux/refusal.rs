//! Explains why the kernel refuses to trace: ptrace(2) mostly returns only EPERM.

use super::procfs;
use std::io;

/// Returns why a process cannot be attached to, and the remedy.
pub fn of_process(pid: i32, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::ESRCH) => return "no such process".into(),
        Some(libc::EPERM) => {}
        _ => return error.to_string(),
    }
    if procfs::is_zombie(pid) {
        return ended(pid);
    }
    if let Some(tracer) = procfs::status_number(pid, "TracerPid").filter(|tracer| *tracer != 0) {
        let name = procfs::thread_name(tracer, tracer);
        return format!("already traced by process {tracer} ({name}); detach it first");
    }
    let (ours, theirs) = (
        procfs::status_number(std::process::id() as i32, "Uid"),
        procfs::status_number(pid, "Uid"),
    );
    if ours != theirs && ours != Some(0) {
        return format!(
            "owned by user {}, debugger runs as user {}; run it as that user or as root",
            theirs.unwrap_or(-1),
            ours.unwrap_or(-1)
        );
    }
    if is_ptrace_blocked() {
        return BY_SANDBOX.into();
    }
    match yama() {
        Some(scope) if scope > 0 => format!(
            "ptrace is restricted (kernel.yama.ptrace_scope = {scope}); run `sysctl \
             kernel.yama.ptrace_scope=0` as root, or launch the program from the debugger"
        ),
        _ => "ptrace is denied (a kernel thread, a process that changed its user, another \
              container, or CAP_SYS_PTRACE is missing); try as root"
            .into(),
    }
}

/// Returns why a launched program cannot be traced, and the remedy.
pub fn of_launch(error: &io::Error) -> String {
    match yama() {
        _ if is_ptrace_blocked() => format!("ptrace is denied: {BY_SANDBOX}"),
        Some(scope) if scope > 1 => format!(
            "ptrace is denied (kernel.yama.ptrace_scope = {scope}); run `sysctl \
             kernel.yama.ptrace_scope=1` as root (3 stays until a reboot)"
        ),
        _ => format!(
            "ptrace is denied ({error}); in a container, allow CAP_SYS_PTRACE (`docker run \
             --cap-add=SYS_PTRACE`)"
        ),
    }
}

/// Returns what the debugger may do on this system; an error if it may do nothing.
pub fn rights() -> Result<String, String> {
    if is_ptrace_blocked() {
        return Err(format!("ptrace is denied: {BY_SANDBOX}"));
    }
    described(yama())
}

/// Describes what a setting of Yama allows; `None`: there is none.
fn described(scope: Option<i32>) -> Result<String, String> {
    match scope {
        Some(1) => Ok(
            "Programs can be launched. To attach to others, run `sysctl \
                       kernel.yama.ptrace_scope=0` as root.\n"
                .into(),
        ),
        Some(scope) if scope > 1 => Err(format!(
            "ptrace is restricted (kernel.yama.ptrace_scope = {scope}); run `sysctl \
             kernel.yama.ptrace_scope=1` as root (3 stays until a reboot)"
        )),
        _ => Ok("Nothing to set up: programs can be launched and attached to.\n".into()),
    }
}

const BY_SANDBOX: &str = "a seccomp filter of the debugger's sandbox forbids ptrace; in a \
                          container, allow it (`docker run --cap-add=SYS_PTRACE`, or \
                          `--security-opt seccomp=unconfined`)";

/// Returns whether a seccomp filter blocks ptrace: without one this request fails with ESRCH.
fn is_ptrace_blocked() -> bool {
    let filtered = procfs::status_number(std::process::id() as i32, "Seccomp") == Some(2);
    // SAFETY: no process has number 0; the request touches no memory.
    let result = unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, 0, 0, 0) };
    let error = io::Error::last_os_error().raw_os_error();
    filtered && result == -1 && error != Some(libc::ESRCH)
}

fn yama() -> Option<i32> {
    let scope = std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?;
    scope.trim().parse().ok()
}

/// Describes a zombie process.
fn ended(pid: i32) -> String {
    if procfs::threads(pid).len() > 1 {
        return "its main thread has ended (pthread_exit) while others run; launch the program \
                from the debugger"
            .into();
    }
    let parent = procfs::status_number(pid, "PPid").unwrap_or(0);
    let name = procfs::thread_name(parent, parent);
    format!(
        "it has ended (a zombie: its parent, process {parent} ({name}), has not read its exit \
         status); attach to the parent, or launch the program from the debugger"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_is_described() {
        for free in [None, Some(0)] {
            assert!(described(free).unwrap().starts_with("Nothing"));
        }
        assert!(described(Some(1)).unwrap().contains("ptrace_scope=0"));
        for refused in [2, 3] {
            let error = described(Some(refused)).unwrap_err();
            assert!(error.contains("ptrace_scope=1"), "{error}");
        }
    }
}
