//! Objects of C++ as values: conversions that their classes define, and objects that are called.

use super::super::ir::{Expr, Kind};
use super::super::ir_cpp::Cpp;
use super::super::tree::Node;
use super::{Checker, Stop, wrong};
use crate::expr::exact;
use crate::expr::invoke::ResolvedFunction;
use crate::expr::messages;
use crate::expr::overload::{self, Candidate};
use crate::inspect::language::c;
use crate::inspect::library;
use crate::inspect::value::base_path;
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{Shape, Ty, members};
use dwarf::{Language, Method};
use std::cell::RefCell;
use std::sync::Arc;

/// What an object is converted to.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// A condition, which `explicit` conversions to `bool` serve, too.
    Truth,
    /// An operand of an operator.
    Number,
    /// The type of a cast.
    Type(&'a Ty),
}

impl Checker<'_> {
    /// Returns the class of an object of C++ that is not one of a library that is read.
    fn own_class(&self, of: &Expr<'_>) -> Option<Arc<DwarfTy>> {
        match of.ty.shape() {
            Shape::Composite(class) if self.language == Language::Cpp => {
                library::contents(&of.ty).is_none().then_some(class)
            }
            _ => None,
        }
    }

    /// Checks a conversion of an object by a function of its class (ISO C++ [class.conv.fct]);
    /// `step` tells it from the other calls of the node. `None`: the class has none.
    pub(super) fn converted_object<'t>(
        &self,
        of: &Expr<'t>,
        wanted: Wanted<'_>,
        step: u32,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Some(class) = self.own_class(of) else {
            return Ok(None);
        };
        let all = declared(&class, &|it| conversion(it).is_some());
        let is_of = |it: &&Method, ty: &str| conversion(it).is_some_and(|of| is_spelled(of, ty));
        let exact = match wanted {
            Wanted::Truth => all.iter().find(|it| is_of(it, "bool")),
            Wanted::Number => None,
            Wanted::Type(ty) => all.iter().find(|it| is_of(it, &ty.name())),
        };
        let may_be_explicit = matches!(wanted, Wanted::Type(_));
        let mut others = all.iter().filter(|it| {
            let of = conversion(it).unwrap_or_default();
            let is_scalar = of.ends_with('*') || c::builtin(of).is_some();
            is_scalar && (may_be_explicit || !it.is_explicit)
        });
        let chosen = match (exact, others.next(), others.next()) {
            (Some(exact), ..) => exact,
            (None, Some(only), None) => only,
            (None, Some(one), Some(other)) => {
                let (class, one, other) = (of.ty.name(), &one.name, &other.name);
                let message = format!("ambiguous: `{class}` has `{one}` and `{other}`; cast it");
                return Err(wrong(message, &of.span));
            }
            (None, None, _) => return Ok(None),
        };
        match self.member_function(of.clone(), &chosen.name, &[], node)? {
            Some(call) => Ok(Some(self.referent(call.step(step)))),
            None => {
                let (name, class) = (&chosen.name, of.ty.name());
                let message = format!(
                    "no callable `{name}` of `{class}` in the program; use it in the program"
                );
                Err(wrong(message, &of.span))
            }
        }
    }

    /// Checks `object->name` if the program defines an operator for `->`; `None`: it does not.
    pub(super) fn member_behind_arrow<'t>(
        &self,
        of: &Expr<'t>,
        object: &'t Node,
        name: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Cpp || !self.is_arrow(object) {
            return Ok(None);
        }
        let of = self.referent(of.clone());
        let is_arrow = |it: &Method| it.name == "operator->";
        let Some(class) = self.own_class(&of) else {
            return Ok(None);
        };
        if declared(&class, &is_arrow).is_empty() {
            return Ok(None);
        }
        let target = self.behind_arrow(of, node)?;
        let ty = target.ty.clone();
        match self.named_member(target, name, node) {
            // The object itself does not have it either.
            Err(Stop::Needs(_)) => {
                let source = self.source_text(object);
                let message = messages::no_member("member", name, &format!("{source}->"), &ty);
                Err(wrong(message, &node.span))
            }
            found => found.map(Some),
        }
    }

    /// Checks a call of an object: its `operator()`, a lambda, what a `std::function` holds; `None`:
    /// it cannot be called.
    pub(super) fn object_call<'t>(
        &self,
        of: &Expr<'t>,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let of = self.referent(of.clone());
        let Shape::Composite(class) = of.ty.shape() else {
            return Ok(None);
        };
        if self.language != Language::Cpp {
            return Ok(None);
        }
        if members::last_component(&class.ty.name) == "function"
            && let Some(call) = self.std_function_call(&of, arguments, node)?
        {
            return Ok(Some(call));
        }
        let is_call = |it: &Method| it.name.starts_with("operator()");
        if declared(&class, &is_call).is_empty() {
            return Ok(None);
        }
        match self.member_function(of.clone(), "operator()", arguments, node)? {
            Some(call) => Ok(Some(call)),
            None => {
                let class = of.ty.name();
                let message = format!(
                    "no callable `operator()` of `{class}` in the program: all its calls were \
                     inlined, or it has none"
                );
                Err(wrong(message, &node.span))
            }
        }
    }

    /// Checks a call of what libstdc++'s `std::function` holds, by its own invoker; `None`: it is
    /// another library's.
    fn std_function_call<'t>(
        &self,
        of: &Expr<'t>,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let member = |name: &str| match path::find(&of.ty, name) {
            Lookup::Found(parts) => Some(Expr::part(of.clone(), parts, node)),
            _ => None,
        };
        let (Some(invoker), Some(functor), Some(manager)) = (
            member("_M_invoker"),
            member("_M_functor"),
            member("_M_manager"),
        ) else {
            return Ok(None);
        };
        let mut all = vec![functor];
        all.extend_from_slice(arguments);
        let call = self.call_of(invoker, all, None, node)?;
        let ty = call.ty.clone();
        let why = "the `std::function` is empty: a call of it throws";
        let kind = Kind::Cpp(Box::new(Cpp::Guarded(manager, call, why)));
        Ok(Some(Expr::new(kind, ty, node)))
    }

    /// Returns member functions of a class by the symbols that its declaration has: classes without
    /// a name, such as lambdas, are not found by it.
    pub(super) fn by_symbols(&self, class: &Arc<DwarfTy>, name: &str) -> Vec<Candidate> {
        let is_closure = class.composite().is_some_and(|it| it.closure)
            || class.ty.name.is_empty()
            || class.ty.name.contains("lambda");
        if self.language != Language::Cpp || !is_closure {
            return Vec::new();
        }
        let module = class.module();
        let is_meant = |it: &Method| overload::is_named(&it.name, name);
        let methods = module.methods(class.ty.id).into_iter().filter(is_meant);
        let mut found = Vec::new();
        for symbol in methods.filter_map(|it| it.linkage_name) {
            for symbol in module.symbols_named(&symbol) {
                let Some(function) = module.function_at(symbol.addr) else {
                    continue;
                };
                let known = ResolvedFunction {
                    module: Arc::clone(module),
                    bias: class.bias,
                    function,
                    nearness: 0,
                };
                if known.function.entry == symbol.addr && exact::is_member(&known, class).is_ok() {
                    found.push(Candidate::of(known));
                }
            }
        }
        found
    }
}

