//! For tests: runs code in this process, and loads libraries into it.

use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Runs code that follows the C calling convention, takes no arguments and returns a number.
///
/// The caller is responsible for the code, which a test has just assembled: it may access memory of
/// this process only.
pub fn run(code: &[u8]) -> u64 {
    let mut page = memmap2::MmapMut::map_anon(code.len()).expect("a page");
    page[..code.len()].copy_from_slice(code);
    let page = page.make_exec().expect("an executable page");
    // SAFETY: the page holds a whole function of this signature, which preserves the callee-saved
    // registers, and it lives until the function has returned.
    unsafe {
        let function: extern "C" fn() -> u64 = std::mem::transmute(page.as_ptr());
        function()
    }
}

thread_local! {
    /// Number of traps on this thread, and the address of the last one.
    static TRAPS: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

extern "C" fn note_trap(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a context that is valid while the handler runs.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let trap = super::machine::pass_trap(context);
    TRAPS.set((TRAPS.get().0 + 1, trap));
}

/// Like [`run`], for code that depends on its address, up to `len` bytes. Traps in it do nothing;
/// returns their number, and the address of the last one.
pub fn run_at(len: usize, make: impl FnOnce(u64) -> Vec<u8>) -> (usize, u64) {
    let mut page = memmap2::MmapMut::map_anon(len).expect("pages");
    let code = make(page.as_ptr() as u64);
    page[..code.len()].copy_from_slice(&code);
    let page = page.make_exec().expect("executable pages");
    TRAPS.set((0, 0));
    // SAFETY: the handler touches a thread-local cell that needs no initialization; the code is
    // subject to the rules of `run`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(
            libc::sigaction(libc::SIGTRAP, &action, std::ptr::null_mut()),
            0
        );
        let function: extern "C" fn() -> u64 = std::mem::transmute(page.as_ptr());
        function();
    }
    TRAPS.get()
}

/// Loads a library into this process permanently; returns the address of a symbol in it.
pub fn load(library: &Path, symbol: &CStr) -> u64 {
    let path = CString::new(library.as_os_str().as_encoded_bytes()).expect("a path");
    // SAFETY: the path and the symbol's name are C strings; a test has just compiled the library,
    // whose initializers set only its own variables.
    let address: *mut c_void = unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null(), "{} does not load", library.display());
        libc::dlsym(handle, symbol.as_ptr())
    };
    assert!(!address.is_null(), "no symbol {symbol:?}");
    address as u64
}

/// Calls a function of a loaded library that takes and returns nothing.
pub fn call(function: u64) {
    // SAFETY: the address is that of such a function, as the test that compiled it guarantees.
    unsafe {
        let function: extern "C" fn() = std::mem::transmute(function as *const ());
        function();
    }
}

/// Maps memory that this process shares with itself. Returns the debugger's view, the address of
/// the program's view, and the mapping that keeps it alive.
pub fn shared(len: usize) -> (super::super::Shared, u64, memmap2::MmapRaw) {
    // Not every file system has shared mappings.
    let file = nix::sys::memfd::memfd_create(c"shared", nix::sys::memfd::MFdFlags::empty());
    let file = File::from(file.expect("a file"));
    file.set_len(len as u64).expect("its length");
    let map = memmap2::MmapOptions::new().len(len).map_raw(&file);
    let map = map.expect("a mapping");
    let pid = std::process::id() as i32;
    let shared = super::shared_file(pid, file.as_raw_fd(), len).expect("another mapping");
    (shared, map.as_mut_ptr() as u64, map)
}
