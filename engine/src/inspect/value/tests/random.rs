//! Random expressions over the variables of real programs with random memory: bounded, and without
//! panics. `STILLPOINT_RANDOM_SECONDS` extends the run.

use super::harness::Program;
use super::noise::Noise;
use crate::expr::{EvalContext, Expression, Purpose};
use crate::ids::error::Error;
use crate::inspect::value::{Limits, Target, Ty, Value, ValueLocation, present};
use dwarf::{Language, LoadAddr, LoadBias, Module, TypeId};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

impl EvalContext for Noise<'_> {
    fn language(&self) -> Language {
        self.program.language()
    }
    fn global(&self, name: &str) -> Result<Option<Value>, Error> {
        let mut value = self.program.variable(name)?;
        if let (Some(value), false) = (&mut value, self.nearly_right)
            && !matches!(value.ty, Ty::Function(_))
        {
            value.place = ValueLocation::Memory(LoadAddr(self.seed * 8 + 0x1000), None);
        }
        Ok(value)
    }
    fn register(&self, name: &str) -> Option<Value> {
        self.program.register(name)
    }
    fn type_named(&self, name: &str) -> Option<(Arc<Module>, LoadBias, TypeId)> {
        self.program.type_named(name)
    }
    fn answered(&self, _: &Range<usize>) -> Option<Result<Value, Error>> {
        None
    }
    fn as_target(&self) -> &dyn Target {
        self
    }
}

/// xorshift64: the same cases in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// An expression; `#` in a form stands for another one.
    fn expression(
        &mut self,
        names: &[&str],
        members: &[&str],
        types: &[&str],
        depth: u32,
    ) -> String {
        const FORMS: &[&str] = &[
            "#.M",
            "#.M()",
            "#.M(#)",
            "#->M",
            "#[#]",
            "#[#..#]",
            "#[..#]",
            "*#",
            "&#",
            "-#",
            "!#",
            "~#",
            "(#)",
            "(#) + #",
            "(#) - #",
            "(#) * #",
            "(#) / #",
            "(#) % #",
            "(#) << #",
            "(#) == #",
            "(#) < #",
            "(#) && #",
            "(#)@#",
            "(T *)#",
            "(T)#",
            "(T &)#",
            "(#) as T",
            "static_cast<T *>(#)",
            "dynamic_cast<T *>(#)",
            "reinterpret_cast<T *>(#)",
            "sizeof(#)",
            "sizeof(T)",
            "(#) ? # : #",
            "if # { # } else { # }",
            "# = #",
            "# += #",
            "#++",
            "--#",
            "T::M",
            "#(#)",
        ];
        const LEAVES: &[&str] = &[
            "0",
            "1",
            "-1",
            "7u8",
            "1.5",
            "'a'",
            "\"one\"",
            "0xffffffffffffffff",
            "$rax",
            "$rax.u8",
            "99999999",
            "NULL",
            "true",
        ];
        if depth == 0 || self.below(5) == 0 {
            return match self.below(3) {
                0 => self.of(LEAVES).to_owned(),
                _ => self.of(names).to_owned(),
            };
        }
        let mut text = String::new();
        for part in self.of(FORMS).chars() {
            match part {
                '#' => text += &self.expression(names, members, types, depth - 1),
                'M' => text += self.of(members),
                'T' => text += self.of(types),
                other => text.push(other),
            }
        }
        text
    }
}

fn run(program: &Program, names: &[&str], types: &[&str]) {
    let members = &[
        "x",
        "y",
        "value",
        "next",
        "0",
        "1",
        "len",
        "size",
        "empty",
        "is_some",
        "unwrap",
        "get",
        "at",
        "front",
        "last",
        "data",
        "as_str",
        "contains",
        "contains_key",
        "count",
        "capacity",
        "c_str",
        "starts_with",
        "has_value",
        "abs",
        "pow",
        "min",
        "sqrt",
        "MAX",
    ];
    let longer = std::env::var("STILLPOINT_RANDOM_SECONDS").ok();
    let longer = longer
        .and_then(|it| it.parse().ok())
        .map(Duration::from_secs);
    let start = Instant::now();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut good = 0;
    let mut seed = 0;
    while seed < 3000 || longer.is_some_and(|it| start.elapsed() < it) {
        seed += 1;
        let depth = 1 + seed as u32 % 4;
        let text = random.expression(names, members, types, depth);
        let mut noise = Noise {
            program,
            seed: seed / 8,
            nearly_right: seed % 2 == 1,
        };
        let began = Instant::now();
        let purpose = [Purpose::Look, Purpose::Change][random.below(2)];
        let value = Expression::parse(&text, noise.program.language())
            .and_then(|it| it.evaluate(&mut noise, purpose));
        if let Ok(value) = value {
            good += 1;
            let limits = Limits::default();
            let shown = present(&noise, &value, &limits).text;
            // The limit holds up to one string and its escapes.
            assert!(shown.len() <= limits.text + 3, "{text}: {}", shown.len());
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{text}");
    }
    assert!(good > seed / 20, "{good} of {seed} have a value");
    if longer.is_some() {
        eprintln!("{good} of {seed} expressions have a value");
    }
}

#[test]
fn rust() {
    let compiler = ["rustc", "-g", "--edition", "2021", "-A", "warnings"];
    if let Some(program) = Program::start(&compiler, "fixture.rs", Language::Rust) {
        let names = [
            "vec",
            "string",
            "text",
            "slice",
            "array",
            "some",
            "none",
            "ok",
            "err",
            "boxed_text",
            "rc",
            "i",
            "byte",
            "tuple",
            "matrix",
            "some_string",
            "bytes",
            "long",
            "point",
        ];
        run(
            &program,
            &names,
            &["i32", "u8", "f64", "fixture::Point", "*const u8"],
        );
    }
}

#[test]
fn cpp() {
    let compiler = ["g++", "-std=c++20", "-g", "-w"];
    if let Some(program) = Program::start(&compiler, "fixture.cpp", Language::Cpp) {
        let names = [
            "derived",
            "base",
            "small",
            "numbers",
            "strings",
            "boxes",
            "triple",
            "bottom",
            "view",
            "method",
            "shape",
            "owned_shape",
            "square",
            "second_base",
            "plain_shape",
            "mode",
        ];
        let types = [
            "int",
            "double",
            "ns::Derived",
            "ns::Other",
            "Square",
            "Named",
            "Shape",
            "Top",
            "Bottom",
            "char",
        ];
        run(&program, &names, &types);
    }
}
