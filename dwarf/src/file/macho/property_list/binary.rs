//! Binary property lists: objects, a table of their offsets, and a trailer that says where the table
//! is (`CFBinaryPList.c` of Apple's CoreFoundation).

use super::{Budget, Value};

pub(super) const MAGIC: &[u8] = b"bplist";
const HEADER: usize = 8;
const TRAILER: usize = 32;

/// Reads a list of version 0.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, String> {
    if bytes.get(MAGIC.len()) != Some(&b'0') {
        return Err("a binary property list of an unknown version".to_owned());
    }
    let top = File::new(bytes).ok_or("a binary property list without its trailer")?;
    let (file, top) = top;
    file.object(top, 0, &mut Budget::new())
}

struct File<'a> {
    bytes: &'a [u8],
    /// The offsets of the objects, numbers of `offset_size` bytes.
    offsets: &'a [u8],
    offset_size: usize,
    /// Size of an object's number.
    reference_size: usize,
}

impl<'a> File<'a> {
    /// Reads the trailer; returns the number of the outermost object, too.
    fn new(bytes: &'a [u8]) -> Option<(File<'a>, u64)> {
        let body = bytes.len().checked_sub(TRAILER)?;
        let (bytes, trailer) = bytes.split_at_checked(body)?;
        let offset_size = usize::from(*trailer.get(6)?);
        let reference_size = usize::from(*trailer.get(7)?);
        let count = usize::try_from(number(trailer.get(8..16)?)?).ok()?;
        let top = number(trailer.get(16..24)?)?;
        let table = usize::try_from(number(trailer.get(24..32)?)?).ok()?;
        let end = table.checked_add(count.checked_mul(offset_size)?)?;
        let offsets = bytes.get(table..end)?;
        let sizes = 1..=8;
        let fits = sizes.contains(&offset_size) && sizes.contains(&reference_size);
        let file = File {
            bytes,
            offsets,
            offset_size,
            reference_size,
        };
        (fits && table >= HEADER).then_some((file, top))
    }

    /// Returns the bytes of an object, up to the end of all objects.
    fn at(&self, index: u64) -> Option<&'a [u8]> {
        let start = usize::try_from(index).ok()?.checked_mul(self.offset_size)?;
        let offset = self.offsets.get(start..)?.get(..self.offset_size)?;
        self.bytes.get(usize::try_from(number(offset)?).ok()?..)
    }

    fn object(&self, index: u64, depth: usize, budget: &mut Budget) -> Result<Value, String> {
        let broken = || format!("object {index} of the binary property list is cut off");
        let (marker, rest) = self
            .at(index)
            .and_then(<[u8]>::split_first)
            .ok_or_else(broken)?;
        let kind = marker >> 4;
        let (count, rest) = match kind {
            4..=6 | 10..=13 => count(*marker, rest).ok_or_else(broken)?,
            _ => (usize::from(marker & 15), rest),
        };
        let contents = |size: usize| {
            let len = count.checked_mul(size);
            len.and_then(|len| rest.get(..len)).ok_or_else(broken)
        };
        match kind {
            1 => {
                budget.take(depth, 0)?;
                let size = 1usize.checked_shl(u32::from(marker & 15));
                let bytes = size.and_then(|size| rest.get(..size)).ok_or_else(broken)?;
                // 16 bytes are a number that others do not reach.
                Ok(number(bytes).map_or(Value::Other, |it| Value::Integer(it.cast_signed())))
            }
            5 => {
                let bytes = contents(1)?;
                budget.take(depth, bytes.len())?;
                match std::str::from_utf8(bytes) {
                    Ok(text) if text.is_ascii() => Ok(Value::Text(text.to_owned())),
                    _ => Err(format!("object {index} is no text")),
                }
            }
            6 => {
                let bytes = contents(2)?;
                // A unit of UTF-16 is at most three bytes of UTF-8.
                budget.take(depth, bytes.len().saturating_mul(2))?;
                let units = bytes.chunks_exact(2).map(|unit| match unit {
                    [high, low] => u16::from_be_bytes([*high, *low]),
                    _ => 0,
                });
                let text: Result<String, _> = char::decode_utf16(units).collect();
                text.map(Value::Text)
                    .map_err(|_| format!("object {index} is no text"))
            }
            10..=12 => {
                budget.take(depth, 0)?;
                let references = contents(self.reference_size)?;
                let values = self.references(references);
                let values = values.map(|index| self.object(index, depth + 1, budget));
                Ok(Value::Array(values.collect::<Result<_, _>>()?))
            }
            13 => {
                budget.take(depth, 0)?;
                let keys = contents(self.reference_size)?;
                let values = rest.get(keys.len()..).and_then(|it| it.get(..keys.len()));
                let values = self.references(values.ok_or_else(broken)?);
                let mut pairs = Vec::new();
                for (key, value) in self.references(keys).zip(values) {
                    let Value::Text(key) = self.object(key, depth + 1, budget)? else {
                        return Err(format!("a key of object {index} is no text"));
                    };
                    pairs.push((key, self.object(value, depth + 1, budget)?));
                }
                Ok(Value::Dictionary(pairs))
            }
            _ => {
                budget.take(depth, 0)?;
                Ok(Value::Other)
            }
        }
    }

    fn references(&self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + use<'a> {
        bytes.chunks_exact(self.reference_size).filter_map(number)
    }
}

/// Returns how many elements an object has, and what is behind the count: in the marker, or in an
/// integer behind it.
fn count(marker: u8, rest: &[u8]) -> Option<(usize, &[u8])> {
    if marker & 15 != 15 {
        return Some((usize::from(marker & 15), rest));
    }
    let (marker, rest) = rest.split_first()?;
    let size = match marker {
        0x10..=0x13 => 1 << (marker & 15),
        _ => return None,
    };
    let (bytes, rest) = rest.split_at_checked(size)?;
    Some((usize::try_from(number(bytes)?).ok()?, rest))
}

/// Returns a number in big-endian order; `None` beyond 8 bytes.
fn number(bytes: &[u8]) -> Option<u64> {
    let mut whole = [0; 8];
    let start = whole.len().checked_sub(bytes.len())?;
    whole.get_mut(start..)?.copy_from_slice(bytes);
    Some(u64::from_be_bytes(whole))
}
