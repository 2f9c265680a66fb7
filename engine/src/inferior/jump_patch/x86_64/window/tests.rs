//! Functions assembled by hand, and all small ones of a few instructions.

use super::super::function_code::{CodeRange, FunctionCode};
use super::*;
use dwarf::{Memory, Unreadable};
use std::collections::BTreeSet;

const START: LoadAddr = LoadAddr(0x1000);
/// How the next function begins: `push %rbp; mov %rsp,%rbp; sub $16,%rsp; ...`.
const NEXT: [u8; 15] = [
    0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
];

/// No memory but the code.
struct Nothing;

impl Memory for Nothing {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        Err(Unreadable { addr, len })
    }
}

fn function(bytes: &[u8], padding: usize, entered: &[u64]) -> FunctionCode {
    let mut behind = vec![0xcc; padding];
    behind.extend(NEXT);
    let run = CodeRange {
        start: START,
        bytes: bytes.to_vec(),
        behind,
        padding,
    };
    let entered: BTreeSet<LoadAddr> = entered.iter().map(|offset| START + *offset).collect();
    FunctionCode::new(vec![run], entered, &Nothing)
}

/// Returns the size of the window at an offset, and the bytes after it that must not change.
fn window(offset: u64, code: &FunctionCode) -> Result<(u64, Vec<u8>), PatchRefusal> {
    let site = START + offset;
    at(site, code, &[]).map(|window| (window.end - site, window.overlapped_bytes))
}

fn in_code(bytes: &[u8], offset: u64) -> Result<(u64, Vec<u8>), PatchRefusal> {
    window(offset, &function(bytes, 0, &[]))
}

const WHOLE: Vec<u8> = Vec::new();

#[test]
fn window_covers_the_jump() {
    // movl $1,-4(%rbp); push %rbp; mov %rsp,%rbp; sub $16,%rsp; ret
    let code = [
        0xc7, 0x45, 0xfc, 1, 0, 0, 0, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc3,
    ];
    assert_eq!(in_code(&code, 0), Ok((7, WHOLE)));
    assert_eq!(in_code(&code, 7), Ok((8, WHOLE)));
    assert_eq!(in_code(&code, 11), Ok((5, WHOLE)));
}

#[test]
fn loop_target_stays() {
    // 0: nop; 1: mov %rsp,%rbp; 4: sub $16,%rsp; 8: jmp 1
    let code = [
        0x90, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xeb, 0xf7, 0xc3,
    ];
    assert_eq!(in_code(&code, 0), Ok((1, vec![0x48, 0x89, 0xe5, 0x48])));
    // Control may enter at the site itself.
    assert_eq!(in_code(&code, 1), Ok((7, WHOLE)));
}

#[test]
fn branch_behind_a_prefix_is_refused() {
    // 0: je 3; 2: lock cmpxchg %ecx,(%rdi): the branch skips the prefix.
    let code = [
        0x74, 0x01, 0xf0, 0x0f, 0xb1, 0x8f, 0, 0, 0, 0, 0x90, 0x90, 0xc3,
    ];
    let refused = in_code(&code, 2).unwrap_err();
    assert_eq!(refused, "a branch targets the middle of its instruction");
}

#[test]
fn address_taken_label_is_an_entry() {
    // 0: nop; 1: mov %rsp,%rbp; 4: lea 1(%rip),%rax; 11: ret
    let code = [
        0x90, 0x48, 0x89, 0xe5, 0x48, 0x8d, 0x05, 0xf6, 0xff, 0xff, 0xff, 0xc3,
    ];
    assert_eq!(in_code(&code, 0), Ok((1, vec![0x48, 0x89, 0xe5, 0x48])));
}

#[test]
fn landing_pads_are_entries() {
    let code = [0x90, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xc3];
    let pads = |pads| window(0, &function(&code, 0, pads));
    assert_eq!(pads(&[]), Ok((8, WHOLE)));
    assert_eq!(pads(&[0]), Ok((8, WHOLE)));
    assert_eq!(pads(&[1]), Ok((1, vec![0x48, 0x89, 0xe5, 0x48])));
    assert_eq!(pads(&[4]), Ok((4, vec![0x48])));
}

