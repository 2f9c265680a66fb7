//! The debugger's patches in the code of a recorded program: they are not the program's, and neither
//! replays nor processes that it starts get them.

use super::tracee::Tracee;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Patches by their addresses, with the program's bytes.
pub type Originals = BTreeMap<u64, Box<[u8]>>;

/// The patches that are in a program now.
#[derive(Clone, Default)]
pub struct Patches(Rc<RefCell<Originals>>);

impl Patches {
    /// Registers a patch by the program's bytes under it, or that there is none.
    pub fn set(&self, addr: u64, original: Option<&[u8]>) {
        let mut all = self.0.borrow_mut();
        match original {
            Some(original) => drop(all.insert(addr, original.into())),
            None => drop(all.remove(&addr)),
        }
    }

    /// Forgets all: another program is in their place.
    pub fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// Returns those that are there now.
    pub fn now(&self) -> Originals {
        self.0.borrow().clone()
    }

    /// Returns those that are there now, which change on their own.
    pub fn copy(&self) -> Patches {
        Patches(Rc::new(RefCell::new(self.now())))
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Puts the program's bytes in place of patches in code that was read at an address.
    pub fn hide(&self, addr: u64, code: &mut [u8]) {
        let all = self.0.borrow();
        let end = addr.saturating_add(code.len() as u64);
        // In the order in which they are undone: an earlier one may cover the start of a later one.
        for (start, original) in all.range(addr.saturating_sub(64)..end).rev() {
            for (nth, byte) in original.iter().enumerate() {
                let at = (start + nth as u64).wrapping_sub(addr);
                if let Some(place) = usize::try_from(at).ok().and_then(|at| code.get_mut(at)) {
                    *place = *byte;
                }
            }
        }
    }

    /// Returns whether one begins at an address.
    pub fn has(&self, addr: u64) -> bool {
        self.0.borrow().contains_key(&addr)
    }

    /// Returns whether one begins at an address of a range.
    pub fn begin_in(&self, range: Range<u64>) -> bool {
        self.0.borrow().range(range).next().is_some()
    }

    /// Returns whether one covers an address of a range.
    pub fn overlap(&self, range: &Range<u64>) -> bool {
        let all = self.0.borrow();
        let mut before = all.range(..range.end).rev();
        // They are short, and one may begin in another: the nearest ones decide.
        before
            .by_ref()
            .take(4)
            .any(|(addr, original)| addr + original.len() as u64 > range.start)
    }
}

/// Removes patches from a copy of the program that has them.
pub fn remove(patches: &Originals, copy: &Tracee) {
    for (addr, original) in patches {
        if let Err(error) = copy.write(*addr, original) {
            tracing::debug!(%error, addr, "cannot remove a patch from a copy");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_without_patches_is_the_program_s() {
        let patches = Patches::default();
        patches.set(0x1000, Some(&[1, 2, 3, 4, 5]));
        patches.set(0x100a, Some(&[6]));
        let mut code = [0xcc; 8];
        patches.hide(0x1003, &mut code);
        assert_eq!(code, [4, 5, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 6]);
    }
}
