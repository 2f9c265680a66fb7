//! Truth values: comparisons and branches.

use super::super::code::{Address, BoolExpr, Int, Order, Width};
use super::super::set::At;
use super::emit::{Emitter, OTHER, TEMPORARY, flag};
use crate::arch::aarch64::assembler::{Flag, Label};

impl Emitter<'_> {
    /// Jumps to `target` if the truth value is `when`; otherwise falls through.
    pub(super) fn branch(&mut self, truth: &BoolExpr, when: bool, target: Label, at: At) {
        match truth {
            BoolExpr::Constant(known) if *known == when => self.asm.jump(target),
            BoolExpr::Constant(_) => {}
            BoolExpr::Deopt => self.asm.jump(self.to.deopt),
            BoolExpr::Not(inner) => self.branch(inner, !when, target, at),
            BoolExpr::And(a, b) | BoolExpr::Or(a, b) => {
                // The value of the first operand that makes the second unnecessary.
                let decided = matches!(truth, BoolExpr::Or(..));
                if when == decided {
                    self.branch(a, when, target, at);
                    return self.branch(b, when, target, at);
                }
                let end = self.asm.label();
                self.branch(a, decided, end, at);
                self.branch(b, when, target, at);
                self.asm.place(end);
            }
            BoolExpr::Choice(truth, yes, no) => {
                let (other, end) = (self.asm.label(), self.asm.label());
                self.branch(truth, false, other, at);
                self.branch(yes, when, target, at);
                self.asm.jump(end);
                self.asm.place(other);
                self.branch(no, when, target, at);
                self.asm.place(end);
            }
            BoolExpr::Compare(order, signed, a, b) => {
                let order = if when { *order } else { order.negated() };
                self.branch_compared(order, *signed, (a, b), target, at);
            }
            BoolExpr::CompareFloats(order, a, b) => {
                self.branch_floats(*order, (a, b), when, target, at);
            }
            BoolExpr::Any(all) if when => self.search(all, target, at),
            BoolExpr::Any(all) => {
                let found = self.asm.label();
                self.search(all, found, at);
                self.asm.jump(target);
                self.asm.place(found);
            }
            BoolExpr::Bytes(address, bytes) => {
                let end = self.asm.label();
                let other = if when { end } else { target };
                self.compare_bytes(address, bytes, other, at);
                if when {
                    self.asm.jump(target);
                }
                self.asm.place(end);
            }
        }
    }

    fn branch_compared(
        &mut self,
        order: Order,
        signed: bool,
        (a, b): (&Int, &Int),
        target: Label,
        at: At,
    ) {
        if let (Int::Constant(0), Order::Eq | Order::Ne) = (b, order) {
            self.int(a, at);
            let register = self.at(at);
            return match order {
                Order::Eq => self.asm.jump_if_zero(register, target),
                _ => self.asm.jump_unless_zero(register, target),
            };
        }
        self.compare(a, b, at);
        self.asm.jump_if(flag(order, signed), target);
    }

    /// Jumps to `other` unless memory has these bytes.
    fn compare_bytes(&mut self, address: &Address, bytes: &[u8], other: Label, at: At) {
        if bytes.is_empty() {
            return;
        }
        let (base, offset) = self.address(address, at);
        let mut done = 0;
        while done < bytes.len() {
            let rest = &bytes[done..];
            let size = match rest.len() {
                8.. => 8,
                4.. => 4,
                2.. => 2,
                _ => 1,
            };
            let mut word = [0; 8];
            word[..size].copy_from_slice(&rest[..size]);
            let width = Width {
                size: size as u8,
                signed: false,
            };
            let there = self.write(TEMPORARY);
            self.load(there, (base, offset.wrapping_add(done as i64)), width);
            let wanted = u64::from_le_bytes(word);
            if !self.asm.compare_number(there, wanted) {
                let number = self.write(OTHER);
                self.asm.number(number, wanted);
                self.asm.compare(there, number);
            }
            self.asm.jump_if(Flag::NotEqual, other);
            done += size;
        }
    }
}
