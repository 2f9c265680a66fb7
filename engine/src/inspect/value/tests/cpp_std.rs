//! Text of the standard library's types, for each library and compiler.

use super::harness::{Program, children_of};
use crate::inspect::value::ChildFilter;
use dwarf::Language;

/// The standard that [`NEWER`] requires.
const CPP_23: &str = "-std=c++23";

fn all(compiler: &[&str]) {
    let program = Program::start(compiler, "fixture_std.cpp", Language::Cpp);
    let Some(mut program) = program else { return };
    let program = &mut program;
    let texts = [ROWS, NODES, OWNERS, OTHERS, ITERATORS, EXPRESSIONS];
    program.check(&texts.concat());
    if compiler.contains(&CPP_23) {
        program.check(NEWER);
    }
    many_bits(program);
    opened(program);
    pages(program);
    uncounted(program);
}

#[test]
fn libstdcxx_gcc() {
    all(&["g++", CPP_23, "-g", "-w"]);
}

#[test]
fn libstdcxx_gcc_optimized() {
    all(&["g++", "-std=c++20", "-gdwarf-4", "-O2", "-w"]);
}

#[test]
fn libstdcxx_clang() {
    all(&["clang++", "-std=c++20", "-gdwarf-4", "-w"]);
}

#[test]
fn libstdcxx_clang_optimized() {
    all(&["clang++", "-std=c++20", "-g", "-O2", "-w"]);
}

#[test]
fn libstdcxx_clang_with_names_without_arguments() {
    all(&[
        "clang++",
        "-std=c++20",
        "-g",
        "-w",
        "-gsimple-template-names",
    ]);
}

#[test]
fn libstdcxx_as_before_cxx11() {
    all(&[
        "g++",
        "-std=c++20",
        "-g",
        "-w",
        "-D_GLIBCXX_USE_CXX11_ABI=0",
    ]);
}

#[test]
fn libcxx() {
    with_libcxx("-O0");
}

#[test]
fn libcxx_optimized() {
    with_libcxx("-O2");
}

fn with_libcxx(level: &str) {
    if !has_libcxx() {
        return skips::skip("libc++");
    }
    all(&["clang++", "-std=c++20", "-stdlib=libc++", "-g", level, "-w"]);
}

