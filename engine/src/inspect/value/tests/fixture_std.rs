#![allow(dead_code, static_mut_refs)]
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::ffi::{CStr, CString, OsString};
use std::io::Write;
use std::net::*;
use std::num::*;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::atomic::*;
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::{Duration, Instant, SystemTime};

pub trait Speak { fn speak(&self) -> i32; }
pub struct Point { pub x: i32, pub y: i32 }
#[repr(align(64))]
pub struct Aligned(pub i32);
pub struct Loud { pub name: String }
impl Speak for Point { fn speak(&self) -> i32 { self.x } }
impl Speak for Aligned { fn speak(&self) -> i32 { self.0 } }
impl Speak for Loud { fn speak(&self) -> i32 { self.name.len() as i32 } }
impl Speak for i32 { fn speak(&self) -> i32 { *self } }

pub struct Everything {
    os: OsString, path: PathBuf, path_ref: &'static Path, c_string: CString, c_str: &'static CStr, rc_text: Rc<str>, arc_path: Arc<Path>,
    deque: VecDeque<i32>, wrapped: VecDeque<i32>, empty_deque: VecDeque<i32>, list: LinkedList<String>, empty_list: LinkedList<i32>, heap: BinaryHeap<i32>,
    map: HashMap<String, i32>, number_map: HashMap<u64, Point>, empty_map: HashMap<i32, i32>, set: HashSet<u8>, big_map: HashMap<u32, u32>, unit_map: HashMap<u8, ()>,
    tree: BTreeMap<i32, String>, text_tree: BTreeMap<String, u8>, big_tree: BTreeMap<u32, u64>, tree_set: BTreeSet<u8>, empty_tree: BTreeMap<i32, i32>,
    rc: Rc<Point>, weak: Weak<Point>, dropped: Weak<Point>, never: Weak<Point>, arc: Arc<i32>, arc_weak: std::sync::Weak<i32>, rc_slice: Rc<[i32]>, shared_cell: Rc<RefCell<Point>>,
    cell: Cell<i32>, ref_cell: RefCell<i32>, borrowed: RefCell<i32>, mut_borrowed: RefCell<i32>, once: OnceCell<i32>, once_set: OnceCell<Point>, once_lock: OnceLock<String>, once_lock_empty: OnceLock<i32>,
    mutex: Mutex<i32>, locked: Mutex<Point>, poisoned: Arc<Mutex<i32>>, rw: RwLock<i32>, rw_read: RwLock<i32>, rw_written: RwLock<i32>,
    non_zero: NonZeroU32, some_non_zero: Option<NonZeroI64>, no_non_zero: Option<NonZeroU8>, wrapping: Wrapping<u8>, atomic: AtomicI32, atomic_size: AtomicUsize, atomic_bool: AtomicBool, atomic_ptr: AtomicPtr<i32>,
    pin: std::pin::Pin<Box<i32>>, borrowed_cow: Cow<'static, str>, owned_cow: Cow<'static, str>, cow_slice: Cow<'static, [i32]>, kept: std::mem::ManuallyDrop<String>, maybe: std::mem::MaybeUninit<i32>,
    range: std::ops::Range<i32>, inclusive: std::ops::RangeInclusive<i32>, from: std::ops::RangeFrom<u8>, to: std::ops::RangeTo<usize>, to_inclusive: std::ops::RangeToInclusive<char>, full: std::ops::RangeFull,
    duration: Duration, millis: Duration, instant: Instant, epoch: SystemTime, date: SystemTime,
    ip4: Ipv4Addr, ip6: Ipv6Addr, ip: IpAddr, ip_six: IpAddr, socket: SocketAddr, socket6: SocketAddrV6, socket_six: SocketAddr,
    dyn_ref: &'static dyn Speak, dyn_box: Box<dyn Speak>, dyn_rc: Rc<dyn Speak>, dyn_aligned: Arc<dyn Speak>, dyn_loud: Box<dyn Speak>, dyn_number: Box<dyn Speak>, dyn_many: Vec<Box<dyn Speak>>,
    function: fn(i32) -> i32, words: Option<Rc<str>>, entry: Option<Box<HashMap<u8, u8>>>, nested: HashMap<u8, Vec<Option<Rc<Point>>>>, pair: (Duration, Ipv4Addr),
    map_of_sets: BTreeMap<u8, HashSet<u8>>, keyed_by_point: BTreeMap<(u8, u8), u8>, null: std::ptr::NonNull<i32>,
    unresumed: Task, suspended: Task, returned: Task, closure: Box<dyn Fn(i32) -> i32>, owning_closure: Box<dyn Fn() -> usize>,
}
type Task = Pin<Box<dyn Future<Output = u32>>>;
struct Later(u32);
impl Future for Later {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        if self.0 == 0 { return Poll::Ready(7); }
        self.0 -= 1;
        Poll::Pending
    }
}
async fn inner(text: String, n: u32) -> u32 {
    let local = n + 1;
    let got = Later(2).await;
    got + local + text.len() as u32
}
async fn outer(a: u32) -> u32 {
    let kept = a * 2;
    let first = inner("hi".to_string(), kept).await;
    kept + first
}
struct Nobody;
impl std::task::Wake for Nobody { fn wake(self: Arc<Self>) {} }
fn polled(times: usize) -> Task {
    let mut task: Task = Box::pin(outer(3));
    let waker = Arc::new(Nobody).into();
    for _ in 0..times { let _ = task.as_mut().poll(&mut Context::from_waker(&waker)); }
    task
}
static POINT: Point = Point { x: 1, y: 2 };
static NUMBERS: [i32; 3] = [1, 2, 3];
static mut ALL: Option<Box<Everything>> = None;
static mut POINTER: *const Everything = std::ptr::null();
fn twice(x: i32) -> i32 { x * 2 }
fn main() {
    let mut wrapped: VecDeque<i32> = (0..8).collect();
    while wrapped.len() < wrapped.capacity() { wrapped.push_back(100); }
    for n in 0..5 { wrapped.pop_front(); wrapped.push_back(n + 10); }
    while wrapped.len() > 6 { wrapped.pop_front(); }
    let rc = Rc::new(Point { x: 9, y: 10 });
    let gone = Rc::new(Point { x: 0, y: 0 });
    let dropped = Rc::downgrade(&gone);
    drop(gone);
    let arc = Arc::new(66);
    let poisoned = Arc::new(Mutex::new(4));
    let other = poisoned.clone();
    std::panic::set_hook(Box::new(|_| {}));
    let _ = std::thread::spawn(move || { let _guard = other.lock(); panic!(); }).join();
    let once_set = OnceCell::new();
    let _ = once_set.set(Point { x: 7, y: 8 });
    let once_lock = OnceLock::new();
    let _ = once_lock.set("set".to_string());
    let captured: &'static i32 = &NUMBERS[2];
    let owned = "owned".to_string();
    let all = Everything {
        os: "os".into(), path: "/a/b".into(), path_ref: Path::new("/c"), c_string: CString::new("c string").unwrap(), c_str: CStr::from_bytes_with_nul(b"c str\0").unwrap(), rc_text: "shared".into(), arc_path: Path::new("/d").into(),
        deque: (1..4).collect(), wrapped, empty_deque: VecDeque::new(), list: ["one", "two", "three"].map(String::from).into_iter().collect(), empty_list: LinkedList::new(), heap: [1, 3, 2].into_iter().collect(),
        map: [("one".to_string(), 1)].into_iter().collect(), number_map: [(5, Point { x: 1, y: 2 })].into_iter().collect(), empty_map: HashMap::new(), set: [7].into_iter().collect(), big_map: (0..1_000_000).map(|n| (n, n * 2)).collect(), unit_map: [(3, ())].into_iter().collect(),
        tree: [(1, "one".to_string()), (2, "two".to_string())].into_iter().collect(), text_tree: [("k".to_string(), 1)].into_iter().collect(), big_tree: (0..100_000).map(|n| (n, u64::from(n) * 3)).collect(), tree_set: (1..4).collect(), empty_tree: BTreeMap::new(),
        weak: Rc::downgrade(&rc), rc, dropped, never: Weak::new(), arc_weak: Arc::downgrade(&arc), arc, rc_slice: vec![1, 2].into(), shared_cell: Rc::new(RefCell::new(Point { x: 5, y: 6 })),
        cell: Cell::new(3), ref_cell: RefCell::new(4), borrowed: RefCell::new(5), mut_borrowed: RefCell::new(6), once: OnceCell::new(), once_set, once_lock, once_lock_empty: OnceLock::new(),
        mutex: Mutex::new(1), locked: Mutex::new(Point { x: 2, y: 3 }), poisoned, rw: RwLock::new(5), rw_read: RwLock::new(6), rw_written: RwLock::new(7),
        non_zero: NonZeroU32::new(12).unwrap(), some_non_zero: NonZeroI64::new(-3), no_non_zero: None, wrapping: Wrapping(200), atomic: AtomicI32::new(-5), atomic_size: AtomicUsize::new(6), atomic_bool: AtomicBool::new(true), atomic_ptr: AtomicPtr::new(std::ptr::null_mut()),
        pin: Box::pin(11), borrowed_cow: Cow::Borrowed("lent"), owned_cow: Cow::Owned("own".into()), cow_slice: Cow::Borrowed(&NUMBERS), kept: std::mem::ManuallyDrop::new("kept".into()), maybe: std::mem::MaybeUninit::new(13),
        range: 1..4, inclusive: 1..=4, from: 2.., to: ..3, to_inclusive: ..='c', full: ..,
        duration: Duration::new(1, 500_000_000), millis: Duration::from_millis(20), instant: Instant::now(), epoch: SystemTime::UNIX_EPOCH, date: SystemTime::UNIX_EPOCH + Duration::new(951_782_400, 5),
        ip4: Ipv4Addr::new(127, 0, 0, 1), ip6: Ipv6Addr::LOCALHOST, ip: IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), ip_six: "fe80::1".parse().unwrap(), socket: "1.2.3.4:80".parse().unwrap(), socket6: SocketAddrV6::new(Ipv6Addr::LOCALHOST, 443, 0, 2), socket_six: "[::1]:8080".parse().unwrap(),
        dyn_ref: &POINT, dyn_box: Box::new(Point { x: 3, y: 4 }), dyn_rc: Rc::new(Point { x: 5, y: 6 }), dyn_aligned: Arc::new(Aligned(64)), dyn_loud: Box::new(Loud { name: "loud".into() }), dyn_number: Box::new(17), dyn_many: vec![Box::new(18), Box::new(Point { x: 0, y: 1 })],
        function: twice, words: Some("rc".into()), entry: Some(Box::new([(1, 2)].into_iter().collect())), nested: [(1, vec![None, Some(Rc::new(Point { x: 1, y: 2 }))])].into_iter().collect(), pair: (Duration::from_secs(3), Ipv4Addr::new(1, 1, 1, 1)),
        map_of_sets: [(1, [2].into_iter().collect())].into_iter().collect(), keyed_by_point: [((1, 2), 3)].into_iter().collect(), null: std::ptr::NonNull::dangling(),
        unresumed: polled(0), suspended: polled(1), returned: polled(3), closure: Box::new(|x| x + *captured), owning_closure: Box::new(move || owned.len()),
    };
    unsafe {
        ALL = Some(Box::new(all));
        POINTER = &**ALL.as_ref().unwrap();
        std::hint::black_box((std::ptr::addr_of_mut!(POINTER), std::ptr::addr_of_mut!(ALL)));
        let all = &*POINTER;
        std::mem::forget((all.borrowed.borrow(), all.borrowed.borrow(), all.mut_borrowed.borrow_mut()));
        std::mem::forget((all.locked.lock(), all.rw_read.read(), all.rw_written.write()));
        for one in all.dyn_many.iter().chain([&all.dyn_box, &all.dyn_loud, &all.dyn_number]) { std::hint::black_box(one.speak()); }
        std::hint::black_box((all.dyn_ref.speak(), all.dyn_rc.speak(), all.dyn_aligned.speak()));
    }
    println!("ready");
    std::io::stdout().flush().unwrap();
    std::io::stdin().read_line(&mut String::new()).unwrap();
}
