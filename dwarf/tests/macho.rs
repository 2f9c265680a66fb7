//! Images of macOS: what this crate reads of them is what llvm's tools do.
//!
//! `MACHO_PROGRAMS`, paths with colons between them, names more images to compare.

mod darwin;

use darwin::{MACHINES, asked, has_tools, make_bundle, program, tool};
use dwarf::{CTypes, Error, FileAddr, Headers, LongDouble, Machine, Module, SymbolStatus};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const MAIN: &str = r#"
#include "pair.h"
int puts(const char *);
int initialized = 3;
static int counter;
static _Thread_local int own = 5;
static __attribute__((noinline)) int twice(int x) { counter++; return x * 2 + own; }
__attribute__((weak)) int weak_one(int x) { return x - 1; }
int main(int argc, char **argv) {
    struct pair pair = { argc, twice(argc) };
    initialized += pair.b;
    puts(argv[0]);
    return sum(&pair) + weak_one(argc);
}
"#;
const PAIR: &str = r#"
#include "pair.h"
int sum(struct pair *pair) {
    volatile char buffer[5000];
    buffer[pair->a] = 1;
    return pair->a + pair->b + buffer[0];
}
const char *names[] = { "one", "two" };
"#;
const HEADER: &str = "struct pair { int a, b; }; int sum(struct pair *);\n";
/// A function with a label in it.
const LABELED: &str = r#"
__asm__(".globl _outside\n_outside:\n nop\n.globl _label\n.alt_entry _label\n_label:\n nop\n");
"#;
const SOURCES: [(&str, &str); 4] = [
    ("main.c", MAIN),
    ("pair.c", PAIR),
    ("pair.h", HEADER),
    ("labeled.c", LABELED),
];
const TOOLS: [&str; 5] = [
    "ld64.lld",
    "llvm-nm",
    "llvm-objdump",
    "llvm-readobj",
    "llvm-lipo",
];

/// The images to compare: of a program for each machine, and those that the environment names.
fn images(folder: &Path) -> Vec<PathBuf> {
    let built = MACHINES.map(|machine| program(folder, machine, &SOURCES, &["-O1"], &[]).path);
    let named = std::env::var_os("MACHO_PROGRAMS").unwrap_or_default();
    built
        .into_iter()
        .chain(std::env::split_paths(&named).filter(|path| path.exists()))
        .collect()
}

fn number(text: &str) -> u64 {
    let digits = text.trim();
    match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => digits.parse(),
    }
    .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The values of a block `Name {` in what llvm-readobj prints.
fn blocks(text: &str, name: &str) -> Vec<BTreeMap<String, String>> {
    let start = format!("{name} {{");
    let mut found = Vec::new();
    for block in text.split(&start).skip(1) {
        let lines = block.lines().take_while(|line| line.trim() != "}");
        let pairs = lines.filter_map(|line| line.trim().split_once(": "));
        found.push(
            pairs
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        );
    }
    found
}

