//! What can be opened in a value.

use super::members::{self, Part};
use super::types::DwarfTy;
use super::{Child, ChildPath, Place, PointerKind, Shape, Target, Ty, Value};
use crate::error::Error;
use crate::visualize::{self, View};
use dwarf::{Language, LoadAddr};
use std::ops::Range;
use std::sync::Arc;

/// References to references that are followed.
const REFERENCES: usize = 16;

/// Bytes read at once for a range of elements.
const BLOCK: u64 = 1 << 20;

/// A struct no larger is read in one go for all its members.
const WHOLE: u64 = 4096;

/// Elements of one answer; a length that nobody can check may be anything.
const MOST: u64 = 1 << 20;

/// Elements between two looks at the cancel flag.
const CHECK_EVERY: u64 = 4096;

/// What is in a value.
pub(super) enum Inside {
    /// Nothing to open.
    Nothing,
    /// Bases and members of an object, reached by `.` or `->`.
    Members(Value, Arc<DwarfTy>, &'static str),
    /// Elements in a row.
    Elements(Row),
    /// What the value points to.
    Pointee(Value),
}

/// Elements in a row.
pub(super) struct Row {
    /// The first one.
    pub place: Place,
    /// Their type.
    pub element: Ty,
    /// Bytes from one to the next.
    pub stride: u64,
    /// How many.
    pub count: u64,
}

impl Row {
    fn of_array(array: &super::types::ArrayTy, place: Place) -> Row {
        Row {
            place,
            element: array.element.clone(),
            stride: array.stride,
            count: array.count.unwrap_or(0),
        }
    }

    fn in_memory(at: LoadAddr, element: Ty, count: u64) -> Row {
        Row {
            place: Place::Memory(at, None),
            stride: element.size().unwrap_or(0),
            element,
            count,
        }
    }
}

/// What is in a value; references, boxes and views are looked through.
///
/// # Errors
/// The value cannot be read far enough to tell.
pub(super) fn inside(target: &dyn Target, value: &Value) -> Result<Inside, Error> {
    let mut value = value.clone();
    let mut access = ".";
    for _ in 0..REFERENCES {
        match visualize::view(target, &value) {
            Some(View::Text { .. }) => return Ok(Inside::Nothing),
            Some(View::Sequence { at, element, len }) => {
                return Ok(Inside::Elements(Row::in_memory(at, element, len)));
            }
            Some(View::Pointee(next)) => {
                value = next;
                continue;
            }
            Some(View::Invalid(_)) | None => {}
        }
        match value.ty.shape() {
            Shape::Pointer(of, PointerKind::Reference | PointerKind::Owned) => {
                let next = value.pointee(target, of)?;
                if matches!(next.place, Place::Memory(LoadAddr(0), _)) {
                    return Ok(Inside::Nothing);
                }
                value = next;
            }
            Shape::Pointer(of, PointerKind::Raw) => {
                let of_shape = of.shape();
                if matches!(of_shape, Shape::Void | Shape::Function) || value.raw(target)? == 0 {
                    return Ok(Inside::Nothing);
                }
                let language = value.ty.language();
                let pointee = value.pointee(target, of)?;
                if let (Shape::Composite(ty), true) = (&of_shape, language != Language::Rust) {
                    if ty.composite().is_some_and(|it| it.declaration) {
                        return Ok(Inside::Nothing);
                    }
                    if ty.visualizer().is_none() {
                        access = "->";
                        return Ok(Inside::Members(pointee, ty.clone(), access));
                    }
                }
                return Ok(Inside::Pointee(pointee));
            }
            Shape::Array(array) => {
                return Ok(Inside::Elements(Row::of_array(&array, value.place.clone())));
            }
            Shape::Composite(ty) => {
                return Ok(match members::active_variant(target, &value, &ty)? {
                    Some((_, payload)) => match payload.ty.shape() {
                        Shape::Composite(ty) => Inside::Members(payload, ty, access),
                        _ => Inside::Nothing,
                    },
                    None => Inside::Members(value, ty, access),
                });
            }
            _ => return Ok(Inside::Nothing),
        }
    }
    Ok(Inside::Nothing)
}

/// How many named and indexed children a value has.
pub(super) fn count(target: &dyn Target, value: &Value) -> (u64, u64) {
    match inside(target, value) {
        Ok(Inside::Members(object, ty, _)) => {
            let mut named = 0;
            let _ = members::parts(target, &object, &ty, &mut |_, _, _| {
                named += 1;
                Ok(())
            });
            (named, 0)
        }
        Ok(Inside::Elements(row)) => (0, row.count),
        Ok(Inside::Pointee(_)) => (1, 0),
        Ok(Inside::Nothing) | Err(_) => (0, 0),
    }
}

/// The children of a value in `range`, named ones counted first; at most 2^20 elements.
///
/// # Errors
/// Cancelled.
pub fn children(
    target: &dyn Target,
    value: &Value,
    range: Range<u64>,
) -> Result<Vec<Child>, Error> {
    match inside(target, value) {
        Ok(Inside::Members(object, ty, access)) => {
            Ok(member_children(target, &object, &ty, access, range))
        }
        Ok(Inside::Elements(row)) => element_children(target, &row, range),
        Ok(Inside::Pointee(pointee)) if range.contains(&0) => Ok(vec![Child {
            name: "*".into(),
            value: Ok(pointee),
            path: Some(ChildPath::Prefix("*".into())),
        }]),
        Ok(_) | Err(_) => Ok(Vec::new()),
    }
}

fn member_children(
    target: &dyn Target,
    object: &Value,
    ty: &Arc<DwarfTy>,
    access: &str,
    range: Range<u64>,
) -> Vec<Child> {
    let whole = Whole::read(target, object);
    let mut children = Vec::new();
    let mut index = 0;
    let outcome = members::parts(target, object, ty, &mut |object, ty, part| {
        index += 1;
        if !range.contains(&(index - 1)) {
            return Ok(());
        }
        let suffix =
            |name: &str| is_member_name(name).then(|| ChildPath::Suffix(format!("{access}{name}")));
        children.push(match part {
            Part::Base(base) => {
                let value = members::base(target, object, ty, base);
                let name = match &value {
                    Ok(value) => value.ty.name(),
                    Err(_) => ty.related(base.ty).name(),
                };
                Child {
                    name,
                    value,
                    path: Some(ChildPath::Same),
                }
            }
            Part::Member(member) => {
                let name = members::tuple_index(&member.name).unwrap_or(&member.name);
                let value = members::member(target, object, ty, member);
                Child {
                    name: name.to_owned(),
                    value: value.map(|value| whole.fill(value)),
                    path: suffix(name),
                }
            }
            Part::Static(member) => Child {
                name: member.name.clone(),
                value: members::static_member(target, ty, member),
                path: suffix(&member.name),
            },
        });
        Ok(())
    });
    if let Err(error) = outcome {
        children.push(Child {
            name: "<error>".into(),
            value: Err(error),
            path: None,
        });
    }
    children
}

fn is_member_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .chars()
            .all(|char| char.is_alphanumeric() || char == '_' || char == '$')
}

