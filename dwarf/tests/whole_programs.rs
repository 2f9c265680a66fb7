//! Whole programs: every row of every unit against readelf, every line of every file and every
//! function against a plain walk over the tables, inlined calls against addr2line.
//!
//! `STILLPOINT_PROGRAMS=a:b` names more programs for the full proof.

mod common;

use addr2line::gimli;
use common::compile;
use dwarf::{FileAddr, Function, Module};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TEMPLATES: &str = r#"
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#ifdef REGEX
#include <regex>
#endif
#include <string>
#include <vector>
template <int N> struct Level : Level<N - 1> {
    virtual long work(long x) const { return Level<N - 1>::work(x) + N; }
};
template <> struct Level<0> {
    virtual ~Level() {}
    virtual long work(long x) const { return x; }
};
static std::map<int, std::string> initialized{{1, "one"}};
template <class... Ts> long total(const Ts &...ts) { return (0L + ... + long(ts)); }
int main(int argc, char **argv) {
    std::map<std::string, std::vector<std::unique_ptr<Level<0>>>> all;
    all[argv[0]].push_back(std::make_unique<Level<40>>());
    std::vector<std::function<long(long)>> steps;
    for (auto &entry : all)
        for (auto &level : entry.second)
            steps.push_back([&](long x) { return level->work(x) + long(entry.first.size()); });
    std::sort(argv, argv + argc, [](auto a, auto b) { return std::string(a) < b; });
    bool matches = false;
#ifdef REGEX
    matches = std::regex_match(argv[0], std::regex("a(b|c)*d"));
#endif
    return int(std::accumulate(steps.begin(), steps.end(), total(1, 2L, 'c'),
        [](long sum, auto &step) { return sum + step(sum); }))
        + matches;
}
"#;

#[test]
fn this_test_itself() {
    agrees(&std::env::current_exe().expect("this executable"));
}

#[test]
fn many_templates() {
    for compiler in [
        "g++ -g -O0 -std=c++17",
        // Compilers need ten seconds for a regular expression: once.
        "g++ -g -O2 -gdwarf-4 -std=c++17 -DREGEX -ffunction-sections -Wl,--gc-sections",
        "clang++ -g -O2 -std=c++17",
    ] {
        if skips::has_command(compiler.split(' ').next().unwrap_or("")) {
            agrees(&compile(compiler, "templates.cpp", TEMPLATES).binary);
        }
    }
}

/// Files whose names are the ends of others': linkers store one of both.
#[test]
fn names_that_end_other_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    let header = "#pragma once\ninline long dot(long a, long b) {\n  return a * b;\n}\n";
    write("vector.h", header).expect("write");
    write("list.cpp", "long add(long a) {\n  return a + 1;\n}\n").expect("write");
    let main = "#include <vector>\n#include \"vector.h\"\nlong add(long);
int main() {\n  std::vector<int> v{1, 2};\n  return int(dot(v[0], add(v[1])));\n}\n";
    write("biglist.cpp", main).expect("write");
    let program = folder.path().join("program");
    for compiler in ["g++", "clang++"] {
        if !skips::has_command(compiler) {
            continue;
        }
        for version in ["-gdwarf-5", "-gdwarf-4"] {
            let mut command = Command::new(compiler);
            command
                .args([version, "list.cpp", "biglist.cpp", "-o"])
                .arg(&program);
            let status = command.current_dir(folder.path()).status();
            assert!(status.expect("run the compiler").success());
            agrees(&program);
        }
    }
}

#[test]
fn programs_named_from_outside() {
    let named = std::env::var("STILLPOINT_PROGRAMS").unwrap_or_default();
    for path in named.split(':').filter(|path| !path.is_empty()) {
        agrees(Path::new(path));
    }
}

fn agrees(path: &Path) {
    let module = Module::open(path).expect("open");
    let debug = module.debug_file().unwrap_or(path).to_owned();
    let rows = rows_agree(&module, &debug);
    let lines = lines_agree(&module, &debug);
    let (functions, chains) = functions_agree(&module, &debug);
    println!(
        "{}: {rows} rows, {lines} lines, {functions} functions, {chains} inlined chains",
        path.display()
    );
    assert!(rows > 0 && functions > 0, "{}", path.display());
}

