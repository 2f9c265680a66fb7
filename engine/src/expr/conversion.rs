//! Implicit conversions of arguments: whether a parameter takes an argument, and how well it fits. A
//! bytewise copy of a value with a destructor would be freed twice.

use super::check::{c, cpp_objects};
use super::conversion_rust;
use super::exact::{self, reference, same};
use super::ir::{Expr, Kind};
use super::tree;
use super::types::Layer;
use crate::arch::Arch;
use crate::inspect::library;
use crate::inspect::value::path::Part;
use crate::inspect::value::scalar::ScalarKind;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{Language, Objects, TypeKind};
use std::cmp::Ordering;

/// How well an argument fits a parameter; the greater, the better (ISO C++ [over.ics.scs]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    /// The compiler rejects it: a number as an address.
    Lenient,
    /// A variadic function takes it beyond its parameters.
    Ellipsis,
    /// A class converts it.
    UserDefined,
    /// A pointer as a `bool`.
    Truth,
    /// A pointer as a `void *`.
    Untyped,
    /// Any other conversion of numbers, pointers or classes.
    Standard,
    /// An integer as the `int`, a `float` as the `double` that it is promoted to.
    Promotion,
    /// The same type.
    Exact,
}

/// The rank of an argument for a parameter. Ranks are ordered in part only: which reference binds
/// better distinguishes references only (ISO C++ [over.ics.rank]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rank {
    /// The conversion.
    pub fit: Fit,
    /// The number of levels from a class to its base.
    levels: usize,
    /// What a reference or pointer adds, if the parameter is one.
    binding: Option<Binding>,
}

/// A binding of a reference or pointer parameter to its argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Binding {
    /// Whether it is a `T &&`, which only a computed value binds to.
    is_rvalue: bool,
    /// The qualifiers that it adds.
    adds: Qualifiers,
}

/// `const` and `volatile`, as far as one type has them and another one has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Qualifiers {
    is_const: bool,
    is_volatile: bool,
}

impl Qualifiers {
    /// Returns the qualifiers of `to` that `from` lacks.
    fn added(from: &Ty, to: &Ty) -> Qualifiers {
        Qualifiers {
            is_const: to.is_const() && !from.is_const(),
            is_volatile: to.is_volatile() && !from.is_volatile(),
        }
    }

    fn is_none(self) -> bool {
        !self.is_const && !self.is_volatile
    }
}

impl Binding {
    fn lvalue(from: &Ty, to: &Ty) -> Binding {
        Binding {
            is_rvalue: false,
            adds: Qualifiers::added(from, to),
        }
    }

    fn rvalue(from: &Ty, to: &Ty) -> Binding {
        Binding {
            is_rvalue: true,
            ..Binding::lvalue(from, to)
        }
    }
}

/// A `T &&` is better than another reference, and fewer qualifiers are better than more.
impl PartialOrd for Binding {
    fn partial_cmp(&self, other: &Binding) -> Option<Ordering> {
        match self.is_rvalue.cmp(&other.is_rvalue) {
            Ordering::Equal => {}
            better => return Some(better),
        }
        let (a, b) = (self.adds, other.adds);
        let orders = [
            b.is_const.cmp(&a.is_const),
            b.is_volatile.cmp(&a.is_volatile),
        ];
        match orders {
            [x, y] if x == y => Some(x),
            [Ordering::Equal, order] | [order, Ordering::Equal] => Some(order),
            _ => None,
        }
    }
}

impl From<Fit> for Rank {
    fn from(fit: Fit) -> Rank {
        Rank {
            fit,
            levels: 0,
            binding: None,
        }
    }
}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Rank) -> Option<Ordering> {
        let order = self.fit.cmp(&other.fit);
        let order = order.then(other.levels.cmp(&self.levels));
        match (self.binding, other.binding) {
            (Some(a), Some(b)) if order == Ordering::Equal => a.partial_cmp(&b),
            _ => Some(order),
        }
    }
}

impl Rank {
    /// Returns whether no other rank is better.
    pub(super) fn is_best(&self) -> bool {
        self.fit == Fit::Exact && self.binding.is_none_or(|it| it.adds.is_none())
    }

    /// Returns the rank of the same type, so many levels from it.
    pub(super) fn exact_behind(levels: usize) -> Rank {
        Rank {
            levels,
            ..Fit::Exact.into()
        }
    }

    fn bound(self, binding: Binding) -> Rank {
        let binding = Some(binding);
        Rank { binding, ..self }
    }
}

/// The reason why a function is not called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// It does not take these arguments.
    Arguments,
    /// An argument must not be passed; cause and remedy.
    Argument(String),
}

