//! Comparison of values of the libraries' types: element by element, as the libraries define it.

use super::contents::{Contents, contents};
use super::cpp::iterators;
use super::elements::Elements;
use super::method::referent;
use super::number::{compare_numbers, number, plain};
use super::ranges;
use super::text::{Text, is_character};
use crate::ids::error::Error;
use crate::inspect::value::scalar::{Scalar, ScalarKind};
use crate::inspect::value::{PointerKind, Shape, Target, Ty, Value, members, synthetic};
use crate::inspect::visualize::standard::time;
use crate::inspect::visualize::{self, View};
use dwarf::Language;
use std::cmp::Ordering;

/// Maximum nesting of compared values.
const NESTING: usize = 16;

/// A comparison with a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// Rust's `cmp`.
    Order,
    /// Rust's `partial_cmp`.
    PartialOrder,
}

impl Comparison {
    /// Returns the comparison that a method of that name makes.
    pub fn named(name: &str, language: Language) -> Option<Comparison> {
        let rust = language == Language::Rust;
        Some(match name {
            "operator==" => Comparison::Equal,
            "operator!=" => Comparison::NotEqual,
            "operator<" => Comparison::Less,
            "operator<=" => Comparison::LessOrEqual,
            "operator>" => Comparison::Greater,
            "operator>=" => Comparison::GreaterOrEqual,
            "eq" if rust => Comparison::Equal,
            "ne" if rust => Comparison::NotEqual,
            "lt" if rust => Comparison::Less,
            "le" if rust => Comparison::LessOrEqual,
            "gt" if rust => Comparison::Greater,
            "ge" if rust => Comparison::GreaterOrEqual,
            "cmp" if rust => Comparison::Order,
            "partial_cmp" if rust => Comparison::PartialOrder,
            _ => return None,
        })
    }

    fn is_equality(self) -> bool {
        matches!(self, Comparison::Equal | Comparison::NotEqual)
    }

    /// Returns whether the comparison is defined for values of these types.
    pub fn fits(self, left: &Ty, right: &Ty) -> bool {
        let is_unordered = is_unordered(left) || ranges::of(left).is_some();
        comparable(left, right) && (self.is_equality() || !is_unordered)
    }

    /// Returns the type of the result.
    pub fn returns(self) -> Ty {
        match self {
            Comparison::Order => Ty::ordering(),
            Comparison::PartialOrder => Ty::ordering().option(),
            _ => Ty::Builtin(Scalar::new(ScalarKind::Bool, 1), "bool"),
        }
    }

    /// Compares two values.
    pub fn evaluate(
        self,
        target: &dyn Target,
        returns: &Ty,
        left: &Value,
        right: &Value,
    ) -> Result<Value, Error> {
        let order = compare(target, left, right)?;
        let ordering = |order: Ordering| {
            let name = match order {
                Ordering::Less => "Less",
                Ordering::Equal => "Equal",
                Ordering::Greater => "Greater",
            };
            Value::variant(target, Ty::ordering(), name, None)
        };
        let truth = match (self, order) {
            (Comparison::Order, Some(order)) => return ordering(order),
            (Comparison::PartialOrder, Some(order)) => {
                let order = ordering(order)?;
                return Value::variant(target, returns.clone(), "Some", Some(&order));
            }
            (Comparison::PartialOrder | Comparison::Order, None) => {
                return Value::variant(target, returns.clone(), "None", None);
            }
            (Comparison::Equal, order) => order == Some(Ordering::Equal),
            (Comparison::NotEqual, order) => order != Some(Ordering::Equal),
            (Comparison::Less, order) => order.is_some_and(Ordering::is_lt),
            (Comparison::LessOrEqual, order) => order.is_some_and(Ordering::is_le),
            (Comparison::Greater, order) => order.is_some_and(Ordering::is_gt),
            (Comparison::GreaterOrEqual, order) => order.is_some_and(Ordering::is_ge),
        };
        Ok(Value::of_bytes(returns.clone(), &[u8::from(truth)]))
    }
}

/// Returns whether a type is that of integers, characters, booleans or enumerators.
pub(super) fn is_integer(ty: &Ty) -> bool {
    match referent(ty).shape() {
        Shape::Scalar(scalar) => scalar.is_integral(),
        Shape::Enumeration(_) => true,
        _ => false,
    }
}