#[test]
fn segments_and_identity_are_those_of_the_headers() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for path in images(folder.path()) {
        let module = Module::open(&path).unwrap();
        let mut wanted = Vec::new();
        for block in blocks(
            &asked("llvm-readobj", &["--macho-segment"], &path),
            "Segment",
        ) {
            let protection = &block["initprot"];
            if protection != "---" && number(&block["vmsize"]) > 0 {
                wanted.push((
                    number(&block["vmaddr"]),
                    number(&block["vmsize"]),
                    number(&block["fileoff"]),
                    number(&block["filesize"]),
                    protection.contains('w'),
                    protection.contains('x'),
                ));
            }
        }
        let found: Vec<_> = module
            .segments()
            .iter()
            .map(|it| {
                let (start, size) = (it.range.start.0, it.range.end - it.range.start);
                (
                    start,
                    size,
                    it.file_offset,
                    it.file_size,
                    it.writable,
                    it.executable,
                )
            })
            .collect();
        assert!(found.len() >= 3, "{}", path.display());
        assert_eq!(found, wanted, "{}", path.display());

        let headers = asked("llvm-objdump", &["--macho", "--private-headers"], &path);
        let value = |key: &str| {
            let mut lines = headers.lines().map(str::trim);
            lines.find_map(|line| line.strip_prefix(key)).map(str::trim)
        };
        let uuid: String = module
            .build_id()
            .unwrap()
            .iter()
            .map(|it| format!("{it:02X}"))
            .collect();
        assert_eq!(Some(uuid), value("uuid ").map(|it| it.replace('-', "")));
        if let Some(offset) = value("entryoff ") {
            assert_eq!(
                module.entry().0,
                number(offset) + module.load_range().start.0
            );
            assert_eq!(
                module.interpreter().as_deref(),
                Some(Path::new("/usr/lib/dyld"))
            );
        }
        let libraries: Vec<&str> = headers
            .split("cmd LC_LOAD_")
            .skip(1)
            .filter(|command| command.lines().next().unwrap().ends_with("DYLIB"))
            .filter_map(|command| command.split_once(" name ")?.1.split_once(" (offset"))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(module.linked_libraries(), libraries, "{}", path.display());
        assert!(module.is_position_independent());
    }
}

/// llvm-nm's symbols in sections: address, type, name without the underscore.
fn symbols(path: &Path) -> Vec<(u64, char, String)> {
    let text = asked("llvm-nm", &["--defined-only"], path);
    let line = |line: &str| {
        let (addr, rest) = line.split_once(' ')?;
        let (kind, name) = rest.split_once(' ')?;
        let addr = u64::from_str_radix(addr, 16).ok()?;
        let name = name.strip_prefix('_').unwrap_or(name);
        Some((addr, kind.chars().next()?, name.to_owned()))
    };
    text.lines()
        .filter_map(line)
        .filter(|it| it.1 != 'a' && it.1 != 'A')
        .collect()
}

/// The address ranges of sections with code.
fn code(path: &Path) -> Vec<(u64, u64)> {
    let text = asked("llvm-readobj", &["--sections"], path);
    let mut found = Vec::new();
    for section in text.split("  Section {").skip(1) {
        let value = |key: &str| {
            let value = section.split_once(key).expect(key).1;
            number(value.lines().next().unwrap())
        };
        if section.contains("SomeInstructions") {
            let start = value(" Address: ");
            found.push((start, start + value(" Size: ")));
        }
    }
    found
}

#[test]
fn symbols_are_those_of_nm() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for path in images(folder.path()) {
        let module = Module::open(&path).unwrap();
        let code = code(&path);
        let section = |addr: u64| code.iter().find(|range| range.0 <= addr && addr < range.1);
        let all = symbols(&path);
        let wanted: BTreeSet<(u64, &str)> = all
            .iter()
            .filter(|(addr, ..)| section(*addr).is_some())
            .map(|(addr, _, name)| (*addr, name.as_str()))
            .collect();
        let functions = module.functions_by_symbol();
        let found: BTreeSet<(u64, &str)> = functions
            .iter()
            .filter(|symbol| !symbol.name.ends_with("@plt"))
            .map(|symbol| (symbol.addr.0, symbol.name))
            .collect();
        assert!(found.len() >= 4, "{}: {found:?}", path.display());
        assert_eq!(found, wanted, "{}", path.display());
        for (addr, _, name) in &all {
            let named = module.symbols_named(name);
            assert!(named.iter().any(|it| it.addr.0 == *addr), "{name}");
        }

        // A function reaches to the next one.
        let starts = function_starts(&path, &wanted);
        for symbol in &functions {
            let addr = symbol.addr.0;
            let end = section(addr).unwrap().1;
            let next = starts
                .range(addr + 1..)
                .next()
                .copied()
                .unwrap_or(end)
                .min(end);
            let size = match symbol.name.strip_suffix("@plt") {
                Some(_) => symbol.size,
                None if starts.contains(&addr) => next - addr,
                None => 0,
            };
            assert_eq!(symbol.size, size, "{}", symbol.name);
            let whole = module.symbol_at(symbol.addr).unwrap();
            let covered = whole.addr.0..whole.addr.0 + whole.size;
            assert!(covered.contains(&addr), "{whole:?} {symbol:?}");
        }
    }
}

