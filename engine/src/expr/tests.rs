//! Expressions that need no debug info, and malformed input.

use super::{EvalContext, Expression, Purpose};
use crate::arch::Arch;
use crate::ids::error::Error;
use crate::inspect::value::{Limits, RegisterPlace, Target, Value, present};
use dwarf::{Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, TypeId, Unreadable};
use std::sync::Arc;

/// An empty frame.
struct Nowhere(Language);

impl Memory for Nowhere {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        Err(Unreadable { addr, len })
    }
}

impl ModuleMap for Nowhere {
    fn module_at(&self, _: LoadAddr) -> Option<(&Module, LoadBias)> {
        None
    }
}

impl Target for Nowhere {
    fn memory(&self) -> &dyn Memory {
        self
    }
    fn modules(&self) -> &dyn ModuleMap {
        self
    }
    fn module_at(&self, _: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        None
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        Vec::new()
    }
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len();
        Err(Error::Unwritable { addr, len })
    }
    fn write_register(&mut self, _: RegisterPlace, _: &[u8]) -> Result<(), Error> {
        Err(Error::OptimizedOut)
    }
}

impl EvalContext for Nowhere {
    fn language(&self) -> Language {
        self.0
    }
    /// Of it come the sizes and signs that C leaves to the machine.
    fn arch(&self) -> Arch {
        Arch::X86_64
    }
    fn global(&self, _: &str) -> Result<Option<Value>, Error> {
        Ok(None)
    }
    fn register(&self, _: &str) -> Option<Value> {
        None
    }
    fn type_named(&self, _: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        None
    }
    fn as_target(&self) -> &dyn Target {
        self
    }
}

fn show(text: &str, language: Language) -> String {
    let mut nowhere = Nowhere(language);
    let value = Expression::parse(text, language).and_then(|it| {
        let numbers = it.numbers().unwrap_or_default();
        Ok((it.evaluate(&mut nowhere, Purpose::Look)?, numbers))
    });
    match value {
        Ok((value, numbers)) => {
            let limits = Limits {
                numbers,
                ..Limits::default()
            };
            let shown = present(&nowhere, &value, &limits);
            format!("{} {}", shown.type_name, shown.text)
        }
        Err(error) => format!("error: {error}"),
    }
}

pub(super) fn check(language: Language, expected: &[(&str, &str)]) {
    for (text, expected) in expected {
        assert_eq!(show(text, language), *expected, "{text}");
    }
}

/// The forms of ISO C++ [lex.icon] and [lex.fcon], and those of ISO C beside them.
#[test]
fn numbers_of_c_and_cpp() {
    let numbers = [
        ("1.f", "float 1"),
        ("1.F + .5f", "float 1.5"),
        ("2.f * 3", "float 6"),
        ("1.e3", "double 1000"),
        ("1.E-1f", "float 0.1"),
        ("1.L", "long double 1"),
        ("1. / 4", "double 0.25"),
        ("1'0.2'5", "double 10.25"),
        ("1e1'0", "double 10000000000"),
        ("0x1.p3", "double 8"),
        ("0x.8p1", "double 1"),
        ("0x1'0.8p0f", "float 16.5"),
        ("0x1p-2L", "long double 0.25"),
        ("010.5", "double 10.5"),
        ("0'17", "int 15"),
        ("0b1'01u", "unsigned int 5"),
        ("0XfUL", "unsigned long 15"),
        ("1.5f32", "_Float32 1.5"),
        ("1.5f128", "_Float128 1.5"),
        ("08", "error: invalid digit `8` in an octal number"),
        ("0x1.8", "error: invalid number literal"),
        ("1.x", "error: invalid number literal"),
        (
            "1.5df",
            "error: numbers with the suffix `df` are not supported",
        ),
    ];
    check(Language::C, &numbers);
    check(Language::Cpp, &numbers);
    check(Language::Rust, &[("1.0 + 1.", "f64 2.0")]);
}

