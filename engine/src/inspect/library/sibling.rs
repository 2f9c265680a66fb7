//! Classes of a library that belong together: `std::shared_ptr<T>` and `std::weak_ptr<T>`.

use super::method::Class;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty};

impl Class {
    /// Returns the class of the same module with the same arguments, whose name differs in the part
    /// before them, and whose values have the same size: `Rc<T>` for `Weak<T>`.
    pub fn sibling(&self, own: &str, other: &str) -> Option<Ty> {
        let Shape::Composite(class) = self.ty.shape() else {
            return None;
        };
        let name = &class.ty.name;
        let end = name.find('<').unwrap_or(name.len());
        let path = name[..end].strip_suffix(own)?;
        let name = format!("{path}{other}{}", &name[end..]);
        let ids = class.module().types_named(&name, None);
        let mut types = ids.into_iter().map(|id| class.related(id));
        types.find(|ty| {
            let is_alike = |other: &DwarfTy| have_same_arguments(&class, other);
            ty.size().is_some()
                && ty.size() == self.ty.size()
                && matches!(ty.shape(), Shape::Composite(other) if is_alike(&other))
        })
    }
}

/// Returns whether two instances of templates have the same types as arguments. clang gives classes of
/// functions the same name there.
fn have_same_arguments(a: &DwarfTy, b: &DwarfTy) -> bool {
    let arguments = |of: &DwarfTy| {
        let types = of.composite().map(|it| it.template_types.clone());
        types.unwrap_or_default().into_iter().map(|it| it.1)
    };
    let is_local =
        |ty: &Ty| matches!(ty.strip(), Ty::Dwarf(ty) if ty.module().is_local_type(ty.ty.id));
    let mut pairs = arguments(a).zip(arguments(b));
    pairs.all(|(x, y)| {
        let (x_ty, y_ty) = (a.related_or_void(x), b.related_or_void(y));
        let is_alike = x_ty.same_as(&y_ty) && x_ty.is_const() == y_ty.is_const();
        x == y || is_alike && !is_local(&x_ty) && !is_local(&y_ty)
    })
}
