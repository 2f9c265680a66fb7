//! Conditions that take objects of the standard libraries apart: the code agrees with the interpreter.

use super::machine::Answer::{Deopt, No, Yes};
use super::machine::{Answer, Machine};
use super::programs::{load, rustc};
use dwarf::Language;

/// Asserts the answer of the code of each expression, and that the interpreter has the same.
fn check(machine: &mut Machine, expected: &[(&str, Answer)]) {
    let mut wrong = Vec::new();
    for (text, expected) in expected {
        match machine.compiled(text) {
            Err(reason) => wrong.push(format!("{text}: {reason}")),
            Ok(_) => {
                let answer = machine.check(text);
                if answer != Some(*expected) {
                    wrong.push(format!("{text}: {answer:?} instead of {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Asserts that the code stores what the interpreter reads, for each expression that it can store.
fn check_captures(machine: &mut Machine, expressions: &[&str], refused: usize) {
    let (can, cannot): (Vec<&str>, Vec<&str>) = expressions
        .iter()
        .partition(|text| machine.captured(text).is_ok());
    machine.assert_captures(&can);
    assert_eq!(cannot.len(), refused, "{cannot:?}");
}

#[test]
fn cpp() {
    let source = r#"
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
struct Base { int b = 4; virtual ~Base() {} };
struct Derived : Base { int w = 5; };
struct Item { int key; std::string name; std::optional<int> limit; std::shared_ptr<int> owner; Item *next; };
std::optional<int> o = 5, none; std::optional<double> ratio = 0.5;
std::shared_ptr<int> p = std::make_shared<int>(7), null;
Item first{1, "one", 3, std::make_shared<int>(4), nullptr}, second{2, "two", std::nullopt, nullptr, &first};
std::unique_ptr<Item> u(new Item(second)), nobody;
std::string s = "hello world", other = "hello", same = "hello world", empty;
std::string_view sv = "view"; std::vector<int> v = { 1, 2, 3 }, w = { 1, 2, 3 }, none_of;
std::vector<std::string> names = { "aa", "bb", "cc" };
std::pair<int, int> pair = { 1, 2 }, pair2 = { 1, 3 };
std::atomic<int> count{9};
Derived derived; Base &base = derived; unsigned long long big = ~0ull; int minus = -1;
extern "C" void fill() {}
"#;
    for level in ["-O0", "-O2"] {
        let compiler = ["g++", "-std=c++20", "-g", level, "-shared", "-fPIC"];
        let Some(mut machine) = load(&compiler, "reads.cpp", source, Language::Cpp) else {
            return;
        };
        check(
            &mut machine,
            &[
                ("o.has_value() && *o > 4", Yes),
                ("o && *o > 1000", No),
                ("none && *none > 1000", No),
                ("*none > 1000", Deopt),
                ("none.value() > 1000", Deopt),
                ("o.value() == 5", Yes),
                ("o == 5", Yes),
                ("o != 5", No),
                ("none == 5", No),
                ("none < 5", Yes),
                ("o > 4 && o <= 5", Yes),
                ("o == none", No),
                ("none == std::nullopt", Yes),
                ("o.value_or(0) == 5 && none.value_or(-1) == -1", Yes),
                ("ratio == 0.5 && *ratio < 1", Yes),
                ("p && *p == 7", Yes),
                ("null && *null == 7", No),
                ("*null == 7", Deopt),
                ("p.get() != nullptr && *p == 7", Yes),
                ("p != nullptr && null == nullptr", Yes),
                ("p == null", No),
                ("!null && !!p", Yes),
                ("u && u->key == 2", Yes),
                ("u->name == \"two\"", Yes),
                ("u->next->name == \"one\"", Yes),
                ("nobody && nobody->key == 2", No),
                ("nobody->key == 2", Deopt),
                ("u->limit && *u->limit == 7", No),
                ("u->limit.has_value()", No),
                ("u->next->limit == 3", Yes),
                ("*u->next->owner == 4", Yes),
                ("u->owner.get() == nullptr", Yes),
                ("s.c_str()[0] == 'h' && s.data()[1] == 'e'", Yes),
                ("s.back() == 'd' && v.back() == 3", Yes),
                ("empty.back() == 'd'", Deopt),
                ("none_of.back() == 1", Deopt),
                ("s == other", No),
                ("s == same && s != other", Yes),
                ("other < s && s > other && s <= same", Yes),
                ("names.back() == \"cc\" && names[1] == names.at(1)", Yes),
                ("v == w", Yes),
                ("v == none_of", No),
                ("v.data()[1] == 2", Yes),
                ("pair == pair2", No),
                ("pair < pair2 && pair.second == 2", Yes),
                ("count == 9", Yes),
            ],
        );
        let captures = [
            "*o",
            "o.value_or(7)",
            "none.value_or(7)",
            "o.has_value()",
            "*p",
            "p.get()",
            "u->key",
            "u->name",
            "u->next->limit",
            "*u->next->owner",
            "s.back()",
            "s.c_str()",
            "v.back()",
            "names.back()",
            "s < other",
            "pair == pair2",
        ];
        check_captures(&mut machine, &captures, 1);
    }
}

#[test]
fn rust() {
    let source = r#"
#![allow(dead_code)]
use std::rc::Rc; use std::sync::Arc;
#[derive(Clone, PartialEq)] pub enum State { Open, Closed, Busy { n: u32 }, Named(String), Pair(i8, u16) }
#[derive(Clone, Copy, PartialEq, PartialOrd)] pub enum Level { Low, Mid, High }
#[derive(Clone)] pub struct Account { id: u64, owner: String, tags: Vec<String>, state: State, parent: Option<Box<Account>>, limit: Option<u32>, level: Level, pos: (i32, i32) }
pub struct All {
    a: Option<i32>, none: Option<i32>, owner: &'static str, tags: &'static [&'static str], acc: Account, b: Box<i32>, rc: Rc<Account>,
    arc: Arc<String>, nums: Vec<i32>, res: Result<u8, String>, err: Result<u8, String>, name: String, opt: Option<&'static str>,
    arr: [u8; 4], on: Option<String>, i: u64, letter: char, ratio: Option<f64>, nested: Option<Option<u8>>, empty: Vec<i32>,
}
#[unsafe(no_mangle)] pub static mut PLACE: *const All = std::ptr::null();
#[unsafe(no_mangle)]
pub extern "C" fn fill() {
    let root = Account { id: 1, owner: "root".into(), tags: vec!["x".into()], state: State::Open, parent: None, limit: Some(4), level: Level::Mid, pos: (1, 2) };
    let acc = Account { id: 2, owner: "alice".into(), tags: vec!["aa".into(), "bb".into()], state: State::Busy { n: 3 }, parent: Some(Box::new(root.clone())), limit: None, level: Level::High, pos: (3, 4) };
    let all = All {
        a: Some(3), none: None, owner: "owner", tags: &["aa", "bb"], acc, b: Box::new(7), rc: Rc::new(root.clone()), arc: Arc::new("arc".into()),
        nums: vec![1, 2, 3], res: Ok(3), err: Err("bad".into()), name: "alice".into(), opt: Some("text"), arr: [1, 2, 3, 4], on: Some("on".into()), i: 5,
        letter: 'é', ratio: Some(0.5), nested: Some(None), empty: vec![],
    };
    unsafe { PLACE = Box::leak(Box::new(all)); }
}
"#;
    for level in ["opt-level=0", "opt-level=2"] {
        let compiler = rustc(level);
        let Some(mut machine) = load(&compiler, "reads.rs", source, Language::Rust) else {
            return;
        };
        let cases: &[(&str, Answer)] = &[
            ("$a == Some(3)", Yes),
            ("$a == Some(4)", No),
            ("$a != Some(4) && $none != Some(4)", Yes),
            ("$none == None && $a != None", Yes),
            ("$a > Some(2) && $none < $a && $a <= Some(3)", Yes),
            ("$a > Some(4)", No),
            ("matches!($a, Some(3))", Yes),
            ("matches!($a, Some(4))", No),
            ("matches!($a, Some(x) if x > 2)", Yes),
            ("matches!($a, Some(1..=3))", Yes),
            ("matches!($a, Some(1 | 2))", No),
            ("$a.unwrap_or(0) == 3 && $none.unwrap_or(9) == 9", Yes),
            ("$a.map_or(false, |l| l > 2)", Yes),
            ("$none.map_or(true, |l| l > 2)", Yes),
            ("if let Some(x) = $a { x > 2 } else { false }", Yes),
            ("if let Some(x) = $none { x > 2 } else { false }", No),
            (
                "match $a { Some(x) if x > 5 => false, Some(x) => x == 3, None => false }",
                Yes,
            ),
            ("$a.is_some_and(|x| x == 3)", Yes),
            ("$a.map(|x| x + 1) == Some(4)", Yes),
            ("$none.map(|x| x + 1) == None", Yes),
            ("$a.filter(|x| *x > 3).is_none()", Yes),
            ("$none.unwrap() == 3", Deopt),
            ("$a.or($none) == Some(3)", Yes),
            ("matches!($acc.state, State::Closed)", No),
            ("matches!($acc.state, State::Busy { n: 3 })", Yes),
            ("matches!($acc.state, State::Busy { n } if n > 3)", No),
            ("matches!(&$acc.state, State::Named(s) if s == \"zz\")", No),
            ("matches!($acc.level, Level::High)", Yes),
            ("$acc.level == Level::High", Yes),
            ("$acc.pos == (3, 4)", Yes),
            ("$acc.pos < (3, 5) && $acc.pos > (2, 9)", Yes),
            ("$acc.limit == None", Yes),
            ("$acc.parent.as_ref().unwrap().id == 1", Yes),
            ("$acc.parent.as_ref().is_some_and(|p| p.id == 1)", Yes),
            ("$acc.parent.as_ref().map_or(0, |p| p.id) == 1", Yes),
            ("$acc.parent.as_deref().unwrap().id == 1", Yes),
            ("$rc.parent.as_ref().unwrap().id == 1", Deopt),
            ("$owner.starts_with(\"own\")", Yes),
            ("$owner.starts_with(\"zz\")", No),
            ("$owner.starts_with('o') && !$owner.starts_with('w')", Yes),
            (
                "$owner.ends_with(\"ner\") && !$owner.ends_with(\"much longer than it\")",
                Yes,
            ),
            ("$owner.contains(\"wne\") && !$owner.contains(\"zz\")", Yes),
            ("$tags.contains(&\"bb\")", Yes),
            ("$tags.contains(&\"zz\")", No),
            ("$tags.iter().any(|t| *t == \"bb\")", Yes),
            ("$tags.iter().all(|t| t.len() == 2)", Yes),
            ("$tags[0] == \"aa\"", Yes),
            ("$acc.owner == $acc.tags[0]", No),
            ("$acc.owner == $name", Yes),
            ("$owner == $acc.owner", No),
            ("$name > $acc.tags[0] && $name < $owner", Yes),
            ("$acc.owner.as_str() == \"alice\"", Yes),
            ("$acc.tags.contains(&$name)", No),
            ("$acc.tags.iter().any(|t| t == \"bb\")", Yes),
            ("$nums.contains(&3) && !$nums.contains(&9)", Yes),
            ("$nums.iter().any(|x| *x > 2)", Yes),
            ("$nums.iter().any(|&x| x > 3)", No),
            ("$nums.iter().position(|x| *x == 3) == Some(2)", Yes),
            ("$nums.iter().position(|x| *x == 9).is_none()", Yes),
            ("$nums.iter().find(|x| **x > 1) == Some(&2)", Yes),
            ("$nums.first() == Some(&1) && $nums.last() == Some(&3)", Yes),
            ("$empty.first().is_none() && $empty.last().is_none()", Yes),
            ("$nums.last().copied() == Some(3)", Yes),
            ("$nums.get(1) == Some(&2) && $nums.get(9).is_none()", Yes),
            ("$nums == [1, 2, 3]", Yes),
            ("$nums == [1, 2]", No),
            ("$arr == [1, 2, 3, 4]", Yes),
            ("$arr.contains(&4)", Yes),
            ("*$b == 7", Yes),
            (
                "$rc.id == 1 && $rc.owner == \"root\" && $rc.limit == Some(4)",
                Yes,
            ),
            (
                "*$arc == \"arc\" && $arc.len() == 3 && $arc.as_str() == \"arc\"",
                Yes,
            ),
            ("$res == Ok(3)", Yes),
            ("$res.is_ok_and(|x| x == 3)", Yes),
            ("matches!($res, Err(_))", No),
            ("if let Err(e) = &$err { e == \"bad\" } else { false }", Yes),
            ("if let Ok(x) = $res { x > 2 } else { false }", Yes),
            ("$res.as_ref().unwrap() == &3", Yes),
            ("$opt == Some(\"text\")", Yes),
            ("$opt.unwrap() == \"text\"", Yes),
            ("$opt.map(|s| s.len()) == Some(4)", Yes),
            ("$on.as_deref() == Some(\"on\")", Yes),
            ("$on.as_ref().map(|s| s.as_str()) == Some(\"on\")", Yes),
            ("$ratio == Some(0.5) && $ratio < Some(0.75)", Yes),
            ("$nested == Some(None) && $nested != None", Yes),
            ("matches!($nested, Some(None))", Yes),
        ];
        let cases: Vec<(String, Answer)> = cases
            .iter()
            .map(|(text, answer)| (text.replace('$', "PLACE."), *answer))
            .collect();
        let cases: Vec<(&str, Answer)> = cases.iter().map(|it| (&*it.0, it.1)).collect();
        check(&mut machine, &cases);
        let captures = [
            "$a.unwrap_or(0)",
            "$none.unwrap_or(9)",
            "$a.unwrap()",
            "$a.map(|x| x + 1)",
            "$a.map_or(7, |x| x + 1)",
            "$a.or($none)",
            "$acc.parent.as_ref().unwrap().id",
            "$acc.parent.as_deref().unwrap().owner",
            "$acc.parent.as_ref()",
            "$nums.first()",
            "$nums.last().copied()",
            "$nums.get(9)",
            "$nums.iter().position(|x| *x == 2)",
            "$nums.iter().find(|x| **x == 2)",
            "$nums.iter().any(|x| *x == 2)",
            "$opt.unwrap()",
            "$opt.unwrap_or(\"none\")",
            "$opt.map(|s| s.len())",
            "$on.as_deref()",
            "$owner.starts_with(\"o\")",
            "$rc.id",
            "$rc.owner",
            "$arc.as_str()",
            "$arc.len()",
            "$res.as_ref().unwrap()",
            "$res.ok()",
            "match $a { Some(x) if x > 2 => \"big\", _ => \"small\" }",
            "if let Some(x) = $a { x } else { 0 }",
            "$acc.owner.as_str()",
            "($a, $acc.id)",
            "Some($acc.id)",
            "$acc.tags.iter().position(|t| t == \"bb\")",
            "$nested",
            "$b.clone()",
            "$a.filter(|x| *x > 5)",
        ];
        let captures: Vec<String> = captures
            .iter()
            .map(|it| it.replace('$', "PLACE."))
            .collect();
        let captures: Vec<&str> = captures.iter().map(|it| &**it).collect();
        check_captures(&mut machine, &captures, 19);
    }
}
