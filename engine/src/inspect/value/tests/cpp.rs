use super::cpp_std::has_libcxx;
use super::harness::Program;
use crate::expr::Expression;
use dwarf::Language;

fn each(test: impl Fn(&mut Program)) {
    let with_libcxx = has_libcxx();
    for compiler in [
        &["g++", "-std=c++20", "-g", "-w"][..],
        &["g++", "-std=c++20", "-gdwarf-4", "-w"],
        &["g++", "-std=c++20", "-g", "-O2", "-w"],
        &["clang++", "-std=c++20", "-g", "-w"],
        &["clang++", "-std=c++20", "-g", "-O2", "-w"],
        &["clang++", "-std=c++20", "-stdlib=libc++", "-g", "-O2", "-w"],
    ] {
        if compiler.contains(&"-stdlib=libc++") && !with_libcxx {
            skips::skip("libc++");
            continue;
        }
        eprintln!("{}:", compiler.join(" "));
        if let Some(mut program) = Program::start(compiler, "fixture.cpp", Language::Cpp) {
            test(&mut program);
        }
    }
}

#[test]
fn texts() {
    each(|program| {
        program.check(&[
            (
                "derived",
                "~{<ns::Base> = {a = 1}, <ns::Other> = {o = 2}, x = 3, u = 4, f = ",
            ),
            (
                "reference",
                "~{<ns::Base> = {a = 1}, <ns::Other> = {o = 2}, x = 3, u = 4, f = ",
            ),
            ("box", "{value = 11}"),
            ("text_box", "{value = \"boxed\"}"),
            ("mode", "On"),
            ("alias", "8"),
            ("moved", "12"),
            ("small", "\"small\""),
            ("large", "\"a text that is too long for the small buffer\""),
            ("none", "\"\""),
            ("view", "\"seen\""),
            (
                "numbers",
                "(100000) {0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, ...}",
            ),
            ("strings", "(2) {\"one\", \"two\"}"),
            ("triple", "{1, 2, 3}"),
            ("nothing", "{}"),
            ("boxes", "(2) {{value = 1}, {value = 2}}"),
            ("c16", "120 u'x'"),
            ("c32", "121 U'y'"),
            ("text16", "~u\"wide\""),
            ("wc", "87 U'W'"),
            ("null", "0x0"),
            ("flag", "true"),
            (
                "bottom",
                "~<Left> = {<Top> = {t = 1}, l = 2}, <Right> = {<Top> = {t = 1}, r = 3}, b = 4}",
            ),
            ("method", "~<ns::Derived::get"),
            ("member", "&ns::Derived::x"),
            ("no_member", "nullptr"),
            ("no_method", "nullptr"),
            ("virtual_method", "<virtual function 2 of Shape>"),
            ("tagged", "{v = 1}"),
        ]);
    });
}

#[test]
fn children() {
    each(|program| {
        let lines = program.opened("derived");
        assert_eq!(lines[0], "ns::Base = {a = 1}");
        assert!(lines.contains(&"x = 3".to_owned()), "{lines:?}");
        assert!(lines.contains(&"u = 4".to_owned()), "{lines:?}");
        assert!(lines.contains(&"count = 5".to_owned()), "{lines:?}");
        assert_eq!(program.opened("constant"), lines);
        let numbers = program.children("numbers");
        assert_eq!(numbers.len(), 100_001);
        assert_eq!(numbers[777].name, "[777]");
        assert_eq!(program.show("numbers[777]"), "3885");
        assert_eq!(
            program.opened("strings"),
            ["[0] = \"one\"", "[1] = \"two\""]
        );
        assert_eq!(program.opened("triple")[2], "[2] = 3");
    });
}

#[test]
fn type_names() {
    each(|program| {
        for (text, expected) in [
            ("p", "plain"),
            ("&p", "plain *"),
            ("base", "ns::Base *"),
            ("reference", "ns::Derived &"),
            ("constant", "const ns::Derived *"),
            ("alias", "int &"),
            ("moved", "int &&"),
            ("member", "int ns::Derived::*"),
            ("box", "ns::Box<int>"),
        ] {
            assert_eq!(program.type_of(text), expected, "{text}");
        }
    });
}

/// The member is one of the dynamic class: only a value shows whether there is one.
#[test]
fn part_of_a_condition_that_is_not_reached_may_fail() {
    each(|program| {
        for text in [
            "derived.a == 1 || ((ns::Base *)0)->x == 3",
            "derived.a == 1 ? base->x == 3 : ((ns::Base *)0)->x == 3",
        ] {
            let condition = Expression::parse(text, Language::Cpp).unwrap();
            assert!(condition.is_true(program).unwrap(), "{text}");
        }
    });
}

#[test]
fn expressions() {
    each(|program| {
        // The number of checks does not grow with each level of nesting.
        let far = format!("(p.next = &p, (&p){}->v)", "->next".repeat(120));
        program.check(&[(&far, "1"), ("p.next = 0", "0x0")]);
        program.check(&[
            ("alias + 1", "9"),
            ("derived.a", "1"),
            ("derived.o + derived.u", "6"),
            ("constant->x", "3"),
            ("ns::Derived::count", "5"),
            ("derived.count", "5"),
            ("mode == ns::Mode::On", "true"),
            ("mode == On", "true"),
            ("(ns::Mode)0", "Off"),
            ("numbers[99999]", "499995"),
            ("numbers[100000]", "~error: index 100000 is out of range"),
            ("strings[1]", "\"two\""),
            ("strings[1] == \"two\"", "true"),
            ("small == \"small\"", "true"),
            ("small < \"t\"", "true"),
            ("small == large", "false"),
            ("small[1]", "109 'm'"),
            ("view == \"seen\"", "true"),
            ("triple[1] * 2", "4"),
            ("bottom.t", "1"),
            ("box.value > 10", "true"),
            ("base->a", "1"),
            ("sizeof(ns::Box<int>)", "4"),
            ("((ns::Derived *)base)->x", "3"),
            ("alias = 9", "9"),
            ("number", "9"),
            ("mode = Off", "Off"),
            ("boxes[1].value", "2"),
            ("null == nullptr", "true"),
            ("!flag", "false"),
        ]);
    });
}

/// The target of a pointer or reference to a base has its dynamic class.
#[test]
fn classes_in_truth() {
    each(|program| {
        program.check(&[
            ("shape", "~ (Square)"),
            ("second_base", "~ (Square)"),
            ("hidden", "~Hidden)"),
            ("gone", "0x0"),
            ("shape->side", "3"),
            ("second_base->side", "3"),
            ("second_base->id", "7"),
            ("owned_shape->side", "3"),
            ("hidden->secret", "5"),
            ("plain_shape->side", "~error"),
            ("shape_reference", "~side = 3}"),
            ("owned_shape", "~side = 3}"),
        ]);
        assert!(!program.show("plain_shape").contains('('));
        assert_eq!(program.type_of("shape"), "Shape *");
        for base in ["shape", "second_base", "shape_reference", "owned_shape"] {
            let lines = program.opened(base);
            assert!(lines.contains(&"side = 3".to_owned()), "{base}: {lines:?}");
        }
        let lines = program.opened("plain_shape");
        assert!(lines.contains(&"id = 7".to_owned()), "{lines:?}");
    });
}
