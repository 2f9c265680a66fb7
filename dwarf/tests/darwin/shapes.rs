//! A crate without core: rustc has none for Apple's targets here. Its functions are in several object
//! files; some are dropped or generic.

#![feature(no_core, lang_items, auto_traits)]
#![no_core]
#![allow(internal_features, dead_code)]
#![crate_type = "lib"]
#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
#[lang = "sync"]
pub unsafe auto trait Sync {}
#[lang = "freeze"]
unsafe auto trait Freeze {}
#[lang = "drop_in_place"]
unsafe fn drop_in_place<T: PointeeSized>(_value: *mut T) {
    loop {}
}
impl Copy for u32 {}
impl Copy for bool {}
impl<T> Copy for &T {}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}

pub enum Shape {
    Circle(u32),
    Rect { w: u32, h: u32 },
    Unit,
}
pub struct Pair<T> {
    pub one: T,
    pub two: T,
}
pub static COUNT: u32 = 3;
static mut LAST: u32 = 4;

mod inner {
    pub trait Area {
        fn area(&self) -> u32;
    }
    impl Area for super::Shape {
        #[inline(never)]
        fn area(&self) -> u32 {
            match self {
                super::Shape::Circle(r) => *r,
                super::Shape::Rect { w, h: _ } => {
                    let wide = *w;
                    wide
                }
                super::Shape::Unit => 0,
            }
        }
    }
    #[inline(never)]
    pub fn first<T: super::Copy>(pair: &super::Pair<T>) -> T {
        let one = pair.one;
        one
    }
    pub fn dropped(x: u32) -> u32 {
        x
    }
}
use inner::Area;
#[unsafe(no_mangle)]
pub extern "C" fn main(argc: u32) -> u32 {
    let shape = Shape::Rect { w: argc, h: 2 };
    let area = shape.area();
    let pair = Pair {
        one: area,
        two: COUNT,
    };
    let same = Pair {
        one: true,
        two: false,
    };
    let got = inner::first(&pair);
    if inner::first(&same) {
        unsafe {
            LAST = got;
        }
    }
    got
}
