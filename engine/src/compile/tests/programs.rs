//! Conditions on data laid out by compilers: libraries are loaded into this process, with all their
//! types, values and pointers.

use super::machine::{Answer, At, Machine};
use crate::compile::Condition;
use crate::inspect::value::Ty;
use crate::os::own_code;
use dwarf::{Language, LoadBias, Module};
use std::process::Command;

/// Returns a machine whose globals are those of a library; `None` if the compiler is not installed.
pub fn load(compiler: &[&str], name: &str, source: &str, language: Language) -> Option<Machine> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, source).expect("the source");
    let library = folder.path().join("fixture.so");
    let status = Command::new(compiler[0])
        .args(&compiler[1..])
        .arg("-o")
        .arg(&library)
        .arg(&path)
        .status();
    let Ok(status) = status else {
        skips::skip(compiler[0]);
        return None;
    };
    assert!(status.success(), "{name} does not compile");
    let address = own_code::load(&library, c"fill");
    let module = Module::open(&library).expect("the library");
    let symbol = module.symbols_named("fill")[0].addr;
    own_code::call(address);
    let mut machine = Machine::new(language);
    machine.module = Some((module, LoadBias(address - symbol.0)));
    let text = (String::from("text"), Ty::Void, At::Address(address));
    machine.variables.push(text);
    Some(machine)
}

/// Returns the command that makes a library of Rust code.
pub fn rustc(level: &'static str) -> [&'static str; 10] {
    [
        "rustc",
        "-g",
        "-C",
        level,
        "--edition",
        "2024",
        "--crate-type",
        "cdylib",
        "--crate-name",
        "fixture",
    ]
}

/// Asserts the outcome of the code, and that the interpreter agrees.
pub fn check(machine: &mut Machine, expected: &[(&str, Answer)]) {
    for (text, expected) in expected {
        if let Err(reason) = machine.compiled(text) {
            panic!("{text}: {reason}");
        }
        assert_eq!(machine.check(text), Some(*expected), "{text}");
    }
}

pub fn refuse(machine: &Machine, expected: &[(&str, &str)]) {
    for (text, expected) in expected {
        let reason = machine.compiled(text).err().map(|it| it.to_string());
        assert_eq!(reason.as_deref(), Some(*expected), "{text}");
    }
}

use Answer::{Deopt, No, Yes};

#[test]
fn c() {
    let source = r#"
#include <stddef.h>
enum color { RED, GREEN = 5, BLUE = -1 };
struct point { int x, y; };
struct node { struct node *next; int value; struct point at; union { int a; float b; }; char name[8]; };
struct bits { unsigned low : 3; int middle : 5; unsigned long wide : 33; _Bool flag : 1; };
enum color color = GREEN;
struct node second = { NULL, 2, { 3, 4 }, { 7 }, "two" };
struct node first = { &second, 1, { -1, 200 }, { 0 }, "one" };
struct node *list = &first, *nothing;
struct bits bits = { 5, -3, 0x1ffffffffUL, 1 };
int table[3][4] = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 } };
const char *text = "hello"; char full[3] = { 'a', 'b', 'c' };
int row = 1, column = 2; double ratio = 0.25;
int function(int a) { return a; }
int (*handler)(int) = function;
void fill(void) {}
"#;
    for level in ["-O0", "-O2"] {
        let compiler = ["gcc", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "fixture.c", source, Language::C) else {
            return;
        };
        check(
            &mut machine,
            &[
                ("color == GREEN", Yes),
                ("color == RED", No),
                ("color != BLUE", Yes),
                ("list->value == 1", Yes),
                ("list->next->at.y == 4", Yes),
                ("list->next->next == 0", Yes),
                ("list->next->next->value == 0", Deopt),
                ("nothing && nothing->value == 3", No),
                ("nothing->value == 3", Deopt),
                ("(*list).at.x < 0 && first.at.y > 100", Yes),
                ("second.a == 7", Yes),
                ("bits.low == 5 && bits.middle == -3", Yes),
                ("bits.wide == 0x1ffffffff", Yes),
                ("bits.low - 6 < 0 && bits.low > -1", Yes),
                ("~bits.low == -6 && -bits.low < 0", Yes),
                ("bits.wide - 0x200000000 < 0", No),
                ("bits.flag", Yes),
                ("table[row][column] == 7", Yes),
                ("table[row + 1][3] == 12", Yes),
                ("*table[2] == 9", Yes),
                ("&table[1] - &table[0] == 1", Yes),
                ("first.name == \"one\"", Yes),
                ("list->name != \"one\"", No),
                ("list->next->name[0] == 't'", Yes),
                ("full == \"abc\"", Yes),
                ("full == \"abcd\"", No),
                ("ratio * 4 == 1.0", Yes),
                ("(int)(ratio * 10) == 2", Yes),
                ("handler == function", Yes),
                ("sizeof(struct node) > 20", Yes),
                ("(enum color)5 == color", Yes),
                ("list == &first", Yes),
                ("((struct node *)list->next)->value == row + 1", Yes),
            ],
        );
        refuse(&machine, &[("function(1) == 1", "it calls `function`")]);
    }
}

