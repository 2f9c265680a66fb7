//! Frames: functions of all forms in assembly, and what llvm's tools and this crate say of them.
#![allow(dead_code)]

use super::darwin::asked;
use dwarf::{
    Error, FileAddr, FrameAddress, LoadAddr, LoadBias, Machine, Memory, Module, ModuleMap,
    Register, Registers, Unreadable, Unwinder,
};
use std::collections::BTreeMap;
use std::path::Path;

/// How a frame is unwound: what the CFA is relative to, and the CFA's offsets of saved registers, by
/// DWARF number.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    pub cfa: (u16, i64),
    pub saved: BTreeMap<u16, i64>,
}

/// The module, at the addresses of its file.
pub struct One<'a>(pub &'a Module);

impl ModuleMap for One<'_> {
    fn module_at(&self, addr: LoadAddr) -> Option<(&Module, LoadBias)> {
        let inside = self.0.load_range().contains(FileAddr(addr.0));
        inside.then_some((self.0, LoadBias(0)))
    }
}

/// Memory in which each word says where it is.
struct Places;
const KEY: u64 = 0x5500_0000_0000;

impl Memory for Places {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        for (nth, bytes) in buffer.chunks_mut(8).enumerate() {
            let word = (addr.0 + 8 * nth as u64) ^ KEY;
            bytes.copy_from_slice(&word.to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }
}

/// Returns how this crate unwinds a frame that has called from an address; `None` without rules.
pub fn unwound(module: &Module, addr: u64) -> Option<Frame> {
    const STACK: u64 = 0x10_0000_0000;
    const FRAME: u64 = 0x20_0000_0000;
    let machine = module.machine();
    let mut registers = Registers::new(machine);
    (0..32).for_each(|number| registers.set(Register(number), u64::from(number) + 1));
    registers.set_sp(STACK);
    registers.set(machine.frame_pointer(), FRAME);
    let address = FrameAddress::ReturnAddress(LoadAddr(addr + 1));
    let (one, mut unwinder) = (One(module), Unwinder::new());
    let mut frame = Frame {
        cfa: (0, 0),
        saved: BTreeMap::new(),
    };
    let cfa = match unwinder.unwind(&one, &Places, address, &registers) {
        Ok(unwound) if unwound.from_cfi => {
            let (_, caller) = unwound.caller.expect("a caller");
            let offset = |at: u64| at.wrapping_sub(unwound.cfa.0) as i64;
            for register in machine.callee_saved() {
                let value = caller.get(*register).expect("a preserved register");
                if Some(value) != registers.get(*register) {
                    frame.saved.insert(register.0, offset(value ^ KEY));
                }
            }
            let at = unwound.saved_at.map(|at| offset(at.0));
            let number = link(machine);
            frame.saved.extend(at.map(|at| (number, at)));
            unwound.cfa
        }
        // An empty frame has called nothing.
        Err(Error::Corrupt(_)) => unwinder
            .cfa(&one, &Places, address, &registers)
            .expect("the end of the frame"),
        _ => return None,
    };
    let base = match cfa.0 & FRAME {
        0 => (machine.sp(), STACK),
        _ => (machine.frame_pointer(), FRAME),
    };
    frame.cfa = (base.0.0, cfa.0 as i64 - base.1 as i64);
    Some(frame)
}

/// The column of return addresses.
pub fn link(machine: Machine) -> u16 {
    match machine {
        Machine::X86_64 => 16,
        _ => 30,
    }
}

/// A function's call frame information by llvm-dwarfdump.
pub struct Function {
    pub start: u64,
    pub end: u64,
    /// Addresses and the frames from there on; `None` for what is not compared.
    pub rows: Vec<(u64, Option<Frame>)>,
}

/// Returns the number of a register that llvm-dwarfdump names; `None` of one for vectors.
fn register(name: &str) -> Option<u16> {
    Some(match name {
        "RBX" => 3,
        "RBP" => 6,
        "RSP" => 7,
        "RIP" => 16,
        "WSP" | "SP" => 31,
        _ => match name.split_at(1) {
            // Functions need not preserve register 18.
            ("R" | "W" | "X", number) => number.parse().ok().filter(|it| *it != 18)?,
            _ => return None,
        },
    })
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text.trim_start_matches("0x"), 16).expect(text)
}