#[test]
fn padding_that_nothing_reaches_is_free() {
    // 0: je 6; 2: ret; 3: nopl (%rax); 6: xor %eax,%eax; 8: ret
    let code = [0x74, 0x04, 0xc3, 0x0f, 0x1f, 0x00, 0x31, 0xc0, 0xc3];
    assert_eq!(in_code(&code, 2), Ok((1, vec![0x31])));
    // 0: je 7; 2: ret; 3: nopl 0(%rax); 7: ret
    let code = [0x74, 0x05, 0xc3, 0x0f, 0x1f, 0x40, 0x00, 0xc3, 0x90, 0x90];
    assert_eq!(in_code(&code, 2), Ok((1, WHOLE)));
    // 0: je 3; 2: ret; 3: nop; 4: ret: the nop is a branch's target.
    let code = [0x74, 0x01, 0xc3, 0x90, 0xc3, 0x31, 0xc0];
    assert_eq!(in_code(&code, 2), Ok((1, vec![0x90, 0xc3, 0x31, 0xc0])));
    // 0: call 5; it returns to the nops.
    let code = [0xff, 0xd0, 0x90, 0x90, 0x90, 0xc3];
    assert_eq!(in_code(&code, 0), Ok((2, vec![0x90, 0x90, 0x90])));
}

#[test]
fn call_ends_the_window() {
    // 0: push %rbp; 1: call *%rax; 3: mov %eax,%ecx; 5: call 10; 10: ret
    let code = [0x55, 0xff, 0xd0, 0x89, 0xc1, 0xe8, 0, 0, 0, 0, 0xc3];
    assert_eq!(in_code(&code, 0), Ok((3, vec![0x89, 0xc1])));
    assert_eq!(in_code(&code, 1), Ok((2, vec![0x89, 0xc1, 0xe8])));
    assert_eq!(in_code(&code, 3), Ok((7, WHOLE)));
    assert_eq!(in_code(&code, 5), Ok((5, WHOLE)));
    // A call that depends on the stack pointer cannot be made from elsewhere.
    let code = [0x90, 0xff, 0x54, 0x24, 0x08, 0xc3];
    assert_eq!(in_code(&code, 0), Ok((1, vec![0xff, 0x54, 0x24, 0x08])));
    assert!(in_code(&code, 1).is_err());
}

#[test]
fn ends_of_functions_have_padding_or_share_with_the_next_one() {
    // leave; ret
    let code = [0xc9, 0xc3];
    let with = |padding| window(0, &function(&code, padding, &[]));
    assert_eq!(with(0), Ok((2, vec![0x55, 0x48, 0x89])));
    assert_eq!(with(2), Ok((2, vec![0x55])));
    assert_eq!(with(3), Ok((2, WHOLE)));
    assert_eq!(with(9), Ok((2, WHOLE)));
    // Instructions that fall through into bytes that are no padding are not covered.
    assert_eq!(in_code(&code, 1), Ok((1, vec![0x55, 0x48, 0x89, 0xe5])));
    let run = CodeRange {
        start: START,
        bytes: code.to_vec(),
        behind: Vec::new(),
        padding: 0,
    };
    let last = FunctionCode::new(vec![run], BTreeSet::new(), &Nothing);
    assert_eq!(window(0, &last), Err("no room for a jump"));
}

#[test]
fn unknown_table_allows_one_instruction() {
    // 0: movl $1,-4(%rbp); 7: mov %rsp,%rbp; 10: jmp *%rax; 12: ...
    let code = [
        0xc7, 0x45, 0xfc, 1, 0, 0, 0, 0x48, 0x89, 0xe5, 0xff, 0xe0, 0x55, 0x48, 0x89, 0xe5, 0xc3,
    ];
    assert_eq!(in_code(&code, 0), Ok((7, WHOLE)));
    assert_eq!(in_code(&code, 7), Ok((3, vec![0xff, 0xe0])));
    // A jump by the global offset table leaves the function.
    let mut tail = code;
    tail[10..16].copy_from_slice(&[0xff, 0x25, 0, 0x10, 0, 0]);
    assert_eq!(in_code(&tail, 7), Ok((9, WHOLE)));
}

