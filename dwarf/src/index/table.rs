//! Tables of entries of one kind by the keys of their names: collection, sorting, lookup.
//!
//! A sorted table is a list of 64-bit words, in 256 buckets by the upper byte of the key. A word
//! holds the rest of the key in its upper bits, then the unit, then the offset in the unit. The
//! widths of unit and offset are those that the largest unit and offset of the table need. If the
//! rest of the key does not fit, its upper bits are omitted: callers compare the names of the
//! entries that a lookup returns.

use crate::file::object::u64_at;
use crate::ids::DieRef;
use memmap2::MmapMut;
use rayon::prelude::*;
use std::alloc::{Layout as Memory, handle_alloc_error};
use std::io::{self, Write};

/// Number of buckets of a table.
pub(super) const BUCKETS: usize = 256;
/// Bits of a key that the bucket does not determine.
const KEY_BITS: u32 = 24;
/// Size of a word in bytes.
pub(super) const WORD: usize = 8;
/// Number of entries in one chunk of memory.
const CHUNK: usize = 1 << 17;

fn bucket(key: u32) -> usize {
    (key >> KEY_BITS) as usize
}

/// The bit fields of a word.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) offset_bits: u32,
    pub(super) unit_bits: u32,
}

impl Layout {
    fn of(unit: u32, offset: u32) -> Layout {
        Layout {
            offset_bits: u32::BITS - offset.leading_zeros(),
            unit_bits: u32::BITS - unit.leading_zeros(),
        }
    }

    /// Returns the larger of each width.
    fn with(self, other: Layout) -> Layout {
        Layout {
            offset_bits: self.offset_bits.max(other.offset_bits),
            unit_bits: self.unit_bits.max(other.unit_bits),
        }
    }

    /// Returns whether the fields are at most 32 bits wide, so that they fit into a word.
    pub(super) fn is_sane(self) -> bool {
        self.offset_bits <= u32::BITS && self.unit_bits <= u32::BITS
    }

    fn place_bits(self) -> u32 {
        self.offset_bits + self.unit_bits
    }

    /// Returns the bits of a key that a word holds.
    fn key(self, key: u32) -> u64 {
        let key = u64::from(key) & ((1 << KEY_BITS) - 1);
        let room = u64::BITS - self.place_bits();
        match room < KEY_BITS {
            true => key & ((1 << room) - 1),
            false => key,
        }
    }

    fn key_of(self, word: u64) -> u64 {
        word.checked_shr(self.place_bits()).unwrap_or(0)
    }

    fn word(self, key: u32, unit: u32, offset: u32) -> u64 {
        let key = self.key(key).checked_shl(self.place_bits()).unwrap_or(0);
        key | u64::from(unit) << self.offset_bits | u64::from(offset)
    }

    fn place(self, word: u64) -> DieRef {
        let low = |word: u64, bits: u32| word & ((1u64 << bits) - 1);
        DieRef {
            unit: low(word >> self.offset_bits, self.unit_bits) as u32,
            offset: low(word, self.offset_bits),
        }
    }
}

/// A sorted table.
#[derive(Default)]
pub(crate) struct Names {
    pub(super) layout: Layout,
    /// The index of the word after each bucket.
    pub(super) ends: Vec<usize>,
    pub(super) words: Words,
}

/// The words of a table.
pub(super) enum Words {
    /// Built from the debug info in this session.
    Built(Vec<u64>),
    /// Mapped from the cache.
    Mapped(&'static [u8]),
}

impl Default for Words {
    fn default() -> Self {
        Words::Built(Vec::new())
    }
}

impl Words {
    fn get(&self, index: usize) -> Option<u64> {
        match self {
            Words::Built(words) => words.get(index).copied(),
            Words::Mapped(bytes) => u64_at(bytes, index.checked_mul(WORD)?),
        }
    }
}

impl Names {
    /// Returns the number of entries.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Returns the entries with this key, by unit and offset. May include entries with other keys,
    /// if the words omit bits of the key.
    pub(crate) fn get(&self, key: u32) -> impl Iterator<Item = DieRef> + '_ {
        let bucket = bucket(key);
        let end_of = |bucket: usize| self.ends.get(bucket).copied();
        let end = end_of(bucket).unwrap_or(0);
        let (mut low, mut high) = (bucket.checked_sub(1).and_then(end_of).unwrap_or(0), end);
        let (layout, wanted) = (self.layout, self.layout.key(key));
        while low < high {
            let middle = low + (high - low) / 2;
            let word = self.words.get(middle);
            if word.is_some_and(|word| layout.key_of(word) < wanted) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low..end)
            .map_while(|index| self.words.get(index))
            .take_while(move |word| layout.key_of(*word) == wanted)
            .map(move |word| layout.place(word))
    }

