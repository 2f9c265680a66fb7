//! The direct calls of a function.

use super::super::DirectCall;
use dwarf::FileAddr;

/// Length of `call rel32`.
const CALL: u64 = 5;
/// Its opcode.
const CALL_OPCODE: u8 = 0xe8;

/// Returns the calls of a function in code that begins at `start`; `None` if the code refers to it
/// in other ways.
pub fn direct_calls(code: &[u8], start: FileAddr, function: FileAddr) -> Option<Vec<DirectCall>> {
    let mut found = Vec::new();
    // Four bytes may equal the distance to the function by accident: a wrong match costs one
    // unnecessary stop.
    for (index, distance) in (0_u64..).zip(code.windows(4)) {
        let behind = start + (index + 4);
        let distance = i32::from_le_bytes(distance.try_into().ok()?);
        if behind.0.wrapping_add_signed(distance.into()) != function.0 {
            continue;
        }
        let opcode = usize::try_from(index).ok()?.checked_sub(1);
        match opcode.and_then(|at| code.get(at)) {
            Some(&CALL_OPCODE) => found.push(DirectCall {
                addr: FileAddr(behind.0 - CALL),
                back: behind,
            }),
            // `lea`, by which the loader publishes the function's address.
            Some(modrm) if modrm & 0xc7 == 0x05 => {}
            _ => return None,
        }
    }
    Some(found)
}
