//! Torn and twisted images: errors or nothing, never a panic or a hang.

mod common;

use common::{FakeMemory, compile, frame};
use dwarf::{
    FileAddr, FrameAddress, LoadAddr, LoadBias, Machine, Module, ModuleMap, Register, Registers,
    TypeKind, Unwinder,
};
use std::path::Path;

const TEXT: &str = r#"
#include <string>
namespace ns {
template <class T> struct Box { T value; unsigned bits : 3; T get() const { return value; } };
enum class Kind { A, B = 7 };
struct Base { virtual ~Base() {} int id = 1; };
struct Derived : virtual Base { int more[3]; union { int i; float f; }; static int shared; };
int Derived::shared = 3;
}
static inline int twice(int x) { int y = x * 2; return y; }
__attribute__((noinline)) int work(int n, ns::Derived &d) {
    int total = 0;
    for (int i = 0; i < n; i++) { int v = twice(i) + d.more[i % 3]; total += v; }
    auto lambda = [&](int x) { return x + total; };
    return lambda(n) + ns::Derived::shared;
}
int main(int argc, char **argv) {
    ns::Derived d; ns::Box<int> box{argc, 1}; ns::Kind kind = ns::Kind::B;
    return work(argc, d) + box.get() + (int)kind;
}
"#;

struct One<'a>(&'a Module);

impl ModuleMap for One<'_> {
    fn module_at(&self, _: LoadAddr) -> Option<(&Module, LoadBias)> {
        Some((self.0, LoadBias(0)))
    }
}

/// Asks an image everything.
fn ask_everything(module: &Module, source: &Path) -> usize {
    let mut answers = 0;
    let memory = FakeMemory {
        base: 0x1000,
        bytes: vec![0x40; 4096],
    };
    let mut registers = Registers::new(Machine::X86_64);
    for number in 0..17 {
        registers.set(Register(number), 0x1000 + 64 * u64::from(number));
    }
    let mut unwinder = Unwinder::new();
    answers += module.find_sources(source).len();
    answers += module.source_files().len();
    for file in module.source_files().iter().take(4) {
        for line in module.lines_with_code(file).into_iter().take(40) {
            answers += module.line_locations(file, line).len();
        }
    }
    for name in ["work", "main", "get", "operator()", "twice", "ns::Box::get"] {
        answers += module.inlined_named(name).len();
        answers += module.function_symbols(name).len();
        for function in module.functions_named(name) {
            answers += 1;
            module.body_start(&function);
            for frame in function.frames_at(function.entry + 9) {
                for name in ["shared", "ns::Box::made", "N", "crate::twice"] {
                    let found = module.value_around(name, &frame.scopes, function.entry);
                    answers += usize::from(found.is_some());
                    let found = module.type_at(name, &frame.scopes, function.entry);
                    answers += usize::from(found.is_some());
                    let paths = module.visible_paths(name, &frame.scopes, function.entry);
                    answers += module.statics_visible(name, &paths, None).len();
                }
            }
            answers += usize::from(module.macro_at(function.entry, None, "LIMIT").is_some());
            let mut scopes = vec![&function.scope];
            while let Some(scope) = scopes.pop() {
                answers += usize::from(module.value_in_block("N", scope).is_some());
                scopes.extend(&scope.children);
                for variable in &scope.variables {
                    for pc in [function.entry, function.entry + 9, function.entry + 40] {
                        let context = frame(&memory, &registers, pc, Some(&function));
                        answers += usize::from(module.locate(variable, &context).is_ok());
                    }
                    if let Some(ty) = variable.ty {
                        answers += walk_type(module, ty, 0);
                    }
                }
            }
        }
    }
    for name in ["int", "ns::Derived", "Box", "Kind", "string"] {
        for ty in module.types_named(name, None) {
            answers += walk_type(module, ty, 0);
            module.complete_type(ty);
        }
    }
    let range = module.load_range();
    let mut addr = range.start;
    let mut steps = 0;
    while addr < range.end && steps < 400 {
        steps += 1;
        answers += usize::from(module.row_at(addr).is_some());
        answers += usize::from(module.function_at(addr).is_some());
        answers += usize::from(module.symbol_at(addr).is_some());
        module.unit_statics(addr);
        let pc = LoadAddr(addr.0);
        answers += usize::from(
            unwinder
                .unwind(&One(module), &memory, FrameAddress::Pc(pc), &registers)
                .is_ok(),
        );
        addr = addr + ((range.end - range.start) / 400).clamp(8, 64);
    }
    module.statics_named("shared", Some(FileAddr(range.start.0 + 0x1100)));
    answers
}