/// Returns the functions that a class declares, or else those of its first base that has some.
fn declared(class: &Arc<DwarfTy>, is_meant: &dyn Fn(&Method) -> bool) -> Vec<Method> {
    let found = RefCell::new(Vec::new());
    base_path::find(&Ty::Dwarf(Arc::clone(class)), &|ty| {
        let Shape::Composite(class) = ty.shape() else {
            return false;
        };
        let methods = class.module().methods(class.ty.id).into_iter();
        let own: Vec<Method> = methods.filter(|it| is_meant(it)).collect();
        let has_some = !own.is_empty();
        if found.borrow().is_empty() {
            *found.borrow_mut() = own;
        }
        has_some
    });
    found.into_inner()
}

/// Returns the type that a conversion function converts to.
fn conversion(method: &Method) -> Option<&str> {
    let of = method.name.strip_prefix("operator ")?;
    let others = ["new", "delete", "co_await", "\"\""];
    let is_other = others.iter().any(|it| of.starts_with(it));
    (!is_other && !method.deleted).then_some(of)
}

/// Returns whether two names spell one type.
fn is_spelled(a: &str, b: &str) -> bool {
    let plain = |name: &str| name.replace(' ', "");
    match (c::builtin(a), c::builtin(b)) {
        (Some(a), Some(b)) => a.name() == b.name(),
        _ => plain(a) == plain(b),
    }
}
