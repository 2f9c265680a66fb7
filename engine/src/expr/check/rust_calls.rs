//! Calls of Rust functions that a type leads to: methods that only a trait defines, operators,
//! closures, and the program's own `Deref`.

use super::super::ir::{Expr, Kind};
use super::super::made::{Match, MatchArm, Test};
use super::super::tree::{Binary, Node, Order, Unary};
use super::places::is_wide;
use super::rust_made::Access;
use super::{Checker, Stop, rust, rust_types, scalar, wrong};
use crate::expr::evaluate::DEREFERENCES;
use crate::expr::exact;
use crate::expr::invoke::ResolvedFunction;
use crate::expr::overload::{Candidate, parameters};
use crate::expr::overload_rust;
use crate::expr::ownership;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::path::{self, Lookup};
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::{Language, VariableKind};
use std::sync::Arc;

impl Checker<'_> {
    /// Checks `object.name(…)` of what the program's own `Deref` leads to, and of methods that only a
    /// trait defines; `None` if there is none.
    pub(super) fn rust_method<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Rust {
            return Ok(None);
        }
        // Its vtable knows the functions.
        if is_trait_object(&object.ty) {
            return Err(Stop::Needs(node));
        }
        let mut of = object.clone();
        for nth in 1..=DEREFERENCES {
            if let Some(call) = self.trait_method(&of, name, arguments, node)? {
                return Ok(Some(call));
            }
            if let Some(call) = self.wide_method(&of, name, arguments, node)? {
                return Ok(Some(call));
            }
            of = match self.own_deref(&of, nth, node)? {
                Some(next) => next,
                None => match behind_library(&of, node) {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
            if let Some(call) = self.member_function(of.clone(), name, arguments, node)? {
                return Ok(Some(call));
            }
        }
        Ok(None)
    }

    /// Checks a method of a struct without a size (`struct Secret([u8])`), which takes the reference with its length.
    fn wide_method<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let holder = behind_references(object);
        let holder = match holder.ty.unsized_reference() {
            Some(_) => self.reference_to(holder, Access::Shared, node),
            None => holder,
        };
        let Some(Contents::Pointee(to)) = library::contents(&holder.ty) else {
            return Ok(None);
        };
        let Some(class) = exact::with_functions(&to).filter(|_| is_wide(&holder.ty)) else {
            return Ok(None);
        };
        let (mut own, _) = self.functions_of(&class, name)?;
        own.retain(|it| it.types.first().is_some_and(is_wide));
        let Some(reference) = own.first().and_then(|it| it.types.first()).cloned() else {
            return Ok(None);
        };
        // A reference and a box of one object have the same parts.
        let receiver = Expr::new(Kind::Retyped(Box::new(holder)), reference, node);
        self.best_call(&own, true, name, [&[receiver], arguments].concat(), node)
    }

    fn trait_method<'t>(
        &self,
        object: &Expr<'t>,
        name: &str,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let holder = behind_references(object);
        let Some(class) = exact::with_functions(&holder.ty) else {
            return Ok(None);
        };
        let known = trait_functions(&class, name);
        let entry = |it: &ResolvedFunction| it.bias.load(it.function.entry);
        let is_other = |a: &ResolvedFunction, b: &ResolvedFunction| {
            entry(a) != entry(b) && !overload_rust::are_copies(a, b)
        };
        if let Some(first) = known.first()
            && let Some(other) = known.iter().find(|it| is_other(it, first))
        {
            let (one, other) = (&first.function.name, &other.function.name);
            let why = format!(
                "ambiguous call: candidates are `{one}` and `{other}`; write `<T as Trait>::{name}(…)`"
            );
            return Err(wrong(why, &node.span));
        }
        let Some(known) = known.into_iter().next() else {
            return Ok(None);
        };
        let mut all = vec![holder];
        all.extend_from_slice(arguments);
        // The instance for this type, whatever its name says.
        let typed = known.function.name.clone();
        self.best_call(&[Candidate::of(known)], true, &typed, all, node)
    }

    /// Dereferences an object by the program's own `Deref`, for the `nth` time at this node; `None`
    /// if it has none.
    pub(super) fn own_deref<'t>(
        &self,
        object: &Expr<'t>,
        nth: usize,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let holder = behind_references(object);
        let Shape::Composite(class) = holder.ty.shape() else {
            return Ok(None);
        };
        // What the standard library's types refer to is read.
        if self.language != Language::Rust || library::contents(&holder.ty).is_some() {
            return Ok(None);
        }
        let Some(known) = trait_functions(&class, "deref").into_iter().next() else {
            return Ok(None);
        };
        let typed = known.function.name.clone();
        let known = [Candidate::of(known)];
        let Some(mut call) = self.best_call(&known, true, &typed, vec![holder], node)? else {
            return Ok(None);
        };
        call = call.step(nth as u32);
        Ok(Some(match call.ty.shape() {
            Shape::Pointer(to, PointerKind::Owned) => call.target(to),
            _ => call,
        }))
    }

    /// Checks a member of what the program's own `Deref` leads to; `None` if there is none.
    pub(super) fn member_behind_deref<'t>(
        &self,
        mut of: Expr<'t>,
        name: &str,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        for nth in 1..=DEREFERENCES {
            match self.own_deref(&of, nth, node)? {
                Some(next) => of = next,
                None => break,
            }
            if let Ok(found) = self.named_member(of.clone(), name, node) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Checks an operator of a type of the program, by the function of the operator's trait.
    pub(super) fn rust_operator<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Rust {
            return Ok(None);
        }
        if let Some(order) = operator.order()
            && let Some(compared) = self.rust_order(order, a, b, node)?
        {
            return Ok(Some(compared));
        }
        let name = match operator {
            Binary::Eq | Binary::Ne => "eq",
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Rem => "rem",
            Binary::BitAnd => "bitand",
            Binary::BitOr => "bitor",
            Binary::BitXor => "bitxor",
            Binary::Shl => "shl",
            Binary::Shr => "shr",
            _ => return Ok(None),
        };
        let call = self.operator_function(name, a, b, node)?;
        Ok(call.map(|call| match operator {
            Binary::Ne => Expr::new(Kind::Not(Box::new(call)), self.truth_type(), node),
            _ => call,
        }))
    }

    /// Checks a call of the function of an operator's trait.
    fn operator_function<'t>(
        &self,
        name: &str,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let Shape::Composite(class) = a.ty.shape() else {
            return Ok(None);
        };
        let by_reference = ["eq", "partial_cmp", "lt", "le", "gt", "ge", "index"];
        let is_by_reference = by_reference.contains(&name);
        let fits = |ty: &Ty| exact::same(ty, &b.ty) || b.open && rust::may_become(&b.ty, ty);
        let may_be_made = |ty: &Ty| {
            let made = || self.typed(b.clone(), ty);
            b.open && scalar(&b.ty).is_none() && made().is_ok_and(|it| rust_types::same(&it.ty, ty))
        };
        let operand = |it: &ResolvedFunction| match &parameters(it)[..] {
            // Comparisons and indexes take their operand by reference.
            [_, other] if is_by_reference && rust_types::is_reference(other) => {
                Some(behind(other)).filter(fits)
            }
            [_, other] => Some(other.clone()).filter(|ty| fits(ty) || may_be_made(ty)),
            _ => None,
        };
        let known = trait_functions(&class, name).into_iter();
        let fitting = known.filter_map(|it| Some((operand(&it)?, it)));
        let Some((ty, known)) = function_for(fitting.collect(), &b.ty) else {
            return Ok(None);
        };
        let typed = known.function.name.clone();
        let b = match b.open {
            true => self.typed(b.clone(), &ty)?,
            false => b.clone(),
        };
        let operands = vec![a.clone(), b];
        self.best_call(&[Candidate::of(known)], true, &typed, operands, node)
    }

    /// Checks `a < b` of a type of the program: by its own function, or by `partial_cmp`, as the
    /// trait does by default.
    fn rust_order<'t>(
        &self,
        order: Order,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let (name, fitting): (_, &[&str]) = match order {
            Order::Lt => ("lt", &["Less"]),
            Order::Le => ("le", &["Less", "Equal"]),
            Order::Gt => ("gt", &["Greater"]),
            Order::Ge => ("ge", &["Greater", "Equal"]),
            Order::Eq | Order::Ne => return Ok(None),
        };
        if let Some(call) = self.operator_function(name, a, b, node)? {
            return Ok(Some(call));
        }
        let Some(of) = self.operator_function("partial_cmp", a, b, node)? else {
            return Ok(None);
        };
        let is_one = |name: &&str| Test::Variant((*name).to_owned(), Vec::new());
        let fits = Test::Any(fitting.iter().map(is_one).collect());
        let test = Test::Variant("Some".to_owned(), vec![("0".to_owned(), fits)]);
        let arm = |test, span, holds: bool| MatchArm {
            test,
            span,
            bound: Vec::new(),
            guard: None,
            body: Expr::new(Kind::Constant(u128::from(holds)), self.truth_type(), node),
        };
        let arms = vec![
            arm(test, a.span.start..node.span.end, true),
            arm(Test::Always, b.span.start..node.span.end, false),
        ];
        let kind = Kind::Match(Box::new(Match { of, arms }));
        Ok(Some(Expr::new(kind, self.truth_type(), node)))
    }

    /// Checks `-x` and `!x` of a type of the program.
    pub(super) fn rust_unary_operator<'t>(
        &self,
        operator: Unary,
        of: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let name = match operator {
            _ if self.language != Language::Rust => return Ok(None),
            Unary::Minus => "neg",
            Unary::Not => "not",
            Unary::Plus | Unary::Complement => return Ok(None),
        };
        let Shape::Composite(class) = of.ty.shape() else {
            return Ok(None);
        };
        let Some(known) = trait_functions(&class, name).into_iter().next() else {
            return Ok(None);
        };
        let typed = known.function.name.clone();
        self.best_call(
            &[Candidate::of(known)],
            true,
            &typed,
            vec![of.clone()],
            node,
        )
    }

    /// Checks `a[b]` of a type of the program with its own `Index`.
    pub(super) fn rust_index<'t>(
        &self,
        of: &Expr<'t>,
        by: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Rust {
            return Ok(None);
        }
        let call = self.operator_function("index", of, by, node)?;
        Ok(call.map(|call| match call.ty.shape() {
            Shape::Pointer(to, PointerKind::Owned) => call.target(to),
            _ if rust_types::is_reference(&call.ty) => {
                let ty = call.ty.clone().unsized_target();
                Expr::new(Kind::Retyped(Box::new(call)), ty, node)
            }
            _ => call,
        }))
    }

    /// Checks a call of a closure; `None` if the callee is none.
    pub(super) fn closure_call<'t>(
        &self,
        callee: &Expr<'t>,
        arguments: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        if self.language != Language::Rust {
            return Ok(None);
        }
        if is_trait_object(&callee.ty) {
            return Err(Stop::Needs(node));
        }
        let holder = behind_references(callee);
        let Shape::Composite(class) = holder.ty.shape() else {
            return Ok(None);
        };
        if !class.ty.name.contains("{closure_env#") {
            return Ok(None);
        }
        let path = class.ty.name.replacen("{closure_env#", "{closure#", 1);
        let known = self.scope.functions(&path).map_err(Stop::Wrong)?;
        let Some(known) = known.into_iter().find(|it| is_code_of(it, &class)) else {
            let why = "no callable code of this closure in the program: it may exist only inlined";
            return Err(wrong(why, &node.span));
        };
        if ownership::may_move(&holder.ty).is_err() {
            let why =
                "cannot call a closure that owns what it has captured: the call may consume it";
            return Err(wrong(why, &node.span));
        }
        let known = of_closure(known, &holder.ty);
        let mut all = vec![self.reference_to(holder, Access::Shared, node)];
        all.extend_from_slice(arguments);
        let typed = known.name.clone();
        self.best_call(&[known], true, &typed, all, node)
    }
}

