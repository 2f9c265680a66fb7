//! The name index on disk: a later session finds names without reading debug info. There is one
//! file per build-id, in little-endian byte order, which is mapped and searched in place:
//!
//! | bytes | content |
//! |---|---|
//! | 16 | [`MAGIC`]: the kind of file and the version of its format |
//! | 8 | size of the debug info that the index was made from, in bytes |
//! | 4 × 2056 | of each table: bits of offsets and of units (4 bytes each), then the number of words up to the end of each bucket |
//! | 8 | hash of all of the above |
//! | 8 each | the words of the tables, one table after the other ([`super::table`]) |
//!
//! A wrong entry does no harm: the entries found for a key are read and compared by name.

use super::NameIndex;
use super::table::{BUCKETS, Layout, Names, WORD, Words};
use crate::file::disk_cache;
use crate::file::{mapping, object};
use std::hash::Hasher;
use std::io;
use std::path::Path;

/// Increase the number when the tables, the keys' hash or the set of indexed entries changes.
const MAGIC: &[u8; 16] = b"stillpoint.nam.2";
/// Size in bytes of the header of one table.
const TABLE: usize = 8 + BUCKETS * 8;
const HEADER: usize = 16 + 8 + 4 * TABLE + 8;
/// The kind of file in the cache folder.
const KIND: &str = "names";

fn tables(index: &NameIndex) -> [&Names; 4] {
    [
        &index.functions,
        &index.inlined,
        &index.types,
        &index.statics,
    ]
}

fn header(debug_size: u64, index: &NameIndex) -> Vec<u8> {
    let mut header = Vec::with_capacity(HEADER);
    header.extend(MAGIC);
    header.extend(debug_size.to_le_bytes());
    for table in tables(index) {
        header.extend(table.layout.offset_bits.to_le_bytes());
        header.extend(table.layout.unit_bits.to_le_bytes());
        for end in &table.ends {
            header.extend((*end as u64).to_le_bytes());
        }
    }
    header.extend(hash(&header).to_le_bytes());
    header
}

fn hash(header: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(header);
    hasher.finish()
}

/// Returns the index of an image, if the folder has a matching one.
pub(crate) fn load(folder: &Path, build_id: &[u8], debug_size: u64) -> Option<NameIndex> {
    let path = disk_cache::file(folder, build_id, KIND)?;
    let (data, _) = mapping::map(&path).ok()?;
    let (header, mut rest) = data.split_at_checked(HEADER)?;
    let (known, _) = header.split_at_checked(HEADER - 8)?;
    let is_ours = known.starts_with(MAGIC)
        && object::u64_at(header, 16)? == debug_size
        && object::u64_at(header, HEADER - 8)? == hash(known);
    if !is_ours {
        return None;
    }
    let mut headers = known.get(24..)?.chunks_exact(TABLE);
    let mut table = || {
        let (table, words) = read_table(headers.next()?, rest)?;
        rest = words;
        Some(table)
    };
    let index = NameIndex {
        functions: table()?,
        inlined: table()?,
        types: table()?,
        statics: table()?,
        sparse: false,
    };
    if !rest.is_empty() {
        return None;
    }
    disk_cache::touch(&path);
    Some(index)
}

/// Reads the table of a header from the start of `words`. Returns it with the bytes that follow it.
fn read_table(header: &[u8], words: &'static [u8]) -> Option<(Names, &'static [u8])> {
    let layout = Layout {
        offset_bits: object::u32_at(header, 0)?,
        unit_bits: object::u32_at(header, 4)?,
    };
    let ends = (0..BUCKETS).map(|bucket| {
        let end = object::u64_at(header, 8 + bucket * 8)?;
        usize::try_from(end).ok()
    });
    let ends: Vec<usize> = ends.collect::<Option<_>>()?;
    let count = *ends.last()?;
    if !layout.is_sane() || !ends.is_sorted() {
        return None;
    }
    let (words, behind) = words.split_at_checked(count.checked_mul(WORD)?)?;
    let words = Words::Mapped(words);
    let table = Names {
        layout,
        ends,
        words,
    };
    Some((table, behind))
}

/// Stores an index. The file appears complete or not at all, even with concurrent writers.
///
/// # Errors
/// The folder cannot be written to.
pub(crate) fn store(
    folder: &Path,
    build_id: &[u8],
    debug_size: u64,
    index: &NameIndex,
) -> io::Result<()> {
    let Some(path) = disk_cache::file(folder, build_id, KIND) else {
        return Ok(());
    };
    disk_cache::write(&path, |out| {
        out.write_all(&header(debug_size, index))?;
        tables(index)
            .into_iter()
            .try_for_each(|table| table.write(out))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DieRef;
    use crate::index::table::Collected;
    use std::fs;

    const BUILD_ID: &[u8] = &[7; 20];

    fn index() -> NameIndex {
        let names = |entries: &[(u32, u32, u32)]| {
            let mut all = Collected::default();
            for (key, unit, offset) in entries {
                all.push(*key, *unit, *offset);
            }
            all.sort()
        };
        NameIndex {
            functions: names(&[(1, 0, 10), (5, 1, 20), (5, 2, 30), (9, 0, 40)]),
            inlined: names(&[]),
            types: names(&[(5, 3, 50)]),
            statics: names(&[(u32::MAX, 4, 60)]),
            sparse: false,
        }
    }

    fn found(names: &Names, key: u32) -> Vec<(u32, u64)> {
        let dies: Vec<DieRef> = names.get(key).collect();
        dies.iter().map(|die| (die.unit, die.offset)).collect()
    }

    #[test]
    fn stored_names_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("deep/er");
        assert!(load(&folder, BUILD_ID, 99).is_none());
        store(&folder, BUILD_ID, 99, &index()).unwrap();
        let loaded = load(&folder, BUILD_ID, 99).unwrap();
        assert_eq!(found(&loaded.functions, 5), [(1, 20), (2, 30)]);
        assert_eq!(found(&loaded.functions, 4), []);
        assert_eq!(found(&loaded.types, 5), [(3, 50)]);
        assert_eq!(found(&loaded.statics, u32::MAX), [(4, 60)]);
        assert!(
            load(&folder, BUILD_ID, 98).is_none(),
            "another binary of that id"
        );
        assert!(load(&folder, &[8; 20], 99).is_none());
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }

    #[test]
    fn a_damaged_file_is_no_index() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), BUILD_ID, 99, &index()).unwrap();
        let path = disk_cache::file(folder.path(), BUILD_ID, KIND).unwrap();
        let whole = fs::read(&path).unwrap();
        for len in (0..HEADER).step_by(409).chain(HEADER..whole.len()) {
            fs::write(&path, &whole[..len]).unwrap();
            assert!(load(folder.path(), BUILD_ID, 99).is_none(), "{len} bytes");
        }
        for at in (0..48).chain((48..HEADER).step_by(211)) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            assert!(load(folder.path(), BUILD_ID, 99).is_none(), "byte {at}");
        }
        let mut unsorted = whole.clone();
        unsorted[HEADER..].reverse();
        fs::write(&path, &unsorted).unwrap();
        // Damaged data must be searched within bounds and in limited time.
        let loaded = load(folder.path(), BUILD_ID, 99).unwrap();
        found(&loaded.functions, 5);
    }
}
