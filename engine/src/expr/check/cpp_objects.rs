//! Objects of C++ as values: conversions that their classes define, and objects that are called.

use super::super::ir::{Expr, Kind};
use super::super::ir_cpp::Cpp;
use super::super::tree::{self, Node};
use super::c::promoted_type;
use super::{Checker, Stop, scalar, wrong};
use crate::expr::conversion::{self, Passed};
use crate::expr::exact;
use crate::expr::invoke::ResolvedFunction;
use crate::expr::messages;
use crate::expr::overload::{self, Candidate};
use crate::ids::error::Error;
use crate::inspect::language::c;
use crate::inspect::library;
use crate::inspect::value::base_path;
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::{Language, Method};
use std::cell::RefCell;
use std::sync::Arc;

const EMPTY_FUNCTION: &str = "the `std::function` is empty: a call of it throws";

/// What an object is converted to.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    /// A condition, which `explicit` conversions to `bool` serve, too.
    Truth,
    /// An operand of an operator.
    Number,
    /// The type of a cast.
    Type(&'a Ty),
    /// The type of a parameter.
    Argument(&'a Ty),
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
            Wanted::Argument(ty) => {
                let mut usable = all.iter().filter(|it| !it.is_explicit);
                usable.find(|it| is_of(it, &ty.name()))
            }
        };
        let may_be_explicit = matches!(wanted, Wanted::Type(_));
        let mut others = all.iter().filter(|it| {
            let of = conversion(it).unwrap_or_default();
            let is_scalar = of.ends_with('*') || c::builtin_name(of).is_some();
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

    /// Checks `a && b` and `a || b` if a class of the program defines that operator; `None`: it does
    /// not.
    pub(super) fn logical_operator<'t>(
        &self,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let (a, b) = (self.operand(a.clone()), self.operand(b.clone()));
        if self.own_class(&a).or_else(|| self.own_class(&b)).is_none() {
            return Ok(None);
        }
        let name = match &node.kind {
            tree::Kind::Or(..) => "operator||",
            _ => "operator&&",
        };
        match self.operator_call(name, &[a, b], node) {
            // Each operand is a condition.
            Err(Stop::Wrong(Error::Eval { .. })) => Ok(None),
            found => found,
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

    /// Checks a call of what a `std::function` holds: by libstdc++'s own invoker, or by the virtual
    /// function of libc++'s holder; `None`: it is another library's.
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
            return self.held_function_call(member("__f_"), arguments, node);
        };
        let mut all = vec![functor];
        all.extend(arguments.iter().map(|it| self.copied_scalar(it)));
        let call = self.call_of(invoker, all, None, node)?;
        let ty = call.ty.clone();
        let kind = Kind::Cpp(Box::new(Cpp::Guarded(manager, call, EMPTY_FUNCTION)));
        Ok(Some(Expr::new(kind, ty, node)))
    }

    fn held_function_call<'t>(
        &self,
        holder: Option<Expr<'t>>,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Some(holder) = holder else {
            return Ok(None);
        };
        let Lookup::Found(parts) = path::find(&holder.ty, "__f_") else {
            return Ok(None);
        };
        let held = Expr::part(holder, parts, node);
        let Shape::Pointer(base, PointerKind::Raw) = held.ty.shape() else {
            return Ok(None);
        };
        let all: Vec<Expr<'t>> = arguments.iter().map(|it| self.copied_scalar(it)).collect();
        let object = held.clone().target(base);
        let Some(call) = self.member_function(object, "operator()", &all, node)? else {
            return Ok(None);
        };
        let ty = call.ty.clone();
        let kind = Kind::Cpp(Box::new(Cpp::Guarded(held, call, EMPTY_FUNCTION)));
        Ok(Some(Expr::new(kind, ty, node)))
    }

    /// Returns an argument as a value that is no variable: what a `std::function` holds takes a copy.
    fn copied_scalar<'t>(&self, of: &Expr<'t>) -> Expr<'t> {
        let of = self.decayed(self.referent(of.clone()));
        if !of.is_place() || scalar(&of.ty).is_none() {
            return of;
        }
        let (ty, span) = (of.ty.clone(), of.span.clone());
        Expr {
            kind: Kind::Convert(Box::new(of)),
            ty,
            span,
            open: false,
        }
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
        let mut add = |function| {
            let known = ResolvedFunction {
                module: Arc::clone(module),
                bias: class.bias,
                function,
                nearness: 0,
                is_visible: true,
            };
            if exact::is_member(&known, class).is_ok() {
                found.push(Candidate::of(known));
            }
        };
        let (named, unnamed): (Vec<Method>, Vec<Method>) =
            methods.partition(|it| it.linkage_name.is_some());
        for symbol in named.into_iter().filter_map(|it| it.linkage_name) {
            for symbol in module.symbols_named(&symbol) {
                let function = module.function_at(symbol.addr);
                let whole = function.filter(|it| it.entry == symbol.addr);
                whole.into_iter().for_each(&mut add);
            }
        }
        // gcc writes no symbols of lambdas that other units cannot see.
        if !unnamed.is_empty() {
            module.functions_named(name).into_iter().for_each(add);
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

/// Returns whether a class declares constructors.
pub(crate) fn has_constructors(class: &DwarfTy) -> bool {
    let methods = class.module().methods(class.ty.id);
    methods.iter().any(|it| is_constructor(class, it))
}

fn is_constructor(class: &DwarfTy, method: &Method) -> bool {
    let name = |text: &str| text.split('<').next().unwrap_or_default().to_owned();
    let own = members::last_component(class.ty.name.split('<').next().unwrap_or_default());
    method.written && name(&method.name) == own
}

/// Returns whether a class converts a value implicitly.
pub(crate) fn may_convert(from: &Ty, to: &Ty) -> bool {
    conversion_to(from, to).is_some()
}

/// Returns how far the result of an implicit conversion by a class is from a type: by a function of
/// the value's class, or by a constructor of the other one (ISO C++ [class.conv]).
pub(crate) fn conversion_to(from: &Ty, to: &Ty) -> Option<usize> {
    let is_number = |ty: &Ty| matches!(ty.shape(), Shape::Scalar(_));
    if let Shape::Composite(class) = from.shape()
        && library::contents(from).is_none()
    {
        let types = class.module().c_types();
        let distance = |it: &Method| {
            let of = conversion(it).filter(|_| !it.is_explicit)?;
            match c::builtin(of, types) {
                _ if is_spelled(of, &to.name()) => Some(0),
                Some(of) if is_number(to) => {
                    Some(match exact::same(&promoted_type(&of, types), to) {
                        true => 1,
                        false => 2,
                    })
                }
                _ => None,
            }
        };
        let all = declared(&class, &|it| distance(it).is_some());
        let nearest = all.iter().filter_map(distance).min();
        if nearest.is_some() {
            return nearest;
        }
    }
    let Shape::Composite(class) = to.shape() else {
        return None;
    };
    if library::contents(to).is_some() {
        return None;
    }
    let takes = |it: &Method| match &it.parameters[..] {
        [_, Some(parameter)] if !it.is_explicit && is_constructor(&class, it) => {
            is_standard(from, &class.related(*parameter))
        }
        _ => false,
    };
    let methods = class.module().methods(class.ty.id);
    methods.iter().any(takes).then_some(0)
}

/// Returns whether a class declares an operator that takes an operand, with or without code.
pub(super) fn takes_operand(ty: &Ty, name: &str, operand: &Passed) -> bool {
    let Shape::Composite(class) = ty.shape() else {
        return false;
    };
    let takes = |it: &Method| match &it.parameters[..] {
        [_, Some(parameter)] if it.name == name => {
            conversion::accepts(&class.related(*parameter), operand, Language::Cpp).is_ok()
        }
        _ => false,
    };
    !declared(&class, &takes).is_empty()
}

/// Returns whether a value is converted without the help of a class.
fn is_standard(from: &Ty, to: &Ty) -> bool {
    let to = match exact::reference(to) {
        Some((of, _)) => of,
        None => to.clone(),
    };
    match (from.shape(), to.shape()) {
        (Shape::Scalar(_) | Shape::Enumeration(_), Shape::Scalar(_)) => true,
        (Shape::Pointer(from, _), Shape::Pointer(to, _)) => {
            exact::same(&from, &to) || exact::derives(&from, &to)
        }
        (Shape::Text, Shape::Pointer(of, _)) => of.size() == Some(1),
        _ => exact::same(from, &to) || exact::derives(from, &to),
    }
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
    match (c::builtin_name(a), c::builtin_name(b)) {
        (Some(a), Some(b)) => a == b,
        _ => plain(a) == plain(b),
    }
}