fn is_code(module: &Module, addr: u64) -> bool {
    let segments = module.segments().iter();
    segments
        .filter(|segment| segment.executable)
        .any(|segment| segment.range.contains(FileAddr(addr)))
}

/// A row as readelf prints it: file without folders, line (0: of no line).
#[derive(Clone, PartialEq, Debug)]
struct Printed {
    file: String,
    line: u32,
    is_stmt: bool,
}

/// The sequences that readelf decodes: rows by address, and the end.
fn sequences(path: &Path, mut each: impl FnMut(BTreeMap<u64, Vec<Printed>>, u64)) {
    let mut readelf = Command::new("readelf")
        .args(["-W", "-wN", "--debug-dump=decodedline"])
        .arg(path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("readelf of the binutils");
    let output = BufReader::new(readelf.stdout.take().expect("piped"));
    let mut rows: BTreeMap<u64, Vec<Printed>> = BTreeMap::new();
    for line in output.split(b'\n') {
        let line = line.expect("read");
        let line = String::from_utf8_lossy(&line);
        // A file's name may have spaces: columns are taken from behind its first run of two.
        let Some((file, rest)) = line.split_once("  ") else {
            continue;
        };
        let mut columns = rest.split_whitespace();
        let (Some(number), Some(addr)) = (columns.next(), columns.next()) else {
            continue;
        };
        let Some(addr) = hex(addr) else { continue };
        if number == "-" {
            each(std::mem::take(&mut rows), addr);
            continue;
        }
        let Ok(line) = number.parse() else { continue };
        rows.entry(addr).or_default().push(Printed {
            file: file.to_owned(),
            line,
            is_stmt: columns.next_back() == Some("x"),
        });
    }
    readelf.wait().expect("readelf ends");
}

fn hex(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => (text == "0").then_some(0),
    }
}

/// Compares every row; returns how many there are.
fn rows_agree(module: &Module, debug: &Path) -> usize {
    // Sequences first: if two cover one address, either is right.
    let mut all: Vec<(BTreeMap<u64, Vec<Printed>>, u64)> = Vec::new();
    sequences(debug, |rows, end| {
        // Code that the linker threw away stays in the table, at addresses where nothing is.
        if let Some(start) = rows.keys().next()
            && *start < end
            && is_code(module, *start)
        {
            all.push((rows, end));
        }
    });
    all.sort_by_key(|(rows, end)| (rows.keys().next().copied(), *end));
    // Of what several units compiled the linker keeps one and has all of them describe it.
    all.dedup();
    let mut overlap = HashSet::new();
    for (index, pair) in all.windows(2).enumerate() {
        if pair[1]
            .0
            .keys()
            .next()
            .is_some_and(|start| *start < pair[0].1)
        {
            overlap.extend([index, index + 1]);
        }
    }
    let mut compared = 0;
    let mut different = Vec::new();
    for (index, (rows, end)) in all.iter().enumerate() {
        if overlap.contains(&index) {
            continue;
        }
        let ends = rows.keys().skip(1).copied().chain([*end]);
        // A row at the very end holds for nothing.
        let rows = rows.iter().filter(|(start, _)| *start < end);
        for ((start, printed), next) in rows.zip(ends) {
            // The rule of rows that share an address: the last one has the code, unless it is
            // no recommended place and another one is.
            let last = printed.last().expect("a row");
            let row = match last {
                row if row.is_stmt || row.line == 0 => row,
                row => printed.iter().rev().find(|row| row.is_stmt).unwrap_or(row),
            };
            for addr in [*start, next - 1] {
                // What fills the space behind a function may be of no unit.
                if addr != *start && module.function_at(FileAddr(addr)).is_none() {
                    continue;
                }
                let ours = module.row_at(FileAddr(addr));
                let location = ours.as_ref().and_then(|row| row.location.as_ref());
                let file = location.and_then(|location| location.file.path.file_name());
                let same = ours.is_some()
                    && location.map_or(0, |location| location.line) == row.line
                    && (row.line == 0 || file == Path::new(&row.file).file_name());
                if !same {
                    different.push((addr, printed.clone(), ours));
                }
            }
            compared += 1;
        }
    }
    println!("{} of {} sequences overlap", overlap.len(), all.len());
    assert!(
        different.is_empty(),
        "{} of {compared} rows of {} differ: {:#x?}",
        different.len(),
        debug.display(),
        &different[..different.len().min(5)]
    );
    compared
}

