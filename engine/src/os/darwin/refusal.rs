//! Explains why the system refuses control of a process: the calls only fail.

use super::mach::{KernReturn, Mach};
use std::io;

/// What `codesign` needs to make the debugger one.
const SIGN: &str = "run `stillpoint setup`, which signs it with \
                    `com.apple.security.cs.debugger`";

/// Returns why the task of a process is not to be had, and the remedy.
pub fn of_process(mach: &impl Mach, pid: i32, error: KernReturn) -> String {
    let Some(process) = mach.process_info(pid) else {
        return "no such process".into();
    };
    if process.is_zombie {
        return "the process has ended, and its parent has not collected it".into();
    }
    if process.is_traced {
        return "another debugger has attached to it; detach that first".into();
    }
    if process.is_translated {
        return "its x86-64 code is translated by Rosetta, and its exceptions do not reach a \
                debugger; build it for arm64"
            .into();
    }
    if process.is_protected && !process.allows_task_port {
        return "it is a part of the system, or was signed with the hardened runtime and without \
                `com.apple.security.get-task-allow`; sign a copy ad hoc with that entitlement \
                (`codesign -s - -f --entitlements FILE PROGRAM`)"
            .into();
    }
    if error != KernReturn::FAILURE {
        return error.to_string();
    }
    match mach.sysctlbyname("security.mac.amfi.developer_mode_status") {
        Some(0) => {
            "developer mode is off; turn it on in System Settings, Privacy & Security".into()
        }
        _ => format!(
            "the system does not let this debugger control it: the debugger is not signed for \
             that ({SIGN}), or the user is not allowed to debug (`sudo DevToolsSecurity -enable`)"
        ),
    }
}

/// Returns why a process whose task is known is not traced, and the remedy.
pub fn of_tracing(mach: &impl Mach, pid: i32, error: &io::Error) -> String {
    match mach.process_info(pid) {
        Some(process) if process.is_traced => {
            "another debugger has attached to it; detach that first".into()
        }
        Some(_) => format!("ptrace(PT_ATTACHEXC) failed: {error}"),
        None => "no such process".into(),
    }
}
