//! Types of C, C++ and Rust.

mod common;

use common::{Fixture, compile};
use dwarf::{Composite, CompositeKind, Encoding, MemberOffset, Module, Type, TypeId, TypeKind};
use std::sync::Arc;

#[track_caller]
fn named(module: &Module, name: &str) -> Arc<Type> {
    let types = module.types_named(name, None);
    let id = types.first().unwrap_or_else(|| panic!("no type {name}"));
    module.ty(*id).expect("a type")
}

#[track_caller]
fn composite(ty: &Type) -> &Composite {
    match &ty.kind {
        TypeKind::Composite(composite) => composite,
        kind => panic!("{kind:?}"),
    }
}

fn bytes(offset: &MemberOffset) -> u64 {
    match offset {
        MemberOffset::Bytes(bytes) => *bytes,
        other => panic!("{other:?}"),
    }
}

const C: &str = r#"
#include <stdint.h>
struct node { int value; struct node *next; const char *name; };
struct bits { unsigned a : 3; int b : 7; unsigned : 0; uint64_t c : 40; uint8_t d : 4; };
enum color { RED, GREEN = 5, BLUE = -1 };
enum big { BIG = 0xffffffffu };
typedef union { int i; float f; unsigned char raw[8]; } any;
struct outer { struct { int x, y; }; any u; int grid[2][3]; int tail[]; };
typedef int (*callback)(const char *, ...);
struct hidden;
struct node n; struct bits b; enum color c; enum big g; any a; struct outer o; callback cb;
struct hidden *h; _Bool flag; long double ld; volatile const int vc = 3; unsigned long ul; char ch;
int main(void) { return 0; }
"#;

fn check_c(fixture: &Fixture, what: &str) {
    let module = &fixture.module;
    let node = named(module, "struct node");
    assert_eq!((node.name.as_str(), node.size), ("node", Some(24)));
    let members = &composite(&node).members;
    assert_eq!(composite(&node).kind, CompositeKind::Struct);
    assert_eq!(members.len(), 3);
    assert_eq!(
        (members[1].name.as_str(), bytes(&members[1].offset)),
        ("next", 8)
    );
    let next = module.ty(members[1].ty).expect("next");
    assert!(next.name.is_empty());
    assert_eq!(next.size, Some(8));
    let TypeKind::Pointer(Some(target)) = next.kind else {
        panic!("{next:?}")
    };
    assert_eq!(module.ty(target).expect("node").name, "node");
    let bits = named(module, "bits");
    let fields: Vec<_> = composite(&bits)
        .members
        .iter()
        .map(|member| {
            let bits = member.bits.expect("a bit field");
            (member.name.as_str(), bits.offset, bits.size)
        })
        .collect();
    assert_eq!(
        fields,
        [("a", 0, 3), ("b", 3, 7), ("c", 64, 40), ("d", 104, 4)],
        "{what}"
    );
    let TypeKind::Enumeration(color) = &named(module, "enum color").kind else {
        panic!()
    };
    let values: Vec<_> = color
        .enumerators
        .iter()
        .map(|value| (value.name.as_str(), value.value))
        .collect();
    assert_eq!(values, [("RED", 0), ("GREEN", 5), ("BLUE", -1)], "{what}");
    assert!(color.signed);
    let TypeKind::Enumeration(big) = &named(module, "big").kind else {
        panic!()
    };
    assert_eq!(big.enumerators[0].value, 0xffff_ffff);
    let any = named(module, "any");
    assert_eq!(any.size, Some(8));
    assert!(matches!(any.kind, TypeKind::Typedef(Some(_))));
    let outer = named(module, "outer");
    let members = &composite(&outer).members;
    assert_eq!(members[0].name, "");
    let TypeKind::Array(grid) = &module.ty(members[2].ty).expect("grid").kind else {
        panic!()
    };
    assert_eq!(grid.counts, [Some(2), Some(3)]);
    assert_eq!(module.ty(members[2].ty).expect("grid").size, Some(24));
    let TypeKind::Array(tail) = &module.ty(members[3].ty).expect("tail").kind else {
        panic!()
    };
    assert_eq!(tail.counts, [None]);
    let TypeKind::Base(base) = named(module, "unsigned long").kind else {
        panic!()
    };
    assert_eq!(base.encoding, Encoding::Unsigned);
    let hidden = named(module, "struct hidden");
    assert!(composite(&hidden).declaration);
    assert_eq!(module.complete_type(hidden.id), hidden.id);
    assert_eq!(named(module, "long double").size, Some(16));
    let TypeKind::Typedef(Some(pointer)) = named(module, "callback").kind else {
        panic!()
    };
    let TypeKind::Pointer(Some(function)) = module.ty(pointer).expect("pointer").kind else {
        panic!()
    };
    let TypeKind::Subroutine(function) = &module.ty(function).expect("function").kind else {
        panic!()
    };
    assert_eq!(function.parameters.len(), 1);
    assert!(function.variadic);
    let statics = module.unit_statics(fixture.function("main").entry);
    let names: Vec<&str> = statics
        .iter()
        .map(|variable| variable.name.as_str())
        .collect();
    assert!(names.contains(&"vc") && names.contains(&"n"), "{names:?}");
    for variable in statics {
        assert!(module.ty(variable.ty.expect("a type")).is_ok());
    }
}

