//! Implicit conversions of arguments: whether a parameter takes an argument, and how well it fits. A
//! bytewise copy of a value with a destructor would be freed twice.

use super::argument_rust::accepts_reference;
use super::check::{c, cpp_objects};
use super::exact::{self, reference, same};
use super::ir::{Expr, Kind};
use super::ownership;
use crate::arch::Arch;
use crate::inspect::library::{self, Contents};
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::text::Unit;
use crate::inspect::value::{PointerKind, Shape, Ty};
use dwarf::{Language, TypeKind};
use std::cmp::Ordering;

/// Maximum number of smart pointers and references that are followed.
const DEPTH: usize = 16;

/// How well an argument fits a parameter; the greater, the better (ISO C++ [over.ics.scs]).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    /// The compiler rejects it: a number as an address.
    Lenient,
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

/// How a reference or pointer binds; the greater, the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Binding {
    /// `const` is added.
    AddsConst,
    /// `T &&` for a computed value; nothing is added.
    Direct,
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
        Some(match (self.binding, other.binding) {
            (Some(a), Some(b)) => order.then(a.cmp(&b)),
            _ => order,
        })
    }
}

impl Rank {
    /// Returns whether no other rank is better.
    pub(super) fn is_best(&self) -> bool {
        self.fit == Fit::Exact && self.binding != Some(Binding::AddsConst)
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
}

impl Passed {
    /// Returns a checked expression as an argument.
    pub(super) fn of(argument: &Expr<'_>) -> Passed {
        match argument.ty.shape() {
            Shape::Pointer(ty, PointerKind::Reference) => Passed {
                ty,
                is_place: true,
                is_open: false,
                is_null: false,
            },
            _ => Passed {
                ty: match exact::is_const_object(argument) {
                    true => argument.ty.clone().constant(),
                    false => argument.ty.clone(),
                },
                is_place: argument.is_place(),
                is_open: argument.open,
                is_null: matches!(argument.kind, Kind::Constant(0)),
            },
        }
    }
}

/// Ranks an argument for a parameter.
pub(super) fn accepts(
    parameter: &Ty,
    argument: &Passed,
    language: Language,
) -> Result<Rank, Refusal> {
    match language == Language::Rust || argument.ty.language() == Language::Rust {
        true => accepts_rust(parameter, argument),
        false => accepts_c(parameter, argument, language),
    }
}

fn accepts_rust(to: &Ty, argument: &Passed) -> Result<Rank, Refusal> {
    let from = &argument.ty;
    if let Some(ranked) = accepts_reference(to, from) {
        return ranked;
    }
    let rank = match (to.shape(), from.shape()) {
        (Shape::Pointer(of, _), _) if is_borrowed(to) || is_raw(to) => {
            match from.shape() {
                // `x` for `&x`: a function of `x` itself is better.
                _ if is_borrowed(to) && same(&of, from) => {
                    return Ok(Rank {
                        levels: 1,
                        ..Fit::Exact.into()
                    });
                }
                Shape::Pointer(from, _) if same(&of, &from) => Fit::Exact,
                Shape::Function if matches!(of.shape(), Shape::Function) => Fit::Exact,
                // A number as an address.
                Shape::Scalar(_) if is_raw(to) => Fit::Lenient,
                _ => return Err(Refusal::Arguments),
            }
        }
        (Shape::Pointer(of, _), _)
            if matches!(of.shape(), Shape::Function) && is_function(from) =>
        {
            Fit::Exact
        }
        (Shape::Composite(_), Shape::Text) if matches!(&*to.name(), "&str" | "&[u8]") => Fit::Exact,
        (Shape::Composite(_), _) if !same(to, from) => match is_row(to, from) {
            true => Fit::Standard,
            false => return Err(Refusal::Arguments),
        },
        (Shape::Scalar(a), Shape::Scalar(b)) if argument.is_open => {
            let is_float = |it: Scalar| matches!(it.kind, ScalarKind::Float(_));
            return match is_float(a) == is_float(b) {
                true if same(to, from) => Ok(Fit::Exact.into()),
                true => Ok(Fit::Standard.into()),
                false => Err(mismatch(to, from)),
            };
        }
        (Shape::Scalar(_) | Shape::Enumeration(_), Shape::Scalar(_) | Shape::Enumeration(_)) => {
            return match same(to, from) {
                true => Ok(Fit::Exact.into()),
                false => Err(mismatch(to, from)),
            };
        }
        _ if same(to, from) => Fit::Exact,
        _ => return Err(Refusal::Arguments),
    };
    if !is_borrowed(to) && !is_raw(to) {
        ownership::may_move(from).map_err(Refusal::Argument)?;
    }
    Ok(rank.into())
}

fn mismatch(to: &Ty, from: &Ty) -> Refusal {
    let (to, from) = (to.name(), from.name());
    Refusal::Argument(format!(
        "expected `{to}`, found `{from}`; cast it with `as {to}`"
    ))
}

/// Returns whether a value has elements that a parameter of type `&str` or slice takes.
fn is_row(to: &Ty, from: &Ty) -> bool {
    let name = to.name();
    let Some(of) = name.strip_prefix('&') else {
        return false;
    };
    let of = of.strip_prefix("mut ").unwrap_or(of);
    let is_row_of = |element: &Ty| {
        let inner = of.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        inner == Some(&element.name())
    };
    let mut from = from.clone();
    for _ in 0..DEPTH {
        from = match (library::contents(&from), from.shape()) {
            (Some(Contents::Text(Unit::Byte, _)), _) if of == "str" => return true,
            (Some(Contents::Sequence(element)), _) => return is_row_of(&element),
            (Some(Contents::Pointee(next) | Contents::Wrapped(next)), _) => next,
            (_, Shape::Array(array)) => return is_row_of(&array.element),
            (_, Shape::Pointer(of, _)) => of,
            _ => return false,
        };
    }
    false
}

fn accepts_c(parameter: &Ty, argument: &Passed, language: Language) -> Result<Rank, Refusal> {
    let from = &argument.ty;
    if let Some((of, is_rvalue)) = reference(parameter) {
        return accepts_bound(parameter, &of, is_rvalue, argument, language);
    }
    let fit = match (parameter.shape(), from.shape()) {
        (Shape::Pointer(of, _), Shape::Text) if of.size() == Some(1) => {
            return Ok(Rank::from(Fit::Exact).bound(Binding::AddsConst));
        }
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
        _ => return by_class(parameter, argument, language),
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
        if from.is_const() && !of.is_const() {
            return Err(drops_const(parameter, from));
        }
        // A computed value binds to a const reference only.
        if !is_rvalue && !of.is_const() && !argument.is_place {
            return Err(not_bound(parameter, from));
        }
        let is_direct = is_rvalue || of.is_const() == from.is_const() && argument.is_place;
        let fit = match levels {
            0 => Fit::Exact,
            _ => Fit::Standard,
        };
        let binding = match is_direct {
            true => Binding::Direct,
            false => Binding::AddsConst,
        };
        let binding = Some(binding);
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
        (true, _) => Binding::Direct,
        (false, true) => Binding::AddsConst,
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

fn drops_const(parameter: &Ty, from: &Ty) -> Refusal {
    Refusal::Argument(format!(
        "`{}` drops the `const` of `{}`; cast it if intended",
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
        () if language == Language::Cpp && from.is_const() && !to.is_const() => {
            return Err(drops_const(&to.clone().pointer(), &from.clone().pointer()));
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
    let binding = match to.is_const() == from.is_const() {
        true => Binding::Direct,
        false => Binding::AddsConst,
    };
    Ok(Rank {
        fit,
        levels: levels.unwrap_or(0),
        binding: Some(binding),
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
pub(super) fn accepts_object(parameter: &Ty, object: &Passed) -> Result<Rank, Refusal> {
    let Shape::Pointer(of, _) = parameter.shape() else {
        return Ok(Fit::Exact.into());
    };
    let from = match object.ty.shape() {
        Shape::Pointer(from, _) => from,
        // A value that the call has a copy of.
        _ => object.ty.clone(),
    };
    let binding = match (from.is_const(), of.is_const()) {
        (true, false) => {
            return Err(Refusal::Argument(format!(
                "the object is a `{}`, and the function is not `const`; cast the object if intended",
                from.name()
            )));
        }
        (false, true) => Binding::AddsConst,
        _ => Binding::Direct,
    };
    Ok(Rank::from(Fit::Exact).bound(binding))
}

fn is_borrowed(ty: &Ty) -> bool {
    ty.name().starts_with('&')
}

fn is_raw(ty: &Ty) -> bool {
    ty.name().starts_with('*')
}

/// Returns whether values are functions, or pointers to functions.
fn is_function(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Function => true,
        Shape::Pointer(of, _) => matches!(of.shape(), Shape::Function),
        _ => false,
    }
}
