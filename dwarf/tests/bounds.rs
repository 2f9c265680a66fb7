//! Files that say little and mean much: memory stays below the bound that fuzzing is held to,
//! and nothing takes for ever. Beyond the bound the process ends (`tests/fuzz/src/lib.rs`).

#[path = "../../tests/fuzz/src/lib.rs"]
#[allow(dead_code)]
mod fuzz;

use fuzz::targets::{self, MARK};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// What is allocated is counted for the whole process.
fn bounded(data: &[u8], target: fn(&[u8])) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(data.len() <= 1 << 16, "{}", data.len());
    fuzz::bounded(data, target);
}

fn number(mut number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// An entry of `.debug_abbrev`: tag, whether there are children, attributes and their forms.
fn abbreviation(code: u32, tag: u8, children: bool, attributes: &[u8]) -> Vec<u8> {
    let mut bytes = number(code);
    bytes.extend([tag, u8::from(children)]);
    bytes.extend(attributes);
    bytes.extend([0, 0]);
    bytes
}

/// `DW_AT_low_pc` and `DW_AT_high_pc` that cover all code, as `DW_FORM_addr`, `DW_FORM_data4`.
const ALL_CODE: &[u8] = &[0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
const LOW_AND_HIGH: &[u8] = &[0x11, 0x01, 0x12, 0x06];

/// `DW_AT_rnglists_base`, as `DW_FORM_sec_offset`.
const RANGE_LISTS: &[u8] = &[0x74, 0x17];

fn unit(abbreviations: u32, entries: &[u8]) -> Vec<u8> {
    let mut bytes = (entries.len() as u32 + 8).to_le_bytes().to_vec();
    bytes.extend([5, 0, 1, 8]);
    bytes.extend(abbreviations.to_le_bytes());
    bytes.extend(entries);
    bytes
}

/// One unit that covers all code, with these entries and abbreviations from code 2 on.
fn one_unit(abbreviations: &[Vec<u8>], entries: &[u8]) -> [Vec<u8>; 2] {
    let mut table = abbreviation(1, 0x11, true, &[LOW_AND_HIGH, RANGE_LISTS].concat());
    table.extend(abbreviations.concat());
    table.push(0);
    let entries = [&[1], ALL_CODE, &[12, 0, 0, 0], entries, &[0]].concat();
    [table, unit(0, &entries)]
}

/// A name that many entries share.
fn long_name() -> Vec<u8> {
    let mut name = vec![b'n'; 30_000];
    name.push(0);
    name
}

/// A list of `DW_RLE_offset_pair`s that many entries share.
fn long_list() -> Vec<u8> {
    let mut list = vec![5, 0, 8, 0, 1, 0, 0, 0, 4, 0, 0, 0];
    for at in 0..5000 {
        list.push(4);
        list.extend(number(2 * at));
        list.extend(number(2 * at + 1));
    }
    list.push(0);
    [(list.len() as u32).to_le_bytes().to_vec(), list].concat()
}

/// Sections as the target `info` takes them.
fn info([abbreviations, info]: [Vec<u8>; 2], strings: Vec<u8>, range_lists: Vec<u8>) -> Vec<u8> {
    let empty = Vec::new;
    let sections = [
        abbreviations,
        info,
        strings,
        empty(),
        empty(),
        empty(),
        empty(),
        empty(),
        empty(),
        range_lists,
    ];
    sections.join(MARK)
}

#[test]
fn abbreviation_tables_overlap() {
    let (mut table, mut units) = (Vec::new(), Vec::new());
    for code in 1..3200 {
        if code < 1100 {
            let root = [number(code), ALL_CODE.to_vec()].concat();
            units.extend(unit(table.len() as u32, &root));
        }
        table.extend(abbreviation(code, 0x11, false, LOW_AND_HIGH));
    }
    table.push(0);
    bounded(&info([table, units], Vec::new(), Vec::new()), targets::info);
}

#[test]
fn functions_share_a_range_list() {
    // DW_AT_ranges as DW_FORM_rnglistx.
    let function = abbreviation(2, 0x2e, false, &[0x55, 0x23]);
    let sections = one_unit(&[function], &[2, 0].repeat(16_000));
    bounded(&info(sections, Vec::new(), long_list()), targets::info);
}

#[test]
fn blocks_share_a_range_list() {
    let function = abbreviation(2, 0x2e, true, LOW_AND_HIGH);
    let block = abbreviation(3, 0x0b, true, &[0x55, 0x23]);
    let variable = abbreviation(4, 0x34, false, &[0x03, 0x08]);
    let blocks = b"\x03\0\x04x\0\0".repeat(5000);
    let entries = [&[2], ALL_CODE, &blocks, &[0]].concat();
    let sections = one_unit(&[function, block, variable], &entries);
    bounded(&info(sections, Vec::new(), long_list()), targets::info);
}

#[test]
fn units_share_a_range_list() {
    let root = [&[0x11, 0x01, 0x55, 0x23], RANGE_LISTS].concat();
    let mut table = abbreviation(1, 0x11, false, &root);
    table.push(0);
    let root = [1, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 12, 0, 0, 0];
    let units = unit(0, &root).repeat(1500);
    let sections = info([table, units], Vec::new(), long_list());
    bounded(&sections, targets::info);
}

#[test]
fn enumerators_share_a_name() {
    let enumeration = abbreviation(2, 0x04, true, &[0x03, 0x08, 0x0b, 0x0b]);
    let enumerator = abbreviation(3, 0x28, false, &[0x03, 0x0e, 0x1c, 0x0b]);
    let enumerators = [3, 0, 0, 0, 0, 1].repeat(5000);
    let entries = [b"\x02int\0\x04", enumerators.as_slice(), &[0]].concat();
    let sections = one_unit(&[enumeration, enumerator], &entries);
    bounded(&info(sections, long_name(), Vec::new()), targets::info);
}

#[test]
fn variables_share_a_name() {
    let function = abbreviation(2, 0x2e, true, LOW_AND_HIGH);
    let variable = abbreviation(3, 0x34, false, &[0x03, 0x0e]);
    let variables = [3, 0, 0, 0, 0].repeat(6000);
    let entries = [&[2], ALL_CODE, &variables, &[0]].concat();
    let sections = one_unit(&[function, variable], &entries);
    bounded(&info(sections, long_name(), Vec::new()), targets::info);
}

#[test]
fn inlined_copies_share_their_variables() {
    let function = abbreviation(2, 0x2e, true, LOW_AND_HIGH);
    let variable = abbreviation(3, 0x34, false, &[0x03, 0x08]);
    let origin = abbreviation(4, 0x2e, true, &[0x03, 0x08]);
    let inlined_copy = [&[0x31, 0x13], LOW_AND_HIGH].concat();
    let inlined_copy = abbreviation(5, 0x1d, false, &inlined_copy);
    // The header and the root entry are before it.
    let copy = [&[5, 29, 0, 0, 0], ALL_CODE].concat().repeat(1000);
    let variables = b"\x03x\0".repeat(9000);
    let abstract_function = [b"\x04f\0", variables.as_slice(), &[0]].concat();
    let entries = [abstract_function.as_slice(), &[2], ALL_CODE, &copy, &[0]].concat();
    let sections = one_unit(&[function, variable, origin, inlined_copy], &entries);
    bounded(&info(sections, Vec::new(), Vec::new()), targets::info);
}

#[test]
fn namespaces_of_long_names_nest() {
    let namespace = abbreviation(2, 0x39, true, &[0x03, 0x0e]);
    let function = abbreviation(3, 0x2e, false, &[&[0x03, 0x08], LOW_AND_HIGH].concat());
    let mut entries = [2, 0, 0, 0, 0].repeat(48);
    for at in 0..700u64 {
        entries.extend(b"\x03work\0");
        entries.extend((0x1000 + 4 * at).to_le_bytes());
        entries.extend([4, 0, 0, 0]);
    }
    entries.extend([0; 48]);
    // DW_AT_language of C++, which has namespaces.
    let root = [LOW_AND_HIGH, &[0x13, 0x0b]].concat();
    let mut table = abbreviation(1, 0x11, true, &root);
    table.extend([namespace, function].concat());
    table.push(0);
    let entries = [&[1], ALL_CODE, &[4], &entries, &[0]].concat();
    let sections = info([table, unit(0, &entries)], long_name(), Vec::new());
    bounded(&sections, targets::info);
}

#[test]
fn templates_are_made_with_themselves() {
    let class = abbreviation(2, 0x02, true, &[0x03, 0x08]);
    let argument = abbreviation(3, 0x2f, false, &[0x49, 0x13]);
    let function = abbreviation(4, 0x2e, false, &[&[0x03, 0x08], LOW_AND_HIGH].concat());
    let root = [LOW_AND_HIGH, &[0x13, 0x0b]].concat();
    let mut table = abbreviation(1, 0x11, true, &root);
    table.extend([class, argument, function].concat());
    table.push(0);
    // Behind the unit's header, and its entry with the language of C++.
    let class = 12 + 1 + ALL_CODE.len() as u32 + 1;
    let mut entries = [&[1], ALL_CODE, &[4], &b"\x02t\0"[..]].concat();
    for _ in 0..3 {
        entries.push(3);
        entries.extend(class.to_le_bytes());
    }
    // Functions in it, whose names begin with its.
    for at in 0..700u64 {
        entries.extend(b"\x04work\0");
        entries.extend((0x1000 + 4 * at).to_le_bytes());
        entries.extend([4, 0, 0, 0]);
    }
    entries.extend([0, 0]);
    let sections = info([table, unit(0, &entries)], Vec::new(), Vec::new());
    bounded(&sections, targets::info);
}

#[test]
fn files_share_a_long_folder() {
    // Version 5: a folder and its files by DW_FORM_line_strp, the folder by DW_FORM_data1.
    let mut header = vec![1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1];
    header.extend([1, 1, 0x1f, 1, 0, 0, 0, 0, 2, 1, 0x1f, 2, 0x0b]);
    header.extend(number(5000));
    for file in 0..5000u32 {
        header.extend((25_000 + file).to_le_bytes());
        header.push(0);
    }
    let mut program = vec![5, 0, 8, 0];
    program.extend((header.len() as u32).to_le_bytes());
    program.extend(header);
    let length = (program.len() as u32).to_le_bytes();
    let line = [&length, program.as_slice()].concat();
    bounded(&[line, long_name()].join(MARK), targets::line);
}

#[test]
fn values_at_entries_depend_on_others() {
    // In each of six frames a value takes the next register's (DW_OP_entry_value) 24 times.
    let mut values = Vec::new();
    for register in 0x50..0x56 {
        values.push(vec![register]);
        let mut value = [0xa3, 1, register + 1].repeat(24);
        value.extend([0x22; 23]);
        values.push(value);
    }
    values.extend([vec![0x56], vec![0x31]]);
    let location = vec![0xa3, 1, 0x50, 0x9f];
    let mut parts = vec![vec![5], vec![0x9c], location];
    let more = values.split_off(2);
    parts.extend(values);
    parts.extend([const { Vec::new() }; 5]);
    parts.extend(more);
    bounded(&parts.join(MARK), targets::location);
}

/// The inputs that fuzzing begins with, and all that it ever found.
#[test]
fn the_corpus_of_the_fuzz_targets() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus");
    let targets = [
        ("line", targets::line as fn(&[u8])),
        ("info", targets::info),
        ("location", targets::location),
        ("cfi", targets::cfi),
        ("names_cache", targets::names_cache),
        ("object", targets::object),
        ("property_list", targets::property_list),
        ("swift_name", targets::swift_name),
    ];
    for (name, target) in targets {
        let inputs = std::fs::read_dir(corpus.join(name)).expect(name);
        let inputs: Vec<_> = inputs.map(|input| input.expect(name).path()).collect();
        assert!(!inputs.is_empty(), "{name}");
        for input in inputs {
            println!("{}", input.display());
            bounded(&std::fs::read(input).expect(name), target);
        }
    }
}