#[test]
fn c() {
    check(
        Language::C,
        &[
            ("1 + 2 * 3", "int 7"),
            ("(1 + 2) * 3", "int 9"),
            ("2147483648", "long 2147483648"),
            ("4294967295u", "unsigned int 4294967295"),
            ("1ul << 63", "unsigned long 9223372036854775808"),
            ("2147483647 + 1", "int -2147483648"),
            ("-5 / 2", "int -2"),
            ("-5 % 3", "int -2"),
            ("7 & 3 | 8 ^ 1", "int 11"),
            ("1 < 2 == 1", "int 1"),
            ("1 ? 2 : 0 ? 3 : 4", "int 2"),
            ("'a'", "int 97"),
            ("'\\xff'", "int -1"),
            ("'\\n'", "int 10"),
            ("'\\x41' == 'A'", "int 1"),
            ("L'x'", "int 120"),
            ("0x1.8p3", "double 12"),
            ("0x1p-1f", "float 0.5"),
            ("sizeof(1.5L)", "unsigned long 16"),
            ("0.1L + 1", "long double 1.1"),
            ("1.5 ? 2 : 1.5 % 2", "error: `%` is not defined for floats"),
            ("1.5f", "float 1.5"),
            ("1e3", "double 1000"),
            (".5 + .25", "double 0.75"),
            ("1 / 0", "error: division by zero"),
            ("1 % 0", "error: division by zero"),
            ("!0 && !!5", "int 1"),
            ("~0u", "unsigned int 4294967295"),
            ("(unsigned char)257", "unsigned char 1 '\\x01'"),
            ("(short)70000", "short 4464"),
            ("(float)1 / 3", "float 0.33333334"),
            ("sizeof(unsigned long long)", "unsigned long 8"),
            ("sizeof(int *)", "unsigned long 8"),
            ("sizeof(char[10])", "unsigned long 10"),
            ("\"abc\" == \"abc\"", "int 1"),
            ("\"abc\" < \"abd\"", "int 1"),
            ("(int *)16 + 1", "int * 0x14"),
            ("(char *)20 - (char *)16", "long 4"),
            ("*(int *)16", "int <cannot read 4 bytes of memory at 0x10>"),
            ("NULL == 0", "int 1"),
            ("true + true", "int 2"),
            (
                "1 = 2",
                "error: assignments are allowed only on the console and in watches",
            ),
            ("x", "error: no variable `x` in this frame"),
            ("1 +", "error: unexpected end of expression"),
            ("(1", "error: expected `)` at the end"),
            ("1 2", "error: unexpected `2`"),
            ("", "error: expected an expression"),
            ("1.5 << 2", "error: `<<` is not defined for floats"),
            ("1.5 % 2", "error: `%` is not defined for floats"),
            ("-(int *)16", "error: `-` is not defined for `int *`"),
            (
                "(int *)16 & 7",
                "error: `&` is not defined for pointers; cast it with `(uintptr_t)`",
            ),
            ("(int *)16 == 16", "int 1"),
            ("1 ? (int *)16 : 2", "int * 0x10"),
            ("1 ? 2 : 3.5", "double 2"),
            ("0 ? 1u : -1", "unsigned int 4294967295"),
            ("sizeof(1 ? 2 : 3.5)", "unsigned long 8"),
            ("sizeof(*(char *)0)", "unsigned long 1"),
            ("sizeof(1 / 0)", "unsigned long 4"),
            ("5ll + 1", "long long 6"),
            ("5ll + 1ul", "unsigned long long 6"),
            (
                "(-2147483647 - 1) / -1",
                "error: `/` overflows `int`; cast an operand to a wider type",
            ),
            ("'", "error: empty character literal"),
            ("\"abc", "error: unterminated string literal: missing `\"`"),
            ("0x", "error: missing digits in number literal"),
            ("12abc", "error: invalid suffix `abc` of a number literal"),
            ("f(1)", "error: no variable `f` in this frame"),
            // Literals as C types them.
            ("0xffffffff", "unsigned int 4294967295"),
            ("0x1fu", "unsigned int 31"),
            ("0x8000000000000000", "unsigned long 9223372036854775808"),
            ("017 + 1", "int 16"),
            ("0b101", "int 5"),
            ("1ll", "long long 1"),
            ("1ull", "unsigned long long 1"),
            ("1'000'000", "int 1000000"),
            ("5u - 6", "unsigned int 4294967295"),
            ("-1 < 1u", "int 0"),
            ("u8\"x\" == \"x\"", "int 1"),
            ("R\"(a\\b\"c)\" == \"a\\\\b\\\"c\"", "int 1"),
            (
                "R\"x(a)\"",
                "error: unterminated string literal: missing `)x\"`",
            ),
            // Commas and format specifiers.
            ("(1, 2)", "int 2"),
            ("1, 2 + 3, x", "int 0x5"),
            ("255,x", "int 0xff"),
            ("255,X", "int 0xff"),
            ("255,h", "int 0xff"),
            ("5,b", "int 0b101"),
            ("8,o", "int 0o10"),
            ("97,c", "int 'a'"),
            ("'a',c", "int 'a'"),
            ("1,y", "error: no variable `y` in this frame"),
            // Casts.
            ("static_cast<unsigned char>(257)", "unsigned char 1 '\\x01'"),
            ("reinterpret_cast<int *>(16)", "int * 0x10"),
            ("double(3) / 2", "double 1.5"),
            ("static_cast<nothing>(1)", "error: unknown type `nothing`"),
            ("1 ? 2, 3 : 4", "error: expected `:` before `,`"),
            ("- -1", "int 1"),
            ("1 - --1", "int 0"),
            ("++1", "int 1"),
            (
                "x++",
                "error: assignments are allowed only on the console and in watches",
            ),
            ("f(", "error: unexpected end of expression"),
            ("1[..2]", "error: cannot slice a `int`"),
        ],
    );
}