/// Asks for every line that has code by a plain reading of all line programs, by its file's path, as
/// a breakpoint does; returns how many there are.
fn lines_agree(module: &Module, debug: &Path) -> usize {
    let dwarf = sections(debug);
    let mut expected: BTreeMap<PathBuf, BTreeSet<u32>> = BTreeMap::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().expect("a unit's header") {
        let unit = dwarf.unit(header).expect("a unit");
        let Some(program) = unit.line_program.clone() else {
            continue;
        };
        let (program, sequences) = program.sequences().expect("its sequences");
        for sequence in sequences.iter().filter(|it| is_code(module, it.start)) {
            let mut rows = program.resume_from(sequence);
            let mut before: Option<(u64, u64, u64)> = None;
            while let Some((header, row)) = rows.next_row().expect("a row") {
                if let Some((addr, file, line)) = before
                    && addr < row.address()
                    && let Some(path) = path_of(&dwarf, &unit, header, file)
                {
                    let lines = expected.entry(path).or_default();
                    lines.insert(u32::try_from(line).expect("a line"));
                }
                let is_place = row.is_stmt() && !row.end_sequence();
                let line = row.line().filter(|_| is_place);
                before = line.map(|line| (row.address(), row.file_index(), line.get()));
            }
        }
    }
    let mut missing = Vec::new();
    for (path, lines) in &expected {
        let files = module.find_sources(path);
        let found = files.iter().flat_map(|file| module.lines_with_code(file));
        let found: BTreeSet<u32> = found.collect();
        let lost: Vec<u32> = lines.difference(&found).copied().collect();
        if !lost.is_empty() {
            missing.push((path, lost));
        }
    }
    assert!(
        missing.is_empty(),
        "lines of {} of {} files of {} have no place: {:?}",
        missing.len(),
        expected.len(),
        debug.display(),
        &missing[..missing.len().min(5)]
    );
    expected.values().map(BTreeSet::len).sum()
}

/// Returns the path of a file of a line program.
fn path_of(
    dwarf: &gimli::Dwarf<Slice>,
    unit: &gimli::Unit<Slice>,
    header: &gimli::LineProgramHeader<Slice>,
    file: u64,
) -> Option<PathBuf> {
    let file = header.file(file)?;
    let text = |value| dwarf.attr_string(unit, value).ok();
    let parts = [
        unit.comp_dir,
        file.directory(header).and_then(text),
        text(file.path_name()),
    ];
    let mut path = PathBuf::new();
    for part in parts.into_iter().flatten() {
        path.push(part.to_string_lossy().as_ref());
    }
    Some(path)
}

type Slice = gimli::EndianSlice<'static, gimli::LittleEndian>;
type Die = gimli::DebuggingInformationEntry<Slice>;

fn sections(path: &Path) -> gimli::Dwarf<Slice> {
    use object::{Object, ObjectSection};
    let data: &'static [u8] = Box::leak(std::fs::read(path).expect("read").into_boxed_slice());
    let file = object::File::parse(data).expect("parse");
    gimli::Dwarf::load(|id| -> Result<Slice, std::convert::Infallible> {
        let data = file
            .section_by_name(id.name())
            .and_then(|section| section.uncompressed_data().ok())
            .unwrap_or_default();
        let data: &'static [u8] = match data {
            std::borrow::Cow::Borrowed(data) => data,
            std::borrow::Cow::Owned(data) => Box::leak(data.into_boxed_slice()),
        };
        Ok(Slice::new(data, gimli::LittleEndian))
    })
    .unwrap_or_default()
}

