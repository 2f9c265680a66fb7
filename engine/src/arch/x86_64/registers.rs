//! Names of registers and of their parts.

use super::super::registers::{Flags, Part};
use dwarf::register::x86_64::{RFLAGS, XMM0};
use dwarf::{Machine, Register};

/// Returns a register's name; empty if it has none.
pub fn name(register: Register) -> String {
    if let Some(vector) = register.0.checked_sub(XMM0.0)
        && vector < 16
    {
        return format!("xmm{vector}");
    }
    let mut names = Machine::X86_64.register_names().iter();
    let found = names.find(|(number, _)| *number == register);
    found.map_or_else(String::new, |(_, name)| (*name).to_owned())
}

/// Parses the name of a part of a general-purpose register; `None` for other names.
pub fn part(name: &str) -> Option<Part> {
    let whole = |letters: &str| Some(format!("r{letters}"));
    if let Some(number) = name.strip_prefix('r')
        && let Some(suffix) = number.find(|it: char| it.is_ascii_alphabetic())
        && suffix > 0
    {
        let size = match &number[suffix..] {
            "d" => 4,
            "w" => 2,
            "b" | "l" => 1,
            _ => return None,
        };
        return Some(Part {
            whole: format!("r{}", &number[..suffix]),
            first: 0,
            size,
        });
    }
    let (register, first, size) = match name {
        "eax" | "ebx" | "ecx" | "edx" | "esi" | "edi" | "ebp" | "esp" => (whole(&name[1..]), 0, 4),
        "ax" | "bx" | "cx" | "dx" | "si" | "di" | "bp" | "sp" => (whole(name), 0, 2),
        "al" | "bl" | "cl" | "dl" => (whole(&format!("{}x", &name[..1])), 0, 1),
        "ah" | "bh" | "ch" | "dh" => (whole(&format!("{}x", &name[..1])), 1, 1),
        "sil" | "dil" | "bpl" | "spl" => (whole(&name[..2]), 0, 1),
        _ => return None,
    };
    Some(Part {
        whole: register?,
        first,
        size,
    })
}

/// Returns the names of the parts of a general-purpose register, largest first.
pub fn parts_of(register: &str) -> Vec<String> {
    let Some(letters) = register.strip_prefix('r') else {
        return Vec::new();
    };
    let names: Vec<String> = match letters {
        "ax" | "bx" | "cx" | "dx" => {
            let letter = &letters[..1];
            vec![
                format!("e{letters}"),
                letters.to_owned(),
                format!("{letter}h"),
                format!("{letter}l"),
            ]
        }
        "si" | "di" | "bp" | "sp" => {
            vec![
                format!("e{letters}"),
                letters.to_owned(),
                format!("{letters}l"),
            ]
        }
        _ => ["d", "w", "b"]
            .map(|size| format!("{register}{size}"))
            .to_vec(),
    };
    let known = names.into_iter();
    known
        .filter(|name| part(name).is_some_and(|part| part.whole == register))
        .collect()
}

/// Returns the number of a vector register by its name.
pub fn vector(name: &str) -> Option<u16> {
    let number = name.strip_prefix("xmm")?.parse().ok()?;
    (number < 16).then_some(number)
}

/// Returns whether a register is a segment register or a segment base.
pub fn is_segment(name: &str) -> bool {
    matches!(
        name,
        "cs" | "ss" | "ds" | "es" | "fs" | "gs" | "fs_base" | "gs_base"
    )
}

/// The bits of `rflags` that programs use (Intel SDM volume 1, figure 3-8).
pub const FLAGS: Option<Flags> = Some(Flags {
    register: RFLAGS,
    name: "rflags",
    bits: &[
        ("CF (carry)", 0),
        ("PF (parity)", 2),
        ("AF (auxiliary carry)", 4),
        ("ZF (zero)", 6),
        ("SF (sign)", 7),
        ("TF (trap)", 8),
        ("IF (interrupts)", 9),
        ("DF (direction)", 10),
        ("OF (overflow)", 11),
    ],
});

/// Returns the register with this alias.
pub fn alias(name: &str) -> Option<Register> {
    (name == "eflags").then_some(RFLAGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts() {
        assert_eq!(parts_of("rax"), ["eax", "ax", "ah", "al"]);
        assert_eq!(parts_of("rsi"), ["esi", "si", "sil"]);
        assert_eq!(parts_of("r12"), ["r12d", "r12w", "r12b"]);
        for none in ["rip", "rflags", "cs", "fs_base"] {
            assert!(parts_of(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn names() {
        let part = |name| part(name).map(|it| format!("{}+{}:{}", it.whole, it.first, it.size));
        assert_eq!(part("eax").as_deref(), Some("rax+0:4"));
        assert_eq!(part("dil").as_deref(), Some("rdi+0:1"));
        assert_eq!(part("bh").as_deref(), Some("rbx+1:1"));
        assert_eq!(part("si").as_deref(), Some("rsi+0:2"));
        assert_eq!(part("r10d").as_deref(), Some("r10+0:4"));
        for none in ["rax", "r8", "xl", "", "r", "ed"] {
            assert_eq!(part(none), None, "{none}");
        }
    }
}
