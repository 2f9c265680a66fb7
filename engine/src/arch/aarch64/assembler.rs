//! An assembler for the code that conditions are compiled to, and for what leads to it.
//!
//! Operands are those that an instruction can encode; where that depends on a number, the method
//! says whether it was encoded.

/// A general-purpose register; 31 is the stack pointer, or zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct X(pub u8);

/// A vector register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct V(pub u8);

/// As a base, or an operand of an addition of a number.
pub(crate) const SP: X = X(31);
/// As any other operand.
pub(crate) const ZERO: X = X(31);

/// A condition on the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flag {
    Equal = 0,
    NotEqual = 1,
    /// Unsigned, or the carry is set.
    AtLeast = 2,
    /// Unsigned, or the carry is clear.
    Below = 3,
    /// Less, of floats.
    Negative = 4,
    Overflow = 6,
    /// Unsigned.
    Above = 8,
    /// Unsigned; of floats.
    AtMost = 9,
    SignedAtLeast = 10,
    SignedBelow = 11,
    SignedAbove = 12,
    SignedAtMost = 13,
}

/// The size of a number in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Size {
    /// 1, 2, 4 or 8.
    pub bytes: u8,
    pub is_signed: bool,
}

impl Size {
    pub(crate) const WORD: Size = Size {
        bytes: 8,
        is_signed: false,
    };

    fn log(self) -> u32 {
        u32::from(self.bytes).trailing_zeros()
    }

    /// The field that says how a load extends.
    fn load(self) -> u32 {
        match self.is_signed && self.bytes < 8 {
            true => 0b10,
            false => 0b01,
        }
    }
}

/// A place in the code, which branches lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

/// The field of a branch's distance.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// ±128 MiB, from bit 0 on.
    Jump,
    /// ±1 MiB, from bit 5 on.
    Branch,
}

/// Instructions, and branches between them.
#[derive(Default, Debug)]
pub(crate) struct Assembler {
    words: Vec<u32>,
    labels: Vec<Option<usize>>,
    branches: Vec<(usize, Label, Field)>,
    /// Whether a pair's offset could not be encoded.
    is_out_of_reach: bool,
}

/// Instructions with three general-purpose registers.
macro_rules! of_three {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub(crate) fn $name(&mut self, to: X, left: X, right: X) {
            self.word($code | number(right) << 16 | number(left) << 5 | number(to));
        })*
    };
}

/// Instructions with three vector registers.
macro_rules! of_floats {
    ($($name:ident = $code:literal;)*) => {
        $(pub(crate) fn $name(&mut self, to: V, left: V, right: V) {
            self.word($code | vector(right) << 16 | vector(left) << 5 | vector(to));
        })*
    };
}

