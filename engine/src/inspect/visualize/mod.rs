//! Visualizers: types that are not shown member by member.
//!
//! To add one, write an `impl Visualizer` and add a line to [`REGISTRY`]. A view finds its data by
//! member names, by fixed offsets only if compilers omit the class, and validates everything that
//! it reads.

pub mod calendar;
pub mod libcxx;
pub mod libstdcxx;
pub mod objc;
pub mod rust_std;
pub mod standard;
pub mod swift;

use crate::ids::error::Error;
use crate::inspect::dynamic_class;
use crate::inspect::value::synthetic;
use crate::inspect::value::text::Unit;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value, members};
use dwarf::LoadAddr;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;

/// The presentation of a type, which also defines indexing and dereferencing in expressions.
pub trait Visualizer: Sync + std::fmt::Debug {
    /// Returns whether a composite type is of this kind; `name` is its path without generic
    /// arguments.
    fn matches(&self, name: &str, ty: &DwarfTy) -> bool;

    /// Returns the view of a value of the type; reads no more than its head.
    ///
    /// # Errors
    /// The head cannot be read, or has not the expected members: the value is then shown member by
    /// member.
    fn view(&self, target: &dyn Target, value: &Value) -> Result<View, Error>;
}

/// The logical contents of a value, used for its text, its children, `[i]` and `*`.
#[derive(Clone, Debug)]
pub enum View {
    /// A string.
    Text {
        /// Address of its first byte.
        at: LoadAddr,
        /// Length in bytes.
        len: u64,
        /// Encoding.
        unit: Unit,
    },
    /// Contiguous elements.
    Sequence {
        /// Address of the first one.
        at: LoadAddr,
        /// Their type.
        element: Ty,
        /// Number of elements.
        len: u64,
    },
    /// Elements that are not contiguous.
    Collection(Collection),
    /// Named parts: `Head {a: 1}`, or `Head(1)` if their names are numbers.
    Fields {
        /// Text before the brackets.
        head: String,
        /// Names and values.
        fields: Vec<(String, Value)>,
    },
    /// The value that a pointer or wrapper stands for, of the type that it is declared with: an
    /// expression uses it as such. What is shown is the whole object ([`in_truth`]).
    Pointee(Value),
    /// The same, with a remark: a reference count, the state of a lock.
    Noted(Value, String),
    /// A text without children: `None`, `1.5s`.
    Plain(String),
    /// An inconsistent value: the reason.
    Invalid(String),
}

/// Elements that are not contiguous: of lists, trees, tables.
#[derive(Clone, Debug)]
pub struct Collection {
    /// Number of elements according to the debuggee; may be garbage.
    pub len: u64,
    /// Whether there are more than `len`: the debuggee stores no number, and the count was cut off.
    pub more: bool,
    /// Whether there are keys, and whether an index is meaningful.
    pub kind: CollectionKind,
    /// The iteration over the elements.
    pub walk: Rc<dyn Walk>,
}

/// The kind of a [`Collection`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectionKind {
    /// Elements have positions.
    List,
    /// Elements have no positions; they are numbered to distinguish them.
    Set,
    /// Elements have keys.
    Map,
}

/// An element of a [`Collection`].
#[derive(Clone, Debug)]
pub struct Item {
    /// The key, in a map.
    pub key: Option<Value>,
    /// The element, or the value of the key.
    pub value: Value,
}

/// Iteration over the elements of a [`Collection`].
pub trait Walk: std::fmt::Debug {
    /// Visits the elements in order from `start` on, until `visit` breaks or there are no more. The
    /// visitor limits the number of elements; the walk only limits the search for the next one.
    ///
    /// # Errors
    /// Memory on the way cannot be read, or is inconsistent.
    fn walk(
        &self,
        target: &dyn Target,
        start: u64,
        visit: &mut dyn FnMut(Item) -> ControlFlow<()>,
    ) -> Result<(), Error>;
}

impl Collection {
    /// Maximum number of elements to walk.
    const FARTHEST: u64 = 1 << 24;
    /// Elements between checks of the cancel flag.
    const CHECK_EVERY: u64 = 1024;

    /// Returns the number of elements that can be requested; the maximum of a walk if the length is
    /// unknown.
    pub fn reach(&self) -> u64 {
        if self.more { Self::FARTHEST } else { self.len }
    }

    /// Returns the number of elements.
    ///
    /// # Errors
    /// There are more than were counted.
    pub fn known_len(&self) -> Result<u64, Error> {
        match self.more {
            true => Err(Error::Unsupported(format!(
                "more than {} elements; the container does not store its length",
                self.len
            ))),
            false => Ok(self.len),
        }
    }

    /// Returns the value of the first key that matches.
    ///
    /// # Errors
    /// Cancelled; the elements cannot be read; the key is not among those that can be walked.
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
                "not found among the first {most} of {} elements",
                self.len
            ))),
            found => Ok(found),
        }
    }

    /// Returns the elements of a range; if the walk failed, those before, and the error.
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
            let error = format!("elements after {} cannot be reached", Self::FARTHEST);
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
                    true => format!("the container ends before element {found}"),
                    false => format!("expected {} elements, found {found}", self.len),
                };
                Ok((items, Some(Error::Unsupported(error))))
            }
            Ok(()) => Ok((items, None)),
        }
    }
}

/// The visualizers of Rust's types and Swift's; those of C++ are in tables of their own. The first match wins.
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
    &swift::Swift,
];

/// Returns the visualizer of a type.
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

/// Returns the view of a value; `None` if its type has no visualizer, or the visualizer failed.
pub fn view(target: &dyn Target, value: &Value) -> Option<View> {
    if let Some(of) = value.place.temporary()
        && value.ty.name().starts_with('&')
    {
        return Some(View::Pointee((*of).clone()));
    }
    match value.ty.shape() {
        Shape::Composite(ty) if !value.raw => ty.visualizer()?.view(target, value).ok(),
        Shape::Synthetic(ty) => synthetic::view(target, value, &ty).ok(),
        _ => None,
    }
}

/// Returns the whole object of a base, as determined by its vtable or its class in Objective-C; else
/// the value.
pub fn in_truth(target: &dyn Target, value: Value) -> Value {
    dynamic_class::other(target, &value)
        .or_else(|| objc::whole_object(target, &value))
        .unwrap_or(value)
}

/// Returns a member that must exist.
pub(crate) fn need(target: &dyn Target, value: &Value, path: &[&str]) -> Result<Value, Error> {
    let mut value = value.clone();
    for name in path {
        value = members::find(target, &value, name)?
            .ok_or_else(|| Error::Unsupported(format!("no member `{name}`")))?;
    }
    Ok(value)
}

/// Returns an address or length.
pub(crate) fn word(target: &dyn Target, value: &Value) -> Result<u64, Error> {
    Ok(value.raw(target)? as u64)
}
