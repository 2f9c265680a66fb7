//! What is kept on disk between sessions, with an image large enough to be worth it: this test
//! itself.

use dwarf::Module;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
        return skips::skip("a linker that makes a build-id");
    };
    let file: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = cache.join(file + ".names");

    first.keep_in(&cache);
    second.keep_in(&cache);

    assert!(!first.has_names());
    first.index_names();
    assert!(first.has_names() && file.exists());
    let name = "a_second_start_takes_the_names_from_the_cache";
    let found = first.functions_named(name);
    assert_eq!(found.len(), 1, "{found:?}");

    // An empty index in the file's place shows that the file is what is read.
    let mut bytes = fs::read(&file).unwrap();
    let header = 32 + 4 * (8 + 256 * 8);
    assert!(bytes.len() - header > 12_000, "{} bytes", bytes.len());
    bytes[header..].fill(0);
    // Not over the old one: the first module reads that.
    fs::remove_file(&file).unwrap();
    fs::write(&file, &bytes).unwrap();
    second.index_names();
    assert!(second.has_names());
    assert!(second.types_named("i32", None).is_empty());
    assert!(!first.types_named("i32", None).is_empty());
}

#[test]
fn names_are_cached_for_any_request() {
    let folder = tempfile::tempdir().unwrap();
    let files = |cache: &Path| fs::read_dir(cache).map_or(0, |files| files.flatten().count());
    for without_id in [false, true] {
        let cache = folder.path().join(format!("cache {without_id}"));
        let path = folder.path().join(format!("program {without_id}"));
        fs::copy(std::env::current_exe().unwrap(), &path).unwrap();
        if without_id {
            let objcopy = Command::new("objcopy")
                .args(["--remove-section", ".note.gnu.build-id"])
                .arg(&path)
                .status();
            assert!(objcopy.unwrap().success());
        }
        let module = Module::open(&path).unwrap();
        assert!(!without_id || module.build_id().is_none());
        module.keep_in(&cache);
        let name = "names_are_cached_for_any_request";
        assert_eq!(module.functions_named(name).len(), 1);
        // Either all names were read for that, or one was searched for.
        if module.take_names_wanted() {
            assert!(!module.has_names());
            module.index_names();
        }
        assert!(module.has_names() && !module.take_names_wanted());
        dwarf::finish_keeping(PATIENCE);
        assert_eq!(files(&cache), 1, "without a build-id: {without_id}");
        assert_eq!(module.functions_named(name).len(), 1);
    }
}

#[test]
fn cancelled_names_are_not_cached() {
    let folder = tempfile::tempdir().unwrap();
    let module = Module::open(&std::env::current_exe().unwrap()).unwrap();
    module.keep_in(folder.path());
    assert!(!module.has_partial_names());
    module.cancel_indexing();
    module.index_names();
    // They are not read again; a single name may still be found by a search.
    assert!(module.has_names() && module.has_partial_names());
    assert_eq!(module.names_read().0, 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

const PATIENCE: Duration = Duration::from_secs(60);

/// The file that keeps inflated sections.
fn kept_sections(folder: &Path) -> Option<PathBuf> {
    dwarf::finish_keeping(PATIENCE);
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = files.map(|entry| entry.path());
    files.find(|path| path.extension().is_some_and(|it| it == "sections"))
}

#[test]
fn compressed_sections_are_inflated_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let compressed = folder.path().join("compressed");
    let objcopy = Command::new("objcopy")
        .arg("--compress-debug-sections=zlib")
        .arg(std::env::current_exe().unwrap())
        .arg(&compressed)
        .status();
    assert!(objcopy.unwrap().success());
    // Every copy is a module of its own to us, of the same build-id.
    let open = |name: &str| {
        let path = folder.path().join(name);
        fs::copy(&compressed, &path).unwrap();
        let module = Module::open(&path).unwrap();
        module.keep_in(&cache);
        module
    };
    let lines = |module: &Module| {
        let source = module.find_sources(Path::new("dwarf/tests/kept.rs"));
        source.first().map(|file| module.lines_with_code(file))
    };
    let first = open("first");
    if first.build_id().is_none() {
        return skips::skip("a linker that makes a build-id");
    }
    let expected = lines(&first).expect("line tables");
    let file = kept_sections(&cache).expect("sections are kept");
    let whole = fs::read(&file).unwrap();
    assert_eq!(lines(&open("second")), Some(expected.clone()));

    // What is not whole is not used, and made anew.
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(lines(&open("third")), Some(expected));
    dwarf::finish_keeping(PATIENCE);
    assert!(fs::read(&file).unwrap() == whole, "the file is made anew");

    // Contents without a meaning in the file's place show that it is what is read.
    let mut empty = whole.clone();
    let header = 256.max(whole.len() / 100);
    empty[header..].fill(0);
    fs::write(&file, &empty).unwrap();
    assert_eq!(lines(&open("fourth")), None);
}
