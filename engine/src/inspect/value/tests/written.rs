//! Values that expressions write: what the program then sees is compared with what it printed.

use super::harness::Program;
use dwarf::Language;

fn c(test: impl Fn(&mut Program)) {
    for compiler in ["gcc", "clang"] {
        let command = [compiler, "-g", "-w", "-std=gnu11"];
        if let Some(mut program) = Program::start(&command, "fixture_written.c", Language::C) {
            test(&mut program);
        }
    }
}

fn cpp(test: impl Fn(&mut Program)) {
    for command in [
        &["g++", "-std=c++20", "-g", "-w"][..],
        &["clang++", "-std=c++20", "-g", "-w"],
        &["clang++", "-std=c++20", "-stdlib=libc++", "-g", "-w"],
    ] {
        if command.contains(&"-stdlib=libc++") && !super::cpp_std::has_libcxx() {
            skips::skip("libc++");
            continue;
        }
        if let Some(mut program) = Program::start(command, "fixture_written.cpp", Language::Cpp) {
            eprintln!("{}:", command.join(" "));
            test(&mut program);
        }
    }
}

#[test]
fn numbers_of_c() {
    c(|program| {
        program.check(&[
            ("i = 5", "5"),
            ("i += 1.75", "6"),
            ("i = d * 30", "3"),
            ("u = -1", "4294967295"),
            ("u += 3", "2"),
            ("uc += 100", "44 ','"),
            (
                "uc = 300",
                "~300 is out of range for `unsigned char` (0 to 255)",
            ),
            ("uc = i + 300", "47 '/'"),
            ("sc = -129", "~out of range"),
            ("s16 -= 10", "-5"),
            ("s16++", "-5"),
            ("--s16", "-5"),
            ("yes = 2", "true"),
            ("yes--", "true"),
            ("yes", "false"),
            ("yes++, yes", "true"),
            ("f += 0.1", "1.6"),
            ("d *= 3", "0.30000000000000004"),
            ("ld += 0.2L", "~0.3"),
            ("third *= 3", "1"),
            ("fields.a = 9", "~9 is out of range for 3 bits"),
            ("fields.a = i + 6", "1"),
            ("fields.a += 6", "7"),
            ("fields.a++", "7"),
            ("fields.a", "0"),
            ("fields.b -= 20", "14"),
            ("fields.c = 1", "true"),
            ("color = GREEN", "GREEN"),
            ("color = 0", "RED"),
            ("color += 5", "GREEN"),
            ("count = 7", "7"),
            ("count += 3", "10"),
            ("count++", "10"),
            ("total -= 1", "5"),
            ("text = \"written\"", "\"written\""),
            ("text = \"too long!\"", "~do not fit into"),
            (
                "name = \"x\"",
                "~a string literal has no address in the program",
            ),
            ("anything = &i", "~0x"),
            ("*pointer++ += 100, pointer - numbers", "1"),
            ("pointer += 2, *pointer", "40"),
            ("pointer--, *pointer", "30"),
            ("pointer[-1]++", "20"),
            ("pointer = 0x10", "0x10"),
            ("pointer = numbers + 3", "~0x"),
            ("pointer = 1.5", "error: cannot use a float as an address"),
            ("z = other", "~3"),
            ("function = two", "~two"),
            (
                "5 = i",
                "error: cannot assign to a computed value: not a variable or another place",
            ),
            (
                "i++ = 5",
                "error: cannot assign to a computed value: not a variable or another place",
            ),
            (
                "i + 1 = missing()",
                "error: cannot assign to a computed value: not a variable or another place",
            ),
        ]);
        let seen = program.finish();
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines[0], "3 2 47 100 -5 1 1.6 0.300000000000000044 1 1");
        assert_eq!(lines[1], "0 14 1 5 11 5 written 1 3 3 4");
        assert_eq!(lines[2], "110 21 30 40 ");
    });
}

