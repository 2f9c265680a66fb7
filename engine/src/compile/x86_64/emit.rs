//! Numbers. Each pending number has a general-purpose register of the pool;
//! `rax`, `rcx` and `rdx` are temporary within one operation.

use super::super::SavedRegisters;
use super::super::code::{Address, Base, Int, Loop, MAX_PASSES, Operation, Width};
use super::super::set::At;
use super::Exits;
use dwarf::Register;
use iced_x86::IcedError;
use iced_x86::code_asm::*;

/// A general-purpose register under all its names.
#[derive(Clone, Copy)]
pub(super) struct General {
    pub(super) r64: AsmRegister64,
    pub(super) r32: AsmRegister32,
    pub(super) r16: AsmRegister16,
    pub(super) byte: AsmRegister8,
}

const fn general(
    r64: AsmRegister64,
    r32: AsmRegister32,
    r16: AsmRegister16,
    byte: AsmRegister8,
) -> General {
    General {
        r64,
        r32,
        r16,
        byte,
    }
}

/// General-purpose registers by DWARF number (System V psABI for x86-64, figure 3.36).
const GENERAL: [General; 16] = [
    general(rax, eax, ax, al),
    general(rdx, edx, dx, dl),
    general(rcx, ecx, cx, cl),
    general(rbx, ebx, bx, bl),
    general(rsi, esi, si, sil),
    general(rdi, edi, di, dil),
    general(rbp, ebp, bp, bpl),
    general(rsp, esp, sp, spl),
    general(r8, r8d, r8w, r8b),
    general(r9, r9d, r9w, r9b),
    general(r10, r10d, r10w, r10b),
    general(r11, r11d, r11w, r11b),
    general(r12, r12d, r12w, r12b),
    general(r13, r13d, r13w, r13b),
    general(r14, r14d, r14w, r14b),
    general(r15, r15d, r15w, r15b),
];

pub(super) const VECTORS: [AsmRegisterXmm; 16] = [
    xmm0, xmm1, xmm2, xmm3, xmm4, xmm5, xmm6, xmm7, xmm8, xmm9, xmm10, xmm11, xmm12, xmm13, xmm14,
    xmm15,
];

pub(super) const RAX: usize = 0;
const RDX: usize = 1;
pub(super) const RCX: usize = 2;
pub(super) const RSP: usize = 7;

/// Registers for pending numbers, by DWARF number. The callee-saved registers come last.
pub(super) const POOL: [usize; 10] = [4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Mask of all general-purpose registers that may be written.
pub(super) const SCRATCH: u32 = 0b1111_1111_0011_0111;

/// Returns the mask bit of a register.
pub(super) fn bit_of(register: AsmRegister64) -> u32 {
    let number = GENERAL.iter().position(|it| it.r64 == register);
    number.map_or(0, |number| 1 << number)
}

/// Number of vector registers for pending floats, from `xmm0` on.
pub(super) const VECTOR_POOL: usize = 4;

/// The code generator for one condition.
pub(super) struct Emitter<'a> {
    pub(super) asm: &'a mut CodeAssembler,
    pub(super) saved: &'a SavedRegisters,
    pub(super) to: Exits,
    /// Mask of the registers that may be written, by DWARF number: the others still have the
    /// program's values.
    pub(super) clobbers: u32,
    /// Mask of the registers that have been written.
    pub(super) written: u32,
    pub(super) vectors: bool,
    /// The numbers of the loops around the code, and the registers of their indices.
    pub(super) loops: Vec<(u8, At)>,
}

pub(super) type Done = Result<(), IcedError>;

impl<'a> Emitter<'a> {
    pub(super) fn new(
        asm: &'a mut CodeAssembler,
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
            loops: Vec::new(),
        }
    }
}

pub(super) fn simple(int: &Int) -> Option<i32> {
    match int {
        Int::Constant(bits) => i32::try_from(*bits as i64).ok(),
        _ => None,
    }
}

