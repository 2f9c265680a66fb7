//! Objects that a description of a library finds behind pointers: it runs on a fake object, whose words are the
//! addresses of further fake objects. What it finds is an address that code can compute.
//!
//! Only descriptions may run here that take no decision by what they read, other than whether a pointer is null.

use super::code::{Address, Int, Width};
use super::probe::NoProcess;
use super::{NotCompilable, RuntimeLocation, RuntimeValue};
use crate::ids::error::Error;
use crate::inspect::value::{RegisterPlace, Target, Value, ValueLocation};
use dwarf::{LoadAddr, LoadBias, Memory, Module, ModuleMap, Unreadable};
use std::cell::RefCell;
use std::sync::Arc;

/// Address of the first fake object: no user-space program has memory there.
const FIRST: u64 = 0xffff_0000_8000_0000;
/// Distance of fake objects.
const APART: u64 = 1 << 32;
/// Maximum number of pointers that are followed.
const POINTERS: usize = 8;

/// The fake objects behind a value, by the words that refer to them.
#[derive(Default)]
struct Fakes {
    /// The words: the number of the object that has it, and its offset there.
    words: RefCell<Vec<(usize, u64)>>,
}

/// The object or number that pointers of a value lead to.
pub(super) struct Followed {
    /// The object or number.
    pub(super) value: RuntimeValue,
    /// The pointers on the way, which are not null.
    pub(super) pointers: Vec<Int>,
}

/// Returns the number of the fake object that an address is in, and its offset there.
fn split(addr: u64) -> Option<(usize, u64)> {
    let from_first = addr.checked_sub(FIRST - APART / 2)?;
    let number = usize::try_from(from_first / APART).ok()?;
    let base = FIRST.checked_add(from_first / APART * APART)?;
    (number <= POINTERS).then_some((number, addr.wrapping_sub(base)))
}

impl Fakes {
    /// Returns a word as the program reads it.
    fn word(&self, value: &RuntimeValue, number: usize) -> Result<Int, NotCompilable> {
        let word = self.words.borrow().get(number).copied();
        let (within, offset) = word.ok_or("a pointer in it is not known")?;
        match within {
            0 => value.place.raw(offset, Width::WORD),
            within => {
                let object = Address::pointed(self.word(value, within - 1)?);
                let word = Box::new(object.plus(offset));
                Ok(Int::Load(word, Width::WORD))
            }
        }
    }

    /// Returns the place of a fake address.
    fn place(&self, value: &RuntimeValue, addr: u64) -> Result<RuntimeLocation, NotCompilable> {
        let (number, offset) = split(addr).ok_or("an address outside the object")?;
        match number {
            0 => value.place.clone().offset(offset),
            number => {
                let object = Address::pointed(self.word(value, number - 1)?);
                Ok(RuntimeLocation::Memory(object.plus(offset)))
            }
        }
    }

    /// Converts what was found.
    fn found(&self, value: &RuntimeValue, found: Value) -> Result<RuntimeValue, NotCompilable> {
        match &found.place {
            ValueLocation::Memory(addr, _) => Ok(RuntimeValue {
                bits: found.bits,
                ..RuntimeValue::new(found.ty, self.place(value, addr.0)?)
            }),
            // An address.
            ValueLocation::Bytes(bytes) if let Some(word) = bytes.first_chunk::<8>() => {
                let RuntimeLocation::Memory(there) =
                    self.place(value, u64::from_le_bytes(*word))?
                else {
                    return Err("an object that is not in memory".into());
                };
                let place = RuntimeLocation::Int(there.number(), Width::WORD);
                Ok(RuntimeValue::new(found.ty, place))
            }
            _ => Err("it depends on the object's contents".into()),
        }
    }
}

impl Memory for Fakes {
    fn read(&self, addr: LoadAddr, buffer: &mut [u8]) -> Result<(), Unreadable> {
        let len = buffer.len();
        let refused = || Unreadable { addr, len };
        let word = split(addr.0).filter(|_| len == 8).ok_or_else(refused)?;
        let mut words = self.words.borrow_mut();
        let known = words.iter().position(|it| *it == word);
        let number = match known {
            Some(number) => number,
            None if words.len() < POINTERS => {
                words.push(word);
                words.len() - 1
            }
            None => return Err(refused()),
        };
        let object = FIRST + (number as u64 + 1) * APART;
        buffer.copy_from_slice(&object.to_le_bytes());
        Ok(())
    }
}

impl Target for Fakes {
    fn memory(&self) -> &dyn Memory {
        self
    }
    fn modules(&self) -> &dyn ModuleMap {
        &NoProcess
    }
    fn module_at(&self, _: LoadAddr) -> Option<(Arc<Module>, LoadBias)> {
        None
    }
    fn images(&self) -> Vec<(Arc<Module>, LoadBias)> {
        Vec::new()
    }
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error> {
        NoProcess.write_memory(addr, bytes)
    }
    fn write_register(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error> {
        NoProcess.write_register(place, bytes)
    }
}

/// Returns what `read` finds behind a value; `None`: nothing.
///
/// # Errors
/// It depends on more than pointers.
pub(super) fn followed(
    value: &RuntimeValue,
    read: impl Fn(&dyn Target, &Value) -> Result<Option<Value>, Error>,
) -> Result<Option<Followed>, NotCompilable> {
    let fakes = Fakes::default();
    let place = ValueLocation::Memory(LoadAddr(FIRST), None);
    let object = Value::new(value.ty.clone(), place);
    let special = |_| NotCompilable::special_layout(&value.ty);
    let Some(found) = read(&fakes, &object).map_err(special)? else {
        return Ok(None);
    };
    let count = fakes.words.borrow().len();
    let pointers = (0..count).map(|number| fakes.word(value, number));
    Ok(Some(Followed {
        value: fakes.found(value, found)?,
        pointers: pointers.collect::<Result<_, _>>()?,
    }))
}
