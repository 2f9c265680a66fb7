//! Types of real programs over random memory: bounded, and without panics.

use super::harness::{Program, children_of};
use crate::ids::error::Error;
use crate::inspect::value::{
    ChildFilter, Limits, RegisterPlace, Target, Value, ValueLocation, present,
};
use dwarf::{Language, LoadAddr, LoadBias, Memory, Module, ModuleMap, Unreadable};
use std::sync::Arc;

/// A program with random memory.
pub struct Noise<'a> {
    pub program: &'a Program,
    pub seed: u64,
    /// The program's own bytes, with random words here and there.
    pub nearly_right: bool,
}

impl Memory for Noise<'_> {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let word = |index: u64| {
            let mut mixed = (index ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^= mixed >> 29;
            match mixed % 7 {
                0 => 0,
                1 => mixed >> 8 & 0xff,
                2 => u64::MAX,
                3 => mixed >> 20 & 0xffff_ffff,
                4 => addr.0 & !7,
                5 => 1 << 62,
                _ => mixed,
            }
        };
        if addr.0 % 4096 == 16 && !self.nearly_right {
            let len = buffer.len();
            return Err(Unreadable { addr, len });
        }
        if self.nearly_right {
            self.program.memory().read(addr, buffer)?;
        }
        for (offset, byte) in buffer.iter_mut().enumerate() {
            let at = addr.0.wrapping_add(offset as u64);
            if self.nearly_right
                && !((at / 8) ^ self.seed)
                    .wrapping_mul(0x9e37_79b9)
                    .is_multiple_of(13)
            {
                continue;
            }
            *byte = word(at / 8).to_le_bytes()[(at % 8) as usize];
        }
        Ok(())
    }
}

impl Target for Noise<'_> {
    fn memory(&self) -> &dyn Memory {
        self
    }
    fn modules(&self) -> &dyn ModuleMap {
        self.program
    }
    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        Target::module_at(self.program, addr)
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        self.program.images()
    }
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        let len = bytes.len();
        Err(Error::Unwritable { addr, len })
    }
    fn write_register(&mut self, _: RegisterPlace, _: &[u8]) -> Result<(), Error> {
        Err(Error::OptimizedOut)
    }
}

fn walk(target: &Noise<'_>, value: &Value, depth: usize) {
    let limits = Limits::default();
    let shown = present(target, value, &limits);
    // The limit holds up to one string and its escapes.
    assert!(shown.text.len() <= limits.text + 3, "{}", shown.text.len());
    if depth > 3 {
        return;
    }
    for child in children_of(target, value, ChildFilter::All, 0..12).unwrap() {
        if let Ok(value) = &child.value {
            walk(target, value, depth + 1);
        }
    }
    let far = shown.indexed.saturating_sub(2);
    for child in children_of(target, value, ChildFilter::Indexed, far..u64::MAX).unwrap() {
        if let Ok(value) = &child.value {
            walk(target, value, 4);
        }
    }
}

fn all(program: Program, names: &[&str]) {
    for_seeds(program, names, 60);
}

fn for_seeds(mut program: Program, names: &[&str], seeds: u64) {
    let values: Vec<Value> = names.iter().map(|name| program.eval(name)).collect();
    over_noise(&program, &values, seeds);
}

fn over_noise(program: &Program, values: &[Value], seeds: u64) {
    for seed in 0..seeds {
        let nearly_right = seed % 2 == 1;
        let noise = Noise {
            program,
            seed,
            nearly_right,
        };
        for value in values {
            if nearly_right {
                walk(&noise, value, 0);
                continue;
            }
            let addr = LoadAddr(seed * 8 + 0x1000);
            let moved = Value::new(value.ty.clone(), ValueLocation::Memory(addr, None));
            walk(&noise, &moved, 0);
        }
    }
}

#[test]
fn rust() {
    let compiler = ["rustc", "-g", "--edition", "2021", "-A", "warnings"];
    if let Some(program) = Program::start(&compiler, "fixture.rs", Language::Rust) {
        all(program, &["*POINTER", "ALL", "list", "vec", "strings"]);
    }
}

#[test]
fn rust_std() {
    let compiler = ["rustc", "-g", "--edition", "2021", "-A", "warnings"];
    if let Some(mut program) = Program::start(&compiler, "fixture_std.rs", Language::Rust) {
        let members = program.children("*POINTER").into_iter();
        let values: Vec<Value> = members.map(|member| member.value.unwrap()).collect();
        assert!(values.len() > 90);
        over_noise(&program, &values, 60);
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
            "text16",
            "method",
            "text_box",
            "shape",
            "shape_reference",
            "owned_shape",
            "virtual_method",
            "member",
        ];
        all(program, &names);
    }
}

/// All statics of `fixture_std.cpp`.
#[test]
fn cpp_std() {
    let names = [
        "small",
        "wide",
        "s8",
        "s16",
        "s32",
        "view",
        "numbers",
        "strings",
        "bits",
        "triple",
        "zeros",
        "deque",
        "deque_texts",
        "span",
        "fixed",
        "initial",
        "set_bits",
        "wide_bits",
        "stack",
        "queue",
        "heap",
        "list",
        "list_texts",
        "forward",
        "forward_wide",
        "map",
        "nested",
        "multi",
        "set",
        "multiset",
        "table",
        "large_table",
        "hash_set",
        "multi_table",
        "multi_set",
        "opt",
        "opt_text",
        "var",
        "var_mono",
        "valueless",
        "any",
        "unique",
        "array",
        "custom",
        "tree",
        "shared",
        "shared_point",
        "weak",
        "pair",
        "tuple",
        "no_tuple",
        "complex",
        "atomic",
        "atomic_pointer",
        "wrapper",
        "function",
        "ms",
        "fractional",
        "frames",
        "time_point",
        "steady",
        "path",
        "error",
        "runtime",
        "vector_at",
        "list_at",
        "map_at",
        "set_at",
        "table_at",
        "deque_at",
        "forward_at",
        "points",
    ];
    for compiler in [
        &["g++", "-std=c++20", "-g", "-w"][..],
        &["clang++", "-std=c++20", "-stdlib=libc++", "-g", "-w"],
    ] {
        if compiler.len() == 5 && !super::cpp_std::has_libcxx() {
            continue;
        }
        if let Some(program) = Program::start(compiler, "fixture_std.cpp", Language::Cpp) {
            for_seeds(program, &names, 12);
        }
    }
}

#[test]
fn c() {
    if let Some(program) = Program::start(&["gcc", "-g", "-w"], "fixture.c", Language::C) {
        let names = [
            "all",
            "root",
            "fields",
            "anonymous",
            "names",
            "matrix",
            "flex",
            "text",
            "ld",
            "z",
            "both",
            "function",
            "ring",
            "third",
            "quad",
            "lz",
            "lanes",
            "mixed",
            "grown",
        ];
        all(program, &names);
    }
}

#[test]
fn objc() {
    if let Some(program) = super::objc::start(&[]) {
        let names = [
            "anything",
            "named",
            "base",
            "class",
            "hidden_object",
            "constant",
            "wide",
            "inlined",
            "pascal",
            "longer",
            "bridged",
            "short_text",
            "tagged",
            "five",
            "real",
            "array",
            "inline_array",
            "endless",
            "alone",
            "map",
        ];
        all(program, &names);
    }
}

#[test]
fn swift() {
    if let Some(program) = super::swift::start() {
        let names = [
            "small",
            "native",
            "bridged",
            "wild",
            "object",
            "numbers",
            "words",
            "some_int",
            "some_string",
            "some_object",
            "a_point",
        ];
        all(program, &names);
    }
}
