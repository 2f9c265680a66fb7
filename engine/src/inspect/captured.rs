//! Places behind references and boxes that closures of Rust have captured: of `*b` where `b` is a `Box<u32>`, the
//! closure's own variable `b` is the `u32`.

use super::library::{self, Contents};
use super::value::path::{self, Lookup};
use super::value::{Shape, Ty};
use dwarf::{LoadBias, Module, Variable};
use std::sync::Arc;

/// Maximum number of dereferences between a variable and what is captured of it.
const DEREFERENCES: usize = 8;

/// Returns how many dereferences the source writes in front of the path of a variable in a closure's body to
/// name what it has captured: 1 for the path `b` above; 0 also if that is not known. `path`: the
/// variable of the function around, and the fields that lead to what is captured.
///
/// Cost: the first time, the functions around the closure are looked up by name.
pub(crate) fn dereferences(
    module: &Arc<Module>,
    bias: LoadBias,
    variable: &Variable,
    path: &[&str],
) -> usize {
    let Some((root, fields)) = path.split_first() else {
        return 0;
    };
    let own = module.captured_reference(variable).or(variable.ty);
    let captured = Ty::of(module, bias, own);
    let origins = module.captured_from(variable, root).into_iter();
    let counts = origins.map(|ty| distance(Ty::dwarf(module, bias, ty), fields, &captured));
    let counts: Option<Vec<usize>> = counts.collect();
    // Instances of a generic function may differ.
    match counts.as_deref() {
        Some([first, others @ ..]) if others.iter().all(|it| it == first) => *first,
        _ => 0,
    }
}

/// Returns the number of dereferences from a field of an object of this type to what is captured.
fn distance(mut ty: Ty, fields: &[&str], captured: &Ty) -> Option<usize> {
    for field in fields {
        let mut objects = std::iter::successors(Some(ty), target).take(DEREFERENCES);
        ty = objects.find_map(|it| match path::find(&it, field) {
            Lookup::Found(parts) => parts.into_iter().next_back().map(|it| it.1),
            _ => None,
        })?;
    }
    let mut targets = std::iter::successors(Some(ty), target).take(DEREFERENCES);
    targets.position(|it| it.same_as(captured))
}

/// Returns the type of `*x` for an `x` of this type, if closures capture that: of references and boxes.
fn target(of: &Ty) -> Option<Ty> {
    match of.shape() {
        Shape::Pointer(to, _) => Some(to),
        _ if of.name().starts_with("alloc::boxed::Box<") => match library::contents(of) {
            Some(Contents::Pointee(to)) => Some(to),
            _ => None,
        },
        _ => None,
    }
}