/// Whether libc++ is installed.
pub fn has_libcxx() -> bool {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("empty.cpp");
    std::fs::write(&source, "#include <vector>\nint main() {}\n").unwrap();
    std::process::Command::new("clang++")
        .args(["-stdlib=libc++", "-o"])
        .args([&directory.path().join("empty"), &source])
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

const ROWS: &[(&str, &str)] = &[
    ("small", "\"small\""),
    ("large", "\"a text that is too long for the small buffer\""),
    ("none", "\"\""),
    ("wide", "L\"wide\""),
    (
        "wide_long",
        "L\"a wide text that is too long for the buffer\"",
    ),
    ("s8", "\"eight\""),
    ("s16", "u\"sixteen\""),
    ("s32", "U\"thirty-two\""),
    ("zero", "\"a\\0b\""),
    ("view", "\"seen\""),
    ("view16", "u\"seen\""),
    ("wide_view", "L\"seen wide\""),
    ("view8", "\"seen\""),
    ("view32", "U\"seen\""),
    ("no_view", "\"\""),
    (
        "numbers",
        "(100000) {0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, ...}",
    ),
    ("nothing", "{}"),
    ("strings", "(2) {\"one\", \"two\"}"),
    ("bits", "(3) {true, false, true}"),
    ("many_bits[3]", "true"),
    ("many_bits[999]", "false"),
    ("triple", "{1, 2, 3}"),
    ("zeros", "{}"),
    ("deque", "(2) {2, 3}"),
    (
        "long_deque",
        "(1010) {-9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 5, ...}",
    ),
    ("long_deque[1009]", "999"),
    ("deque_texts", "(2) {\"d\", \"e\"}"),
    ("span", "(3) {10, 15, 20}"),
    ("fixed", "(3) {1, 2, 3}"),
    ("initial", "(3) {4, 5, 6}"),
    ("set_bits", "0b1000000101"),
    ("no_bits", "0b"),
    ("stack", "(2) {1, 2}"),
    ("queue", "(1) {3}"),
    ("heap", "(2) {9, 1}"),
    ("points", "(2) {{x = 1, y = 2}, {x = 3, y = 4}}"),
];

fn many_bits(program: &mut Program) {
    let wide_bits = program.show("wide_bits");
    assert_eq!(wide_bits.len(), 102);
    assert_eq!(wide_bits.find('1'), Some(2 + 99 - 70));
}

const NODES: &[(&str, &str)] = &[
    ("list", "(3) {1, 2, 3}"),
    ("no_list", "{}"),
    ("list_texts", "(1) {\"l\"}"),
    ("forward", "(2) {97 'a', 98 'b'}"),
    ("forward_wide", "(1) {1.5}"),
    (
        "long_forward",
        "(more than 65536) {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...}",
    ),
    ("long_forward[69999]", "69999"),
    (
        "long_forward[70000]",
        "error: the container ends before element 70000",
    ),
    ("map", "(2) {1: \"one\", 2: \"two\"}"),
    ("no_map", "{}"),
    ("nested", "(1) {\"k\": {1, 2}}"),
    ("multi", "(2) {97 'a': 1, 97 'a': 2}"),
    ("set", "(2) {\"a\", \"b\"}"),
    ("multiset", "(3) {1, 3, 3}"),
    ("set_chars", "(1) {120 'x'}"),
    ("set_wide", "(1) {2.5}"),
    ("table", "(1) {\"k\": 11}"),
    ("no_table", "{}"),
    ("large_table", "~, ...}"),
    ("hash_set", "(1) {5}"),
    ("hash_chars", "(1) {99 'c'}"),
    ("multi_table", "(2) {1: 120 'x', 1: 120 'x'}"),
    ("multi_set", "(2) {\"m\", \"m\"}"),
];

const OWNERS: &[(&str, &str)] = &[
    ("opt", "77"),
    ("no_opt", "nullopt"),
    ("opt_text", "\"there\""),
    ("opt_point", "{x = 1, y = 2}"),
    ("var", "\"alt\" (std::string)"),
    ("var_int", "5 (int)"),
    ("var_mono", "{} (std::monostate)"),
    ("valueless", "valueless"),
    ("any", "5 (int)"),
    (
        "any_text",
        "\"held text that is long enough for the heap\" (std::string)",
    ),
    ("any_none", "empty"),
    ("any_point", "{x = 3, y = 4} (Point)"),
    ("unique", "5"),
    ("no_unique", "nullptr"),
    ("array", "~0x"),
    ("unique_point", "{x = 5, y = 6}"),
    ("custom", "4"),
    (
        "tree",
        "~{key = 1, name = \"n1\", left = {key = 2, name = \"n2\", left = {key = 4",
    ),
    ("shared", "99 (use count 2, weak count 1)"),
    ("copy", "99 (use count 2, weak count 1)"),
    ("no_shared", "nullptr"),
    ("apart", "98 (use count 1)"),
    ("weak", "99 (use count 2, weak count 1)"),
    ("weak_gone", "expired"),
    ("no_weak", "nullptr"),
    ("shared_void", "~0x"),
    ("shared_array", "~0x"),
    ("freed", "4"),
    ("shared_point", "{x = 0, y = 0} (use count 2)"),
    ("wrapper", "4"),
    ("pair", "{first = 1, second = \"p\"}"),
    ("tuple", "(1, \"t\", 2.5)"),
    ("no_tuple", "()"),
];

const OTHERS: &[(&str, &str)] = &[
    ("complex", "1.5 - 2i"),
    ("complex_float", "1 + 2i"),
    ("atomic", "6"),
    ("atomic_flag", "true"),
    ("atomic_pointer", "0x0"),
    ("function", "~ <twice(int)>"),
    ("no_function", "nullptr"),
    ("function_sum", "{add = 3} (Sum)"),
    ("function_lambda", "~{c = 9} (lambda at fixture_std.cpp:"),
    (
        "function_owner",
        "~{owned = 41 (use count 1)} (lambda at fixture_std.cpp:",
    ),
    (
        "function_text",
        "~{text = \"kept on the heap as it is too long\"} (lambda at ",
    ),
    // For a lambda that is never called, clang emits no more than for other unnamed classes.
    ("function_empty", "~ at fixture_std.cpp:"),
    ("any_lambda", "~ at fixture_std.cpp:"),
    ("any_unseen", "{sees = 2} ((anonymous namespace)::Unseen)"),
    ("ms", "1500ms"),
    ("s", "3s"),
    ("ns", "5ns"),
    ("min", "2min"),
    ("h", "4h"),
    ("us", "7us"),
    ("fractional", "0.25s"),
    ("frames", "3[1/30]s"),
    ("time_point", "2023-11-14 22:13:20"),
    ("steady", "1500ns"),
    ("path", "\"/usr/lib/x\""),
    ("no_error", "nullptr"),
    ("mutex", "unlocked"),
    ("locked", "~locked by thread "),
    ("error", "{code = 8} (Broken)"),
    ("side", "Right"),
];

const NEWER: &[(&str, &str)] = &[
    ("expected", "5"),
    ("*expected + 1", "6"),
    ("unexpected", "\"why\" (unexpected)"),
    ("done", "void"),
    ("undone", "3 (unexpected)"),
    ("here", "~fixture_std.cpp:"),
    ("nowhere", "nowhere"),
    // clang leaves these classes to the debug info of libc++.
    ("twice_locked", "~, 2 times"),
    ("timed", "unlocked"),
];

const ITERATORS: &[(&str, &str)] = &[
    ("vector_at", "15"),
    ("list_at", "2"),
    ("*lambda_pointer", "{captured = 5, by_reference = 4}"),
    (
        "lambda_pointer->captured + lambda_pointer->by_reference",
        "9",
    ),
    ("map_at", "{first = 1, second = \"one\"}"),
    ("set_at", "\"a\""),
    ("table_at", "{first = \"k\", second = 11}"),
    ("deque_at", "3"),
    ("forward_at", "97 'a'"),
    ("vector_const", "20"),
    ("no_vector_at", "nullptr"),
    ("backwards", "499995"),
    ("bit_at", "true"),
    ("no_bit_at", "nullptr"),
    ("bit_const", "true"),
    ("text_at", "109 'm'"),
    ("span_at", "15"),
    ("list_const", "2"),
    ("map_const", "{first = 2, second = \"two\"}"),
    ("multiset_at", "1"),
    ("table_const", "{first = \"k\", second = 11}"),
    ("hash_set_at", "5"),
    ("no_hash_set_at", "nullptr"),
    ("deque_const", "3"),
];

fn opened(program: &mut Program) {
    assert_eq!(program.opened("map"), ["[1] = \"one\"", "[2] = \"two\""]);
    assert_eq!(program.opened("nested"), ["[\"k\"] = (2) {1, 2}"]);
    assert_eq!(program.opened("set"), ["[0] = \"a\"", "[1] = \"b\""]);
    assert_eq!(program.opened("list"), ["[0] = 1", "[1] = 2", "[2] = 3"]);
    assert_eq!(program.opened("bits")[1], "[1] = false");
    assert_eq!(program.opened("tuple"), ["0 = 1", "1 = \"t\"", "2 = 2.5"]);
    assert_eq!(program.opened("pair"), ["first = 1", "second = \"p\""]);
    assert_eq!(program.opened("tree")[1], "name = \"n1\"");
    assert_eq!(program.opened("shared_point"), ["x = 0", "y = 0"]);
    assert_eq!(program.opened("opt_point"), ["x = 1", "y = 2"]);
    assert_eq!(
        program.opened("lambda_pointer"),
        ["captured = 5", "by_reference = 4"]
    );
    let lambda = program.type_of("lambda_pointer");
    assert!(lambda.contains(" at fixture_std.cpp:"), "{lambda}");
    assert!(program.opened("opt").is_empty());
    assert!(program.opened("no_unique").is_empty());
}

/// One page is read; the rest exists.
fn pages(program: &mut Program) {
    for name in ["large_table", "large_map"] {
        let value = program.eval(name);
        let before = program.reads();
        let page = children_of(program, &value, ChildFilter::Indexed, 0..16).unwrap();
        let reads = program.reads() - before;
        assert_eq!(page.len(), 16);
        assert!(reads < 400, "{name}: {reads} reads");
        let all = children_of(program, &value, ChildFilter::Indexed, 0..u64::MAX).unwrap();
        assert!(all.len() >= 1000 && all.iter().all(|child| child.value.is_ok()));
    }
}

/// A list that does not store its length, and exceeds the maximum count, is marked.
fn uncounted(program: &mut Program) {
    let value = program.eval("long_forward");
    let children = children_of(program, &value, ChildFilter::Indexed, 65_530..70_000).unwrap();
    let names: Vec<&str> = children.iter().map(|child| &*child.name).collect();
    assert_eq!(names[5..], ["[65535]", "<more>"]);
    let why = children[6].value.as_ref().err().map(ToString::to_string);
    assert!(why.is_some_and(|why| why.starts_with("more than 65536 elements")));
}

const EXPRESSIONS: &[(&str, &str)] = &[
    ("map[2]", "\"two\""),
    ("large_map[500]", "\"value500\""),
    ("table[\"k\"]", "11"),
    ("nested[\"k\"][1]", "2"),
    ("*opt + 1", "78"),
    ("unique_point->x", "5"),
    ("*unique", "5"),
    ("tree->left->name", "\"n2\""),
    ("shared_point->y", "0"),
    ("list[1]", "2"),
    ("opt_point->x", "1"),
    ("opt == 77", "true"),
    ("*unique = 6", "6"),
    ("unique", "6"),
];
