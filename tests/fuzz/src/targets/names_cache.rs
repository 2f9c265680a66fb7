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

/// The name index on disk: how many entries each table has, and the tables. Of three counts,
/// a byte each, the fourth follows, so that the file is whole; otherwise they are those of the
/// file, 8 bytes each. Without any the second part is the whole file.
pub fn names_cache(data: &[u8]) {
    let module = Module::from_bytes(Path::new("/fuzz/image"), IMAGE.to_vec()).expect("the image");
    let [counts, mut tables] = parts(data);
    let mut file = Vec::new();
    if !counts.is_empty() {
        file.extend(b"stillpoint.nam.1");
        file.extend(module.debug_size().to_le_bytes());
        if let [functions, inlined, types] = *counts {
            let mut left = tables.len() / 12;
            tables = &tables[..left * 12];
            for count in [functions, inlined, types] {
                let count = usize::from(count).min(left);
                left -= count;
                file.extend((count as u64).to_le_bytes());
            }
            file.extend((left as u64).to_le_bytes());
        } else {
            file.extend(counts.iter().chain(&[0; 32]).take(32));
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
        module.keep_in(folder.path());
        module.prepare_names();
    });
    for name in ["work", "main", "get", "int", "ns::Derived", "shared"] {
        module.functions_named(name);
        module.inlined_named(name);
        module.types_named(name, Some(CODE.start));
        module.statics_named(name, Some(CODE.start));
    }
}
