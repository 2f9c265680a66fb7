//! The object files of a debug map (Mach-O): which are opened, where they are looked for, and what
//! happens if one cannot be used.

mod darwin;
#[path = "darwin/sources.rs"]
mod sources;

use darwin::{MACHINES, Program, compile, has_tools, library, link, output, program, tool};
use dwarf::{Error, FileAddr, Module, StaticLocation, SymbolStatus, Term};
use sources::{C, open};
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: [&str; 1] = ["ld64.lld"];

/// What is known of `main` and `use`, which are of different object files, and why the other files
/// are not used.
fn known(path: &Path) -> ([bool; 2], Vec<Error>) {
    let module = open(path);
    let known = ["main", "use"].map(|name| {
        let addr = module.symbols_named(name)[0].addr;
        let (row, function) = (module.row_at(addr), module.function_at(addr));
        assert_eq!(row.is_some(), function.is_some());
        assert_eq!(module.symbol_at(addr).unwrap().name, name);
        row.is_some()
    });
    // What needs all files fails for none of them.
    assert_eq!(module.functions_named("main").len(), usize::from(known[0]));
    assert!(!module.find_sources(Path::new("node.h")).is_empty());
    (known, module.rejected_debug_files())
}

fn c_program(folder: &Path) -> Program {
    program(folder, "arm64", &C, &[], &[])
}

#[test]
fn an_unusable_object_file_costs_only_its_own_lines() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let built = c_program(temporary.path());
    let object = built.folder.join("node.o");
    let good = std::fs::read(&object).unwrap();
    assert_eq!(known(&built.path).0, [true, true]);

    let other = program(&temporary.path().join("other"), "x86_64", &C, &[], &[]);
    let other = std::fs::read(other.folder.join("node.o")).unwrap();
    let unrelated = compile_text(
        &built.folder,
        "unrelated.c",
        "int nothing(void) { return 0; }",
    );
    let stripped = compile_text(&built.folder, "stripped.c", "int no_debug_info;");
    for (bytes, message) in [
        (None, "no such file"),
        (Some(other), "another machine"),
        (Some(unrelated), "none of the functions"),
        (Some(stripped), "no section __debug_info"),
        (Some(good[..100].to_vec()), "truncated"),
        (Some(b"text".to_vec()), "neither"),
    ] {
        match bytes {
            Some(bytes) => std::fs::write(&object, bytes).unwrap(),
            None => std::fs::remove_file(&object).unwrap(),
        }
        let (known, errors) = known(&built.path);
        assert_eq!(known, [true, false], "{message}");
        let [error] = &errors[..] else {
            panic!("{message}: {errors:?}");
        };
        let text = error.to_string();
        assert!(text.contains(message), "{text} is not {message}");
        assert!(text.contains(&*object.to_string_lossy()), "{text}");
        assert!(
            text.contains("; build the program again") || text.contains("; compile"),
            "{text}"
        );
    }
    std::fs::remove_file(built.folder.join("main.o")).unwrap();
    std::fs::remove_file(&object).unwrap();
    assert_eq!(open(&built.path).symbol_status(), SymbolStatus::SymbolsOnly);
}

/// Compiles a source for arm64, without debug info if it defines no function.
fn compile_text(folder: &Path, name: &str, text: &str) -> Vec<u8> {
    std::fs::write(folder.join(name), text).unwrap();
    let flags: &[&str] = match text.contains('{') {
        true => &[],
        false => &["-g0"],
    };
    std::fs::read(compile(folder, "arm64", name, flags)).unwrap()
}

#[test]
fn an_object_file_that_was_changed_is_not_used() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let built = c_program(temporary.path());
    let modified = |name: &str| {
        let metadata = std::fs::metadata(built.folder.join(name)).unwrap();
        let since = metadata
            .modified()
            .unwrap()
            .duration_since(std::time::UNIX_EPOCH);
        since.unwrap().as_secs()
    };
    // lld leaves out the times; Apple's linker records them.
    let mut image = std::fs::read(&built.path).unwrap();
    let times = [modified("main.o"), modified("node.o") - 1];
    set_times(&mut image, &times);
    std::fs::write(&built.path, image).unwrap();
    let (known, errors) = known(&built.path);
    assert_eq!(known, [true, false]);
    assert!(
        errors[0].to_string().contains("it was changed after"),
        "{errors:?}"
    );
}

#[test]
fn variables_are_found_by_their_symbols() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let built = c_program(temporary.path());
    let mut image = std::fs::read(&built.path).unwrap();
    // Apple's linker does not repeat their addresses.
    set_values(&mut image, 0x20, &[0; 5]);
    std::fs::write(&built.path, image).unwrap();
    let module = open(&built.path);
    for name in ["initialized", "shared", "own", "common"] {
        let variable = &module.statics_named(name, None)[0];
        let addr = module.symbols_named(name)[0].addr;
        let location = module.locate_static(variable, None, addr).unwrap();
        let term = match name {
            "own" => Term::ThreadLocal(addr.0),
            _ => Term::Image(addr),
        };
        assert_eq!(location, StaticLocation::Memory(term), "{name}");
    }
}

/// Sets the values of the entries of object files in an image's symbol table.
fn set_times(image: &mut [u8], times: &[u64]) {
    set_values(image, 0x66, times);
}

