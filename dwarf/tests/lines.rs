//! Line tables and functions, against the compiler's marks and against addr2line.

mod common;

use common::compile;
use dwarf::{AddrRange, FileAddr, Module, SymbolStatus};
use std::path::Path;

const COPIES: &str = r#"
volatile int sink;
static inline __attribute__((always_inline)) void put(int x) {
    sink = x * 3; //@ put
}
__attribute__((noinline)) void one(int x) { put(x); }
__attribute__((noinline)) void two(int x) { put(x + 1); put(x - 1); }
int main(int argc, char **argv) { one(argc); two(argc); return 0; }
"#;

const LOOP: &str = r#"
#include <stdio.h>
struct node { int value; struct node *next; };
static int counter = 3;
static inline int twice(int x) {
    return 2 * x; //@ inline
}
int sum(struct node *list) { //@ header
    int total = 0; //@ first
    for (; list; list = list->next) { //@ for
        int value = list->value; //@ body
        total += twice(value) + counter;
    }
    return total;
}
int main(void) {
    struct node a = { 1, 0 }, b = { 2, &a };
    printf("%d\n", sum(&b)); //@ call
    return 0;
}
"#;

#[test]
fn lines_of_c() {
    for compiler in [
        "gcc -g -O0 -gdwarf-5",
        "gcc -g -O0 -gdwarf-4",
        "clang -g -O0",
    ] {
        if !skips::has_command(compiler.split(' ').next().unwrap_or("")) {
            continue;
        }
        let fixture = compile(compiler, "loop.c", LOOP);
        let module = &fixture.module;
        assert_eq!(module.symbol_status(), SymbolStatus::DebugInfo);
        let sum = fixture.function("sum");
        assert_eq!(sum.name, "sum");
        let body = fixture.locations("body");
        assert_eq!(body.len(), 1, "{compiler}: {body:?}");
        assert!(sum.contains(body[0].addr));
        let row = module.row_at(body[0].addr).expect("a row");
        assert_eq!(
            row.location.map(|location| location.line),
            Some(fixture.line("body"))
        );
        assert!(row.is_stmt);
        // A `for` header is split: initialisation, and condition with increment.
        let header = fixture.locations("for");
        assert!(header.len() > 1, "{compiler}: {header:?}");
        assert!(
            header
                .iter()
                .all(|place| place.instance == header[0].instance)
        );
        // The prologue ends at the first statement.
        let start = module.body_start(&sum);
        assert!(start > sum.entry);
        let row = module.row_at(start).expect("a row");
        assert_eq!(
            row.location.map(|location| location.line),
            Some(fixture.line("first")),
            "{compiler}"
        );
        assert!(fixture.locations("inline").len() == 1);
        let files = module.find_sources(&fixture.source);
        let lines = module.lines_with_code(&files[0]);
        assert!(lines.contains(&fixture.line("body")));
        assert!(lines.is_sorted());
        assert!(module.line_locations(&files[0], 1).is_empty());
        let rows = module.rows_in(sum.ranges[0]);
        assert_eq!(rows.first().map(|row| row.range.start), Some(sum.entry));
        assert_eq!(
            rows.last().map(|row| row.range.end),
            Some(sum.ranges[0].end)
        );
        assert!(
            rows.windows(2)
                .all(|pair| pair[0].range.end == pair[1].range.start)
        );
    }
}

#[test]
fn inlined_copies_are_instances() {
    let fixture = compile("gcc -g -O2 -fno-toplevel-reorder", "copies.c", COPIES);
    let places = fixture.locations("put");
    let mut instances: Vec<u64> = places.iter().map(|place| place.instance).collect();
    instances.sort_unstable();
    instances.dedup();
    assert_eq!(instances.len(), 3, "{places:?}");
    assert_eq!(fixture.module.inlined_named("put").len(), 3);
    assert!(fixture.module.functions_named("put").is_empty());
    let two = fixture.function("two");
    let entry = fixture.module.inlined_named("put")[1];
    let frames = two.frames_at(entry);
    assert_eq!(frames.len(), 2, "{frames:?}");
    assert_eq!(frames[0].name, "put");
    let call = frames[0].inlined.expect("an inlined call");
    assert_eq!(call.call_site.as_ref().map(|site| site.line), Some(7));
    assert_eq!(frames[0].scopes[0].variables[0].name, "x");
}