/// Returns the code of a closure as a function that takes the environment first.
pub(crate) fn of_closure(known: ResolvedFunction, env: &Ty) -> Candidate {
    let mut known = Candidate::of(known);
    let takes_it = known
        .types
        .first()
        .is_some_and(|ty| exact::same(&behind(ty), env));
    if !takes_it {
        known.types.insert(0, Ty::Void);
    }
    // `&mut` or `&`: the call may change what is captured, and passes the address in any case.
    if let Some(first) = known.types.first_mut() {
        *first = env.clone().reference();
    }
    known
}

/// Returns whether a function is the code of a closure with this environment: it takes the environment,
/// or, as rustc describes that, has what is captured as variables.
pub(crate) fn is_code_of(known: &ResolvedFunction, class: &Arc<DwarfTy>) -> bool {
    let env = Ty::Dwarf(Arc::clone(class));
    let first = parameters(known).into_iter().next();
    if first.is_some_and(|ty| exact::same(&behind(&ty), &env)) {
        return true;
    }
    let captured = class.composite().map(|it| &it.members[..]);
    let captured = captured.unwrap_or_default();
    let is_variable = |name: &str| {
        let mut variables = known.function.scope.variables.iter();
        variables.any(|it| it.name == name && it.kind != VariableKind::Parameter)
    };
    let name = |it: &dwarf::Member| {
        let shown = members::shown_name(class, &it.name);
        shown.strip_prefix("_ref__").unwrap_or(shown).to_owned()
    };
    !captured.is_empty() && captured.iter().all(|it| is_variable(&name(it)))
}

