//! What the program itself says at log points: records in memory that it shares with us, in the
//! order of the hits. Who finds no room traps, and waits for us.

use crate::breakpoint::BreakpointId;
use crate::error::Error;
use crate::memory::ProcessMemory;
use crate::modules::Modules;
use crate::native::Captured;
use crate::os::Shared;
use crate::value::place::Bytes;
use crate::value::scalar::NumberFormat;
use crate::value::{self, Limits, Place, RegisterPlace, Target, Value};
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap};
use std::rc::Rc;
use std::sync::Arc;

/// Where the number of records begun is, and that of records read.
pub const HEAD: i32 = 0;
/// See [`HEAD`].
pub const TAIL: i32 = 64;
/// Where records begin.
pub const RECORDS: i32 = 128;
/// A record: its number from 1 when it is whole, whose it is, and values.
pub const RECORD: u64 = 128;
/// Where the values of a record begin.
pub const VALUES: i32 = 16;
/// Bytes of values that a record has room for.
pub const ROOM: usize = RECORD as usize - VALUES as usize;
/// Records that fit.
pub const COUNT: u64 = 1 << 13;
/// Bytes of all that.
pub const LEN: u64 = RECORD * (COUNT + 1);

/// A part of a message.
#[derive(Clone, Debug)]
pub enum Part {
    /// Said as it is.
    Text(Rc<str>),
    /// A value, in a record's values from an offset on.
    Value {
        /// What it is, and how it gets there.
        captured: Captured,
        /// Where.
        offset: usize,
        /// How its integers are written.
        numbers: NumberFormat,
    },
}

/// What a breakpoint says.
#[derive(Clone, Debug)]
pub struct Message {
    /// Which.
    pub breakpoint: BreakpointId,
    /// Its parts.
    pub parts: Rc<[Part]>,
}

impl Message {
    /// The values of a message and their offsets.
    pub fn values(&self) -> impl Iterator<Item = (&Captured, usize)> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value {
                captured, offset, ..
            } => Some((captured, *offset)),
        })
    }

    /// Bytes of its values, in whole words.
    pub fn size(&self) -> usize {
        let ends = self.values().map(|(value, offset)| offset + value.size);
        ends.max().unwrap_or(0).next_multiple_of(8)
    }

    /// What it says with these values.
    fn text(&self, values: &[u8; ROOM], target: &dyn Target, text: &mut String) {
        for part in &*self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Value {
                    captured,
                    offset,
                    numbers,
                } => {
                    let bytes = values.get(*offset..offset + captured.size);
                    let place = Place::Bytes(Bytes::new(bytes.unwrap_or_default()));
                    let value = Value::new(captured.ty.clone(), place);
                    let limits = Limits {
                        numbers: *numbers,
                        ..Limits::default()
                    };
                    text.push_str(&value::present(target, &value, &limits).text);
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

    /// The next record: whose it is, and its values.
    pub fn next(&mut self) -> Option<(LoadAddr, [u8; ROOM])> {
        let place = RECORDS as usize + (self.read % COUNT * RECORD) as usize;
        if self.shared.word(place) != self.read + 1 {
            return None;
        }
        let mut values = [0; ROOM];
        for (index, word) in values.chunks_exact_mut(8).enumerate() {
            let read = self.shared.word(place + VALUES as usize + 8 * index);
            word.copy_from_slice(&read.to_le_bytes());
        }
        let whose = LoadAddr(self.shared.word(place + 8));
        self.read += 1;
        self.shared.set_word(TAIL as usize, self.read);
        Some((whose, values))
    }

    /// Passes over records that were begun by who is no more; gives how many.
    pub fn skip(&mut self) -> u64 {
        let mut lost = 0;
        while !self.is_read() && lost < COUNT {
            let place = RECORDS as usize + (self.read % COUNT * RECORD) as usize;
            if self.shared.word(place) == self.read + 1 {
                break;
            }
            lost += 1;
            self.read += 1;
            self.shared.set_word(TAIL as usize, self.read);
        }
        lost
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
    pub fn say(&self, message: &Message, values: &[u8; ROOM], text: &mut String) {
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