#[test]
fn sources_by_spelling_suffix_and_link() {
    let fixture = compile("gcc -g", "loop.c", LOOP);
    let module = &fixture.module;
    let found = |path: &Path| module.find_sources(path).len();
    assert_eq!(found(&fixture.source), 1);
    assert_eq!(found(Path::new("loop.c")), 1);
    assert_eq!(found(Path::new("./loop.c")), 1);
    assert_eq!(found(Path::new("oop.c")), 0);
    assert_eq!(found(Path::new("/elsewhere/loop.c")), 0);
    assert_eq!(
        module.similar_sources(Path::new("/elsewhere/loop.c")).len(),
        1
    );
    let folder = fixture.source.parent().expect("a folder");
    let name = folder.file_name().expect("its name");
    assert_eq!(found(&Path::new(name).join("loop.c")), 1);
    assert_eq!(found(&folder.join("x/../loop.c")), 1);
    let link = folder.join("link.c");
    std::os::unix::fs::symlink(&fixture.source, &link).expect("a link");
    assert_eq!(found(&link), 1);
    assert!(
        module
            .source_files()
            .iter()
            .any(|file| file.path == fixture.source)
    );
}

#[test]
fn functions_by_name() {
    let fixture = compile(
        "g++ -g -std=c++17",
        "names.cpp",
        r#"
namespace ns {
template <class T> struct Box {
    T value;
    Box(T v) : value(v) {}
    T get() const { return value; }
    bool operator<(const Box &o) const { return value < o.value; }
    Box &operator<<(T v) { value += v; return *this; }
};
namespace { int hidden(int x) { return x + 1; } }
template <class T> T id(T x) { return x; }
int id2(int x) { return x; }
}
int get() { return 1; }
int main() {
    ns::Box<int> a(1), b(2);
    ns::Box<long> c(3);
    auto lambda = [&](int x) { return x + a.get(); };
    a << 3;
    return a.get() + (a < b) + c.get() + ns::hidden(1) + ns::id(1) + ns::id(2L) + ns::id2(3)
        + lambda(2) + get();
}
"#,
    );
    let names = |query: &str| {
        let mut names: Vec<String> = fixture
            .module
            .functions_named(query)
            .iter()
            .map(|function| function.name.clone())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names("get"),
        ["get", "ns::Box<int>::get", "ns::Box<long int>::get"]
    );
    assert_eq!(names("Box<int>::get"), ["ns::Box<int>::get"]);
    assert_eq!(
        names("ns::Box::get"),
        ["ns::Box<int>::get", "ns::Box<long int>::get"]
    );
    assert_eq!(names("id"), ["ns::id<int>", "ns::id<long int>"]);
    assert_eq!(names("id<long>"), ["ns::id<long int>"]);
    assert_eq!(names("ns::id(int)"), ["ns::id<int>"]);
    assert_eq!(names("operator<"), ["ns::Box<int>::operator<"]);
    assert_eq!(names("operator<<"), ["ns::Box<int>::operator<<"]);
    assert_eq!(names("hidden"), ["ns::(anonymous namespace)::hidden"]);
    assert_eq!(names("nothing"), [""; 0]);
    assert_eq!(names("main"), ["main"]);
    assert_eq!(names("_ZN2ns3id2Ei"), ["ns::id2"]);
    assert!(
        names("operator()")[0].contains("lambda"),
        "{:?}",
        names("operator()")
    );
    let symbols = fixture.module.function_symbols("ns::id2");
    assert_eq!(symbols.len(), 1);
    assert_eq!(dwarf::demangle(symbols[0].name), "ns::id2(int)");
    assert_eq!(
        fixture.module.symbol_at(symbols[0].addr + 1),
        Some(symbols[0])
    );
    assert_eq!(fixture.module.symbols_named("main").len(), 1);
}

#[test]
fn a_library_without_debug_info() {
    let fixture = compile("gcc -s -O1", "bare.c", LOOP);
    assert_eq!(fixture.module.symbol_status(), SymbolStatus::SymbolsOnly);
    assert!(fixture.module.row_at(fixture.module.entry()).is_none());
    assert!(fixture.module.function_at(fixture.module.entry()).is_none());
    assert!(fixture.module.find_sources(&fixture.source).is_empty());
    // The stubs of the procedure linkage table are named after what they call.
    assert!(!fixture.module.function_symbols("printf@plt").is_empty());
}

#[test]
fn split_dwarf_has_lines_at_least() {
    let fixture = compile("gcc -g -O0 -gsplit-dwarf", "loop.c", LOOP);
    assert_eq!(fixture.locations("body").len(), 1);
    let addr = fixture.locations("body")[0].addr;
    assert!(fixture.module.row_at(addr).is_some());
    let symbol = fixture.module.symbol_at(addr).expect("a symbol");
    assert_eq!(symbol.name, "sum");
}

