//! Where the linker placed what an object file has: addresses of the file → addresses of the image.
//!
//! The debug info of an object file has addresses of its own sections. The linker moves each
//! function and variable by itself, and leaves out those that are not used or that another file has,
//! too.

use smallvec::SmallVec;

/// A function or variable that is in the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Atom {
    /// Its addresses in the object file.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Its address in the image.
    pub(crate) linked: u64,
    /// Whether it is the rest of the function before it, from a label on.
    pub(crate) is_label: bool,
}

impl Atom {
    /// Returns its addresses in the image.
    pub(crate) fn linked_range(&self) -> (u64, u64) {
        (self.linked, self.address(self.end))
    }

    fn address(&self, addr: u64) -> u64 {
        self.linked.wrapping_add(addr.wrapping_sub(self.start))
    }
}

/// The functions and variables of an object file that are in the image.
#[derive(Default)]
pub(crate) struct Placement {
    /// By start; they do not overlap.
    atoms: Vec<Atom>,
}

impl Placement {
    pub(crate) fn new(mut atoms: Vec<Atom>) -> Placement {
        atoms.retain(|atom| atom.start < atom.end);
        atoms.sort_unstable_by_key(|atom| (atom.start, atom.end));
        // Of two names for the same code, the one with the longer code stays.
        atoms.dedup_by(|next, atom| {
            let is_same = next.start == atom.start;
            if is_same {
                *atom = *next;
            }
            is_same
        });
        let starts: Vec<u64> = atoms.iter().skip(1).map(|atom| atom.start).collect();
        for (atom, next) in atoms.iter_mut().zip(starts) {
            atom.end = atom.end.min(next);
        }
        atoms.dedup_by(|label, atom| {
            let is_rest =
                label.is_label && atom.end == label.start && atom.address(atom.end) == label.linked;
            if is_rest {
                atom.end = label.end;
            }
            is_rest
        });
        Placement { atoms }
    }

    /// Returns the number of functions and variables.
    pub(crate) fn len(&self) -> usize {
        self.atoms.len()
    }

    /// Returns the address in the image; `None` if it is not there.
    pub(crate) fn address(&self, addr: u64) -> Option<u64> {
        let behind = self.atoms.partition_point(|atom| atom.start <= addr);
        let atom = self.atoms.get(behind.checked_sub(1)?)?;
        (addr < atom.end).then(|| atom.address(addr))
    }

    /// Returns the address in the image of what ends there: the end of a function, not the start of
    /// the next one.
    pub(crate) fn address_behind(&self, addr: u64) -> Option<u64> {
        self.address(addr.checked_sub(1)?)?.checked_add(1)
    }

    /// Returns the parts of a range that are in the image, each with its start there.
    pub(crate) fn parts(&self, start: u64, end: u64) -> impl Iterator<Item = Atom> + '_ {
        let first = self.atoms.partition_point(|atom| atom.end <= start);
        let atoms = self.atoms.get(first..).unwrap_or_default().iter();
        let meeting = atoms.take_while(move |atom| atom.start < end && start < end);
        meeting.map(move |atom| {
            let from = atom.start.max(start);
            Atom {
                start: from,
                end: atom.end.min(end),
                linked: atom.address(from),
                is_label: false,
            }
        })
    }

    /// Returns a range's addresses in the image; adjacent ones are one range.
    pub(crate) fn ranges(&self, start: u64, end: u64) -> SmallVec<[(u64, u64); 1]> {
        let mut found = SmallVec::<[(u64, u64); 1]>::new();
        for part in self.parts(start, end) {
            let (start, end) = part.linked_range();
            match found.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => found.push((start, end)),
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atom(start: u64, end: u64, linked: u64) -> Atom {
        Atom {
            start,
            end,
            linked,
            is_label: false,
        }
    }

    #[test]
    fn addresses_follow_what_they_are_in() {
        let placed = Placement::new(vec![atom(0x20, 0x30, 0x100), atom(0, 0x10, 0x200)]);
        let address = |addr| placed.address(addr);
        assert_eq!(address(0), Some(0x200));
        assert_eq!(address(0xf), Some(0x20f));
        assert_eq!(address(0x10), None, "what is between them was left out");
        assert_eq!(address(0x2f), Some(0x10f));
        assert_eq!(address(0x30), None);
        assert_eq!(address(u64::MAX), None);
        assert_eq!(placed.address_behind(0x30), Some(0x110));
        assert_eq!(placed.address_behind(0x20), None);
        assert_eq!(placed.address_behind(0), None);
    }

    #[test]
    fn a_range_is_split_where_the_linker_split_it() {
        let placed = Placement::new(vec![
            atom(0, 0x10, 0x200),
            atom(0x10, 0x18, 0x210),
            atom(0x20, 0x30, 0x100),
        ]);
        let ranges = |start, end| placed.ranges(start, end).into_vec();
        assert_eq!(ranges(0, 0x40), [(0x200, 0x218), (0x100, 0x110)]);
        assert_eq!(ranges(8, 0x22), [(0x208, 0x218), (0x100, 0x102)]);
        assert_eq!(ranges(0x18, 0x20), []);
        assert_eq!(ranges(0x30, 0x40), []);
        assert_eq!(ranges(0x22, 0x22), []);
    }

    #[test]
    fn a_label_continues_its_function() {
        let label = |start, end, linked| Atom {
            is_label: true,
            ..atom(start, end, linked)
        };
        let atoms = |atoms: Vec<Atom>| Placement::new(atoms).atoms;
        assert_eq!(
            atoms(vec![
                atom(0, 8, 0x100),
                label(8, 12, 0x108),
                atom(12, 16, 0x10c)
            ]),
            [atom(0, 12, 0x100), atom(12, 16, 0x10c)]
        );
        let elsewhere = vec![atom(0, 8, 0x100), label(8, 12, 0x200)];
        assert_eq!(atoms(elsewhere.clone()), elsewhere);
    }

    #[test]
    fn atoms_that_overlap_end_where_the_next_one_begins() {
        let placed = Placement::new(vec![
            atom(0, 0x40, 0x1000),
            atom(0x10, 0x10, 0x5000),
            atom(0x20, 0x30, 0x2000),
            atom(0x20, 0x28, 0x3000),
        ]);
        assert_eq!(placed.address(0x1f), Some(0x101f));
        assert_eq!(placed.address(0x2f), Some(0x200f));
        assert_eq!(placed.address(0x30), None);
    }
}