#[test]
fn cpp() {
    let source = r#"
#include <string>
#include <string_view>
#include <vector>
#include <map>
#include <memory>
struct Base { int base = 3; virtual ~Base() {} };
struct Side { short side = 4; };
struct Derived : Base, Side { int own = 5; static int shared; };
int Derived::shared = 6;
enum class Mode : unsigned char { Off, On = 3 };
Mode mode = Mode::On;
Derived derived; Derived *pointer = &derived; Derived &reference = derived;
std::string small = "tiny", large(40, 'x'), none;
std::string_view view = "seen";
std::vector<int> numbers = { 1, 2, 3 };
std::vector<std::pair<int, double>> pairs = { { 1, 2.5 } };
std::vector<char> nobody;
std::map<int, int> map = { { 1, 2 } };
std::unique_ptr<Derived> owner(new Derived);
unsigned long at = 2, beyond = 3;
struct Odd { char bytes[3]; };
std::vector<Odd> odds(5);
extern "C" void fill() {}
"#;
    for level in ["-O0", "-O2"] {
        let compiler = ["g++", "-std=c++17", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "fixture.cpp", source, Language::Cpp) else {
            return;
        };
        check(
            &mut machine,
            &[
                ("mode == Mode::On", Yes),
                ("derived.base == 3 && derived.side == 4", Yes),
                ("pointer->own == 5", Yes),
                ("reference.own == 5", Yes),
                ("pointer->shared == 6 || Derived::shared == 6", Yes),
                ("small == \"tiny\"", Yes),
                ("small == \"tinx\"", No),
                ("large.size() == 40 && large != \"x\"", Yes),
                ("large.length() > 39", Yes),
                ("none.empty() && !small.empty()", Yes),
                ("none == \"\"", Yes),
                ("small[1] == 'i'", Yes),
                ("view == \"seen\"", Yes),
                ("numbers.size() == 3", Yes),
                ("numbers[at] == 3", Yes),
                ("numbers[beyond] == 3", Deopt),
                ("numbers.at(1) == 2 && numbers.front() == 1", Yes),
                ("pairs[0].second == 2.5", Yes),
                ("nobody.empty()", Yes),
                ("odds.size() == 5", Yes),
                ("odds[4].bytes[0] == 0", Yes),
                ("owner->own == 5", Yes),
            ],
        );
        check(&mut machine, &[("numbers[numbers[0]] == 2", Yes)]);
        // Each level uses the one below it several times.
        let deep = format!("{}0{} == 1", "numbers[".repeat(100), "]".repeat(100));
        refuse(
            &machine,
            &[
                (&deep, "the expression is too long"),
                (
                    "map.size() == 1",
                    "`map.size()`: only the debugger reads a `std::map<int, int>`",
                ),
            ],
        );
    }
}

