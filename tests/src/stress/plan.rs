//! Breakpoints at random lines that never stop: with conditions that are never true, hit counts
//! that are never reached, log messages.

use std::collections::BTreeMap;

use fastrand::Rng;
use serde_json::{Value, json};

use super::places::{Place, Places};

/// Plans up to `most` breakpoints, each as in DAP but without its line.
pub fn breakpoints(rng: &mut Rng, places: &Places, most: usize) -> BTreeMap<Place, Value> {
    let mut planned = BTreeMap::new();
    let wanted = rng.usize(1..=most);
    for _ in 0..wanted {
        let busy = !places.busy.is_empty() && rng.u8(0..4) > 0;
        let (place, names) = if busy {
            let (place, names) = &places.busy[rng.usize(..places.busy.len())];
            (place, &names[..])
        } else if places.all.is_empty() {
            break;
        } else {
            (&places.all[rng.usize(..places.all.len())], &[][..])
        };
        planned.insert(place.clone(), breakpoint(rng, names, places));
    }
    planned
}

fn breakpoint(rng: &mut Rng, names: &[(String, String)], places: &Places) -> Value {
    match rng.u8(0..12) {
        10 | 11 => json!({"trace": {"query": query(rng, names, places)}}),
        0..=5 => json!({"condition": never(rng, names)}),
        6 | 7 => {
            let number = 4_000_000_000 + rng.u64(0..1000);
            let operator = ["", "== ", ">= ", "> ", "% "][rng.usize(..5)];
            let mut breakpoint = json!({"hitCondition": format!("{operator}{number}")});
            if rng.u8(0..4) == 0 {
                breakpoint["condition"] = json!(often(rng, names));
            }
            breakpoint
        }
        8 => json!({"logMessage": message(rng, names), "condition": often(rng, names)}),
        _ => json!({"logMessage": message(rng, names)}),
    }
}

/// The kind of a variable for conditions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Float,
    Bool,
    Pointer,
    /// A container with a method `len`, or `size`.
    Sized(&'static str),
    Other,
}

fn kind_of(kind: &str) -> Kind {
    let kind = kind.trim_start_matches("const ").trim_end_matches(" const");
    let integers = [
        "int",
        "unsigned int",
        "long",
        "unsigned long",
        "short",
        "char",
        "unsigned char",
        "size_t",
        "unsigned",
        "long long",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "usize",
        "isize",
        "uint32_t",
        "uint8_t",
        "uint16_t",
        "uint64_t",
        "int64_t",
        "uInt",
        "uLong",
        "Int32",
        "UInt32",
        "UChar",
    ];
    if integers.contains(&kind) {
        Kind::Integer
    } else if ["double", "float", "f32", "f64"].contains(&kind) {
        Kind::Float
    } else if kind == "bool" {
        Kind::Bool
    } else if kind.starts_with("alloc::vec::Vec<")
        || kind.starts_with("&[")
        || kind.starts_with("&str")
        || kind.starts_with("alloc::string::String")
    {
        Kind::Sized("len")
    } else if kind.starts_with("std::vector<")
        || kind.starts_with("std::string")
        || kind.starts_with("std::__cxx11::basic_string")
    {
        Kind::Sized("size")
    } else if kind.ends_with('*') {
        Kind::Pointer
    } else {
        Kind::Other
    }
}

fn any_of<'a>(rng: &mut Rng, names: &'a [(String, String)]) -> Option<(&'a str, Kind)> {
    let usable: Vec<(&str, Kind)> = names
        .iter()
        .map(|(name, kind)| (&name[..], kind_of(kind)))
        .filter(|(_, kind)| *kind != Kind::Other)
        .collect();
    (!usable.is_empty() && rng.u8(0..8) > 0).then(|| usable[rng.usize(..usable.len())])
}