fn walk_type(module: &Module, id: dwarf::TypeId, depth: u32) -> usize {
    if depth > 3 {
        return 0;
    }
    let Ok(ty) = module.ty(id) else {
        return 0;
    };
    1 + match &ty.kind {
        TypeKind::Composite(composite) => composite
            .members
            .iter()
            .chain(&composite.statics)
            .take(20)
            .map(|member| {
                module.static_member(member);
                walk_type(module, member.ty, depth + 1)
            })
            .sum(),
        TypeKind::Pointer(Some(target))
        | TypeKind::Typedef(Some(target))
        | TypeKind::Const(Some(target)) => walk_type(module, *target, depth + 1),
        TypeKind::Array(array) => walk_type(module, array.element, depth + 1),
        _ => 0,
    }
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // Knuth's MMIX generator
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

fn debug_sections(data: &[u8]) -> Vec<(usize, usize)> {
    use object::{Object, ObjectSection};
    let file = object::File::parse(data).expect("parse");
    file.sections()
        .filter(|section| {
            section
                .name()
                .is_ok_and(|name| name.starts_with(".debug") || name.starts_with(".eh_frame"))
        })
        .filter_map(|section| section.file_range())
        .map(|(offset, size)| (offset as usize, size as usize))
        .collect()
}

fn twist(flags: &str, rounds: usize) {
    let fixture = compile(flags, "twist.cpp", TEXT);
    let good = std::fs::read(&fixture.binary).expect("read");
    let sections = debug_sections(&good);
    let name = Path::new("twisted");
    let module = Module::from_bytes(name, good.clone()).expect("open");
    let whole = ask_everything(&module, &fixture.source);
    assert!(whole > 100, "{whole}");
    let mut random = Random(flags.len() as u64);
    let mut answers = 0;
    for round in 0..rounds {
        let mut bad = good.clone();
        // A few bytes of one section, or of any.
        let section = sections[random.below(sections.len())];
        for _ in 0..1 + random.below(12) {
            let (offset, size) = if round % 2 == 0 {
                section
            } else {
                sections[random.below(sections.len())]
            };
            let at = offset + random.below(size);
            bad[at] = match random.below(4) {
                0 => 0,
                1 => 0xff,
                2 => bad[at] ^ (1 << random.below(8)),
                _ => random.below(256) as u8,
            };
        }
        if let Ok(module) = Module::from_bytes(name, bad) {
            answers += ask_everything(&module, &fixture.source);
        }
    }
    // Corruption spoils the smallest thing it concerns.
    assert!(
        answers > rounds * whole / 8,
        "{answers} of {}",
        rounds * whole
    );
}

#[test]
fn bits_are_flipped_in_version_5() {
    twist("g++ -g -O1 -gdwarf-5 -nostdlib -shared -fPIC", 150);
}

#[test]
fn bits_are_flipped_in_version_4() {
    twist(
        "g++ -g -O1 -gdwarf-4 -nostdlib -shared -fPIC -fdebug-types-section",
        150,
    );
}

#[test]
fn the_headers_are_twisted_and_the_file_is_torn() {
    let fixture = compile("g++ -g -nostdlib -shared -fPIC", "torn.cpp", TEXT);
    let good = std::fs::read(&fixture.binary).expect("read");
    let name = Path::new("torn");
    let mut random = Random(9);
    for round in 0..150 {
        let mut bad = good.clone();
        if round % 2 == 0 {
            bad.truncate(random.below(good.len()));
        } else {
            // The ELF header, and the section headers at the end.
            let table = u64::from_le_bytes(good[40..48].try_into().expect("8 bytes")) as usize;
            for _ in 0..4 {
                let at = if random.below(2) == 0 {
                    16 + random.below(48 + 56 * 8)
                } else {
                    table + random.below(good.len() - table)
                };
                bad[at] = random.below(256) as u8;
            }
        }
        if let Ok(module) = Module::from_bytes(name, bad) {
            ask_everything(&module, &fixture.source);
        }
    }
    assert!(Module::from_bytes(name, Vec::new()).is_err());
    assert!(Module::from_bytes(name, b"#!/bin/sh\necho this is a script".to_vec()).is_err());
    assert!(Module::open(Path::new("/")).is_err());
    assert!(Module::open(Path::new("/nowhere/at/all")).is_err());
}

#[test]
fn corruption_names_section_and_offset() {
    let text = "int work(int number) { return number; }";
    let fixture = compile("gcc -g -O0 -nostdlib -shared -fPIC", "place.c", text);
    let mut bad = std::fs::read(&fixture.binary).expect("read");
    let at = {
        use object::{Object, ObjectSection};
        let file = object::File::parse(&*bad).expect("parse");
        let section = file.section_by_name(".debug_info").expect("debug info");
        section.file_range().expect("in the file")
    };
    let info = &mut bad[at.0 as usize..][..at.1 as usize];
    // An expression of two bytes that begins with DW_OP_fbreg: the parameter's.
    let place = info.windows(2).position(|bytes| bytes == [2, 0x91]);
    // No operation has that number.
    info[place.expect("a location") + 1] = 1;
    let module = Module::from_bytes(Path::new("place"), bad).expect("open");
    let work = module.functions_named("work").remove(0);
    let (memory, registers) = (
        FakeMemory {
            base: 0,
            bytes: Vec::new(),
        },
        Registers::new(Machine::X86_64),
    );
    let context = frame(&memory, &registers, work.entry, Some(&work));
    let error = module
        .locate(&work.scope.variables[0], &context)
        .expect_err("corrupt");
    let error = error.to_string();
    let offset = error.split_once(".debug_info+0x").expect(&error).1;
    let offset = offset.split_once(':').expect(&error).0;
    let offset = usize::from_str_radix(offset, 16).expect(&error);
    let distance = place.expect("a location").checked_sub(offset);
    assert!(distance.is_some_and(|distance| distance < 32), "{error}");
}