#[test]
fn c() {
    for compiler in [
        "gcc -g -O0 -gdwarf-5",
        "gcc -g -O0 -gdwarf-4",
        "gcc -g -O0 -gdwarf-3 -gstrict-dwarf",
        "gcc -g -O0 -gdwarf-2 -gstrict-dwarf",
        "gcc -g -gdwarf-4 -fdebug-types-section",
        "gcc -g -gdwarf-5 -fdebug-types-section",
        "gcc -g -gdwarf64",
        "clang -g -O0",
        "clang -g -gdwarf-4 -O0",
    ] {
        if skips::has_command(compiler.split(' ').next().unwrap_or("")) {
            check_c(&compile(compiler, "types.c", C), compiler);
        }
    }
}

const CPP: &str = r#"
#include <string>
#include <vector>
namespace shapes {
struct Base { virtual ~Base() {} int id = 1; static int count; };
struct Left : virtual Base { int l = 2; };
struct Right : virtual Base { int r = 3; };
class Both : public Left, public Right { public: int both = 4; static constexpr int K = 42; };
int Base::count = 7;
enum class Kind : unsigned char { A = 1, B = 255 };
template <class T, class... U> struct Tuple { T first; };
}
struct Forward;
int use(Forward *f, shapes::Both &b, int &&r, int shapes::Left::*m) { return b.*m + r; }
int main() {
    shapes::Both both; shapes::Kind kind = shapes::Kind::B; std::vector<std::string> words{"a"};
    shapes::Tuple<int, char, void, long> t{1}; std::nullptr_t null = nullptr;
    int local = 3;
    return use(nullptr, both, 3, &shapes::Left::l) + (int)kind + words.size() + t.first
        + (null == nullptr) + local;
}
"#;

