//! The general-purpose registers of a recorded thread, as words in the kernel's order
//! (`user_regs_struct`).

use super::super::ptrace;
use crate::ids::ThreadId;
use serde::{Deserialize, Serialize};
use std::hash::Hasher;

const NT_PRSTATUS: i32 = 1;
const WORDS: usize = 27;
const R15: usize = 0;
const R14: usize = 1;
const R13: usize = 2;
const RBP: usize = 4;
const RBX: usize = 5;
const R12: usize = 3;
const R11: usize = 6;
const R10: usize = 7;
const R9: usize = 8;
const R8: usize = 9;
const RAX: usize = 10;
const RCX: usize = 11;
const RDX: usize = 12;
const RSI: usize = 13;
const RDI: usize = 14;
/// The number of the system call; −1 if the thread is in none.
const ORIG_RAX: usize = 15;
const RIP: usize = 16;
const CS: usize = 17;
const FLAGS: usize = 18;
const RSP: usize = 19;
const FS_BASE: usize = 21;
const GS_BASE: usize = 22;
/// The registers of the arguments of a system call.
const ARGUMENTS: [usize; 6] = [RDI, RSI, RDX, R10, R8, R9];
/// Length of the instruction that makes a system call.
pub const CALL_LEN: u64 = 2;
/// The flag of the processor that makes a thread stop behind each instruction.
const TRAP_FLAG: u64 = 1 << 8;
/// The flag that lets an instruction pass a debug register.
const RESUME_FLAG: u64 = 1 << 16;
/// Code segment of 64-bit code.
const LONG_MODE: u64 = 0x33;

/// The internal results of interrupted calls: ERESTARTSYS to ERESTART_RESTARTBLOCK.
pub const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;
pub const RESTART_BY_KERNEL: i64 = -516;

/// A general-purpose register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum General {
    Rax,
    Rcx,
    Rdx,
    Rbx,
    Rsp,
    Rbp,
    Rsi,
    Rdi,
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
}

impl General {
    /// All, in the order of their numbers.
    pub const ALL: [General; 16] = {
        use General::*;
        [
            Rax, Rcx, Rdx, Rbx, Rsp, Rbp, Rsi, Rdi, R8, R9, R10, R11, R12, R13, R14, R15,
        ]
    };

    /// Returns the number of the register in instructions.
    pub fn number(self) -> u8 {
        self as u8
    }

    fn word(self) -> usize {
        const WORDS: [usize; 16] = [
            RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15,
        ];
        WORDS[self as usize]
    }
}

/// What the stub of the buffer saves of the registers, to make a system call for the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SavedCall {
    pub number: u64,
    /// The pc after the call.
    pub next: u64,
    pub sp: u64,
    pub flags: u64,
    pub rbx: u64,
    pub rbp: u64,
    pub r12: u64,
}

/// What the stub of the buffer saves of the registers of a thread that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SavedWait {
    pub call: SavedCall,
    pub arguments: [u64; 6],
    pub r13: u64,
    pub r14: u64,
    pub r15: u64,
    /// The bases of the segments fs and gs.
    pub bases: [u64; 2],
}

/// The registers of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Registers([u64; WORDS]);

impl Registers {
    /// Reads those of a stopped thread; `None` if it is gone.
    pub fn read(thread: ThreadId) -> Option<Registers> {
        let mut words = [0; WORDS];
        ptrace::read_register_words(thread, NT_PRSTATUS, &mut words).then_some(Registers(words))
    }

    /// Writes them to a stopped thread. Does nothing if it is gone.
    pub fn write(&self, thread: ThreadId) {
        ptrace::write_register_words(thread, NT_PRSTATUS, &self.0);
    }

    pub fn number(&self) -> i64 {
        self.0[ORIG_RAX] as i64
    }

    pub fn set_number(&mut self, number: i64) {
        self.0[ORIG_RAX] = number as u64;
    }

    pub fn arguments(&self) -> [u64; 6] {
        ARGUMENTS.map(|index| self.0[index])
    }

    /// Returns the value of a general-purpose register.
    pub fn general(&self, register: General) -> u64 {
        self.0[register.word()]
    }

