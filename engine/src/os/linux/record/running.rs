//! A program that runs already, and is recorded from a stop on: what the start of a recorded program does
//! (`start`) is done to it by system calls that it is made to execute.

use super::super::injection::Injection;
use super::super::{procfs, ptrace};
use super::tracee::{Tracee, gone};
use super::{filter, scratch, start};
use dwarf::LoadAddr;
use object::{Object, ObjectSymbol};
use std::io;

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

/// Returns why a stopped program cannot be recorded from here on; `None`: it can.
pub fn refusal(program: &Tracee) -> Option<&'static str> {
    if procfs::threads(program.pid).len() != 1 {
        return Some("it has more than one thread");
    }
    if procfs::status_number(program.pid, "Seccomp") != Some(0) {
        return Some("it has a seccomp filter");
    }
    let mappings = procfs::mappings(program.pid);
    if mappings.iter().any(|it| it.shared && it.writable) {
        return Some("it shares memory that it writes");
    }
    let pc = program.registers().ok()?.pc();
    let is_there = mappings
        .iter()
        .any(|it| is_vdso(it) && (it.start.0..it.end.0).contains(&pc));
    is_there.then_some("it is in code of the kernel: record from another stop on")
}

fn is_vdso(mapping: &crate::os::Mapping) -> bool {
    mapping.path.as_os_str() == "[vdso]"
}

/// Puts a stopped program that [`refusal`] allows under the filter, for the rest of its life. Makes
/// it ask the kernel for what it has had without a call.
///
/// # Errors
/// The program has ended, occupies the recorder's page, or the kernel allows no filter. It runs as
/// before then, but for slower clocks.
pub fn prepare(program: &Tracee) -> io::Result<()> {
    start::map_page(program)?;
    // The filter comes last: it cannot be taken back.
    replace_vdso(program)?;
    ptrace::set_options_for_recording(program.thread())?;
    program.write(scratch::ROOM, &filter::argument(scratch::ROOM))?;
    let sequences = ptrace::restartable_sequences(program.thread());
    let injected = Injection::begin(program.thread(), LoadAddr(scratch::CALL));
    let mut injection = injected.map_err(|error| io::Error::other(error.to_string()))?;
    let mut call = |number, arguments| {
        let result = injection.call(number, arguments);
        result
            .map_err(|error| io::Error::other(error.to_string()))?
            .ok()
    };
    let filtered = filter::CALLS
        .iter()
        .try_for_each(|(number, arguments)| call(*number, *arguments).map(drop));
    if filtered.is_ok() {
        /// What personality(2) only asks by.
        const ASK: u64 = 0xffff_ffff;
        const UNREGISTER: u64 = 1;
        if let Some(it) = sequences {
            let arguments = [
                it.addr,
                it.len.into(),
                UNREGISTER,
                it.signature.into(),
                0,
                0,
            ];
            if let Err(error) = call(libc::SYS_rseq, arguments) {
                tracing::warn!(%error, "restartable sequences stay");
            }
        }
        // For the programs that it executes.
        let personality = call(libc::SYS_personality, [ASK, 0, 0, 0, 0, 0]);
        if let Ok(personality) = personality {
            let fixed = personality as u64 | libc::ADDR_NO_RANDOMIZE as u64;
            let _ = call(libc::SYS_personality, [fixed, 0, 0, 0, 0, 0]);
        }
    }
    if filtered.is_err() {
        let _ = call(filter::BACK.0, filter::BACK.1);
    }
    injection.finish();
    filtered
}

/// Replaces the functions of the vdso by system calls.
fn replace_vdso(program: &Tracee) -> io::Result<()> {
    let mappings = procfs::mappings(program.pid);
    let Some(vdso) = mappings.iter().find(|it| is_vdso(it)) else {
        return Ok(());
    };
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