/// Returns the call frame information of a file, in its order.
pub fn functions(path: &Path) -> Vec<Function> {
    let text = asked("llvm-dwarfdump", &["--eh-frame"], path);
    let mut found = Vec::new();
    for entry in text.split("\n\n").filter(|it| it.contains(" FDE cie=")) {
        let range = entry.split_once(" pc=").expect("its code").1;
        let (start, end) = range.lines().next().unwrap().split_once("...").unwrap();
        found.push(Function {
            start: hex(start),
            end: hex(end),
            rows: Vec::new(),
        });
    }
    // The rows are a paragraph of their own.
    let mut of = 0;
    for line in text.lines() {
        if line.contains(" FDE cie=") {
            of += 1;
        }
        if let Some((addr, rest)) = line.trim().split_once(": CFA=")
            && line.starts_with("  0x")
        {
            found[of - 1].rows.push((hex(addr), frame(rest)));
        }
    }
    found
}

fn frame(text: &str) -> Option<Frame> {
    let (cfa, saved) = text.split_once(": ").unwrap_or((text, ""));
    let (name, offset) = match cfa.find(['+', '-']) {
        Some(at) => (&cfa[..at], cfa[at..].parse().ok()?),
        None => (cfa, 0),
    };
    let mut frame = Frame {
        cfa: (register(name)?, offset),
        saved: BTreeMap::new(),
    };
    for rule in saved.split(", ").filter(|it| !it.is_empty()) {
        // `same`: the register is not saved.
        let Some((name, at)) = rule.split_once("=[CFA") else {
            continue;
        };
        if let Some(number) = register(name) {
            let offset = at.trim_end_matches(']').parse().expect(at);
            frame.saved.insert(number, offset);
        }
    }
    Some(frame)
}

/// A generator of random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Returns a source in C with functions `f0` and so on that save registers in all ways.
pub fn random_source(machine: &str, count: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut lines = vec![".text".to_owned()];
    for number in 0..count {
        lines.push(format!(".globl _f{number}"));
        lines.push(".p2align 2".to_owned());
        lines.push(format!("_f{number}:"));
        lines.push(".cfi_startproc".to_owned());
        match machine {
            "x86_64" => x86_64(&mut random, &mut lines),
            _ => arm64(&mut random, &mut lines),
        }
        lines.push(".cfi_endproc".to_owned());
    }
    let quoted = lines.iter().map(|line| format!("\"{line}\\n\"\n"));
    format!("__asm__({});\n", quoted.collect::<String>())
}

fn x86_64(random: &mut Random, lines: &mut Vec<String>) {
    let mut add = |line: String| lines.push(line);
    let mut left = vec!["%rbx", "%r12", "%r13", "%r14", "%r15"];
    let has_frame = random.below(3) == 0;
    let mut depth = 8;
    if has_frame {
        add("pushq %rbp".into());
        add(".cfi_def_cfa_offset 16".into());
        add(".cfi_offset %rbp, -16".into());
        add("movq %rsp, %rbp".into());
        add(".cfi_def_cfa_register %rbp".into());
        depth = 16;
    } else {
        left.push("%rbp");
    }
    let mut pushed = Vec::new();
    for _ in 0..random.below(left.len() + 1) {
        let register = left.remove(random.below(left.len()));
        depth += 8;
        pushed.push((register, depth));
        add(format!("pushq {register}"));
        if !has_frame {
            add(format!(".cfi_def_cfa_offset {depth}"));
        }
    }
    let size = match random.below(3) {
        0 => 0,
        1 => 8 * random.below(200),
        _ => 8 * random.below(1 << 16),
    };
    if size > 0 {
        add(format!("subq ${size}, %rsp"));
        if !has_frame {
            add(format!(".cfi_def_cfa_offset {}", depth + size));
        }
    }
    for (register, depth) in pushed.iter().rev() {
        add(format!(".cfi_offset {register}, -{depth}"));
    }
    add("nop".into());
    add("ud2".into());
}

fn arm64(random: &mut Random, lines: &mut Vec<String>) {
    let mut add = |line: String| lines.push(line);
    let has_frame = random.below(2) == 0;
    add("nop".into());
    let mut depth = 0;
    if has_frame {
        add(".cfi_def_cfa w29, 16".into());
        add(".cfi_offset w30, -8".into());
        add(".cfi_offset w29, -16".into());
        depth = 16;
    } else {
        let size = 16 * (9 + random.below(4000));
        add(format!(".cfi_def_cfa_offset {size}"));
    }
    let integers = (19..28).step_by(2).map(|number| ('w', number));
    for (class, number) in integers.chain((8..15).step_by(2).map(|number| ('b', number))) {
        if random.below(2) == 0 {
            continue;
        }
        for number in [number, number + 1] {
            depth += 8;
            add(format!(".cfi_offset {class}{number}, -{depth}"));
        }
    }
    // A single register has no encoding.
    if random.below(8) == 0 {
        add(format!(".cfi_offset w18, -{}", depth + 8));
    }
    add("nop".into());
    add("brk #1".into());
}
