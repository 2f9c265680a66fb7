//! Floats, which are computed in 64 bits.

use super::super::code::{Float, Operation, Order, Width};
use super::super::set::At;
use super::emit::{Emitter, Place, TEMPORARY};
use crate::arch::aarch64::assembler::{Flag, Label, V};

impl Emitter<'_> {
    /// Computes a float into the vector register of `at`.
    pub(super) fn float(&mut self, float: &Float, at: At) {
        let to = self.vector(at);
        match float {
            Float::Constant(value) => {
                let bits = self.write(TEMPORARY);
                self.asm.number(bits, value.to_bits());
                self.asm.fmov_in(to, bits);
            }
            Float::Load(address, single) => {
                let place = self.address(address, at);
                self.load_float(to, place, *single);
            }
            Float::Register(number, single) => match self.saved_vector(*number) {
                Some(place) => self.load_float(to, place, *single),
                None if *single => self.asm.widen(to, V(*number)),
                None => self.asm.fmov(to, V(*number)),
            },
            Float::Int(int, width) => {
                self.int(int, at);
                let from = self.at(at);
                match *width == Width::WORD {
                    true => self.asm.ucvtf(to, from),
                    false => self.asm.scvtf(to, from),
                }
            }
            Float::Binary(operation, a, b) => {
                self.float(a, at);
                self.float(b, at.next_vector());
                let other = self.vector(at.next_vector());
                match operation {
                    Operation::Add => self.asm.fadd(to, to, other),
                    Operation::Sub => self.asm.fsub(to, to, other),
                    Operation::Mul => self.asm.fmul(to, to, other),
                    _ => self.asm.fdiv(to, to, other),
                }
            }
            Float::Negated(inner) => {
                self.float(inner, at);
                self.asm.fneg(to, to);
            }
            Float::Single(inner) => {
                self.float(inner, at);
                self.asm.narrow(to, to);
                self.asm.widen(to, to);
            }
            Float::Choice(truth, yes, no) => {
                let (other, end) = (self.asm.label(), self.asm.label());
                self.branch(truth, false, other, at);
                self.float(yes, at);
                self.asm.jump(end);
                self.asm.place(other);
                self.float(no, at);
                self.asm.place(end);
            }
        }
    }

    fn load_float(&mut self, to: V, (base, offset): Place, single: bool) {
        self.note_depth((base, offset), if single { 4 } else { 8 });
        if !self.asm.load_float(to, base, offset, single) {
            let sum = self.write(TEMPORARY);
            self.add(sum, (base, offset));
            self.asm.load_float(to, sum, 0, single);
        }
        if single {
            self.asm.widen(to, to);
        }
    }

    /// Jumps to `target` if a comparison of floats is `when`; otherwise falls through.
    pub(super) fn branch_floats(
        &mut self,
        order: Order,
        (a, b): (&Float, &Float),
        when: bool,
        target: Label,
        at: At,
    ) {
        self.float(a, at);
        self.float(b, at.next_vector());
        let (left, right) = (self.vector(at), self.vector(at.next_vector()));
        self.asm.compare_floats(left, right);
        // For NaN the carry and the overflow are set: of these only `!=` holds.
        let flag = match order {
            Order::Eq => Flag::Equal,
            Order::Ne => Flag::NotEqual,
            Order::Lt => Flag::Negative,
            Order::Le => Flag::AtMost,
            Order::Gt => Flag::SignedAbove,
            Order::Ge => Flag::SignedAtLeast,
        };
        match when {
            true => self.asm.jump_if(flag, target),
            false => self.asm.jump_unless(flag, target),
        }
    }
}