#[test]
fn link_time_optimization() {
    // The abstract instances are in units of their own.
    let fixture = compile("gcc -g -O2 -flto", "copies.c", COPIES);
    assert_eq!(fixture.module.functions_named("two").len(), 1);
    let copies = fixture.module.inlined_named("put");
    assert_eq!(copies.len(), 3);
    for addr in copies {
        let function = fixture.module.function_at(addr).expect("a function");
        assert_eq!(function.frames_at(addr)[0].name, "put");
    }
}

#[test]
fn discarded_functions_are_absent() {
    for flags in ["", "-Wl,-z,noseparate-code", "-no-pie"] {
        let fixture = compile(
            &format!("gcc -g -O0 -ffunction-sections -Wl,--gc-sections {flags}"),
            "dead.c",
            "int dead(int x) {\n    return x; //@ dead\n}\nint main(void) { return 0; }\n",
        );
        assert!(fixture.module.functions_named("dead").is_empty(), "{flags}");
        assert!(fixture.locations("dead").is_empty(), "{flags}");
        assert_eq!(fixture.module.functions_named("main").len(), 1);
        assert!(fixture.module.row_at(FileAddr(0)).is_none());
    }
}

#[test]
fn function_described_by_another_unit() {
    // Both units have the first and the last function, and the linker keeps those of the unit
    // that has one more between them.
    let fixture = compile("gcc -g", "loop.c", LOOP);
    let folder = fixture.source.parent().expect("a folder");
    let first = "inline int first() { return 1; }\n";
    let middle = "inline int middle() { return 2; }\n";
    let last = "inline int last() { return 3; }\n";
    let all = "int all() { return first() + middle() + last(); }\n";
    let main = "int all();\nint main() { return first() + last() + all(); }\n";
    let write = |name: &str, parts: &[&str]| {
        std::fs::write(folder.join(name), parts.concat()).expect("write");
    };
    write("all.cpp", &[first, middle, last, all]);
    write("main.cpp", &[first, last, main]);
    let status = std::process::Command::new("g++")
        .args(["-g", "-O0", "all.cpp", "main.cpp", "-o", "two"])
        .current_dir(folder)
        .status();
    assert!(status.expect("g++").success());
    let module = Module::open(&folder.join("two")).expect("open");
    // All units are looked up in one table; a single address may be found without it.
    assert!(!module.rows_in(module.load_range()).is_empty());
    for name in ["first()", "middle()", "last()"] {
        let symbol = module.function_symbols(name)[0];
        let function = module.function_at(symbol.addr);
        let found = function.map(|function| format!("{}()", function.name));
        assert_eq!(found.as_deref(), Some(name));
    }
}

#[test]
fn a_debug_file_that_was_found_elsewhere() {
    let fixture = compile("gcc -g -Wl,--build-id", "loop.c", LOOP);
    let folder = fixture.source.parent().expect("a folder");
    let status = std::process::Command::new("sh")
        .args([
            "-c",
            "objcopy --only-keep-debug fixture kept && objcopy --strip-debug fixture stripped",
        ])
        .current_dir(folder)
        .status();
    assert!(status.expect("run").success());
    let (stripped, kept) = (folder.join("stripped"), folder.join("kept"));
    let module = Module::open(&stripped).expect("open");
    assert_eq!(module.symbol_status(), SymbolStatus::SymbolsOnly);
    let found = module.with_debug_file(&kept).expect("the right file");
    assert_eq!(found.symbol_status(), SymbolStatus::DebugInfo);
    assert_eq!(found.functions_named("sum").len(), 1);
    assert_eq!(found.debug_file(), Some(kept.as_path()));
    let again = Module::open(&stripped).expect("open");
    assert_eq!(again.symbol_status(), SymbolStatus::DebugInfo);
    let wrong = |path| match module.with_debug_file(path) {
        Ok(_) => panic!("it is no debug file"),
        Err(error) => error.to_string(),
    };
    assert!(wrong(&stripped).contains("no section .debug_info"));
    assert!(wrong(folder).contains("not a regular file"));
}

