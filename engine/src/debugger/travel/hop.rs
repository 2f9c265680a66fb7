//! The places on the way to the origin of a value, as they are shown.

use crate::debugger::Debugger;
use crate::expr::Purpose;
use crate::ids::{FrameKey, ThreadId};
use crate::inspect::value::location::Bytes;
use crate::inspect::value::members::shown_name;
use crate::inspect::value::{Limits, Shape, Ty, Value, ValueLocation, present};
use crate::os::CallOfRun;
use crate::stops::breakpoint::watch::Watchable;
use dwarf::{LoadAddr, MemberOffset, SourceLocation};
use std::fmt;

/// The origin of a value, and the way to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The expression.
    pub name: String,
    /// The places on the way back, the last write first. The last place is the origin.
    pub hops: Vec<Hop>,
}

/// A place on the way to the origin of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hop {
    /// What has happened to the value there.
    pub kind: HopKind,
    /// The function.
    pub function: Option<String>,
    /// The line.
    pub location: Option<SourceLocation>,
    /// The instruction; `None`: the value was there when the program began.
    pub address: Option<LoadAddr>,
    /// The value as text.
    pub value: String,
    /// The index of the next event there; `None`: it cannot be gone to.
    pub(super) event: Option<usize>,
    /// The canonical frame address there.
    pub(super) frame: Option<LoadAddr>,
}

/// What has happened to a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HopKind {
    /// It was written to memory from a register; where that has it from is not known.
    Stored,
    /// It was copied from other memory.
    Copied {
        /// The address.
        from: LoadAddr,
        /// The variable that is there.
        name: Option<String>,
    },
    /// It was passed to the function.
    Argument,
    /// A function has returned it; empty: its name is not known.
    Returned(String),
    /// It was computed, or is a constant.
    Computed,
    /// The kernel has returned or written it.
    SystemCall(CallOfRun),
    /// The program, or one of its files, had it from the start.
    Initial,
}

impl Hop {
    /// Returns whether the debugger can go to it.
    pub fn can_be_shown(&self) -> bool {
        self.event.is_some()
    }

    /// Returns whether another one is of the same line in the same frame.
    pub(super) fn is_at_place_of(&self, other: &Hop) -> bool {
        let line = |hop: &Hop| {
            let location = hop.location.as_ref();
            location.map(|it| (it.file.path.clone(), it.line))
        };
        self.frame.is_some()
            && self.frame == other.frame
            && self.function == other.function
            && line(self).is_some()
            && line(self) == line(other)
    }
}

impl Origin {
    /// Returns what has happened to the value at a place, in a few words.
    pub(super) fn text_of(&self, hop: &Hop) -> String {
        format!("{}: {} {}", self.name, hop.value, hop.kind)
    }
}

impl fmt::Display for HopKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HopKind::Stored => formatter.write_str("stored"),
            HopKind::Copied { from, name } => match name {
                Some(name) => write!(formatter, "copied from {name} ({from})"),
                None => write!(formatter, "copied from {from}"),
            },
            HopKind::Argument => formatter.write_str("passed as an argument"),
            HopKind::Returned(function) if function.is_empty() => {
                formatter.write_str("returned by a function")
            }
            HopKind::Returned(function) => write!(formatter, "returned by {function}"),
            HopKind::Computed => formatter.write_str("computed"),
            HopKind::SystemCall(call) => write!(formatter, "from the system call {}", call.name),
            HopKind::Initial => formatter.write_str("there from the start"),
        }
    }
}

impl Debugger {
    /// Returns the name of the function at an address.
    pub(super) fn function_shown(&self, addr: LoadAddr) -> Option<String> {
        let line = self.line_at(addr).and_then(|it| it.function);
        line.or_else(|| Some(self.symbol_at(addr)?.name))
    }

    /// Returns an expression for bytes of memory: a variable of the innermost frame, or of static storage, or a
    /// part of one.
    pub(super) fn name_of_memory(
        &mut self,
        thread: ThreadId,
        addr: LoadAddr,
        size: u64,
    ) -> Option<String> {
        let frame = FrameKey { thread, level: 0 };
        let part = |name: String, value: &Value| {
            let ValueLocation::Memory(start, _) = value.place else {
                return None;
            };
            let path = path_to(&value.ty, addr.0.checked_sub(start.0)?, size, 0)?;
            Some(name + &path)
        };
        let locals = self.locals(frame).unwrap_or_default().into_iter();
        let local = locals.rev().find_map(|it| part(it.name, &it.value.ok()?));
        if local.is_some() {
            return local;
        }
        let symbol = self.symbol_at(addr)?;
        // A name alone calls nothing.
        let is_name = |char: char| char.is_alphanumeric() || char == '_' || char == ':';
        let found = match symbol.name.chars().all(is_name) {
            true => self.evaluate(Some(frame), &symbol.name, Purpose::Look).ok(),
            false => None,
        };
        let named = found.and_then(|it| part(it.expression, &it.value));
        let offset = addr.0.checked_sub(symbol.address.0)?;
        named.or_else(|| {
            let is_inside = offset.checked_add(size)? <= symbol.size;
            is_inside.then(|| match offset {
                0 if size == symbol.size => symbol.name,
                offset => format!("{} + {offset} bytes", symbol.name),
            })
        })
    }

    /// Returns bytes of a value as text: as the value's type has it, or a number if they are fewer.
    pub(super) fn text_of_bytes(&mut self, data: &Watchable, bytes: &[u8]) -> String {
        let is_whole = bytes.len() as u64 == data.bytes;
        if is_whole {
            let value = Value {
                place: ValueLocation::Bytes(Bytes::new(bytes)),
                ..data.value.clone()
            };
            let text = self.in_process(|scope| Ok(present(scope, &value, &Limits::default()).text));
            return text.unwrap_or_default();
        }
        let mut word = [0; 16];
        match word.get_mut(..bytes.len()) {
            Some(low) => {
                low.copy_from_slice(bytes);
                u128::from_le_bytes(word).to_string()
            }
            None => format!("{} bytes", bytes.len()),
        }
    }
}

/// Returns how the part of a value of a type is written that has so many bytes from an offset on: its members and
/// elements.
fn path_to(ty: &Ty, offset: u64, size: u64, depth: usize) -> Option<String> {
    /// Types are not nested deeper.
    const DEEPEST: usize = 8;
    if offset == 0 && ty.size() == Some(size) {
        return Some(String::new());
    }
    let deeper = |part: &Ty, offset| match depth < DEEPEST {
        true => path_to(part, offset, size, depth + 1),
        false => None,
    };
    match ty.shape() {
        Shape::Array(array) => {
            let index = offset.checked_div(array.stride)?;
            let is_inside = array.count.is_none_or(|count| index < count);
            let path = deeper(&array.element, offset % array.stride);
            path.filter(|_| is_inside)
                .map(|path| format!("[{index}]{path}"))
        }
        Shape::Composite(ty) => ty.composite()?.members.iter().find_map(|member| {
            let MemberOffset::Bytes(at) = member.offset else {
                return None;
            };
            let inside = offset.checked_sub(at)?;
            let part = ty.related(member.ty);
            let is_plain = member.bits.is_none() && !member.name.is_empty();
            let fits = inside.checked_add(size)? <= part.size()?;
            let path = (is_plain && fits).then(|| deeper(&part, inside))??;
            Some(format!(".{}{path}", shown_name(&ty, &member.name)))
        }),
        _ => None,
    }
}