/// Returns whether values of a type have a text.
pub fn is_text(ty: &Ty) -> bool {
    let ty = referent(ty);
    match ty.shape() {
        Shape::Text => true,
        Shape::Pointer(of, PointerKind::Raw) => is_character(&of),
        Shape::Array(array) => is_character(&array.element) && ty.language() != Language::Rust,
        _ => match contents(&ty) {
            Some(Contents::Text(..)) => true,
            // C++ compares smart pointers and iterators, not what they point to.
            Some(Contents::Pointee(_)) if ty.language() == Language::Cpp => false,
            // `std::filesystem::path`, `Cow<str>`.
            Some(Contents::Wrapped(of) | Contents::Pointee(of)) => {
                matches!(contents(&of), Some(Contents::Text(..)))
            }
            _ => false,
        },
    }
}

/// Returns whether values of a type are numbers, addresses or enumerators.
fn is_number(ty: &Ty) -> bool {
    matches!(
        ty.shape(),
        Shape::Scalar(_) | Shape::Enumeration(_) | Shape::Pointer(_, PointerKind::Raw)
    )
}

/// Returns the class of a type of the C++ libraries.
pub(super) fn class_name(ty: &Ty) -> String {
    match ty.strip() {
        Ty::Dwarf(class) => {
            let path = visualize::standard::before_arguments(&class.ty.name);
            let found = visualize::standard::std_class(path);
            found.map_or(String::new(), |(_, name)| name.to_owned())
        }
        _ => String::new(),
    }
}

fn is_duration(ty: &Ty) -> bool {
    class_name(ty) == "chrono::duration"
}

/// Returns whether it is Rust's `Duration`, whose parts are compared as they are stored.
fn is_rust_duration(ty: &Ty) -> bool {
    &*ty.strip().name() == "core::time::Duration"
}

/// Returns whether it is the type of `nullptr`, or of a `0` that stands for it.
fn is_null(ty: &Ty) -> bool {
    match ty.shape() {
        Shape::Pointer(of, PointerKind::Raw) => matches!(of.shape(), Shape::Void),
        Shape::Scalar(scalar) => {
            matches!(ty, Ty::Builtin(..)) && scalar == Scalar::new(ScalarKind::Signed, 4)
        }
        _ => false,
    }
}

/// Returns whether it is the type of C++'s `std::nullopt`.
pub fn is_none(ty: &Ty) -> bool {
    class_name(ty) == "nullopt_t"
}

fn is_unordered(ty: &Ty) -> bool {
    class_name(ty).starts_with("unordered_")
        || ty.name().contains("::Hash")
        || iterators::is_unordered(ty)
}

/// Returns whether reading decides if values of these types are equal: a class of the program may
/// define its own comparison.
pub(super) fn comparable(left: &Ty, right: &Ty) -> bool {
    comparable_within(left, right, NESTING)
}

fn comparable_within(left: &Ty, right: &Ty, depth: usize) -> bool {
    let (left, right) = (referent(left), referent(right));
    let deeper = |a: &Ty, b: &Ty| depth > 0 && comparable_within(a, b, depth - 1);
    if is_number(&left) && is_number(&right) {
        // The numbers in two objects have one type in Rust.
        let is_rust = |ty: &Ty| ty.language() == Language::Rust;
        let are_parts = depth < NESTING && is_rust(&left) && is_rust(&right);
        return !are_parts || left.strip().name() == right.strip().name();
    }
    if is_text(&left) && is_text(&right) {
        return true;
    }
    if is_duration(&left) && is_duration(&right) || iterators::comparable(&left, &right) {
        return true;
    }
    if is_rust_duration(&left) && is_rust_duration(&right) {
        return true;
    }
    if let (Some((kind, ends)), Some((other, others))) = (ranges::of(&left), ranges::of(&right)) {
        let mut ends = ends.iter().zip(&others);
        return kind == other && ends.all(|(a, b)| deeper(a, b));
    }
    let row = |ty: &Ty| match (contents(ty), ty.shape()) {
        (Some(Contents::Sequence(of) | Contents::List(of)), _) => Some(of),
        (None, Shape::Array(array)) if ty.language() == Language::Rust => {
            Some(array.element.clone())
        }
        _ => None,
    };
    if let (Some(a), Some(b)) = (row(&left), row(&right)) {
        let same = left.language() == Language::Rust || left.same_as(&right);
        return same && deeper(&a, &b);
    }
    match (contents(&left), contents(&right)) {
        (Some(Contents::Set(a)), Some(Contents::Set(b))) => left.same_as(&right) && deeper(&a, &b),
        (Some(Contents::Map(key, a)), Some(Contents::Map(_, b))) => {
            left.same_as(&right) && deeper(&key, &key) && deeper(&a, &b)
        }
        (Some(Contents::Optional(a)), Some(Contents::Optional(b))) => deeper(&a, &b),
        (Some(Contents::Optional(_)), _) if is_none(&right) => true,
        (_, Some(Contents::Optional(_))) if is_none(&left) => true,
        (Some(Contents::Either(a, x)), Some(Contents::Either(b, y))) => {
            deeper(&a, &b) && deeper(&x, &y)
        }
        (Some(Contents::Tuple(a)), Some(Contents::Tuple(b))) => {
            a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| deeper(a, b))
        }
        (Some(Contents::Variant(a)), Some(Contents::Variant(_))) => {
            left.same_as(&right) && a.iter().all(|it| deeper(it, it))
        }
        (Some(Contents::Pointee(a)), Some(Contents::Pointee(b)))
            if left.language() == Language::Rust =>
        {
            deeper(&a, &b)
        }
        (Some(Contents::Wrapped(a)), Some(Contents::Wrapped(b))) => {
            let weak = class_name(&left).contains("weak_ptr");
            !weak && left.same_as(&right) && deeper(&a, &b)
        }
        (Some(a), Some(b)) => is_owner(&left, &a) && is_owner(&right, &b),
        (Some(a), None) => {
            is_owner(&left, &a) && is_null(&right) || of_value(&left, &a, &right, depth)
        }
        (None, Some(b)) => {
            is_owner(&right, &b) && is_null(&left) || of_value(&right, &b, &left, depth)
        }
        (None, None) => {
            is_function(&left) && is_null(&right) || is_function(&right) && is_null(&left)
        }
    }
}

