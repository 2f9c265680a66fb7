//! This processor, in a child process: states, and what instructions make of them.

use crate::arch::RegisterFile;
use crate::os::own_child::{Area, OwnChild, UseAs};
use dwarf::{LoadAddr, Memory, Register, Unreadable};

pub const CODE: u64 = 0x2000_0000;
pub const CODE_LEN: usize = 0x1_0000;
pub const SITE: u64 = CODE + 0x4000;
/// The copies: near, where literals are in reach, and far away.
const NEAR: u64 = CODE + 0x8000;
const ABOVE: u64 = CODE + (100 << 20);
const BELOW: u64 = CODE - (100 << 20);
pub const PADS: [u64; 3] = [NEAR, ABOVE, BELOW];
/// What instructions load and store.
pub const DATA: u64 = CODE + CODE_LEN as u64;
pub const DATA_LEN: usize = 0x1_2000;
/// Where most pointers point to; offsets reach 64 KiB ahead.
pub const MIDDLE: u64 = DATA + 0x1000;

pub const TRAP: u32 = 0xd420_0000;
/// The kernel's register sets.
const GENERAL: i32 = 1;
const VECTORS: i32 = 2;
const SCALABLE: i32 = 0x405;
const VECTORS_LEN: usize = 528;

/// Bits of the pstate that instructions of programs change: the flags, TCO, DIT, SSBS and BTYPE.
pub const PSTATE: u64 = 0xf << 28 | 1 << 25 | 1 << 24 | 1 << 12 | 0b11 << 10;
pub const BRANCH_TYPE: u64 = 0b11 << 10;
pub const BY_JUMP: u64 = 0b01 << 10;
pub const BY_CALL: u64 = 0b10 << 10;

pub const SIGTRAP: i32 = 5;
pub const SIGILL: i32 = 4;

/// xorshift64: the same cases in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 8) % end
    }

    /// A value as programs have it.
    pub fn value(&mut self) -> u64 {
        match self.below(8) {
            0 => 0,
            1 => u64::MAX,
            2 => self.below(64),
            3 => 1 << self.below(64),
            4 => self.next() | 1 << 31,
            5 => self.next() & 0xffff_ffff,
            6 => (self.next() as i32 as i64) as u64,
            _ => self.next(),
        }
    }

    pub fn pointer(&mut self) -> u64 {
        MIDDLE + 16 * self.below(64)
    }
}

/// The general registers as the kernel has them: x0 to x30, sp, pc, pstate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct General(pub [u64; 34]);

pub const SP: usize = 31;
pub const PC: usize = 32;
pub const FLAGS: usize = 33;

impl General {
    fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|it| it.to_le_bytes()).collect()
    }
}

impl RegisterFile for General {
    fn get(&self, register: Register) -> Option<u64> {
        self.0.get(usize::from(register.0)).copied()
    }

    fn set(&mut self, register: Register, value: u64) -> bool {
        let place = self.0.get_mut(usize::from(register.0));
        place.map(|place| *place = value).is_some()
    }

    fn sp(&self) -> u64 {
        self.0[SP]
    }

    fn set_sp(&mut self, sp: u64) {
        self.0[SP] = sp;
    }

    fn set_pc(&mut self, pc: LoadAddr) {
        self.0[PC] = pc.0;
    }
}

/// All that instructions see and change.
#[derive(Clone, PartialEq)]
pub struct State {
    pub general: General,
    /// In the kernel's form, of the larger set that this machine has.
    pub vectors: Vec<u8>,
    pub data: Vec<u8>,
}

impl Memory for State {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        let from = addr.0.wrapping_sub(DATA) as usize;
        let end = from.checked_add(len);
        let bytes = end.and_then(|end| self.data.get(from..end));
        buffer.copy_from_slice(bytes.ok_or(Unreadable { addr, len })?);
        Ok(())
    }
}

/// A state and how it came about.
pub struct Outcome {
    pub state: State,
    pub signal: i32,
}

