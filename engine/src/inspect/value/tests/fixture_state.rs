#![allow(dead_code, static_mut_refs)]
//! Types with a state, counts or a guard, and types with alternatives.
use std::any::Any;
use std::cell::{Cell, Ref, RefCell, RefMut};
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::rc::{Rc, Weak};
use std::sync::atomic::*;
use std::sync::{Arc, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(lazy)]
use std::{cell::LazyCell, sync::LazyLock};

pub trait Speak { fn speak(&self) -> i32; }
pub struct Point { pub x: i32, pub y: i32 }
impl Speak for Point { fn speak(&self) -> i32 { self.x } }
#[repr(align(64))]
pub struct Aligned(pub i32);
impl Speak for Aligned { fn speak(&self) -> i32 { self.0 } }
pub enum Never {}
pub enum Single { Only(u8) }
pub enum Alone { It }
#[repr(u8)]
pub enum Tagged { Small(u8) = 3, Large { a: u64, b: u8 } = 200, Bare = 201 }
#[repr(i8)]
#[derive(Clone, Copy)]
pub enum Signed { Below = -3, Zero, Above = 100 }
pub enum Wide { A = 0x1_0000_0000, B = 2 }
pub enum Holding { Name(String), Both(String, u8), Boxed(Box<Holding>), End }
pub enum InBool { A(bool), B, C(()), D }
#[repr(C)]
pub union Parts { pub pair: (u16, u16), pub whole: u32, pub bytes: [u8; 4] }
pub struct Generic<T, const N: usize> { pub items: [T; N] }

