//! Numbers. Each pending number has a general-purpose register of the pool; `x16` and `x17` are
//! temporary within one operation. A number is extended to 64 bits, so that all operations have 64
//! bits.

use super::super::SavedRegisters;
use super::super::code::{Address, BoolExpr, Int, Loop, MAX_PASSES, Operation, Order, Width};
use super::super::needs::Needs;
use super::super::set::At;
use super::Exits;
use crate::arch::aarch64::assembler::{Assembler, Flag, Label, SP, Size, V, X};
use dwarf::Register;

/// Registers for pending numbers. Compilers keep arguments and variables in others first.
pub(super) const POOL: [X; 8] = [X(10), X(11), X(12), X(13), X(14), X(15), X(9), X(8)];
/// For pending floats: neither for arguments nor preserved by functions.
pub(super) const VECTOR_POOL: [V; 4] = [V(16), V(17), V(18), V(19)];
/// Registers within one operation.
pub(super) const TEMPORARY: X = X(16);
/// See [`TEMPORARY`].
pub(super) const OTHER: X = X(17);

/// Mask of all general-purpose registers that may be written.
pub(super) const SCRATCH: u32 = 0x3_ff00;

/// Maximum distance in bytes from the stack pointer to the program's. Instructions encode larger
/// offsets of numbers with more than one byte.
pub(crate) const MAX_DEPTH: i64 = 4096;

/// A place in memory: a base and an offset in bytes.
pub(super) type Place = (X, i64);

/// The code generator for one condition.
pub(super) struct Emitter<'a> {
    pub(super) asm: &'a mut Assembler,
    pub(super) saved: &'a SavedRegisters,
    pub(super) to: Exits,
    /// Mask of the registers that may be written, by DWARF number: the others still have the
    /// program's values.
    pub(super) clobbers: u32,
    /// Mask of the registers that have been written.
    pub(super) written: u32,
    pub(super) vectors: bool,
    /// Whether this is to learn the registers that are written: the places of saved registers, and
    /// the depth of the stack, are not known yet.
    is_dry: bool,
    /// The numbers of the loops around the code, and the registers of their indices.
    pub(super) loops: Vec<(u8, At)>,
}

