//! Values of every type of C, and those of C++ and Rust; expressions; changing them.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Value, json};
use stillpoint_tests::{Compiler, DapClient, Fixture, Flags, matrix};

/// Asserts that each value starts with or contains the expected text; `=text`: equals it.
fn expect_values(values: &BTreeMap<String, String>, expected: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (name, expected) in expected {
        let Some(value) = values.get(*name) else {
            wrong.push(format!("{name} is missing"));
            continue;
        };
        let good = match expected.strip_prefix('=') {
            Some(whole) => value == whole,
            None => value.contains(expected),
        };
        if !good {
            wrong.push(format!("{name} is {value}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\nof {values:#?}");
}

#[test]
fn every_type_of_c() {
    for flags in matrix("c/structs.c") {
        let Some(fixture) = Fixture::build("c/structs.c", flags) else {
            continue;
        };
        eprintln!("{flags:?}");
        let mut client = DapClient::stopped_at(&fixture, "all");
        let locals = client.locals();
        expect_values(
            &locals,
            &[
                ("small", "-7"),
                ("byte", "200"),
                ("letter", "'A'"),
                ("half", "=-1234"),
                ("uhalf", "=54321"),
                ("whole", "=-123454"),
                ("uwhole", "=4000000000"),
                ("wide", "=-1234567890123"),
                ("uwide", "=18446744073709551615"),
                ("huge", "=1267650600228229401496703205376"),
                ("single", "=1.5"),
                ("real", "=-2.25"),
                ("extended", "=3.5"),
                ("yes", "=true"),
                ("no", "=false"),
                ("color", "GREEN"),
                ("both", "FLAG_A"),
                ("both", "FLAG_C"),
                ("text", "hello \\\"world\\\"\\n"),
                ("buffer", "\"abc\""),
                ("pointer", "0x"),
                ("untyped", "0x"),
                ("wild", "0x8"),
                ("function", "add"),
                ("shadow", "=1"),
            ],
        );
        let variables = client.local_variables();
        expect_values(
            &client.children(&variables["point"]),
            &[("x", "=3"), ("y", "=-4")],
        );
        expect_values(&client.children(&variables["alias"]), &[("y", "=6")]);
        expect_values(
            &client.children(&variables["packed"]),
            &[("low", "=5"), ("middle", "=-3"), ("high", "=1000")],
        );
        expect_values(
            &client.children(&variables["number"]),
            &[("bits", "=1065353216"), ("real", "=1")],
        );
        expect_values(
            &client.children(&variables["array"]),
            &[("[0]", "=10"), ("[4]", "=50")],
        );
        let grid = client.local_variables()["grid"]["variablesReference"].clone();
        let rows = client.variables(grid.as_i64().expect("a reference"));
        expect_values(&client.children(&rows[1]), &[("[2]", "=6")]);
        let outer = client.children(&variables["outer"]);
        expect_values(&outer, &[("label", "\"label\""), ("operation", "add")]);
        client.disconnect();
    }
}

/// `char` is unsigned on some machines, and with an option of the compiler.
#[test]
fn text_is_shown_with_either_sign_of_char() {
    const SIGNED: &[&str] = &["-fsigned-char"];
    const UNSIGNED: &[&str] = &["-funsigned-char"];
    for (sign, accented) in [(SIGNED, "-23 '\\xe9'"), (UNSIGNED, "233 '\\xe9'")] {
        for compiler in [Compiler::Gcc, Compiler::Clang] {
            let flags = Flags {
                extra: sign,
                ..Flags::new(compiler)
            };
            let Some(fixture) = Fixture::build("c/characters.c", flags) else {
                continue;
            };
            let mut client = DapClient::stopped_at(&fixture, "characters");
            for (expression, expected) in [
                ("letter", "65 'A'"),
                ("accented", accented),
                ("copy", "\"bytes\""),
                ("both.short_name", "\"short\""),
                ("copy[0]", "98 'b'"),
                ("text[1]", "108 'l'"),
                ("letter == 'A' && text[0] == 'p'", "1"),
            ] {
                assert_eq!(
                    client.evaluate(expression),
                    expected,
                    "{sign:?}: {expression}"
                );
            }
            let text = client.evaluate("text");
            assert!(text.ends_with("\"plain\""), "{sign:?}: {text}");
            let text = client.evaluate("both.long_name");
            assert!(text.ends_with("\"long\""), "{sign:?}: {text}");
            client.disconnect();
        }
    }
}

#[test]
fn types_are_shown() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let variables = client.local_variables();
    for (name, expected) in [
        ("whole", "int"),
        ("point", "struct point"),
        ("alias", "point_alias"),
        ("text", "const char *"),
        ("twice", "int **"),
        ("array", "int[5]"),
        ("grid", "int[2][3]"),
        ("color", "enum color"),
        ("function", "int (*)(int, int)"),
    ] {
        let found = variables[name]["type"].as_str().unwrap_or_default();
        // With or without `struct` or `enum`.
        let spaceless = |text: &str| {
            text.replace("struct ", "")
                .replace("enum ", "")
                .replace(' ', "")
        };
        assert_eq!(spaceless(found), spaceless(expected), "{name}: {found}");
    }
    client.disconnect();
}

#[test]
fn inner_blocks_come_first() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "inner");
    assert_eq!(client.evaluate("shadow"), "2");
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let reference = client.locals_reference(frame);
    let mut shadows: Vec<String> = client
        .variables(reference)
        .iter()
        .filter(|variable| {
            variable["name"]
                .as_str()
                .is_some_and(|name| name.split([' ', '@']).next() == Some("shadow"))
        })
        .filter_map(|variable| variable["value"].as_str().map(str::to_owned))
        .collect();
    shadows.sort_unstable();
    assert_eq!(shadows, ["1", "2"]);
    client.disconnect();
}

