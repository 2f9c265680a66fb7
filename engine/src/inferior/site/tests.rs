//! Tests of sites in fake memory.

use super::*;
use crate::arch::Arch;
use crate::arch::x86_64::{INT3 as BREAKPOINT, JUMP, NEAR_JUMP};
use crate::os::AddressSpace;
use crate::os::fake::Fake;

const SITE: LoadAddr = LoadAddr(crate::os::fake::BASE + 0x10);

fn whole(bytes: [u8; JUMP]) -> JumpBytes {
    JumpBytes { bytes, own: JUMP }
}

/// Returns a copy of the memory around [`SITE`] after it was cleaned.
fn cleaned(sites: &Sites, mut copy: [u8; 8]) -> [u8; 8] {
    let read = |addr: LoadAddr, bytes: &mut [u8]| {
        let from = (addr - SITE) as usize;
        let count = bytes.len().min(copy.len() - from);
        bytes[..count].copy_from_slice(&copy[from..from + count]);
        count
    };
    let ours = |target: LoadAddr| target == SITE + 5 + 0x1000;
    let writes = sites.originals(read, ours);
    for (addr, byte) in writes {
        copy[(addr - SITE) as usize] = byte;
    }
    copy
}

#[test]
fn write_over_a_jump_changes_original_bytes() {
    let fake = Fake::default();
    fake.0.borrow_mut().memory = vec![0; 0x40];
    fake.write_memory_partly(SITE, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut sites = Sites::of(Arch::X86_64);
    assert!(sites.add(SITE, Owner::Loader, &fake));
    assert!(sites.install_jump(SITE, whole([NEAR_JUMP, 0, 0x10, 0, 0]), &fake));
    assert_eq!(sites.write(SITE + 2, &[0x33, 0x44], &fake), 2);
    let mut now = [0; 8];
    fake.read_memory(SITE, &mut now);
    assert_eq!(now, [BREAKPOINT, 2, 0x33, 0x44, 5, 6, 7, 8]);
    sites.remove(SITE, Owner::Loader, &fake);
    fake.read_memory(SITE, &mut now);
    assert_eq!(now, [1, 2, 0x33, 0x44, 5, 6, 7, 8]);
}

#[test]
fn child_copies_with_old_sites_are_cleaned() {
    let fake = Fake::default();
    fake.0.borrow_mut().memory = vec![0; 0x40];
    let own = [1, 2, 3, 4, 5, 6, 7, 8];
    fake.write_memory_partly(SITE, &own);
    let mut sites = Sites::of(Arch::X86_64);
    let owner = Owner::Loader;
    let trap = [BREAKPOINT, 2, 3, 4, 5, 6, 7, 8];
    let jump = [NEAR_JUMP, 0, 0x10, 0, 0];
    let diverted = [NEAR_JUMP, 0, 0x10, 0, 0, 6, 7, 8];
    let ending = [BREAKPOINT, 0, 0x10, 0, 0, 6, 7, 8];
    assert!(sites.add(SITE, owner, &fake));
    assert_eq!(cleaned(&sites, own), own);
    assert_eq!(cleaned(&sites, trap), own);
    assert!(sites.install_jump(SITE, whole(jump), &fake));
    assert_eq!(cleaned(&sites, diverted), own);
    assert_eq!(cleaned(&sites, trap), own);
    sites.end_jump_at(SITE, &fake);
    assert_eq!(cleaned(&sites, diverted), own);
    assert_eq!(cleaned(&sites, ending), own);
    sites.remove(SITE, owner, &fake);
    for copy in [own, trap, diverted, ending] {
        assert_eq!(cleaned(&sites, copy), own);
    }
    // The program has other code there by now.
    let other = [NEAR_JUMP, 9, 9, 9, 9, 6, 7, 8];
    assert_eq!(cleaned(&sites, other), other);
    sites.forget_all();
    assert_eq!(cleaned(&sites, trap), trap);
}

/// Inserts jumps at 0, 3 and 7, each of which shares bytes with the next one, and a trap at 10.
fn chain(fake: &Fake) -> (Sites, Vec<LoadAddr>) {
    fake.0.borrow_mut().memory = vec![0; 0x40];
    let own: Vec<u8> = (1..=16).collect();
    fake.write_memory_partly(SITE, &own);
    let mut sites = Sites::of(Arch::X86_64);
    let at = [0, 3, 7, 10].map(|offset| SITE + offset);
    for addr in at {
        assert!(sites.add(addr, Owner::Loader, fake));
    }
    let last = [NEAR_JUMP, 0x71, 0x72, BREAKPOINT, 12];
    let middle = [NEAR_JUMP, 0x31, 0x32, 0x33, NEAR_JUMP];
    let first = [NEAR_JUMP, 1, 2, NEAR_JUMP, 0x31];
    for (addr, bytes, own) in [(at[2], last, 3), (at[1], middle, 4), (at[0], first, 3)] {
        assert!(sites.install_jump(addr, JumpBytes { bytes, own }, fake));
    }
    (sites, at.into())
}

fn bytes(fake: &Fake) -> [u8; 16] {
    let mut now = [0; 16];
    fake.read_memory(SITE, &mut now);
    now
}

const PROGRAM: [u8; 16] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

#[test]
fn overlapping_jumps_are_removed_first() {
    for gone in 0..4 {
        let fake = Fake::default();
        let (mut sites, at) = chain(&fake);
        let mut seen = bytes(&fake);
        sites.hide(SITE, &mut seen);
        assert_eq!(seen, PROGRAM);
        sites.remove(at[gone], Owner::Loader, &fake);
        // Jumps whose target has changed are traps now; later ones are unchanged.
        let standing: Vec<usize> = (0..4)
            .filter(|it| sites.jump_at(at[*it]).is_some())
            .collect();
        assert_eq!(standing, (gone + 1..3).collect::<Vec<_>>());
        let mut seen = bytes(&fake);
        sites.hide(SITE, &mut seen);
        assert_eq!(seen, PROGRAM);
        for number in (0..4).filter(|it| *it != gone && sites.jump_at(at[*it]).is_none()) {
            assert_eq!(bytes(&fake)[(at[number] - SITE) as usize], BREAKPOINT);
        }
        sites.remove_all(&fake);
        assert_eq!(bytes(&fake), PROGRAM);
    }
}

#[test]
fn a_second_owner_ends_a_jump_but_not_those_behind_it() {
    let fake = Fake::default();
    let (mut sites, at) = chain(&fake);
    // Adding the same owner again changes nothing.
    assert!(sites.add(at[1], Owner::Loader, &fake));
    assert!(sites.jump_at(at[0]).is_some());
    assert!(sites.add(at[1], Owner::Call, &fake));
    let standing = at.iter().map(|at| sites.jump_at(*at).is_some());
    assert_eq!(standing.collect::<Vec<_>>(), [false, false, true, false]);
    assert!(sites.add(at[3], Owner::Call, &fake));
    assert!(sites.jump_at(at[2]).is_some());
    // A new site on a byte of a jump.
    assert!(sites.add(SITE + 8, Owner::Call, &fake));
    assert_eq!(sites.jump_at(at[2]), None);
    sites.remove_all(&fake);
    assert_eq!(bytes(&fake), PROGRAM);
}

#[test]
fn jump_targets_change_from_last_to_first() {
    let fake = Fake::default();
    let (mut sites, at) = chain(&fake);
    let changed = |bytes, own| JumpBytes { bytes, own };
    let last = changed([NEAR_JUMP, 0x17, 0x27, BREAKPOINT, 12], 3);
    let middle = changed([NEAR_JUMP, 0x13, 0x23, 0x33, NEAR_JUMP], 4);
    let first = changed([NEAR_JUMP, 9, 8, NEAR_JUMP, 0x13], 3);
    // The next jump is not there yet, or the shared bytes differ.
    assert!(!sites.install_jump(at[0], first, &fake));
    assert!(!sites.install_jump(at[1], changed(middle.bytes, 3), &fake));
    for (addr, jump) in [(at[2], last), (at[1], middle), (at[0], first)] {
        sites.pause_jump(addr, &fake);
        assert!(sites.install_jump(addr, jump, &fake));
    }
    assert_eq!(sites.jump_at(at[0]), Some(first));
    let mut seen = bytes(&fake);
    sites.hide(SITE, &mut seen);
    assert_eq!(seen, PROGRAM);
    // A paused jump is removed like any other.
    sites.pause_jump(at[0], &fake);
    sites.remove_all(&fake);
    assert_eq!(bytes(&fake), PROGRAM);
}

#[test]
fn copies_with_jumps_that_share_bytes_are_cleaned() {
    let fake = Fake::default();
    let (mut sites, at) = chain(&fake);
    let mut copies = vec![bytes(&fake)];
    for addr in &at {
        sites.end_jump_at(*addr, &fake);
        copies.push(bytes(&fake));
    }
    for addr in at {
        sites.remove(addr, Owner::Loader, &fake);
        copies.push(bytes(&fake));
    }
    assert_eq!(copies.last(), Some(&PROGRAM));
    for mut copy in copies {
        let read = |addr: LoadAddr, bytes: &mut [u8]| {
            let from = (addr - SITE) as usize;
            let count = bytes.len().min(copy.len() - from);
            bytes[..count].copy_from_slice(&copy[from..from + count]);
            count
        };
        let writes = sites.originals(read, |_| true);
        for (addr, byte) in writes {
            copy[(addr - SITE) as usize] = byte;
        }
        assert_eq!(copy, PROGRAM);
    }
}

/// A trap of four bytes: reads and writes that meet only a part of it.
#[test]
fn longer_traps_are_hidden_and_written_under_as_a_whole() {
    let fake = Fake::default();
    fake.0.borrow_mut().memory = vec![0; 0x40];
    fake.write_memory_partly(SITE, &[1, 2, 3, 4, 5, 6, 7, 8]);
    let mut sites = Sites::of(Arch::Fixed);
    assert!(sites.add(SITE, Owner::Loader, &fake));
    let read = |from: u64, len: usize| {
        let mut bytes = vec![0; len];
        fake.read_memory(SITE + from, &mut bytes);
        bytes
    };
    let trap = Arch::Fixed.breakpoint();
    assert_eq!(read(0, 4), trap);
    assert_eq!(read(4, 1), [5]);
    for from in 0..4 {
        let mut seen = read(from, 3);
        sites.hide(SITE + from, &mut seen);
        let own: Vec<u8> = (1..=8).skip(from as usize).take(3).collect();
        assert_eq!(seen, own, "from byte {from}");
    }
    assert_eq!(sites.write(SITE + 2, &[0x33, 0x44, 0x55], &fake), 3);
    assert_eq!(read(0, 5), [trap, &[0x55]].concat());
    assert!(!sites.get(SITE).unwrap().covers_trap());
    let copy = |addr: LoadAddr, bytes: &mut [u8]| fake.read_memory(addr, bytes);
    let originals = sites.originals(copy, |_| true);
    let own = [1, 2, 0x33, 0x44];
    assert_eq!(
        originals,
        (0..).map(|at| SITE + at).zip(own).collect::<Vec<_>>()
    );
    assert!(
        !sites.get(SITE).unwrap().is_jump_due(),
        "there are no jumps"
    );
    sites.lift(SITE, &fake);
    assert_eq!(read(0, 4), own);
    fake.write_memory_partly(SITE, trap);
    sites.plant(SITE, &fake);
    assert!(sites.get(SITE).unwrap().covers_trap(), "the program's own");
    fake.write_memory_partly(SITE, &own);
    sites.plant(SITE, &fake);
    sites.remove(SITE, Owner::Loader, &fake);
    assert_eq!(read(0, 8), [1, 2, 0x33, 0x44, 0x55, 6, 7, 8]);
}

/// Where a jump is as long as an instruction, sites next to each other have nothing in common.
#[test]
fn jumps_of_one_instruction_leave_their_neighbors_alone() {
    let fake = Fake::default();
    fake.0.borrow_mut().memory = vec![0; 0x40];
    let own: Vec<u8> = (1..=12).collect();
    fake.write_memory_partly(SITE, &own);
    let arch = Arch::Aarch64;
    let mut sites = Sites::of(arch);
    let at = [0, 4, 8].map(|offset| SITE + offset);
    let target = SITE + 0x1_0000;
    for addr in at {
        assert!(sites.add(addr, Owner::Loader, &fake));
        let bytes = arch.jump(addr, target).expect("a jump");
        assert!(sites.install_jump(addr, JumpBytes { bytes, own: 4 }, &fake));
    }
    let now = || {
        let mut bytes = [0; 12];
        fake.read_memory(SITE, &mut bytes);
        bytes
    };
    let planted = now();
    sites.end_jump_at(at[1], &fake);
    assert_eq!(
        at.map(|addr| sites.jump_at(addr).is_some()),
        [true, false, true]
    );
    assert_eq!(now()[4..8], *arch.breakpoint());
    sites.remove(at[1], Owner::Loader, &fake);
    assert_eq!(now()[4..8], own[4..8]);
    assert_eq!((&now()[..4], &now()[8..]), (&planted[..4], &planted[8..]));
    let mut seen = now();
    sites.hide(SITE, &mut seen);
    assert_eq!(seen, *own);
    // A child that was forked before is cleaned by what its jumps lead to.
    let read = |addr: LoadAddr, bytes: &mut [u8]| {
        let from = (addr - SITE) as usize;
        let count = bytes.len().min(planted.len() - from);
        bytes[..count].copy_from_slice(&planted[from..from + count]);
        count
    };
    let mut cleaned = planted;
    for (addr, byte) in sites.originals(read, |to| to == target) {
        cleaned[(addr - SITE) as usize] = byte;
    }
    assert_eq!(cleaned, *own);
    assert_eq!(sites.originals(read, |_| false), []);
}