/// Returns the functions of a name whose `self` is of a class, but which are no members of it.
fn trait_functions(class: &Arc<DwarfTy>, name: &str) -> Vec<ResolvedFunction> {
    let named = class.module().functions_named(name).into_iter();
    let resolved = named.map(|function| ResolvedFunction {
        module: class.module().clone(),
        bias: class.bias,
        function,
        nearness: 0,
        is_visible: true,
    });
    let is_of_trait = |it: &ResolvedFunction| {
        let mut variables = it.function.scope.variables.iter();
        let first = variables.find(|it| it.kind == VariableKind::Parameter);
        it.function.language == Language::Rust
            && it.module.class_of(&it.function).is_none()
            && first.is_some_and(|it| it.name == "self")
            && exact::is_member(it, class).is_ok()
    };
    resolved.filter(is_of_trait).collect()
}

/// Chooses among the functions of an operator, each with the type of its operand: the function with the
/// operand's own type, or else the only function.
fn function_for(
    mut fitting: Vec<(Ty, ResolvedFunction)>,
    operand: &Ty,
) -> Option<(Ty, ResolvedFunction)> {
    if let Some(at) = fitting.iter().position(|it| exact::same(&it.0, operand)) {
        return Some(fitting.swap_remove(at));
    }
    let first = fitting.first()?.0.clone();
    let is_one = fitting.iter().all(|it| exact::same(&it.0, &first));
    fitting.into_iter().next().filter(|_| is_one)
}

