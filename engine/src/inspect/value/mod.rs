//! Values: typed bytes at a place, their presentation, and their children.

mod access;
pub mod alignment;
pub mod base_path;
mod children;
mod decimal;
mod elements;
pub mod foreign;
mod format;
pub mod inhabited;
pub mod location;
pub mod members;
mod numbers;
mod objects;
pub mod path;
pub mod scalar;
pub mod subobjects;
pub mod synthetic;
pub mod text;
pub mod types;
mod whole_object;

#[cfg(test)]
mod tests;

pub use children::{ChildBatch, ChildFilter, next_children};
pub use elements::elements;
pub use format::{present, present_with, write};
pub use location::ValueLocation;
pub use numbers::Numbers;
pub use objects::Objects;
pub use synthetic::{Metadata, Synthetic};
pub use types::{PointerKind, Shape, Ty};

use crate::ids::error::Error;
use dwarf::{Language, LoadAddr, Location, Memory, Module, ModuleMap, Registers};
use location::{Bits, Bytes};
use scalar::{Scalar, ScalarKind};
use std::sync::Arc;

/// Maximum number of bytes to read at once for one value.
pub const MAX_VALUE_BYTES: u64 = 1 << 20;

/// The debuggee, as values and expressions see it: a stopped process, or a test's bytes.
pub trait Target {
    /// Returns its memory.
    fn memory(&self) -> &dyn Memory;
    /// Returns its modules.
    fn modules(&self) -> &dyn ModuleMap;
    /// Returns the module at an address, and its load bias.
    fn module_at(&self, addr: LoadAddr) -> Option<(Arc<Module>, dwarf::LoadBias)>;
    /// Returns all modules with their load biases, the program first.
    fn images(&self) -> Vec<(Arc<Module>, dwarf::LoadBias)>;
    /// Writes memory despite page protection.
    ///
    /// # Errors
    /// The memory is not mapped, or this target cannot be written.
    fn write_memory(&mut self, addr: LoadAddr, bytes: &[u8]) -> Result<(), Error>;
    /// Writes a register of the stopped thread's innermost frame.
    ///
    /// # Errors
    /// The register cannot be written.
    fn write_register(&mut self, place: RegisterPlace, bytes: &[u8]) -> Result<(), Error>;
    /// Returns a variable with static storage where the image's code has it: in this thread, or where the
    /// loader has bound its name. `None`: this target knows neither.
    fn static_variable(
        &self,
        _: Ty,
        _: (&Arc<Module>, dwarf::LoadBias),
        _: &dwarf::Variable,
    ) -> Option<Result<Value, Error>> {
        None
    }
    /// Returns whether the client has cancelled the request.
    fn cancelled(&self) -> bool {
        false
    }
}

/// A register of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegisterPlace {
    /// The thread.
    pub thread: crate::ThreadId,
    /// The physical frame's level: registers of frame 0 can be written, those of callers cannot.
    pub level: usize,
    /// The register.
    pub register: dwarf::Register,
}

/// Limits on a value's text.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of text in all.
    pub text: usize,
    /// Number of elements and members in a summary.
    pub elements: usize,
    /// Bytes to read of a string.
    pub string: usize,
    /// Depth of nested summaries.
    pub depth: usize,
    /// Format of integers.
    pub numbers: scalar::NumberFormat,
    /// Whether addresses are shown; otherwise `0x…`, which is the same in every run.
    pub addresses: bool,
    /// Whether the text of a pointer includes its target.
    pub pointees: Pointees,
}

/// Whether the text of a pointer includes its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pointees {
    /// Nothing but what tells pointers apart: strings, names of functions, classes of objects.
    #[default]
    Hidden,
    /// A pointer of C or C++ that is shown by itself: the target, behind the address.
    Shown,
    /// The number of the target, and the target once.
    Numbered,
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
            pointees: Pointees::Hidden,
        }
    }
}

/// A value formatted for display.
#[derive(Clone, Debug, Default)]
pub struct Presentation {
    /// The value on one line.
    pub text: String,
    /// The type in the language's syntax.
    pub type_name: Arc<str>,
    /// Number of children with names.
    pub named: u64,
    /// Number of children with indices.
    pub indexed: u64,
    /// Its address (for pointers: that of the target).
    pub memory: Option<LoadAddr>,
    /// Whether it can be assigned to.
    pub writable: bool,
    /// Why the text is an error instead of a value.
    pub error: Option<Error>,
    /// Position of the function that it is or points to.
    pub function: Option<dwarf::SourceLocation>,
}

/// A child of a value.
#[derive(Clone, Debug)]
pub struct Child {
    /// Member name, `[3]`, a base class's name.
    pub name: String,
    /// The value, or an error.
    pub value: Result<Value, Error>,
    /// How to derive its expression from that of the parent; `None` if the language has none.
    pub path: Option<ChildPath>,
}

/// The way from a parent's expression to that of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildPath {
    /// Append this text to the parent's (parenthesized) expression: `.x`, `->next`.
    Suffix(String),
    /// Append the child's name: `[3]`.
    Name,
    /// Prepend this text: `*`.
    Prefix(String),
    /// Put these texts around it: a cast.
    Around(String, String),
    /// Use the parent's expression (anonymous union).
    Same,
}

/// A named value.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name, with a remark if it is shadowed.
    pub name: String,
    /// An expression for it, if there is one.
    pub expression: Option<String>,
    /// The value, or an error.
    pub value: Result<Value, Error>,
    /// Whether it is a parameter of the function.
    pub is_parameter: bool,
    /// Position of its declaration.
    pub declaration: Option<dwarf::SourceLocation>,
}

