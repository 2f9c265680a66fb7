//! Random expressions.

use crate::programs::Language;
use fastrand::Rng;

/// Integer variables of each language, and places of other kinds that hold one.
const C_INTEGERS: &[&str] = &[
    "sc",
    "uc",
    "c",
    "s",
    "us",
    "i",
    "u",
    "l",
    "ul",
    "ll",
    "ull",
    "b",
    "(e + 0)",
    "box.small",
    "box.bits",
    "box.flag",
    "place->wide",
    "numbers[1]",
    "grid[1][2]",
    "*pointer",
];
const C_FLOATS: &[&str] = &["f", "d", "box.ratio"];
const C_POINTERS: &[&str] = &["pointer", "&numbers[2]", "&i", "other"];
const C_TYPES: &[&str] = &[
    "signed char",
    "unsigned char",
    "char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "float",
    "double",
];
const RUST_INTEGERS: &[&str] = &[
    "i8_",
    "u8_",
    "i16_",
    "u16_",
    "i32_",
    "u32_",
    "i64_",
    "u64_",
    "i128_",
    "usize_",
    "point.x",
    "point.y",
    "pair.0",
    "numbers[1]",
    "*borrowed",
];
const RUST_FLOATS: &[&str] = &["f32_", "f64_", "pair.1"];
const RUST_TYPES: &[&str] = &[
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "i128", "usize", "f32", "f64",
];

/// Makes expressions of one language.
pub struct Expressions {
    language: Language,
    random: Rng,
}

impl Expressions {
    /// Returns expressions that are the same for the same seed.
    pub fn new(language: Language, seed: u64) -> Self {
        let random = Rng::with_seed(seed * 3 + language as u64);
        Self { language, random }
    }

    /// Returns the next one.
    pub fn next(&mut self) -> String {
        let depth = 1 + self.random.usize(..3);
        self.any(depth)
    }

    fn of(&mut self, all: &[&str]) -> String {
        all[self.random.usize(..all.len())].to_owned()
    }

    fn literal(&mut self) -> String {
        let c = [
            "0",
            "1",
            "7",
            "255",
            "65536",
            "2147483647",
            "2147483648",
            "4294967295",
            "0x80000000",
            "3u",
            "5l",
            "9ul",
            "'a'",
            "1.5",
            "0.1f",
            "2.0",
            "010",
            "1e3",
        ];
        let rust = [
            "0", "1", "7", "100", "0x7f", "3u8", "5i64", "9usize", "1.5", "0.1", "2.0", "true",
            "false", "b'a'", "1_000", "-1",
        ];
        match self.language {
            Language::Rust => self.of(&rust),
            Language::C | Language::Cpp => self.of(&c),
        }
    }

    fn leaf(&mut self) -> String {
        let is_rust = self.language == Language::Rust;
        match (self.random.u8(..10), is_rust) {
            (0..2, _) => self.literal(),
            (2..8, true) => self.of(RUST_INTEGERS),
            (2..8, false) => self.of(C_INTEGERS),
            (8, true) => self.of(RUST_FLOATS),
            (8, false) => self.of(C_FLOATS),
            (_, true) => self.of(&["yes", "no", "letter"]),
            (_, false) => self.of(C_POINTERS),
        }
    }

    /// Returns an expression of any type, of at most this depth.
    fn any(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let left = self.any(depth - 1);
        let right = self.any(depth - 1);
        match self.language {
            Language::Rust => self.rust(&left, &right),
            Language::C | Language::Cpp => self.c(&left, &right),
        }
    }

    fn c(&mut self, left: &str, right: &str) -> String {
        match self.random.u8(..12) {
            0 => {
                let operator = self.of(&["-", "+", "~", "!"]);
                format!("{operator}({left})")
            }
            1 => {
                let ty = self.of(C_TYPES);
                format!("({ty})({left})")
            }
            2 => {
                let condition = self.any(1);
                format!("({condition}) ? ({left}) : ({right})")
            }
            // A count beyond the width has no meaning in the language.
            3 => {
                let (operator, count) = (self.of(&["<<", ">>"]), self.random.u8(..8));
                format!("({left}) {operator} {count}")
            }
            4 => format!("sizeof({left})"),
            _ => {
                let operator = self.of(&[
                    "+", "-", "*", "/", "%", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&",
                    "||",
                ]);
                format!("({left}) {operator} ({right})")
            }
        }
    }

    fn rust(&mut self, left: &str, right: &str) -> String {
        match self.random.u8(..12) {
            0 => {
                let operator = self.of(&["-", "!"]);
                format!("{operator}({left})")
            }
            1 => {
                let ty = self.of(RUST_TYPES);
                format!("({left}) as {ty}")
            }
            2 => {
                let condition = self.of(&["yes", "no", "i32_ < 0", "u8_ == 200"]);
                format!("if {condition} {{ {left} }} else {{ {right} }}")
            }
            3 => {
                let (operator, count) = (self.of(&["<<", ">>"]), self.random.u8(..7));
                format!("({left}) {operator} {count}")
            }
            // Operands of one type are frequent in programs, and rare by chance.
            4..8 => {
                let ty = self.of(RUST_TYPES);
                let operator = self.of(&["+", "-", "*", "/", "%", "<", "==", "!="]);
                format!("(({left}) as {ty}) {operator} (({right}) as {ty})")
            }
            _ => {
                let operator = self.of(&[
                    "+", "-", "*", "/", "%", "&", "|", "^", "<", "<=", ">", ">=", "==", "!=", "&&",
                    "||",
                ]);
                format!("({left}) {operator} ({right})")
            }
        }
    }
}
