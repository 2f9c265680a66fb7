//! Targets of jumps that share bytes with their neighbors: breakpoints may be closer to each other
//! than a jump is long. The last bytes of a jump are then the first ones of what follows, possibly
//! of the next jump; so the target of one depends on the target of the next.

use super::springboard::{self, Springboards};
use crate::arch::x86_64::{INT3 as BREAKPOINT, JUMP, NEAR_JUMP};
use crate::inferior::site::JumpBytes;
use crate::os::Mapping;
use dwarf::{LoadAddr, Memory};
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;

/// Maximum number of jumps in a chain: the guardian restores them one after the other.
pub const MAX_LINKS: usize = 16;
/// Maximum number of addresses tried for a chain.
const MAX_TRIES: u32 = 8192;
/// Maximum number of addresses tried for one jump between two bounds.
const SAMPLES: u64 = 64;
/// Bytes of a jump's displacement.
const DISTANCE: usize = JUMP - 1;

/// A jump of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// Address of the jump.
    pub site: LoadAddr,
    /// The number of its bytes that may be chosen, including the first one, which is fixed.
    pub own: usize,
    /// The trampoline that it has to reach, directly or through a springboard.
    pub trampoline: LoadAddr,
    /// The existing jump and its springboard.
    pub current: Option<(JumpBytes, Option<LoadAddr>)>,
}

/// A jump to be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Laid {
    /// Its address.
    pub site: LoadAddr,
    /// Its bytes.
    pub jump: JumpBytes,
    /// Its target, if that is not its trampoline.
    pub springboard: Option<LoadAddr>,
}

/// Why no jump can be placed at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No memory is available at its possible targets.
    NoMemory,
    /// The same, with neighboring jumps involved.
    Neighbors,
}

/// Jumps that exist in a process or are to be written, and other sites around them.
#[derive(Default)]
pub struct Layout {
    sites: BTreeSet<LoadAddr>,
    jumps: BTreeMap<LoadAddr, Link>,
    /// Jumps that differ from when they were added.
    changed: BTreeSet<LoadAddr>,
    boards: Springboards,
}

impl Layout {
    /// Returns an empty layout for a process with these springboards.
    pub fn new(boards: Springboards) -> Self {
        Self {
            boards,
            ..Self::default()
        }
    }

    /// Adds a site: a trap, until a jump is added or laid.
    pub fn add_site(&mut self, addr: LoadAddr) {
        self.sites.insert(addr);
    }

    /// Adds an existing jump.
    pub fn add_jump(&mut self, link: Link) {
        self.sites.insert(link.site);
        self.jumps.insert(link.site, link);
    }

    /// Returns the jumps to write.
    pub fn changed(&self) -> impl Iterator<Item = Laid> {
        let links = self.changed.iter().filter_map(|site| self.jumps.get(site));
        links.filter_map(|link| {
            let (jump, springboard) = link.current?;
            let site = link.site;
            Some(Laid {
                site,
                jump,
                springboard,
            })
        })
    }

    /// Finds the target of a new jump, and of those before and after it that share bytes with it.
    pub fn lay(
        &mut self,
        link: Link,
        memory: &dyn Memory,
        mappings: &[Mapping],
    ) -> Result<(), Refused> {
        let site = link.site;
        let before = iter::successors(self.jump_before(site), |it| self.jump_before(*it));
        let behind = iter::successors(self.jump_behind(site), |it| self.jump_behind(*it));
        let (before, behind): (Vec<LoadAddr>, Vec<LoadAddr>) = (before.collect(), behind.collect());
        let has_neighbors = !before.is_empty()
            || self
                .sites
                .range(site + 1..site + JUMP as u64)
                .next()
                .is_some();
        let refused = match has_neighbors {
            true => Refused::Neighbors,
            false => Refused::NoMemory,
        };
        let link_at = |site: &LoadAddr| self.jumps.get(site).cloned();
        let mut chain = vec![link.clone()];
        chain.extend(before.iter().filter_map(link_at));
        let mut laid = self.lay_chain(&chain, memory, mappings);
        if laid.is_none() && !behind.is_empty() {
            // The targets of the later jumps may change.
            let behind = behind.iter().rev().filter_map(link_at);
            chain = behind.chain(chain).collect();
            laid = self.lay_chain(&chain, memory, mappings);
        }
        let (laid, boards) = laid.ok_or(refused)?;
        self.boards = boards;
        for (mut link, laid) in chain.into_iter().zip(laid) {
            let current = Some((laid.jump, laid.springboard));
            if link.current != current {
                link.current = current;
                self.changed.insert(link.site);
                self.add_jump(link);
            }
        }
        Ok(())
    }

