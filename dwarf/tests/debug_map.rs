//! Debug info in object files (Mach-O's debug map): what is read through the map equals what is
//! read of the bundle that dsymutil makes of the same files.
//!
//! `DEBUG_MAP_PROGRAMS`, paths with colons between them, names more programs, whose object files are
//! where they were linked.

mod darwin;
#[path = "darwin/described.rs"]
mod described;

use darwin::{MACHINES, Program, compile, has_tools, link, make_bundle, output, program, tool};
use described::{described, locations};
use dwarf::{Error, FileAddr, Function, Module, StaticLocation, SymbolStatus, Term};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const TOOLS: [&str; 2] = ["ld64.lld", "dsymutil"];

const HEADER: &str = r#"
enum color { RED, GREEN = 5 };
union both { int whole; char part[4]; };
struct node { struct node *next; enum color color; union both both; unsigned bits : 3, more : 7; };
struct hidden;
extern int shared;
int use(struct hidden *);
int sum(struct node *);
static inline __attribute__((always_inline)) int twice(int x) { int y = x * 2; return y + 1; }
"#;
const MAIN: &str = r#"
#include "node.h"
int puts(const char *);
int common;
int initialized = 3;
static int counter;
static const double ratio = 0.5;
int dropped_variable = 9;
_Thread_local int own = 5;
static _Thread_local int own_hidden;
int dropped(int x) { return x + dropped_variable; }
static __attribute__((noinline)) int count(int x) {
    static int calls = 2;
    calls += x;
    counter += calls;
    own += x;
    own_hidden += x;
    return (int)(counter * ratio);
}
int also_dropped(int x) { int kept = twice(x); return kept; }
void abort(void);
__attribute__((noinline, noreturn)) static void fail(int x) {
    puts("too many");
    counter = x;
    abort();
}
int main(int argc, char **argv) {
    if (argc > 100)
        fail(argc);
    struct node node = { 0, GREEN, { argc }, 1, 2 };
    for (int i = 0; i < argc; i++) {
        int inner = count(i);
        common += twice(inner);
    }
    initialized += shared;
    puts(argv[0]);
    return sum(&node) + use(0) + initialized;
}
"#;
const NODE: &str = r#"
#include "node.h"
int unused_before(void) { return shared; }
int shared = 4;
struct hidden { int secret; struct node node; };
static struct hidden only = { 7 };
int use(struct hidden *hidden) { return (hidden ? hidden : &only)->secret; }
int sum(struct node *node) {
    int all = 0;
    for (; node; node = node->next) {
        int color = node->color;
        if (color == GREEN)
            all += twice(color);
        all += node->both.whole;
    }
    return all;
}
int unused_behind(void) { return sum(0); }
"#;
const C: [(&str, &str); 3] = [("main.c", MAIN), ("node.c", NODE), ("node.h", HEADER)];

const CPP_HEADER: &str = r#"
namespace shapes {
struct Base { virtual ~Base() {} virtual int area() const { return base; } int base = 1; static int made; };
template<class T> struct Box : Base {
    T value;
    static T last;
    static constexpr int size = 8;
    Box(T v) : value(v) { last = v; made++; }
    int area() const override { return static_cast<int>(value) * 2; }
};
template<class T> T Box<T>::last{};
template<class T> T biggest(T a, T b) { T best = a < b ? b : a; return best; }
inline int numbered() { static int number = 10; return ++number; }
inline int global_inline = 12;
enum class Kind : char { Small, Large };
}
int other(shapes::Base &);
"#;
const CPP_MAIN: &str = r#"
#include "shapes.h"
using namespace shapes;
int Base::made;
namespace { int hidden = 6; struct Local { int a; int get() const { return a + hidden; } }; }
void operator delete(void *, unsigned long) noexcept {}
void operator delete(void *) noexcept {}
extern "C" void __cxa_pure_virtual() {}
int never(int x) { return biggest(x, 3); }
int main(int argc, char **) {
    Box<int> box(argc);
    Box<double> other_box(argc * 0.5);
    Local local{argc};
    auto lambda = [&](int by) { int sum = by + local.get(); return sum; };
    Kind kind = argc > 1 ? Kind::Large : Kind::Small;
    return other(box) + other(other_box) + biggest(argc, 2) + numbered() + lambda(3)
        + (kind == Kind::Large) + global_inline;
}
"#;
const CPP_OTHER: &str = r#"
#include "shapes.h"
__attribute__((noinline)) int other(shapes::Base &base) {
    shapes::Box<long> box(5);
    int own = shapes::numbered() + shapes::biggest(3, base.area()) + shapes::global_inline;
    return own + box.area() + (int)shapes::biggest(2.0, 1.0);
}
"#;
const CPP: [(&str, &str); 3] = [
    ("main.cpp", CPP_MAIN),
    ("other.cpp", CPP_OTHER),
    ("shapes.h", CPP_HEADER),
];

/// Opens a file as an image of its own, whatever was opened before.
fn open(path: &Path) -> Arc<Module> {
    Module::from_bytes(path, std::fs::read(path).unwrap()).unwrap()
}

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

/// Makes a static library of an object file in a folder.
fn library(folder: &Path, name: &str, flags: &[&str], member: &str) -> PathBuf {
    let path = folder.join(name);
    let mut archive = Command::new(tool("llvm-ar").unwrap());
    archive.args(flags).arg("rcs").arg(&path).arg(member);
    output(archive.current_dir(folder));
    path
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
fn programs_named_from_outside_are_read_as_from_their_bundles() {
    let named = std::env::var_os("DEBUG_MAP_PROGRAMS").unwrap_or_default();
    for path in std::env::split_paths(&named).filter(|path| path.exists()) {
        let count = assert_same(&path);
        println!("{}: {count} functions", path.display());
    }
}
