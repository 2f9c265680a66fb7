//! Places in memory.

use super::super::code::{Address, Base, Width};
use super::super::needs::Needs;
use super::super::set::At;
use super::emit::{Emitter, OTHER, Place, TEMPORARY};
use crate::arch::aarch64::assembler::{SP, X};
use dwarf::Register;

impl Emitter<'_> {
    /// Returns the place of an address. It takes the register of `at`, with an index also the next
    /// one while it is computed; deopt if it cannot be an address.
    pub(super) fn address(&mut self, address: &Address, at: At) -> Place {
        let Some((index, stride)) = &address.index else {
            let place = self.base(address, at);
            return self.guarded(address, place);
        };
        let (_, index_first) = match &address.base {
            Base::Int(int) => Needs::both(int.needs(), index.needs()),
            _ => (Needs::default(), false),
        };
        let (base, index) = if index_first {
            self.int(index, at);
            let index = self.at(at);
            (self.base(address, at.next()), index)
        } else {
            let base = self.base(address, at);
            self.int(index, at.next());
            (base, self.at(at.next()))
        };
        let (base, offset) = base;
        let to = self.at(at);
        match stride {
            1 | 2 | 4 | 8 | 16 => {
                (self.asm).add_shifted(to, base, index, stride.trailing_zeros());
            }
            _ => {
                let number = self.write(OTHER);
                self.asm.number(number, *stride);
                self.asm.mul(number, index, number);
                self.asm.add_shifted(to, base, number, 0);
            }
        }
        self.guarded(address, (to, offset))
    }

    /// Returns the place without the index.
    fn base(&mut self, address: &Address, at: At) -> Place {
        let offset = address.offset;
        match &address.base {
            Base::Zero => {
                let to = self.at(at);
                self.asm.number(to, offset as u64);
                (to, 0)
            }
            Base::Thread => {
                let to = self.at(at);
                self.asm.read_thread_pointer(to);
                (to, offset)
            }
            Base::Register(register) => self.base_register(*register, at, offset),
            Base::Int(int) => {
                self.int(int, at);
                (self.at(at), offset)
            }
        }
    }

    /// Returns the place at a register of the program, without a copy if it still has its value.
    fn base_register(&mut self, register: Register, at: At, offset: i64) -> Place {
        if register.0 == u16::from(SP.0) {
            let depth = i64::from(self.saved.stack_pointer);
            return (SP, offset.wrapping_add(depth));
        }
        if let Some(live) = self.live(register) {
            return (live, offset);
        }
        let to = self.at(at);
        let place = self.saved.place(register);
        self.load(to, (SP, i64::from(place)), Width::WORD);
        (to, offset)
    }

    fn guarded(&mut self, address: &Address, place: Place) -> Place {
        if address.guarded {
            // Nothing is mapped below 64 KiB, and programs have no memory above 2^48 unless they ask
            // for it. An address with a tag is the interpreter's.
            let sum: X = self.write(TEMPORARY);
            self.add(sum, place);
            self.asm.add_number(sum, sum, -0x1_0000);
            self.asm.shift_right(sum, sum, 48, false);
            self.asm.jump_unless_zero(sum, self.to.deopt);
        }
        place
    }
}