#[test]
fn blocks_have_variables_of_their_own() {
    let fixture = Fixture::of("c/blocks.c");
    let mut client = DapClient::stopped_at(&fixture, "first_value");
    assert_eq!(client.evaluate("value"), "1");
    client.set_breakpoints(&fixture, &["second_value", "counter"]);
    client.continue_to(&fixture, "second_value");
    assert_eq!(client.evaluate("value"), "2.5");
    client.continue_to(&fixture, "counter");
    assert_eq!(client.evaluate("calls"), "0");
    client.next();
    assert_eq!(client.evaluate("calls"), "1");
    client.disconnect();
}

#[test]
fn arrays_come_in_pages() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let big = client.local_variables()["big"].clone();
    assert_eq!(big["indexedVariables"], 1000);
    let reference = big["variablesReference"].clone();
    for (start, count, expected) in [
        (0, 2, vec!["[0]=0", "[1]=1"]),
        (998, 2, vec!["[998]=996004", "[999]=998001"]),
        (998, 100, vec!["[998]=996004", "[999]=998001"]),
        (5000, 10, vec![]),
    ] {
        let body = client.request_ok(
            "variables",
            json!({"variablesReference": reference, "filter": "indexed", "start": start, "count": count}),
        );
        let found: Vec<String> = body["variables"]
            .as_array()
            .expect("variables")
            .iter()
            .map(|item| {
                let text = |key: &str| item[key].as_str().unwrap_or_default();
                format!("{}={}", text("name"), text("value"))
            })
            .collect();
        assert_eq!(found, expected);
    }
    let all = client.request_ok(
        "variables",
        json!({"variablesReference": reference, "count": 0}),
    );
    assert_eq!(all["variables"].as_array().map(Vec::len), Some(1000));
    client.disconnect();
}

#[test]
fn expressions() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    for (expression, expected) in [
        ("whole", "-123454"),
        ("point.x", "3"),
        ("points[1].y", "4"),
        ("*pointer", "-123454"),
        ("**twice", "-123454"),
        ("first.next->value", "2"),
        ("first.next->next", "0x0"),
        ("(*first.next).value", "2"),
        ("grid[1][2]", "6"),
        ("outer.points[0].y", "6"),
        ("outer.hidden", "3"),
        ("outer.left", "4"),
        ("array[2] + 1", "31"),
        ("array[array[0] - 8]", "30"),
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7 << 2 | 1", "29"),
        ("0xff & ~0x0f", "240"),
        ("1.5 * 2", "3"),
        ("single + real", "-0.75"),
        ("!0", "1"),
        ("'A' + 1", "66"),
        ("whole < 0", "1"),
        ("yes && !no", "1"),
        ("point.x == 3 || *nothing == 1", "1"),
        ("global_counter", "42"),
        ("point.x > 2 && point.y < 0", "1"),
        ("4000000000u + 1", "4000000001"),
        // Arrays decay in `?:` of C, so that this is the size of a pointer.
        ("sizeof(yes ? grid : grid)", "8"),
        ("(yes ? grid : grid) == &grid[0]", "1"),
    ] {
        let found = client.evaluate(expression);
        // A boolean may be shown as an integer.
        let truth = match found.as_str() {
            "true" => "1",
            "false" => "0",
            other => other,
        };
        let good = truth == expected || (expected == "0x0" && truth.starts_with("0x0"));
        assert!(good, "{expression} is {found}, not {expected}");
    }
    let address = client.evaluate("&whole");
    assert!(address.contains("0x"), "{address}");
    assert_eq!(client.evaluate("*&whole"), "-123454");
    client.disconnect();
}

