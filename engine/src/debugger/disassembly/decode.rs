//! Decodes memory into instructions, forwards and backwards. The start of a preceding instruction
//! is found only by decoding from an earlier known start.

use crate::arch::{Arch, Decoder, Instruction, MAX_INSTRUCTION_BYTES};
use crate::debugger::Debugger;
use dwarf::{AddrRange, LoadAddr};

/// Maximum distance in bytes from a function's start to an address that is decoded from there.
const FAR: u64 = 1 << 16;
const PAGE: u64 = 4096;

/// An instruction of a disassembly, or bytes that are none.
pub struct Row {
    pub addr: LoadAddr,
    /// Empty if the memory is unreadable.
    pub bytes: Vec<u8>,
    pub kind: RowKind,
}

// Nearly all rows are the large variant.
#[allow(clippy::large_enum_variant)]
pub enum RowKind {
    Instruction(Instruction),
    /// Bytes that are not an instruction.
    Bad,
    Unreadable,
}

impl Row {
    pub fn end(&self) -> LoadAddr {
        self.addr + self.bytes.len().max(1) as u64
    }

    fn unreadable(addr: LoadAddr) -> Self {
        Row {
            addr,
            bytes: Vec::new(),
            kind: RowKind::Unreadable,
        }
    }
}

impl Debugger {
    /// Returns `count` rows from an address on.
    pub(super) fn rows_from(&self, addr: LoadAddr, count: usize) -> Vec<Row> {
        if count == 0 {
            return Vec::new();
        }
        let bytes = self
            .read_memory(addr, count * MAX_INSTRUCTION_BYTES)
            .unwrap_or_default();
        let end = addr + bytes.len() as u64;
        let stops = self.starts_in(addr, end);
        let mut rows = decoded(self.arch(), &bytes, addr, &stops, count);
        let mut next = rows.last().map_or(addr, Row::end);
        while rows.len() < count {
            rows.push(Row::unreadable(next));
            next = next + 1;
        }
        rows
    }

    /// Returns the rows of all code in a range.
    pub(super) fn rows_in(&self, range: AddrRange<LoadAddr>) -> Vec<Row> {
        let len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
        let bytes = self.read_memory(range.start, len).unwrap_or_default();
        let stops = self.starts_in(range.start, range.end);
        decoded(self.arch(), &bytes, range.start, &stops, usize::MAX)
    }

    /// Returns `count` rows that end at an address.
    pub(super) fn rows_before(&self, addr: LoadAddr, count: usize) -> Vec<Row> {
        if count == 0 {
            return Vec::new();
        }
        let longest = (count * MAX_INSTRUCTION_BYTES) as u64;
        let low = LoadAddr(addr.0.saturating_sub(longest));
        // Some more bytes, so that a guessed start can resynchronize.
        let low = self.code_start(low).unwrap_or(low - low.0.min(64));
        let (start, bytes) = self.read_before(low, addr);
        let mut stops = self.starts_in(start, addr);
        stops.push(addr);
        let known = self.code_start(start) == Some(start);
        let first = match known {
            true => start,
            false => guessed_start(self.arch(), &bytes, start, stops[0]),
        };
        let skipped = (first - start) as usize;
        let mut rows = decoded(self.arch(), &bytes[skipped..], first, &stops, usize::MAX);
        if rows.len() > count {
            rows.drain(..rows.len() - count);
        }
        let missing = count - rows.len();
        let top = rows.first().map_or(addr, |row| row.addr);
        let padding = (1..=missing as u64).rev();
        let padding = padding.map(|back| Row::unreadable(LoadAddr(top.0.saturating_sub(back))));
        padding.chain(rows).collect()
    }

    fn arch(&self) -> Arch {
        self.images.modules.arch()
    }

    /// Returns the start of the function, or other piece of code, that contains an address.
    fn code_start(&self, addr: LoadAddr) -> Option<LoadAddr> {
        let loaded = self.images.modules.at(addr)?;
        let (range, _) = loaded.module.code_at(loaded.bias.file(addr))?;
        let start = loaded.bias.load(range.start);
        (addr - start <= FAR).then_some(start)
    }