/// Returns whether C++ compares a wrapper with a value of what it holds: an optional, an atomic.
fn of_value(wrapper: &Ty, held: &Contents, other: &Ty, depth: usize) -> bool {
    let of = match held {
        Contents::Optional(of) => of,
        Contents::Wrapped(of) if is_converted(wrapper) => of,
        _ => return false,
    };
    wrapper.language() != Language::Rust && depth > 0 && comparable_within(of, other, depth - 1)
}

/// Returns whether C++ converts a wrapper to what it holds.
fn is_converted(ty: &Ty) -> bool {
    let name = class_name(ty);
    matches!(&*name, "atomic" | "__atomic_base" | "reference_wrapper")
        || name.contains("_reference")
}

fn is_function(ty: &Ty) -> bool {
    class_name(ty) == "function"
}

/// Returns whether a class is a smart pointer of C++, which is compared by its address.
fn is_owner(ty: &Ty, held: &Contents) -> bool {
    matches!(held, Contents::Pointee(_) | Contents::Unbounded(_))
        && matches!(
            &*class_name(ty),
            "unique_ptr" | "shared_ptr" | "__shared_ptr"
        )
}

/// Compares two values; `None`: they have no order (NaN, different unordered sets).
///
/// # Errors
/// They cannot be compared by reading, or cannot be read.
pub fn compare(
    target: &dyn Target,
    left: &Value,
    right: &Value,
) -> Result<Option<Ordering>, Error> {
    within(target, left, right, NESTING)
}

