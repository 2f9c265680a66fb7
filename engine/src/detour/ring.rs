//! What the program itself says at log points: records in memory that it shares with us, in the
//! order of the hits. Who finds no room traps, and waits for us.

use crate::compile::Captured;
use crate::ids::error::Error;
use crate::images::modules::Modules;
use crate::inspect::value::scalar::NumberFormat;
use crate::inspect::value::{Limits, RegisterPlace, Target};
use crate::memory::ProcessMemory;
use crate::os::Shared;
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap};
use std::rc::Rc;
use std::sync::Arc;

/// Where the number of records begun is, and that of records read.
pub const HEAD: i32 = 0;
/// See [`HEAD`].
pub const TAIL: i32 = 64;
/// Where records begin, at slots.
pub const RECORDS: i32 = 128;
/// Bytes of a slot; a record takes as many in a row as it needs.
pub const SLOT: u64 = 64;
/// Where the values of a record begin: behind the number of its first slot from 1, which is there
/// when it is whole, whose it is, and the bytes of its values.
pub const VALUES: i32 = 24;
/// Bytes of values that a record has room for.
pub const ROOM: usize = 488;
/// Slots that fit. What a record at the last of them takes more lies behind it: the first ones
/// are its own then, and nobody looks at them.
pub const COUNT: u64 = 1 << 14;
/// Bytes of all that.
pub const LEN: u64 = RECORDS as u64 + SLOT * COUNT + (VALUES as usize + ROOM) as u64;

/// A part of a message.
#[derive(Clone, Debug)]
pub enum Part {
    /// Said as it is.
    Text(Rc<str>),
    /// A value, in a record behind those before it.
    Value {
        /// What it is, and how it gets there.
        captured: Captured,
        /// How its integers are written.
        numbers: NumberFormat,
    },
}

impl Part {
    /// The value, if it is one.
    pub fn value_mut(&mut self) -> Option<&mut Captured> {
        match self {
            Part::Text(_) => None,
            Part::Value { captured, .. } => Some(captured),
        }
    }
}

/// What a breakpoint says.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its parts.
    pub parts: Rc<[Part]>,
}

impl Message {
    /// Its values, in their order.
    pub fn values(&self) -> impl Iterator<Item = &Captured> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value { captured, .. } => Some(captured),
        })
    }

    /// Bytes of its values at most, in whole words.
    pub fn size(&self) -> usize {
        self.values().map(Captured::most).sum()
    }

    /// What it says with these values.
    pub fn text(&self, mut values: &[u8], target: &dyn Target, text: &mut String) {
        for part in &*self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Value { captured, numbers } => {
                    let limits = Limits {
                        numbers: *numbers,
                        ..Limits::default()
                    };
                    match captured.tell(values, target, &limits, text) {
                        Some(rest) => values = rest,
                        None => text.push_str("<the program has written over it>"),
                    }
                }
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
}

/// The records.
pub struct Ring {
    /// Where the program has them.
    pub at: LoadAddr,
    shared: Shared,
    read: u64,
}

impl Ring {
    /// The records that the program has at an address.
    pub fn new(at: LoadAddr, shared: Shared) -> Self {
        Self {
            at,
            shared,
            read: 0,
        }
    }

    /// Whether nothing is there that has not been read.
    pub fn is_read(&self) -> bool {
        self.shared.word(HEAD as usize) == self.read
    }

    /// The next record: whose it is; its values come into `values`.
    pub fn next(&mut self, values: &mut Vec<u8>) -> Option<LoadAddr> {
        let place = self.place();
        if self.shared.word(place) != self.read + 1 {
            return None;
        }
        let whose = LoadAddr(self.shared.word(place + 8));
        let len = self.shared.word(place + 16).min(ROOM as u64) as usize;
        values.clear();
        for at in (0..len).step_by(8) {
            let word = self.shared.word(place + VALUES as usize + at);
            values.extend_from_slice(&word.to_le_bytes());
        }
        self.pass((VALUES as usize + len).div_ceil(SLOT as usize) as u64);
        Some(whose)
    }

    /// Passes over what was begun by who is no more; true: there was something.
    pub fn skip(&mut self) -> bool {
        let mut lost = 0;
        while !self.is_read() && lost < COUNT && self.shared.word(self.place()) != self.read + 1 {
            lost += 1;
            self.pass(1);
        }
        lost > 0
    }

    /// As if so many slots had been taken by somebody who has not filled them.
    #[cfg(test)]
    pub fn pretend_taken(&mut self, slots: u64) {
        let head = self.shared.word(HEAD as usize);
        self.shared.set_word(HEAD as usize, head + slots);
    }

    fn place(&self) -> usize {
        RECORDS as usize + (self.read % COUNT * SLOT) as usize
    }

    /// Gives slots back. They begin with 0: what was a value must not be taken for the number of
    /// a record that is whole.
    fn pass(&mut self, slots: u64) {
        let place = self.place();
        for slot in 0..slots {
            self.shared.set_word(place + (SLOT * slot) as usize, 0);
        }
        self.read += slots;
        self.shared.set_word(TAIL as usize, self.read);
    }
}

/// The program while nobody is asked about a frame of it.
pub struct Frameless<'a> {
    /// Its memory.
    pub memory: ProcessMemory<'a>,
    /// Its images.
    pub modules: &'a Modules,
}

impl Frameless<'_> {
    /// What a message says.
    pub fn say(&self, message: &Message, values: &[u8], text: &mut String) {
        message.text(values, self, text);
    }
}

impl Target for Frameless<'_> {
    fn memory(&self) -> &dyn Memory {
        &self.memory
    }

    fn modules(&self) -> &dyn ModuleMap {
        self.modules
    }

    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        let loaded = self.modules.at(addr)?;
        Some((loaded.module.clone(), loaded.bias))
    }

    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        let loaded = self.modules.loaded.iter();
        loaded.map(|it| (it.module.clone(), it.bias)).collect()
    }

    fn write_memory(&mut self, _: LoadAddr, _: &[u8]) -> Result<(), Error> {
        Err(Error::eval("messages change nothing"))
    }

    fn write_register(&mut self, _: RegisterPlace, _: &[u8]) -> Result<(), Error> {
        Err(Error::eval("messages change nothing"))
    }
}
