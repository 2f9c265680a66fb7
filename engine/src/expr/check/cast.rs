//! Casts between scalars. Those of objects and within class hierarchies need the object.

use super::super::ir::{Ends, Expr, Kind};
use super::super::tree::{self, Binary, Cast, Node, Unary};
use super::super::types::TypeName;
use super::cpp_objects::Wanted;
use super::operators::converted;
use super::rust_made::Access;
use super::{Checked, Checker, Stop, c, rust, rust_types, scalar, wrong};
use crate::expr::evaluate::inner;
use crate::expr::overload::Candidate;
use crate::expr::{exact, messages};
use crate::ids::error::Error;
use crate::inspect::library;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::Language;

impl Checker<'_> {
    pub(super) fn cast<'t>(
        &self,
        cast: Cast,
        name: &'t TypeName,
        operand: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        if name.is_reference() {
            let of = self.check(operand)?;
            self.may_be_cast(cast, &of, &self.type_of_name(name)?, name, node)?;
            return Err(Stop::Needs(node));
        }
        if self.language == Language::Rust && name.base.starts_with("fn(") {
            return self.as_function(name, operand, node);
        }
        let ty = match (self.type_of_name(name), &operand.kind) {
            (Err(_), tree::Kind::Paren(arguments))
                if self.language != Language::Rust && !name.is_pointer_to_any() =>
            {
                return self.call_in_parentheses(name, arguments, node);
            }
            (ty, _) => ty?,
        };
        let of = match &inner(operand).kind {
            tree::Kind::AddressOf(_) if let Some(of) = self.method_as(&ty, operand)? => of,
            tree::Kind::AddressOf(_) | tree::Kind::Name(_)
                if let Some(of) = self.function_as(&ty, operand)? =>
            {
                of
            }
            // The result type of a function without debug info is that of the cast.
            tree::Kind::Call(function, arguments) => {
                self.call(function, arguments, Some(&ty), operand)?
            }
            // It may be an enumerator of the type.
            _ => match (self.check(operand), self.enumerator(&ty, operand)) {
                (Err(Stop::Wrong(Error::UnknownName { .. })), Some(of)) => of,
                (Err(Stop::Wrong(Error::UnknownName { .. })), None)
                    if let Some(at) = self.address_of_data(&ty, operand) =>
                {
                    return Ok(Expr::new(Kind::Deref(Box::new(at)), ty, node));
                }
                (of, _) => of?,
            },
        };
        self.may_be_cast(cast, &of, &ty, name, node)?;
        if cast != Cast::Bits
            && let Some(made) = self.aggregate_of(
                &ty,
                std::slice::from_ref(&of),
                std::slice::from_ref(operand),
                node,
            )
        {
            return made;
        }
        let cast = match cast {
            Cast::Static | Cast::Const => Cast::Usual,
            cast => cast,
        };
        self.cast_to(cast, of, ty, node)
    }

    /// Checks a cast of a checked operand.
    pub(super) fn cast_to<'t>(
        &self,
        cast: Cast,
        of: Expr<'t>,
        ty: Ty,
        node: &'t Node,
    ) -> Checked<'t> {
        match self.language {
            Language::Rust => self.rust_cast(of, ty, node),
            _ => self.c_cast(cast, of, ty, node),
        }
    }

    /// Returns the type that a name in parentheses turns out to be.
    pub(super) fn type_in_parentheses(&self, node: &Node) -> Option<Ty> {
        match (&node.kind, &inner(node).kind) {
            (tree::Kind::Paren(_), tree::Kind::Name(name)) if self.language != Language::Rust => {
                self.scope.find_type(name)
            }
            _ => None,
        }
    }

    /// Checks `(T) - x * y`, where `operator` and what is behind it were parsed as a binary operation:
    /// the cast of `-x`, times `y`.
    pub(super) fn cast_of_operator<'t>(
        &self,
        operator: Binary,
        ty: Ty,
        right: &'t Node,
        node: &'t Node,
    ) -> Checked<'t> {
        if let tree::Kind::Binary(other, first, second) = &right.kind {
            let cast = self.cast_of_operator(operator, ty, first, node)?;
            return self.operation(*other, cast, self.check(second)?, node);
        }
        let operand = self.check(right)?;
        let of = match operator {
            Binary::Sub => self.unary_of(Unary::Minus, operand, node)?,
            Binary::Add => self.unary_of(Unary::Plus, operand, node)?,
            Binary::Mul => self.deref_of(operand, node)?,
            Binary::BitAnd => self.address_of_place(operand, node)?,
            _ => return Err(wrong("expected an operand of the cast", &node.span)),
        };
        self.c_cast(Cast::Usual, of, ty, node)
    }

    /// Returns the part of an object that a copy of it as its base has; `None`: the type is no base.
    fn sliced<'t>(
        &self,
        of: &Expr<'t>,
        ty: &Ty,
        node: &'t Node,
    ) -> Result<Option<Expr<'t>>, Stop<'t>> {
        let is_class = |ty: &Ty| matches!(ty.shape(), Shape::Composite(_));
        if self.language != Language::Cpp || !is_class(ty) {
            return Ok(None);
        }
        let of = self.referent(of.clone());
        match is_class(&of.ty) && !exact::same(&of.ty, ty) && exact::derives(&of.ty, ty) {
            true => self.base_of_argument(of, ty, node).map(Some),
            false => Ok(None),
        }
    }

    pub(super) fn c_cast<'t>(
        &self,
        cast: Cast,
        of: Expr<'t>,
        ty: Ty,
        node: &'t Node,
    ) -> Checked<'t> {
        let whole = |of| Ok(Expr::new(Kind::Cast(cast, Box::new(of)), ty.clone(), node));
        if let Some(base) = self.sliced(&of, &ty, node)? {
            return whole(base);
        }
        if self.language == Language::C
            && matches!(ty.shape(), Shape::Composite(_))
            && scalar(&of.ty).is_some()
        {
            let (from, to) = (of.ty.name(), ty.name());
            let message = format!("cannot cast a `{from}` to `{to}`; cast a pointer: `*({to} *)…`");
            return Err(wrong(message, &node.span));
        }
        let is_object = matches!(ty.shape(), Shape::Composite(_) | Shape::Array(_));
        if is_object
            && !self.referent(of.clone()).ty.same_as(&ty)
            && let Some(made) = self.constructor_call(&ty, vec![of.clone()], 1, node)?
        {
            return Ok(made);
        }
        let of = match is_object {
            true => return whole(of),
            false => self.decayed(self.operand(of)),
        };
        let is_bool = scalar(&ty).is_some_and(|it| it.kind == ScalarKind::Bool);
        if is_bool && let Some(condition) = self.member_condition(&of) {
            return Ok(condition);
        }
        let in_cpp = self.member_cast(&of, &ty, node);
        if let Some(done) = in_cpp.or_else(|| self.class_cast(cast, &of, &ty, node)) {
            return done;
        }
        if let Some(value) = self.converted_object(&of, Wanted::Type(&ty), 1, node)? {
            return self.c_cast(cast, value, ty, node);
        }
        let (Some(from), Some(to)) = (scalar(&of.ty), scalar(&ty)) else {
            let is_object = matches!(of.ty.shape(), Shape::Composite(_));
            if is_object && scalar(&ty).is_some() && library::contents(&of.ty).is_none() {
                let (from, to) = (of.ty.name(), ty.name());
                let message = format!("a cast does not convert `{from}` to `{to}`");
                return Err(wrong(message, &node.span));
            }
            self.may_be_number(&of, &ty, node)?;
            return whole(of);
        };
        let target = |ty: &Ty| match ty.shape() {
            Shape::Pointer(of, _) => Some(of),
            _ => None,
        };
        let is_class = |ty: &Ty| matches!(ty.shape(), Shape::Composite(_));
        let (source, target) = (target(&of.ty), target(&ty));
        if let (Some(source), Some(target)) = (&source, &target)
            && (cast == Cast::Dynamic
                || cast == Cast::Usual
                    && is_class(source)
                    && is_class(target)
                    && !source.same_as(target))
        {
            return whole(of);
        }
        if cast == Cast::Dynamic && (source.is_none() || target.is_none()) {
            let message = "`dynamic_cast` needs a pointer or reference to an object";
            return Err(wrong(message, &node.span));
        }
        let is_complex = |it: Scalar| matches!(it.kind, ScalarKind::Complex(_));
        if is_complex(from) || is_complex(to) {
            return whole(of);
        }
        let address_of_float = source.is_some() && c::is_float(&ty);
        if address_of_float || target.is_some() && c::is_float(&of.ty) {
            return Err(wrong(messages::FLOAT_AS_ADDRESS, &node.span));
        }
        let mut of = converted(of, &ty);
        of.ty = ty;
        of.span = node.span.clone();
        Ok(of)
    }

    /// Checks that a cast does not make a number of what a smart pointer, an iterator or an optional refers to: C++
    /// converts some of them to `bool`, and none to a number.
    fn may_be_number<'t>(&self, of: &Expr<'_>, ty: &Ty, node: &Node) -> Result<(), Stop<'t>> {
        use library::Contents::{Either, Optional, Pointee, Unbounded};
        let refers = matches!(
            library::contents(&of.ty),
            Some(Either(..) | Optional(_) | Pointee(_) | Unbounded(_))
        );
        let is_bool = scalar(ty).is_some_and(|it| it.kind == ScalarKind::Bool);
        let has_truth = || library::method(&of.ty, "operator bool", &[]).is_some();
        if self.language != Language::Cpp
            || !refers
            || !c::is_arithmetic(ty)
            || is_bool && has_truth()
        {
            return Ok(());
        }
        let (from, to) = (of.ty.name(), ty.name());
        let message =
            format!("a cast does not convert `{from}` to `{to}`; dereference it with `*`");
        Err(wrong(message, &node.span))
    }

    /// Checks `f as fn(A) -> B` of a function or a pointer to one, whose type must have that name.
    fn as_function<'t>(&self, name: &TypeName, operand: &'t Node, node: &'t Node) -> Checked<'t> {
        let of = self.check(operand)?;
        let own = match &inner(operand).kind {
            tree::Kind::Name(function) if of.ty.name().starts_with('<') => {
                let known = self.scope.functions(function).map_err(Stop::Wrong)?;
                known
                    .first()
                    .map(|it| signature(&Candidate::of(it.clone())))
            }
            _ => None,
        };
        let own = own.unwrap_or_else(|| of.ty.name().to_string());
        match name.layers.is_empty() && without_paths(&own) == without_paths(&name.base) {
            true => Ok(of),
            false => {
                let message = format!("cannot cast `{own}` as `{}`", name.base);
                Err(wrong(message, &node.span))
            }
        }
    }

    /// Returns a reference to an array, or to a slice, as one to a slice of this type; `None`: it is neither.
    fn as_slice<'t>(&self, of: &Expr<'t>, ty: &Ty, node: &'t Node) -> Option<Expr<'t>> {
        if rust_types::same(&of.ty, ty) {
            return Some(of.clone());
        }
        let row = rust_types::referent(&of.ty)?;
        let element = match row.shape() {
            Shape::Array(array) => array.element.clone(),
            _ => return None,
        };
        if !rust_types::same(&element, &rust_types::element(ty)?) {
            return None;
        }
        let ends = Box::new(Ends {
            from: None,
            to: None,
        });
        let row = Kind::Slice(Box::new(of.clone().target(row)), ends, false);
        let slice = Expr::new(row, ty.clone().unsized_target(), node);
        Some(self.reference_to(slice, Access::Shared, node))
    }

    fn rust_cast<'t>(&self, of: Expr<'t>, ty: Ty, node: &'t Node) -> Checked<'t> {
        let is_pointer = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(..));
        let whole = |of| {
            let kind = Kind::Cast(Cast::Usual, Box::new(of));
            Ok(Expr::new(kind, ty.clone(), node))
        };
        let refused = |remedy: &str| {
            let name = of.ty.name();
            let message = format!("cannot cast `{name}` as `{}`{remedy}", ty.name());
            Err(wrong(message, &node.span))
        };
        if ty.name().starts_with("&[") {
            return match self.as_slice(&of, &ty, node) {
                Some(slice) => Ok(slice),
                None => refused(""),
            };
        }
        if let Some(remedy) = no_rust_cast(&of.ty, &ty) {
            return refused(remedy);
        }
        let (Some(from), Some(to)) = (scalar(&of.ty), scalar(&ty)) else {
            return whole(of);
        };
        if is_pointer(&of.ty) || is_pointer(&ty) {
            return whole(of);
        }
        let is_float = |it: Scalar| matches!(it.kind, ScalarKind::Float(_));
        match (from.kind, to.kind) {
            (a, b) if a == b => {}
            (ScalarKind::Unsigned, ScalarKind::Utf) if from.size == 1 => {}
            (ScalarKind::Signed, ScalarKind::Utf) if of.open => {
                let byte = self.typed(of, &rust::named("u8"))?;
                return Ok(converted(byte, &ty));
            }
            (_, ScalarKind::Utf) => return refused("; only `u8` can be cast to a character"),
            (_, ScalarKind::Bool) => return refused("; compare it, for example with `!= 0`"),
            (ScalarKind::Bool | ScalarKind::Utf, _) if is_float(to) => {
                return refused("; cast it to an integer first");
            }
            _ => {}
        }
        if of.open && !is_float(from) && !is_float(to) && to.kind != ScalarKind::Utf {
            let typed = self.typed(of, &ty)?;
            return Ok(Expr {
                span: node.span.clone(),
                ..typed
            });
        }
        let of = of.opened(false);
        let mut of = match is_float(from) && !is_float(to) {
            true => Expr::new(Kind::Saturate(Box::new(of)), ty.clone(), node),
            false => converted(of, &ty),
        };
        of.ty = ty;
        of.span = node.span.clone();
        Ok(of)
    }
}