/// Compares every function that has code, and the inlined calls at each of its rows; returns
/// how many functions and chains there are.
fn functions_agree(module: &Module, debug: &Path) -> (usize, usize) {
    let dwarf = sections(debug);
    // Code may have several entries: aliases in assembler sources, functions that the linker
    // folded. One of them is found.
    let mut entries: BTreeMap<Ranges, Vec<Names>> = BTreeMap::new();
    let mut units = dwarf.units();
    while let Some(header) = units.next().expect("a unit's header") {
        let unit = dwarf.unit(header).expect("a unit");
        let mut all = unit.entries();
        while let Some(entry) = all.next_dfs().expect("an entry") {
            if entry.tag() != gimli::DW_TAG_subprogram {
                continue;
            }
            let mut ranges = Vec::new();
            let mut found = dwarf.die_ranges(&unit, entry).expect("its ranges");
            while let Some(range) = found.next().expect("a range") {
                if range.begin < range.end && is_code(module, range.begin) {
                    ranges.push((range.begin, range.end));
                }
            }
            if !ranges.is_empty() {
                ranges.sort_unstable();
                let names = names(&dwarf, &unit, entry, 0);
                let all = entries.entry(ranges).or_default();
                if !all.contains(&names) {
                    all.push(names);
                }
            }
        }
    }
    let mut different: Vec<String> = Vec::new();
    for (ranges, names) in &entries {
        for (start, end) in ranges {
            for addr in [*start, end - 1] {
                let ours = module.function_at(FileAddr(addr));
                if !ours
                    .as_ref()
                    .is_some_and(|ours| is_one_of(ours, ranges, names))
                {
                    let ours = ours.map(|it| (it.name.clone(), it.ranges.clone()));
                    different.push(format!("{addr:#x}: {names:?} {ranges:x?}, ours {ours:?}"));
                }
            }
        }
    }
    assert!(
        different.is_empty(),
        "{} of {} functions of {} differ: {}",
        different.len(),
        entries.len(),
        debug.display(),
        different[..different.len().min(5)].join("\n")
    );
    let ranges = entries.keys().flatten().copied().collect();
    (entries.len(), chains_agree(module, dwarf, ranges))
}

/// Start and end.
type Ranges = Vec<(u64, u64)>;
/// `DW_AT_name` and `DW_AT_linkage_name`.
type Names = (Option<String>, Option<String>);

fn is_one_of(function: &Function, ranges: &Ranges, names: &[Names]) -> bool {
    let mut ours: Ranges = function
        .ranges
        .iter()
        .map(|range| (range.start.0, range.end.0))
        .collect();
    ours.sort_unstable();
    ours == *ranges
        && !function.name.is_empty()
        && names.iter().any(|(name, linkage)| {
            function.linkage_name == *linkage
                && name.as_ref().is_none_or(|name| {
                    name.starts_with('{') || same_bare_name(&function.name, name)
                })
        })
}

fn same_bare_name(ours: &str, theirs: &str) -> bool {
    // The library's own abbreviations in symbols: `std::ostream`.
    let ours = &ours.replace("basic_", "");
    let theirs = &theirs.replace("basic_", "");
    match (bare_name(ours), bare_name(theirs)) {
        (Some(ours), Some(theirs)) => {
            // The C library calls itself by other names.
            let plain = |name: String| {
                name.trim_start_matches("__GI_")
                    .trim_start_matches('_')
                    .to_owned()
            };
            plain(ours) == plain(theirs)
        }
        _ => true,
    }
}

/// `DW_AT_name` and `DW_AT_linkage_name`, own or of what the entry was made from.
fn names(
    dwarf: &gimli::Dwarf<Slice>,
    unit: &gimli::Unit<Slice>,
    entry: &Die,
    depth: usize,
) -> Names {
    let text = |at| {
        let value = entry.attr_value(at)?;
        let text = dwarf.attr_string(unit, value).ok()?;
        Some(text.to_string_lossy().into_owned())
    };
    let mut name = text(gimli::DW_AT_name);
    let mut linkage =
        text(gimli::DW_AT_linkage_name).or_else(|| text(gimli::DW_AT_MIPS_linkage_name));
    for at in [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification] {
        if depth > 8 || (name.is_some() && linkage.is_some()) {
            break;
        }
        let (theirs, theirs_linkage) = match entry.attr_value(at) {
            Some(gimli::AttributeValue::UnitRef(offset)) => {
                let entry = unit.entry(offset).expect("what it refers to");
                names(dwarf, unit, &entry, depth + 1)
            }
            Some(gimli::AttributeValue::DebugInfoRef(offset)) => {
                let Some(header) = unit_of(dwarf, offset) else {
                    continue;
                };
                let unit = dwarf.unit(header).expect("a unit");
                let offset = offset.to_unit_offset(&unit.header).expect("in the unit");
                let entry = unit.entry(offset).expect("what it refers to");
                names(dwarf, &unit, &entry, depth + 1)
            }
            _ => continue,
        };
        name = name.or(theirs);
        linkage = linkage.or(theirs_linkage);
    }
    (name, linkage)
}

