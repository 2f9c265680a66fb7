//! Instructions as text.

#[cfg(test)]
use super::fixed;
use super::instruction::Code;
use super::{Arch, Instruction, aarch64, x86_64};

/// Assembly syntax.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Flavor {
    /// `mov eax, [rbp-0x4]`
    #[default]
    Intel,
    /// `mov -0x4(%rbp), %eax`
    Att,
}

/// Formats instructions.
pub(crate) enum Formatter {
    X86_64(x86_64::text::Formatter),
    Aarch64(aarch64::text::Formatter),
    #[cfg(test)]
    Fixed(fixed::text::Formatter),
}

impl Formatter {
    /// Returns a formatter; sets with one syntax ignore the flavor.
    pub fn new(arch: Arch, flavor: Flavor) -> Self {
        match arch {
            Arch::X86_64 => Self::X86_64(x86_64::text::Formatter::new(flavor)),
            Arch::Aarch64 => Self::Aarch64(aarch64::text::Formatter::new(flavor)),
            #[cfg(test)]
            Arch::Fixed => Self::Fixed(fixed::text::Formatter::new(flavor)),
        }
    }

    /// Returns the text of an instruction of the set, without names.
    pub fn text(&mut self, instruction: &Instruction) -> String {
        match (self, instruction.code()) {
            (Self::X86_64(formatter), Code::X86_64(code)) => formatter.text(code),
            (Self::Aarch64(formatter), Code::Aarch64(code)) => formatter.text(code),
            #[cfg(test)]
            (Self::Fixed(formatter), Code::Fixed(code)) => formatter.text(code),
            _ => String::new(),
        }
    }
}