#[test]
fn separate_and_compressed_debug_info() {
    let fixture = compile("gcc -g", "loop.c", LOOP);
    let run = |command: &str| {
        let folder = fixture.source.parent().expect("a folder");
        let status = std::process::Command::new("sh")
            .args(["-c", command])
            .current_dir(folder)
            .status()
            .expect("run");
        assert!(status.success(), "{command}");
        folder.to_owned()
    };
    let folder = run("objcopy --only-keep-debug fixture fixture.debug && \
        objcopy --strip-all --add-gnu-debuglink=fixture.debug fixture stripped && \
        objcopy --compress-debug-sections=zlib fixture small");
    for name in ["stripped", "small"] {
        let module = Module::open(&folder.join(name)).expect("open");
        assert_eq!(module.symbol_status(), SymbolStatus::DebugInfo, "{name}");
        let files = module.find_sources(&fixture.source);
        assert_eq!(
            module.line_locations(&files[0], fixture.line("body")).len(),
            1
        );
        assert_eq!(module.functions_named("sum").len(), 1);
        assert_eq!(module.debug_file().is_some(), name == "stripped");
    }
}

/// Every function's rows of this test's own executable, against addr2line.
#[test]
fn rows_agree_with_addr2line() {
    let path = std::env::current_exe().expect("this executable");
    let module = Module::open(&path).expect("open");
    let loader = addr2line_loader(&path);
    let mut functions = 0;
    let mut compared = 0;
    let mut recommended = 0;
    let mut addr = module.load_range().start;
    let code: Vec<AddrRange<FileAddr>> = module
        .segments()
        .iter()
        .filter(|segment| segment.executable)
        .map(|segment| segment.range)
        .collect();
    let end = module.load_range().end;
    // The executable is large; every few kilobytes of it will do.
    while addr < end {
        if let Some(function) = module.function_at(addr)
            && code.iter().any(|range| range.contains(addr))
        {
            functions += 1;
            assert!(function.contains(addr));
            for row in module.rows_in(function.ranges[0]) {
                let theirs = loader
                    .find_location(row.range.start.0)
                    .expect("addr2line finds");
                let (file, line) = match theirs {
                    Some(theirs) => (theirs.file.map(str::to_owned), theirs.line.unwrap_or(0)),
                    None => (None, 0),
                };
                let ours = row.location.as_ref();
                if row.is_stmt && ours.is_some_and(|ours| ours.line != line) {
                    // Of several rows at one address addr2line takes the last, we a
                    // recommended one.
                    recommended += 1;
                    continue;
                }
                assert_eq!(ours.map_or(0, |location| location.line), line, "{row:?}");
                if let (Some(ours), Some(file)) = (ours, file) {
                    let base = Path::new(&file).file_name();
                    assert_eq!(ours.file.path.file_name(), base);
                }
                // Inlined calls are frames of their own.
                let mut theirs = loader
                    .find_frames(row.range.start.0)
                    .skip_all_loads()
                    .expect("addr2line finds");
                let mut lines = Vec::new();
                while let Ok(Some(frame)) = theirs.next() {
                    lines.push(
                        frame
                            .location
                            .and_then(|location| location.line)
                            .unwrap_or(0),
                    );
                }
                let frames = function.frames_at(row.range.start);
                let mut ours = vec![ours.map_or(0, |location| location.line)];
                ours.extend(
                    frames
                        .iter()
                        .filter_map(|frame| frame.inlined)
                        .map(|call| call.call_site.as_ref().map_or(0, |site| site.line)),
                );
                assert_eq!(ours, lines, "{row:?} in {}", function.name);
                compared += 1;
            }
            if let Some(symbol) = module.symbol_at(addr) {
                let name = dwarf::demangle(symbol.name);
                assert!(!name.is_empty());
            }
        }
        addr = addr + 4096;
    }
    assert!(functions > 100 && compared > 1000, "{functions} {compared}");
    assert!(recommended * 50 < compared, "{recommended} of {compared}");
}

type Slice = addr2line::gimli::EndianSlice<'static, addr2line::gimli::LittleEndian>;

fn addr2line_loader(path: &Path) -> addr2line::Context<Slice> {
    use object::{Object, ObjectSection};
    let data: &'static [u8] = Box::leak(std::fs::read(path).expect("read").into_boxed_slice());
    let file = object::File::parse(data).expect("parse");
    let dwarf = addr2line::gimli::Dwarf::load(|id| -> Result<Slice, std::convert::Infallible> {
        let data = file
            .section_by_name(id.name())
            .and_then(|section| section.data().ok())
            .unwrap_or(&[]);
        Ok(Slice::new(data, addr2line::gimli::LittleEndian))
    })
    .unwrap_or_default();
    addr2line::Context::from_dwarf(dwarf).expect("a context")
}