#[test]
fn values_of_cpp() {
    cpp(|program| {
        program.check(&[
            ("small = \"tiny\"", "\"tiny\""),
            ("small.size()", "4"),
            (
                "large = \"shorter, but still on the heap\"",
                "\"shorter, but still on the heap\"",
            ),
            ("none = \"x\"", "\"x\""),
            ("small = copy", "\"copy\""),
            (
                "small = \"longer than the room of a string without memory of its own\"",
                "~bytes do not fit into the `std::",
            ),
            ("small", "\"copy\""),
            ("wide = \"x\"", "~error"),
            ("bits[1] = true", "true"),
            ("bits[2] = false", "false"),
            ("words[1] = \"three\"", "\"three\""),
            ("words.at(0) = \"1\"", "\"1\""),
            ("pairs[0].second += 5", "7"),
            ("some = 5", "5"),
            ("nothing = 6", "6"),
            ("some = std::nullopt", "nullopt"),
            ("text = \"within\"", "\"within\""),
            ("no_text = \"created\"", "~error: cannot create a `std::"),
            ("text = nullopt", "~would not be destroyed; call `reset()`"),
            ("count = 7", "7"),
            ("count += 3", "10"),
            ("count++", "10"),
            ("number = count", "11"),
            ("flag = true", "true"),
            ("tiny += 10", "4 '\\x04'"),
            ("pair.first = 9", "9"),
            ("pair = other", "~4.5"),
            ("std::get<0>(tuple) = 4", "4"),
            ("std::get<1>(tuple) = 'z'", "122 'z'"),
            ("owner.second = \"changed\"", "\"changed\""),
            ("owner = owned", "~std::pair"),
            ("flags.a = 8", "~8 is out of range for 3 bits"),
            ("flags.a = 7", "7"),
            ("flags.b = -16", "-16"),
            ("++flags.b", "-15"),
            ("color = Green", "Green"),
            (
                "color = number",
                "error: cannot convert `int` to `Color`; cast it: `(Color)`",
            ),
            ("color += 1", "~to `Color`; cast it: `(Color)`"),
            ("mode = Mode::On", "On"),
            ("mode = Off", "Off"),
            ("mode = On", "On"),
            ("number = mode", "~cannot convert `Mode` to `int`; cast it"),
            ("second = derived, second->b", "2"),
            ("first = derived, first->a", "1"),
            (
                "first = second",
                "~cannot convert `Second *` to `First *`; cast it",
            ),
            (
                "derived = first",
                "~cannot convert `First *` to `Whole *`; cast it",
            ),
            ("second = nullptr", "0x0"),
            ("second = &whole, second == &whole.b", "true"),
            // Pointers to an object and to its base are compared as those to the base.
            ("second == derived && derived == second", "true"),
            ("second != derived", "false"),
            ("pointer - numbers", "0"),
            ("pointer - &byte", "~needs pointers of one type"),
            ("1[numbers]", "2"),
            ("mode || yes", "~cannot use a `Mode` as a condition"),
            ("!mode", "~cannot use a `Mode` as a condition"),
            (
                "dynamic_cast<First *>(number) == 0",
                "~`dynamic_cast` does not convert",
            ),
            ("plain = plain2", "{x = 3, y = 4}"),
            ("plain = whole", "~error: "),
            ("alias = 12", "12"),
            ("alias += 1", "13"),
            (
                "(yes ? number : byte) = 1",
                "~cannot assign to a computed value",
            ),
            ("(yes ? number : numbers[0]) = 21", "21"),
            ("numbers[0]", "21"),
            ("(number += 1) = 32", "32"),
            ("++yes", "~not defined for `bool`"),
            ("yes = 5", "true"),
            ("byte += 10", "4 '\\x04'"),
            ("++pointer, *pointer", "2"),
            ("buffer = \"7 chars\"", "\"7 chars\""),
            ("number = \"text\"", "~cannot convert"),
            ("number = plain", "~error: cannot convert `Plain` to `int`"),
        ]);
        let seen = program.finish();
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines[0], "copy! 5 shorter, but still on the heap! 31 x!");
        assert_eq!(lines[1], "1 1 0 three 7");
        assert_eq!(lines[2], "-1 6 within 0");
        assert_eq!(lines[3], "11 1 4 3 4.5 4 z 3 changed");
        assert_eq!(lines[4], "7 -15 5 1 2 1 3 32 2 7 chars 4");
    });
}