#[test]
fn rust() {
    check(
        Language::Rust,
        &[
            ("1 + 2", "i32 3"),
            ("254u8 + 1", "u8 255"),
            (
                "255u8 + 1",
                "error: `+` overflows `u8`; cast an operand to a wider type",
            ),
            (
                "2147483647 + 1",
                "error: `+` overflows `i32`; cast an operand to a wider type",
            ),
            ("2147483647 as i64 + 1", "i64 2147483648"),
            (
                "1u8 + 1i32",
                "error: mismatched types `u8` and `i32`; cast the left operand with `as i32`",
            ),
            ("1u8 + 300", "error: 300 is out of range for `u8`"),
            ("-128i8", "i8 -128"),
            (
                "1u8 << 8",
                "error: shift count 8 is out of range: width is 8",
            ),
            ("if 1 < 2 { 3 } else { 4 }", "i32 3"),
            ("if false {1} else if true {2} else {3}", "i32 2"),
            ("if true {1}", "error: an `if` without `else` has no value"),
            ("r#\"a\"b\"# == \"a\\\"b\"", "bool true"),
            ("br\"x\" == b\"x\"", "bool true"),
            ("1e3f32", "f32 1000.0"),
            ("0xff", "i32 255"),
            ("3.5 % 2.0", "f64 1.5"),
            ("if true { 1 } else { 2u8 }", "u8 1"),
            ("1.5 + 1.0f32", "f32 2.5"),
            (
                "1u64 == 1usize",
                "error: mismatched types `u64` and `usize`; cast the right operand with `as u64`",
            ),
            (
                "1u8 + 1.5",
                "error: mismatched types `u8` and `f64`; cast the left operand with `as f64`",
            ),
            (
                "5 as bool",
                "error: cannot cast `i32` as `bool`; compare it, for example with `!= 0`",
            ),
            ("300 as char", "error: 300 is out of range for `u8`"),
            ("-1u8", "error: cannot apply unary `-` to `u8`"),
            ("~1", "error: `~` is no operator of Rust; use `!`"),
            (
                "1 && true",
                "error: expected `bool`, found `i32`; compare it, for example with `!= 0`",
            ),
            ("-i32::MIN", "error: `-` overflows `i32`"),
            ("(-5i32).abs()", "i32 5"),
            ("2i32.pow(10)", "i32 1024"),
            ("2u8.pow(8)", "error: `pow` overflows"),
            ("3u8.max(7)", "u8 7"),
            ("2.25f64.sqrt()", "f64 1.5"),
            ("255u8,x", "u8 0xff"),
            ("1_000i64", "i64 1000"),
            ("0xffu8 as i8", "i8 -1"),
            ("-1 as u8", "error: cannot apply unary `-` to `u8`"),
            ("300 as u8", "error: 300 is out of range for `u8`"),
            ("-1i32 as u8", "u8 255"),
            // A float saturates.
            ("-2.75 as u8", "u8 0"),
            ("300.5 as u8", "u8 255"),
            ("300.5 as i8", "i8 127"),
            ("-1e30 as i64", "i64 -9223372036854775808"),
            ("1e30 as i64 == i64::MAX", "bool true"),
            ("-7.9 as i32", "i32 -7"),
            ("3.7 as i32", "i32 3"),
            ("1 as f64 / 2.0", "f64 0.5"),
            ("!0u16", "u16 65535"),
            ("!true", "bool false"),
            ("'a' as u32", "u32 97"),
            ("b'a'", "u8 97"),
            ("'\\u{1f980}'", "char '🦀'"),
            ("1u8 < 300", "error: 300 is out of range for `u8`"),
            ("-1 < 1u8", "error: cannot apply unary `-` to `u8`"),
            ("1 & 3 == 1", "bool true"),
            ("true && false || true", "bool true"),
            ("5usize % 3", "usize 2"),
            ("1 << 3 == 8", "bool true"),
            ("\"a\" == \"a\"", "bool true"),
            (
                "340282366920938463463374607431768211455u128",
                "u128 340282366920938463463374607431768211455",
            ),
            (
                "340282366920938463463374607431768211456",
                "error: number literal exceeds 128 bits",
            ),
            ("300u8", "error: 300 is out of range for `u8`"),
            ("i8::MIN", "i8 -128"),
            ("(u8::MAX) as u32", "u32 255"),
            ("u64::MAX", "u64 18446744073709551615"),
            ("i128::MIN", "i128 -170141183460469231731687303715884105728"),
        ],
    );
}

