//! Random programs: the same text for the same seed.

use fastrand::Rng;
use std::fmt::Write as _;

/// What a program is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Language {
    C,
    Cpp,
    Rust,
}

impl Language {
    /// How its sources end.
    pub fn ending(self) -> &'static str {
        match self {
            Language::C => "c",
            Language::Cpp => "cpp",
            Language::Rust => "rs",
        }
    }
}

/// Functions that a program has besides `walk`: each calls only those before it.
const FUNCTIONS: usize = 5;
/// Statements in a statement in a statement.
const MAX_NESTING: usize = 3;

/// A program with a function `walk` to step through.
pub fn program(language: Language, seed: u64) -> String {
    let mut writer = Writer {
        language,
        random: Rng::with_seed(seed * 31 + 1),
        text: String::new(),
        indent: 1,
        counters: 0,
        callable: 0,
    };
    writer.program();
    writer.text
}

struct Writer {
    language: Language,
    random: Rng,
    text: String,
    indent: usize,
    counters: usize,
    /// How many functions can be called.
    callable: usize,
}

impl Writer {
    fn program(&mut self) {
        let is_rust = self.language == Language::Rust;
        self.text.push_str(match is_rust {
            true => "use std::hint::black_box;\n\n",
            false => "static volatile int sink;\n\n",
        });
        for number in 0..FUNCTIONS {
            let is_inline = number % 2 == 0;
            let head = match (is_rust, is_inline) {
                (true, true) => "#[inline(always)]\nfn ",
                (true, false) => "#[inline(never)]\nfn ",
                (false, true) => "static inline __attribute__((always_inline)) int ",
                (false, false) => "__attribute__((noinline)) static int ",
            };
            self.function(head, &format!("f{number}"), 2);
            self.callable = number + 1;
        }
        let head = match is_rust {
            true => "#[inline(never)]\nfn ",
            false => "__attribute__((noinline)) int ",
        };
        self.function(head, "walk", 6);
        self.text.push_str(match is_rust {
            true => "fn main() {\n    black_box(walk(black_box(2), black_box(3)));\n}\n",
            false => "int main(int argc, char **argv) {\n    (void)argv;\n    return walk(argc + 1, 3) & 1;\n}\n",
        });
    }