/// Typed bytes at a place; cheap to clone.
#[derive(Clone, Debug)]
pub struct Value {
    /// Its type.
    pub ty: Ty,
    /// The place of its bytes.
    pub place: ValueLocation,
    /// The part of the bytes that a bit-field occupies.
    pub bits: Option<Bits>,
    /// Whether it is shown member by member, without a view.
    pub raw: bool,
    /// Whether it is the base part of an object whose own class differs.
    pub is_base: bool,
}

/// Returns the location of a value of a type. LLVM writes a constant of x87's format without the padding of
/// `long double`.
fn with_padding(ty: &Ty, location: Location) -> Location {
    const X87_BYTES: usize = 10;
    match location {
        Location::Implicit(mut bytes) if bytes.len() == X87_BYTES => {
            if let Shape::Scalar(scalar) = ty.shape()
                && scalar.kind == ScalarKind::Float(scalar::Float::Extended)
            {
                bytes.resize(usize::from(scalar.size), 0);
            }
            Location::Implicit(bytes)
        }
        other => other,
    }
}

impl Value {
    /// Returns the value of a variable at a known location. Registers are read from `registers`
    /// now, memory when it is needed. `frame` is the frame that the registers belong to.
    pub fn from_location(
        ty: Ty,
        location: Location,
        registers: &Registers,
        frame: crate::FrameKey,
    ) -> Value {
        let location = with_padding(&ty, location);
        let place = match ValueLocation::of(location, registers, frame) {
            // A type of Rust without bytes has one value, which optimized code stores nowhere.
            ValueLocation::OptimizedOut
                if ty.language() == Language::Rust && ty.size() == Some(0) =>
            {
                ValueLocation::Bytes(Bytes::new(&[]))
            }
            place => place,
        };
        Value::new(ty, place)
    }

    /// Returns a register's contents as an integer (or address).
    pub fn from_register(place: RegisterPlace, name: &str, value: u64) -> Value {
        let ty = match name {
            "rip" | "pc" | "x30" | "lr" => Ty::Function("code".into()).pointer(),
            "rsp" | "rbp" | "sp" | "fp" | "x29" => Ty::Void.pointer(),
            _ => Ty::Builtin(Scalar::new(ScalarKind::Unsigned, 8), "u64"),
        };
        let bytes = Bytes::new(&value.to_le_bytes());
        Value::new(
            ty,
            ValueLocation::Register {
                register: place,
                bytes,
                offset: 0,
            },
        )
    }

    /// Returns a function as a value, by its entry.
    pub fn from_function(
        _module: &Arc<Module>,
        _bias: dwarf::LoadBias,
        name: &str,
        entry: LoadAddr,
    ) -> Value {
        Value::new(
            Ty::Function(name.into()),
            ValueLocation::Memory(entry, None),
        )
    }

    /// Returns a value of a type at a place.
    pub fn new(ty: Ty, place: ValueLocation) -> Value {
        Value {
            ty,
            place,
            bits: None,
            raw: false,
            is_base: false,
        }
    }

    /// Returns a number of a built-in type.
    pub fn builtin(scalar: Scalar, name: &'static str, bits: u128) -> Value {
        let bytes = bits.to_le_bytes();
        let size = usize::from(scalar.size).min(16);
        Value::new(
            Ty::Builtin(scalar, name),
            ValueLocation::Bytes(Bytes::new(&bytes[..size])),
        )
    }

    /// Returns a pointer with a target type.
    pub fn pointer_to(target: Ty, addr: LoadAddr) -> Value {
        let bytes = Bytes::new(&addr.0.to_le_bytes());
        Value::new(target.pointer(), ValueLocation::Bytes(bytes))
    }

    /// Returns the address of the first byte, if the value is in memory.
    pub fn address(&self) -> Option<LoadAddr> {
        match self.place {
            ValueLocation::Memory(addr, _) if self.bits.is_none() => Some(addr),
            _ => None,
        }
    }

    /// Returns the value's bytes; for a bit-field its bits, extended to the type's size.
    ///
    /// # Errors
    /// They cannot be read, are optimized out, or exceed [`MAX_VALUE_BYTES`].
    pub fn bytes(&self, target: &dyn Target) -> Result<Bytes, Error> {
        let Some(size) = self.ty.size() else {
            return Err(Error::Unsupported(format!(
                "unknown size of `{}`",
                self.ty.name()
            )));
        };
        if size > MAX_VALUE_BYTES {
            return Err(Error::Unsupported(format!(
                "cannot read {size} bytes at once: too large"
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

    /// Returns the value as raw bits, at most 16 bytes.
    ///
    /// # Errors
    /// Those of [`Value::bytes`].
    pub fn raw(&self, target: &dyn Target) -> Result<u128, Error> {
        Ok(scalar::bits_of(&self.bytes(target)?))
    }

    /// Returns the target of a pointer value; the address is read now.
    ///
    /// # Errors
    /// The value cannot be read.
    pub fn pointee(&self, target: &dyn Target, of: Ty) -> Result<Value, Error> {
        if let Some(temporary) = self.place.temporary() {
            return Ok(Value::new(of, temporary.place.clone()));
        }
        let addr = LoadAddr(self.raw(target)? as u64);
        Ok(Value::new(of, ValueLocation::Memory(addr, None)))
    }

    /// Returns the value itself, or the target if it is a C++ reference.
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
