//! Constants of Rust in expressions: they are read from the source, where their value is certain.

use serde_json::json;
use std::fs;
use stillpoint_tests::{DapClient, Fixture, Flags};

fn shows(client: &mut DapClient, cases: &[(&str, &str, &str)]) {
    for (expression, text, ty) in cases {
        let shown = client.evaluated(expression).expect(expression);
        assert_eq!(shown["result"], *text, "{expression}");
        assert_eq!(shown["type"], *ty, "{expression}");
    }
}

fn refuses(client: &mut DapClient, cases: &[(&str, &str)]) {
    for (expression, why) in cases {
        let error = client.try_evaluate(expression).expect_err(expression);
        assert!(error.contains(why), "{expression}: {error}");
    }
}

#[test]
fn literals_and_arithmetic_have_the_values_of_the_compiler() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/constants.rs"), "main");
    for (number, name) in [
        "MASK", "HALF", "LOWEST", "HEX", "WIDE", "WRAPPED", "LETTER", "END", "ON", "THIRD",
        "SMALL", "ALLOWED",
    ]
    .iter()
    .enumerate()
    {
        let field = format!("known.{}.{}", number / 6, number % 6);
        let known = client.evaluated(&field).expect("a field");
        let ty = known["type"].as_str().expect("a type");
        shows(
            &mut client,
            &[(name, known["result"].as_str().expect("a text"), ty)],
        );
        assert_eq!(
            client.evaluate(&format!("{name} == {field}")),
            "true",
            "{name}"
        );
    }
    shows(
        &mut client,
        &[
            ("LIMIT", "1000", "u32"),
            ("LIMIT + 1", "1001", "u32"),
            ("inner::LIMIT", "20", "u32"),
            ("self::inner::deeper::DEPTH", "21", "u32"),
            ("other::LIMIT", "30", "u32"),
            ("other::MASK", "77", "u32"),
            ("Node::TWICE", "18", "u32"),
            ("IMPORTED", "6", "u32"),
            ("BY_TARGET", "1", "u32"),
            ("TEXT", "\"const LIMIT: u32 = 8;\"", "&str"),
        ],
    );
    refuses(
        &mut client,
        &[
            ("COMPUTED", "write its value instead"),
            ("BY_MACRO", "no variable `BY_MACRO`"),
            ("NOWHERE", "no variable `NOWHERE`"),
            ("LIMIT + 1u8", "mismatched types"),
        ],
    );
    client.disconnect();
}

#[test]
fn scopes_decide_which_constant_is_meant() {
    let fixture = Fixture::of("rust/constants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let stops = [
        "in_module",
        "in_deeper",
        "method",
        "closure",
        "of_trait",
        "parameters",
        "block",
        "one_line",
        "behind",
        "glob",
    ];
    client.set_breakpoints(&fixture, &stops);
    client.configure();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[("LIMIT", "20", "u32"), ("LIMIT == limit", "true", "bool")],
    );
    shows(&mut client, &[("super::LIMIT", "1000", "u32")]);
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[
            ("LIMIT == limit", "true", "bool"),
            ("DEPTH == depth", "true", "bool"),
        ],
    );
    for _ in ["method", "closure"] {
        client.continue_();
        client.expect_stopped("breakpoint");
        shows(
            &mut client,
            &[
                ("Self::MAX == max", "true", "bool"),
                ("Self::TWICE", "18", "u32"),
            ],
        );
    }
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[
            ("Self::MAX == max", "true", "bool"),
            ("Self::OWN", "3", "u32"),
            ("Self::SIZE", "1", "u32"),
        ],
    );
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(&mut client, &[("LIMIT", "3", "usize")]);
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(&mut client, &[("LIMIT", "50", "u32")]);
    client.continue_();
    client.expect_stopped("breakpoint");
    refuses(&mut client, &[("LIMIT", "a block begins or ends")]);
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(&mut client, &[("LIMIT", "40", "u32")]);
    client.continue_();
    client.expect_stopped("breakpoint");
    shows(
        &mut client,
        &[("LIMIT", "30", "u32"), ("LIMIT == limit", "true", "bool")],
    );
    client.disconnect();
}

#[test]
fn conditions_use_constants() {
    let fixture = Fixture::of("rust/constants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let condition = json!({"condition": "depth == LIMIT + 5"});
    let set = client.set_breakpoints_with(&fixture, vec![("repeated", condition)]);
    assert_eq!(set[0]["verified"], true, "{set:?}");
    client.configure();
    client.expect_stopped("breakpoint");
    assert_eq!(client.evaluate("depth"), "1005");
    client.disconnect();
}

#[test]
fn a_source_that_was_changed_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (
        folder.path().join("changed.rs"),
        folder.path().join("changed"),
    );
    let text = "const LIMIT: u32 = 5;\nfn main() {\n    let limit = std::hint::black_box(LIMIT);\n    std::hint::black_box(limit); //@ main\n}\n";
    fs::write(&source, text).expect("a source");
    let flags = Flags::of("rust/constants.rs");
    assert!(Fixture::compile_to(&source, &program, flags));
    let fixture = Fixture::compiled(&source, &program);
    let mut client = DapClient::stopped_at(&fixture, "main");
    shows(&mut client, &[("LIMIT", "5", "u32")]);
    fs::write(&source, text.replace("= 5", "= 6")).expect("a source");
    // Not every rustc records checksums.
    let error = client.try_evaluate("LIMIT").expect_err("it was changed");
    let reasons = [
        "it differs from the compiled file",
        "it is newer than the program",
    ];
    assert!(reasons.iter().any(|it| error.contains(it)), "{error}");
    client.disconnect();
}

