//! Calls of member functions and operators in the debuggee.

use super::check::cpp_members::split_last;
use super::evaluate::{At, DEREFERENCES, Evaluator, error};
use super::exact::{self, Refusal};
use super::invoke::ResolvedFunction;
use super::tree::{Binary, Node};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty, Value, members};
use crate::inspect::visualize;
use dwarf::{Language, LoadAddr};
use std::sync::Arc;

/// Maximum number of vtable slots to examine.
const VIRTUAL: u64 = 256;
/// Maximum nesting of bases whose functions are examined.
const BASES: usize = 16;

impl Evaluator<'_> {
    /// Calls `object.name(…)`, a function of the object's class or one of its bases.
    pub(super) fn invoke_method(
        &mut self,
        object: &Value,
        name: &str,
        arguments: &[Value],
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        let target = self.context.as_target();
        let mut holder = object.clone();
        for _ in 0..DEREFERENCES {
            match holder.ty.shape() {
                Shape::Pointer(of, _) => holder = holder.pointee(target, of)?,
                _ => break,
            }
        }
        if let Some((scope, name)) = split_last(name).filter(|_| self.language == Language::Cpp) {
            return self.invoke_of_base(&holder, scope, name, arguments, node);
        }
        let mut refused = None;
        let found = self.method_within(&holder, name, arguments, node, &mut refused, BASES)?;
        match (found, refused) {
            (None, Some(why)) => Err(error(why, &node.span)),
            (found, _) => Ok(found),
        }
    }

    fn method_within(
        &mut self,
        holder: &Value,
        name: &str,
        arguments: &[Value],
        node: &Node,
        refused: &mut Option<String>,
        depth: usize,
    ) -> Result<Option<Value>, Error> {
        let Shape::Composite(class) = holder.ty.shape() else {
            return Ok(None);
        };
        if let Some((known, this)) = self.virtual_functions(holder, name) {
            let mut all = vec![this];
            all.extend_from_slice(arguments);
            // The vtable belongs to the dynamic class, so its functions match exactly.
            if let Some(best) = self.best_virtual(&known, name, &all).at(node)? {
                return self.invoke(best, &all, node).map(Some);
            }
        }
        if let Some(found) = self.invoke_thunked(holder, name, arguments, node)? {
            return Ok(Some(found));
        }
        let (own, other) = self.methods_of(&class, name);
        if !own.is_empty() {
            let this = match holder.address() {
                // By reference or by value.
                _ if self.language == Language::Rust => holder.clone(),
                Some(addr) => Value::pointer_to(holder.ty.clone(), addr),
                None => return Err(error("the object is not in memory", &node.span)),
            };
            let mut all = vec![this];
            all.extend_from_slice(arguments);
            return self.invoke_best(&own, Some(&class), name, &all, node);
        }
        if let Some(other) = other {
            refused.get_or_insert_with(|| not_in_program(&class, name, &other));
        }
        let bases = class
            .composite()
            .map(|it| &it.bases[..])
            .unwrap_or_default();
        for base in bases {
            if depth == 0 {
                break;
            }
            let part = members::base(self.context.as_target(), holder, &class, base)?;
            let found = self.method_within(&part, name, arguments, node, refused, depth - 1)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the functions of a name that are members of exactly this class; otherwise the other
    /// type that has a function of this name: another instantiation of the same template.
    pub(super) fn methods_of(
        &self,
        class: &Arc<DwarfTy>,
        name: &str,
    ) -> (Vec<ResolvedFunction>, Option<String>) {
        let whole = &class.ty.name;
        let bare = whole.split('<').next().unwrap_or_default();
        let names = [format!("{whole}::{name}"), format!("{bare}::{name}")];
        let mut other = None;
        for name in names.iter().take(if whole == bare { 1 } else { 2 }) {
            let mut own = Vec::new();
            for known in self.context.functions(name) {
                match exact::is_member(&known, class) {
                    Ok(()) => own.push(known),
                    Err(Refusal::OfAnotherType(of)) => other = other.or(Some(of)),
                    Err(_) => {}
                }
            }
            if !own.is_empty() {
                return (own, None);
            }
        }
        (Vec::new(), other)
    }

    /// Returns the functions of a name in the vtable of an object, and the whole object (Itanium
    /// C++ ABI, §2.5.2). Thunks have no name and are not included.
    fn virtual_functions(
        &self,
        object: &Value,
        name: &str,
    ) -> Option<(Vec<ResolvedFunction>, Value)> {
        let Shape::Composite(ty) = object.ty.shape() else {
            return None;
        };
        if self.language != Language::Cpp || !ty.composite()?.polymorphic {
            return None;
        }
        let target = self.context.as_target();
        let word = |addr| target.memory().read_uint(addr, 8).ok();
        let addr = object.address()?;
        let top = word(LoadAddr(word(addr)?) - 16)?;
        let whole = LoadAddr(addr.0.wrapping_add(top));
        let table = LoadAddr(word(whole)?);
        let class = visualize::in_truth(target, object.clone()).ty;
        let mut known = Vec::new();
        for slot in 0..VIRTUAL {
            let Some(entry) = word(table + slot * 8).map(LoadAddr) else {
                break;
            };
            let Some((module, bias)) = target.module_at(entry) else {
                break;
            };
            let Some(function) = module.function_at(bias.file(entry)) else {
                continue;
            };
            let found = ResolvedFunction {
                module,
                bias,
                function,
                nearness: 0,
            };
            // Another class's vtable may follow.
            if bias.load(found.function.entry) == entry
                && dwarf::name_matches(&found.function.name, name)
                && exact::is_inherited(&found, &class)
            {
                known.push(found);
            }
        }
        let this = Value::pointer_to(object.ty.clone(), whole);
        (!known.is_empty()).then_some((known, this))
    }

    /// Evaluates `a + b` of a class type: its `operator+`, or a free function.
    pub(super) fn invoke_operator(
        &mut self,
        operator: Binary,
        a: &Value,
        b: &Value,
        node: &Node,
    ) -> Result<Option<Value>, Error> {
        if self.language != Language::Cpp {
            return Ok(None);
        }
        let target = self.context.as_target();
        let (a, b) = (a.referent(target)?, b.referent(target)?);
        let class = |value: &Value| match value.ty.shape() {
            Shape::Composite(ty) => Some(ty.ty.name.clone()),
            _ => None,
        };
        if class(&a).is_none() && class(&b).is_none() {
            return Ok(None);
        }
        let name = format!("operator{}", operator.symbol());
        if class(&a).is_some()
            && let Some(value) = self.invoke_method(&a, &name, std::slice::from_ref(&b), node)?
        {
            return Ok(Some(value));
        }
        let mut names = vec![name.clone()];
        for class in [class(&a), class(&b)].into_iter().flatten() {
            if let Some((space, _)) = class.rsplit_once("::") {
                names.push(format!("{space}::{name}"));
            }
        }
        self.invoke_named(&names, &[a, b], node)
    }
}

/// Returns the message for a member function that was never instantiated in the program.
fn not_in_program(class: &Arc<DwarfTy>, name: &str, other: &str) -> String {
    let own = Ty::Dwarf(Arc::clone(class)).name();
    let remedy = match class.ty.name.contains('<') && class.language() == Language::Cpp {
        true => "use it in the program, or instantiate the class there (`template struct …;`)",
        false => "use it in the program",
    };
    format!("no callable `{name}` of `{own}` in the program, only that of `{other}`; {remedy}")
}
