//! Debug info in object files (Mach-O's debug map): what is read through the map equals what is
//! read of the bundle that dsymutil makes of the same files.
//!
//! `DEBUG_MAP_PROGRAMS`, paths with colons between them, names more programs, whose object files are
//! where they were linked.

mod darwin;
#[path = "darwin/described.rs"]
mod described;

use darwin::{MACHINES, has_tools, make_bundle, program};
use described::{described, locations};
use dwarf::{FileAddr, Module, SymbolStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
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
int main(int argc, char **argv) {
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
int other(shapes::Base &base) {
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
            assert_eq!(count, 4, "{machine} {flags:?}");
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
