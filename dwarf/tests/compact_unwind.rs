//! Compact unwind info of macOS: its entries are those of llvm-objdump, and its rules those of call
//! frame information.
//!
//! `MACHO_PROGRAMS`, paths with colons between them, names more images to compare; `SEED` makes
//! other random functions.

mod darwin;
#[path = "darwin/frames.rs"]
mod frames;

use darwin::{MACHINES, asked, has_tools, output, program, tool};
use dwarf::{
    AddrRange, CfaLocation, FileAddr, FrameAddress, HeuristicUnwind, LoadAddr, LoadBias, Machine,
    Memory, Module, ModuleMap, Register, RegisterOffset, Registers, ReturnAddress, Unreadable,
    Unwinder,
};
use frames::{Frame, One, functions, random_source, unwound};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const TOOLS: [&str; 3] = ["ld64.lld", "llvm-objdump", "llvm-dwarfdump"];
/// Functions of compilers: with few and many registers to keep, small and large frames.
const SOURCE: &str = r#"
int outside(int *values, int value) { return values[value]; }
int leaf(int x) { return x + 1; }
__attribute__((noinline)) int many(int a, int b, int c, int d, int e) {
    int x[4] = { a, b, c, d };
    int r = outside(x, a) + outside(x, b) * c;
    return r + outside(x, d + e) + a + b + c + d;
}
__attribute__((noinline)) int large(int a) {
    char buffer[20000];
    buffer[a] = 1;
    return outside((int *)buffer, a) + buffer[3];
}
__attribute__((noinline)) double floats(double a, double b) {
    double r = leaf(a) * b;
    return r + large(b) * a;
}
int main(int argc, char **argv) { return many(argc, 1, 2, 3, 4) + large(argc) + floats(argc, 2); }
"#;
const RANDOM: usize = 1500;

fn seed() -> u64 {
    let seed = std::env::var("SEED").ok();
    seed.map_or(0x5eed, |seed| seed.parse().expect("a number"))
}

/// A program of a compiler's functions and of random ones, without frame pointers or with them.
#[track_caller]
fn built(folder: &Path, machine: &'static str, flag: &str) -> darwin::Program {
    let random = random_source(machine, RANDOM, seed());
    let sources = [("main.c", SOURCE), ("random.c", &random)];
    // Where the inliner may not look, the functions stay.
    let flags = ["-O1", "-fno-inline", "-fno-stack-protector", flag];
    program(&folder.join(flag), machine, &sources, &flags, &[])
}

fn images(folder: &Path) -> Vec<PathBuf> {
    let flags = ["-fomit-frame-pointer", "-fno-omit-frame-pointer"];
    let all = MACHINES.map(|machine| flags.map(|flag| built(folder, machine, flag).path));
    let named = std::env::var_os("MACHO_PROGRAMS").unwrap_or_default();
    let named = std::env::split_paths(&named).filter(|path| path.exists());
    // Of few encodings the linker makes pages of another kind.
    let sources = [("main.c", SOURCE)];
    let small = MACHINES.map(|machine| program(folder, machine, &sources, &["-O1"], &[]).path);
    let built = all.into_iter().flatten().chain(small);
    built.chain(named).collect()
}

fn number(text: &str) -> u64 {
    let digits = text.trim().trim_start_matches("0x");
    u64::from_str_radix(digits, 16).expect(text)
}

/// What llvm-objdump says of the table: functions and encodings, where the last one ends; which
/// functions have exception tables.
struct Table {
    entries: Vec<(u64, u64, u32)>,
    exceptions: BTreeSet<u64>,
    kinds: BTreeSet<&'static str>,
}

