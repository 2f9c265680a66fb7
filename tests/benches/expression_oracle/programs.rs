//! Programs that print expressions.

use crate::random::Expressions;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use stillpoint_tests::target_directory;

/// The language of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    /// C, by gcc.
    C,
    /// C++, by g++.
    Cpp,
    /// Rust.
    Rust,
}

/// A program that prints its expressions, and stops at the marker `stop`.
pub struct Program {
    /// Its language.
    pub language: Language,
    /// The path of its source.
    pub source: String,
    /// Its expressions.
    pub expressions: Vec<String>,
    /// Indices of those that the compiler rejects.
    pub rejected: BTreeSet<usize>,
}

/// The line of a source on which the first expression is.
const MARK: &str = "// expressions\n";

impl Program {
    /// Writes a program with so many random expressions.
    pub fn random(language: Language, seed: u64, count: usize) -> Self {
        let mut expressions = Expressions::new(language, seed);
        let expressions: Vec<String> = (0..count).map(|_| expressions.next()).collect();
        let folder = target_directory().join("expression_oracle");
        fs::create_dir_all(&folder).expect("a folder for the programs");
        let ending = match language {
            Language::C => "c",
            Language::Cpp => "cpp",
            Language::Rust => "rs",
        };
        let path = folder.join(format!("seed{seed}.{ending}"));
        let source = path.to_str().expect("a path of text").to_owned();
        let mut rejected = BTreeSet::new();
        loop {
            let text = language.text(&expressions, &rejected);
            if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
                fs::write(&path, &text).expect("the source is written");
            }
            let more = language.errors(&source, &text, count);
            if more.is_empty() {
                break;
            }
            rejected.extend(more);
        }
        Self {
            language,
            source,
            expressions,
            rejected,
        }
    }
}

impl Language {
    /// Returns a program that prints the expressions except the rejected ones; each is on a line of
    /// its own.
    fn text(self, expressions: &[String], rejected: &BTreeSet<usize>) -> String {
        let (begin, end) = match self {
            Language::C => (C, "    return 0; //@ stop\n}\n"),
            Language::Cpp => (CPP, "    return 0; //@ stop\n}\n"),
            Language::Rust => (RUST, "    std::hint::black_box(0); //@ stop\n}\n"),
        };
        let mut text = begin.to_owned();
        for (index, expression) in expressions.iter().enumerate() {
            let line = match self {
                _ if rejected.contains(&index) => String::new(),
                Language::C | Language::Cpp => format!("SHOW({index}, {expression});"),
                Language::Rust => format!("show({index}, || {{ {expression} }});"),
            };
            text.push_str(&line);
            text.push('\n');
        }
        text + end
    }

    /// Returns the indices of the expressions that the compiler rejects.
    fn errors(self, source: &str, text: &str, count: usize) -> BTreeSet<usize> {
        let mut compiler = match self {
            Language::C => Command::new("gcc"),
            Language::Cpp => Command::new("g++"),
            Language::Rust => Command::new("rustc"),
        };
        match self {
            Language::C | Language::Cpp => compiler.args(["-w", "-fsyntax-only"]),
            Language::Rust => compiler
                .args([
                    "--edition=2024",
                    "--emit=metadata",
                    "--error-format=short",
                    "-o",
                ])
                .arg(format!("{source}.meta")),
        };
        let output = compiler
            .arg(source)
            .output()
            .expect("the compiler is installed");
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let before = text.find(MARK).expect("the mark") + MARK.len();
        let first = text[..before].lines().count() + 1;
        let line_of = |message: &str| -> Option<usize> {
            let mut fields = message.strip_prefix(source)?.split(':').skip(1);
            let line: usize = fields.next()?.parse().ok()?;
            let rest: Vec<&str> = fields.collect();
            let is_error = rest.iter().any(|it| {
                it.trim_start().starts_with("error") || it.contains("required from here")
            });
            (is_error && (first..first + count).contains(&line)).then(|| line - first)
        };
        let found: BTreeSet<usize> = messages.lines().filter_map(line_of).collect();
        assert!(
            output.status.success() || !found.is_empty(),
            "{source}: {messages}"
        );
        found
    }
}

/// Returns whether two spellings are of one type: `long int` is `long`.
pub fn same_type(one: &str, other: &str) -> bool {
    canonical(one) == canonical(other)
}

fn canonical(name: &str) -> Vec<String> {
    let pointers = name.matches('*').count();
    let words = name.replace('*', " ");
    let mut words: Vec<String> = words
        .split_whitespace()
        .filter(|word| !matches!(*word, "const" | "enum" | "struct"))
        .map(str::to_owned)
        .collect();
    let has = |words: &[String], word: &str| words.iter().any(|it| it == word);
    if has(&words, "long") || has(&words, "short") || has(&words, "unsigned") {
        words.retain(|it| it != "int");
    }
    words.retain(|it| it != "signed" || name.contains("char"));
    words.sort();
    words.extend(std::iter::repeat_n("*".to_owned(), pointers));
    words
}

/// The types of C and C++.
macro_rules! c_types {
    () => {
        "enum Color { RED, GREEN = 5, BLUE = -2 };
struct Box { short small; unsigned bits : 5; int flag : 1; float ratio; long wide; };
"
    };
}

