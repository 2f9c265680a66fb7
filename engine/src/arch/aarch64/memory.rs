//! Loads, stores and atomic operations (Arm Architecture Reference Manual for A-profile, C4.1.94).

use super::effects::{Effects, general, vectors};
use super::encoding::{bits, is, register, signed};

/// A memory operand, and the registers that it is exchanged with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryAccess {
    pub base: Base,
    /// The distance of the operand from its base.
    pub offset: i64,
    pub index: Option<Index>,
    /// What is added to the base register as well.
    pub write_back: Option<WriteBack>,
    /// Size in bytes; 0 if it varies.
    pub bytes: u64,
    pub direction: Direction,
    /// Whether it is part of an exclusive sequence (`ldxr`, `stxr`).
    pub is_exclusive: bool,
    /// The registers besides those of the address.
    pub data: Effects,
    /// The general registers that are loaded or stored one after the other, if nothing else is
    /// done with them.
    pub plain: Option<Plain>,
}

/// What an operand's address begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Base {
    /// A register; 31 is the stack pointer.
    Register(u8),
    /// An address at a distance from the instruction.
    Near(i64),
}

/// A register that is added to the base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Index {
    pub register: u8,
    /// `uxtw`, `sxtw`; others use the whole register.
    pub extend: Extend,
    pub shift: u8,
}

/// How a register is extended to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extend {
    Unsigned32,
    Signed32,
    None,
}

/// What is added to a base register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteBack {
    By(i64),
    Register(u8),
}

/// What is done with memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// A prefetch.
    Nothing,
    Load,
    Store,
    /// An atomic operation.
    Both,
}

/// General registers, and the bytes of each in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plain {
    pub registers: [Option<u8>; 2],
    pub bytes: u64,
    /// Whether a loaded value's sign is extended.
    pub is_signed: bool,
}

impl MemoryAccess {
    fn at(base: u8, bytes: u64, direction: Direction) -> Self {
        Self {
            base: Base::Register(base),
            offset: 0,
            index: None,
            write_back: None,
            bytes,
            direction,
            is_exclusive: false,
            data: Effects::NONE,
            plain: None,
        }
    }

    /// Adds registers that are loaded or stored.
    fn with(mut self, registers: u64) -> Self {
        match self.direction {
            Direction::Nothing => {}
            Direction::Load => self.data.writes |= registers,
            Direction::Store => self.data.reads |= registers,
            Direction::Both => {
                self.data.reads |= registers;
                self.data.writes |= registers;
            }
        }
        self
    }

    /// Returns whether it writes memory.
    pub fn writes(&self) -> bool {
        matches!(self.direction, Direction::Store | Direction::Both)
    }

    /// Returns the registers that it reads and writes.
    pub fn effects(&self) -> Effects {
        let mut effects = self.data;
        if let Base::Register(base) = self.base {
            effects.reads |= 1 << base;
            if self.write_back.is_some() {
                effects.writes |= 1 << base;
            }
        }
        if let Some(index) = self.index {
            effects.reads |= general(index.register);
        }
        if let Some(WriteBack::Register(register)) = self.write_back {
            effects.reads |= general(register);
        }
        effects
    }
}

/// Decodes a word of the group of loads and stores; `None` if it is no instruction.
pub fn access(word: u32) -> Option<MemoryAccess> {
    match bits(word, 29, 24) {
        0b001000 => exclusive(word),
        0b001100 | 0b001101 if word >> 31 == 0 => structures(word),
        0b011001 | 0b011101 => recent(word),
        0b011000 | 0b011100 => near(word),
        group if is(group, 0b111010, 0b101000) => pair(word),
        group if is(group, 0b111010, 0b111000) => single(word),
        _ => None,
    }
}

/// Returns the accesses of whole vector and predicate registers of the Scalable Vector Extension;
/// others have no address by registers alone.
pub fn scalable(word: u32) -> Option<MemoryAccess> {
    let direction = match word & 0xffc0_4000 {
        0x8580_0000 | 0x8580_4000 => Direction::Load,
        0xe580_0000 | 0xe580_4000 => Direction::Store,
        _ => return None,
    };
    let access = MemoryAccess::at(register(word, 5), 0, direction);
    let is_vector = bits(word, 14, 14) == 1;
    Some(match is_vector {
        true => access.with(vectors(register(word, 0), 1)),
        false => access,
    })
}

/// Returns the access of `dc zva` or `dc gzva`, which clears the block that its operand is in.
pub fn block(word: u32) -> Option<MemoryAccess> {
    let clears = matches!(word & !0x1f, 0xd50b_7420 | 0xd50b_7480);
    let base = register(word, 0);
    // The zero register is no base: such an instruction faults.
    (clears && base != 31).then(|| MemoryAccess::at(base, 0, Direction::Store))
}