fn table(path: &Path, base: u64) -> Table {
    let text = asked("llvm-objdump", &["--macho", "--unwind-info"], path);
    let mut table = Table {
        entries: Vec::new(),
        exceptions: BTreeSet::new(),
        kinds: BTreeSet::new(),
    };
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let Some((_, rest)) = line.split_once("]: function offset=") else {
            continue;
        };
        let (function, rest) = rest.split_once(", ").unwrap();
        let function = base + number(function);
        let value = || number(rest.rsplit_once('=').unwrap().1);
        if rest.starts_with("encoding") {
            let is_compressed = rest.starts_with("encoding[");
            let kind = ["regular", "compressed"][usize::from(is_compressed)];
            table.kinds.insert(kind);
            starts.push((function, value() as u32));
        } else if rest.starts_with("LSDA") {
            table.exceptions.insert(function);
        } else {
            ends.push(function);
        }
    }
    let next = starts.iter().skip(1).map(|it| it.0);
    let ends = next.chain(ends.last().copied());
    let entries = starts.iter().zip(ends);
    table.entries = entries.map(|(it, end)| (it.0, end, it.1)).collect();
    table
}

/// What an encoding means (`mach-o/compact_unwind_encoding.h`); `None` if call frame information
/// says it. Orders of registers are those that LLVM's encoder makes of all of them.
fn meaning(
    module: &Module,
    start: u64,
    encoding: u32,
    orders: &BTreeMap<(u32, u32), Vec<u16>>,
) -> Option<Frame> {
    let mut saved = BTreeMap::new();
    let field = |low: u32, mask: u32| i64::from(encoding >> low & mask);
    let cfa = match (module.machine(), encoding >> 24 & 15) {
        (Machine::Aarch64, mode @ (2 | 4)) => {
            let mut at = 0;
            if mode == 4 {
                saved.extend([(30, -8), (29, -16)]);
                at = -16;
            }
            for pair in 0..5 {
                if encoding & 1 << pair != 0 {
                    saved.extend([(19 + 2 * pair, at - 8), (20 + 2 * pair, at - 16)]);
                    at -= 16;
                }
            }
            match mode {
                4 => (29, 16),
                _ => (31, 16 * field(12, 0xfff)),
            }
        }
        (Machine::X86_64, 1) => {
            saved.extend([(16, -8), (6, -16)]);
            let numbers = [None, Some(3), Some(12), Some(13), Some(14), Some(15)];
            for nth in 0..5 {
                if let Some(register) = numbers[field(3 * nth, 7) as usize] {
                    let at = -16 - 8 * field(16, 255) + 8 * i64::from(nth);
                    saved.insert(register, at);
                }
            }
            (6, 16)
        }
        (Machine::X86_64, mode @ (2 | 3)) => {
            let order = &orders[&(field(10, 7) as u32, field(0, 1023) as u32)];
            for (nth, register) in order.iter().rev().enumerate() {
                saved.insert(*register, -16 - 8 * nth as i64);
            }
            saved.insert(16, -8);
            let mut size = [0; 4];
            let at = FileAddr(start + field(16, 255) as u64);
            module.read_image(at, &mut size).unwrap();
            let size = i64::from(u32::from_le_bytes(size)) + 8 * field(13, 7);
            (7, [8 * field(16, 255), size][mode as usize - 2])
        }
        _ => return None,
    };
    Some(Frame { cfa, saved })
}

/// Numbers of all orders of up to six registers, lowest address first, as an encoder makes them.
fn orders() -> BTreeMap<(u32, u32), Vec<u16>> {
    const REGISTERS: [u16; 6] = [3, 12, 13, 14, 15, 6];
    const WEIGHTS: [&[u32]; 7] = [
        &[],
        &[1],
        &[5, 1],
        &[20, 4, 1],
        &[60, 12, 3, 1],
        &[120, 24, 6, 2, 1],
        &[120, 24, 6, 2, 1, 0],
    ];
    let mut all = vec![Vec::new()];
    let mut found = BTreeMap::new();
    while let Some(order) = all.pop() {
        let weights = WEIGHTS[order.len()].iter().enumerate();
        let number = weights.map(|(nth, weight)| {
            let index = |register| REGISTERS.iter().position(|it| *it == register).unwrap();
            let own = index(order[nth]);
            let before = order[..nth].iter().filter(|it| index(**it) < own).count();
            (own - before) as u32 * weight
        });
        found.insert((order.len() as u32, number.sum()), order.clone());
        for register in REGISTERS.iter().filter(|it| !order.contains(it)) {
            all.push([&order[..], &[*register]].concat());
        }
    }
    found
}