#[test]
fn constants_of_traits_and_of_impls_elsewhere() {
    let fixture = Fixture::of("rust/trait_constants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let places = ["main", "of_block", "of_row", "elsewhere", "generic"];
    client.set_breakpoints(&fixture, &places);
    client.configure();
    let stops: [&[(&str, &str, &str)]; 6] = [
        &[
            ("Block::N", "4", "usize"),
            ("Row::N", "3", "usize"),
            ("shapes::Row::N", "3", "usize"),
            ("Block::BITS", "12", "u32"),
            ("<Block as Size>::N", "4", "usize"),
            ("Row::WEIGHT", "9", "u32"),
            ("Block::WEIGHT", "7", "u32"),
            (
                "all == Block::N + Row::N + Block::BITS as usize",
                "true",
                "bool",
            ),
        ],
        &[("Self::N * 2", "8", "usize"), ("Self::WEIGHT", "7", "u32")],
        &[("Self::N", "3", "usize"), ("Self::WEIGHT", "9", "u32")],
        &[("Self::BITS", "12", "u32"), ("Block::BITS", "12", "u32")],
        // Of the instance that runs.
        &[("T::N == n", "true", "bool"), ("T::N", "4", "usize")],
        &[
            ("T::N == n", "true", "bool"),
            ("<T as Size>::N", "3", "usize"),
        ],
    ];
    for (nth, shown) in stops.into_iter().enumerate() {
        client.expect_stopped("breakpoint");
        shows(&mut client, shown);
        // The calls that `generic` makes come to the others again.
        if nth == 3 {
            client.set_breakpoints(&fixture, &["generic"]);
        }
        client.continue_();
    }
    assert_eq!(client.expect_exit(), 0);
    client.disconnect();
}

#[test]
fn constants_of_other_files_of_the_crate() {
    let fixture = Fixture::of("rust/const_modules.rs");
    let mut client = DapClient::stopped_at(&fixture, "stop");
    shows(
        &mut client,
        &[
            ("DEPTH", "7", "u32"),
            ("BREADTH", "200", "u64"),
            ("BASE", "100", "u64"),
            ("FAR", "99", "u64"),
            ("OWN", "8", "u32"),
            ("limits::DEPTH", "7", "u32"),
            ("limits::AREA", "1499", "u64"),
            ("const_modules::limits::AREA", "1499", "u64"),
            ("crate::const_modules::more::nested::FAR", "99", "u64"),
            (
                "crate::const_modules::more::nested::FROM_LIMITS",
                "7",
                "u32",
            ),
            ("const_modules::more::DEPTH", "7", "u32"),
            ("Table::ROWS", "33", "u64"),
            ("Table::ELSEWHERE", "1500", "u32"),
            ("const_modules::compiled::LEVEL", "9", "u8"),
            (
                "all == u64::from(DEPTH + OWN) + BREADTH + BASE + FAR + Table::ROWS",
                "true",
                "bool",
            ),
        ],
    );
    refuses(
        &mut client,
        &[
            (
                "const_modules::gated::GATED",
                "`#[cfg]` decides on the module `gated`",
            ),
            ("limits::NOTHING", "NOTHING"),
            ("WIDTH_OF_NOTHING", "WIDTH_OF_NOTHING"),
        ],
    );
    client.set_function_breakpoints(&["inside"]);
    client.continue_();
    client.expect_stopped("function breakpoint");
    shows(
        &mut client,
        &[
            ("WIDTH", "200", "u64"),
            ("BASE", "100", "u64"),
            ("super::more::BASE", "100", "u64"),
            ("nested::FAR", "99", "u64"),
            ("self::AREA", "1499", "u64"),
            ("crate::OWN", "8", "u32"),
            ("super::super::OWN", "8", "u32"),
        ],
    );
    client.disconnect();
}

#[test]
fn values_that_are_made_of_others_are_those_of_the_compiler() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made_constants.rs"), "values");
    shows(
        &mut client,
        &[
            ("NAME == known.0", "true", "bool"),
            ("NAME", "\"a\\t\\\"b\\\" \u{e9}Ac\"", "&str"),
            ("NAME.len()", "10", "usize"),
            ("RAW", "\"x\\\\n\\\"y\\\"\"", "&str"),
            ("BYTES == known.1", "true", "bool"),
            ("BYTES", "[97, 98, 255, 0]", "&[u8]"),
            ("BYTES[2]", "255", "u8"),
            ("HEADER", "[71, 73, 70]", "&[u8; 3]"),
            ("COPIED", "[71, 73, 70]", "[u8; 3]"),
            ("ROW", "[1, 2, 254, 16]", "[u8; 4]"),
            ("ROW[at]", "2", "u8"),
            ("ROW[at + 1] == LAST", "true", "bool"),
            ("LONG", "[7, 7, 7, 7, 7, 7]", "[u32; 6]"),
            ("LONG.len()", "6", "usize"),
            ("NAMES == known.2", "true", "bool"),
            ("NAMES[0]", "\"one\"", "&str"),
            ("NAMES.len()", "3", "usize"),
            ("TABLE == known.3", "true", "bool"),
            ("TABLE[1].1", "2147483648", "u32"),
            ("PAIR", "(-9, true, \"p\")", "(i64, bool, &str)"),
            ("PAIR.0 - 1", "-10", "i64"),
            ("SPAN.contains(&at)", "false", "bool"),
            ("SPAN.end", "35", "usize"),
            ("HALF", "35", "usize"),
            ("LIMITS.1[1]", "5", "i8"),
            ("PART", "-1", "i8"),
            ("FIRST", "71", "u8"),
            ("CODES", "[500, 65535]", "[u16; 2]"),
            ("CODE", "65535", "u16"),
            ("POINT == known.5", "true", "bool"),
            ("POINT.y", "-3", "i16"),
            (
                "ORIGIN",
                "Point {x: 0, y: -3}",
                "made_constants::shapes::Point",
            ),
            ("LINE == known.4", "true", "bool"),
            ("shapes::UNIT == Shape::Dot", "false", "bool"),
            ("WRAP.1", "1.5", "f64"),
            ("DOT", "Dot", "made_constants::shapes::Shape"),
            ("SOME", "Some(12)", "core::option::Option<u16>"),
            ("HEIGHT", "-3", "i16"),
            ("SHIFTED", "[8, 255]", "[u8; 2]"),
            ("WHOLE.contains(&'c')", "true", "bool"),
        ],
    );
    refuses(
        &mut client,
        &[
            ("CALLED", "cannot tell the value of the const `CALLED`"),
            ("LONG[6]", "6"),
            ("ROW[at - 2]", "overflows"),
        ],
    );
    client.disconnect();
}

