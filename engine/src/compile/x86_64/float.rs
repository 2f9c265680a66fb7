//! Code generation for floats, which are computed in 64 bits.

use super::super::code::{Float, Operation, Order, Width};
use super::super::set::At;
use super::emit::{Done, Emitter, RAX, VECTOR_POOL, VECTORS};
use iced_x86::code_asm::*;

impl Emitter<'_> {
    /// Computes a float into the vector register of `at`.
    pub(super) fn float(&mut self, float: &Float, at: At) -> Done {
        let to = self.vector(at);
        match float {
            Float::Constant(value) => {
                let bits = self.write(RAX);
                self.constant(bits, value.to_bits())?;
                self.asm.movq(to, bits.r64)
            }
            Float::Load(address, single) => {
                let place = self.address(address, at)?;
                match single {
                    true => self.asm.cvtss2sd(to, dword_ptr(place)),
                    false => self.asm.movsd_2(to, qword_ptr(place)),
                }
            }
            Float::Register(number, single) => {
                let number = usize::from(*number).min(15);
                if number < VECTOR_POOL {
                    let place = rsp + (self.saved.vectors + 16 * number as i32);
                    return match single {
                        true => self.asm.cvtss2sd(to, dword_ptr(place)),
                        false => self.asm.movsd_2(to, qword_ptr(place)),
                    };
                }
                match single {
                    true => self.asm.cvtss2sd(to, VECTORS[number]),
                    false => self.asm.movaps(to, VECTORS[number]),
                }
            }
            Float::Int(int, width) => {
                self.int(int, at)?;
                let from = self.at(at);
                self.asm.xorps(to, to)?;
                if *width != Width::WORD {
                    return self.asm.cvtsi2sd(to, from.r64);
                }
                let (large, end) = (self.asm.create_label(), self.asm.create_label());
                self.asm.test(from.r64, from.r64)?;
                self.asm.js(large)?;
                self.asm.cvtsi2sd(to, from.r64)?;
                self.asm.jmp(end)?;
                self.place_label(large)?;
                // Convert half of it, with the lost bit kept for the rounding.
                let half = self.write(RAX);
                self.asm.mov(half.r64, from.r64)?;
                self.asm.shr(half.r64, 1)?;
                self.asm.and(from.r32, 1)?;
                self.asm.or(half.r64, from.r64)?;
                self.asm.cvtsi2sd(to, half.r64)?;
                self.asm.addsd(to, to)?;
                self.place_label(end)
            }
            Float::Binary(operation, a, b) => {
                self.float(a, at)?;
                self.float(b, at.next_vector())?;
                let other = self.vector(at.next_vector());
                match operation {
                    Operation::Add => self.asm.addsd(to, other),
                    Operation::Sub => self.asm.subsd(to, other),
                    Operation::Mul => self.asm.mulsd(to, other),
                    _ => self.asm.divsd(to, other),
                }
            }
            Float::Negated(inner) => {
                self.float(inner, at)?;
                let bits = self.write(RAX);
                self.asm.movq(bits.r64, to)?;
                self.asm.btc(bits.r64, 63)?;
                self.asm.movq(to, bits.r64)
            }
            Float::Single(inner) => {
                self.float(inner, at)?;
                self.asm.cvtsd2ss(to, to)?;
                self.asm.cvtss2sd(to, to)
            }
            Float::Choice(truth, yes, no) => {
                let (other, end) = (self.asm.create_label(), self.asm.create_label());
                self.branch(truth, false, other, at)?;
                self.float(yes, at)?;
                self.asm.jmp(end)?;
                self.place_label(other)?;
                self.float(no, at)?;
                self.place_label(end)
            }
        }
    }

    /// Jumps to `target` if a comparison of floats is `when`; otherwise falls through.
    pub(super) fn branch_floats(
        &mut self,
        order: Order,
        (a, b): (&Float, &Float),
        when: bool,
        target: CodeLabel,
        at: At,
    ) -> Done {
        self.float(a, at)?;
        self.float(b, at.next_vector())?;
        let (left, right) = (self.vector(at), self.vector(at.next_vector()));
        // For NaN all three flags are set, so that "above" is false.
        match order {
            Order::Lt | Order::Le => self.asm.ucomisd(right, left)?,
            _ => self.asm.ucomisd(left, right)?,
        }
        match (order, when) {
            (Order::Lt | Order::Gt, true) => self.asm.ja(target),
            (Order::Lt | Order::Gt, false) => self.asm.jbe(target),
            (Order::Le | Order::Ge, true) => self.asm.jae(target),
            (Order::Le | Order::Ge, false) => self.asm.jb(target),
            (Order::Eq, false) | (Order::Ne, true) => {
                self.asm.jp(target)?;
                self.asm.jne(target)
            }
            (Order::Eq, true) | (Order::Ne, false) => {
                let end = self.asm.create_label();
                self.asm.jp(end)?;
                self.asm.je(target)?;
                self.place_label(end)
            }
        }
    }
}