pub struct Processor {
    pub child: OwnChild,
    /// Length of vectors in bytes, if they are scalable.
    scalable: Option<usize>,
    vectors_len: usize,
    /// What the child's data is.
    pub data: Vec<u8>,
}

impl Processor {
    pub fn new() -> Self {
        let code = |start| Area {
            start,
            len: CODE_LEN,
            use_as: UseAs::Code,
        };
        let data = Area {
            start: DATA,
            len: DATA_LEN,
            use_as: UseAs::Data,
        };
        let child = OwnChild::with(&[code(CODE), code(ABOVE), code(BELOW), data]);
        let mut all = vec![0; 0x1_0000];
        let len = child.registers(SCALABLE, &mut all);
        let scalable = len.map(|_| usize::from(u16::from_le_bytes([all[8], all[9]])));
        let traps: Vec<u8> = TRAP.to_le_bytes().repeat(CODE_LEN / 4);
        for start in [CODE, ABOVE, BELOW] {
            child.write(start, &traps);
        }
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let data = (0..DATA_LEN / 8).flat_map(|_| random.next().to_le_bytes());
        let data: Vec<u8> = data.collect();
        child.write(DATA, &data);
        let vectors_len = match scalable {
            // A header, z0 to z31, p0 to p15, ffr, fpsr, fpcr.
            Some(len) => (16 + 34 * len + len / 8).next_multiple_of(16) + 16,
            None => VECTORS_LEN,
        };
        Processor {
            child,
            scalable,
            vectors_len,
            data,
        }
    }

