//! Types of Rust without values, such as `Infallible`: what has such a part never exists. Of an enum with one
//! variant that can exist, the compiler keeps no discriminant.

use super::types::DwarfTy;
use super::{Shape, Ty};
use dwarf::{Variant, VariantPart};

/// Maximum number of types that are examined for a question.
const TYPES: u32 = 256;

/// Returns the only variant of an enum that can exist; `None` if there is none, or the debug info does not
/// say which one of several it is.
pub fn only_variant<'a>(class: &DwarfTy, part: &'a VariantPart) -> Option<&'a Variant> {
    if let [one] = &part.variants[..] {
        return Some(one);
    }
    let budget = &mut TYPES.clone();
    let mut possible = part.variants.iter().filter(|variant| {
        let mut holders = variant.members.iter();
        !holders.any(|it| is_uninhabited(&class.related(it.ty), budget))
    });
    let first = possible.next();
    first.filter(|_| possible.next().is_none())
}

/// Returns whether a type has no values.
fn is_uninhabited(ty: &Ty, budget: &mut u32) -> bool {
    *budget = budget.saturating_sub(1);
    match ty.shape() {
        _ if *budget == 0 => false,
        Shape::Array(array) => array.count != Some(0) && is_uninhabited(&array.element, budget),
        Shape::Composite(class) => {
            let Some(composite) = class.composite() else {
                return false;
            };
            let mut members = composite.members.iter();
            let has_none = |part: &VariantPart, budget: &mut u32| {
                part.variants.iter().all(|variant| {
                    let mut holders = variant.members.iter();
                    holders.any(|it| is_uninhabited(&class.related(it.ty), budget))
                })
            };
            members.any(|it| is_uninhabited(&class.related(it.ty), budget))
                || composite
                    .variants
                    .as_ref()
                    .is_some_and(|it| has_none(it, budget))
        }
        _ => &*ty.name() == "!",
    }
}