/// Where functions begin, by llvm-objdump. Zig's linker writes no list: then by symbols of code.
fn function_starts(path: &Path, symbols: &BTreeSet<(u64, &str)>) -> BTreeSet<u64> {
    let text = asked("llvm-objdump", &["--macho", "--function-starts"], path);
    let starts = text
        .lines()
        .filter_map(|line| u64::from_str_radix(line, 16).ok());
    let starts: BTreeSet<u64> = starts.collect();
    // Of an empty list llvm-objdump prints one address.
    match starts.len() < 2 {
        true => symbols.iter().map(|(addr, _)| *addr).collect(),
        false => starts,
    }
}

#[test]
fn stubs_are_named_by_what_they_import() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for path in images(folder.path()) {
        let module = Module::open(&path).unwrap();
        let text = asked("llvm-objdump", &["--macho", "--indirect-symbols"], &path);
        let mut wanted = BTreeSet::new();
        let mut is_code = false;
        for line in text.lines() {
            if line.starts_with("Indirect symbols for") {
                is_code = line.contains("__stubs");
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            if let ([addr, _, name], true) = (&words[..], is_code)
                && addr.starts_with("0x")
            {
                wanted.insert((number(addr), format!("{}@plt", &name[1..])));
            }
        }
        let functions = module.functions_by_symbol();
        let found: BTreeSet<(u64, String)> = functions
            .iter()
            .filter(|symbol| symbol.name.ends_with("@plt"))
            .map(|symbol| (symbol.addr.0, symbol.name.to_owned()))
            .collect();
        assert!(!found.is_empty(), "{}", path.display());
        assert_eq!(found, wanted, "{}", path.display());
    }
}

