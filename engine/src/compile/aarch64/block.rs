//! Copies of the program's memory into a record.

use super::super::captured::{Block, Extent};
use super::super::code::{BoolExpr, Float, Width};
use super::super::set::At;
use super::emit::{Emitter, OTHER, TEMPORARY, size};
use crate::arch::aarch64::assembler::{Flag, Size, X, ZERO};

/// Offset of a block's bytes, after its address and length.
const BYTES: usize = 16;

fn unsigned(bytes: usize) -> Size {
    size(Width {
        size: bytes as u8,
        signed: false,
    })
}

impl Emitter<'_> {
    /// Stores a float at `record`, and advances it.
    pub(super) fn store_float(&mut self, float: &Float, single: bool, record: X) {
        self.float(float, At::START);
        let from = self.vector(At::START);
        if single {
            self.asm.narrow(from, from);
        }
        self.asm.store_float(from, record, 0, single);
        self.advance(record, 8);
    }

    /// Stores a block at `record`, and advances it; deopt if a text does not fit into `room`.
    pub(super) fn block(&mut self, block: &Block, record: X, room: usize) {
        let (without, end) = (self.asm.label(), self.asm.label());
        let always = matches!(block.when, BoolExpr::Constant(true));
        if !always {
            self.branch(&block.when, false, without, At::START);
        }
        let place = self.address(&block.at, At::START);
        let from = self.at(At::START);
        self.add(from, place);
        match &block.extent {
            Extent::Bytes(size) => self.copy_bytes(from, *size, record),
            Extent::Terminated(unit) => {
                let most = block.most().unwrap_or(0);
                self.copy_terminated(from, *unit, most, room, record);
            }
            Extent::Counted(count, most, size) => {
                self.int(count, At::START.next());
                self.copy_counted(from, *most, *size, room, record);
            }
        }
        if !always {
            self.asm.jump(end);
            self.asm.place(without);
            self.asm.store_pair((ZERO, ZERO), record, 0);
            self.advance(record, BYTES);
            self.asm.place(end);
        }
    }

    fn copy_bytes(&mut self, from: X, size: usize, record: X) {
        let word = self.write(TEMPORARY);
        self.asm.number(word, size as u64);
        self.asm.store_pair((from, word), record, 0);
        let mut done = 0;
        while done < size {
            let bytes = match size - done {
                8.. => 8,
                4.. => 4,
                _ => 1,
            };
            // Objects are smaller than what these can encode.
            self.asm.load(word, from, done as i64, unsigned(bytes));
            (self.asm).store(word, record, (BYTES + done) as i64, unsigned(bytes));
            done += bytes;
        }
        self.advance(record, BYTES + size.next_multiple_of(8));
    }

    fn copy_terminated(&mut self, from: X, unit: usize, most: usize, room: usize, record: X) {
        let (read, len) = (self.write(TEMPORARY), self.write(OTHER));
        let target = self.at(At::START.next());
        let (again, end) = (self.asm.label(), self.asm.label());
        self.asm.store(from, record, 0, Size::WORD);
        self.asm.add_number(target, record, BYTES as i64);
        self.asm.number(len, 0);
        self.asm.place(again);
        self.asm.load_indexed(read, from, len, unsigned(unit));
        self.asm.store_indexed(read, target, len, unsigned(unit));
        self.asm.add_number(len, len, unit as i64);
        self.asm.jump_if_zero(read, end);
        let last = most.min(room / unit * unit);
        self.compare_number(len, last as u64);
        self.asm.jump_if(Flag::Below, again);
        if last < most {
            self.asm.jump(self.to.deopt);
        }
        self.asm.place(end);
        self.asm.store(len, record, 8, Size::WORD);
        self.behind(record, len);
    }

    /// Copies a block whose number of units is in the next register.
    fn copy_counted(&mut self, from: X, most: usize, size: usize, room: usize, record: X) {
        let (read, left) = (self.write(TEMPORARY), self.write(OTHER));
        let len = self.at(At::START.next());
        let target = self.at(At::START.next().next());
        let (again, end) = (self.asm.label(), self.asm.label());
        let fits = room / size;
        if fits >= most {
            self.asm.number(read, most as u64);
            self.asm.compare(len, read);
            self.asm.select(len, read, len, Flag::Above);
        } else {
            self.compare_number(len, fits as u64);
            self.asm.jump_if(Flag::Above, self.to.deopt);
        }
        if size > 1 {
            self.asm.number(read, size as u64);
            self.asm.mul(len, len, read);
        }
        self.asm.store_pair((from, len), record, 0);
        self.asm.add_number(target, record, BYTES as i64);
        self.asm.copy(left, len);
        self.asm.place(again);
        self.asm.subs_number(left, left, 1);
        self.asm.jump_if(Flag::Below, end);
        self.asm.load_indexed(read, from, left, unsigned(1));
        self.asm.store_indexed(read, target, left, unsigned(1));
        self.asm.jump(again);
        self.asm.place(end);
        self.behind(record, len);
    }

    /// Advances `record` past a block of this length.
    fn behind(&mut self, record: X, len: X) {
        self.asm.add_number(len, len, 7);
        self.asm.shift_right(len, len, 3, false);
        self.asm.add_shifted(record, record, len, 3);
        self.advance(record, BYTES);
    }
}