#[test]
fn cpp() {
    for compiler in [
        "g++ -g -std=c++17",
        "g++ -g -gdwarf-4 -std=c++17",
        "clang++ -g -std=c++17",
    ] {
        if !skips::has_command(compiler.split(' ').next().unwrap_or("")) {
            continue;
        }
        let fixture = compile(compiler, "types.cpp", CPP);
        let module = &fixture.module;
        let both = named(module, "shapes::Both");
        assert_eq!(both.name, "shapes::Both");
        let class = composite(&both);
        assert_eq!(class.kind, CompositeKind::Class);
        assert_eq!(class.bases.len(), 2);
        assert!(class.members.iter().any(|member| member.name == "both"));
        let left = named(module, "Left");
        let virtual_base = &composite(&left).bases[0];
        assert!(virtual_base.is_virtual);
        assert!(matches!(virtual_base.offset, MemberOffset::Expression(_)));
        let base = named(module, "shapes::Base");
        assert!(composite(&base).polymorphic, "{compiler}");
        let count = &composite(&base).statics[0];
        assert_eq!(count.name, "count");
        let definition = module.static_member(count).expect("its definition");
        assert_eq!(definition.name, "count");
        assert_eq!(definition.namespace, "shapes::Base");
        let constant = class
            .statics
            .iter()
            .find(|member| member.name == "K")
            .expect("K");
        assert!(module.static_member(constant).is_some(), "{compiler}");
        let TypeKind::Enumeration(kind) = &named(module, "Kind").kind else {
            panic!()
        };
        assert!(kind.scoped && !kind.signed);
        assert_eq!(kind.enumerators[1].value, 255);
        let words = fixture.variable("main", "words");
        let words = module.ty(words.ty.expect("a type")).expect("vector");
        let vector = words;
        assert!(
            vector.name.starts_with("std::vector<std::"),
            "{}",
            vector.name
        );
        assert_eq!(vector.size, Some(24));
        assert_eq!(composite(&vector).template_types.len(), 2);
        assert!(!composite(&vector).declaration);
        let tuple = fixture.variable("main", "t");
        let tuple = module.ty(tuple.ty.expect("a type")).expect("tuple");
        let arguments = &composite(&tuple).template_types;
        let is_void: Vec<bool> = arguments.iter().map(|(_, ty)| ty.is_none()).collect();
        assert_eq!(is_void, [false, false, true, false], "{compiler}");
        let member = fixture.variable("use", "m");
        let member = module.ty(member.ty.expect("a type")).expect("pointer");
        assert!(matches!(member.kind, TypeKind::PointerToMember { .. }));
        assert_eq!(member.size, Some(8));
        let this_is_declared = fixture.variable("use", "r");
        let reference = module
            .ty(this_is_declared.ty.expect("a type"))
            .expect("reference");
        assert!(matches!(reference.kind, TypeKind::RvalueReference(_)));
    }
}

#[test]
fn declared_here_defined_there() {
    // Two units by way of two files: the first only declares what the second defines.
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    std::fs::write(
        root.join("one.cpp"),
        "namespace a { struct S; extern int shared; }\nstruct S;\n\
         int peek(a::S *s, S *t) { return s && t; }\nint use() { return a::shared; }\n\
         int main() { return peek(0, 0) + use(); }\n",
    )
    .expect("write");
    std::fs::write(
        root.join("two.cpp"),
        "namespace a { struct S { int inner; } s; int shared = 5; }\nstruct S { long outer; } s;\n",
    )
    .expect("write");
    let status = std::process::Command::new("g++")
        .args(["-g", "one.cpp", "two.cpp", "-o", "both"])
        .current_dir(root)
        .status()
        .expect("g++");
    assert!(status.success());
    let module = Module::open(&root.join("both")).expect("open");
    let peek = &module.functions_named("peek")[0];
    let sizes: Vec<(String, Option<u64>)> = peek
        .scope
        .variables
        .iter()
        .map(|variable| {
            let pointer = module.ty(variable.ty.expect("a type")).expect("pointer");
            let TypeKind::Pointer(Some(target)) = pointer.kind else {
                panic!()
            };
            let declared = module.ty(target).expect("declared");
            assert!(composite(&declared).declaration);
            let complete = module.ty(module.complete_type(target)).expect("complete");
            (complete.name.clone(), complete.size)
        })
        .collect();
    assert_eq!(
        sizes,
        [("a::S".to_owned(), Some(4)), ("S".to_owned(), Some(8))]
    );
}

