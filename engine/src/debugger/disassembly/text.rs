//! Instructions as text: Intel or AT&T syntax, and symbol names for addresses.

use super::Flavor;
use crate::images::modules::Modules;
use dwarf::LoadAddr;
use iced_x86::{Formatter, FormatterOptions, GasFormatter, Instruction, IntelFormatter, OpKind};
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
        let demangled = || dwarf::demangle(name).into_owned().into();
        Arc::clone(self.known.entry(addr).or_insert_with(demangled))
    }
}

/// Formats instructions.
pub struct Writer(Box<dyn Formatter>);

impl Writer {
    pub fn new(flavor: Flavor) -> Self {
        let mut formatter: Box<dyn Formatter> = match flavor {
            Flavor::Intel => Box::new(IntelFormatter::new()),
            Flavor::Att => Box::new(GasFormatter::new()),
        };
        set(formatter.options_mut());
        Self(formatter)
    }

    /// Returns the text of an instruction, followed by the symbol of the address in it.
    pub fn text(&mut self, instruction: &Instruction, names: Option<&mut Names<'_>>) -> String {
        let mut text = String::new();
        self.0.format(instruction, &mut text);
        let is_branch = matches!(
            instruction.op0_kind(),
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64
        );
        let addr = match is_branch {
            true => instruction.near_branch_target(),
            false if instruction.is_ip_rel_memory_operand() => {
                let addr = instruction.ip_rel_memory_address();
                // Writing to a String cannot fail.
                let _ = write!(text, "  # {addr:#x}");
                addr
            }
            false => return text,
        };
        if let Some(name) = names.and_then(|names| names.of_address(LoadAddr(addr))) {
            let _ = write!(text, " {name}");
        }
        text
    }
}

fn set(options: &mut FormatterOptions) {
    options.set_hex_prefix("0x");
    options.set_hex_suffix("");
    options.set_uppercase_hex(false);
    options.set_small_hex_numbers_in_decimal(false);
    options.set_space_after_operand_separator(true);
    options.set_rip_relative_addresses(true);
    options.set_branch_leading_zeros(false);
    options.set_displacement_leading_zeros(false);
    options.set_show_branch_size(false);
    options.set_gas_space_after_memory_operand_comma(false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::x86_64::decode;

    #[test]
    fn both_spellings() {
        let text = |flavor, bytes: &[u8]| {
            let instruction = decode(bytes, LoadAddr(0x401000));
            Writer::new(flavor).text(&instruction, None)
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
}
