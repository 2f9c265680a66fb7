//! Operators and conditions of objects: of the libraries' classes by reading, of the program's
//! classes by their functions.

use super::super::ir::{Expr, Kind};
use super::super::tree::{self, Binary, Node, Unary};
use super::call::Meant;
use super::cpp_objects::Wanted;
use super::{Checked, Checker, Stop, cpp_objects, wrong};
use crate::expr::conversion::Passed;
use crate::expr::evaluate::{DEREFERENCES, inner};
use crate::expr::overload::Candidate;
use crate::ids::error::Error;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::text::Unit;
use crate::inspect::value::{PointerKind, Shape, Ty, members};
use dwarf::Language;

impl Checker<'_> {
    /// Checks a comparison of strings; `None` if the operands are not compared as such.
    pub(super) fn texts<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let order = operator.order()?;
        let is_literal = |it: &Expr<'_>| matches!(it.ty, Ty::Text);
        // Two `char *` are compared as addresses, as in C.
        let is_object = |it: &Expr<'_>| {
            !matches!(
                it.ty.shape(),
                Shape::Pointer(_, PointerKind::Raw) | Shape::Array(_)
            )
        };
        let compared = is_literal(a) || is_literal(b) || is_object(a) && is_object(b);
        (compared && is_text(&a.ty) && is_text(&b.ty)).then(|| {
            let kind = Kind::CompareTexts(order, Box::new(a.clone()), Box::new(b.clone()));
            Expr::new(kind, self.truth_type(), node)
        })
    }

    /// Checks a binary operator of which an operand is an object.
    pub(super) fn object_operation<'t>(
        &self,
        operator: Binary,
        a: Expr<'t>,
        b: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        if let Some(answer) = self.library_comparison(operator, &a, &b, node) {
            return Ok(answer);
        }
        let mut read = self.library_operator(operator, &a, &b, node);
        // The program's code makes a string that functions take, too.
        let may_be_code = (is_text(&a.ty) || is_text(&b.ty)) && self.scope.may_call();
        if let Some(answer) = read.take_if(|_| !may_be_code) {
            return Ok(answer);
        }
        if let Some(answer) = self.units(operator, &a, &b, node) {
            return Ok(answer);
        }
        let name = format!("operator{}", operator.symbol());
        if let Some(call) = self.rust_operator(operator, &a, &b, node)? {
            return Ok(call);
        }
        // Another operand's type may fit after a conversion.
        let refused = match self.operator_call(&name, &[a.clone(), b.clone()], node) {
            Ok(Some(call)) => return Ok(call),
            Ok(None) => None,
            Err(Stop::Wrong(error)) => Some(error),
            Err(stop) => return Err(stop),
        };
        if let Some(answer) = read {
            return Ok(answer);
        }
        if let Some(compared) = self.rewritten(operator, &a, &b, node)? {
            return Ok(compared);
        }
        let is_text = |it: &Expr<'_>| matches!(it.ty, Ty::Text);
        if operator.is_comparison() && (is_text(&a) || is_text(&b)) {
            let other = if is_text(&a) { &b } else { &a };
            let message = format!("cannot compare `{}` with a string", other.ty.name());
            return Err(wrong(message, &node.span));
        }
        // In Rust only comparisons look into wrappers.
        let held = |of: &Expr<'t>| match self.language {
            Language::Rust if !operator.is_comparison() => None,
            _ => self.wrapped(of),
        };
        match (held(&a), held(&b)) {
            (Some(a), _) => self.operation(operator, a, b, node),
            (None, Some(b)) => self.operation(operator, a, b, node),
            (None, None) => {
                let is_meant = cpp_objects::takes_operand(&a.ty, &name, &Passed::of(&b));
                let (left, right) = match is_meant {
                    true => (None, None),
                    false => (
                        self.converted_object(&a, Wanted::Number, 1, node)?,
                        self.converted_object(&b, Wanted::Number, 2, node)?,
                    ),
                };
                if left.is_some() || right.is_some() {
                    let (a, b) = (left.unwrap_or(a), right.unwrap_or(b));
                    return self.operation(operator, a, b, node);
                }
                if let Some(error) = refused {
                    return Err(Stop::Wrong(error));
                }
                let (left, right) = (a.ty.name(), b.ty.name());
                let symbol = operator.symbol();
                let message = match left == right {
                    _ if is_meant => format!(
                        "no callable `{name}` of `{left}` in the program: all its calls were inlined"
                    ),
                    true => format!("`{symbol}` is not defined for `{left}`"),
                    false => format!("`{symbol}` is not defined for `{left}` and `{right}`"),
                };
                Err(wrong(message, &node.span))
            }
        }
    }

    /// Checks a comparison by `operator==` with swapped operands or a negated result (ISO C++
    /// [over.match.oper]).
    fn rewritten<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let orders = match operator {
            Binary::Eq => vec![[b, a]],
            Binary::Ne => vec![[a, b], [b, a]],
            _ => return Ok(None),
        };
        for [a, b] in orders {
            let found = match self.operator_call("operator==", &[a.clone(), b.clone()], node) {
                Err(Stop::Wrong(_)) => None,
                found => found?,
            };
            let Some(call) = found else {
                continue;
            };
            let equal = self.operand(call);
            return Ok(Some(match operator {
                Binary::Ne => Expr::new(Kind::Not(Box::new(equal)), self.truth_type(), node),
                _ => equal,
            }));
        }
        Ok(None)
    }

    /// Checks a comparison that a library's class defines; also one whose operands are swapped, as
    /// C++20 does.
    fn library_comparison<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let order = operator.order().filter(|_| self.language != Language::C)?;
        [(order, a, b), (order.mirrored(), b, a)]
            .into_iter()
            .find_map(|(order, left, right)| {
                let name = format!("operator{}", order.symbol());
                let types = std::slice::from_ref(&right.ty);
                let method = library::method(&left.ty, &name, types)?;
                Some(Expr::answer(
                    method,
                    vec![left.clone(), right.clone()],
                    node,
                ))
            })
    }

    /// Checks a sum or difference that a library's class defines, of strings and iterators: `s + "x"`, `"x" + s`,
    /// `it + 1`, `it - v.begin()`.
    fn library_operator<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        if self.language != Language::Cpp {
            return None;
        }
        let method = |object: &Expr<'t>, name: &str, other: &Expr<'t>| {
            library::method(&object.ty, name, std::slice::from_ref(&other.ty))
        };
        let answer = |method, object: &Expr<'t>, other: &Expr<'t>| {
            Some(Expr::answer(
                method,
                vec![object.clone(), other.clone()],
                node,
            ))
        };
        match operator {
            Binary::Sub => answer(method(a, "operator-", b)?, a, b),
            Binary::Add => {
                if let Some(sum) = method(a, "operator+", b) {
                    return answer(sum, a, b);
                }
                let name = match is_text(&b.ty) {
                    true => library::PREPENDED,
                    false => "operator+",
                };
                answer(method(b, name, a)?, b, a)
            }
            _ => None,
        }
    }

    /// Checks an operator that the program defines: a member of the first operand's class, or a free
    /// function in a namespace of the operands' classes.
    pub(super) fn operator_call<'t>(
        &self,
        name: &str,
        operands: &[Expr<'t>],
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let (Some((first, rest)), Language::Cpp) = (operands.split_first(), self.language) else {
            return Ok(None);
        };
        let is_object = |of: &Expr<'_>| matches!(of.ty.shape(), Shape::Composite(_));
        if !operands
            .iter()
            .any(|it| is_object(it) || is_enumeration(it))
        {
            return Ok(None);
        }
        let mut refused = None;
        let mut meant = Vec::new();
        if is_object(first) {
            match self.methods_named(self.referent(first.clone()), name, rest, node) {
                Ok(found) => meant.extend(found),
                Err(Stop::Wrong(error)) => refused = Some(error),
                Err(stop) => return Err(stop),
            }
        }
        let known = self.scope.functions(name).map_err(Stop::Wrong)?;
        let mut known: Vec<Candidate> = known.into_iter().map(Candidate::of).collect();
        let spaces = self.associated_names(name, operands);
        known.extend(self.associated(&spaces, &known)?);
        let is_member = !meant.is_empty();
        meant.push(Meant {
            known,
            is_method: false,
            arguments: operands.to_vec(),
        });
        match self.best_of(meant, name, node) {
            Ok(Some(call)) => Ok(Some(call)),
            Err(Stop::Wrong(error)) if is_member => Err(Stop::Wrong(error)),
            // The member function's error says more than that of unrelated free functions.
            Ok(None) | Err(Stop::Wrong(_)) => match refused {
                Some(error) => Err(Stop::Wrong(error)),
                None => Ok(None),
            },
            Err(stop) => Err(stop),
        }
    }

    /// Checks an operator that the program defines for an enumeration; `None`: it defines none, and the
    /// enumerators are numbers. Of enumerations that convert to numbers only the operators that the
    /// frame's unit declares are known, so that no other unit is searched for each `flags & MASK`.
    pub(super) fn enumeration_operator<'t>(
        &self,
        operator: Binary,
        a: &Expr<'t>,
        b: &Expr<'t>,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let is_any = is_enumeration(a) || is_enumeration(b);
        if self.language != Language::Cpp || operator.is_comparison() || !is_any {
            return Ok(None);
        }
        let operands = [a.clone(), b.clone()];
        let name = format!("operator{}", operator.symbol());
        let is_needed = super::c::is_scoped(&a.ty) || super::c::is_scoped(&b.ty);
        let is_declared = || {
            let mut names = self.associated_names(&name, &operands);
            names.push(name.clone());
            names.iter().any(|name| self.scope.declares(name))
        };
        if !is_needed && !is_declared() {
            return Ok(None);
        }
        match self.operator_call(&name, &operands, node) {
            // None takes these operands. Other errors say that functions are not known here.
            Err(Stop::Wrong(Error::Eval { .. })) => Ok(None),
            found => found,
        }
    }

    /// Checks a unary operator of an object.
    pub(super) fn unary_of_object<'t>(
        &self,
        operator: Unary,
        of: Expr<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let name = format!("operator{}", operator.symbol());
        if let Some(call) = self.operator_call(&name, std::slice::from_ref(&of), node)? {
            return Ok(call);
        }
        if let Some(call) = self.rust_unary_operator(operator, &of, node)? {
            return Ok(call);
        }
        let held = match self.wrapped(&of) {
            Some(held) if self.language != Language::Rust => Some(held),
            _ => self.converted_object(&of, Wanted::Number, 1, node)?,
        };
        match held {
            Some(held) => self.unary_of(operator, held, node),
            None => {
                let symbol = operator.symbol();
                let message = format!("`{symbol}` is not defined for `{}`", of.ty.name());
                Err(wrong(message, &node.span))
            }
        }
    }

    /// Returns what a wrapper holds: an atomic, a cell; in Rust also what a box points to.
    fn wrapped<'t>(&self, of: &Expr<'t>) -> Option<Expr<'t>> {
        let to = match library::contents(&of.ty)? {
            Contents::Wrapped(to) => to,
            Contents::Pointee(to) if self.language == Language::Rust => to,
            _ => return None,
        };
        Some(Expr {
            span: of.span.clone(),
            kind: Kind::Pointee(Box::new(of.clone())),
            ty: to,
            open: false,
        })
    }

    /// Checks an object as a condition: C++ converts some to `bool`.
    pub(super) fn truth_of_object<'t>(&self, of: Expr<'t>, node: &'t Node) -> Checked<'t> {
        if self.language == Language::Cpp {
            if let Some(method) = library::method(&of.ty, "operator bool", &[]) {
                return Ok(Expr::answer(method, vec![of], node));
            }
            if let Some(truth) = self.converted_object(&of, Wanted::Truth, 3, node)? {
                return Ok(truth);
            }
        }
        let mut held = of.clone();
        for _ in 0..DEREFERENCES {
            held = match self.wrapped(&held) {
                Some(held) => self.operand(held),
                None => break,
            };
            let is_bool =
                |ty: &Ty| super::scalar(ty).is_some_and(|scalar| scalar.kind == ScalarKind::Bool);
            if self.language != Language::Rust && super::scalar(&held.ty).is_some()
                || is_bool(&held.ty)
            {
                return Ok(held);
            }
        }
        let message = format!("cannot use a `{}` as a condition", of.ty.name());
        Err(wrong(message, &of.span))
    }

    /// Checks `option == None`: whether a value is a variant of its type, by a bare name.
    pub(super) fn variant_test<'t>(
        &self,
        operator: Binary,
        value: Expr<'t>,
        name: &'t Node,
        node: &'t Node,
    ) -> Option<Expr<'t>> {
        let (tree::Kind::Name(name), Binary::Eq | Binary::Ne) = (&inner(name).kind, operator)
        else {
            return None;
        };
        let name = members::last_component(name);
        let of = self.operand(value);
        let is_variant = match of.ty.shape() {
            _ if name == "nullopt" => {
                matches!(library::contents(&of.ty), Some(Contents::Optional(_)))
            }
            Shape::Composite(ty) => {
                let variants = ty.composite().and_then(|it| it.variants.as_ref());
                variants.is_some_and(|part| {
                    let mut members = part.variants.iter().filter_map(|it| it.members.first());
                    members.any(|member| member.name == name)
                })
            }
            Shape::Synthetic(ty) => ty.has_variant(name),
            _ => false,
        };
        if !is_variant {
            return None;
        }
        let test = Expr::new(Kind::IsVariant(Box::new(of), name), self.truth_type(), node);
        Some(match operator {
            Binary::Eq => test,
            _ => Expr::new(Kind::Not(Box::new(test)), self.truth_type(), node),
        })
    }

    /// Returns the error for a name that is no value.
    pub(super) fn unknown<'t>(&self, name: &'t Node) -> Stop<'t> {
        let error: Error = self.scope.unknown_name(inner(name));
        Stop::Wrong(error)
    }

    /// Returns the error for a method that a class lacks.
    pub(super) fn no_method(&self, ty: &Ty, name: &str, object: &Node, node: &Node) -> Error {
        let source = self.source_text(object);
        crate::expr::suggest::no_method(ty, name, source, self.last_name(node, name))
    }

    /// Returns the position of `name` in a node: after its last dot.
    pub(super) fn last_name(&self, node: &Node, name: &str) -> std::ops::Range<usize> {
        match self.source_text(node).rfind(name) {
            Some(at) => {
                let start = node.span.start + at;
                start..start + name.len()
            }
            None => node.span.clone(),
        }
    }
}

fn is_enumeration(of: &Expr<'_>) -> bool {
    matches!(of.ty.shape(), Shape::Enumeration(_))
}

/// Returns whether a type is that of a string: a literal, a class for strings, `char *`, `char[]`.
pub(super) fn is_text(ty: &Ty) -> bool {
    let mut ty = ty.clone();
    for _ in 0..DEREFERENCES {
        ty = match (ty.shape(), library::contents(&ty)) {
            (Shape::Text, _) | (_, Some(Contents::Text(Unit::Byte, _))) => return true,
            (Shape::Pointer(of, PointerKind::Raw), _) => return library::is_narrow(&of),
            (Shape::Array(array), _) => return library::is_narrow(&array.element),
            (Shape::Pointer(of, _), _) => of,
            // C++ compares smart pointers and iterators, not what they point to.
            (_, Some(Contents::Pointee(_))) if ty.language() == Language::Cpp => return false,
            (_, Some(Contents::Pointee(of) | Contents::Wrapped(of))) => of,
            _ => return false,
        };
    }
    false
}
