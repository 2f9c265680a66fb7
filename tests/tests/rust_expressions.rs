//! Expressions that only Rust has, in a running program: values that they make, patterns, references.

use stillpoint_tests::{DapClient, Fixture, Flags};

/// Expects texts and types.
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

fn fixtures() -> Vec<Fixture> {
    let optimized = Flags::of("rust/made.rs").optimized("1");
    let plain = Some(Fixture::of("rust/made.rs"));
    let all = [plain, Fixture::build("rust/made.rs", optimized)];
    all.into_iter().flatten().collect()
}

/// Returns whether the compiler has kept the slice that an expression is about.
fn is_there(client: &mut DapClient, expression: &str) -> bool {
    !expression.contains("slice") || !client.evaluate("slice").contains("optimized out")
}

#[test]
fn objects_are_compared_with_variables() {
    for fixture in fixtures() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        for (expression, expected) in [
            ("opt == Some(3)", true),
            ("opt == Some(4)", false),
            ("opt != None", true),
            ("opt > Some(2)", true),
            ("byte == Some(3)", true),
            ("none == None", true),
            ("text_opt == Some(\"x\")", true),
            ("text_opt == Some(\"y\")", false),
            ("nested == Some(Some(1))", true),
            ("nested == Some(None)", false),
            ("result == Ok(1)", true),
            ("failed == Err(2)", true),
            ("failed == Ok(2)", false),
            ("pair == (7, 0.5)", true),
            ("(1, 2) < (1, 3)", true),
            ("row == [1, 2, 3]", true),
            ("slice == [2, 3]", true),
            ("slice == &[2, 3]", true),
            ("array == [1, 2, 4]", false),
            ("&row == &same_row", true),
            ("*reference == 3", true),
            ("reference == &3", true),
            ("size == shop::Size::Large", true),
            ("code == Event::Idle", false),
            ("map.get(&1) == Some(&10)", true),
            ("single == 0.1", true),
        ] {
            if is_there(&mut client, expression) {
                let found = client.evaluate(expression);
                assert_eq!(found, expected.to_string(), "{expression}");
            }
        }
        refuses(
            &mut client,
            &[
                ("opt == Some(\"x\")", "mismatched types"),
                ("opt == Ok(3)", "mismatched types"),
                ("pair == (7, 0.5, 1)", "mismatched types"),
                ("row == &same_row", "borrow or dereference"),
                ("byte == Some(300)", "300 is out of range for `u8`"),
                ("None", "not known"),
                ("Point { x: 1 }", "missing field `y`"),
                ("Point { x: 1, y: 2, z: 3 }", "no field `z`"),
                ("Event::Code(1, 2)", "takes 1 arguments"),
            ],
        );
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn objects_and_references_are_passed() {
    {
        let mut client = DapClient::stopped_at(&Fixture::of("rust/made.rs"), "end");
        for (expression, expected) in [
            ("or_less(None)", "-1"),
            ("or_less(Some(4))", "4"),
            ("byte_or_zero(Some(200))", "200"),
            ("reference_or_zero(None)", "0"),
            ("first_of((1, 2.0))", "1"),
            ("second_of(&(1, 2.5))", "2.5"),
            ("third_of([4, 5, 6])", "6"),
            ("code_of(&Event::Idle)", "0"),
            ("code_of(&Event::Code(-4))", "-4"),
            ("code_of(&Event::Both(200, 2))", "202"),
            ("code_of(&Event::Sized { size: 1, tag: 2 })", "3"),
            ("difference(Point { x: 5, y: 2 })", "3"),
            ("difference(Point { x: 5, ..point })", "1"),
            ("point.plus(&other)", "Point {x: 13, y: 24}"),
            ("point.plus(&Point { x: 1, y: 1 })", "Point {x: 4, y: 5}"),
            ("length_of(&row)", "3"),
            ("sum_of(&row)", "6"),
            ("sum_of(&row[1..3])", "5"),
            ("sum_of(&[4, 5])", "9"),
            ("sum_of(&array)", "6"),
            ("next_of(&41)", "42"),
            ("next_of(&number)", "4"),
            ("x_of(&boxed)", "3"),
            ("text_length(&text)", "4"),
            ("text_length(\"abc\")", "3"),
            ("row.contains(&2)", "true"),
            ("map[&1]", "10"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        refuses(
            &mut client,
            &[
                ("raise(&number)", "write `&mut`"),
                ("reference_or_zero(Some(&2))", "temporary inside"),
                ("or_less(Some(1.5))", "takes"),
            ],
        );
        client.evaluate("raise(&mut number)");
        assert_eq!(client.evaluate("number"), "4");
        client.continue_();
        assert_eq!(client.expect_exit(), 0);
        client.disconnect();
    }
}

#[test]
fn objects_have_types() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made.rs"), "end");
    shows(
        &mut client,
        &[
            ("(number, 2)", "(3, 2)", "(i32, i32)"),
            ("()", "()", "()"),
            ("[number; 2]", "[3, 3]", "[i32; 2]"),
            ("1..4", "1..4", "core::ops::range::Range<i32>"),
            (
                "..=number",
                "..=3",
                "core::ops::range::RangeToInclusive<i32>",
            ),
            ("unsafe { number + 1 }", "4", "i32"),
            ("Some(number)", "Some(3)", "core::option::Option<i32>"),
            ("Some(\"x\")", "Some(\"x\")", "core::option::Option<&str>"),
            ("None::<u8>", "None", "core::option::Option<u8>"),
            ("Event::Code(9)", "Code(9)", "made::Event"),
            ("Event::Idle", "Idle", "made::Event"),
            ("Wrapper(number)", "Wrapper(3)", "made::Wrapper"),
            (
                "Point { x: 1, ..point }",
                "Point {x: 1, y: 4}",
                "made::Point",
            ),
            ("&number", "3", "&i32"),
            ("&mut number", "3", "&mut i32"),
            ("&2", "2", "&i32"),
            ("*&2 + 1", "3", "i32"),
            ("&&number", "3", "&&i32"),
            ("&row[1..]", "(2) [2, 3]", "&[i32]"),
            ("&[1, 2]", "[1, 2]", "&[i32; 2]"),
            ("(1, number).1", "3", "i32"),
            ("[4, 5, 6][1]", "5", "i32"),
            ("Point { x: 8, y: 9 }.y", "9", "i32"),
            ("f32::MAX", "3.4028235e38", "f32"),
            ("std::f64::consts::PI", "3.141592653589793", "f64"),
        ],
    );
    client.disconnect();
}

#[test]
fn patterns_take_values_apart() {
    for fixture in fixtures() {
        let mut client = DapClient::stopped_at(&fixture, "end");
        for (expression, expected) in [
            ("matches!(opt, Some(3))", "true"),
            ("matches!(opt, Some(1..=3))", "true"),
            ("matches!(opt, Some(4..) | None)", "false"),
            ("matches!(opt, Some(n) if n > 2)", "true"),
            ("matches!(code, Event::Code(9))", "true"),
            ("matches!(sized, Event::Sized { size: 5, .. })", "true"),
            ("matches!(both, Event::Both(_, 3))", "false"),
            ("matches!(idle, Event::Idle | Event::Code(_))", "true"),
            ("matches!(text_opt, Some(\"x\"))", "true"),
            ("matches!(point, Point { x: 3, y })", "true"),
            ("matches!(pair, (7, _))", "true"),
            ("matches!(slice, [2, ..])", "true"),
            ("matches!(array, [.., 2])", "false"),
            ("matches!(size, shop::Size::Small)", "false"),
            ("matches!(reference, &3)", "true"),
            ("matches!(reference, 3)", "true"),
            ("if let Some(n) = opt { n + 1 } else { 0 }", "4"),
            ("if let Some(n) = none { n } else { -5 }", "-5"),
            ("if let Some(n) = &opt { *n } else { 0 }", "3"),
            (
                "if let Event::Sized { size, tag } = sized { size + tag as i32 } else { 0 }",
                "11",
            ),
            ("if let Some(Some(n)) = nested { n } else { 0 }", "1"),
            ("if let Some(n) = opt && n > 5 { n } else { number }", "3"),
            ("if let Some(n) = opt { next_of(&n) } else { 0 }", "4"),
            (
                "if let Event::Both(a, b) = &both { *a as i32 + *b } else { 0 }",
                "3",
            ),
            (
                "match number { 0 => 1, 1 | 2 => 2, n @ 3..=9 => n * 10, _ => 4 }",
                "30",
            ),
            ("match pair { (n, x) if x > 1.0 => n, (n, _) => -n }", "-7"),
        ] {
            if is_there(&mut client, expression) {
                assert_eq!(client.evaluate(expression), expected, "{expression}");
            }
        }
        refuses(
            &mut client,
            &[
                ("matches!(opt, Some(\"x\"))", "mismatched types"),
                ("matches!(opt, Event::Idle)", "no variant"),
                ("matches!(code, Event::Code)", "has fields"),
                ("matches!(sized, Event::Sized { size: 5 })", "add `..`"),
                ("matches!(both, Event::Both(1))", "has 2"),
                ("match number { 0 => 1 }", "no pattern fits"),
                (
                    "if let Some(n) = opt { n } else { \"x\" }",
                    "mismatched types",
                ),
            ],
        );
        client.disconnect();
    }
}

#[test]
fn text_slices_and_pointers_have_the_types_of_the_compiler() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made.rs"), "end");
    shows(
        &mut client,
        &[
            ("\"abc\"", "\"abc\"", "&str"),
            ("*\"abc\"", "\"abc\"", "str"),
            ("&\"abc\"", "\"abc\"", "&&str"),
            ("b\"ab\"", "[97, 98]", "&[u8; 2]"),
            ("\"abc\".trim()", "\"abc\"", "&str"),
            ("\"a-b\".split_once('-').unwrap().1", "\"b\"", "&str"),
            (
                "\"hello\".chars().nth(1)",
                "Some('e')",
                "core::option::Option<char>",
            ),
            ("&text[1..3]", "\"ex\"", "&str"),
            ("text[1..]", "\"ext\"", "str"),
            ("*text", "\"text\"", "str"),
            ("&*text", "\"text\"", "&str"),
            ("*slice", "(2) [2, 3]", "[i32]"),
            ("&*row", "(3) [1, 2, 3]", "&[i32]"),
            ("row[1..][0]", "2", "i32"),
            ("concat!(\"a\", 1)", "\"a1\"", "&str"),
            ("format!(\"x\")", "\"x\"", "alloc::string::String"),
            ("vec![1, 2]", "[1, 2]", "alloc::vec::Vec<i32>"),
            ("row == vec![1, 2, 3]", "true", "bool"),
            ("{ let y = 5; let z = y + number; z * 2 }", "16", "i32"),
            ("size_of_val(&number)", "4", "usize"),
            ("size_of_val(slice)", "8", "usize"),
            ("std::mem::size_of::<u64>()", "8", "usize"),
            ("(1..5).contains(&number)", "true", "bool"),
            ("(1..5).count()", "4", "usize"),
            ("(1..4) == range", "true", "bool"),
            ("row.iter().sum::<i32>()", "6", "i32"),
            ("\"7\".parse::<u8>().unwrap() + 1", "8", "u8"),
            ("\"300\".parse::<u8>().is_err()", "true", "bool"),
            ("u8::try_from(300).is_ok()", "false", "bool"),
            (
                "char::from_digit(7, 10)",
                "Some('7')",
                "core::option::Option<char>",
            ),
            ("boxed.as_ref()", "Point {x: 3, y: 4}", "&made::Point"),
            ("() == ()", "true", "bool"),
            ("&raw const number == &number", "true", "bool"),
            ("row.as_ptr() == &row[1]", "false", "bool"),
            ("*shared", "\"shared\"", "str"),
            ("row.as_ptr().is_null()", "false", "bool"),
        ],
    );
    let ty = |client: &mut DapClient, expression: &str| {
        let shown = client.evaluated(expression).expect(expression);
        shown["type"].as_str().unwrap_or_default().to_owned()
    };
    for (expression, expected) in [
        ("&raw const number", "*const i32"),
        ("&raw mut number", "*mut i32"),
        ("row.as_ptr()", "*const i32"),
        ("&number as *const i32", "*const i32"),
        ("(&raw const number).add(1)", "*const i32"),
    ] {
        assert_eq!(ty(&mut client, expression), expected, "{expression}");
    }
    refuses(
        &mut client,
        &[
            ("&number as u8", "dereference it with `*`"),
            ("&number as *const u8", "own type"),
            ("boxed + 1", "not defined for"),
            ("Some(1) as i32", "cannot cast"),
            ("opt == byte", "not defined"),
            ("-size", "not defined for"),
            ("opt as i32", "cannot cast"),
            ("&text[1..9]", "out of range: length is 4"),
            ("println!(\"x\")", "not expanded"),
            ("|x| x", "has no code"),
            (
                "if number == 3 { 1 } else { &text[1..] }",
                "mismatched types",
            ),
            (
                "if text.is_empty() { 1 } else { &text[1..] }",
                "mismatched types",
            ),
            ("&number as char", "cannot cast"),
        ],
    );
    client.disconnect();
}

#[test]
fn closures_and_rests_of_patterns() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made.rs"), "end");
    for (expression, expected) in [
        ("opt.map(|x| x + 1)", "Some(4)"),
        ("none.map(|x| x + 1)", "None"),
        ("opt.map_or(0, |x| x * 2)", "6"),
        ("none.map_or(7, |x| x * 2)", "7"),
        ("opt.is_some_and(|x| x > 3)", "false"),
        ("opt.filter(|x| *x == 3)", "Some(3)"),
        ("opt.filter(|&x| x == 4)", "None"),
        ("none.unwrap_or_else(|| 5)", "5"),
        ("opt.and_then(|x| Some(x as u8))", "Some(3)"),
        ("failed.unwrap_or_else(|e| e as i32 + 1)", "3"),
        ("result.is_ok_and(|x| x == 1)", "true"),
        ("row.iter().any(|x| *x == 2)", "true"),
        ("row.iter().any(|&x| x > 1 && x < 2)", "false"),
        ("row.iter().all(|x| *x > 0)", "true"),
        ("row.iter().position(|x| *x == 3)", "Some(2)"),
        ("row.iter().find(|x| **x > 1)", "Some(2)"),
        ("row.iter().any(|x| matches!(*x, 3..=4))", "true"),
        (
            "match slice { [first, rest @ ..] => rest.len() as i32 + *first, _ => 0 }",
            "3",
        ),
        ("match array { [.., rest @ .., _] => 1, _ => 0 }", "error"),
        ("match array { [_, rest @ ..] => rest[1] }", "3"),
    ] {
        match expected {
            "error" => drop(client.try_evaluate(expression).expect_err(expression)),
            _ => assert_eq!(client.evaluate(expression), expected, "{expression}"),
        }
    }
    refuses(
        &mut client,
        &[
            (
                "row.iter().any(|x| next_of(x) == 3)",
                "cannot call a function",
            ),
            ("row.iter().map(|x| *x)", "an iterator alone"),
            ("row.map(|x| *x)", "has no code"),
        ],
    );
    // The closure's parameter is no unknown name when a condition is set.
    client.disconnect();
}

