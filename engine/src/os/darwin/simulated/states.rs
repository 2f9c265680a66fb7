//! Thread states of x86-64, made of the register sets of Linux.

use super::super::abi::{DarwinAbi, SeparateRegister, x86_64};
use super::super::mach::{KernReturn, Result};
use crate::arch::Arch;
use crate::ids::ThreadId;
use crate::os::linux::{machine, ptrace};
use crate::os::registers::{RegisterLayout, Word};
use dwarf::register::x86_64::{FS_BASE, GS_BASE, RIP, RSP};
use x86_64::{AVX_STATE, DEBUG_STATE, FULL_STATE, THREAD_STATE, TRAP_FLAG};
pub use x86_64::{BREAKPOINT, SINGLE_STEP};

/// A state that only this system has: the base of `fs`, by which programs of Linux find what belongs
/// to a thread.
const LINUX_STATE: i32 = 0x10_0000;

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
            flavor: FULL_STATE,
            word: x86_64::FULL_GS_BASE,
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
/// Where the words of `x86_thread_full_state64_t` are in that.
const FULL: [usize; 25] = [
    RAX, 5, 11, 12, 14, 13, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, PC, FLAGS, 17, 25, 26, 23, 24, 20, 22,
];
/// Number of those that `x86_thread_state64_t` has, too.
const GENERAL: usize = 21;

/// Offsets in `x86_AVX_STATE64`, and its size in words of 4 bytes.
const AVX_WORDS: usize = 211;
const FXSAVE: usize = 8;
const XSAVE_HEADER: usize = 524;
const HIGH_HALVES: usize = 588;

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
    // Without AVX there is less.
    area.resize(area.len().max(832), 0);
    Ok(area)
}

/// Reads a state of a stopped thread.
pub fn read(tid: ThreadId, flavor: i32, state: &mut [u32]) -> Result<usize> {
    match flavor {
        THREAD_STATE | FULL_STATE => {
            let registers = settled(read_registers(tid)?);
            let count = if flavor == FULL_STATE {
                FULL.len()
            } else {
                GENERAL
            };
            put(state, FULL[..count].iter().map(|at| registers[*at]))
        }
        LINUX_STATE => put(state, [read_registers(tid)?[FS_BASE_WORD]]),
        DEBUG_STATE => {
            let read = |number| machine::debug_register(tid, number).unwrap_or(0);
            put(state, (0..8).map(read))
        }
        AVX_STATE => {
            let area = read_xsave(tid)?;
            let mut bytes = vec![0; AVX_WORDS * 4];
            bytes[FXSAVE..FXSAVE + 512].copy_from_slice(&area[..512]);
            bytes[XSAVE_HEADER..HIGH_HALVES].copy_from_slice(&area[512..576]);
            // The high halves are zero if they were never used.
            if area[512] & 0b100 != 0 {
                bytes[HIGH_HALVES..].copy_from_slice(&area[576..832]);
            }
            let words = bytes.as_chunks().0.iter();
            let words = words.map(|word| u32::from_le_bytes(*word));
            for (to, word) in state.iter_mut().zip(words) {
                *to = word;
            }
            Ok(AVX_WORDS)
        }
        _ => Err(KernReturn::INVALID_ARGUMENT),
    }
}

/// Writes a state of a stopped thread. Returns whether the thread single-steps from now on, if the
/// state says so.
pub fn write(tid: ThreadId, flavor: i32, state: &[u32]) -> Result<Option<bool>> {
    match flavor {
        THREAD_STATE => {
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
        AVX_STATE => {
            let bytes: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut area = read_xsave(tid)?;
            let legacy = bytes
                .get(FXSAVE..FXSAVE + 512)
                .ok_or(KernReturn::INVALID_ARGUMENT)?;
            area[..512].copy_from_slice(legacy);
            area[512] |= 0b111;
            area[576..832].copy_from_slice(&bytes[HIGH_HALVES..HIGH_HALVES + 256]);
            let is_set = ptrace::write_register_bytes(tid, NT_X86_XSTATE, &area);
            is_set.then_some(None).ok_or(KernReturn::FAILURE)
        }
        _ => Err(KernReturn::INVALID_ARGUMENT),
    }
}