#[test]
fn mistakes_are_marked() {
    let marked = |text: &str| {
        let mut nowhere = Nowhere(Language::C);
        let error = Expression::parse(text, Language::C)
            .and_then(|it| it.evaluate(&mut nowhere, Purpose::Look))
            .expect_err(text);
        super::with_marks(&error, text)
    };
    assert_eq!(
        marked("1 + foo * 2"),
        "no variable `foo` in this frame\n  1 + foo * 2\n      ^^^"
    );
    assert_eq!(
        marked("'é' + x"),
        "no variable `x` in this frame\n  'é' + x\n        ^"
    );
    assert_eq!(marked("1 +"), "unexpected end of expression\n  1 +\n     ^");
}

#[test]
fn unknown_name_is_an_error_of_its_own() {
    let fails = |text: &str| {
        let evaluated = Expression::parse(text, Language::C)
            .and_then(|it| it.evaluate(&mut Nowhere(Language::C), Purpose::Look));
        evaluated.expect_err(text)
    };
    for text in ["1 + foo", "1 + foo(2)", "1 + foo.bar"] {
        let error = fails(text);
        assert!(matches!(error, Error::UnknownName { .. }), "{error:?}");
        assert_eq!(error.span(), Some(&(4..7)), "{text}");
    }
    assert!(matches!(fails("1 / 0"), Error::Eval { .. }));
}

