//! Which owners of a site the code behind a jump can serve.

use crate::ids::BreakpointId;
use crate::inferior::jump_patch::trampoline::MAX_COUNTED;
use crate::inferior::site::Owner;
use smallvec::SmallVec;

/// What the code at a site serves.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Served {
    /// The breakpoints whose hits it evaluates.
    pub breakpoints: SmallVec<[BreakpointId; 1]>,
    /// Whether it recognises the end of a search, before that.
    pub end: bool,
}

impl Served {
    /// Returns what is served at a site with these owners; `None`: only a trap serves them. While
    /// hits are only counted (`is_counting`), breakpoints share their site with each other and with
    /// the end of a search.
    pub fn of(owners: &[Owner], is_counting: bool) -> Option<Served> {
        let mut served = Served::default();
        for owner in owners {
            match owner {
                Owner::User(id) => served.breakpoints.push(*id),
                Owner::End => served.end = true,
                _ => return None,
            }
        }
        let most = if is_counting { MAX_COUNTED } else { 1 };
        let is_alone = owners.len() == 1;
        let is_served = is_alone || is_counting && owners.len() > 1;
        (is_served && served.breakpoints.len() <= most).then_some(served)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ThreadId;

    #[test]
    fn code_serves_breakpoints_and_the_end() {
        let user = |number| Owner::User(BreakpointId(number));
        let served = |numbers: &[u32], end| {
            let breakpoints = numbers.iter().copied().map(BreakpointId).collect();
            Some(Served { breakpoints, end })
        };
        for is_counting in [false, true] {
            let of = |owners: &[Owner]| Served::of(owners, is_counting);
            assert_eq!(of(&[user(1)]), served(&[1], false));
            assert_eq!(of(&[Owner::End]), served(&[], true));
            for (owners, expected) in [
                (&[user(1), Owner::End][..], served(&[1], true)),
                (&[Owner::End, user(1)], served(&[1], true)),
                (&[user(1), user(2)], served(&[1, 2], false)),
                (&[user(2), Owner::End, user(1)], served(&[2, 1], true)),
            ] {
                assert_eq!(of(owners), expected.filter(|_| is_counting));
            }
            for owners in [
                &[][..],
                &[Owner::Step(ThreadId(1))],
                &[Owner::End, Owner::Loader],
                &[user(1), Owner::Exception],
            ] {
                assert_eq!(of(owners), None, "{owners:?}");
            }
            let many: Vec<Owner> = (0..=MAX_COUNTED as u32).map(user).collect();
            assert_eq!(of(&many), None);
            assert_eq!(of(&many[1..]).is_some(), is_counting);
        }
    }
}
