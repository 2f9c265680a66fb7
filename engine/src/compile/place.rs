//! Places of values, as far as they are known at compile time.

use super::NotCompilable;
use super::code::{Address, Base, BoolExpr, Float, Int, Operation, Width};
use super::containers::Row;
use super::set;
use crate::arch::Arch;
use crate::inspect::value::location::{Bits, Bytes};
use crate::inspect::value::{self, Ty, scalar};
use dwarf::{LoadBias, Register, StaticLocation, Term, TermOperator};
use std::sync::Arc;

/// A value that is found when the code runs.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeValue {
    /// Its type.
    pub(crate) ty: Ty,
    /// The place of its bytes.
    pub(crate) place: RuntimeLocation,
    /// The part of the bytes that a bit-field occupies.
    pub(crate) bits: Option<Bits>,
}

/// The place of a value when the code runs.
#[derive(Clone, Debug)]
pub(crate) enum RuntimeLocation {
    /// In memory.
    Memory(Address),
    /// In a general-purpose register, at an offset in bytes.
    Register(Register, u64),
    /// In a vector register by its number, at an offset in bytes.
    Vector(u8, u64),
    /// A constant: its bytes.
    Bytes(Bytes),
    /// A computed integer, canonical for the width.
    Int(Int, Width),
    /// A computed float.
    Float(Float),
    /// In pieces, at an offset in bytes.
    Pieces(Arc<[Piece]>, u64),
    /// The place of the first value if the condition holds, else the place of the second.
    Choice(Box<BoolExpr>, Arc<[RuntimeValue; 2]>),
    /// None: the expression makes the object.
    Made(Arc<Made>),
    /// A part of a text or of elements.
    Row(Arc<Row>),
    /// None: a reference to a value, which need not be in memory.
    Referent(Arc<RuntimeValue>),
    /// None: a use of the value is a deopt.
    Missing,
}

/// An object that the expression makes.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// The variant of an enum.
    pub(super) variant: Option<String>,
    /// Names and values of its fields; those of arrays and tuples are numbers.
    pub(super) fields: Vec<(String, RuntimeValue)>,
}

impl Made {
    /// Returns a field.
    pub(super) fn field(&self, name: &str) -> Option<&RuntimeValue> {
        let mut fields = self.fields.iter();
        fields.find(|it| it.0 == name).map(|it| &it.1)
    }
}

/// A piece of a value.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    bytes: u64,
    /// `None`: optimized out.
    place: Option<RuntimeLocation>,
}

impl RuntimeValue {
    /// Returns a value of a type at a place.
    pub(crate) fn new(ty: Ty, place: RuntimeLocation) -> RuntimeValue {
        RuntimeValue {
            ty,
            place,
            bits: None,
        }
    }

    /// Converts a constant value of the interpreter.
    pub(super) fn constant(value: value::Value) -> Result<RuntimeValue, NotCompilable> {
        match value.place {
            value::ValueLocation::Bytes(bytes) => {
                Ok(RuntimeValue::new(value.ty, RuntimeLocation::Bytes(bytes)))
            }
            value::ValueLocation::Memory(addr, _) => Ok(RuntimeValue {
                bits: value.bits,
                ..RuntimeValue::new(
                    value.ty,
                    RuntimeLocation::Memory(Address::of(Base::Zero, addr.0 as i64)),
                )
            }),
            _ => Err("a computed value has no location".into()),
        }
    }

    /// Returns the interpreter's value if it is constant.
    pub(super) fn known(&self) -> Option<value::Value> {
        match &self.place {
            RuntimeLocation::Bytes(bytes) => Some(value::Value {
                bits: self.bits,
                ..value::Value::new(self.ty.clone(), value::ValueLocation::Bytes(bytes.clone()))
            }),
            _ => None,
        }
    }
}

impl RuntimeLocation {
    /// Returns the number of nodes needed to compute the place.
    pub(super) fn parts(&self) -> usize {
        match self {
            RuntimeLocation::Memory(address) => address.needs().parts,
            RuntimeLocation::Int(int, _) => int.needs().parts,
            RuntimeLocation::Float(float) => float.needs().parts,
            RuntimeLocation::Choice(condition, both) => {
                let both = both.iter().map(|it| it.place.parts());
                condition.needs().parts + both.sum::<usize>()
            }
            RuntimeLocation::Made(made) => {
                let fields = made.fields.iter().map(|it| it.1.place.parts());
                1 + fields.sum::<usize>()
            }
            RuntimeLocation::Referent(of) => of.place.parts(),
            RuntimeLocation::Row(row) => {
                let (at, len) = (row.at.needs(), row.len.needs());
                at.parts + len.parts + row.invalid.needs().parts
            }
            _ => 1,
        }
    }

