//! Log messages that the program writes itself: records in shared memory, in the order of the hits.
//! A thread that finds the ring full traps and waits for the debugger.

use crate::compile::Captured;
use crate::ids::error::Error;
use crate::images::modules::Modules;
use crate::inspect::value::scalar::NumberFormat;
use crate::inspect::value::{Limits, RegisterPlace, Target};
use crate::memory::ProcessMemory;
use crate::os::Shared;
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// Offset of the number of slots taken by writers; that of slots read is at [`TAIL`].
pub const HEAD: i32 = 0;
/// See [`HEAD`].
pub const TAIL: i32 = 64;
/// Offset of the first slot.
pub const RECORDS: i32 = 128;
/// Size of a slot in bytes; a record takes as many consecutive ones as it needs.
pub const SLOT: u64 = 64;
/// Offset of the values in a record. Before them are the number of its first slot plus 1, written
/// when the record is complete, the address that identifies its writer's site, and the size of its
/// values.
pub const VALUES: i32 = 24;
/// Maximum size of a record's values in bytes.
pub const MAX_RECORD_VALUE_BYTES: usize = 488;
/// Number of slots. A record that begins in the last ones extends past the end of the ring; the
/// first slots then belong to it and are unused.
pub const COUNT: u64 = 1 << 14;
/// Size of the shared memory in bytes.
pub const LEN: u64 =
    RECORDS as u64 + SLOT * COUNT + (VALUES as usize + MAX_RECORD_VALUE_BYTES) as u64;

/// A part of a message.
#[derive(Clone, Debug)]
pub enum MessagePart {
    /// Literal text.
    Text(Rc<str>),
    /// A value, stored in a record after those before it.
    Value {
        /// How the value is captured.
        captured: Captured,
        /// The format of its integers.
        numbers: NumberFormat,
    },
}

impl MessagePart {
    /// Returns the value, if it is one.
    pub fn value_mut(&mut self) -> Option<&mut Captured> {
        match self {
            MessagePart::Text(_) => None,
            MessagePart::Value { captured, .. } => Some(captured),
        }
    }
}

/// A breakpoint's log message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its parts.
    pub parts: Rc<[MessagePart]>,
}

impl Message {
    /// Returns its values in order.
    pub fn values(&self) -> impl Iterator<Item = &Captured> {
        self.parts.iter().filter_map(|part| match part {
            MessagePart::Text(_) => None,
            MessagePart::Value { captured, .. } => Some(captured),
        })
    }

    /// Returns the maximum size of its values in bytes, a multiple of 8.
    pub fn size(&self) -> usize {
        self.values().map(Captured::most).sum()
    }

    /// Appends the message with these values to `text`.
    pub fn text(&self, mut values: &[u8], target: &dyn Target, text: &mut String) {
        for part in &*self.parts {
            match part {
                MessagePart::Text(part) => text.push_str(part),
                MessagePart::Value { captured, numbers } => {
                    let limits = Limits {
                        numbers: *numbers,
                        ..Limits::default()
                    };
                    match captured.format_values(values, target, &limits, text) {
                        Some(rest) => values = rest,
                        None => text.push_str("<overwritten by the program>"),
                    }
                }
            }
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
    }
}

/// The ring of records.
pub struct Ring {
    /// Its address in the program.
    pub at: LoadAddr,
    shared: Shared,
    read: u64,
    /// Records that the debugger took from threads: the number of slots that were taken before them,
    /// the address that identifies their site, and their values.
    own: VecDeque<(u64, LoadAddr, Vec<u8>)>,
}

impl Ring {
    /// Returns the ring at an address of the program.
    pub fn new(at: LoadAddr, shared: Shared) -> Self {
        Self {
            at,
            shared,
            read: 0,
            own: VecDeque::new(),
        }
    }

    /// Returns whether all records have been read.
    pub fn is_drained(&self) -> bool {
        self.own.is_empty() && self.shared.word(HEAD as usize) == self.read
    }

    /// Adds a record for a thread that is stopped before it could.
    pub fn add_own(&mut self, whose: LoadAddr, values: Vec<u8>) {
        let head = self.shared.word(HEAD as usize);
        self.own.push_back((head, whose, values));
    }

    /// Reads the next record: returns the address that identifies its site, and stores its values
    /// in `values`.
    pub fn next(&mut self, values: &mut Vec<u8>) -> Option<LoadAddr> {
        if self.own.front().is_some_and(|(at, ..)| *at <= self.read) {
            let (_, whose, own) = self.own.pop_front()?;
            *values = own;
            return Some(whose);
        }
        let place = self.place();
        if self.shared.word(place) != self.read + 1 {
            return None;
        }
        let whose = LoadAddr(self.shared.word(place + 8));
        let len = self
            .shared
            .word(place + 16)
            .min(MAX_RECORD_VALUE_BYTES as u64) as usize;
        values.clear();
        for at in (0..len).step_by(8) {
            let word = self.shared.word(place + VALUES as usize + at);
            values.extend_from_slice(&word.to_le_bytes());
        }
        self.release_slots((VALUES as usize + len).div_ceil(SLOT as usize) as u64);
        Some(whose)
    }

    /// Skips slots whose writer died before completing its record; no living thread may be writing.
    /// Returns whether there were any.
    pub fn skip_abandoned(&mut self) -> bool {
        let mut lost = 0;
        while self.shared.word(HEAD as usize) != self.read
            && self.own.front().is_none_or(|(at, ..)| *at > self.read)
            && lost < COUNT
            && self.shared.word(self.place()) != self.read + 1
        {
            lost += 1;
            self.release_slots(1);
        }
        lost > 0
    }

    /// Takes `slots` slots like a writer that does not complete its record.
    #[cfg(test)]
    pub fn pretend_taken(&mut self, slots: u64) {
        let head = self.shared.word(HEAD as usize);
        self.shared.set_word(HEAD as usize, head + slots);
    }

    fn place(&self) -> usize {
        RECORDS as usize + (self.read % COUNT * SLOT) as usize
    }

    /// Frees slots. Their first words are set to 0: a former value must not be taken for the number
    /// of a complete record.
    fn release_slots(&mut self, slots: u64) {
        let place = self.place();
        for slot in 0..slots {
            self.shared.set_word(place + (SLOT * slot) as usize, 0);
        }
        self.read += slots;
        self.shared.set_word(TAIL as usize, self.read);
    }
}

/// A view of the program that evaluates outside of any frame.
pub struct LogTarget<'a> {
    /// Its memory.
    pub memory: ProcessMemory<'a>,
    /// Its images.
    pub modules: &'a Modules,
}

impl LogTarget<'_> {
    /// Appends the text of a message.
    pub fn format_message(&self, message: &Message, values: &[u8], text: &mut String) {
        message.text(values, self, text);
    }
}

impl Target for LogTarget<'_> {
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