#[test]
fn expressions_in_other_frames() {
    let fixture = Fixture::of("c/recursion.c");
    let mut client = DapClient::stopped_at(&fixture, "bottom");
    for (frame, expected) in client.stack().iter().zip(["1", "2", "3", "4", "5"]) {
        let body = client.request_ok(
            "evaluate",
            json!({"expression": "n", "frameId": frame["id"], "context": "hover"}),
        );
        assert_eq!(body["result"], expected);
    }
    // Without a frame: the top one's, or globals.
    let global = client.request("evaluate", json!({"expression": "1 + 1"}));
    assert_eq!(global.expect("it is simple")["result"], "2");
    client.disconnect();
}

#[test]
fn names_of_children_can_be_evaluated() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let variables = client.local_variables();
    for name in [
        "point", "array", "points", "first", "outer", "grid", "pointer",
    ] {
        let reference = variables[name]["variablesReference"].as_i64();
        for child in client.variables(reference.expect("a reference")) {
            let Some(expression) = child["evaluateName"].as_str() else {
                continue;
            };
            if child["variablesReference"] == 0 {
                assert_eq!(client.evaluate(expression), child["value"], "{expression}");
            } else {
                client.evaluate(expression);
            }
        }
    }
    client.disconnect();
}

#[test]
fn variables_can_be_set() {
    let fixture = Fixture::of("c/structs.c");
    let mut client = DapClient::stopped_at(&fixture, "all");
    let frame = client.top_frame()["id"].as_i64().expect("an id");
    let locals = client.locals_reference(frame);
    let set = |client: &mut DapClient, reference: &Value, name: &str, value: &str| {
        client.request(
            "setVariable",
            json!({"variablesReference": reference, "name": name, "value": value}),
        )
    };
    let scope = json!(locals);
    for (name, value, shown) in [
        ("whole", "77", "77"),
        ("whole", "-0x10", "-16"),
        ("wide", "array[1] + 1", "21"),
        ("real", "0.125", "0.125"),
        ("yes", "false", "false"),
        ("color", "BLUE", "BLUE"),
        ("letter", "'z'", "'z'"),
        ("uwide", "18446744073709551614", "18446744073709551614"),
        ("nothing", "0", "0x0"),
    ] {
        let body = set(&mut client, &scope, name, value).expect("it can be set");
        let text = body["value"].as_str().unwrap_or_default();
        assert!(text.contains(shown), "{name} = {value}: {body}");
        assert!(client.evaluate(name).contains(shown), "{name} = {value}");
    }
    let variables = client.local_variables();
    let array = variables["array"]["variablesReference"].clone();
    set(&mut client, &array, "[2]", "333").expect("it can be set");
    assert_eq!(client.evaluate("array[2]"), "333");
    let packed = variables["packed"]["variablesReference"].clone();
    set(&mut client, &packed, "middle", "-8").expect("it can be set");
    expect_values(
        &client.children(&variables["packed"]),
        &[("low", "=5"), ("middle", "=-8"), ("high", "=1000")],
    );
    for (name, value) in [("whole", "nonsense text"), ("nowhere", "1"), ("whole", "")] {
        assert!(
            set(&mut client, &scope, name, value).is_err(),
            "{name} = {value}"
        );
    }
    client.continue_();
    client.expect_exit();
    let output = client.output("stdout");
    assert!(output.starts_with("-16 1 9"), "{output}");
    client.disconnect();
}

