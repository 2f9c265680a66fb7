//! Thousands of random expressions over variables of all types, in registers, in a frame and
//! elsewhere: the code agrees with the interpreter, or deopts.

use super::machine::{Answer, At, FP, FRAME, Machine, SP, VARIABLES};
use crate::inspect::value::Ty;
use crate::inspect::value::scalar::{Float, Scalar, ScalarKind};
use dwarf::Language;

/// A register by its name.
#[cfg(target_arch = "x86_64")]
pub const REGISTER: &str = "$rax";
#[cfg(target_arch = "aarch64")]
pub const REGISTER: &str = "$x11";

/// xorshift64: the same cases in every run.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() >> 11) as usize % end
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }

    /// Numbers near the limits of types are more frequent.
    fn bits(&mut self) -> u64 {
        let edge = 1u64 << (8 << self.below(4)).min(63);
        match self.below(8) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => edge >> 1,
            4 => (edge >> 1).wrapping_sub(1),
            5 => edge.wrapping_neg(),
            6 => self.below(40) as u64,
            _ => self.next(),
        }
    }
}

fn scalar(kind: ScalarKind, size: u8, name: &'static str) -> Ty {
    Ty::Builtin(Scalar::new(kind, size), name)
}

fn types(language: Language) -> Vec<(&'static str, Ty)> {
    use ScalarKind::{Bool, Signed, SignedChar, Unsigned, UnsignedChar, Utf};
    let single = ScalarKind::Float(Float::Single);
    let double = ScalarKind::Float(Float::Double);
    if language == Language::Rust {
        return vec![
            ("i8", scalar(Signed, 1, "i8")),
            ("u8", scalar(Unsigned, 1, "u8")),
            ("i16", scalar(Signed, 2, "i16")),
            ("u16", scalar(Unsigned, 2, "u16")),
            ("i32", scalar(Signed, 4, "i32")),
            ("u32", scalar(Unsigned, 4, "u32")),
            ("i64", scalar(Signed, 8, "i64")),
            ("u64", scalar(Unsigned, 8, "u64")),
            ("bool", scalar(Bool, 1, "bool")),
            ("char", scalar(Utf, 4, "char")),
            ("f32", scalar(single, 4, "f32")),
            ("f64", scalar(double, 8, "f64")),
        ];
    }
    vec![
        ("char", scalar(SignedChar, 1, "char")),
        ("byte", scalar(UnsignedChar, 1, "unsigned char")),
        ("short", scalar(Signed, 2, "short")),
        ("ushort", scalar(Unsigned, 2, "unsigned short")),
        ("int", scalar(Signed, 4, "int")),
        ("uint", scalar(Unsigned, 4, "unsigned int")),
        ("long", scalar(Signed, 8, "long")),
        ("ulong", scalar(Unsigned, 8, "unsigned long")),
        ("bool", scalar(Bool, 1, "bool")),
        ("float", scalar(single, 4, "float")),
        ("double", scalar(double, 8, "double")),
    ]
}

/// A machine with variables of all types everywhere, pointers and arrays.
pub fn machine(language: Language) -> Machine {
    let mut machine = Machine::new(language);
    let mut vectors = 0..16;
    let mut registers = VARIABLES.into_iter();
    for (number, (name, ty)) in (0..).zip(types(language)) {
        let is_float = ty.name().starts_with('f') || &*ty.name() == "double";
        let mut add = |prefix: &str, at: At| {
            let name = format!("{prefix}_{name}");
            machine.variables.push((name, ty.clone(), at));
        };
        add("f", At::Frame(-16 * (number + 1)));
        add("s", At::Stack(16 * number + 8));
        add("g", At::Global(16 * number as u64));
        if is_float {
            let register = vectors.next().expect("a register");
            add("r", At::Vector(register));
            add("q", At::Vector(register + 8));
        } else if let Some(register) = registers.next() {
            add("r", At::Register(register));
        }
        // Arrays of four, and a pointer to one.
        let array = 24 * 8 + 32 * number;
        if array as usize + 32 <= 8 * FRAME {
            add("a", At::Global(array as u64));
            let (_, array_ty, _) = machine.variables.last_mut().expect("the array");
            *array_ty = ty.clone().array(4);
        }
    }
    for (name, of) in [("p", 4), ("pp", 5)] {
        let (_, ty) = types(language).swap_remove(of);
        let at = At::Frame(-16 * 15 - 8 * (of as i64));
        machine.variables.push((name.into(), ty.pointer(), at));
    }
    machine
}

pub fn fill(machine: &mut Machine, random: &mut Random) {
    let (sp, bp) = (machine.general[SP], machine.general[FP]);
    for word in machine.words() {
        *word = random.bits();
    }
    for (name, ty, at) in machine.variables.clone() {
        let size = ty.size().unwrap_or(8) as usize;
        let bits = match (&*ty.name(), &*name) {
            (_, "p") => u128::from(machine.globals() + 24 * 8 + 4 * random.below(4) as u64),
            (_, "pp") if random.below(3) == 0 => random.below(2) as u128,
            (_, "pp") => u128::from(sp + 4 * random.below(16) as u64),
            ("bool", _) => random.below(2) as u128,
            ("f32" | "float", _) => u128::from((float(random) as f32).to_bits()),
            ("f64" | "double", _) => u128::from(float(random).to_bits()),
            ("char", _) if size == 4 => random.below(0xd000) as u128,
            _ => u128::from(random.bits()),
        };
        if size <= 16 {
            machine.set(at, bits, size);
        }
    }
    machine.general[SP] = sp;
    machine.general[FP] = bp;
}