#[test]
fn casts_to_slices_and_function_pointers() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/iterators.rs"), "here");
    shows(
        &mut client,
        &[
            ("&arr as &[u8]", "(3) [7, 9, 8]", "&[u8]"),
            ("&v[..2] as &[u32]", "(2) [1, 2]", "&[u32]"),
        ],
    );
    let function = client.evaluate("iterators::main as fn()");
    assert_eq!(function, client.evaluate("iterators::main"));
    refuses(
        &mut client,
        &[
            ("&v as &[u32]", "cannot cast"),
            ("&arr as &[u32]", "cannot cast"),
            (
                "iterators::main as fn(u8) -> (u8, &[u8])",
                "cannot cast `fn()` as",
            ),
        ],
    );
    client.disconnect();
}

/// The built-in `bool` has one name in all languages, but rows of it are Rust's.
#[test]
fn rows_of_booleans_are_of_rust() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made.rs"), "end");
    shows(
        &mut client,
        &[
            ("[false; 3]", "[false, false, false]", "[bool; 3]"),
            ("[1 == 1, false]", "[true, false]", "[bool; 2]"),
            ("([true; 1], 2)", "([true], 2)", "([bool; 1], i32)"),
        ],
    );
    client.disconnect();
}

#[test]
fn texts_that_calls_make_are_parts_of_objects() {
    let mut client = DapClient::stopped_at(&Fixture::of("rust/made.rs"), "end");
    for (expression, expected) in [
        ("Some(text.to_string())", "Some(\"text\")"),
        (
            "Some(long.to_string())",
            "Some(\"longer than a string object\")",
        ),
        ("(1, text.to_string(), 2)", "(1, \"text\", 2)"),
        ("(1, text.to_string(), 2).1", "\"text\""),
        (
            "[text.to_string(), number.to_string()]",
            "[\"text\", \"3\"]",
        ),
        (
            "Named { name: text.to_string(), owner: Some(long.to_string()), count: 2 }",
            "Named {name: \"text\", owner: Some(\"longer than a string object\"), count: 2}",
        ),
        (
            "Named { name: text.to_string(), owner: None, count: 2 }.name",
            "\"text\"",
        ),
        (
            "Named { owner: Some(text.to_string()), ..named }",
            "Named {name: \"longer than a string object\", owner: Some(\"text\"), count: 1}",
        ),
        // Not the bytes of the text as those of a string object.
        (
            "None::<String>.unwrap_or(long.to_string())",
            "\"longer than a string object\"",
        ),
        ("named.owner.unwrap_or(number.to_string())", "\"3\""),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    client.disconnect();
}

/// A string that an expression has made has no bytes, so its object has no members to show.
#[test]
fn strings_in_objects_that_are_made_have_no_members() {
    let fixture = Fixture::of("rust/by_address.rs");
    let mut client = DapClient::stopped_at(&fixture, "given");
    let made = "Large { numbers: [1, 2, 3, 4], name: \"made\".to_string() }";
    let made = client.evaluated(made).expect("an object");
    let children = client.variables(made["variablesReference"].as_i64().expect("a number"));
    let name = children.iter().find(|it| it["name"] == "name");
    let name = name.expect("the field");
    assert_eq!(name["value"], "\"made\"");
    assert_eq!(name["variablesReference"], 0, "{name}");
    client.disconnect();
}