/// Sets the values of all entries of a type in an image's symbol table.
fn set_values(image: &mut [u8], kind: u8, values: &[u64]) {
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap()) as usize;
    let mut at = 32;
    while word(at) != 2 {
        at += word(at + 4);
    }
    let (start, count) = (word(at + 8), word(at + 12));
    let mut values = values.iter();
    for symbol in image[start..start + count * 16].chunks_exact_mut(16) {
        if symbol[4] == kind {
            symbol[8..].copy_from_slice(&values.next().unwrap().to_le_bytes());
        }
    }
    assert!(values.next().is_none());
}

#[test]
fn only_the_object_files_that_a_question_needs_are_opened() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let built = c_program(temporary.path());
    let opened_by = |question: &dyn Fn(&Module)| {
        let module = open(&built.path);
        question(&module);
        let (all, opened) = module.object_files();
        assert_eq!(all, 2);
        opened
    };
    let status = |module: &Module| assert_eq!(module.symbol_status(), SymbolStatus::DebugInfo);
    assert_eq!(opened_by(&status), 0);
    let size = |module: &Module| assert!(module.debug_size() > 1000);
    assert_eq!(opened_by(&size), 0);
    let at_address = |module: &Module| {
        let addr = module.symbols_named("use")[0].addr;
        assert!(module.row_at(addr).is_some());
        assert!(module.function_at(addr).is_some());
        assert!(module.row_at(FileAddr(addr.0 + 4)).is_some());
    };
    assert_eq!(opened_by(&at_address), 1);
    let in_source = |module: &Module| {
        let file = &module.find_sources(Path::new("node.c"))[0];
        assert_eq!(module.line_locations(file, 7).len(), 1);
    };
    assert_eq!(opened_by(&in_source), 1);
    let by_name = |module: &Module| {
        assert_eq!(module.functions_named("use").len(), 1);
    };
    assert_eq!(opened_by(&by_name), 1);
    let in_header = |module: &Module| {
        let file = &module.find_sources(Path::new("node.h"))[0];
        assert!(module.line_locations(file, 9).len() > 1);
    };
    assert_eq!(opened_by(&in_header), 2);
}

#[test]
fn lines_of_a_source_that_others_include_are_all_found() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let plain = "#ifndef NAME\n#define NAME plain\n#endif\nint NAME(int x) {\n return x + 1;\n}\n";
    let main =
        "int plain(int), other(int); int main(int n, char **v) { return plain(n) + other(n); }";
    let sources = [
        ("main.c", main),
        ("plain.c", plain),
        ("other.c", "#define NAME other\n#include \"plain.c\"\n"),
    ];
    for version in ["-gdwarf-4", "-gdwarf-5"] {
        let folder = temporary.path().join(version);
        let built = program(&folder, "x86_64", &sources, &[version], &[]);
        let module = open(&built.path);
        let files = module.find_sources(Path::new("plain.c"));
        let places = module.line_locations(&files[0], 5);
        assert_eq!(places.len(), 2, "{version}");
        assert_eq!(
            module.object_files(),
            (3, 2),
            "that of main.c is not opened"
        );
    }
}

#[test]
fn object_files_are_found_beside_a_program_that_was_moved() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let built = c_program(temporary.path());
    let inputs = ["main.o", "node.o"].map(PathBuf::from);
    let prefix = format!("{}/", built.folder.display());
    link(&built.folder, "arm64", &inputs, &["-oso_prefix", &prefix]);
    let moved = temporary.path().join("moved");
    std::fs::rename(&built.folder, &moved).unwrap();
    let (known, errors) = known(&moved.join("program"));
    assert_eq!(known, [true, true], "{errors:?}");
}

#[test]
fn the_index_is_kept_until_an_object_file_changes() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let built = c_program(temporary.path());
    let object = built.folder.join("node.o");
    // Indexes of small programs are not kept.
    let file = std::fs::File::options().write(true).open(&object).unwrap();
    file.set_len(8 << 20).unwrap();
    let opened = || {
        let module = open(&built.path);
        module.set_cache_folder(&temporary.path().join("cache"));
        module.index_names();
        let opened = module.object_files().1;
        assert_eq!(module.functions_named("use").len(), 1);
        opened
    };
    assert_eq!(opened(), 2);
    dwarf::finish_cache_writes(std::time::Duration::from_secs(60));
    assert_eq!(opened(), 0, "the index of the first time");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(1);
    file.set_modified(later).unwrap();
    assert_eq!(opened(), 2);
}

#[test]
fn universal_files_have_objects_for_each_machine() {
    if !has_tools(&TOOLS) || !has_tools(&["llvm-ar", "llvm-lipo"]) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let folders = MACHINES.map(|machine| program(temporary.path(), machine, &C, &[], &[]).folder);
    let universal = |name: &str, parts: [PathBuf; 2]| {
        let path = temporary.path().join(name);
        let mut lipo = Command::new(tool("llvm-lipo").unwrap());
        output(lipo.arg("-create").args(parts).arg("-output").arg(&path));
        path
    };
    let objects = folders.clone().map(|folder| folder.join("main.o"));
    let libraries = folders
        .clone()
        .map(|folder| library(&folder, "libnode.a", &["--format=darwin"], "node.o"));
    let inputs = [
        universal("main.o", objects),
        universal("libnode.a", libraries),
    ];
    for (machine, folder) in MACHINES.iter().zip(folders) {
        let path = link(&folder, machine, &inputs, &[]);
        let (known, errors) = known(&path);
        assert_eq!(known, [true, true], "{machine}: {errors:?}");
    }
}
