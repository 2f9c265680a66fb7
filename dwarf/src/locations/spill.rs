//! Objects behind a pointer that unoptimized code keeps in a word of its frame: arguments and environments
//! of closures that are passed by address.
//!
//! LLVM's location lists name the register that passes the pointer, up to the arguments of the first call or to
//! its end, and the word of the frame from the next block on. While that call runs, they have no entry, or
//! one of a register that the call has overwritten. The code tells whether the word already has the pointer.

use crate::file::R;
use crate::ids::addr::FileAddr;
use crate::ids::register::Register;
use gimli::{Encoding, Expression, Operation};

/// A word of the frame that may have a pointer where a location list says nothing of the object behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spill {
    /// The register that has the pointer before, and where the list first says so. `None`: the list begins with
    /// the word, but what was passed to the function has a place from its entry on.
    pub passed_in: Option<(Register, FileAddr)>,
    /// The register that the word's address is relative to.
    pub base: Register,
    /// The word's offset from it.
    pub offset: i64,
    /// Where the list first says that the word has the pointer.
    pub to: FileAddr,
}

/// An entry of a location list.
#[derive(Clone, Copy)]
pub(super) struct ListEntry {
    pub begin: u64,
    pub expression: Expression<R>,
}

/// The entries of a location list that begin before and behind an address.
#[derive(Default)]
pub(super) struct Hole {
    before: Option<ListEntry>,
    after: Option<ListEntry>,
}

impl Hole {
    /// Takes an entry into account.
    pub fn add(&mut self, entry: ListEntry, pc: u64) {
        let is_closer = |known: &Option<ListEntry>| {
            let known = known.map(|it| it.begin.abs_diff(pc));
            known.is_none_or(|known| entry.begin.abs_diff(pc) < known)
        };
        let side = match entry.begin <= pc {
            true => &mut self.before,
            false => &mut self.after,
        };
        if is_closer(side) {
            *side = Some(entry);
        }
    }

    /// Returns the word that may have the pointer in the hole, and the expression that is true if it does;
    /// `None` if the entries do not describe one object behind a pointer. `is_passed`: the object is passed
    /// to the function, and exists from its entry on.
    pub fn spill(&self, encoding: Encoding, is_passed: bool) -> Option<(Spill, Expression<R>)> {
        let after = self.after?;
        let (base, offset, behind) = behind_register(after.expression, encoding)?;
        let passed_in = match self.before {
            Some(before) => {
                let (register, start, before_rest) = behind_register(before.expression, encoding)?;
                let (from_word, rest) = behind_word(behind, start, encoding)?;
                let is_same_object = from_word == start && rest.slice() == before_rest.slice();
                is_same_object.then_some(())?;
                Some((register, FileAddr(before.begin)))
            }
            None => {
                behind_word(behind, 0, encoding).filter(|_| is_passed)?;
                None
            }
        };
        let spill = Spill {
            passed_in,
            base,
            offset,
            to: FileAddr(after.begin),
        };
        Some((spill, after.expression))
    }
}

/// Splits an expression into the register and the offset that it begins with, and the rest.
fn behind_register(expression: Expression<R>, encoding: Encoding) -> Option<(Register, i64, R)> {
    let mut rest = expression.0;
    match Operation::parse(&mut rest, encoding).ok()? {
        Operation::RegisterOffset {
            register,
            offset,
            base_type,
        } if base_type.0 == 0 => Some((Register(register.0), offset, rest)),
        _ => None,
    }
}

/// Splits operations that read a word and add an offset to it into the offset and the rest. Without the
/// operation that adds, the offset is 0. `expected`: an offset of 0 has no operation.
fn behind_word(mut rest: R, expected: i64, encoding: Encoding) -> Option<(i64, R)> {
    let Operation::Deref {
        size: 8,
        space: false,
        base_type,
    } = Operation::parse(&mut rest, encoding).ok()?
    else {
        return None;
    };
    if base_type.0 != 0 {
        return None;
    }
    if expected == 0 {
        return Some((0, rest));
    }
    match Operation::parse(&mut rest, encoding).ok()? {
        Operation::PlusConstant { value } => Some((i64::try_from(value).ok()?, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gimli::{EndianSlice, Format, LittleEndian};

    const ENCODING: Encoding = Encoding {
        address_size: 8,
        format: Format::Dwarf32,
        version: 4,
    };

    /// Returns the word's base and offset in the hole between two entries.
    fn between(before: &'static [u8], after: &'static [u8]) -> Option<(u16, i64)> {
        let mut hole = Hole::default();
        let entry = |begin, bytes| ListEntry {
            begin,
            expression: Expression(EndianSlice::new(bytes, LittleEndian)),
        };
        hole.add(entry(0x30, after), 0x20);
        hole.add(entry(0x10, before), 0x20);
        // Further away.
        hole.add(entry(0x40, &[0x50]), 0x20);
        let (spill, _) = hole.spill(ENCODING, false)?;
        assert_eq!(spill.to.0, 0x30);
        assert_eq!(spill.passed_in.map(|it| it.1.0), Some(0x10));
        Some((spill.base.0, spill.offset))
    }

    #[test]
    fn list_of_what_is_passed_may_begin_with_the_word() {
        let bytes: &[u8] = &[0x77, 0x10, 0x06, 0x23, 0x18];
        let mut hole = Hole::default();
        let expression = Expression(EndianSlice::new(bytes, LittleEndian));
        let begin = 0x30;
        hole.add(ListEntry { begin, expression }, 0x20);
        let spill = hole.spill(ENCODING, true).map(|it| it.0);
        let spill = spill.expect("a word");
        assert_eq!(
            (spill.passed_in, spill.offset, spill.to.0),
            (None, 16, 0x30)
        );
        assert!(hole.spill(ENCODING, false).is_none());
    }

    #[test]
    fn both_entries_describe_one_object() {
        // breg5 24; breg7 104, deref, plus_uconst 24
        let after: &[u8] = &[0x77, 0xe8, 0, 0x06, 0x23, 0x18];
        assert_eq!(between(&[0x75, 0x18], after), Some((7, 104)));
        // breg5 0; breg7 16, deref
        assert_eq!(between(&[0x75, 0], &[0x77, 0x10, 0x06]), Some((7, 16)));
        // breg5 8, deref; breg7 16, deref, plus_uconst 8, deref
        let after: &[u8] = &[0x77, 0x10, 0x06, 0x23, 8, 0x06];
        assert_eq!(between(&[0x75, 8, 0x06], after), Some((7, 16)));
        // Another offset, another rest, the object itself, registers.
        assert_eq!(between(&[0x75, 9, 0x06], after), None);
        assert_eq!(between(&[0x75, 8], after), None);
        assert_eq!(between(&[0x75, 0], &[0x77, 0x10]), None);
        assert_eq!(between(&[0x55], &[0x50]), None);
        assert_eq!(between(&[], &[]), None);
    }
}
