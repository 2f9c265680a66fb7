//! One mapping of a process, without reading all of them (PROCMAP_QUERY, Linux 6.11).

use std::ffi::OsString;
use std::fs::File;
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// `struct procmap_query` of linux/fs.h.
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags: u64,
    addr: u64,
    start: u64,
    end: u64,
    vma_flags: u64,
    page_size: u64,
    offset: u64,
    inode: u64,
    device: [u32; 2],
    name_size: u32,
    build_id_size: u32,
    name: u64,
    build_id: u64,
}

/// `_IOWR('f', 17, struct procmap_query)`.
const PROCMAP_QUERY: u64 = 3 << 30 | (size_of::<Query>() as u64) << 16 | (b'f' as u64) << 8 | 17;
const MAX_PATH: usize = 4096;

/// A mapping.
pub struct Found {
    /// Its addresses.
    pub range: Range<u64>,
    /// Its name.
    pub path: PathBuf,
    /// Device (major, minor) and inode of the mapped file.
    pub file: ([u32; 2], u64),
}

/// Returns the mapping that contains `addr`, as listed in the open `/proc/PID/maps`. `None`: nothing
/// is mapped there, or the kernel does not support the query.
pub fn query(maps: &File, addr: u64) -> Option<Found> {
    let mut name = vec![0_u8; MAX_PATH];
    let mut query = Query {
        size: size_of::<Query>() as u64,
        addr,
        name_size: MAX_PATH as u32,
        name: name.as_mut_ptr() as u64,
        ..Query::default()
    };
    // SAFETY: the request has the structure's size. The kernel writes to it and, at most the number
    // of bytes given there, to the name; both outlive the call.
    let result = unsafe { libc::ioctl(maps.as_raw_fd(), PROCMAP_QUERY as _, &raw mut query) };
    if result != 0 {
        return None;
    }
    // The size includes the NUL; 0 means no name.
    name.truncate((query.name_size as usize).saturating_sub(1));
    let path = PathBuf::from(OsString::from_vec(name));
    Some(Found {
        range: query.start..query.end,
        path,
        file: (query.device, query.inode),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_mapping_query_agrees_with_maps() {
        let maps = File::open("/proc/self/maps").unwrap();
        let here = single_mapping_query_agrees_with_maps as fn() as usize as u64;
        let Some(found) = query(&maps, here) else {
            // The kernel is older than 6.11.
            return;
        };
        assert!(found.range.contains(&here));
        assert_eq!(found.path, std::env::current_exe().unwrap());
        assert!(query(&maps, 0).is_none());
    }
}
