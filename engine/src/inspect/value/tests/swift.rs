//! Values of Swift.

use super::harness::Program;
use dwarf::Language;

pub fn start() -> Option<Program> {
    let data = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/src/inspect/value/tests/fixture_swift.c"
    );
    Program::start(&["gcc", "-w", data], "fixture_swift.S", Language::C)
}

#[test]
fn numbers_are_numbers() {
    let Some(mut program) = start() else { return };
    program.check(&[
        ("an_int", "-5"),
        ("a_bool", "true"),
        ("a_double", "0.1"),
        ("a_float", "0.1"),
        ("a_byte", "200"),
        ("an_int * 2 + a_byte", "190"),
        ("a_point", "{x = 3, y = 2.5}"),
        ("a_point.x", "3"),
    ]);
    assert_eq!(program.type_of("an_int"), "Int");
    assert_eq!(program.type_of("a_byte"), "UInt8");
    assert_eq!(program.type_of("a_point"), "Point");
}

#[test]
fn strings_and_arrays_show_their_contents() {
    let Some(mut program) = start() else { return };
    program.check(&[
        ("small", "\"one\""),
        ("small_utf8", "\"grün\""),
        ("native", "\"a string that is not small\""),
        ("bridged", "<a string that Foundation keeps>"),
        ("wild", "<cannot read 5 bytes of memory at 0x1020>"),
        ("numbers", "(3) {7, -8, 9}"),
        ("no_numbers", "{}"),
        ("kept_numbers", "<an array that Foundation keeps>"),
        ("words", "<3 elements>"),
    ]);
    assert_eq!(program.type_of("numbers"), "[Int]");
    assert_eq!(program.type_of("words"), "[String]");
}

#[test]
fn optionals_are_nil_or_their_value() {
    let Some(mut program) = start() else { return };
    program.check(&[
        ("some_int", "0"),
        ("no_int", "nil"),
        ("some_bool", "false"),
        ("no_bool", "nil"),
        ("some_string", "\"a string that is not small\""),
        ("no_string", "nil"),
        ("no_object", "nil"),
    ]);
    assert_eq!(program.type_of("no_int"), "Int?");
    let object = program.show("object");
    assert!(object.starts_with("0x"), "{object}");
    assert_eq!(program.show("some_object"), object);
}

#[test]
fn unknown_layouts_are_not_made_up() {
    let Some(mut program) = start() else { return };
    program.check(&[
        ("color_of", "<the layout of Color is not in the debug info>"),
        (
            "pair",
            "<the layout of (Int, Float) is not in the debug info>",
        ),
    ]);
}