#[test]
fn entries_are_those_of_objdump() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let orders = orders();
    assert_eq!(orders.len(), 1957, "1 + 6 + 30 + 120 + 360 + 720 + 720");
    let (mut kinds, mut modes) = (BTreeSet::new(), BTreeSet::new());
    for path in images(folder.path()) {
        let module = Module::open(&path).unwrap();
        let base = module.load_range().start.0;
        let table = table(&path, base);
        let described = functions(&path);
        let row = |addr: u64| {
            let mut all = described.iter();
            let function = all.find(|it| (it.start..it.end).contains(&addr))?;
            let rows = function.rows.iter().take_while(|row| row.0 <= addr);
            rows.last()?.1.clone()
        };
        assert!(table.entries.len() >= 2, "{}", path.display());
        for (start, end, encoding) in &table.entries {
            // Of several entries at an address the last one holds.
            for addr in [*start, end - 1].into_iter().filter(|_| start < end) {
                let wanted = meaning(&module, *start, *encoding, &orders).or_else(|| row(addr));
                let found = unwound(&module, addr);
                let at = format!("{}: {encoding:#x} at {addr:#x}", path.display());
                assert_eq!(found, wanted, "{at}");
                modes.insert((format!("{:?}", module.machine()), encoding >> 24 & 15));
            }
        }
        let last = table.entries.last().unwrap().1;
        assert_eq!(unwound(&module, last), None, "{}", path.display());

        // Without symbols only the table tells where functions begin.
        let all = AddrRange::new(FileAddr(base), FileAddr(last));
        let starts = without_names(&path).instruction_starts(all);
        let starts: BTreeSet<_> = starts.into_iter().collect();
        let missing = |it: &&(u64, u64, u32)| it.0 < last && !starts.contains(&FileAddr(it.0));
        assert_eq!(table.entries.iter().find(missing), None);
        kinds.extend(table.kinds);
    }
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    assert!(modes.len() >= 7, "{modes:?}");
}

/// The image with empty tables of symbols and exports.
fn without_names(path: &Path) -> Arc<Module> {
    let mut bytes = std::fs::read(path).unwrap();
    let word = |bytes: &[u8], at: usize| {
        let bytes = bytes[at..at + 4].try_into().unwrap();
        u32::from_le_bytes(bytes)
    };
    let mut at = 32;
    for _ in 0..word(&bytes, 16) {
        // Where the size of a table is: LC_SYMTAB, LC_DYLD_INFO_ONLY, LC_DYLD_EXPORTS_TRIE.
        let size = match word(&bytes, at) {
            2 => Some(12),
            0x8000_0022 => Some(44),
            0x8000_0033 => Some(12),
            _ => None,
        };
        if let Some(size) = size {
            bytes[at + size..at + size + 4].fill(0);
        }
        at += word(&bytes, at + 4) as usize;
    }
    Module::from_bytes(Path::new("/image"), bytes).unwrap()
}

/// The addresses of `f0` and so on.
fn random_functions(module: &Module) -> Vec<u64> {
    let named = |number| module.symbols_named(&format!("f{number}"))[0].addr.0;
    (0..RANDOM).map(named).collect()
}

#[test]
fn random_functions_unwind_as_their_directives_say() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (machine, target) in [
        ("arm64", "aarch64-linux-gnu"),
        ("x86_64", "x86_64-linux-gnu"),
    ] {
        let built = built(folder.path(), machine, "-fomit-frame-pointer");
        let module = Module::open(&built.path).unwrap();
        // ELF has the call frame information of the same source.
        let object = built.folder.join("elf.o");
        let source = built.folder.join("random.c");
        let mut compile = Command::new(tool("clang").expect("a compiler that was looked for"));
        compile.args(["-target", target, "-c", "-o"]).arg(&object);
        output(compile.arg(source));
        let described = functions(&object);
        assert_eq!(described.len(), RANDOM);
        for (nth, addr) in random_functions(&module).into_iter().enumerate() {
            let function = &described[nth];
            let (row, frame) = function.rows.last().unwrap();
            assert!(frame.is_some());
            for at in row - function.start..function.end - function.start {
                let found = unwound(&module, addr + at);
                assert_eq!(&found, frame, "{machine} f{nth}+{at:#x}");
            }
        }
    }
}

