//! The types of Rust's standard library.

use super::harness::{Program, children_of, with_each_rustc};
use crate::inspect::value::{ChildFilter, Limits, present};

with_each_rustc!("fixture_std.rs": texts counts_are_whole coroutines_and_closures children pages);

/// A text that is cut still has the whole number of elements.
fn counts_are_whole(program: &mut Program) {
    for (name, count) in [("wrapped", "(6)"), ("map", "(1)"), ("deque", "(3)")] {
        let value = program.eval(name);
        let whole = present(program, &value, &Limits::default()).text;
        for text in 2..whole.len() + 2 {
            let limits = Limits {
                text,
                ..Limits::default()
            };
            let shown = present(program, &value, &limits).text;
            let is_in = shown.contains(count) || text < count.len();
            assert!(is_in, "{name} in {text} bytes: {shown}");
        }
    }
}

fn texts(program: &mut Program) {
    program.check(&[
        ("os", "\"os\""),
        ("path", "\"/a/b\""),
        ("path_ref", "\"/c\""),
        ("c_string", "\"c string\""),
        ("c_str", "\"c str\""),
        ("rc_text", "\"shared\" (strong 1)"),
        ("arc_path", "\"/d\" (strong 1)"),
        ("words", "Some(\"rc\" (strong 1))"),
        ("deque", "(3) [1, 2, 3]"),
        ("wrapped", "(6) [7, 10, 11, 12, 13, 14]"),
        ("empty_deque", "[]"),
        ("list", "(3) [\"one\", \"two\", \"three\"]"),
        ("empty_list", "[]"),
        ("heap", "(3) [3, 1, 2]"),
        ("map", "(1) {\"one\": 1}"),
        ("number_map", "(1) {5: Point {x: 1, y: 2}}"),
        ("empty_map", "{}"),
        ("set", "(1) {7}"),
        ("unit_map", "(1) {3: ()}"),
        ("tree", "(2) {1: \"one\", 2: \"two\"}"),
        ("text_tree", "(1) {\"k\": 1}"),
        ("big_tree", "~{0: 0, 1: 3, 2: 6, 3: 9, 4: 12, "),
        ("big_tree", "~, 15: 45, ...}"),
        ("tree_set", "(3) {1, 2, 3}"),
        ("empty_tree", "{}"),
        ("entry", "Some({1: 2})"),
        ("map_of_sets", "(1) {1: {2}}"),
        ("keyed_by_point", "(1) {(1, 2): 3}"),
        ("rc", "Point {x: 9, y: 10} (strong 1, weak 1)"),
        ("weak", "Point {x: 9, y: 10} (strong 1, weak 1)"),
        ("dropped", "(Weak, dropped; weak 1)"),
        ("never", "(Weak of nothing)"),
        ("arc", "66 (strong 1, weak 1)"),
        ("arc_weak", "66 (strong 1, weak 1)"),
        ("rc_slice", "[1, 2] (strong 1)"),
        ("shared_cell", "Point {x: 5, y: 6} (strong 1)"),
        ("cell", "3"),
        ("ref_cell", "4"),
        ("borrowed", "5 (borrowed 2 times)"),
        ("mut_borrowed", "6 (mutably borrowed)"),
        ("once", "<uninit>"),
        ("once_set", "Point {x: 7, y: 8}"),
        ("once_lock", "\"set\""),
        ("once_lock_empty", "<uninit>"),
        ("mutex", "1"),
        ("locked", "Point {x: 2, y: 3} (locked)"),
        ("poisoned", "4 (poisoned) (strong 1)"),
        ("rw", "5"),
        ("rw_read", "6 (read-locked)"),
        ("rw_written", "7 (write-locked)"),
        ("non_zero", "12"),
        ("some_non_zero", "Some(-3)"),
        ("no_non_zero", "None"),
        ("wrapping", "200"),
        ("atomic", "-5"),
        ("atomic_size", "6"),
        ("atomic_bool", "true"),
        ("atomic_ptr", "0x0"),
        ("pin", "11"),
        ("borrowed_cow", "\"lent\" (borrowed)"),
        ("owned_cow", "\"own\" (owned)"),
        ("cow_slice", "(3) [1, 2, 3] (borrowed)"),
        ("kept", "\"kept\""),
        ("maybe", "13 (if initialized)"),
        ("null", "~0x"),
        ("range", "1..4"),
        ("inclusive", "1..=4"),
        ("from", "2.."),
        ("to", "..3"),
        ("to_inclusive", "..='c'"),
        ("full", ".."),
        ("duration", "1.5s"),
        ("millis", "20ms"),
        ("instant", "~s on the monotonic clock"),
        ("epoch", "1970-01-01 00:00:00.000000000 UTC"),
        ("date", "2000-02-29 00:00:00.000000005 UTC"),
        ("ip4", "127.0.0.1"),
        ("ip6", "::1"),
        ("ip", "10.0.0.1"),
        ("ip_six", "fe80::1"),
        ("socket", "1.2.3.4:80"),
        ("socket6", "[::1%2]:443"),
        ("socket_six", "[::1]:8080"),
        ("pair", "(3s, 1.1.1.1)"),
        ("dyn_ref", "Point {x: 1, y: 2}"),
        ("dyn_box", "Point {x: 3, y: 4}"),
        ("dyn_rc", "Point {x: 5, y: 6} (strong 1)"),
        ("dyn_aligned", "Aligned(64) (strong 1)"),
        ("dyn_loud", "Loud {name: \"loud\"}"),
        ("dyn_number", "17"),
        ("dyn_many", "(2) [18, Point {x: 0, y: 1}]"),
        ("function", "~twice"),
        ("nested", "(1) {1: [None, Some(Point {…} (strong 1))]}"),
    ]);
}