#[test]
fn endbr64_and_syscall_stay_in_place() {
    let endbr = [0xf3, 0x0f, 0x1e, 0xfa];
    let first = [endbr.as_slice(), &[0x55, 0xc3]].concat();
    assert!(in_code(&first, 0).is_err());
    let second = [&[0x90], endbr.as_slice(), &[0xc3]].concat();
    assert_eq!(in_code(&second, 0), Ok((1, endbr.to_vec())));
    // 0: mov %eax,%ecx; 2: syscall
    let system_call = [0x89, 0xc1, 0x0f, 0x05, 0x90, 0xc3];
    assert_eq!(in_code(&system_call, 0), Ok((2, vec![0x0f, 0x05, 0x90])));
    assert!(in_code(&system_call, 2).is_err());
    // 0: nop; 1: jrcxz 0
    let looping = [0x90, 0xe3, 0xfd, 0x90, 0x90, 0xc3];
    assert_eq!(in_code(&looping, 0), Ok((1, vec![0xe3, 0xfd, 0x90, 0x90])));
}

#[test]
fn invalid_code_is_refused() {
    let code = [0x90, 0x06, 0x06, 0x06, 0x06, 0x06];
    assert!(in_code(&code, 1).is_err());
    // The branch targets are unknown then, too.
    assert_eq!(in_code(&code, 0), Ok((1, vec![0x06; 4])));
    assert!(in_code(&code, 6).is_err());
}

/// For all functions of four of these instructions and a branch to any address, at every site: a
/// changed byte is reached only over the site.
#[test]
fn bytes_with_other_entries_never_change() {
    const INSTRUCTIONS: [&[u8]; 9] = [
        &[0x90],
        &[0x89, 0xc1],
        &[0x48, 0x89, 0xe5],
        &[0x48, 0x83, 0xec, 0x10],
        &[0xb8, 1, 0, 0, 0],
        &[0xff, 0xd0],
        &[0xff, 0xe0],
        &[0xc3],
        &[0xf3, 0x0f, 0x1e, 0xfa],
    ];
    let count = INSTRUCTIONS.len();
    for number in 0..count.pow(4) {
        let chosen = (0..4).map(|place| INSTRUCTIONS[number / count.pow(place) % count]);
        let chosen: Vec<&[u8]> = chosen.collect();
        let mut bytes = chosen.concat();
        let starts: Vec<u64> = chosen
            .iter()
            .scan(0, |at, instruction| {
                let start = *at;
                *at += instruction.len() as u64;
                Some(start)
            })
            .collect();
        let behind = bytes.len() as u64;
        let has_table = chosen.contains(&INSTRUCTIONS[6]);
        for (place, target) in starts.iter().enumerate() {
            // jne target
            bytes.truncate(behind as usize);
            bytes.extend([0x75, (*target as i64 - (behind as i64 + 2)) as u8]);
            let code = function(&bytes, 0, &[]);
            for (index, site) in starts.iter().enumerate() {
                let Ok((length, kept)) = window(*site, &code) else {
                    assert_eq!(chosen[index], INSTRUCTIONS[8], "{chosen:x?}");
                    continue;
                };
                let changed = JUMP as u64 - kept.len() as u64;
                let inside = |at: u64| at > *site && at < *site + changed;
                assert!(!inside(*target), "{chosen:x?} at {site}, target {place}");
                if has_table {
                    assert!(
                        !starts.iter().any(|it| inside(*it)),
                        "{chosen:x?} at {site}"
                    );
                }
                // What is changed behind the instructions is padding behind a return.
                let unreached = &bytes[(*site + length.min(changed)) as usize..]
                    [..changed.saturating_sub(length) as usize];
                let last = starts.iter().rposition(|it| *it < *site + length);
                let leaves = last.is_some_and(|it| chosen[it] == INSTRUCTIONS[7]);
                assert!(
                    unreached.is_empty() || leaves && unreached.iter().all(|it| *it == 0x90),
                    "{chosen:x?} at {site}"
                );
                for (index, start) in starts.iter().enumerate().filter(|(_, it)| inside(**it)) {
                    // A return enters after a call, and the instruction there must not change.
                    assert_ne!(chosen[index - 1], INSTRUCTIONS[5], "{chosen:x?} at {start}");
                    assert_ne!(chosen[index], INSTRUCTIONS[8], "{chosen:x?} at {start}");
                }
                let from = (*site + changed) as usize;
                let there = bytes.iter().chain(&NEXT).skip(from).take(kept.len());
                assert!(there.eq(&kept), "{chosen:x?} at {site}: {kept:x?}");
            }
        }
    }
}