/// Returns whether a type is a reference to a trait object, or a box of one.
pub(crate) fn is_trait_object(ty: &Ty) -> bool {
    let mut ty = ty.clone();
    while let Shape::Pointer(of, PointerKind::Owned) = ty.shape() {
        ty = of;
    }
    let has = |name| matches!(path::find(&ty, name), Lookup::Found(_));
    ty.name().contains("dyn ") && has("pointer") && has("vtable")
}

/// Returns an object behind references and boxes.
fn behind_references<'t>(of: &Expr<'t>) -> Expr<'t> {
    let mut of = of.clone();
    while let Shape::Pointer(to, PointerKind::Owned) = of.ty.shape() {
        of = of.target(to);
    }
    of
}

/// Returns the target of a smart pointer of the library.
fn behind_library<'t>(of: &Expr<'t>, node: &'t Node) -> Option<Expr<'t>> {
    let of = behind_references(of);
    match library::contents(&of.ty)? {
        Contents::Pointee(to) if exact::with_functions(&to).is_some() => {
            Some(Expr::new(Kind::Pointee(Box::new(of)), to, node))
        }
        _ => None,
    }
}

/// Returns what a reference refers to, or the type itself.
fn behind(ty: &Ty) -> Ty {
    match ty.shape() {
        Shape::Pointer(of, _) => of,
        _ => ty.clone(),
    }
}

/// Returns the type that a call of `clone` returns if it has no size: the debug info of a function leaves out such a
/// type.
pub(super) fn clone_without_size(best: &Candidate, arguments: &[Expr<'_>]) -> Option<Ty> {
    let [object] = arguments else {
        return None;
    };
    let name = best.name.split('<').next().unwrap_or_default();
    let is_clone = members::last_component(name) == "clone" || best.name.ends_with("::clone");
    let is_left_out = matches!(best.returns.shape(), Shape::Void | Shape::Unit);
    let own = rust_types::referent(&object.ty).unwrap_or_else(|| object.ty.clone());
    let is_it = best.language == Language::Rust && is_clone && is_left_out;
    (is_it && own.size() == Some(0)).then_some(own)
}
