use super::image::CODE;
use super::{parts, replace};
use dwarf::Module;
use std::hash::Hasher;
use std::path::Path;

thread_local! {
    static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// The image that the index is of: one with debug info and a build-id.
const IMAGE: &[u8] = include_bytes!("../../corpus/object/plain-5");

/// The name index on disk: bits of offsets and of units and how many entries each of the first
/// three tables has, a byte each, and the words of the tables. The fourth table has the rest, so
/// that the file is whole; with other than five bytes the second part is the whole file.
pub fn names_cache(data: &[u8]) {
    let module = Module::from_bytes(Path::new("/fuzz/image"), IMAGE.to_vec()).expect("the image");
    let [counts, mut tables] = parts(data);
    let mut file = Vec::new();
    if let [offset_bits, unit_bits, counts @ ..] = counts
        && let Ok(counts) = <[u8; 3]>::try_from(counts)
    {
        file.extend(b"stillpoint.nam.2");
        file.extend(module.debug_size().to_le_bytes());
        let mut left = tables.len() / 8;
        tables = &tables[..left * 8];
        for table in 0..4 {
            let count = counts
                .get(table)
                .map_or(left, |count| left.min(usize::from(*count)));
            left -= count;
            file.extend(u32::from(*offset_bits).to_le_bytes());
            file.extend(u32::from(*unit_bits).to_le_bytes());
            // Every bucket has as many, the last one those that are left.
            for bucket in 1..256 {
                file.extend((count / 256 * bucket).to_le_bytes());
            }
            file.extend(count.to_le_bytes());
        }
        let mut hasher = rustc_hash::FxHasher::default();
        hasher.write(&file);
        file.extend(hasher.finish().to_le_bytes());
    }
    file.extend(tables);
    let id = module.build_id().expect("a build-id");
    let name: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    FOLDER.with(|folder| {
        replace(&folder.path().join(name + ".names"), &file);
        module.set_cache_folder(folder.path());
        module.index_names();
    });
    for name in ["work", "main", "get", "int", "ns::Derived", "shared"] {
        module.functions_named(name);
        module.inlined_named(name);
        module.types_named(name, Some(CODE.start));
        module.statics_named(name, Some(CODE.start));
    }
}