impl Refusal {
    /// Returns the significance: the most significant reason is reported.
    pub(super) fn weight(&self) -> u8 {
        match self {
            Refusal::Arguments => 0,
            Refusal::Argument(_) => 1,
        }
    }

    /// Returns the message for an argument that a pointer to a function does not take.
    pub(super) fn of_pointer(self, ty: &Ty, argument: &Passed) -> String {
        match self {
            Refusal::Argument(why) => why,
            _ => format!(
                "expected `{}`, found `{}`; cast it if intended",
                ty.name(),
                argument.ty.name()
            ),
        }
    }
}

/// An argument as overload resolution sees it.
#[derive(Clone, Debug)]
pub(crate) struct Passed {
    /// Its type; the target's if it is a C++ reference.
    pub ty: Ty,
    /// Whether it is an object, as opposed to a computed value.
    pub is_place: bool,
    /// Whether its type is still open, like that of a Rust literal without a suffix.
    pub is_open: bool,
    /// Whether it is a literal 0 or `nullptr`, which every pointer type takes in C++.
    pub is_null: bool,
    /// Whether it is an object that may be moved from, or the address of one.
    pub is_expiring: bool,
}

impl Passed {
    /// Returns a checked expression as an argument.
    pub(super) fn of(argument: &Expr<'_>) -> Passed {
        match argument.ty.shape() {
            Shape::Pointer(ty, PointerKind::Reference) => Passed {
                ty,
                is_place: !is_expiring(argument),
                is_open: false,
                is_null: false,
                is_expiring: is_expiring(argument),
            },
            _ => Passed {
                ty: match exact::is_const_object(argument) {
                    true => argument.ty.clone().constant(),
                    false => argument.ty.clone(),
                },
                is_place: argument.is_place() && !is_expiring(argument),
                is_open: argument.open,
                is_null: matches!(argument.kind, Kind::Constant(0)),
                is_expiring: match &argument.kind {
                    Kind::AddressOf(of) => is_expiring(of),
                    _ => !argument.is_place() || is_expiring(argument),
                },
            },
        }
    }
}

/// Returns whether an expression is an object that may be moved from, though it is in memory: the
/// result of a cast to `T &&` or of a function that returns one, or a part of it (ISO C++
/// [basic.lval]).
fn is_expiring(of: &Expr<'_>) -> bool {
    match &of.kind {
        Kind::Known(node, _) => match &node.kind {
            tree::Kind::Cast(_, name, _) => name.layers.last() == Some(&Layer::RvalueReference),
            _ => false,
        },
        Kind::Call(_) => matches!(reference(&of.ty), Some((_, true))),
        Kind::Deref(of) | Kind::Part(of, Part::Member(..) | Part::Base(..)) => is_expiring(of),
        _ => false,
    }
}

/// Ranks an argument for a parameter.
pub(super) fn accepts(
    parameter: &Ty,
    argument: &Passed,
    language: Language,
) -> Result<Rank, Refusal> {
    match language == Language::Rust || argument.ty.language() == Language::Rust {
        true => conversion_rust::accepts(parameter, argument),
        false => accepts_c(parameter, argument, language),
    }
}

fn accepts_c(parameter: &Ty, argument: &Passed, language: Language) -> Result<Rank, Refusal> {
    let from = &argument.ty;
    if let Some((of, is_rvalue)) = reference(parameter) {
        return accepts_bound(parameter, &of, is_rvalue, argument, language);
    }
    let fit = match (parameter.shape(), from.shape()) {
        (Shape::Pointer(of, _), Shape::Text) if library::is_narrow(&of) => {
            // Not to a plain `char *`, which older sources pass literals to, if there is a better one.
            let adds = Qualifiers {
                is_const: !of.is_const(),
                is_volatile: of.is_volatile(),
            };
            let is_rvalue = false;
            return Ok(Rank::from(Fit::Exact).bound(Binding { is_rvalue, adds }));
        }
        (Shape::Pointer(of, _), Shape::Text) if of.size() == Some(1) => Fit::Lenient,
        (Shape::Pointer(of, _), Shape::Text) if is_void(&of) && of.is_const() => Fit::Untyped,
        (Shape::Pointer(of, _), Shape::Array(array)) => {
            return pointees(&of, &array.element, language);
        }
        (Shape::Pointer(..), Shape::Pointer(..)) if argument.is_null && is_null_type(parameter) => {
            Fit::Exact
        }
        (Shape::Pointer(..), Shape::Pointer(..) | Shape::Scalar(_)) if argument.is_null => {
            Fit::Standard
        }
        (Shape::Pointer(of, _), Shape::Pointer(from, _)) => return pointees(&of, &from, language),
        (Shape::Pointer(of, _), Shape::Function) => match of.shape() {
            Shape::Function => Fit::Exact,
            Shape::Void if language == Language::C => Fit::Lenient,
            _ => return Err(Refusal::Arguments),
        },
        (Shape::Pointer(..), Shape::Scalar(_)) => Fit::Lenient,
        (
            Shape::Scalar(to),
            Shape::Pointer(..) | Shape::Array(_) | Shape::Function | Shape::Text,
        ) if to.kind == ScalarKind::Bool => Fit::Truth,
        (Shape::Scalar(_) | Shape::Enumeration(_), Shape::Scalar(_) | Shape::Enumeration(_)) => {
            numbers(parameter, from, language)?
        }
        _ if same(parameter, from) => Fit::Exact,
        _ => {
            return match exact::levels_to(from, parameter) {
                // A copy of the base (ISO C++ [over.best.ics]).
                Some(levels) if language == Language::Cpp => Ok(Rank {
                    levels,
                    ..Fit::Standard.into()
                }),
                _ => by_class(parameter, argument, language),
            };
        }
    };
    Ok(fit.into())
}