#[test]
fn parameters_of_generic_code_are_those_of_the_instance() {
    let fixture = Fixture::of("rust/made_constants.rs");
    let mut client = DapClient::spawn();
    client.launch(&fixture, json!({}));
    let stops = [
        "of_grid",
        "of_closure",
        "of_trait",
        "of_signs",
        "in_closure",
        "of_numbers",
    ];
    client.set_breakpoints(&fixture, &stops);
    client.configure();
    // The name of a trait's method lacks the arguments; rustc does not write those that are characters.
    for (cases, unknown) in [
        (
            &[
                ("R", "2", "usize"),
                ("C", "3", "usize"),
                ("Self::AREA == R * C", "true", "bool"),
            ][..],
            &[][..],
        ),
        (&[], &["C", "R"]),
        (&[], &["C"]),
        (&[("LOW", "-7", "i8")], &["LETTER"]),
        (
            &[
                ("N", "5", "usize"),
                ("UP", "true", "bool"),
                ("row.len() == N", "true", "bool"),
            ],
            &[],
        ),
        (&[("first + N", "6", "usize"), ("UP", "true", "bool")], &[]),
    ] {
        client.expect_stopped("breakpoint");
        shows(&mut client, cases);
        for name in unknown {
            refuses(&mut client, &[(*name, "a parameter of generic code")]);
        }
        client.continue_();
    }
    client.disconnect();
}

#[test]
fn parts_are_there_or_not() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made_constants.rs"), "values");
    shows(
        &mut client,
        &[
            (
                "known.2.get(0..1)",
                "Some([\"one\"])",
                "core::option::Option<&[&str]>",
            ),
            (
                "known.2.get(at..9)",
                "None",
                "core::option::Option<&[&str]>",
            ),
            ("known.1.get(3..2)", "None", "core::option::Option<&[u8]>"),
            (
                "known.1.get(1..=0)",
                "Some([])",
                "core::option::Option<&[u8]>",
            ),
            ("known.1.get(4..).map_or(7, |it| it.len())", "0", "usize"),
            (
                "ROW.get(..2)",
                "Some([1, 2])",
                "core::option::Option<&[u8]>",
            ),
            ("[0u8; HALF + 1].len()", "36", "usize"),
            ("Code::MAX - 1", "65534", "u16"),
            ("at as Code", "1", "u16"),
            ("known.0.char_indices().enumerate().count", "0", "usize"),
        ],
    );
    refuses(
        &mut client,
        &[("known.0.as_ref()", "as the code around it expects")],
    );
    client.disconnect();
}
