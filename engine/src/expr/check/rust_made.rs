//! Values that an expression of Rust makes: tuples, arrays, ranges, struct literals, variants of enums,
//! references. Their types are inferred: what they are compared with or passed to decides.

use super::super::ir::{Expr, Kind};
use super::super::made::{Fields, Made};
use super::super::tree::{self, Binary, Node};
use super::super::tree_rust::Form;
use super::rust_closures::REFUSED;
use super::rust_paths::Meant;
use super::{Checked, Checker, Stop, rust, rust_types, wrong};
use crate::expr::evaluate::inner;
use crate::ids::error::Error;
use crate::inspect::language::template;
use crate::inspect::library;
use crate::inspect::value::members::last_component;
use crate::inspect::value::{MAX_VALUE_BYTES, Shape, Ty};

/// Maximum number of elements of an array that an expression makes.
pub(super) const MAX_ELEMENTS: u64 = MAX_VALUE_BYTES;

/// What a reference may do with its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// `&`
    Shared,
    /// `&mut`
    Mutable,
}

/// Returns whether an expression makes an object, whose type its parts decide.
pub(super) fn is_made(of: &Expr<'_>) -> bool {
    match &of.kind {
        Kind::Made(_) => true,
        // The type of a string literal is known.
        Kind::AddressOf(to) => {
            rust_types::is_reference(&of.ty) && !matches!(to.kind, Kind::Text(_))
        }
        _ => false,
    }
}

/// Returns the name of a type of the standard library that has these variants.
fn std_variant(path: &str) -> Option<(&'static str, Vec<String>)> {
    let (head, arguments) = match path.split_once('<') {
        Some((head, rest)) => {
            let list = rest.strip_suffix('>').unwrap_or(rest);
            let arguments = template::split_arguments(list).into_iter();
            (head, arguments.map(|it| it.trim().to_owned()).collect())
        }
        None => (path, Vec::new()),
    };
    let (parent, last) = match head.rsplit_once("::") {
        Some((parent, last)) => (last_component(parent), last),
        None => ("", head),
    };
    let found = match (parent, last) {
        ("" | "Option", "Some") => "Some",
        ("" | "Option", "None") => "None",
        ("" | "Result", "Ok") => "Ok",
        ("" | "Result", "Err") => "Err",
        _ => return None,
    };
    Some((found, arguments))
}

/// Returns a part of a tuple of literals, `(1, 2).1`, whose type is as open as that of a literal.
pub(super) fn constant_part<'t>(of: &Expr<'t>, name: &str) -> Option<Expr<'t>> {
    let Kind::Made(made) = &of.kind else {
        return None;
    };
    let Made::Fields(Fields {
        variant: None,
        fields,
        base: None,
    }) = &**made
    else {
        return None;
    };
    let are_literals = fields
        .iter()
        .all(|it| matches!(it.1.kind, Kind::Constant(_)));
    let part = fields
        .iter()
        .find(|it| it.0 == name)
        .filter(|_| are_literals);
    part.map(|it| it.1.clone())
}

/// Returns whether the last component of a path begins with a capital, as types and variants do.
pub(super) fn is_capital(path: &str) -> bool {
    let head = path.split('<').next().unwrap_or_default();
    last_component(head).starts_with(char::is_uppercase)
}

