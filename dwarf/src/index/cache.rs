//! The name index on disk, so that the second start reads no debug info for names. One file a
//! build-id, in the processor's byte order of the field (little-endian), mapped and searched
//! as it lies:
//!
//! | bytes | what |
//! |---|---|
//! | 16 | [`MAGIC`]: what it is, and the version of the format |
//! | 8 | bytes of `.debug_info` the index was made of |
//! | 4 × 8 | entries of each table |
//! | 8 | hash of all of the above |
//! | 12 each | key, unit, offset; the tables one behind the other, each sorted |
//!
//! A wrong entry misleads nobody: what a key finds is looked up and compared by name.

use super::{NameIndex, Names};
use crate::file::disk_cache;
use crate::file::{mapping, object};
use std::hash::Hasher;
use std::io;
use std::path::Path;

/// Raise the number when the tables, the keys' hash or what is indexed changes.
const MAGIC: &[u8; 16] = b"stillpoint.nam.1";
const HEADER: usize = 16 + 8 + 4 * 8 + 8;
/// Bytes of an entry.
pub(super) const ENTRY: usize = 12;
/// The kind of file in the folder.
const KIND: &str = "names";

fn header(debug_size: u64, counts: [usize; 4]) -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend(debug_size.to_le_bytes());
    for count in counts {
        header.extend((count as u64).to_le_bytes());
    }
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(&header);
    header.extend(hasher.finish().to_le_bytes());
    header
}

/// The index of an image, if the folder has one that fits.
pub(crate) fn load(folder: &Path, build_id: &[u8], debug_size: u64) -> Option<NameIndex> {
    let path = disk_cache::file(folder, build_id, KIND)?;
    let (data, _) = mapping::map(&path).ok()?;
    let mut counts = [0; 4];
    for (index, count) in counts.iter_mut().enumerate() {
        *count = usize::try_from(object::u64_at(data, 24 + index * 8)?).ok()?;
    }
    if data.get(..HEADER)? != header(debug_size, counts) {
        return None;
    }
    let mut rest = data.get(HEADER..)?;
    let mut table = |count: usize| {
        let (entries, behind) = rest.split_at_checked(count.checked_mul(ENTRY)?)?;
        rest = behind;
        Some(Names::Mapped(entries))
    };
    let index = NameIndex {
        functions: table(counts[0])?,
        inlined: table(counts[1])?,
        types: table(counts[2])?,
        statics: table(counts[3])?,
        sparse: false,
    };
    if !rest.is_empty() {
        return None;
    }
    disk_cache::used(&path);
    Some(index)
}

/// Keeps an index. A file is there whole or not at all, whoever else writes it.
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
    let tables = [
        &index.functions,
        &index.inlined,
        &index.types,
        &index.statics,
    ];
    disk_cache::write(&path, |out| {
        out.write_all(&header(debug_size, tables.map(Names::len)))?;
        tables.into_iter().try_for_each(|table| table.write(out))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DieRef;
    use std::fs;

    const BUILD_ID: &[u8] = &[7; 20];

    fn index() -> NameIndex {
        let names = |entries: &[(u32, u32, u32)]| Names::Built(entries.to_vec());
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
    fn what_is_stored_is_found() {
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
        for len in 0..whole.len() {
            fs::write(&path, &whole[..len]).unwrap();
            assert!(load(folder.path(), BUILD_ID, 99).is_none(), "{len} bytes");
        }
        for at in 0..HEADER {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            assert!(load(folder.path(), BUILD_ID, 99).is_none(), "byte {at}");
        }
        let mut unsorted = whole.clone();
        unsorted[HEADER..].reverse();
        fs::write(&path, &unsorted).unwrap();
        // Whatever it finds, it finds it in bounds and in time.
        let loaded = load(folder.path(), BUILD_ID, 99).unwrap();
        found(&loaded.functions, 5);
    }
}