    fn lay_chain(
        &self,
        chain: &[Link],
        memory: &dyn Memory,
        mappings: &[Mapping],
    ) -> Option<(Vec<Laid>, Springboards)> {
        let (start, end) = (chain.last()?.site, chain.first()?.site + JUMP as u64);
        let mut image = vec![0; (end - start) as usize];
        memory.read(start, &mut image).ok()?;
        for site in self.sites.range(start..end) {
            let jump = self.jumps.get(site).and_then(|link| link.current);
            let (bytes, own) =
                jump.map_or(([BREAKPOINT; JUMP], 1), |(jump, _)| (jump.bytes, jump.own));
            let from = (*site - start) as usize;
            for (there, byte) in image.iter_mut().skip(from).zip(bytes.iter().take(own)) {
                *there = *byte;
            }
        }
        let mut boards = self.boards.clone();
        let laid = lay_out(chain, start, image, &mut boards, mappings)?;
        Some((laid, boards))
    }

    /// Returns the last jump before a site that shares bytes with it.
    fn jump_before(&self, site: LoadAddr) -> Option<LoadAddr> {
        let from = LoadAddr(site.0.saturating_sub(JUMP as u64 - 1));
        self.jumps
            .range(from..site)
            .next_back()
            .map(|(site, _)| *site)
    }

    /// Returns the first jump after a site that shares bytes with the jump there.
    fn jump_behind(&self, site: LoadAddr) -> Option<LoadAddr> {
        let behind = site + 1..site + JUMP as u64;
        self.jumps.range(behind).next().map(|(site, _)| *site)
    }
}

/// Finds targets for the jumps of a chain, the last one in memory first. `image` is the memory from
/// `start` as it will be around them. Springboards that they need are added to `boards`, whether
/// their memory is mapped or not.
fn lay_out(
    links: &[Link],
    start: LoadAddr,
    image: Vec<u8>,
    boards: &mut Springboards,
    mappings: &[Mapping],
) -> Option<Vec<Laid>> {
    if links.len() > MAX_LINKS {
        return None;
    }
    let mut search = Search {
        links,
        start,
        image,
        boards,
        mappings,
        chosen: Vec::new(),
        left: MAX_TRIES,
    };
    for link in links {
        search.write(link.site, &[NEAR_JUMP])?;
    }
    if !search.lay(0) {
        return None;
    }
    let Search { chosen, image, .. } = search;
    let laid = links.iter().zip(chosen).map(|(link, springboard)| {
        let from = usize::try_from(link.site - start).ok()?;
        let bytes = image.get(from..from + JUMP)?.try_into().ok()?;
        let own = link.own;
        Some(Laid {
            site: link.site,
            jump: JumpBytes { bytes, own },
            springboard,
        })
    });
    laid.collect()
}

pub(crate) struct Search<'a> {
    links: &'a [Link],
    start: LoadAddr,
    image: Vec<u8>,
    boards: &'a mut Springboards,
    mappings: &'a [Mapping],
    /// The springboards of the links laid so far.
    chosen: Vec<Option<LoadAddr>>,
    left: u32,
}