fn within(
    target: &dyn Target,
    left: &Value,
    right: &Value,
    depth: usize,
) -> Result<Option<Ordering>, Error> {
    let (a, b) = (plain(target, left)?, plain(target, right)?);
    let refuse = || {
        Error::eval(format!(
            "cannot compare `{}` and `{}` without a call",
            a.ty.name(),
            b.ty.name()
        ))
    };
    if depth == 0 {
        return Err(refuse());
    }
    if let (Some(a), Some(b)) = (number(target, &a)?, number(target, &b)?) {
        return Ok(compare_numbers(a, b));
    }
    if is_text(&a.ty) && is_text(&b.ty) {
        let (Some(a), Some(b)) = (Text::of(target, &a)?, Text::of(target, &b)?) else {
            return Err(refuse());
        };
        let unit = if a.unit.size() > b.unit.size() {
            a.unit
        } else {
            b.unit
        };
        return Ok(Some(a.units(unit).cmp(&b.units(unit))));
    }
    if !comparable(&a.ty, &b.ty) {
        return Err(refuse());
    }
    if iterators::comparable(&a.ty, &b.ty) {
        return iterators::compare(target, &a, &b).map(Some);
    }
    if is_duration(&a.ty) {
        return time::compare(target, &a, &b);
    }
    if is_rust_duration(&a.ty) {
        let a = visualize::rust_std::duration(target, &a)?;
        return Ok(Some(a.cmp(&visualize::rust_std::duration(target, &b)?)));
    }
    let deeper = |a: &Value, b: &Value| within(target, a, b, depth - 1);
    if ranges::of(&a.ty).is_some() {
        let order = lexicographic(
            &ranges::ends(target, &a)?,
            &ranges::ends(target, &b)?,
            &deeper,
        )?;
        return Ok(order.filter(|it| it.is_eq()));
    }
    match (contents(&a.ty), contents(&b.ty)) {
        (Some(Contents::Set(_) | Contents::Map(..)), _) => {
            let (x, y) = (Elements::of(target, &a)?, Elements::of(target, &b)?);
            match is_unordered(&a.ty) {
                true => same_keys(target, &x, &y, &deeper),
                false => in_order(target, &x, &y, &deeper),
            }
        }
        (Some(Contents::Optional(_)), Some(Contents::Optional(_))) => {
            optionals(held(target, &a)?, held(target, &b)?, &deeper)
        }
        (Some(Contents::Optional(_)), _) if is_none(&b.ty) => {
            optionals(held(target, &a)?, None, &deeper)
        }
        (_, Some(Contents::Optional(_))) if is_none(&a.ty) => {
            optionals(None, held(target, &b)?, &deeper)
        }
        (Some(Contents::Optional(_)), _) => optionals(held(target, &a)?, Some(b), &deeper),
        (_, Some(Contents::Optional(_))) => optionals(Some(a), held(target, &b)?, &deeper),
        (Some(Contents::Either(..)), _) => {
            let (x, y) = (variant(target, &a)?, variant(target, &b)?);
            alternatives(x, y, &deeper)
        }
        (Some(Contents::Variant(_)), _) => {
            let (x, y) = (alternative(target, &a)?, alternative(target, &b)?);
            alternatives(x, y, &deeper)
        }
        (Some(Contents::Tuple(_)), _) => {
            lexicographic(&parts(target, &a)?, &parts(target, &b)?, &deeper)
        }
        (Some(Contents::Sequence(_) | Contents::List(_)), _)
        | (None, Some(Contents::Sequence(_))) => rows(target, &a, &b, &deeper),
        _ if matches!(a.ty.shape(), Shape::Array(_)) => rows(target, &a, &b, &deeper),
        (x, y) => {
            let owner = |ty: &Ty, held: &Option<Contents>| {
                held.as_ref().is_some_and(|it| is_owner(ty, it)) || is_function(ty)
            };
            if owner(&a.ty, &x) || owner(&b.ty, &y) {
                return Ok(Some(address(target, &a)?.cmp(&address(target, &b)?)));
            }
            let inner = |value: &Value, held: &Option<Contents>| match held {
                Some(_) => visualize_inner(target, value),
                None => Ok(value.clone()),
            };
            deeper(&inner(&a, &x)?, &inner(&b, &y)?)
        }
    }
}

type Deeper<'a> = dyn Fn(&Value, &Value) -> Result<Option<Ordering>, Error> + 'a;

fn visualize_inner(target: &dyn Target, value: &Value) -> Result<Value, Error> {
    let none = || Error::eval(format!("cannot compare a `{}`", value.ty.name()));
    super::call::held(target, value)?.ok_or_else(none)
}

fn rows(
    target: &dyn Target,
    a: &Value,
    b: &Value,
    deeper: &Deeper<'_>,
) -> Result<Option<Ordering>, Error> {
    let (x, y) = (Elements::of(target, a)?, Elements::of(target, b)?);
    in_order(target, &x, &y, deeper)
}

fn in_order(
    target: &dyn Target,
    x: &Elements,
    y: &Elements,
    deeper: &Deeper<'_>,
) -> Result<Option<Ordering>, Error> {
    let flat = |items: Vec<visualize::Item>| -> Vec<Value> {
        let both = |item: visualize::Item| item.key.into_iter().chain([item.value]);
        items.into_iter().flat_map(both).collect()
    };
    lexicographic(&flat(x.all(target)?), &flat(y.all(target)?), deeper)
}

fn lexicographic(a: &[Value], b: &[Value], deeper: &Deeper<'_>) -> Result<Option<Ordering>, Error> {
    for (a, b) in a.iter().zip(b) {
        match deeper(a, b)? {
            Some(Ordering::Equal) => {}
            other => return Ok(other),
        }
    }
    Ok(Some(a.len().cmp(&b.len())))
}

