//! Types that want to be seen otherwise than member by member.
//!
//! A new one is an `impl Visualizer` and one line in [`REGISTRY`]. A view finds what it needs
//! by member names, by fixed offsets only where compilers leave out the class, and believes
//! nothing it reads.

pub mod calendar;
pub mod libcxx;
pub mod libstdcxx;
pub mod rust_std;
pub mod standard;

use crate::error::Error;
use crate::value::text::Unit;
use crate::value::types::DwarfTy;
use crate::value::{Shape, Target, Ty, Value, members};
use dwarf::LoadAddr;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;

/// How a type wants to be seen, and indexed and dereferenced in expressions.
pub trait Visualizer: Sync + std::fmt::Debug {
    /// Whether a composite type is of this kind; `name` is its path without generic arguments.
    fn matches(&self, name: &str, ty: &DwarfTy) -> bool;

    /// What a value of the type is in truth; reads no more than its head.
    ///
    /// # Errors
    /// The head cannot be read, or its members are not where they are known to be: the value
    /// is then shown member by member.
    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error>;
}

/// What a value is in truth. One answer serves its text, its children, `[i]` and `*`.
#[derive(Clone, Debug)]
pub enum View {
    /// Text.
    Text {
        /// Its first byte.
        at: LoadAddr,
        /// Bytes.
        len: u64,
        /// What it is made of.
        unit: Unit,
    },
    /// Elements in a row.
    Sequence {
        /// The first one.
        at: LoadAddr,
        /// Their type.
        element: Ty,
        /// How many.
        len: u64,
    },
    /// Elements that lie apart.
    Collection(Collection),
    /// As if these were its members: `Head {a: 1}`, or `Head(1)` where their names are numbers.
    Fields {
        /// What is before the brackets.
        head: String,
        /// Names and values.
        fields: Vec<(String, Value)>,
    },
    /// Something elsewhere that this value stands for.
    Pointee(Value),
    /// The same, with a remark for people: a count of references, the state of a lock.
    Noted(Value, String),
    /// Nothing to open: `None`, `1.5s`.
    Plain(String),
    /// It contradicts itself; how.
    Invalid(String),
}

/// Elements that lie apart: of lists, trees, tables.
#[derive(Clone, Debug)]
pub struct Collection {
    /// How many; what the debuggee says, so anything.
    pub len: u64,
    /// There are more than `len`: the debuggee keeps no number, and they were counted so far.
    pub more: bool,
    /// Whether there are keys, and whether an index means anything.
    pub kind: CollectionKind,
    /// The way to them.
    pub walk: Rc<dyn Walk>,
}

/// What a [`Collection`] is to people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionKind {
    /// Elements have places.
    List,
    /// Elements have none; they are numbered to be told apart.
    Set,
    /// Elements have keys.
    Map,
}

/// An element of a [`Collection`].
#[derive(Clone, Debug)]
pub struct Item {
    /// Of a map.
    pub key: Option<Value>,
    /// The element, or what the key leads to.
    pub value: Value,
}

/// The way through the elements of a [`Collection`].
pub trait Walk: std::fmt::Debug {
    /// Visits the elements in order, all before `start` unseen, until `visit` says so or there
    /// are no more. Whoever visits counts; the walk itself must only not be caught in the
    /// search for one next element.
    ///
    /// # Errors
    /// Memory on the way cannot be read, or makes no sense.
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error>;
}

impl Collection {
    /// Elements before the ones asked for that are walked over at most.
    const FARTHEST: u64 = 1 << 24;
    /// Elements between two looks at whether the client still waits.
    const CHECK_EVERY: u64 = 1024;

    /// How many elements can be asked for; where nobody knows the number, as many as are ever
    /// walked over.
    pub fn reach(&self) -> u64 {
        if self.more { Self::FARTHEST } else { self.len }
    }

    /// How many elements there are.
    ///
    /// # Errors
    /// More than were counted.
    pub fn known_len(&self) -> Result<u64, Error> {
        match self.more {
            true => Err(Error::Unsupported(format!(
                "there are more than {} elements; the program keeps no number of them",
                self.len
            ))),
            false => Ok(self.len),
        }
    }