#[test]
fn rust() {
    let source = r#"
#![allow(dead_code, static_mut_refs)]
pub struct Point { x: i32, y: i64 }
#[derive(PartialEq)] pub enum Mode { Off, On = 7, Auto }
pub enum Shape { Circle(u32), Rect { w: u8, h: u16 }, Empty }
pub struct State {
    point: Point, tuple: (u8, i16), mode: Mode, shape: Shape, empty: Shape,
    some: Option<u32>, none: Option<u32>, niche: Option<Box<i32>>, nothing: Option<Box<i32>>,
    text: &'static str, string: String, vec: Vec<u16>, slice: &'static [u32], boxed: Box<Point>,
    array: [u8; 4], at: usize, letter: char, flag: bool, ok: Result<u8, i64>, chars: Vec<String>,
    map: std::collections::HashMap<u8, u8>, byte: u8,
}
#[used]
static mut STATE: Option<&'static State> = None;
#[unsafe(no_mangle)]
pub static mut PLACE: *const State = std::ptr::null();
#[unsafe(no_mangle)]
pub extern "C" fn fill() {
    let state = Box::leak(Box::new(State {
        point: Point { x: -4, y: 9 }, tuple: (200, -3), mode: Mode::On,
        shape: Shape::Rect { w: 3, h: 500 }, empty: Shape::Empty,
        some: Some(5), none: None, niche: Some(Box::new(11)), nothing: None,
        text: "hello", string: "world".into(), vec: vec![1, 2, 3], slice: &[7, 8],
        boxed: Box::new(Point { x: 1, y: 2 }), array: [9, 8, 7, 6], at: 1, letter: 'é', flag: true,
        ok: Ok(3), chars: vec!["a".into(), "bc".into()], map: Default::default(), byte: 255,
    }));
    unsafe { PLACE = state; STATE = Some(state); }
}
"#;
    for level in ["opt-level=0", "opt-level=2"] {
        let compiler = rustc(level);
        let Some(mut machine) = load(&compiler, "fixture.rs", source, Language::Rust) else {
            return;
        };
        // Members of the state are used like variables.
        let expand = |text: &str| {
            let mut out = String::new();
            let mut rest = text;
            while let Some(at) = rest.find('$') {
                out += &rest[..at];
                out += "PLACE.";
                rest = &rest[at + 1..];
            }
            out + rest
        };
        for (text, expected) in [
            ("$point.x == -4 && $point.y == 9", Yes),
            ("$tuple.0 == 200 && $tuple.1 < 0", Yes),
            ("$mode == On", Yes),
            ("$mode == Mode::Auto", No),
            ("$some.is_some() && $none.is_none()", Yes),
            ("$some == None", No),
            ("$none == None", Yes),
            ("$some.unwrap() == 5", Yes),
            ("$none.unwrap() == 5", Deopt),
            ("$niche.is_some() && $nothing.is_none()", Yes),
            ("$shape == Rect", Yes),
            ("$shape == Circle", No),
            ("$empty == Empty", Yes),
            ("$shape.w == 3 && $shape.h == 500", Yes),
            ("$empty.w == 3", Deopt),
            ("$text == \"hello\"", Yes),
            ("$text.len() == 5 && !$text.is_empty()", Yes),
            ("$string == \"world\"", Yes),
            ("$string != \"worl\"", Yes),
            ("$vec.len() == 3 && $vec[2] == 3", Yes),
            ("$vec[$at] == 2", Yes),
            ("$vec[$at + 2] == 2", Deopt),
            ("$slice.len() == 2 && $slice[1] == 8", Yes),
            ("$boxed.x == 1", Yes),
            ("$array[$at] == 8", Yes),
            ("$array[$at + 3] == 8", Deopt),
            ("$letter == 'é'", Yes),
            ("$flag && !($byte < 255)", Yes),
            ("$byte + 1 > 3", Deopt),
            ("$ok.is_ok()", Yes),
            ("$ok == Err", No),
            ("$chars[1] == \"bc\"", Yes),
            ("$chars[1].len() == 2", Yes),
            ("$point.y as u8 == 9", Yes),
        ] {
            check(&mut machine, &[(&expand(text), expected)]);
        }
        refuse(
            &machine,
            &[(
                &expand("$map.len() == 0"),
                "`PLACE.map.len()`: only the debugger reads a \
                 `std::collections::hash::map::HashMap<u8, u8, std::hash::random::RandomState, \
                 alloc::alloc::Global>`",
            )],
        );
        let known: Result<Condition, _> = machine.compiled("1 < 2");
        assert_eq!(known.expect("it compiles").known(), Some(true));
    }
}