/// Returns a condition that is never true.
fn never(rng: &mut Rng, names: &[(String, String)]) -> String {
    let Some((name, kind)) = any_of(rng, names) else {
        let registers = [
            "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r12", "r15", "rbp",
        ];
        let register = registers[rng.usize(..registers.len())];
        return match rng.u8(0..5) {
            0 => "$rsp == 1".to_owned(),
            1 => "$rip == 0".to_owned(),
            2 => format!("${register} != ${register}"),
            3 => format!("${register} < 16 && ${register} > 16"),
            _ => "1 == 2".to_owned(),
        };
    };
    match kind {
        Kind::Integer => match rng.u8(0..6) {
            0 => format!("{name} != {name}"),
            1 => format!("({name} & 1) == 2"),
            2 => format!("{name} < 5 && {name} > 5"),
            3 => format!("{name} * 2.5 != {name} * 2.5"),
            4 => format!("({name} | 3) == 4"),
            _ => format!("!({name} == {name} || $rsp == 1)"),
        },
        Kind::Float => format!("{name} < {name}"),
        // Elsewhere on the line, a generic function may have a number of that name.
        Kind::Bool => format!("{name} != {name}"),
        Kind::Pointer => match rng.u8(0..3) {
            0 => format!("{name} != {name}"),
            1 => format!("*{name} != *{name}"),
            _ => format!("$rsp == 1 && {name} == 0"),
        },
        Kind::Sized(method) => format!("{name}.{method}() != {name}.{method}()"),
        Kind::Other => "1 == 2".to_owned(),
    }
}

/// Returns a condition that is true now and then.
fn often(rng: &mut Rng, names: &[(String, String)]) -> String {
    match any_of(rng, names) {
        Some((name, Kind::Integer)) => format!("({name} & {}) == 1", rng.u32(1..64)),
        Some((name, Kind::Bool)) => name.to_owned(),
        Some((name, Kind::Pointer)) => format!("{name} != 0"),
        _ => "$rax != $rcx".to_owned(),
    }
}

/// Returns a place for `since`: a busy one, if there are any.
fn any_place(rng: &mut Rng, places: &Places) -> String {
    let place = match places.busy.len() {
        0 => rng.choice(&places.all),
        count => Some(&places.busy[rng.usize(..count)].0),
    };
    place.map_or_else(
        || "main".to_owned(),
        |place| format!("{}:{}", place.path, place.line),
    )
}

/// Returns what a tracepoint records.
fn query(rng: &mut Rng, names: &[(String, String)], places: &Places) -> String {
    let place = any_place(rng, places);
    let what = match any_of(rng, names) {
        Some((name, Kind::Integer)) => match rng.u8(0..6) {
            4 => format!("rate(), {name} by {name} keep all"),
            5 => format!("count(), hist(since({place}, {name})), since({place}, {name})"),
            0 => format!("count(), sum({name}), max({name}), hist({name})"),
            1 => format!("count(), mean({name}) by {name}"),
            2 => format!("{name}, distinct({name}), min({name}) by thread"),
            _ => format!("hist({name}, -100, 100, 8) by function, thread"),
        },
        Some((name, Kind::Float)) => format!("sum({name}), min({name}), max({name}), hist({name})"),
        Some((name, Kind::Bool | Kind::Pointer)) => format!("count() by {name}"),
        Some((name, Kind::Sized(_) | Kind::Other)) => format!("{name} keep 16"),
        None => match rng.u8(0..3) {
            0 => format!("rate(), mean(since({place})), max(since({place})) by thread"),
            1 => format!("thread, since({place}) keep all"),
            _ => "count() by thread".to_owned(),
        },
    };
    match rng.u8(0..3) {
        0 => format!("{what} where {}", often(rng, names)),
        _ => what,
    }
}

fn message(rng: &mut Rng, names: &[(String, String)]) -> String {
    match any_of(rng, names) {
        Some((name, Kind::Sized(method))) => format!("passed with {{{name}.{method}()}}"),
        Some((name, _)) => format!("passed with {{{name}}}"),
        None => "passed".to_owned(),
    }
}
