//! The set for tests: 16 registers, then a word of the kernel, the stack pointer and the pc.

use super::super::registers::{RegisterLayout, Word};
use super::{LinuxAbi, Restart, SystemCalls};
use crate::arch::Arch;
use dwarf::Register;

const fn word(number: u16) -> Word {
    Word::Register(Register(number))
}

const WORDS: &[Word] = &[
    word(0),
    word(1),
    word(2),
    word(3),
    word(4),
    word(5),
    word(6),
    word(7),
    word(8),
    word(9),
    word(10),
    word(11),
    word(12),
    word(13),
    word(14),
    word(15),
    Word::System,
    word(31),
    word(32),
];

pub static ABI: LinuxAbi = LinuxAbi {
    registers: RegisterLayout::new(Arch::Fixed, WORDS, Register(32), Register(31)),
    calls: SystemCalls {
        number: Register(8),
        arguments: [
            Register(0),
            Register(1),
            Register(2),
            Register(3),
            Register(4),
            Register(5),
        ],
        result: Register(0),
        current: None,
        map: 222,
        unmap: 215,
        close: 57,
        set_length: 46,
        memory_file: 279,
        process_control: 167,
        futex: 98,
        restart: Restart::ByResult,
        interrupted_by_stops: &[22],
        blocking: &[],
    },
    extended: None,
    separate: &[],
    breakpoint_code: 1,
    stepped_call_code: 3,
    repeats_stepped_call: false,
};
