//! The memory of vfork(2). Its child uses the memory of the parent until it executes a program or exits,
//! and may leave something there: posix_spawn(3) the error of a program that cannot be executed. The
//! child of a recorded program has a copy instead, since the recorder would not see what it writes; if
//! it exits, what it has written is given back.

use super::super::procfs;
use super::buffer;
use super::log::Written;
use super::tracee::Tracee;
use std::io;

const PAGE: usize = 4096;
/// Bytes compared at once.
const PORTION: usize = 1 << 20;
/// The most pages that are given back.
const MOST: usize = 4096;

/// Writes the pages that a child has changed to its parent. Returns them. Cost: that of reading all
/// writable memory twice.
///
/// # Errors
/// One of the processes has ended, or more than 16 MiB have changed.
pub fn give_back(child: &Tracee, parent: &Tracee) -> io::Result<Vec<Written>> {
    let mut changed = Vec::new();
    let (mut new, mut old) = (vec![0; PORTION], vec![0; PORTION]);
    for mapping in procfs::mappings(child.pid) {
        if !mapping.writable || mapping.shared || buffer::is_own(mapping.start.0) {
            continue;
        }
        let mut at = mapping.start.0;
        while at < mapping.end.0 {
            let len = PORTION.min((mapping.end.0 - at) as usize);
            let read = child.read_into(at, &mut new[..len]);
            let read = parent.read_into(at, &mut old[..read]);
            if new[..read] != old[..read] {
                let pages = new[..read].chunks(PAGE).zip(old[..read].chunks(PAGE));
                for (nth, (new, old)) in pages.enumerate() {
                    if new != old {
                        let at = at + (nth * PAGE) as u64;
                        parent.write(at, new)?;
                        changed.push((at, new.into()));
                    }
                }
            }
            if changed.len() > MOST {
                return Err(io::Error::other(
                    "a child of vfork has changed too much memory",
                ));
            }
            at += len as u64;
        }
    }
    Ok(changed)
}
