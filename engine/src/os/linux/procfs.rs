//! proc(5): what it says of processes and threads.

use super::super::Mapping;
use dwarf::LoadAddr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// `/proc/PID/maps`; empty if the process is gone.
pub fn mappings(pid: i32) -> Vec<Mapping> {
    let Ok(text) = fs::read(format!("/proc/{pid}/maps")) else {
        return Vec::new();
    };
    text.split(|byte| *byte == b'\n')
        .filter_map(parse_mapping)
        .collect()
}

fn parse_mapping(line: &[u8]) -> Option<Mapping> {
    // 55d0-55d1 r-xp 00001000 fd:00 1234      /path with blanks
    let mut fields = line.splitn(6, |byte| *byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let flags = fields.next()?;
    let offset = std::str::from_utf8(fields.next()?).ok()?;
    let path = fields.nth(2).unwrap_or_default();
    let path = path.trim_ascii_start();
    Some(Mapping {
        start: LoadAddr(u64::from_str_radix(start, 16).ok()?),
        end: LoadAddr(u64::from_str_radix(end, 16).ok()?),
        executable: flags.get(2) == Some(&b'x'),
        path: PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())),
        offset: u64::from_str_radix(offset, 16).ok()?,
    })
}

/// A value of `/proc/PID/auxv`.
pub fn auxiliary(pid: i32, key: u64) -> Option<u64> {
    let mut bytes = Vec::new();
    fs::File::open(format!("/proc/{pid}/auxv"))
        .ok()?
        .take(1 << 16)
        .read_to_end(&mut bytes)
        .ok()?;
    bytes.chunks_exact(16).find_map(|pair| {
        let (name, value) = pair.split_at(8);
        (u64::from_le_bytes(name.try_into().ok()?) == key)
            .then(|| value.try_into().ok().map(u64::from_le_bytes))?
    })
}

/// `/proc/PID/exe`.
pub fn executable(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// `/proc/PID/task/TID/comm`.
pub fn thread_name(pid: i32, tid: i32) -> String {
    fs::read(format!("/proc/{pid}/task/{tid}/comm"))
        .map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
        .unwrap_or_default()
}

/// All threads of a process; empty if it is gone.
pub fn threads(pid: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut threads: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable_by_key(|tid| (*tid != pid, *tid));
    threads
}

/// A field of `/proc/PID/status` as the text behind its colon.
pub fn status(pid: i32, field: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == field).then(|| value.trim().to_owned())
    })
}

/// A numeric field of `/proc/PID/status` (the first number of it).
pub fn status_number(pid: i32, field: &str) -> Option<i32> {
    status(pid, field)?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_ourselves_hold_our_code() {
        let here = mappings_of_ourselves_hold_our_code as fn() as usize as u64;
        let maps = mappings(std::process::id() as i32);
        let ours = maps
            .iter()
            .find(|map| map.start.0 <= here && here < map.end.0)
            .expect("our own code is mapped");
        assert!(ours.executable);
        assert_eq!(
            executable(std::process::id() as i32).as_ref(),
            Some(&ours.path)
        );
    }

    #[test]
    fn paths_may_have_blanks() {
        let line = b"7f00-7f10 r-xp 00002000 fd:00 42                 /tmp/a b (deleted)";
        let mapping = parse_mapping(line).unwrap();
        assert_eq!(mapping.path, PathBuf::from("/tmp/a b (deleted)"));
        assert_eq!(mapping.offset, 0x2000);
    }

    #[test]
    fn auxiliary_vector_has_our_entry_point() {
        assert_ne!(
            auxiliary(std::process::id() as i32, libc::AT_ENTRY).unwrap(),
            0
        );
    }
}
