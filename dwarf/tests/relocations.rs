//! Addresses that the loader writes into an image, from its file.

mod common;

use common::compile;
use dwarf::{FileAddr, Machine};
use std::process::Command;

const TABLE: &str = r#"
#include <stdio.h>
static void first(void) { puts("1"); }
static void second(void) { puts("2"); }
static void third(void) { puts("3"); }
void (*table[])(void) = { third, first, second, third };
int (*other)(const char *) = puts;
int number = 5;
int main(void) { table[number % 4](); return other("x"); }
"#;

#[test]
fn pointers_into_the_image_itself_are_known() {
    let fixture = compile("gcc -g -O0 -fPIE -pie", "table.c", TABLE);
    let module = &fixture.module;
    let at = |name: &str| module.symbols_named(name)[0].addr;
    let table = at("table");
    for (index, name) in (0..).zip(["third", "first", "second", "third"]) {
        assert_eq!(module.relocated(table + 8 * index), Some(at(name)));
    }
    // Another image's, one that is no pointer, and the middle of one.
    for place in [at("other"), at("number"), table + 4, FileAddr(0)] {
        assert_eq!(module.relocated(place), None);
    }
}

#[test]
fn the_order_of_the_relocations_does_not_matter() {
    let fixture = compile("gcc -g -O0 -fPIE -pie", "table.c", TABLE);
    let listed = Command::new("readelf")
        .arg("-rW")
        .arg(&fixture.binary)
        .output()
        .expect("readelf");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut bytes = std::fs::read(&fixture.binary).expect("the program");
    let relative: Vec<(u64, u64)> = listed
        .lines()
        .filter(|line| line.contains("_RELATIVE"))
        .map(|line| {
            let hex = |word: &str| u64::from_str_radix(word, 16).expect("hexadecimal");
            let words: Vec<&str> = line.split_whitespace().collect();
            (hex(words[0]), hex(words[words.len() - 1]))
        })
        .collect();
    assert!(relative.len() > 4, "{listed}");
    let kind = match fixture.module.machine() {
        Machine::X86_64 => 8,
        _ => 0x403,
    };
    let entry = |(place, value): (u64, u64)| [place, kind, value].map(u64::to_le_bytes).concat();
    let all: Vec<u8> = relative.iter().copied().flat_map(entry).collect();
    let start = bytes
        .windows(all.len())
        .position(|window| window == all)
        .expect("they lie in a row");
    let turned: Vec<u8> = relative.iter().rev().copied().flat_map(entry).collect();
    bytes[start..start + all.len()].copy_from_slice(&turned);
    let other = fixture.binary.with_extension("turned");
    std::fs::write(&other, bytes).expect("a copy");
    let module = dwarf::Module::open(&other).expect("the copy");
    for (place, value) in relative {
        assert_eq!(module.relocated(FileAddr(place)), Some(FileAddr(value)));
    }
}
