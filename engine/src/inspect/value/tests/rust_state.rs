//! Rust's types with alternatives or states: enums, counts, guards, lazy values.

use super::harness::{Program, with_each_rustc};

with_each_rustc!("fixture_state.rs": enums counts guards lazies rest children);

fn enums(program: &mut Program) {
    program.check(&[
        ("impossible", "Ok(8)"),
        ("infallible", "Ok(9)"),
        ("single", "Only(10)"),
        ("alone", "It"),
        ("tagged", "[Small(1), Large {a: 2, b: 3}, Bare]"),
        ("signed", "[Below, Zero, Above]"),
        ("wide", "[A, B]"),
        ("holding", "[Name(\"n\"), Both(\"b\", 4), Boxed(End), End]"),
        ("in_bool", "[A(true), B, C(()), D]"),
        ("letters", "[Some('x'), None]"),
        ("twice_optional", "[Some(Some(false)), Some(None), None]"),
        ("vectors", "[Some([5]), None]"),
        ("borrowed_text", "[Some(\"lent\"), None]"),
        ("functions", "~<fixture_state::twice>), None]"),
        ("results", "[Ok(()), Err(6)]"),
        ("big_some", "Some(340282366920938463463374607431768211454)"),
        (
            "parts",
            "Parts {pair: (1, 2), whole: 131073, bytes: [1, 0, 2, 0]}",
        ),
        ("diverging", "~<fixture_state::forever>"),
    ]);
}

fn counts(program: &mut Program) {
    program.check(&[
        ("counted", "Point {x: 1, y: 2} (strong 3, weak 1)"),
        ("text", "\"shared\" (strong 2, weak 1)"),
        ("text_again", "\"shared\" (strong 2, weak 1)"),
        ("text_weak", "\"shared\" (strong 2, weak 1)"),
        ("text_gone", "(Weak, dropped; weak 1)"),
        ("text == \"shared\"", "true"),
        ("text.len()", "6"),
        ("path", "\"/shared\" (strong 1)"),
        ("bytes", "[1, 2, 3] (strong 1, weak 1)"),
        ("bytes_weak", "[1, 2, 3] (strong 1, weak 1)"),
        ("bytes[2]", "3"),
        ("points", "[Point {x: 0, y: 1}] (strong 1)"),
        ("named", "\"name\" (strong 1)"),
        ("dynamic", "Point {x: 3, y: 4} (strong 1, weak 1)"),
        ("dynamic_weak", "Point {x: 3, y: 4} (strong 1, weak 1)"),
        ("dynamic_cell", "Point {x: 7, y: 8} (strong 1)"),
        ("dynamic_lock", "Point {x: 9, y: 10} (strong 1)"),
        ("aligned", "Aligned(64) (strong 1)"),
        ("dynamic_ref", "Point {x: 23, y: 24} (borrowed)"),
        ("any", "Point {x: 11, y: 12}"),
        ("shared_flag", "true (strong 1)"),
    ]);
}

fn guards(program: &mut Program) {
    program.check(&[
        ("cell_ref", "Point {x: 13, y: 14}"),
        ("cell_ref.y", "14"),
        ("cell_mut", "Point {x: 15, y: 16}"),
        ("cell_part", "18"),
        ("cell_text", "\"part\""),
        ("mutex_guard", "Point {x: 19, y: 20}"),
        ("mutex_guard.x + 1", "20"),
        ("*mutex_guard.lock", "Point {x: 19, y: 20} (locked)"),
        ("dynamic_guard", "Point {x: 25, y: 26}"),
        ("dynamic_guard.y", "26"),
        ("dynamic_part", "Point {x: 23, y: 24}"),
        ("read_guard", "Point {x: 21, y: 22}"),
        ("read_guard.y", "22"),
        ("write_guard", "\"poisoned\""),
        ("*write_guard.lock", "\"poisoned\" (write-locked, poisoned)"),
    ]);
}

fn lazies(program: &mut Program) {
    // `LazyCell` and `LazyLock` exist since rustc 1.80.
    if !program.lazy {
        return;
    }
    program.check(&[
        ("lazy", "<uninit>"),
        ("lazy_forced", "Point {x: 5, y: 6}"),
        ("lazy_forced.y", "6"),
        ("lazy_poisoned", "<poisoned>"),
        ("lock", "<uninit>"),
        ("lock_forced", "\"forced\""),
        ("lock_poisoned", "<poisoned>"),
        ("GLOBAL_LAZY", "(2) [1, 2]"),
    ]);
}

fn rest(program: &mut Program) {
    program.check(&[
        ("generic", "Generic {items: [-1, 1]}"),
        ("nothing", "[(), ()]"),
        ("deep_tuple", "((-8, ('c')), [\"in\"])"),
        ("deep_tuple.0.1.0", "'c'"),
        ("spent", "1..=1 (exhausted)"),
        ("pointer", "0x0"),
        ("wide_atomic", "18446744073709551615"),
        ("cells", "[1, 2]"),
        ("mover", "~moved: \"moved\""),
        ("counting", "~count: 4"),
        ("TABLE", "[(1, \"one\"), (2, \"two\")]"),
        ("GREETING", "\"static\""),
    ]);
}

fn children(program: &mut Program) {
    for (name, expected) in [
        ("text", &[][..]),
        ("tagged[1]", &["a = 2", "b = 3"]),
        ("holding[1]", &["0 = \"b\"", "1 = 4"]),
        ("counted", &["x = 1", "y = 2"]),
        ("bytes", &["[0] = 1", "[1] = 2", "[2] = 3"]),
        ("points", &["[0] = Point {x: 0, y: 1}"]),
        ("dynamic_weak", &["x = 3", "y = 4"]),
        ("dynamic_cell", &["x = 7", "y = 8"]),
        ("dynamic_lock", &["x = 9", "y = 10"]),
        ("cell_ref", &["x = 13", "y = 14"]),
        ("mutex_guard", &["x = 19", "y = 20"]),
        ("read_guard", &["x = 21", "y = 22"]),
    ] {
        assert_eq!(program.opened(name), expected, "{name}");
    }
}
