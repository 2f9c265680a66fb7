//! Springboards: a jump that shares its last bytes with what follows it cannot choose them, since
//! control may enter there; so its target is more or less fixed. A second jump at that target leads
//! on to the trampoline.

use crate::arch::x86_64::{JUMP, far_jump};
use crate::os::Mapping;
use dwarf::LoadAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Size of a page in bytes, the smallest unit to map.
pub const PAGE: u64 = 1 << 12;
/// Size of an absolute jump in bytes: a springboard may be more than 2 GiB from the trampoline.
const LEN: u64 = 14;
/// Programs have no memory below this address.
const LOWEST: u64 = 0x1_0000;
/// Programs have no memory from this address on.
const HIGHEST: u64 = 0x7fff_ffff_0000;

/// The springboards of a process.
#[derive(Clone, Default)]
pub struct Springboards {
    /// Their pages.
    pages: BTreeSet<LoadAddr>,
    /// Address of each, and the site of the jump to it.
    boards: BTreeMap<LoadAddr, LoadAddr>,
}

/// Returns the code of a springboard to a trampoline.
pub fn code(trampoline: LoadAddr) -> Vec<u8> {
    far_jump(trampoline)
}

/// Returns the possible targets of a jump at `site` with the last bytes `kept`; `None`: all are
/// outside of user memory.
pub fn reach(site: LoadAddr, kept: &[u8]) -> Option<Range<u64>> {
    let free = (JUMP - 1).checked_sub(kept.len())?;
    let mut distance = [0; JUMP - 1];
    distance[free..].copy_from_slice(kept);
    let distance = i64::from(i32::from_le_bytes(distance));
    let start = (site.0 + JUMP as u64).checked_add_signed(distance)?;
    let end = start.checked_add(1 << (8 * free))?;
    (start >= LOWEST && end + LEN < HIGHEST).then_some(start..end)
}

impl Springboards {
    /// Returns the pages of the springboards.
    pub fn pages(&self) -> impl Iterator<Item = LoadAddr> {
        self.pages.iter().copied()
    }

    /// Returns whether an address is in these pages.
    pub fn hold(&self, addr: LoadAddr) -> bool {
        self.pages.contains(&page(addr.0))
    }

    /// Returns the site whose jump leads to the springboard at an address.
    pub fn site_of(&self, board: LoadAddr) -> Option<LoadAddr> {
        self.boards.get(&board).copied()
    }

    /// Adds a page that has been mapped.
    pub fn add_page(&mut self, page: LoadAddr) {
        self.pages.insert(page);
    }

    /// Adds a springboard at a free address, for the jump at a site.
    pub fn add(&mut self, place: LoadAddr, site: LoadAddr) {
        self.boards.insert(place, site);
    }

    /// Removes the springboard at an address.
    pub fn remove(&mut self, place: LoadAddr) {
        self.boards.remove(&place);
    }

    /// Returns the addresses of mapped pages with room in `reach`.
    pub fn pages_in(&self, reach: &Range<u64>) -> impl Iterator<Item = u64> {
        let pages = self.pages.range(page(reach.start)..LoadAddr(reach.end));
        pages.map(|page| page.0)
    }

    /// Returns the pages that a springboard occupies.
    pub fn pages_of(place: LoadAddr) -> [LoadAddr; 2] {
        [page(place.0), page(place.0 + LEN - 1)]
    }

    /// Removes the springboards that are not needed any more.
    pub fn keep(&mut self, is_needed: impl Fn(LoadAddr) -> bool) {
        self.boards.retain(|place, _| is_needed(*place));
    }

    /// Returns an address in `reach` for the jump at `site`: the one that it has already, or a free
    /// one in mapped pages.
    pub fn place_for(&self, site: LoadAddr, reach: &Range<u64>) -> Option<LoadAddr> {
        let places = LoadAddr(reach.start)..LoadAddr(reach.end);
        let mut boards = self.boards.range(places);
        let former = boards.find_map(|(place, of)| (*of == site).then_some(*place));
        former.or_else(|| self.free_place(reach))
    }

    /// Returns a free address in `reach`, in mapped pages.
    fn free_place(&self, reach: &Range<u64>) -> Option<LoadAddr> {
        let mut at = reach.start;
        loop {
            let next = self.pages.range(page(at)..).next()?;
            at = at.max(next.0);
            if at >= reach.end {
                return None;
            }
            let taken = LoadAddr(at - (LEN - 1))..LoadAddr(at + LEN);
            if !self.hold(LoadAddr(at + LEN - 1)) {
                at = next.0 + PAGE;
            } else if let Some((board, _)) = self.boards.range(taken).next_back() {
                at = board.0 + LEN;
            } else {
                return Some(LoadAddr(at));
            }
        }
    }

