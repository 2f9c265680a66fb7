use super::harness::{Program, children_of, with_each_rustc};
use crate::inspect::value::{ChildFilter, Limits, present};

with_each_rustc!("fixture.rs": texts children raw_views expressions assignments);

fn texts(program: &mut Program) {
    program.check(&[
        ("i", "-42"),
        ("byte", "7"),
        ("signed", "-3"),
        ("big", "340282366920938463463374607431768211455"),
        ("least", "-170141183460469231731687303715884105728"),
        ("size", "9"),
        ("float", "1.1"),
        ("double", "0.1"),
        ("whole", "2.0"),
        ("yes", "true"),
        ("letter", "'a'"),
        ("emoji", "'🦀'"),
        ("point", "Point {x: 3, y: 4}"),
        ("pair", "Pair(5, 6)"),
        ("unit", "()"),
        ("unit_struct", "Unit"),
        ("empty", "Empty"),
        ("tuple", "(1, \"a\")"),
        ("single", "(8)"),
        ("circle", "Circle {r: 1.5}"),
        ("rect", "Rect(1.0, 2.5)"),
        ("nothing", "Nothing"),
        ("simple", "B"),
        ("many", "[A(true, 1), B(9), C, D]"),
        ("some", "Some(42)"),
        ("none", "None"),
        ("reference", "Point {x: 1, y: 2}"),
        ("some_ref", "Some(Point {x: 1, y: 2})"),
        ("none_ref", "None"),
        ("number_ref", "77"),
        ("nested", "[One(Some(true)), One(None), Two, Three]"),
        ("ok", "Ok(1)"),
        ("err", "Err(\"bad\")"),
        ("text", "\"say \\\"hi\\\"\""),
        ("string", "\"hello\""),
        ("some_string", "Some(\"x\")"),
        ("none_string", "None"),
        ("none_bool", "None"),
        ("vec", "(3) [1, 2, 3]"),
        ("empty_vec", "[]"),
        ("strings", "(2) [\"one\", \"two\"]"),
        ("slice", "(3) [20, 30, 40]"),
        ("array", "[1, 2, 3]"),
        ("matrix", "[[1, 2], [3, 4]]"),
        ("bytes", "(2) [1, 255]"),
        ("boxed", "Point {x: 5, y: 6}"),
        ("boxed_number", "55"),
        ("boxed_text", "\"boxed\""),
        ("boxed_slice", "(2) [1, 2]"),
        (
            "list",
            "Node {value: 1, next: Some(Node {value: 2, next: Some(…)})}",
        ),
        ("raw", "~0x"),
        ("null", "0x0"),
        ("function", "~twice"),
        ("either", "Either {i: 1065353216, f: 1.0}"),
        (
            "long",
            "(100000) [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, ...]",
        ),
        ("rc", "Point {x: 9, y: 10} (strong 1)"),
        ("arc", "66 (strong 1)"),
        ("ordering", "Less"),
        ("unicode", "\"héllo\\n\\x01\""),
        ("units", "(2) [(), ()]"),
        ("range", "1..4"),
        ("deep", "Some(Some(Point {x: 1, y: 1}))"),
        ("*BROKEN", "~<invalid length "),
    ]);
}

fn children(program: &mut Program) {
    assert_eq!(program.opened("point"), ["x = 3", "y = 4"]);
    assert_eq!(program.opened("pair"), ["0 = 5", "1 = 6"]);
    assert_eq!(program.opened("tuple"), ["0 = 1", "1 = \"a\""]);
    assert_eq!(program.opened("some"), ["0 = 42"]);
    assert_eq!(program.opened("circle"), ["r = 1.5"]);
    assert_eq!(program.opened("rect"), ["0 = 1.0", "1 = 2.5"]);
    assert_eq!(program.opened("reference"), ["x = 1", "y = 2"]);
    assert_eq!(program.opened("boxed"), ["x = 5", "y = 6"]);
    assert_eq!(program.opened("rc"), ["x = 9", "y = 10"]);
    assert_eq!(program.opened("raw"), ["* = Point {x: 1, y: 2}"]);
    assert_eq!(program.opened("vec"), ["[0] = 1", "[1] = 2", "[2] = 3"]);
    assert_eq!(
        program.opened("slice"),
        ["[0] = 20", "[1] = 30", "[2] = 40"]
    );
    assert_eq!(program.opened("strings")[1], "[1] = \"two\"");
    assert_eq!(program.opened("some_ref"), ["0 = Point {x: 1, y: 2}"]);
    assert_eq!(program.opened("list")[0], "value = 1");
    assert_eq!(program.opened("long").len(), 100_000);
    for none in [
        "none",
        "unit",
        "unit_struct",
        "string",
        "text",
        "i",
        "simple",
        "nothing",
        "null",
    ] {
        assert!(program.opened(none).is_empty(), "{none}");
    }
}

