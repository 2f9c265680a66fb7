#![allow(dead_code, static_mut_refs)]
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::num::{NonZeroU8, NonZeroU32, Wrapping};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
#[derive(Debug)]
pub enum Shape { Circle { r: f64 }, Rect(f64, f64), Nothing }
#[derive(Debug, Clone, Copy)]
pub enum Many { A(bool, u8), B(u32), C, D }
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Simple { A, B = 5, C }
#[derive(Debug, Clone, Copy)]
pub struct Point { x: i32, y: i32 }
#[derive(Debug)]
pub struct Everything {
    text: String, roomy: String, empty: String, texts: RefCell<String>, cell: Cell<i32>, ref_cell: RefCell<u16>, cell_option: Cell<Option<i32>>,
    count: AtomicU32, total: AtomicI64, flag: AtomicBool, non_zero: NonZeroU8, maybe: Option<NonZeroU32>, wrapping: Wrapping<u8>,
    tuple: (i32, char), nested: (u8, (i16, bool)), owner: (i32, String), shape: Shape, rect: Shape, many: Many, other: Many,
    boxed: Option<Box<i32>>, no_box: Option<Box<i32>>, some_text: Option<String>, no_text: Option<String>, result: Result<i32, String>,
    reference: &'static i32, seven: &'static i32, number: Box<i32>, simple: Simple, bytes: [u8; 3], letter: char, i: i32, small: u8, real: f32, yes: bool, point: Point, point2: Point, name: &'static str, name2: &'static str,
}
static SIX: i32 = 6;
static SEVEN: i32 = 7;
static mut ALL: Option<Box<Everything>> = None;
static mut POINTER: *const Everything = std::ptr::null();
fn main() {
    let mut roomy = String::with_capacity(32);
    roomy.push_str("room");
    let all = Everything {
        text: "hello".into(), roomy, empty: String::new(), texts: RefCell::new("cells".into()), cell: Cell::new(1), ref_cell: RefCell::new(2), cell_option: Cell::new(None),
        count: AtomicU32::new(3), total: AtomicI64::new(4), flag: AtomicBool::new(false), non_zero: NonZeroU8::new(5).unwrap(), maybe: None, wrapping: Wrapping(250),
        tuple: (1, 'a'), nested: (1, (2, false)), owner: (1, "own".into()), shape: Shape::Circle { r: 1.5 }, rect: Shape::Rect(1.0, 2.0), many: Many::C, other: Many::A(true, 9),
        boxed: Some(Box::new(1)), no_box: None, some_text: Some("some".into()), no_text: None, result: Ok(1),
        reference: &SIX, seven: &SEVEN, number: Box::new(55), simple: Simple::A, bytes: *b"abc", letter: 'a', i: -42, small: 250, real: 1.5, yes: false, point: Point { x: 1, y: 2 }, point2: Point { x: 3, y: 4 }, name: "name", name2: "other",
    };
    unsafe {
        ALL = Some(Box::new(all));
        POINTER = &**ALL.as_ref().unwrap();
        std::hint::black_box((std::ptr::addr_of!(POINTER), std::ptr::addr_of!(ALL), (*POINTER).count.load(Ordering::SeqCst)));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("{:?}", unsafe { ALL.take() }.unwrap());
}
