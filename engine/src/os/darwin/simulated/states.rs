//! Thread states of x86-64, made of the register sets of Linux.

use super::super::abi::{
    DarwinAbi, SeparateRegister,
    x86_64::{self, TRAP_FLAG},
};
use super::super::flavors::Flavor;
use super::super::flavors::x86_64::{
    AVX_STATE64, AVX512_STATE64, DEBUG_STATE64, THREAD_FULL_STATE64, THREAD_STATE64, avx, float,
    thread,
};
use super::super::mach::{KernReturn, Result};
use crate::arch::Arch;
use crate::ids::ThreadId;
use crate::os::linux::{machine, ptrace};
use crate::os::registers::{RegisterLayout, Word};
use dwarf::register::x86_64::{FS_BASE, GS_BASE, RIP, RSP};

/// A state that only this system has: the base of `fs`, by which programs of Linux find what belongs
/// to a thread.
const LINUX_STATE: Flavor = Flavor {
    number: 0x10_0000,
    words: 2,
};
/// The numbers of the states that there are.
const GENERAL_STATE: i32 = THREAD_STATE64.number;
const FULL_STATE: i32 = THREAD_FULL_STATE64.number;
const FS_STATE: i32 = LINUX_STATE.number;
const DEBUG_STATE: i32 = DEBUG_STATE64.number;
const AVX_STATE: i32 = AVX_STATE64.number;
const AVX512_STATE: i32 = AVX512_STATE64.number;

/// The words of `x86_thread_state64_t`, and the bases of both segments.
const WORDS: &[Word] = &{
    let general = x86_64::WORDS;
    let mut words = [Word::System; 23];
    let mut index = 0;
    while index < general.len() {
        words[index] = general[index];
        index += 1;
    }
    words[index] = Word::Separate(FS_BASE);
    words
};

pub static ABI: DarwinAbi = DarwinAbi {
    registers: RegisterLayout::new(Arch::X86_64, WORDS, RIP, RSP),
    separate: &[
        SeparateRegister {
            flavor: THREAD_FULL_STATE64,
            word: thread::GS_BASE / 4,
            register: GS_BASE,
        },
        SeparateRegister {
            flavor: LINUX_STATE,
            word: 0,
            register: FS_BASE,
        },
    ],
    ..x86_64::ABI
};

const NT_PRSTATUS: i32 = 1;
const NT_X86_XSTATE: i32 = 0x202;
/// `struct user_regs_struct`, in words.
const REGISTERS: usize = 27;
const RAX: usize = 10;
const ORIG_RAX: usize = 15;
const PC: usize = 16;
const FLAGS: usize = 18;
const FS_BASE_WORD: usize = 21;
const GS_BASE_WORD: usize = 22;
/// Where the words of `x86_thread_full_state64_t` are in that.
const FULL: [usize; 25] = [
    RAX, 5, 11, 12, 14, 13, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, PC, FLAGS, 17, 25, 26, 23, 24, 20, 22,
];
/// Number of those that `x86_thread_state64_t` has, too.
const GENERAL: usize = 21;

/// Where the parts of `x86_AVX512_STATE64` are, where in the area that Linux has, and their sizes. The
/// state without AVX-512 ends before the last.
const PARTS: [(usize, usize, usize); 4] = [
    (float::FXSAVE, 0, float::FXSAVE_BYTES),
    (avx::YMM_HIGH - 64, 512, 64),
    (avx::YMM_HIGH, 576, 256),
    (avx::K0, MASKS, 64 + 512 + 1024),
];
/// Where processors of Intel have the parts of AVX-512 in an area, and where those of AMD.
const MASKS: usize = 1088;
const MASKS_OF_AMD: usize = 832;
/// Size of an area of Intel's.
const AREA_BYTES: usize = 2688;
/// `XSTATE_BV` in an area, and its bits for AVX-512.
const COMPONENTS: usize = 512;
const AVX512: u8 = 0b111 << 5;

type Registers = [u64; REGISTERS];

fn gone<T>(_: T) -> KernReturn {
    KernReturn::INVALID_ARGUMENT
}

fn read_registers(tid: ThreadId) -> Result<Registers> {
    let mut registers = [0; REGISTERS];
    let is_read = ptrace::read_register_words(tid, NT_PRSTATUS, &mut registers);
    is_read.then_some(registers).ok_or(KernReturn::FAILURE)
}

/// Returns registers as they are when the thread goes on: Linux makes an interrupted system call
/// again at its resume, XNU when it stops.
fn settled(mut registers: Registers) -> Registers {
    /// `ERESTARTSYS`, `ERESTARTNOINTR`, `ERESTARTNOHAND`
    const AGAIN: [i64; 3] = [-512, -513, -514];
    /// `ERESTART_RESTARTBLOCK`, and the call that goes on then.
    const GO_ON: i64 = -516;
    const RESTART_SYSCALL: u64 = 219;
    /// Size of the instruction.
    const SYSCALL: u64 = 2;
    let result = registers[RAX].cast_signed();
    if registers[ORIG_RAX].cast_signed() >= 0 && (AGAIN.contains(&result) || result == GO_ON) {
        registers[RAX] = match result {
            GO_ON => RESTART_SYSCALL,
            _ => registers[ORIG_RAX],
        };
        registers[PC] -= SYSCALL;
        registers[ORIG_RAX] = u64::MAX;
    }
    registers
}