fn raw_views(program: &mut Program) {
    let raw_of = |program: &mut Program, text: &str| {
        let last = program.children(text).pop()?;
        (last.name == "[raw]").then_some(last.value.unwrap())
    };
    for viewed in ["vec", "string", "rc"] {
        let raw = raw_of(program, viewed).expect(viewed);
        let members = children_of(program, &raw, ChildFilter::All, 0..9).unwrap();
        assert!(
            members.iter().all(|member| member.name != "[raw]"),
            "{members:?}"
        );
        assert!(!members.is_empty(), "{viewed}");
    }
    let vec = raw_of(program, "vec").unwrap();
    let members = children_of(program, &vec, ChildFilter::All, 0..9).unwrap();
    assert!(members.iter().any(|member| member.name == "len"));
    for plain in ["point", "some", "text", "slice"] {
        assert!(raw_of(program, plain).is_none(), "{plain}");
    }
}

fn expressions(program: &mut Program) {
    program.check(&[
        ("point.x + 1", "4"),
        ("pair.0 * 2", "10"),
        ("tuple.1", "\"a\""),
        ("tuple.1 == \"a\"", "true"),
        ("string == \"hello\"", "true"),
        ("string != \"hello\"", "false"),
        ("vec[1]", "2"),
        ("vec[3]", "~error: index 3 is out of range"),
        ("slice[0]", "20"),
        ("array[2]", "3"),
        ("long[99999]", "499995"),
        ("boxed.x", "5"),
        ("(*boxed).y", "6"),
        ("*boxed_number + 1", "56"),
        ("boxed_number == 55", "true"),
        ("reference.y", "2"),
        ("(*raw).x", "1"),
        ("raw.x", "1"),
        ("some.0", "42"),
        ("list.next.0.value", "2"),
        ("some_ref.0.x", "1"),
        ("none == None", "true"),
        ("some == None", "false"),
        ("circle == Shape::Circle", "true"),
        ("simple == Simple::B", "true"),
        ("simple == A", "false"),
        ("byte == 7", "true"),
        ("byte as u64 * 100", "700"),
        ("i as u8", "214"),
        ("-1i32 as u32", "4294967295"),
        ("byte + 248", "255"),
        ("byte < 300", "error: 300 is out of range for `u8`"),
        ("byte < 250", "true"),
        ("!yes", "false"),
        ("!0u8", "255"),
        ("1u8 << 3", "8"),
        ("letter == 'a'", "true"),
        ("b'a' + 1", "98"),
        ("5 & 3 == 1", "true"),
        ("size == 9 && i < 0", "true"),
        ("big", "340282366920938463463374607431768211455"),
        ("u128::MAX", "340282366920938463463374607431768211455"),
        ("1_000_000u64 * 3", "3000000"),
        ("1.5 * 2.0", "3.0"),
        ("float as f64 > 1.0", "true"),
        ("*number_ref", "77"),
        ("number_ref == 77", "true"),
        ("rc.x", "9"),
        ("range.start", "1"),
        (
            "string.zz",
            "~error: no member `zz` in `string` (alloc::string::String)",
        ),
        ("COUNTER", "1"),
        ("fixture::COUNTER", "1"),
        ("matrix[1][0]", "3"),
    ]);
}

fn assignments(program: &mut Program) {
    program.check(&[
        ("byte = 300", "error: 300 is out of range for `u8`"),
        ("byte = 200", "200"),
        ("i = -1", "-1"),
        ("i += 11", "10"),
        ("yes = false", "false"),
        ("letter = '🦀'", "'🦀'"),
        ("letter = 0xd800", "~expected `char`, found `i32`"),
        ("simple = Simple::C", "C"),
        ("simple = A", "A"),
        ("simple = 3", "~assign one of its variants"),
        ("vec[1] = 9", "9"),
        ("vec", "(3) [1, 9, 3]"),
        ("boxed.x = 50", "50"),
        ("boxed_number = 4", "4"),
        ("double = 0.25", "0.25"),
        ("point = reference", "~error: expected a `fixture::Point`"),
        ("COUNTER = 5", "5"),
    ]);
    let value = program.eval("long");
    let started = std::time::Instant::now();
    let children = children_of(program, &value, ChildFilter::All, 0..u64::MAX).unwrap();
    let limits = Limits::default();
    for child in &children {
        let presented = present(program, child.value.as_ref().unwrap(), &limits);
        assert!(presented.error.is_none());
    }
    eprintln!("100,000 children of a Vec: {:?}", started.elapsed());
}
