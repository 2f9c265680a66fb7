//! Methods of Rust's library and built-in types: those that only read.

mod cells;
mod enums;
mod floats;
mod from;
mod ints;
mod iterators;
mod maps;
mod rows;
mod texts;
mod times;

pub(super) use from::{Conversion, conversion, converted, parsed};

use super::method::{Class, Row};
use crate::inspect::library::Contents;
use crate::inspect::value::{PointerKind, Shape, Ty};

/// Returns the tables of a class's methods.
pub(super) fn tables(class: &Class) -> Vec<&'static [Row]> {
    let is_own = matches!(class.ty, Ty::Synthetic(_));
    match &*class.name {
        "str" => vec![texts::STR, iterators::OF_STR],
        "String" => vec![texts::STRING, texts::STR, iterators::OF_STR],
        "Chars" if is_own => vec![iterators::CHARS],
        "Bytes" if is_own => vec![iterators::BYTES],
        "Lines" if is_own => vec![iterators::LINES],
        "Iter" if is_own => vec![iterators::ITER],
        "OsString" | "CString" => vec![texts::OS],
        "slice" | "array" => vec![rows::SLICE, iterators::OF_SLICE],
        "Vec" => vec![rows::VEC, rows::SLICE, iterators::OF_SLICE],
        "VecDeque" => vec![rows::DEQUE, rows::ENDS],
        "LinkedList" => vec![rows::ENDS],
        "BinaryHeap" => vec![rows::HEAP],
        "HashMap" => vec![maps::HASHED, maps::MAP],
        "BTreeMap" => vec![maps::SORTED_MAP, maps::MAP],
        "HashSet" => vec![maps::HASHED, maps::SET],
        "BTreeSet" => vec![maps::SORTED_SET, maps::SET],
        "Option" if is_own || has_copied_parts(class) => vec![enums::OPTION, enums::COPY],
        "tuple" if has_copied_parts(class) => vec![enums::COPY],
        "Option" => vec![enums::OPTION],
        "Result" => vec![enums::RESULT],
        "Ordering" => vec![enums::ORDERING],
        "Rc" | "Arc" | "Box" => vec![cells::COUNTED],
        "bool" => vec![enums::BOOL],
        "Weak" => vec![cells::WEAK],
        "Cell" => vec![cells::CELL],
        "RefCell" => vec![cells::REF_CELL],
        "OnceCell" | "OnceLock" => vec![cells::ONCE],
        "Mutex" | "RwLock" => vec![cells::LOCK],
        name if name.starts_with("Atomic") => vec![cells::ATOMIC],
        name if name.starts_with("NonZero") => vec![cells::NON_ZERO],
        "Range" | "RangeInclusive" | "RangeFrom" | "RangeTo" | "RangeToInclusive" => {
            vec![times::RANGE]
        }
        "Duration" => vec![times::DURATION],
        "int" => vec![ints::SAME, ints::OTHER, ints::BYTE],
        "float" => floats::FLOAT.to_vec(),
        "char" => vec![floats::CHAR],
        _ => Vec::new(),
    }
}

/// Returns whether the parts of a class are numbers or shared references, so that a clone is a copy.
fn has_copied_parts(class: &Class) -> bool {
    let is_copied = |ty: &Ty| match ty.shape() {
        Shape::Scalar(_) => true,
        Shape::Pointer(_, PointerKind::Reference) | Shape::Composite(_) => {
            let name = ty.name();
            name.starts_with('&') && !name.starts_with("&mut ")
        }
        _ => false,
    };
    match &class.contents {
        Some(Contents::Tuple(parts)) => parts.iter().all(is_copied),
        Some(Contents::Optional(part)) => is_copied(part),
        _ => false,
    }
}

/// Returns the function of a class that takes the object as its first argument and is no method.
pub(super) fn associated(class: &Class, name: &str) -> Option<&'static Row> {
    let rows = match &*class.name {
        "Rc" | "Arc" => cells::COUNTED_FUNCTIONS,
        _ => return None,
    };
    rows.iter().find(|row| row.name == name)
}

/// Returns the type itself if it is that of a reference, of which a clone is a copy.
fn shared(class: &Class) -> Option<Ty> {
    class.ty.name().starts_with('&').then(|| class.ty.clone())
}

/// Returns `&T` of an element.
fn reference(class: &Class) -> Option<Ty> {
    class.element().cloned().map(Ty::reference)
}

/// Returns `Option<&T>` of an element.
fn option_of_reference(class: &Class) -> Option<Ty> {
    reference(class).map(Ty::option)
}