fn float(random: &mut Random) -> f64 {
    match random.below(8) {
        0 => 0.0,
        1 => -0.0,
        2 => f64::NAN,
        3 => f64::INFINITY,
        4 => random.below(10) as f64 - 4.5,
        5 => random.bits() as i64 as f64,
        _ => random.below(2000) as f64 / 8.0 - 100.0,
    }
}

pub fn expression(machine: &Machine, random: &mut Random, depth: u32) -> String {
    const C: &[&str] = &[
        "# + #",
        "# - #",
        "# * #",
        "# / #",
        "# % #",
        "# & #",
        "# | #",
        "# ^ #",
        "# << #",
        "# >> #",
        "# == #",
        "# != #",
        "# < #",
        "# <= #",
        "# > #",
        "# >= #",
        "# && #",
        "# || #",
        "!#",
        "-#",
        "~#",
        "+#",
        "# ? # : #",
        "(int)#",
        "(unsigned char)#",
        "(long)#",
        "(double)#",
        "(float)#",
        "(bool)#",
        "(short)#",
        "a_int[# & 3]",
        "a_byte[# & 3]",
        "p[# & 1]",
        "*p",
        "*(p + (# & 1))",
        "p == &g_int",
        "p - &a_int[0]",
        "pp != 0",
        "*pp",
        "*(int *)(&f_long)",
        "sizeof f_int",
        REGISTER,
        "$sp",
        "(# << (# & 7))",
        "(# / (# | 1))",
        "a_long[# & 3] > #",
        "!pp",
    ];
    // `@`: an integer type, the same for the whole form.
    const RUST: &[&str] = &[
        "(# as @) + (# as @)",
        "(# as @) - (# as @)",
        "(# as @) * (# as @)",
        "(# as @) / (# as @)",
        "(# as @) % (# as @)",
        "(# as @) & (# as @)",
        "(# as @) | (# as @)",
        "(# as @) ^ (# as @)",
        "(# as @) << ((# as @) & 7)",
        "(# as @) >> (# as u8)",
        "(# as @) == (# as @)",
        "(# as @) != (# as @)",
        "(# as @) < (# as @)",
        "(# as @) <= (# as @)",
        "(# as f64) > (# as f64)",
        "(# as f32) >= (# as f32)",
        "(# as f64) * 1.5 + (# as f64)",
        "(# as @) == 1 && (# as @) < 7",
        "(# as @) != 1 || (# as @) > 7",
        "!(# as @)",
        "!((# as @) == 7)",
        "-(# as i64)",
        "if (# as @) > 3 { (# as @) } else { (# as @) }",
        "a_i32[((# as i32) & 3) as usize]",
        "a_u8[(# as u8) as usize]",
        "*p",
        "(# as u64) == 7",
        "(# as i8) > -100",
    ];
    const INTEGERS: &[&str] = &[
        "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "usize",
    ];
    const NUMBERS: &[&str] = &[
        "0",
        "1",
        "2",
        "7",
        "255",
        "256",
        "4999",
        "65535",
        "2147483647",
        "4294967295",
        "9223372036854775807",
        "100",
        "31",
        "0x80",
        "1.5",
        "0.0",
        "'a'",
        "true",
    ];
    if depth == 0 || random.below(6) == 0 {
        return match random.below(3) {
            0 => random.of(NUMBERS).to_owned(),
            _ => {
                let all = &machine.variables;
                loop {
                    let (name, ty, _) = &all[random.below(all.len())];
                    if ty.is_simple() && ty.name().find('*').is_none() {
                        return name.clone();
                    }
                }
            }
        };
    }
    let forms = match machine.language {
        Language::Rust => RUST,
        _ => C,
    };
    let mut text = String::new();
    let integer = random.of(INTEGERS);
    for part in random.of(forms).chars() {
        match part {
            '@' => text.push_str(integer),
            '#' => {
                text.push('(');
                text += &expression(machine, random, depth - 1);
                text.push(')');
            }
            other => text.push(other),
        }
    }
    text
}

/// `STILLPOINT_RANDOM_ROUNDS` increases the number of rounds.
fn run(language: Language, seed: u64, least: usize) {
    let rounds = std::env::var("STILLPOINT_RANDOM_ROUNDS").ok();
    let rounds = rounds.and_then(|it| it.parse().ok()).unwrap_or(4000u32);
    let mut machine = machine(language);
    let mut random = Random(seed);
    let (mut compiled, mut decided, mut seen) = (0, 0, [0, 0]);
    for round in 0..rounds {
        if round % 8 == 0 {
            fill(&mut machine, &mut random);
        }
        let depth = 1 + round % 4;
        let text = expression(&machine, &mut random, depth);
        let text = match language {
            Language::Rust => format!("({text}) as i64 > 3"),
            _ => text,
        };
        match machine.check(&text) {
            Some(Answer::Deopt) => compiled += 1,
            Some(answer) => {
                compiled += 1;
                decided += 1;
                seen[usize::from(answer == Answer::Yes)] += 1;
            }
            None => {}
        }
    }
    eprintln!("{language:?}: {compiled} compiled, {decided} decided, {seen:?}");
    assert!(decided >= least, "{compiled} compiled, {decided} decided");
    assert!(seen.iter().all(|it| *it > least / 10), "{seen:?}");
}

#[test]
fn c() {
    run(Language::C, 0x9e37_79b9_7f4a_7c15, 1500);
}

#[test]
fn cpp() {
    run(Language::Cpp, 0x1234_5678_9abc_def1, 1500);
}

#[test]
fn rust() {
    run(Language::Rust, 0x0fed_cba9_8765_4321, 500);
}
