use super::harness::{Program, children_of};
use crate::inspect::value::{ChildFilter, Limits, present};
use dwarf::Language;

/// What depends on the machine: `long double` is a number of 80 bits on x86-64 and of 128 bits on
/// aarch64, where `char` has no sign.
fn of_machine(x86_64: &'static str, aarch64: &'static str) -> &'static str {
    match cfg!(target_arch = "aarch64") {
        true => aarch64,
        false => x86_64,
    }
}

fn each(test: impl Fn(&mut Program)) {
    for compiler in [
        &["gcc", "-g", "-w"][..],
        &["gcc", "-gdwarf-4", "-w"],
        &["gcc", "-g", "-O2", "-w"],
        &["clang", "-g", "-w"],
        &["clang", "-g", "-O2", "-w"],
    ] {
        if let Some(mut program) = Program::start(compiler, "fixture.c", Language::C) {
            test(&mut program);
        }
    }
}

#[test]
fn texts() {
    each(|program| {
        program.check(&[
        ("i", "42"),
        ("negative", "-7"),
        ("uc", "65 'A'"),
        ("sc", "-1 '\\xff'"),
        ("c", "122 'z'"),
        ("newline", "10 '\\n'"),
        ("s16", "-300"),
        ("u16", "65000"),
        ("l", "-5000000000"),
        ("ul", "18446744073709551615"),
        ("big", "1267650600228229401496703205376"),
        ("ubig", "340282366920938463463374607431768211455"),
        ("f", "1.1"),
        ("d", "0.1"),
        ("whole", "2"),
        ("huge", "1e300"),
        ("not_a_number", "~nan"),
        ("ld", "1.5"),
        ("h", "0.5"),
        ("z", "1 + 2i"),
        ("yes", "true"),
        ("no", "false"),
        ("wide", "119 U'w'"),
        ("wides", "L\"wide\""),
        ("null_node", "0x0"),
        ("bad_node", "0x10"),
        ("all", "{a = 7, b = 1000000007, in = {x = 13, y = 2.5}, arr = {1, 2, 3, 4, 5, 6, 7, 8}, \
                 name = \"hello\", next = ~"),
        ("number", "{i = 1065353216, f = 1}"),
        ("fields", "{a = 5, b = -3, c = 737894400291, d = true}"),
        ("color", "GREEN"),
        ("odd", "(enum color)77"),
        ("color2", "BLUE"),
        ("both", "F_A | F_C"),
        ("weird", "(enum flags)9"),
        ("anonymous", "{k = 1, u = 2, f = ~"),
        ("text", "~\"say \\\"hi\\\"\\n\\x01\""),
        ("bad", "0x1"),
        ("empty", "~ \"\""),
        ("nothing", "0x0"),
        ("bytes", "{1, 2, 255, 0}"),
        ("matrix", "{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}}"),
        ("function", "~ <add>"),
        ("add", "~ <add>"),
        ("many", "{0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45, ...}"),
        ("qualified", "9"),
        ("vec", "{1, 2, 3, 4}"),
        ("inners", "{{x = 1, y = 1.5}, {x = 2, y = 2.5}, {x = 3, y = 3.5}}"),
        ("*root_pointer", "~{v = 1, l = 0x"),
        ("*null_node", "<cannot read 24 bytes of memory at 0x0>"),
    ].map(|(text, expected)| match expected.strip_suffix('~') {
        Some(_) if !expected.starts_with('~') => (text, "~{"),
        _ => (text, expected),
    }));
        let long = program.show("longer");
        assert!(long.ends_with("\"...") && long.len() < 300, "{long}");
    });
}

#[test]
fn numbers_and_rows() {
    each(|program| {
        program.check(&[
            (
                "third",
                of_machine(
                    "0.33333333333333333334",
                    "0.3333333333333333333333333333333333",
                ),
            ),
            ("tiny", of_machine("4e-4951", "3.645199531882475e-4951")),
            ("vast", "1e4000"),
            ("lz", "0.1 - 2i"),
            ("quad", "0.3333333333333333333333333333333333"),
            ("tenth", "0.1"),
            ("conjugate", "1 - 2i"),
            ("fz", "0.5 + 1i"),
            ("c16", "120 u'x'"),
            ("text16", "u\"sixteen\""),
            ("c32", "121 U'y'"),
            ("text32", "~U\"thirty-two\""),
            ("wide_text", "~L\"wide\\n\""),
            ("opaque", "~0x"),
            ("*opaque", "<incomplete type>"),
            ("no_flags", "(enum flags)0"),
            ("lanes", "{1, -2, 3, 4}"),
            ("lanes[1]", "-2"),
            (
                "byte_lanes",
                of_machine(
                    "~{108 'l', 97 'a', 0 '\\x00', -1 '\\xff', 0 '",
                    "~{108 'l', 97 'a', 0 '\\x00', 255 '\\xff', 0 '",
                ),
            ),
            ("mixed", "~{n = 1, i = 2, f = "),
            ("mixed.hi", "4"),
            ("mixed.set", "F_B | F_C"),
            ("cube", "{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}"),
            ("cube[1][0][1]", "6"),
            ("lines", "{\"one\", \"two\"}"),
            ("full", "\"abc\""),
            ("packed", "{low = -8, high = 15}"),
            ("grown->n", "3"),
            ("grown->data[1]", "8"),
            ("*grown", "~{n = 3, data = "),
        ]);
    });
}