    /// Returns what the child's data is now.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    fn set(&self) -> i32 {
        match self.scalable {
            Some(_) => SCALABLE,
            None => VECTORS,
        }
    }

    /// Returns vectors with values that are numbers of all types now and then.
    pub fn vectors(&self, random: &mut Random) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::with_capacity(self.vectors_len);
        while bytes.len() < self.vectors_len {
            let word = match random.below(3) {
                0 => (random.below(2000) as f64 - 1000.5).to_bits(),
                1 => u64::from((random.below(200) as f32 - 99.25).to_bits()) * 0x1_0000_0001,
                _ => random.next(),
            };
            bytes.extend(word.to_le_bytes());
        }
        bytes.truncate(self.vectors_len);
        let Some(len) = self.scalable else {
            // fpsr, fpcr
            bytes[512..].fill(0);
            return bytes;
        };
        let word = |number: usize| (number as u32).to_le_bytes();
        bytes[..4].copy_from_slice(&word(self.vectors_len));
        bytes[4..8].copy_from_slice(&word(self.vectors_len));
        // Length now and at most; with all of the vectors.
        bytes[8..12].copy_from_slice(&word(len | len << 16));
        bytes[12..16].copy_from_slice(&word(1));
        // Of ffr only some values are possible.
        let ffr = 16 + 32 * len + 2 * len;
        bytes[ffr..ffr + len / 8].fill(0xff);
        bytes[ffr + len / 8..].fill(0);
        bytes
    }

    /// Returns the bytes of a vector register in a state's vectors.
    pub fn vector<'a>(&self, vectors: &'a [u8], number: usize) -> &'a [u8] {
        let (from, len) = match self.scalable {
            Some(len) => (16 + number * len, len),
            None => (16 * number, 16),
        };
        &vectors[from..][..len]
    }

    /// Sets the low bytes of a vector register in a state's vectors.
    pub fn set_vector(&self, vectors: &mut [u8], number: usize, low: &[u8; 16]) {
        let from = match self.scalable {
            Some(len) => 16 + number * len,
            None => 16 * number,
        };
        vectors[from..from + 16].copy_from_slice(low);
    }

    /// Clears what scalable vectors have more than others.
    pub fn clear_upper_parts(&self, vectors: &mut [u8]) {
        let Some(len) = self.scalable else { return };
        for vector in vectors[16..][..32 * len].chunks_mut(len) {
            vector[16..].fill(0);
        }
    }

    /// Sets the status and the control register of floating-point arithmetic.
    pub fn set_float_state(&self, vectors: &mut [u8], status: u32, control: u32) {
        let from = match self.scalable {
            Some(_) => self.vectors_len - 16,
            None => 512,
        };
        vectors[from..from + 4].copy_from_slice(&status.to_le_bytes());
        vectors[from + 4..from + 8].copy_from_slice(&control.to_le_bytes());
    }

    /// Continues elsewhere, with all other registers as they are.
    pub fn go_to(&self, pc: u64) {
        let mut general = self.general();
        general.0[PC] = pc;
        self.child.set_registers(GENERAL, &general.bytes());
    }

    pub fn put(&mut self, state: &State) {
        self.child.set_registers(GENERAL, &state.general.bytes());
        self.child.set_registers(self.set(), &state.vectors);
        if self.data != state.data {
            self.child.write(DATA, &state.data);
            self.data.clone_from(&state.data);
        }
    }

    pub fn pc(&self) -> u64 {
        self.general().0[PC]
    }

    fn general(&self) -> General {
        let mut bytes = [0; 34 * 8];
        self.child.registers(GENERAL, &mut bytes);
        let words = bytes.as_chunks::<8>().0.iter();
        let mut general = General([0; 34]);
        for (place, word) in general.0.iter_mut().zip(words) {
            *place = u64::from_le_bytes(*word);
        }
        general
    }

    pub fn outcome(&mut self, signal: i32) -> Outcome {
        let mut general = self.general();
        general.0[FLAGS] &= PSTATE;
        let mut vectors = vec![0; self.vectors_len];
        let len = self.child.registers(self.set(), &mut vectors);
        assert!(len.is_some());
        self.child.read(DATA, &mut self.data);
        Outcome {
            state: State {
                general,
                vectors,
                data: self.data.clone(),
            },
            signal,
        }
    }

    pub fn write_words(&self, addr: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|it| it.to_le_bytes()).collect();
        self.child.write(addr, &bytes);
    }

    /// Executes the instruction at the site.
    pub fn original(&mut self, word: u32, before: &State) -> Outcome {
        self.write_words(SITE, &[word]);
        let mut state = before.clone();
        state.general.0[PC] = SITE;
        self.put(&state);
        let signal = self.child.step();
        self.outcome(signal.0)
    }

    /// Executes a copy of it, until that is left.
    pub fn copy(&mut self, code: &[u8], pad: u64, before: &State) -> Outcome {
        self.child.write(pad, code);
        let mut state = before.clone();
        state.general.0[PC] = pad;
        self.put(&state);
        for _ in 0..=code.len() / 4 {
            let signal = self.child.step();
            let is_inside = self.pc().wrapping_sub(pad) < code.len() as u64;
            if !is_inside || signal.0 != SIGTRAP {
                return self.outcome(signal.0);
            }
        }
        panic!("a copy ends");
    }
}

/// What differs between two states.
pub fn difference(left: &State, right: &State) -> Option<String> {
    let mut all = Vec::new();
    for (number, (left, right)) in left.general.0.iter().zip(right.general.0).enumerate() {
        if *left != right {
            let name = match number {
                SP => "sp".to_owned(),
                PC => "pc".to_owned(),
                FLAGS => "pstate".to_owned(),
                number => format!("x{number}"),
            };
            all.push(format!("{name}: {left:#x} {right:#x}"));
        }
    }
    let first = |left: &[u8], right: &[u8]| left.iter().zip(right).position(|(l, r)| l != r);
    if let Some(at) = first(&left.vectors, &right.vectors) {
        all.push(format!("vectors from byte {at}"));
    }
    if let Some(at) = first(&left.data, &right.data) {
        all.push(format!("data from byte {at:#x}"));
    }
    (!all.is_empty()).then(|| all.join(", "))
}
