//! The code that a replay executes at each passage of the place that it searches. It compares registers, and
//! words that were learned from passages that were not the one, and traps if all are equal. It uses no stack:
//! what is below the stack pointer is the program's.

use super::super::registers::{General, Registers};
use super::place::{Half, Other};
use super::site::{Site, TRAP};

/// Room for the code and, behind it, its words.
pub const LEN: u64 = 4 * PAGE;
const PAGE: u64 = 4096;
/// The most code: the start may be anywhere in a page.
const MOST_CODE: usize = (2 * PAGE) as usize;
/// The flags in ax after `lahf` and `seto al`: all arithmetic ones.
const FLAGS: u32 = 0xd501;

/// The code, planted at an address.
pub struct Stub {
    pub start: u64,
    pub code: Vec<u8>,
    /// The address behind the trap, where a passage goes on that was not the one.
    pass: u64,
    /// Where the copies of the instructions of the site begin.
    copies: Vec<u64>,
}

/// Where a thread is in the stub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum In {
    /// It has not changed anything.
    Begin,
    /// Only rax is not the program's.
    Saving,
    /// rax and the flags are not the program's.
    Comparing,
    /// In the copy of an instruction of the site, by its index: at its start.
    Copy(usize),
    /// In the midst of such a copy, or at the jump behind the last.
    Leaving,
}

/// The address of the words of a stub that begins at an address.
pub fn words(start: u64) -> u64 {
    (start & !(PAGE - 1)) + 3 * PAGE
}

struct Assembler {
    code: Vec<u8>,
    /// Displacements of the jumps to the end of the comparison.
    jumps: Vec<usize>,
}

impl Assembler {
    fn add(&mut self, bytes: &[u8]) {
        self.code.extend(bytes);
    }

    /// Compares eax with a number.
    fn is(&mut self, number: u32) {
        self.add(&[0x3d]);
        self.add(&number.to_le_bytes());
        self.unless_equal();
    }

    fn unless_equal(&mut self) {
        self.add(&[0x0f, 0x85, 0, 0, 0, 0]);
        self.jumps.push(self.code.len() - 4);
    }

    /// Compares 32 bits of memory.
    fn word_is(&mut self, addr: u64, number: u32) {
        // mov eax, [addr]
        self.add(&[0xa1]);
        self.add(&addr.to_le_bytes());
        self.is(number);
    }

    /// mov [addr], rax
    fn save(&mut self, addr: u64) {
        self.add(&[0x48, 0xa3]);
        self.add(&addr.to_le_bytes());
    }

    /// mov rax, [addr]
    fn load(&mut self, addr: u64) {
        self.add(&[0x48, 0xa1]);
        self.add(&addr.to_le_bytes());
    }

    fn double_word_is(&mut self, addr: u64, number: u64) {
        self.word_is(addr, number as u32);
        self.word_is(addr + 4, (number >> 32) as u32);
    }

    fn register_is(&mut self, register: General, value: u64) {
        let number = register.number();
        // mov rax, value; cmp rax, register
        self.add(&[0x48, 0xb8]);
        self.add(&value.to_le_bytes());
        let extension = if number >= 8 { 4 } else { 0 };
        self.add(&[0x48 | extension, 0x39, 0xc0 | (number & 7) << 3]);
        self.unless_equal();
    }

    fn vector_is(&mut self, register: u8, half: Half, value: u64, room: u64) {
        let extension = if register >= 8 { 4 } else { 0 };
        let operands = 0xc0 | (register & 7) << 3;
        match half {
            // movq rax, xmm
            Half::Low => self.add(&[0x66, 0x48 | extension, 0x0f, 0x7e, operands]),
            // pextrq rax, xmm, 1
            Half::High => {
                self.add(&[0x66, 0x48 | extension, 0x0f, 0x3a, 0x16, operands, 1]);
            }
        }
        self.save(room);
        self.double_word_is(room, value);
    }
}