    /// Returns the place this number of bytes further on.
    pub(super) fn offset(self, bytes: u64) -> Result<RuntimeLocation, NotCompilable> {
        if bytes == 0 {
            return Ok(self);
        }
        let beyond = || NotCompilable::from("out of the bounds of the value");
        Ok(match self {
            RuntimeLocation::Memory(address) => RuntimeLocation::Memory(address.plus(bytes)),
            RuntimeLocation::Register(register, at) => {
                RuntimeLocation::Register(register, at.saturating_add(bytes))
            }
            RuntimeLocation::Vector(number, at) => {
                RuntimeLocation::Vector(number, at.saturating_add(bytes))
            }
            RuntimeLocation::Bytes(all) => {
                let rest = usize::try_from(bytes).ok().and_then(|at| all.get(at..));
                RuntimeLocation::Bytes(Bytes::new(rest.ok_or_else(beyond)?))
            }
            RuntimeLocation::Int(int, width) if bytes < 8 => {
                // As bytes, including those of the sign extension.
                let by = Int::Constant(bytes * 8);
                let word = int.converted(width, Width::WORD);
                let rest = Int::binary(Operation::Shr, word, by, Width::WORD, false);
                RuntimeLocation::Int(rest, Width::WORD)
            }
            RuntimeLocation::Int(..) | RuntimeLocation::Float(_) => return Err(beyond()),
            RuntimeLocation::Choice(condition, both) => {
                let moved = |it: &RuntimeValue| -> Result<RuntimeValue, NotCompilable> {
                    let place = it.place.clone().offset(bytes)?;
                    Ok(RuntimeValue {
                        place,
                        ..it.clone()
                    })
                };
                let both = Arc::new([moved(&both[0])?, moved(&both[1])?]);
                RuntimeLocation::Choice(condition, both)
            }
            RuntimeLocation::Missing => RuntimeLocation::Missing,
            RuntimeLocation::Made(_) | RuntimeLocation::Row(_) | RuntimeLocation::Referent(_) => {
                return Err(no_bytes());
            }
            RuntimeLocation::Pieces(pieces, at) => {
                RuntimeLocation::Pieces(pieces, at.saturating_add(bytes))
            }
        })
    }

    /// Returns the bytes from an offset on as a canonical number.
    pub(super) fn raw(&self, at: u64, width: Width) -> Result<Int, NotCompilable> {
        let size = u64::from(width.size);
        let beyond = || NotCompilable::from("out of the bounds of the value");
        Ok(match self {
            RuntimeLocation::Memory(address) => {
                Int::Load(Box::new(address.clone().plus(at)), width)
            }
            RuntimeLocation::Register(register, skip) => {
                let skip = skip.saturating_add(at);
                if skip.saturating_add(size) > 8 {
                    return Err(beyond());
                }
                Int::Register(*register, skip as u8, width)
            }
            RuntimeLocation::Bytes(bytes) => {
                let start = usize::try_from(at).ok();
                let part = start.and_then(|at| bytes.get(at..)?.get(..usize::from(width.size)));
                let bits = scalar::bits_of(part.ok_or_else(beyond)?);
                Int::Constant(width.canonical(bits as u64))
            }
            RuntimeLocation::Int(int, have) if at == 0 => int.clone().converted(*have, width),
            RuntimeLocation::Int(..) if at < 8 => match self.clone().offset(at)? {
                RuntimeLocation::Int(int, have) => int.converted(have, width),
                _ => return Err(beyond()),
            },
            RuntimeLocation::Int(..) => return Err(beyond()),
            RuntimeLocation::Vector(number, skip) => {
                let skip = skip.saturating_add(at);
                if skip / 8 != skip.saturating_add(size - 1) / 8 || skip >= 16 {
                    return Err(beyond());
                }
                Int::Vector(*number, skip as u8, width)
            }
            RuntimeLocation::Float(_) => return Err("a computed float has no location".into()),
            RuntimeLocation::Choice(condition, both) => {
                let (yes, no) = (both[0].place.raw(at, width)?, both[1].place.raw(at, width)?);
                Int::choice((**condition).clone(), yes, no)
            }
            RuntimeLocation::Missing => Int::deopt(),
            RuntimeLocation::Made(_) | RuntimeLocation::Row(_) | RuntimeLocation::Referent(_) => {
                return Err(no_bytes());
            }
            RuntimeLocation::Pieces(..) => self.piece(at, size)?.raw(0, width)?,
        })
    }

    /// Returns the place of some bytes of pieces, which must be in one piece.
    pub(super) fn piece(&self, at: u64, size: u64) -> Result<RuntimeLocation, NotCompilable> {
        let RuntimeLocation::Pieces(pieces, skip) = self else {
            return self.clone().offset(at);
        };
        let mut from = skip.saturating_add(at);
        for piece in pieces.iter() {
            if from < piece.bytes {
                if from.saturating_add(size) > piece.bytes {
                    return Err("it is stored in several pieces".into());
                }
                let place = piece.place.clone();
                return place
                    .ok_or_else(|| NotCompilable::from("optimized out at this location"))?
                    .offset(from);
            }
            from -= piece.bytes;
        }
        Err("optimized out at this location".into())
    }
}

