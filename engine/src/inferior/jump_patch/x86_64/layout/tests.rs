//! Chains of jumps, without a process.

use super::super::springboard::PAGE;
use super::*;
use std::collections::BTreeMap;

/// Start of a position-independent program.
const IMAGE: LoadAddr = LoadAddr(0x5555_5555_4000);
/// Start of a program linked to a fixed address.
const FIXED: LoadAddr = LoadAddr(0x40_0000);
const AWAY: u64 = 1 << 24;

fn mapping(start: LoadAddr, len: u64) -> Mapping {
    Mapping {
        start,
        end: start + len,
        readable: true,
        writable: false,
        executable: true,
        shared: false,
        path: "".into(),
        offset: 0,
    }
}

/// Returns links at these distances in bytes, each with a jump that ends where the next one begins.
/// The last one has room for all of its jump.
fn chain(start: LoadAddr, distances: &[u64]) -> Vec<Link> {
    let mut site = start;
    let mut links = Vec::new();
    for (number, distance) in distances.iter().chain(&[JUMP as u64]).enumerate() {
        links.push(Link {
            site,
            own: (*distance as usize).min(JUMP),
            trampoline: start + AWAY + 0x40 * number as u64,
            current: None,
        });
        site = site + *distance;
    }
    links.reverse();
    links
}

/// Lays a chain in an image of 64 KiB.
fn lay(links: &[Link], boards: &mut Springboards, image: LoadAddr) -> Option<Vec<Laid>> {
    let (last, first) = (links.first()?, links.last()?);
    let len = (last.site - first.site) as usize + JUMP;
    let mappings = [
        mapping(image, 1 << 16),
        mapping(image + AWAY, PAGE),
        mapping(LoadAddr(image.0.saturating_sub(0x1700_0000)), 0x3000),
    ];
    let laid = lay_out(links, first.site, vec![0x90; len], boards, &mappings)?;
    check(links, &laid, &mappings);
    Some(laid)
}

/// Checks that each jump, once all are written, leads to its trampoline or to a springboard of its
/// own, with nothing else there.
fn check(links: &[Link], laid: &[Laid], mappings: &[Mapping]) {
    let mut memory: BTreeMap<LoadAddr, u8> = BTreeMap::new();
    let mut boards: Vec<LoadAddr> = Vec::new();
    for laid in laid {
        let own = &laid.jump.bytes[..laid.jump.own];
        let bytes = (0..).map(|offset| laid.site + offset).zip(own);
        for (addr, byte) in bytes {
            assert_eq!(memory.insert(addr, *byte), None, "{addr} is written twice");
        }
    }
    for (link, laid) in links.iter().zip(laid) {
        assert_eq!((link.site, link.own), (laid.site, laid.jump.own));
        let there = (0..JUMP as u64).map(|offset| memory.get(&(link.site + offset)));
        let there: Vec<u8> = there.map(|byte| byte.copied().unwrap_or(0x90)).collect();
        assert_eq!(there, laid.jump.bytes);
        assert_eq!(there[0], NEAR_JUMP);
        let distance = i32::from_le_bytes(there[1..].try_into().expect("four bytes"));
        let next = link.site.0 + JUMP as u64;
        let target = LoadAddr(next.wrapping_add_signed(distance.into()));
        assert_eq!(target, laid.springboard.unwrap_or(link.trampoline));
        if let Some(board) = laid.springboard {
            let bytes = board..board + 14;
            assert!(
                mappings
                    .iter()
                    .all(|it| bytes.end <= it.start || it.end <= bytes.start)
            );
            assert!(boards.iter().all(|it| it.0.abs_diff(board.0) >= 14));
            boards.push(board);
        }
    }
}

/// Tests all chains of up to four links with these distances, at some addresses.
#[test]
fn overlapping_jumps_all_have_targets() {
    let (mut all, mut laid) = (0, 0);
    for number in 0..4_u64.pow(3) {
        let distances = [0, 2, 4].map(|shift| 1 + (number >> shift) % 4);
        for count in 1..=3 {
            for offset in [0x123, 0x7ffa] {
                let links = chain(IMAGE + offset, &distances[..count]);
                all += 1;
                let found = lay(&links, &mut Springboards::default(), IMAGE);
                laid += u32::from(found.is_some());
            }
        }
    }
    // If each link has only a byte or two of its own, there may be no memory.
    assert!(laid * 100 >= all * 97, "{laid} of {all}");
}

#[test]
fn programs_at_low_addresses_have_no_memory_far_before_them() {
    // 0xe9 would be the highest byte of its displacement, which is negative.
    assert_eq!(
        lay(&chain(FIXED, &[4]), &mut Springboards::default(), FIXED),
        None
    );
    for distance in [1, 2, 3] {
        let links = chain(FIXED, &[distance]);
        assert!(
            lay(&links, &mut Springboards::default(), FIXED).is_some(),
            "{distance}"
        );
    }
}

#[test]
fn existing_jumps_keep_their_targets() {
    let mut boards = Springboards::default();
    let links = chain(IMAGE, &[3, 4]);
    let there = lay(&links[..2], &mut boards, IMAGE).expect("a place");
    let mut links = links;
    for (link, laid) in links.iter_mut().zip(&there) {
        link.current = Some((laid.jump, laid.springboard));
    }
    // A jump is added before them; the last one stays in any case.
    let all = lay(&links, &mut boards, IMAGE).expect("a place");
    assert_eq!(all[0], there[0]);
    // Nothing changes at all.
    for (link, laid) in links.iter_mut().zip(&all) {
        link.current = Some((laid.jump, laid.springboard));
    }
    assert_eq!(lay(&links, &mut boards, IMAGE), Some(all));
}

#[test]
fn target_search_is_bounded() {
    let everywhere = [mapping(LoadAddr(0x1_0000), 0x7fff_ffff_0000)];
    for distances in [[1, 1, 1], [2, 2, 2], [3, 3, 3], [4, 4, 4]] {
        let mut links = chain(IMAGE, &distances);
        for link in &mut links {
            // The jump cannot reach it directly.
            link.trampoline = LoadAddr(0x1000);
        }
        let image = vec![0x90; 24];
        let found = lay_out(
            &links,
            IMAGE,
            image,
            &mut Springboards::default(),
            &everywhere,
        );
        assert_eq!(found, None);
    }
    let links = chain(IMAGE, &[4; MAX_LINKS]);
    assert_eq!(lay(&links, &mut Springboards::default(), IMAGE), None);
}
