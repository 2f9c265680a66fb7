//! The direct calls of a function.

use super::super::{Arch, DirectCall, Flow};
use dwarf::{FileAddr, LoadAddr};

pub fn direct_calls(code: &[u8], start: FileAddr, function: FileAddr) -> Option<Vec<DirectCall>> {
    let calls = Arch::Fixed.decode_all(code, LoadAddr(start.0)).flatten();
    let calls = calls.filter(|it| it.flow == Flow::Call(LoadAddr(function.0)));
    let found = calls.map(|it| DirectCall {
        addr: FileAddr(it.addr.0),
        back: FileAddr(it.next().0),
    });
    Some(found.collect())
}