/// Ranks an argument that a class converts; how well the result fits decides between functions
/// (ISO C++ [over.ics.user]).
fn by_class(to: &Ty, argument: &Passed, language: Language) -> Result<Rank, Refusal> {
    let distance = match language {
        Language::Cpp => cpp_objects::conversion_to(&argument.ty, to),
        _ => None,
    };
    let levels = distance.ok_or(Refusal::Arguments)?;
    Ok(Rank {
        fit: Fit::UserDefined,
        levels,
        binding: None,
    })
}

/// Ranks an argument for a parameter that is a reference to `of`.
fn accepts_bound(
    parameter: &Ty,
    of: &Ty,
    is_rvalue: bool,
    argument: &Passed,
    language: Language,
) -> Result<Rank, Refusal> {
    let from = &argument.ty;
    let levels = match same(of, from) {
        true => Some(0),
        false => exact::levels_to(from, of),
    };
    if let Some(levels) = levels {
        if is_rvalue && argument.is_place {
            return Err(Refusal::Argument(format!(
                "`{}` may move from the object; call a function that takes it by `const &` or by \
                 value",
                parameter.name()
            )));
        }
        if from.is_const() && !of.is_const() || from.is_volatile() && !of.is_volatile() {
            return Err(drops_qualifier(parameter, from));
        }
        // A computed value binds to a const reference only.
        if !is_rvalue && !of.is_const() && !argument.is_place {
            return Err(not_bound(parameter, from));
        }
        let fit = match levels {
            0 => Fit::Exact,
            _ => Fit::Standard,
        };
        let binding = Some(match is_rvalue {
            true => Binding::rvalue(from, of),
            false => Binding::lvalue(from, of),
        });
        return Ok(Rank {
            fit,
            levels,
            binding,
        });
    }
    // The function gets a converted copy.
    let is_number = |ty: &Ty| matches!(ty.shape(), Shape::Scalar(_) | Shape::Enumeration(_));
    if !is_number(of) || !is_number(from) {
        return match is_rvalue || of.is_const() {
            true => by_class(of, argument, language),
            false => Err(Refusal::Arguments),
        };
    }
    let binding = match (is_rvalue, of.is_const()) {
        (true, _) => Binding::rvalue(from, of),
        (false, true) => Binding::lvalue(from, of),
        (false, false) => return Err(not_bound(parameter, from)),
    };
    numbers(of, from, language).map(|fit| Rank::from(fit).bound(binding))
}

fn not_bound(parameter: &Ty, from: &Ty) -> Refusal {
    Refusal::Argument(format!(
        "cannot bind `{}` to a `{}`; pass a variable of that type",
        parameter.name(),
        from.name()
    ))
}

fn drops_qualifier(parameter: &Ty, from: &Ty) -> Refusal {
    let target = |ty: &Ty| match ty.shape() {
        Shape::Pointer(of, _) => of,
        _ => ty.clone(),
    };
    let qualifier = match target(from).is_const() && !target(parameter).is_const() {
        true => "const",
        false => "volatile",
    };
    Refusal::Argument(format!(
        "`{}` drops the `{qualifier}` of `{}`; cast it if intended",
        parameter.name(),
        from.name()
    ))
}

