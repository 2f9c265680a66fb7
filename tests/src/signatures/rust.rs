//! Random types and functions of Rust.

use super::{Function, pick};
use fastrand::Rng;
use std::fmt::Write;

/// Types that programs need not define, and their values.
const KNOWN: &[(&str, &str)] = &[
    ("u8", "201"),
    ("i8", "-3"),
    ("u16", "60001"),
    ("i16", "-300"),
    ("u32", "4000000001"),
    ("i32", "-70000"),
    ("u64", "18000000000000000001"),
    ("i64", "-70000000000"),
    ("usize", "77"),
    ("u128", "300000000000000000000000000000001"),
    ("i128", "-5"),
    ("f32", "1.25"),
    ("f64", "-2.5"),
    ("f32", "3.75"),
    ("f64", "4.125"),
    ("bool", "true"),
    ("char", "'ü'"),
    ("&'static u32", "&NUMBER"),
    ("&'static str", "\"text\""),
    ("&'static [u16]", "&[1, 2, 3]"),
    ("Option<u32>", "Some(9)"),
    ("Option<u64>", "Some(10)"),
    ("Option<&'static u32>", "Some(&NUMBER)"),
    ("Option<char>", "None"),
    ("Result<u8, i32>", "Err(-6)"),
    ("()", "()"),
    ("Plain", "Plain::Second"),
    ("Wrapped<f64>", "Wrapped(8.5)"),
    ("Wrapped<u128>", "Wrapped(12)"),
];
/// Number of types that a program defines.
const TYPES: usize = 24;

const BEFORE: &str = "\
#![allow(warnings)]
use std::hint::black_box;
pub static NUMBER: u32 = 12;
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Plain { First, Second }
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wrapped<T>(T);
pub static mut SEEN: u64 = 0;
";

struct Writer<'a> {
    random: &'a mut Rng,
    /// Types with a value.
    types: Vec<(String, String)>,
    /// Those without bytes, which debug info does not name as a result.
    empty: Vec<String>,
}

/// Returns the source of a program with so many functions.
pub(super) fn program(random: &mut Rng, count: usize) -> (String, Vec<Function>) {
    let known = KNOWN.iter();
    let types = known.map(|(ty, value)| ((*ty).to_owned(), (*value).to_owned()));
    let mut writer = Writer {
        random,
        types: types.collect(),
        empty: vec!["()".to_owned()],
    };
    let mut text = BEFORE.to_owned();
    for nth in 0..TYPES {
        writer.define(nth, &mut text);
    }
    let mut own = String::new();
    let functions = (0..count)
        .map(|nth| writer.function(nth, &mut text, &mut own))
        .collect();
    let _ = write!(
        text,
        "#[inline(never)]\nfn nothing() {{ black_box(0); }}\n\
         fn main() {{ let mut failed = 0;\n    unsafe {{\n{own}    }}\n    \
         nothing(); //@ stop\n    std::process::exit(failed);\n}}\n"
    );
    (text, functions)
}

impl Writer<'_> {
    fn any(&mut self) -> (String, String) {
        let nth = self.random.usize(..self.types.len());
        // Those that the program defines are as many as the others.
        let nth = match self.random.bool() {
            true if self.types.len() > KNOWN.len() => {
                self.random.usize(KNOWN.len()..self.types.len())
            }
            _ => nth,
        };
        self.types[nth].clone()
    }

    fn define(&mut self, nth: usize, text: &mut String) {
        let name = format!("S{nth}");
        let _ = writeln!(text, "#[derive(Clone, Copy, PartialEq, Debug)]");
        let count = self.random.usize(1..=4);
        let same = self.random.bool().then(|| self.any());
        let parts: Vec<_> = (0..count)
            .map(|_| same.clone().unwrap_or_else(|| self.any()))
            .collect();
        let types: Vec<&str> = parts.iter().map(|it| &*it.0).collect();
        let values: Vec<&str> = parts.iter().map(|it| &*it.1).collect();
        let form = self.random.u32(..8);
        let mut held = types.iter().take(if form == 2 { 1 } else { 9 });
        if form > 1 && held.all(|ty| self.empty.iter().any(|it| it == ty)) {
            self.empty.push(name.clone());
        }
        let value = match form {
            0 => {
                let _ = writeln!(
                    text,
                    "pub enum {name} {{ None, Some({}) }}",
                    types.join(", ")
                );
                format!("{name}::Some({})", values.join(", "))
            }
            1 => {
                let other = self.any();
                let _ = writeln!(
                    text,
                    "pub enum {name} {{ One({}), Two {{ a: {} }} }}",
                    types[0], other.0
                );
                format!("{name}::Two {{ a: {} }}", other.1)
            }
            2 => {
                let len = self.random.usize(1..=3);
                let _ = writeln!(text, "pub struct {name}([{}; {len}]);", types[0]);
                format!("{name}([{}; {len}])", values[0])
            }
            form => {
                let layout = match form {
                    3 => "#[repr(C)] ",
                    4 => pick(
                        self.random,
                        &["#[repr(align(16))] ", "#[repr(align(32))] ", ""],
                    ),
                    _ => "",
                };
                let _ = writeln!(text, "{layout}pub struct {name}({});", types.join(", "));
                format!("{name}({})", values.join(", "))
            }
        };
        self.types.push((name, value));
    }

    fn function(&mut self, nth: usize, text: &mut String, own: &mut String) -> Function {
        let (returns, result) = self.any();
        let count = match self.random.u32(..3) {
            0 => self.random.usize(4..=9),
            _ => self.random.usize(..=4),
        };
        let parameters: Vec<_> = (0..count).map(|_| self.any()).collect();
        let (mut declared, mut passed, mut body) = (Vec::new(), Vec::new(), String::new());
        for (index, (ty, value)) in parameters.iter().enumerate() {
            let global = format!("V{nth}_{index}");
            let _ = writeln!(text, "pub static mut {global}: {ty} = {value};");
            declared.push(format!("a{index}: {ty}"));
            let _ = writeln!(
                body,
                "    if a{index} == {global} {{ SEEN |= 1 << {index}; }}"
            );
            passed.push(global);
        }
        let _ = writeln!(text, "pub static mut R{nth}: {returns} = {result};");
        let prototype = format!("f{nth}({}) -> {returns}", declared.join(", "));
        let _ = writeln!(
            text,
            "#[inline(never)]\npub fn {prototype} {{ unsafe {{\n{body}    black_box(R{nth})\n}} }}"
        );
        let (call, seen) = (
            format!("f{nth}({})", passed.join(", ")),
            (1u64 << count) - 1,
        );
        let _ = writeln!(
            own,
            "        SEEN = 0; let x = {call}; \
             if x != R{nth} || SEEN != {seen} {{ failed = 1; println!(\"f{nth}\"); }}"
        );
        Function {
            call,
            result: (!self.empty.contains(&returns)).then(|| format!("R{nth}")),
            seen,
            name: format!("f{nth}"),
            prototype,
        }
    }
}