    /// Writes the words in the format of the cache.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.words {
            Words::Built(words) => {
                let mut bytes = Vec::with_capacity(WORD << 12);
                for some in words.chunks(1 << 12) {
                    bytes.clear();
                    bytes.extend(some.iter().flat_map(|word| word.to_le_bytes()));
                    out.write_all(&bytes)?;
                }
                Ok(())
            }
            Words::Mapped(bytes) => out.write_all(bytes),
        }
    }
}

/// Entries being collected.
#[derive(Default)]
pub(super) struct Collected {
    chunks: Vec<Chunk>,
    layout: Layout,
}

/// A chunk of collected entries: keys and offsets. The memory is mapped directly, so that it is
/// returned to the system as soon as the chunk is dropped.
struct Chunk {
    memory: MmapMut,
    used: usize,
    /// Positions at which the entries of a unit begin, with the unit.
    runs: Vec<(usize, u32)>,
}

impl Chunk {
    fn new() -> Chunk {
        let memory = MmapMut::map_anon(CHUNK * WORD).unwrap_or_else(|error| {
            tracing::error!(%error, "no memory for names");
            handle_alloc_error(Memory::new::<[u64; CHUNK]>())
        });
        Chunk {
            memory,
            used: 0,
            runs: Vec::new(),
        }
    }

    fn words(&self) -> &[[u8; WORD]] {
        self.memory.as_chunks().0.get(..self.used).unwrap_or(&[])
    }

    /// Returns key, unit and offset of each entry.
    fn entries(&self) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let ends = self.runs.iter().skip(1).map(|(start, _)| *start);
        let runs = self.runs.iter().zip(ends.chain([self.used]));
        runs.flat_map(|((start, unit), end)| {
            let words = self.words().get(*start..end).unwrap_or(&[]);
            words.iter().map(|word| {
                let word = u64::from_le_bytes(*word);
                ((word >> 32) as u32, *unit, word as u32)
            })
        })
    }
}

impl Collected {
    /// Adds an entry.
    #[inline]
    pub(super) fn push(&mut self, key: u32, unit: u32, offset: u32) {
        if self.chunks.last().is_none_or(|chunk| chunk.used == CHUNK) {
            self.chunks.push(Chunk::new());
        }
        let Some(chunk) = self.chunks.last_mut() else {
            return;
        };
        if chunk.runs.last().is_none_or(|run| run.1 != unit) {
            chunk.runs.push((chunk.used, unit));
        }
        if let Some(place) = chunk.memory.as_chunks_mut().0.get_mut(chunk.used) {
            *place = (u64::from(key) << 32 | u64::from(offset)).to_le_bytes();
            chunk.used += 1;
            self.layout = self.layout.with(Layout::of(unit, offset));
        }
    }

    /// Keeps only the entries of one key.
    pub(super) fn retain_key(&mut self, wanted: u32) {
        let all = std::mem::take(self);
        for chunk in all.chunks {
            for (key, unit, offset) in chunk.entries() {
                if key == wanted {
                    self.push(key, unit, offset);
                }
            }
        }
    }

    /// Adds the entries of another collection.
    pub(super) fn append(&mut self, mut other: Collected) {
        self.chunks.append(&mut other.chunks);
        self.layout = self.layout.with(other.layout);
    }

