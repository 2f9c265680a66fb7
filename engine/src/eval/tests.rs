//! Expressions that need no debug info, and input that no one should write.

use super::{EvalContext, Expression, Purpose};
use crate::error::Error;
use crate::value::{Limits, RegisterPlace, Target, Value, present};
use dwarf::{Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, TypeId, Unreadable};
use std::sync::Arc;

/// A frame with nothing in it.
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
    fn variable(&self, _: &str) -> Result<Option<Value>, Error> {
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
    let value =
        Expression::parse(text, language).and_then(|it| it.evaluate(&mut nowhere, Purpose::Look));
    match value {
        Ok(value) => {
            let shown = present(&nowhere, &value, &Limits::default());
            format!("{} {}", shown.type_name, shown.text)
        }
        Err(error) => format!("error: {error}"),
    }
}

fn check(language: Language, expected: &[(&str, &str)]) {
    for (text, expected) in expected {
        assert_eq!(show(text, language), *expected, "{text}");
    }
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
            ("'a'", "char 97 'a'"),
            ("'\\n'", "char 10 '\\n'"),
            ("'\\x41' == 'A'", "int 1"),
            ("L'x'", "wchar_t 120 U'x'"),
            ("1.5f", "float 1.5"),
            ("1e3", "double 1000"),
            (".5 + .25", "double 0.75"),
            ("1 / 0", "error: division by zero"),
            ("1 % 0", "error: division by zero"),
            ("1.0 % 0.0 == 1", "int 0"),
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
                "error: an assignment is not possible here, where values are only looked at",
            ),
            ("x", "error: no variable `x` here"),
            ("1 +", "error: the expression ends too early"),
            ("(1", "error: `)` is expected at the end"),
            ("1 2", "error: `2` is not expected here"),
            ("", "error: an expression is expected"),
            ("1.5 << 2", "error: `<<` is not possible with floats"),
            ("'", "error: a character is expected between the quotes"),
            ("\"abc", "error: this string has no closing `\"`"),
            ("0x", "error: digits are missing in this number"),
            ("12abc", "error: `abc` is no suffix of a number"),
            (
                "f(1)",
                "error: functions cannot be called here (yet); only look at values",
            ),
        ],
    );
}

#[test]
fn rust() {
    check(
        Language::Rust,
        &[
            ("1 + 2", "i32 3"),
            ("255u8 + 1", "u8 0"),
            ("1_000i64", "i64 1000"),
            ("0xffu8 as i8", "i8 -1"),
            ("-1 as u8", "u8 255"),
            ("3.7 as i32", "i32 3"),
            ("1 as f64 / 2.0", "f64 0.5"),
            ("!0u16", "u16 65535"),
            ("!true", "bool false"),
            ("'a' as u32", "u32 97"),
            ("b'a'", "u8 97"),
            ("'\\u{1f980}'", "char '🦀'"),
            ("1u8 < 300", "bool true"),
            ("-1 < 1u8", "bool true"),
            ("1 & 3 == 1", "bool true"),
            ("true && false || true", "bool true"),
            ("5usize % 3", "usize 2".replace("usize", "u64").leak()),
            ("1 << 3 == 8", "bool true"),
            ("\"a\" == \"a\"", "bool true"),
            (
                "340282366920938463463374607431768211455u128",
                "u128 340282366920938463463374607431768211455",
            ),
            (
                "340282366920938463463374607431768211456",
                "error: this number does not fit 128 bits",
            ),
            ("300u8", "error: 300 does not fit `u8`"),
            ("i128::MIN", "error: no variable `i128::MIN` here"),
        ],
    );
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
    // Every symbol next to every other.
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
