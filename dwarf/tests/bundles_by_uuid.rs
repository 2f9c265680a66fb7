//! Debug info of macOS programs in the folders that the preferences of Apple's DebugSymbols name.

mod darwin;

use darwin::{asked, has_tools, make_bundle, output, program};
use dwarf::Module;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Names the program for the process that looks for its debug info.
const PROGRAM: &str = "STILLPOINT_TEST_PROGRAM";

/// `{"DBGFileMappedPaths": ["/nowhere", "~/symbols"]}`, as Python's plistlib writes it.
const BINARY: &[u8] =
    b"bplist00\xd1\x01\x02_\x10\x12DBGFileMappedPaths\xa2\x03\x04X/nowhereY~/symbols\
    \x08\x0b\x20\x23\x2c\0\0\0\0\0\0\x01\x01\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x36";

/// Prints where the debug info of the program is. It runs in a process with another home.
#[test]
fn home_of_another_process_is_searched() {
    if let Some(program) = std::env::var_os(PROGRAM) {
        let module = Module::open(Path::new(&program)).unwrap();
        println!("found: {:?}", module.debug_file());
        println!("rejected: {:?}", module.rejected_debug_files());
    }
}

/// Returns what is found in a home for a program.
fn found(home: &Path, program: &Path) -> String {
    let this = std::env::current_exe().unwrap();
    let mut search = Command::new(this);
    search.args([
        "--exact",
        "home_of_another_process_is_searched",
        "--nocapture",
    ]);
    output(search.env("HOME", home).env(PROGRAM, program))
}

#[test]
fn debug_info_is_found_by_uuid_in_the_folders_of_preferences() {
    if !has_tools(&["clang", "ld64.lld", "dsymutil", "llvm-dwarfdump"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let source = [("main.c", "int main(void) { return 3; }\n")];
    let built = program(&root, "arm64", &source, &["-O0"], &[]);
    let debug = make_bundle(&built.path);
    let bundle = built.path.with_extension("dSYM");
    let kept = root.join("kept.dSYM");
    let debug = kept.join(debug.strip_prefix(&bundle).unwrap());
    std::fs::rename(bundle, &kept).unwrap();
    let text = asked("llvm-dwarfdump", &["--uuid"], &built.path);
    let uuid = text.split_whitespace().nth(1).unwrap().replace('-', "");
    let place = |folder: &Path| -> PathBuf {
        let groups = (0..5).map(|group| &uuid[group * 4..group * 4 + 4]);
        groups
            .fold(folder.to_owned(), |path, group| path.join(group))
            .join(&uuid[20..])
    };
    let home = root.join("home");
    let preferences = home.join("Library/Preferences/com.apple.DebugSymbols.plist");
    std::fs::create_dir_all(preferences.parent().unwrap()).unwrap();
    let none = found(&home, &built.path);
    assert!(none.contains("found: None"), "{none}");

    let symbols = home.join("symbols");
    let entry = place(&symbols);
    std::fs::create_dir_all(entry.parent().unwrap()).unwrap();
    let xml = |value: &str| {
        format!(
            "<?xml version=\"1.0\"?><plist><dict><key>DBGFileMappedPaths</key>{value}</dict></plist>"
        )
    };
    let one = xml(&format!("<string>{}</string>", symbols.display()));
    let many = xml("<array><string>/nowhere</string><string>~/symbols</string></array>");
    let lists = [BINARY, one.as_bytes(), many.as_bytes()];
    for list in lists {
        std::fs::write(&preferences, list).unwrap();
        // A link to the file or to the bundle, or the file itself.
        for kind in ["file", "bundle", "copy"] {
            match kind {
                "file" => std::os::unix::fs::symlink(&debug, &entry).unwrap(),
                "bundle" => std::os::unix::fs::symlink(&kept, &entry).unwrap(),
                _ => drop(std::fs::copy(&debug, &entry).unwrap()),
            }
            let told = found(&home, &built.path);
            let path = match kind {
                "bundle" => entry.join(debug.strip_prefix(&kept).unwrap()),
                _ => entry.clone(),
            };
            assert!(
                told.contains(&format!("found: Some({path:?})")),
                "{kind}: {told}"
            );
            assert!(told.contains("rejected: []"), "{kind}: {told}");
            std::fs::remove_file(&entry).unwrap();
        }
    }
    // That of another build is refused, with its path.
    let other = program(&root.join("other"), "arm64", &source, &["-O1"], &[]);
    std::fs::copy(make_bundle(&other.path), &entry).unwrap();
    let told = found(&home, &built.path);
    assert!(
        told.contains("found: None") && told.contains(entry.to_str().unwrap()),
        "{told}"
    );
}
