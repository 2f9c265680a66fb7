//! `what()` of the standard's exceptions. Debug info mostly declares their classes only.

use super::super::ir::{Call, Callee, Expr, Kind};
use super::super::tree::Node;
use super::Checker;
use super::methods::{behind_pointers, with_object};
use crate::inspect::value::Ty;
use crate::inspect::value::path::Part;
use crate::inspect::value::scalar::Scalar;
use crate::inspect::visualize::standard::exceptions::is_exception;
use dwarf::Language;
use std::sync::Arc;

/// Maximum nesting of bases to search for one of the standard's exceptions.
const BASES: usize = 16;
/// The position of `what` in the virtual table of `std::exception`, behind the two of the destructor (Itanium C++
/// ABI, §2.5.2).
const WHAT: u64 = 2;

impl Checker<'_> {
    /// Checks `object.what()` of a class that inherits it from the standard library: a call of the function that the
    /// object's virtual table has for it. `None`: it is no such call.
    pub(super) fn text_of_exception<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        if name != "what" || !arguments.is_empty() || self.language != Language::Cpp {
            return None;
        }
        let holder = behind_pointers(object.clone());
        let exception = exception_in(holder, node, BASES).filter(Expr::is_place)?;
        let object = with_object(exception, &[], node);
        let call = Call {
            name: name.to_owned(),
            callee: Callee::Slot(WHAT),
            types: object.iter().map(|it| it.ty.clone()).collect(),
            arguments: object,
            language: Language::Cpp,
            node,
            step: 0,
        };
        let char = Ty::Builtin(Scalar::char(self.scope.c_types()), "char");
        let text = char.constant().pointer();
        Some(Expr::new(Kind::Call(Box::new(call)), text, node))
    }
}

/// Returns the part of an object that is one of the standard's exceptions: the object itself, or a base.
fn exception_in<'t>(object: Expr<'t>, node: &'t Node, depth: usize) -> Option<Expr<'t>> {
    if is_exception(&object.ty) {
        return Some(object);
    }
    let Ty::Dwarf(class) = object.ty.strip() else {
        return None;
    };
    let depth = depth.checked_sub(1)?;
    let bases = class.composite()?.bases.len();
    (0..bases).find_map(|index| {
        let part = Part::Base(Arc::clone(&class), index);
        let ty = class.related(part.base()?.ty);
        let base = Expr::new(Kind::Part(Box::new(object.clone()), part), ty, node);
        exception_in(base, node, depth)
    })
}
