//! Values: typed bytes with a place, how they present themselves, and what is in them.

mod children;
mod decimal;
mod format;
pub mod members;
mod numbers;
mod objects;
pub mod place;
pub mod scalar;
pub mod text;
pub mod types;

#[cfg(test)]
mod tests;

pub use children::{Next, Which, elements, next_children};
pub use format::{present, present_with, write};
pub use numbers::Numbers;
pub use objects::Objects;
pub use place::Place;
pub use types::{PointerKind, Shape, Ty};

use crate::error::Error;
use dwarf::{LoadAddr, Location, Memory, Module, ModuleMap, Registers};
use place::{Bits, Bytes};
use scalar::{Scalar, ScalarKind};
use std::sync::Arc;

/// The most that is read for one value in one go, in bytes.
pub const LARGEST: u64 = 1 << 20;

/// What values and expressions may ask of the debuggee; a stopped process, or a test's bytes.
pub trait Target {
    /// Its memory.
    fn memory(&self) -> &dyn Memory;
    /// Its images.
    fn modules(&self) -> &dyn ModuleMap;
    /// The image at an address as something to keep.
    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, dwarf::LoadBias)>;
    /// All images with their biases, the program first.
    fn images(&self) -> Vec<(Arc<Module>, dwarf::LoadBias)>;
    /// Writes memory, past page protections.
    ///
    /// # Errors
    /// The memory is not there, or this target cannot be written.
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error>;
    /// Writes a register of the stopped thread's innermost frame.
    ///
    /// # Errors
    /// The register cannot be written.
    fn write_register(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error>;
    /// Whether the client has lost interest.
    fn cancelled(&self) -> bool {
        false
    }
}

/// A register of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterPlace {
    /// The thread.
    pub thread: crate::ThreadId,
    /// The physical frame's level: 0 can be written, callers' cannot.
    pub level: usize,
    /// The register.
    pub register: dwarf::Register,
}

/// How much of a value is shown in one line.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of text in all.
    pub text: usize,
    /// Elements and members in a summary.
    pub elements: usize,
    /// Bytes read of a string.
    pub string: usize,
    /// Depth of nested summaries.
    pub depth: usize,
    /// How integers are written.
    pub numbers: scalar::NumberFormat,
    /// Addresses are written; else `0x…`, which is the same in every run.
    pub addresses: bool,
    /// Pointers show the number of the object that they point to, and the object.
    pub pointees: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            text: 512,
            elements: 16,
            string: 256,
            depth: 3,
            numbers: scalar::NumberFormat::Natural,
            addresses: true,
            pointees: false,
        }
    }
}

/// A value for people.
#[derive(Clone, Debug, Default)]
pub struct Presentation {
    /// One line.
    pub text: String,
    /// The type in the language's spelling.
    pub type_name: Arc<str>,
    /// Children that have names.
    pub named: u64,
    /// Children that have indices.
    pub indexed: u64,
    /// Where it lies (for pointers: where they point).
    pub memory: Option<LoadAddr>,
    /// Whether it can be assigned to.
    pub writable: bool,
    /// The text is an error, not a value.
    pub is_error: bool,
    /// Where the function is that it points to, or is.
    pub function: Option<dwarf::SourceLocation>,
}

/// A part of a value.
#[derive(Clone, Debug)]
pub struct Child {
    /// Member name, `[3]`, a base class's name.
    pub name: String,
    /// The value, or why there is none.
    pub value: Result<Value, Error>,
    /// An expression for it, given one for the parent: `None` where the language has none.
    pub path: Option<ChildPath>,
}

/// How a child is reached from its parent in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildPath {
    /// Text to append to the parent's (parenthesised) expression: `.x`, `->next`.
    Suffix(String),
    /// The same, and the text is the child's name: `[3]`.
    Name,
    /// Text to put before it: `*`.
    Prefix(String),
    /// The child is reached by the parent's own expression (anonymous union).
    Same,
}

/// A value with a name.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name, with a remark where it is shadowed.
    pub name: String,
    /// An expression for it, where there is one.
    pub expression: Option<String>,
    /// The value, or why there is none.
    pub value: Result<Value, Error>,
    /// A parameter of the function.
    pub is_parameter: bool,
    /// Where it is declared.
    pub declaration: Option<dwarf::SourceLocation>,
}

/// Typed bytes with a place; cheap to clone.
#[derive(Clone, Debug)]
pub struct Value {
    /// What the bytes mean.
    pub ty: Ty,
    /// Where they are.
    pub place: Place,
    /// The part of them that is the value, for bit fields.
    pub bits: Option<Bits>,
    /// To be seen member by member, whatever the type wants to be seen as.
    pub raw: bool,
    /// The part of an object that is of a base class: the object's own class is another one.
    pub is_base: bool,
}