    /// Returns what the stub would have saved of a thread that is at the start of a system call.
    pub fn saved_wait(&self) -> SavedWait {
        SavedWait {
            call: SavedCall {
                number: self.0[ORIG_RAX],
                next: self.0[RIP],
                sp: self.0[RSP],
                flags: self.0[FLAGS] & !(TRAP_FLAG | RESUME_FLAG),
                rbx: self.0[RBX],
                rbp: self.0[RBP],
                r12: self.0[R12],
            },
            arguments: self.arguments(),
            r13: self.0[R13],
            r14: self.0[R14],
            r15: self.0[R15],
            bases: self.bases(),
        }
    }

    pub fn flags(&self) -> u64 {
        self.0[FLAGS]
    }

    pub fn set_pc(&mut self, pc: u64) {
        self.0[RIP] = pc;
    }

    /// Takes rax and the flags back that code of the recorder has changed, and moves the thread.
    pub fn restore_at(&mut self, pc: u64, rax: u64, flags: u64) {
        self.0[RAX] = rax;
        self.0[FLAGS] = flags;
        self.0[RIP] = pc;
        self.0[ORIG_RAX] = u64::MAX;
    }

    pub fn set_argument(&mut self, nth: usize, value: u64) {
        if let Some(index) = ARGUMENTS.get(nth) {
            self.0[*index] = value;
        }
    }

    pub fn result(&self) -> i64 {
        self.0[RAX] as i64
    }

    pub fn pc(&self) -> u64 {
        self.0[RIP]
    }

    pub fn sp(&self) -> u64 {
        self.0[RSP]
    }

    /// Moves the thread, in a system call, to where it would be if the instruction before `next` had made
    /// the call.
    pub fn set_call_site(&mut self, next: u64) {
        self.0[RIP] = next;
        self.0[RCX] = next;
    }

    /// Moves the thread back to the instruction of a system call that the stub of the buffer was to make,
    /// with the registers that the stub has saved, and those that the call leaves as they are.
    pub fn repeat_call_at(&mut self, saved: &SavedCall) {
        self.0[RBX] = saved.rbx;
        self.0[RBP] = saved.rbp;
        self.0[R12] = saved.r12;
        self.0[RSP] = saved.sp;
        self.0[FLAGS] = saved.flags;
        self.0[R11] = saved.flags;
        self.0[RCX] = saved.next;
        self.0[RIP] = saved.next;
        self.repeat_call(saved.number as i64);
    }

    /// Returns the registers that the thread had at the start of the system call that the stub of the buffer has made
    /// it wait in, if it has changed no selectors of segments since these.
    pub fn at_wait(&self, saved: &SavedWait) -> Registers {
        const NO_SUCH_CALL: i64 = -(libc::ENOSYS as i64);
        let mut registers = *self;
        registers.repeat_call_at(&saved.call);
        registers.0[RIP] = saved.call.next;
        registers.0[RAX] = NO_SUCH_CALL as u64;
        registers.0[ORIG_RAX] = saved.call.number;
        for (index, argument) in ARGUMENTS.into_iter().zip(saved.arguments) {
            registers.0[index] = argument;
        }
        registers.0[R13] = saved.r13;
        registers.0[R14] = saved.r14;
        registers.0[R15] = saved.r15;
        registers.set_bases(saved.bases);
        registers
    }

    /// Moves the thread to the instruction at an address, to make its system call there.
    pub fn make_call_at(&mut self, addr: u64) {
        self.0[RAX] = self.0[ORIG_RAX];
        self.0[ORIG_RAX] = u64::MAX;
        self.0[RIP] = addr;
    }

    /// Moves the thread, which has nothing left to do in the kernel, to where it parks, with the address of its block
    /// and of a stack.
    pub fn park_at(&mut self, addr: u64, block: u64, stack: u64) {
        self.answer(0);
        self.0[RIP] = addr;
        self.0[RBX] = block;
        self.0[RSP] = stack;
    }

    pub fn is_long_mode(&self) -> bool {
        self.0[CS] == LONG_MODE
    }

    pub fn bases(&self) -> [u64; 2] {
        [self.0[FS_BASE], self.0[GS_BASE]]
    }

