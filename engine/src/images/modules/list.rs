//! The dynamic loader's lists of images (link.h), one for each namespace. Images are appended, so
//! only new entries are read unless some were removed.

use dwarf::{LoadAddr, LoadBias, Memory};
use rustc_hash::FxHashMap;

/// Maximum number of images; the lists are in the debuggee and may be garbage.
pub const MAX_IMAGES: usize = 1 << 16;
/// Maximum number of namespaces, for the same reason; glibc has at most 16.
const MAX_NAMESPACES: usize = 64;
/// `RT_DELETE` of `r_state`.
const DELETE: u32 = 2;

/// An image in the loader's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its load bias.
    pub bias: LoadBias,
    /// Address of its name.
    pub name: LoadAddr,
    /// Address of its dynamic section.
    pub dynamic: LoadAddr,
    /// Its first address in memory.
    pub start: LoadAddr,
    /// The number of its namespace: images see definitions of their own one (dlmopen(3)).
    pub namespace: usize,
}

/// `struct link_map`.
struct Link {
    entry: Entry,
    next: LoadAddr,
    previous: LoadAddr,
}

/// `struct r_debug`.
struct Namespace {
    at: LoadAddr,
    first: LoadAddr,
    state: u32,
}

/// The change of the lists since the last read.
#[derive(PartialEq, Eq, Debug)]
pub enum Change {
    /// A list is being changed: read it at the next hit of the loader's breakpoint.
    InFlux {
        /// Whether no image is being removed.
        is_addition: bool,
    },
    /// These were added; none was removed.
    Added(Vec<Entry>),
    /// These exist, with true for added ones; all others were removed.
    All(Vec<(Entry, bool)>),
}

/// The lists at the last read.
#[derive(Default)]
pub struct LoaderList {
    entries: FxHashMap<LoadAddr, Entry>,
    /// The last entry of each namespace, by the address of its `r_debug`.
    tails: FxHashMap<LoadAddr, LoadAddr>,
    /// Whether they have been read, and no image was removed since.
    is_current: bool,
}

impl LoaderList {
    /// Reads the changes; `debug` is the first namespace's `r_debug`.
    pub fn read(&mut self, debug: LoadAddr, memory: &dyn Memory) -> Change {
        let namespaces = namespaces(debug, memory);
        if namespaces.iter().any(|it| it.state != 0) {
            // A removal is detected by the missing entries.
            let is_addition = !namespaces.iter().any(|it| it.state == DELETE);
            self.is_current &= is_addition;
            return Change::InFlux { is_addition };
        }
        if let Some(added) = self.is_current.then(|| self.added(&namespaces, memory))
            && let Some(added) = added
        {
            return Change::Added(added);
        }
        self.whole(&namespaces, memory)
    }

    /// Returns the added entries; `None`: the lists have changed in another way.
    fn added(&mut self, namespaces: &[Namespace], memory: &dyn Memory) -> Option<Vec<Entry>> {
        let mut added = Vec::new();
        for (number, namespace) in namespaces.iter().enumerate() {
            let mut previous = LoadAddr(0);
            let mut at = namespace.first;
            if let Some(tail) = self.tails.get(&namespace.at) {
                let link = link(*tail, number, memory)?;
                if self.entries.get(tail) != Some(&link.entry) {
                    return None;
                }
                (previous, at) = (*tail, link.next);
            }
            while at.0 != 0 {
                let link = link(at, number, memory)?;
                if link.previous != previous || self.entries.len() >= MAX_IMAGES {
                    return None;
                }
                self.entries.insert(at, link.entry);
                self.tails.insert(namespace.at, at);
                added.push(link.entry);
                (previous, at) = (at, link.next);
            }
        }
        Some(added)
    }

    fn whole(&mut self, namespaces: &[Namespace], memory: &dyn Memory) -> Change {
        let before = std::mem::take(&mut self.entries);
        self.tails.clear();
        self.is_current = true;
        let mut all = Vec::new();
        for (number, namespace) in namespaces.iter().enumerate() {
            let mut at = namespace.first;
            while at.0 != 0
                && all.len() < MAX_IMAGES
                && let Some(link) = link(at, number, memory)
            {
                all.push((link.entry, before.get(&at) != Some(&link.entry)));
                self.entries.insert(at, link.entry);
                self.tails.insert(namespace.at, at);
                at = link.next;
            }
        }
        Change::All(all)
    }
}

/// Returns all entries of all namespaces, with their addresses.
pub fn entries(debug: LoadAddr, memory: &dyn Memory) -> Vec<(LoadAddr, Entry)> {
    let mut entries = Vec::new();
    for (number, namespace) in namespaces(debug, memory).iter().enumerate() {
        let mut at = namespace.first;
        while at.0 != 0
            && entries.len() < MAX_IMAGES
            && let Some(link) = link(at, number, memory)
        {
            entries.push((at, link.entry));
            at = link.next;
        }
    }
    entries
}

fn namespaces(debug: LoadAddr, memory: &dyn Memory) -> Vec<Namespace> {
    // struct r_debug { int version; link_map *map; ElfW(Addr) brk; enum state; ElfW(Addr) ldbase;
    // };
    // from version 2 on, it is followed by the address of the next namespace's.
    let mut found = Vec::new();
    let mut at = debug;
    while at.0 != 0 && found.len() < MAX_NAMESPACES {
        let mut bytes = [0; 40];
        if memory.read(at, &mut bytes).is_err() {
            break;
        }
        found.push(Namespace {
            at,
            first: LoadAddr(word(&bytes, 8)),
            state: word(&bytes, 24) as u32,
        });
        let has_next = word(&bytes, 0) as u32 >= 2;
        let next = has_next.then(|| memory.read_uint(at + 40, 8).ok());
        at = LoadAddr(next.flatten().unwrap_or(0));
    }
    found
}