fn written(program: &mut Program) {
    program.check(&[
        ("text = \"hi\"", "\"hi\""),
        ("text.len()", "2"),
        ("roomy = \"sixteen, or more\"", "\"sixteen, or more\""),
        ("empty = \"\"", "\"\""),
        (
            "empty = \"x\"",
            "~1 bytes do not fit into the `alloc::string::String`: its capacity is 0;",
        ),
        ("text = \"longer\"", "~its capacity is 5;"),
        ("text = \"\\xff\"", "~error"),
        ("text = name", "\"name\""),
        ("text = roomy", "~cannot assign a `alloc::string::String`"),
        ("texts = \"abc\"", "~\"abc\""),
        ("cell = -5", "-5"),
        ("ref_cell = 65535", "65535"),
        ("ref_cell = 65536", "~65536 is out of range for `u16`"),
        ("cell_option = Some(3)", "~Some(3)"),
        ("count = 30", "30"),
        ("total = -40", "-40"),
        ("flag = true", "true"),
        (
            "flag = 1",
            "~mismatched types: expected `bool`, found `i32`",
        ),
        ("non_zero = 9", "9"),
        ("non_zero = 0", "~cannot be 0"),
        ("maybe = Some(8)", "Some(8)"),
        ("maybe = Some(0)", "~cannot be 0"),
        ("wrapping = 251", "251"),
        ("tuple = (7, 'z')", "(7, 'z')"),
        ("nested = (2, (-3, true))", "(2, (-3, true))"),
        ("nested = (2, 3)", "~error"),
        ("tuple = (7, 'z', 1)", "~error"),
        ("owner = (2, \"new\")", "(2, \"new\")"),
        ("shape = Shape::Rect(2.5, 3.5)", "Rect(2.5, 3.5)"),
        ("shape = Rect(2.5)", "~`Rect` has fields: 2 values, not 1"),
        ("rect = Shape::Nothing", "Nothing"),
        ("rect = Shape::Circle", "~`Circle` has fields"),
        ("rect = Shape::Circle { r: 2.5 }", "~Circle"),
        ("rect", "Circle {r: 2.5}"),
        ("rect = Shape::Nothing", "Nothing"),
        ("many = Many::A(true, 3)", "A(true, 3)"),
        ("other = Many::B(77)", "B(77)"),
        (
            "boxed = None",
            "~cannot overwrite the `Some`: its contents would never be dropped",
        ),
        ("no_box = None", "None"),
        ("no_box = Some(5)", "~cannot create a `"),
        ("boxed = Some(5)", "Some(5)"),
        ("some_text = Some(\"s\")", "Some(\"s\")"),
        (
            "no_text = Some(\"s\")",
            "~cannot create a `alloc::string::String`",
        ),
        ("some_text = None", "~cannot overwrite the `Some`"),
        ("result = Ok(-9)", "Ok(-9)"),
        ("result = Err(\"e\")", "~cannot create"),
        ("reference = seven", "7"),
        ("number = 44", "44"),
        ("simple = Simple::C", "C"),
        (
            "simple = 5",
            "~expected `fixture_written::Simple`, found `i32`; assign one of its variants",
        ),
        ("bytes = [1, 2, 3]", "[1, 2, 3]"),
        ("bytes = [1, 2, 300]", "~300 is out of range for `u8`"),
        ("bytes = [1, 2]", "~error"),
        ("bytes = b\"xyz\"", "[120, 121, 122]"),
        ("letter = 'ß'", "'ß'"),
        ("letter = 97", "~expected `char`, found `i32`"),
        (
            "i = small",
            "~expected `i32`, found `u8`; cast it with `as i32`",
        ),
        ("i = small as i32 + 1", "251"),
        ("i += 3", "254"),
        ("i <<= 1u8", "508"),
        ("small += 10", "~`+` overflows `u8`"),
        ("small += i", "~mismatched types"),
        ("real = 2.5", "2.5"),
        ("real = 2", "~expected `f32`, found `i32`"),
        ("real /= 2.0", "1.25"),
        ("yes = !yes", "true"),
        ("point = point2", "Point {x: 3, y: 4}"),
        ("point = Point { x: 9, ..point }", "Point {x: 9, y: 4}"),
        ("point = Point { x: 3, y: 4 }", "Point {x: 3, y: 4}"),
        ("name = name2", "\"other\""),
        ("name = \"text\"", "~error"),
        ("i + 1 = 2", "~cannot assign to a computed value"),
    ]);
    let seen = program.finish();
    for part in [
        "text: \"name\", roomy: \"sixteen, or more\", empty: \"\", texts: RefCell { value: \"abc\" }",
        "cell: Cell { value: -5 }, ref_cell: RefCell { value: 65535 }, cell_option: Cell { value: Some(3) }",
        "count: 30, total: -40, flag: true, non_zero: 9, maybe: Some(8), wrapping: 251",
        "tuple: (7, 'z'), nested: (2, (-3, true)), owner: (2, \"new\"), shape: Rect(2.5, 3.5), rect: Nothing",
        "many: A(true, 3), other: B(77), boxed: Some(5), no_box: None, some_text: Some(\"s\"), no_text: None, result: Ok(-9)",
        "reference: 7, seven: 7, number: 44, simple: C, bytes: [120, 121, 122], letter: 'ß', i: 508, small: 250, real: 1.25, yes: true",
        "point: Point { x: 3, y: 4 }, point2: Point { x: 3, y: 4 }, name: \"other\"",
    ] {
        assert!(seen.contains(part), "{part}\nnot in {seen}");
    }
}

mod rust {
    use super::super::harness::{Program, with_each_rustc};
    use super::written;

    with_each_rustc!("fixture_written.rs": written);
}
