//! Calls of Rust functions that only a value leads to: methods of trait objects by their vtable.

use super::check::{is_code_of, is_trait_object, of_closure};
use super::evaluate::{Evaluator, error, inner};
use super::invoke::ResolvedFunction;
use super::ir;
use super::overload::Candidate;
use super::tree::{Kind, Node};
use crate::ids::error::Error;
use crate::inspect::value::{PointerKind, Shape, Ty, Value, members};
use crate::inspect::visualize::{self, View};
use dwarf::LoadAddr;

/// Slots of a vtable before the methods: drop, size, alignment.
const HEADER: u64 = 3;
/// Maximum number of methods of a vtable.
const METHODS: u64 = 256;
/// Bytes of a slot.
const SLOT: u64 = 8;

/// A trait object: the addresses of its value and of its vtable, and what is behind it.
struct TraitObject {
    data: LoadAddr,
    vtable: LoadAddr,
    held: Option<Ty>,
    /// The trait's name, without its path.
    name: String,
}

impl Evaluator<'_> {
    /// Calls a method of a trait object, or the closure behind one; `None` if the callee leads to
    /// none.
    pub(super) fn call_through(
        &mut self,
        function: &Node,
        arguments: &[Node],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let (of, name) = match &inner(function).kind {
            Kind::Register(_) => return Ok(None),
            Kind::Member(object, name) => (&**object, Some(name)),
            _ => (function, None),
        };
        let value = self.evaluate(of)?;
        let Some(object) = self.trait_object(&value)? else {
            return Ok(None);
        };
        let known = self.methods_in(&object);
        let known = match name {
            Some(name) => {
                let named = |it: &ResolvedFunction| last_name(&it.function.name) == name;
                known.into_iter().find(named).map(Candidate::of)
            }
            None => self.closure_in(&object, known),
        };
        let Some(known) = known else {
            let why = match name {
                Some(name) => {
                    format!("no method `{name}` in the vtable of `{}`", value.ty.name())
                }
                None => "cannot call what is behind this: no closure with debug info".to_owned(),
            };
            return Err(error(why, &node.span));
        };
        let first = match known.types.first().map(|it| (it.clone(), it.shape())) {
            Some((ty, Shape::Pointer(..))) => ty,
            _ => {
                let why = format!(
                    "cannot call `{}`: it does not take a reference to its object",
                    known.name
                );
                return Err(error(why, &node.span));
            }
        };
        let typed = known.name.clone();
        let known = [known];
        let found = self.evaluate_checked(|checker| {
            let address = ir::Kind::Constant(u128::from(object.data.0));
            let mut all = vec![ir::Expr::new(address, first.clone(), node)];
            all.extend(checker.arguments(arguments)?);
            let call = checker.best_call(&known, true, &typed, all, node)?;
            call.ok_or(super::check::Stop::Needs(node))
        })?;
        Ok(Some(found))
    }

    /// Returns the code of the closure behind a trait object: the last method, `call` or `call_mut`.
    fn closure_in(
        &self,
        object: &TraitObject,
        mut known: Vec<ResolvedFunction>,
    ) -> Option<Candidate> {
        let is_callable = ["Fn<", "FnMut<"]
            .iter()
            .any(|it| object.name.starts_with(it));
        let last = known.pop().filter(|_| is_callable)?;
        let held = object.held.as_ref()?;
        let Shape::Composite(class) = held.shape() else {
            return None;
        };
        let is_code = last_name(&last.function.name).starts_with("{closure#");
        (is_code && is_code_of(&last, &class)).then(|| of_closure(last, held))
    }

    /// Returns the trait object that a value is, through references.
    fn trait_object(&self, value: &Value) -> Result<Option<TraitObject>, Error> {
        let target = self.context.as_target();
        if !is_trait_object(&value.ty) {
            return Ok(None);
        }
        let mut value = value.clone();
        while let Shape::Pointer(of, PointerKind::Owned) = value.ty.shape() {
            value = value.pointee(target, of)?;
        }
        let (Some(pointer), Some(vtable)) = (
            members::find(target, &value, "pointer")?,
            members::find(target, &value, "vtable")?,
        ) else {
            return Ok(None);
        };
        let held = match visualize::view(target, &value) {
            Some(View::Pointee(held)) => Some(held.ty),
            // The object of a wrapper, such as `RefCell<dyn Trait>`, has no methods of the trait.
            Some(View::Noted(..)) => return Ok(None),
            _ => None,
        };
        let name = value.ty.name();
        let of = name.split_once("dyn ").map_or("", |(_, of)| of);
        let head = of.split('<').next().unwrap_or_default();
        let path = head.rsplit_once("::").map_or(0, |(path, _)| path.len() + 2);
        Ok(Some(TraitObject {
            data: LoadAddr(pointer.raw(target)? as u64),
            vtable: LoadAddr(vtable.raw(target)? as u64),
            held,
            name: of.get(path..).unwrap_or_default().to_owned(),
        }))
    }

    /// Returns the functions in the vtable of a trait object.
    fn methods_in(&self, object: &TraitObject) -> Vec<ResolvedFunction> {
        let target = self.context.as_target();
        let mut known = Vec::new();
        for slot in HEADER..HEADER + METHODS {
            let at = object.vtable + slot * SLOT;
            let Ok(entry) = target.memory().read_uint(at, 8) else {
                break;
            };
            let entry = LoadAddr(entry);
            let Some((module, bias)) = target.module_at(entry) else {
                break;
            };
            let Some(function) = module.function_at(bias.file(entry)) else {
                break;
            };
            // Another vtable or other data may follow.
            if bias.load(function.entry) != entry || last_name(&function.name) == "drop_in_place" {
                break;
            }
            known.push(ResolvedFunction {
                module,
                bias,
                function,
                nearness: 0,
                is_visible: true,
            });
        }
        known
    }
}

/// Returns the last component of a function's name, without generic arguments.
fn last_name(name: &str) -> &str {
    let (mut depth, mut start, mut end) = (0usize, 0, name.len());
    for (at, byte) in name.bytes().enumerate() {
        match byte {
            b'<' => {
                if depth == 0 {
                    end = at;
                }
                depth += 1;
            }
            b'>' => depth = depth.saturating_sub(1),
            b':' if depth == 0 => {
                start = at + 1;
                end = name.len();
            }
            _ => {}
        }
    }
    name.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::last_name;

    #[test]
    fn last_names_without_arguments() {
        for (name, expected) in [
            ("p::{impl#2}::id", "id"),
            ("p::Tr::twice<p::P>", "twice"),
            ("p::main::{closure#0}", "{closure#0}"),
            ("id", "id"),
            ("<p::Q as p::Tr>::id", "id"),
            ("core::ptr::drop_in_place<a::b<c>>", "drop_in_place"),
        ] {
            assert_eq!(last_name(name), expected, "{name}");
        }
    }
}
