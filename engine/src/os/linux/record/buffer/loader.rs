//! The dynamic loader of glibc saves vector registers on the stack when a function is called for the first time
//! (`_dl_runtime_resolve_xsavec`). XSAVEC leaves out those that the processor knows to be in their initial state, and
//! XSAVE notes which these are (XINUSE, Intel SDM vol. 1, 13.6). That depends on what else the processor has run since,
//! and not on the registers alone: so the stack of a replay would not be that of the recording.
//!
//! The instruction is replaced by a jump of the same length to code that clears the memory first, and then notes that
//! all registers were saved. What was left out is zero then, which is what XRSTOR would have set: the registers are as
//! before. This is done when the recording begins, so all snapshots have it, and a replay does the same.

use super::super::super::procfs;
use super::super::tracee::Tracee;
use super::zones::{JUMP_LEN, Zones};
use std::io;
use std::ops::Range;

/// Length in bytes of the instruction, and of the jump.
const LEN: usize = JUMP_LEN as usize;
/// `xsavec 0x40(%rsp)`
const COMPACT: [u8; LEN] = [0x0f, 0xc7, 0x64, 0x24, 0x40];
/// `xsave 0x40(%rsp)`
const STANDARD: [u8; LEN] = [0x0f, 0xae, 0x64, 0x24, 0x40];
/// `xrstor 0x40(%rsp)`
const RESTORE: [u8; LEN] = [0x0f, 0xae, 0x6c, 0x24, 0x40];
/// `mov %rsp,%rbx; and $-64,%rsp; sub SIZE(%rip),%rsp`, with a displacement of 4 bytes: rbx is the end of the area.
const BEGIN: [u8; 10] = [0x48, 0x89, 0xe3, 0x48, 0x83, 0xe4, 0xc0, 0x48, 0x2b, 0x25];
/// `xor %edx,%edx`
const NONE_ABOVE: [u8; 2] = [0x31, 0xd2];
/// How far before the instruction its function begins at most, and how far behind it the registers are restored.
const BEFORE: usize = 160;
const BEHIND: usize = 64;
/// The components whose initial state is zero, but for MXCSR: vectors (1, 2), bounds (3), masks (5), upper vectors (6, 7),
/// additional general-purpose registers (19). The x87 registers are none of them.
const ZERO_AT_FIRST: u32 = 0x8_00ee;
/// More code than any loader has.
const MOST_CODE: u64 = 1 << 22;
/// More than a loader has such instructions.
const MOST_PLACES: usize = 4;
/// The entry of the auxiliary vector with the address of the loader.
const LOADER: u64 = 7;

std::arch::global_asm!(include_str!("loader.s"));

unsafe extern "C" {
    static stillpoint_compact_begin: u8;
    static stillpoint_compact_end: u8;
    static stillpoint_standard_begin: u8;
    static stillpoint_standard_end: u8;
}

/// How registers are saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Compact,
    Standard,
}

impl Format {
    /// Returns the code that saves them independently of the processor's state.
    fn code(self) -> &'static [u8] {
        let (begin, end) = match self {
            Format::Compact => (
                &raw const stillpoint_compact_begin,
                &raw const stillpoint_compact_end,
            ),
            Format::Standard => (
                &raw const stillpoint_standard_begin,
                &raw const stillpoint_standard_end,
            ),
        };
        // SAFETY: both are labels of one section of constants, which lives as long as the program.
        unsafe { std::slice::from_raw_parts(begin, end as usize - begin as usize) }
    }
}

/// Replaces the instructions of a stopped program's loader. Code of another shape is left as it is.
///
/// # Errors
/// The program has ended.
pub fn replace(program: &Tracee, zones: &mut Zones) -> io::Result<()> {
    let Some(loader) = loader(program) else {
        return Ok(());
    };
    for range in executable(program, loader) {
        let code = program.read(range.start, (range.end - range.start) as usize);
        for (offset, format) in find(&code) {
            let at = range.start + offset as u64;
            let own = format.code();
            let Some(room) = zones.take_room(&[at], own.len() as u64 + JUMP_LEN) else {
                tracing::info!(at, "no room near the loader");
                return Ok(());
            };
            let back = jump(room + own.len() as u64, at + LEN as u64);
            program.write(room, &[own, &back].concat())?;
            program.write(at, &jump(at, room))?;
        }
    }
    Ok(())
}

/// Returns the address of the dynamic loader of a program; `None`: it has none.
fn loader(program: &Tracee) -> Option<u64> {
    let vector = std::fs::read(format!("/proc/{}/auxv", program.pid)).ok()?;
    let (entries, _) = vector.as_chunks::<16>();
    let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let mut entries = entries.iter();
    let entry = entries.find(|entry| word(&entry[..8]) == LOADER)?;
    Some(word(&entry[8..])).filter(|at| *at != 0)
}

