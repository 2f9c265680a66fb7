//! Expressions over values of compiled programs: methods evaluated by reading, slices, format
//! specifiers, assignments in place.

use super::harness::Program;
use dwarf::Language;

fn rust(test: impl Fn(&mut Program)) {
    let compiler = ["rustc", "-g", "--edition", "2021", "-A", "warnings"];
    if let Some(mut program) = Program::start(&compiler, "fixture.rs", Language::Rust) {
        test(&mut program);
    }
}

fn cpp(test: impl Fn(&mut Program)) {
    for compiler in ["g++", "clang++"] {
        let command = [compiler, "-std=c++20", "-g", "-w"];
        if let Some(mut program) = Program::start(&command, "fixture.cpp", Language::Cpp) {
            test(&mut program);
        }
    }
}

fn c(test: impl Fn(&mut Program)) {
    for compiler in ["gcc", "clang"] {
        if let Some(mut program) = Program::start(&[compiler, "-g", "-w"], "fixture.c", Language::C)
        {
            test(&mut program);
        }
    }
}

#[test]
fn methods_of_rust_types() {
    rust(|program| {
        program.check(&[
            ("vec.len()", "3"),
            ("vec.is_empty()", "false"),
            ("empty_vec.is_empty()", "true"),
            ("empty_vec.first()", "None"),
            ("vec.first()", "Some(1)"),
            ("vec.first().is_some()", "true"),
            ("vec.last().unwrap() + 1", "4"),
            (
                "vec.last() + 1",
                "error: `+` is not defined for `core::option::Option<&i32>` and `i32`",
            ),
            ("vec.get(1)", "Some(2)"),
            ("vec.get(3)", "None"),
            ("vec.contains(3) && !vec.contains(&4)", "true"),
            ("vec.capacity() >= 3", "true"),
            ("*vec.as_ptr()", "1"),
            ("slice.len()", "3"),
            ("array.len()", "3"),
            ("string.len()", "5"),
            ("string.as_str()", "\"hello\""),
            ("string.starts_with(\"he\")", "true"),
            ("text.contains('!')", "false"),
            ("string.capacity()", "5"),
            ("string == \"hello\" && text != string", "true"),
            ("some.is_some()", "true"),
            ("none.is_none()", "true"),
            ("some.unwrap() + 1", "43"),
            ("none.unwrap()", "error: cannot unwrap: the value is `None`"),
            ("none.unwrap_or(7)", "7"),
            ("some_string.unwrap().len()", "1"),
            ("ok.is_err()", "false"),
            ("err.unwrap_err()", "\"bad\""),
            ("boxed_text.len()", "5"),
            ("rc.x", "9"),
            ("i.abs()", "42"),
            (
                "vec.lenn()",
                "error: no method `lenn` of `vec` (alloc::vec::Vec<i32, alloc::alloc::Global>) \
                 can be evaluated without a call; did you mean `len`?",
            ),
            (
                "point.xx",
                "error: no member `xx` in `point` (fixture::Point); it has x, y",
            ),
        ]);
    });
}

#[test]
fn parts_of_rust_types() {
    rust(|program| {
        program.check(&[
            ("&vec[1..3]", "(2) [2, 3]"),
            ("vec[..2]", "(2) [1, 2]"),
            ("slice[1..]", "(2) [30, 40]"),
            ("array[0..=1]", "(2) [1, 2]"),
            ("long[99998..].len()", "2"),
            (
                "vec[2..9]",
                "error: range end 9 is out of range: length is 3",
            ),
            ("vec[2..1]", "error: invalid range: 2 is greater than 1"),
            ("&string[1..3]", "\"el\""),
            ("vec,2", "[1, 2]"),
            ("vec,[1]", "[1]"),
            ("bytes,s", "\"\\x01\\xff\""),
            ("tuple.0 + 1", "2"),
            ("matrix[1][0]", "3"),
            ("if some.is_some() { some.unwrap() } else { 0 }", "42"),
            ("byte + i", "~mismatched types `u8` and `i32`"),
            ("byte as i32 + i", "-35"),
            ("array as i32", "~error: cannot cast"),
            ("size + 1", "10"),
            ("simple == Simple::B", "true"),
        ]);
    });
}

#[test]
fn variants_are_assigned() {
    rust(|program| {
        program.check(&[
            ("some = None", "None"),
            ("some = Some(7)", "Some(7)"),
            ("none = Some(8)", "Some(8)"),
            ("none = None", "None"),
            ("nothing = Shape::Rect", "~`Rect` has fields"),
            ("circle = Shape::Nothing", "Nothing"),
            ("none_bool = Some(true)", "Some(true)"),
            ("none_bool = None", "None"),
            ("some_ref = None", "None"),
            ("some = Some(300000000000)", "~is out of range for `i32`"),
            (
                "some = Nothing",
                "error: no variable `Nothing` in this frame",
            ),
        ]);
    });
}

#[test]
fn methods_of_cpp_types() {
    cpp(|program| {
        program.check(&[
            ("numbers.size()", "100000"),
            ("numbers.empty()", "false"),
            ("numbers.at(7)", "35"),
            ("numbers.front() + numbers.back()", "499995"),
            ("*numbers.data()", "0"),
            ("numbers.capacity() >= 100000", "true"),
            ("strings.at(1).size()", "3"),
            ("strings[0] == \"one\"", "true"),
            ("small.length()", "5"),
            ("small.capacity()", "15"),
            ("small.c_str()", "~\"small\""),
            ("large.empty() || none.empty()", "true"),
            ("view.starts_with(\"se\")", "true"),
            ("triple.size()", "3"),
            ("numbers,3", "{0, 5, 10}"),
            ("static_cast<int>(mode) + 1", "4"),
            ("ns::Mode::On == mode", "true"),
            ("number++ + ++number", "18"),
            ("--number, number", "9"),
            ("number = 8", "8"),
            ("ns::Derived::count", "5"),
            ("box,raw", "{value = 11}"),
        ]);
    });
}

#[test]
fn casts_among_classes() {
    cpp(|program| {
        program.check(&[
            ("((ns::Other *)&derived)->o", "2"),
            ("static_cast<ns::Other *>(&derived)->o", "2"),
            ("((ns::Derived *)(ns::Other *)&derived)->x", "3"),
            ("static_cast<ns::Derived &>((ns::Other &)derived).x", "3"),
            (
                "(char *)(ns::Other *)&derived - (char *)&derived > 0",
                "true",
            ),
            (
                "(long)reinterpret_cast<ns::Other *>(&derived) == (long)&derived",
                "true",
            ),
            ("(ns::Other *)(ns::Derived *)0 == 0", "true"),
            ("dynamic_cast<Square *>((Named *)&square)->side", "3"),
            ("dynamic_cast<Shape *>((Named *)&square)->id", "7"),
            ("dynamic_cast<Square *>(plain_shape) == 0", "true"),
            ("((Top *)&bottom)->t", "1"),
        ]);
    });
}

#[test]
fn parts_of_c_types() {
    c(|program| {
        program.check(&[
            ("&i@1", "{42}"),
            ("root_pointer->v@1", "{1}"),
            ("*root_pointer@1", "~{{v = 1"),
            ("(i, negative)", "-7"),
            ("i += 1, i", "43"),
            ("i--", "43"),
            ("i", "42"),
            ("uc += 300", "109 'm'"),
            ("uc = 'A'", "65 'A'"),
            ("nowheree", "error: no variable `nowheree` in this frame"),
        ]);
    });
}
