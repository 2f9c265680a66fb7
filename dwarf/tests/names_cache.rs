//! The name index on disk, with an image large enough to be worth it: this test itself.

use dwarf::Module;
use std::fs;

#[test]
fn a_second_start_takes_the_names_from_the_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    // Two files, so that they are two modules to us, but of one build-id.
    let [first, second] = ["first", "second"].map(|name| {
        let path = folder.path().join(name);
        fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        Module::open(&path).unwrap()
    });
    let Some(id) = first.build_id() else {
        println!("the linker makes no build-id: nothing to test");
        return;
    };
    let file: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = cache.join(file + ".names");

    assert!(!first.has_names());
    first.prepare_names(Some(&cache));
    assert!(first.has_names() && file.exists());
    let name = "a_second_start_takes_the_names_from_the_cache";
    let found = first.functions_named(name);
    assert_eq!(found.len(), 1, "{found:?}");

    // An empty index in the file's place shows that the file is what is read.
    let mut bytes = fs::read(&file).unwrap();
    let header = 64;
    assert!(bytes.len() - header > 12_000, "{} bytes", bytes.len());
    bytes[header..].fill(0);
    fs::write(&file, &bytes).unwrap();
    second.prepare_names(Some(&cache));
    assert!(second.has_names());
    assert!(second.types_named("i32", None).is_empty());
    assert!(!first.types_named("i32", None).is_empty());
}
