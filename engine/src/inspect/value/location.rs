//! Places of values: memory, registers, debug info, or pieces of these.

use super::{RegisterPlace, Shape, Target, Value};
use crate::FrameKey;
use crate::ids::error::Error;
use dwarf::{LoadAddr, Location, Piece, Registers};
use smallvec::SmallVec;
use std::sync::Arc;

/// Bytes, stored without an allocation if they are few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bytes {
    /// At most 16 bytes.
    InlineBytes([u8; 16], u8),
    /// More than 16 bytes.
    Many(Arc<[u8]>),
}

impl Bytes {
    /// Copies `bytes`.
    pub fn new(bytes: &[u8]) -> Bytes {
        if bytes.len() <= 16 {
            let mut few = [0; 16];
            few[..bytes.len()].copy_from_slice(bytes);
            Bytes::InlineBytes(few, bytes.len() as u8)
        } else {
            Bytes::Many(bytes.into())
        }
    }
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Bytes::InlineBytes(bytes, len) => &bytes[..usize::from(*len).min(16)],
            Bytes::Many(bytes) => bytes,
        }
    }
}

/// The bits of a bit-field in its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    /// Bits to skip, least significant first; less than 8.
    pub offset: u8,
    /// Width in bits.
    pub size: u8,
}

impl Bits {
    /// Returns the number of bytes that the bits span.
    pub fn bytes(self) -> usize {
        (usize::from(self.offset) + usize::from(self.size)).div_ceil(8)
    }
}

/// The place of a value.
#[derive(Clone, Debug)]
pub enum ValueLocation {
    /// In memory; with its bytes if they were read along with their neighbours.
    Memory(LoadAddr, Option<InlineBytes>),
    /// In a register, at an offset.
    Register {
        /// The register.
        register: RegisterPlace,
        /// The whole register's contents.
        bytes: Bytes,
        /// Offset in bytes.
        offset: u64,
    },
    /// Without storage: the bytes.
    Bytes(Bytes),
    /// In pieces, at an offset in bytes.
    Pieces(Arc<[LocationPiece]>, u64),
    /// Optimized out.
    OptimizedOut,
    /// A pointer whose target has been optimized out of memory.
    ImplicitPointer,
    /// The address of a value that an expression makes, which the program does not have.
    Temporary(Arc<Value>),
    /// The location could not be evaluated: the error.
    Failed(Arc<Error>),
}

/// At most 16 bytes, and their number.
pub type InlineBytes = ([u8; 16], u8);

/// A piece of a value.
#[derive(Clone, Debug)]
pub struct LocationPiece {
    bits: u64,
    skip: u64,
    place: ValueLocation,
}

impl ValueLocation {
    pub(super) fn of(location: Location, registers: &Registers, frame: FrameKey) -> ValueLocation {
        match location {
            Location::Memory(addr) => ValueLocation::Memory(addr, None),
            Location::Register(register) => {
                let bytes = match (registers.get(register), registers.vector(register)) {
                    (Some(value), _) => Bytes::new(&value.to_le_bytes()),
                    (None, Some(value)) => Bytes::new(&value.to_le_bytes()),
                    (None, None) => return ValueLocation::OptimizedOut,
                };
                ValueLocation::Register {
                    register: RegisterPlace {
                        thread: frame.thread,
                        level: frame.level,
                        register,
                    },
                    bytes,
                    offset: 0,
                }
            }
            Location::Implicit(bytes) => ValueLocation::Bytes(Bytes::new(&bytes)),
            Location::Pieces(pieces) => {
                let parts: Vec<LocationPiece> = pieces
                    .into_iter()
                    .map(|piece: Piece| LocationPiece {
                        bits: piece.bits,
                        skip: piece.bit_offset,
                        place: ValueLocation::of(piece.location, registers, frame),
                    })
                    .collect();
                match parts.as_slice() {
                    [] => ValueLocation::OptimizedOut,
                    [only] if only.skip == 0 => only.place.clone(),
                    _ if parts
                        .iter()
                        .all(|part| matches!(part.place, ValueLocation::OptimizedOut)) =>
                    {
                        ValueLocation::OptimizedOut
                    }
                    _ => ValueLocation::Pieces(parts.into(), 0),
                }
            }
            Location::ImplicitPointer { .. } => ValueLocation::ImplicitPointer,
            Location::OptimizedOut => ValueLocation::OptimizedOut,
        }
    }
    /// Returns a place in memory whose bytes, at most 16, have been read.
    pub fn read_at(addr: LoadAddr, bytes: &[u8]) -> ValueLocation {
        let mut few = [0; 16];
        few[..bytes.len()].copy_from_slice(bytes);
        ValueLocation::Memory(addr, Some((few, bytes.len() as u8)))
    }