    /// Returns the known starts of instructions in all modules.
    fn starts_in(&self, start: LoadAddr, end: LoadAddr) -> Vec<LoadAddr> {
        let mut starts = Vec::new();
        let in_range = |range: &AddrRange<LoadAddr>| range.start < end && start < range.end;
        for loaded in self
            .images
            .modules
            .loaded
            .iter()
            .filter(|it| in_range(&it.range))
        {
            let (from, to) = (start.max(loaded.range.start), end.min(loaded.range.end));
            let range = AddrRange::new(loaded.bias.file(from), loaded.bias.file(to));
            let found = loaded.module.instruction_starts(range).into_iter();
            starts.extend(found.map(|addr| loaded.bias.load(addr)));
        }
        starts.sort_unstable();
        starts
    }

    /// Returns the readable memory directly before `end`, at most from `low` on.
    fn read_before(&self, low: LoadAddr, end: LoadAddr) -> (LoadAddr, Vec<u8>) {
        let len = |from: LoadAddr| (end - from) as usize;
        if let Ok(bytes) = self.read_memory(low, len(low))
            && bytes.len() == len(low)
        {
            return (low, bytes);
        }
        let mut start = end;
        while start > low {
            let page = LoadAddr((start.0 - 1) & !(PAGE - 1)).max(low);
            let room = (start - page) as usize;
            if self.read_memory(page, room).map_or(0, |it| it.len()) < room {
                break;
            }
            start = page;
        }
        let bytes = match len(start) {
            0 => Vec::new(),
            len => self.read_memory(start, len).unwrap_or_default(),
        };
        match bytes.len() == len(start) {
            true => (start, bytes),
            // It was unmapped in between.
            false => (end, Vec::new()),
        }
    }
}

/// Decodes at most `count` rows. An instruction ends at the latest at the next of the `stops` (in
/// order), where another one is known to begin.
fn decoded(
    arch: Arch,
    bytes: &[u8],
    start: LoadAddr,
    stops: &[LoadAddr],
    count: usize,
) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut stops = stops.iter().copied().peekable();
    let mut decoder = arch.decoder(bytes, start);
    let mut at = 0;
    while at < bytes.len() && rows.len() < count {
        let addr = start + at as u64;
        while stops.next_if(|stop| *stop <= addr).is_some() {}
        let instruction = decode_at(&mut decoder, at);
        let room = stops
            .peek()
            .map_or(MAX_INSTRUCTION_BYTES as u64, |stop| *stop - addr);
        let len = match instruction {
            Some(instruction) if instruction.len() as u64 <= room => {
                rows.push(Row {
                    addr,
                    bytes: bytes[at..at + instruction.len()].to_vec(),
                    kind: RowKind::Instruction(instruction),
                });
                at += instruction.len();
                continue;
            }
            // Bytes before the known start are data or padding.
            Some(_) => room as usize,
            None => to_next(arch, addr).min(bytes.len() - at),
        };
        rows.push(Row {
            addr,
            bytes: bytes[at..at + len].to_vec(),
            kind: RowKind::Bad,
        });
        at += len;
    }
    rows
}

fn decode_at(decoder: &mut Decoder<'_>, at: usize) -> Option<Instruction> {
    decoder.at(at)?.ok()
}

/// Returns the number of bytes to the next address where an instruction may begin.
fn to_next(arch: Arch, addr: LoadAddr) -> usize {
    arch.alignment() - (addr.0 as usize) % arch.alignment()
}