impl Checker<'_> {
    /// Checks what only Rust has; `None` if the node is nothing of that.
    pub(super) fn rust_form<'t>(&self, node: &'t Node) -> Option<Checked<'t>> {
        match &node.kind {
            tree::Kind::Rust(form) => Some(self.form(form, node)),
            tree::Kind::Range(from, to, inclusive) => {
                Some(self.range(from.as_deref(), to.as_deref(), *inclusive, node))
            }
            tree::Kind::Name(name) => {
                if let Some(bound) = self.known.bound(name) {
                    return Some(Ok(Expr::new(Kind::Bound(bound.key), bound.ty, node)));
                }
                std_variant(name).map(|found| self.std_constructor(found, &[], node))
            }
            tree::Kind::Call(function, arguments) => {
                let tree::Kind::Name(path) = &inner(function).kind else {
                    return None;
                };
                if let Some(found) = std_variant(path) {
                    return Some(self.std_constructor(found, arguments, node));
                }
                self.constructor(path, arguments, node)
            }
            _ => None,
        }
    }

    fn form<'t>(&self, form: &'t Form, node: &'t Node) -> Checked<'t> {
        match form {
            Form::Tuple(parts) => {
                let parts = self.parts(parts)?;
                Ok(self.tuple(parts, node))
            }
            Form::Array(elements) => self.array_literal(elements, node),
            Form::Filled(of, count) => self.filled(of, count, node),
            Form::Struct(path, fields, base) => {
                self.struct_literal(path, fields, base.as_ref(), node)
            }
            Form::BorrowMut(of) => self.borrow(of, Access::Mutable, node),
            Form::RawConst(operand) | Form::RawMut(operand) => {
                let of = self.check(operand)?;
                match of.is_place() {
                    true => {
                        let ty = match form {
                            Form::RawConst(_) => of.ty.clone().const_pointer(),
                            _ => of.ty.clone().pointer(),
                        };
                        Ok(Expr::new(Kind::AddressOf(Box::new(of)), ty, node))
                    }
                    false => Err(wrong("cannot take the address of a temporary", &node.span)),
                }
            }
            Form::Match(of, arms) => self.matching(of, arms, node),
            Form::Vec(row) => {
                let row = self.check(row)?;
                let of = rust_types::element(&row.ty).unwrap_or_else(Ty::open);
                let name = format!("alloc::vec::Vec<{}>", of.name());
                let ty = row.ty.clone().within(&name);
                Ok(Expr::new(Kind::Retyped(Box::new(row)), ty, node))
            }
            Form::OwnedText(text) => {
                let text = self.check(text)?;
                match library::method(&text.ty, "to_string", &[]) {
                    Some(method) => Ok(Expr::answer(method, vec![text], node)),
                    None => Err(wrong("not a text", &node.span)),
                }
            }
            Form::Closure(..) => Err(wrong(REFUSED, &node.span)),
        }
    }

    pub(super) fn fields<'t>(
        &self,
        variant: Option<&str>,
        fields: Vec<(String, Expr<'t>)>,
        base: Option<Expr<'t>>,
        ty: Ty,
        node: &Node,
    ) -> Expr<'t> {
        let made = Made::Fields(Fields {
            variant: variant.map(str::to_owned),
            fields,
            base,
        });
        Expr::new(Kind::Made(Box::new(made)), ty, node)
    }

    /// Returns a tuple of checked parts.
    pub(super) fn tuple<'t>(&self, parts: Vec<Expr<'t>>, node: &Node) -> Expr<'t> {
        let ty = Ty::tuple(parts.iter().map(|it| it.ty.clone()).collect());
        let open = parts.iter().any(|it| it.open);
        let numbered = parts.into_iter().enumerate();
        let fields = numbered.map(|(at, it)| (at.to_string(), it)).collect();
        self.fields(None, fields, None, ty, node).opened(open)
    }

    /// Checks the parts of an object.
    fn parts<'t>(&self, nodes: &'t [Node]) -> Result<Vec<Expr<'t>>, Stop<'t>> {
        nodes.iter().map(|it| self.check(it)).collect()
    }

    fn array_literal<'t>(&self, elements: &'t [Node], node: &'t Node) -> Checked<'t> {
        self.row_of(self.parts(elements)?, node)
    }

    /// Returns an array of checked elements.
    pub(super) fn row_of<'t>(&self, mut elements: Vec<Expr<'t>>, node: &'t Node) -> Checked<'t> {
        let ty = match elements.iter().find(|it| !it.open).or(elements.first()) {
            Some(first) => first.ty.clone(),
            None => Ty::open(),
        };
        for element in &mut elements {
            let was = std::mem::replace(element, Expr::new(Kind::Constant(0), Ty::Void, node));
            *element = match was.open && elements_decide(&ty, &was) {
                true => was,
                false => self.typed(was, &ty)?,
            };
        }
        self.one_type(&elements, &ty)?;
        let open = !elements.is_empty() && elements.iter().all(|it| it.open);
        let array = ty.rust_array(elements.len() as u64);
        let kind = Kind::Made(Box::new(Made::Row(elements)));
        Ok(Expr::new(kind, array, node).opened(open))
    }

    fn one_type<'t>(&self, all: &[Expr<'t>], ty: &Ty) -> Result<(), Stop<'t>> {
        match all.iter().find(|it| !rust_types::same(&it.ty, ty)) {
            Some(other) => Err(expected(ty, other)),
            None => Ok(()),
        }
    }

    fn filled<'t>(&self, of: &'t Node, count: &'t Node, node: &'t Node) -> Checked<'t> {
        let (of, count) = (self.check(of)?, self.check(count)?);
        let count = self.typed(count, &rust::named("usize"))?;
        let Some(bits) = fixed(&count) else {
            let why = "the length of an array is a number; write it as a literal";
            return Err(wrong(why, &count.span));
        };
        let Some(len) = u64::try_from(bits).ok().filter(|it| *it <= MAX_ELEMENTS) else {
            return Err(wrong("the array is too long", &count.span));
        };
        let (ty, open) = (of.ty.clone().rust_array(len), of.open);
        let kind = Kind::Made(Box::new(Made::Filled(of, len)));
        Ok(Expr::new(kind, ty, node).opened(open))
    }

    /// Checks `a..b` and the other ranges.
    pub(super) fn range<'t>(
        &self,
        from: Option<&'t Node>,
        to: Option<&'t Node>,
        inclusive: bool,
        node: &'t Node,
    ) -> Checked<'t> {
        let from = from.map(|it| self.check(it)).transpose()?;
        let to = to.map(|it| self.check(it)).transpose()?;
        self.range_of(from, to, inclusive, node)
    }

    /// Returns the range between checked ends.
    pub(super) fn range_of<'t>(
        &self,
        from: Option<Expr<'t>>,
        to: Option<Expr<'t>>,
        inclusive: bool,
        node: &'t Node,
    ) -> Checked<'t> {
        let (from, to) = match (from, to) {
            (Some(from), Some(to)) => {
                let (from, to, _) = self.same_type(from, to)?;
                (Some(from), Some(to))
            }
            ends => ends,
        };
        let name = match (&from, &to, inclusive) {
            (Some(_), Some(_), false) => "Range",
            (Some(_), Some(_), true) => "RangeInclusive",
            (Some(_), None, _) => "RangeFrom",
            (None, Some(_), false) => "RangeTo",
            (None, Some(_), true) => "RangeToInclusive",
            (None, None, _) => "RangeFull",
        };
        let last = match name {
            "RangeToInclusive" => "last",
            _ => "end",
        };
        let ends = [("start", from), (last, to)];
        let ends: Vec<_> = ends
            .into_iter()
            .filter_map(|(name, it)| it.map(|it| (name, it)))
            .collect();
        let open = ends.iter().any(|it| it.1.open);
        let bounds: Vec<_> = ends.iter().map(|it| (it.0, it.1.ty.clone())).collect();
        let of = match bounds.first() {
            Some((_, ty)) => format!("<{}>", ty.name()),
            None => String::new(),
        };
        let ty = Ty::range(&format!("core::ops::range::{name}{of}"), bounds);
        let fields = ends.into_iter().map(|it| (it.0.to_owned(), it.1)).collect();
        Ok(self.fields(None, fields, None, ty, node).opened(open))
    }

    /// Checks `Some(x)`, `None`, `Ok(x)`, `Err(x)`.
    fn std_constructor<'t>(
        &self,
        (name, arguments): (&'static str, Vec<String>),
        values: &'t [Node],
        node: &'t Node,
    ) -> Checked<'t> {
        let wanted = usize::from(name != "None");
        let tree::Kind::Call(..) = &node.kind else {
            return match wanted {
                0 => self.std_variant(name, &arguments, None, node),
                // `option == Some` asks for the variant.
                _ => Err(Stop::Wrong(Error::UnknownName {
                    message: format!("`{name}` takes 1 argument"),
                    span: node.span.clone(),
                })),
            };
        };
        match (values, wanted) {
            ([value], 1) => {
                let value = self.check(value)?;
                self.std_variant(name, &arguments, Some(value), node)
            }
            _ => {
                let plural = if wanted == 1 { "" } else { "s" };
                let why = format!("`{name}` takes {wanted} argument{plural}");
                Err(wrong(why, &node.span))
            }
        }
    }

    pub(super) fn std_variant<'t>(
        &self,
        name: &'static str,
        arguments: &[String],
        mut value: Option<Expr<'t>>,
        node: &'t Node,
    ) -> Checked<'t> {
        let mut types = Vec::new();
        for argument in arguments {
            let unknown = || crate::expr::messages::unknown_type(argument);
            let found = match argument.as_str() {
                "_" => None,
                name => Some(
                    self.type_spelled(name)
                        .ok_or_else(|| wrong(unknown(), &node.span))?,
                ),
            };
            types.push(found);
        }
        let given = match name {
            "Err" => types.get(1),
            _ => types.first(),
        };
        if let Some(Some(ty)) = given
            && let Some(of) = value.take()
        {
            let typed = self.typed(of, ty)?;
            if !rust_types::same(&typed.ty, ty) {
                return Err(expected(ty, &typed));
            }
            value = Some(typed);
        }
        let held = |at: usize| match types.get(at) {
            Some(Some(ty)) => ty.clone(),
            _ => Ty::open(),
        };
        let own = |it: &Option<Expr<'t>>| it.as_ref().map_or_else(Ty::open, |it| it.ty.clone());
        let ty = match name {
            "Some" => own(&value).option(),
            "None" => held(0).option(),
            "Ok" => own(&value).result(held(1)),
            _ => held(0).result(own(&value)),
        };
        let open = value.as_ref().is_some_and(|it| it.open) || rust_types::is_open(&ty);
        let fields = value.map(|it| ("0".to_owned(), it)).into_iter().collect();
        Ok(self.fields(Some(name), fields, None, ty, node).opened(open))
    }

    /// Returns the type of a spelling: `i32`, `&str`, `Point`.
    pub(super) fn type_spelled(&self, name: &str) -> Option<Ty> {
        match name.strip_prefix('&') {
            Some("str") => Some(Ty::str()),
            Some(of) => self.type_spelled(of.trim()).map(Ty::reference),
            None => self.type_meant(name),
        }
    }

    /// Checks `E::B(9)` of an enum of the program, and `Wrapper(5)` of a tuple struct.
    fn constructor<'t>(
        &self,
        path: &'t str,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let Some((ty, variant)) = self.constructed(path, node) else {
            return self.imported(path, arguments, node);
        };
        let known = rust_types::parts_of(&ty, variant.as_deref())?;
        let is_positional = |it: &(String, Ty)| it.0.bytes().all(|byte| byte.is_ascii_digit());
        if known.is_empty() || !known.iter().all(is_positional) {
            return None;
        }
        if known.len() != arguments.len() {
            let why = format!("`{path}` takes {} arguments", known.len());
            return Some(Err(wrong(why, &node.span)));
        }
        let values = match self.parts(arguments) {
            Ok(values) => values,
            Err(stop) => return Some(Err(stop)),
        };
        let names = known.iter().map(|it| it.0.clone());
        let fields: Vec<(String, Expr<'t>)> = names.zip(values).collect();
        let (ty, variant) = self.instance_for((ty, variant), path, &fields);
        let known = rust_types::parts_of(&ty, variant.as_deref())?;
        let made = self.fields(variant.as_deref(), fields, None, ty.clone(), node);
        Some(self.typed_fields(made, &known, &ty))
    }

    /// Checks `Leaf(3)`, a variant that a `use` imports, or `Pair(1, 2)` of a generic struct: what it
    /// is compared with or passed to decides its type.
    fn imported<'t>(
        &self,
        name: &'t str,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let is_function = || {
            let known = self.scope.functions(name);
            known.is_ok_and(|known| !known.is_empty())
        };
        if !is_capital(name) || name.contains("::") || arguments.is_empty() || is_function() {
            return None;
        }
        let values = match self.parts(arguments) {
            Ok(values) => values,
            Err(stop) => return Some(Err(stop)),
        };
        let numbered = values.into_iter().enumerate();
        let fields = numbered.map(|(at, it)| (at.to_string(), it)).collect();
        let ty = Ty::open().within(name);
        Some(Ok(self
            .fields(Some(name), fields, None, ty, node)
            .opened(true)))
    }

    /// Returns the type of a path that makes a value, and the variant.
    pub(super) fn constructed(&self, path: &str, node: &Node) -> Option<Meant> {
        if !is_capital(path) {
            return None;
        }
        if let Some(meant) = self.meant(path, node) {
            return Some(meant);
        }
        if let Some((parent, last)) = path.rsplit_once("::")
            && is_capital(parent)
            && let Some(ty) = self.scope.find_type(parent)
            && rust_types::is_enum(&ty)
        {
            return Some((ty, Some(last.to_owned())));
        }
        let ty = self.scope.find_type(path)?;
        // The contents of a variant are a struct in the debug info.
        let name = ty.strip().name();
        let is_variant = name.rsplit_once("::").is_some_and(|(parent, _)| {
            let found = self.scope.find_type(parent);
            found.is_some_and(|it| rust_types::is_enum(&it))
        });
        (!is_variant && !rust_types::is_enum(&ty)).then_some((ty, None))
    }

    fn struct_literal<'t>(
        &self,
        path: &'t str,
        fields: &'t [(String, Node)],
        base: Option<&'t Node>,
        node: &'t Node,
    ) -> Checked<'t> {
        let Some((ty, variant)) = self.constructed(path, node) else {
            // A generic struct: what it is compared with or passed to decides its arguments.
            if is_capital(path) && base.is_none() && !fields.is_empty() && !path.contains('<') {
                let mut values = Vec::new();
                for (name, value) in fields {
                    values.push((name.clone(), self.check(value)?));
                }
                let ty = Ty::open().within(path);
                return Ok(self.fields(None, values, None, ty, node).opened(true));
            }
            return Err(Stop::Wrong(Error::UnknownName {
                message: crate::expr::messages::unknown_type(path),
                span: node.span.start..node.span.start + path.len(),
            }));
        };
        let Some(known) = rust_types::parts_of(&ty, variant.as_deref()) else {
            return Err(wrong(format!("`{path}` is no struct"), &node.span));
        };
        let mut values = Vec::new();
        for (name, value) in fields {
            if !known.iter().any(|it| it.0 == *name) {
                let why = format!("`{path}` has no field `{name}`");
                return Err(wrong(why, &value.span));
            }
            values.push((name.clone(), self.check(value)?));
        }
        let base = base.map(|it| self.check(it)).transpose()?;
        if let Some(base) = base.as_ref().filter(|it| !rust_types::same(&it.ty, &ty)) {
            return Err(expected(&ty, base));
        }
        let (ty, variant) = self.instance_for((ty, variant), path, &values);
        let known = rust_types::parts_of(&ty, variant.as_deref()).unwrap_or(known);
        let missing = known
            .iter()
            .find(|(name, _)| values.iter().all(|it| it.0 != *name));
        if let (Some((name, _)), None) = (missing, &base) {
            let why = format!("missing field `{name}` in `{path}`");
            return Err(wrong(why, &node.span));
        }
        let made = self.fields(variant.as_deref(), values, base, ty.clone(), node);
        self.typed_fields(made, &known, &ty)
    }

    /// Gives the fields of an object their types.
    pub(super) fn typed_fields<'t>(
        &self,
        mut of: Expr<'t>,
        known: &[(String, Ty)],
        ty: &Ty,
    ) -> Checked<'t> {
        let Kind::Made(made) = &mut of.kind else {
            return Ok(of);
        };
        let Made::Fields(Fields { fields, .. }) = &mut **made else {
            return Ok(of);
        };
        let mut typed = Vec::new();
        for (name, value) in std::mem::take(fields) {
            let found = known.iter().find(|it| it.0 == name);
            typed.push(match found {
                Some((_, ty)) => {
                    let value = self.typed(value, ty)?;
                    if !rust_types::same(&value.ty, ty) {
                        return Err(expected(ty, &value));
                    }
                    (name, value)
                }
                None => (name, value),
            });
        }
        *fields = typed;
        of.ty = ty.clone();
        of.open = false;
        Ok(of)
    }

    /// Checks `&x` and `&mut x`.
    pub(super) fn borrow<'t>(
        &self,
        operand: &'t Node,
        access: Access,
        node: &'t Node,
    ) -> Checked<'t> {
        let of = self.check(operand)?;
        Ok(self.reference_to(of, access, node))
    }

    /// Returns the reference to a checked operand.
    pub(super) fn reference_to<'t>(
        &self,
        of: Expr<'t>,
        access: Access,
        node: &'t Node,
    ) -> Expr<'t> {
        // A function is passed on by its address.
        if let Shape::Function = of.ty.shape() {
            let ty = of.ty.clone().pointer();
            return Expr::new(Kind::AddressOf(Box::new(of)), ty, node);
        }
        // `&*text` and `&v[1..4]`.
        if let Some(reference) = of.ty.unsized_reference() {
            return match of.kind {
                Kind::Retyped(inner) if inner.ty.same_as(&reference) => *inner,
                _ => Expr::new(Kind::Retyped(Box::new(of)), reference, node),
            };
        }
        let open = of.open;
        let ty = match access {
            Access::Shared => of.ty.clone().reference(),
            Access::Mutable => of.ty.clone().mutable_reference(),
        };
        Expr::new(Kind::AddressOf(Box::new(of)), ty, node).opened(open)
    }
}

/// Returns the value of a number that is made of literals and constants.
fn fixed(of: &Expr<'_>) -> Option<u128> {
    match &of.kind {
        Kind::Constant(bits) => Some(*bits),
        Kind::Arithmetic(operator, a, b, _) => {
            let (a, b) = (fixed(a)?, fixed(b)?);
            match operator {
                Binary::Add => a.checked_add(b),
                Binary::Sub => a.checked_sub(b),
                Binary::Mul => a.checked_mul(b),
                Binary::Div => a.checked_div(b),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns whether a literal keeps its open type in an array of such literals.
fn elements_decide(ty: &Ty, of: &Expr<'_>) -> bool {
    !is_made(of) && rust_types::same(ty, &of.ty)
}

/// Returns the error for a value of another type.
pub(super) fn expected<'t>(ty: &Ty, of: &Expr<'_>) -> Stop<'t> {
    let (wanted, found) = (ty.name(), of.ty.name());
    let message = format!("mismatched types: expected `{wanted}`, found `{found}`");
    wrong(message, &of.span)
}