pub struct Everything {
    impossible: Result<u8, Never>, infallible: Result<u16, std::convert::Infallible>, single: Single, alone: Alone,
    tagged: [Tagged; 3], signed: [Signed; 3], wide: [Wide; 2], holding: [Holding; 4], in_bool: [InBool; 4],
    letters: [Option<char>; 2], twice_optional: [Option<Option<bool>>; 3], vectors: [Option<Vec<u8>>; 2], borrowed_text: [Option<&'static str>; 2],
    functions: [Option<fn(i32) -> i32>; 2], results: [Result<(), Box<i32>>; 2], big_some: Option<u128>, parts: Parts, diverging: fn() -> !,
    generic: Generic<i8, 2>, nothing: [(); 2], deep_tuple: ((i8, (char,)), [&'static str; 1]),
    counted: Rc<Point>, text: Rc<str>, text_again: Rc<str>, text_weak: Weak<str>, text_gone: Weak<str>, path: Arc<Path>, bytes: Arc<[u8]>, bytes_weak: std::sync::Weak<[u8]>,
    points: Rc<[Point]>, named: Arc<String>, dynamic: Rc<dyn Speak>, dynamic_weak: Weak<dyn Speak>, dynamic_cell: Rc<RefCell<dyn Speak>>, dynamic_lock: Arc<Mutex<dyn Speak + Send>>, any: Box<dyn Any>, dynamic_ref: &'static RefCell<dyn Speak>, dynamic_guard: MutexGuard<'static, dyn Speak>, dynamic_part: Ref<'static, dyn Speak>, aligned: Arc<RwLock<dyn Speak>>,
    cell_ref: Ref<'static, Point>, cell_mut: RefMut<'static, Point>, cell_part: Ref<'static, i32>, cell_text: Ref<'static, str>,
    mutex_guard: MutexGuard<'static, Point>, read_guard: RwLockReadGuard<'static, Point>, write_guard: RwLockWriteGuard<'static, String>,
    spent: RangeInclusive<i32>, pointer: AtomicPtr<Point>, wide_atomic: AtomicU64, shared_flag: Arc<AtomicBool>, cells: [Cell<u8>; 2],
    mover: Box<dyn FnOnce() -> String>, counting: Box<dyn FnMut() -> u32>,
    #[cfg(lazy)] lazy: LazyCell<i32>, #[cfg(lazy)] lazy_forced: LazyCell<Point>, #[cfg(lazy)] lazy_poisoned: LazyCell<i32>,
    #[cfg(lazy)] lock: LazyLock<i32>, #[cfg(lazy)] lock_forced: LazyLock<String>, #[cfg(lazy)] lock_poisoned: LazyLock<i32>,
}
#[cfg(lazy)]
static GLOBAL_LAZY: LazyLock<Vec<u8>> = LazyLock::new(|| vec![1, 2]);
static mut TABLE: [(u8, &str); 2] = [(1, "one"), (2, "two")];
static GREETING: &str = "static";
static mut ALL: Option<Box<Everything>> = None;
static mut POINTER: *const Everything = std::ptr::null();
fn twice(x: i32) -> i32 { x * 2 }
fn forever() -> ! { loop {} }
fn lent<T>(value: T) -> &'static T { Box::leak(Box::new(value)) }
fn main() {
    let text: Rc<str> = "shared".into();
    let gone: Rc<str> = "gone".into();
    let text_gone = Rc::downgrade(&gone);
    drop(gone);
    let bytes: Arc<[u8]> = vec![1, 2, 3].into();
    let counted = Rc::new(Point { x: 1, y: 2 });
    std::mem::forget((counted.clone(), counted.clone(), Rc::downgrade(&counted)));
    let dynamic: Rc<dyn Speak> = Rc::new(Point { x: 3, y: 4 });
    let locked: &'static Mutex<dyn Speak> = lent(Mutex::new(Point { x: 25, y: 26 }));
    let borrowed: &'static RefCell<dyn Speak> = lent(RefCell::new(Point { x: 23, y: 24 }));
    let mut spent = 1..=1;
    spent.next();
    let poisoned = lent(RwLock::new("poisoned".to_string()));
    std::panic::set_hook(Box::new(|_| {}));
    let _ = std::thread::spawn(move || { let _guard = poisoned.write(); panic!(); }).join();
    let moved = "moved".to_string();
    let mut count = 4;
    #[cfg(lazy)]
    let (lazy_poisoned, lock_poisoned): (LazyCell<i32>, LazyLock<i32>) = (LazyCell::new(|| panic!()), LazyLock::new(|| panic!()));
    #[cfg(lazy)]
    let (lazy_forced, lock_forced): (LazyCell<Point>, LazyLock<String>) = (LazyCell::new(|| Point { x: 5, y: 6 }), LazyLock::new(|| "forced".into()));
    #[cfg(lazy)]
    {
        use std::panic::{catch_unwind, AssertUnwindSafe};
        let _ = catch_unwind(AssertUnwindSafe(|| *lazy_poisoned));
        let _ = catch_unwind(AssertUnwindSafe(|| *lock_poisoned));
        std::hint::black_box((lazy_forced.x, lock_forced.len(), GLOBAL_LAZY.len()));
    }
    let all = Everything {
        impossible: Ok(8), infallible: Ok(9), single: Single::Only(10), alone: Alone::It,
        tagged: [Tagged::Small(1), Tagged::Large { a: 2, b: 3 }, Tagged::Bare], signed: [Signed::Below, Signed::Zero, Signed::Above], wide: [Wide::A, Wide::B],
        holding: [Holding::Name("n".into()), Holding::Both("b".into(), 4), Holding::Boxed(Box::new(Holding::End)), Holding::End], in_bool: [InBool::A(true), InBool::B, InBool::C(()), InBool::D],
        letters: [Some('x'), None], twice_optional: [Some(Some(false)), Some(None), None], vectors: [Some(vec![5]), None], borrowed_text: [Some("lent"), None],
        functions: [Some(twice), None], results: [Ok(()), Err(Box::new(6))], big_some: Some(u128::MAX - 1), parts: Parts { whole: 0x0002_0001 }, diverging: forever,
        generic: Generic { items: [-1, 1] }, nothing: [(), ()], deep_tuple: ((-8, ('c',)), ["in"]),
        counted, text_weak: Rc::downgrade(&text), text_again: text.clone(), text, text_gone, path: Path::new("/shared").into(), bytes_weak: Arc::downgrade(&bytes), bytes,
        points: vec![Point { x: 0, y: 1 }].into(), named: Arc::new("name".into()), dynamic_weak: Rc::downgrade(&dynamic), dynamic, dynamic_cell: Rc::new(RefCell::new(Point { x: 7, y: 8 })), dynamic_lock: Arc::new(Mutex::new(Point { x: 9, y: 10 })), any: Box::new(Point { x: 11, y: 12 }), dynamic_ref: borrowed, dynamic_guard: locked.lock().unwrap(), dynamic_part: borrowed.borrow(), aligned: Arc::new(RwLock::new(Aligned(64))),
        cell_ref: lent(RefCell::new(Point { x: 13, y: 14 })).borrow(), cell_mut: lent(RefCell::new(Point { x: 15, y: 16 })).borrow_mut(), cell_part: Ref::map(lent(RefCell::new(Point { x: 17, y: 18 })).borrow(), |it| &it.y), cell_text: Ref::map(lent(RefCell::new("part of".to_string())).borrow(), |it| &it[..4]),
        mutex_guard: lent(Mutex::new(Point { x: 19, y: 20 })).lock().unwrap(), read_guard: lent(RwLock::new(Point { x: 21, y: 22 })).read().unwrap(), write_guard: poisoned.write().unwrap_or_else(|error| error.into_inner()),
        spent, pointer: AtomicPtr::new(std::ptr::null_mut()), wide_atomic: AtomicU64::new(u64::MAX), shared_flag: Arc::new(AtomicBool::new(true)), cells: [Cell::new(1), Cell::new(2)],
        mover: Box::new(move || moved), counting: Box::new(move || { count += 1; count }),
        #[cfg(lazy)] lazy: LazyCell::new(|| 1), #[cfg(lazy)] lazy_forced, #[cfg(lazy)] lazy_poisoned,
        #[cfg(lazy)] lock: LazyLock::new(|| 1), #[cfg(lazy)] lock_forced, #[cfg(lazy)] lock_poisoned,
    };
    unsafe {
        ALL = Some(Box::new(all));
        POINTER = &**ALL.as_ref().unwrap();
        std::hint::black_box((std::ptr::addr_of_mut!(POINTER), std::ptr::addr_of_mut!(ALL), std::ptr::addr_of_mut!(TABLE), &GREETING));
        let all = &*POINTER;
        std::hint::black_box((all.dynamic.speak(), all.dynamic_cell.borrow().speak(), all.dynamic_lock.lock().unwrap().speak(), all.any.is::<Point>(), all.dynamic_guard.speak(), all.dynamic_part.speak(), all.aligned.read().unwrap().speak()));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
