//! Rust's raw pointers, and functions about the size of values.

use super::super::ir::{Expr, Kind, Overflow};
use super::super::tree::{Binary, Node, Order};
use super::operators::converted;
use super::{Checked, Checker, c, rust, rust_types, scalar, wrong};
use crate::expr::ownership;
use crate::inspect::language::template;
use crate::inspect::library;
use crate::inspect::value::{PointerKind, Shape, Ty, alignment};
use dwarf::Language;

impl Checker<'_> {
    /// Checks `p.add(n)`, `p.is_null()` and the like of a raw pointer; `None` if it is no such call.
    pub(super) fn pointer_method<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        if self.language != Language::Rust {
            return None;
        }
        let Shape::Pointer(to, PointerKind::Raw) = object.ty.shape() else {
            return self.non_null_method(object, name, arguments, node);
        };
        let of = Box::new(object.clone());
        let word = rust::named("usize");
        match (name, arguments) {
            ("add" | "wrapping_add", [by]) => {
                Some(self.moved_pointer(Binary::Add, of, &to, by, &word, node))
            }
            ("sub" | "wrapping_sub", [by]) => {
                Some(self.moved_pointer(Binary::Sub, of, &to, by, &word, node))
            }
            ("offset" | "wrapping_offset", [by]) => {
                let signed = rust::named("isize");
                Some(self.moved_pointer(Binary::Add, of, &to, by, &signed, node))
            }
            ("is_null", []) => {
                let null = Expr::new(Kind::Constant(0), word.clone(), node);
                let address = Box::new(converted(*of, &word));
                let kind = Kind::Compare(Order::Eq, address, Box::new(null));
                Some(Ok(Expr::new(kind, rust::named("bool"), node)))
            }
            ("clone", []) => Some(Ok(Expr::new(Kind::Retyped(of), object.ty.clone(), node))),
            ("addr", []) => Some(Ok(Expr::new(Kind::Convert(of), word, node))),
            ("cast_const", []) => {
                let ty = to.const_pointer();
                Some(Ok(Expr::new(Kind::Retyped(of), ty, node)))
            }
            ("cast_mut", []) => {
                let ty = to.pointer();
                Some(Ok(Expr::new(Kind::Retyped(of), ty, node)))
            }
            _ => None,
        }
    }

    /// Checks `p.as_ptr()`, `p.as_ref()` and `p.as_mut()` of a `NonNull` of a type with a size, whose functions the
    /// compiler inlines; `None` if it is no such call.
    fn non_null_method<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        if !object.ty.name().starts_with(ownership::NON_NULL) || !arguments.is_empty() {
            return None;
        }
        let held = self.named_member(object.clone(), "pointer", node).ok()?;
        let Shape::Pointer(to, PointerKind::Raw) = held.ty.shape() else {
            return None;
        };
        let ty = match name {
            "as_ptr" => to.pointer(),
            "as_ref" => to.reference(),
            "as_mut" => to.mutable_reference(),
            _ => return None,
        };
        Some(Ok(Expr::new(Kind::Retyped(Box::new(held)), ty, node)))
    }

    fn moved_pointer<'t>(
        &self,
        operator: Binary,
        of: Box<Expr<'t>>,
        to: &Ty,
        by: &'t Node,
        wanted: &Ty,
        node: &'t Node,
    ) -> Checked<'t> {
        let by = self.typed(self.check(by)?, wanted)?;
        if !rust_types::same(&by.ty, wanted) {
            return Err(super::rust_made::expected(wanted, &by));
        }
        let Some(size) = to.size() else {
            let why = format!("unknown size of the target of a `{}`", of.ty.name());
            return Err(wrong(why, &of.span));
        };
        let by = converted(by, &c::named("long"));
        let ty = of.ty.clone();
        Ok(Expr::new(
            Kind::Offset(operator, of, Box::new(by), size),
            ty,
            node,
        ))
    }

    /// Checks `size_of::<T>()`, `size_of_val(&x)` and those of the alignment; `None` if the path names
    /// another function.
    pub(super) fn size_function<'t>(
        &self,
        path: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let (head, generic) = match path.split_once('<') {
            Some((head, rest)) => (head.trim_end_matches("::"), rest.strip_suffix('>')),
            None => (path, None),
        };
        let name = ["std::mem::", "core::mem::", "mem::"]
            .iter()
            .find_map(|it| head.strip_prefix(it))
            .unwrap_or(head);
        if self.language != Language::Rust {
            return None;
        }
        let number =
            |value: u64| Expr::new(Kind::Constant(value.into()), rust::named("usize"), node);
        let unknown = |ty: &Ty| wrong(format!("unknown size of `{}`", ty.name()), &node.span);
        match (name, generic, arguments) {
            ("size_of" | "align_of", Some(spelled), []) => {
                let spelled = template::split_arguments(spelled).first()?.trim();
                let Some(ty) = self.type_spelled(spelled) else {
                    let why = crate::expr::messages::unknown_type(spelled);
                    return Some(Err(wrong(why, &node.span)));
                };
                let found = match name {
                    "size_of" => ty.size(),
                    _ => Some(alignment::of(&ty)),
                };
                Some(found.map(number).ok_or_else(|| unknown(&ty)))
            }
            ("size_of_val", None, [of]) => {
                let ty = of.ty.clone();
                if let Some(to) = rust_types::referent(&ty) {
                    return Some(to.size().map(number).ok_or_else(|| unknown(&to)));
                }
                if !rust_types::is_reference(&ty) {
                    let why = format!("expected a reference, found `{}`; write `&`", ty.name());
                    return Some(Err(wrong(why, &of.span)));
                }
                let size = match library::is_text(&ty) {
                    true => Some(1),
                    false => rust_types::element(&ty).and_then(|it| it.size()),
                };
                let len = library::method(&ty, "len", &[]);
                let (Some(size), Some(len)) = (size, len) else {
                    return Some(Err(unknown(&ty)));
                };
                let len = Box::new(Expr::answer(len, vec![of.clone()], node));
                let size = Box::new(number(size));
                let kind = Kind::Arithmetic(Binary::Mul, len, size, Overflow::Fails);
                Some(Ok(Expr::new(kind, rust::named("usize"), node)))
            }
            _ => None,
        }
    }

    /// Returns a comparison of two values of `()`, which are all equal.
    pub(super) fn units<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let is_unit = |of: &Expr<'_>| {
            matches!(of.ty.shape(), Shape::Unit)
                && &*of.ty.name() == "()"
                && scalar(&of.ty).is_none()
        };
        let order = operator.order().filter(|_| is_unit(a) && is_unit(b))?;
        let holds = order.of(std::cmp::Ordering::Equal);
        let ty = rust::named("bool");
        Some(Expr::new(Kind::Constant(u128::from(holds)), ty, node))
    }
}