impl Value {
    /// The value of a variable whose location is known. Register contents are taken from
    /// `registers` now; memory is read when it is needed. `frame` names the frame.
    pub fn from_location(
        ty: Ty,
        location: Location,
        registers: &Registers,
        frame: crate::FrameKey,
    ) -> Value {
        Value::new(ty, Place::of(location, registers, frame))
    }

    /// A register's contents as an integer (or address).
    pub fn from_register(place: RegisterPlace, name: &str, value: u64) -> Value {
        let ty = match name {
            "rip" | "pc" | "x30" | "lr" => Ty::Function("code".into()).pointer(),
            "rsp" | "rbp" | "sp" | "fp" | "x29" => Ty::Void.pointer(),
            _ => Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 8), "u64"),
        };
        let bytes = Bytes::new(&value.to_le_bytes());
        Value::new(
            ty,
            Place::Register {
                register: place,
                bytes,
                offset: 0,
            },
        )
    }

    /// A function, by its entry.
    pub fn from_function(
        _module: &Arc<Module>,
        _bias: dwarf::LoadBias,
        name: &str,
        entry: LoadAddr,
    ) -> Value {
        Value::new(Ty::Function(name.into()), Place::Memory(entry, None))
    }

    /// A value of a type at a place.
    pub fn new(ty: Ty, place: Place) -> Value {
        Value {
            ty,
            place,
            bits: None,
            raw: false,
            is_base: false,
        }
    }

    /// A number of a type every program has.
    pub fn builtin(scalar: Scalar, name: &'static str, bits: u128) -> Value {
        let bytes = bits.to_le_bytes();
        let size = usize::from(scalar.size).min(16);
        Value::new(
            Ty::Builtin(scalar, name),
            Place::Bytes(Bytes::new(&bytes[..size])),
        )
    }

    /// An address of something of a type.
    pub fn pointer_to(target: Ty, addr: LoadAddr) -> Value {
        let bytes = Bytes::new(&addr.0.to_le_bytes());
        Value::new(target.pointer(), Place::Bytes(bytes))
    }

    /// The address of its first byte, where it is in memory.
    pub fn address(&self) -> Option<LoadAddr> {
        match self.place {
            Place::Memory(addr, _) if self.bits.is_none() => Some(addr),
            _ => None,
        }
    }

    /// The value's bytes (of a bit field: its own bits, extended to its type's size).
    ///
    /// # Errors
    /// They cannot be read, are optimized out, or are more than [`LARGEST`].
    pub fn bytes(&self, target: &dyn Target) -> Result<Bytes, Error> {
        let Some(size) = self.ty.size() else {
            return Err(Error::Unsupported(format!(
                "the size of `{}` is not known",
                self.ty.name()
            )));
        };
        if size > LARGEST {
            return Err(Error::Unsupported(format!(
                "{size} bytes are too many to read at once"
            )));
        }
        match self.bits {
            Some(bits) => self.read_bits(target, bits, size as usize),
            None => self.place.read(target, size as usize),
        }
    }

    fn read_bits(&self, target: &dyn Target, bits: Bits, size: usize) -> Result<Bytes, Error> {
        let raw = self.place.read(target, bits.bytes())?;
        let signed = match self.ty.shape() {
            Shape::Scalar(scalar) => scalar.is_signed(),
            Shape::Enumeration(ty) => ty.enumeration().is_some_and(|it| it.signed),
            _ => false,
        };
        let mut value = scalar::bits_of(&raw) >> bits.offset;
        if bits.size < 128 {
            value &= (1 << bits.size) - 1;
        }
        if signed {
            value = scalar::sign_extend(value, u32::from(bits.size)) as u128;
        }
        Ok(Bytes::new(&value.to_le_bytes()[..size.min(16)]))
    }

    /// The value as raw bits, where it is no longer than 16 bytes.
    ///
    /// # Errors
    /// As [`Value::bytes`].
    pub fn raw(&self, target: &dyn Target) -> Result<u128, Error> {
        Ok(scalar::bits_of(&self.bytes(target)?))
    }

    /// What the value (an address) points to; the address is read now.
    ///
    /// # Errors
    /// The value cannot be read.
    pub fn pointee(&self, target: &dyn Target, of: Ty) -> Result<Value, Error> {
        let addr = LoadAddr(self.raw(target)? as u64);
        Ok(Value::new(of, Place::Memory(addr, None)))
    }

    /// The value itself, or what it refers to if it is a C++ reference.
    ///
    /// # Errors
    /// The reference cannot be read.
    pub fn referent(&self, target: &dyn Target) -> Result<Value, Error> {
        match self.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference) => self.pointee(target, of),
            _ => Ok(self.clone()),
        }
    }
}