/// Exclusive and ordered accesses, and compare and swap.
fn exclusive(word: u32) -> Option<MemoryAccess> {
    let (size, first, second) = (word >> 30, register(word, 0), register(word, 10));
    let (status, base) = (register(word, 16), register(word, 5));
    let loads = bits(word, 22, 22) == 1;
    let direction = match loads {
        true => Direction::Load,
        false => Direction::Store,
    };
    let bytes = 1 << size;
    let swaps = |count: u8| {
        let pair = |first: u8| general(first) | if count == 2 { general(first + 1) } else { 0 };
        let mut access = MemoryAccess::at(base, bytes, Direction::Both).with(pair(status));
        access.data.reads |= pair(first);
        access
    };
    Some(match (bits(word, 23, 23), bits(word, 21, 21)) {
        (0, 0) => {
            let mut access = MemoryAccess::at(base, bytes, direction).with(general(first));
            access.is_exclusive = true;
            if !loads {
                access.data.writes |= general(status);
            }
            access
        }
        (0, _) if size >= 2 => {
            let registers = general(first) | general(second);
            let mut access = MemoryAccess::at(base, 2 * bytes, direction).with(registers);
            access.is_exclusive = true;
            if !loads {
                access.data.writes |= general(status);
            }
            access
        }
        // `casp` takes pairs that begin with an even number.
        (0, _) => {
            let is_right = second == 31 && first.is_multiple_of(2) && status.is_multiple_of(2);
            let mut access = is_right.then(|| swaps(2))?;
            access.bytes = 8 << size;
            access
        }
        (_, 0) => {
            let mut access = MemoryAccess::at(base, bytes, direction).with(general(first));
            access.plain = Some(Plain {
                registers: [Some(first), None],
                bytes,
                is_signed: false,
            });
            access
        }
        _ => (second == 31).then(|| swaps(1))?,
    })
}

/// Structures of vectors.
fn structures(word: u32) -> Option<MemoryAccess> {
    let (size, is_full) = (bits(word, 11, 10), bits(word, 30, 30));
    let steps = bits(word, 23, 23) == 1;
    let loads = bits(word, 22, 22) == 1;
    let (count, bytes) = if bits(word, 24, 24) == 0 {
        if bits(word, 21, 21) != 0 {
            return None;
        }
        let (count, interleaves) = match bits(word, 15, 12) {
            0b0000 => (4, true),
            0b0010 => (4, false),
            0b0100 => (3, true),
            0b0110 => (3, false),
            0b0111 => (1, false),
            0b1000 => (2, true),
            0b1010 => (2, false),
            _ => return None,
        };
        if interleaves && size == 3 && is_full == 0 {
            return None;
        }
        (count, u64::from(count) * (8 << is_full))
    } else {
        let count = 1 + bits(word, 21, 21) + 2 * bits(word, 13, 13);
        let (upper, half) = (bits(word, 12, 12), size & 1);
        let element = match bits(word, 15, 14) {
            0 => 1,
            1 if half == 0 => 2,
            2 if size == 0 => 4,
            2 if size == 1 && upper == 0 => 8,
            3 if loads && upper == 0 => 1 << size,
            _ => return None,
        };
        (count, u64::from(count) * element)
    };
    let step = register(word, 16);
    if !steps && step != 0 && !(bits(word, 24, 24) == 1 && step & 0x1f == 0) {
        return None;
    }
    let direction = match loads {
        true => Direction::Load,
        false => Direction::Store,
    };
    let mut access = MemoryAccess::at(register(word, 5), bytes, direction)
        .with(vectors(register(word, 0), count as u8));
    access.write_back = steps.then_some(match step {
        31 => WriteBack::By(bytes as i64),
        _ => WriteBack::Register(step),
    });
    Some(access)
}