    /// Returns the place `bytes` after this one.
    pub fn offset(&self, bytes: u64) -> ValueLocation {
        match self {
            ValueLocation::Memory(addr, _) => ValueLocation::Memory(*addr + bytes, None),
            ValueLocation::Register {
                register,
                bytes: all,
                offset,
            } => ValueLocation::Register {
                register: *register,
                bytes: all.clone(),
                offset: offset.saturating_add(bytes),
            },
            ValueLocation::Bytes(all) => {
                match usize::try_from(bytes).ok().and_then(|n| all.get(n..)) {
                    Some(rest) => ValueLocation::Bytes(Bytes::new(rest)),
                    None => ValueLocation::OptimizedOut,
                }
            }
            ValueLocation::Pieces(parts, offset) => {
                ValueLocation::Pieces(parts.clone(), offset.saturating_add(bytes))
            }
            ValueLocation::OptimizedOut => ValueLocation::OptimizedOut,
            ValueLocation::ImplicitPointer if bytes == 0 => ValueLocation::ImplicitPointer,
            ValueLocation::ImplicitPointer => ValueLocation::OptimizedOut,
            ValueLocation::Temporary(_) if bytes == 0 => self.clone(),
            ValueLocation::Temporary(of) => ValueLocation::Bytes(stand_in(of)).offset(bytes),
            ValueLocation::Failed(error) => ValueLocation::Failed(error.clone()),
        }
    }

    /// Returns the value whose address is here, if an expression has made it.
    pub fn temporary(&self) -> Option<Arc<Value>> {
        match self {
            ValueLocation::Temporary(value) => Some(Arc::clone(value)),
            ValueLocation::Pieces(parts, offset) => {
                let mut start = 0u64;
                for part in parts.iter() {
                    let len = part.bits / 8;
                    if let Some(within) = offset.checked_sub(start).filter(|it| *it < len) {
                        return part.place.offset(within).temporary();
                    }
                    start = start.saturating_add(len);
                }
                None
            }
            _ => None,
        }
    }

    /// Returns whether a part of it is the address of a temporary.
    pub fn has_temporary(&self) -> bool {
        match self {
            ValueLocation::Temporary(_) => true,
            ValueLocation::Pieces(parts, _) => parts.iter().any(|it| it.place.has_temporary()),
            _ => false,
        }
    }

    /// Returns the place of `size` bytes that have these parts, each with its offset and its number
    /// of bytes; what is between them is zero. Later parts lose what earlier ones cover.
    pub fn composed(size: u64, mut parts: Vec<(u64, u64, ValueLocation)>) -> ValueLocation {
        let zeros = |len: u64| {
            let len = usize::try_from(len).unwrap_or(0);
            ValueLocation::Bytes(Bytes::new(&vec![0; len]))
        };
        parts.sort_by_key(|(offset, ..)| *offset);
        let (mut pieces, mut end) = (Vec::new(), 0);
        let mut push = |len: u64, place| {
            let bits = len.saturating_mul(8);
            pieces.push(LocationPiece {
                bits,
                skip: 0,
                place,
            });
        };
        for (offset, len, place) in parts {
            if len == 0 || offset < end || offset.saturating_add(len) > size {
                continue;
            }
            if offset > end {
                push(offset - end, zeros(offset - end));
            }
            push(len, place);
            end = offset + len;
        }
        if end < size {
            push(size - end, zeros(size - end));
        }
        let mut flat = Vec::new();
        for piece in &pieces {
            match &piece.place {
                ValueLocation::Bytes(bytes) => flat.extend_from_slice(bytes),
                _ => return ValueLocation::Pieces(pieces.into(), 0),
            }
        }
        ValueLocation::Bytes(Bytes::new(&flat))
    }

    /// Returns all bytes of a value that only the debug info or an expression has.
    ///
    /// # Errors
    /// It has another kind of place, whose length is not known here.
    pub fn literal(&self) -> Result<Bytes, Error> {
        match self {
            ValueLocation::Bytes(bytes) => Ok(bytes.clone()),
            _ => match self.temporary() {
                Some(of) => of.place.literal(),
                None => Err(Error::OptimizedOut),
            },
        }
    }

