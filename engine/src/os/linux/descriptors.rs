//! The descriptors of a helper process that was forked: all but a few are closed, for nothing that
//! waits for the end of our pipes and sockets may wait for the helper.

use std::os::fd::RawFd;

/// Closes all descriptors but these; negative ones are none.
///
/// # Safety
/// To be called in a forked child only, which uses no other descriptor afterwards.
pub unsafe fn close_all_but<const COUNT: usize>(mut kept: [RawFd; COUNT]) {
    kept.sort_unstable();
    let mut from = 0;
    for descriptor in kept {
        if let Ok(descriptor) = u32::try_from(descriptor) {
            if descriptor > from {
                // SAFETY: integers only; the caller sees to the rest.
                unsafe { libc::syscall(libc::SYS_close_range, from, descriptor - 1, 0) };
            }
            from = from.max(descriptor + 1);
        }
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
}
