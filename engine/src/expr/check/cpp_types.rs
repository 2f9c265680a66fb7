//! Types of C and C++ in expressions: `alignof`, `sizeof`, `typeid`.

use super::super::ir::{Expr, Kind};
use super::super::ir_cpp::{Cpp, Typed};
use super::super::parse_cpp::Form;
use super::super::tree::{self, Binary, Node};
use super::super::types::TypeName;
use super::{Checked, Checker, Stop, c, wrong};
use crate::expr::evaluate::inner;
use crate::expr::{literal, messages};
use crate::ids::error::Error;
use crate::inspect::value::types::DwarfTy;
use crate::inspect::value::{PointerKind, Shape, Ty, alignment};
use dwarf::{CTypes, Language};

/// What an operand is that may be the name of a type.
pub(super) enum Operand<'t> {
    Type(Ty),
    Value(Expr<'t>),
}

impl Operand<'_> {
    /// Returns the type, or that of the value, or what it refers to.
    pub(super) fn ty(&self) -> Ty {
        let ty = match self {
            Operand::Type(ty) => ty,
            Operand::Value(value) => &value.ty,
        };
        referred(ty)
    }
}

/// Returns the type that a reference of C++ refers to.
fn referred(ty: &Ty) -> Ty {
    match ty.shape() {
        Shape::Pointer(of, PointerKind::Reference) => of,
        _ => ty.clone(),
    }
}