impl Stub {
    /// Returns the stub of a site for a start that the site's jump can lead to. `now`: registers at another
    /// passage; those that differ are compared first. `None`: it would be too far away or too long.
    pub fn new(
        site: &Site,
        start: u64,
        wanted: &Registers,
        now: &Registers,
        learned: &[Other],
    ) -> Option<Stub> {
        let (rax, flags, room) = (words(start), words(start) + 8, words(start) + 16);
        let mut code = Assembler {
            code: Vec::new(),
            jumps: Vec::new(),
        };
        code.save(rax);
        // lahf; seto al
        code.add(&[0x9f, 0x0f, 0x90, 0xc0]);
        code.save(flags);
        let all = General::ALL.into_iter();
        let (other, same): (Vec<_>, Vec<_>) =
            all.partition(|it| wanted.general(*it) != now.general(*it));
        for register in other.into_iter().chain(same) {
            match register {
                General::Rax => code.double_word_is(rax, wanted.general(General::Rax)),
                register => code.register_is(register, wanted.general(register)),
            }
        }
        for learned in learned {
            match *learned {
                Other::Word(addr, value) => code.word_is(addr, value),
                Other::Vector(register, half, value) => {
                    code.vector_is(register, half, value, room);
                }
                Other::Register | Other::Else => {}
            }
        }
        // mov eax, [flags]; and eax, FLAGS
        code.add(&[0xa1]);
        code.add(&flags.to_le_bytes());
        code.add(&[0x25]);
        code.add(&FLAGS.to_le_bytes());
        code.is(kept_flags(wanted.flags()));
        code.add(&[TRAP]);
        let pass = start + code.code.len() as u64;
        let end = code.code.len();
        for at in std::mem::take(&mut code.jumps) {
            let distance = (end - at - 4) as u32;
            code.code
                .get_mut(at..at + 4)?
                .copy_from_slice(&distance.to_le_bytes());
        }
        code.load(flags);
        // add al, 0x7f; sahf
        code.add(&[0x04, 0x7f, 0x9e]);
        code.load(rax);
        let at = start + code.code.len() as u64;
        let (copy, starts) = site.copy(at)?;
        code.add(&copy);
        (code.code.len() <= MOST_CODE).then(|| Stub {
            start,
            code: code.code,
            pass,
            copies: starts.into_iter().map(|it| at + it as u64).collect(),
        })
    }

    /// Returns the pc of a passage that has trapped, from which it goes on with any rax and flags.
    pub fn pass(&self) -> u64 {
        self.pass
    }

    /// Returns where in it a thread with this pc is; `None`: it is not in it.
    pub fn at(&self, pc: u64) -> Option<In> {
        const SAVE: u64 = 10;
        const SAVING: u64 = SAVE + 4 + SAVE;
        let offset = pc.wrapping_sub(self.start);
        if offset >= self.code.len() as u64 {
            return None;
        }
        if let Some(nth) = self.copies.iter().position(|start| *start == pc) {
            return Some(In::Copy(nth));
        }
        let first = self.copies.first().copied().unwrap_or(self.start);
        Some(match () {
            () if offset == 0 => In::Begin,
            () if offset < SAVING => In::Saving,
            () if pc < first => In::Comparing,
            () => In::Leaving,
        })
    }
}

/// Returns the arithmetic flags as `lahf` and `seto al` leave them in ax.
fn kept_flags(flags: u64) -> u32 {
    let overflow = flags >> 11 & 1;
    (((flags & 0xd5) << 8) | overflow) as u32
}

/// Returns the flags that a thread has, whose arithmetic ones are kept.
pub fn flags_of(kept: u64, now: u64) -> u64 {
    const ARITHMETIC: u64 = 0x8d5;
    now & !ARITHMETIC | (kept >> 8 & 0xd5) | (kept & 1) << 11
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_kept_and_returned() {
        for flags in [0x202, 0x246, 0xad7, 0x293, 0xa02] {
            let kept = u64::from(kept_flags(flags));
            assert_eq!(flags_of(kept, 0x202 | 0x8d5), flags, "{flags:#x}");
        }
    }
}
