//! Ranges of Rust: those of the program, and those that expressions make.

use crate::ids::error::Error;
use crate::inspect::value::{Shape, Synthetic, Target, Ty, Value, members, synthetic};
use dwarf::Language;

/// The ends of a range. `RangeInclusive` has its last element as `end`, `RangeToInclusive` as `last`.
const ENDS: [&str; 3] = ["start", "end", "last"];

/// Returns the kind of a range, `RangeFrom`, and the types of its ends.
pub(super) fn of(ty: &Ty) -> Option<(String, Vec<Ty>)> {
    let kind = |name: &str| {
        let of = name.strip_prefix("core::ops::range::")?;
        let kind = of.split('<').next()?;
        kind.starts_with("Range").then(|| kind.to_owned())
    };
    match ty.shape() {
        Shape::Synthetic(range) => match &*range {
            Synthetic::Range(name, bounds) => {
                Some((kind(name)?, bounds.iter().map(|it| it.1.clone()).collect()))
            }
            _ => None,
        },
        Shape::Composite(class) if class.language() == Language::Rust => {
            let kind = kind(&class.ty.name)?;
            let members = class.composite()?.members.iter();
            let ends = members.filter(|it| ENDS.contains(&&*it.name));
            Some((kind, ends.map(|it| class.related(it.ty)).collect()))
        }
        _ => None,
    }
}

/// Returns the kind of a range, `RangeFrom`; `None`: a type is that of other values.
pub fn kind(ty: &Ty) -> Option<String> {
    of(ty).map(|it| it.0)
}

/// Returns the ends of a range.
///
/// # Errors
/// They cannot be read.
pub(super) fn ends(target: &dyn Target, range: &Value) -> Result<Vec<Value>, Error> {
    if let Some(parts) = synthetic::parts(range) {
        return Ok(parts);
    }
    let mut ends = Vec::new();
    for name in ENDS {
        ends.extend(members::find(target, range, name)?);
    }
    Ok(ends)
}