/// Ranks the conversion between two number types.
fn numbers(to: &Ty, from: &Ty, language: Language) -> Result<Fit, Refusal> {
    let is_enumeration = |ty: &Ty| matches!(ty.shape(), Shape::Enumeration(_));
    Ok(match language {
        _ if c::is_same(to, from) => Fit::Exact,
        Language::Cpp if is_enumeration(to) || c::is_scoped(from) => {
            let (to, from) = (to.name(), from.name());
            return Err(Refusal::Argument(format!(
                "cannot convert `{from}` to `{to}`; cast it"
            )));
        }
        _ if is_promoted(to, from) => Fit::Promotion,
        _ => Fit::Standard,
    })
}

/// Returns whether a number is promoted to a type (ISO C++ [conv.prom], [conv.fpprom]).
fn is_promoted(to: &Ty, from: &Ty) -> bool {
    let float = |ty: &Ty| match ty.shape() {
        Shape::Scalar(it) => matches!(it.kind, ScalarKind::Float(_)).then_some(it.size),
        _ => None,
    };
    match (float(to), float(from)) {
        (Some(to), Some(from)) => to == 8 && from == 4,
        (None, None) => {
            let types = to.c_types().or(from.c_types());
            let types = types.unwrap_or_else(|| Arch::default().machine().c_types());
            c::is_same(to, &c::promoted_type(from, types))
        }
        _ => false,
    }
}

/// Ranks the conversion between pointers to two types.
fn pointees(to: &Ty, from: &Ty, language: Language) -> Result<Rank, Refusal> {
    let is_integral = |ty: &Ty| match ty.shape() {
        Shape::Scalar(it) => it.is_integral(),
        _ => false,
    };
    let levels = exact::levels_to(from, to);
    // `char` as `unsigned char`.
    let same_bits = is_integral(to) && is_integral(from) && to.size() == from.size();
    let is_function = |ty: &Ty| matches!(ty.shape(), Shape::Function);
    let fit = match () {
        () if language == Language::Cpp
            && (from.is_const() && !to.is_const() || from.is_volatile() && !to.is_volatile()) =>
        {
            let (to, from) = (to.clone().pointer(), from.clone().pointer());
            return Err(drops_qualifier(&to, &from));
        }
        () if same(to, from) => Fit::Exact,
        () if levels.is_some() => Fit::Standard,
        () if is_void(to) && !is_function(from) => Fit::Untyped,
        () if is_void(from) || same_bits => Fit::Lenient,
        () if is_void(to) && language == Language::C => Fit::Lenient,
        () => {
            return Err(Refusal::Argument(format!(
                "expected a pointer to `{1}`, found a pointer to `{0}`; cast it if intended",
                from.name(),
                to.name()
            )));
        }
    };
    Ok(Rank {
        fit,
        levels: levels.unwrap_or(0),
        binding: Some(Binding::lvalue(from, to)),
    })
}

/// Returns whether a type is that of `nullptr`.
fn is_null_type(ty: &Ty) -> bool {
    matches!(ty.strip(), Ty::Dwarf(of) if matches!(of.ty.kind, TypeKind::Unspecified))
}

fn is_void(ty: &Ty) -> bool {
    matches!(ty.shape(), Shape::Void)
}

/// Ranks the object of a call for the pointer that a C++ member function takes.
pub(super) fn accepts_object(
    parameter: &Ty,
    object: &Passed,
    objects: Objects,
) -> Result<Rank, Refusal> {
    let Shape::Pointer(of, _) = parameter.shape() else {
        return Ok(Fit::Exact.into());
    };
    let from = match object.ty.shape() {
        Shape::Pointer(from, _) => from,
        // A value that the call has a copy of.
        _ => object.ty.clone(),
    };
    let drops = |has: fn(&Ty) -> bool| has(&from) && !has(&of);
    let dropped = match (drops(Ty::is_const), drops(Ty::is_volatile)) {
        (true, _) => Some("const"),
        (false, true) => Some("volatile"),
        (false, false) => None,
    };
    if let Some(qualifier) = dropped {
        return Err(Refusal::Argument(format!(
            "the object is a `{}`, and the function is not `{qualifier}`; cast the object if \
             intended",
            from.name()
        )));
    }
    let why = match (objects, object.is_expiring) {
        (Objects::Rvalues, false) => "moves from the object; cast it to `&&` if intended",
        (Objects::Lvalues, true) if !of.is_const() => {
            "takes an object with an address; call it for a variable"
        }
        _ => {
            let binding = Binding {
                is_rvalue: objects == Objects::Rvalues,
                ..Binding::lvalue(&from, &of)
            };
            return Ok(Rank::from(Fit::Exact).bound(binding));
        }
    };
    Err(Refusal::Argument(format!("the function {why}")))
}