#[test]
fn type_names() {
    each(|program| {
        for (text, expected) in [
            ("i", "int"),
            ("pointer", "int *"),
            ("pointers", "int **"),
            ("text", "const char *"),
            ("names", "const char *const[3]"),
            ("root", "struct node"),
            ("root_pointer", "struct node *"),
            ("function", "int (*)(int, int)"),
            ("matrix", "int[3][4]"),
            ("row", "int (*)[4]"),
            ("table", "int (*[2])(int, int)"),
            ("color2", "color_t"),
            ("anything", "void *"),
            ("&i", "int *"),
            ("&matrix", "int (*)[3][4]"),
            ("matrix[1]", "int[4]"),
            ("number", "union number"),
            ("1 + 1", "int"),
            ("1.5", "double"),
        ] {
            assert_eq!(program.type_of(text), expected, "{text}");
        }
        let qualified = program.type_of("qualified");
        assert!(
            qualified.contains("volatile") && qualified.contains("const"),
            "{qualified}"
        );
    });
}

#[test]
fn children() {
    each(|program| {
        let lines = program.opened("all");
        assert_eq!(lines[0], "a = 7");
        assert_eq!(lines.len(), 6);
        assert_eq!(program.opened("root_pointer")[0], "v = 1");
        assert_eq!(
            program.opened("anonymous"),
            ["k = 1", "u = 2", "f = 2.8e-45", "named = {p = 3, q = 4}"].map(|line| {
                if line.starts_with("f") {
                    program.opened("anonymous")[2].clone()
                } else {
                    line.to_owned()
                }
            })
        );
        assert_eq!(
            program.opened("fields"),
            ["a = 5", "b = -3", "c = 737894400291", "d = true"]
        );
        assert_eq!(program.opened("pointer"), ["* = 42"]);
        assert_eq!(program.opened("matrix")[1], "[1] = {5, 6, 7, 8}");
        assert_eq!(program.opened("row"), ["* = {1, 2, 3, 4}"]);
        assert_eq!(
            program.opened("bad_node")[0],
            "v = <cannot read 4 bytes of memory at 0x10>"
        );
        for none in ["anything", "function", "null_node", "i", "color", "flex"] {
            assert!(program.opened(none).is_empty(), "{none}");
        }
        assert_eq!(program.opened("ring.self->self->self")[1], "v = 1");
    });
}

#[test]
fn large_arrays_are_read_in_blocks() {
    each(|program| {
        let value = program.eval("many");
        let before = program.reads();
        let started = std::time::Instant::now();
        let children = children_of(program, &value, ChildFilter::All, 0..100_000).unwrap();
        let limits = Limits::default();
        let texts: Vec<String> = children
            .iter()
            .map(|child| present(program, child.value.as_ref().unwrap(), &limits).text)
            .collect();
        eprintln!("100,000 children: {:?}", started.elapsed());
        assert_eq!(texts[777], "2331");
        assert_eq!(texts[99_999], "299997");
        assert!(program.reads() - before <= 100);
        let page = children_of(program, &value, ChildFilter::All, 99_990..100_500).unwrap();
        assert_eq!(page.len(), 10);
        assert_eq!(page[0].name, "[99990]");
    });
}

