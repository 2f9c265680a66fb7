//! Objects of Objective-C.

use super::harness::Program;
use dwarf::Language;

pub fn start(extra: &[&str]) -> Option<Program> {
    let runtime = "-fobjc-runtime=macosx-10.15";
    let common = [
        "clang",
        "-g",
        "-w",
        "-x",
        "objective-c",
        runtime,
        "-rdynamic",
    ];
    Program::start(&[&common, extra].concat(), "fixture.m", Language::C)
}

fn each(test: impl Fn(&mut Program)) {
    for extra in [&["-gdwarf-4"][..], &["-gdwarf-5"], &["-O2"]] {
        if let Some(mut program) = start(extra) {
            test(&mut program);
        }
    }
}

#[test]
fn objects_show_the_class_that_they_are_of() {
    each(|program| {
        program.check(&[
            ("anything", "~ (Named)"),
            ("base", "~ (Named)"),
            ("hidden_object", "~ (Hidden)"),
            ("swift_object", "~ (Stop)"),
            // Its layout is Foundation's own.
            ("mutable_array", "~ (__NSArrayM)"),
            // An object that the pointer itself holds.
            ("outside", "0xf050000000000077 (Hidden)"),
            ("class", "~ [Named class]"),
            ("none", "0x0"),
            ("wild", "0x1231"),
            ("far", "0x123456789ab0"),
        ]);
        for alone in ["point", "packed", "named"] {
            let text = program.show(alone);
            assert!(
                text.starts_with("0x") && !text.contains(' '),
                "{alone}: {text}"
            );
        }
    });
}

#[test]
fn variables_are_where_the_runtime_says() {
    each(|program| {
        program.check(&[
            ("point->x", "3"),
            ("point->y", "-4"),
            ("point->low + point->high * 10", "175"),
            ("packed->x", "0"),
            ("named->x", "7"),
            ("named->other->x", "3"),
            ("base->x", "7"),
            ("named->name", "@\"say \\\"hi\\\"\\n\""),
        ]);
        let error = program.show("far->x");
        assert!(error.contains("not an object"), "{error}");
        let error = program.show("((Named *)point)->name");
        assert!(error.contains("the object is a `Point`"), "{error}");
    });
}

#[test]
fn children_are_those_of_the_own_class() {
    each(|program| {
        let names = |program: &mut Program, text: &str| -> Vec<String> {
            let children = program.children(text).into_iter();
            children.map(|child| child.name).collect()
        };
        assert_eq!(program.type_of("named"), "Named *");
        assert_eq!(program.type_of("constant"), "NSString *");
        assert_eq!(names(program, "base"), ["Point", "name", "other"]);
        assert_eq!(names(program, "anything"), ["Point", "name", "other"]);
        assert_eq!(names(program, "outside"), Vec::<String>::new());
        assert_eq!(names(program, "array"), ["[0]", "[1]", "[2]", "[raw]"]);
        let keys = names(program, "map");
        assert_eq!(keys, ["[@\"say \\\"hi\\\"\\n\"]", "[@-5]", "[raw]"]);
    });
}

#[test]
fn strings_and_numbers_are_literals() {
    each(|program| {
        program.check(&[
            ("constant", "@\"say \\\"hi\\\"\\n\""),
            ("wide", "@\"grün\""),
            ("empty", "@\"\""),
            ("bridged", "@\"say \\\"hi\\\"\\n\""),
            ("inlined", "@\"abc\""),
            ("pascal", "@\"Pascal\""),
            ("changed", "@\"change\""),
            ("short_text", "@\"one\""),
            // What cannot be read is not made up.
            ("broken", "~ (__NSCFString)"),
            ("five", "@-5"),
            ("yes", "@YES"),
            ("large", "@18446744073709551615"),
            ("real", "@2.5"),
            ("single", "@0.1"),
            ("tagged", "@-42"),
            ("odd_kind", "~ (__NSCFNumber)"),
        ]);
        let cut = program.show("longer");
        assert_eq!(cut, format!("@\"{}\"...", "a".repeat(256)));
    });
}

#[test]
fn containers_show_their_elements() {
    each(|program| {
        let named = program.show("anything");
        let array = format!("{{@\"say \\\"hi\\\"\\n\", @-5, {named}}}");
        for (name, text) in [
            ("array", format!("(3) {array}")),
            ("inline_array", format!("(2) {{@-42, {array}}}")),
            ("alone", "(1) {@2.5}".into()),
            (
                "map",
                format!("(2) {{@\"say \\\"hi\\\"\\n\": @YES, @-5: {array}}}"),
            ),
            ("empty_map", "{}".into()),
        ] {
            assert_eq!(program.show(name), text, "{name}");
        }
        let endless = program.show("endless");
        assert!(
            endless.starts_with("(4611686018427387903) {@\"say"),
            "{endless}"
        );
    });
}
