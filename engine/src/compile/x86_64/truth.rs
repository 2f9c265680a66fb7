//! Code generation for truth values: comparisons and branches.

use super::super::code::{Address, BoolExpr, Int, Order, Width};
use super::super::set::At;
use super::emit::{Done, Emitter, General, RAX, RSP, simple, sized};
use iced_x86::IcedError;
use iced_x86::code_asm::*;

impl Emitter<'_> {
    /// Jumps to `target` if the truth value is `when`; otherwise falls through.
    pub(super) fn branch(
        &mut self,
        truth: &BoolExpr,
        when: bool,
        target: CodeLabel,
        at: At,
    ) -> Done {
        match truth {
            BoolExpr::Constant(known) if *known == when => self.asm.jmp(target),
            BoolExpr::Constant(_) => Ok(()),
            BoolExpr::Deopt => self.asm.jmp(self.to.deopt),
            BoolExpr::Not(inner) => self.branch(inner, !when, target, at),
            BoolExpr::And(a, b) | BoolExpr::Or(a, b) => {
                // The value of the first operand that makes the second unnecessary.
                let decided = matches!(truth, BoolExpr::Or(..));
                if when == decided {
                    self.branch(a, when, target, at)?;
                    return self.branch(b, when, target, at);
                }
                let end = self.asm.create_label();
                self.branch(a, decided, end, at)?;
                self.branch(b, when, target, at)?;
                self.place_label(end)
            }
            BoolExpr::Choice(truth, yes, no) => {
                let (other, end) = (self.asm.create_label(), self.asm.create_label());
                self.branch(truth, false, other, at)?;
                self.branch(yes, when, target, at)?;
                self.asm.jmp(end)?;
                self.place_label(other)?;
                self.branch(no, when, target, at)?;
                self.place_label(end)
            }
            BoolExpr::Compare(order, signed, a, b) => {
                let signed = self.compare(a, b, *signed, at)?;
                let order = if when { *order } else { order.negated() };
                self.jump(order, signed, target)
            }
            BoolExpr::CompareFloats(order, a, b) => {
                self.branch_floats(*order, (a, b), when, target, at)
            }
            BoolExpr::Any(all) if when => self.search(all, target, at),
            BoolExpr::Any(all) => {
                let found = self.asm.create_label();
                self.search(all, found, at)?;
                self.asm.jmp(target)?;
                self.place_label(found)
            }
            BoolExpr::Bytes(address, bytes) => {
                let end = self.asm.create_label();
                let other = if when { end } else { target };
                self.compare_bytes(address, bytes, other, at)?;
                if when {
                    self.asm.jmp(target)?;
                }
                self.place_label(end)
            }
        }
    }

    fn jump(&mut self, order: Order, signed: bool, target: CodeLabel) -> Done {
        match (order, signed) {
            (Order::Eq, _) => self.asm.je(target),
            (Order::Ne, _) => self.asm.jne(target),
            (Order::Lt, true) => self.asm.jl(target),
            (Order::Le, true) => self.asm.jle(target),
            (Order::Gt, true) => self.asm.jg(target),
            (Order::Ge, true) => self.asm.jge(target),
            (Order::Lt, false) => self.asm.jb(target),
            (Order::Le, false) => self.asm.jbe(target),
            (Order::Gt, false) => self.asm.ja(target),
            (Order::Ge, false) => self.asm.jae(target),
        }
    }

    /// Compares. Returns whether the flags are to be interpreted as signed.
    fn compare(&mut self, a: &Int, b: &Int, signed: bool, at: At) -> Result<bool, IcedError> {
        if let Int::Constant(bits) = b
            && let Some(number) = simple(b)
        {
            // Compare in the number's own width.
            let fits = |width: &Width| width.canonical(*bits) == *bits;
            // For 64 bits the comparison alone determines the signedness.
            let is_seen_signed = match a {
                Int::Load(_, width) | Int::Register(_, _, width) => width.signed || width.size == 8,
                _ => true,
            };
            match a {
                Int::Load(address, width) if fits(width) => {
                    let place = self.address(address, at)?;
                    self.compare_there(place, *width, number)?;
                    return Ok(signed && is_seen_signed);
                }
                Int::Register(register, 0, width)
                    if fits(width) && usize::from(register.0) != RSP =>
                {
                    match self.live(*register) {
                        Some(live) => self.compare_register(live, *width, number)?,
                        None => {
                            let place = rsp + self.saved.place(*register);
                            self.compare_there(place, *width, number)?;
                        }
                    }
                    return Ok(signed && is_seen_signed);
                }
                _ => {}
            }
            self.int(a, at)?;
            let left = self.at(at);
            match number {
                0 => self.asm.test(left.r64, left.r64)?,
                number => self.asm.cmp(left.r64, number)?,
            }
            return Ok(signed);
        }
        if let Int::Constant(bits) = b {
            self.int(a, at)?;
            let (left, right) = (self.at(at), self.write(RAX));
            self.asm.mov(right.r64, *bits)?;
            self.asm.cmp(left.r64, right.r64)?;
            return Ok(signed);
        }
        let (left, right) = self.pair(a, b, at)?;
        self.asm.cmp(left.r64, right.r64)?;
        Ok(signed)
    }

    fn compare_there(&mut self, place: AsmMemoryOperand, width: Width, number: i32) -> Done {
        let place = sized(place, width);
        match (width.size, width.signed) {
            // The assembler expects the low bits as an unsigned number.
            (1, false) => self.asm.cmp(place, number as u8 as u32),
            (2, false) => self.asm.cmp(place, number as u16 as u32),
            _ => self.asm.cmp(place, number),
        }
    }

    fn compare_register(&mut self, register: General, width: Width, number: i32) -> Done {
        match (width.size, width.signed, number) {
            (1, _, 0) => self.asm.test(register.byte, register.byte),
            (4, _, 0) => self.asm.test(register.r32, register.r32),
            (8, _, 0) => self.asm.test(register.r64, register.r64),
            (1, false, _) => self.asm.cmp(register.byte, number as u8 as u32),
            (1, true, _) => self.asm.cmp(register.byte, number),
            (2, false, _) => self.asm.cmp(register.r16, number as u16 as u32),
            (2, true, _) => self.asm.cmp(register.r16, number),
            (4, ..) => self.asm.cmp(register.r32, number),
            _ => self.asm.cmp(register.r64, number),
        }
    }

    /// Jumps to `other` unless memory has these bytes.
    fn compare_bytes(&mut self, address: &Address, bytes: &[u8], other: CodeLabel, at: At) -> Done {
        if bytes.is_empty() {
            return Ok(());
        }
        let place = self.address(address, at)?;
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
            let word = u64::from_le_bytes(word);
            let there = place + done as i32;
            match size {
                8 => {
                    let wanted = self.write(RAX);
                    self.asm.mov(wanted.r64, word)?;
                    self.asm.cmp(qword_ptr(there), wanted.r64)?;
                }
                4 => self.asm.cmp(dword_ptr(there), word as u32 as i32)?,
                2 => self.asm.cmp(word_ptr(there), word as u32)?,
                _ => self.asm.cmp(byte_ptr(there), word as u32)?,
            }
            self.asm.jne(other)?;
            done += size;
        }
        Ok(())
    }
}
