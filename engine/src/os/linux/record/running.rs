//! A program that runs already, and is recorded from a stop on: what the start of a recorded program does
//! (`start`) is done to it by system calls that it is made to execute.

use super::super::injection::Injection;
use super::super::{procfs, ptrace};
use super::threads::joined::{self, Known};
use super::tracee::{Tracee, gone};
use super::{filter, mapping, scratch, start};
use crate::os::Mapping;
use crate::os::recording::RecordFrom;
use dwarf::LoadAddr;
use object::{Object, ObjectSymbol};
use std::fs;
use std::io;
use std::ops::Range;

/// Functions of the vdso, by which the kernel answers without a system call, and the calls that they
/// stand for.
const VDSO_CALLS: [(&str, libc::c_long); 6] = [
    ("__vdso_clock_gettime", libc::SYS_clock_gettime),
    ("__vdso_gettimeofday", libc::SYS_gettimeofday),
    ("__vdso_time", libc::SYS_time),
    ("__vdso_getcpu", libc::SYS_getcpu),
    ("__vdso_clock_getres", libc::SYS_clock_getres),
    ("__vdso_getrandom", libc::SYS_getrandom),
];

/// The most instructions of the vdso that a thread executes to leave it: `getrandom` of 4 KiB takes 20 thousand.
const MOST_STEPS: usize = 1 << 17;

/// A stopped program that runs already.
pub struct Running {
    pub process: Tracee,
    /// Its threads, the one that has stopped the others first.
    pub threads: Vec<Tracee>,
}

impl Running {
    /// # Errors
    /// It has ended.
    pub fn of(from: &RecordFrom<'_>) -> io::Result<Running> {
        // Not by the first thread, which may have ended.
        let process = Tracee::new(from.thread.0)?.sibling(from.process);
        let others = from.threads.iter().filter(|it| **it != from.thread);
        let threads = std::iter::once(&from.thread).chain(others);
        let threads = threads.map(|thread| process.sibling(thread.0)).collect();
        Ok(Running { process, threads })
    }

    /// Returns why it cannot be recorded from here on; `None`: it can. `own`: memory of the debugger's in it.
    pub fn refusal(&self, own: &[(LoadAddr, u64)]) -> Option<String> {
        let pid = self.process.pid;
        for thread in procfs::threads(pid) {
            let is_known = self.threads.iter().any(|it| it.pid == thread);
            let state = procfs::status(thread, "State").unwrap_or_default();
            match state.as_bytes() {
                [b't', ..] if is_known => {}
                [b'Z' | b'X', ..] if thread == pid => {
                    return Some("its first thread has ended; record from the start".to_owned());
                }
                _ => {
                    return Some(format!(
                        "thread {thread} is about to begin or to end; step once, and try again"
                    ));
                }
            }
            if procfs::status_number(thread, "Seccomp") != Some(0) {
                return Some("it has a seccomp filter".to_owned());
            }
        }
        let is_own = |it: &Mapping| own.iter().any(|(addr, _)| *addr == it.start);
        let mappings = procfs::mappings(pid);
        let mut shared = mappings
            .iter()
            .filter(|it| it.shared && it.writable && !is_own(it));
        if let Some(it) = shared.next() {
            let path = it.path.display();
            return Some(format!(
                "it shares memory that it writes: {path} at {}",
                it.start
            ));
        }
        let mut shared = mappings.iter().filter(|it| it.shared && !is_own(it));
        let written = shared.find(|it| {
            let file = fs::metadata(&it.path);
            file.is_ok_and(|file| mapping::may_write(pid, &file))
        })?;
        let path = written.path.display();
        Some(format!("it has mapped {path}, which it may write to"))
    }

    /// Puts a program that [`Running::refusal`] allows under the filter, for the rest of its life. Makes it ask the
    /// kernel for what it has had without a call. Returns what the kernel knows of the threads.
    ///
    /// # Errors
    /// The program has ended, occupies the recorder's page, or the kernel allows no filter. It runs as before then,
    /// but for slower clocks.
    pub fn prepare(&self) -> io::Result<Vec<Known>> {
        let Some(first) = self.threads.first() else {
            return Err(gone());
        };
        let mappings = procfs::mappings(self.process.pid);
        let vdso = mappings.iter().find(|it| is_vdso(it));
        if let Some(vdso) = vdso {
            for thread in &self.threads {
                leave_vdso(thread, &(vdso.start..vdso.end))?;
            }
        }
        start::map_page(first)?;
        let known = joined::ask(&self.threads)?;
        if let Some(vdso) = vdso {
            replace_vdso(first, vdso)?;
        }
        // The filter comes last: it cannot be taken back.
        let filtered = self.filter(first);
        if filtered.is_err() {
            for thread in &self.threads {
                let _ = thread.inject([filter::BACK]);
            }
        }
        filtered?;
        for thread in &self.threads {
            change_rest(thread)?;
        }
        Ok(known)
    }