/// Accesses that came with later versions: ordered ones with an offset, tags, pairs that are
/// swapped, copies of memory.
fn recent(word: u32) -> Option<MemoryAccess> {
    let (size, base, first) = (word >> 30, register(word, 5), register(word, 0));
    let is_vector = bits(word, 26, 26) == 1;
    let (low, operation) = (bits(word, 11, 10), bits(word, 23, 22));
    let near = |direction, bytes| {
        let mut access = MemoryAccess::at(base, bytes, direction);
        access.offset = signed(word, 20, 12);
        access
    };
    if bits(word, 21, 21) == 1 {
        // Tags; the values are not in memory that the address is of.
        if size == 3 && !is_vector {
            let (granules, mut offset) = (1 + u64::from(bits(word, 23, 23)), signed(word, 20, 12));
            offset <<= 4;
            let (mut access, is_store) = match (operation, low) {
                (_, 1..=3) => (MemoryAccess::at(base, 0, Direction::Nothing), true),
                (1, 0) => (MemoryAccess::at(base, 0, Direction::Nothing), false),
                _ if offset == 0 => (
                    MemoryAccess::at(base, 0, Direction::Nothing),
                    operation != 3,
                ),
                _ => return None,
            };
            match low {
                0 => {}
                1 => access.write_back = Some(WriteBack::By(offset)),
                3 => {
                    access.offset = offset;
                    access.write_back = Some(WriteBack::By(offset));
                }
                _ => access.offset = offset,
            }
            match is_store {
                true => access.data.reads |= general(first),
                false => access.data.writes |= general(first),
            }
            // `stzg`, `stz2g`
            if low != 0 && operation & 1 == 1 {
                access.direction = Direction::Store;
                access.bytes = 16 * granules;
            }
            return Some(access);
        }
        // Pairs that are swapped.
        let is_pair = size == 0 && low == 0 && !is_vector;
        let operation = bits(word, 15, 12);
        return (is_pair && matches!(operation, 1 | 3 | 8)).then(|| {
            let pair = general(first) | general(register(word, 16));
            MemoryAccess::at(base, 16, Direction::Both).with(pair)
        });
    }
    match (is_vector, low) {
        // `stlur`, `ldapur`
        (false, 0) => {
            let (direction, bytes) = match (operation, size) {
                (0, _) => (Direction::Store, 1 << size),
                (1, _) | (2, 0..=2) | (3, 0..=1) => (Direction::Load, 1 << size),
                _ => return None,
            };
            let mut access = near(direction, bytes).with(general(first));
            access.plain = Some(Plain {
                registers: [Some(first), None],
                bytes,
                is_signed: operation > 1,
            });
            Some(access)
        }
        // `cpy`, `set`: what remains to do is in registers.
        (_, 1) => {
            let last = register(word, 16);
            let mut access = MemoryAccess::at(first, 0, Direction::Both);
            access.data.reads = general(first) | general(base) | general(last);
            access.data.writes = access.data.reads;
            Some(access)
        }
        // Ordered pairs, and those that step.
        (false, 2) if size >= 2 => {
            let direction = match operation & 1 {
                1 => Direction::Load,
                _ => Direction::Store,
            };
            Some(MemoryAccess::at(base, 0, direction).with(general(first)))
        }
        // `stlur`, `ldapur` of vectors
        (true, 2) => {
            let bytes = match (operation >> 1, size) {
                (0, size) => 1 << size,
                (_, 0) => 16,
                _ => return None,
            };
            let direction = match operation & 1 {
                1 => Direction::Load,
                _ => Direction::Store,
            };
            Some(near(direction, bytes).with(vectors(first, 1)))
        }
        _ => None,
    }
}

/// Loads of what is near the instruction.
fn near(word: u32) -> Option<MemoryAccess> {
    let (size, to) = (word >> 30, register(word, 0));
    let is_vector = bits(word, 26, 26) == 1;
    let (bytes, direction) = match (is_vector, size) {
        (false, 0) => (4, Direction::Load),
        (false, 1) => (8, Direction::Load),
        (false, 2) => (4, Direction::Load),
        (false, _) => (0, Direction::Nothing),
        (true, 3) => return None,
        (true, size) => (4 << size, Direction::Load),
    };
    let registers = match is_vector {
        true => vectors(to, 1),
        false => general(to),
    };
    let mut access = MemoryAccess::at(0, bytes, direction).with(registers);
    access.base = Base::Near(signed(word, 23, 5) << 2);
    access.plain = (!is_vector && direction == Direction::Load).then_some(Plain {
        registers: [Some(to), None],
        bytes,
        is_signed: size == 2,
    });
    Some(access)
}

/// Pairs of registers.
fn pair(word: u32) -> Option<MemoryAccess> {
    let (size, is_vector) = (word >> 30, bits(word, 26, 26) == 1);
    let loads = bits(word, 22, 22) == 1;
    let mode = bits(word, 24, 23);
    let (first, second) = (register(word, 0), register(word, 10));
    // Size 1 of general registers: `ldpsw`, `stgp`, of which none is without temporal hint.
    let (bytes, scale) = match (is_vector, size) {
        (_, 3) => return None,
        (true, size) => (4 << size, 4 << size),
        (false, 1) if mode == 0 => return None,
        (false, 1) if loads => (4, 4),
        (false, 1) => (8, 16),
        (false, size) => (4 << (size / 2), 4 << (size / 2)),
    };
    let direction = match loads {
        true => Direction::Load,
        false => Direction::Store,
    };
    let registers = match is_vector {
        true => vectors(first, 1) | vectors(second, 1),
        false => general(first) | general(second),
    };
    let by = signed(word, 21, 15) * scale;
    let mut access = MemoryAccess::at(register(word, 5), 2 * bytes, direction).with(registers);
    if mode != 1 {
        access.offset = by;
    }
    access.write_back = matches!(mode, 1 | 3).then_some(WriteBack::By(by));
    access.plain = (!is_vector).then_some(Plain {
        registers: [Some(first), Some(second)],
        bytes,
        is_signed: size == 1 && loads,
    });
    Some(access)
}