fn unit_of(
    dwarf: &gimli::Dwarf<Slice>,
    offset: gimli::DebugInfoOffset,
) -> Option<gimli::UnitHeader<Slice>> {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if offset.to_unit_offset(&header).is_some() {
            return Some(header);
        }
    }
    None
}

/// Compares names and call lines of inlined calls at the rows of every function, by addr2line.
fn chains_agree(module: &Module, dwarf: gimli::Dwarf<Slice>, ranges: Vec<(u64, u64)>) -> usize {
    let theirs = addr2line::Context::from_dwarf(dwarf).expect("a context");
    let mut chains = 0;
    let mut different = Vec::new();
    for (start, end) in ranges {
        let Some(function) = module.function_at(FileAddr(start)) else {
            continue;
        };
        for row in module.rows_in(dwarf::AddrRange::new(FileAddr(start), FileAddr(end))) {
            let addr = row.range.start;
            let ours = function.frames_at(addr);
            let mut expected = theirs
                .find_frames(addr.0)
                .skip_all_loads()
                .expect("addr2line finds");
            let mut at: Vec<(Option<String>, u32)> = Vec::new();
            while let Some(frame) = expected.next().expect("a frame") {
                let name = frame.function.and_then(|name| {
                    let raw = name.raw_name().expect("a name");
                    let name = dwarf::demangle(&raw).into_owned();
                    // Some of g++'s newest manglings no demangler of Rust knows, inherited
                    // constructors have their base's name in them, and what the compiler of
                    // Rust calls by itself has a symbol of another name.
                    let other = raw.contains("CI") || name.starts_with("__rustc::");
                    (!name.starts_with("_Z") && !other).then_some(name)
                });
                at.push((name, frame.location.and_then(|it| it.line).unwrap_or(0)));
            }
            let calls: Vec<u32> = ours
                .iter()
                .filter_map(|frame| frame.inlined)
                .map(|call| call.call_site.as_ref().map_or(0, |site| site.line))
                .collect();
            // The first line is the row's, which was compared already.
            let lines: Vec<u32> = at.iter().skip(1).map(|(_, line)| *line).collect();
            let names = ours.iter().zip(&at).all(|(ours, (theirs, _))| {
                theirs
                    .as_ref()
                    .is_none_or(|theirs| same_bare_name(ours.name, theirs))
            });
            if calls != lines || !names {
                different.push(format!(
                    "{addr} in {}: {:?} {calls:?}, addr2line {at:?}",
                    function.name,
                    ours.iter().map(|frame| frame.name).collect::<Vec<_>>()
                ));
            }
            chains += usize::from(!calls.is_empty());
        }
    }
    assert!(
        different.is_empty(),
        "{} chains differ of {chains}: {}",
        different.len(),
        different[..different.len().min(5)].join("\n")
    );
    chains
}

/// The bare name of a function: no arguments, no template arguments, no namespace; `None` where
/// signs like those of `operator<` or `(n > 0)` make brackets hard to tell.
fn bare_name(name: &str) -> Option<String> {
    let mut depth = 0_i32;
    let mut bare = String::new();
    for c in name.replace("->", "").chars() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            c if depth == 0 => bare.push(c),
            _ => {}
        }
    }
    if depth != 0 || bare.contains("operator") || name.contains(">(") {
        return None;
    }
    // What only one of an entry and a symbol tells: shims, and clones of a function.
    let bare = bare.split("::{shim").next()?;
    let bare = bare.split("::{constructor").next()?;
    let bare = bare.split('.').next()?;
    // Rust spells `f::<T>`; C++ has qualifiers behind and the type returned before a name.
    let bare = bare.trim_end_matches([' ', '&']).trim_end_matches(" const");
    let bare = bare.trim().trim_end_matches("::");
    let word = bare.rsplit("::").next()?;
    let word = word.rsplit(' ').next()?;
    // `{closure#0}` of the entries is `{{closure}}` in symbols, which also tell of shims.
    Some(word.split('{').next()?.to_owned())
}
