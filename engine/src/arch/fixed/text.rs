//! Instructions as text: the mnemonic, and the target of a jump.

use super::super::text::Flavor;
use super::decode::mnemonic;
use super::{CALL, Decoded, JUMP, JUMP_IF};

pub struct Formatter;

impl Formatter {
    pub fn new(_: Flavor) -> Self {
        Self
    }

    pub fn text(&mut self, code: &Decoded) -> String {
        match code.opcode() {
            JUMP | JUMP_IF | CALL => format!("{} {:#x}", mnemonic(code), code.target()),
            _ => mnemonic(code),
        }
    }
}
