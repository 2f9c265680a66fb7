//! C++ pointers to members.

use crate::arch::{Arch, VirtualBit};

/// A pointer to a member, decoded (Itanium C++ ABI §2.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberPointer {
    /// Data: the offset in the object; `None` is the null pointer.
    Data(Option<u64>),
    /// A function that is not virtual: its address, 0 for the null pointer, and what the address of
    /// the object needs to be moved by.
    Function(u64, u64),
    /// A virtual function: its offset in the virtual table, and what the address of the object
    /// needs to be moved by.
    Virtual(u64, u64),
}

impl MemberPointer {
    /// Decodes the bytes of a pointer to a member, least significant first.
    pub fn of(arch: Arch, is_function: bool, bits: u128) -> MemberPointer {
        let (word, adjustment) = (bits as u64, (bits >> 64) as u64);
        if !is_function {
            return MemberPointer::Data((word != u64::MAX).then_some(word));
        }
        match arch.convention().virtual_bit {
            VirtualBit::Pointer if word & 1 == 1 => MemberPointer::Virtual(word - 1, adjustment),
            VirtualBit::Pointer => MemberPointer::Function(word, adjustment),
            VirtualBit::Adjustment => {
                let moved = (adjustment as i64 >> 1) as u64;
                match adjustment & 1 {
                    1 => MemberPointer::Virtual(word, moved),
                    _ => MemberPointer::Function(word, moved),
                }
            }
        }
    }

    /// Returns its bytes.
    pub fn bits(self, arch: Arch) -> u128 {
        let both = |word: u64, adjustment: u64| u128::from(word) | u128::from(adjustment) << 64;
        match (self, arch.convention().virtual_bit) {
            (MemberPointer::Data(offset), _) => u128::from(offset.unwrap_or(u64::MAX)),
            (MemberPointer::Function(word, moved), VirtualBit::Pointer) => both(word, moved),
            (MemberPointer::Virtual(word, moved), VirtualBit::Pointer) => {
                both(word.wrapping_add(1), moved)
            }
            (MemberPointer::Function(word, moved), VirtualBit::Adjustment) => {
                both(word, moved << 1)
            }
            (MemberPointer::Virtual(word, moved), VirtualBit::Adjustment) => {
                both(word, moved << 1 | 1)
            }
        }
    }

    /// Returns whether it is the null pointer.
    pub fn is_null(self) -> bool {
        matches!(
            self,
            MemberPointer::Data(None) | MemberPointer::Function(0, _)
        )
    }

    /// Returns whether two of the same type are equal. Null pointers are, whatever they move.
    pub fn is_same(self, other: MemberPointer) -> bool {
        self == other || self.is_null() && other.is_null()
    }

    /// Returns the same member in a class in which its class begins at an offset.
    pub fn moved(self, by: u64) -> MemberPointer {
        match self {
            MemberPointer::Data(offset) => {
                MemberPointer::Data(offset.map(|it| it.wrapping_add(by)))
            }
            MemberPointer::Function(word, moved) => {
                MemberPointer::Function(word, moved.wrapping_add(by))
            }
            MemberPointer::Virtual(word, moved) => {
                MemberPointer::Virtual(word, moved.wrapping_add(by))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bit_of_virtual_functions_is_where_the_architecture_has_it() {
        let virtual_third = MemberPointer::Virtual(16, 8);
        assert_eq!(virtual_third.bits(Arch::X86_64), 17 | 8 << 64);
        assert_eq!(virtual_third.bits(Arch::Aarch64), 16 | 17 << 64);
        let plain = MemberPointer::Function(0x1000, 8);
        assert_eq!(plain.bits(Arch::X86_64), 0x1000 | 8 << 64);
        assert_eq!(plain.bits(Arch::Aarch64), 0x1000 | 16 << 64);
        let back = MemberPointer::Function(0x1000, 8_u64.wrapping_neg());
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for of in [virtual_third, plain, back] {
                assert_eq!(MemberPointer::of(arch, true, of.bits(arch)), of);
            }
            let none = MemberPointer::of(arch, true, 0);
            assert!(none.is_null() && none.is_same(none.moved(8)));
            let first = MemberPointer::Virtual(0, 0);
            assert!(!MemberPointer::of(arch, true, first.bits(arch)).is_null());
            let data = MemberPointer::of(arch, false, u128::from(u64::MAX));
            assert!(data.is_null() && data.moved(8).is_null());
        }
    }
}