    /// Sorts the entries and removes duplicates. Each chunk is freed once its entries are in the
    /// table, so that chunks and table together take little more memory than the table.
    pub(super) fn sort(self) -> Names {
        let layout = self.layout;
        let mut ends = vec![0; BUCKETS];
        for word in self.chunks.iter().flat_map(Chunk::words) {
            let [.., key] = word;
            if let Some(count) = ends.get_mut(usize::from(*key)) {
                *count += 1;
            }
        }
        let mut total = 0;
        let mut next = ends.clone();
        for (end, next) in ends.iter_mut().zip(&mut next) {
            *next = total;
            total += *end;
            *end = total;
        }
        let mut words = vec![0; total];
        for chunk in self.chunks {
            for (key, unit, offset) in chunk.entries() {
                if let Some(next) = next.get_mut(bucket(key))
                    && let Some(place) = words.get_mut(*next)
                {
                    *place = layout.word(key, unit, offset);
                    *next += 1;
                }
            }
        }
        let mut buckets = Vec::with_capacity(BUCKETS);
        let (mut rest, mut start) = (words.as_mut_slice(), 0);
        for end in &ends {
            let (bucket, behind) = rest.split_at_mut(*end - start);
            buckets.push(bucket);
            (rest, start) = (behind, *end);
        }
        let has_doubles = |bucket: &mut [u64]| {
            bucket.sort_unstable();
            bucket.array_windows().any(|[one, next]| one == next)
        };
        let doubles: Vec<bool> = buckets.into_par_iter().map(has_doubles).collect();
        let names = Names {
            layout,
            ends,
            words: Words::Built(words),
        };
        match doubles.contains(&true) {
            true => names.without_doubles(),
            false => names,
        }
    }
}

impl Names {
    /// Removes duplicate entries.
    fn without_doubles(self) -> Names {
        let Words::Built(mut words) = self.words else {
            return self;
        };
        let (mut ends, mut count, mut start) = (self.ends, 0, 0);
        for end in &mut ends {
            let mut last = None;
            for at in start..*end {
                let word = words.get(at).copied();
                if word != last
                    && let (Some(word), Some(place)) = (word, words.get_mut(count))
                {
                    *place = word;
                    count += 1;
                }
                last = word;
            }
            start = std::mem::replace(end, count);
        }
        words.truncate(count);
        words.shrink_to_fit();
        Names {
            words: Words::Built(words),
            ends,
            layout: self.layout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(entries: &[(u32, u32, u32)]) -> Names {
        let mut all = Collected::default();
        for (key, unit, offset) in entries {
            all.push(*key, *unit, *offset);
        }
        all.sort()
    }

    fn found(names: &Names, key: u32) -> Vec<(u32, u64)> {
        names.get(key).map(|die| (die.unit, die.offset)).collect()
    }

    #[test]
    fn entries_are_found_by_their_keys_in_order() {
        let key = 0xab00_0001;
        let names = sorted(&[
            (key, 2, 30),
            (7, 0, 1),
            (key, 1, 20),
            (key, 2, 10),
            (8, 0, 2),
        ]);
        assert_eq!(found(&names, key), [(1, 20), (2, 10), (2, 30)]);
        assert_eq!(found(&names, 7), [(0, 1)]);
        assert_eq!(found(&names, 9), []);
        assert_eq!(found(&names, 0xab00_0002), []);
        assert_eq!(found(&Names::default(), 7), []);
    }

    #[test]
    fn duplicates_are_dropped() {
        let one = (5, 1, 20);
        let other = (0xff00_0005, 3, 4);
        let names = sorted(&[one, other, one, (5, 1, 21), other]);
        assert_eq!(found(&names, 5), [(1, 20), (1, 21)]);
        assert_eq!(found(&names, other.0), [(3, 4)]);
        assert_eq!(names.len(), 3);
    }

    /// Entries are found unchanged, whatever the width of their fields.
    #[test]
    fn places_of_any_size() {
        for bits in 1..=32 {
            let most = u32::MAX >> (32 - bits);
            let entries = [
                (1, most, most),
                (1, 0, most),
                (0x0012_3456, most, 0),
                (1 << 31, 0, 0),
            ];
            let names = sorted(&entries);
            for (key, unit, offset) in entries {
                let found = found(&names, key);
                assert!(
                    found.contains(&(unit, u64::from(offset))),
                    "{bits}: {found:?}"
                );
                assert!(bits > 20 || found.len() <= 2, "{bits}: {found:?}");
            }
        }
    }

    #[test]
    fn more_than_a_chunk() {
        let mut all = Collected::default();
        let count = CHUNK as u32 * 2 + 10;
        for at in 0..count {
            all.push(at.wrapping_mul(0x9e37_79b9), at / 1000, at);
        }
        let names = all.sort();
        for at in (0..count).step_by(997) {
            let key = at.wrapping_mul(0x9e37_79b9);
            assert_eq!(found(&names, key), [(at / 1000, u64::from(at))]);
        }
        let mut all = Collected::default();
        for at in 0..count {
            all.push(at % 3, 1, at);
        }
        all.retain_key(2);
        let names = all.sort();
        assert_eq!(names.get(2).count(), count as usize / 3);
        assert_eq!(names.get(1).count(), 0);
    }
}
