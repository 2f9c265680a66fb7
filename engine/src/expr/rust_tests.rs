//! Expressions that only Rust has and that need no program.

use super::tests::check;
use dwarf::Language;

#[test]
fn objects() {
    check(
        Language::Rust,
        &[
            ("(1, 2)", "(i32, i32) (1, 2)"),
            ("(1,)", "(i32,) (1)"),
            ("(1)", "i32 1"),
            ("()", "() ()"),
            ("(1, 2u8).1", "u8 2"),
            ("(1, 2) == (1, 2u8)", "bool true"),
            ("[1, 2u8]", "[u8; 2] [1, 2]"),
            ("[0.5; 2]", "[f64; 2] [0.5, 0.5]"),
            ("[1, 2, 3][1]", "i32 2"),
            ("[1, 2, 3].len()", "usize 3"),
            ("1..4", "core::ops::range::Range<i32> 1..4"),
            ("1u8..=4", "core::ops::range::RangeInclusive<u8> 1..=4"),
            ("..", "core::ops::range::RangeFull .."),
            ("2..", "core::ops::range::RangeFrom<i32> 2.."),
            ("Some(1)", "core::option::Option<i32> Some(1)"),
            ("Some(\"x\") == Some(\"x\")", "bool true"),
            ("Some(\"x\")", "core::option::Option<&str> Some(\"x\")"),
            ("(\"x\", 1)", "(&str, i32) (\"x\", 1)"),
            ("None::<u8>", "core::option::Option<u8> None"),
            ("Ok::<i32, u8>(4)", "core::result::Result<i32, u8> Ok(4)"),
            ("Some(3) == Some(4)", "bool false"),
            ("&2", "&i32 2"),
            ("*&2", "i32 2"),
            ("&2 == &2", "bool true"),
            ("unsafe { 1 + 1 }", "i32 2"),
            ("{ 3 } + 1", "i32 4"),
            (
                "None",
                "error: the type `core::option::Option<_>` is not known; compare the value, pass it \
                 to a function, or write the type (`None::<i32>`)",
            ),
            (
                "(1, 2) == (1, true)",
                "error: mismatched types `(i32, i32)` and `(i32, bool)`",
            ),
            (
                "[1, true]",
                "error: mismatched types: expected `bool`, found `i32`",
            ),
            (
                "Some(1) == Some(300u8)",
                "error: 300 is out of range for `u8`",
            ),
            (
                "&1 == 1",
                "error: cannot compare `&i32` with `i32`; borrow or dereference one of them",
            ),
            ("Some(1, 2)", "error: `Some` takes 1 argument"),
            (
                "{ 1; 2 }",
                "error: a block with statements has no value here; write one expression",
            ),
        ],
    );
}

#[test]
fn patterns() {
    check(
        Language::Rust,
        &[
            ("matches!(3, 1..=3)", "bool true"),
            ("matches!(3, 1..3)", "bool false"),
            ("matches!(-1, -1)", "bool true"),
            ("matches!('c', 'a'..='z')", "bool true"),
            ("matches!('c', 'a'...'b' | 'c'...'z')", "bool true"),
            ("matches!(\"x\", \"y\" | \"x\")", "bool true"),
            (
                "matches!((1, Some(2)), (_, Some(n)) if n == 2)",
                "bool true",
            ),
            ("matches!(&3, 3)", "bool true"),
            ("matches!([1, 2, 3], [1, .., 3])", "bool true"),
            ("if let Some(n) = Some(4) { n } else { 0 }", "i32 4"),
            ("if let None = Some(4) { 1 } else { 0 }", "i32 0"),
            ("match (1, 2) { (a, b) => a + b }", "i32 3"),
            (
                "if let Some(s) = Some(\"q\") { s } else { \"\" }",
                "&str \"q\"",
            ),
            ("match 5u8 { n @ 1..=9 => n, _ => 0 }", "u8 5"),
            ("match 2 { 1 => 'a', 2 => 'b', _ => 'c' }", "char 'b'"),
            (
                "match 2 { 1 => 1 }",
                "error: no pattern fits the value; add an arm `_ => …`",
            ),
            (
                "matches!(1, \"x\")",
                "error: mismatched types: expected `i32`, found `&str`",
            ),
        ],
    );
}

#[test]
fn constants() {
    check(
        Language::Rust,
        &[
            ("f32::MAX", "f32 3.4028235e38"),
            ("f64::MIN", "f64 -1.7976931348623157e308"),
            ("f64::MIN_POSITIVE", "f64 2.2250738585072014e-308"),
            ("f32::EPSILON", "f32 1.1920929e-7"),
            ("f64::EPSILON", "f64 2.220446049250313e-16"),
            ("f64::INFINITY", "f64 inf"),
            ("f64::NAN == f64::NAN", "bool false"),
            ("f64::DIGITS", "u32 15"),
            ("f32::MIN_EXP", "i32 -125"),
            ("f64::MAX_EXP", "i32 1024"),
            ("u16::BITS", "u32 16"),
            ("std::f32::consts::PI", "f32 3.1415927"),
            ("std::i32::MAX", "i32 2147483647"),
            ("char::MAX as u32", "u32 1114111"),
        ],
    );
}