#[test]
fn cpp_classes_and_references() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/classes.cpp", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "all");
        let locals = client.locals();
        expect_values(
            &locals,
            &[
                ("whole", "=50"),
                ("reference", "50"),
                ("level", "High"),
                ("larger_int", "=4"),
                ("larger_double", "=2.5"),
                ("sum", "=101"),
                ("by_lambda", "=12"),
            ],
        );
        let variables = client.local_variables();
        let square = client.children(&variables["square"]);
        assert!(square.contains_key("side_"), "{square:?}");
        assert!(
            square.keys().any(|name| name.contains("Rectangle")),
            "the base: {square:?}"
        );
        for (expression, expected) in [
            ("square.side_", "6"),
            ("square.width_", "6"),
            ("square.serial", "7"),
            ("base->serial", "7"),
            ("rectangle.height_", "3"),
            ("reference + 1", "51"),
            ("fixed.items[1]", "5"),
            ("geometry::detail::depth", "3"),
            ("geometry::Rectangle::made", "11"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.disconnect();
    }
}

#[test]
fn cpp_classes_that_debug_info_only_declares() {
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let Some(fixture) = Fixture::build("cpp/declared.cpp", Flags::new(compiler)) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "texts");
        expect_values(
            &client.locals(),
            &[
                ("text", "=\"in the object\""),
                ("wide", "wide\""),
                ("row", "=(2) {\"a\", \"b\"}"),
                ("map", "=(1) {\"k\": \"longer than fits into the object\"}"),
            ],
        );
        for (expression, expected) in [
            ("text.size()", "13"),
            ("text[3]", "116 't'"),
            ("text == \"in the object\"", "true"),
            ("map[\"k\"].capacity()", "32"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.set_breakpoints(&fixture, &["caught"]);
        for error in [
            "=std::out_of_range(\"index 7\")",
            "=Mine {<std::runtime_error> = std::runtime_error(\"mine\"), code = 3}",
            "=std::bad_alloc",
            "=std::system_error(\"disk: Input/output error\")",
        ] {
            client.continue_();
            client.expect_stopped("breakpoint");
            let local = "=std::runtime_error(\"\\\"local\\\"\")";
            expect_values(
                &client.locals(),
                &[("error", error), ("local", local), ("shape", "(Square)")],
            );
        }
        assert_eq!(client.evaluate("shape->side"), "3");
        client.disconnect();
    }
}

#[test]
fn cpp_members_by_this() {
    let fixture = Fixture::of("cpp/classes.cpp");
    let mut client = DapClient::stopped_at(&fixture, "area");
    assert!(client.locals().contains_key("this"));
    for expression in ["this->width_", "width_", "(*this).width_"] {
        assert_eq!(client.evaluate(expression), "6", "{expression}");
    }
    client.disconnect();
}

