use super::{parts, replace};
use dwarf::Module;
use std::path::Path;

thread_local! {
    static FOLDER: tempfile::TempDir = tempfile::tempdir().expect("a temporary folder");
}

/// A Mach-O image and the file with its debug info.
const FILES: &[u8] = include_bytes!("../../corpus/object/companion");

/// The list of moved sources in the bundle of a Mach-O image: a property list, as XML or binary.
pub fn property_list(data: &[u8]) {
    let [image, debug] = parts(FILES);
    FOLDER.with(|folder| {
        let path = folder.path().join("image");
        let resources = folder.path().join("image.dSYM/Contents/Resources");
        if !resources.exists() {
            std::fs::create_dir_all(resources.join("DWARF")).expect("a bundle");
            replace(&resources.join("DWARF/image"), debug);
        }
        let module = Module::from_bytes(&path, image.to_vec()).expect("the image");
        assert!(module.debug_file().is_some(), "the bundle is not found");
        let id = module.build_id().expect("a UUID");
        let groups = [&id[..4], &id[4..6], &id[6..8], &id[8..10], &id[10..]];
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02X}")).collect();
        let uuid: [String; 5] = groups.map(hex);
        replace(&resources.join(uuid.join("-") + ".plist"), data);
        module.source_files();
        module.find_sources(Path::new("/src/seed.c"));
    });
}
