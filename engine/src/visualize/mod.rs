//! Types that want to be seen otherwise than member by member.
//!
//! A new one is an `impl Visualizer` and one line in [`REGISTRY`]. A view finds what it needs
//! by member names, never by fixed offsets, and believes nothing it reads.

pub mod libstdcxx;
pub mod rust_std;

use crate::error::Error;
use crate::value::types::DwarfTy;
use crate::value::{Shape, Target, Ty, Value, members};
use dwarf::LoadAddr;

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
    /// Text of units of 1 (UTF-8), 2 or 4 bytes.
    Text {
        /// Its first byte.
        at: LoadAddr,
        /// Bytes.
        len: u64,
        /// Bytes of a unit.
        unit: usize,
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
    /// Something elsewhere that this value stands for.
    Pointee(Value),
    /// It contradicts itself; how.
    Invalid(String),
}

/// All visualizers; the first that matches wins.
static REGISTRY: &[&dyn Visualizer] = &[
    &rust_std::Fat,
    &rust_std::RustString,
    &rust_std::RustVec,
    &rust_std::Counted,
    &libstdcxx::StdString,
    &libstdcxx::StdStringView,
    &libstdcxx::StdVector,
    &libstdcxx::StdArray,
];

/// The visualizer of a type.
pub fn find(ty: &DwarfTy) -> Option<&'static dyn Visualizer> {
    ty.composite()?;
    let name = match ty.ty.name.find('<') {
        Some(0) | None => &*ty.ty.name,
        Some(at) => &ty.ty.name[..at],
    };
    REGISTRY
        .iter()
        .copied()
        .find(|visualizer| visualizer.matches(name, ty))
}

/// What a value is in truth, where its type has a visualizer that understands it.
pub fn view(target: &dyn Target, value: &Value) -> Option<View> {
    match value.ty.shape() {
        Shape::Composite(ty) => ty.visualizer()?.view(target, value).ok(),
        _ => None,
    }
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
