//! For tests: code that this process runs itself, and libraries that it loads.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;

/// Runs code that follows the C calling convention, takes nothing and returns a number.
///
/// What the code does is the caller's business: it is what a test has just assembled, and may
/// read memory of this process only.
pub fn run(code: &[u8]) -> u64 {
    let mut page = memmap2::MmapMut::map_anon(code.len()).expect("a page");
    page[..code.len()].copy_from_slice(code);
    let page = page.make_exec().expect("an executable page");
    // SAFETY: the page holds a whole function of this signature, which keeps all registers that
    // the convention wants kept, and it lives until the function has returned.
    unsafe {
        let function: extern "C" fn() -> u64 = std::mem::transmute(page.as_ptr());
        function()
    }
}

/// Loads a library into this process for good; gives the address of a symbol of it.
pub fn load(library: &Path, symbol: &CStr) -> u64 {
    let path = CString::new(library.as_os_str().as_encoded_bytes()).expect("a path");
    // SAFETY: the path and the symbol's name are C strings; the library is one that a test has
    // just compiled, whose initializers set nothing but its own variables.
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
    // SAFETY: the address is that of such a function, as the test that compiled it says.
    unsafe {
        let function: extern "C" fn() = std::mem::transmute(function as *const ());
        function();
    }
}