#[test]
fn expressions() {
    each(|program| {
        program.check(&[
            ("i + 1", "43"),
            ("i * 2 + all.arr[3] + 5", "93"),
            ("all.in.x", "13"),
            ("all_pointer->in.x", "13"),
            ("all_pointer.in.x", "13"),
            ("root.l->v", "3"),
            ("root_pointer->l->v", "3"),
            ("*pointer", "42"),
            ("**pointers", "42"),
            ("*&i", "42"),
            ("&i == pointer", "1"),
            ("pointer != 0", "1"),
            ("null_node == NULL", "1"),
            ("&many[10] - many", "10"),
            ("*(many + 3)", "9"),
            ("matrix[1][2]", "7"),
            ("(*row)[3]", "4"),
            ("color == GREEN", "1"),
            ("RED != color", "1"),
            ("color == BLUE", "0"),
            ("(struct node *)root_pointer", "~0x"),
            ("((struct node *)anything)->v", "42"),
            ("*(int *)anything", "42"),
            ("*(unsigned char *)&i", "42 '*'"),
            ("(char)65", "65 'A'"),
            ("(unsigned char)300", "44 ','"),
            ("(int)2.9", "2"),
            ("(long)-1", "-1"),
            ("(color_t)5", "GREEN"),
            ("(color_t)-5 == 0", "0"),
            ("sizeof(int)", "4"),
            ("sizeof i", "4"),
            ("sizeof(struct node)", "24"),
            ("sizeof(all)", "88"),
            ("sizeof many", "400000"),
            // An element in parentheses is no cast to an array, and no type.
            ("(matrix[1][2]) - 1", "6"),
            ("(matrix[1][2]) * (i)", "294"),
            ("(many[3]) & 1", "1"),
            ("((matrix[1][2]) > 6) + 1", "2"),
            ("sizeof(matrix[1])", "16"),
            ("sizeof(matrix[1][2])", "4"),
            ("sizeof(color_t[3])", "12"),
            ("sizeof(color_t[3][2])", "24"),
            ("i > 40 && negative < 0", "1"),
            ("i == 0 || !i", "0"),
            ("i ? 10 : 20", "10"),
            ("-7 / 2", "-3"),
            ("-7 % 3", "-1"),
            ("1 << 4 | 1", "17"),
            ("~0", "-1"),
            ("-1 < 1u", "0"),
            ("0x10 + 010 + 0b11", "27"),
            ("1 / 0", "error: division by zero"),
            ("1.0 / 4", "0.25"),
            ("5 / 2.0f", "2.5"),
            ("'A' + 1", "66"),
            ("text == \"say \\\"hi\\\"\\n\\x01\"", "1"),
            ("all.name == \"hello\"", "1"),
            ("all.name != \"hello\"", "0"),
            ("names[1]", "~\"two\""),
            ("$rax", "4294967298"),
            ("foo", "error: no variable `foo` in this frame"),
            (
                "root.zz",
                "error: no member `zz` in `root` (struct node); it has v, l, r",
            ),
            ("i.x", "error: `i` (int) has no members"),
            (
                "*i",
                "error: cannot dereference `i`: `int` is not a pointer",
            ),
            ("add(1, 2)", "~cast the call"),
            ("fields.b + 1", "-2"),
            // A bit-field narrower than `int` is an `int` in arithmetic.
            ("fields.a - 6", "-1"),
            ("fields.a - 6 < 0", "1"),
            ("-fields.a", "-5"),
            ("~fields.a", "-6"),
            ("fields.a > -1", "1"),
            ("fields.c - 737894400292 < 0", "0"),
            ("&fields.b", "error: cannot take the address of a bit-field"),
            ("ul + 1", "0"),
            ("big + 1", "1267650600228229401496703205377"),
            ("i == 42 ? text : bad", "~say"),
        ]);
    });
}

#[test]
fn assignments() {
    each(|program| {
        program.check(&[
            ("i = 5", "5"),
            ("i += 3", "8"),
            ("i", "8"),
            ("i <<= 1", "16"),
            ("fields.b = -16", "-16"),
            ("fields", "{a = 5, b = -16, c = 737894400291, d = true}"),
            (
                "fields.a = 9",
                "error: 9 is out of range for 3 bits of `unsigned int` (0 to 7)",
            ),
            (
                "uc = 300",
                "error: 300 is out of range for `unsigned char` (0 to 255)",
            ),
            ("uc = 'B'", "66 'B'"),
            ("color = RED", "RED"),
            ("color = 5", "GREEN"),
            ("f = 2.5", "2.5"),
            (
                "ld = 0.1",
                of_machine(
                    "0.10000000000000000555",
                    "0.1000000000000000055511151231257827",
                ),
            ),
            ("d = 3", "3"),
            ("i = 1.5", "error: 1.5 is not an integer"),
            ("yes = false", "false"),
            ("null_node = &root", "~0x"),
            ("null_node->v", "1"),
            ("root = leaf", "{v = 3, l = 0x0, r = 0x0}"),
            ("root_pointer = 0", "0x0"),
            ("$rax = 7", "7"),
            ("1 = 2", "~error: cannot assign to a computed value"),
            ("matrix[2][1] = i", "16"),
            ("sc = -128", "-128 '\\x80'"),
            ("s16 = -40000", "~error: -40000 is out of range for `short"),
        ]);
        assert_eq!(program.register.get(), 7);
        let value = program.eval("i");
        let now = crate::expr::assign(program, &value, "i * 2").unwrap();
        assert_eq!(present(program, &now, &Limits::default()).text, "32");
    });
}

#[test]
fn speed_of_conditions() {
    each(|program| {
        let condition = crate::expr::Expression::parse("i == 100", Language::C).unwrap();
        let started = std::time::Instant::now();
        for _ in 0..10_000 {
            assert!(!condition.is_true(program).unwrap());
        }
        eprintln!("10,000 conditions: {:?}", started.elapsed());
    });
}