impl Checker<'_> {
    /// Checks a form of C and C++.
    pub(super) fn cpp<'t>(
        &self,
        form: &'t Form,
        operands: &'t [Node],
        node: &'t Node,
    ) -> Checked<'t> {
        match (form, operands) {
            (Form::AlignOfType(name), _) => self.align_of(&self.type_or_named(name, node)?, node),
            (Form::AlignOf, [operand]) => {
                let operand = self.type_or_value(operand)?;
                if matches!(&operand, Operand::Value(value) if value.bits().is_some()) {
                    return Err(wrong("a bit-field has no alignment", &node.span));
                }
                self.align_of(&operand.ty(), node)
            }
            (Form::TypeIdOfType(name), _) => {
                let ty = referred(&self.type_or_named(name, node)?);
                Ok(self.type_info(Typed::Static(ty), node))
            }
            (Form::TypeId, [operand]) => {
                let typed = match self.type_or_value(operand)? {
                    Operand::Type(ty) => Typed::Static(referred(&ty)),
                    Operand::Value(value) => typed(self.referent(value)),
                };
                Ok(self.type_info(typed, node))
            }
            (Form::MemberOf, [object, pointer]) => self.member_of(object, pointer, node),
            (Form::MemberBehind, [object, pointer]) => self.member_behind(object, pointer, node),
            (Form::Braces(name), values) => self.braces(self.type_of_name(name)?, values, node),
            (Form::ThreeWay, _) => {
                let message = "the result of `<=>` is compared with 0 only: `(a <=> b) < 0`";
                Err(wrong(message, &node.span))
            }
            (Form::Designated(_), _) => Err(wrong("unexpected designator", &node.span)),
            _ => Err(wrong("braces need a type before them", &node.span)),
        }
    }

    /// Returns the type of a name in the text.
    pub(crate) fn type_of_name<'t>(&self, name: &'t TypeName) -> Result<Ty, Stop<'t>> {
        let of = match &name.of {
            Some(of) => Some(referred(&self.check(&of.0)?.ty)),
            None => None,
        };
        let found = name.find_by(&|base| match &of {
            Some(of) if base == name.base => Some(of.clone()),
            _ => self.type_meant(base),
        });
        found.map_err(Stop::Wrong)
    }

    /// Returns the type of a name in the text, or that of the variable: `sizeof(T<int>::value)`.
    pub(super) fn type_or_named<'t>(
        &self,
        name: &'t TypeName,
        node: &'t Node,
    ) -> Result<Ty, Stop<'t>> {
        match self.type_of_name(name) {
            Err(stop) if name.layers.is_empty() && self.language == Language::Cpp => {
                match self.name(&name.base, node) {
                    Ok(value) => Ok(referred(&value.ty)),
                    Err(Stop::Wrong(_)) => Err(stop),
                    Err(needs) => Err(needs),
                }
            }
            found => found,
        }
    }

    /// Checks an operand that may be the name of a type, as in `sizeof(T)`.
    pub(super) fn type_or_value<'t>(&self, operand: &'t Node) -> Result<Operand<'t>, Stop<'t>> {
        match self.check(operand) {
            Err(Stop::Wrong(error @ Error::UnknownName { .. })) => {
                match self.spelled_type(operand) {
                    Some(ty) => Ok(Operand::Type(ty)),
                    None => Err(Stop::Wrong(error)),
                }
            }
            // A class's own name is that of its constructors, too.
            Ok(value)
                if self.language == Language::Cpp
                    && matches!(value.ty.shape(), Shape::Function)
                    && let Some(ty) = self.spelled_type(operand) =>
            {
                Ok(Operand::Type(ty))
            }
            checked => checked.map(Operand::Value),
        }
    }

    /// Returns the type that an operand spells: `Point`, `Point[3]`.
    fn spelled_type(&self, operand: &Node) -> Option<Ty> {
        match &inner(operand).kind {
            tree::Kind::Name(name) => self.scope.find_type(name),
            tree::Kind::Index(base, index) => {
                let (tree::Kind::Number(count, _) | tree::Kind::Literal(_, count)) =
                    inner(index).kind
                else {
                    return None;
                };
                let mut bounds = vec![u64::try_from(count).ok()?];
                let mut of = inner(base);
                while let tree::Kind::Index(base, index) = &of.kind {
                    let tree::Kind::Number(count, _) = inner(index).kind else {
                        return None;
                    };
                    bounds.push(u64::try_from(count).ok()?);
                    of = inner(base);
                }
                let element = self.spelled_type(of)?;
                // `Point[2][3]`: the innermost bound is the last.
                Some(bounds.into_iter().fold(element, Ty::array))
            }
            _ => None,
        }
    }

    /// Checks `sizeof x`.
    pub(super) fn size_of<'t>(&self, operand: &'t Node, node: &'t Node) -> Checked<'t> {
        if let tree::Kind::Text(bytes) = &inner(operand).kind {
            let prefix = literal::prefix(self.source_text(inner(operand)));
            let count = literal::units(bytes, prefix).len() as u64 + 1;
            let unit = literal::character_type(prefix, self.language, self.scope.c_types());
            return Ok(self.size(count * unit.size().unwrap_or(1), node));
        }
        let operand = self.type_or_value(operand)?;
        if matches!(&operand, Operand::Value(value) if value.bits().is_some()) {
            return Err(wrong(messages::SIZE_OF_BITS, &node.span));
        }
        match (&operand, operand.ty().shape()) {
            (Operand::Value(value), _) if c::is_int_enumerator(value) => {
                self.size_of_type(&c::int(), node)
            }
            // GNU C counts in bytes for pointers to functions, too.
            (_, Shape::Function) if self.language == Language::C => Ok(self.size(1, node)),
            _ => self.size_of_type(&operand.ty(), node),
        }
    }

    /// Checks `sizeof(T)`.
    pub(super) fn size_of_type<'t>(&self, ty: &Ty, node: &'t Node) -> Checked<'t> {
        match referred(ty).size() {
            Some(bytes) => Ok(self.size(bytes, node)),
            None => Err(wrong(messages::unknown_size(ty), &node.span)),
        }
    }

    fn align_of<'t>(&self, ty: &Ty, node: &'t Node) -> Checked<'t> {
        let ty = referred(ty);
        match (ty.shape(), ty.size()) {
            (Shape::Array(_), _) | (_, Some(_)) => Ok(self.size(alignment::of(&ty), node)),
            _ => {
                let message = format!("unknown alignment of `{}`", ty.name());
                Err(wrong(message, &node.span))
            }
        }
    }

    fn size<'t>(&self, bytes: u64, node: &'t Node) -> Expr<'t> {
        let ty = match self.language {
            Language::Rust => super::rust::named("usize"),
            _ => c::named("unsigned long"),
        };
        Expr::new(Kind::Constant(u128::from(bytes)), ty, node)
    }

    fn type_info<'t>(&self, typed: Typed<'t>, node: &'t Node) -> Expr<'t> {
        let ty = self.scope.find_type("std::type_info");
        let ty = ty.unwrap_or_else(|| name_type(self.scope.c_types()));
        Expr::new(Kind::Cpp(Box::new(Cpp::TypeInfo(typed))), ty, node)
    }

    /// Checks `typeid(x).name()`; `None`: it is another call.
    pub(super) fn type_name<'t>(
        &self,
        function: &'t Node,
        arguments: &'t [Node],
        node: &'t Node,
    ) -> Option<Checked<'t>> {
        let tree::Kind::Member(object, name) = &inner(function).kind else {
            return None;
        };
        let tree::Kind::Cpp(Form::TypeId | Form::TypeIdOfType(_), _) = inner(object).kind else {
            return None;
        };
        if name != "name" || !arguments.is_empty() {
            return None;
        }
        let of = match self.check(object) {
            Ok(of) => of,
            Err(stop) => return Some(Err(stop)),
        };
        let Kind::Cpp(form) = of.kind else {
            return None;
        };
        let Cpp::TypeInfo(typed) = *form else {
            return None;
        };
        let kind = Kind::Cpp(Box::new(Cpp::TypeName(typed)));
        Some(Ok(Expr::new(kind, name_type(self.scope.c_types()), node)))
    }

    /// Checks a comparison of what `typeid` returns.
    pub(super) fn same_types<'t>(
        &self,
        operator: Binary,
        a: Typed<'t>,
        b: Typed<'t>,
        node: &'t Node,
    ) -> Checked<'t> {
        let kind = Kind::Cpp(Box::new(Cpp::IsSameType(a, b)));
        let same = Expr::new(kind, self.truth_type(), node);
        match operator {
            Binary::Eq => Ok(same),
            Binary::Ne => Ok(Expr::new(
                Kind::Not(Box::new(same)),
                self.truth_type(),
                node,
            )),
            _ => {
                let symbol = operator.symbol();
                let message = format!("`{symbol}` is not defined for `std::type_info`");
                Err(wrong(message, &node.span))
            }
        }
    }
}

/// Returns the type whose information `typeid` of a value returns: that of the object if its class has
/// virtual functions.
fn typed(of: Expr<'_>) -> Typed<'_> {
    let is_polymorphic = match of.ty.shape() {
        Shape::Composite(class) => has_virtual_functions(&class, 0),
        _ => false,
    };
    match is_polymorphic && of.is_place() {
        true => Typed::Dynamic(of),
        false => Typed::Static(of.ty),
    }
}

/// Returns whether a class or one of its bases has virtual functions.
pub(super) fn has_virtual_functions(class: &DwarfTy, depth: usize) -> bool {
    let Some(composite) = class.composite() else {
        return false;
    };
    // Of a class that is only declared, the debug info may list the functions.
    let has_slot = || {
        let methods = class.module().methods(class.ty.id);
        methods.iter().any(|it| it.slot.is_some())
    };
    composite.polymorphic
        || composite.declaration && has_slot()
        || depth < 16
            && composite
                .bases
                .iter()
                .any(|base| match class.related(base.ty).shape() {
                    Shape::Composite(base) => has_virtual_functions(&base, depth + 1),
                    _ => false,
                })
}

/// Returns the type of a type's name.
fn name_type(types: CTypes) -> Ty {
    c::char(types).pointer()
}