/// One register, and atomic operations.
fn single(word: u32) -> Option<MemoryAccess> {
    let (size, is_vector) = (word >> 30, bits(word, 26, 26) == 1);
    let operation = bits(word, 23, 22);
    let (first, base) = (register(word, 0), register(word, 5));
    let has_offset = bits(word, 24, 24) == 1;
    let (is_long, low) = (bits(word, 21, 21) == 1, bits(word, 11, 10));
    if !has_offset && is_long && low != 2 {
        return match (is_vector, low) {
            (false, 0) => atomic(word),
            // `ldraa`, `ldrab`
            (false, _) if size == 3 => {
                let mut access = MemoryAccess::at(base, 8, Direction::Load).with(general(first));
                access.offset = (signed(word, 22, 22) << 9 | i64::from(bits(word, 20, 12))) << 3;
                access.write_back = (low == 3).then_some(WriteBack::By(access.offset));
                Some(access)
            }
            _ => None,
        };
    }
    let (bytes, direction, is_signed) = match (is_vector, operation, size) {
        (true, 0, _) => (1 << size, Direction::Store, false),
        (true, 1, _) => (1 << size, Direction::Load, false),
        (true, 2, 0) => (16, Direction::Store, false),
        (true, 3, 0) => (16, Direction::Load, false),
        (false, 0, _) => (1 << size, Direction::Store, false),
        (false, 1, _) => (1 << size, Direction::Load, false),
        (false, 2, 3) => (0, Direction::Nothing, false),
        (false, 2, _) | (false, 3, 0 | 1) => (1 << size, Direction::Load, true),
        _ => return None,
    };
    let registers = match is_vector {
        true => vectors(first, 1),
        false => general(first),
    };
    let mut access = MemoryAccess::at(base, bytes, direction).with(registers);
    access.plain = (!is_vector && direction != Direction::Nothing).then_some(Plain {
        registers: [Some(first), None],
        bytes,
        is_signed,
    });
    let scale = match is_vector && operation > 1 {
        true => 4,
        false => size,
    };
    if has_offset {
        access.offset = i64::from(bits(word, 21, 10)) << scale;
        return Some(access);
    }
    if is_long {
        let extend = match bits(word, 15, 13) {
            0b010 => Extend::Unsigned32,
            0b110 => Extend::Signed32,
            0b011 | 0b111 => Extend::None,
            _ => return None,
        };
        access.index = Some(Index {
            register: register(word, 16),
            extend,
            shift: (bits(word, 12, 12) * scale) as u8,
        });
        return Some(access);
    }
    let by = signed(word, 20, 12);
    let is_prefetch = direction == Direction::Nothing;
    match low {
        0 => access.offset = by,
        1 if !is_prefetch => access.write_back = Some(WriteBack::By(by)),
        // Unprivileged
        2 if !is_prefetch && !is_vector => access.offset = by,
        3 if !is_prefetch => {
            access.offset = by;
            access.write_back = Some(WriteBack::By(by));
        }
        _ => return None,
    }
    Some(access)
}

/// Atomic operations, `ldapr`, and accesses of 64 bytes.
fn atomic(word: u32) -> Option<MemoryAccess> {
    let (size, base) = (word >> 30, register(word, 5));
    let (source, to) = (general(register(word, 16)), general(register(word, 0)));
    let bytes = 1 << size;
    let ordering = bits(word, 23, 22);
    let block = |direction| {
        let first = register(word, 0);
        let all = (0..8).fold(0, |all, nth| all | general((first + nth).min(31)));
        MemoryAccess::at(base, 64, direction).with(all)
    };
    Some(match (bits(word, 15, 12), ordering) {
        (0b0000..=0b1000, _) => {
            let mut access = MemoryAccess::at(base, bytes, Direction::Both);
            access.data = Effects {
                reads: source,
                writes: to,
            };
            access
        }
        // `ldapr`
        (0b1100, 0b10) => {
            let mut access = MemoryAccess::at(base, bytes, Direction::Load).with(to);
            access.plain = Some(Plain {
                registers: [Some(register(word, 0)), None],
                bytes,
                is_signed: false,
            });
            access
        }
        (0b1101, 0) if size == 3 => block(Direction::Load),
        (0b1001, 0) if size == 3 => block(Direction::Store),
        (0b1010 | 0b1011, 0) if size == 3 => {
            let mut access = block(Direction::Store);
            access.data.writes |= source;
            access
        }
        _ => return None,
    })
}