const RUST: &str = r#"
use std::fmt::Display;
pub enum Shape { Circle { radius: f64 }, Square(u32, u32), Empty }
#[repr(i8)] #[derive(Clone, Copy)] pub enum Level { Low = -3, High = 5 }
pub struct Pair<T> { pub a: T, pub b: &'static str }
pub trait Speak { fn speak(&self) -> u32; }
impl Speak for Shape { fn speak(&self) -> u32 { match self { Shape::Empty => 0, _ => 1 } } }
impl<T: Display> Pair<T> { #[inline(never)] pub fn show(&self) -> usize { self.b.len() } }
#[inline(never)]
fn work(n: u128) -> u32 {
    let shape = Shape::Square(1, 2);
    let none: Option<Box<i32>> = None;
    let text: Option<&str> = Some("x");
    let wide: Result<u64, String> = Ok(n as u64);
    let level = Level::Low;
    let pair = Pair { a: 1u8, b: "x" };
    let unit = ();
    let tuple = (1i32, 'c', [1u16; 3]);
    let list = vec![1, 2, 3];
    std::hint::black_box((&shape, &none, &text, &wide, &level, &unit, &tuple, &list));
    let add = |x: u32| x + list.len() as u32;
    shape.speak() + pair.show() as u32 + add(2) + pair.a as u32
}
fn main() { println!("{}", work(3)); }
"#;

#[test]
fn rust() {
    for flags in ["", "-C dwarf-version=5", "-O"] {
        let fixture = compile(
            &format!("rustc --edition 2021 -g {flags}"),
            "types.rs",
            RUST,
        );
        let module = &fixture.module;
        assert_eq!(
            module.language_at(fixture.function("types::main").entry),
            Some(dwarf::Language::Rust)
        );
        let shape = named(module, "types::Shape");
        assert_eq!(shape.name, "types::Shape");
        let variants = composite(&shape).variants.as_ref().expect("variants");
        assert!(variants.discriminant.is_some());
        let names: Vec<&str> = variants
            .variants
            .iter()
            .map(|variant| variant.members[0].name.as_str())
            .collect();
        assert_eq!(names, ["Circle", "Square", "Empty"]);
        assert_eq!(variants.variants[2].values, [(2, 2)]);
        let TypeKind::Enumeration(level) = &named(module, "Level").kind else {
            panic!()
        };
        let values: Vec<i128> = level.enumerators.iter().map(|value| value.value).collect();
        assert_eq!(values, [-3, 5]);
        if flags == "-O" {
            continue;
        }
        let ty = |variable: &str| -> Arc<Type> {
            let variable = fixture.variable("types::work", variable);
            module.ty(variable.ty.expect("a type")).expect("a type")
        };
        // The niche of a box: null is None, anything else the default variant.
        let none = ty("none");
        assert!(
            none.name.starts_with("core::option::Option<"),
            "{}",
            none.name
        );
        assert_eq!(none.size, Some(8));
        let variants = composite(&none).variants.as_ref().expect("variants");
        let values: Vec<_> = variants
            .variants
            .iter()
            .map(|variant| (variant.members[0].name.as_str(), variant.values.clone()))
            .collect();
        assert_eq!(values, [("None", vec![(0, 0)]), ("Some", vec![])]);
        // The niche of a string's capacity: the highest half of the values.
        let wide = ty("wide");
        let variants = composite(&wide).variants.as_ref().expect("variants");
        let ok = variants
            .variants
            .iter()
            .find(|variant| variant.members[0].name == "Ok")
            .expect("Ok");
        assert_eq!(ok.values, [(1 << 63, 1 << 63)]);
        assert_eq!(ty("text").name, "core::option::Option<&str>");
        let pair = ty("pair");
        assert_eq!(pair.name, "types::Pair<u8>");
        assert_eq!(composite(&pair).template_types.len(), 1);
        let b = composite(&pair)
            .members
            .iter()
            .find(|member| member.name == "b")
            .expect("b");
        assert_eq!(module.ty(b.ty).expect("&str").name, "&str");
        let tuple = ty("tuple");
        assert_eq!(tuple.name, "(i32, char, [u16; 3])");
        assert_eq!(composite(&tuple).members.len(), 3);
        let TypeKind::Base(unit) = ty("unit").kind else {
            panic!()
        };
        assert_eq!(ty("unit").size, Some(0));
        assert_eq!(unit.encoding, Encoding::Unsigned);
        assert_eq!(
            ty("list").name,
            "alloc::vec::Vec<i32, alloc::alloc::Global>"
        );
        let speak = module.functions_named("Shape::speak");
        assert_eq!(speak.len(), 1, "{flags}");
        assert!(
            speak[0].name.contains("as types::Speak>::speak"),
            "{}",
            speak[0].name
        );
        assert_eq!(module.functions_named("Speak::speak").len(), 1);
        assert_eq!(module.functions_named("Pair<u8>::show").len(), 1);
        assert_eq!(module.functions_named("Pair::show").len(), 1);
        let closures = module.functions_named("work::{closure#0}");
        assert_eq!(closures.len(), 1);
        let work = fixture.function("types::work");
        assert!(module.body_start(&work) > work.entry);
    }
}

#[test]
fn ids_are_equal_or_not() {
    let fixture = compile("gcc -g", "types.c", C);
    let first: Vec<TypeId> = fixture.module.types_named("node", None);
    assert_eq!(first, fixture.module.types_named("struct node", None));
}
