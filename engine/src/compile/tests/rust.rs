//! Conditions on parts of texts and rows, cells, ranges and numbers of Rust.

use super::machine::Answer::{Deopt, No, Yes};
use super::programs::{check, load, refuse, rustc};
use dwarf::Language;

const SOURCE: &str = r#"
#![allow(dead_code, static_mut_refs)]
use std::{borrow::Cow, cell::{Cell, RefCell}, ops::{Range, RangeInclusive}, rc::Rc, sync::Arc};
pub struct State {
    vec: Vec<u16>, slice: &'static [u32], array: [u8; 4], text: String, high: &'static str,
    names: Vec<&'static str>,
    borrowed: Cow<'static, str>, owned: Cow<'static, str>,
    cell: Cell<i32>, shared: RefCell<i32>, taken: RefCell<i32>, rows: RefCell<Vec<u8>>,
    rc: Rc<RefCell<i32>>, arc: Arc<i32>,
    range: Range<i32>, inclusive: RangeInclusive<u8>,
    five: i32, minus: i64, least: i32, byte: u8, large: u64, small: u32, least_wide: i64,
    nan: f64, single: f32, zero: f64, letter: char, at: usize,
    some: Option<Box<i32>>, maybe: Option<i32>, result: Result<i32, u8>,
    named: Option<String>,
}
#[used]
static mut STATE: Option<&'static State> = None;
#[unsafe(no_mangle)]
pub static mut PLACE: *const State = std::ptr::null();
#[unsafe(no_mangle)]
pub extern "C" fn fill() {
    let rc = Rc::new(RefCell::new(8));
    std::mem::forget(rc.clone());
    let state = Box::leak(Box::new(State {
        vec: vec![1, 2, 3], slice: &[7, 8, 9], array: [9, 8, 7, 6], text: "hello".into(), high: "aébc",
        names: vec!["one", "two"],
        borrowed: Cow::Borrowed("lent"), owned: Cow::Owned("kept".to_string()),
        cell: Cell::new(3), shared: RefCell::new(4), taken: RefCell::new(5), rows: RefCell::new(vec![1, 2]),
        rc, arc: Arc::new(6), range: 1..5, inclusive: 1..=5,
        five: 5, minus: -7, least: i32::MIN, byte: b'z', large: u64::MAX, small: 0xf0, least_wide: i64::MIN,
        nan: f64::NAN, single: -1.5, zero: -0.0, letter: 'x', at: 1,
        some: Some(Box::new(4)), maybe: Some(4), result: Ok(4),
        named: Some("me".into()),
    }));
    std::mem::forget(state.shared.borrow());
    std::mem::forget(state.taken.borrow_mut());
    unsafe { PLACE = state; STATE = Some(state); }
}
"#;