    fn function(&mut self, head: &str, name: &str, statements: usize) {
        let (a, b, end) = match self.language {
            Language::Rust => ("mut a: i32", "mut b: i32", " -> i32 {"),
            _ => ("int a", "int b", " {"),
        };
        let _ = writeln!(self.text, "{head}{name}({a}, {b}){end}");
        for _ in 0..statements {
            self.statement(0);
        }
        let sum = self.sum();
        match self.language {
            Language::Rust => self.line(&sum),
            _ => self.line(&format!("return {sum};")),
        }
        self.text.push_str("}\n\n");
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.text, "{:1$}{text}", "", self.indent * 4);
    }

    fn block(&mut self, nesting: usize) {
        self.indent += 1;
        for _ in 0..self.random.usize(1..=2) {
            self.statement(nesting + 1);
        }
        self.indent -= 1;
    }

    fn variable(&mut self) -> &'static str {
        self.random.choice(["a", "b"]).expect("two")
    }

    fn sum(&mut self) -> String {
        let (left, right) = (self.value(0), self.value(0));
        match self.language {
            Language::Rust => format!("{left}.wrapping_add({right})"),
            _ => format!("{left} + {right}"),
        }
    }

    /// An expression, with calls in it.
    fn value(&mut self, nesting: usize) -> String {
        let variable = self.variable();
        match self.random.usize(..5) {
            0 => self.random.i32(1..9).to_string() + self.suffix(),
            1 | 2 if self.callable > 0 && nesting < 2 => {
                let callee = self.random.usize(..self.callable);
                let (left, right) = (self.value(nesting + 1), self.value(nesting + 1));
                format!("f{callee}({left}, {right})")
            }
            3 => match self.language {
                Language::Rust => format!("({variable} ^ 5)"),
                _ => format!("({variable} ^ sink)"),
            },
            _ => variable.to_owned(),
        }
    }

    fn suffix(&self) -> &'static str {
        match self.language {
            Language::Rust => "_i32",
            _ => "",
        }
    }

    fn assignment(&mut self) -> String {
        let (variable, sum) = (self.variable(), self.sum());
        match (self.language, self.random.usize(..3)) {
            (Language::Rust, 0) => format!("{variable} = black_box({sum});"),
            (Language::Rust, _) => format!("{variable} = {sum};"),
            (_, 0) => format!("sink = {sum};"),
            (_, 1) => format!("{variable} += {sum};"),
            _ => format!("{variable} = {sum};"),
        }
    }

    fn condition(&mut self) -> String {
        let (variable, bit) = (self.variable(), self.random.u32(..3));
        match self.language {
            Language::Rust => format!("{variable} >> {bit} & 1 == 0"),
            _ => format!("({variable} >> {bit} & 1) == 0"),
        }
    }

    fn statement(&mut self, nesting: usize) {
        let kind = match nesting < MAX_NESTING {
            true => self.random.usize(..14),
            false => self.random.usize(..4),
        };
        match self.language {
            Language::Rust => self.rust(kind, nesting),
            _ => self.c(kind, nesting),
        }
    }

    fn c(&mut self, kind: usize, nesting: usize) {
        let counter = format!("i{}", self.counters);
        let times = self.random.usize(1..4);
        let condition = self.condition();
        let step = self.assignment();
        let head = format!("for (int {counter} = 0; {counter} < {times}; {counter}++)");
        self.counters += usize::from(kind >= 4);
        match kind {
            0..=2 => self.line(&step),
            3 => {
                let other = self.assignment();
                self.line(&format!("{step} {other}"));
            }
            4 => self.line(&format!("{head} {step}")),
            5 => {
                self.line(&head);
                self.line(&format!("    {step}"));
            }
            6 | 7 => {
                self.line(&format!("{head} {{"));
                self.block(nesting);
                self.line("}");
            }
            8 => {
                self.line(&format!("if ({condition})"));
                self.line(&format!("    {step}"));
            }
            9 => {
                self.line(&format!("if ({condition}) {{"));
                self.block(nesting);
                self.line("} else {");
                self.block(nesting);
                self.line("}");
            }
            10 => {
                self.line(&format!("int {counter} = {times};"));
                self.line(&format!("while ({counter}-- > 0) {{"));
                self.block(nesting);
                self.line("}");
            }
            11 => {
                self.line(&format!("int {counter} = {times};"));
                self.line("do {");
                self.block(nesting);
                self.line(&format!("}} while (--{counter} > 0);"));
            }
            12 => {
                self.line("switch (a & 3) {");
                for case in 0..3 {
                    self.line(&format!("case {case}: {{"));
                    self.block(nesting);
                    if case != 1 {
                        self.line("    break;");
                    }
                    self.line("}");
                }
                self.line("default:");
                self.line(&format!("    {step}"));
                self.line("}");
            }
            _ if self.language == Language::Cpp => {
                self.line(&format!("int {counter}[] = {{1, a, 2}};"));
                self.line(&format!("for (int each : {counter})"));
                self.line("    b += each;");
                self.line("auto add = [&a](int value) {");
                self.line("    return a + value;");
                self.line("};");
                let text = self.text.len();
                // A name of its own for each lambda.
                let at = self.text.rfind("auto add").unwrap_or(text);
                self.text
                    .replace_range(at..at + 8, &format!("auto add_{counter}"));
                self.line(&format!("b = add_{counter}(b);"));
            }
            _ => {
                let other = self.sum();
                self.line(&format!("b = {condition} ? {other} : a;"));
            }
        }
    }

    fn rust(&mut self, kind: usize, nesting: usize) {
        let counter = format!("i{}", self.counters);
        let times = self.random.usize(1..4);
        let condition = self.condition();
        let step = self.assignment();
        let head = format!("for {counter} in 0..{times}");
        self.counters += usize::from(kind >= 4);
        match kind {
            0..=2 => self.line(&step),
            3 => {
                let other = self.assignment();
                self.line(&format!("{step} {other}"));
            }
            4 => self.line(&format!("{head} {{ b ^= {counter}; }}")),
            5 => {
                self.line(&format!("{head} {{"));
                self.line(&format!("    b ^= {counter};"));
                self.line("}");
            }
            6 | 7 => {
                self.line(&format!("for _ in 0..{times} {{"));
                self.block(nesting);
                self.line("}");
            }
            8 => {
                self.line(&format!("if {condition} {{"));
                self.line(&format!("    {step}"));
                self.line("}");
            }
            9 => {
                self.line(&format!("if {condition} {{"));
                self.block(nesting);
                self.line("} else {");
                self.block(nesting);
                self.line("}");
            }
            10 => {
                self.line(&format!("let mut {counter} = {times};"));
                self.line(&format!("while {counter} > 0 {{"));
                self.line(&format!("    {counter} -= 1;"));
                self.block(nesting);
                self.line("}");
            }
            11 => {
                self.line(&format!("let mut {counter} = {times};"));
                self.line("loop {");
                self.block(nesting);
                self.line(&format!("    {counter} -= 1;"));
                self.line(&format!("    if {counter} == 0 {{"));
                self.line("        break;");
                self.line("    }");
                self.line("}");
            }
            12 => {
                self.line("match a & 3 {");
                for case in 0..3 {
                    self.line(&format!("    {case} => {{"));
                    self.indent += 1;
                    self.block(nesting);
                    self.indent -= 1;
                    self.line("    }");
                }
                self.line(&format!("    _ => {{ {step} }}"));
                self.line("}");
            }
            _ => {
                self.line(&format!("let {counter} = [a, b, 3];"));
                self.line(&format!("for each in {counter}.iter().rev() {{"));
                self.line("    b ^= each;");
                self.line("}");
                self.line(&format!("a ^= {counter}.iter().map(|it| {{"));
                self.line("    it ^ b");
                self.line("}).fold(0, |all, it| all ^ it);");
            }
        }
    }
}