/// An object read in one go, so that its simple members need no reads of their own.
pub(super) struct Whole {
    start: LoadAddr,
    bytes: Vec<u8>,
    /// Why it could not be read.
    pub(super) error: Option<Error>,
}

impl Whole {
    pub(super) fn read(target: &dyn Target, object: &Value) -> Whole {
        let mut whole = Whole {
            start: LoadAddr(0),
            bytes: Vec::new(),
            error: None,
        };
        if let (Place::Memory(addr, None), Some(size @ 1..=WHOLE)) =
            (&object.place, object.ty.size())
        {
            whole.start = *addr;
            whole.bytes.resize(size as usize, 0);
            if let Err(error) = target.memory().read(*addr, &mut whole.bytes) {
                whole.bytes.clear();
                whole.error = Some(error.into());
            }
        }
        whole
    }

    /// The value, with its bytes if they are few and were read.
    pub(super) fn fill(&self, mut value: Value) -> Value {
        let (Place::Memory(addr, None), None, Some(size @ 1..=16)) =
            (&value.place, value.bits, value.ty.size())
        else {
            return value;
        };
        let start = (*addr - self.start) as usize;
        let bytes = start
            .checked_add(size as usize)
            .and_then(|end| self.bytes.get(start..end));
        if let Some(bytes) = bytes
            && value.ty.is_simple()
        {
            value.place = Place::Memory(*addr, Some(few(bytes)));
        }
        value
    }
}

fn few(bytes: &[u8]) -> super::place::Few {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    (all, bytes.len() as u8)
}

fn element_children(
    target: &dyn Target,
    row: &Row,
    range: Range<u64>,
) -> Result<Vec<Child>, Error> {
    let start = range.start.min(row.count);
    let end = range
        .end
        .clamp(start, row.count)
        .min(start.saturating_add(MOST));
    let values = row.values(target, start..end)?;
    Ok((start..)
        .zip(values)
        .map(|(index, value)| {
            let name = format!("[{index}]");
            Child {
                path: Some(ChildPath::Suffix(name.clone())),
                name,
                value: Ok(value),
            }
        })
        .collect())
}

/// Elements of a row that starts at `place`.
///
/// # Errors
/// Cancelled.
pub fn elements(
    target: &dyn Target,
    place: &Place,
    element: &Ty,
    range: Range<u64>,
) -> Result<Vec<Value>, Error> {
    let row = Row {
        place: place.clone(),
        element: element.clone(),
        stride: element.size().unwrap_or(0),
        count: range.end,
    };
    row.values(target, range)
}

impl Row {
    /// The elements of a range; simple ones are read a block at a time.
    pub(super) fn values(
        &self,
        target: &dyn Target,
        range: Range<u64>,
    ) -> Result<Vec<Value>, Error> {
        let mut values = Vec::new();
        let size = self.element.size().unwrap_or(0);
        let simple = self.element.is_simple() && (1..=16).contains(&size) && self.stride >= size;
        let per_block = if simple {
            (BLOCK / self.stride).max(1)
        } else {
            CHECK_EVERY
        };
        let mut index = range.start;
        let mut block = Vec::new();
        while index < range.end {
            if target.cancelled() {
                return Err(Error::Cancelled);
            }
            let count = per_block.min(range.end - index);
            let first = self.place.offset(index.wrapping_mul(self.stride));
            block.clear();
            if let (true, Place::Memory(addr, _)) = (simple, &first) {
                block.resize(((count - 1) * self.stride + size) as usize, 0);
                if target.memory().read(*addr, &mut block).is_err() {
                    block.clear();
                }
            }
            for nth in 0..count {
                let skip = nth.wrapping_mul(self.stride);
                let mut place = match &first {
                    Place::Memory(addr, _) => Place::Memory(*addr + skip, None),
                    other => other.offset(skip),
                };
                let bytes = block.get(skip as usize..skip.wrapping_add(size) as usize);
                if let (Place::Memory(_, bytes_read), Some(bytes)) = (&mut place, bytes)
                    && !block.is_empty()
                {
                    *bytes_read = Some(few(bytes));
                }
                values.push(Value::new(self.element.clone(), place));
            }
            index += count;
        }
        Ok(values)
    }
}
