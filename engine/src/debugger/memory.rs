//! Memory by address, without our traps and jumps. It can be read and written while the program
//! runs.

use super::{Debugger, State};
use crate::arch::MAX_INSTRUCTION_BYTES;
use crate::ids::error::Error;
use crate::inferior::Inferior;
use crate::os::Mapping;
use dwarf::LoadAddr;
use std::path::Path;

/// How much of a write must succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// All of it; otherwise nothing is written.
    Whole,
    /// The part before the first byte that cannot be written.
    Partial,
}

impl Inferior {
    /// Continues a read in memory that the program itself may not read; guard pages are excluded.
    /// Returns the total number of bytes read.
    fn read_on(
        &self,
        addr: LoadAddr,
        bytes: &mut [u8],
        mut done: usize,
        mappings: &[Mapping],
    ) -> usize {
        while done < bytes.len() {
            let here = addr + done as u64;
            let Some(mapping) = mapping_at(here, mappings).filter(|it| !is_guard(it)) else {
                break;
            };
            let end = bytes.len().min(done + clamped(mapping.end - here));
            let read = self.os().read_memory(here, &mut bytes[done..end]);
            done += read;
            if done < end || read == 0 {
                break;
            }
        }
        done
    }

    /// Returns the number of bytes before the end of the address space or before our memory.
    fn room_at(&self, addr: LoadAddr) -> usize {
        let end_of_space = (u64::MAX - addr.0).saturating_add(1);
        clamped(end_of_space.min(self.pads.distance(addr)))
    }
}

impl Debugger {
    /// Reads `len` bytes, or as many as can be read.
    ///
    /// # Errors
    /// There is no process; [`Error::NoMemory`]: not even the first byte can be read.
    pub fn read_memory(&self, addr: LoadAddr, len: usize) -> Result<Vec<u8>, Error> {
        let pid = self.process_with_memory()?;
        let len = len.min(self.inferior.room_at(addr));
        let mut bytes = vec![0; len];
        let mut done = self.inferior.os().read_permitted(addr, &mut bytes);
        if done < len {
            let mappings = self.inferior.os().mappings(pid);
            done = self.inferior.read_on(addr, &mut bytes, done, &mappings);
            if done == 0 {
                return Err(self.no_memory("read", addr, &mappings));
            }
        }
        bytes.truncate(done);
        self.inferior.hide_patches(addr, &mut bytes);
        if bytes.is_empty() && self.inferior.pads.distance(addr) == 0 {
            return Err(self.no_memory("read", addr, &[]));
        }
        Ok(bytes)
    }

    /// Writes bytes, regardless of write protection. Breakpoints in the range stay, above the new
    /// bytes. Returns the number of bytes written.
    ///
    /// # Errors
    /// There is no process, or only its core file; [`Error::NoMemory`]: the first byte that cannot
    /// be written. Nothing is written then.
    pub fn write_memory(
        &mut self,
        addr: LoadAddr,
        bytes: &[u8],
        extent: Extent,
    ) -> Result<usize, Error> {
        let pid = self.process_with_memory()?;
        self.can_change("memory is read-only")?;
        if bytes.is_empty() {
            return Ok(0);
        }
        self.prepare_change()?;
        let mappings = self.inferior.os().mappings(pid);
        let room = bytes.len().min(self.inferior.room_at(addr));
        let len = writable(addr, room, &mappings);
        if len == 0 || (extent == Extent::Whole && len < bytes.len()) {
            return Err(self.no_memory("write", addr + len as u64, &mappings));
        }
        let before = self.read_memory(addr, len);
        let written = self.inferior.write_memory(addr, &bytes[..len]);
        let missing = written == 0 || (extent == Extent::Whole && written < bytes.len());
        if missing && let Ok(before) = before {
            let before = before.get(..written).unwrap_or_default();
            self.inferior.write_memory(addr, before);
        }
        // No pad keeps a copy of the former code.
        let first = addr.0.saturating_sub(MAX_INSTRUCTION_BYTES as u64);
        let end = LoadAddr(addr.0.saturating_add(written as u64));
        self.inferior.pads.forget_in(LoadAddr(first), end);
        match missing {
            true => Err(self.no_memory("write", addr + written as u64, &mappings)),
            false => Ok(written),
        }
    }

    pub(crate) fn process_with_memory(&self) -> Result<i32, Error> {
        let process = self.inferior.process.as_ref().ok_or(Error::NoProcess)?;
        match process.state {
            State::NoProcess | State::Ended => Err(Error::NoProcess),
            State::Held | State::Running | State::Stopped => Ok(process.pid),
        }
    }

    /// In the past of a recorded program, the images are those of its present. Returns the error for an address in one
    /// that is not loaded in what is shown; `None`: it is, or no replay is shown.
    pub(super) fn not_loaded_there(&self, addr: LoadAddr) -> Option<Error> {
        let is_shown = !self.is_in_replay() || self.inferior.os().read_memory(addr, &mut [0]) != 0;
        let image = self.images.modules.at(addr).filter(|_| !is_shown)?;
        let name = image.module.path().file_name().unwrap_or_default();
        Some(Error::NoMemory {
            what: "read",
            addr,
            why: format!(
                "`{}` is not loaded yet at this place of the recording",
                name.display()
            ),
        })
    }

