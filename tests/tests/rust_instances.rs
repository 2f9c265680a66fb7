//! Calls of Rust functions: the instance that a literal leads to, copies of one function, operators,
//! the program's own `Deref`, unions by value, and variants with named fields that are assigned.

use std::fs;
use std::path::Path;
use std::process::Command;
use stillpoint_tests::{DapClient, Fixture};

fn stopped() -> DapClient {
    DapClient::stopped_at(&Fixture::of("rust/instances.rs"), "end")
}

fn shows(cases: &[(&str, &str)]) {
    let mut client = stopped();
    for (expression, expected) in cases {
        assert_eq!(client.evaluate(expression), *expected, "{expression}");
    }
    client.disconnect();
}

fn refuses(cases: &[(&str, &str)]) {
    let mut client = stopped();
    for (expression, why) in cases {
        let error = client.try_evaluate(expression).expect_err(expression);
        assert!(error.contains(why), "{expression}: {error}");
    }
    client.disconnect();
}

#[test]
fn literals_take_the_types_of_settled_parameters() {
    shows(&[
        ("stack.at(1)", "8"),
        ("stack.put(3)", "4"),
        ("stack.at(3)", "3"),
        ("stack.width_of(1u8)", "1"),
        ("width(1u8)", "1"),
        ("more(1u16, 3)", "5"),
        ("total(rows, 1)", "5"),
        ("total(&many, 1)", "5"),
    ]);
}

#[test]
fn literals_do_not_choose_an_instance_of_another_type() {
    refuses(&[
        ("width(1)", "no instance of"),
        ("stack.width_of(1)", "no instance of"),
        ("more(1, 3)", "no instance of"),
        ("code.measured()", "ambiguous"),
        ("stack.put(300)", "300 is out of range for `u8`"),
        ("stack.at(-1)", "cannot apply unary `-` to `usize`"),
    ]);
}

#[test]
fn literals_take_the_type_of_an_operators_operand() {
    shows(&[
        ("code == 404", "true"),
        ("code != 404", "false"),
        ("wide == 404u32", "true"),
        ("sum + 1u8", "6"),
        // Of several, that of `i32`, as rustc.
        ("half + 1", "1006"),
        ("half + 1u64", "6"),
    ]);
    refuses(&[
        ("code == 70000", "70000 is out of range for `u16`"),
        ("code == 0.5", "`==` is not defined"),
        ("wide == 404", "`==` is not defined"),
        ("sum + 1", "`+` is not defined"),
    ]);
}

#[test]
fn indexes_go_through_the_programs_deref() {
    shows(&[
        ("ring[0]", "4"),
        ("ring[1] + ring[2]", "11"),
        ("outer[1]", "2"),
        ("bytes[2]", "7"),
        ("&word[1..]", "\"ord\""),
        ("&bytes[..2]", "(2) [9, 8]"),
        ("&outer[..1]", "(1) [1]"),
    ]);
    refuses(&[
        ("code[0]", "cannot be indexed"),
        ("&code[1..]", "cannot be indexed"),
    ]);
}

#[test]
fn indexes_by_ranges_and_tuples_are_the_programs() {
    shows(&[
        ("grid[(1, 0)]", "3"),
        ("&grid[1..3]", "(2) [2, 3]"),
        ("&grid[count - 6..2]", "(1) [2]"),
        ("grid[0..2][1]", "2"),
    ]);
    refuses(&[
        ("&grid[1..=2]", "cannot be indexed"),
        ("grid[(1, 0, 0)]", "cannot be indexed"),
    ]);
}

#[test]
fn the_larger_of_two_integers_is_read() {
    shows(&[
        ("std::cmp::max(4, count + 1)", "8"),
        ("cmp::min(count, 9)", "7"),
        ("max(count, 3)", "7"),
        ("own::min(2, 3)", "200"),
    ]);
}

#[test]
fn non_null_pointers_are_copied_and_read() {
    shows(&[
        ("*holder.one.as_ptr()", "9"),
        ("*holder.one.as_ref() + 1", "10"),
        ("holder.row.len()", "3"),
    ]);
}

#[test]
fn functions_without_code_say_so() {
    refuses(&[
        ("gauge.level()", "the compiler has inlined all its calls"),
        ("gauge.twice()", "the compiler has inlined all its calls"),
        ("tripled(2)", "the compiler has inlined all its calls"),
        (
            "instances::tripled(2)",
            "the compiler has inlined all its calls",
        ),
        ("fourfold(2)", "no variable `fourfold` in this frame"),
    ]);
}