    /// Returns the pages to map to get a free address in `reach`.
    pub fn missing_pages(&self, reach: &Range<u64>, mappings: &[Mapping]) -> Vec<LoadAddr> {
        let mut at = reach.start;
        while at < reach.end {
            let pages = [page(at), page(at + LEN - 1)];
            let wanted = BTreeSet::from(pages).into_iter();
            let missing: Vec<LoadAddr> = wanted.filter(|it| !self.pages.contains(it)).collect();
            let taken = missing.iter().find_map(|it| taken_until(*it, mappings));
            match taken {
                // An address in our pages is not free, or it would have been used.
                None if !missing.is_empty() => return missing,
                None => at = page(at).0 + PAGE,
                Some(until) => at = until.max(at + 1),
            }
        }
        Vec::new()
    }
}

/// Returns the end of the mapping at a page, or of the room to leave free there.
fn taken_until(page: LoadAddr, mappings: &[Mapping]) -> Option<u64> {
    /// Room to leave for the heap and the main thread's stack to grow, in bytes.
    const GROWS: u64 = 1 << 26;
    let taken = mappings.iter().map(|mapping| {
        let name = mapping.path.as_os_str();
        let before = if name == "[stack]" { GROWS } else { 0 };
        let behind = if name == "[heap]" { GROWS } else { 0 };
        mapping.start.0.saturating_sub(before)..mapping.end.0.saturating_add(behind)
    });
    taken
        .filter(|it| it.start < page.0 + PAGE && page.0 < it.end)
        .map(|it| it.end)
        .max()
}

fn page(addr: u64) -> LoadAddr {
    LoadAddr(addr & !(PAGE - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: LoadAddr = LoadAddr(0x5555_5555_5000);

    fn mapping(start: u64, end: u64, path: &str) -> Mapping {
        Mapping {
            start: LoadAddr(start),
            end: LoadAddr(end),
            readable: true,
            writable: true,
            executable: false,
            shared: false,
            path: path.into(),
            offset: 0,
        }
    }

    #[test]
    fn overlapped_bytes_determine_the_jump_target() {
        let behind = SITE.0 + 5;
        let exact = behind - 0x100;
        assert_eq!(
            reach(SITE, &[0x00, 0xff, 0xff, 0xff]),
            Some(exact..exact + 1)
        );
        let near = behind + 0x4855_0000;
        assert_eq!(reach(SITE, &[0x55, 0x48]), Some(near..near + 0x1_0000));
        let wide = behind - 0x7700_0000;
        assert_eq!(reach(SITE, &[0x89]), Some(wide..wide + 0x100_0000));
        // A program at 4 MiB has no memory 2 GiB below it.
        assert_eq!(reach(LoadAddr(0x40_1000), &[0x89]), None);
        assert_eq!(reach(LoadAddr(0x7fff_fffe_0000), &[0x48]), None);
    }

    #[test]
    fn springboards_do_not_overlap_and_stay_on_their_pages() {
        let mut boards = Springboards::default();
        let start = 0x1_0000_0ff0;
        let reach = start..start + 0x1000;
        assert_eq!(boards.free_place(&reach), None);
        boards.add_page(LoadAddr(0x1_0000_0000));
        // Room for fourteen bytes, and for fourteen more once the next page is mapped.
        let mut places = Vec::new();
        while let Some(place) = boards.free_place(&reach) {
            boards.add(place, LoadAddr(1));
            places.push(place.0);
            if places.len() == 2 {
                boards.add_page(LoadAddr(0x1_0000_1000));
            }
            if places.len() == 1 {
                assert_eq!(boards.free_place(&reach), None);
                boards.add_page(LoadAddr(0x1_0000_1000));
            }
        }
        places.sort_unstable();
        assert!(places.is_sorted_by(|a, b| a + LEN <= *b), "{places:x?}");
        assert_eq!(places.first(), Some(&start));
        assert_eq!(places.len() as u64, (reach.end - start).div_ceil(LEN));
        // A site gets its own again, also if there is no other room.
        assert_eq!(boards.place_for(LoadAddr(1), &reach), Some(LoadAddr(start)));
        assert_eq!(boards.place_for(LoadAddr(2), &reach), None);
        boards.keep(|_| false);
        assert_eq!(boards.free_place(&reach), Some(LoadAddr(start)));
    }

    #[test]
    fn springboards_avoid_mappings_and_stacks() {
        let boards = Springboards::default();
        let start = 0x1_0000_0000;
        let maps = [mapping(0x1_0000_0000, 0x1_0000_3000, "")];
        let wide = start..start + 0x1_0000;
        assert_eq!(
            boards.missing_pages(&wide, &maps),
            [LoadAddr(0x1_0000_3000)]
        );
        let heap = [mapping(0x1_0000_0000, 0x1_0000_3000, "[heap]")];
        assert_eq!(boards.missing_pages(&wide, &heap), []);
        // Bytes in two pages, one of which is taken.
        let exact = 0x1_0000_2ffa..0x1_0000_2ffb;
        assert_eq!(boards.missing_pages(&exact, &maps), []);
        assert_eq!(boards.missing_pages(&exact, &[]).len(), 2);
        let stack = [mapping(0x1_0010_0000, 0x1_0011_0000, "[stack]")];
        assert_eq!(boards.missing_pages(&wide, &stack), []);
    }
}
