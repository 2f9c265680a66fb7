//! Control flow of the fake set.

use super::super::body::{Code, passed_by_each_call, passed_once};
use super::super::flow::{Candidate, first_reached, returns};
use super::super::{Arch, MAX_INSTRUCTION_BYTES};
use super::{CALL, JUMP, JUMP_IF, NOP, RETURN, STORE, TRAP, UNDEFINED, to, with};
use dwarf::{FileAddr, LoadAddr};

const ARCH: Arch = Arch::Fixed;

fn code(instructions: &[[u8; 4]]) -> Vec<u8> {
    instructions.concat()
}

#[test]
fn a_breakpoint_leaves_the_pc_in_place() {
    let trap = to(TRAP, 0);
    assert_eq!(ARCH.breakpoint(), trap);
    let site = LoadAddr(0x100);
    assert_eq!(ARCH.breakpoint_address(site), site);
    assert_eq!(ARCH.behind_breakpoint(site), LoadAddr(0x104));
    let x86 = Arch::X86_64;
    assert_eq!(x86.breakpoint_address(x86.behind_breakpoint(site)), site);
    assert_eq!(x86.behind_breakpoint(site), LoadAddr(0x101));
}

#[test]
fn only_the_first_arrival_of_a_line_remains() {
    // 0: jump 8; 4: nop; 8: jump_if 4; 12: return
    let code = code(&[to(JUMP, 8), to(NOP, 0), to(JUMP_IF, -4), to(RETURN, 0)]);
    let candidate = |addr, end| Candidate {
        addr: FileAddr(addr),
        end: FileAddr(end),
    };
    let candidates = [candidate(0, 4), candidate(4, 8), candidate(8, 12)];
    let code = [(FileAddr(0), code)];
    let kept = first_reached(ARCH, &code, FileAddr(0), &candidates, |_| true);
    assert_eq!(kept, [FileAddr(0)]);
}

#[test]
fn a_function_that_only_calls_and_faults_never_returns() {
    let start = FileAddr(0x40);
    let never = code(&[to(CALL, 0x1000), to(UNDEFINED, 0)]);
    assert!(!returns(ARCH, start, &never));
    assert!(returns(
        ARCH,
        start,
        &code(&[to(CALL, 0x1000), to(RETURN, 0)])
    ));
    // A tail call, and bytes that are no instruction.
    assert!(returns(ARCH, start, &code(&[to(JUMP, 0x1000)])));
    assert!(returns(ARCH, start, &[0xff; 4]));
}

#[test]
fn body_follows_the_prologue() {
    // 0: store (an argument); 4: nop; 8: return
    let code = code(&[with(STORE, 7, 8), to(NOP, 0), to(RETURN, 0)]);
    let read = |addr: FileAddr, bytes: &mut [u8; MAX_INSTRUCTION_BYTES]| {
        let rest = code.get(addr.0 as usize..).unwrap_or_default();
        let len = rest.len().min(bytes.len());
        bytes[..len].copy_from_slice(&rest[..len]);
        len
    };
    let function = Code {
        arch: ARCH,
        read: &read,
        parts: &|| vec![(FileAddr(0), code.clone())],
        spills_parameters: true,
    };
    let body = passed_by_each_call(&function, FileAddr(0), FileAddr(4));
    assert_eq!(passed_once(&function, body), FileAddr(4));
}