pub(super) fn sized(place: AsmMemoryOperand, width: Width) -> AsmMemoryOperand {
    match width.size {
        1 => byte_ptr(place),
        2 => word_ptr(place),
        4 => dword_ptr(place),
        _ => qword_ptr(place),
    }
}

impl Emitter<'_> {
    pub(super) fn write(&mut self, number: usize) -> General {
        self.written |= 1 << number;
        GENERAL[number]
    }

    pub(super) fn at(&mut self, at: At) -> General {
        self.write(POOL[at.general.min(POOL.len() - 1)])
    }

    pub(super) fn vector(&mut self, at: At) -> AsmRegisterXmm {
        self.vectors = true;
        VECTORS[at.vector.min(VECTOR_POOL - 1)]
    }

    pub(super) fn place_label(&mut self, mut label: CodeLabel) -> Done {
        self.asm.set_label(&mut label)?;
        // An empty instruction for the label: the assembler allows only one label per instruction,
        // and none at the end.
        self.asm.zero_bytes()
    }

    /// Returns a register that still has the program's value; `None` if it may be overwritten.
    pub(super) fn live(&self, register: Register) -> Option<General> {
        let number = usize::from(register.0);
        let gone = self.clobbers | self.saved.written;
        let is_free = number < 16 && number != RSP && gone & 1 << number == 0;
        is_free.then(|| GENERAL[number])
    }

    /// Loads a register of the program from a byte offset on, canonical.
    pub(super) fn program_register(
        &mut self,
        register: Register,
        skip: u8,
        width: Width,
        at: At,
    ) -> Done {
        let to = self.at(at);
        if usize::from(register.0) == RSP && self.saved.keeps_stack_pointer {
            let place = rsp + (self.saved.stack_pointer + i32::from(skip));
            return self.load(to, place, width);
        }
        if usize::from(register.0) == RSP {
            self.asm.lea(to.r64, rsp + self.saved.stack_pointer)?;
            if skip > 0 {
                self.asm.shr(to.r64, u32::from(skip) * 8)?;
            }
            return self.canonical(to, width);
        }
        match self.live(register) {
            Some(from) if skip == 0 => self.extend(to, from, width),
            Some(from) => {
                self.asm.mov(to.r64, from.r64)?;
                self.asm.shr(to.r64, u32::from(skip) * 8)?;
                self.canonical(to, width)
            }
            None => {
                let place = rsp + (self.saved.place(register) + i32::from(skip));
                self.load(to, place, width)
            }
        }
    }

    /// Loads a vector register of the program from a byte offset on, canonical.
    fn vector_word(&mut self, number: u8, skip: u8, width: Width, at: At) -> Done {
        let number = usize::from(number).min(VECTORS.len() - 1);
        let to = self.at(at);
        if number < VECTOR_POOL {
            self.vectors = true;
            let place = rsp + (self.saved.vectors + 16 * number as i32 + i32::from(skip));
            return self.load(to, place, width);
        }
        if skip < 8 {
            self.asm.movq(to.r64, VECTORS[number])?;
        } else {
            let upper = self.vector(at);
            self.asm.movhlps(upper, VECTORS[number])?;
            self.asm.movq(to.r64, upper)?;
        }
        match u32::from(skip % 8) * 8 {
            0 => {}
            by => self.asm.shr(to.r64, by)?,
        }
        self.canonical(to, width)
    }

    fn extend(&mut self, to: General, from: General, width: Width) -> Done {
        match (width.size, width.signed) {
            (1, false) => self.asm.movzx(to.r32, from.byte),
            (1, true) => self.asm.movsx(to.r64, from.byte),
            (2, false) => self.asm.movzx(to.r32, from.r16),
            (2, true) => self.asm.movsx(to.r64, from.r16),
            (4, false) => self.asm.mov(to.r32, from.r32),
            (4, true) => self.asm.movsxd(to.r64, from.r32),
            _ if to.r64 == from.r64 => Ok(()),
            _ => self.asm.mov(to.r64, from.r64),
        }
    }

    fn canonical(&mut self, register: General, width: Width) -> Done {
        self.extend(register, register, width)
    }

    fn load(&mut self, to: General, from: AsmMemoryOperand, width: Width) -> Done {
        let place = sized(from, width);
        match (width.size, width.signed) {
            (1 | 2, false) => self.asm.movzx(to.r32, place),
            (1 | 2, true) => self.asm.movsx(to.r64, place),
            (4, false) => self.asm.mov(to.r32, place),
            (4, true) => self.asm.movsxd(to.r64, place),
            _ => self.asm.mov(to.r64, place),
        }
    }

    pub(super) fn constant(&mut self, to: General, bits: u64) -> Done {
        match bits {
            0 => self.asm.xor(to.r32, to.r32),
            _ if u32::try_from(bits).is_ok() => self.asm.mov(to.r32, bits as u32),
            _ => self.asm.mov(to.r64, bits),
        }
    }

    /// Computes an integer into the register of `at`.
    pub(super) fn int(&mut self, int: &Int, at: At) -> Done {
        match int {
            Int::Constant(bits) => {
                let to = self.at(at);
                self.constant(to, *bits)
            }
            Int::Load(address, width) => {
                let place = self.address(address, at)?;
                let to = self.at(at);
                self.load(to, place, *width)
            }
            Int::Register(register, skip, width) => {
                self.program_register(*register, *skip, *width, at)
            }
            Int::Vector(number, skip, width) => self.vector_word(*number, *skip, *width, at),
            Int::Convert(inner, width) => {
                self.int(inner, at)?;
                let to = self.at(at);
                self.canonical(to, *width)
            }
            Int::Field(inner, offset, width, size) => {
                self.int(inner, at)?;
                let to = self.at(at);
                let above = 64 - u32::from(*offset) - u32::from(*size);
                if above > 0 {
                    self.asm.shl(to.r64, above)?;
                }
                match (64 - u32::from(*size), width.signed) {
                    (0, _) => Ok(()),
                    (by, true) => self.asm.sar(to.r64, by),
                    (by, false) => self.asm.shr(to.r64, by),
                }
            }
            Int::Binary(operation, a, b, width, checked) => {
                self.binary(*operation, (a, b), *width, *checked, at)
            }
            Int::BoolExpr(truth) => {
                let (no, end) = (self.asm.create_label(), self.asm.create_label());
                self.branch(truth, false, no, at)?;
                let to = self.at(at);
                self.asm.mov(to.r32, 1)?;
                self.asm.jmp(end)?;
                self.place_label(no)?;
                self.asm.xor(to.r32, to.r32)?;
                self.place_label(end)
            }
            Int::Choice(truth, yes, no) => {
                let (other, end) = (self.asm.create_label(), self.asm.create_label());
                self.branch(truth, false, other, at)?;
                self.int(yes, at)?;
                self.asm.jmp(end)?;
                self.place_label(other)?;
                self.int(no, at)?;
                self.place_label(end)
            }
            Int::Float(float, width) => {
                self.float(float, at)?;
                let (from, to) = (self.vector(at), self.at(at));
                self.asm.cvttsd2si(to.r64, from)?;
                // A conversion out of range gives the least integer.
                self.asm.cmp(to.r64, 1)?;
                self.asm.jo(self.to.deopt)?;
                self.canonical(to, *width)
            }
            Int::Address(address) => {
                let plain = Address {
                    guarded: false,
                    ..(**address).clone()
                };
                if matches!(
                    (&plain.base, &plain.index),
                    (Base::Thread | Base::Zero, None)
                ) {
                    return self.whole(&plain, at);
                }
                let place = self.address(&plain, at)?;
                let to = self.at(at);
                self.asm.lea(to.r64, qword_ptr(place))
            }
            Int::Unless(truth, inner) => {
                self.branch(truth, true, self.to.deopt, at)?;
                self.int(inner, at)
            }
            Int::Index(number) => {
                let (to, from) = (self.at(at), self.index(*number));
                self.asm.mov(to.r64, from.r64)
            }
            Int::First(all) => {
                let found = self.asm.create_label();
                self.search(all, found, at)?;
                let to = self.at(at);
                self.asm.mov(to.r64, -1i64 as u64)?;
                self.place_label(found)
            }
        }
    }

    /// Returns the register of a loop's index.
    fn index(&mut self, number: u8) -> General {
        let at = self.loops.iter().find(|it| it.0 == number);
        self.at(at.map_or(At::START, |it| it.1))
    }

    /// Looks for the first index for which a loop's condition holds. Jumps to `found` with the index in
    /// the register of `at`; falls through if there is none.
    pub(super) fn search(&mut self, all: &Loop, found: CodeLabel, at: At) -> Done {
        let count_at = at.next();
        self.int(&all.count, at)?;
        let (index, count) = (self.at(at), self.at(count_at));
        self.asm.mov(count.r64, index.r64)?;
        self.asm.cmp(count.r64, MAX_PASSES as i32)?;
        self.asm.ja(self.to.deopt)?;
        self.asm.xor(index.r32, index.r32)?;
        let (again, end) = (self.asm.create_label(), self.asm.create_label());
        self.place_label(again)?;
        self.asm.cmp(index.r64, count.r64)?;
        self.asm.jae(end)?;
        self.loops.push((all.number, at));
        let tested = self.branch(&all.holds, true, found, count_at.next());
        self.loops.pop();
        tested?;
        self.asm.add(index.r64, 1)?;
        self.asm.jmp(again)?;
        self.place_label(end)
    }

    /// Stores the low bytes of the register of `at`.
    pub(super) fn store(&mut self, at: At, place: AsmMemoryOperand, width: Width) -> Done {
        let from = self.at(at);
        match width.size {
            1 => self.asm.mov(byte_ptr(place), from.byte),
            2 => self.asm.mov(word_ptr(place), from.r16),
            4 => self.asm.mov(dword_ptr(place), from.r32),
            _ => self.asm.mov(qword_ptr(place), from.r64),
        }
    }

    /// Computes two integers. Returns their registers: the first one's is that of `at` or the next.
    pub(super) fn pair(
        &mut self,
        a: &Int,
        b: &Int,
        at: At,
    ) -> Result<(General, General), IcedError> {
        let (_, second_first) = crate::compile::needs::Needs::both(a.needs(), b.needs());
        let (first, second) = if second_first { (b, a) } else { (a, b) };
        self.int(first, at)?;
        self.int(second, at.next())?;
        let (low, high) = (self.at(at), self.at(at.next()));
        Ok(if second_first {
            (high, low)
        } else {
            (low, high)
        })
    }

    fn binary(
        &mut self,
        operation: Operation,
        (a, b): (&Int, &Int),
        width: Width,
        checked: bool,
        at: At,
    ) -> Done {
        use Operation::{Add, And, Div, Mul, Or, Rem, Shl, Shr, Sub, Xor};
        let to = self.at(at);
        match (operation, simple(b)) {
            (Add | Sub | And | Or | Xor, Some(number)) => {
                self.int(a, at)?;
                match operation {
                    Add => self.asm.add(to.r64, number)?,
                    Sub => self.asm.sub(to.r64, number)?,
                    And => self.asm.and(to.r64, number)?,
                    Or => self.asm.or(to.r64, number)?,
                    _ => self.asm.xor(to.r64, number)?,
                }
            }
            (Shl | Shr, Some(by)) if (0..i32::from(width.size) * 8).contains(&by) => {
                self.int(a, at)?;
                match (operation, width.signed) {
                    (Shl, _) => self.asm.shl(to.r64, by)?,
                    (_, true) => self.asm.sar(to.r64, by)?,
                    (_, false) => self.asm.shr(to.r64, by)?,
                }
            }
            _ => {
                let (left, right) = self.pair(a, b, at)?;
                match operation {
                    Add => self.asm.add(left.r64, right.r64)?,
                    Sub => self.asm.sub(left.r64, right.r64)?,
                    And => self.asm.and(left.r64, right.r64)?,
                    Or => self.asm.or(left.r64, right.r64)?,
                    Xor => self.asm.xor(left.r64, right.r64)?,
                    Mul if checked && width == Width::WORD => {
                        let low = self.write(RAX);
                        self.write(RDX);
                        self.asm.mov(low.r64, left.r64)?;
                        self.asm.mul(right.r64)?;
                        self.asm.mov(left.r64, low.r64)?;
                    }
                    Mul => self.asm.imul_2(left.r64, right.r64)?,
                    Shl | Shr => {
                        let by = self.write(RCX);
                        // Unsigned comparison: a negative count exceeds any width.
                        self.asm.cmp(right.r64, i32::from(width.size) * 8)?;
                        self.asm.jae(self.to.deopt)?;
                        self.asm.mov(by.r64, right.r64)?;
                        match (operation, width.signed) {
                            (Shl, _) => self.asm.shl(left.r64, cl)?,
                            (_, true) => self.asm.sar(left.r64, cl)?,
                            (_, false) => self.asm.shr(left.r64, cl)?,
                        }
                    }
                    Div | Rem => self.divide(operation, left, (right, b), width)?,
                }
                // `mov` preserves the flags of the operation.
                if left.r64 != to.r64 {
                    self.asm.mov(to.r64, left.r64)?;
                }
            }
        }
        self.fit(operation, to, width, checked)
    }

    /// Makes a result canonical; deopt on overflow if `checked`.
    fn fit(&mut self, operation: Operation, to: General, width: Width, checked: bool) -> Done {
        use Operation::{Add, Mul, Shl, Sub};
        let may_leave = matches!(operation, Add | Sub | Mul);
        if checked && may_leave && width.size == 8 {
            // For a product both flags indicate overflow.
            return match (width.signed, operation) {
                (true, _) | (_, Mul) => self.asm.jo(self.to.deopt),
                (false, _) => self.asm.jb(self.to.deopt),
            };
        }
        if checked && may_leave {
            // 64 bits are enough for the result of narrower operands.
            let temporary = self.write(RAX);
            self.extend(temporary, to, width)?;
            self.asm.cmp(temporary.r64, to.r64)?;
            return self.asm.jne(self.to.deopt);
        }
        match may_leave || operation == Shl {
            true => self.canonical(to, width),
            false => Ok(()),
        }
    }

    fn divide(
        &mut self,
        operation: Operation,
        left: General,
        (right, b): (General, &Int),
        width: Width,
    ) -> Done {
        let known = simple(b).filter(|by| !matches!(by, 0 | -1));
        if known.is_none() {
            self.asm.test(right.r64, right.r64)?;
            self.asm.je(self.to.deopt)?;
            if width.signed {
                // The least integer divided by minus one overflows.
                self.asm.cmp(right.r64, -1)?;
                self.asm.je(self.to.deopt)?;
            }
        }
        let (quotient, rest) = (self.write(RAX), self.write(RDX));
        self.asm.mov(quotient.r64, left.r64)?;
        match (width.size, width.signed) {
            (8, true) => {
                self.asm.cqo()?;
                self.asm.idiv(right.r64)?;
            }
            (8, false) => {
                self.asm.xor(rest.r32, rest.r32)?;
                self.asm.div(right.r64)?;
            }
            (_, true) => {
                self.asm.cdq()?;
                self.asm.idiv(right.r32)?;
            }
            (_, false) => {
                self.asm.xor(rest.r32, rest.r32)?;
                self.asm.div(right.r32)?;
            }
        }
        let result = if operation == Operation::Div {
            quotient
        } else {
            rest
        };
        match width.size {
            8 => self.asm.mov(left.r64, result.r64),
            _ => self.extend(left, result, Width { size: 4, ..width }),
        }
    }
}