fn put(state: &mut [u32], words: impl IntoIterator<Item = u64>) -> Result<usize> {
    let mut len = 0;
    for word in words {
        let to = state
            .get_mut(len..len + 2)
            .ok_or(KernReturn::INVALID_ARGUMENT)?;
        to.copy_from_slice(&[word as u32, (word >> 32) as u32]);
        len += 2;
    }
    Ok(len)
}

fn long(state: &[u32], index: usize) -> Result<u64> {
    match state.get(2 * index..2 * index + 2) {
        Some([low, high]) => Ok(u64::from(*low) | u64::from(*high) << 32),
        _ => Err(KernReturn::INVALID_ARGUMENT),
    }
}

fn read_xsave(tid: ThreadId) -> Result<Vec<u8>> {
    let mut area = vec![0; 1 << 14];
    let len = ptrace::read_register_bytes(tid, NT_X86_XSTATE, &mut area);
    area.truncate(len.ok_or(KernReturn::FAILURE)?);
    Ok(area)
}

/// Returns [`PARTS`] as the processor has them.
fn parts(area: &[u8]) -> [(usize, usize, usize); 4] {
    let mut parts = PARTS;
    if area.len() < AREA_BYTES {
        parts[3].1 = MASKS_OF_AMD;
    }
    parts
}

fn size_of_vectors(flavor: i32) -> usize {
    match flavor {
        AVX512_STATE => AVX512_STATE64.bytes(),
        _ => AVX_STATE64.bytes(),
    }
}

/// Returns the base of `gs`, which programs of macOS have the thread's own data at.
pub fn gs_base(tid: ThreadId) -> Result<u64> {
    Ok(read_registers(tid)?[GS_BASE_WORD])
}

/// Reads a state of a stopped thread.
pub fn read(tid: ThreadId, flavor: i32, state: &mut [u32]) -> Result<usize> {
    match flavor {
        GENERAL_STATE | FULL_STATE => {
            let registers = settled(read_registers(tid)?);
            let count = if flavor == FULL_STATE {
                FULL.len()
            } else {
                GENERAL
            };
            put(state, FULL[..count].iter().map(|at| registers[*at]))
        }
        FS_STATE => put(state, [read_registers(tid)?[FS_BASE_WORD]]),
        DEBUG_STATE => {
            let read = |number| machine::debug_register(tid, number).unwrap_or(0);
            put(state, (0..8).map(read))
        }
        AVX_STATE | AVX512_STATE => {
            let area = read_xsave(tid)?;
            let mut bytes = vec![0; size_of_vectors(flavor)];
            for (to, from, len) in parts(&area) {
                // What was never used is zero, and so are its bytes in the area.
                if let (Some(to), Some(from)) =
                    (bytes.get_mut(to..to + len), area.get(from..from + len))
                {
                    to.copy_from_slice(from);
                } else if to == avx::K0 && flavor == AVX512_STATE {
                    return Err(KernReturn::INVALID_ARGUMENT);
                }
            }
            let words = bytes.as_chunks().0.iter();
            let words = words.map(|word| u32::from_le_bytes(*word));
            for (to, word) in state.iter_mut().zip(words) {
                *to = word;
            }
            Ok(bytes.len() / 4)
        }
        _ => Err(KernReturn::INVALID_ARGUMENT),
    }
}

/// Writes a state of a stopped thread. Returns whether the thread single-steps from now on, if the
/// state says so.
pub fn write(tid: ThreadId, flavor: i32, state: &[u32]) -> Result<Option<bool>> {
    match flavor {
        GENERAL_STATE => {
            let before = read_registers(tid)?;
            let mut registers = settled(before);
            for (index, at) in FULL[..GENERAL].iter().enumerate() {
                registers[*at] = long(state, index)?;
            }
            let steps = registers[FLAGS] & TRAP_FLAG != 0;
            registers[FLAGS] &= !TRAP_FLAG;
            // A call goes on that nothing has changed.
            if registers != settled(before) {
                // No call is made again by the kernel from here.
                registers[ORIG_RAX] = u64::MAX;
                let is_set = ptrace::write_register_words(tid, NT_PRSTATUS, &registers);
                is_set.then_some(()).ok_or(KernReturn::FAILURE)?;
            }
            Ok(Some(steps))
        }
        DEBUG_STATE => {
            let mut values = [0; 8];
            for (index, value) in values.iter_mut().enumerate() {
                *value = long(state, index)?;
            }
            machine::set_debug_registers(tid, &values).map_err(gone)?;
            Ok(None)
        }
        AVX_STATE | AVX512_STATE => {
            let bytes: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut area = read_xsave(tid)?;
            for (from, to, len) in parts(&area) {
                // The header is the kernel's.
                if to != COMPONENTS
                    && let (Some(to), Some(from)) =
                        (area.get_mut(to..to + len), bytes.get(from..from + len))
                {
                    to.copy_from_slice(from);
                }
            }
            area[COMPONENTS] |= match flavor {
                AVX512_STATE => 0b111 | AVX512,
                _ => 0b111,
            };
            let is_set = ptrace::write_register_bytes(tid, NT_X86_XSTATE, &area);
            is_set.then_some(None).ok_or(KernReturn::FAILURE)
        }
        _ => Err(KernReturn::INVALID_ARGUMENT),
    }
}
