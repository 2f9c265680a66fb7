//! Descriptors of a forked helper process: all but a few are closed, so that the helper does not
//! keep our pipes and sockets open.

use std::os::fd::RawFd;

/// Closes all descriptors but these; negative ones are ignored.
///
/// # Safety
/// Must be called only in a forked child that uses no other descriptor afterwards.
pub unsafe fn close_all_but<const COUNT: usize>(mut kept: [RawFd; COUNT]) {
    kept.sort_unstable();
    let mut from = 0;
    for descriptor in kept {
        if let Ok(descriptor) = u32::try_from(descriptor) {
            if descriptor > from {
                // SAFETY: integers only; the caller uses none of these descriptors any more.
                unsafe { libc::syscall(libc::SYS_close_range, from, descriptor - 1, 0) };
            }
            from = from.max(descriptor + 1);
        }
    }
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_close_range, from, u32::MAX, 0) };
}
