//! Survives the truncation of a mapped file: maps zeros instead of dying of SIGBUS.

use nix::errno::Errno;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Page size in bytes, determined in advance: a signal handler may not call sysconf.
static PAGE: AtomicUsize = AtomicUsize::new(4096);

/// Installs the handler. A SIGBUS outside files that `dwarf` mapped still kills the process.
pub fn survive_truncated_files() {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all zeros is a valid `sigaction`, sigemptyset makes its mask valid, and the handler
    // has the signature that SA_SIGINFO requires. Rust's threads have an alternate signal stack.
    unsafe {
        if let Ok(page) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) {
            PAGE.store(page, Ordering::Relaxed);
        }
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
            on_bus_error;
        let action_ref = action.as_mut_ptr();
        (*action_ref).sa_sigaction = handler as usize;
        (*action_ref).sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigemptyset(&raw mut (*action_ref).sa_mask);
        libc::sigaction(libc::SIGBUS, action.as_ptr(), std::ptr::null_mut());
    }
}

extern "C" fn on_bus_error(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid record, which has the address for a SIGBUS that it raised.
    // For one that a process sent, the field is the sender's pid, a number below any mapping.
    let address = unsafe { (*info).si_addr() as usize };
    let errno = Errno::last_raw();
    if !replace_by_zeros(address) {
        // SAFETY: integers only. The instruction is executed again, and its fault kills the
        // process.
        unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
    }
    Errno::set_raw(errno);
}

/// Maps zeros from the page of `address` to the end of its mapped file. Returns false if no mapped
/// file is there.
fn replace_by_zeros(address: usize) -> bool {
    let Some(file) = dwarf::mapped_at(address) else {
        return false;
    };
    let page = address & !(PAGE.load(Ordering::Relaxed) - 1);
    // SAFETY: from `page` to the end of the mapping is memory that `dwarf` owns permanently and
    // only reads. A file that ends before this page ends before all of them, so no readable data is
    // lost. mmap is a bare system call.
    let zeros = unsafe {
        libc::mmap(
            page as *mut libc::c_void,
            file.addresses().end - page,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        )
    };
    if zeros == libc::MAP_FAILED {
        return false;
    }
    file.set_truncated();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::Module;
    use std::path::Path;
    use std::process::Command;

    /// Makes the lookups that a session would.
    fn ask_everything(module: &Module) -> usize {
        let mut found = 0;
        for source in module.find_sources(Path::new("a.c")) {
            found += module.line_locations(&source, 2).len();
        }
        for function in module.functions_named("sum") {
            found += function.scope.variables.len();
            found += usize::from(module.row_at(module.body_start(&function)).is_some());
        }
        for id in module.types_named("struct point", None) {
            found += usize::from(module.ty(id).is_ok());
        }
        found + module.symbols_named("sum").len()
    }

    #[test]
    fn truncated_file_is_an_error_not_a_crash() {
        survive_truncated_files();
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let text = "struct point { int x, y; };\nint sum(struct point *p) { return p->x + p->y; }\n\
                    int main(void) { struct point p = { 1, 2 }; return sum(&p); }\n";
        std::fs::write(at("a.c"), text).unwrap();
        let compiled = Command::new("gcc")
            .args(["-g", "a.c", "-o", "whole"])
            .current_dir(folder.path())
            .status();
        assert!(compiled.unwrap().success());
        let whole = Module::open(&at("whole")).unwrap();
        let all = ask_everything(&whole);
        assert_eq!(all, 5);
        let size = std::fs::metadata(at("whole")).unwrap().len();
        for left in (0..size).step_by(1024) {
            let path = at(&format!("cut to {left}"));
            std::fs::copy(at("whole"), &path).unwrap();
            let module = Module::open(&path).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_len(left).unwrap();
            let found = ask_everything(&module);
            // Section headers are at the file's end, and were read when it was opened.
            assert!(found < all || left > size / 2, "{left} of {size} bytes");
        }
        assert_eq!(ask_everything(&whole), all);
    }
}