/// The exports by llvm-objdump: name without the underscore, address.
fn exports(path: &Path) -> BTreeMap<String, u64> {
    let text = asked("llvm-objdump", &["--macho", "--exports-trie"], path);
    let line = |line: &str| {
        let (addr, name) = line.strip_prefix("0x")?.split_once("  ")?;
        let name = name.split_once(" [").map_or(name, |(name, _)| name);
        let name = name.strip_prefix('_').unwrap_or(name).to_owned();
        Some((name, u64::from_str_radix(addr, 16).ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn exports_are_those_of_the_trie() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for path in images(folder.path()) {
        let module = Module::open(&path).unwrap();
        let wanted = exports(&path);
        assert!(wanted.contains_key("_mh_execute_header") || !wanted.is_empty());
        for (name, addr) in &wanted {
            assert_eq!(module.exported(name), Some(FileAddr(*addr)), "{name}");
            assert_eq!(module.exported(&format!("{name}_")), None);
        }
        assert_eq!(module.exported("twice"), None, "a local function");

        // Without its symbols the image has those that it exports.
        let stripped = without_symbols(&path);
        let code = code(&path);
        let is_code = |addr: u64| code.iter().any(|range| range.0 <= addr && addr < range.1);
        let wanted: BTreeMap<u64, &str> = wanted
            .iter()
            .filter(|(_, addr)| is_code(**addr))
            .map(|(name, addr)| (*addr, name.as_str()))
            .collect();
        let found = stripped.functions_by_symbol();
        for (addr, name) in &wanted {
            assert!(
                found.iter().any(|it| it.addr.0 == *addr && it.size > 0),
                "{name}: {found:?}"
            );
        }
        for symbol in found {
            assert_eq!(
                module.exported(symbol.name),
                Some(symbol.addr),
                "{}",
                symbol.name
            );
        }
    }
}

/// The image with an empty symbol table.
fn without_symbols(path: &Path) -> Arc<Module> {
    let mut bytes = std::fs::read(path).unwrap();
    let at = command(&bytes, 2);
    bytes[at + 12..at + 16].fill(0);
    // Under its path it would have the symbols of its bundle.
    Module::from_bytes(Path::new("/image"), bytes).unwrap()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// The offset of the load command of a type.
fn command(bytes: &[u8], kind: u32) -> usize {
    let mut at = 32;
    while word(bytes, at) != kind {
        at += word(bytes, at + 4) as usize;
    }
    at
}

#[test]
fn a_label_is_part_of_its_function() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for machine in MACHINES {
        let path = program(folder.path(), machine, &SOURCES, &[], &[]).path;
        // Apple's linker does not list a label as a function: the last one is taken out.
        let mut bytes = std::fs::read(&path).unwrap();
        let at = command(&bytes, 0x26);
        let (start, size) = (
            word(&bytes, at + 8) as usize,
            word(&bytes, at + 12) as usize,
        );
        let last = bytes[start..start + size]
            .iter()
            .rposition(|byte| *byte != 0);
        bytes[start + last.unwrap()] = 0;
        let module = Module::from_bytes(&path, bytes).unwrap();
        let outside = module.symbols_named("outside")[0];
        let label = module.symbols_named("label")[0];
        assert!(outside.size > label.addr - outside.addr, "{outside:?}");
        assert_eq!(label.size, 0);
        assert_eq!(module.symbol_at(label.addr), Some(outside));
        module.functions_by_symbol();
        assert_eq!(
            module.symbol_at(label.addr),
            Some(outside),
            "by the sorted table"
        );
    }
}

#[test]
fn a_universal_file_has_an_image_for_each_machine() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [arm, intel] =
        MACHINES.map(|machine| program(folder.path(), machine, &SOURCES, &[], &[]).path);
    // The same code as arm64e, with another identity.
    let arm_e = folder.path().join("arm64e");
    let mut bytes = std::fs::read(&arm).unwrap();
    bytes[8..12].copy_from_slice(&0x8000_0002_u32.to_le_bytes());
    let uuid = Module::open(&arm).unwrap().build_id().unwrap().to_vec();
    let at = bytes.windows(16).position(|window| window == uuid).unwrap();
    bytes[at] ^= 0xff;
    std::fs::write(&arm_e, bytes).unwrap();
    let universal = folder.path().join("universal");
    let tool = tool("llvm-lipo").unwrap();
    darwin::output(
        Command::new(&tool)
            .arg("-create")
            .args([&arm_e, &arm, &intel])
            .arg("-output")
            .arg(&universal),
    );

    let open = |machine, uuid| Module::open_for(&universal, machine, uuid);
    let thin = |path: &Path| Module::open(path).unwrap();
    for (machine, path) in [(Machine::Aarch64, &arm), (Machine::X86_64, &intel)] {
        let (found, wanted) = (open(machine, None).unwrap(), thin(path));
        assert_eq!(found.machine(), machine);
        assert_eq!(found.build_id(), wanted.build_id());
        assert_eq!(found.segments(), wanted.segments());
        assert_eq!(found.functions_by_symbol(), wanted.functions_by_symbol());
        assert_eq!(found.bytes(), wanted.bytes());
    }
    let uuid = thin(&arm_e).build_id().unwrap().try_into().unwrap();
    let found = open(Machine::Aarch64, Some(uuid)).unwrap();
    assert_eq!(found.build_id(), Some(&uuid[..]));
    assert_eq!(
        Module::open(&universal).unwrap().machine(),
        thin(&intel).machine()
    );

    let only_arm = folder.path().join("only-arm");
    darwin::output(
        Command::new(&tool)
            .arg("-create")
            .arg(&arm)
            .arg("-output")
            .arg(&only_arm),
    );
    match Module::open_for(&only_arm, Machine::X86_64, None) {
        Err(Error::NotAnImage { message, .. }) => assert!(message.contains("X86_64"), "{message}"),
        other => panic!("{:?}", other.map(|it| it.machine())),
    }
}

#[test]
fn the_kind_of_symbols_is_known() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let built = program(folder.path(), "arm64", &SOURCES, &[], &["-S"]);
    let module = Module::open(&built.path).unwrap();
    assert_eq!(module.symbol_status(), SymbolStatus::SymbolsOnly);
    let storage = module.thread_storage().unwrap();
    assert_eq!(storage.size, 4);
    let mut value = [0; 4];
    module.read_image(storage.addr, &mut value).unwrap();
    assert_eq!(u32::from_le_bytes(value), 5);
}

/// The rows of all line tables by llvm-dwarfdump: by address, the lines of the rows there, and
/// where sequences end.
fn rows(debug: &Path) -> (BTreeMap<u64, BTreeSet<u32>>, BTreeSet<u64>) {
    let text = asked("llvm-dwarfdump", &["--debug-line"], debug);
    let (mut rows, mut ends) = (BTreeMap::<u64, BTreeSet<u32>>::new(), BTreeSet::new());
    for line in text.lines().filter(|line| line.starts_with("0x0000")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if line.ends_with("end_sequence") {
            ends.insert(number(words[0]));
        } else {
            rows.entry(number(words[0]))
                .or_default()
                .insert(words[1].parse().unwrap());
        }
    }
    (rows, ends)
}

/// The concrete functions by llvm-dwarfdump: their addresses and names.
fn functions(debug: &Path) -> Vec<(u64, u64, String)> {
    let text = asked("llvm-dwarfdump", &["--debug-info"], debug);
    let mut found = Vec::new();
    for entry in text
        .split("\n\n")
        .filter(|entry| entry.contains("DW_TAG_subprogram"))
    {
        let value = |name: &str| {
            Some(
                entry
                    .split_once(name)?
                    .1
                    .lines()
                    .next()?
                    .trim_matches(['\t', ' ', '(', ')']),
            )
        };
        let (Some(low), Some(high)) = (value("DW_AT_low_pc"), value("DW_AT_high_pc")) else {
            continue;
        };
        if let Some(name) = value("DW_AT_name") {
            found.push((number(low), number(high), name.trim_matches('"').to_owned()));
        }
    }
    found
}

/// Compares lines and functions with what llvm-dwarfdump finds in a file with debug info.
#[track_caller]
fn assert_debug_info(module: &Module, debug: &Path) {
    assert_eq!(module.symbol_status(), SymbolStatus::DebugInfo, "{debug:?}");
    let (rows, ends) = rows(debug);
    assert!(rows.len() > 10);
    for (addr, lines) in &rows {
        let found = module
            .row_at(FileAddr(*addr))
            .unwrap_or_else(|| panic!("no row at {addr:#x}"));
        let line = found.location.map_or(0, |location| location.line);
        assert!(
            lines.contains(&line),
            "{addr:#x}: {line} is not of {lines:?}"
        );
    }
    for end in ends.iter().filter(|end| !rows.contains_key(end)) {
        let behind = module.row_at(FileAddr(*end));
        // The linker counts the space behind a function to it, and so do the line tables of object
        // files.
        let is_space = module.function_at(FileAddr(*end)).is_none();
        let may_be = module.debug_file().is_none() && is_space;
        assert!(behind.is_none() || may_be, "{end:#x}: {behind:?}");
    }
    let functions = functions(debug);
    assert!(functions.len() > 2);
    for (low, high, name) in functions {
        for addr in [low, high - 1] {
            let found = module
                .function_at(FileAddr(addr))
                .unwrap_or_else(|| panic!("{name} at {addr:#x}"));
            // Methods of Rust are named with the arguments of their types, or without.
            let plain = name.split('<').next().unwrap();
            assert!(
                found.name.contains(plain),
                "{addr:#x}: {} is not {name}",
                found.name
            );
        }
        // rustc's shims are named by what they are.
        let is_shim = module
            .function_at(FileAddr(low))
            .is_some_and(|it| it.name.contains("{shim:"));
        if is_shim {
            continue;
        }
        let named = module.functions_named(name.split('<').next().unwrap());
        assert!(
            named.iter().any(|it| it.contains(FileAddr(low))),
            "{name}: {named:?}"
        );
    }
}

/// The number of a tool's release.
fn release_of(name: &str) -> u32 {
    let text = darwin::output(Command::new(tool(name).unwrap()).arg("--version"));
    let version = text.split_once("version ").expect("its version").1;
    version.split('.').next().unwrap().parse().unwrap()
}

const BUNDLE_TOOLS: [&str; 3] = ["ld64.lld", "dsymutil", "llvm-dwarfdump"];

#[test]
fn a_bundle_beside_the_image_has_its_debug_info() {
    if !has_tools(&BUNDLE_TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for path in images(folder.path()) {
        // Before there is a bundle, the debug info is that of the object files.
        let by_map = Module::from_bytes(&path, std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(by_map.debug_file(), None);
        let debug = make_bundle(&path);
        if by_map.symbol_status() == SymbolStatus::DebugInfo {
            assert_debug_info(&by_map, &debug);
        }
        // Another test may have opened the file before it had the bundle.
        let module = Module::from_bytes(&path, std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(module.debug_file(), Some(&*debug));
        assert!(module.rejected_debug_files().is_empty());
        assert_debug_info(&module, &debug);
    }
}

#[test]
fn debug_info_of_each_format_version_is_read() {
    if !has_tools(&BUNDLE_TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for version in ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5"] {
        if version == "-gdwarf-5" && release_of("dsymutil") < 16 {
            // It loses the names of files.
            skips::skip("dsymutil 16");
            continue;
        }
        let built = program(
            &folder.path().join(version),
            "arm64",
            &SOURCES,
            &["-O1", version],
            &[],
        );
        let debug = make_bundle(&built.path);
        assert_debug_info(&Module::open(&built.path).unwrap(), &debug);
    }
}

#[test]
fn a_bundle_of_another_build_is_refused() {
    if !has_tools(&BUNDLE_TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let old = program(&folder.path().join("old"), "arm64", &SOURCES, &["-O0"], &[]);
    let new = program(&folder.path().join("new"), "arm64", &SOURCES, &["-O1"], &[]);
    let debug = make_bundle(&old.path);
    let at = new.path.with_extension("dSYM");
    let at = at.join("Contents/Resources/DWARF/program");
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::copy(&debug, &at).unwrap();

    let module = Module::open(&new.path).unwrap();
    assert_eq!(module.debug_file(), None);
    // The object files are still there.
    assert_eq!(module.symbol_status(), SymbolStatus::DebugInfo);
    let uuid = |path: &Path| {
        let text = asked("llvm-dwarfdump", &["--uuid"], path);
        text.split_whitespace().nth(1).unwrap().to_owned()
    };
    let [error] = &module.rejected_debug_files()[..] else {
        panic!("{:?}", module.rejected_debug_files());
    };
    let message = error.to_string();
    assert!(message.contains(&uuid(&old.path)), "{message}");
    assert!(message.contains(&uuid(&new.path)), "{message}");
    let given = module.with_debug_file(&debug).map(|_| ()).unwrap_err();
    assert!(given.to_string().contains("UUID"), "{given}");
    // A bundle with the files of several builds has the right one, whatever its name.
    std::fs::rename(make_bundle(&new.path), at.with_file_name("renamed")).unwrap();
    std::fs::copy(&debug, &at).unwrap();
    let module = Module::from_bytes(&new.path, std::fs::read(&new.path).unwrap()).unwrap();
    assert_eq!(module.debug_file(), Some(&*at.with_file_name("renamed")));
}

#[test]
fn sources_are_where_the_bundle_says() {
    if !has_tools(&BUNDLE_TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for flags in [&["-O0", "-gdwarf-4"][..], &["-O0", "-gdwarf-5"]] {
        let built = program(&root.join("build"), "arm64", &SOURCES, flags, &[]);
        make_bundle(&built.path);
        let text = asked("llvm-dwarfdump", &["--uuid"], &built.path);
        let uuid = text.split_whitespace().nth(1).unwrap();
        let list = built.path.with_extension("dSYM");
        let list = list.join(format!("Contents/Resources/{uuid}.plist"));
        // The checkout was moved since the build.
        let moved = root.join("moved");
        std::fs::rename(&built.folder, &moved).unwrap();
        let program = moved.join("program");
        let list = moved.join(list.strip_prefix(&built.folder).unwrap());
        let path = |name: &str| {
            Module::open(&program)
                .unwrap()
                .find_sources(Path::new(name))
        };
        let there = moved.join("pair.c");
        assert_eq!(path(there.to_str().unwrap()), []);
        let entry = format!(
            "<key>{}</key><string>{}</string>",
            built.folder.display(),
            moved.display()
        );
        let text = format!(
            "<?xml version=\"1.0\"?><plist version=\"1.0\"><dict><key>DBGVersion</key><string>3</string>\
             <key>DBGSourcePathRemapping</key><dict>{entry}</dict></dict></plist>"
        );
        std::fs::write(&list, text).unwrap();
        let module = Module::from_bytes(&program, std::fs::read(&program).unwrap()).unwrap();
        let [file] = &module.find_sources(&there)[..] else {
            panic!("{:?}", module.source_files());
        };
        assert_eq!(file.path, there);
        // Lines are found by that path, and addresses have it.
        let [place, ..] = &module.line_locations(file, 6)[..] else {
            panic!("no line 6");
        };
        let row = module.row_at(place.addr).and_then(|row| row.location);
        assert_eq!(row.map(|it| it.file.path.clone()), Some(there.clone()));
        std::fs::remove_dir_all(&moved).unwrap();
    }
}

/// What a compiler says of C's types, by the macros that it defines.
fn c_types_for(target: &str) -> CTypes {
    let clang = Command::new(tool("clang").expect("a compiler that was looked for"))
        .args(["-target", target, "-dM", "-E", "-x", "c", "/dev/null"])
        .output();
    let macros = String::from_utf8(clang.expect("clang").stdout).expect("text");
    let value = |name: &str| {
        let start = format!("#define {name} ");
        macros.lines().find_map(|line| line.strip_prefix(&start))
    };
    let wide = value("__WCHAR_TYPE__").expect("a type for wide characters");
    CTypes {
        char_is_signed: value("__CHAR_UNSIGNED__").is_none(),
        wchar_is_signed: !wide.contains("unsigned"),
        long_double: match value("__LDBL_MANT_DIG__") {
            Some("53") => LongDouble::Double,
            Some("64") => LongDouble::Extended,
            Some("113") => LongDouble::Quad,
            other => panic!("{target}: a long double of {other:?} bits"),
        },
        headers: match value("__APPLE__") {
            Some(_) => Headers::Apple,
            None => Headers::Linux,
        },
    }
}

#[test]
fn types_of_c_are_those_of_the_compiler_for_the_system() {
    if !has_tools(&["clang", "ld64.lld"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for machine in MACHINES {
        let path = program(folder.path(), machine, &SOURCES, &["-O1"], &[]).path;
        let expected = c_types_for(&format!("{machine}-apple-macos11"));
        assert_eq!(
            Module::open(&path).unwrap().c_types(),
            expected,
            "{machine}"
        );
    }
    for (machine, target) in [
        (Machine::X86_64, "x86_64-linux-gnu"),
        (Machine::Aarch64, "aarch64-linux-gnu"),
    ] {
        assert_eq!(machine.c_types(), c_types_for(target), "{target}");
    }
}