/// Returns the type of pointers to a function of Rust: `fn(u32) -> bool`.
fn signature(of: &Candidate) -> String {
    let parameters: Vec<_> = of.types.iter().map(Ty::name).collect();
    let returns = match &*of.returns.name() {
        "()" | "void" => String::new(),
        returns => format!(" -> {returns}"),
    };
    format!("fn({}){returns}", parameters.join(", "))
}

/// Returns a type's name without blanks, and without the paths of the types in it.
fn without_paths(name: &str) -> String {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let mut rest = name;
    let mut plain = String::new();
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|it| !is_of_word(it)).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end.max(first.len_utf8()));
        plain.push_str(word.rsplit("::").next().unwrap_or(word).trim());
        rest = behind;
    }
    plain
}

/// Returns why Rust has no cast between two types, as a remedy; `None`: there may be one.
fn no_rust_cast(from: &Ty, to: &Ty) -> Option<&'static str> {
    let is_number = |ty: &Ty| matches!(ty.shape(), Shape::Scalar(_));
    let is_address = |ty: &Ty| matches!(ty.shape(), Shape::Pointer(_, PointerKind::Raw));
    if !is_number(to) && !is_address(to) || &*from.name() == "core::cmp::Ordering" {
        return None;
    }
    let is_integer = |ty: &Ty| {
        matches!(ty.shape(), Shape::Scalar(it)
            if matches!(it.kind, ScalarKind::Signed | ScalarKind::Unsigned))
    };
    match from.shape() {
        Shape::Scalar(_) if is_address(to) && !is_integer(from) => {
            Some("; only an integer can be cast to a pointer")
        }
        Shape::Scalar(_) | Shape::Function => None,
        Shape::Enumeration(_) if is_integer(to) => None,
        Shape::Enumeration(_) => Some("; cast it to an integer first"),
        Shape::Pointer(_, PointerKind::Raw) if is_number(to) && !is_integer(to) => {
            Some("; cast it to an integer first")
        }
        Shape::Pointer(_, PointerKind::Raw) => None,
        Shape::Pointer(of, _) if rust_types::is_reference(from) => match to.shape() {
            Shape::Pointer(to, _) => {
                let first =
                    rust_types::element(&of).filter(|_| matches!(of.shape(), Shape::Array(_)));
                let is_one = rust_types::same(&of, &to)
                    || first.is_some_and(|it| rust_types::same(&it, &to));
                (!is_one).then_some("; cast it to a pointer to its own type first")
            }
            _ => Some("; dereference it with `*`, or cast it to a pointer first"),
        },
        Shape::Pointer(..) => Some("; dereference it with `*`"),
        _ if from.name().starts_with('*') => None,
        _ => Some(""),
    }
}
