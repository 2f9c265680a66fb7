//! proc(5): facts about processes and threads.

use super::super::{MappedFile, Mapping};
use super::procmap;
use dwarf::LoadAddr;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Reads `/proc/PID/maps`; empty if the process is gone.
pub fn mappings(pid: i32) -> Vec<Mapping> {
    let read = |pid: i32| fs::read(format!("/proc/{pid}/maps")).unwrap_or_default();
    let mut text = read(pid);
    if text.is_empty() {
        text = read(thread_with_memory(pid));
    }
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
        readable: flags.first() == Some(&b'r'),
        writable: flags.get(1) == Some(&b'w'),
        executable: flags.get(2) == Some(&b'x'),
        shared: flags.get(3) == Some(&b's'),
        path: PathBuf::from(OsString::from_vec(path.to_vec())),
        offset: u64::from_str_radix(offset, 16).ok()?,
    })
}

/// Returns a value of `/proc/PID/auxv`.
pub fn auxiliary(pid: i32, key: u64) -> Option<u64> {
    let mut bytes = Vec::new();
    fs::File::open(format!("/proc/{}/auxv", thread_with_memory(pid)))
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

/// Reads `/proc/PID/exe`.
pub fn executable(pid: i32) -> Option<MappedFile> {
    let link = PathBuf::from(format!("/proc/{}/exe", thread_with_memory(pid)));
    let name = fs::read_link(&link).ok()?;
    Some(mapped_file_of(name, link))
}

/// Returns the file mapped at an address. `/proc/PID/map_files` can be opened only with
/// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
pub fn mapped_file(pid: i32, addr: LoadAddr) -> Option<MappedFile> {
    let (range, path) = match mapping_at(pid, addr)? {
        At::Named(path) => {
            return Some(MappedFile {
                path,
                replaced: None,
            });
        }
        At::Other(range, path) => (range, path),
    };
    let link = PathBuf::from(format!(
        "/proc/{pid}/map_files/{:x}-{:x}",
        range.start, range.end
    ));
    let file = path.is_absolute().then(|| mapped_file_of(path, link))?;
    if file.replaced.is_some() || file.path.exists() {
        return Some(file);
    }
    // The process may be in another mount namespace.
    let mut inside = PathBuf::from(format!("/proc/{pid}/root"));
    inside.extend(file.path.strip_prefix("/").ok());
    let replaced = inside.exists().then_some(inside);
    Some(MappedFile { replaced, ..file })
}

/// The file mapped at an address.
enum At {
    /// The mapping's name still refers to the mapped file.
    Named(PathBuf),
    /// The range of the mapping, and its name, which may refer to another file by now.
    Other(Range<u64>, PathBuf),
}

fn mapping_at(pid: i32, addr: LoadAddr) -> Option<At> {
    // Reading all mappings is slow if there are thousands.
    if let Ok(maps) = fs::File::open(format!("/proc/{pid}/maps"))
        && let Some(found) = procmap::query(&maps, addr.0)
    {
        // On some filesystems `stat` returns other numbers: then the slow path decides.
        let is_it = |named: fs::Metadata| {
            let device = [libc::major(named.dev()), libc::minor(named.dev())];
            (device, named.ino()) == found.file
        };
        let is_named = found.path.is_absolute() && fs::metadata(&found.path).is_ok_and(is_it);
        return Some(match is_named {
            true => At::Named(found.path),
            false => At::Other(found.range, found.path),
        });
    }
    let mut mappings = mappings(pid).into_iter();
    let mapping = mappings.find(|it| it.start <= addr && addr < it.end)?;
    Some(At::Other(mapping.start.0..mapping.end.0, mapping.path))
}

/// Returns the file behind a link in `/proc`, which works even if the file was deleted or renamed.
fn mapped_file_of(name: PathBuf, link: PathBuf) -> MappedFile {
    const DELETED: &[u8] = b" (deleted)";
    let kept = name.as_os_str().as_bytes().strip_suffix(DELETED);
    let deleted = kept.is_some() && !name.exists();
    let path = match kept {
        Some(kept) if deleted => PathBuf::from(OsString::from_vec(kept.to_vec())),
        _ => name,
    };
    let same = match (fs::metadata(&path), fs::metadata(&link)) {
        (Ok(named), Ok(mapped)) => (named.dev(), named.ino()) == (mapped.dev(), mapped.ino()),
        (Err(_), Ok(_)) => false,
        (_, Err(_)) => !deleted,
    };
    MappedFile {
        path,
        replaced: (!same).then_some(link),
    }
}

/// Reads `/proc/PID/task/TID/comm`.
pub fn thread_name(pid: i32, tid: i32) -> String {
    fs::read(format!("/proc/{pid}/task/{tid}/comm"))
        .map(|name| String::from_utf8_lossy(name.trim_ascii_end()).into_owned())
        .unwrap_or_default()
}

/// Returns what a descriptor of a process is linked to.
pub fn open_file(pid: i32, descriptor: i32) -> Option<String> {
    let thread = thread_with_memory(pid);
    let target = fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    Some(target.to_string_lossy().into_owned())
}

/// Returns all processes.
pub fn processes() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the program of a process if `name` matches it: a path (with a slash), the base name of
/// the program's file, or the process name (which is that of a script). `None` if it does not
/// match, or the process has ended.
pub fn program_named(pid: i32, name: &str) -> Option<PathBuf> {
    /// Maximum length of a process name in bytes (TASK_COMM_LEN without its NUL).
    const MAX_COMM_BYTES: usize = 15;
    let program = executable(pid).map(|file| file.path);
    if name.contains('/') {
        let wanted = fs::canonicalize(name).ok();
        return program.filter(|program| Some(program) == wanted.as_ref());
    }
    if let Some(program) = &program
        && program.file_name() == Some(OsStr::new(name))
    {
        return Some(program.clone());
    }
    let called = thread_name(pid, pid);
    let cut = name
        .as_bytes()
        .get(..MAX_COMM_BYTES)
        .unwrap_or(name.as_bytes());
    let fits = called.as_bytes() == cut && !called.is_empty();
    (fits && !is_zombie(pid)).then(|| program.unwrap_or_else(|| PathBuf::from(called)))
}

/// Returns the line of `/proc/PID/syscall` of a thread; `None` if it is gone.
pub fn system_call(tid: i32) -> Option<String> {
    fs::read_to_string(format!("/proc/{tid}/syscall")).ok()
}

/// Returns whether a process is the first one of its pid namespace.
#[allow(dead_code, reason = "only some machines record")]
pub fn is_namespace_init(pid: i32) -> bool {
    let ids = status(pid, "NSpid").unwrap_or_default();
    ids.split_whitespace().next_back() == Some("1")
}

/// Returns whether a process has ended but has not been reaped.
pub fn is_zombie(pid: i32) -> bool {
    status(pid, "State").is_some_and(|state| state.starts_with(['Z', 'X']))
}

/// Returns a thread of a process by which the kernel shows its memory and its files: it shows none by the first one
/// once that has ended.
pub fn thread_with_memory(pid: i32) -> i32 {
    match is_zombie(pid) {
        true => threads(pid)
            .into_iter()
            .find(|it| !is_zombie(*it))
            .unwrap_or(pid),
        false => pid,
    }
}

/// Returns all threads of a process; empty if it is gone.
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

/// Returns the text of `/proc/PID/status`.
///
/// # Errors
/// The process has ended, or no file descriptors are left.
pub fn read_status(pid: i32) -> io::Result<String> {
    fs::read_to_string(format!("/proc/{pid}/status"))
}

/// Returns a field of `/proc/PID/status`: the text after its colon.
pub fn status(pid: i32, field: &str) -> Option<String> {
    field_in(&read_status(pid).ok()?, field).map(str::to_owned)
}

fn field_in<'text>(status: &'text str, field: &str) -> Option<&'text str> {
    status.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == field).then(|| value.trim())
    })
}

/// Returns a field of `/proc/meminfo`, in bytes.
pub fn meminfo(field: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kilobytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the first number in a field of `/proc/PID/status`.
pub fn status_number(pid: i32, field: &str) -> Option<i32> {
    number_in(&read_status(pid).ok()?, field)
}

/// Returns the first number in a field of the text of `/proc/PID/status`.
pub fn number_in(status: &str, field: &str) -> Option<i32> {
    field_in(status, field)?
        .split_ascii_whitespace()
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_mappings_contain_own_code() {
        let here = own_mappings_contain_own_code as fn() as usize as u64;
        let maps = mappings(std::process::id() as i32);
        let ours = maps
            .iter()
            .find(|map| map.start.0 <= here && here < map.end.0)
            .expect("our own code is mapped");
        assert!(ours.executable);
        let file = MappedFile {
            path: ours.path.clone(),
            replaced: None,
        };
        let pid = std::process::id() as i32;
        assert_eq!(executable(pid), Some(file.clone()));
        assert_eq!(mapped_file(pid, LoadAddr(here)), Some(file));
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