/// Instructions that move something from one register to another.
macro_rules! of_two {
    ($($(#[$doc:meta])* $name:ident($to:ty, $from:ty) = $code:literal;)*) => {
        $($(#[$doc])* pub(crate) fn $name(&mut self, to: $to, from: $from) {
            self.word($code | u32::from(from.0) << 5 | u32::from(to.0));
        })*
    };
}

/// Instructions with one general-purpose register.
macro_rules! of_one {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        $($(#[$doc])* pub(crate) fn $name(&mut self, register: X) {
            self.word($code | number(register));
        })*
    };
}

impl Assembler {
    of_three! {
        add = 0x8b00_0000;
        sub = 0xcb00_0000;
        /// Sets the flags.
        adds = 0xab00_0000;
        /// Sets the flags.
        subs = 0xeb00_0000;
        and = 0x8a00_0000;
        orr = 0xaa00_0000;
        eor = 0xca00_0000;
        mul = 0x9b00_7c00;
        /// The high half of the product.
        smulh = 0x9b40_7c00;
        /// The high half of the product.
        umulh = 0x9bc0_7c00;
        udiv = 0x9ac0_0800;
        sdiv = 0x9ac0_0c00;
        lsl = 0x9ac0_2000;
        lsr = 0x9ac0_2400;
        asr = 0x9ac0_2800;
    }
    of_floats! {
        fadd = 0x1e60_2800;
        fsub = 0x1e60_3800;
        fmul = 0x1e60_0800;
        fdiv = 0x1e60_1800;
    }
    of_two! {
        /// Copies 64 bits.
        fmov(V, V) = 0x1e60_4000;
        fmov_in(V, X) = 0x9e67_0000;
        fmov_out(X, V) = 0x9e66_0000;
        /// Reads the high 64 bits of a vector.
        upper_out(X, V) = 0x4e18_3c00;
        fneg(V, V) = 0x1e61_4000;
        /// From 64 bits to 32.
        narrow(V, V) = 0x1e62_4000;
        /// From 32 bits to 64.
        widen(V, V) = 0x1e22_c000;
        scvtf(V, X) = 0x9e62_0000;
        ucvtf(V, X) = 0x9e63_0000;
        /// Truncates, saturating.
        fcvtzs(X, V) = 0x9e78_0000;
        /// Loads with acquire semantics, at an address.
        ldar(X, X) = 0xc8df_fc00;
        /// Stores with release semantics, at an address.
        stlr(X, X) = 0xc89f_fc00;
        /// Loads and marks the address as exclusive.
        ldaxr(X, X) = 0xc85f_fc00;
        /// Stores a whole scalable vector, at an address.
        str_scalable(V, X) = 0xe580_4000;
        /// Loads a whole scalable vector, from an address.
        ldr_scalable(V, X) = 0x8580_4000;
    }
    of_one! {
        read_flags = 0xd53b_4200;
        write_flags = 0xd51b_4200;
        read_float_control = 0xd53b_4400;
        write_float_control = 0xd51b_4400;
        read_float_status = 0xd53b_4420;
        write_float_status = 0xd51b_4420;
        read_thread_pointer = 0xd53b_d040;
    }

    /// Appends an instruction.
    pub(crate) fn word(&mut self, word: u32) {
        self.words.push(word);
    }

    /// Returns the number of instructions.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Returns a label that is not placed yet.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label here.
    pub(crate) fn place(&mut self, label: Label) {
        let here = self.words.len();
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(here);
        }
    }

    fn branch(&mut self, word: u32, to: Label, field: Field) {
        self.branches.push((self.words.len(), to, field));
        self.word(word);
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.branch(0x1400_0000, to, Field::Jump);
    }

    pub(crate) fn jump_if(&mut self, flag: Flag, to: Label) {
        self.branch(0x5400_0000 | flag as u32, to, Field::Branch);
    }

    /// Jumps unless a flag is set.
    pub(crate) fn jump_unless(&mut self, flag: Flag, to: Label) {
        self.branch(0x5400_0000 | flag as u32 ^ 1, to, Field::Branch);
    }

    /// Jumps if a register is zero.
    pub(crate) fn jump_if_zero(&mut self, register: X, to: Label) {
        self.branch(0xb400_0000 | number(register), to, Field::Branch);
    }

    /// Jumps unless a register is zero.
    pub(crate) fn jump_unless_zero(&mut self, register: X, to: Label) {
        self.branch(0xb500_0000 | number(register), to, Field::Branch);
    }

    /// `brk #0`, as for breakpoints.
    pub(crate) fn trap(&mut self) {
        self.word(0xd420_0000);
    }

    /// Sets a register to a number.
    pub(crate) fn number(&mut self, to: X, value: u64) {
        let part = |nth: u32| (value >> (16 * nth)) as u32 & 0xffff;
        let count = |filler: u32| (0..4).filter(|nth| part(*nth) != filler).count();
        // `movz`, or `movn` if more parts are all ones.
        let (code, filler, mask) = match count(0) <= count(0xffff) {
            true => (0xd280_0000, 0, 0),
            false => (0x9280_0000, 0xffff, 0xffff),
        };
        let mut parts = (0..4).filter(|nth| part(*nth) != filler);
        let first = parts.next().unwrap_or(0);
        self.word(code | first << 21 | (part(first) ^ mask) << 5 | number(to));
        for nth in parts {
            self.word(0xf280_0000 | nth << 21 | part(nth) << 5 | number(to));
        }
    }

    /// Copies a register, which may be the stack pointer.
    pub(crate) fn copy(&mut self, to: X, from: X) {
        match from {
            SP => self.word(0x9100_03e0 | number(to)),
            from if from == to => {}
            from => self.orr(to, ZERO, from),
        }
    }

    /// Adds a number to a register. Returns false if one or two instructions cannot encode it;
    /// nothing is emitted then.
    pub(crate) fn add_number(&mut self, to: X, from: X, value: i64) -> bool {
        let Some(magnitude) = u32::try_from(value.unsigned_abs())
            .ok()
            .filter(|it| *it < 1 << 24)
        else {
            return false;
        };
        let code = match value {
            0.. => 0x9100_0000,
            _ => 0xd100_0000,
        };
        let (low, high) = (magnitude & 0xfff, magnitude >> 12);
        let mut from = from;
        if high > 0 {
            self.word(code | 1 << 22 | high << 10 | number(from) << 5 | number(to));
            from = to;
        }
        if low > 0 || high == 0 && from != to {
            self.word(code | low << 10 | number(from) << 5 | number(to));
        }
        true
    }

    /// Like [`Self::add_number`], and sets the flags; of 12 bits.
    pub(crate) fn adds_number(&mut self, to: X, from: X, value: u64) -> bool {
        self.with_flags(0xb100_0000, to, from, value)
    }

    /// Subtracts a number of 12 bits, and sets the flags; false if it is larger.
    pub(crate) fn subs_number(&mut self, to: X, from: X, value: u64) -> bool {
        self.with_flags(0xf100_0000, to, from, value)
    }

    fn with_flags(&mut self, code: u32, to: X, from: X, value: u64) -> bool {
        let fits = value < 1 << 12;
        if fits {
            self.word(code | (value as u32) << 10 | number(from) << 5 | number(to));
        }
        fits
    }

    /// Compares two registers.
    pub(crate) fn compare(&mut self, left: X, right: X) {
        self.subs(ZERO, left, right);
    }

    /// Compares with a number; false if it cannot be encoded.
    pub(crate) fn compare_number(&mut self, left: X, value: u64) -> bool {
        self.subs_number(ZERO, left, value)
            // `cmn`: but for zero, the flags are the same.
            || self.adds_number(ZERO, left, value.wrapping_neg())
    }

    /// Compares a register with the sign of another one: all of its bits.
    pub(crate) fn compare_sign(&mut self, left: X, right: X) {
        self.word(0xeb80_fc1f | number(right) << 16 | number(left) << 5);
    }

    pub(crate) fn compare_floats(&mut self, left: V, right: V) {
        self.word(0x1e60_2000 | vector(right) << 16 | vector(left) << 5);
    }

    /// Adds a register that is shifted left by at most 4 bits; the base may be the stack pointer.
    pub(crate) fn add_shifted(&mut self, to: X, base: X, index: X, shift: u32) {
        let registers = number(index) << 16 | number(base) << 5 | number(to);
        self.word(0x8b20_6000 | shift.min(4) << 10 | registers);
    }

    /// Multiplies and subtracts the product from a register.
    pub(crate) fn msub(&mut self, to: X, left: X, right: X, from: X) {
        let registers = number(right) << 16 | number(from) << 10 | number(left) << 5;
        self.word(0x9b00_8000 | registers | number(to));
    }

    /// Extracts `bits` bits, at least one, from the bit `low` on.
    pub(crate) fn extract(&mut self, to: X, from: X, (low, bits): (u32, u32), is_signed: bool) {
        let code = match is_signed {
            true => 0x9340_0000,
            false => 0xd340_0000,
        };
        let high = (low + bits - 1).min(63);
        self.word(code | low << 16 | high << 10 | number(from) << 5 | number(to));
    }

    /// Shifts left by less than 64 bits.
    pub(crate) fn shift_left(&mut self, to: X, from: X, by: u32) {
        let (by, last) = ((64 - by) % 64, 63 - by);
        self.word(0xd340_0000 | by << 16 | last << 10 | number(from) << 5 | number(to));
    }

    /// Shifts right by less than 64 bits.
    pub(crate) fn shift_right(&mut self, to: X, from: X, by: u32, is_signed: bool) {
        self.extract(to, from, (by, 64 - by), is_signed);
    }

    /// Sets a register to one of two, depending on a flag.
    pub(crate) fn select(&mut self, to: X, yes: X, no: X, flag: Flag) {
        let registers = number(no) << 16 | number(yes) << 5 | number(to);
        self.word(0x9a80_0000 | (flag as u32) << 12 | registers);
    }

    /// Sets a register to 1 if a flag is set, else to 0.
    pub(crate) fn set_if(&mut self, to: X, flag: Flag) {
        self.word(0x9a9f_07e0 | (flag as u32 ^ 1) << 12 | number(to));
    }

    /// Loads from an offset of a base; false if it cannot be encoded.
    pub(crate) fn load(&mut self, to: X, base: X, offset: i64, size: Size) -> bool {
        let fields = size.log() << 30 | size.load() << 22;
        self.at_offset(fields | number(to), base, offset, size.log())
    }

    /// Stores at an offset of a base; false if it cannot be encoded.
    pub(crate) fn store(&mut self, from: X, base: X, offset: i64, size: Size) -> bool {
        self.at_offset(size.log() << 30 | number(from), base, offset, size.log())
    }

    /// Loads a float of 32 or 64 bits; false if the offset cannot be encoded.
    pub(crate) fn load_float(&mut self, to: V, base: X, offset: i64, is_single: bool) -> bool {
        self.float_at(1 << 22 | vector(to), base, offset, is_single)
    }

    /// Stores a float; false if the offset cannot be encoded.
    pub(crate) fn store_float(&mut self, from: V, base: X, offset: i64, is_single: bool) -> bool {
        self.float_at(vector(from), base, offset, is_single)
    }

    fn float_at(&mut self, fields: u32, base: X, offset: i64, is_single: bool) -> bool {
        let log = if is_single { 2 } else { 3 };
        self.at_offset(1 << 26 | log << 30 | fields, base, offset, log)
    }

    fn at_offset(&mut self, fields: u32, base: X, offset: i64, log: u32) -> bool {
        let base = number(base) << 5;
        let is_scaled = offset & ((1 << log) - 1) == 0;
        if is_scaled && (0..1 << (12 + log)).contains(&offset) {
            self.word(0x3900_0000 | fields | (offset as u32 >> log) << 10 | base);
        } else if (-256..256).contains(&offset) {
            self.word(0x3800_0000 | fields | (offset as u32 & 0x1ff) << 12 | base);
        } else {
            return false;
        }
        true
    }

    /// Loads from a base and an index in bytes.
    pub(crate) fn load_indexed(&mut self, to: X, base: X, index: X, size: Size) {
        let fields = size.log() << 30 | size.load() << 22 | number(index) << 16;
        self.word(0x3820_6800 | fields | number(base) << 5 | number(to));
    }

    /// Stores at a base and an index in bytes.
    pub(crate) fn store_indexed(&mut self, from: X, base: X, index: X, size: Size) {
        let fields = size.log() << 30 | number(index) << 16;
        self.word(0x3820_6800 | fields | number(base) << 5 | number(from));
    }

    /// Stores two registers at an offset below 512, a multiple of 8.
    pub(crate) fn store_pair(&mut self, pair: (X, X), base: X, offset: u32) {
        self.pair(0xa900_0000, (pair.0.0, pair.1.0), base, (offset, 8));
    }

    /// Loads two registers from an offset below 512, a multiple of 8.
    pub(crate) fn load_pair(&mut self, pair: (X, X), base: X, offset: u32) {
        self.pair(0xa940_0000, (pair.0.0, pair.1.0), base, (offset, 8));
    }

    /// Stores two vectors at an offset below 1024, a multiple of 16.
    pub(crate) fn store_vectors(&mut self, pair: (V, V), base: X, offset: u32) {
        self.pair(0xad00_0000, (pair.0.0, pair.1.0), base, (offset, 16));
    }

    /// Loads two vectors from an offset below 1024, a multiple of 16.
    pub(crate) fn load_vectors(&mut self, pair: (V, V), base: X, offset: u32) {
        self.pair(0xad40_0000, (pair.0.0, pair.1.0), base, (offset, 16));
    }

    fn pair(&mut self, code: u32, (first, second): (u8, u8), base: X, (offset, size): (u32, u32)) {
        let nth = offset / size;
        self.is_out_of_reach |= nth > 0x3f || offset % size != 0;
        let registers = u32::from(second) << 10 | number(base) << 5 | u32::from(first);
        self.word(code | (nth & 0x3f) << 15 | registers);
    }

    /// Stores at an address that is still exclusive; `failed` becomes 0 if it was.
    pub(crate) fn stlxr(&mut self, failed: X, from: X, at: X) {
        self.word(0xc800_fc00 | number(failed) << 16 | number(at) << 5 | number(from));
    }

    /// Adds to a word in memory atomically, and returns its former value (LSE).
    pub(crate) fn ldaddal(&mut self, added: X, former: X, at: X) {
        self.word(0xf8e0_0000 | number(added) << 16 | number(at) << 5 | number(former));
    }

    /// Returns the instructions; `None` if a label is missing or too far away, or a pair's offset is.
    pub(crate) fn finish(mut self) -> Option<Vec<u32>> {
        if self.is_out_of_reach {
            return None;
        }
        for (at, label, field) in self.branches {
            let to = (*self.labels.get(label.0)?)?;
            let distance = to as i64 - at as i64;
            let (bits, low) = match field {
                Field::Jump => (26, 0),
                Field::Branch => (19, 5),
            };
            let limit = 1 << (bits - 1);
            if !(-limit..limit).contains(&distance) {
                return None;
            }
            let mask = (1_u32 << bits) - 1;
            *self.words.get_mut(at)? |= (distance as u32 & mask) << low;
        }
        Some(self.words)
    }
}

fn number(register: X) -> u32 {
    u32::from(register.0 & 31)
}

fn vector(register: V) -> u32 {
    u32::from(register.0 & 31)
}

#[cfg(test)]
mod tests;