#[test]
fn compiled_functions_unwind_as_their_frame_information() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for flag in ["-fomit-frame-pointer", "-fno-omit-frame-pointer"] {
        // clang writes call frame information of every function into objects for x86-64.
        let built = built(folder.path(), "x86_64", flag);
        let module = Module::open(&built.path).unwrap();
        let names = ["outside", "leaf", "many", "large", "floats", "main"];
        let described = functions(&built.folder.join("main.o"));
        assert_eq!(described.len(), names.len());
        for (name, function) in names.iter().zip(&described) {
            let addr = module.symbols_named(name)[0].addr.0;
            let (row, wanted) = function.rows.last().unwrap();
            for at in *row..function.end {
                let found = unwound(&module, addr + at - function.start);
                assert_eq!(&found, wanted, "{name} {flag} {at:#x}");
            }
        }
    }
}

const EXCEPTIONS: &str = r#"
extern "C" int puts(const char *);
struct Noisy { ~Noisy() { puts("gone"); } };
__attribute__((noinline)) void throwing(int value) { if (value) throw value; }
__attribute__((noinline)) int catching(int value) {
    try { throwing(value); } catch (int caught) { return caught; }
    return 0;
}
__attribute__((noinline)) int cleaning(int value) {
    Noisy noisy;
    throwing(value);
    return 1;
}
__attribute__((noinline)) int passing(int value) { throwing(value); return 2; }
int main(int argc, char **) { return catching(argc) + cleaning(argc) + passing(argc); }
"#;

#[test]
fn exception_tables_are_those_of_the_index() {
    if !has_tools(&TOOLS) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for machine in MACHINES {
        let sources = [("main.cpp", EXCEPTIONS)];
        let flags = ["-O1", "-fexceptions"];
        let built = program(folder.path(), machine, &sources, &flags, &[]);
        let module = Module::open(&built.path).unwrap();
        let table = table(&built.path, module.load_range().start.0);
        assert!(table.exceptions.len() >= 2, "{:?}", table.exceptions);
        for function in module.functions_by_symbol() {
            let code = AddrRange::new(function.addr, function.addr + function.size);
            let has_pads = table.exceptions.contains(&function.addr.0);
            let inside = function.addr + function.size / 2;
            for addr in [function.addr, inside] {
                let pads = module.landing_pads(addr).unwrap();
                assert_eq!(!pads.is_empty(), has_pads, "{}: {pads:?}", function.name);
                let outside = pads.iter().find(|pad| !code.contains(**pad));
                assert_eq!(outside, None, "{}", function.name);
            }
        }
        let catching = module.symbols_named("_Z8catchingi")[0].addr;
        assert_eq!(module.landing_pads(catching).unwrap().len(), 1);
    }
}

/// A stack of one word.
struct Full(u64);

