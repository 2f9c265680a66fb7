//! Code generation for copies of the program's memory into a record.

use super::super::captured::{Block, Extent};
use super::super::code::{BoolExpr, Float};
use super::super::set::At;
use super::emit::{Done, Emitter, General, RAX, RCX};
use iced_x86::code_asm::*;

/// Offset of a block's bytes, after its address and length.
const BYTES: i32 = 16;

impl Emitter<'_> {
    /// Stores a float at `record`, and advances it.
    pub(super) fn store_float(
        &mut self,
        float: &Float,
        single: bool,
        record: AsmRegister64,
    ) -> Done {
        self.float(float, At::START)?;
        let from = self.vector(At::START);
        if single {
            self.asm.cvtsd2ss(from, from)?;
            self.asm.movss(dword_ptr(record), from)?;
        } else {
            self.asm.movsd_2(qword_ptr(record), from)?;
        }
        self.asm.lea(record, ptr(record + 8))
    }

    /// Stores a block at `record`, and advances it; deopt if a text does not fit into `room`.
    pub(super) fn block(&mut self, block: &Block, record: AsmRegister64, room: usize) -> Done {
        let (without, end) = (self.asm.create_label(), self.asm.create_label());
        let always = matches!(block.when, BoolExpr::Constant(true));
        if !always {
            self.branch(&block.when, false, without, At::START)?;
        }
        let place = self.address(&block.at, At::START)?;
        let at = self.at(At::START);
        self.asm.lea(at.r64, qword_ptr(place))?;
        match &block.extent {
            Extent::Bytes(size) => self.copy_bytes(at, *size, record)?,
            Extent::Terminated(unit) => {
                let most = block.most().unwrap_or(0);
                self.copy_terminated(at, *unit, most, room, record)?;
            }
            Extent::Counted(count, most, size) => {
                self.int(count, At::START.next())?;
                self.copy_counted(at, *most, *size, room, record)?;
            }
        }
        if !always {
            self.asm.jmp(end)?;
            self.place_label(without)?;
            for word in [0, 8] {
                self.asm.mov(qword_ptr(record + word), 0)?;
            }
            self.asm.lea(record, ptr(record + BYTES))?;
            self.place_label(end)?;
        }
        Ok(())
    }

    fn copy_bytes(&mut self, from: General, size: usize, record: AsmRegister64) -> Done {
        let word = self.write(RAX);
        self.asm.mov(qword_ptr(record), from.r64)?;
        self.asm.mov(qword_ptr(record + 8), size as i32)?;
        let mut done = 0;
        while done < size {
            let at = done as i32;
            done += match size - done {
                8.. => {
                    self.asm.mov(word.r64, qword_ptr(from.r64 + at))?;
                    self.asm.mov(qword_ptr(record + (BYTES + at)), word.r64)?;
                    8
                }
                4.. => {
                    self.asm.mov(word.r32, dword_ptr(from.r64 + at))?;
                    self.asm.mov(dword_ptr(record + (BYTES + at)), word.r32)?;
                    4
                }
                _ => {
                    self.asm.movzx(word.r32, byte_ptr(from.r64 + at))?;
                    self.asm.mov(byte_ptr(record + (BYTES + at)), word.byte)?;
                    1
                }
            };
        }
        let size = size.next_multiple_of(8) as i32;
        self.asm.lea(record, ptr(record + (BYTES + size)))
    }

    fn copy_terminated(
        &mut self,
        from: General,
        unit: usize,
        most: usize,
        room: usize,
        record: AsmRegister64,
    ) -> Done {
        let (read, len) = (self.write(RAX), self.write(RCX));
        let (mut again, end) = (self.asm.create_label(), self.asm.create_label());
        self.asm.mov(qword_ptr(record), from.r64)?;
        self.asm.xor(len.r32, len.r32)?;
        self.asm.set_label(&mut again)?;
        let source = from.r64 + len.r64;
        let target = record + len.r64 + BYTES;
        match unit {
            1 => {
                self.asm.movzx(read.r32, byte_ptr(source))?;
                self.asm.mov(byte_ptr(target), read.byte)?;
            }
            2 => {
                self.asm.movzx(read.r32, word_ptr(source))?;
                self.asm.mov(word_ptr(target), read.r16)?;
            }
            _ => {
                self.asm.mov(read.r32, dword_ptr(source))?;
                self.asm.mov(dword_ptr(target), read.r32)?;
            }
        }
        self.asm.add(len.r32, unit as i32)?;
        self.asm.test(read.r32, read.r32)?;
        self.asm.je(end)?;
        let last = most.min(room / unit * unit);
        self.asm.cmp(len.r32, last as i32)?;
        self.asm.jb(again)?;
        if last < most {
            self.asm.jmp(self.to.deopt)?;
        }
        self.place_label(end)?;
        self.asm.mov(qword_ptr(record + 8), len.r64)?;
        self.behind(record, len)
    }

    /// Copies a block whose number of units is in the next register.
    fn copy_counted(
        &mut self,
        from: General,
        most: usize,
        size: usize,
        room: usize,
        record: AsmRegister64,
    ) -> Done {
        let (read, left) = (self.write(RAX), self.write(RCX));
        let len = self.at(At::START.next());
        let (mut again, end) = (self.asm.create_label(), self.asm.create_label());
        let fits = room / size;
        if fits >= most {
            self.asm.mov(read.r32, most as u32)?;
            self.asm.cmp(len.r64, read.r64)?;
            self.asm.cmova(len.r64, read.r64)?;
        } else {
            self.asm.cmp(len.r64, fits as i32)?;
            self.asm.ja(self.to.deopt)?;
        }
        if size > 1 {
            self.asm.imul_3(len.r64, len.r64, size as i32)?;
        }
        self.asm.mov(qword_ptr(record), from.r64)?;
        self.asm.mov(qword_ptr(record + 8), len.r64)?;
        self.asm.mov(left.r64, len.r64)?;
        self.asm.set_label(&mut again)?;
        self.asm.sub(left.r64, 1)?;
        self.asm.jb(end)?;
        self.asm.movzx(read.r32, byte_ptr(from.r64 + left.r64))?;
        self.asm
            .mov(byte_ptr(record + left.r64 + BYTES), read.byte)?;
        self.asm.jmp(again)?;
        self.place_label(end)?;
        self.behind(record, len)
    }

    /// Advances `record` past a block of this length.
    fn behind(&mut self, record: AsmRegister64, len: General) -> Done {
        self.asm.add(len.r64, 7)?;
        self.asm.and(len.r64, -8)?;
        self.asm.lea(record, ptr(record + len.r64 + BYTES))
    }
}
