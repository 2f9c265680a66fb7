//! Instructions as text, in Intel or AT&T syntax.

use super::super::text::Flavor;
use super::Decoded;
use iced_x86::{FormatterOptions, GasFormatter, IntelFormatter};

/// Formats instructions.
pub struct Formatter(Box<dyn iced_x86::Formatter>);

impl Formatter {
    pub fn new(flavor: Flavor) -> Self {
        let mut formatter: Box<dyn iced_x86::Formatter> = match flavor {
            Flavor::Intel => Box::new(IntelFormatter::new()),
            Flavor::Att => Box::new(GasFormatter::new()),
        };
        set(formatter.options_mut());
        Self(formatter)
    }

    pub fn text(&mut self, code: &Decoded) -> String {
        let mut text = String::new();
        self.0.format(code, &mut text);
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