    fn filter(&self, first: &Tracee) -> io::Result<()> {
        first.write(scratch::ROOM, &filter::argument(scratch::ROOM))?;
        for thread in &self.threads {
            ptrace::set_options_for_recording(thread.thread())?;
            let [result] = thread.inject([filter::HIDE_TIME])?;
            succeeded(result)?;
        }
        for call in filter::CALLS {
            let [result] = first.inject([call])?;
            succeeded(result)?;
        }
        Ok(())
    }
}

/// # Errors
/// A call of the filter's has failed: its result is an error, or a thread that cannot get the filter.
fn succeeded(result: i64) -> io::Result<()> {
    match result {
        0 => Ok(()),
        code @ -4095..=-1 => Err(io::Error::from_raw_os_error(-code as i32)),
        thread => Err(io::Error::other(format!(
            "thread {thread} cannot get a seccomp filter"
        ))),
    }
}

fn is_vdso(mapping: &Mapping) -> bool {
    mapping.path.as_os_str() == "[vdso]"
}

/// Lets a thread that is in the vdso execute the rest of it: the code there is about to change.
fn leave_vdso(thread: &Tracee, vdso: &Range<LoadAddr>) -> io::Result<()> {
    let registers = thread.registers()?;
    if !vdso.contains(&LoadAddr(registers.pc())) {
        return Ok(());
    }
    let stays = || {
        let thread = thread.pid;
        io::Error::other(format!(
            "thread {thread} is in code of the kernel; step once, and try again"
        ))
    };
    if registers.is_in_interrupted_call() {
        return Err(stays());
    }
    let ended = |error| io::Error::other(format!("{error}"));
    let mut injection = Injection::begin(thread.thread(), vdso.start).map_err(ended)?;
    let has_left = injection.leave(vdso, MOST_STEPS);
    injection.finish();
    match has_left.map_err(ended)? {
        true => Ok(()),
        false => Err(stays()),
    }
}

/// Changes what else is different in recorded programs, for each thread.
fn change_rest(thread: &Tracee) -> io::Result<()> {
    /// What personality(2) only asks by.
    const ASK: u64 = 0xffff_ffff;
    const UNREGISTER: u64 = 1;
    if let Some(it) = ptrace::restartable_sequences(thread.thread()) {
        let arguments = [
            it.addr,
            it.len.into(),
            UNREGISTER,
            it.signature.into(),
            0,
            0,
        ];
        let [result] = thread.inject([(libc::SYS_rseq, arguments)])?;
        if let Err(error) = succeeded(result) {
            tracing::warn!(%error, thread = thread.pid, "restartable sequences stay");
        }
    }
    // For the programs that it executes.
    let [personality] = thread.inject([(libc::SYS_personality, [ASK, 0, 0, 0, 0, 0])])?;
    if personality >= 0 {
        let fixed = personality as u64 | libc::ADDR_NO_RANDOMIZE as u64;
        thread.inject([(libc::SYS_personality, [fixed, 0, 0, 0, 0, 0])])?;
    }
    Ok(())
}

/// Replaces the functions of the vdso by system calls.
fn replace_vdso(program: &Tracee, vdso: &Mapping) -> io::Result<()> {
    let image = program.read(vdso.start.0, (vdso.end.0 - vdso.start.0) as usize);
    let file = object::File::parse(&*image).map_err(|_| gone())?;
    for symbol in file.dynamic_symbols() {
        let Ok(name) = symbol.name() else { continue };
        let Some((_, number)) = VDSO_CALLS.iter().find(|it| it.0 == name) else {
            continue;
        };
        let code = call_code(*number);
        if symbol.size() < code.len() as u64 {
            return Err(io::Error::other(format!("the vdso has another `{name}`")));
        }
        program.write(vdso.start.0.wrapping_add(symbol.address()), &code)?;
    }
    Ok(())
}

/// A function that makes a system call: as those of libraries look, so that it can be made without a stop.
fn call_code(number: libc::c_long) -> Vec<u8> {
    let mut code = vec![0xb8]; // mov $number,%eax
    code.extend((number as u32).to_le_bytes());
    code.extend([0x0f, 0x05]); // syscall
    code.extend([0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff]); // cmp $-4096,%rax
    code.push(0xc3); // ret
    code
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Arch, Flow};

    #[test]
    fn replaced_functions_are_a_call_and_a_return() {
        let code = call_code(libc::SYS_clock_gettime);
        let mut decoder = Arch::X86_64.decoder(&code, LoadAddr(0));
        let mut at = 0;
        let mut flows = Vec::new();
        while at < code.len() {
            let instruction = decoder.at(at).unwrap().unwrap();
            flows.push(instruction.flow);
            at += instruction.len();
        }
        assert_eq!(at, code.len());
        assert!(
            matches!(flows[..], [_, Flow::SystemCall, _, Flow::Return]),
            "{flows:?}"
        );
    }
}
