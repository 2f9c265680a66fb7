//! Debug info in object files (Mach-O's debug map): what is read through the map equals what is
//! read of the bundle that dsymutil makes of the same files.
//!
//! `DEBUG_MAP_PROGRAMS`, paths with colons between them, names more programs, whose object files are
//! where they were linked.

mod darwin;
#[path = "darwin/described.rs"]
mod described;
#[path = "darwin/sources.rs"]
mod sources;

use darwin::{MACHINES, compile, has_tools, library, link, make_bundle, output, program, tool};
use described::{described, locations};
use dwarf::{FileAddr, Function, Module, SymbolStatus};
use sources::{C, CPP, open};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const TOOLS: [&str; 2] = ["ld64.lld", "dsymutil"];

/// Compares what is read through the map with what is read of the bundle; returns the number of
/// functions.
#[track_caller]
fn assert_same(path: &Path) -> usize {
    let by_map = open(path);
    assert_eq!(by_map.debug_file(), None, "{}", path.display());
    assert_eq!(by_map.symbol_status(), SymbolStatus::DebugInfo);
    let bundle = make_bundle(path);
    let by_bundle = open(path);
    assert_eq!(by_bundle.debug_file(), Some(&*bundle));
    std::fs::remove_dir_all(path.with_extension("dSYM")).unwrap();

    let symbols = by_bundle.functions_by_symbol();
    let addrs: BTreeSet<u64> = symbols.iter().map(|symbol| symbol.addr.0).collect();
    let wanted = described(&by_bundle, &addrs);
    let found = described(&by_map, &addrs);
    assert_equal(path, &found, &wanted);
    assert_equal(path, &locations(&by_map), &locations(&by_bundle));
    assert!(by_map.rejected_debug_files().is_empty());
    let functions = addrs
        .iter()
        .filter(|addr| by_map.function_at(FileAddr(**addr)).is_some());
    functions.count()
}

#[track_caller]
fn assert_equal(path: &Path, found: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) {
    let titles: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    let different: Vec<String> = titles
        .into_iter()
        .filter(|title| found.get(*title) != wanted.get(*title))
        .map(|title| {
            let text = |all: &BTreeMap<String, String>| {
                all.get(title).map_or("nothing".to_owned(), Clone::clone)
            };
            let (found, wanted) = (text(found), text(wanted));
            let lines = found.lines().zip(wanted.lines());
            let line = lines.clone().find(|(one, other)| one != other);
            let (one, other) = line.unwrap_or((&found, &wanted));
            format!("{title}\n  found:  {one}\n  wanted: {other}")
        })
        .collect();
    assert!(
        different.is_empty(),
        "{}: {} of {} differ:\n{}",
        path.display(),
        different.len(),
        wanted.len(),
        different[..different.len().min(12)].join("\n")
    );
}

#[test]
fn a_c_program_is_read_as_from_its_bundle() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, flags) in FLAGS.iter().enumerate() {
        for machine in MACHINES {
            let folder = folder.path().join(number.to_string());
            let built = program(&folder, machine, &C, flags, &["-dead_strip"]);
            let count = assert_same(&built.path);
            assert_eq!(count, 5, "{machine} {flags:?}");
        }
    }
}

/// Versions of the format, and code before and after optimization.
const FLAGS: [&[&str]; 4] = [
    &["-O0", "-gdwarf-4", "-fcommon"],
    &["-O2", "-gdwarf-4"],
    &["-O0", "-gdwarf-5"],
    &["-O2", "-gdwarf-5", "-fcommon"],
];

#[test]
fn a_cpp_program_is_read_as_from_its_bundle() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, flags) in FLAGS.iter().enumerate() {
        for machine in MACHINES {
            let folder = folder.path().join(number.to_string());
            let flags = [*flags, &["-fno-exceptions", "-fno-rtti", "-std=c++17"]].concat();
            let built = program(&folder, machine, &CPP, &flags, &["-dead_strip"]);
            let count = assert_same(&built.path);
            assert!(count > 5, "{machine} {flags:?}: {count}");
        }
    }
}

const SHAPES: &str = include_str!("darwin/shapes.rs");

#[test]
fn a_rust_library_is_read_as_from_its_bundle() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    for (machine, target) in MACHINES.iter().zip(["aarch64", "x86_64"]) {
        let folder = temporary.path().join(machine);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("shapes.rs"), SHAPES).unwrap();
        let mut compile = Command::new("rustc");
        compile.args(["--edition", "2024", "--crate-type", "rlib", "-g"]);
        compile.args(["-C", "panic=abort", "-C", "codegen-units=4"]);
        compile.args(["--target", &format!("{target}-apple-darwin"), "shapes.rs"]);
        compile.current_dir(&folder).env("RUSTC_BOOTSTRAP", "1");
        if !compile.output().is_ok_and(|it| it.status.success()) {
            skips::skip("rustc without core");
            return;
        }
        let library = folder.join("libshapes.rlib");
        let path = link(&folder, machine, &[library], &["-dead_strip"]);
        assert_eq!(open(&path).object_files(), (2, 0));
        assert_eq!(assert_same(&path), 4, "{machine}");
        let module = open(&path);
        assert_eq!(module.functions_named("shapes::inner::first").len(), 2);
        assert!(module.functions_named("dropped").is_empty());
    }
}