/// Returns the code of the file that is mapped at an address.
fn executable(program: &Tracee, at: u64) -> Vec<Range<u64>> {
    let mappings = procfs::mappings(program.pid);
    let mut all = mappings.iter();
    let Some(file) = all.find(|it| (it.start.0..it.end.0).contains(&at)) else {
        return Vec::new();
    };
    let is_code = |it: &&crate::os::Mapping| {
        it.path == file.path && it.path.has_root() && it.executable && !it.writable
    };
    let code = mappings.iter().filter(is_code);
    let ranges = code.map(|it| it.start.0..it.end.0);
    ranges
        .filter(|range| range.end - range.start <= MOST_CODE)
        .collect()
}

/// Returns where registers are saved in some code, by offsets.
fn find(code: &[u8]) -> Vec<(usize, Format)> {
    let windows = code.windows(LEN).enumerate();
    let found = windows.filter_map(|(at, bytes)| {
        let format = match bytes {
            _ if *bytes == COMPACT => Format::Compact,
            _ if *bytes == STANDARD => Format::Standard,
            _ => return None,
        };
        is_known(code, at).then_some((at, format))
    });
    found.take(MOST_PLACES).collect()
}

/// Returns whether the code around an instruction that saves registers is that of the loader
/// (`sysdeps/x86_64/dl-trampoline.h` in glibc): the area ends at rbx, all components that are saved are zero at first, and
/// they are restored.
fn is_known(code: &[u8], at: usize) -> bool {
    let before = &code[at.saturating_sub(BEFORE)..at];
    let begin = before.windows(BEGIN.len()).rposition(|it| *it == BEGIN);
    let rest = begin.and_then(|begin| before.get(begin + BEGIN.len() + 4..));
    let behind = code.get(at + LEN..).unwrap_or_default();
    let behind = &behind[..behind.len().min(BEHIND)];
    let is_restored = behind.windows(LEN).any(|it| *it == RESTORE);
    is_restored && rest.is_some_and(saves_registers)
}

/// Returns whether some code does nothing but store registers on the stack, then choose the components, and then clear the
/// header of the area.
fn saves_registers(mut code: &[u8]) -> bool {
    // mov REGISTER,OFFSET(%rsp)
    while let [0x48 | 0x4c, 0x89, operand, 0x24, rest @ ..] = code
        && let 0x04 | 0x44 = operand & 0xc7
    {
        let offset = usize::from(operand & 0xc0 != 0);
        code = rest.get(offset..).unwrap_or_default();
    }
    // mov $MASK,%eax
    let [0xb8, a, b, c, d, rest @ ..] = code else {
        return false;
    };
    if u32::from_le_bytes([*a, *b, *c, *d]) & !ZERO_AT_FIRST != 0 {
        return false;
    }
    let Some(mut rest) = rest.strip_prefix(&NONE_ABOVE) else {
        return false;
    };
    // mov %rdx,OFFSET(%rsp)
    while let [0x48, 0x89, 0x94, 0x24, _, _, _, _, next @ ..] = rest {
        rest = next;
    }
    rest.is_empty()
}

/// Returns a jump.
fn jump(from: u64, to: u64) -> [u8; LEN] {
    let next = from.wrapping_add(JUMP_LEN);
    let [a, b, c, d] = (to.wrapping_sub(next) as u32).to_le_bytes();
    [0xe9, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code of glibc 2.36 up to the instruction, and behind it.
    fn resolver(mask: u32, save: [u8; LEN]) -> Vec<u8> {
        let mut code = vec![0x53];
        code.extend(BEGIN);
        code.extend([0xd1, 9, 2, 0]);
        code.extend([0x48, 0x89, 0x04, 0x24]);
        code.extend([0x48, 0x89, 0x4c, 0x24, 0x08]);
        code.extend([0x4c, 0x89, 0x4c, 0x24, 0x30]);
        code.push(0xb8);
        code.extend(mask.to_le_bytes());
        code.extend(NONE_ABOVE);
        for offset in [0x250, 0x258_u32] {
            code.extend([0x48, 0x89, 0x94, 0x24]);
            code.extend(offset.to_le_bytes());
        }
        code.extend(save);
        code.extend([0x48, 0x8b, 0x73, 0x10, 0xe8, 0, 0, 0, 0]);
        code.extend(RESTORE);
        code
    }

    #[test]
    fn code_of_the_loader_is_found() {
        for (save, format) in [(COMPACT, Format::Compact), (STANDARD, Format::Standard)] {
            let code = [vec![0xcc; 300], resolver(0xee, save)].concat();
            let at = code.len() - LEN - 9 - LEN;
            assert_eq!(find(&code), [(at, format)]);
        }
    }

    #[test]
    fn other_code_is_left() {
        let code = resolver(0xee, COMPACT);
        let without_restore = &code[..code.len() - 1];
        let with_x87 = resolver(0xef, COMPACT);
        let mut with_other_end = code.clone();
        with_other_end[3] = 0xe5; // %rbp
        let mut with_other_store = code.clone();
        with_other_store[15] = 0x88;
        let all = [
            without_restore,
            &with_x87,
            &with_other_end,
            &with_other_store,
            &COMPACT,
            &[],
        ];
        for code in all {
            assert_eq!(find(code), [], "{code:x?}");
        }
    }
}