fn no_bytes() -> NotCompilable {
    "an object that the expression makes has no bytes".into()
}

/// What the terms of a location mean.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) arch: Arch,
    pub(crate) bias: LoadBias,
    /// The offset of the module's thread-local variables from the thread pointer, if it is fixed.
    pub(crate) thread_local: Option<i64>,
}

impl Terms {
    /// Converts a variable's location.
    ///
    /// # Errors
    /// The variable is optimized out here, or only the interpreter can locate it.
    pub(crate) fn place(&self, location: StaticLocation) -> Result<RuntimeLocation, NotCompilable> {
        Ok(match location {
            StaticLocation::Memory(term) => RuntimeLocation::Memory(self.address(&term)?),
            StaticLocation::Register(register) => self.in_register(register)?,
            StaticLocation::Value(term) => RuntimeLocation::Int(self.number(&term)?, Width::WORD),
            StaticLocation::Constant(bytes) => RuntimeLocation::Bytes(Bytes::new(&bytes)),
            StaticLocation::OptimizedOut => return Err("optimized out at this location".into()),
            StaticLocation::Pieces(pieces) => {
                let pieces = pieces.into_iter().map(|piece| {
                    if piece.bits % 8 != 0 || piece.bit_offset % 8 != 0 {
                        return Err("it is stored in pieces of single bits".into());
                    }
                    let place = self.place(piece.location).ok();
                    Ok(Piece {
                        bytes: piece.bits / 8,
                        place: place.and_then(|place| place.offset(piece.bit_offset / 8).ok()),
                    })
                });
                let pieces: Result<Vec<Piece>, NotCompilable> = pieces.collect();
                RuntimeLocation::Pieces(pieces?.into(), 0)
            }
        })
    }

    fn in_register(&self, register: Register) -> Result<RuntimeLocation, NotCompilable> {
        if is_general(self.arch, register) {
            return Ok(RuntimeLocation::Register(register, 0));
        }
        let first = self.arch.machine().first_vector().0;
        match register.0.checked_sub(first) {
            Some(number) if number < set::limits(self.arch).of_program => {
                Ok(RuntimeLocation::Vector(number as u8, 0))
            }
            _ => Err("it is in an unsupported register".into()),
        }
    }

    fn address(&self, term: &Term) -> Result<Address, NotCompilable> {
        Ok(match term {
            Term::Constant(number) => Address::of(Base::Zero, *number as i64),
            Term::Image(addr) => Address::of(Base::Zero, self.bias.load(*addr).0 as i64),
            Term::Register(register) if is_general(self.arch, *register) => {
                Address::of(Base::Register(*register), 0)
            }
            Term::ThreadLocal(offset) => {
                let begin = self.thread_local.ok_or_else(|| {
                    NotCompilable::from("it is thread-local in a module without static storage")
                })?;
                Address::of(Base::Thread, begin.wrapping_add(*offset as i64))
            }
            Term::Sum(term, number) => self.address(term)?.plus(*number),
            Term::Load(..) => Address::pointed(self.number(term)?),
            term => Address::pointed(self.number(term)?),
        })
    }

    fn number(&self, term: &Term) -> Result<Int, NotCompilable> {
        Ok(match term {
            Term::Load(address, size) => {
                let size = match size {
                    1 | 2 | 4 | 8 => *size,
                    _ => return Err("its location reads an unsupported number of bytes".into()),
                };
                let width = Width {
                    size,
                    signed: false,
                };
                Int::Load(Box::new(self.address(address)?), width)
            }
            Term::Register(register) if is_general(self.arch, *register) => {
                Int::Register(*register, 0, Width::WORD)
            }
            Term::Register(_) => {
                return Err("its location depends on an unsupported register".into());
            }
            Term::Binary(operator, left, right) => {
                let operation = match operator {
                    TermOperator::Add => Operation::Add,
                    TermOperator::Sub => Operation::Sub,
                    TermOperator::Mul => Operation::Mul,
                    TermOperator::And => Operation::And,
                    TermOperator::Or => Operation::Or,
                    TermOperator::Xor => Operation::Xor,
                };
                let (left, right) = (self.number(left)?, self.number(right)?);
                Int::binary(operation, left, right, Width::WORD, false)
            }
            Term::Sum(term, number) => {
                let (term, number) = (self.number(term)?, Int::Constant(*number));
                Int::binary(Operation::Add, term, number, Width::WORD, false)
            }
            term => self.address(term)?.number(),
        })
    }
}

/// Returns whether code can read a register as a number.
pub(super) fn is_general(arch: Arch, register: Register) -> bool {
    arch.general_registers().any(|it| it == register) || register == arch.machine().sp()
}