#[test]
fn library() {
    for level in ["opt-level=0", "opt-level=2"] {
        let compiler = rustc(level);
        let Some(mut machine) = load(&compiler, "fixture.rs", SOURCE, Language::Rust) else {
            return;
        };
        let expand = |text: &str| text.replace('$', "PLACE.");
        for (text, expected) in [
            ("&$vec[1..3] == [2, 3]", Yes),
            ("$vec[..2] == [1, 2]", Yes),
            ("&$vec[1..=1] == &[2]", Yes),
            ("&$vec[1..4] == [2, 3]", Deopt),
            ("&$slice[$at..] == [8, 9]", Yes),
            ("$slice[2..1].len() == 0", Deopt),
            ("$array[1..].len() == 3 && $array[..2][1] == 8", Yes),
            ("$array[1..].contains(&6)", Yes),
            ("$vec[1..].iter().any(|x| *x == 1)", No),
            ("&$text[..] == \"hello\"", Yes),
            ("&$text[1..3] == \"el\"", Yes),
            ("$text[1..].starts_with(\"ello\")", Yes),
            ("&$high[..1] == \"a\" && &$high[3..] == \"bc\"", Yes),
            ("&$high[..2] == \"a\"", Deopt),
            ("&$names[0][1..] == \"ne\"", Yes),
            ("$borrowed == \"lent\" && $owned == \"kept\"", Yes),
            ("$borrowed == $owned", No),
            (
                "$text > \"hell\".to_string() && $text < \"help\".to_owned()",
                Yes,
            ),
            ("$named == Some(\"me\".to_string())", Yes),
            ("$owned.len() == 4 && $borrowed.starts_with(\"le\")", Yes),
            ("$cell.get() == 3", Yes),
            ("*$shared.borrow() == 4", Yes),
            ("*$taken.borrow() == 5", Deopt),
            ("$rows.borrow().len() == 2 && $rows.borrow()[1] == 2", Yes),
            ("*$rc.borrow() == 8", Yes),
            (
                "Rc::strong_count(&$rc) == 2 && Arc::strong_count(&$arc) == 1",
                Yes,
            ),
            ("(1..5).contains(&$five)", No),
            (
                "(1..=5).contains(&$five) && (..6).contains(&$five) && (5..).contains(&$five)",
                Yes,
            ),
            ("(..=4).contains(&$five)", No),
            ("$range.contains(&4) && !$range.contains(&5)", Yes),
            ("$inclusive.contains(&5)", Yes),
            ("$minus.abs() == 7 && $five.abs() == 5", Yes),
            ("$least.abs() == 5", Deopt),
            (
                "$least.wrapping_abs() < 0 && $least.unsigned_abs() == 0x8000_0000",
                Yes,
            ),
            ("$five.pow(3) == 125 && $minus.pow(2) == 49", Yes),
            ("$least.pow(2) == 1", Deopt),
            ("$least.wrapping_pow(2) == 0", Yes),
            ("$five.wrapping_add(i32::MAX) < 0", Yes),
            (
                "$byte.wrapping_mul(3) == 110 && $byte.wrapping_sub(200) == 178",
                Yes,
            ),
            ("$small.is_power_of_two()", No),
            ("($small + 16).is_power_of_two()", Yes),
            (
                "$five.min(3) == 3 && $five.max(9) == 9 && $minus.min(-9) == -9",
                Yes,
            ),
            ("$five.clamp(1, 4) == 4", Yes),
            ("$five.clamp(4, 1) == 4", Deopt),
            (
                "$small.count_ones() == 4 && $large.count_ones() == 64 && $minus.count_ones() == 62",
                Yes,
            ),
            (
                "$small.count_zeros() == 28 && $small.trailing_zeros() == 4",
                Yes,
            ),
            ("$five.checked_add(1) == Some(6)", Yes),
            ("$five.checked_add(i32::MAX).is_none()", Yes),
            (
                "$large.checked_add(1) == None && $large.checked_sub(1).is_some()",
                Yes,
            ),
            (
                "$least_wide.checked_sub(1).is_none() && $minus.checked_add(7) == Some(0)",
                Yes,
            ),
            (
                "$small.checked_mul(0x1000_0000) == None && $byte.checked_mul(2) == Some(244)",
                Yes,
            ),
            (
                "$small.saturating_sub(300) == 0 && $byte.saturating_add(200) == 255",
                Yes,
            ),
            ("$small.abs_diff(300) == 60 && $minus.signum() == -1", Yes),
            ("$minus.is_negative() && $five.is_positive()", Yes),
            ("$byte.is_ascii_lowercase() && !$byte.is_ascii_digit()", Yes),
            (
                "$letter.is_ascii_alphabetic() && !$letter.is_ascii_whitespace()",
                Yes,
            ),
            ("$nan.is_nan() && !$zero.is_nan()", Yes),
            ("$single.abs() == 1.5 && 1.0 / $zero.abs() > 0.0", Yes),
            ("$single.is_finite() && !$nan.is_finite()", Yes),
            ("$some.as_deref().is_some_and(|x| *x > 3)", Yes),
            (
                "$maybe.is_some_and(|x| x > 3) && $result.is_ok_and(|x| x == 4)",
                Yes,
            ),
        ] {
            check(&mut machine, &[(&expand(text), expected)]);
        }
        refuse(
            &machine,
            &[
                (
                    "PLACE.five.pow(9) == 1",
                    "`PLACE.five.pow(9)`: an exponent above 8",
                ),
                (
                    "PLACE.vec.iter().sum::<u16>() == 6",
                    "`PLACE.vec.iter().sum::<u16>()`: only the debugger evaluates `sum`",
                ),
            ],
        );
    }
}
