//! Instructions as text, with symbol names for addresses.

use super::Flavor;
use crate::arch::{Arch, Formatter, Instruction};
use crate::images::modules::Modules;
use dwarf::LoadAddr;
use rustc_hash::FxHashMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// Names of symbols, demangled once each.
pub struct Names<'a> {
    modules: &'a Modules,
    known: FxHashMap<LoadAddr, Arc<str>>,
    /// Start, end and name of the function of the last lookup.
    last: Option<(LoadAddr, LoadAddr, Arc<str>)>,
}

impl<'a> Names<'a> {
    pub fn new(modules: &'a Modules) -> Self {
        Self {
            modules,
            known: FxHashMap::default(),
            last: None,
        }
    }

    /// Returns the function that contains an address.
    pub fn function_at(&mut self, addr: LoadAddr) -> Option<Arc<str>> {
        if let Some((start, end, name)) = &self.last
            && (*start..*end).contains(&addr)
        {
            return Some(Arc::clone(name));
        }
        let loaded = self.modules.at(addr)?;
        let file = loaded.bias.file(addr);
        let (range, symbol) = loaded.module.code_at(file)?;
        let name: Arc<str> = match symbol {
            Some(symbol) => self.demangled(loaded.bias.load(symbol.addr), symbol.name),
            None => loaded.module.function_at(file)?.name.as_str().into(),
        };
        let (start, end) = (loaded.bias.load(range.start), loaded.bias.load(range.end));
        self.last = Some((start, end, Arc::clone(&name)));
        Some(name)
    }

    /// Returns `<symbol+0x10>` for an address.
    fn of_address(&mut self, addr: LoadAddr) -> Option<String> {
        let loaded = self.modules.at(addr)?;
        let symbol = loaded.module.symbol_near(loaded.bias.file(addr))?;
        let start = loaded.bias.load(symbol.addr);
        let name = self.demangled(start, symbol.name);
        Some(match addr - start {
            0 => format!("<{name}>"),
            offset => format!("<{name}+{offset:#x}>"),
        })
    }

    fn demangled(&mut self, addr: LoadAddr, name: &str) -> Arc<str> {
        let demangled = || dwarf::demangle_short(name).into_owned().into();
        Arc::clone(self.known.entry(addr).or_insert_with(demangled))
    }
}

/// Formats instructions.
pub struct Writer(Formatter);

impl Writer {
    pub fn new(arch: Arch, flavor: Flavor) -> Self {
        Self(Formatter::new(arch, flavor))
    }

    /// Returns the text of an instruction, followed by the symbol of the address in it.
    pub fn text(&mut self, instruction: &Instruction, names: Option<&mut Names<'_>>) -> String {
        let mut text = self.0.text(instruction);
        let addr = match (instruction.direct_target(), instruction.operand_near_pc()) {
            (Some(target), _) => target,
            (None, Some(addr)) => {
                // Some sets write operands near the pc as distances.
                let number = format!("{:#x}", addr.0);
                if !text.ends_with(&number) {
                    text += "  # ";
                    text += &number;
                }
                addr
            }
            (None, None) => return text,
        };
        if let Some(name) = names.and_then(|names| names.of_address(addr)) {
            // Writing to a String cannot fail.
            let _ = write!(text, " {name}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn both_spellings() {
        let text = |flavor, bytes: &[u8]| {
            let arch = Arch::X86_64;
            let instruction = arch.decode(bytes, LoadAddr(0x401000)).unwrap();
            Writer::new(arch, flavor).text(&instruction, None)
        };
        for (bytes, intel, att) in [
            (
                &[0x8b, 0x45, 0xfc][..],
                "mov eax, [rbp-0x4]",
                "mov -0x4(%rbp), %eax",
            ),
            (&[0xe8, 0xfb, 0, 0, 0], "call 0x401100", "call 0x401100"),
            (&[0x74, 0xfe], "je 0x401000", "je 0x401000"),
            (
                &[0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0],
                "mov rax, [rip+0xff9]  # 0x402000",
                "mov 0xff9(%rip), %rax  # 0x402000",
            ),
            (
                &[0xc7, 0x00, 0x10, 0, 0, 0],
                "mov dword ptr [rax], 0x10",
                "movl $0x10, (%rax)",
            ),
            (&[0xc3], "ret", "ret"),
        ] {
            assert_eq!(text(Flavor::Intel, bytes), intel);
            assert_eq!(text(Flavor::Att, bytes), att);
        }
    }

    #[test]
    fn another_instruction_set() {
        use crate::arch::fixed::{CALL, LOAD_NEAR, NOP, to};
        let mut writer = Writer::new(Arch::Fixed, Flavor::Att);
        let mut text = |bytes: [u8; 4]| {
            let instruction = Arch::Fixed.decode(&bytes, LoadAddr(0x1000)).unwrap();
            writer.text(&instruction, None)
        };
        assert_eq!(text(to(NOP, 0)), "nop");
        assert_eq!(text(to(CALL, -0x10)), "call 0xff0");
        assert_eq!(text(to(LOAD_NEAR, 0x20)), "load  # 0x1020");
    }

    #[test]
    fn an_address_in_the_text_is_not_repeated() {
        let mut writer = Writer::new(Arch::Aarch64, Flavor::Intel);
        let mut text = |word: u32| {
            let instruction = Arch::Aarch64.decode(&word.to_le_bytes(), LoadAddr(0x1060));
            writer.text(&instruction.unwrap(), None)
        };
        assert_eq!(text(0x10ff_fdc7), "adr x7, 0x1018");
        assert_eq!(text(0x58ff_fe07), "ldr x7, 0x1020");
    }
}
