//! Captured values, compared byte for byte with the interpreter's text of the values themselves.

use super::machine::{At, Machine};
use super::programs::load;
use super::random::Random;
use super::random::{REGISTER, expression, fill, machine};
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use dwarf::Language;

fn refuses(machine: &Machine, expected: &[(&str, &str)]) {
    for (text, expected) in expected {
        let reason = machine.captured(text).err().map(|it| it.to_string());
        assert_eq!(reason.as_deref(), Some(*expected), "{text}");
    }
}

#[test]
fn c() {
    let source = r#"
#include <stddef.h>
#include <uchar.h>
#include <string.h>
#include <stdbool.h>
#include <sys/mman.h>
enum color { RED, GREEN = 5, BLUE = -1 };
enum flags { ONE = 1, TWO = 2, FOUR = 4 };
struct point { int x, y; };
struct bits { unsigned low : 3; int middle : 5; unsigned long wide : 33; bool flag : 1; };
struct named { const char *name; struct point at; char letters[6]; struct { double inner; }; };
struct large { int all[100]; };
struct node { struct node *next; int value; };
enum color color = GREEN, odd = 77, below = BLUE; enum flags flags = 5;
bool yes = true, no = false; char letter = 'x', newline = '\n', high = (char)0xe9;
unsigned char byte = 200; char16_t sixteen = 0x20ac; char32_t wide = 0x1f600;
float single = 0.1f, tiny = 1e-30f, infinite = 1.0f / 0.0f; double real = 2.5, large = 1e300, nan_;
long double extended = 1.25L; __int128 huge = (__int128)1 << 100; float _Complex complex_ = 3.0f;
const char *said = "hello", *empty = "", *null = NULL, *escaped = "a\"b\n\\\x01\xff\xe2\x82\xac", *bad = (char *)16;
const char *one = "1";
const unsigned char *bytes = (const unsigned char *)"looks", *looks_not = (const unsigned char *)"\x01\x02";
const char16_t *text16 = u"w\u00efde"; const char32_t *text32 = U"\U0001f600!";
char long_text[1000], exactly[257], letters[300], full[3] = { 'a', 'b', 'c' }, cut[400] = "zero";
const char *long_one = long_text, *exact = exactly; char *at_end;
struct point point = { -1, 200 }; struct bits bits = { 5, -3, 0x1ffffffffUL, 1 };
struct named named = { "who", { 1, 2 }, "abc", { 0.5 } }, unnamed, named_badly = { (char *)16, { 1, 2 }, "x", { 0 } };
struct large too_large; struct node second = { NULL, 2 }, first = { &second, 1 }, *list = &first;
int table[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } }, many[100], *pointer = &table[0][1];
const char *names[3] = { "one", NULL, "three" }; struct point points[20] = { { 1, 2 } };
void *nobody = &point; int function(int a) { return a; } int (*handler)(int) = function;
char **argv = (char **)names; union { int i; float f; } number = { 7 };
volatile const struct point *at = &point;
void fill(void) {
    memset(long_text, 'q', 999); memset(exactly, 'e', 256); memset(letters, 'l', 300);
    nan_ = 0.0 / 0.0;
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    at_end = strcpy(pages + 4096 - 4, "end");
}
"#;
    for level in ["-O0", "-O2"] {
        let compiler = ["gcc", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "fixture.c", source, Language::C) else {
            return;
        };
        machine.assert_captures(&[
            "color",
            "odd",
            "below",
            "flags",
            "yes",
            "no",
            "letter",
            "newline",
            "high",
            "byte",
            "sixteen",
            "wide",
            "single",
            "tiny",
            "infinite",
            "real",
            "large",
            "nan_",
            "extended",
            "huge",
            "complex_",
            "said",
            "empty",
            "null",
            "escaped",
            "bytes",
            "looks_not",
            "text16",
            "text32",
            "long_text",
            "long_one",
            "exact",
            "exactly",
            "letters",
            "full",
            "cut",
            "at_end",
            "point",
            "bits",
            "bits.middle",
            "bits.wide",
            "bits.flag",
            "named",
            "unnamed",
            "list",
            "list->next->value",
            "*list",
            "first",
            "table",
            "table[1]",
            "many",
            "pointer",
            "*pointer",
            "names",
            "names[0]",
            "points",
            "points[0]",
            "nobody",
            "handler",
            "argv",
            "number",
            "at",
            "*at",
            "named.name",
            "&named",
            "real * 3",
            "single * 2",
            "single / 3",
            "color == GREEN",
            "letter + 1",
            "said + 1",
            "said[1]",
            "-real",
            "(float)real",
            REGISTER,
            "$sp",
            "3 + 4",
            "'c'",
            "nan_ * 2",
            "byte > 3 ? real : large",
            "(char)byte",
            "named.at.x + 1",
        ]);
        for text in ["bad", "named_badly", "null[0]", "*(struct point *)bad"] {
            let captured = machine
                .captured(text)
                .unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(machine.captured_text(&captured, 1 << 10), None, "{text}");
        }
        // With little room, short values are captured, and long ones are a deopt.
        for (text, captured_text) in [("said", true), ("long_one", false), ("exact", false)] {
            let captured = machine.captured(text).expect(text);
            let shown = captured_text.then(|| machine.shown(text));
            assert_eq!(machine.captured_text(&captured, 40), shown, "{text}");
            assert!(captured.clone().set_room(16).is_err(), "{text}");
        }
        refuses(
            &machine,
            &[
                ("too_large", "a `struct large` is too large"),
                ("function", "a function is not a value"),
                ("function(1)", "it calls `function`"),
                (
                    "\"text\"",
                    "a string literal is not in the program's memory",
                ),
            ],
        );
    }
}