#[test]
fn unions_are_passed_and_returned() {
    shows(&[
        ("buffer(3).len", "3"),
        ("checked(4)", "Ok(4)"),
        ("matches!(checked(1), Err(Problem::Full(_)))", "true"),
        ("pair(6).second", "7"),
        ("pair_sum(two)", "7"),
        ("large(3).row[4]", "3"),
        ("large_sum(five)", "10"),
        ("mixed(2.5).float", "2.5"),
        ("mixed_float(mix)", "0.5"),
        ("longer(-3).signs.signed", "-3"),
        ("longer(-3).more[2]", "11"),
        ("float(1.5).value.value", "1.5"),
    ]);
    // In a register or in memory: that depends on `repr(C)`.
    refuses(&[("signed(1).more", "unsupported return type")]);
}

#[test]
fn variants_with_named_fields_are_assigned() {
    let mut client = stopped();
    for (expression, expected) in [
        (
            "message = Message::Move { y: 4, x: 3 }",
            "Move {x: 3, y: 4}",
        ),
        ("place(&message)", "304"),
        ("quit = Message::Move { x: 5, y: 6 }", "Move {x: 5, y: 6}"),
        ("place(&quit)", "506"),
        ("quit = Message::Color(3, 4)", "Color(3, 4)"),
        ("place(&quit)", "7"),
    ] {
        assert_eq!(client.evaluate(expression), expected, "{expression}");
    }
    for (expression, why) in [
        ("message = Message::Move { x: 3 }", "missing field `y`"),
        (
            "message = Message::Move { x: 3, y: 4, z: 5 }",
            "no field `z`",
        ),
        (
            "message = Message::Move(3, 4)",
            "has fields; assign to them",
        ),
        (
            "text = Message::Move { x: 3, y: 4 }",
            "would never be dropped",
        ),
    ] {
        let error = client.try_evaluate(expression).expect_err(expression);
        assert!(error.contains(why), "{expression}: {error}");
    }
    assert_eq!(client.evaluate("message"), "Move {x: 3, y: 4}");
    client.disconnect();
}

const SHARED: &str = "pub struct T(pub u32);
impl T {
    #[inline]
    pub fn size(&self) -> u32 {
        self.0 + 1
    }
}
pub trait Sized2 {
    fn twice(&self) -> u32;
}
impl Sized2 for T {
    #[inline]
    fn twice(&self) -> u32 {
        self.0 * 2
    }
}
#[inline]
pub fn free(n: u32) -> u32 {
    n + 7
}
";
const USER: &str = "use shared::Sized2;
pub fn all(t: &shared::T) -> u32 {
    t.size() + t.twice() + shared::free(1)
}
";
const MAIN: &str = "fn main() {
    let t = shared::T(3);
    let sum = one::all(&t) + other::all(&t);
    std::hint::black_box((&t, sum)); //@ end
}
";

fn rustc(folder: &Path, name: &str, text: &str, flags: &[&str]) {
    fs::write(folder.join(format!("{name}.rs")), text).expect("a file");
    let mut command = Command::new("rustc");
    command
        .current_dir(folder)
        .args(["--edition", "2021", "-g", "-L", "."]);
    let status = command.args(flags).arg(format!("{name}.rs")).status();
    assert!(status.expect("rustc runs").success(), "{name}");
}

/// Two crates have each a copy of an `#[inline]` function of a third one; the frame's crate has none.
#[test]
fn copies_of_one_function_are_one() {
    for mangling in [&[][..], &["-Csymbol-mangling-version=v0"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let flags = [&["--crate-type", "rlib"], mangling].concat();
        rustc(folder.path(), "shared", SHARED, &flags);
        let user = format!("extern crate shared;\n{USER}");
        rustc(folder.path(), "one", &user, &flags);
        rustc(folder.path(), "other", &user, &flags);
        let all = ["shared", "one", "other"].map(|it| format!("extern crate {it};\n"));
        let main = format!("{}{MAIN}", all.concat());
        rustc(folder.path(), "main", &main, mangling);
        let fixture =
            Fixture::compiled(&folder.path().join("main.rs"), &folder.path().join("main"));
        let mut client = DapClient::stopped_at(&fixture, "end");
        for (expression, expected) in [
            ("t.size()", "4"),
            ("t.twice()", "6"),
            ("shared::free(3)", "10"),
        ] {
            assert_eq!(client.evaluate(expression), expected, "{expression}");
        }
        client.disconnect();
    }
}
