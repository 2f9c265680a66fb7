//! Which owners of a site the code behind a jump can serve.

use crate::ids::BreakpointId;
use crate::inferior::site::Owner;

/// What the code at a site serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Served {
    /// The breakpoint whose hits it evaluates.
    pub breakpoint: Option<BreakpointId>,
    /// Whether it recognises the end of a search, before that.
    pub end: bool,
}

impl Served {
    /// Returns what is served at a site with these owners; `None`: only a trap serves them. While
    /// hits are only counted (`is_counting`), a breakpoint may share its site with the end.
    pub fn of(owners: &[Owner], is_counting: bool) -> Option<Served> {
        let (breakpoint, end) = match *owners {
            [Owner::User(id)] => (Some(id), false),
            [Owner::End] => (None, true),
            [Owner::User(id), Owner::End] | [Owner::End, Owner::User(id)] if is_counting => {
                (Some(id), true)
            }
            _ => return None,
        };
        Some(Served { breakpoint, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ThreadId;

    #[test]
    fn code_serves_a_breakpoint_and_the_end() {
        let (user, other) = (Owner::User(BreakpointId(1)), Owner::User(BreakpointId(2)));
        let served = |breakpoint, end| Some(Served { breakpoint, end });
        let id = Some(BreakpointId(1));
        for is_counting in [false, true] {
            let of = |owners: &[Owner]| Served::of(owners, is_counting);
            assert_eq!(of(&[user]), served(id, false));
            assert_eq!(of(&[Owner::End]), served(None, true));
            let both = served(id, true).filter(|_| is_counting);
            assert_eq!(of(&[user, Owner::End]), both);
            assert_eq!(of(&[Owner::End, user]), both);
            for owners in [
                &[][..],
                &[Owner::Step(ThreadId(1))],
                &[user, other],
                &[user, other, Owner::End],
                &[Owner::End, Owner::Loader],
            ] {
                assert_eq!(of(owners), None, "{owners:?}");
            }
        }
    }
}