#[test]
fn cpp() {
    let source = r#"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>
struct Base { int base = 3; };
struct Derived : Base { int own = 5; static int shared; std::string name = "inside"; };
struct Shape { virtual ~Shape() {} int sides = 4; }; struct Square : Shape {} square;
struct Virtual : virtual Base {} with_virtual;
int Derived::shared = 6;
enum class Mode : unsigned char { Off, On = 3 };
Mode mode = Mode::On; Derived derived, *pointer = &derived, &reference = derived;
Shape *shape = &square, &really = square; Square plain;
std::string small = "tiny", fifteen = "123456789012345", sixteen = "1234567890123456", large(400, 'x'), none;
std::string exactly(256, 'e'), zero("a\0b", 3); const std::string &alias = large; std::string *to_string = &small;
std::string broken = "broken";
std::string_view view = "seen", nothing; std::wstring wide = L"wide"; std::u16string sixteens = u"u16";
std::vector<int> numbers = { 1, 2, 3 }, many(50, 7), nobody; std::vector<std::string> names = { "a" };
std::vector<Derived *> pointers = { &derived }; std::vector<double> reals = { 0.5 };
std::map<int, int> map = { { 1, 2 } }; int Base::*member = &Base::base; bool truth = true;
std::pair<int, double> pair = { 1, 2.5 }; const char *said = "text"; int &number = numbers[1];
std::unique_ptr<int> owner(new int(3)); char32_t letter = U'é'; void (*handler)() = nullptr;
extern "C" void fill() { reinterpret_cast<std::size_t *>(&broken)[1] = 1ul << 40; }
"#;
    for (compiler, level) in [("g++", "-O0"), ("g++", "-O2"), ("clang++", "-O1")] {
        let knows_classes = compiler == "g++";
        let compiler = [compiler, "-std=c++17", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "fixture.cpp", source, Language::Cpp) else {
            continue;
        };
        machine.assert_captures(&[
            "mode",
            "derived",
            "pointer",
            "reference",
            "*pointer",
            "derived.name",
            "small",
            "fifteen",
            "sixteen",
            "large",
            "none",
            "exactly",
            "zero",
            "alias",
            "to_string",
            "*to_string",
            "view",
            "nothing",
            "wide",
            "sixteens",
            "numbers",
            "many",
            "nobody",
            "reals",
            "numbers[2]",
            "numbers.size()",
            "member",
            "truth",
            "said",
            "number",
            "letter",
            "plain",
            "square",
            "reals[0] * 2",
            "pointers",
            "handler",
            "small.size() == 4",
            "view[0]",
        ]);
        let captured = machine.captured("broken").expect("a string");
        assert_eq!(machine.captured_text(&captured, 1 << 10), None);
        refuses(
            &machine,
            &[
                ("map", "only the debugger reads a `std::map<int, int>`"),
                (
                    "names",
                    "elements of `std::vector<std::string>` contain pointers",
                ),
                (
                    "with_virtual",
                    "the layout of a `Virtual` depends on its contents",
                ),
            ],
        );
        // A declared class has no definition to look up.
        if knows_classes {
            let looked_up = "the dynamic class of a `Shape` must be looked up";
            refuses(&machine, &[("shape", looked_up), ("really", looked_up)]);
        }
    }
}