#[test]
fn rust_values() {
    for flags in matrix("rust/values.rs") {
        let Some(fixture) = Fixture::build("rust/values.rs", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "all");
        expect_values(
            &client.locals(),
            &[
                ("truth", "=true"),
                ("letter", "'é'"),
                ("byte", "=65"),
                ("signed", "=-9"),
                ("size", "=12"),
                ("large", "=1267650600228229401496703205376"),
                ("single", "=1.5"),
                ("real", "=-2.25"),
                ("unit", "()"),
                ("text", "\"hello\""),
                ("owned", "\"grüße\""),
                ("function", "double"),
                ("product", "=20"),
                ("taken", "=31"),
                ("taken_text", "\"inside\""),
            ],
        );
        let variables = client.local_variables();
        expect_values(
            &client.children(&variables["point"]),
            &[("x", "=-1"), ("y", "=-2")],
        );
        expect_values(
            &client.children(&variables["vector"]),
            &[("[0]", "=1"), ("[2]", "=3")],
        );
        expect_values(
            &client.children(&variables["slice"]),
            &[("[0]", "=20"), ("[1]", "=30")],
        );
        expect_values(&client.children(&variables["array"]), &[("[2]", "=30")]);
        expect_values(&client.children(&variables["wrapped"]), &[("inner", "=31")]);
        assert_eq!(variables["slice"]["indexedVariables"], 2);
        for (expression, expected) in [
            ("vector[1]", "2"),
            ("points[1].x", "3"),
            ("boxed.y", "6"),
            ("reference.x", "-1"),
            ("tuple.0", "1"),
            ("tuple.2", "3.0"),
            ("pair.0", "7"),
            ("array[1] + 1", "21"),
            ("wrapped.inner", "31"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.disconnect();
    }
}

#[test]
fn rust_enums() {
    for flags in matrix("rust/enums.rs") {
        let Some(fixture) = Fixture::build("rust/enums.rs", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "all");
        expect_values(
            &client.locals(),
            &[
                ("north", "North"),
                ("east", "East"),
                ("empty", "Empty"),
                ("circle", "Circle"),
                ("rectangle", "Rectangle"),
                ("named", "Named"),
                ("some_reference", "Some"),
                ("no_reference", "None"),
                ("some_box", "Some"),
                ("no_box", "None"),
                ("some_number", "Some"),
                ("no_number", "None"),
                ("fine", "Ok"),
                ("wrong", "Err"),
            ],
        );
        let variables = client.local_variables();
        expect_values(
            &client.children(&variables["rectangle"]),
            &[("width", "=3"), ("height", "=4")],
        );
        let circle = client.children(&variables["circle"]);
        assert!(circle.values().any(|value| value == "1.5"), "{circle:?}");
        let number = client.children(&variables["some_number"]);
        assert!(number.values().any(|value| value == "8"), "{number:?}");
        client.disconnect();
    }
}

#[test]
fn rust_generics_and_closures() {
    let fixture = Fixture::of("rust/values.rs");
    let mut client = DapClient::stopped_at(&fixture, "closure");
    client.set_breakpoints(&fixture, &["closure", "generic"]);
    client.continue_to(&fixture, "closure");
    assert_eq!(client.evaluate("value"), "5");
    client.continue_to(&fixture, "generic");
    assert_eq!(client.evaluate("self.inner"), "31");
    client.continue_to(&fixture, "generic");
    assert_eq!(client.evaluate("self.inner"), "\"inside\"");
    client.disconnect();
}

#[test]
fn optimized_variables_are_right_or_marked() {
    for source in ["c/loop.c", "c/inline.c", "c/recursion.c"] {
        for compiler in [Compiler::Gcc, Compiler::Clang] {
            let flags = Flags::new(compiler).optimized("2");
            let Some(fixture) = Fixture::build(source, flags) else {
                continue;
            };
            let mut client = DapClient::spawn();
            client.launch(&fixture, json!({}));
            client.set_function_breakpoints(&["main"]);
            client.configure();
            client.expect_stopped("function breakpoint");
            for (name, value) in client.locals() {
                assert!(!value.is_empty(), "{source} {name}");
            }
            client.disconnect();
        }
    }
}

#[test]
fn truncated_response_says_so() {
    const MOST: u64 = 1 << 18;
    let fixture = Fixture::of("c/many_elements.c");
    let mut client = DapClient::stopped_at(&fixture, "filled");
    let frame = client.top_frame()["id"].clone();
    let settings = json!({"expression": "numbers", "frameId": frame});
    let (container, left) = (client.request_ok("evaluate", settings), 10);
    assert_eq!(container["indexedVariables"], MOST + left);
    let reference = &container["variablesReference"];
    let mut part = |requested: Value| {
        let mut arguments = json!({"variablesReference": reference, "filter": "indexed"});
        for (name, value) in requested.as_object().into_iter().flatten() {
            arguments[name] = value.clone();
        }
        let body = client.request_ok("variables", arguments);
        body["variables"].as_array().expect("a list").clone()
    };
    let all = part(json!({}));
    assert_eq!(all.len() as u64, MOST + 1);
    let last = &all[MOST as usize];
    assert_eq!(last["name"], "…");
    assert_eq!(last["variablesReference"], 0);
    let text = last["value"].as_str().expect("text");
    assert!(text.starts_with(&format!("{left} more")), "{text}");
    assert!(text.contains(&MOST.to_string()), "{text}");
    let rest = part(json!({"start": MOST, "count": 100}));
    assert_eq!(rest.len() as u64, left);
    assert_eq!(rest[0]["name"], format!("[{MOST}]"));
    client.disconnect();
}

/// `std::expected` of libc++ in three layouts and in none that is known; members that compilers add; integers of more than
/// 128 bits.
#[test]
fn what_newer_compilers_write() {
    const SHOWN: &[(&str, &str)] = &[
        ("good", "4"),
        ("good.has_value()", "true"),
        ("*good + 1", "5"),
        ("bad", "{code = 5} (unexpected)"),
        ("bad.has_value()", "false"),
        ("bad.error().code", "5"),
        ("broken", "<invalid: has_value is 2>"),
        ("done", "void"),
        ("done.has_value()", "true"),
        ("undone", "{code = 7} (unexpected)"),
        ("old_good", "8"),
        ("old_bad", "{code = 9} (unexpected)"),
        ("unknown", "{unknown = 1}"),
        ("wide_number", "-42"),
        // 2 to the power of 192, and 7.
        (
            "wide_unsigned_number",
            "6277101735386680763835789423207666416102355444464034512903",
        ),
    ];
    const REFUSED: &[(&str, &str)] = &[
        ("*bad", "the object has an error"),
        ("good.error()", "the object has a value"),
        ("broken.has_value()", "has_value is 2"),
        ("unknown.has_value()", "its members are unknown"),
        ("unknown.error()", "its members are unknown"),
    ];
    for compiler in [Compiler::Gcc, Compiler::Clang] {
        let flags = Flags::new(compiler);
        let Some(fixture) = Fixture::build("cpp/newer_compilers.cpp", flags) else {
            continue;
        };
        let mut client = DapClient::stopped_at(&fixture, "all");
        let mut wrong = Vec::new();
        for (expression, value) in SHOWN {
            let found = client.try_evaluate(expression);
            if found.as_deref() != Ok(value) {
                wrong.push(format!("{compiler:?}: {expression} is {found:?}"));
            }
        }
        for (expression, message) in REFUSED {
            let found = client.try_evaluate(expression);
            if !found.as_ref().is_err_and(|it| it.contains(message)) {
                wrong.push(format!("{compiler:?}: {expression} is {found:?}"));
            }
        }
        let object = client.evaluated("described").expect("an object");
        let parts = client.children(&object);
        assert!(wrong.is_empty(), "{wrong:#?}");
        let parts: Vec<_> = parts.iter().collect();
        assert_eq!(parts, [(&"part".to_owned(), &"5".to_owned())]);
        client.disconnect();
    }
}

#[test]
fn pointers_show_what_they_point_to() {
    // The address of the target is behind a pointer in a structure, and not what that points to.
    const SHOWN: &[(&str, &str)] = &[
        ("list", "ADDRESS → {value = 1, next = ADDRESS}"),
        ("&first", "ADDRESS → {value = 1, next = ADDRESS}"),
        ("first", "{value = 1, next = ADDRESS}"),
        ("none", "ADDRESS"),
        ("wild", "ADDRESS"),
        ("to_number", "ADDRESS → 5"),
        ("to_pointer", "ADDRESS → ADDRESS"),
        ("to_row", "ADDRESS → {7, 8, 9}"),
        ("text", "ADDRESS \"text\""),
        ("to_text", "ADDRESS → ADDRESS \"text\""),
        ("to_byte", "ADDRESS"),
        ("opaque", "ADDRESS"),
        ("incomplete", "ADDRESS"),
        ("function", "ADDRESS <twice>"),
    ];
    let fixture = Fixture::of("c/pointees.c");
    let address = Regex::new("0x[0-9a-f]+").expect("a pattern");
    for pointees in [true, false] {
        let settings = json!({"pointees": pointees});
        let mut client = DapClient::stopped_with(&fixture, "end", settings);
        for (expression, shown) in SHOWN {
            let value = client.evaluate(expression);
            let expected = match shown.split_once(" → ") {
                Some((address, _)) if !pointees => address,
                _ => shown,
            };
            assert_eq!(
                address.replace_all(&value, "ADDRESS"),
                expected,
                "{expression}"
            );
        }
        client.disconnect();
    }
    let mut client = DapClient::stopped_with(&fixture, "end", json!({}));
    let locals = client.local_variables();
    let shown = locals["list"]["value"].as_str().expect("a text").to_owned();
    assert!(shown.contains(" → {value = 1"), "{shown}");
    // Editors offer the whole text for editing.
    let scope = client.scope("Locals");
    client.set_child(&scope, "none", &shown);
    assert_eq!(client.evaluate("none->value"), "1");
    client.disconnect();
}