    pub fn set_bases(&mut self, [fs, gs]: [u64; 2]) {
        self.0[FS_BASE] = fs;
        self.0[GS_BASE] = gs;
    }

    /// Makes the kernel skip the system call that the thread is about to make, and gives it a result.
    pub fn answer(&mut self, result: i64) {
        self.0[ORIG_RAX] = u64::MAX;
        self.0[RAX] = result as u64;
    }

    /// Moves the thread back to the instruction of its system call, to make the call `number`.
    pub fn repeat_call(&mut self, number: i64) {
        self.0[ORIG_RAX] = u64::MAX;
        self.0[RAX] = number as u64;
        self.0[RIP] = self.0[RIP].wrapping_sub(CALL_LEN);
    }

    /// Returns whether the thread was stopped in a system call that the kernel makes again, or goes on with, when
    /// the thread is resumed.
    pub fn is_in_interrupted_call(&self) -> bool {
        self.number() >= 0 && RESTARTS.contains(&self.result())
    }

    /// Returns the registers as a replay has them at the same place: before a system call that was
    /// interrupted and is made again, and without what the debugger's own stops leave.
    pub fn at_event(&self) -> Registers {
        let mut registers = *self;
        if self.is_in_interrupted_call() {
            registers.repeat_call(match self.result() {
                RESTART_BY_KERNEL => libc::SYS_restart_syscall,
                _ => self.number(),
            });
        }
        registers.set_number(-1);
        registers.0[FLAGS] &= !(TRAP_FLAG | RESUME_FLAG);
        registers
    }

    /// Copies all words, in the kernel's order.
    pub fn copy_to(&self, words: &mut [u64]) {
        for (word, value) in words.iter_mut().zip(self.0) {
            *word = value;
        }
    }

    /// Completes an instruction that reads the time-stamp counter. `writes_rcx`: it reads the number
    /// of the processor, too, for which 0 is returned.
    pub fn complete_time_stamp(&mut self, value: u64, len: u64, writes_rcx: bool) {
        self.0[RAX] = value & 0xffff_ffff;
        self.0[RDX] = value >> 32;
        if writes_rcx {
            self.0[RCX] = 0;
        }
        self.0[RIP] = self.0[RIP].wrapping_add(len);
    }

    /// At the start of a system call: removes the trap flag from the copy of the flags that the instruction
    /// `syscall` leaves in r11. The flag is there if the debugger makes the thread execute one instruction, which
    /// no other run of the program does. Returns whether there was one.
    pub fn hide_step(&mut self) -> bool {
        let is_stepped = self.0[R11] & TRAP_FLAG != 0;
        self.0[R11] &= !TRAP_FLAG;
        is_stepped
    }

    /// Executes `popfq`, which takes this word off the stack.
    pub fn pop_flags(&mut self, word: u64) {
        self.0[FLAGS] = word;
        self.0[RSP] = self.0[RSP].wrapping_add(8);
        self.0[RIP] = self.0[RIP].wrapping_add(1);
    }

    /// Returns a digest of all words but the number of the system call, and without what stops of the
    /// debugger leave in the flags.
    pub fn digest(&self) -> u64 {
        let mut hasher = rustc_hash::FxHasher::default();
        for (index, word) in self.0.iter().enumerate() {
            match index {
                ORIG_RAX => {}
                FLAGS => hasher.write_u64(*word & !(TRAP_FLAG | RESUME_FLAG)),
                _ => hasher.write_u64(*word),
            }
        }
        hasher.finish()
    }

    /// Returns whether the program's part of both is the same.
    pub fn is_same_place(&self, other: &Registers) -> bool {
        let mut words = self.0;
        words[ORIG_RAX] = other.0[ORIG_RAX];
        words == other.0
    }

    /// Takes the registers that the arguments of a system call are in from others, which the call
    /// leaves as they are.
    pub fn take_arguments(&mut self, other: &Registers) {
        for index in ARGUMENTS {
            self.0[index] = other.0[index];
        }
    }
}

const _: () = assert!(size_of::<Registers>() == size_of::<libc::user_regs_struct>());
// What the kernel's `syscall` overwrites is what it has written at the stop.
const _: () = assert!(R11 == 6 && FLAGS == 18);