/// Returns the size and signedness as the assembler has it.
pub(super) fn size(width: Width) -> Size {
    Size {
        bytes: width.size,
        is_signed: width.signed,
    }
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        asm: &'a mut Assembler,
        saved: &'a SavedRegisters,
        to: Exits,
        clobbers: u32,
    ) -> Emitter<'a> {
        Emitter {
            asm,
            saved,
            to,
            clobbers,
            written: 0,
            vectors: false,
            is_dry: false,
            loops: Vec::new(),
        }
    }

    /// Learns the registers that will be written at most.
    pub(super) fn dry(mut self) -> Self {
        self.is_dry = true;
        self.clobbers = SCRATCH;
        self
    }

    /// Notes the registers that are needed if an offset from the stack pointer becomes too large for
    /// an instruction.
    pub(super) fn note_depth(&mut self, (base, offset): Place, size: i64) {
        if !self.is_dry || base != SP {
            return;
        }
        let is_encoded = (0..=(size - 1) * MAX_DEPTH).contains(&offset) && offset % size == 0;
        if !is_encoded {
            self.write(TEMPORARY);
            self.note_large_depth((base, offset));
        }
    }

    fn note_large_depth(&mut self, (base, offset): Place) {
        if self.is_dry && base == SP && offset.unsigned_abs() >= 1 << 23 {
            self.write(OTHER);
        }
    }

    /// Notes that a register is written.
    pub(super) fn write(&mut self, register: X) -> X {
        self.written |= 1 << register.0;
        register
    }

    pub(super) fn at(&mut self, at: At) -> X {
        self.write(POOL[at.general.min(POOL.len() - 1)])
    }

    pub(super) fn vector(&mut self, at: At) -> V {
        self.vectors = true;
        VECTOR_POOL[at.vector.min(VECTOR_POOL.len() - 1)]
    }

    /// Returns a register that still has the program's value; `None` if it may be overwritten.
    pub(super) fn live(&self, register: Register) -> Option<X> {
        let gone = self.clobbers | self.saved.written;
        let number = u8::try_from(register.0).ok().filter(|it| *it < SP.0)?;
        (gone & 1 << number == 0).then_some(X(number))
    }

    /// Loads a register of the program from a byte offset on, canonical.
    fn program_register(&mut self, register: Register, skip: u8, width: Width, at: At) {
        let to = self.at(at);
        let from = match self.live(register) {
            Some(from) => from,
            None if register.0 == u16::from(SP.0) => {
                self.add(to, (SP, i64::from(self.saved.stack_pointer)));
                to
            }
            None => {
                let place = self.saved.place(register) + i32::from(skip);
                return self.load(to, (SP, i64::from(place)), width);
            }
        };
        self.part(to, from, skip, width);
    }

    /// Returns the place of a vector register of the program that code may overwrite.
    pub(super) fn saved_vector(&self, number: u8) -> Option<Place> {
        let nth = VECTOR_POOL.iter().position(|it| it.0 == number)?;
        let slot = self.saved.vectors + self.saved.vector_slot * nth as i32;
        Some((SP, i64::from(slot)))
    }

    /// Loads a vector register of the program from a byte offset on, canonical.
    fn vector_word(&mut self, number: u8, skip: u8, width: Width, at: At) {
        let to = self.at(at);
        if let Some((base, offset)) = self.saved_vector(number) {
            self.vectors = true;
            return self.load(to, (base, offset + i64::from(skip)), width);
        }
        match skip {
            ..8 => self.asm.fmov_out(to, V(number)),
            _ => self.asm.upper_out(to, V(number)),
        }
        self.part(to, to, skip % 8, width);
    }

    /// Extracts a number from a register from a byte offset on.
    fn part(&mut self, to: X, from: X, skip: u8, width: Width) {
        let low = u32::from(skip % 8) * 8;
        match u32::from(width.size) * 8 {
            bits if low + bits < 64 || low > 0 => {
                let bits = bits.min(64 - low);
                self.asm.extract(to, from, (low, bits), width.signed);
            }
            _ => self.asm.copy(to, from),
        }
    }

    /// Makes the number in a register canonical.
    fn canonical(&mut self, to: X, from: X, width: Width) {
        self.part(to, from, 0, width);
    }

    pub(super) fn load(&mut self, to: X, (base, offset): Place, width: Width) {
        self.note_depth((base, offset), width.size.into());
        if !self.asm.load(to, base, offset, size(width)) {
            let sum = self.write(TEMPORARY);
            self.add(sum, (base, offset));
            self.asm.load(to, sum, 0, size(width));
        }
    }

    /// Sets a register to the address of a place.
    pub(super) fn add(&mut self, to: X, (base, offset): Place) {
        self.note_large_depth((base, offset));
        if offset == 0 {
            return self.asm.copy(to, base);
        }
        if !self.asm.add_number(to, base, offset) {
            let number = self.write(OTHER);
            self.asm.number(number, offset as u64);
            self.asm.add_shifted(to, base, number, 0);
        }
    }

    /// Computes an integer into the register of `at`.
    pub(super) fn int(&mut self, int: &Int, at: At) {
        match int {
            Int::Constant(bits) => {
                let to = self.at(at);
                self.asm.number(to, *bits);
            }
            Int::Load(address, width) => {
                let place = self.address(address, at);
                let to = self.at(at);
                self.load(to, place, *width);
            }
            Int::Register(register, skip, width) => {
                self.program_register(*register, *skip, *width, at);
            }
            Int::Vector(number, skip, width) => self.vector_word(*number, *skip, *width, at),
            Int::Convert(inner, width) => {
                self.int(inner, at);
                let to = self.at(at);
                self.canonical(to, to, *width);
            }
            Int::Field(inner, offset, width, size) => {
                self.int(inner, at);
                let to = self.at(at);
                let field = (u32::from(*offset), u32::from(*size));
                self.asm.extract(to, to, field, width.signed);
            }
            Int::Binary(operation, a, b, width, checked) => {
                self.binary(*operation, (a, b), *width, *checked, at);
            }
            Int::BoolExpr(truth) => {
                if let BoolExpr::Compare(order, signed, a, b) = &**truth {
                    self.compare(a, b, at);
                    let to = self.at(at);
                    return self.asm.set_if(to, flag(*order, *signed));
                }
                let (no, end) = (self.asm.label(), self.asm.label());
                self.branch(truth, false, no, at);
                let to = self.at(at);
                self.asm.number(to, 1);
                self.asm.jump(end);
                self.asm.place(no);
                self.asm.number(to, 0);
                self.asm.place(end);
            }
            Int::Choice(truth, yes, no) => {
                let (other, end) = (self.asm.label(), self.asm.label());
                self.branch(truth, false, other, at);
                self.int(yes, at);
                self.asm.jump(end);
                self.asm.place(other);
                self.int(no, at);
                self.asm.place(end);
            }
            Int::Float(float, width) => {
                self.float(float, at);
                let (from, to) = (self.vector(at), self.at(at));
                self.asm.compare_floats(from, from);
                self.asm.jump_if(Flag::Overflow, self.to.deopt);
                self.asm.fcvtzs(to, from);
                // A conversion out of range gives the nearest integer: of these two, one is no
                // float, and the other is rare.
                for limit in [i64::MIN, i64::MAX] {
                    let limit_at = self.write(TEMPORARY);
                    self.asm.number(limit_at, limit as u64);
                    self.asm.compare(to, limit_at);
                    self.asm.jump_if(Flag::Equal, self.to.deopt);
                }
                self.canonical(to, to, *width);
            }
            Int::Address(address) => {
                let plain = Address {
                    guarded: false,
                    ..(**address).clone()
                };
                let place = self.address(&plain, at);
                let to = self.at(at);
                self.add(to, place);
            }
            Int::Unless(truth, inner) => {
                self.branch(truth, true, self.to.deopt, at);
                self.int(inner, at);
            }
            Int::Index(number) => {
                let (to, from) = (self.at(at), self.index(*number));
                self.asm.copy(to, from);
            }
            Int::First(all) => {
                let found = self.asm.label();
                self.search(all, found, at);
                let to = self.at(at);
                self.asm.number(to, u64::MAX);
                self.asm.place(found);
            }
        }
    }

    /// Returns the register of a loop's index.
    fn index(&mut self, number: u8) -> X {
        let at = self.loops.iter().find(|it| it.0 == number);
        self.at(at.map_or(At::START, |it| it.1))
    }

    /// Looks for the first index for which a loop's condition holds. Jumps to `found` with the index in
    /// the register of `at`; falls through if there is none.
    pub(super) fn search(&mut self, all: &Loop, found: Label, at: At) {
        let count_at = at.next();
        self.int(&all.count, at);
        let (index, count) = (self.at(at), self.at(count_at));
        self.asm.copy(count, index);
        let most = self.write(TEMPORARY);
        self.asm.number(most, MAX_PASSES);
        self.asm.compare(count, most);
        self.asm.jump_if(flag(Order::Gt, false), self.to.deopt);
        self.asm.number(index, 0);
        let (again, end) = (self.asm.label(), self.asm.label());
        self.asm.place(again);
        self.asm.compare(index, count);
        self.asm.jump_if(flag(Order::Ge, false), end);
        self.loops.push((all.number, at));
        self.branch(&all.holds, true, found, count_at.next());
        self.loops.pop();
        self.asm.add_number(index, index, 1);
        self.asm.jump(again);
        self.asm.place(end);
    }

    /// Stores the low bytes of the register of `at`.
    pub(super) fn store(&mut self, at: At, (base, offset): Place, width: Width) {
        let from = self.at(at);
        self.note_depth((base, offset), width.size.into());
        if !self.asm.store(from, base, offset, size(width)) {
            let sum = self.write(TEMPORARY);
            self.add(sum, (base, offset));
            self.asm.store(from, sum, 0, size(width));
        }
    }

    /// Computes two integers. Returns their registers: the first one's is that of `at`, the next, or
    /// the temporary one for a constant.
    pub(super) fn pair(&mut self, a: &Int, b: &Int, at: At) -> (X, X) {
        if let Int::Constant(bits) = b {
            self.int(a, at);
            let (left, right) = (self.at(at), self.write(TEMPORARY));
            self.asm.number(right, *bits);
            return (left, right);
        }
        let (_, second_first) = Needs::both(a.needs(), b.needs());
        let (first, second) = if second_first { (b, a) } else { (a, b) };
        self.int(first, at);
        self.int(second, at.next());
        let (low, high) = (self.at(at), self.at(at.next()));
        if second_first {
            (high, low)
        } else {
            (low, high)
        }
    }

    fn binary(
        &mut self,
        operation: Operation,
        (a, b): (&Int, &Int),
        width: Width,
        checked: bool,
        at: At,
    ) {
        use Operation::{Add, And, Div, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let to = self.at(at);
        let bits = u64::from(width.size) * 8;
        let sets_flags = checked && width.size == 8;
        match (operation, b) {
            (Add | Sub, Int::Constant(number)) if !sets_flags => {
                self.int(a, at);
                let number = match operation {
                    Add => *number as i64,
                    _ => (*number as i64).wrapping_neg(),
                };
                self.add(to, (to, number));
            }
            (Shl | Shr, Int::Constant(by)) if *by < bits => {
                self.int(a, at);
                match operation {
                    Shl => self.asm.shift_left(to, to, *by as u32),
                    _ => self.asm.shift_right(to, to, *by as u32, width.signed),
                }
            }
            _ => {
                let (left, right) = self.pair(a, b, at);
                match operation {
                    Add if sets_flags => self.asm.adds(to, left, right),
                    Add => self.asm.add(to, left, right),
                    Sub if sets_flags => self.asm.subs(to, left, right),
                    Sub => self.asm.sub(to, left, right),
                    And => self.asm.and(to, left, right),
                    Or => self.asm.orr(to, left, right),
                    Xor => self.asm.eor(to, left, right),
                    Mul if sets_flags => self.multiply(to, (left, right), width),
                    Mul => self.asm.mul(to, left, right),
                    Shl | Shr => {
                        // Unsigned comparison: a negative count exceeds any width.
                        self.asm.compare_number(right, bits);
                        self.asm.jump_if(Flag::AtLeast, self.to.deopt);
                        match (operation, width.signed) {
                            (Shl, _) => self.asm.lsl(to, left, right),
                            (_, true) => self.asm.asr(to, left, right),
                            (_, false) => self.asm.lsr(to, left, right),
                        }
                    }
                    Div | Rem => self.divide(operation, to, (left, right, b), width),
                }
            }
        }
        self.fit(operation, to, width, checked);
    }

    /// Multiplies numbers of 64 bits; deopt on overflow.
    fn multiply(&mut self, to: X, (left, right): (X, X), width: Width) {
        let high = self.write(OTHER);
        match width.signed {
            true => {
                self.asm.smulh(high, left, right);
                self.asm.mul(to, left, right);
                self.asm.compare_sign(high, to);
                self.asm.jump_if(Flag::NotEqual, self.to.deopt);
            }
            false => {
                self.asm.umulh(high, left, right);
                self.asm.mul(to, left, right);
                self.asm.jump_unless_zero(high, self.to.deopt);
            }
        }
    }

    /// Makes a result canonical; deopt on overflow if `checked`.
    fn fit(&mut self, operation: Operation, to: X, width: Width, checked: bool) {
        use Operation::{Add, Mul, Shl, Sub};
        let may_leave = matches!(operation, Add | Sub | Mul);
        if checked && may_leave && width.size == 8 {
            return match (operation, width.signed) {
                (Mul, _) => {}
                (_, true) => self.asm.jump_if(Flag::Overflow, self.to.deopt),
                (Add, false) => self.asm.jump_if(Flag::AtLeast, self.to.deopt),
                // A borrow clears the carry.
                (_, false) => self.asm.jump_if(Flag::Below, self.to.deopt),
            };
        }
        if checked && may_leave {
            // 64 bits are enough for the result of narrower operands.
            let temporary = self.write(TEMPORARY);
            self.canonical(temporary, to, width);
            self.asm.compare(temporary, to);
            self.asm.jump_if(Flag::NotEqual, self.to.deopt);
        } else if may_leave || operation == Shl {
            self.canonical(to, to, width);
        }
    }

    /// Divides. The result is canonical as the operands are.
    fn divide(
        &mut self,
        operation: Operation,
        to: X,
        (left, right, b): (X, X, &Int),
        width: Width,
    ) {
        const MINUS_ONE: u64 = u64::MAX;
        if !matches!(b, Int::Constant(by) if !matches!(*by, 0 | MINUS_ONE)) {
            self.asm.jump_if_zero(right, self.to.deopt);
            if width.signed {
                // The least integer divided by minus one overflows.
                self.asm.compare_number(right, MINUS_ONE);
                self.asm.jump_if(Flag::Equal, self.to.deopt);
            }
        }
        let quotient = match operation {
            Operation::Div => to,
            _ => self.write(OTHER),
        };
        match width.signed {
            true => self.asm.sdiv(quotient, left, right),
            false => self.asm.udiv(quotient, left, right),
        }
        if operation == Operation::Rem {
            self.asm.msub(to, quotient, right, left);
        }
    }

    /// Compares two integers.
    pub(super) fn compare(&mut self, a: &Int, b: &Int, at: At) {
        if let Int::Constant(bits) = b {
            self.int(a, at);
            let left = self.at(at);
            return self.compare_number(left, *bits);
        }
        let (left, right) = self.pair(a, b, at);
        self.asm.compare(left, right);
    }

    /// Compares a register with a number.
    pub(super) fn compare_number(&mut self, left: X, value: u64) {
        if !self.asm.compare_number(left, value) {
            let right = self.write(TEMPORARY);
            self.asm.number(right, value);
            self.asm.compare(left, right);
        }
    }

    /// Adds a number of bytes to a register.
    pub(super) fn advance(&mut self, register: X, bytes: usize) {
        self.add(register, (register, bytes as i64));
    }
}

/// Returns the condition on the flags after a comparison of integers.
pub(super) fn flag(order: Order, signed: bool) -> Flag {
    match (order, signed) {
        (Order::Eq, _) => Flag::Equal,
        (Order::Ne, _) => Flag::NotEqual,
        (Order::Lt, true) => Flag::SignedBelow,
        (Order::Le, true) => Flag::SignedAtMost,
        (Order::Gt, true) => Flag::SignedAbove,
        (Order::Ge, true) => Flag::SignedAtLeast,
        (Order::Lt, false) => Flag::Below,
        (Order::Le, false) => Flag::AtMost,
        (Order::Gt, false) => Flag::Above,
        (Order::Ge, false) => Flag::AtLeast,
    }
}
