//! Arguments of Rust functions: values typed by their parameters, references to temporaries, and
//! values that only expressions have.

use super::argument::Argument;
use super::check::is_reference;
use super::conversion::{Fit, Rank, Refusal};
use super::evaluate::Evaluator;
use super::exact;
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::{PointerKind, Shape, Synthetic, Ty, Value};
use dwarf::Language;

/// What follows the bytes of a temporary: the number of elements that a slice has.
type Temporary = (Value, Option<u64>);

impl Evaluator<'_> {
    /// Returns what a reference to a temporary refers to, as a parameter takes it.
    fn temporary_for(&self, to: &Ty, argument: &Value) -> Option<Temporary> {
        let of = argument.place.temporary()?;
        if let Shape::Pointer(target, PointerKind::Owned) = to.shape() {
            return exact::same(&target, &of.ty).then(|| ((*of).clone(), None));
        }
        match (library::contents(to), of.ty.shape()) {
            (Some(Contents::Text(..)), Shape::Text) => {
                let len = of.place.literal().ok()?.len() as u64;
                Some(((*of).clone(), Some(len)))
            }
            (Some(Contents::Sequence(element)), Shape::Array(array))
                if exact::same(&element, &array.element) =>
            {
                Some(((*of).clone(), array.count))
            }
            _ => None,
        }
    }

    /// Returns a reference to what the target of a reference dereferences to: `&Box<T>` for `&T`.
    fn coerced(&self, to: &Ty, argument: &Value) -> Option<Value> {
        const STEPS: usize = 8;
        let Shape::Pointer(wanted, PointerKind::Owned) = to.shape() else {
            return None;
        };
        let target = self.context.as_target();
        let mut value = argument.clone();
        for step in 0..STEPS {
            value = match value.ty.shape() {
                Shape::Pointer(of, PointerKind::Owned) => value.pointee(target, of).ok()?,
                _ => match library::contents(&value.ty)? {
                    Contents::Pointee(_) => {
                        match crate::inspect::visualize::view(target, &value)? {
                            crate::inspect::visualize::View::Pointee(next)
                            | crate::inspect::visualize::View::Noted(next, _) => next,
                            _ => return None,
                        }
                    }
                    _ => return None,
                },
            };
            if step > 0 && exact::same(&wanted, &value.ty) {
                return Some(Value::reference_to(wanted, value.address()?));
            }
        }
        None
    }

    /// Converts a value that only expressions have to arguments; `None` if it is of another kind.
    pub(super) fn rust_argument(
        &self,
        value: &Value,
        ty: Option<&Ty>,
    ) -> Result<Option<Vec<Argument>>, Error> {
        let target = self.context.as_target();
        if let Some(to) = ty
            && is_reference(to)
            && is_reference(&value.ty)
        {
            if let Some((of, count)) = self.temporary_for(to, value) {
                if of.place.has_temporary() {
                    return Err(nested());
                }
                let bytes = match &of.ty {
                    Ty::Text => of.place.literal()?,
                    ty if matches!(ty.shape(), Shape::Text) => return Err(own_text(ty)),
                    _ => of.bytes(target)?,
                };
                let mut passed = vec![Argument::copy(bytes.to_vec(), &of.ty)];
                passed.extend(count.map(Argument::word));
                return Ok(Some(passed));
            }
            let is_exact = exact::same(to, &value.ty);
            if !is_exact && let Some(reference) = self.coerced(to, value) {
                return self.argument(&reference, ty, Language::Rust).map(Some);
            }
        }
        if value.place.has_temporary() {
            return Err(nested());
        }
        if let Shape::Text = value.ty.shape() {
            return Err(own_text(&value.ty));
        }
        let is_own = match value.ty.strip() {
            Ty::Synthetic(own) => !matches!(&*own, Synthetic::Text(..)),
            _ => false,
        };
        match ty {
            Some(to)
                if is_own && matches!(to.strip(), Ty::Dwarf(_)) && exact::same(to, &value.ty) =>
            {
                let value = self.conform(value, to)?;
                match value.ty.strip() {
                    Ty::Dwarf(_) => self.argument(&value, ty, Language::Rust).map(Some),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }
}

/// Ranks a reference for a parameter that is one; `None`: by the usual rules.
pub(super) fn accepts_reference(to: &Ty, from: &Ty) -> Option<Result<Rank, Refusal>> {
    const STEPS: usize = 8;
    if !is_reference(to) || !is_reference(from) {
        return None;
    }
    let (wanted, found) = (to.name(), from.name());
    if wanted.starts_with("&mut ") && !found.starts_with("&mut ") {
        return Some(Err(Refusal::Argument(format!(
            "expected `{wanted}`, found `{found}`; write `&mut`"
        ))));
    }
    // `&Box<T>` for `&T`.
    let Shape::Pointer(wanted, PointerKind::Owned) = to.shape() else {
        return None;
    };
    let mut ty = from.clone();
    for step in 0..STEPS {
        ty = match ty.shape() {
            Shape::Pointer(of, PointerKind::Owned) => of,
            _ => match library::contents(&ty)? {
                Contents::Pointee(of) => of,
                _ => return None,
            },
        };
        if step > 0 && exact::same(&wanted, &ty) {
            return Some(Ok(Fit::Standard.into()));
        }
    }
    None
}

fn own_text(ty: &Ty) -> Error {
    Error::eval(format!(
        "cannot pass a `{}` that the expression makes; pass a variable of the program, or a string \
         literal for a `&str`",
        ty.name()
    ))
}

fn nested() -> Error {
    Error::eval(
        "cannot pass a reference to a temporary inside of another value; refer to a variable of the \
         program",
    )
}