fn coroutines_and_closures(program: &mut Program) {
    program.check(&[
        ("unresumed", "Unresumed {a: 3}"),
        ("returned", "~Returned"),
        ("suspended", "~Suspend0 at line 63 {"),
        ("suspended", "~kept: 6"),
        ("suspended.kept", "6"),
        ("suspended.__awaitee", "~Suspend0 at line 58 {"),
        ("suspended.__awaitee.text", "\"hi\""),
        ("suspended.__awaitee.__awaitee", "Later(1)"),
        ("closure", "~captured: 3"),
        ("closure.captured", "3"),
        ("owning_closure.owned", "\"owned\""),
    ]);
    let lines = program.opened("suspended");
    assert!(lines.contains(&"kept = 6".to_owned()), "{lines:?}");
}

fn children(program: &mut Program) {
    for (name, expected) in [
        (
            "wrapped",
            &[
                "[0] = 7", "[1] = 10", "[2] = 11", "[3] = 12", "[4] = 13", "[5] = 14",
            ][..],
        ),
        (
            "list",
            &["[0] = \"one\"", "[1] = \"two\"", "[2] = \"three\""],
        ),
        ("map", &["[\"one\"] = 1"]),
        ("number_map", &["[5] = Point {x: 1, y: 2}"]),
        ("set", &["[0] = 7"]),
        ("tree", &["[1] = \"one\"", "[2] = \"two\""]),
        ("tree_set", &["[0] = 1", "[1] = 2", "[2] = 3"]),
        ("rc", &["x = 9", "y = 10"]),
        ("weak", &["x = 9", "y = 10"]),
        ("rc_slice", &["[0] = 1", "[1] = 2"]),
        ("shared_cell", &["x = 5", "y = 6"]),
        ("locked", &["x = 2", "y = 3"]),
        ("once_set", &["x = 7", "y = 8"]),
        ("dyn_ref", &["x = 1", "y = 2"]),
        ("dyn_rc", &["x = 5", "y = 6"]),
        ("dyn_loud", &["name = \"loud\""]),
        ("cow_slice", &["[0] = 1", "[1] = 2", "[2] = 3"]),
        ("dropped", &[]),
        ("duration", &[]),
        ("once", &[]),
    ] {
        assert_eq!(program.opened(name), expected, "{name}");
    }
    program.check(&[
        ("map[\"one\"]", "1"),
        ("number_map[5].y", "2"),
        ("tree[2]", "\"two\""),
        ("tree[3]", "~error: key not found"),
        ("big_tree[99999]", "299997"),
        ("wrapped[5]", "14"),
        ("list[1]", "\"two\""),
        ("shared_cell.x + 1", "6"),
        ("dyn_box.y", "4"),
        ("cell == 3", "true"),
        ("range.end", "4"),
        ("duration.secs", "1"),
        ("atomic + 1", "~error: `+` is not defined for"),
        ("non_zero * 2", "~error: `*` is not defined for"),
        ("owned_cow == \"own\"", "true"),
    ]);
}

fn pages(program: &mut Program) {
    let limits = Limits::default();
    let map = program.eval("big_map");
    let before = program.reads();
    let page = children_of(program, &map, ChildFilter::Indexed, 0..100).unwrap();
    assert_eq!(page.len(), 100);
    for child in &page {
        let key: u64 = child.name.trim_matches(['[', ']']).parse().unwrap();
        let value = present(program, child.value.as_ref().unwrap(), &limits).text;
        assert_eq!(value, (key * 2).to_string());
    }
    let reads = program.reads() - before;
    assert!(reads < 1000, "{reads} reads for the first page of a map");
    let end = children_of(program, &map, ChildFilter::Indexed, 999_990..u64::MAX).unwrap();
    assert_eq!(end.len(), 10);
    let tree = program.eval("big_tree");
    let page = children_of(program, &tree, ChildFilter::Indexed, 50_000..50_003).unwrap();
    let names: Vec<&str> = page.iter().map(|child| &*child.name).collect();
    assert_eq!(names, ["[50000]", "[50001]", "[50002]"]);
    let all = children_of(program, &tree, ChildFilter::Indexed, 0..u64::MAX).unwrap();
    assert_eq!(all.len(), 100_000);
}