#[test]
fn members_of_static_libraries_are_read() {
    if !has_tools(&TOOLS) || !has_tools(&["llvm-ar"]) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    for machine in MACHINES {
        let folder = program(temporary.path(), machine, &C, &[], &[]).folder;
        let main = folder.join("main.o");
        let wanted = open(&link(
            &folder,
            machine,
            &[main.clone(), folder.join("node.o")],
            &[],
        ));
        let symbols = wanted.functions_by_symbol();
        let addrs = symbols.iter().map(|symbol| symbol.addr.0).collect();
        let wanted = described(&wanted, &addrs);
        // Apple's and BSD's, that of GNU, and one that refers to its files; a name that is too long
        // for a header.
        std::fs::copy(
            folder.join("node.o"),
            folder.join("node_with_a_long_name.o"),
        )
        .unwrap();
        for (name, flags, member) in [
            ("libdarwin.a", &["--format=darwin"][..], "node.o"),
            ("liblong.a", &["--format=darwin"], "node_with_a_long_name.o"),
            ("libgnu.a", &["--format=gnu"], "node_with_a_long_name.o"),
            (
                "libthin.a",
                &["--format=gnu", "--thin"],
                "node_with_a_long_name.o",
            ),
        ] {
            let library = library(&folder, name, flags, member);
            let path = link(&folder, machine, &[main.clone(), library], &[]);
            let module = open(&path);
            let found = described(&module, &addrs);
            assert!(
                module.rejected_debug_files().is_empty(),
                "{:?}",
                module.rejected_debug_files()
            );
            assert_equal(&path, &found, &wanted);
            assert_eq!(module.object_files(), (2, 2));
        }
    }
}

/// A library with two members of one name, in an order.
fn twins(folder: &Path, first: &str, second: &str) -> PathBuf {
    for (place, object) in [("one", first), ("two", second)] {
        std::fs::create_dir_all(folder.join(place)).unwrap();
        std::fs::copy(folder.join(object), folder.join(place).join("twin.o")).unwrap();
    }
    let path = folder.join(format!("lib{first}.a"));
    let mut archive = Command::new(tool("llvm-ar").unwrap());
    archive.args(["--format=darwin", "qcs"]).arg(&path);
    archive.args(["one/twin.o", "two/twin.o"]);
    output(archive.current_dir(folder));
    path
}

#[test]
fn members_of_one_name_are_told_apart_by_symbols() {
    if !has_tools(&TOOLS) || !has_tools(&["llvm-ar"]) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let sources = [
        (
            "main.c",
            "int one(void); int two(void); int main(void) { return one() + two(); }",
        ),
        (
            "one.c",
            "static void both(void) {} int one(void) { return both(), 1; }",
        ),
        (
            "two.c",
            "static void both(void) {} int two(void) { return both(), 2; }",
        ),
    ];
    let built = program(temporary.path(), "arm64", &sources, &[], &[]);
    for (first, second) in [("one.o", "two.o"), ("two.o", "one.o")] {
        let library = twins(&built.folder, first, second);
        let path = link(
            &built.folder,
            "arm64",
            &[built.folder.join("main.o"), library],
            &[],
        );
        let module = open(&path);
        for name in ["one", "two"] {
            let function = function(&module, name);
            assert_eq!(function.name, name, "{first}");
        }
    }
}

/// The function at a symbol.
#[track_caller]
fn function(module: &Module, symbol: &str) -> Arc<Function> {
    let addr = module.symbols_named(symbol)[0].addr;
    let function = module.function_at(addr);
    function.unwrap_or_else(|| panic!("{symbol}: {:?}", module.rejected_debug_files()))
}

#[test]
fn units_that_share_an_object_file_are_told_apart() {
    if !has_tools(&TOOLS) {
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    for machine in MACHINES {
        let folder = program(
            temporary.path(),
            machine,
            &CPP,
            &["-fno-rtti"],
            &["-undefined", "dynamic_lookup"],
        )
        .folder;
        let flags = ["-O1", "-flto", "-fno-exceptions", "-fno-rtti", "-std=c++17"];
        let inputs = ["main.cpp", "other.cpp"].map(|name| compile(&folder, machine, name, &flags));
        // Link-time optimization makes one object file of both, in this folder.
        let path = link(&folder, machine, &inputs, &["-object_path_lto", "together"]);
        let module = open(&path);
        assert_eq!(module.object_files(), (1, 0));
        assert!(assert_same(&path) > 4);
        let [main, other] = ["main", "_Z5otherRN6shapes4BaseE"].map(|name| function(&module, name));
        assert!(!main.id.is_in_unit_of(other.id));
    }
}

#[test]
fn programs_named_from_outside_are_read_as_from_their_bundles() {
    let named = std::env::var_os("DEBUG_MAP_PROGRAMS").unwrap_or_default();
    for path in std::env::split_paths(&named).filter(|path| path.exists()) {
        let count = assert_same(&path);
        println!("{}: {count} functions", path.display());
    }
}