/// The variables of C and C++.
macro_rules! c_variables {
    () => {
        "static sigjmp_buf before;
static void on_signal(int signal) { (void)signal; siglongjmp(before, 1); }

int main(void) {
    signed char sc = -100; unsigned char uc = 200; char c = 'x'; short s = -30000;
    unsigned short us = 60000; int i = -7; unsigned u = 4000000000u; long l = -5000000000l;
    unsigned long ul = 0xfedcba9876543210ul; long long ll = 77; unsigned long long ull = 8;
    bool b = true; float f = 0.1f; double d = -2.75; enum Color e = GREEN;
    struct Box box = { -3, 21, -1, 6.5f, 1234567890123l }; struct Box *place = &box;
    int numbers[4] = { 10, -20, 30, -40 }; int grid[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
    int *pointer = &numbers[1], *other = &numbers[3];
    signal(SIGFPE, on_signal);
    setvbuf(stdout, 0, _IOFBF, 1 << 16);
"
    };
}

const C: &str = concat!(
    "//# flags: -fwrapv -w
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

",
    c_types!(),
    "#define NAME(x) _Generic((x), bool: \"bool\", char: \"char\", signed char: \"signed char\", \\
    unsigned char: \"unsigned char\", short: \"short\", unsigned short: \"unsigned short\", \\
    int: \"int\", unsigned: \"unsigned\", long: \"long\", unsigned long: \"unsigned long\", \\
    long long: \"long long\", unsigned long long: \"unsigned long long\", float: \"float\", \\
    double: \"double\", int *: \"int *\")
#define PRINT(x) _Generic((x), bool: print_bool, float: print_double, double: print_double, \\
    unsigned long: print_unsigned, unsigned long long: print_unsigned, int *: print_pointer, \\
    default: print_signed)(x)
static void print_bool(bool x) { printf(\"%s\\n\", x ? \"true\" : \"false\"); }
static void print_signed(long x) { printf(\"%ld\\n\", x); }
static void print_unsigned(unsigned long x) { printf(\"%lu\\n\", x); }
static void print_double(double x) { printf(\"%.17g\\n\", x); }
static void print_pointer(const void *x) { printf(\"%p\\n\", x); }
#define SHOW(n, x) \\
    if (sigsetjmp(before, 1)) printf(\"%d\\ttrap\\n\", n); \\
    else { __typeof__(((void)0, x)) value = (x); printf(\"%d\\t%s\\t\", n, NAME(value)); PRINT(value); }
",
    c_variables!(),
    "// expressions\n"
);

const CPP: &str = concat!(
    "//# flags: -fwrapv -w
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <setjmp.h>

",
    c_types!(),
    "#define NAMES(T) inline const char *name(const T *) { return #T; }
NAMES(bool) NAMES(char) NAMES(signed char) NAMES(unsigned char) NAMES(short) NAMES(unsigned short)
NAMES(int) NAMES(unsigned) NAMES(long) NAMES(unsigned long) NAMES(long long)
NAMES(unsigned long long) NAMES(float) NAMES(double) NAMES(Color)
inline const char *name(int *const *) { return \"int *\"; }
inline void print(bool x) { printf(\"%s\\n\", x ? \"true\" : \"false\"); }
inline void print(double x) { printf(\"%.17g\\n\", x); }
inline void print(float x) { print(double(x)); }
inline void print(const void *x) { printf(\"%p\\n\", x); }
inline void print(unsigned long x) { printf(\"%lu\\n\", x); }
inline void print(unsigned long long x) { printf(\"%llu\\n\", x); }
template <class T> void print(T x) { printf(\"%ld\\n\", (long)x); }
inline void print(int *x) { print((const void *)x); }
template <class T> void show(int n, const T &x) {
    printf(\"%d\\t%s\\t\", n, name(&x));
    print(x);
}
#define SHOW(n, x) \\
    if (sigsetjmp(before, 1)) printf(\"%d\\ttrap\\n\", n); \\
    else show(n, (x))
",
    c_variables!(),
    "// expressions\n"
);

const RUST: &str = "//# flags: -Coverflow-checks=off
#![allow(warnings, unconditional_panic, arithmetic_overflow, overflowing_literals)]
use std::panic::{AssertUnwindSafe, catch_unwind};

trait Shown { const NAME: &'static str; fn text(&self) -> String; }
macro_rules! shown { ($($t:ident)*) => { $(impl Shown for $t {
    const NAME: &'static str = stringify!($t);
    fn text(&self) -> String { self.to_string() }
})* } }
shown!(i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 isize usize f32 f64 bool);
impl Shown for char {
    const NAME: &'static str = \"char\";
    fn text(&self) -> String { format!(\"{self:?}\") }
}

fn show<T: Shown>(n: usize, of: impl FnOnce() -> T) {
    match catch_unwind(AssertUnwindSafe(of)) {
        Ok(value) => println!(\"{n}\\t{}\\t{}\", T::NAME, value.text()),
        Err(_) => println!(\"{n}\\ttrap\"),
    }
}

struct Point { x: i32, y: u16 }

fn main() {
    std::panic::set_hook(Box::new(|_| ()));
    let (i8_, u8_, i16_, u16_) = (-100i8, 200u8, -30000i16, 60000u16);
    let (i32_, u32_, i64_, u64_) = (-7i32, 4000000000u32, -5000000000i64, 0xfedcba9876543210u64);
    let (i128_, usize_, f32_, f64_) = (-170141183460469231731687303715884105728i128, 9usize, 0.1f32, -2.75f64);
    let (yes, no, letter) = (true, false, 'x');
    let (point, pair) = (Point { x: -3, y: 21 }, (77u8, 6.5f32));
    let numbers = [10i32, -20, 30]; let borrowed = &numbers[2];
// expressions
";