#[test]
fn rust() {
    let source = r#"
#![allow(dead_code, static_mut_refs)]
use std::collections::HashMap;
#[derive(Clone, Copy)] pub struct Point { pub x: i32, pub y: u8 }
pub enum Mode { Off, On, Auto }
pub enum Shape { Empty, Circle(f64), Rect { w: u8, h: u16 } }
pub enum Said { Nothing, Text(String), Number(i64), Both(&'static str, String) }
pub struct State {
    pub point: Point, pub tuple: (u8, i64), pub mode: Mode, pub some: Option<i32>, pub none: Option<i32>,
    pub niche: Option<&'static Point>, pub nothing: Option<Box<i32>>, pub shape: Shape, pub rect: Shape,
    pub empty: Shape, pub text: &'static str, pub no_text: &'static str, pub string: String, pub long: String,
    pub vec: Vec<i32>, pub many: Vec<u8>, pub slice: &'static [u16], pub boxed: Box<Point>, pub array: [i16; 4],
    pub letter: char, pub flag: bool, pub byte: u8, pub float: f32, pub double: f64, pub wide: u128,
    pub said: Said, pub number: Said, pub both: Said, pub silent: Said, pub maybe: Option<String>,
    pub missing: Option<String>, pub ok: Result<u32, String>, pub err: Result<u32, String>, pub unit: (),
    pub raw: *const u8, pub reference: &'static i32, pub strings: Vec<String>, pub map: HashMap<i32, i32>,
    pub chars: [&'static str; 2], pub handler: fn(), pub borrowed: &'static String, pub nested: Option<Option<bool>>,
    pub bytes: [u8; 3], pub boxed_text: Box<str>, pub f: f32,
}
fn handle() {}
#[used] static mut STATE: Option<&'static State> = None;
#[unsafe(no_mangle)] pub static mut PLACE: *const State = std::ptr::null();
#[unsafe(no_mangle)] pub extern "C" fn fill() {
    let state = State {
        point: Point { x: -4, y: 9 }, tuple: (200, -1), mode: Mode::On, some: Some(5), none: None,
        niche: Some(&Point { x: 1, y: 2 }), nothing: None, shape: Shape::Circle(1.5), rect: Shape::Rect { w: 3, h: 500 },
        empty: Shape::Empty, text: "hé\n\"llo", no_text: "", string: "world".into(), long: "é".repeat(200),
        vec: vec![1, 2, 3], many: vec![7; 40], slice: &[7, 8], boxed: Box::new(Point { x: 1, y: 2 }), array: [1, 8, 3, 4],
        letter: 'é', flag: true, byte: 255, float: 0.1, double: 1e300, wide: 1 << 100,
        said: Said::Text("said".into()), number: Said::Number(-3), both: Said::Both("a", "b".into()), silent: Said::Nothing,
        maybe: Some("maybe".into()), missing: None, ok: Ok(3), err: Err("why".into()), unit: (), raw: std::ptr::null(),
        reference: &77, strings: vec!["a".into()], map: HashMap::new(), chars: ["a", "bc"], handler: handle,
        borrowed: Box::leak(Box::new(String::from("borrowed"))), nested: Some(None), bytes: [1, 2, 3],
        boxed_text: "boxed".into(), f: f32::NAN,
    };
    let _ = (Mode::Off as u8, Mode::Auto as u8);
    let state = Box::leak(Box::new(state));
    unsafe { PLACE = state; STATE = Some(state); }
}
"#;
    for level in ["0", "2"] {
        let level = format!("opt-level={level}");
        let compiler = [
            "rustc",
            "-g",
            "--crate-type",
            "cdylib",
            "--edition",
            "2024",
            "--crate-name",
            "fixture",
            "-C",
            &level,
        ];
        let Some(mut machine) = load(&compiler, "fixture.rs", source, Language::Rust) else {
            return;
        };
        let names = [
            "point",
            "tuple",
            "mode",
            "some",
            "none",
            "niche",
            "nothing",
            "shape",
            "rect",
            "empty",
            "text",
            "no_text",
            "string",
            "long",
            "vec",
            "many",
            "slice",
            "boxed",
            "array",
            "letter",
            "flag",
            "byte",
            "float",
            "double",
            "wide",
            "said",
            "number",
            "both",
            "silent",
            "maybe",
            "missing",
            "ok",
            "err",
            "unit",
            "raw",
            "reference",
            "chars",
            "handler",
            "borrowed",
            "nested",
            "bytes",
            "boxed_text",
            "f",
            "point.x",
            "vec.len()",
            "vec[1]",
            "double / 3.0",
            "float * 2.0",
            "byte == 255",
            "string.len()",
        ];
        let names = names.map(|name| format!("PLACE.{name}"));
        machine.assert_captures(&names.each_ref().map(String::as_str));
        for name in ["strings", "map"] {
            assert!(
                machine.captured(&format!("PLACE.{name}")).is_err(),
                "{name}"
            );
        }
    }
}

/// Values in registers, including vector registers.
#[test]
fn in_registers() {
    let float =
        |format, size, name| Ty::Builtin(Scalar::new(ScalarKind::Float(format), size), name);
    let mut machine = Machine::new(Language::C);
    for number in [0u16, 1, 3, 4, 7, 15] {
        for (ty, bits) in [
            (
                float(Float::Double, 8, "double"),
                u128::from(1.5f64.to_bits()),
            ),
            (
                float(Float::Single, 4, "float"),
                u128::from(0.1f32.to_bits()),
            ),
            (
                Ty::Builtin(Scalar::new(ScalarKind::Signed, 4), "int"),
                0xffff_fff0,
            ),
            (
                Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 16), "wide"),
                u128::MAX / 3,
            ),
        ] {
            machine.variables.clear();
            let at = At::Vector(number);
            machine.variables.push(("v".into(), ty, at));
            machine.set(at, bits, 16);
            machine.assert_captures(&["v"]);
        }
    }
    for number in [0u16, 1, 3, 6, 8, 12, 15] {
        machine.variables.clear();
        let at = At::Register(number);
        let before = machine.general[usize::from(number)];
        let text = c"in a register";
        let ty = Ty::Builtin(Scalar::new(ScalarKind::SignedChar, 1), "char").pointer();
        machine.variables.push(("s".into(), ty, at));
        machine.set(at, text.as_ptr() as u128, 8);
        machine.assert_captures(&["s"]);
        machine.general[usize::from(number)] = before;
    }
}

/// For any expression, the captured value has the interpreter's text, or the code deopts.
#[test]
fn of_random_expressions() {
    for (language, seed) in [(Language::C, 3), (Language::Cpp, 5), (Language::Rust, 7)] {
        let mut machine = machine(language);
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed);
        let mut captures = 0;
        for round in 0..1500 {
            if round % 8 == 0 {
                fill(&mut machine, &mut random);
            }
            let text = expression(&machine, &mut random, 1 + round % 4);
            let Ok(captured) = machine.captured(&text) else {
                continue;
            };
            if let Some(captured_text) = machine.captured_text(&captured, 1 << 10) {
                assert_eq!(captured_text, machine.shown(&text), "{text}");
                captures += 1;
            }
        }
        assert!(captures > 200, "{language:?}: {captures} were captured");
    }
}
