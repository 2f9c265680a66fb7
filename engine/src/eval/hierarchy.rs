//! Casts among the classes of a hierarchy of C++: they lead to another address.

use crate::error::Error;
use crate::value::types::DwarfTy;
use crate::value::{Place, Shape, Target, Ty, Value, members};
use crate::visualize;
use dwarf::{LoadAddr, MemberOffset};

/// Classes within a class that are looked at.
const BASES: u32 = 256;

/// The part of an object that is a `to`: a base, or the object that it is a base of. `None`:
/// the classes have nothing to do with each other, or only the object could tell and does not.
///
/// # Errors
/// The object is needed to find a virtual base, and cannot be read.
pub fn related(target: &dyn Target, object: &Value, to: &Ty) -> Result<Option<Value>, Error> {
    if let Some(found) = base(target, object, to, &mut (0..BASES))? {
        return Ok(Some(found));
    }
    if let (Shape::Composite(class), Some(addr)) = (to.shape(), object.address())
        && let Some(offset) = offset_in(&class, &object.ty, &mut (0..BASES))
    {
        let addr = LoadAddr(addr.0.wrapping_sub(offset));
        return Ok(Some(Value::new(to.clone(), Place::Memory(addr, None))));
    }
    Ok(None)
}

/// As `dynamic_cast` has it: the part that is a `to` of the whole that the object belongs to.
///
/// # Errors
/// As [`related`].
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

/// Where a base lies in a class, virtual ones left out.
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