    fn no_memory(&self, what: &'static str, addr: LoadAddr, mappings: &[Mapping]) -> Error {
        let why = match mapping_at(addr, mappings) {
            _ if self.inferior.pads.distance(addr) == 0 => {
                "the program has no memory there".to_owned()
            }
            None if self.is_post_mortem() => "not in the core file".to_owned(),
            None => nothing_at(addr, mappings),
            Some(mapping) => why_not(what, mapping, self.is_post_mortem()),
        };
        Error::NoMemory { what, addr, why }
    }
}

/// Returns how many of `len` bytes can be written, regardless of protection.
fn writable(addr: LoadAddr, len: usize, mappings: &[Mapping]) -> usize {
    let mut done = 0;
    while done < len {
        let here = addr + done as u64;
        let may_be = |it: &&Mapping| !is_guard(it) && (it.writable || !it.shared);
        let Some(mapping) = mapping_at(here, mappings).filter(may_be) else {
            break;
        };
        done = len.min(done + clamped(mapping.end - here));
    }
    done
}

fn clamped(len: u64) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX)
}

fn mapping_at(addr: LoadAddr, mappings: &[Mapping]) -> Option<&Mapping> {
    let holds = |mapping: &&Mapping| (mapping.start..mapping.end).contains(&addr);
    mappings.iter().find(holds)
}

/// Returns whether a mapping is a guard, whose only purpose is to fault.
fn is_guard(mapping: &Mapping) -> bool {
    !mapping.readable && !mapping.writable && !mapping.executable
}

fn nothing_at(addr: LoadAddr, mappings: &[Mapping]) -> String {
    let above = mappings.iter().filter(|mapping| mapping.start > addr);
    match above.map(|mapping| mapping.start).min() {
        Some(next) => format!("nothing is mapped there; the next mapping begins at {next}"),
        None => "nothing is mapped there or above".to_owned(),
    }
}

fn why_not(what: &str, mapping: &Mapping, post_mortem: bool) -> String {
    let Mapping { start, end, .. } = mapping;
    let name = mapping.path.display();
    match mapping.path.to_str() {
        _ if is_guard(mapping) => {
            format!("guard pages from {start} to {end}: mapped without access")
        }
        _ if post_mortem => format!("the core file omits {start} to {end}"),
        Some("[vsyscall]") => "the kernel's [vsyscall] page is execute-only".to_owned(),
        Some("[vvar]" | "[vvar_vclock]") => {
            format!("{name} belongs to the kernel; only the program can read it")
        }
        _ if mapping.path.starts_with(Path::new("/dev")) && mapping.shared => {
            format!("{name} is a device mapping; only the program can read it")
        }
        _ if what == "write" && mapping.shared && !mapping.writable => {
            format!("{name} is mapped shared and read-only: a write would change the file")
        }
        Some("") => format!("the kernel refuses access ({start} to {end})"),
        _ => format!("the kernel refuses access ({start} to {end}, {name})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, flags: &str) -> Mapping {
        Mapping {
            start: LoadAddr(start),
            end: LoadAddr(end),
            readable: flags.contains('r'),
            writable: flags.contains('w'),
            executable: flags.contains('x'),
            shared: flags.contains('s'),
            path: "/file".into(),
            offset: 0,
        }
    }

    #[test]
    fn writes_end_at_guards_holes_and_shared_files() {
        let maps = [
            mapping(0x1000, 0x2000, "rw"),
            mapping(0x2000, 0x3000, "rx"),
            mapping(0x3000, 0x4000, ""),
            mapping(0x6000, 0x7000, "rs"),
            mapping(0x7000, 0x8000, "rws"),
        ];
        let from = |addr| writable(LoadAddr(addr), 0x10_0000, &maps);
        assert_eq!(from(0x1ff0), 0x1010);
        assert_eq!(from(0x3000), 0);
        assert_eq!(from(0x5000), 0);
        assert_eq!(from(0x6800), 0);
        assert_eq!(from(0x7ff8), 8);
        assert_eq!(writable(LoadAddr(0x1000), 3, &maps), 3);
    }

    #[test]
    fn refusal_names_the_mapping() {
        let maps = [mapping(0x1000, 0x2000, ""), mapping(0x8000, 0x9000, "rs")];
        assert_eq!(
            nothing_at(LoadAddr(0x10), &maps),
            "nothing is mapped there; the next mapping begins at 0x1000"
        );
        assert!(nothing_at(LoadAddr(0x9000), &maps).contains("or above"));
        assert!(why_not("read", &maps[0], false).contains("guard"));
        assert!(why_not("write", &maps[1], false).contains("read-only"));
        assert!(why_not("read", &maps[1], true).contains("core file"));
    }
}