#[test]
fn places_of_mistakes() {
    let place = |text| match Expression::parse(text, Language::C) {
        Err(Error::Eval { span, .. }) => span,
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(place("1 + $"), 4..5);
    assert_eq!(place("ab ` 1"), 3..4);
    assert_eq!(place("(1 2)"), 3..4);
    assert_eq!(place("a.+"), 2..3);
}

#[test]
fn hostile_input() {
    let deep = 20_000;
    let mut texts = vec![
        "(".repeat(deep),
        "(".repeat(deep) + "1" + &")".repeat(deep),
        "-".repeat(deep) + "1",
        "!".repeat(deep) + "1",
        "*".repeat(deep) + "x",
        "&".repeat(deep) + "x",
        "1+".repeat(deep) + "1",
        "1?".repeat(deep) + "1",
        "a.".repeat(deep) + "b",
        "a[".repeat(deep),
        "a<".repeat(deep),
        "a::".repeat(deep),
        "(int*)".repeat(deep) + "1",
        "sizeof ".repeat(deep) + "1",
        "sizeof(".repeat(deep),
        "(*const ".repeat(deep),
        "a=".repeat(deep) + "1",
        "9".repeat(deep),
        "[".repeat(deep),
        "{".repeat(deep),
        "..".repeat(deep),
        "Some(".repeat(deep),
        "{ let x = ".repeat(deep),
        "{ let x = 1; ".repeat(deep),
        "|x| ".repeat(deep),
        "vec![".repeat(deep),
        "matches!(1, ".to_owned() + &"&".repeat(deep),
        "matches!(1, ".to_owned() + &"(".repeat(deep),
        "if let Some(".repeat(deep),
        "match ".repeat(deep),
        "[[0; 99999999]; 99999999]".into(),
        "1e".to_owned() + &"9".repeat(1000),
        "'".repeat(deep),
        "\"\\".repeat(deep),
        "int *".repeat(deep),
        "(unsigned ".repeat(deep),
        "x".repeat(1 << 20),
        "((int[9999999999999999999][9999999999999999999])x)".into(),
        "1 << 99999999999999999999999".into(),
        "-170141183460469231731687303715884105728i128 / -1i128".into(),
        "(__int128)1 << 127 >> 200".into(),
    ];
    for depth in [100, 200, 255, 256, 257] {
        texts.push("(".repeat(depth) + "1" + &")".repeat(depth));
        texts.push("1+".repeat(depth) + "1");
        texts.push("-".repeat(depth) + "1");
    }
    // Every pair of symbols.
    let parts = [
        "1", "x", "'", "\"", "\\", "(", ")", "[", "]", ".", "->", "::", "<", ">", "*", "&", "-",
        "as", "int", "sizeof", "$", "\u{0}", "\u{301}", "é", "🦀", "0x", "1e", "_", "?", ":", "=",
    ];
    for a in parts {
        for b in parts {
            for c in parts {
                texts.push(format!("{a}{b}{c}"));
            }
        }
    }
    for language in [Language::C, Language::Cpp, Language::Rust] {
        for text in &texts {
            let _ = show(text, language);
        }
    }
}

/// Random tokens, and mutated valid expressions: no panic, no endless loop.
#[test]
fn random_input() {
    let tokens = [
        "1",
        "0x",
        "2.5",
        "'a'",
        "\"s\"",
        "x",
        "y.z",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "+",
        "-",
        "*",
        "/",
        "%",
        "&",
        "|",
        "^",
        "~",
        "!",
        "++",
        "--",
        "->",
        ".",
        "::",
        "..",
        "..=",
        ",",
        "?",
        ":",
        "@",
        "=",
        "+=",
        "<<",
        "as",
        "i8",
        "if",
        "else",
        "sizeof",
        "int",
        "(int)",
        "static_cast<",
        "$1",
        "$rax",
        "len()",
        "f(",
        "r#\"",
        "R\"(",
        "raw",
        "é",
        "18446744073709551615",
        "u128::MAX",
        "-128i8",
        "[1..",
        "9999999999",
        "matches!(",
        "if let",
        "match",
        "=>",
        "Some(",
        "None",
        "&mut",
        "|",
        ";",
        "unsafe {",
        "P { x:",
    ];
    let good = [
        "(1 + 2) * 3 - -4 / 5 % 6 << 1",
        "static_cast<unsigned char>(300) ? sizeof(int[3]) : 'x'",
        "if 1 < 2 { 3u8 as i64 } else { \"a\".len() }",
        "(int *)16 + 1, [4]x",
        "1.5e3 + 0x1fu * 017, b",
        "\"text\"[1..3] == R\"(ex)\"",
        "match (1, Some([2; 3])) { (1, Some([a, ..])) if a > 1 => a, (n @ 1..=3 | n, _) => -n }",
    ];
    // xorshift64: the same cases in every run.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let languages = [Language::C, Language::Cpp, Language::Rust];
    for case in 0..20_000 {
        let text = if case % 2 == 0 {
            (0..1 + random(12))
                .map(|_| tokens[random(tokens.len())])
                .collect::<Vec<_>>()
                .join(["", " "][random(2)])
        } else {
            let mut text: Vec<char> = good[random(good.len())].chars().collect();
            for _ in 0..1 + random(3) {
                let at = random(text.len());
                match random(3) {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, ['(', ')', ',', '\'', '"', '9', '.', '-'][random(8)]),
                    _ => {
                        let other = random(text.len());
                        text.swap(at, other);
                    }
                }
            }
            text.into_iter().collect()
        };
        let language = languages[random(3)];
        let shown = show(&text, language);
        assert!(shown.len() < 1 << 16, "{text}");
        let at = text.floor_char_boundary(random(text.len() + 1));
        let (range, _) = super::complete(&mut Nowhere(language), &text, at);
        assert!(
            range.end == at && text.is_char_boundary(range.start),
            "{text}"
        );
    }
}

#[test]
fn deepest_nesting() {
    for text in [
        "(".repeat(250) + "1" + &")".repeat(250),
        "-".repeat(250) + "1",
        "1+".repeat(250) + "1",
        "1?".repeat(200) + "1" + &":1".repeat(200),
        "sizeof ".repeat(250) + "1",
        "(int)".repeat(250) + "1",
        "*".repeat(250) + "1",
    ] {
        let shown = show(&text, Language::C);
        assert!(!shown.contains("deeply"), "{shown}: {}", &text[..20]);
    }
}

/// The number of checks does not grow with each level of nesting.
#[test]
fn nested_operators() {
    for text in [
        "!".repeat(250) + "1",
        "!".repeat(250) + "nothing",
        "nothing->".repeat(200) + "next",
        "nothing = ".repeat(200) + "1",
        "f(".repeat(200) + "1" + &")".repeat(200),
        "nothing.f(".repeat(120) + "1" + &")".repeat(120),
        "int{".repeat(200) + "1" + &"}".repeat(200),
        "(nothing) - (".repeat(120) + "1" + &")".repeat(120),
    ] {
        for language in [Language::C, Language::Cpp, Language::Rust] {
            let shown = show(&text, language);
            assert!(!shown.contains("too long"), "{shown}: {}", &text[..20]);
        }
    }
}
