//! Casts within a C++ class hierarchy, which change the address.

use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Target, Ty, Value, ValueLocation, members};
use crate::inspect::visualize;
use dwarf::{LoadAddr, MemberOffset};

/// Maximum number of bases to examine.
const BASES: u32 = 256;

/// Returns the part of an object that is a `to`: a base, or the object that it is a base of.
/// `None`: the classes are unrelated, or only the dynamic type could show the relation and it is
/// unknown.
///
/// # Errors
/// A base is virtual, and the object cannot be read.
pub fn related(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    if let Some(found) = base(target, object, to, &mut (0..BASES))? {
        return Ok(Some(found));
    }
    if let (Shape::Composite(class), Some(addr)) = (to.shape(), object.address())
        && let Some(offset) = offset_in(&class, &object.ty, &mut (0..BASES))
    {
        let addr = LoadAddr(addr.0.wrapping_sub(offset));
        return Ok(Some(Value::new(
            to.clone(),
            ValueLocation::Memory(addr, None),
        )));
    }
    Ok(None)
}

/// Like `dynamic_cast`: returns the part that is a `to` of the whole object.
///
/// # Errors
/// Those of [`related`].
pub fn in_whole(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    let whole = visualize::in_truth(target, object.clone());
    base(target, &whole, to, &mut (0..BASES))
}

fn base(
    target: &dyn Target,
    object: &Value,
    to: &Ty,
    budget: &mut std::ops::Range<u32>,
) -> Result<Option<Value>, Error> {
    if object.ty.same_as(to) {
        return Ok(Some(object.clone()));
    }
    let Shape::Composite(class) = object.ty.shape() else {
        return Ok(None);
    };
    for part in class.composite().map_or(&[][..], |it| &it.bases) {
        if budget.next().is_none() {
            break;
        }
        let inner = members::base(target, object, &class, part);
        match inner.and_then(|inner| base(target, &inner, to, budget)) {
            Ok(None) => {}
            found => return found,
        }
    }
    Ok(None)
}

/// Returns the offset of a non-virtual base in a class.
fn offset_in(class: &DwarfTy, of: &Ty, budget: &mut std::ops::Range<u32>) -> Option<u64> {
    class.composite()?.bases.iter().find_map(|part| {
        budget.next()?;
        let MemberOffset::Bytes(offset) = part.offset else {
            return None;
        };
        if part.is_virtual {
            return None;
        }
        let inner = class.related(part.ty);
        if inner.same_as(of) {
            return Some(offset);
        }
        let Shape::Composite(inner) = inner.shape() else {
            return None;
        };
        Some(offset.wrapping_add(offset_in(&inner, of, budget)?))
    })
}