/// Compares two unordered containers: equal, or without an order.
fn same_keys(
    target: &dyn Target,
    x: &Elements,
    y: &Elements,
    deeper: &Deeper<'_>,
) -> Result<Option<Ordering>, Error> {
    const MOST: u64 = 4096;
    if x.len()? != y.len()? {
        return Ok(None);
    }
    if x.len()? > MOST {
        return Err(Error::Unsupported(format!(
            "cannot compare unordered containers of more than {MOST} elements"
        )));
    }
    let (a, mut b) = (x.all(target)?, y.all(target)?);
    for item in a {
        let mut found = None;
        for (index, other) in b.iter().enumerate() {
            let same_key = match (&item.key, &other.key) {
                (Some(key), Some(other)) => deeper(key, other)? == Some(Ordering::Equal),
                _ => true,
            };
            if same_key && deeper(&item.value, &other.value)? == Some(Ordering::Equal) {
                found = Some(index);
                break;
            }
        }
        match found {
            Some(index) => drop(b.swap_remove(index)),
            None => return Ok(None),
        }
    }
    Ok(Some(Ordering::Equal))
}

fn optionals(
    a: Option<Value>,
    b: Option<Value>,
    deeper: &Deeper<'_>,
) -> Result<Option<Ordering>, Error> {
    match (a, b) {
        (Some(a), Some(b)) => deeper(&a, &b),
        (a, b) => Ok(Some(a.is_some().cmp(&b.is_some()))),
    }
}

fn alternatives(
    (x, a): (usize, Option<Value>),
    (y, b): (usize, Option<Value>),
    deeper: &Deeper<'_>,
) -> Result<Option<Ordering>, Error> {
    match x.cmp(&y) {
        Ordering::Equal => optionals(a, b, deeper),
        other => Ok(Some(other)),
    }
}

/// Returns the value of an optional.
pub(super) fn held(target: &dyn Target, value: &Value) -> Result<Option<Value>, Error> {
    match active(target, value)? {
        Some((_, held)) => Ok(held),
        None => super::call::held(target, value),
    }
}

/// Returns the active variant of an enum of Rust, and what it holds; `None`: it is no enum with
/// variants.
///
/// # Errors
/// The value cannot be read.
pub fn active(
    target: &dyn Target,
    value: &Value,
) -> Result<Option<(String, Option<Value>)>, Error> {
    if let Some((name, held)) = synthetic::active_variant(target, value)? {
        return Ok(Some((name.to_owned(), held)));
    }
    let Shape::Composite(ty) = value.ty.shape() else {
        return Ok(None);
    };
    match members::active_variant(target, value, &ty)? {
        Some((name, payload)) => {
            let held = members::find(target, &payload, "0")?;
            Ok(Some((name, held)))
        }
        None => Ok(None),
    }
}

/// Returns the number of the variant of a `Result` or `std::expected`, and what it holds.
fn variant(target: &dyn Target, value: &Value) -> Result<(usize, Option<Value>), Error> {
    if let Some((name, held)) = active(target, value)? {
        return Ok((usize::from(name != "Ok"), held));
    }
    match visualize::view(target, value) {
        Some(View::Noted(error, _)) => Ok((1, Some(error))),
        _ => Ok((0, super::call::held(target, value)?)),
    }
}

/// Returns the index and the value of a `std::variant`.
fn alternative(target: &dyn Target, value: &Value) -> Result<(usize, Option<Value>), Error> {
    let index = visualize::standard::alternative_index(target, value)?;
    // A valueless variant is less than any other.
    let number = index.map_or(0, |index| index as usize + 1);
    Ok((number, super::call::held(target, value)?))
}

/// Returns the parts of a tuple or pair.
///
/// # Errors
/// They cannot be found.
pub fn parts(target: &dyn Target, value: &Value) -> Result<Vec<Value>, Error> {
    if let Some(parts) = synthetic::parts(value) {
        return Ok(parts);
    }
    if let Some(View::Fields { fields, .. }) = visualize::view(target, value) {
        return Ok(fields.into_iter().map(|it| it.1).collect());
    }
    let names = members::names(target, value).into_iter();
    let found = names.map(|name| visualize::need(target, value, &[&name]));
    found.collect()
}

/// Returns the address in a smart pointer, a function or a pointer.
fn address(target: &dyn Target, value: &Value) -> Result<u64, Error> {
    match value.ty.shape() {
        Shape::Pointer(..) => return Ok(value.raw(target)? as u64),
        Shape::Scalar(_) => {
            return match value.raw(target)? {
                0 => Ok(0),
                _ => Err(Error::eval("cannot compare a pointer and a number")),
            };
        }
        _ => {}
    }
    if is_function(&value.ty) {
        let some = super::call::held(target, value)?.is_some();
        return Ok(u64::from(some));
    }
    let pointer = visualize::standard::owners::pointer(target, value)?;
    visualize::word(target, &pointer)
}