/// Guesses where to begin decoding so that an instruction begins at `stop`. Decoding resynchronizes
/// after a few instructions: of the starts that arrive at `stop`, takes the one with the fewest
/// invalid bytes.
fn guessed_start(arch: Arch, bytes: &[u8], start: LoadAddr, stop: LoadAddr) -> LoadAddr {
    let len = ((stop - start) as usize).min(bytes.len());
    let bytes = &bytes[..len];
    let mistakes = |skip: usize| {
        let mut decoder = arch.decoder(bytes, start);
        let (mut at, mut bad, mut missed) = (skip, 0, false);
        while at < len {
            let instruction = decode_at(&mut decoder, at);
            missed = instruction.is_none();
            bad += usize::from(missed);
            at += match instruction {
                Some(instruction) => instruction.len(),
                None => to_next(arch, start + at as u64),
            };
        }
        (missed, bad)
    };
    let first = to_next(arch, start) % arch.alignment();
    let skips = (first..MAX_INSTRUCTION_BYTES.min(len.max(1))).step_by(arch.alignment());
    let best = skips.min_by_key(|skip| (mistakes(*skip), *skip));
    start + best.unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[Row]) -> Vec<(u64, usize, bool)> {
        let shown = |row: &Row| {
            let valid = matches!(row.kind, RowKind::Instruction(_));
            (row.addr.0, row.bytes.len(), valid)
        };
        rows.iter().map(shown).collect()
    }

    #[test]
    fn known_start_truncates_an_overlapping_row() {
        // An odd number of padding zeros (add %al, (%rax)); then push %rbp; mov %rsp, %rbp.
        let bytes = [0, 0, 0, 0x55, 0x48, 0x89, 0xe5];
        let rows = decoded(
            Arch::X86_64,
            &bytes,
            LoadAddr(0x10),
            &[LoadAddr(0x13)],
            usize::MAX,
        );
        let expected = [
            (0x10, 2, true),
            (0x12, 1, false),
            (0x13, 1, true),
            (0x14, 3, true),
        ];
        assert_eq!(shown(&rows), expected);
    }

    #[test]
    fn invalid_bytes_have_rows_of_their_own() {
        // (bad), nop, and a truncated instruction: call.
        let bytes = [0x06, 0x90, 0xe8, 0, 0];
        let rows = decoded(Arch::X86_64, &bytes, LoadAddr(0), &[], usize::MAX);
        let expected = [(0, 1, false), (1, 1, true), (2, 1, false), (3, 2, true)];
        assert_eq!(shown(&rows), expected);
        assert_eq!(
            decoded(Arch::X86_64, &[0x90; 9], LoadAddr(0), &[], 4).len(),
            4
        );
    }

    #[test]
    fn unknown_code_is_decoded_in_step() {
        // movabs $0x0606060606060606, %rax, four times: only one start is sensible.
        let one = [0x48, 0xb8, 6, 6, 6, 6, 6, 6, 6, 6];
        let mut bytes = vec![6, 6, 6];
        bytes.extend(one.repeat(4));
        let stop = LoadAddr(0x100 + bytes.len() as u64);
        let start = guessed_start(Arch::X86_64, &bytes, LoadAddr(0x100), stop);
        assert_eq!(start, LoadAddr(0x103));
        assert_eq!(
            guessed_start(Arch::X86_64, &[], LoadAddr(5), LoadAddr(5)),
            LoadAddr(5)
        );
        // Two zeros are one instruction: odd starts do not arrive.
        let mut bytes = vec![0; 40];
        bytes[1..3].fill(6);
        let start = guessed_start(Arch::X86_64, &bytes, LoadAddr(0x100), LoadAddr(0x128));
        assert_eq!(start.0 % 2, 0);
    }

    #[test]
    fn instructions_of_a_fixed_length_stay_aligned() {
        use crate::arch::fixed::{NOP, RETURN, to};
        // nop; no instruction; return; half of one
        let bytes = [to(NOP, 0), [0xff; 4], to(RETURN, 0)].concat();
        let bytes = [&bytes[..], &[1, 2]].concat();
        let rows = decoded(Arch::Fixed, &bytes, LoadAddr(0x100), &[], usize::MAX);
        let expected = [
            (0x100, 4, true),
            (0x104, 4, false),
            (0x108, 4, true),
            (0x10c, 2, false),
        ];
        assert_eq!(shown(&rows), expected);
        // A known start between two instructions.
        let rows = decoded(Arch::Fixed, &bytes, LoadAddr(0x100), &[LoadAddr(0x102)], 2);
        assert_eq!(shown(&rows)[0], (0x100, 2, false));
        let bytes = [[0xff; 4], to(NOP, 0), to(RETURN, 0)].concat();
        let start = guessed_start(Arch::Fixed, &bytes[1..], LoadAddr(0x101), LoadAddr(0x10c));
        assert_eq!(start, LoadAddr(0x104));
    }
}