impl Memory for Full {
    fn read(&self, _: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        for bytes in buffer.chunks_mut(8) {
            bytes.copy_from_slice(&self.0.to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

/// A module of whose instructions something is known.
struct Known<'a>(One<'a>, Vec<HeuristicUnwind>);

impl ModuleMap for Known<'_> {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        self.0.module_at(addr)
    }

    fn heuristic_unwinds(&self, _: &Module, _: FileAddr, _: bool) -> Vec<HeuristicUnwind> {
        self.1.clone()
    }
}

#[test]
fn the_innermost_frame_is_unwound_by_its_instructions() {
    if !has_tools(&TOOLS) {
        return;
    }
    const STACK: u64 = 0x10_0000_0000;
    let folder = tempfile::tempdir().unwrap();
    for machine in MACHINES {
        let flag = "-fno-omit-frame-pointer";
        let built = built(folder.path(), machine, flag);
        let module = Module::open(&built.path).unwrap();
        let machine = module.machine();
        let many = module.symbols_named("many")[0];
        let behind_call = behind_call(&module);
        let memory = Full(behind_call);
        let mut registers = Registers::new(machine);
        registers.set_sp(STACK);
        registers.set(machine.frame_pointer(), STACK + 0x100);
        registers.set(Register(frames::link(machine)), behind_call);
        let mut unwinder = Unwinder::new();
        let mut unwind = |heuristics: &[HeuristicUnwind], address| {
            unwinder.clear();
            let map = Known(One(&module), heuristics.to_vec());
            let unwound = unwinder.unwind(&map, &memory, address, &registers);
            let cfa = unwinder.cfa(&map, &memory, address, &registers);
            let unwound = unwound.unwrap();
            assert_eq!(cfa.unwrap(), unwound.cfa);
            (unwound.cfa.0 - STACK, unwound.from_cfi)
        };
        let pc = |offset: u64| FrameAddress::Pc(LoadAddr(many.addr.0 + offset));
        let call = |offset: u64| FrameAddress::ReturnAddress(LoadAddr(many.addr.0 + offset));
        // Nothing has run. On x86-64 the call has pushed the return address, and the function's
        // first instruction pushes the frame pointer.
        let pushed = if machine == Machine::X86_64 { 8 } else { 0 };
        assert_eq!(unwind(&[], pc(0)), (pushed, false));
        if machine == Machine::X86_64 {
            assert_eq!(unwind(&[], pc(1)), (16, false));
        }
        let body = (many.size / 2) & !3;
        assert_eq!(unwind(&[], pc(body)), (0x110, true));
        assert_eq!(unwind(&[], call(body)), (0x110, true));
        // What leads behind a call is right; a return address is always at a call.
        let heuristic = |return_address| HeuristicUnwind {
            cfa: CfaLocation::At(RegisterOffset {
                register: machine.sp(),
                offset: 0x40,
            }),
            return_address,
            saved: Vec::new(),
        };
        let known = [heuristic(ReturnAddress::BelowCfa)];
        assert_eq!(unwind(&known, pc(body)), (0x40, false));
        assert_eq!(unwind(&known, call(body)), (0x110, true));
        let wrong = [heuristic(ReturnAddress::In(machine.frame_pointer()))];
        assert_eq!(unwind(&wrong, pc(body)), (0x110, true));
    }
}

/// An address behind a call, by llvm-objdump.
fn behind_call(module: &Module) -> u64 {
    let text = asked("llvm-objdump", &["-d", "--no-show-raw-insn"], module.path());
    let mut lines = text.lines();
    let is_call = |line: &str| {
        let mnemonic = line.split_whitespace().nth(1);
        matches!(mnemonic, Some("callq" | "bl"))
    };
    lines.find(|line| is_call(line)).expect("a call");
    let next = lines.next().expect("an instruction");
    number(next.split_once(':').unwrap().0)
}

/// The offset and size of the table in a file.
fn table_in(path: &Path) -> (usize, usize) {
    let text = asked("llvm-readobj", &["--sections"], path);
    let section = text.split_once("Name: __unwind_info").unwrap().1;
    let value = |key: &str| {
        let value = section.split_once(key).unwrap().1.lines().next().unwrap();
        let digits = value.trim();
        match digits.strip_prefix("0x") {
            Some(digits) => usize::from_str_radix(digits, 16).unwrap(),
            None => digits.parse().unwrap(),
        }
    };
    (value(" Offset: "), value(" Size: "))
}

#[test]
fn corrupt_tables_end_in_an_answer() {
    if !has_tools(&TOOLS) || !has_tools(&["llvm-readobj"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut random = frames::Random(seed());
    for machine in MACHINES {
        let path = program(folder.path(), machine, &[("main.c", SOURCE)], &["-O1"], &[]).path;
        let bytes = std::fs::read(&path).unwrap();
        let (offset, size) = table_in(&path);
        for _ in 0..200 {
            let mut bytes = bytes.clone();
            for _ in 0..1 + random.below(4) {
                // Headers and the index are small; most of what they say is in their lowest bytes.
                let at = offset + random.below(size) / 4 * 4 + random.below(2);
                bytes[at] = [0, 1, 0xff, random.below(256) as u8][random.below(4)];
            }
            let module = Module::from_bytes(Path::new("/corrupt"), bytes).unwrap();
            let range = module.load_range();
            module.instruction_starts(range);
            for addr in (0..0x800).step_by(7) {
                let addr = range.start + addr;
                unwound(&module, addr.0);
                let _ = module.landing_pads(addr);
            }
        }
    }
}
