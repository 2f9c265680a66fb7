//! What is cached on disk between sessions, for a program large enough to be worth it.

mod common;

use common::Fixture;
use dwarf::Module;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Compiles a program with more than 4 MB of debug info: names of smaller ones are not cached.
fn large_program() -> Fixture {
    let mut text = String::new();
    for nth in 0..30_000 {
        let _ = writeln!(
            text,
            "struct shape_{nth} {{ int width_{nth}; long height_{nth}; struct shape_{nth} *next_{nth}; \
             char kind_{nth}; double weight_{nth}; }};"
        );
    }
    text.push_str("int wanted(int a) { return a + 1; }\nint main(void) { return wanted(1); }\n");
    let command = "gcc -g -O0 -fno-eliminate-unused-debug-types -Wl,--build-id";
    common::compile(command, "large.c", &text)
}

#[test]
fn a_second_start_takes_the_names_from_the_cache() {
    let program = large_program();
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    // Two files are two modules, of one build-id here.
    let [first, second] = ["first", "second"].map(|name| {
        let path = folder.path().join(name);
        fs::copy(&program.binary, &path).unwrap();
        Module::open(&path).unwrap()
    });
    let id = first.build_id().expect("a build-id");
    let file: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let file = cache.join(file + ".names");

    first.set_cache_folder(&cache);
    second.set_cache_folder(&cache);

    assert!(!first.has_names());
    first.index_names();
    assert!(first.has_names() && file.exists());
    let found = first.functions_named("wanted");
    assert_eq!(found.len(), 1, "{found:?}");

    // An empty index in the file's place shows that the file is read.
    let mut bytes = fs::read(&file).unwrap();
    let header = 32 + 4 * (8 + 256 * 8);
    assert!(bytes.len() - header > 12_000, "{} bytes", bytes.len());
    bytes[header..].fill(0);
    // Not over the old one: the first module reads that.
    fs::remove_file(&file).unwrap();
    fs::write(&file, &bytes).unwrap();
    second.index_names();
    assert!(second.has_names());
    assert!(second.types_named("shape_7", None).is_empty());
    assert!(!first.types_named("shape_7", None).is_empty());
}

#[test]
fn names_are_cached_for_any_request() {
    let program = large_program();
    let folder = tempfile::tempdir().unwrap();
    let files = |cache: &Path| fs::read_dir(cache).map_or(0, |files| files.flatten().count());
    for without_id in [false, true] {
        let cache = folder.path().join(format!("cache {without_id}"));
        let path = folder.path().join(format!("program {without_id}"));
        fs::copy(&program.binary, &path).unwrap();
        if without_id {
            let objcopy = Command::new("objcopy")
                .args(["--remove-section", ".note.gnu.build-id"])
                .arg(&path)
                .status();
            assert!(objcopy.unwrap().success());
        }
        let module = Module::open(&path).unwrap();
        assert!(!without_id || module.build_id().is_none());
        module.set_cache_folder(&cache);
        assert_eq!(module.functions_named("wanted").len(), 1);
        // Either all names were read for that, or one was searched for.
        if module.take_names_wanted() {
            assert!(!module.has_names());
            module.index_names();
        }
        assert!(module.has_names() && !module.take_names_wanted());
        dwarf::finish_cache_writes(WRITE_TIMEOUT);
        assert_eq!(files(&cache), 1, "without a build-id: {without_id}");
        assert_eq!(module.functions_named("wanted").len(), 1);
    }
}

#[test]
fn cancelled_names_are_not_cached() {
    let program = large_program();
    let folder = tempfile::tempdir().unwrap();
    let module = &program.module;
    module.set_cache_folder(folder.path());
    assert!(!module.has_partial_names());
    module.cancel_indexing();
    module.index_names();
    // They are not read again; a single name may still be found by a search.
    assert!(module.has_names() && module.has_partial_names());
    assert_eq!(module.names_read().0, 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the file with the decompressed sections.
fn cached_sections(folder: &Path) -> Option<PathBuf> {
    dwarf::finish_cache_writes(WRITE_TIMEOUT);
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = files.map(|entry| entry.path());
    files.find(|path| path.extension().is_some_and(|it| it == "sections"))
}

#[test]
fn compressed_sections_are_inflated_once() {
    let program = large_program();
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let compressed = folder.path().join("compressed");
    let objcopy = Command::new("objcopy")
        .arg("--compress-debug-sections=zlib")
        .arg(&program.binary)
        .arg(&compressed)
        .status();
    assert!(objcopy.unwrap().success());
    // Each copy is a module of its own, of the same build-id.
    let open = |name: &str| {
        let path = folder.path().join(name);
        fs::copy(&compressed, &path).unwrap();
        let module = Module::open(&path).unwrap();
        module.set_cache_folder(&cache);
        module
    };
    let found = |module: &Module| module.functions_named("wanted").len();
    let first = open("first");
    assert_eq!(found(&first), 1);
    let file = cached_sections(&cache).expect("a cached file");
    let whole = fs::read(&file).unwrap();
    assert_eq!(found(&open("second")), 1);

    // A truncated file is not used, and written anew.
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(found(&open("third")), 1);
    dwarf::finish_cache_writes(WRITE_TIMEOUT);
    assert!(
        fs::read(&file).unwrap() == whole,
        "the file is written anew"
    );

    // Meaningless contents in the file's place show that it is read.
    let mut empty = whole.clone();
    let header = 256.max(whole.len() / 100);
    empty[header..].fill(0);
    fs::write(&file, &empty).unwrap();
    assert_eq!(found(&open("fourth")), 0);
}
