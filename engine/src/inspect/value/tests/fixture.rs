#![allow(dead_code, static_mut_refs)]
use std::io::Write;
pub struct Point { pub x: i32, pub y: i32 }
pub struct Pair(pub i32, pub u8);
pub struct Unit;
pub struct Empty {}
pub enum Shape { Circle { r: f64 }, Rect(f64, f64), Nothing }
pub enum Simple { A, B = 5, C }
pub enum Many { A(bool, u8), B(u32), C, D }
pub enum Nested { One(Option<bool>), Two, Three }
pub struct Node { pub value: i32, pub next: Option<Box<Node>> }
pub union Either { pub i: u32, pub f: f32 }
pub trait Speak { fn speak(&self) -> i32; }
impl Speak for Point { fn speak(&self) -> i32 { self.x } }
fn twice(x: i32) -> i32 { x * 2 }
static POINT: Point = Point { x: 1, y: 2 };
pub struct Everything {
    i: i32, byte: u8, signed: i8, big: u128, least: i128, size: usize, float: f32, double: f64, whole: f64, yes: bool, letter: char, emoji: char,
    point: Point, pair: Pair, unit: (), unit_struct: Unit, empty: Empty, tuple: (i32, &'static str), single: (u8,),
    circle: Shape, rect: Shape, nothing: Shape, simple: Simple, many: [Many; 4],
    some: Option<i32>, none: Option<i32>, reference: &'static Point, some_ref: Option<&'static Point>, none_ref: Option<&'static Point>,
    number_ref: &'static i32, nested: [Nested; 4], ok: Result<i32, String>, err: Result<i32, String>,
    text: &'static str, string: String, some_string: Option<String>, none_string: Option<String>, none_bool: Option<bool>,
    vec: Vec<i32>, empty_vec: Vec<i32>, strings: Vec<String>, slice: &'static [i32], array: [i32; 3], matrix: [[u8; 2]; 2], bytes: Vec<u8>,
    boxed: Box<Point>, boxed_number: Box<i32>, boxed_text: Box<str>, boxed_slice: Box<[u16]>, dynamic: Box<dyn Speak>, list: Node,
    raw: *const Point, null: *const Point, function: fn(i32) -> i32, either: Either, long: Vec<i32>, rc: std::rc::Rc<Point>, arc: std::sync::Arc<i32>,
    ordering: std::cmp::Ordering, unicode: String, units: Vec<()>, range: std::ops::Range<i32>, deep: Option<Option<Box<Point>>>,
}
static SLICE: [i32; 4] = [10, 20, 30, 40];
static NUMBER: i32 = 77;
static mut ALL: Option<Box<Everything>> = None;
static mut POINTER: *const Everything = std::ptr::null();
static mut GARBAGE: std::mem::MaybeUninit<Vec<i32>> = std::mem::MaybeUninit::uninit();
static mut BROKEN: *const Vec<i32> = std::ptr::null();
static mut WORDS: [usize; 3] = [usize::MAX / 3, 8, usize::MAX / 2];
static mut COUNTER: i32 = 1;
fn main() {
    let list = Node { value: 1, next: Some(Box::new(Node { value: 2, next: Some(Box::new(Node { value: 3, next: None })) })) };
    let all = Everything {
        i: -42, byte: 7, signed: -3, big: u128::MAX, least: i128::MIN, size: 9, float: 1.1, double: 0.1, whole: 2.0, yes: true, letter: 'a', emoji: '🦀',
        point: Point { x: 3, y: 4 }, pair: Pair(5, 6), unit: (), unit_struct: Unit, empty: Empty {}, tuple: (1, "a"), single: (8,),
        circle: Shape::Circle { r: 1.5 }, rect: Shape::Rect(1.0, 2.5), nothing: Shape::Nothing, simple: Simple::B, many: [Many::A(true, 1), Many::B(9), Many::C, Many::D],
        some: Some(42), none: None, reference: &POINT, some_ref: Some(&POINT), none_ref: None, number_ref: &NUMBER,
        nested: [Nested::One(Some(true)), Nested::One(None), Nested::Two, Nested::Three], ok: Ok(1), err: Err("bad".into()),
        text: "say \"hi\"", string: "hello".into(), some_string: Some("x".into()), none_string: None, none_bool: None,
        vec: vec![1, 2, 3], empty_vec: Vec::new(), strings: vec!["one".into(), "two".into()], slice: &SLICE[1..], array: [1, 2, 3], matrix: [[1, 2], [3, 4]], bytes: vec![1, 255],
        boxed: Box::new(Point { x: 5, y: 6 }), boxed_number: Box::new(55), boxed_text: "boxed".into(), boxed_slice: vec![1u16, 2].into(), dynamic: Box::new(Point { x: 7, y: 8 }), list,
        raw: &POINT, null: std::ptr::null(), function: twice, either: Either { i: 0x3f800000 }, long: (0..100000).map(|n| n * 5).collect(), rc: std::rc::Rc::new(Point { x: 9, y: 10 }), arc: std::sync::Arc::new(66),
        ordering: std::cmp::Ordering::Less, unicode: "héllo\n\u{1}".into(), units: vec![(), ()], range: 1..4, deep: Some(Some(Box::new(Point { x: 1, y: 1 }))),
    };
    unsafe {
        ALL = Some(Box::new(all));
        POINTER = &**ALL.as_ref().unwrap();
        BROKEN = std::ptr::addr_of!(WORDS).cast();
        std::hint::black_box((std::ptr::addr_of!(GARBAGE), std::ptr::addr_of!(BROKEN), std::ptr::addr_of!(COUNTER)));
        let all = &*POINTER;
        std::hint::black_box(all.dynamic.speak() + all.either.i as i32);
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