fn link(at: LoadAddr, namespace: usize, memory: &dyn Memory) -> Option<Link> {
    // struct link_map { ElfW(Addr) addr; char *name; ElfW(Dyn) *ld; link_map *next, *prev; }
    let mut bytes = [0; 40];
    memory.read(at, &mut bytes).ok()?;
    Some(Link {
        entry: Entry {
            bias: LoadBias(word(&bytes, 0)),
            name: LoadAddr(word(&bytes, 8)),
            dynamic: LoadAddr(word(&bytes, 16)),
            // Libraries begin at 0 in their files.
            start: LoadAddr(word(&bytes, 0)),
            namespace,
        },
        next: LoadAddr(word(&bytes, 24)),
        previous: LoadAddr(word(&bytes, 32)),
    })
}

fn word(bytes: &[u8; 40], at: usize) -> u64 {
    let (words, _) = bytes.as_chunks::<8>();
    words
        .get(at / 8)
        .map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dwarf::Unreadable;
    use std::cell::Cell;
    use std::collections::BTreeMap;

    const DEBUG: u64 = 0x100;
    const OTHER: u64 = 0x200;

    /// Words by address, and the number of reads.
    #[derive(Default)]
    struct Words(BTreeMap<u64, u64>, Cell<usize>);

    impl Memory for Words {
        fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
            let len = buffer.len();
            self.1.set(self.1.get() + 1);
            for (index, chunk) in buffer.chunks_mut(8).enumerate() {
                let word = self.0.get(&(addr.0 + 8 * index as u64));
                let word = word.ok_or(Unreadable { addr, len })?;
                chunk.copy_from_slice(&word.to_le_bytes()[..chunk.len()]);
            }
            Ok(())
        }
    }

    impl Words {
        fn write(&mut self, at: u64, words: &[u64]) {
            let at = (0..).map(|index| at + 8 * index);
            self.0.extend(at.zip(words.iter().copied()));
        }

        /// Adds a namespace with entries at these addresses.
        fn namespace(&mut self, at: u64, state: u64, next: u64, links: &[u64]) {
            let first = links.first().copied().unwrap_or(0);
            self.write(at, &[2, first, 0x1000, state, 0, next]);
            for (index, link) in links.iter().enumerate() {
                let next = links.get(index + 1).copied().unwrap_or(0);
                let previous = index.checked_sub(1).map_or(0, |index| links[index]);
                self.write(*link, &[link << 12, link + 1, link + 2, next, previous]);
            }
        }
    }

    fn entry(link: u64) -> Entry {
        Entry {
            bias: LoadBias(link << 12),
            name: LoadAddr(link + 1),
            dynamic: LoadAddr(link + 2),
            start: LoadAddr(link << 12),
            namespace: 0,
        }
    }

    #[test]
    fn only_new_entries_are_read_unless_one_was_removed() {
        let mut words = Words::default();
        let mut list = LoaderList::default();
        let many: Vec<u64> = (0..1000).map(|index| 0x1_0000 + 0x100 * index).collect();
        words.namespace(DEBUG, 0, 0, &many[..998]);
        let all = many[..998].iter().map(|link| (entry(*link), true));
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::All(all.collect()));
        words.namespace(DEBUG, 1, 0, &many);
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::InFlux { is_addition: true });
        words.namespace(DEBUG, 0, 0, &many);
        words.1.set(0);
        let added = many[998..].iter().map(|link| entry(*link));
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::Added(added.collect()));
        assert!(words.1.get() < 8);
        // One is removed, and a later addition reuses its address.
        words.namespace(DEBUG, 2, 0, &many);
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::InFlux { is_addition: false });
        words.namespace(DEBUG, 0, 0, &many[..999]);
        let Change::All(left) = list.read(LoadAddr(DEBUG), &words) else {
            panic!("the list is not read anew");
        };
        assert!(left.len() == 999 && left.iter().all(|(_, is_new)| !is_new));
        words.namespace(DEBUG, 0, 0, &many);
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::Added(vec![entry(many[999])]));
    }

    #[test]
    fn namespaces_have_lists_of_their_own() {
        let other = |link| Entry {
            namespace: 1,
            ..entry(link)
        };
        let mut words = Words::default();
        let mut list = LoaderList::default();
        words.namespace(DEBUG, 0, 0, &[0x1000]);
        list.read(LoadAddr(DEBUG), &words);
        words.namespace(DEBUG, 0, OTHER, &[0x1000]);
        words.namespace(OTHER, 0, 0, &[0x2000, 0x3000]);
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::Added(vec![other(0x2000), other(0x3000)]));
        words.namespace(DEBUG, 0, OTHER, &[0x1000, 0x4000]);
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::Added(vec![entry(0x4000)]));
        words.namespace(OTHER, 2, 0, &[0x2000, 0x3000]);
        let read = list.read(LoadAddr(DEBUG), &words);
        assert_eq!(read, Change::InFlux { is_addition: false });
        words.namespace(OTHER, 0, 0, &[0x2000]);
        let read = list.read(LoadAddr(DEBUG), &words);
        let left = [entry(0x1000), entry(0x4000), other(0x2000)];
        let left = left.map(|entry| (entry, false));
        assert_eq!(read, Change::All(left.into()));
    }

    #[test]
    fn lists_that_are_garbage_end() {
        let mut words = Words::default();
        words.namespace(DEBUG, 0, DEBUG, &[0x1000]);
        words.write(0x1000 + 24, &[0x1000]);
        let read = LoaderList::default().read(LoadAddr(DEBUG), &words);
        assert!(matches!(read, Change::All(all) if all.len() == MAX_IMAGES));
    }
}
