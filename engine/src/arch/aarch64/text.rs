//! Instructions as text, by `yaxpeax-arm`. Addresses are absolute, as in the other sets; what the
//! crate writes differently from the architecture's manual is written here.

use super::super::text::Flavor;
use super::Decoded;
use super::encoding::{Kind, bits, is, register};
use super::memory::Base;
use yaxpeax_arch::{Decoder, U8Reader};
use yaxpeax_arm::armv8::a64::InstDecoder;

/// Formats instructions. There is one syntax.
pub struct Formatter(InstDecoder);

impl Formatter {
    pub fn new(_: Flavor) -> Self {
        Self(InstDecoder::default())
    }

    pub fn text(&mut self, code: &Decoded) -> String {
        if let Some(text) = own_text(code) {
            return text;
        }
        let bytes = code.word.to_le_bytes();
        let decoded = self.0.decode(&mut U8Reader::new(&bytes));
        let text = decoded.map(|it| it.to_string()).ok();
        let text = text.filter(|text| !text.starts_with("invalid"));
        // The Scalable Vector Extension and others, for which the crate has no texts.
        let Some(text) = text else {
            return format!(".inst {:#010x}", code.word);
        };
        with_address(code, text)
    }
}

/// Replaces the distance at the end (`$+0x10`) by the address.
fn with_address(code: &Decoded, text: String) -> String {
    let addr = match code.kind {
        Kind::Jump { distance, .. } | Kind::JumpIf { distance, .. } => Some(code.at(distance)),
        Kind::Address { .. } => code.address(),
        Kind::Memory(access) => match access.base {
            Base::Near(distance) => Some(code.at(distance)),
            Base::Register(_) => None,
        },
        _ => None,
    };
    match (addr, text.rfind('$')) {
        (Some(addr), Some(at)) => format!("{}{addr:#x}", &text[..at]),
        _ => text,
    }
}

/// Returns the text of an instruction that the crate does not name, or names wrongly.
fn own_text(code: &Decoded) -> Option<String> {
    let word = code.word;
    if let Kind::Hint { number } = code.kind {
        return hint(number);
    }
    let first = x(bits(word, 4, 0), 'x');
    let (a, n, m, b) = (
        bits(word, 18, 16),
        bits(word, 15, 12),
        bits(word, 11, 8),
        bits(word, 7, 5),
    );
    if is(word, 0xfff8_0000, 0xd508_0000) {
        let cache = match (a, n, m, b) {
            (3, 7, 4, 1) => "dc zva",
            (3, 7, 10, 1) => "dc cvac",
            (3, 7, 11, 1) => "dc cvau",
            (3, 7, 14, 1) => "dc civac",
            (3, 7, 5, 1) => "ic ivau",
            _ => return None,
        };
        return Some(format!("{cache}, {first}"));
    }
    if is(word, 0xffd0_0000, 0xd510_0000) {
        let name = match (bits(word, 20, 19), a, n, m, b) {
            (3, 3, 4, 2, 0) => "nzcv".to_owned(),
            (3, 3, 4, 4, 0) => "fpcr".to_owned(),
            (3, 3, 4, 4, 1) => "fpsr".to_owned(),
            (3, 3, 0, 0, 1) => "ctr_el0".to_owned(),
            (3, 3, 0, 0, 7) => "dczid_el0".to_owned(),
            (3, 3, 13, 0, 2) => "tpidr_el0".to_owned(),
            (3, 3, 13, 0, 3) => "tpidrro_el0".to_owned(),
            (3, 3, 14, 0, 0) => "cntfrq_el0".to_owned(),
            (3, 3, 14, 0, 2) => "cntvct_el0".to_owned(),
            (3, 0, 0, 0, 0) => "midr_el1".to_owned(),
            (group, ..) => format!("s{group}_{a}_c{n}_c{m}_{b}"),
        };
        return Some(match bits(word, 21, 21) {
            0 => format!("msr {name}, {first}"),
            _ => format!("mrs {first}, {name}"),
        });
    }
    extended_add(word)
}

fn hint(number: u8) -> Option<String> {
    let name = match number {
        7 => "xpaclri",
        8 => "pacia1716",
        10 => "pacib1716",
        12 => "autia1716",
        14 => "autib1716",
        16 => "esb",
        17 => "psb csync",
        18 => "tsb csync",
        20 => "csdb",
        22 => "clrbhb",
        24 => "paciaz",
        25 => "paciasp",
        26 => "pacibz",
        27 => "pacibsp",
        28 => "autiaz",
        29 => "autiasp",
        30 => "autibz",
        31 => "autibsp",
        32 => "bti",
        34 => "bti c",
        36 => "bti j",
        38 => "bti jc",
        40 => "chkfeat x16",
        _ => return None,
    };
    Some(name.to_owned())
}

fn x(number: u32, letter: char) -> String {
    match number {
        31 => format!("{letter}zr"),
        number => format!("{letter}{number}"),
    }
}

/// `add`, `sub`, `cmp` and others of a register that is extended.
fn extended_add(word: u32) -> Option<String> {
    if !is(word, 0x1fe0_0000, 0x0b20_0000) || bits(word, 12, 10) > 4 {
        return None;
    }
    let letter = match word >> 31 {
        0 => 'w',
        _ => 'x',
    };
    let stack = match letter {
        'w' => "wsp",
        _ => "sp",
    };
    let or_stack = |number: u8| match number {
        31 => stack.to_owned(),
        number => x(number.into(), letter),
    };
    let (to, from) = (register(word, 0), register(word, 5));
    let (option, shift) = (bits(word, 15, 13), bits(word, 12, 10));
    let other = match (letter, option & 0b11) {
        ('x', 0b11) => 'x',
        _ => 'w',
    };
    let other = x(bits(word, 20, 16), other);
    let sets_flags = bits(word, 29, 29) == 1;
    let operands = match (sets_flags, to) {
        (true, 31) => or_stack(from),
        (true, to) => format!("{}, {}", x(to.into(), letter), or_stack(from)),
        (false, to) => format!("{}, {}", or_stack(to), or_stack(from)),
    };
    let name = match (bits(word, 30, 30), sets_flags, to) {
        (0, true, 31) => "cmn",
        (_, true, 31) => "cmp",
        (0, true, _) => "adds",
        (0, ..) => "add",
        (_, true, _) => "subs",
        _ => "sub",
    };
    // The usual extension of an address is called a shift.
    let usual = match letter {
        'w' => 0b010,
        _ => 0b011,
    };
    let has_stack = from == 31 || !sets_flags && to == 31;
    let extend = match option {
        it if it == usual && has_stack => "lsl",
        0b000 => "uxtb",
        0b001 => "uxth",
        0b010 => "uxtw",
        0b011 => "uxtx",
        0b100 => "sxtb",
        0b101 => "sxth",
        0b110 => "sxtw",
        _ => "sxtx",
    };
    Some(match (extend, shift) {
        ("lsl", 0) => format!("{name} {operands}, {other}"),
        (extend, 0) => format!("{name} {operands}, {other}, {extend}"),
        (extend, shift) => format!("{name} {operands}, {other}, {extend} #{shift}"),
    })
}