    /// What the first key that fits leads to.
    ///
    /// # Errors
    /// Cancelled, the way to it cannot be read, or it is not among as many as are walked over.
    pub fn find(
        &self,
        target: &dyn Target,
        fits: impl Fn(&Value) -> bool,
    ) -> Result<Option<Value>, Error> {
        let (mut found, mut cancelled, mut seen) = (None, false, 0);
        let most = self.len.min(Self::FARTHEST);
        self.walk.walk(target, 0, &mut |item| {
            seen += 1;
            cancelled = seen % Self::CHECK_EVERY == 0 && target.cancelled();
            if item.key.as_ref().is_some_and(&fits) {
                found = Some(item.value);
            }
            match cancelled || found.is_some() || seen >= most {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        match found {
            _ if cancelled => Err(Error::Cancelled),
            None if self.len > most && seen >= most => Err(Error::Unsupported(format!(
                "it is not among the first {most} of {} elements; the others are too far away",
                self.len
            ))),
            found => Ok(found),
        }
    }

    /// The elements of a range, as far as there are any; then, where the way was lost, why.
    ///
    /// # Errors
    /// Cancelled.
    pub fn items(
        &self,
        target: &dyn Target,
        range: Range<u64>,
    ) -> Result<(Vec<Item>, Option<Error>), Error> {
        let mut items = Vec::new();
        let end = range.end.min(self.reach());
        if range.start >= end {
            return Ok((items, None));
        }
        if range.start > Self::FARTHEST {
            let error = format!("elements behind {} are too far away", Self::FARTHEST);
            return Ok((items, Some(Error::Unsupported(error))));
        }
        let wanted = end - range.start;
        let mut cancelled = false;
        let outcome = self.walk.walk(target, range.start, &mut |item| {
            items.push(item);
            let seen = items.len() as u64;
            cancelled = seen.is_multiple_of(Self::CHECK_EVERY) && target.cancelled();
            match cancelled || seen >= wanted {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        match outcome {
            Err(Error::Cancelled) => Err(Error::Cancelled),
            _ if cancelled => Err(Error::Cancelled),
            Err(error) => Ok((items, Some(error))),
            Ok(()) if (items.len() as u64) < wanted => {
                let found = range.start + items.len() as u64;
                let error = match self.more {
                    true => format!("it ends before element {found}"),
                    false => format!("{} elements were to be there, {found} are", self.len),
                };
                Ok((items, Some(Error::Unsupported(error))))
            }
            Ok(()) => Ok((items, None)),
        }
    }
}

/// The visualizers of Rust's types; those of C++'s are tables of their own. The first that
/// matches wins.
static REGISTRY: &[&dyn Visualizer] = &[
    &rust_std::Fat,
    &rust_std::Dynamic,
    &rust_std::TEXTS,
    &rust_std::C_STRING,
    &rust_std::VEC,
    &rust_std::DEQUE,
    &rust_std::HEAP,
    &rust_std::LINKED_LIST,
    &rust_std::HASHED,
    &rust_std::SORTED,
    &rust_std::COUNTED,
    &rust_std::WEAK,
    &rust_std::COW,
    &rust_std::TRANSPARENT,
    &rust_std::MAYBE_UNINIT,
    &rust_std::REF_CELL,
    &rust_std::ONCE,
    &rust_std::THREAD_LOCAL,
    &rust_std::LOCKS,
    &rust_std::GUARDS,
    &rust_std::NUMBERS,
    &rust_std::ATOMIC_BOOL,
    &rust_std::RANGES,
    &rust_std::DURATION,
    &rust_std::TIMES,
    &rust_std::ADDRESSES,
    &rust_std::ADDRESS_KINDS,
];

/// The visualizer of a type.
pub fn find(ty: &DwarfTy) -> Option<&'static dyn Visualizer> {
    ty.composite()?;
    let name = match ty.ty.name.find('<') {
        Some(0) | None => &*ty.ty.name,
        Some(at) => &ty.ty.name[..at],
    };
    if let Some(classes) = standard::find(name) {
        return Some(classes);
    }
    REGISTRY
        .iter()
        .copied()
        .find(|visualizer| visualizer.matches(name, ty))
}

/// What a value is in truth, where its type has a visualizer that understands it.
pub fn view(target: &dyn Target, value: &Value) -> Option<View> {
    match value.ty.shape() {
        Shape::Composite(ty) if !value.raw => ty.visualizer()?.view(target, value).ok(),
        _ => None,
    }
}

/// The whole object where a value is the base of one, as its class with virtual functions tells.
pub fn in_truth(target: &dyn Target, value: Value) -> Value {
    standard::callable::whole_object(target, &value).unwrap_or(value)
}

/// A member that must be there.
pub(crate) fn need(target: &dyn Target, value: &Value, path: &[&str]) -> Result<Value, Error> {
    let mut value = value.clone();
    for name in path {
        value = members::find(target, &value, name)?
            .ok_or_else(|| Error::Unsupported(format!("no member `{name}`")))?;
    }
    Ok(value)
}

/// An address or length behind any number of single-member structs.
pub(crate) fn word(target: &dyn Target, value: &Value) -> Result<u64, Error> {
    Ok(value.raw(target)? as u64)
}