    /// Reads `len` bytes; the caller limits `len`.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read(&self, target: &dyn Target, len: usize) -> Result<Bytes, Error> {
        match self {
            ValueLocation::Memory(_, Some((bytes, have))) if usize::from(*have) == len => {
                Ok(Bytes::InlineBytes(*bytes, *have))
            }
            ValueLocation::Memory(addr, _) => {
                if len <= 16 {
                    let mut bytes = [0; 16];
                    target.memory().read(*addr, &mut bytes[..len])?;
                    Ok(Bytes::InlineBytes(bytes, len as u8))
                } else {
                    let mut bytes = vec![0; len];
                    target.memory().read(*addr, &mut bytes)?;
                    Ok(Bytes::Many(bytes.into()))
                }
            }
            ValueLocation::Register { bytes, offset, .. } => slice(bytes, *offset, len),
            ValueLocation::Bytes(bytes) => slice(bytes, 0, len),
            ValueLocation::Pieces(parts, offset) => read_parts(target, parts, *offset, len),
            ValueLocation::OptimizedOut => Err(Error::OptimizedOut),
            ValueLocation::ImplicitPointer => Err(Error::PointeeOptimizedOut),
            ValueLocation::Temporary(_) => Err(Error::Unsupported(
                "a temporary has no address in the program".into(),
            )),
            ValueLocation::Failed(error) => Err((**error).clone()),
        }
    }
}

/// Returns what a reference to a temporary has instead of an address, which only the discriminants of
/// enums see (no reference is zero), and its number of elements.
fn stand_in(of: &Value) -> Bytes {
    const NOWHERE: u64 = 0xffff_ffff_ffff_f000;
    let len = match (of.ty.shape(), &of.place) {
        (Shape::Array(array), _) => array.count.unwrap_or(0),
        (Shape::Text, ValueLocation::Bytes(text)) => text.len() as u64,
        _ => 0,
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&NOWHERE.to_le_bytes());
    bytes[8..].copy_from_slice(&len.to_le_bytes());
    Bytes::new(&bytes)
}

/// Bytes beyond the end of a register or of a constant do not exist.
fn slice(bytes: &[u8], offset: u64, len: usize) -> Result<Bytes, Error> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX);
    match bytes.get(start..).and_then(|rest| rest.get(..len)) {
        Some(bytes) => Ok(Bytes::new(bytes)),
        None => Err(Error::OptimizedOut),
    }
}

fn read_parts(
    target: &dyn Target,
    parts: &[LocationPiece],
    offset: u64,
    len: usize,
) -> Result<Bytes, Error> {
    let mut out: SmallVec<[u8; 32]> = SmallVec::from_elem(0, len);
    let (from, to) = (
        offset.saturating_mul(8),
        offset.saturating_add(len as u64).saturating_mul(8),
    );
    let mut start = 0u64;
    for part in parts {
        let end = start.saturating_add(part.bits);
        let (first, last) = (start.max(from), end.min(to));
        if first < last {
            let skip = part.skip.saturating_add(first - start);
            let count = last - first;
            let place = match &part.place {
                ValueLocation::Temporary(of) => ValueLocation::Bytes(stand_in(of)),
                place => place.clone(),
            };
            let bytes = place
                .offset(skip / 8)
                .read(target, (skip % 8 + count).div_ceil(8) as usize)?;
            copy_bits(&bytes, skip % 8, &mut out, first - from, count);
        }
        start = end;
    }
    if start < to {
        return Err(Error::OptimizedOut);
    }
    Ok(Bytes::new(&out))
}

fn copy_bits(from: &[u8], skip: u64, to: &mut [u8], at: u64, count: u64) {
    if skip == 0 && at.is_multiple_of(8) && count.is_multiple_of(8) {
        let (at, count) = (at as usize / 8, count as usize / 8);
        if let (Some(to), Some(from)) = (to.get_mut(at..at + count), from.get(..count)) {
            to.copy_from_slice(from);
        }
        return;
    }
    for bit in 0..count {
        let (source, dest) = (skip + bit, at + bit);
        let one = from
            .get((source / 8) as usize)
            .is_some_and(|byte| byte >> (source % 8) & 1 == 1);
        if let (true, Some(byte)) = (one, to.get_mut((dest / 8) as usize)) {
            *byte |= 1 << (dest % 8);
        }
    }
}
