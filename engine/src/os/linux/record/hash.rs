//! A hash of the state of a program: its writable memory and the floating-point registers.

use super::super::{procfs, ptrace};
use super::buffer;
use super::file::{PAGE, is_zero};
use super::tracee::Tracee;
use std::fs::File;
use std::hash::Hasher;
use std::os::unix::fs::FileExt;

/// Pages read at once.
const PORTION: usize = 256;
pub const NT_PRFPREG: i32 = 2;
/// Size of the part of that set that has registers.
pub const FLOATS: usize = 416;

/// Bytes below the stack pointer that functions use without moving it (the red zone of the ABI).
pub const RED_ZONE: u64 = 128;

/// Returns the hash of what the program can rely on: not of the stack below the stack pointer. Code that saves vector
/// registers there, as a dynamic loader may by XSAVEC, leaves those out that the processor believes
/// to be unused (XINUSE), and that is not the same in each run. Equal memory has equal hashes, whatever
/// the borders of its mappings are: a copy of a process may have other ones. Cost: about 1 ms for
/// each MB that is written to.
///
/// `others`: the stack pointers of the other threads.
pub fn of(tracee: &Tracee, others: &[u64]) -> u64 {
    let mut sum = 0_u64;
    let pages = File::open(format!("/proc/{}/pagemap", tracee.pid)).ok();
    let mut buffer = vec![0; PAGE * PORTION];
    let mut entries = vec![0; 8 * PORTION];
    let mut pointers = others.to_vec();
    pointers.extend(tracee.registers().map(|registers| registers.sp()));
    for mapping in procfs::mappings(tracee.pid) {
        if !mapping.writable || mapping.shared || buffer::is_own(mapping.start.0) {
            continue;
        }
        let is_anonymous = !mapping
            .path
            .as_os_str()
            .as_encoded_bytes()
            .starts_with(b"/");
        let range = mapping.start.0..mapping.end.0;
        let inside = pointers.iter().filter(|sp| range.contains(*sp)).min();
        let begin = inside.map_or(0, |sp| sp.saturating_sub(RED_ZONE));
        let mut at = mapping.start.0.max(begin & !(PAGE as u64 - 1));
        while at < mapping.end.0 {
            let count = PORTION.min(((mapping.end.0 - at) as usize).div_ceil(PAGE));
            let used = pages.as_ref().filter(|_| is_anonymous).is_none_or(|pages| {
                let entries = &mut entries[..8 * count];
                let read = pages.read_exact_at(entries, at / PAGE as u64 * 8);
                // Present or swapped: others have never been written to.
                read.is_err() || entries.chunks(8).any(|entry| entry[7] & 0xc0 != 0)
            });
            if used {
                let read = tracee.read_into(at, &mut buffer[..PAGE * count]);
                let unused = begin.saturating_sub(at).min(read as u64) as usize;
                buffer[..unused].fill(0);
                for (nth, page) in buffer[..read].chunks(PAGE).enumerate() {
                    sum = sum.wrapping_add(of_page(at + (nth * PAGE) as u64, page));
                }
            }
            at += (PAGE * count) as u64;
        }
    }
    let mut floats = [0; 512];
    if ptrace::read_register_bytes(tracee.thread(), NT_PRFPREG, &mut floats).is_some() {
        sum = sum.wrapping_add(of_bytes(0, &floats[..FLOATS]));
    }
    sum
}

/// Returns the hash of a page; 0 if it contains only zeros, as pages do that have not been used.
fn of_page(addr: u64, page: &[u8]) -> u64 {
    match is_zero(page) {
        true => 0,
        false => of_bytes(addr, page),
    }
}

fn of_bytes(addr: u64, bytes: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write_u64(addr);
    hasher.write(bytes);
    hasher.finish()
}