impl Search<'_> {
    /// Lays this link and all after it in the list, which are before it in memory.
    fn lay(&mut self, index: usize) -> bool {
        let links = self.links;
        let Some(link) = links.get(index) else {
            return true;
        };
        let Some(tail) = self.tail(link) else {
            return false;
        };
        if let Some((jump, springboard)) = link.current
            && jump.bytes[link.own..] == tail
            && self.try_distance(index, &jump.bytes[1..link.own], springboard)
        {
            return true;
        }
        let next = link.site + JUMP as u64;
        let distance = link.trampoline.0.wrapping_sub(next.0) as i64;
        if link.own == JUMP
            && let Ok(distance) = i32::try_from(distance)
            && self.try_distance(index, &distance.to_le_bytes(), None)
        {
            return true;
        }
        // The first bytes of its displacement are the last ones of the previous jump's.
        let before = links.get(index + 1).map(|before| link.site - before.site);
        let shared = before.map_or(0, |distance| DISTANCE.saturating_sub(distance as usize));
        let chosen = shared.min(link.own - 1);
        for reach in reaches(link, &tail) {
            let is_laid = match chosen {
                0 => self.try_within(index, &reach),
                _ => lowest(chosen).any(|low| self.try_low(index, &reach, chosen, low)),
            };
            if is_laid {
                return true;
            }
        }
        false
    }

    /// Tries addresses in `reach` with a number of `bytes` bytes as the lowest part of the
    /// displacement, such that the jump before this one has a possible target.
    fn try_low(&mut self, index: usize, reach: &Range<u64>, bytes: usize, low: u64) -> bool {
        let links = self.links;
        let (Some(link), Some(before)) = (links.get(index), links.get(index + 1)) else {
            return false;
        };
        let Some(left) = self.left.checked_sub(1) else {
            return false;
        };
        self.left = left;
        if self
            .write(link.site + 1, &low.to_le_bytes()[..bytes])
            .is_none()
        {
            return false;
        }
        let Some(tail) = self.tail(before) else {
            return false;
        };
        let leads_somewhere = before.own == JUMP
            || springboard::reach(before.site, &tail)
                .is_some_and(|reach| self.has_place(before.site, &reach));
        if !leads_somewhere {
            return false;
        }
        let step = 1 << (8 * bytes);
        let steps = (reach.end - reach.start) / step;
        let mut places: Vec<u64> = Vec::new();
        if bytes == 1 {
            // In mapped memory, if there is room.
            let pages = self.boards.pages_in(reach).take(SAMPLES as usize / 4);
            places.extend(pages.flat_map(|page| {
                let first = page.max(reach.start) - reach.start;
                let first = reach.start + first.next_multiple_of(step) + low;
                (0..4).map(move |number| first + number * step)
            }));
            places.retain(|place| reach.contains(place));
        }
        let samples = (0..steps).step_by((steps / SAMPLES).max(1) as usize);
        places.extend(samples.map(|number| reach.start + number * step + low));
        for place in places {
            if self.try_within(index, &(place..place + 1)) {
                return true;
            }
            if self.left == 0 {
                return false;
            }
        }
        false
    }

    /// Tries a springboard at an address in `reach`.
    fn try_within(&mut self, index: usize, reach: &Range<u64>) -> bool {
        let (Some(link), Some(left)) = (self.links.get(index), self.left.checked_sub(1)) else {
            return false;
        };
        self.left = left;
        let Some(place) = self.place(link.site, reach) else {
            return false;
        };
        let distance = place.0.wrapping_sub(link.site.0 + JUMP as u64) as i32;
        let is_new = self.boards.site_of(place).is_none();
        self.boards.add(place, link.site);
        let own = &distance.to_le_bytes()[..link.own - 1];
        let is_laid = self.try_distance(index, own, Some(place));
        if !is_laid && is_new {
            self.boards.remove(place);
        }
        is_laid
    }

    /// Tries these first bytes of a link's displacement.
    fn try_distance(&mut self, index: usize, own: &[u8], springboard: Option<LoadAddr>) -> bool {
        let Some(link) = self.links.get(index) else {
            return false;
        };
        if self.write(link.site + 1, own).is_none() {
            return false;
        }
        self.chosen.truncate(index);
        self.chosen.push(springboard);
        self.lay(index + 1)
    }

    fn has_place(&self, site: LoadAddr, reach: &Range<u64>) -> bool {
        self.boards.place_for(site, reach).is_some()
            || !self.boards.missing_pages(reach, self.mappings).is_empty()
    }

    fn place(&mut self, site: LoadAddr, reach: &Range<u64>) -> Option<LoadAddr> {
        if let Some(place) = self.boards.place_for(site, reach) {
            return Some(place);
        }
        for page in self.boards.missing_pages(reach, self.mappings) {
            self.boards.add_page(page);
        }
        self.boards.place_for(site, reach)
    }

    /// Returns the bytes of a link that are fixed.
    fn tail(&self, link: &Link) -> Option<Vec<u8>> {
        let from = usize::try_from(link.site - self.start).ok()?;
        let tail = self.image.get(from + link.own..from + JUMP)?;
        Some(tail.to_vec())
    }

    fn write(&mut self, addr: LoadAddr, bytes: &[u8]) -> Option<()> {
        let from = usize::try_from(addr - self.start).ok()?;
        let there = self.image.get_mut(from..from + bytes.len())?;
        there.copy_from_slice(bytes);
        Some(())
    }
}

/// Returns the possible targets of a link with these last bytes: ranges that start where its own
/// part of the displacement is zero.
fn reaches(link: &Link, tail: &[u8]) -> Vec<Range<u64>> {
    /// Maximum distance of a free target.
    const FAR: u64 = 1 << 30;
    /// Range of three bytes of a displacement.
    const PART: u64 = 1 << 24;
    if !tail.is_empty() {
        return springboard::reach(link.site, tail).into_iter().collect();
    }
    let next = link.site.0 + JUMP as u64;
    let before = next - next.saturating_sub(1).min(FAR) / PART * PART..next;
    let behind = next..next.saturating_add(FAR);
    vec![before, behind]
}

/// Returns numbers of `bytes` bytes: all of one byte, else a sample; first those that give near
/// targets if they are the highest part of a displacement.
fn lowest(bytes: usize) -> impl Iterator<Item = u64> {
    let (count, step) = match bytes {
        1 => (1 << 8, 1),
        2 => (1 << 10, 61),
        _ => (1 << 10, 16_381),
    };
    let mask = (1_u64 << (8 * bytes)) - 1;
    (0..count).map(move |number: u64| {
        let half = (number / 2) * step;
        match number % 2 {
            0 => !half & mask,
            _ => half & mask,
        }
    })
}

#[cfg(test)]
mod tests;
